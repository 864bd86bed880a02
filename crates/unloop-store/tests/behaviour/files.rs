//! Files: what was answered stays, what cannot be opened is named, others beside, backups, older formats.

use crate::*;

/// What was answered is there after the file is opened again; only one process may append.
#[test]
fn a_file_keeps_what_was_answered() {
    let folder = folder();
    let path = folder.join("unloop.db");
    let digest = {
        let store = Sqlite::open(&path).unwrap();
        assert!(matches!(Sqlite::open(&path), Err(StoreError::InUse { .. })));
        run(async {
            for i in 0..30 {
                store.append(vec![choice(Some("ada"), &format!("p{i}"), "soup")]).await.unwrap();
            }
            fold(&store, LUNCH, Some("ada")).await.unwrap().digest()
        })
    };
    let store = Sqlite::open(&path).unwrap();
    run(async {
        assert_eq!(fold(&store, LUNCH, Some("ada")).await.unwrap().digest(), digest);
        assert!(matches!(
            store.append(vec![choice(Some("ada"), "p3", "soup")]).await.unwrap()[..],
            [Appended::Repeated { seq: 4, .. }]
        ));
    });
    drop(store);
    let _ = std::fs::remove_dir_all(&folder);
}

/// Choice after choice, each in a transaction of its own: the write-ahead log is copied and begun anew, again and again.
#[test]
fn the_log_before_the_database_stays_short() {
    [false, true].into_iter().for_each(a_log_stays_short);
}

fn a_log_stays_short(at_once: bool) {
    const COUNT: usize = 6_000;
    let folder = folder();
    let path = folder.join("unloop.db");
    let settings = SqliteSettings { synchronous: Synchronous::Off, at_once, ..SqliteSettings::default() };
    let store = Sqlite::open_with(&path, settings).unwrap();
    run(async {
        for i in 0..COUNT {
            store.append(vec![choice(Some(&format!("person-{}", i * 7_919 % 1_000)), &format!("p{i}"), "soup")]).await.unwrap();
        }
        assert_eq!(store.head().await.unwrap().seq, COUNT as u64);
    });
    // At least four pages of each: without that it has 104 MB. The writer alone lets it have 64 MB.
    let megabytes = std::fs::metadata(folder.join("unloop.db-wal")).unwrap().len() >> 20;
    assert!((8..48).contains(&megabytes), "{megabytes} MB");
    drop(store);
    assert!(!folder.join("unloop.db-wal").exists());
    let _ = std::fs::remove_dir_all(&folder);
}

/// What cannot be opened is named, and left as it is.
#[test]
fn files_that_cannot_be_opened_are_named() {
    let folder = folder();
    let path = folder.join("unloop.db");
    drop(Sqlite::open(&path).unwrap());
    rusqlite::Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let Err(StoreError::Newer { found: 99, known: 2, .. }) = Sqlite::open(&path) else { panic!("a newer format was opened") };
    let text = folder.join("text.db");
    std::fs::write(&text, "this is no database, whatever its name says; ".repeat(100)).unwrap();
    let Err(StoreError::Database { problem, .. }) = Sqlite::open(&text) else { panic!("text was opened") };
    assert!(problem.contains("not a database"), "{problem}");
    assert!(std::fs::read_to_string(&text).unwrap().starts_with("this is no database"));
    assert!(matches!(Sqlite::open(&folder.join("nowhere/unloop.db")), Err(StoreError::Database { .. })));
    let _ = std::fs::remove_dir_all(&folder);
}

/// Others read beside the process that appends, and change settings; they do not append.
#[test]
fn others_read_beside_and_change_settings() {
    let folder = folder();
    let path = folder.join("unloop.db");
    let beside = SqliteSettings { access: Access::Beside, ..SqliteSettings::default() };
    assert!(matches!(Sqlite::open_with(&path, beside), Err(StoreError::NoDatabase { .. })));
    assert!(!path.exists());
    let store = Sqlite::open(&path).unwrap();
    let other = Sqlite::open_with(&path, beside).unwrap();
    run(async {
        store.append(vec![choice(Some("ada"), "p1", "soup")]).await.unwrap();
        assert_eq!(other.head().await.unwrap().seq, 1);
        assert!(matches!(other.append(vec![choice(None, "p2", "soup")]).await, Err(StoreError::Beside { .. })));
        assert!(matches!(other.erase(LUNCH, Some("ada".into()), 0).await, Err(StoreError::Beside { .. })));
        other.change(catalog("lunch", None)).await.unwrap();
        assert_eq!(store.head().await.unwrap(), unloop_store::Head { seq: 1, revision: 1 });
    });
    drop((store, other));
    let _ = std::fs::remove_dir_all(&folder);
}

