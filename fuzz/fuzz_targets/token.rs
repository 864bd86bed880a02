//! Any bytes as a token.
#![no_main]

#[path = "../../crates/unloop-server/tests/fuzzed/token.rs"]
mod token;

libfuzzer_sys::fuzz_target!(|data: &[u8]| token::token(data));
