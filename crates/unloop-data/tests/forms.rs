//! The forms of choice files, and what a bad row says.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use unloop::{OptionId, Options, Statistics};
use unloop_data::{
    Answer, CountSettings, Counted, NoChoice, Problem, ReadError, ReadSettings, Row, Rows, Source, Ties, WriteFormat, Writer,
    count, read_names, read_weights,
};

fn source(text: impl AsRef<[u8]>) -> Source {
    Source::from_reader("test", std::io::Cursor::new(text.as_ref().to_vec()))
}

fn rows_with(text: impl AsRef<[u8]>, settings: &ReadSettings) -> Result<(Options, Vec<Row>), ReadError> {
    let mut options = Options::new();
    let mut reader = Rows::new(source(text), settings)?;
    let mut rows = Vec::new();
    loop {
        let mut row = Row::default();
        if !reader.read(&mut options, &mut row)? {
            return Ok((options, rows));
        }
        rows.push(row);
    }
}

fn rows(text: impl AsRef<[u8]>) -> (Options, Vec<Row>) {
    rows_with(text, &ReadSettings::default()).expect("good rows")
}

fn refusal(text: impl AsRef<[u8]>) -> ReadError {
    rows_with(text, &ReadSettings::default()).expect_err("a bad row")
}

/// A row in names: presented, answer.
fn shown(options: &Options, row: &Row) -> String {
    let name = |id: &OptionId| options.name(*id).expect("a name").to_owned();
    let list = |ids: &[OptionId], joint: &str| ids.iter().map(name).collect::<Vec<_>>().join(joint);
    let answer = match &row.answer {
        Answer::Nothing => "nothing".to_owned(),
        Answer::Chosen(id) => name(id),
        Answer::Several(ids) => list(ids, "+"),
        Answer::Tied(ids) => list(ids, "="),
        Answer::AllTied => "(tie)".to_owned(),
        Answer::Ranked(places) => places.iter().map(|ids| list(ids, "=")).collect::<Vec<_>>().join(">"),
    };
    format!("{} -> {answer} x{}", list(&row.presented, "|"), row.count)
}

fn all(text: impl AsRef<[u8]>) -> Vec<String> {
    let (options, rows) = rows(text);
    rows.iter().map(|row| shown(&options, row)).collect()
}

fn counted(text: &str, settings: CountSettings) -> (Options, Counted) {
    let mut options = Options::new();
    let counted = count([Ok(source(text))], &mut options, &ReadSettings::default(), &settings).expect("good rows");
    (options, counted)
}

