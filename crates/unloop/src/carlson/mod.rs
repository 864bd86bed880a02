//! Carlson's R function and the evidence: exact where structure allows, else with an error.
//!
//! ```text
//! R(a, Z, b) = E_{θ~Dirichlet(a)} ∏_C S_C(θ)^(−b_C) = 1/B(a) ∫_Δ ∏_k θ_k^(a_k − 1) ∏_C S_C(θ)^(−b_C) dθ
//! p(k_{1:T} | C_{1:T}) = B(α+y)/B(α) · R(α+y, Z, β+μ)/R(α, Z, β)
//! ```
//! The integral factors over connected components. Each is solved by the first way that applies:
//!
//! 1. laminar presentations: a product of Beta functions ([`sampler::tree`](crate::sampler::tree));
//! 2. at most four dimensions, primal or dual: deterministic quadrature. Duality, R(a, Z, b) = R(b, Zᵀ, a), trades an integral over
//!    the options for one over the distinct presentations (Lemma 2; columns with b = 0 drop out, Lemma 1);
//! 3. otherwise the Laplace approximation sharpened by importance sampling, with its standard error. Also where a grid would be too
//!    large: from α = 0.2 down in four dimensions, 0.03 in three, 0.003 in two. Weights are skewed there, and a standard error of
//!    them is on the small side: deviations of three are met.
//!
//! ```
//! use unloop::{OptionId, Posterior, Prior, Statistics};
//! let [a, b] = [0, 1].map(OptionId::new);
//! let mut statistics = Statistics::new(2);
//! for (chosen, times) in [(a, 3.0), (b, 1.0)] {
//!     statistics.record([a, b], chosen, times)?;
//! }
//! let evidence = Posterior::new(&Prior::default(), &statistics)?.ln_evidence()?;
//! // Three of one and one of the other, in a given order: 3! 1! / 5!.
//! assert!((evidence.ln_value - (1.0_f64 / 20.0).ln()).abs() < 1e-14);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub(crate) mod importance;
pub(crate) mod quadrature;

use statrs::function::gamma::ln_gamma;
use thiserror::Error;

use crate::estimate::laplace::{LaplaceError, Mode};
use crate::margins::check_slack;
use crate::option::{Listed, OptionId};
use crate::posterior::Posterior;
use crate::posterior::columns::Columns;
use crate::posterior::potential::{Potential, ln_sum_exp};
use crate::presentation::Presentation;
use crate::sampler::tree::{Tree, ln_beta};
use importance::Weighted;
use quadrature::{Integral, MAX_DIMENSION, integrate};

/// How an integral was computed, from exact to estimated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Method {
    /// Laminar presentations: exact up to rounding.
    ClosedForm,
    /// Deterministic quadrature in at most four dimensions.
    Quadrature,
    /// Laplace sharpened by importance sampling.
    ImportanceSampling,
    /// Sequential Monte Carlo.
    Particles,
}

/// The logarithm of a number, how it was computed and how far it may be off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LnEstimate {
    /// The logarithm.
    pub ln_value: f64,
    /// The least exact method that took part.
    pub method: Method,
    /// Absolute error of `ln_value`: a bound for deterministic methods, a standard error for sampling; infinite where the
    /// weights are so uneven that none can be trusted.
    pub error: f64,
}

/// How long to look for an exact way, and how integrals that have none are estimated.
#[derive(Clone, Debug, PartialEq)]
pub struct IntegralSettings {
    /// Draws for each connected component. 20 000 by default.
    pub draws: usize,
    /// Seed of the draws. 0 by default.
    pub seed: u64,
    /// Most points of the grids that integrate a component of few dimensions; 10⁸ by default, some seconds.
    pub grid: usize,
}

impl Default for IntegralSettings {
    fn default() -> Self {
        Self { draws: 20_000, seed: 0, grid: 100_000_000 }
    }
}

/// Why there is no integral.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum IntegralError {
    /// No Gaussian to sample around.
    #[error(transparent)]
    Laplace(#[from] LaplaceError),
    /// Settings without draws.
    #[error("importance sampling needs at least 2 draws, not {draws}")]
    Draws {
        /// The draws asked for.
        draws: usize,
    },
    /// A presentation with an option that the posterior does not know.
    #[error("option {option} is unknown: there are {option_count} options")]
    UnknownOption {
        /// The option.
        option: OptionId,
        /// Number of options.
        option_count: usize,
    },
}

