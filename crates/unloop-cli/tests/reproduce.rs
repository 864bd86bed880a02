//! `unloop reproduce`, as it is called: every figure of the quick profile, its claims, and what can go wrong with files.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

fn reproduce(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_unloop")).arg("reproduce").args(arguments).output().expect("it runs")
}

/// A folder that is gone when the test is over.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("unloop-reproduce-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Self(path)
    }

    fn text(&self) -> &str {
        self.0.to_str().expect("a path of text")
    }

    fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.0.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn docs(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)
}

/// Claims by their names, with their verdicts.
fn verdicts(claims: &[u8]) -> Vec<(String, String)> {
    let claims: Value = serde_json::from_slice(claims).expect("JSON");
    let text = |claim: &Value, key: &str| claim[key].as_str().expect("a text").to_owned();
    claims["claims"].as_array().expect("claims").iter().map(|claim| (text(claim, "id"), text(claim, "verdict"))).collect()
}

/// The quick profile draws every figure and comes to the verdicts that are committed; another call draws the same from the data alone.
/// A verdict that changes is a change of what this program says of the paper: look at it, then commit
/// `unloop reproduce --out q; cp q/claims.json docs/claims-quick.json`.
#[test]
fn the_quick_profile_keeps_its_verdicts() {
    let (quick, redrawn) = (Folder::new("quick"), Folder::new("redrawn"));
    let output = reproduce(&["--out", quick.text()]);
    let found = verdicts(&quick.read("claims.json"));
    println!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(found, verdicts(&std::fs::read(docs("claims-quick.json")).expect("committed claims")));
    let fails = found.iter().any(|(_, verdict)| verdict == "fails");
    assert_eq!(output.status.code(), Some(i32::from(fails)));

    let output = reproduce(&["all", "--from", quick.text(), "--out", redrawn.text()]);
    assert_eq!(output.status.code(), Some(i32::from(fails)), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(redrawn.read("claims.json"), quick.read("claims.json"));
    let mut pictures = 0;
    for entry in std::fs::read_dir(&quick.0).expect("a folder").filter_map(Result::ok) {
        let name = entry.file_name().into_string().expect("a name");
        if entry.path().extension().is_some_and(|end| end == "svg" || end == "png") {
            assert_eq!(redrawn.read(&name), quick.read(&name), "{name}");
            pictures += 1;
        }
    }
    assert_eq!(pictures, 2 * 11);
}

/// Data of the same seed and version are kept, others made anew; on any number of threads they are the same.
#[test]
fn what_is_there_is_kept_and_the_same_on_any_number_of_threads() {
    let (one, two) = (Folder::new("one"), Folder::new("two"));
    assert!(reproduce(&["map-error", "cyclic", "--threads", "1", "--out", one.text()]).status.success());
    assert!(reproduce(&["map-error", "cyclic", "--threads", "2", "--out", two.text()]).status.success());
    for name in ["map-error.csv", "map-error-runs.csv", "cyclic.csv", "map-error.svg", "claims.json"] {
        assert_eq!(one.read(name), two.read(name), "{name}");
    }
    // A mark that only data which are made anew would lose.
    let marked = |folder: &Folder| String::from_utf8(folder.read("map-error.csv")).expect("text").contains("# kept: yes");
    let text = String::from_utf8(one.read("map-error.csv")).expect("text");
    std::fs::write(one.0.join("map-error.csv"), format!("# kept: yes\n{text}")).expect("written");
    std::fs::remove_file(one.0.join("cyclic.csv")).expect("removed");
    assert!(reproduce(&["map-error", "cyclic", "--resume", "--out", one.text()]).status.success());
    assert!(marked(&one) && one.read("cyclic.csv") == two.read("cyclic.csv"));
    assert!(reproduce(&["map-error", "--resume", "--seed", "2", "--out", one.text()]).status.success());
    assert!(!marked(&one), "of another seed");
    assert_ne!(one.read("map-error.csv"), two.read("map-error.csv"));
}

#[test]
fn what_cannot_be_is_said() {
    let folder = Folder::new("bad");
    let said = |arguments: &[&str], code: i32, text: &str| {
        let output = reproduce(arguments);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{error}");
        assert!(error.contains(text), "{error}");
    };
    said(&["bubbles"], 2, "figures are bubble, cyclic");
    said(&["bubble", "--from", "/nowhere", "--out", folder.text()], 2, "bubble.csv: cannot be read");
    said(&["--claims", "/nowhere.json"], 2, "/nowhere.json: cannot be read");
    said(&["bubble", "--out", "/dev/null/x"], 2, "cannot be written");
    assert!(reproduce(&["bubble", "--out", folder.text()]).status.success());
    let table = folder.0.join("bubble-marginal.csv");
    let text = std::fs::read_to_string(&table).expect("a table");
    std::fs::write(&table, text.replace("0.3333", "a third")).expect("written");
    said(&["bubble", "--from", folder.text(), "--out", folder.text()], 2, "which is not a number");
    std::fs::write(&table, "# seed: 1\nmodel,method\n").expect("written");
    said(&["bubble", "--from", folder.text(), "--out", folder.text()], 2, "there are no rows");
    let claims = folder.0.join("claims.json");
    std::fs::write(&claims, "{}").expect("written");
    said(&["--claims", claims.to_str().expect("text")], 2, "holds no claims");
}

/// `docs/reproduction.md` is what the committed claims of the full run say, byte for byte.
#[test]
fn the_page_is_made_from_the_claims() {
    let folder = Folder::new("page");
    std::fs::create_dir_all(&folder.0).expect("a folder");
    let (claims, page) = (docs("claims.json"), folder.0.join("reproduction.md"));
    let output = reproduce(&["--claims", claims.to_str().expect("text"), "--report", page.to_str().expect("text")]);
    assert!(output.status.code().is_some_and(|code| code < 2), "{}", String::from_utf8_lossy(&output.stderr));
    let committed = std::fs::read_to_string(docs("reproduction.md")).expect("a page");
    assert_eq!(folder.read("reproduction.md"), committed.as_bytes());
    let commit = serde_json::from_slice::<Value>(&std::fs::read(&claims).expect("claims")).expect("JSON")["commit"].clone();
    assert!(commit.as_str().is_some_and(|commit| commit.len() >= 7), "{commit}");
}
