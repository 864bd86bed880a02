//! The commands around a database, as people run them: on real files, with the real program.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use unloop_store::{Sqlite, SqliteSettings};

/// A folder of one test, gone with it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = Self(std::env::temp_dir().join(format!("unloop-cli-store-{name}-{}", std::process::id())));
        let _ = std::fs::remove_dir_all(&folder.0);
        std::fs::create_dir_all(&folder.0).unwrap();
        folder
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.join(name), text).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Runs `unloop` in the folder.
    fn run(&self, arguments: &[&str]) -> Told {
        self.run_with(arguments, Stdio::null())
    }

    fn run_with(&self, arguments: &[&str], input: Stdio) -> Told {
        let mut command = Command::new(env!("CARGO_BIN_EXE_unloop"));
        Told::of(&command.args(arguments).current_dir(&self.0).stdin(input).output().unwrap())
    }

    fn digest(&self, database: &str) -> String {
        let told = self.run(&["verify", "--db", database, "--json"]);
        assert_eq!(told.code, 0, "{told:?}");
        let value: serde_json::Value = serde_json::from_str(&told.out).unwrap();
        value["digest"].as_str().unwrap().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[derive(Debug)]
struct Told {
    code: i32,
    out: String,
    err: String,
}

impl Told {
    fn of(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        Self { code: output.status.code().unwrap(), out: text(&output.stdout), err: text(&output.stderr) }
    }

    #[track_caller]
    fn expect(self, code: i32, out: &str, err: &str) -> Self {
        assert!(self.code == code && self.out.contains(out) && self.err.contains(err), "{self:?}");
        self
    }
}

const LUNCH: &str = "\
context,presented,chosen,tied,count,declinable,time
ada,soup|salad|curry,soup,,1,,2026-11-16T12:00:00Z
ada,soup|salad|curry,,soup|curry|salad,0.1,,2026-11-16 12:10:00
bob,soup|ramen,ramen|soup,,1,,1794830000
bob,soup|ramen,,,1,true,
,ramen|curry,curry,,2.5,,
bob,\"a \\| b|c, d\",\"c, d\",,1,,
";

#[test]
fn an_import_can_be_run_again() {
    let folder = Folder::new("again");
    folder.write("lunch.csv", LUNCH);
    let import = ["import", "lunch.csv", "--catalog", "lunch"];
    folder.run(&import).expect(0, "6 rows: 6 choices recorded, 0 there before\n6 options added to catalog lunch", "");
    let before = folder.digest("unloop.db");
    folder.run(&import).expect(0, "6 rows: 0 choices recorded, 6 there before", "");
    // A file that has grown adds what is new.
    folder.write("lunch.csv", &format!("{LUNCH}cy,soup|pizza,pizza,,1,,\n"));
    folder.run(&import).expect(
        0,
        "7 rows: 1 choice recorded, 6 there before\n1 option not in catalog lunch, counted and not presented",
        "",
    );
    assert_ne!(folder.digest("unloop.db"), before);
    folder.run(&[&import[..], &["--add-options"]].concat()).expect(0, "1 option added to catalog lunch", "");
    // One that was changed is told, and changes nothing.
    let counted = folder.digest("unloop.db");
    folder.write("lunch.csv", &LUNCH.replace("curry,soup,", "curry,salad,"));
    folder.run(&import).expect(
        1,
        "1 not recorded",
        "lunch.csv, line 2: id \"lunch.csv:2\" is recorded with another content (position 1)",
    );
    assert_eq!(folder.digest("unloop.db"), counted);
    // By a column of its own, in whatever file.
    folder.write("a.jsonl", "{\"id\":\"x\",\"presented\":[\"a\",\"b\"],\"chosen\":\"a\"}\n{\"id\":\"y\",\"presented\":[\"a\",\"b\"],\"chosen\":\"b\"}\n");
    folder.write("b.csv", "presented,chosen,id\na|b,b,y\na|b,b,z\n");
    folder.run(&["import", "a.jsonl", "b.csv", "--catalog", "letters"]).expect(
        0,
        "4 rows: 3 choices recorded, 1 there before",
        "",
    );
}

#[test]
fn an_export_gives_the_same_digest_elsewhere_and_nothing_here() {
    let folder = Folder::new("export");
    folder.write("lunch.csv", LUNCH);
    folder.write("ranks.csv", "id,ranking,user\nr1,soup>salad=curry>ramen,ada\nr2,curry>soup,dee\n");
    folder.run(&["import", "lunch.csv", "ranks.csv", "--catalog", "lunch"]).expect(0, "8 rows", "");
    let digest = folder.digest("unloop.db");
    for (name, database) in [("out.csv", "csv.db"), ("out.jsonl", "jsonl.db")] {
        folder.run(&["export", "--catalog", "lunch", "--output", name]).expect(0, "", "choices in");
        folder.run(&["import", name, "--db", database, "--catalog", "lunch"]).expect(0, "", "");
        assert_eq!(folder.digest(database), digest, "{name}");
        folder.run(&["import", name, "--catalog", "lunch"]).expect(0, " 0 choices recorded", "");
        assert_eq!(folder.digest("unloop.db"), digest, "{name}");
        // What is exported is a choice file as any other.
        folder.run(&["rank", name, "--json"]).expect(0, "\"options\"", "");
    }
    // Through a pipe.
    let file = std::fs::File::open(folder.path("out.jsonl")).unwrap();
    folder.run_with(&["import", "-", "--db", "pipe.db", "--catalog", "lunch"], file.into()).expect(0, "", "");
    assert_eq!(folder.digest("pipe.db"), digest);
    folder.run(&["export", "--catalog", "lunch", "--context", "dee"]).expect(0, "\"id\":\"r2#1\"", "");
}

#[test]
fn what_is_erased_is_gone_and_does_not_come_back() {
    let folder = Folder::new("erase");
    folder.write("lunch.csv", &LUNCH.replace("ada", "Ada Lovelace of London"));
    let import = ["import", "lunch.csv", "--catalog", "lunch"];
    folder.run(&import).expect(0, "", "");
    let erase = ["erase", "--catalog", "lunch", "--context", "Ada Lovelace of London"];
    folder.run(&erase).expect(2, "", "hint: say --yes");
    folder.run(&[&erase[..], &["--yes"]].concat()).expect(0, "erased context \"Ada Lovelace of London\"", "");
    for entry in std::fs::read_dir(&folder.0).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        let is_source = path.extension().is_some_and(|own| own == "csv");
        assert!(is_source || !bytes.windows(12).any(|window| window == b"Ada Lovelace"), "{}", path.display());
    }
    folder.run(&[&erase[..], &["--yes"]].concat()).expect(1, "", "there is nothing of context");
    folder.run(&import).expect(1, "2 not recorded", "line 2: id \"lunch.csv:2\" was erased (position 1)");
    folder.run(&["erase", "--catalog", "lunch", "--whole-catalog", "--yes"]).expect(0, "erased catalog lunch", "");
    folder.run(&["export", "--catalog", "lunch"]).expect(2, "", "the database holds no catalog yet");
    // Another of its name is another one.
    folder.run(&import).expect(0, "6 rows: 6 choices recorded", "");
}

