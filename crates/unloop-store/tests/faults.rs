//! Calls that fail, a full disk, files that cannot be written, a write-ahead log cut short: what was acknowledged stays, what was not
//! is there wholly or not at all.
#![allow(missing_docs)]

mod layer;
mod steps;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rusqlite::OpenFlags;
use unloop_store::{Appended, Sqlite, Store, StoreError};

use layer::{Layer, Plan};
use steps::{ADA, Acknowledged, Folder, Step, Told, all, ask, choices, compare, open, open_with, run, steps};

/// Every call of the scenario fails once: what is left after the process ended, and what is left after the power went, too.
fn a_fault_at_every_call(name: &str, lasting: bool, half: bool) {
    for at_once in [false, true] {
        a_fault_at_each(&format!("{name}-{at_once}"), lasting, half, at_once);
    }
}

fn a_fault_at_each(name: &str, lasting: bool, half: bool, at_once: bool) {
    let (folder, left) = (Folder::new(name), Folder::new(&format!("{name}-left")));
    let (layer, quiet) = (Layer::new(), Layer::new());
    // Two threads close the database at once, so the last calls are not always the same: it runs through several times.
    let mut through = 0;
    for at in 1.. {
        let plan = Plan::Fail { at, lasting, half };
        let name = format!("{plan:?}");
        folder.empty();
        layer.plan(plan);
        let mut told = Vec::new();
        if let Ok(store) = open_with(&folder.database(), &layer, at_once) {
            for step in steps() {
                let one = run(ask(&store, step));
                if let Ok(Acknowledged::Erase(_)) = one.answer {
                    assert!(!folder.holds(ADA), "{name}: it was answered, and what was erased is there");
                }
                told.push(one);
            }
        }
        let (reached, complete) = (layer.calls() >= at, told.len() == steps().len());
        let failed = told.iter().position(|told| matches!(&told.answer, Err(error) if *error != StoreError::Full));
        if let Some(failed) = failed {
            assert!(told[failed..].iter().all(|told| told.answer.is_err()), "{name}: something was acknowledged after a failure");
        }
        left.empty();
        for (file, bytes) in layer.survivors(&folder.0, &mut ChaCha8Rng::seed_from_u64(at)) {
            std::fs::write(left.0.join(file), bytes).unwrap();
        }
        compare(&folder, &quiet, &told, &name);
        compare(&left, &quiet, &told, &format!("{name}, and the power went"));
        through = if reached { 0 } else { through + 1 };
        assert!(reached || failed.is_none() && complete && at > 100, "{name}: it ran through");
        if through == 10 {
            break;
        }
    }
}

#[test]
fn a_fault_that_passes() {
    a_fault_at_every_call("passes", false, false);
}

#[test]
fn a_fault_that_passes_after_half_of_the_bytes() {
    a_fault_at_every_call("passes-half", false, true);
}

#[test]
fn a_fault_that_stays() {
    a_fault_at_every_call("stays", true, false);
}

#[test]
fn a_fault_that_stays_after_half_of_the_bytes() {
    a_fault_at_every_call("stays-half", true, true);
}

/// Without space a step is refused and leaves nothing; reading goes on; with more space it is done, by the same store.
#[test]
fn a_full_disk_is_no_reason_to_restart() {
    let (folder, layer, quiet) = (Folder::new("full"), Layer::new(), Layer::new());
    let mut refusals = 0;
    // More space each time by so much, so that it ends within other calls each time.
    for more in (1..40).map(|i| i * 997) {
        folder.empty();
        layer.plan(Plan::Nothing);
        let store = open_with(&folder.database(), &layer, more % 2 == 0).unwrap();
        let mut told = Vec::new();
        for step in steps() {
            let is_erasure = matches!(step, Step::Erase(_));
            told.push(until_there_is_space(&store, &layer, &step, more, &mut refusals));
            assert!(!is_erasure || !folder.holds(ADA), "it was answered, and what was erased is there");
        }
        layer.limit(None);
        drop(store);
        compare(&folder, &quiet, &told, &format!("{more} bytes more each time"));
    }
    assert!(refusals > 500, "{refusals} is too few to say anything");
}

fn until_there_is_space(store: &Sqlite, layer: &Layer, step: &Step, more: u64, refusals: &mut u64) -> Told {
    run(async {
        let before = all(store).await;
        let mut space = layer.size();
        loop {
            layer.limit(Some(space));
            let told = ask(store, step.clone()).await;
            let Err(error) = &told.answer else { break told };
            assert_eq!(*error, StoreError::Full);
            *refusals += 1;
            let after = all(store).await;
            // An erasure may have been done, and wait for space to empty the write-ahead log.
            let is_erasure = matches!(step, Step::Erase(_)) && after.len() == before.len() + 1;
            assert!(after == before || is_erasure, "it was refused, and something is there");
            space += more;
        }
    })
}

