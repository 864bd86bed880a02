//! Files that are not what they should be: read or refused, never a panic, and what is counted adds up.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use unloop::Options;
use unloop_data::{CountSettings, NoChoice, ReadSettings, Source, Ties, count};

const SEEDS: [&str; 8] = [
    "presented,chosen,count,user\na|b|c,a,2,ada\na|b,,1,bob\n\"a|\"\"x\"\"\",a,1,\n",
    "presented,chosen,tied\n\"[\"\"a\"\",\"\"b\"\"]\",a,\na\\|b|c,,c\n",
    "model_a,model_b,winner\nx,y,model_a\nx,y,tie (bothbad)\ny,z,y\n",
    "ranking,count\na>b=c>d,2\nb>a,1\n",
    "presented,ranking\na|b|c|d,c>a\n",
    "{\"presented\":[\"a\",\"b\"],\"chosen\":\"a\",\"count\":3}\n{\"presented\":\"a|c\",\"tied\":[\"a\",\"c\"]}\n",
    "{\"left\":\"a\",\"right\":\"b\",\"winner\":\"left\"}\n{\"left\":\"a\",\"right\":\"c\",\"winner\":null}\n",
    "a>b>c\nc>b\n",
];
/// What is put into files where it does not belong.
const PIECES: [&str; 20] = [
    "\"", "\"\"", "|", ",", "\n", "\r\n", "\\", ">", "=", "[", "]", "{", "}", "\u{feff}", "\0", "é", "-1", "1e400", "null",
    "(none)",
];

fn mangle(rng: &mut ChaCha8Rng) -> Vec<u8> {
    let mut bytes = SEEDS[rng.random_range(0..SEEDS.len())].as_bytes().to_vec();
    for _ in 0..rng.random_range(1..5) {
        let at = rng.random_range(0..=bytes.len());
        match rng.random_range(0..5) {
            0 => bytes.truncate(at),
            1 if at < bytes.len() => bytes[at] = rng.random(),
            2 if at < bytes.len() => {
                bytes.remove(at);
            }
            3 => {
                let copy = bytes[at..].to_vec();
                bytes.extend(copy);
            }
            _ => {
                let piece = PIECES[rng.random_range(0..PIECES.len())];
                bytes.splice(at..at, piece.bytes());
            }
        }
    }
    bytes
}

#[test]
fn mangled_files_are_read_or_refused() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let (mut read, mut refused, mut skipped) = (0, 0, 0);
    for i in 0..30_000 {
        let bytes = mangle(&mut rng);
        let settings = CountSettings {
            ties: [Ties::Half, Ties::Ignore, Ties::None][i % 3],
            none: [NoChoice::Ignore, NoChoice::Option, NoChoice::Tie][i / 3 % 3],
            skip_bad: i % 2 == 0,
        };
        let source = Source::from_reader("mangled", std::io::Cursor::new(bytes.clone()));
        let mut options = Options::new();
        match count([Ok(source)], &mut options, &ReadSettings::default(), &settings) {
            Ok(counted) => {
                read += 1;
                skipped += counted.skipped.count;
                let statistics = counted.statistics();
                let chosen: f64 = statistics.all_chosen().iter().sum();
                let close = (chosen - statistics.total()).abs() <= 1e-9 * chosen.max(1.0);
                assert!(close && statistics.option_count() == options.len(), "{:?}", String::from_utf8_lossy(&bytes));
            }
            Err(error) => {
                refused += 1;
                assert!(!error.to_string().is_empty());
            }
        }
    }
    println!("{read} read, {refused} refused, {skipped} rows skipped");
    assert!(read > 5_000 && refused > 5_000 && skipped > 1_000);
}