/// Why R has no value here.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum RError {
    /// A parameter outside its range.
    #[error("a = {value} of option {option} is not a finite number above 0")]
    A {
        /// The option.
        option: OptionId,
        /// Its parameter.
        value: f64,
    },
    /// A weight outside its range.
    #[error("b = {value} of column {column} is not a finite number of at least 0")]
    B {
        /// Place of the column.
        column: usize,
        /// Its weight.
        value: f64,
    },
    /// A column with an option that has no a.
    #[error("column {column} holds option {option}, but there are {option_count}")]
    UnknownOption {
        /// Place of the column.
        column: usize,
        /// The option.
        option: OptionId,
        /// Number of options.
        option_count: usize,
    },
    /// No options.
    #[error("R needs at least one option")]
    NoOptions,
    /// The integral diverges.
    #[error("the integral diverges where options {} go to 0: their a − b is {slack}", Listed(options))]
    Divergent {
        /// The options.
        options: Vec<OptionId>,
        /// Σ_{k∈A} a_k − Σ_{C⊆A} b_C.
        slack: f64,
    },
    /// Weights of columns that exceed the parameters: no log-concave integrand.
    #[error("columns other than that of all options have Σb = {b} above Σa = {a}; the model never does")]
    Unbalanced {
        /// Σa.
        a: f64,
        /// Σb.
        b: f64,
    },
    /// The integral failed.
    #[error(transparent)]
    Integral(#[from] IntegralError),
}

/// ln R(a, Z, b), where the columns of Z are presentations with weights b.
///
/// Needs a > 0, b ≥ 0 and Σb ≤ Σa over the columns that do not hold all options, as the model always has.
///
/// # Errors
/// If a parameter is out of range, the integral diverges or its mode is not found.
pub fn ln_r(a: &[f64], columns: &[(Presentation, f64)]) -> Result<LnEstimate, RError> {
    let option_count = a.len();
    if a.is_empty() {
        return Err(RError::NoOptions);
    }
    if let Some(k) = a.iter().position(|&a| !(a > 0.0 && a.is_finite())) {
        return Err(RError::A { option: OptionId::new(k as u32), value: a[k] });
    }
    let mut sets: Vec<(Vec<u32>, f64)> = Vec::new();
    for (column, (presentation, b)) in columns.iter().enumerate() {
        if !(*b >= 0.0 && b.is_finite()) {
            return Err(RError::B { column, value: *b });
        }
        if let Some(&option) = presentation.members().last().filter(|option| option.index() >= option_count) {
            return Err(RError::UnknownOption { column, option, option_count });
        }
        // S_[K] is 1 on the simplex, and b = 0 drops a column: Lemma 1.
        if *b > 0.0 && presentation.len() < option_count {
            sets.push((presentation.members().iter().map(|&option| option.into()).collect(), *b));
        }
    }
    let (sum_a, sum_b): (f64, f64) = (a.iter().sum(), sets.iter().map(|(_, b)| b).sum());
    let whole = sum_a - sum_b;
    // Sums that are equal on paper may differ by rounding.
    if whole < -1e-12 * sum_a {
        return Err(RError::Unbalanced { a: sum_a, b: sum_b });
    }
    let all: Vec<u32> = (0..option_count as u32).collect();
    let mut pairs: Vec<(&[u32], f64)> = sets.iter().map(|(set, b)| (&set[..], *b)).collect();
    pairs.push((&all, whole.max(0.0)));
    // Without columns R is 1, however small an a is.
    if let Err(deficit) = if sets.is_empty() { Ok(()) } else { check_slack(a, &pairs) } {
        let options = deficit.options.into_iter().map(OptionId::new).collect();
        return Err(RError::Divergent { options, slack: deficit.slack });
    }
    // A column of one option lowers that option's exponent.
    let mut lowered = a.to_vec();
    for (set, b) in sets.iter().filter(|(set, _)| set.len() == 1) {
        lowered[set[0] as usize] -= b;
    }
    if let Some(k) = lowered.iter().position(|&a| !(a > 0.0)) {
        return Err(RError::Divergent { options: vec![OptionId::new(k as u32)], slack: lowered[k] });
    }
    sets.retain(|(set, _)| set.len() > 1);
    sets.sort_by(|x, y| x.0.cmp(&y.0));
    let mut estimate = Posterior::of_columns(lowered, sets).ln_normaliser(&IntegralSettings::default(), &[])?;
    estimate.ln_value -= ln_beta(a.iter().copied());
    Ok(estimate)
}

/// Means and variances of the preferences.
#[derive(Clone, Debug, PartialEq)]
pub struct Moments {
    /// E θ_k, by option.
    pub mean: Vec<f64>,
    /// Var θ_k, by option.
    pub variance: Vec<f64>,
    /// The least exact method that took part.
    pub method: Method,
    /// Largest absolute error of a mean: a bound for deterministic methods, a standard error for sampling; infinite where
    /// the weights are so uneven that none can be trusted.
    pub error: f64,
}

