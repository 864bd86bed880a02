//! The posterior over preferences, with its log density, gradient and Hessian in two bases.
//!
//! ```text
//! simplex basis   φ(θ) = Σ_k (α_k + y_k − 1) ln θ_k − Σ_C (β(C) + μ(C)) ln S_C(θ)          (Eq. 3 and 4)
//! log basis       f(η) = Σ_k (α_k + y_k) η_k − Σ_C (β(C) + μ(C)) ln S_C(e^η)                θ = e^η / Σe^η
//! ```
//! f is the log density of η modulo a common shift: the exponents differ by one because the Jacobian is included. It is concave.
//!
//! A posterior is compiled from a prior and statistics and owns what it needs. Options fall into connected components (linked by
//! presentations) and unexplored ones. Inside a component the preferences do not depend on the rest, and the components' masses
//! are Dirichlet; so everything below works component by component, and an option never shown keeps its prior exactly.
//!
//! ```
//! use unloop::{Basis, OptionId, Posterior, Prior, Statistics};
//! let [a, b, c] = [0, 1, 2].map(OptionId::new);
//! let mut statistics = Statistics::new(3);
//! statistics.record([a, b], a, 10.0)?;
//! statistics.record([a, b], b, 5.0)?;
//! let posterior = Posterior::new(&Prior::symmetric(1.0)?, &statistics)?;
//! let best = posterior.map(Basis::Log)?;
//! assert!((best.theta[2] - 1.0 / 3.0).abs() < 1e-12); // never shown: its prior
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub(crate) mod columns;
pub(crate) mod potential;

use thiserror::Error;

use crate::matrix::Matrix;
use crate::option::{Listed, OptionId};
use crate::presentation::Presentation;
use crate::prior::{Prior, PriorError};
use crate::statistics::{Statistics, label};
use columns::Builder;
use potential::{Potential, ln_sum_exp};

/// Largest number of options for which a dense matrix is made.
pub const MAX_DENSE: usize = 10_000;

/// Which coordinates a density or its maximum refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Basis {
    /// Preferences θ on the simplex: the paper's.
    Simplex,
    /// Log preferences η = ln θ, any scale: concave, and its maximum exists for every proper posterior.
    Log,
}

/// Why there is no posterior, or no value at a point.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum PosteriorError {
    /// The prior does not fit the options.
    #[error(transparent)]
    Prior(#[from] PriorError),
    /// Counts of choices and presentations that no choices can have.
    #[error(
        "options {} were chosen {chosen:e} times from presentations answered {presented:e} times: \
         a choice was withdrawn that had not been recorded",
        Listed(options)
    )]
    Unbalanced {
        /// A connected component.
        options: Vec<OptionId>,
        /// Its Σy.
        chosen: f64,
        /// Its Σμ.
        presented: f64,
    },
    /// A point with the wrong number of coordinates.
    #[error("the point has {found} coordinates, there are {expected} options")]
    Dimension {
        /// Coordinates given.
        found: usize,
        /// Number of options.
        expected: usize,
    },
    /// A coordinate outside the basis.
    #[error("coordinate {value} of option {option} is not {needed}")]
    Coordinate {
        /// The option.
        option: OptionId,
        /// Its coordinate.
        value: f64,
        /// What it should have been.
        needed: &'static str,
    },
    /// A point off the simplex.
    #[error("preferences add up to {sum}, not to 1")]
    OffSimplex {
        /// Their sum.
        sum: f64,
    },
    /// A dense matrix was asked for too many options.
    #[error("a dense matrix over {option_count} options is too large (at most {MAX_DENSE}); use hessian_product")]
    TooLarge {
        /// Number of options.
        option_count: usize,
    },
}

/// Options linked by presentations, with the potential of their shares.
#[derive(Clone, Debug)]
pub(crate) struct Component {
    /// Options, ascending; the potential numbers them `0, 1, …`.
    pub(crate) options: Vec<u32>,
    /// Its `whole` is `mass` + `own`.
    pub(crate) potential: Potential,
    /// Parameter of the component's mass in the Dirichlet over masses: a(B) = Σα − Σβ inside.
    pub(crate) mass: f64,
    /// Weight of the presentation of exactly these options.
    pub(crate) own: f64,
}

/// The Dirichlet-Luce posterior.
#[derive(Clone, Debug)]
pub struct Posterior {
    alpha: Vec<f64>,
    /// y, sets of one option included.
    chosen: Vec<f64>,
    /// Exponents α_k + y_k, less what presentations of a single option take away.
    a: Vec<f64>,
    components: Vec<Component>,
    /// Options that no presentation holds together with others, ascending.
    unexplored: Vec<u32>,
    /// β([K]).
    whole: f64,
    /// β of other presentations.
    prior_columns: Vec<(Vec<u32>, f64)>,
}

