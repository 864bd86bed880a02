//! Pearson's chi-square: do these counts come from those probabilities?
//!
//! ```text
//! X² = Σ_i (o_i − n p_i)² / (n p_i),   n = Σ_i o_i,   bins − 1 degrees of freedom
//! ```
//!
//! Bins are fixed before the counts are seen. X² has the chi-square distribution only where each bin expects several
//! counts, so bins that expect fewer than [`FEWEST_EXPECTED`] are pooled, by their expectation alone.

use crate::verdict::{Verdict, check_level};
use statrs::distribution::{ChiSquared, ContinuousCDF};

/// The smallest expected count a bin may have and stand alone.
pub const FEWEST_EXPECTED: f64 = 5.0;

/// How far from 1 the probabilities may add up to: rounding of thousands of terms, not a missing bin.
const SUM_TOLERANCE: f64 = 1e-9;

/// Compares `counts` with `probabilities`, one for each bin.
///
/// `level` is the probability of rejecting correct counts. A count in a bin of probability 0 gives the statistic ∞.
/// Thin bins are pooled in the order given, so that of ordered bins neighbours come together; what is left over joins
/// the smallest bin.
///
/// # Panics
///
/// When the two lengths differ, a probability is negative or NaN, they do not add up to 1, fewer than two bins are
/// left after pooling, or `level` is not strictly between 0 and 1.
pub fn counts(counts: &[u64], probabilities: &[f64], level: f64) -> Verdict {
    assert_eq!(counts.len(), probabilities.len(), "chi-square needs one probability for each count");
    assert!(probabilities.iter().all(|&p| p >= 0.0), "chi-square needs probabilities, not {probabilities:?}");
    let sum: f64 = probabilities.iter().sum();
    assert!((sum - 1.0).abs() <= SUM_TOLERANCE, "probabilities add up to {sum}, not 1");

    let n: u64 = counts.iter().sum();
    let impossible = counts.iter().zip(probabilities).any(|(&count, &p)| p == 0.0 && count > 0);
    let bins =
        pooled(counts.iter().zip(probabilities).map(|(&count, &p)| Bin { observed: count as f64, expected: n as f64 * p }));
    assert!(bins.len() >= 2, "{n} counts fill fewer than two bins of at least {FEWEST_EXPECTED} expected: nothing to compare");

    let degrees = bins.len() - 1;
    Verdict {
        check: "chi-square",
        statistic: if impossible { f64::INFINITY } else { bins.iter().map(Bin::term).sum() },
        critical: critical(degrees, level),
        level,
        detail: format!("n = {n}, {degrees} degrees of freedom"),
    }
}

