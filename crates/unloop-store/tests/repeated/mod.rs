//! Tests that repeat something as often as they are told: `-- --cycles 500 --seed 7`.

use std::process::ExitCode;

/// Runs one, and says how it went as the test runner does.
pub(crate) fn main(name: &str, flag: &str, usually: u64, run: impl FnOnce(u64, u64) + std::panic::UnwindSafe) -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    // The test runner asks every test program for its list.
    if arguments.iter().any(|argument| argument == "--list") {
        return ExitCode::SUCCESS;
    }
    let after =
        |flag: &str| arguments.iter().position(|own| own == flag).and_then(|place| arguments.get(place + 1)?.parse().ok());
    let (count, seed) = (after(flag).unwrap_or(usually), after("--seed").unwrap_or(1));
    println!("\nrunning 1 test");
    let outcome = std::panic::catch_unwind(|| run(count, seed));
    let (word, passed) = if outcome.is_ok() { ("ok", 1) } else { ("FAILED", 0) };
    println!(
        "test {name} ... {word}\n\ntest result: {word}. {passed} passed; {} failed; 0 ignored; 0 measured; 0 filtered out\n",
        1 - passed
    );
    if outcome.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
