//! Whether chains have mixed, and how many independent draws theirs are worth.
//!
//! After Vehtari, Gelman, Simpson, Carpenter and Bürkner (2021), *Rank-normalization, folding, and localization: an improved R-hat*:
//! chains are split in half; values are replaced by normal scores of their ranks, so that heavy tails do no harm; R-hat is the larger
//! of that of the scores and of the scores of distances to the median; the effective sample size sums autocorrelations by Geyer's
//! initial monotone sequence. Checked against ArviZ on stored chains.
//!
//! ```
//! use unloop::diagnostics::Diagnostics;
//! // Two chains of the same alternating values: no drift, better than independent.
//! let chain: Vec<f64> = (0..200).map(|i| f64::from(i * 37 % 101)).collect();
//! let diagnostics = Diagnostics::of(&[&chain, &chain])?;
//! assert!(diagnostics.r_hat < 1.02);
//! # Ok::<(), unloop::diagnostics::DiagnosticsError>(())
//! ```

use statrs::distribution::{ContinuousCDF, Normal};
use thiserror::Error;

use crate::sampler::lanes::{Kernel, LANES, dispatch};

/// Why chains cannot be judged.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum DiagnosticsError {
    /// Nothing to judge.
    #[error("no chains")]
    NoChains,
    /// Chains too short to split.
    #[error("chains of {length} draws are too short: at least 4 are needed")]
    TooShort {
        /// Draws in the shortest chain.
        length: usize,
    },
    /// Chains of different lengths.
    #[error("chain {chain} has {found} draws, the first has {expected}")]
    Uneven {
        /// The chain.
        chain: usize,
        /// Its length.
        found: usize,
        /// Length of the first.
        expected: usize,
    },
    /// A draw that is not a number.
    #[error("draw {draw} of chain {chain} is {value}")]
    NotFinite {
        /// The chain.
        chain: usize,
        /// The draw.
        draw: usize,
        /// Its value.
        value: f64,
    },
}

/// What a scalar's chains are worth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Diagnostics {
    /// Rank-normalised split R-hat: near 1 when chains agree; above 1.01 they do not yet.
    pub r_hat: f64,
    /// Effective draws for the centre.
    pub bulk_ess: f64,
    /// Effective draws for the 5 % and 95 % quantiles, the smaller.
    pub tail_ess: f64,
    /// Mean over all draws.
    pub mean: f64,
    /// Its Monte Carlo standard error.
    pub mcse: f64,
}

impl Diagnostics {
    /// Judges chains of equal length.
    ///
    /// # Errors
    /// If there are none, they are too short or uneven, or a draw is not finite.
    pub fn of<C: AsRef<[f64]>>(chains: &[C]) -> Result<Self, DiagnosticsError> {
        let length = chains.first().map_or(0, |chain| chain.as_ref().len());
        Self::with_scores(chains, &Scores::new(chains.len() * (length / 2) * 2))
    }

    /// As [`of`](Self::of), with the normal scores of as many ranks as there are draws in the halves: for many chains of one length.
    pub(crate) fn with_scores<C: AsRef<[f64]>>(chains: &[C], table: &Scores) -> Result<Self, DiagnosticsError> {
        let halves = split(chains)?;
        let length = halves[0].len();
        // All draws in order, with their place in the halves; the middle draw of an odd chain has none.
        let mut order: Vec<(f64, u32)> = Vec::with_capacity(chains.len() * chains[0].as_ref().len());
        for (c, chain) in chains.iter().enumerate() {
            let chain = chain.as_ref();
            for (i, &x) in chain.iter().enumerate() {
                let place = if i < length {
                    2 * c * length + i
                } else if i >= chain.len() - length {
                    (2 * c + 1) * length + i - (chain.len() - length)
                } else {
                    usize::MAX
                };
                order.push((x, place as u32));
            }
        }
        order.sort_unstable_by(|x, y| x.0.total_cmp(&y.0).then(x.1.cmp(&y.1)));
        let count = order.len() as f64;
        let mean = order.iter().map(|x| x.0).sum::<f64>() / count;
        let variance = order.iter().map(|x| (x.0 - mean).powi(2)).sum::<f64>() / (count - 1.0);
        let limits = [0.05, 0.95].map(|p| quantile(&order, p, |x| x.0));
        order.retain(|&(_, place)| place != u32::MAX);
        let middle = quantile(&order, 0.5, |x| x.0);
        let scores = table.of(&order, length);
        let below = |limit: f64| {
            let indicator = |x: &f64| f64::from(u8::from(*x <= limit));
            effective_size(&halves.iter().map(|half| half.iter().map(indicator).collect()).collect::<Vec<_>>())
        };
        Ok(Self {
            r_hat: r_hat(&scores).max(r_hat(&table.of(&folded(&order, middle), length))),
            bulk_ess: effective_size(&scores),
            tail_ess: below(limits[0]).min(below(limits[1])),
            mean,
            mcse: (variance / effective_size(&halves)).sqrt(),
        })
    }
}

