//! The command line as its users meet it: exit code, standard output, standard error.
//!
//! Help texts, tables and errors are snapshots in `tests/cmd`, checked by `trycmd`; after a change that is meant, run with
//! `TRYCMD=overwrite` and read the difference.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn unloop(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_unloop")).args(arguments).output().expect("the binary under test runs")
}

/// Runs with a text on standard input.
fn piped(arguments: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_unloop"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary under test runs");
    child.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("written");
    child.wait_with_output().expect("it ends")
}

fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn row<'a>(ranking: &'a Value, option: &str) -> &'a Value {
    ranking["options"].as_array().expect("rows").iter().find(|row| row["option"] == option).expect(option)
}

/// A file that is gone at the end of the test.
struct Temporary(PathBuf);

impl Temporary {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("unloop-cli-{}-{name}", std::process::id())))
    }

    fn with(name: &str, text: &str) -> Self {
        let file = Self::new(name);
        std::fs::write(&file.0, text).expect("written");
        file
    }

    fn text(&self) -> &str {
        self.0.to_str().expect("UTF-8")
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // It may never have been written.
        let _ = std::fs::remove_file(&self.0);
    }
}

const BATTLES: &str =
    "model_a,model_b,winner\nred,blue,model_a\nred,blue,model_b\nred,green,model_a\nblue,green,tie\nred,green,model_a\n";

#[test]
fn snapshots() {
    trycmd::TestCases::new().case("tests/cmd/*.trycmd");
}

#[test]
fn version_is_name_and_number() {
    let output = unloop(&["--version"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), format!("unloop {}\n", env!("CARGO_PKG_VERSION")));
}

/// The exposure property, as a user sees it: listed and never presented is exactly the prior, whatever happened to the others.
#[test]
fn an_option_never_presented_keeps_its_prior() {
    let listed = Temporary::with("listed.txt", "violet\nindigo\n");
    let once = json(&piped(&["rank", "-", "--options", listed.text(), "--json"], BATTLES));
    let often = BATTLES.to_owned() + &"red,blue,model_a\n".repeat(500);
    let often = json(&piped(&["rank", "-", "--options", listed.text(), "--json"], &often));
    for field in ["mean", "sd", "low", "high", "shown", "chosen"] {
        assert_eq!(row(&once, "violet")[field], row(&often, "violet")[field], "{field}");
        assert_eq!(row(&once, "violet")[field], row(&often, "indigo")[field], "{field}");
    }
    // Beta(1, 4): mean 1/5, variance 4/150, quantiles 1 − (1 − p)^¼.
    let expected = [
        ("mean", 0.2),
        ("sd", (4.0_f64 / 150.0).sqrt()),
        ("low", 1.0 - 0.95_f64.powf(0.25)),
        ("high", 1.0 - 0.05_f64.powf(0.25)),
    ];
    for (field, expected) in expected {
        let found = row(&often, "violet")[field].as_f64().expect("a number");
        assert!((found - expected).abs() < 1e-12, "{field}: {found} is not {expected}");
    }
    assert_ne!(row(&once, "red")["mean"], row(&often, "red")["mean"]);
    assert_ne!(row(&once, "violet")["p_best"], row(&often, "violet")["p_best"]);
}

#[test]
fn json_has_the_documented_fields_and_no_others() {
    let ranking = json(&piped(&["rank", "-", "--json"], BATTLES));
    let keys = |value: &Value| value.as_object().expect("an object").keys().cloned().collect::<Vec<_>>();
    let expected = [
        "options",
        "ln_evidence",
        "ln_evidence_se",
        "evidence_method",
        "method",
        "presentations",
        "distinct",
        "components",
        "draws",
        "rhat_max",
        "ess_min",
        "seed",
        "seconds",
    ];
    assert_eq!(keys(&ranking), expected);
    let expected =
        ["option", "rank", "mean", "sd", "low", "high", "map", "p_best", "p_top", "rank_low", "rank_high", "shown", "chosen"];
    assert_eq!(keys(&ranking["options"][0]), expected);
    assert_eq!((&ranking["presentations"], &ranking["distinct"], &ranking["components"]), (&5.0.into(), &3.into(), &1.into()));
}

#[test]
fn the_same_seed_is_the_same_answer_on_any_number_of_threads() {
    let run = |threads: &str| {
        let file = Temporary::with(
            &format!("threads{threads}.csv"),
            &(BATTLES.to_owned() + &"red,blue,model_a\ngreen,red,model_b\n".repeat(400)),
        );
        let output = Command::new(env!("CARGO_BIN_EXE_unloop"))
            .args(["rank", file.text(), "--json", "--seed", "5", "--pairwise"])
            .env("RAYON_NUM_THREADS", threads)
            .output()
            .expect("the binary under test runs");
        let mut ranking = json(&output);
        ranking["seconds"] = Value::Null;
        ranking
    };
    assert_eq!(run("1"), run("3"));
}

/// The exit code says whether it is sure, and JSON says how sure.
#[test]
fn until_is_an_answer() {
    let unsure = piped(&["rank", "-", "--top", "1", "--until", "confidence=0.99"], BATTLES);
    assert_eq!(unsure.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&unsure.stdout).contains("Not sure yet: the first is the best with probability"));
    let sure = BATTLES.to_owned() + &"red,blue,model_a\nred,green,model_a\n".repeat(50);
    let output = piped(&["rank", "-", "--top", "1", "--until", "confidence=0.99", "--json"], &sure);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(json(&output)["until"]["reached"], true);
}