/// A call that is larger than what SQLite keeps in memory: space ends in the middle of it.
#[test]
fn a_full_disk_in_the_middle_of_a_large_call() {
    let (folder, layer, quiet) = (Folder::new("large"), Layer::new(), Layer::new());
    layer.plan(Plan::Nothing);
    let store = open(&folder.database(), &layer).unwrap();
    let mut told = vec![run(ask(&store, Step::Append(choices("bob", "b", 3))))];
    let large = Step::Append(choices("bob", "large", 20_000));
    // What it has written in vain stays in the write-ahead log, to be written over.
    let before = layer.size();
    for more in [0, 100_000, 1_000_000, 2_500_000] {
        layer.limit(Some(before + more));
        assert_eq!(run(ask(&store, large.clone())).answer.err(), Some(StoreError::Full), "{more}");
        assert_eq!(run(all(&store)).len(), 3, "{more}");
    }
    layer.limit(None);
    told.push(run(ask(&store, large)));
    drop(store);
    compare(&folder, &quiet, &told, "a large call");
}

/// An erasure that is recorded but cannot empty the write-ahead log says so, alone; tried again it is answered when nothing is left.
#[test]
fn an_erasure_on_a_full_disk_takes_nobody_with_it() {
    let (folder, layer, quiet) = (Folder::new("erasure"), Layer::new(), Layer::new());
    layer.plan(Plan::Nothing);
    let store = open(&folder.database(), &layer).unwrap();
    let mut told = vec![run(ask(&store, Step::Append(choices(ADA, "a", 300))))];
    // Refused, it leaves room within the write-ahead log, and the database has none to grow.
    layer.limit(Some(layer.size() + 500_000));
    let large = Step::Append(choices("bob", "large", 20_000));
    assert_eq!(run(ask(&store, large)).answer.err(), Some(StoreError::Full));
    layer.limit(Some(layer.size()));
    // Asked at once, they nearly always share a transaction.
    let (erasure, beside) =
        run(async { tokio::join!(ask(&store, Step::Erase(ADA)), ask(&store, Step::Append(choices("bob", "b", 3)))) });
    assert_eq!(erasure.answer.err(), Some(StoreError::Full));
    assert!(beside.answer.is_ok(), "it is recorded: {:?}", beside.answer);
    told.push(beside);
    assert!(folder.holds(ADA), "there was space after all");
    layer.limit(None);
    told.push(run(ask(&store, Step::Erase(ADA))));
    assert!(!folder.holds(ADA), "it was answered, and what was erased is there");
    drop(store);
    compare(&folder, &quiet, &told, "an erasure");
}

/// Somebody reads for longer than an erasure waits: it says so, nobody else waits, and tried again it is answered when nothing is left.
#[test]
fn an_erasure_beside_a_long_reading_takes_nobody_with_it() {
    let (folder, layer, quiet) = (Folder::new("reading"), Layer::new(), Layer::new());
    layer.plan(Plan::Nothing);
    let store = open(&folder.database(), &layer).unwrap();
    let mut told = vec![run(ask(&store, Step::Append(choices(ADA, "a", 3))))];
    let reader = rusqlite::Connection::open_with_flags_and_vfs(folder.database(), OpenFlags::default(), layer.name).unwrap();
    reader.execute_batch("BEGIN; SELECT * FROM head").unwrap();
    assert_eq!(run(ask(&store, Step::Erase(ADA))).answer.err(), Some(StoreError::Full), "somebody reads it still");
    let begun = Instant::now();
    told.push(run(ask(&store, Step::Append(choices("bob", "b", 3)))));
    assert!(told[1].answer.is_ok() && begun.elapsed() < Duration::from_secs(5), "{:?}", told[1].answer);
    drop(reader);
    told.push(run(ask(&store, Step::Erase(ADA))));
    assert!(!folder.holds(ADA), "it was answered, and what was erased is there");
    drop(store);
    compare(&folder, &quiet, &told, "a long reading");
}

/// A store is opened and read without space, and records again when there is some.
#[test]
fn a_full_disk_is_no_reason_not_to_start() {
    let (folder, copy, layer, quiet) = (Folder::new("start"), Folder::new("start-copy"), Layer::new(), Layer::new());
    layer.plan(Plan::Nothing);
    let store = open(&folder.database(), &layer).unwrap();
    let mut told: Vec<Told> = steps().into_iter().map(|step| run(ask(&store, step))).collect();
    told.push(run(ask(&store, Step::Append(choices("bob", "more", 300)))));
    let written = run(all(&store));
    for file in ["unloop.db", "unloop.db-wal"] {
        std::fs::copy(folder.0.join(file), copy.0.join(file)).unwrap();
    }
    let space = layer.size();
    drop(store);
    layer.plan(Plan::Nothing);
    layer.limit(Some(space));
    let store = open(&copy.database(), &layer).unwrap();
    assert_eq!(run(all(&store)), written);
    assert_eq!(run(ask(&store, Step::Append(choices("cy", "d", 300)))).answer.err(), Some(StoreError::Full));
    layer.limit(None);
    told.push(run(ask(&store, Step::Append(choices("cy", "d", 300)))));
    drop(store);
    compare(&copy, &quiet, &told, "opened without space");
}

