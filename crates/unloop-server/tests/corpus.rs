//! Tokens out of anything: every file that fuzzing keeps, and what chance makes of them.

#[path = "fuzzed/token.rs"]
mod token;

use std::alloc::{GlobalAlloc, Layout, System};
use std::panic::catch_unwind;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use token::token;
use unloop_server::Token;

/// A length that a token claims must not become memory before its bytes are there: a list of as many names as there are bytes left, each three words,
/// is the most that anyone may ask for at once. Tokens of this test have a few kilobytes; a length that is believed would take a megabyte.
const LARGEST: usize = 1 << 18;

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

/// The corpus, by file name, in order.
fn corpus() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/token");
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

/// Runs the checks over bytes, and says which they were if they panic or take too much memory.
fn run(data: &[u8], of: &str) {
    let passed = catch_unwind(|| token(data)).is_ok();
    assert!(passed, "{of}: b\"{}\"", data.escape_ascii());
    let most = MOST.load(Ordering::Relaxed);
    assert!(most <= LARGEST, "{most} bytes at once, with {of}: b\"{}\"", data.escape_ascii());
}

/// Numbers that look random: `SplitMix64`.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    /// Below a number, which is above 0.
    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }
}

/// Bytes that mean something to postcard or to base64.
const TELLING: &[u8] = b"\0\x01\x02\x7f\x80\xffA-_=";

/// Bytes that a mistake, or somebody with ideas, would make of a token.
fn changed(files: &[(String, Vec<u8>)], chance: &mut Chance) -> Vec<u8> {
    let mut data = files[chance.below(files.len())].1.clone();
    for _ in 0..=chance.below(4) {
        let place = chance.below(data.len() + 1);
        let end = (place + chance.below(17)).min(data.len());
        match chance.below(7) {
            // A bit.
            0 if place < data.len() => data[place] ^= 1 << chance.below(8),
            // A byte that means something.
            1 if place < data.len() => data[place] = TELLING[chance.below(TELLING.len())],
            // The end is missing.
            2 => data.truncate(place),
            // A piece is missing.
            3 => drop(data.drain(place..end)),
            // A piece is there twice.
            4 => {
                let piece = data[place..end].to_vec();
                data.splice(place..place, piece);
            }
            // Another one goes on from here.
            5 => {
                let other = &files[chance.below(files.len())].1;
                let from = chance.below(other.len() + 1);
                data.truncate(place);
                data.extend_from_slice(&other[from..]);
            }
            // Bytes from nowhere.
            _ => {
                let bytes: Vec<u8> = (0..chance.below(8)).map(|_| chance.next() as u8).collect();
                drop(data.splice(place..end, bytes));
            }
        }
    }
    data
}

#[test]
fn every_token_of_the_corpus_is_decoded_or_refused() {
    for (name, data) in corpus() {
        run(&data, &name);
    }
}

#[test]
fn changed_tokens_are_decoded_or_refused() {
    let files = corpus();
    let mut decoded = 0;
    for case in 0..20_000 {
        let data = changed(&files, &mut Chance(case));
        decoded += u32::from(Token::decode(&data).is_some());
        run(&data, &format!("case {case}"));
    }
    println!("{decoded} of them are tokens, {} bytes at once", MOST.load(Ordering::Relaxed));
    // Else nothing behind the form would be reached: 1917 are.
    assert!(decoded >= 1_000, "{decoded} of them are tokens");
}

#[test]
fn the_corpus_has_tokens_that_are_good() {
    let good = corpus().iter().filter(|(_, data)| Token::decode(data).is_some()).count();
    assert!(good >= 5, "{good} of the files are some");
}