impl Posterior {
    /// ln p(k_{1:T} | C_{1:T}): the probability of the sequence of choices given what was presented.
    ///
    /// With fractional counts it is the normaliser of a power likelihood: fit to compare priors on the same counts, no more.
    ///
    /// # Errors
    /// If an integral without an exact way has no Gaussian to sample around.
    pub fn ln_evidence(&self) -> Result<LnEstimate, IntegralError> {
        self.ln_evidence_with(&IntegralSettings::default())
    }

    /// As [`ln_evidence`](Self::ln_evidence), with settings.
    ///
    /// # Errors
    /// As [`ln_evidence`](Self::ln_evidence), and if the settings ask for no draws.
    pub fn ln_evidence_with(&self, settings: &IntegralSettings) -> Result<LnEstimate, IntegralError> {
        self.ln_evidence_given(settings, &[])
    }

    /// As [`ln_evidence_with`](Self::ln_evidence_with), with sampled integrals of components that are known already.
    pub(crate) fn ln_evidence_given(
        &self,
        settings: &IntegralSettings,
        known: &[Option<LnEstimate>],
    ) -> Result<LnEstimate, IntegralError> {
        let mut evidence = self.ln_normaliser(settings, known)?;
        match self.general_prior() {
            None => {
                // Parts without data cancel exactly; so do all of them when there are no choices.
                evidence.ln_value -= ln_beta(self.alpha().iter().copied());
                evidence.error += 4.0 * f64::EPSILON * self.alpha().iter().map(|&alpha| ln_gamma(alpha).abs()).sum::<f64>();
            }
            Some(prior) => {
                let prior = prior.ln_normaliser(settings, &[])?;
                evidence.ln_value -= prior.ln_value;
                evidence.method = evidence.method.max(prior.method);
                evidence.error += prior.error;
            }
        }
        Ok(evidence)
    }

    /// ln R(α+y, Z, β+μ), the part of the normaliser that has no closed form in general.
    ///
    /// # Errors
    /// As [`ln_evidence`](Self::ln_evidence).
    pub fn ln_r(&self) -> Result<LnEstimate, IntegralError> {
        let mut estimate = self.ln_normaliser(&IntegralSettings::default(), &[])?;
        estimate.ln_value -= ln_beta(self.full_exponents());
        Ok(estimate)
    }

    /// Means and variances of the preferences: exact for options never shown, by quadrature where a component has at most four primal
    /// or dual dimensions, else from weighted draws.
    ///
    /// # Errors
    /// As [`ln_evidence`](Self::ln_evidence).
    pub fn moments(&self) -> Result<Moments, IntegralError> {
        self.moments_with(&IntegralSettings::default())
    }

    /// As [`moments`](Self::moments), with settings.
    ///
    /// # Errors
    /// As [`moments`](Self::moments), and if the settings ask for no draws.
    pub fn moments_with(&self, settings: &IntegralSettings) -> Result<Moments, IntegralError> {
        let option_count = self.option_count();
        let mut moments =
            Moments { mean: vec![0.0; option_count], variance: vec![0.0; option_count], method: Method::ClosedForm, error: 0.0 };
        let alone = self.components().len() + self.unexplored_indices().len() == 1;
        // Mean and variance of a mass with a parameter: those of Beta(mass, total − mass).
        let mass_moments = |mass: f64| {
            let total = self.total_mass();
            let mean = mass / total;
            if alone { (1.0, 0.0) } else { (mean, mean * ((total - mass) / total) / (total + 1.0)) }
        };
        for &k in self.unexplored_indices() {
            (moments.mean[k as usize], moments.variance[k as usize]) = mass_moments(self.alpha()[k as usize]);
        }
        for component in self.components() {
            let alpha = self.alpha_of(&component.options);
            let (shares, method, error) = share_moments(&component.potential, &alpha, settings)?;
            let (mass, spread) = mass_moments(component.mass);
            // The mass and the shares inside are independent.
            for (&k, (mean, variance)) in component.options.iter().zip(shares) {
                moments.mean[k as usize] = mass * mean;
                moments.variance[k as usize] = (mass * mass + spread) * variance + spread * mean * mean;
            }
            moments.method = moments.method.max(method);
            moments.error = larger(moments.error, mass * error);
        }
        Ok(moments)
    }