impl Posterior {
    /// The posterior of a prior and statistics. O(Σ|C| + K).
    ///
    /// # Errors
    /// If there are no options, the prior is for another number of them, or the counts cannot come from choices.
    pub fn new(prior: &Prior, statistics: &Statistics) -> Result<Self, PosteriorError> {
        let alpha = prior.alpha(statistics.option_count())?;
        let columns = prior.columns().iter();
        let indices = |set: &Presentation| set.members().iter().map(|&option| option.into()).collect();
        Self::compile(alpha, columns.map(|(set, beta)| (indices(set), *beta)).collect(), statistics)
    }

    fn compile(alpha: Vec<f64>, prior_columns: Vec<(Vec<u32>, f64)>, statistics: &Statistics) -> Result<Self, PosteriorError> {
        let option_count = alpha.len();
        let mut sets = statistics.links();
        let mut linked: Vec<bool> = (0..option_count as u32).map(|k| statistics.is_explored(OptionId::new(k))).collect();
        for (set, _) in &prior_columns {
            for &k in set {
                sets.join(set[0] as usize, k as usize);
                linked[k as usize] = true;
            }
        }
        let (labels, members) = label(sets, |k| linked[k]);
        // y without choices from sets of one option, which say nothing. Taken out before α is added: a large y would swallow it.
        let mut chosen: Vec<f64> = statistics.all_chosen().to_vec();
        let mut unexplored: Vec<u32> = (0..option_count as u32).filter(|&k| !linked[k as usize]).collect();

        // First pass: how many columns of each size each component has, so that memory is asked for once.
        let mut sizes: Vec<Vec<(usize, usize)>> = vec![Vec::new(); members.len()];
        for (set, _) in statistics.iter() {
            count_size(&mut sizes[labels[set[0].index()] as usize], set.len());
        }
        let mut local = vec![0_u32; option_count];
        for options in &members {
            for (i, &k) in options.iter().enumerate() {
                local[k as usize] = i as u32;
            }
        }
        let mut builders: Vec<Builder> =
            members.iter().zip(&sizes).map(|(options, sizes)| Builder::new(options.len(), sizes)).collect();
        let mut presented = vec![0.0; members.len()];
        let mut own = vec![0.0; members.len()];
        for (set, count) in statistics.iter() {
            let component = labels[set[0].index()] as usize;
            presented[component] += count;
            if set.len() == 1 {
                chosen[set[0].index()] -= count;
            } else if set.len() < members[component].len() {
                builders[component].push(set.iter().map(|option| local[option.index()]), count);
            } else {
                own[component] += count;
            }
        }
        // Counts that cancel on paper may leave rounding, relative to what was there or below what the prior can feel.
        let rounding = |size: f64, alpha: f64| 1e-9 * (size + alpha);
        for (k, net) in chosen.iter_mut().enumerate() {
            let y = statistics.all_chosen()[k];
            if !(*net >= -rounding(y, alpha[k])) {
                let options = vec![OptionId::new(k as u32)];
                return Err(PosteriorError::Unbalanced { options, chosen: y, presented: y - *net });
            }
            *net = net.max(0.0);
        }
        let a: Vec<f64> = alpha.iter().zip(&chosen).map(|(alpha, y)| alpha + y).collect();
        let mut inside = vec![0.0; members.len()];
        for (set, beta) in &prior_columns {
            let component = labels[set[0] as usize] as usize;
            inside[component] += beta;
            if set.len() < members[component].len() {
                builders[component].push(set.iter().map(|&k| local[k as usize]), *beta);
            } else {
                own[component] += beta;
            }
        }
        let mut components = Vec::with_capacity(members.len());
        for (i, (options, builder)) in members.into_iter().zip(builders).enumerate() {
            let chosen: f64 = options.iter().map(|&k| statistics.all_chosen()[k as usize]).sum();
            let weight: f64 = options.iter().map(|&k| alpha[k as usize]).sum();
            if !((chosen - presented[i]).abs() <= rounding(presented[i].max(chosen), weight)) {
                let options = options.into_iter().map(OptionId::new).collect();
                return Err(PosteriorError::Unbalanced { options, chosen, presented: presented[i] });
            }
            let mass = (options.iter().map(|&k| alpha[k as usize]).sum::<f64>() - inside[i]).max(0.0);
            if let [lone] = options[..] {
                unexplored.push(lone);
                continue;
            }
            let a = options.iter().map(|&k| a[k as usize]).collect();
            let potential = Potential { a, whole: mass + own[i], columns: builder.finish().into() };
            components.push(Component { options, potential, mass, own: own[i] });
        }
        unexplored.sort_unstable();
        let whole = (alpha.iter().sum::<f64>() - inside.iter().sum::<f64>()).max(0.0);
        let all_chosen = statistics.all_chosen().to_vec();
        Ok(Self { alpha, chosen: all_chosen, a, components, unexplored, whole, prior_columns })
    }