#[test]
fn canonical_rows_with_everything_in_them() {
    let text = "time,presented,chosen,tied,count,user\n\
                2026-01-01,soup|salad|curry,salad,,2,ada\n\
                ,\"soup|bread, fresh\",\"bread, fresh\",,,\n\
                ,a\\|b|c,a\\|b,,0.5,\n\
                ,soup|salad,,,1,\n\
                ,soup|salad|curry,,soup|curry,1,bob\n\
                ,soup|salad|curry,soup|salad,,1,\n\
                ,\"[\"\"soup\"\", \"\"x|y\"\"]\",x|y,,1,\n";
    let expected = [
        "soup|salad|curry -> salad x2",
        "soup|bread, fresh -> bread, fresh x1",
        "a|b|c -> a|b x0.5",
        "soup|salad -> nothing x1",
        "soup|salad|curry -> soup=curry x1",
        "soup|salad|curry -> soup+salad x1",
        "soup|x|y -> x|y x1",
    ];
    assert_eq!(all(text), expected);
    let (_, rows) = rows(text);
    assert_eq!((rows[0].user.as_str(), rows[0].time.as_str()), ("ada", "2026-01-01"));
    assert_eq!(rows.iter().map(|row| row.line).collect::<Vec<_>>(), [2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(rows[1].user, "");
}

#[test]
fn battles_in_the_words_people_use() {
    let words =
        "model_a,model_b,winner\nx,y,model_a\nx,y,model_b\nx,y,tie\nx,y,tie (bothbad)\nx,y,y\nx,y,A\nx,y,\nx,y,Tie (both good)\n";
    let expected = [
        "x|y -> x x1",
        "x|y -> y x1",
        "x|y -> (tie) x1",
        "x|y -> (tie) x1",
        "x|y -> y x1",
        "x|y -> x x1",
        "x|y -> nothing x1",
        "x|y -> (tie) x1",
    ];
    assert_eq!(all(words), expected);
    assert_eq!(
        all("winner,left,right\nleft,x,y\nright,x,y\nx,x,y\ndraw,x,y\n"),
        ["x|y -> x x1", "x|y -> y x1", "x|y -> x x1", "x|y -> (tie) x1"]
    );
    assert_eq!(all("Player1\tPlayer2\tWinner\nann\tbob\t2\n"), ["ann|bob -> bob x1"]);
    assert_eq!(all("home_team;away_team;winner;count\nann;bob;home;3\n"), ["ann|bob -> ann x3"]);
    let settings = ReadSettings { presented: Some("red,blue".into()), chosen: Some("result".into()), ..ReadSettings::default() };
    let (options, found) = rows_with("result,red,blue\nblue,x,y\n", &settings).expect("good rows");
    assert_eq!(shown(&options, &found[0]), "x|y -> y x1");
}

#[test]
fn rankings_with_and_without_a_header() {
    assert_eq!(all("ranking,count\na>b > c,2\nb=c>a,1\n"), ["a|b|c -> a>b>c x2", "b|c|a -> b=c>a x1"]);
    assert_eq!(all("a>b>c\nc>a\n"), ["a|b|c -> a>b>c x1", "c|a -> c>a x1"]);
    assert_eq!(all("presented,ranking\na|b|c|d,c>a\na|b,\n"), ["a|b|c|d -> c>a x1", "a|b -> nothing x1"]);
    assert_eq!(all("{\"ranking\": [\"a\", \"b\"]}\n{\"ranking\": \"b>a\", \"count\": 4}\n"), ["a|b -> a>b x1", "b|a -> b>a x4"]);
}

#[test]
fn json_lines_with_fields_that_come_and_go() {
    let text = "{\"presented\": [\"a\", \"b|c\"]}\n\n{\"chosen\": \"b|c\", \"presented\": [\"a\", \"b|c\"], \"extra\": {\"x\": [1]}, \"count\": 3}\n\
                {\"presented\": \"a|d\", \"chosen\": [\"d\"], \"user\": 7}\n{\"presented\": [1, 2], \"chosen\": 2}\n{\"presented\": [\"a\", \"d\"], \"tied\": [\"d\", \"a\"]}\n";
    let expected = ["a|b|c -> nothing x1", "a|b|c -> b|c x3", "a|d -> d x1", "1|2 -> 2 x1", "a|d -> d=a x1"];
    assert_eq!(all(text), expected);
    let (_, rows) = rows(text);
    assert_eq!((rows[1].line, rows[2].user.as_str()), (3, "7"));
    assert_eq!(
        all(
            "{\"model_a\":\"x\",\"model_b\":\"y\",\"winner\":\"model_b\"}\n{\"model_a\":\"x\",\"model_b\":\"y\",\"winner\":null}"
        ),
        ["x|y -> y x1", "x|y -> nothing x1"]
    );
}

#[test]
fn gzip_byte_order_marks_and_line_ends_are_undone() {
    let text = b"\xef\xbb\xbfpresented,chosen\r\na|b,a\r\n\r\na|b,b";
    assert_eq!(all(text), ["a|b -> a x1", "a|b -> b x1"]);
    let path = std::env::temp_dir().join(format!("unloop-forms-{}.csv", std::process::id()));
    let mut out = GzEncoder::new(std::fs::File::create(&path).expect("a file"), Compression::default());
    out.write_all(text).expect("written");
    out.finish().expect("written");
    let mut options = Options::new();
    let counted = count([Source::open(&path)], &mut options, &ReadSettings::default(), &CountSettings::default()).expect("read");
    std::fs::remove_file(&path).expect("removed");
    assert_eq!(counted.statistics().total(), 2.0);
}

/// Every refusal names the line, the column, the value and something to do.
#[test]
fn bad_rows_say_where_and_what() {
    let says = |text: &str, expected: &str, hint: &str| {
        let error = refusal(text);
        assert_eq!(error.to_string(), expected);
        assert!(error.hint().is_some_and(|found| found.contains(hint)), "{:?} lacks {hint:?}", error.hint());
        assert!(error.is_of_row());
    };
    let good = "presented,chosen,count\na|b,a,1\n";
    says(
        &format!("{good}a|b,c,1\n"),
        "test, line 3, column `chosen`: \"c\" was chosen but not presented: `a`, `b`",
        "--skip-bad",
    );
    says(&format!("{good}a|b,B,1\n"), "test, line 3, column `chosen`: \"B\" was chosen but not presented: `a`, `b`", "capitals");
    says(
        &format!("{good}\"a, b\",a,1\n"),
        "test, line 3, column `chosen`: \"a\" was chosen but not presented: `a, b`",
        "--separator",
    );
    says(&format!("{good}a|a,a,1\n"), "test, line 3, column `presented`: \"a\" is named twice", "once");
    says(
        &format!("{good}a||b,a,1\n"),
        "test, line 3, column `presented`: an option needs a name of at least one byte",
        "separator",
    );
    says(
        &format!("{good}a|b,a,-1\n"),
        "test, line 3, column `count`: \"-1\" is not a count: a number from 0 to 1e12",
        "--skip-bad",
    );
    says(
        &format!("{good}a|b,a,many\n"),
        "test, line 3, column `count`: \"many\" is not a count: a number from 0 to 1e12",
        "--skip-bad",
    );
    says(&format!("{good}a|b,a\n"), "test, line 3: 2 fields, where the header has 3", "quotes");
    let battles = "model_a,model_b,winner\nx,y,model_a\n";
    says(
        &format!("{battles}x,y,z\n"),
        "test, line 3, column `winner`: \"z\" is neither `x`, `y`, `model_a`, `model_b` nor a tie",
        "tie",
    );
    says(&format!("{battles}x,x,x\n"), "test, line 3, column `model_b`: \"x\" is named twice", "once");
    says(
        "{\"presented\": [\"a\"]}\n{\"presented\": [{}]}\n",
        "test, line 2, column `presented`: [{}] is not a list of names",
        "--skip-bad",
    );
    says("ranking\na>b>a\n", "test, line 2, column `ranking`: \"a\" is named twice", "once");
    let error = refusal(b"presented,chosen\na|\xff,a\n");
    assert_eq!(error.to_string(), "test, line 2, column `presented`: \"a|\u{fffd}\" is not UTF-8");
    let error = refusal("{\"presented\": [\"a\"]}\n{oops\n");
    assert!(error.to_string().starts_with("test, line 2: this is no JSON object: "), "{error}");
    let long = format!("presented,chosen\na|{},a\n", "x".repeat(129));
    assert!(refusal(&long).to_string().contains("129 bytes"), "{}", refusal(&long));
}

#[test]
fn files_that_hold_no_choices_say_so() {
    let says = |text: &[u8], expected: &str| assert_eq!(refusal(text).to_string(), expected);
    says(b"", "test: it is empty: not even a header line");
    says(b"id,score\n1,2\n", "test: none of the columns says what was presented and chosen: `id`, `score`");
    says(b"[{\"presented\": [\"a\"]}]", "test: this is one JSON array, not JSON Lines");
    let settings = ReadSettings { group: Some("country".into()), ..ReadSettings::default() };
    let error = rows_with("presented,chosen\na|b,a\n", &settings).expect_err("no such column");
    assert_eq!(error.to_string(), "test: there is no column `country` among `presented`, `chosen`");
    let missing = Source::open("/nonexistent/file.csv").err().expect("no file");
    assert_eq!(missing.to_string(), "/nonexistent/file.csv: cannot be read");
}

/// A quote that is never closed must not swallow a file into memory.
#[test]
fn an_endless_row_ends() {
    let text = format!("presented,chosen\na|b,a\n\"a|b,{}", "x,y\n".repeat(2_000_000));
    let error = refusal(&text);
    assert_eq!(error.to_string(), "test, line 3: this row is longer than 4194304 bytes");
    assert!(!error.is_of_row());
}

#[test]
fn skipped_rows_leave_no_trace() {
    let text = "presented,chosen\na|b,a\nnew|other,third\na|c,c\na|b\n";
    let (options, counted) = counted(text, CountSettings { skip_bad: true, ..CountSettings::default() });
    assert_eq!(options.iter().map(|(_, name)| name).collect::<Vec<_>>(), ["a", "b", "c"]);
    assert_eq!((counted.rows, counted.skipped.count), (2, 2));
    assert_eq!(counted.skipped.first.iter().map(|error| error.line).collect::<Vec<_>>(), [Some(3), Some(5)]);
}

#[test]
fn ties_and_no_choice_count_as_asked() {
    let text = "model_a,model_b,winner\nx,y,tie\nx,y,\nx,y,x\n";
    let chosen = |ties, none| {
        let (options, counted) = counted(text, CountSettings { ties, none, skip_bad: false });
        let of = |name: &str| options.get(name).map_or(0.0, |id| counted.statistics().chosen(id));
        (of("x"), of("y"), of("(none)"))
    };
    assert_eq!(chosen(Ties::Half, NoChoice::Ignore), (1.5, 0.5, 0.0));
    assert_eq!(chosen(Ties::Ignore, NoChoice::Ignore), (1.0, 0.0, 0.0));
    assert_eq!(chosen(Ties::Half, NoChoice::Tie), (2.0, 1.0, 0.0));
    assert_eq!(chosen(Ties::None, NoChoice::Option), (1.0, 0.0, 2.0));
    assert_eq!(chosen(Ties::None, NoChoice::Tie), (2.0, 1.0, 0.0));
    let error = count(
        [Ok(source("presented,chosen\na|(none),a\n"))],
        &mut Options::new(),
        &ReadSettings::default(),
        &CountSettings { none: NoChoice::Option, ..CountSettings::default() },
    );
    assert!(matches!(error.expect_err("a reserved name").problem, Problem::Reserved { .. }));
}

#[test]
fn groups_are_told_apart_and_share_their_options() {
    let text = "presented,chosen,user\na|b,a,ada\nb|c,c,bob\na|b,b,ada\n";
    let settings = ReadSettings { group: Some("user".into()), ..ReadSettings::default() };
    let mut options = Options::new();
    let counted = count([Ok(source(text))], &mut options, &settings, &CountSettings::default()).expect("read");
    let names: Vec<_> = counted.groups.iter().map(|group| (group.name.as_str(), group.statistics.total())).collect();
    assert_eq!(names, [("ada", 2.0), ("bob", 1.0)]);
    assert!(counted.groups.iter().all(|group| group.statistics.option_count() == 3));
}

/// The table of pairs and the general way give the same counts, also for options beyond the table.
#[test]
fn pairs_in_the_table_and_beyond_it_are_counted_alike() {
    const OPTIONS: u32 = 2_100;
    let mut text = b"model_a,model_b,winner\n".to_vec();
    let mut expected = Statistics::new(OPTIONS as usize);
    let mut options = Options::from_names((0..OPTIONS).map(|k| format!("m{k}"))).expect("names");
    let mut state = 1_u32;
    for _ in 0..20_000 {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let (a, b) = ((state >> 8) % OPTIONS, (state >> 5) % OPTIONS);
        if a == b {
            continue;
        }
        let (winner, parts) = match state >> 30 {
            0 => ("tie", vec![(a, 0.5), (b, 0.5)]),
            1 => ("model_b", vec![(b, 1.0)]),
            _ => ("model_a", vec![(a, 1.0)]),
        };
        writeln!(text, "m{a},m{b},{winner}").expect("memory");
        for (option, part) in parts {
            expected.record([OptionId::new(a), OptionId::new(b)], OptionId::new(option), part).expect("recorded");
        }
    }
    let counted = count([Ok(source(text))], &mut options, &ReadSettings::default(), &CountSettings::default()).expect("read");
    assert_eq!(counted.statistics().canonical(), expected.canonical());
    assert_eq!(counted.statistics().all_chosen(), expected.all_chosen());
}

/// What is written is read back, whatever the names hold.
#[test]
fn written_rows_come_back() {
    let names = ["plain", "with|bar", "comma, and \"quotes\"", r"back\slash", " spaces ", "ünïcödé ≥ 漢", "a>b=c", "[1]", "\\"];
    let options = Options::from_names(names).expect("names");
    let ids: Vec<OptionId> = options.iter().map(|(id, _)| id).collect();
    let answers = [
        Answer::Nothing,
        Answer::Chosen(ids[1]),
        Answer::Several(vec![ids[2], ids[3]]),
        Answer::Tied(vec![ids[0], ids[8]]),
        Answer::Chosen(ids[8]),
        Answer::Tied(ids.clone()),
    ];
    let written: Vec<Row> = answers
        .into_iter()
        .enumerate()
        .map(|(i, answer)| Row {
            presented: ids.clone(),
            answer,
            count: 0.5 * i as f64,
            user: "u,\"1\"".into(),
            ..Row::default()
        })
        .collect();
    let bracketed = Row { presented: vec![ids[7]], answer: Answer::Chosen(ids[7]), count: 1.0, ..Row::default() };
    let written: Vec<Row> = written.into_iter().chain([Row { user: "u".into(), ..bracketed }]).collect();
    for format in [WriteFormat::Csv, WriteFormat::JsonLines] {
        let mut writer = Writer::new(Vec::new(), format).expect("written");
        written.iter().for_each(|row| writer.write(&options, row).expect("written"));
        let bytes = writer.finish().expect("written");
        let (back_options, back) = rows(&bytes);
        assert_eq!((back_options, back.len()), (options.clone(), written.len()));
        for (row, back) in written.iter().zip(&back) {
            assert_eq!(
                (&row.presented, &row.answer, row.count, &row.user),
                (&back.presented, &back.answer, back.count, &back.user)
            );
        }
    }
}

/// A reader that fails in the middle is an error, not the end of the file.
#[test]
fn a_stream_that_breaks_is_an_error() {
    struct Breaks(usize);
    impl Read for Breaks {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let text = b"presented,chosen\na|b,a\n";
            if self.0 > 0 {
                return Err(std::io::Error::other("the cable was pulled"));
            }
            self.0 += 1;
            buffer[..text.len()].copy_from_slice(text);
            Ok(text.len())
        }
    }
    let source = Source::from_reader("cable", Breaks(0));
    let skipping = CountSettings { skip_bad: true, ..CountSettings::default() };
    let error = count([Ok(source)], &mut Options::new(), &ReadSettings::default(), &skipping).expect_err("broken");
    assert!(matches!(error.problem, Problem::Io(_)), "{error}");
}

/// A pipe that gives a byte at a time is read as a file is: blank lines, byte order mark, gzip, tabs.
#[test]
fn slow_streams_are_read_like_files() {
    struct Slow(std::io::Cursor<Vec<u8>>);
    impl Read for Slow {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let most = buffer.len().min(1);
            self.0.read(&mut buffer[..most])
        }
    }
    let mut zipped = GzEncoder::new(Vec::new(), Compression::default());
    zipped.write_all(b"presented,chosen\na|b,a\n").expect("written");
    let texts = [
        b"\n\npresented,chosen\na|b,a\n".to_vec(),
        b"\xef\xbb\xbfpresented,chosen\na|b,a\n".to_vec(),
        b"\n\npresented\tchosen\na|b\ta\n".to_vec(),
        b"\n{\"presented\":[\"a\",\"b\"],\"chosen\":\"a\"}\n".to_vec(),
        zipped.finish().expect("written"),
    ];
    for text in texts {
        let source = Source::from_reader("slow", Slow(std::io::Cursor::new(text.clone())));
        let mut options = Options::new();
        let counted = count([Ok(source)], &mut options, &ReadSettings::default(), &CountSettings::default());
        let counted = counted.unwrap_or_else(|error| panic!("{:?}: {error}", String::from_utf8_lossy(&text)));
        assert_eq!(options.get("a").map(|id| counted.statistics().chosen(id)), Some(1.0));
    }
}