/// A backup is whole, opens, and is made while others append; one that fails leaves nothing behind.
#[test]
fn a_backup_is_whole() {
    let folder = folder();
    let store = Arc::new(Sqlite::open(&folder.join("unloop.db")).unwrap());
    let copy = folder.join("copy.db");
    let appender = {
        let store = Arc::clone(&store);
        std::thread::spawn(move || {
            run(async {
                for i in 0..300 {
                    store.append(vec![choice(Some("ada"), &format!("p{i}"), "soup")]).await.unwrap();
                }
            });
        })
    };
    let seq = run(store.backup(&copy)).unwrap();
    appender.join().unwrap();
    assert!(matches!(run(store.backup(&copy)), Err(StoreError::Database { .. })), "a file is never written over");
    // A name that only a folder can have: the last step, the renaming, fails.
    assert!(matches!(run(store.backup(&folder.join("other.db/"))), Err(StoreError::Database { .. })));
    assert!(!folder.join("other.db").exists());
    let opened = Sqlite::open(&copy).unwrap();
    run(async {
        let events = opened.read(everything()).await.unwrap();
        assert_eq!(events.len() as u64, seq);
        assert!(opened.soundness().await.unwrap().is_empty() && store.soundness().await.unwrap().is_empty());
    });
    let left: Vec<_> =
        std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert!(!left.iter().any(|name| name.contains(".part")), "{left:?}");
    drop((store, opened));
    let _ = std::fs::remove_dir_all(&folder);
}

/// Files of older formats are brought up to date, and lose nothing. They were written by `examples/fixture.rs` as it was then.
#[test]
fn older_formats_are_opened() {
    const DIGEST: &str = "a50e3f6580836459315a0076ca00366b7c09327ffd38fe5707d9dcb97580b70c";
    let fixtures = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    for format in 1..=2 {
        let folder = folder();
        let path = folder.join("unloop.db");
        std::fs::copy(fixtures.join(format!("format-{format}.db")), &path).unwrap();
        let store = Sqlite::open(&path).unwrap();
        run(async {
            for folded in [fold(&store, LUNCH, None).await.unwrap(), load(&store, LUNCH, None).await.unwrap()] {
                assert_eq!(blake3::Hash::from_bytes(folded.digest()).to_hex().to_string(), DIGEST, "format {format}");
            }
            assert_eq!(store.head().await.unwrap().seq, 43, "format {format}");
            let name = if format == 1 { "catalog-1" } else { "lunch" };
            assert_eq!(store.settings().await.unwrap().catalogs[0].name, name, "format {format}");
            store.append(vec![choice(Some("dee"), "new", "soup")]).await.unwrap();
        });
        drop(store);
        let _ = std::fs::remove_dir_all(&folder);
    }
}

/// Whoever may write at once does not wait for another process: what is asked for waits where it keeps nobody, and is recorded afterwards.
#[test]
fn another_process_that_writes_is_waited_for() {
    let folder = folder();
    let path = folder.join("unloop.db");
    let store = Sqlite::open_with(&path, SqliteSettings { at_once: true, ..SqliteSettings::default() }).unwrap();
    run(async {
        store.append(vec![choice(None, "before", "soup")]).await.unwrap();
        let other = rusqlite::Connection::open(&path).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let start = std::time::Instant::now();
        let waiting = store.append(vec![choice(None, "meanwhile", "soup")]);
        assert!(start.elapsed() < std::time::Duration::from_secs(1), "the call itself waited");
        other.execute_batch("COMMIT").unwrap();
        assert_eq!(waiting.await.unwrap(), [Appended::Recorded { seq: 2 }]);
        assert_eq!(store.append(vec![choice(None, "after", "soup")]).await.unwrap(), [Appended::Recorded { seq: 3 }]);
    });
    drop(store);
    let _ = std::fs::remove_dir_all(&folder);
}

/// Whoever writes at once is as durable as the thread that writes, is seen by all, and does so without it: it is flushed when the call returns.
#[test]
fn a_single_entry_is_written_by_whoever_brings_it() {
    let folder = folder();
    let path = folder.join("unloop.db");
    for (at_once, seq) in [(true, 1_u64), (false, 2), (true, 3)] {
        let store = Sqlite::open_with(&path, SqliteSettings { at_once, ..SqliteSettings::default() }).unwrap();
        let reader = rusqlite::Connection::open(&path).unwrap();
        let written = || reader.query_row("SELECT seq FROM head", [], |row| row.get::<_, i64>(0)).unwrap();
        run(async {
            let answer = store.append(vec![choice(None, &seq.to_string(), "soup")]);
            // Before anybody asks for the answer.
            assert!(!at_once || written() == seq.cast_signed(), "it is not written");
            assert_eq!(answer.await.unwrap(), [Appended::Recorded { seq }]);
            assert_eq!(store.head().await.unwrap().seq, seq);
        });
    }
    let _ = std::fs::remove_dir_all(&folder);
}