#[test]
fn a_backup_verifies_and_holds_no_secret() {
    let folder = Folder::new("backup");
    folder.write("lunch.csv", LUNCH);
    folder.run(&["import", "lunch.csv", "--catalog", "lunch"]).expect(0, "", "");
    folder.write("unloop.db.secret", "this signs presentations");
    // While another process has it open to append.
    let held = Sqlite::open(&folder.path("unloop.db")).unwrap();
    folder.run(&["backup", "copy.db"]).expect(0, "copy.db: everything up to position 6", "");
    folder.run(&["backup", "copy.db"]).expect(2, "", "copy.db: there is a file already");
    assert_eq!(folder.digest("copy.db"), folder.digest("unloop.db"));
    folder.run(&["import", "lunch.csv", "--catalog", "lunch"]).expect(2, "", "unloop.db is held by another process");
    folder.run(&["erase", "--catalog", "lunch", "--context", "bob", "--yes"]).expect(2, "", "held by another process");
    drop(held);
    let copy = std::fs::read(folder.path("copy.db")).unwrap();
    assert!(!copy.windows(10).any(|window| window == b"this signs"));
    assert!(!folder.path("copy.db.secret").exists());
}

fn change(path: &Path, text: &str) {
    rusqlite::Connection::open(path).unwrap().execute_batch(text).unwrap();
}