/// Distances to the middle in order, from values in order: a merge of both sides.
fn folded(order: &[(f64, u32)], middle: f64) -> Vec<(f64, u32)> {
    let split = order.partition_point(|x| x.0 < middle);
    let mut below = order[..split].iter().rev().map(|&(x, place)| ((x - middle).abs(), place)).peekable();
    let mut above = order[split..].iter().map(|&(x, place)| ((x - middle).abs(), place)).peekable();
    std::iter::from_fn(|| match (below.peek(), above.peek()) {
        (Some(x), Some(y)) if x.0 < y.0 => below.next(),
        (Some(_), None) => below.next(),
        _ => above.next(),
    })
    .collect()
}

/// Draws of one chain for each independent one: 1 + 2 Σ autocorrelations, without splitting or ranks.
///
/// # Errors
/// As [`Diagnostics::of`].
pub fn autocorrelation_time(chain: &[f64]) -> Result<f64, DiagnosticsError> {
    split(&[chain])?;
    Ok(chain.len() as f64 / effective_size(&[chain.to_vec()]))
}

/// Both halves of each chain; the middle draw of an odd one is left out.
fn split<C: AsRef<[f64]>>(chains: &[C]) -> Result<Vec<Vec<f64>>, DiagnosticsError> {
    let expected = chains.first().ok_or(DiagnosticsError::NoChains)?.as_ref().len();
    let mut halves = Vec::with_capacity(2 * chains.len());
    for (i, chain) in chains.iter().enumerate() {
        let chain = chain.as_ref();
        if chain.len() != expected {
            return Err(DiagnosticsError::Uneven { chain: i, found: chain.len(), expected });
        }
        if let Some(draw) = chain.iter().position(|x| !x.is_finite()) {
            return Err(DiagnosticsError::NotFinite { chain: i, draw, value: chain[draw] });
        }
        let half = chain.len() / 2;
        halves.push(chain[..half].to_vec());
        halves.push(chain[chain.len() - half..].to_vec());
    }
    if expected < 4 { Err(DiagnosticsError::TooShort { length: expected }) } else { Ok(halves) }
}

/// Normal scores of ranks 1 … n: Φ⁻¹((rank − 3/8) / (n + 1/4)).
pub(crate) struct Scores {
    scores: Vec<f64>,
}

impl Scores {
    pub(crate) fn new(n: usize) -> Self {
        Self { scores: (1..=n).map(|rank| score(rank as f64, n)).collect() }
    }

    /// Scores of values in order, by their places in chains of a length; ties at their mean rank.
    fn of(&self, order: &[(f64, u32)], length: usize) -> Vec<Vec<f64>> {
        let mut scores = vec![0.0; order.len()];
        let mut start = 0;
        while start < order.len() {
            let value = order[start].0;
            let end = start + order[start..].iter().take_while(|x| x.0 == value).count();
            // Ranks start + 1 … end.
            let tied = if end == start + 1 { self.scores[start] } else { score((start + 1 + end) as f64 / 2.0, order.len()) };
            for &(_, place) in &order[start..end] {
                scores[place as usize] = tied;
            }
            start = end;
        }
        scores.chunks_exact(length).map(<[f64]>::to_vec).collect()
    }
}

