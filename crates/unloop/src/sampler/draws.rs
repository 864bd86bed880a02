//! Draws from the posterior, with options never shown drawn only when asked for.
//!
//! A draw holds ln λ of the options with data. λ has the units of independent Gamma(α_k), so an option never shown is a fresh
//! Gamma(α_k) beside them, and θ = λ/Σλ. The largest of n options with equal α come from order statistics, O(1) each, whatever n is.

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::diagnostics::{Diagnostics, DiagnosticsError};
use crate::option::OptionId;
use crate::posterior::potential::ln_sum_exp;
use crate::random::{ln_gamma_draw, ln_largest_gammas};

/// Draws of several chains.
#[derive(Clone, Debug)]
pub struct Draws {
    pub(crate) option_count: usize,
    pub(crate) chains: usize,
    pub(crate) draws: usize,
    /// Options with data, ascending.
    pub(crate) explored: Vec<OptionId>,
    /// ln λ: chain by chain, draw by draw, the explored options.
    pub(crate) ln_lambda: Vec<f64>,
    /// Options never shown, by equal α.
    pub(crate) groups: Vec<Group>,
    pub(crate) seed: u64,
}

/// Options never shown with the same α.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) alpha: f64,
    pub(crate) options: Vec<OptionId>,
}

impl Draws {
    /// Number of chains.
    pub fn chains(&self) -> usize {
        self.chains
    }

    /// Draws of each chain.
    pub fn draws(&self) -> usize {
        self.draws
    }

    /// Draws of all chains: `chains() · draws()`. Draw i is number i % `draws()` of chain i / `draws()`.
    #[expect(clippy::len_without_is_empty, reason = "never empty")]
    pub fn len(&self) -> usize {
        self.chains * self.draws
    }

    /// Options with data, ascending.
    pub fn explored(&self) -> &[OptionId] {
        &self.explored
    }

    /// ln λ of the [`explored`](Self::explored) options in a draw; none past the last.
    pub fn ln_lambda(&self, draw: usize) -> Option<&[f64]> {
        let width = self.explored.len();
        if draw < self.len() { self.ln_lambda.get(draw * width..(draw + 1) * width) } else { None }
    }

    /// θ of every option in a draw, those never shown too; none past the last. O(K).
    pub fn theta(&self, draw: usize) -> Option<Vec<f64>> {
        let mut rng = self.stream(draw);
        let mut ln_lambda = vec![f64::NEG_INFINITY; self.option_count];
        for (option, value) in self.explored.iter().zip(self.ln_lambda(draw)?) {
            ln_lambda[option.index()] = *value;
        }
        for group in &self.groups {
            for option in &group.options {
                ln_lambda[option.index()] = ln_gamma_draw(group.alpha, &mut rng);
            }
        }
        let ln_total = ln_sum_exp(ln_lambda.iter().copied());
        Some(ln_lambda.into_iter().map(|x| (x - ln_total).exp()).collect())
    }

    /// The `count` options with the largest λ in a draw, best first: what Thompson sampling presents. O(|E| + count), however
    /// many options were never shown. None past the last draw.
    pub fn top(&self, draw: usize, count: usize) -> Option<Vec<OptionId>> {
        let mut rng = self.stream(draw);
        let mut candidates: Vec<(f64, OptionId)> =
            self.ln_lambda(draw)?.iter().copied().zip(self.explored.iter().copied()).collect();
        for group in &self.groups {
            let largest = ln_largest_gammas(group.alpha, group.options.len(), count, &mut rng);
            let picked = pick(group.options.len(), largest.len(), &mut rng);
            candidates.extend(largest.into_iter().zip(picked.into_iter().map(|i| group.options[i])));
        }
        let count = count.min(candidates.len());
        let order = |x: &(f64, OptionId), y: &(f64, OptionId)| y.0.total_cmp(&x.0).then(x.1.cmp(&y.1));
        if count < candidates.len() && count > 0 {
            candidates.select_nth_unstable_by(count - 1, order);
        }
        candidates.truncate(count);
        candidates.sort_unstable_by(order);
        Some(candidates.into_iter().map(|(_, option)| option).collect())
    }

    /// Diagnostics of ln of an explored option's share among the explored ones; none if it has no data.
    ///
    /// # Errors
    /// If the chains are too short to judge.
    pub fn diagnostics(&self, option: OptionId) -> Option<Result<Diagnostics, DiagnosticsError>> {
        let place = self.explored.binary_search(&option).ok()?;
        Some(self.diagnose(place, &self.ln_totals()))
    }

    /// ln Σλ over the explored options, draw by draw.
    pub(crate) fn ln_totals(&self) -> Vec<f64> {
        let width = self.explored.len().max(1);
        self.ln_lambda.chunks_exact(width).map(|row| ln_sum_exp(row.iter().copied())).collect()
    }

    pub(crate) fn diagnose(&self, place: usize, ln_totals: &[f64]) -> Result<Diagnostics, DiagnosticsError> {
        let column = self.ln_lambda.iter().skip(place).step_by(self.explored.len().max(1));
        let shares: Vec<f64> = column.zip(ln_totals).map(|(ln_lambda, ln_total)| ln_lambda - ln_total).collect();
        let chains: Vec<&[f64]> = shares.chunks_exact(self.draws).collect();
        Diagnostics::of(&chains)
    }

    /// The random stream of a draw, for what is drawn lazily: the same whenever it is asked for.
    fn stream(&self, draw: usize) -> ChaCha8Rng {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        // Streams from the top: those at the bottom belong to the chains.
        rng.set_stream(u64::MAX - draw as u64);
        rng
    }
}

/// `count` different places below n, in random order.
fn pick<R: Rng>(n: usize, count: usize, rng: &mut R) -> Vec<usize> {
    let mut picked: Vec<usize> = Vec::with_capacity(count);
    while picked.len() < count {
        if 3 * count > n {
            // Many of few: shuffle.
            let mut all: Vec<usize> = (0..n).collect();
            for i in 0..count {
                let j = rng.random_range(i..n);
                all.swap(i, j);
            }
            all.truncate(count);
            return all;
        }
        let i = rng.random_range(0..n);
        if !picked.contains(&i) {
            picked.push(i);
        }
    }
    picked
}