    /// Number of options K.
    pub fn option_count(&self) -> usize {
        self.alpha.len()
    }

    /// Prior weights α.
    pub fn alpha(&self) -> &[f64] {
        &self.alpha
    }

    /// Options never shown (or only alone, which says nothing): their preferences keep the prior's law.
    pub fn unexplored(&self) -> impl ExactSizeIterator<Item = OptionId> {
        self.unexplored.iter().copied().map(OptionId::new)
    }

    pub(crate) fn components(&self) -> &[Component] {
        &self.components
    }

    pub(crate) fn unexplored_indices(&self) -> &[u32] {
        &self.unexplored
    }

    /// α of some options.
    pub(crate) fn alpha_of(&self, options: &[u32]) -> Vec<f64> {
        options.iter().map(|&k| self.alpha[k as usize]).collect()
    }

    pub(crate) fn exponents(&self) -> &[f64] {
        &self.a
    }

    /// The density ∏θ^(a−1) ∏S_C^(−b) of columns that are known to be proper, with Σa − Σb ≥ 0 on that of all options.
    pub(crate) fn of_columns(a: Vec<f64>, columns: Vec<(Vec<u32>, f64)>) -> Self {
        let statistics = Statistics::new(a.len());
        match Self::compile(a, columns, &statistics) {
            Ok(posterior) => posterior,
            Err(error) => unreachable!("invariant: no choices are always balanced: {error}"),
        }
    }

    /// The prior as a posterior without choices; none for a Dirichlet prior, whose normaliser is known.
    pub(crate) fn general_prior(&self) -> Option<Self> {
        if self.prior_columns.is_empty() {
            return None;
        }
        Some(Self::of_columns(self.alpha.clone(), self.prior_columns.clone()))
    }

    /// α + y, with the choices from sets of one option.
    pub(crate) fn full_exponents(&self) -> impl Iterator<Item = f64> {
        self.alpha.iter().zip(&self.chosen).map(|(alpha, y)| alpha + y)
    }

    /// β([K]), the sum of the masses' parameters.
    pub(crate) fn total_mass(&self) -> f64 {
        self.whole
    }

    /// Log density at a point, not normalised: φ(θ) or f(η).
    ///
    /// # Errors
    /// If the point is not of the basis: length, positive and on the simplex, or finite.
    pub fn ln_density(&self, basis: Basis, point: &[f64]) -> Result<f64, PosteriorError> {
        let eta = self.check_point(basis, point)?;
        let mut sum = -self.whole * ln_sum_exp(eta.iter().copied());
        for (k, eta) in eta.iter().enumerate() {
            sum += match basis {
                Basis::Simplex => (self.a[k] - 1.0) * eta,
                Basis::Log => self.a[k] * eta,
            };
        }
        for component in &self.components {
            let local: Vec<f64> = component.options.iter().map(|&k| eta[k as usize]).collect();
            let columns: f64 =
                component.potential.columns.iter().map(|(set, b)| b * ln_sum_exp(set.iter().map(|&i| local[i as usize]))).sum();
            sum -= columns + component.own * ln_sum_exp(local.iter().copied());
        }
        Ok(sum)
    }

    /// Gradient of [`ln_density`](Self::ln_density): partial derivatives by θ_k, or by η_k.
    ///
    /// # Errors
    /// As [`ln_density`](Self::ln_density).
    pub fn gradient(&self, basis: Basis, point: &[f64]) -> Result<Vec<f64>, PosteriorError> {
        let eta = self.check_point(basis, point)?;
        Ok(match basis {
            Basis::Log => {
                let mut gradient = self.a.clone();
                self.for_columns(&eta, |set, b, p| {
                    for (&k, p) in set.iter().zip(p) {
                        gradient[k as usize] -= b * p;
                    }
                });
                gradient
            }
            Basis::Simplex => {
                let mut gradient: Vec<f64> = self.a.iter().zip(point).map(|(a, theta)| (a - 1.0) / theta).collect();
                self.for_columns(&eta, |set, b, _| {
                    let total: f64 = set.iter().map(|&k| point[k as usize]).sum();
                    for &k in set {
                        gradient[k as usize] -= b / total;
                    }
                });
                gradient
            }
        })
    }