fn score(rank: f64, n: usize) -> f64 {
    Normal::standard().inverse_cdf((rank - 0.375) / (n as f64 + 0.25))
}

/// √(var⁺ / W) of chains.
fn r_hat(chains: &[Vec<f64>]) -> f64 {
    let n = chains[0].len() as f64;
    let (means, variances): (Vec<f64>, Vec<f64>) = chains.iter().map(|chain| mean_and_variance(chain)).unzip();
    let within = variances.iter().sum::<f64>() / chains.len() as f64;
    let between = n * mean_and_variance(&means).1;
    if within == 0.0 {
        // Constant chains: the same constant is as mixed as can be, different ones are not.
        return if between == 0.0 { 1.0 } else { f64::INFINITY };
    }
    ((between / within + n - 1.0) / n).sqrt()
}

/// Mean, and variance with n − 1.
fn mean_and_variance(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (mean, values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0))
}

/// Effective draws of chains of equal length, by Geyer's initial monotone sequence. Lags are computed as they are needed.
fn effective_size(chains: &[Vec<f64>]) -> f64 {
    let (count, length) = (chains.len(), chains[0].len());
    let total = (count * length) as f64;
    let n = length as f64;
    let means: Vec<f64> = chains.iter().map(|chain| chain.iter().sum::<f64>() / n).collect();
    let centred: Vec<Vec<f64>> =
        chains.iter().zip(&means).map(|(chain, mean)| chain.iter().map(|x| x - mean).collect()).collect();
    let covariance = |lag: usize| {
        let sum: f64 = centred.iter().map(|chain| dispatch(Dot { x: &chain[..length - lag], y: &chain[lag..] })).sum();
        sum / (n * count as f64)
    };
    let within = covariance(0) * n / (n - 1.0);
    let mut spread = covariance(0);
    if count > 1 {
        spread += mean_and_variance(&means).1;
    }
    if !(spread > 0.0) {
        return total;
    }
    let correlation = |lag: usize| 1.0 - (within - covariance(lag)) / spread;
    // Sums of neighbouring autocorrelations: positive until the end, then made to fall.
    let mut pairs = vec![(1.0, correlation(1))];
    // The even one after the last pair counts once; so does that of the last pair if the lags run out first.
    let mut extra = 0.0;
    let mut lag = 1;
    while lag + 3 < length {
        let pair = (correlation(lag + 1), correlation(lag + 2));
        lag += 2;
        if pair.0 + pair.1 < 0.0 || lag + 3 >= length {
            extra = f64::max(pair.0, 0.0);
            break;
        }
        pairs.push(pair);
    }
    let mut sum = 0.0;
    let mut previous = f64::INFINITY;
    for (even, odd) in pairs {
        previous = f64::min(previous, even + odd);
        sum += previous;
    }
    let time = (-1.0 + 2.0 * sum + extra).max(1.0 / total.log10());
    total / time
}

/// Σxy, in as many sums as there are lanes.
struct Dot<'a> {
    x: &'a [f64],
    y: &'a [f64],
}

impl Kernel for Dot<'_> {
    type Output = f64;
    #[inline(always)]
    fn run(self) -> f64 {
        // Several vectors at once: one would wait for its own additions.
        const WIDTH: usize = 4 * LANES;
        let (x, y) = (self.x.as_chunks::<WIDTH>(), self.y.as_chunks::<WIDTH>());
        let mut sums = [0.0; WIDTH];
        for (x, y) in x.0.iter().zip(y.0) {
            for lane in 0..WIDTH {
                sums[lane] += x[lane] * y[lane];
            }
        }
        sums.iter().sum::<f64>() + x.1.iter().zip(y.1).map(|(x, y)| x * y).sum::<f64>()
    }
}

/// Quantile of values in order, at least one, linear between neighbours.
pub(crate) fn quantile<T>(order: &[T], p: f64, value: impl Fn(&T) -> f64) -> f64 {
    let at = p * (order.len() - 1) as f64;
    let low = at.floor() as usize;
    let high = (low + 1).min(order.len() - 1);
    value(&order[low]) + at.fract() * (value(&order[high]) - value(&order[low]))
}
