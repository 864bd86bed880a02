//! Integrals by importance sampling around the mode.
//!
//! Draws come from a Student-t with the mode's curvature, in η modulo a shift; where choices are few, every fourth from the Dirichlet
//! prior, and each is weighed against the mixture of both. With few choices and a small α the posterior is nothing like a
//! Gaussian; those from the prior then bound the weights, since a likelihood is at most 1, so that the standard error means
//! something. In many dimensions with few choices neither is near. The effective sample size and the tail of the weights show it: no
//! error is claimed then, and where the first draws show that it will come to that, no more are made.

use std::borrow::Cow;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{ChiSquared, Distribution};
use statrs::function::gamma::ln_gamma;

use crate::estimate::laplace::Mode;
use crate::posterior::columns::{Columns, Workspace};
use crate::posterior::potential::{Point, Potential, SAFE_SPREAD, bounds, ln_sum_exp};
use crate::random::{fill_normal, ln_gamma_draw};
use crate::sampler::in_parallel;
use crate::sampler::lanes::{Kernel, LANES, Lanes, dispatch, exp, ln};
use crate::sampler::tree::ln_beta;

/// Degrees of freedom of the proposal, at least. With as many as there are dimensions its radius spreads as that of a Gaussian
/// does (√2 times); with few it would nearly always miss the shell on which a Gaussian of many dimensions lives.
const MIN_DEGREES: f64 = 6.0;

/// Effective draws below which a standard error is not to be trusted.
const MIN_EFFECTIVE: f64 = 100.0;
/// Shape of the tail of the weights above which it is not either: the weights that matter most were probably not met, and that makes the
/// error look small. (Vehtari, Simpson, Gelman, Yao & Gabry 2024.)
const MAX_TAIL_SHAPE: f64 = 0.7;

/// Choices for each option above which none are drawn from the prior: they would have no weight.
const MANY_CHOICES: f64 = 100.0;
/// Below that, every so many is.
const PRIOR_EVERY: usize = 4;
/// Draws of one random stream, which one thread makes.
const BLOCK: usize = 64;
/// Blocks that are drawn first, to see whether it is worth going on.
const PILOT: usize = 8;

/// Whether there are so many choices for each option that the prior hardly matters.
pub(crate) fn has_many_choices(potential: &Potential, alpha: &[f64]) -> bool {
    let choices: f64 = potential.a.iter().zip(alpha).map(|(a, alpha)| (a - alpha).max(0.0)).sum();
    choices > MANY_CHOICES * alpha.len() as f64
}

/// Weighted draws of η (up to a shift) from one connected component.
pub(crate) struct Weighted {
    pub(crate) draws: Vec<Vec<f64>>,
    /// ln of exp f over the density of the proposal.
    pub(crate) ln_weights: Vec<f64>,
    /// Every so many draws is from the prior, if any.
    prior_every: Option<usize>,
}

impl Weighted {
    /// Draws around a mode; the same for the same seed, whatever the number of threads. Only a few where the first show that all would
    /// not do.
    pub(crate) fn new(potential: &Potential, mode: &Mode, alpha: &[f64], count: usize, seed: u64) -> Self {
        let proposal = Proposal::new(potential, mode, alpha);
        let mut weighted = Self { draws: Vec::new(), ln_weights: Vec::new(), prior_every: proposal.prior_every };
        let blocks = count.div_ceil(BLOCK);
        for stage in [0..blocks.min(PILOT), blocks.min(PILOT)..blocks] {
            let first = stage.start;
            let drawn = in_parallel(stage.len(), |i| {
                let block = first + i;
                let mut rng = ChaCha8Rng::seed_from_u64(seed);
                rng.set_stream(block as u64);
                proposal.block((count - block * BLOCK).min(BLOCK), &mut rng)
            });
            for (draws, ln_weights) in drawn {
                weighted.draws.extend(draws);
                weighted.ln_weights.extend(ln_weights);
            }
            let growth = count as f64 / weighted.ln_weights.len() as f64;
            if weighted.effective_size() * growth < MIN_EFFECTIVE {
                break;
            }
        }
        weighted
    }