#[test]
fn a_reader_that_has_heard_enough_is_no_error() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_unloop"))
        .args(["sample", "-", "--draws", "20000"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary under test runs");
    child.stdin.take().expect("a pipe").write_all(BATTLES.as_bytes()).expect("written");
    let mut first = String::new();
    let mut reader = BufReader::new(child.stdout.take().expect("a pipe"));
    reader.read_line(&mut first).expect("a line");
    drop(reader);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(first, "chain,draw,red,blue,green\n");
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""));
}

#[test]
fn pictures_are_drawn() {
    for (end, magic, flags) in [("svg", &b"<svg"[..], vec![]), ("png", b"\x89PNG", vec!["--pairwise"])] {
        let picture = Temporary::new(&format!("picture.{end}"));
        let output = piped(&[&["rank", "-", "--plot", picture.text()][..], &flags].concat(), BATTLES);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let bytes = std::fs::read(&picture.0).expect("a picture");
        assert!(bytes.windows(magic.len()).any(|window| window == magic), "{end}");
    }
    // Fewer rounds than a curve could have points.
    let picture = Temporary::new("short.svg");
    let short = ["simulate", "--options", "4", "--size", "2", "--rounds", "7", "--runs", "2", "--plot", picture.text()];
    let output = unloop(&short);
    assert!(output.status.success() && picture.0.exists(), "{}", String::from_utf8_lossy(&output.stderr));
    // What was played is printed even if it cannot be drawn.
    let output = unloop(&[&short[..10], &["/nowhere/at-all.svg"]].concat());
    assert!(output.status.code() == Some(2) && String::from_utf8_lossy(&output.stdout).contains("thompson"));
}

#[test]
fn draws_go_into_files_of_every_format() {
    let battles = Temporary::with("formats.csv", BATTLES);
    for end in ["csv", "jsonl", "npy"] {
        let file = Temporary::new(&format!("draws.{end}"));
        let output = unloop(&["sample", battles.text(), "--draws", "5", "--output", file.text()]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(std::fs::metadata(&file.0).expect("a file").len() > 100);
        if end == "npy" {
            let names = Temporary(file.0.with_extension("options.txt"));
            assert_eq!(std::fs::read_to_string(&names.0).expect("names"), "red\nblue\ngreen\n");
        }
    }
    let unknown = unloop(&["sample", battles.text(), "--output", "draws.xyz"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(!Path::new("draws.xyz").exists());
}

/// Every method gives the same posterior; red is chosen 3.5 times in 4, say.
#[test]
fn every_method_draws_from_the_same_posterior() {
    let battles = Temporary::with("methods.csv", BATTLES);
    let mean = |method: &str| {
        let output = unloop(&["sample", battles.text(), "--method", method, "--draws", "5000"]);
        assert!(output.status.success(), "{method}: {}", String::from_utf8_lossy(&output.stderr));
        let mut reader = csv::Reader::from_reader(output.stdout.as_slice());
        let values: Vec<f64> = reader.records().map(|record| record.expect("a row")[2].parse().expect("a number")).collect();
        assert_eq!(values.len(), 20_000);
        values.iter().sum::<f64>() / values.len() as f64
    };
    let expected = mean("auto");
    for method in ["gibbs", "hamiltonian", "smc", "metropolis", "laplace"] {
        let found = mean(method);
        println!("{method}: {found} ({expected})");
        // The share's spread is 0.18; draws are worth at least 2 000 independent ones.
        assert!((found - expected).abs() < 4.0 * 0.18 * (2.0_f64 / 2_000.0).sqrt(), "{method}: {found} is not {expected}");
    }
    let tree = unloop(&["sample", battles.text(), "--method", "tree"]);
    assert_eq!(tree.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&tree.stderr).starts_with("error: the presentations are not nested"));
}

#[test]
fn groups_have_tables_of_their_own() {
    let votes = "presented,chosen,user\na|b,a,ada\na|b,b,bob\na|b,a,ada\n";
    let groups = json(&piped(&["rank", "-", "--by", "user", "--json"], votes));
    let found: Vec<(&str, f64)> = groups["groups"]
        .as_array()
        .expect("groups")
        .iter()
        .map(|group| (group["group"].as_str().expect("a name"), group["presentations"].as_f64().expect("a number")))
        .collect();
    assert_eq!(found, [("ada", 2.0), ("bob", 1.0)]);
    let csv = piped(&["rank", "-", "--by", "user", "--csv"], votes);
    let text = String::from_utf8_lossy(&csv.stdout).into_owned();
    assert!(text.starts_with("user,option,rank,mean,") && text.lines().count() == 5, "{text}");
}

/// The picture and the table in the README are what its commands give.
#[test]
fn the_readme_shows_what_its_commands_give() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let picture = Temporary::new("leaderboard.svg");
    let battles = root.join("examples/llm-battles.csv.gz");
    let battles = battles.to_str().expect("UTF-8");
    let output = unloop(&["rank", battles, "--limit", "20", "--plot", picture.text()]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let drawn = std::fs::read_to_string(&picture.0).expect("a picture");
    let shown = std::fs::read_to_string(root.join("docs/leaderboard.svg")).expect("the picture of the README");
    assert!(
        drawn == shown,
        "draw it anew: cargo run --release -- rank examples/llm-battles.csv.gz --limit 20 --plot docs/leaderboard.svg"
    );

    let readme = std::fs::read_to_string(root.join("README.md")).expect("a README");
    let block = |fence: &str| readme.split(fence).nth(1).and_then(|rest| rest.split("```").next()).expect("a block").to_owned();
    let lunch = Temporary::with("lunch.csv", block("```csv\n").as_str());
    let menu = Temporary::with("menu.txt", "curry\n");
    let output = unloop(&["rank", lunch.text(), "--options", menu.text()]);
    let table = block("$ unloop rank lunch.csv --options menu.txt\n");
    let found = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(found.starts_with(&table), "{found}\nis not\n{table}");
}