/// A winner that names one competitor and the side of the other is refused; an option called like a tie is an option, every time.
#[test]
fn ambiguous_winners_are_refused() {
    let error = refusal("a,b,winner\nb,a,a\n");
    assert_eq!(
        error.to_string(),
        "test, line 2, column `winner`: \"a\" is not clear: it names one competitor and the side of the other"
    );
    assert!(refusal("player1,player2,winner\n3,1,1\n").to_string().contains("not clear"));
    assert_eq!(
        all("model_a,model_b,winner\ntie,x,tie\ntie,x,tie\nx,tie,tie\n"),
        ["tie|x -> tie x1", "tie|x -> tie x1", "x|tie -> tie x1"]
    );
}

/// Capitals in the names of fields do not lose choices; a winner may be missing in the first battle.
#[test]
fn json_fields_are_found_whatever_their_capitals() {
    assert_eq!(all("{\"Presented\":[\"a\",\"b\"],\"Chosen\":\"a\",\"Count\":5}\n"), ["a|b -> a x5"]);
    assert_eq!(all("{\"presented\":[\"a\",\"b\"],\"chosen\":\"a\",\"Count\":5}\n"), ["a|b -> a x5"]);
    let battles = "{\"model_a\":\"x\",\"model_b\":\"y\"}\n{\"model_a\":\"x\",\"model_b\":\"y\",\"winner\":\"model_b\"}\n";
    assert_eq!(all(battles), ["x|y -> nothing x1", "x|y -> y x1"]);
}