#[test]
fn verify_says_no_where_something_is_wrong() {
    let folder = Folder::new("verify");
    folder.write("lunch.csv", LUNCH);
    folder.run(&["import", "lunch.csv", "--catalog", "lunch"]).expect(0, "", "");
    folder.run(&["verify"]).expect(0, "positions  1 to 6, 0 erased", "");
    let copy = |name: &str| {
        std::fs::copy(folder.path("unloop.db"), folder.path(name)).unwrap();
        folder.path(name)
    };
    change(&copy("hole.db"), "DELETE FROM events WHERE seq = 3");
    folder.run(&["verify", "--db", "hole.db"]).expect(1, "positions 3 to 3 are missing from the log", "");
    change(&copy("end.db"), "DELETE FROM events WHERE seq > 4");
    folder.run(&["verify", "--db", "end.db"]).expect(1, "the log ends at position 4, its head says 6", "");
    change(&copy("bytes.db"), "UPDATE snapshots SET bytes = zeroblob(40)");
    folder.run(&["verify", "--db", "bytes.db"]).expect(1, "it is folded again when it is used", "");
    // A whole one, of another log.
    change(
        &copy("other.db"),
        "UPDATE events SET body = replace(body, '\"chosen\":[\"soup\"]', '\"chosen\":[\"salad\"]') WHERE seq = 1",
    );
    let told = folder.run(&["verify", "--db", "other.db", "--json"]).expect(1, "is not what the log gives", "");
    assert!(told.out.contains("\"good\":false"));
    change(&copy("body.db"), "UPDATE events SET body = '{' WHERE seq = 2");
    folder.run(&["verify", "--db", "body.db"]).expect(1, "position 2 of the log cannot be read", "");
    for (name, text, problem) in [
        (
            "stranger.db",
            "UPDATE events SET catalog = 9 WHERE seq = 2",
            "position 2 is of catalog 9, which the settings do not know",
        ),
        (
            "weight.db",
            "UPDATE events SET body = replace(body, '\"weight\":2.5', '\"weight\":-1') WHERE seq = 5",
            "position 5: the weight is -1",
        ),
        ("all.db", "UPDATE events SET context = 'all' WHERE seq = 1", "position 1: \"all\" cannot be a context"),
        ("id.db", "UPDATE events SET id = 'zzz' WHERE seq = 1", "position 1: the id is not that of its body"),
        ("index.db", "DROP INDEX events_of_context", "events_of_context is missing"),
        ("table.db", "DROP TABLE trends", "trends is missing"),
        ("settings.db", "UPDATE catalogs SET settings = 'xx'", "settings are a JSON object"),
        ("beyond.db", "UPDATE head SET seq = 3", "the log goes on after its head, 3"),
        ("later.db", "UPDATE snapshots SET seq = 99", "is of position 99, the log ends at 6"),
        ("head.db", "DELETE FROM head", "SQLite"),
    ] {
        change(&copy(name), text);
        folder.run(&["verify", "--db", name]).expect(1, problem, "");
    }
    change(&copy("newer.db"), "PRAGMA user_version = 99");
    folder.run(&["verify", "--db", "newer.db"]).expect(2, "", "newer.db has format 99, this program knows up to 2");
    folder.run(&["verify", "--db", "none.db"]).expect(2, "", "none.db: there is no database");
    assert!(!folder.path("none.db").exists());
}

