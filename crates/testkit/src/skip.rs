//! How a test says that it could not run.

use std::io::Write;

/// Reports the running test as skipped, with the reason; the test should then return.
///
/// Writes the one line `SKIPPED <test name>: <reason>` to standard error itself, past the capture that would hide it
/// in a passing test, so that `test.sh` can count it. To the test runner a skipped test is a passed one.
pub fn skip(reason: impl AsRef<str>) {
    let thread = std::thread::current();
    let line = line(thread.name().unwrap_or("unnamed"), reason.as_ref());
    // One write, so that lines of tests running side by side do not mix. If standard error is closed there is
    // nobody to tell.
    let _ = std::io::stderr().write_all(line.as_bytes());
}

/// The line that is written: always exactly one, whatever the reason contains.
fn line(test: &str, reason: &str) -> String {
    let reason = reason.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("SKIPPED {test}: {reason}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_reason_of_several_lines_stays_one_line() {
        assert_eq!(line("tests::a", "no file\n  at b"), "SKIPPED tests::a: no file at b\n");
    }

    /// Runs itself once more in a process of its own, where it skips: there the line must reach standard error
    /// although the test passes and its output is captured.
    #[test]
    fn is_written_past_the_capture() {
        const CHILD: &str = "UNLOOP_TESTKIT_SKIP_CHILD";
        if std::env::var_os(CHILD).is_some() {
            eprintln!("captured");
            skip("on purpose");
            return;
        }
        let thread = std::thread::current();
        let name = thread.name().expect("the test runner names its threads").to_owned();
        let output = Command::new(std::env::current_exe().expect("own path"))
            .args(["--exact", &name])
            .env(CHILD, "1")
            .output()
            .expect("own test binary runs");
        assert!(output.status.success());
        let stderr = String::from_utf8(output.stderr).expect("UTF-8");
        assert_eq!(stderr, format!("SKIPPED {name}: on purpose\n"));
    }
}
