//! Any bytes as a snapshot.
#![no_main]

#[path = "../../crates/unloop-store/tests/fuzzed/snapshot.rs"]
mod snapshot;

libfuzzer_sys::fuzz_target!(|data: &[u8]| snapshot::snapshot(data));