/// A write-ahead log cut off in the middle of a commit: opened at the last whole one, and said so.
#[test]
fn an_unfinished_commit_is_told() {
    let folder = Folder::new("unfinished");
    folder.write("lunch.csv", LUNCH);
    folder.run(&["import", "lunch.csv", "--catalog", "lunch"]).expect(0, "", "");
    let store = Sqlite::open_with(&folder.path("unloop.db"), SqliteSettings::default()).unwrap();
    let entry = |id: &str| unloop_store::Entry {
        catalog: unloop_store::CatalogId(1),
        context: None,
        what: unloop_store::What::Choice { id: id.into(), body: unloop_store::Body::chosen(&["soup", "salad"], "soup") },
        time: 0,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    for id in ["p1", "p2"] {
        runtime.block_on(unloop_store::Store::append(&store, vec![entry(id)])).unwrap();
    }
    // As a process leaves it that is killed here, and the end of the file is lost.
    std::fs::copy(folder.path("unloop.db"), folder.path("cut.db")).unwrap();
    let log = std::fs::read(folder.path("unloop.db-wal")).unwrap();
    std::fs::write(folder.path("cut.db-wal"), &log[..log.len() - 100]).unwrap();
    drop(store);
    folder.run(&["verify", "--db", "cut.db"]).expect(
        0,
        "positions  1 to 7",
        "was damaged, and is left out; the log ends at position 7",
    );
    folder.run(&["verify", "--db", "unloop.db"]).expect(0, "positions  1 to 8", "");
}

#[test]
fn bad_rows_are_named_and_lose_nothing() {
    let folder = Folder::new("bad");
    folder.write("bad.csv", "presented,chosen\na|b,a\na|b,c\na|b,b\n");
    let import = ["import", "bad.csv", "--catalog", "letters"];
    folder.run(&import).expect(2, "", "bad.csv, line 3, column `chosen`: \"c\" was chosen but not presented");
    // What came before it is there; the rest comes when it is mended.
    folder.run(&[&import[..], &["--skip-bad"]].concat()).expect(
        0,
        "2 rows: 1 choice recorded, 1 there before",
        "1 bad line was left out",
    );
    for (text, problem) in [
        ("context,presented,chosen\nall,a|b,a\n", "bad2.csv, line 2: \"all\" cannot be a context: it stands for all of them"),
        ("presented,chosen,time\na|b,a,yesterday\n", "bad2.csv, line 2: \"yesterday\" is no time"),
        ("presented,chosen,kind\na|b,a,erasure\n", "bad2.csv, line 2: \"erasure\" is no kind of event"),
        ("presented,chosen,declinable\na|b,a,maybe\n", "bad2.csv, line 2: \"maybe\" is not true or false"),
        ("presented,chosen,count\na|b,a,1e11\n", "bad2.csv, line 2: the weight is 100000000000"),
        ("presented,chosen,count\na|b,a,-1\n", "bad2.csv, line 2, column `count`"),
        ("nothing\n1\n", "none of the columns says what was presented and chosen"),
    ] {
        folder.write("bad2.csv", text);
        folder.run(&["import", "bad2.csv", "--catalog", "letters", "--db", "fresh.db"]).expect(2, "", problem);
    }
    folder.run(&["import", "none.csv", "--catalog", "letters", "--db", "never.db"]).expect(2, "", "none.csv");
    assert!(!folder.path("never.db").exists(), "nothing is made for a file that is not there");
    folder.run(&["import", "bad.csv", "--catalog", "a b"]).expect(2, "", "cannot be a catalog");
    let file = std::fs::File::open(folder.path("bad.csv")).unwrap();
    folder.run_with(&["import", "-", "--catalog", "letters"], file.into()).expect(2, "", "nothing makes this row unique");
    std::fs::create_dir(folder.path("deep")).unwrap();
    folder.write("deep/bad.csv", "presented,chosen\na|b,a\n");
    folder.run(&["import", "bad.csv", "deep/bad.csv", "--catalog", "letters"]).expect(2, "", "two files are called \"bad.csv\"");
}

/// What could destroy something, or be taken for good.
#[test]
fn nothing_is_destroyed_or_taken_for_good() {
    let folder = Folder::new("guards");
    folder.write("lunch.csv", LUNCH);
    folder.run(&["import", "lunch.csv", "--catalog", "lunch"]).expect(0, "", "");
    let before = folder.digest("unloop.db");
    for name in ["unloop.db", "./unloop.db", "unloop.db-wal", "unloop.db.lock", "unloop.db.secret"] {
        let told = folder.run(&["export", "--catalog", "lunch", "--format", "csv", "--output", name]);
        told.expect(2, "", "it belongs to the database");
    }
    assert_eq!(folder.digest("unloop.db"), before);
    // An export that fails leaves the one before.
    folder.write("out.jsonl", "the one before\n");
    folder.run(&["export", "--catalog", "nothing", "--output", "out.jsonl"]).expect(2, "", "there is no catalog");
    assert_eq!(std::fs::read_to_string(folder.path("out.jsonl")).unwrap(), "the one before\n");
    folder.run(&["export", "--catalog", "lunch", "--output", "out.txt"]).expect(2, "", "does not say its format");
    folder.run(&["export", "--catalog", "lunch", "--context", "nobody"]).expect(0, "", "there is nothing of context \"nobody\"");
    // Databases of others are left as they are, and nothing is put beside them.
    change(&folder.path("other.db"), "CREATE TABLE x (a)");
    let bytes = std::fs::read(folder.path("other.db")).unwrap();
    folder.run(&["verify", "--db", "other.db"]).expect(2, "", "other.db is a database of another program");
    folder.run(&["import", "lunch.csv", "--catalog", "lunch", "--db", "other.db"]).expect(2, "", "of another program");
    assert_eq!(std::fs::read(folder.path("other.db")).unwrap(), bytes);
    assert!(!folder.path("other.db.lock").exists());
    // An empty file is no database.
    folder.write("empty.db", "");
    folder.run(&["verify", "--db", "empty.db"]).expect(2, "", "there is no database");
    assert_eq!(std::fs::metadata(folder.path("empty.db")).unwrap().len(), 0);
    // A file that cannot be read is an answer.
    std::fs::copy(folder.path("unloop.db"), folder.path("damaged.db")).unwrap();
    let mut bytes = std::fs::read(folder.path("damaged.db")).unwrap();
    bytes[4_096..40_000].fill(0xa5);
    std::fs::write(folder.path("damaged.db"), bytes).unwrap();
    folder.run(&["verify", "--db", "damaged.db", "--json"]).expect(1, "\"good\":false", "");
    // What cannot be printed is told, not panicked about.
    for arguments in [vec!["verify"], vec!["backup", "x.db"], vec!["import", "lunch.csv", "--catalog", "lunch"]] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_unloop"));
        let output = command.args(&arguments).current_dir(&folder.0).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
    }
}

