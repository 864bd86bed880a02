//! Simulation-based calibration: does a sampler, fed with data simulated from its own prior, give the posterior?
//!
//! Draw θ from the prior, simulate choices under θ, draw n times from what should be the posterior, and take the rank
//! of the true θ_k among the n draws. If the draws are independent and from the posterior the rank is uniform on
//! 0, …, n; over many replicates a chi-square tells (Talts et al. 2018, arXiv:1804.06788).
//!
//! ```text
//! let mut ranks = Ranks::new(19);
//! for replicate in 0..1_000 {
//!     let (truth, draws) = …;          // seeded by the replicate; draws thinned until they are nearly independent
//!     ranks.record(truth, draws);
//! }
//! ranks.verdict(LEVEL).assert_passes("share of the first option");
//! ```
//!
//! A quantity of its own, θ_1 or θ_1 − θ_2, has its own [`Ranks`]. Calibration sees wrong answers, not wasted work.

use crate::chi_square;
use crate::verdict::Verdict;

/// Ranks of the truth among draws, over the replicates recorded so far.
#[derive(Clone, Debug)]
pub struct Ranks {
    /// How often each rank occurred; one more bin than draws.
    counts: Vec<u64>,
    /// Replicates recorded.
    recorded: usize,
}

impl Ranks {
    /// Starts a collection for replicates of `draws` draws each.
    ///
    /// # Panics
    ///
    /// When `draws` is 0: there is one rank then, and it is always right.
    pub fn new(draws: usize) -> Self {
        assert!(draws > 0, "the rank among no draws says nothing");
        Self { counts: vec![0; draws + 1], recorded: 0 }
    }

    /// Adds a replicate: the true value and the draws of the same quantity.
    ///
    /// Draws equal to the truth, as underflow to zero makes them, are put before or after it in turn from one
    /// replicate to the next, which keeps the ranks of correct draws uniform.
    ///
    /// # Panics
    ///
    /// When the number of draws is not the one announced, or the truth or a draw is NaN.
    pub fn record(&mut self, truth: f64, draws: impl IntoIterator<Item = f64>) {
        assert!(!truth.is_nan(), "the truth is NaN");
        let (mut below, mut equal, mut above) = (0, 0, 0);
        for draw in draws {
            if draw < truth {
                below += 1;
            } else if draw == truth {
                equal += 1;
            } else {
                assert!(draw > truth, "a draw is {draw}");
                above += 1;
            }
        }
        assert_eq!(below + equal + above, self.draws(), "a replicate has a different number of draws than the others");
        self.counts[below + self.recorded % (equal + 1)] += 1;
        self.recorded += 1;
    }

    /// Chi-square of the ranks against the uniform distribution; `level` is the probability of rejecting a
    /// calibrated sampler.
    ///
    /// # Panics
    ///
    /// When there are too few replicates to compare, fewer than ten, or `level` is not strictly between 0 and 1.
    pub fn verdict(&self, level: f64) -> Verdict {
        let ranks = self.counts.len();
        let mut verdict = chi_square::counts(&self.counts, &vec![1.0 / ranks as f64; ranks], level);
        verdict.check = "calibration, chi-square";
        verdict
    }

    /// How often each rank 0, …, `draws` occurred, to look at when a verdict is a surprise: a ∪ means draws too close
    /// together, a ∩ too far apart, a slope draws too high or too low.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// Draws of each replicate.
    pub fn draws(&self) -> usize {
        self.counts.len() - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    /// Odds of a false alarm in each test below.
    const LEVEL: f64 = 1e-4;
    const DRAWS: usize = 19;
    const REPLICATES: u64 = 1_000;

    /// A coin with a uniform prior on θ, thrown `throws` times; the posterior is Beta(1 + heads, 1 + tails), drawn as
    /// an order statistic of uniform variables: the (1 + heads)-th smallest of throws + 1.
    fn coin(throws: usize, posterior: impl Fn(usize, &mut ChaCha8Rng) -> f64) -> Ranks {
        let mut ranks = Ranks::new(DRAWS);
        for replicate in 0..REPLICATES {
            let mut rng = ChaCha8Rng::seed_from_u64(replicate);
            let truth: f64 = rng.random();
            let heads = (0..throws).filter(|_| rng.random::<f64>() < truth).count();
            ranks.record(truth, (0..DRAWS).map(|_| posterior(heads, &mut rng)));
        }
        ranks
    }

    fn order_statistic(rank: usize, of: usize, rng: &mut ChaCha8Rng) -> f64 {
        let mut uniform: Vec<f64> = (0..of).map(|_| rng.random()).collect();
        *uniform.select_nth_unstable_by(rank - 1, f64::total_cmp).1
    }

    #[test]
    fn the_posterior_passes() {
        let ranks = coin(10, |heads, rng| order_statistic(1 + heads, 11, rng));
        assert_eq!(ranks.counts().iter().sum::<u64>(), REPLICATES);
        ranks.verdict(LEVEL).assert_passes("coin");
    }

    #[test]
    fn a_posterior_of_data_counted_twice_is_rejected() {
        coin(10, |heads, rng| order_statistic(1 + 2 * heads, 21, rng)).verdict(LEVEL).assert_rejects("data counted twice");
    }

    #[test]
    fn a_posterior_off_by_one_choice_is_rejected() {
        coin(10, |heads, rng| order_statistic(2 + heads, 12, rng)).verdict(LEVEL).assert_rejects("off by one");
    }

    #[test]
    fn ties_with_the_truth_are_spread() {
        let mut ranks = Ranks::new(3);
        for _ in 0..8 {
            ranks.record(0.0, [0.0, 0.0, 0.0]);
        }
        assert_eq!(ranks.counts(), [2, 2, 2, 2]);
        ranks.record(0.5, [0.1, 0.9, 0.2]);
        assert_eq!(ranks.counts(), [2, 2, 3, 2]);
    }

    #[test]
    #[should_panic(expected = "a draw is NaN")]
    fn a_nan_draw_is_refused() {
        Ranks::new(2).record(0.5, [0.1, f64::NAN]);
    }

    #[test]
    #[should_panic(expected = "a different number of draws")]
    fn a_short_replicate_is_refused() {
        Ranks::new(2).record(0.5, [0.1]);
    }
}