    /// ln ∫_Δ exp φ(θ) dθ.
    pub(crate) fn ln_normaliser(
        &self,
        settings: &IntegralSettings,
        known: &[Option<LnEstimate>],
    ) -> Result<LnEstimate, IntegralError> {
        let mut sum = LnEstimate { ln_value: self.ln_masses(), method: Method::ClosedForm, error: 0.0 };
        let mut variance = 0.0;
        for (i, component) in self.components().iter().enumerate() {
            let known = known.get(i).copied().flatten();
            let part = ln_integral_given(&component.potential, &self.alpha_of(&component.options), settings, known)?;
            sum.ln_value += part.ln_value;
            sum.method = sum.method.max(part.method);
            if part.method == Method::ImportanceSampling {
                variance += part.error * part.error;
            } else {
                sum.error += part.error;
            }
        }
        sum.error += f64::sqrt(variance);
        Ok(sum)
    }
}

/// ln ∫ exp f over η modulo a shift, for one connected component.
/// `alpha` are the prior weights of its options, for proposals.
pub(crate) fn ln_integral(
    potential: &Potential,
    alpha: &[f64],
    settings: &IntegralSettings,
) -> Result<LnEstimate, IntegralError> {
    ln_integral_given(potential, alpha, settings, None)
}

/// As [`ln_integral`], with what to take where there is no exact way.
fn ln_integral_given(
    potential: &Potential,
    alpha: &[f64],
    settings: &IntegralSettings,
    sampled: Option<LnEstimate>,
) -> Result<LnEstimate, IntegralError> {
    if let Some(tree) = Tree::of_potential(potential) {
        return Ok(LnEstimate { ln_value: tree.ln_normaliser(), method: Method::ClosedForm, error: tree.rounding().0 });
    }
    let primal = potential.option_count() - 1;
    let dual = dual_if_smaller(potential, primal);
    if let Some(dual) = dual.filter(|dual| dual.option_count() - 1 <= MAX_DIMENSION)
        && let Some(integral) = by_quadrature(&dual.potential, 0, &|_, _| {}, settings)?
    {
        return Ok(quadrature_estimate(&integral, dual.shift));
    }
    if primal <= MAX_DIMENSION
        && let Some(integral) = by_quadrature(potential, 0, &|_, _| {}, settings)?
    {
        return Ok(quadrature_estimate(&integral, 0.0));
    }
    if let Some(sampled) = sampled {
        return Ok(sampled);
    }
    let weighted = draws(potential, alpha, settings)?;
    let (ln_value, error) = weighted.ln_integral();
    Ok(LnEstimate { ln_value, method: Method::ImportanceSampling, error })
}

/// Mean and variance of the shares inside a component, the method and the largest error of a mean.
type ShareMoments = (Vec<(f64, f64)>, Method, f64);

fn share_moments(potential: &Potential, alpha: &[f64], settings: &IntegralSettings) -> Result<ShareMoments, IntegralError> {
    let n = potential.option_count();
    if let Some(tree) = Tree::of_potential(potential) {
        return Ok((tree.mean().into_iter().zip(tree.variance()).collect(), Method::ClosedForm, tree.rounding().1));
    }
    let spread = |mean: f64, square: f64| (mean, (square - mean * mean).max(0.0));
    let pairs = |means: &[f64]| means.chunks_exact(2).map(|pair| spread(pair[0], pair[1])).collect();
    let shares = |lambda: &[f64], out: &mut [f64]| {
        let inverse = 1.0 / lambda.iter().sum::<f64>();
        for (out, lambda) in out.chunks_exact_mut(2).zip(lambda) {
            out[0] = lambda * inverse;
            out[1] = out[0] * out[0];
        }
    };
    if n - 1 <= MAX_DIMENSION
        && let Some(integral) = by_quadrature(potential, 2 * n, &shares, settings)?
    {
        return Ok((pairs(&integral.means), Method::Quadrature, integral.error));
    }
    let dual = dual_if_smaller(potential, n - 1);
    if let Some(dual) = dual.filter(|dual| dual.option_count() - 1 <= MAX_DIMENSION && potential.whole > 0.0) {
        // E u_k = (a_k/w) E*[ω_w / T_k(ω)], and alike for the square; the whole column is the dual's last option.
        let ratios = |omega: &[f64], out: &mut [f64]| {
            let whole = omega[omega.len() - 1];
            for (out, set) in out.chunks_exact_mut(2).zip(&dual.holders) {
                out[0] = whole / set.iter().map(|&c| omega[c as usize]).sum::<f64>();
                out[1] = out[0] * out[0];
            }
        };
        if let Some(integral) = by_quadrature(&dual.potential, 2 * n, &ratios, settings)? {
            let w = potential.whole;
            let scaled = integral.means.chunks_exact(2).zip(&potential.a);
            let second = |a: f64| a / w * ((a + 1.0) / (w + 1.0));
            let moments = scaled.map(|(pair, &a)| spread(a / w * pair[0], second(a) * pair[1])).collect();
            let scale = potential.a.iter().copied().fold(0.0, f64::max) / w;
            return Ok((moments, Method::Quadrature, integral.error * scale));
        }
    }
    let shares_of_eta = |eta: &[f64], out: &mut [f64]| {
        let ln_total = ln_sum_exp(eta.iter().copied());
        for (out, eta) in out.chunks_exact_mut(2).zip(eta) {
            out[0] = (eta - ln_total).exp();
            out[1] = out[0] * out[0];
        }
    };
    let (means, errors) = draws(potential, alpha, settings)?.means(2 * n, &shares_of_eta);
    let error = errors.iter().step_by(2).copied().fold(0.0, larger);
    Ok((pairs(&means), Method::ImportanceSampling, error))
}

