//! A process that appends for 32 writers is killed at random moments, again and again; nothing that it acknowledged may be lost.
//!
//! `cargo test -p unloop-store --test kill [-- --cycles N] [--seed S]`; 30 cycles by default. Each cycle: the process appends, withdraws
//! and puts folds aside, and writes a line into its ledger (a pipe, which outlives it) after each answer. It is killed with SIGKILL, the
//! database opened again and compared: every acknowledged choice is there, once; withdrawals likewise; positions have no hole; what
//! snapshots and log give is what the log alone gives, to the bit. SIGKILL leaves the system's cache alive: this is about the
//! program, not about the disk.
#![allow(missing_docs, clippy::print_stdout)]

mod repeated;

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use unloop_store::{
    Appended, Body, CatalogId, Entry, Event, Kind, Selection, Snapshot, SnapshotKey, Sqlite, Store, What, fold, import_key, load,
};

const LUNCH: CatalogId = CatalogId(1);
const WRITERS: u64 = 32;
const CONTEXTS: u64 = 6;
/// Milliseconds that a process lives at most.
const LONGEST: u64 = 150;
/// Says to this program that it is the one to be killed: the database, and the number of the cycle.
const CHILD: &str = "UNLOOP_STORE_KILLED";

fn main() -> ExitCode {
    if let Ok(child) = std::env::var(CHILD) {
        let (cycle, path) = child.split_once(' ').expect("a cycle and a path");
        append_for_ever(Path::new(path), cycle.parse().expect("a number"));
    }
    repeated::main("kill", "--cycles", 30, kill_again_and_again)
}

fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().expect("a runtime").block_on(work)
}

fn entry(context: u64, id: &str, kind: Kind) -> Entry {
    let body = Body::chosen(&["soup", "salad", "curry"], ["soup", "salad", "curry"][id.len() % 3]);
    let id = id.to_owned();
    let what = if kind == Kind::Import { What::Import { id, body } } else { What::Choice { id, body } };
    Entry { catalog: LUNCH, context: Some(format!("person {context}")), what, time: 0 }
}

/// The process that is killed.
fn append_for_ever(path: &Path, cycle: u64) -> ! {
    let store = Arc::new(Sqlite::open(path).expect("opened"));
    let ledger = Arc::new(Mutex::new(std::io::stdout()));
    let note = move |line: &str| {
        let mut ledger = ledger.lock().expect("a ledger");
        // A whole line at once: what is torn was not acknowledged.
        ledger.write_all(format!("{line}\n").as_bytes()).and_then(|()| ledger.flush()).expect("noted");
    };
    for writer in 0..WRITERS {
        let (store, note) = (Arc::clone(&store), note.clone());
        std::thread::spawn(move || {
            let mut rng = ChaCha8Rng::seed_from_u64(cycle * WRITERS + writer);
            run(async {
                for i in 0_u64.. {
                    let id = format!("{cycle}-{writer}-{i}");
                    let (kind, mark) = if i % 3 == 2 { (Kind::Import, "I") } else { (Kind::Choice, "C") };
                    let answer = store.append(vec![entry(rng.random_range(0..CONTEXTS), &id, kind)]).await.expect("appended");
                    assert!(matches!(answer[..], [Appended::Recorded { .. }]), "{answer:?}");
                    note(&format!("{mark} {id}"));
                    if i % 5 == 4 && kind == Kind::Choice {
                        let what = What::Withdrawal { of: kind, id: id.clone() };
                        store.append(vec![Entry { catalog: LUNCH, context: None, what, time: 0 }]).await.expect("withdrawn");
                        note(&format!("W {id}"));
                    }
                    if i % 20 == 10 {
                        let context = format!("person {}", writer % CONTEXTS);
                        let folded = load(&*store, LUNCH, Some(&context)).await.expect("loaded");
                        let key = SnapshotKey::new(LUNCH, Some(&context));
                        store.put_snapshots(vec![(key, Snapshot::of(&folded))]).await.expect("put");
                    }
                }
            });
        });
    }
    loop {
        std::thread::park();
    }
}

fn kill_again_and_again(cycles: u64, seed: u64) {
    let folder: PathBuf = std::env::temp_dir().join(format!("unloop-kill-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join("unloop.db");
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut ledger: BTreeSet<String> = BTreeSet::new();
    for cycle in 0..cycles {
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .env(CHILD, format!("{cycle} {}", path.display()))
            .stdout(Stdio::piped())
            .spawn()
            .expect("spawned");
        let mut pipe = child.stdout.take().expect("a pipe");
        // Read while it runs: a full pipe would stop it.
        let reader = std::thread::spawn(move || {
            let mut text = String::new();
            pipe.read_to_string(&mut text).map(|_| text)
        });
        std::thread::sleep(Duration::from_millis(rng.random_range(0..LONGEST)));
        child.kill().expect("killed");
        let status = child.wait().expect("gone");
        assert!(status.code().is_none(), "cycle {cycle}: it ended by itself: {status}");
        let text = reader.join().expect("a reader").expect("text");
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        ledger.extend(whole.lines().map(str::to_owned));
        compare(&path, &ledger, cycle);
    }
    println!("{cycles} kills, {} acknowledged, none lost", ledger.len());
    assert!(ledger.len() as u64 > cycles, "hardly anything was acknowledged: {}", ledger.len());
    let _ = std::fs::remove_dir_all(&folder);
}

fn compare(path: &Path, ledger: &BTreeSet<String>, cycle: u64) {
    let store = Sqlite::open(path).expect("opened again");
    run(async {
        let events: Vec<Event> = store.read(Selection { limit: usize::MAX, ..Selection::default() }).await.expect("read");
        assert!(events.iter().zip(1..).all(|(event, seq)| event.seq == seq), "cycle {cycle}: a hole");
        assert_eq!(store.head().await.expect("a head").seq, events.len() as u64, "cycle {cycle}");
        let held: BTreeSet<(Kind, String)> = events.iter().map(|event| (event.kind, event.id.clone())).collect();
        assert_eq!(held.len(), events.len(), "cycle {cycle}: doubled");
        for line in ledger {
            let (mark, id) = line.split_once(' ').expect("a line");
            let key = match mark {
                "C" => (Kind::Choice, id.to_owned()),
                "I" => (Kind::Import, import_key(id)),
                _ => (Kind::Withdrawal, format!("choice:{id}")),
            };
            assert!(held.contains(&key), "cycle {cycle}: {line} was acknowledged and is lost");
        }
        for context in 0..CONTEXTS {
            let context = format!("person {context}");
            let (loaded, folded) = (load(&store, LUNCH, Some(&context)).await, fold(&store, LUNCH, Some(&context)).await);
            assert_eq!(loaded.expect("loaded").digest(), folded.expect("folded").digest(), "cycle {cycle}, {context}");
        }
    });
}
