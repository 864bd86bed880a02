//! Snapshots and choice files out of anything: every file that fuzzing keeps, and what chance makes of them.

mod fuzzed;

use std::alloc::{GlobalAlloc, Layout, System};
use std::panic::catch_unwind;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use fuzzed::import::import;
use fuzzed::snapshot::{sealed, snapshot};

/// Files of this test are small. A length that a file claims must not become memory before its bytes are there: the longest record that is
/// read, 4 MiB, doubled twice, is all that anyone may ask for at once.
const LARGEST: usize = 1 << 24;

/// The allocator of the system, which remembers the most that it was asked for at once.
struct Watched;

static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: everything is the system's; a number is kept beside it.
unsafe impl GlobalAlloc for Watched {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        MOST.fetch_max(layout.size(), Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        MOST.fetch_max(layout.size(), Ordering::Relaxed);
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        MOST.fetch_max(size, Ordering::Relaxed);
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Watched = Watched;

/// A corpus, by file name, in order.
fn corpus(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("no corpus at {}: {error}", folder.display()));
    let mut files: Vec<(String, Vec<u8>)> = entries
        .map(|entry| {
            let path = entry.unwrap().path();
            (path.file_name().unwrap_or_default().to_string_lossy().into_owned(), std::fs::read(&path).unwrap())
        })
        .collect();
    assert!(!files.is_empty(), "the corpus at {} is empty", folder.display());
    files.sort();
    files
}

/// Runs a target over bytes, and says which they were if it panics or takes too much memory.
fn run(target: fn(&[u8]), data: &[u8], of: &str) {
    let passed = catch_unwind(|| target(data)).is_ok();
    assert!(passed, "{of}: b\"{}\"", data.escape_ascii());
    let most = MOST.load(Ordering::Relaxed);
    assert!(most <= LARGEST, "{most} bytes at once, with {of}: b\"{}\"", data.escape_ascii());
}

/// Bytes that some form gives a meaning.
const TELLING: &[u8] = b"\0\x01\x7f\x80\xff\"\\|,;>={[\n\r\t0";

/// Bytes that a mistake, a full disk or somebody with ideas would make of a file.
fn changed(files: &[(String, Vec<u8>)], random: &mut impl Rng) -> Vec<u8> {
    let any = |random: &mut dyn Rng| files[random.random_range(0..files.len())].1.clone();
    let mut data = any(&mut *random);
    for _ in 0..random.random_range(1..=4) {
        let place = random.random_range(0..=data.len());
        let end = (place + random.random_range(0..=16)).min(data.len());
        match random.random_range(0..7) {
            // A bit.
            0 if place < data.len() => data[place] ^= 1 << random.random_range(0..8),
            // A byte that means something to somebody.
            1 if place < data.len() => data[place] = TELLING[random.random_range(0..TELLING.len())],
            // The end is missing.
            2 => data.truncate(place),
            // A piece is missing.
            3 => drop(data.drain(place..end)),
            // A piece is there twice.
            4 => {
                let piece = data[place..end].to_vec();
                data.splice(place..place, piece);
            }
            // Another file goes on from here.
            5 => {
                let other = any(&mut *random);
                let from = random.random_range(0..=other.len());
                data.truncate(place);
                data.extend_from_slice(&other[from..]);
            }
            // Bytes from nowhere.
            _ => drop(data.splice(place..end, (0..random.random_range(0..8)).map(|_| random.random::<u8>()).collect::<Vec<_>>())),
        }
    }
    data
}

fn run_changed(target: fn(&[u8]), files: &[(String, Vec<u8>)], cases: u64, seed: u64) {
    for case in 0..cases {
        let mut random = ChaCha8Rng::seed_from_u64(seed ^ case);
        run(target, &changed(files, &mut random), &format!("case {case}"));
    }
}

#[test]
fn every_snapshot_of_the_corpus_is_decoded_or_refused() {
    for (name, data) in corpus("snapshot") {
        run(snapshot, &data, &name);
    }
}

#[test]
fn every_file_of_the_corpus_is_imported_or_refused() {
    // Those that swell to megabytes, or have very many names, would take up all the time of a fuzzer: they lie elsewhere.
    for (name, data) in corpus("import").into_iter().chain(corpus("slow")) {
        run(import, &data, &name);
    }
}

#[test]
fn changed_snapshots_are_decoded_or_refused() {
    run_changed(snapshot, &corpus("snapshot"), 20_000, 1);
}

#[test]
fn changed_files_are_imported_or_refused() {
    run_changed(import, &corpus("import"), 5_000, 2);
}

#[test]
fn the_corpus_has_snapshots_and_rows_that_are_good() {
    let good = corpus("snapshot").iter().filter(|(_, data)| unloop_store::snapshot::decode(&sealed(data)).is_ok()).count();
    assert!(good >= 5, "{good} of the snapshots are some");
    let rows: usize = corpus("import").iter().map(|(_, data)| fuzzed::import::entries("choices", data).len()).sum();
    assert!(rows >= 50, "{rows} rows are good");
}