    /// Hessian of [`ln_density`](Self::ln_density), dense. O(Σ|C|² + K²).
    ///
    /// # Errors
    /// As [`ln_density`](Self::ln_density), and if there are more than [`MAX_DENSE`] options.
    pub fn hessian(&self, basis: Basis, point: &[f64]) -> Result<Matrix, PosteriorError> {
        let option_count = self.option_count();
        let eta = self.check_point(basis, point)?;
        if option_count > MAX_DENSE {
            return Err(PosteriorError::TooLarge { option_count });
        }
        let mut hessian = Matrix::zeros(option_count);
        match basis {
            Basis::Log => self.for_columns(&eta, |set, b, p| {
                for (x, &i) in set.iter().enumerate() {
                    *hessian.at(i as usize, i as usize) -= b * p[x];
                    for (y, &j) in set.iter().enumerate() {
                        *hessian.at(i as usize, j as usize) += b * p[x] * p[y];
                    }
                }
            }),
            Basis::Simplex => {
                for (k, theta) in point.iter().enumerate() {
                    *hessian.at(k, k) = -(self.a[k] - 1.0) / (theta * theta);
                }
                self.for_columns(&eta, |set, b, _| {
                    let total: f64 = set.iter().map(|&k| point[k as usize]).sum();
                    for &i in set {
                        for &j in set {
                            *hessian.at(i as usize, j as usize) += b / (total * total);
                        }
                    }
                });
            }
        }
        Ok(hessian)
    }

    /// Product of the Hessian with a vector, without the matrix. O(Σ|C| + K).
    ///
    /// # Errors
    /// As [`ln_density`](Self::ln_density), and if the vector has another length.
    pub fn hessian_product(&self, basis: Basis, point: &[f64], vector: &[f64]) -> Result<Vec<f64>, PosteriorError> {
        let eta = self.check_point(basis, point)?;
        if vector.len() != point.len() {
            return Err(PosteriorError::Dimension { found: vector.len(), expected: point.len() });
        }
        Ok(match basis {
            Basis::Log => {
                let mut product = vec![0.0; vector.len()];
                self.for_columns(&eta, |set, b, p| {
                    let mean: f64 = set.iter().zip(p).map(|(&k, p)| p * vector[k as usize]).sum();
                    for (&k, p) in set.iter().zip(p) {
                        product[k as usize] -= b * p * (vector[k as usize] - mean);
                    }
                });
                product
            }
            Basis::Simplex => {
                let mut product: Vec<f64> =
                    self.a.iter().zip(point).zip(vector).map(|((a, theta), v)| -(a - 1.0) / (theta * theta) * v).collect();
                self.for_columns(&eta, |set, b, _| {
                    let total: f64 = set.iter().map(|&k| point[k as usize]).sum();
                    let sum: f64 = set.iter().map(|&k| vector[k as usize]).sum();
                    for &k in set {
                        product[k as usize] += b * sum / (total * total);
                    }
                });
                product
            }
        })
    }

    /// Calls `f` with each column (all options' too), its weight and the shares e^η/S inside it.
    fn for_columns(&self, eta: &[f64], mut f: impl FnMut(&[u32], f64, &[f64])) {
        let (mut set, mut shares) = (Vec::new(), Vec::new());
        let mut call = |set: &[u32], b: f64| {
            let ln_total = ln_sum_exp(set.iter().map(|&k| eta[k as usize]));
            shares.clear();
            shares.extend(set.iter().map(|&k| (eta[k as usize] - ln_total).exp()));
            f(set, b, &shares);
        };
        for component in &self.components {
            for (column, b) in component.potential.columns.iter() {
                set.clear();
                set.extend(column.iter().map(|&i| component.options[i as usize]));
                call(&set, b);
            }
            if component.own > 0.0 {
                call(&component.options, component.own);
            }
        }
        if self.whole > 0.0 {
            set.clear();
            set.extend(0..eta.len() as u32);
            call(&set, self.whole);
        }
    }

    /// The point's η.
    fn check_point(&self, basis: Basis, point: &[f64]) -> Result<Vec<f64>, PosteriorError> {
        if point.len() != self.option_count() {
            return Err(PosteriorError::Dimension { found: point.len(), expected: self.option_count() });
        }
        let (needed, good): (_, fn(f64) -> bool) = match basis {
            Basis::Simplex => ("above 0 and finite", |x| x > 0.0 && x.is_finite()),
            Basis::Log => ("finite", f64::is_finite),
        };
        if let Some(k) = point.iter().position(|&x| !good(x)) {
            return Err(PosteriorError::Coordinate { option: OptionId::new(k as u32), value: point[k], needed });
        }
        if basis == Basis::Log {
            return Ok(point.to_vec());
        }
        let sum: f64 = point.iter().sum();
        if !((sum - 1.0).abs() <= 1e-9) {
            return Err(PosteriorError::OffSimplex { sum });
        }
        Ok(point.iter().map(|theta| theta.ln()).collect())
    }
}

fn count_size(sizes: &mut Vec<(usize, usize)>, size: usize) {
    match sizes.iter_mut().find(|(known, _)| *known == size) {
        Some((_, count)) => *count += 1,
        None => sizes.push((size, 1)),
    }
}