/// The value a chi-square variable of `degrees` degrees of freedom exceeds with probability `level`.
///
/// # Panics
///
/// When `degrees` is 0, or `level` is not strictly between 0 and 1.
pub fn critical(degrees: usize, level: f64) -> f64 {
    check_level(level);
    ChiSquared::new(degrees as f64).expect("a chi-square has at least one degree of freedom").inverse_cdf(1.0 - level)
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Bin {
    observed: f64,
    expected: f64,
}

impl Bin {
    fn add(&mut self, other: Self) {
        self.observed += other.observed;
        self.expected += other.expected;
    }

    fn is_thin(&self) -> bool {
        self.expected < FEWEST_EXPECTED
    }

    fn term(&self) -> f64 {
        (self.observed - self.expected).powi(2) / self.expected
    }
}

/// The same counts in bins that are all thick enough, if there are enough counts at all.
fn pooled(bins: impl Iterator<Item = Bin>) -> Vec<Bin> {
    let mut thick = Vec::new();
    let mut pool = Bin::default();
    for bin in bins {
        if !bin.is_thin() {
            thick.push(bin);
            continue;
        }
        pool.add(bin);
        if !pool.is_thin() {
            thick.push(std::mem::take(&mut pool));
        }
    }
    if let Some(smallest) = thick.iter_mut().min_by(|a, b| a.expected.total_cmp(&b.expected)) {
        smallest.add(pool);
    }
    thick
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    /// Odds of a false alarm in each test below.
    const LEVEL: f64 = 1e-4;

    fn thrown(seed: u64, n: usize, probabilities: &[f64]) -> Vec<u64> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut counts = vec![0; probabilities.len()];
        for _ in 0..n {
            let mut left: f64 = rng.random();
            let bin = probabilities.iter().position(|p| {
                left -= p;
                left < 0.0
            });
            counts[bin.unwrap_or(probabilities.len() - 1)] += 1;
        }
        counts
    }

    #[test]
    fn statistic_by_hand() {
        // Expected 10 and 30: 36/10 + 36/30.
        let verdict = counts(&[16, 24], &[0.25, 0.75], LEVEL);
        assert!((verdict.statistic - 4.8).abs() < 1e-12);
        assert_eq!(verdict.detail, "n = 40, 1 degrees of freedom");
    }

    #[test]
    fn critical_values_are_those_of_the_tables() {
        for (degrees, level, value) in
            [(1, 0.05, 3.841_459), (10, 0.01, 23.209_251), (19, 1e-4, 50.795_490), (99, 0.001, 148.230_355)]
        {
            let critical = critical(degrees, level);
            assert!((critical - value).abs() < 1e-5, "{degrees}, {level}: {critical}");
        }
    }

    #[test]
    fn thin_bins_are_pooled_by_expectation() {
        let bin = |observed, expected| Bin { observed, expected };
        let bins = [bin(9.0, 2.0), bin(30.0, 40.0), bin(0.0, 3.0), bin(4.0, 4.0), bin(0.0, 0.5), bin(7.0, 7.0)];
        // 2 and 3 make the first pool; 4 and 0.5 stay below 5 and join the smallest, which is that pool.
        assert_eq!(pooled(bins.into_iter()), [bin(30.0, 40.0), bin(13.0, 9.5), bin(7.0, 7.0)]);
        assert_eq!(pooled([bin(1.0, 1.0), bin(2.0, 2.0)].into_iter()), []);
    }

    #[test]
    fn right_counts_pass() {
        let probabilities = [0.5, 0.25, 0.125, 0.124, 0.000_6, 0.000_4];
        counts(&thrown(1, 10_000, &probabilities), &probabilities, LEVEL).assert_passes("six bins");
        let many = vec![1e-3; 1_000];
        counts(&thrown(2, 2_000, &many), &many, LEVEL).assert_passes("a thousand thin bins");
    }

    #[test]
    fn wrong_counts_are_rejected() {
        let thrown = thrown(3, 10_000, &[0.5, 0.25, 0.25]);
        counts(&thrown, &[0.5, 0.28, 0.22], LEVEL).assert_rejects("shifted probabilities");
    }

    #[test]
    fn counts_too_even_to_be_random_pass() {
        // One-sided: resampling schemes are meant to do better than chance.
        counts(&[100, 100, 100], &[1.0 / 3.0; 3], LEVEL).assert_passes("even");
    }

    #[test]
    fn the_impossible_is_rejected_although_its_bin_is_pooled() {
        counts(&[10_000, 10_000, 1], &[0.5, 0.5, 0.0], LEVEL).assert_rejects("impossible");
        counts(&[10_000, 10_000, 0], &[0.5, 0.5, 0.0], LEVEL).assert_passes("possible");
    }

    #[test]
    #[should_panic(expected = "probabilities add up to 0.75, not 1")]
    fn probabilities_must_add_up() {
        let _ = counts(&[10, 10], &[0.5, 0.25], LEVEL);
    }

    #[test]
    #[should_panic(expected = "chi-square needs probabilities")]
    fn a_nan_probability_is_refused() {
        let _ = counts(&[10, 10], &[0.5, f64::NAN], LEVEL);
    }

    #[test]
    #[should_panic(expected = "nothing to compare")]
    fn too_few_counts_are_no_evidence() {
        let _ = counts(&[3, 4], &[0.5, 0.5], LEVEL);
    }
}