/// The integral and means by quadrature, if the grid is not too large.
pub(crate) fn by_quadrature(
    potential: &Potential,
    count: usize,
    functions: &(dyn Fn(&[f64], &mut [f64]) + Sync),
    settings: &IntegralSettings,
) -> Result<Option<Integral>, IntegralError> {
    let mode = Mode::new(potential)?;
    Ok(integrate(potential, &mode.point.eta, count, functions, settings.grid))
}

/// Weighted draws around the mode and from the prior.
pub(crate) fn draws(potential: &Potential, alpha: &[f64], settings: &IntegralSettings) -> Result<Weighted, IntegralError> {
    if settings.draws < 2 {
        return Err(IntegralError::Draws { draws: settings.draws });
    }
    let mode = Mode::new(potential)?;
    Ok(Weighted::new(potential, &mode, alpha, settings.draws, settings.seed))
}

/// The larger; NaN if either is.
pub(crate) fn larger(x: f64, y: f64) -> f64 {
    if x.is_nan() || y <= x { x } else { y }
}

fn quadrature_estimate(integral: &Integral, shift: f64) -> LnEstimate {
    LnEstimate { ln_value: integral.ln_value + shift, method: Method::Quadrature, error: integral.error }
}

/// The same integral over the weights of the distinct columns, by duality.
struct Dual {
    potential: Potential,
    /// ln of the primal integral is that of the dual plus this.
    shift: f64,
    /// For each primal option the columns that hold it.
    holders: Vec<Vec<u32>>,
}

impl Dual {
    fn option_count(&self) -> usize {
        self.potential.option_count()
    }
}

/// The dual, if it has fewer dimensions than the primal.
fn dual_if_smaller(potential: &Potential, primal: usize) -> Option<Dual> {
    let n = potential.option_count();
    // Distinct columns; with more than the primal's options there is nothing to gain.
    let mut distinct: Vec<(&[u32], f64)> = Vec::new();
    for (set, b) in potential.columns.iter() {
        match distinct.iter_mut().find(|(known, _)| *known == set) {
            Some((_, weight)) => *weight += b,
            None => distinct.push((set, b)),
        }
        if distinct.len() > primal.min(MAX_DIMENSION + 1) {
            return None;
        }
    }
    let mut b: Vec<f64> = distinct.iter().map(|&(_, b)| b).collect();
    let mut holders: Vec<Vec<u32>> = vec![Vec::new(); n];
    for (c, (set, _)) in distinct.iter().enumerate() {
        for &i in *set {
            holders[i as usize].push(c as u32);
        }
    }
    if potential.whole > 0.0 {
        holders.iter_mut().for_each(|set| set.push(b.len() as u32));
        b.push(potential.whole);
    }
    if b.len() > primal {
        return None;
    }
    let shift = ln_beta(potential.a.iter().copied()) - ln_beta(b.iter().copied());
    let dual = connected(b, holders.iter().zip(&potential.a).map(|(set, &a)| (set.clone(), a)).collect());
    Some(Dual { potential: dual, shift, holders })
}

/// The potential of connected columns with Σa = Σb; columns of one option or of all are taken out.
pub(crate) fn connected(mut a: Vec<f64>, columns: Vec<(Vec<u32>, f64)>) -> Potential {
    let n = a.len();
    let mut whole = 0.0;
    let mut list = Vec::new();
    for (set, b) in columns {
        match set.len() {
            len if len == n => whole += b,
            1 => a[set[0] as usize] -= b,
            _ => list.push((set, b)),
        }
    }
    Potential { a, whole, columns: Columns::from_list(n, &list).into() }
}
