//! How fast choice files are read and counted: `cargo bench -p unloop-data --bench read [-- ROWS]`.
//!
//! Battles among 1 000 options with a fifth of ties, 10⁷ rows unless another number is given (about 28 bytes each). Reading alone is
//! on one thread; the table of pairs is compared with the general way of counting on the same rows.

use std::io::{Read, Write};
use std::time::Instant;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use unloop::{OptionId, Options, Statistics};
use unloop_data::{Answer, CountSettings, ReadSettings, Row, Rows, Source, count};

const OPTIONS: u32 = 1_000;
/// Times each is measured; the best counts.
const RUNS: usize = 3;

fn battles(rows: usize) -> Vec<u8> {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut text = Vec::with_capacity(rows * 30);
    text.extend_from_slice(b"model_a,model_b,winner\n");
    for _ in 0..rows {
        let a = rng.random_range(0..OPTIONS);
        let b = (a + rng.random_range(1..OPTIONS)) % OPTIONS;
        let winner = ["model_a", "model_b", "model_a", "model_b", "tie"][rng.random_range(0..5)];
        writeln!(text, "model-{a:03},model-{b:03},{winner}").expect("memory");
    }
    text
}

/// A file in memory: what is measured is reading, not the disk.
struct Memory(std::sync::Arc<Vec<u8>>, usize);

impl Read for Memory {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = (&self.0[self.1..]).read(buffer)?;
        self.1 += count;
        Ok(count)
    }
}

fn best(mut run: impl FnMut()) -> f64 {
    let time = |()| {
        let began = Instant::now();
        run();
        began.elapsed().as_secs_f64()
    };
    [(); RUNS].map(time).into_iter().fold(f64::INFINITY, f64::min)
}

fn main() {
    let rows = std::env::args().find_map(|argument| argument.parse().ok()).unwrap_or(10_000_000);
    let text = std::sync::Arc::new(battles(rows));
    let megabytes = text.len() as f64 / 1e6;
    let source = || Source::from_reader("memory", Memory(std::sync::Arc::clone(&text), 0));
    println!("{rows} battles among {OPTIONS} options, {megabytes:.0} MB");

    let reading = best(|| {
        let (mut options, mut row) = (Options::new(), Row::default());
        let mut reader = Rows::new(source(), &ReadSettings::default()).expect("a form");
        while reader.read(&mut options, &mut row).expect("a good row") {}
    });
    println!("reading, one thread      {reading:6.2} s  {:5.0} MB/s", megabytes / reading);

    let counting = best(|| {
        let counted = count([Ok(source())], &mut Options::new(), &ReadSettings::default(), &CountSettings::default());
        assert_eq!(counted.expect("good rows").statistics().total(), rows as f64);
    });
    println!("reading and counting     {counting:6.2} s  {:5.0} MB/s", megabytes / counting);

    // Choices as they come out of the reader, to compare the two ways of counting alone.
    let mut choices: Vec<([OptionId; 2], OptionId, f64)> = Vec::with_capacity(rows + rows / 4);
    let (mut options, mut row) = (Options::new(), Row::default());
    let mut reader = Rows::new(source(), &ReadSettings::default()).expect("a form");
    while reader.read(&mut options, &mut row).expect("a good row") {
        let pair = [row.presented[0], row.presented[1]];
        match row.answer {
            Answer::Chosen(option) => choices.push((pair, option, 1.0)),
            _ => choices.extend(pair.map(|option| (pair, option, 0.5))),
        }
    }
    let general = best(|| {
        let mut statistics = Statistics::new(OPTIONS as usize);
        statistics.record_all(choices.iter().copied()).expect("recorded");
    });
    let table = best(|| {
        let mut pairs = unloop_data::Pairs::default();
        pairs.grow(OPTIONS as usize);
        for (pair, option, weight) in &choices {
            assert!(pairs.record(pair, *option, *weight));
        }
        pairs.into_statistics().expect("balanced");
    });
    println!("counting, general way    {general:6.2} s");
    println!("counting, table of pairs {table:6.2} s  {:.1} times as fast", general / table);
}
