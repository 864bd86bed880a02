//! Integrals by importance sampling around the mode.
//!
//! The proposal is a Student-t with the mode's curvature, in η modulo a shift: its tails are heavier than any posterior's, so that
//! the weights have a finite variance and the standard error means something. Where the weights are uneven the effective sample
//! size says so.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{ChiSquared, Distribution};
use statrs::function::gamma::ln_gamma;

use crate::estimate::laplace::Mode;
use crate::posterior::potential::{Potential, ln_sum_exp};
use crate::random::fill_normal;

/// Degrees of freedom of the proposal.
const DEGREES: f64 = 6.0;

/// Weighted draws of η (up to a shift) from one connected component.
pub(crate) struct Weighted {
    pub(crate) draws: Vec<Vec<f64>>,
    /// ln of exp f over the density of the proposal.
    pub(crate) ln_weights: Vec<f64>,
}

impl Weighted {
    /// Draws around a mode; the same for the same seed.
    pub(crate) fn new(potential: &Potential, mode: &Mode, count: usize, seed: u64) -> Self {
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
        let mut weighted = Self { draws: Vec::with_capacity(count), ln_weights: Vec::with_capacity(count) };
        for _ in 0..count {
            let mut step = vec![0.0; n];
            fill_normal(&mut step, &mut rng);
            mode.factor.correlate(&mut step);
            let scale = chi_squared.as_ref().map_or(1.0, |chi| (DEGREES / chi.sample(&mut rng)).sqrt());
            step.iter_mut().for_each(|x| *x *= scale);
            potential.product(&point, &step, &mut product, &mut scratch, &mut workspace);
            let mean: f64 = step.iter().zip(&shares).map(|(x, p)| x * p).sum();
            let square: f64 = step.iter().zip(&product).map(|(x, y)| x * y).sum::<f64>() - potential.whole * mean * mean;
            let ln_density = ln_constant - 0.5 * (DEGREES + d) * (square.max(0.0) / DEGREES).ln_1p();
            let eta: Vec<f64> = mode.point.eta.iter().zip(&step).map(|(eta, x)| eta + x).collect();
            weighted.ln_weights.push(potential.value(&eta) - ln_density);
            weighted.draws.push(eta);
        }
        weighted
    }

    /// ln of the mean weight: ln ∫ exp f, with its standard error.
    pub(crate) fn ln_integral(&self) -> (f64, f64) {
        let count = self.ln_weights.len() as f64;
        let ln_sum = ln_sum_exp(self.ln_weights.iter().copied());
        // Relative variance of the mean: (Σw²/(Σw)² − 1/n), the delta method for its logarithm.
        let variance = (1.0 / self.effective_size() - 1.0 / count).max(0.0);
        (ln_sum - count.ln(), variance.sqrt())
    }

    /// (Σw)² / Σw².
    pub(crate) fn effective_size(&self) -> f64 {
        let ln_sum = ln_sum_exp(self.ln_weights.iter().copied());
        (2.0 * ln_sum - ln_sum_exp(self.ln_weights.iter().map(|w| 2.0 * w))).exp()
    }

    /// Weighted means of functions of a draw's shares, with the standard error of each.
    pub(crate) fn means(&self, count: usize, functions: &(dyn Fn(&[f64], &mut [f64]) + Sync)) -> (Vec<f64>, Vec<f64>) {
        let ln_sum = ln_sum_exp(self.ln_weights.iter().copied());
        let mut rows = Vec::with_capacity(self.draws.len());
        let mut means = vec![0.0; count];
        for (eta, ln_weight) in self.draws.iter().zip(&self.ln_weights) {
            let high = eta.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let lambda: Vec<f64> = eta.iter().map(|eta| (eta - high).exp()).collect();
            let mut values = vec![0.0; count];
            functions(&lambda, &mut values);
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
        errors.iter_mut().for_each(|error| *error = error.sqrt());
        (means, errors)
    }
}