/// Two competitors in fields of any name, joined by a comma, as in CSV.
#[test]
fn json_competitors_are_found_by_name() {
    let text = "{\"p\":\"a\",\"q\":\"b\",\"w\":\"a\"}\n{\"p\":\"b\",\"q\":\"c\",\"w\":\"q\"}\n";
    let settings = ReadSettings { presented: Some("p,q".into()), chosen: Some("w".into()), ..ReadSettings::default() };
    let (options, rows) = rows_with(text, &settings).expect("good rows");
    let shown: Vec<String> = rows.iter().map(|row| shown(&options, row)).collect();
    assert_eq!(shown, ["a|b -> a x1", "b|c -> c x1"]);
}

/// A field that was asked for and is in no object is refused; one that comes late is not.
#[test]
fn json_fields_that_never_come_are_refused() {
    let text = "{\"presented\":[\"a\",\"b\"],\"chosen\":\"a\"}\n{\"presented\":[\"a\",\"b\"],\"chosen\":\"b\",\"land\":\"x\"}\n";
    let by = |name: &str| rows_with(text, &ReadSettings { group: Some(name.into()), ..ReadSettings::default() });
    assert_eq!(by("land").expect("it comes late").1[1].group, "x");
    let error = by("lnad").expect_err("it never comes");
    assert!(matches!(&error.problem, Problem::NoColumn { name, .. } if name == "lnad") && !error.is_of_row());
    assert_eq!(error.to_string(), "test: there is no column `lnad` among `presented`, `chosen`");
}