    /// Whether a draw is one from the prior. Blocks are a multiple of the distance between such draws.
    fn is_from_prior(&self, draw: usize) -> bool {
        self.prior_every.is_some_and(|every| draw % every == every - 1)
    }

    /// ln of the mean weight: ln ∫ exp f, with its standard error.
    pub(crate) fn ln_integral(&self) -> (f64, f64) {
        let count = self.ln_weights.len() as f64;
        let ln_mean = ln_sum_exp(self.ln_weights.iter().copied()) - count.ln();
        // The mean over each kind of draw has an error of its own; how many there are of each is no matter of chance.
        let mut sums = [[0.0; 3]; 2];
        for (i, ln_weight) in self.ln_weights.iter().enumerate() {
            let relative = (ln_weight - ln_mean).exp();
            let sum = &mut sums[usize::from(self.is_from_prior(i))];
            *sum = [sum[0] + 1.0, sum[1] + relative, sum[2] + relative * relative];
        }
        let variance: f64 = sums
            .iter()
            .filter(|sum| sum[0] > 1.0)
            .map(|[n, first, second]| (second - first * first / n).max(0.0) / (n - 1.0) * n / (count * count))
            .sum();
        (ln_mean, if self.is_trusted() { variance.sqrt() } else { f64::INFINITY })
    }

    /// Whether the weights are even enough to know an error.
    fn is_trusted(&self) -> bool {
        self.effective_size() >= MIN_EFFECTIVE && self.tail_shape() < MAX_TAIL_SHAPE
    }

    /// Shape of a generalised Pareto distribution fitted to the largest weights: k̂.
    fn tail_shape(&self) -> f64 {
        let count = self.ln_weights.len() as f64;
        let tail = (0.2 * count).min(3.0 * count.sqrt()).ceil() as usize;
        let mut largest = self.ln_weights.clone();
        largest.sort_unstable_by(|x, y| y.total_cmp(x));
        let (Some(&high), Some(&cut)) = (largest.first(), largest.get(tail)) else { return f64::INFINITY };
        let exceedances: Vec<f64> =
            largest[..tail].iter().rev().map(|w| (w - high).exp() - (cut - high).exp()).filter(|&x| x > 0.0).collect();
        pareto_shape(&exceedances)
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
        let is_trusted = self.is_trusted();
        errors.iter_mut().for_each(|error| *error = if is_trusted { error.sqrt() } else { f64::INFINITY });
        (means, errors)
    }
}

/// Shape of a generalised Pareto distribution from ascending positive values, by the estimator of Zhang & Stephens (2009), drawn a little
/// towards ½ as for Pareto-smoothed importance sampling. Values that are all alike have no tail.
fn pareto_shape(x: &[f64]) -> f64 {
    let n = x.len();
    if n < 5 {
        return 0.0;
    }
    let (quartile, last) = (x[((n as f64 / 4.0 + 0.5) as usize).max(1) - 1], x[n - 1]);
    let grid = 30 + (n as f64).sqrt() as usize;
    let b: Vec<f64> =
        (1..=grid).map(|j| (1.0 - (grid as f64 / (j as f64 - 0.5)).sqrt()) / (3.0 * quartile) + 1.0 / last).collect();
    let shape = |b: f64| x.iter().map(|x| (-b * x).ln_1p()).sum::<f64>() / n as f64;
    let profile: Vec<f64> = b
        .iter()
        .map(|&b| {
            let k = shape(b);
            let value = n as f64 * ((-b / k).ln() - k - 1.0);
            if value.is_nan() { f64::NEG_INFINITY } else { value }
        })
        .collect();
    let ln_total = ln_sum_exp(profile.iter().copied());
    let mean: f64 = b.iter().zip(&profile).map(|(b, value)| b * (value - ln_total).exp()).sum();
    (n as f64 * shape(mean) + 5.0) / (n as f64 + 10.0)
}

