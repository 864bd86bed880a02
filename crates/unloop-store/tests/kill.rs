//! A process that appends for 32 writers is killed at random moments, again and again; nothing that it acknowledged may be lost.
//!
//! `cargo test -p unloop-store --test kill [-- --cycles N] [--seed S]`; 30 cycles by default. Each cycle: the process appends, withdraws,
//! erases and puts folds aside, and writes a line into its ledger (a pipe, which outlives it) after each answer. It is killed with
//! SIGKILL, the database opened again and compared: every acknowledged choice is there, once; withdrawals likewise; positions have no
//! hole; what snapshots and log give is what the log alone gives, to the bit. SIGKILL leaves the system's cache alive: this is about the
//! program, `power.rs` is about the disk.
#![allow(missing_docs, clippy::print_stdout)]

mod ledger;
mod repeated;

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use unloop_store::{Sqlite, SqliteSettings};

use ledger::{Ledger, WRITERS, compare, run, settings, write};
use repeated::report;

/// Milliseconds that a process lives at most.
const LONGEST: u64 = 150;
/// Says to this program that it is the one to be killed: the database, and the number of the cycle.
const CHILD: &str = "UNLOOP_STORE_KILLED";

fn main() -> ExitCode {
    if let Ok(child) = std::env::var(CHILD) {
        let (cycle, path) = child.split_once(' ').expect("a cycle and a path");
        append_for_ever(Path::new(path), cycle.parse().expect("a number"));
    }
    report("--cycles", 30, &[("kill", kill_again_and_again)])
}

/// The process that is killed.
fn append_for_ever(path: &Path, cycle: u64) -> ! {
    let store = Arc::new(Sqlite::open_with(path, settings(cycle, SqliteSettings::default())).expect("opened"));
    let ledger = Arc::new(Mutex::new(std::io::stdout()));
    let note = move |line: &str| {
        let mut ledger = ledger.lock().expect("a ledger");
        // A whole line at once: what is torn was not acknowledged.
        ledger.write_all(format!("{line}\n").as_bytes()).and_then(|()| ledger.flush()).expect("noted");
    };
    for writer in 0..WRITERS {
        let (store, note) = (Arc::clone(&store), note.clone());
        std::thread::spawn(move || run(write(&store, cycle, writer, note)).expect("written until it is killed"));
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
    let mut ledger = Ledger::new();
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
        compare(&path, &ledger).unwrap_or_else(|problem| panic!("cycle {cycle}: {problem}"));
    }
    println!("{cycles} kills, {} acknowledged, none lost", ledger.len());
    assert!(ledger.len() as u64 > cycles, "hardly anything was acknowledged: {}", ledger.len());
    let _ = std::fs::remove_dir_all(&folder);
}