/// The first lines may be the bad ones, with a name that says JSON Lines whatever they hold.
#[test]
fn bad_lines_before_the_first_object_can_be_skipped() {
    let good = "{\"presented\":[\"a\",\"b\"],\"chosen\":\"a\"}\n";
    for (name, bad) in [("test", "{oops\n\n"), ("x.jsonl", "oops\n[1]\n"), ("x.NDJSON.gz", "oops\n\n")] {
        let source = || Source::from_reader(name, std::io::Cursor::new(format!("{bad}{good}{good}")));
        let settings = CountSettings { skip_bad: true, ..CountSettings::default() };
        let counted = count([Ok(source())], &mut Options::new(), &ReadSettings::default(), &settings).expect("two rows");
        let lines: Vec<Option<u64>> = counted.skipped.first.iter().map(|error| error.line).collect();
        assert_eq!((counted.rows, lines[0]), (2, Some(1)), "{name}");
        let strict = count([Ok(source())], &mut Options::new(), &ReadSettings::default(), &CountSettings::default());
        assert_eq!(strict.expect_err("a bad line").line, Some(1));
    }
}

/// A quote too many swallows lines up to the next quote: all of them are counted, and the row says where it ends.
#[test]
fn lines_between_two_quotes_are_counted() {
    let text = "presented,chosen\na|b,a\n\"a|b,a\na|b,b\na|b,b\na\"|b,a\na|b,a\nx,y,\"z\n\"\n";
    let settings = CountSettings { skip_bad: true, ..CountSettings::default() };
    let (_, counted) = counted(text, settings);
    assert_eq!((counted.rows, counted.skipped.count), (2, 6));
    assert!(matches!(counted.skipped.first[1].problem, Problem::OpenQuote { last: 9 }), "{:?}", counted.skipped.first);
    assert_eq!(counted.skipped.first[1].line, Some(8));
}

