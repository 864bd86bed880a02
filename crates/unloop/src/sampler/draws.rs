//! Draws from the posterior, with options never shown drawn only when asked for.
//!
//! A draw holds ln λ of the options with data. λ has the units of independent Gamma(α_k), so an option never shown is a fresh
//! Gamma(α_k) beside them, and θ = λ/Σλ. The largest of n options with equal α come from order statistics, O(1) each, whatever n is.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::unexplored::{Unexplored, largest};
use crate::diagnostics::{Diagnostics, DiagnosticsError, Scores};
use crate::option::OptionId;
use crate::pausing::pause;
use crate::posterior::potential::ln_sum_exp;

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
    pub(crate) unexplored: Unexplored,
    pub(crate) seed: u64,
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
        let explored = self.explored.iter().copied().zip(self.ln_lambda(draw)?.iter().copied());
        Some(self.unexplored.theta(self.option_count, explored, &mut rng))
    }

    /// The `count` options with the largest λ in a draw, best first: what Thompson sampling presents. O(|E|) and a little for
    /// each of them, however many options were never shown; each distinct α is a group. None past the last draw.
    pub fn top(&self, draw: usize, count: usize) -> Option<Vec<OptionId>> {
        let mut rng = self.stream(draw);
        let explored = self.ln_lambda(draw)?.iter().copied().zip(self.explored.iter().copied());
        let mut best = largest(explored, count);
        self.unexplored.merge_largest(&mut best, count, &mut rng);
        Some(best.into_iter().map(|(_, option)| option).collect())
    }

    /// At most so many of the draws, evenly apart, as those of one chain: to keep, where all of them are too many.
    #[must_use]
    pub fn thinned(&self, most: usize) -> Self {
        let (width, all) = (self.explored.len(), self.len());
        let count = most.clamp(1, all);
        let rows = (0..count).map(|i| i * all / count).flat_map(|draw| &self.ln_lambda[draw * width..(draw + 1) * width]);
        Self {
            option_count: self.option_count,
            chains: 1,
            draws: count,
            explored: self.explored.clone(),
            ln_lambda: rows.copied().collect(),
            unexplored: self.unexplored.clone(),
            seed: self.seed,
        }
    }

    /// Diagnostics of ln of an explored option's share among the explored ones; none if it has no data.
    ///
    /// # Errors
    /// If the chains are too short to judge.
    pub fn diagnostics(&self, option: OptionId) -> Option<Result<Diagnostics, DiagnosticsError>> {
        let place = self.explored.binary_search(&option).ok()?;
        Some(self.diagnose(place, &self.ln_totals(), &self.scores()))
    }

    /// ln Σλ over the explored options, draw by draw.
    pub(crate) fn ln_totals(&self) -> Vec<f64> {
        let width = self.explored.len().max(1);
        let total = |row: &[f64]| {
            pause();
            ln_sum_exp(row.iter().copied())
        };
        self.ln_lambda.chunks_exact(width).map(total).collect()
    }

    /// The normal scores that [`diagnose`](Self::diagnose) needs, the same for every option.
    pub(crate) fn scores(&self) -> Scores {
        Scores::new(self.chains * (self.draws / 2) * 2)
    }

    pub(crate) fn diagnose(&self, place: usize, ln_totals: &[f64], scores: &Scores) -> Result<Diagnostics, DiagnosticsError> {
        let column = self.ln_lambda.iter().skip(place).step_by(self.explored.len().max(1));
        let shares: Vec<f64> = column.zip(ln_totals).map(|(ln_lambda, ln_total)| ln_lambda - ln_total).collect();
        let chains: Vec<&[f64]> = shares.chunks_exact(self.draws).collect();
        Diagnostics::with_scores(&chains, scores)
    }

    /// The random stream of a draw, for what is drawn lazily: the same whenever it is asked for.
    fn stream(&self, draw: usize) -> ChaCha8Rng {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        // Streams from the top: those at the bottom belong to the chains.
        rng.set_stream(u64::MAX - draw as u64);
        rng
    }
}