/// Where draws come from: a mixture of a Student-t around the mode and the prior.
struct Proposal<'a> {
    potential: &'a Potential,
    columns: Cow<'a, Columns>,
    mode: &'a Mode,
    shares: Vec<f64>,
    alpha: &'a [f64],
    prior_every: Option<usize>,
    degrees: f64,
    ln_constant: f64,
    ln_prior: f64,
    /// The mode with the curvatures that products need, where draws from the prior need them.
    curvatures: Option<(Point, Workspace)>,
}

impl<'a> Proposal<'a> {
    fn new(potential: &'a Potential, mode: &'a Mode, alpha: &'a [f64]) -> Self {
        let d = (potential.option_count() - 1) as f64;
        let degrees = d.max(MIN_DEGREES);
        let prior_every = (!has_many_choices(potential, alpha)).then_some(PRIOR_EVERY);
        let curvatures = prior_every.map(|_| {
            let (mut point, mut workspace) = (mode.point.clone(), potential.columns.workspace());
            potential.pass_with_curvature(&mut point, &mut workspace);
            (point, workspace)
        });
        Self {
            potential,
            columns: potential.columns.by_weight(),
            mode,
            shares: mode.point.shares(),
            alpha,
            prior_every,
            degrees,
            ln_constant: ln_gamma(0.5 * (degrees + d))
                - ln_gamma(0.5 * degrees)
                - 0.5 * d * (degrees * std::f64::consts::PI).ln()
                + 0.5 * mode.factor.ln_minor(),
            ln_prior: ln_beta(alpha.iter().copied()),
            curvatures,
        }
    }

    /// Draws with their ln weights.
    fn block(&self, count: usize, rng: &mut ChaCha8Rng) -> (Vec<Vec<f64>>, Vec<f64>) {
        let n = self.alpha.len();
        let mut steps = vec![0.0; n * count];
        fill_normal(&mut steps, rng);
        let norms: Vec<f64> = steps.chunks_exact(n).map(|z| z.iter().map(|z| z * z).sum()).collect();
        self.mode.factor.correlate(&mut steps, count);
        let chi_squared = ChiSquared::new(self.degrees).ok();
        let mut workspace = self.curvatures.as_ref().map(|(_, workspace)| workspace.clone()).unwrap_or_default();
        let (mut draws, mut ln_densities) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for (i, (step, norm)) in steps.chunks_exact(n).zip(norms).enumerate() {
            let from_prior = self.prior_every.is_some_and(|every| i % every == every - 1);
            let (eta, square) = match &self.curvatures {
                Some((point, _)) if from_prior => {
                    let eta: Vec<f64> = self.alpha.iter().map(|&alpha| ln_gamma_draw(alpha, rng)).collect();
                    let square = self.square(&eta, point, &mut workspace);
                    (eta, square)
                }
                _ => {
                    let scale = chi_squared.as_ref().map_or(1.0, |chi| (self.degrees / chi.sample(rng)).sqrt());
                    let eta = self.mode.point.eta.iter().zip(step).map(|(eta, x)| eta + scale * x).collect();
                    (eta, scale * scale * self.mode.factor.square(norm, step, &self.shares))
                }
            };
            ln_densities.push(self.ln_density(&eta, square));
            draws.push(eta);
        }
        let values = draws.chunks(LANES).flat_map(|four| self.values(four));
        let ln_weights = values.zip(ln_densities).map(|(value, ln_density)| value - ln_density).collect();
        (draws, ln_weights)
    }