/// What cannot be written is named, not taken for empty, and works again when it can.
#[test]
fn what_cannot_be_written_is_named() {
    let folder = Folder::new("unwritable");
    let path = folder.database();
    let store = Sqlite::open(&path).unwrap();
    run(store.append(choices("bob", "b", 3))).unwrap();
    drop(store);
    let refused = |place: &Path| match Sqlite::open(&path) {
        Err(StoreError::Database { file, .. }) => assert!(place.to_string_lossy().starts_with(&file), "{file}"),
        Err(error) => panic!("{}: {error}", place.display()),
        Ok(_) => panic!("{} was opened", place.display()),
    };
    // Nobody can write into a folder as into a file, not even who may everything.
    for end in ["-wal", ".lock"] {
        let place = folder.0.join(format!("unloop.db{end}"));
        let _ = std::fs::remove_file(&place);
        std::fs::create_dir(&place).unwrap();
        refused(&place);
        std::fs::remove_dir(&place).unwrap();
    }
    let aside = folder.0.join("aside");
    std::fs::rename(&path, &aside).unwrap();
    std::fs::create_dir(&path).unwrap();
    refused(&path);
    std::fs::remove_dir(&path).unwrap();
    std::fs::rename(&aside, &path).unwrap();
    let before = std::fs::metadata(&path).unwrap().permissions();
    let mut read_only = before.clone();
    read_only.set_readonly(true);
    std::fs::set_permissions(&path, read_only).unwrap();
    // Who may everything may this, too.
    if std::fs::OpenOptions::new().write(true).open(&path).is_err() {
        refused(&path);
    }
    std::fs::set_permissions(&path, before).unwrap();
    let store = Sqlite::open(&path).unwrap();
    assert_eq!(run(store.append(choices("bob", "b", 4))).unwrap().last(), Some(&Appended::Recorded { seq: 4 }));
}

/// However short the write-ahead log is cut: what is there are the first calls, whole, and never fewer for a longer one.
#[test]
fn a_write_ahead_log_that_was_cut_short() {
    let (folder, copy, quiet) = (Folder::new("wal"), Folder::new("wal-copy"), Layer::new());
    quiet.plan(Plan::Nothing);
    let store = open(&folder.database(), &quiet).unwrap();
    let wal = folder.0.join("unloop.db-wal");
    let (mut ends, mut commits) = (vec![0], vec![0, 32]);
    for call in 0..30 {
        run(store.append(choices("bob", &format!("{call}-"), 1 + call % 4))).unwrap();
        ends.push(run(store.head()).unwrap().seq);
        commits.push(std::fs::metadata(&wal).unwrap().len() as usize);
    }
    let written = run(all(&store));
    // Nobody writes now: the copy is what a process leaves that is killed here.
    let database = std::fs::read(folder.database()).unwrap();
    let log = std::fs::read(&wal).unwrap();
    drop(store);
    assert!(log.len() > 100_000, "all of it is in the write-ahead log: {}", log.len());
    // A header of 32 bytes, then frames of 24 and a page: around each end, and between.
    let frame = 24 + 4_096;
    let mut lengths: BTreeSet<usize> = (0..log.len()).step_by(1_371).chain(0..40).collect();
    lengths.extend((32..=log.len()).step_by(frame).flat_map(|end| [end - 1, end, end + 1, end + 24]));
    let (mut seen, mut opened) = (BTreeSet::new(), 0);
    for length in lengths.into_iter().filter(|&length| length <= log.len()) {
        copy.empty();
        std::fs::write(copy.database(), &database).unwrap();
        std::fs::write(copy.0.join("unloop.db-wal"), &log[..length]).unwrap();
        quiet.plan(Plan::Nothing);
        let store = open(&copy.database(), &quiet).unwrap_or_else(|error| panic!("{length} bytes: {error}"));
        let events = run(all(&store));
        let count = events.len();
        assert_eq!(events[..], written[..count], "{length} bytes: not the first that were written");
        assert!(ends.contains(&(count as u64)), "{length} bytes: {count} events, in the middle of a call");
        assert!(seen.last().is_none_or(|&before| before <= count), "{length} bytes: fewer than of a shorter one");
        assert_eq!(store.opening().seq, count as u64, "{length} bytes");
        // Whose it is stands in the first 16 bytes of a frame.
        let over = length - commits.iter().rev().find(|&&end| end <= length).unwrap();
        assert_eq!(store.opening().unfinished, length >= 32 && over >= 16, "{length} bytes, {over} after a commit");
        seen.insert(count);
        opened += 1;
    }
    assert_eq!((seen.len(), seen.last()), (ends.len(), Some(&written.len())), "every call is the last of some");
    assert!(opened > 200, "{opened}");
}