/// Columns that nobody needs cannot make a row bad.
#[test]
fn only_columns_that_count_are_read() {
    let odd = "{\"presented\":[\"a\",\"b\"],\"chosen\":\"a\",\"user\":{\"id\":1},\"time\":[1,2]}\n";
    assert!(refusal(odd).to_string().contains("column `user`"));
    let (_, counted) = counted(odd, CountSettings::default());
    assert_eq!(counted.rows, 1);
    // A column `tied` of battles says yes or no.
    let flags = "model_a,model_b,winner,tied\na,b,a,False\na,b,,True\na,b,b,0\n";
    assert_eq!(all(flags), ["a|b -> a x1", "a|b -> (tie) x1", "a|b -> b x1"]);
}

/// Two columns that differ in capitals alone, none of them written as expected.
#[test]
fn columns_alike_but_for_capitals_are_refused() {
    assert!(matches!(refusal("presented,Chosen,CHOSEN\na|b,a,b\n").problem, Problem::RepeatedColumn { .. }));
    assert_eq!(all("presented,chosen,CHOSEN\na|b,a,b\n"), ["a|b -> a x1"]);
    assert!(matches!(refusal(b"\xff\xfep\0").problem, Problem::Form { what: "text in UTF-16", .. }));
}

/// Names and weights beside the choices: blanks, capitals, gzip, and what is wrong with them.
#[test]
fn lists_are_read_and_refused() {
    let mut options = Options::new();
    read_names(source("\u{feff}soup\r\n\nhot curry\n"), &mut options).expect("two names");
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(b"Option , ALPHA\n soup, 2.5\nnew,1e-3\n").expect("in memory");
    let weights = read_weights(source(gzip.finish().expect("in memory")), &mut options).expect("two weights");
    let named: Vec<(&str, f64)> = weights.iter().map(|&(id, weight)| (options.name(id).expect("a name"), weight)).collect();
    assert_eq!(named, [("soup", 2.5), ("new", 1e-3)]);
    assert_eq!(options.len(), 3);
    let bad = [
        ("option,alpha\nsoup,heavy\n", "test, line 2, column `alpha`: \"heavy\" is not a weight: a number from 1e-12 to 1e9"),
        ("option,alpha\nsoup,0\n", "test, line 2, column `alpha`: \"0\" is not a weight: a number from 1e-12 to 1e9"),
        ("option,alpha\nsoup,1\nsoup,2\n", "test, line 3, column `option`: \"soup\" is named twice"),
        ("option,weight\nsoup,1\n", "test: there are no columns `option` and `alpha` among `option`, `weight`"),
        ("option,alpha\nsoup\n", "test, line 2: 1 fields, where the header has 2"),
        ("", "test: it is empty: not even a header line"),
    ];
    for (text, expected) in bad {
        let error = read_weights(source(text), &mut options.clone()).expect_err("a bad list");
        assert_eq!(error.to_string().replace(", line 1:", ":"), expected);
    }
    assert!(read_names(source(b"a\nb\xff\n"), &mut options).expect_err("no text").to_string().starts_with("test, line 2"));
}

/// A misspelt answer is no missing one.
#[test]
fn misspelt_answers_are_refused() {
    let good = "{\"presented\":[\"x\",\"z\"],\"chosen\":\"z\"}\n";
    for bad in ["choosen", "chosn", "Chosen", "chozen"] {
        let error = refusal(format!("{good}{{\"presented\":[\"x\",\"z\"],\"{bad}\":\"x\"}}\n"));
        assert_eq!(error.to_string(), format!("test, line 2: there is a field `{bad}` and no `chosen`"));
    }
    // Nothing alike: nothing was chosen.
    assert_eq!(all(format!("{good}{{\"presented\":[\"x\",\"z\"],\"note\":\"x\"}}\n"))[1], "x|z -> nothing x1");
    // Misspelt throughout: there is no such field.
    let error = refusal("{\"presented\":[\"x\",\"z\"],\"answer\":\"z\"}\n");
    assert!(matches!(&error.problem, Problem::NoColumn { name, .. } if name == "chosen"), "{error}");
    // A winner and a tie at once.
    assert!(refusal("model_a,model_b,winner,tied\nx,y,x,true\n").to_string().contains("column `tied`"));
}
