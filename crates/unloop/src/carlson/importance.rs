//! Integrals by importance sampling around the mode.
//!
//! Most draws come from a Student-t with the mode's curvature, in η modulo a shift, every fourth from the Dirichlet prior; each is
//! weighed against the mixture of both. Where choices are many the first do the work. Where they are few and α is small the
//! posterior is nothing like a Gaussian; those from the prior then bound the weights, since a likelihood is at most 1, so that the
//! standard error means something. In many dimensions with few choices neither is near: the effective sample size shows it, and
//! below [`MIN_EFFECTIVE`] no error is claimed.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{ChiSquared, Distribution};
use statrs::function::gamma::ln_gamma;

use crate::estimate::laplace::Mode;
use crate::posterior::potential::{Potential, ln_sum_exp};
use crate::random::{fill_normal, ln_gamma_draw};
use crate::sampler::tree::ln_beta;

/// Degrees of freedom of the proposal.
const DEGREES: f64 = 6.0;

/// Effective draws below which a standard error is not to be trusted.
const MIN_EFFECTIVE: f64 = 100.0;

/// Whether a draw is one from the prior.
fn from_prior(draw: usize) -> bool {
    draw % 4 == 3
}

/// Weighted draws of η (up to a shift) from one connected component.
pub(crate) struct Weighted {
    pub(crate) draws: Vec<Vec<f64>>,
    /// ln of exp f over the density of the proposal.
    pub(crate) ln_weights: Vec<f64>,
}

impl Weighted {
    /// Draws around a mode; the same for the same seed.
    pub(crate) fn new(potential: &Potential, mode: &Mode, alpha: &[f64], count: usize, seed: u64) -> Self {
        let n = potential.option_count();
        let d = (n - 1) as f64;
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let chi_squared = ChiSquared::new(DEGREES).ok();
        let ln_constant =
            ln_gamma(0.5 * (DEGREES + d)) - ln_gamma(0.5 * DEGREES) - 0.5 * d * (DEGREES * std::f64::consts::PI).ln()
                + 0.5 * mode.factor.ln_minor();
        let shares = mode.point.shares();
        let mut workspace = potential.columns.workspace();
        // product() needs the curvatures of the mode in this workspace.
        let mut point = mode.point.clone();
        potential.pass_with_curvature(&mut point, &mut workspace);
        let (mut product, mut scratch) = (vec![0.0; n], Vec::new());
        let ln_prior = ln_beta(alpha.iter().copied());
        let mut weighted = Self { draws: Vec::with_capacity(count), ln_weights: Vec::with_capacity(count) };
        for i in 0..count {
            let eta: Vec<f64> = if from_prior(i) {
                alpha.iter().map(|&alpha| ln_gamma_draw(alpha, &mut rng)).collect()
            } else {
                let mut step = vec![0.0; n];
                fill_normal(&mut step, &mut rng);
                mode.factor.correlate(&mut step);
                let scale = chi_squared.as_ref().map_or(1.0, |chi| (DEGREES / chi.sample(&mut rng)).sqrt());
                mode.point.eta.iter().zip(&step).map(|(eta, x)| eta + scale * x).collect()
            };
            // Densities of both, modulo a shift. The step is taken from the mean, so that large common shifts do not round.
            let centre = eta.iter().zip(&mode.point.eta).zip(&shares).map(|((eta, mode), p)| (eta - mode) * p).sum::<f64>();
            let step: Vec<f64> = eta.iter().zip(&mode.point.eta).map(|(eta, mode)| eta - mode - centre).collect();
            potential.product(&point, &step, &mut product, &mut scratch, &mut workspace);
            let mean: f64 = step.iter().zip(&shares).map(|(x, p)| x * p).sum();
            let square: f64 = step.iter().zip(&product).map(|(x, y)| x * y).sum::<f64>() - potential.whole * mean * mean;
            let ln_t = ln_constant - 0.5 * (DEGREES + d) * (square.max(0.0) / DEGREES).ln_1p();
            let ln_total = ln_sum_exp(eta.iter().copied());
            let ln_dirichlet = alpha.iter().zip(&eta).map(|(a, eta)| a * (eta - ln_total)).sum::<f64>() - ln_prior;
            let ln_density = ln_sum_exp([ln_t + 0.75_f64.ln(), ln_dirichlet + 0.25_f64.ln()].into_iter());
            weighted.ln_weights.push(potential.value(&eta) - ln_density);
            weighted.draws.push(eta);
        }
        weighted
    }

    /// ln of the mean weight: ln ∫ exp f, with its standard error.
    pub(crate) fn ln_integral(&self) -> (f64, f64) {
        let count = self.ln_weights.len() as f64;
        let ln_mean = ln_sum_exp(self.ln_weights.iter().copied()) - count.ln();
        // The mean over each kind of draw has an error of its own; how many there are of each is no matter of chance.
        let mut sums = [[0.0; 3]; 2];
        for (i, ln_weight) in self.ln_weights.iter().enumerate() {
            let relative = (ln_weight - ln_mean).exp();
            let sum = &mut sums[usize::from(from_prior(i))];
            *sum = [sum[0] + 1.0, sum[1] + relative, sum[2] + relative * relative];
        }
        let variance: f64 = sums
            .iter()
            .filter(|sum| sum[0] > 1.0)
            .map(|[n, first, second]| (second - first * first / n).max(0.0) / (n - 1.0) * n / (count * count))
            .sum();
        (ln_mean, self.trusted(variance.sqrt()))
    }

    /// An error, or infinity where the weights are too uneven to know one.
    fn trusted(&self, error: f64) -> f64 {
        if self.effective_size() >= MIN_EFFECTIVE { error } else { f64::INFINITY }
    }

    /// (Σw)² / Σw².
    pub(crate) fn effective_size(&self) -> f64 {
        let ln_sum = ln_sum_exp(self.ln_weights.iter().copied());
        (2.0 * ln_sum - ln_sum_exp(self.ln_weights.iter().map(|w| 2.0 * w))).exp()
    }

    /// Weighted means of functions of a draw's η, with the standard error of each.
    pub(crate) fn means(&self, count: usize, functions: &dyn Fn(&[f64], &mut [f64])) -> (Vec<f64>, Vec<f64>) {
        let ln_sum = ln_sum_exp(self.ln_weights.iter().copied());
        let mut rows = Vec::with_capacity(self.draws.len());
        let mut means = vec![0.0; count];
        for (eta, ln_weight) in self.draws.iter().zip(&self.ln_weights) {
            let mut values = vec![0.0; count];
            functions(eta, &mut values);
            let weight = (ln_weight - ln_sum).exp();
            for (mean, value) in means.iter_mut().zip(&values) {
                *mean += weight * value;
            }
            rows.push((weight, values));
        }
        let mut errors = vec![0.0; count];
        for (weight, values) in &rows {
            for ((error, value), mean) in errors.iter_mut().zip(values).zip(&means) {
                *error += (weight * (value - mean)).powi(2);
            }
        }
        errors.iter_mut().for_each(|error| *error = self.trusted(error.sqrt()));
        (means, errors)
    }
}