    /// (η − η*)ᵀ(−H)(η − η*).
    fn square(&self, eta: &[f64], point: &Point, workspace: &mut Workspace) -> f64 {
        // The step is taken from the mean, so that large common shifts do not round.
        let centre = eta.iter().zip(&point.eta).zip(&self.shares).map(|((eta, mode), p)| (eta - mode) * p).sum::<f64>();
        let step: Vec<f64> = eta.iter().zip(&point.eta).map(|(eta, mode)| eta - mode - centre).collect();
        let (mut product, mut scratch) = (vec![0.0; step.len()], Vec::new());
        self.potential.product(point, &step, &mut product, &mut scratch, workspace);
        let mean: f64 = step.iter().zip(&self.shares).map(|(x, p)| x * p).sum();
        (step.iter().zip(&product).map(|(x, y)| x * y).sum::<f64>() - self.potential.whole * mean * mean).max(0.0)
    }

    /// ln of the mixture's density modulo a shift.
    fn ln_density(&self, eta: &[f64], square: f64) -> f64 {
        let d = (eta.len() - 1) as f64;
        let ln_t = self.ln_constant - 0.5 * (self.degrees + d) * (square / self.degrees).ln_1p();
        let Some(every) = self.prior_every else { return ln_t };
        let ln_total = ln_sum_exp(eta.iter().copied());
        let ln_dirichlet = self.alpha.iter().zip(eta).map(|(a, eta)| a * (eta - ln_total)).sum::<f64>() - self.ln_prior;
        let part = 1.0 / every as f64;
        ln_sum_exp([ln_t + (1.0 - part).ln(), ln_dirichlet + part.ln()].into_iter())
    }

    /// f of up to [`LANES`] draws, side by side where their spread allows it.
    fn values(&self, draws: &[Vec<f64>]) -> Vec<f64> {
        let highs: Vec<f64> = draws.iter().map(|eta| bounds(eta).1).collect();
        let is_wide = |(eta, high): (&Vec<f64>, &f64)| !(high - bounds(eta).0 < SAFE_SPREAD);
        if draws.len() < LANES || draws.iter().zip(&highs).any(is_wide) {
            return draws.iter().map(|eta| self.potential.value(eta)).collect();
        }
        let shifted: Vec<Lanes> =
            (0..self.alpha.len()).map(|k| std::array::from_fn(|lane| draws[lane][k] - highs[lane])).collect();
        let (lambda, linear, total) = dispatch(Exponentials { potential: self.potential, eta: &shifted });
        let sums = self.columns.ln_sums_of_lanes(&lambda);
        let ln_total = ln(total);
        (0..LANES).map(|lane| linear[lane] - sums[lane] - self.potential.whole * ln_total[lane]).collect()
    }
}

/// λ = e^η, Σ a η and Σλ.
struct Exponentials<'a> {
    potential: &'a Potential,
    eta: &'a [Lanes],
}

impl Kernel for Exponentials<'_> {
    type Output = (Vec<Lanes>, Lanes, Lanes);

    #[inline(always)]
    fn run(self) -> Self::Output {
        let (mut linear, mut total) = ([0.0; LANES], [0.0; LANES]);
        let mut lambda = Vec::with_capacity(self.eta.len());
        for (eta, a) in self.eta.iter().zip(&self.potential.a) {
            let power = exp(*eta);
            for lane in 0..LANES {
                linear[lane] += a * eta[lane];
                total[lane] += power[lane];
            }
            lambda.push(power);
        }
        (lambda, linear, total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Quantiles of Pareto tails have the shape they were made with, within what the estimator can tell from 400 of them.
    #[test]
    fn tails_have_the_shape_they_were_made_with() {
        for k in [0.2, 0.5, 0.9, 1.5] {
            let x: Vec<f64> = (1..400).map(|i| (f64::from(400 - i) / 400.0).powf(-k) - 1.0).collect();
            let found = pareto_shape(&x);
            println!("{k}: {found}");
            assert!((found - k).abs() < 0.1, "{found} is not {k}");
        }
        // A uniform has the shape −1; values that are all alike none.
        let uniform: Vec<f64> = (1..400).map(f64::from).collect();
        assert!(pareto_shape(&uniform) < -0.8);
        assert!(pareto_shape(&[1.0; 50]) < MAX_TAIL_SHAPE && pareto_shape(&[]) < MAX_TAIL_SHAPE);
    }
}