#[test]
fn an_import_that_was_cut_off_is_finished_by_the_next() {
    let folder = Folder::new("cut-off");
    folder.write("f.csv", "presented,chosen\na|b,a\na|b,zzz\n");
    folder.run(&["import", "f.csv", "--catalog", "c"]).expect(2, "", "line 3");
    folder.write("f.csv", "presented,chosen\na|b,a\na|b,b\n");
    folder.run(&["import", "f.csv", "--catalog", "c"]).expect(
        0,
        "2 rows: 1 choice recorded, 1 there before\n2 options added",
        "",
    );
}

#[test]
fn columns_that_are_named_have_to_be_there() {
    let folder = Folder::new("columns");
    folder.write("a.csv", "presented,chosen,who,Event\na|b,a,ada,1\n");
    for flag in ["--id", "--context"] {
        folder.run(&["import", "a.csv", "--catalog", "c", flag, "event"]).expect(2, "", "there is no column `event`");
    }
    folder.write("a.jsonl", "{\"presented\":[\"a\",\"b\"],\"chosen\":\"a\",\"weight\":2}\n");
    folder.run(&["import", "a.jsonl", "--catalog", "c", "--id", "event"]).expect(2, "", "line 1: nothing makes this row unique");
    folder.run(&["import", "a.jsonl", "--catalog", "c", "--context", "who"]).expect(2, "", "there is no column `who`");
    folder.run(&["import", "a.jsonl", "--catalog", "d"]).expect(0, "1 choice recorded", "");
    folder.run(&["export", "--catalog", "d"]).expect(0, "\"count\":2.0", "");
    // Compressed it is the same file; a stream has no name.
    folder.write("b.csv.gz", "presented,chosen\na|b,a\n");
    folder.run(&["import", "b.csv.gz", "--catalog", "c"]).expect(0, "1 choice recorded", "");
    std::fs::rename(folder.path("b.csv.gz"), folder.path("b.csv")).unwrap();
    folder.run(&["import", "b.csv", "--catalog", "c"]).expect(0, "0 choices recorded, 1 there before", "");
    let file = std::fs::File::open(folder.path("b.csv")).unwrap();
    folder.run_with(&["import", "/dev/stdin", "--catalog", "c"], file.into()).expect(2, "", "nothing makes this row unique");
}

/// Names that look like several, or like a list, come back as they were.
#[test]
fn odd_names_come_back() {
    let folder = Folder::new("odd");
    let rows = [
        r#"{"presented":["a","b","a|b"],"chosen":["a","b"]}"#,
        r#"{"presented":["a|b","a\\|b"],"chosen":"a|b"}"#,
        r#"{"presented":["a\\\\","a\\"],"chosen":"a\\"}"#,
        r#"{"presented":["[\"a\"]","a"],"tied":["a","[\"a\"]"]}"#,
        r#"{"presented":["[a","a]"],"chosen":"[a"}"#,
        r#"{"presented":["é, ü","\"q\""," blank "],"chosen":[" blank ","é, ü"],"context":" odd | one ","weight":0.9336395263671875}"#,
    ];
    folder.write("rows.jsonl", &(rows.join("\n") + "\n"));
    folder.run(&["import", "rows.jsonl", "--catalog", "c"]).expect(0, "6 choices recorded", "");
    for name in ["out.csv", "out.jsonl"] {
        folder.run(&["export", "--catalog", "c", "--output", name]).expect(0, "", "");
        folder.run(&["import", name, "--catalog", "c"]).expect(0, " 0 choices recorded, 6 there before", "");
        folder.run(&["import", name, "--catalog", "c", "--db", &format!("{name}.db")]).expect(0, "", "");
        assert_eq!(folder.digest(&format!("{name}.db")), folder.digest("unloop.db"), "{name}");
    }
}
