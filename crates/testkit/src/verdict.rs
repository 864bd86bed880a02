//! The outcome of a statistical check, as every check here returns it.

use std::fmt;

/// A statistic beside the value it may not exceed.
///
/// The fields are public so that a test can compare two verdicts; a test that only wants to know calls
/// [`assert_passes`](Self::assert_passes).
#[derive(Clone, Debug, PartialEq)]
#[must_use = "a verdict nobody looks at tests nothing"]
pub struct Verdict {
    /// Which check: `"KS"`, `"chi-square"`.
    pub check: &'static str,
    /// What was measured; NaN when a draw or a probability was.
    pub statistic: f64,
    /// The largest statistic that passes.
    pub critical: f64,
    /// Probability that a correct sampler exceeds `critical`.
    pub level: f64,
    /// What was measured on, in words: sizes, degrees of freedom.
    pub detail: String,
}

impl Verdict {
    /// Whether the statistic is at most critical. A NaN is not.
    pub fn passes(&self) -> bool {
        self.statistic <= self.critical
    }

    /// Prints the verdict under the name `what`, then fails the test unless it passes.
    ///
    /// # Panics
    ///
    /// When the verdict does not pass: that is its purpose.
    #[track_caller]
    pub fn assert_passes(&self, what: &str) {
        println!("{what}: {self}");
        assert!(self.passes(), "{what}: {self}");
    }

    /// Prints the verdict under the name `what`, then fails the test if it passes: for tests which show that a wrong
    /// distribution is noticed.
    ///
    /// # Panics
    ///
    /// When the verdict passes: that is its purpose.
    #[track_caller]
    pub fn assert_rejects(&self, what: &str) {
        println!("{what}: {self}");
        assert!(!self.passes(), "{what} should have been rejected: {self}");
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { check, statistic, critical, level, detail } = self;
        let outcome = if self.passes() { "passes" } else { "rejected" };
        write!(f, "{check} {statistic:.5}, critical {critical:.5} at level {level:e} ({detail}): {outcome}")
    }
}

/// Panics unless `level` is a probability strictly between 0 and 1.
#[track_caller]
pub(crate) fn check_level(level: f64) {
    assert!(level > 0.0 && level < 1.0, "a false-alarm level is strictly between 0 and 1, not {level}");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(statistic: f64) -> Verdict {
        Verdict { check: "KS", statistic, critical: 0.25, level: 1e-4, detail: "n = 10".to_owned() }
    }

    #[test]
    fn prints_statistic_and_critical_value() {
        assert_eq!(verdict(0.125).to_string(), "KS 0.12500, critical 0.25000 at level 1e-4 (n = 10): passes");
        assert_eq!(verdict(0.5).to_string(), "KS 0.50000, critical 0.25000 at level 1e-4 (n = 10): rejected");
    }

    #[test]
    fn the_critical_value_itself_passes_and_nan_does_not() {
        assert!(verdict(0.25).passes());
        assert!(!verdict(0.25_f64.next_up()).passes());
        assert!(!verdict(f64::NAN).passes());
    }

    #[test]
    #[should_panic(expected = "share of option 3: KS 0.50000")]
    fn a_failed_assertion_names_what_failed() {
        verdict(0.5).assert_passes("share of option 3");
    }

    #[test]
    #[should_panic(expected = "wrong prior should have been rejected")]
    fn a_pass_where_a_rejection_was_due_fails() {
        verdict(0.1).assert_rejects("wrong prior");
    }
}
