//! The power is cut at random moments while 32 writers append, again and again; nothing that was acknowledged may be lost.
//!
//! `cargo test -p unloop-store --test power [-- --cycles N] [--seed S]`; 30 cycles by default. Each cycle: the store runs over a layer
//! that knows what was flushed. At a random call the power goes, and what survives is what was flushed and something of what was not,
//! in pieces (`layer/disk.rs`). That is opened with the system's own layer and compared as `kill.rs` does; the next cycle goes on from
//! it as it is, so recovery itself is cut off, too.
//!
//! The test is tested: without flushes something has to be lost.
#![allow(missing_docs, clippy::print_stdout)]

mod layer;
mod ledger;
mod repeated;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use unloop_store::{Sqlite, SqliteSettings, Synchronous};

use layer::{Layer, Plan};
use ledger::{Ledger, WRITERS, compare, run, settings, write};
use repeated::report;

/// Calls before the power goes, at most: the write-ahead log is copied into the database about every 2,000.
const LONGEST: f64 = 8_000.0;

fn main() -> ExitCode {
    report(
        "--cycles",
        30,
        &[("power", nothing_acknowledged_is_lost), ("power_without_flushes", without_flushes_something_is_lost)],
    )
}

fn nothing_acknowledged_is_lost(cycles: u64, seed: u64) {
    let mut machine = Machine::new("full", seed, Synchronous::Full);
    let mut calls = 0;
    for cycle in 0..cycles {
        calls += machine.cut(cycle);
        machine.compare().unwrap_or_else(|problem| panic!("cycle {cycle}, seed {seed}: {problem}"));
    }
    println!("{cycles} cuts after {calls} calls, {} acknowledged, none lost", machine.ledger.len());
    assert!(machine.ledger.len() as u64 > cycles, "hardly anything was acknowledged: {}", machine.ledger.len());
}

fn without_flushes_something_is_lost(cycles: u64, seed: u64) {
    let mut machine = Machine::new("off", seed, Synchronous::Off);
    for cycle in 0..cycles.max(30) {
        machine.cut(cycle);
        if let Err(problem) = machine.compare() {
            println!("without flushes, after {} cuts: {problem}", cycle + 1);
            return;
        }
    }
    panic!("nothing was flushed and nothing lost: the layer does not do what it says");
}

/// A machine whose power can be cut: a folder, and what was acknowledged.
struct Machine {
    folder: PathBuf,
    layer: Layer,
    settings: SqliteSettings,
    rng: ChaCha8Rng,
    ledger: Ledger,
}

impl Machine {
    fn new(name: &str, seed: u64, synchronous: Synchronous) -> Self {
        let folder = std::env::temp_dir().join(format!("unloop-power-{name}-{}", std::process::id()));
        empty(&folder.join("live"));
        let layer = Layer::new();
        let settings = SqliteSettings { synchronous, vfs: Some(layer.name), ..SqliteSettings::default() };
        Self { folder, layer, settings, rng: ChaCha8Rng::seed_from_u64(seed), ledger: Ledger::new() }
    }

    /// Runs until the power goes, and leaves what survives. How many calls it ran for.
    fn cut(&mut self, cycle: u64) -> u64 {
        let live = self.folder.join("live");
        // As often within the first ten as within the last thousands: opening and recovery are short.
        let at = LONGEST.powf(self.rng.random::<f64>()) as u64;
        self.layer.plan(Plan::Cut { at });
        let settings = settings(cycle, self.settings);
        let ledger = Arc::new(Mutex::new(std::mem::take(&mut self.ledger)));
        if let Ok(store) = Sqlite::open_with(&live.join("unloop.db"), settings) {
            let store = Arc::new(store);
            let threads: Vec<_> = (0..WRITERS)
                .map(|writer| {
                    let (store, ledger) = (Arc::clone(&store), Arc::clone(&ledger));
                    let note = move |line: &str| {
                        assert!(ledger.lock().expect("a ledger").insert(line.to_owned()), "acknowledged twice: {line}");
                    };
                    std::thread::spawn(move || run(write(&store, cycle, writer, note)).expect_err("there is no power"))
                })
                .collect();
            threads.into_iter().for_each(|thread| drop(thread.join().expect("a writer")));
        }
        self.ledger = std::mem::take(&mut ledger.lock().expect("a ledger"));
        assert!(self.layer.calls() >= at, "the power was never cut");
        let left = self.layer.survivors(&live, &mut self.rng);
        // A copy to look at, and one to go on from: looking repairs it.
        for folder in [live, self.folder.join("seen")] {
            empty(&folder);
            left.iter().for_each(|(name, bytes)| std::fs::write(folder.join(name), bytes).expect("written"));
        }
        at
    }

    fn compare(&self) -> Result<(), String> {
        compare(&self.folder.join("seen").join("unloop.db"), &self.ledger)
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn empty(folder: &Path) {
    let _ = std::fs::remove_dir_all(folder);
    std::fs::create_dir_all(folder).expect("a folder");
}
