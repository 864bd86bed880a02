//! Any bytes as a choice file, and its rows in the log.
#![no_main]

#[path = "../../crates/unloop-store/tests/fuzzed/import.rs"]
mod import;

libfuzzer_sys::fuzz_target!(|data: &[u8]| import::import(data));
