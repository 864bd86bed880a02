//! Who beats whom: chances between each two options, from draws.
//!
//! ```text
//! P(i beats j) = E[θ_i / (θ_i + θ_j)]        the chance that i is chosen when the two are presented
//! ```
//! Its interval is that of θ_i/(θ_i + θ_j). How sure it is that i is the stronger one is another question: P(θ_i > θ_j).

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::tally::interval;
use crate::option::OptionId;
use crate::random::ln_gamma_draw;
use crate::sampler::{Draws, in_parallel};

/// The random stream of options never shown.
const STREAM: u64 = (1 << 63) + 2;

/// What is known of one option against another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Beats {
    /// P(i beats j), posterior mean.
    pub mean: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// P(θ_i > θ_j).
    pub p_stronger: f64,
}

/// Chances between each two of some options.
#[derive(Clone, Debug, PartialEq)]
pub struct Pairwise {
    /// The options, in the order they were asked for.
    pub options: Vec<OptionId>,
    /// Row by row: row i, column j is option i against option j. An option against itself is ½.
    pub beats: Vec<Vec<Beats>>,
}

impl Pairwise {
    /// Chances between each two of some options, with intervals of a probability. O(n² draws). Options that the draws do not know
    /// are left out.
    pub fn new(draws: &Draws, options: &[OptionId], level: f64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(draws.seed);
        rng.set_stream(STREAM);
        let (mut kept, mut values) = (Vec::new(), Vec::new());
        for &option in options {
            if let Some(eta) = ln_lambda(draws, option, &mut rng) {
                kept.push(option);
                values.push(eta);
            }
        }
        let tail = 0.5 * (1.0 - level);
        let above: Vec<Vec<Beats>> =
            in_parallel(kept.len(), |i| ((i + 1)..kept.len()).map(|j| beats(&values[i], &values[j], tail)).collect());
        let even = Beats { mean: 0.5, low: 0.5, high: 0.5, p_stronger: 0.5 };
        let mut all = vec![vec![even; kept.len()]; kept.len()];
        for (i, row) in above.into_iter().enumerate() {
            for (j, beats) in row.into_iter().enumerate().map(|(offset, beats)| (i + 1 + offset, beats)) {
                let Beats { mean, low, high, p_stronger } = beats;
                all[i][j] = beats;
                all[j][i] = Beats { mean: 1.0 - mean, low: 1.0 - high, high: 1.0 - low, p_stronger: 1.0 - p_stronger };
            }
        }
        Self { options: kept, beats: all }
    }
}

/// ln λ of an option in every draw, drawn now if it was never shown.
pub(crate) fn ln_lambda(draws: &Draws, option: OptionId, rng: &mut ChaCha8Rng) -> Option<Vec<f64>> {
    let width = draws.explored().len();
    if let Ok(place) = draws.explored().binary_search(&option) {
        return Some(draws.ln_lambda.iter().skip(place).step_by(width).copied().collect());
    }
    let alpha = draws.unexplored.alpha(option)?;
    Some((0..draws.len()).map(|_| ln_gamma_draw(alpha, rng)).collect())
}

fn beats(eta: &[f64], other: &[f64], tail: f64) -> Beats {
    let mut differences: Vec<f64> = eta.iter().zip(other).map(|(x, y)| x - y).collect();
    let count = differences.len() as f64;
    let mean = differences.iter().copied().map(logistic).sum::<f64>() / count;
    let stronger = differences
        .iter()
        .map(|&x| {
            if x > 0.0 {
                1.0
            } else if x < 0.0 {
                0.0
            } else {
                0.5
            }
        })
        .sum::<f64>();
    let (low, high) = interval(&mut differences, tail);
    Beats { mean, low: logistic(low), high: logistic(high), p_stronger: stronger / count }
}

fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}
