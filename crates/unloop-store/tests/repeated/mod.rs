//! Tests that repeat something as often as they are told: `-- --cycles 500 --seed 7`.

use std::process::ExitCode;

/// A test, for a number of times and a seed.
pub(crate) type Test = fn(u64, u64);

/// Runs tests as `cargo test` would: as often as the flag says, or else as `usually`, with `--seed` or 1.
pub(crate) fn report(flag: &str, usually: u64, tests: &[(&str, Test)]) -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    // The test runner asks every test program for its list.
    if arguments.iter().any(|argument| argument == "--list") {
        return ExitCode::SUCCESS;
    }
    let after =
        |flag: &str| arguments.iter().position(|own| own == flag).and_then(|place| arguments.get(place + 1)?.parse().ok());
    let (times, seed) = (after(flag).unwrap_or(usually), after("--seed").unwrap_or(1));
    println!("\nrunning {} test{}", tests.len(), if tests.len() == 1 { "" } else { "s" });
    let mut failed = 0;
    for (name, test) in tests {
        let passed = std::panic::catch_unwind(|| test(times, seed)).is_ok();
        println!("test {name} ... {}", if passed { "ok" } else { "FAILED" });
        failed += usize::from(!passed);
    }
    let word = if failed == 0 { "ok" } else { "FAILED" };
    let passed = tests.len() - failed;
    println!("\ntest result: {word}. {passed} passed; {failed} failed; 0 ignored; 0 measured; 0 filtered out\n");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
