//! The most probable preferences (MAP), in either basis.
//!
//! ```text
//! log basis       argmax Σ (α_k + y_k) η_k − Σ_C b_C ln S_C(e^η)         exists and is unique for every proper posterior
//! simplex basis   argmax Σ (α_k + y_k − 1) ln θ_k − Σ_C b_C ln S_C(θ)    the paper's; with α = 1 the maximum-likelihood estimate
//! ```
//! The second is the first with α − 1 in place of α and the weight of the presentation of all options lowered by K. It need not
//! exist: where α + y < 1 the density is unbounded, and with α = 1 options that were never chosen over others belong at 0, and
//! groups never shown together have no ratio. Each of these is an error that names the options.

use thiserror::Error;

use super::newton::{Optimum, maximise};
use crate::margins::check_slack_near;
use crate::option::{Listed, OptionId};
use crate::posterior::potential::{Point, Potential};
use crate::posterior::{Basis, Component, Posterior, PosteriorError};

/// How a maximum is searched.
#[derive(Clone, Debug, PartialEq)]
pub struct MapSettings {
    /// Largest |g_k| / (α_k + y_k) at the end; in the simplex basis |g_k| / (α_k + y_k − 1). 10⁻⁹ by default.
    pub tolerance: f64,
    /// Passes over the data at most, for each connected component. 500 by default.
    pub max_iterations: usize,
    /// Preferences to start from: the last estimate, say. Positive; need not add up to 1.
    pub start: Option<Vec<f64>>,
}

impl Default for MapSettings {
    fn default() -> Self {
        Self { tolerance: 1e-9, max_iterations: 500, start: None }
    }
}

/// The most probable preferences, and how they were found.
#[derive(Clone, Debug, PartialEq)]
pub struct Map {
    /// θ, adding up to 1.
    pub theta: Vec<f64>,
    /// Of which density it is the maximum.
    pub basis: Basis,
    /// Passes over the data; the largest number of any connected component.
    pub iterations: usize,
    /// Largest |g_k| relative to its exponent, as in [`MapSettings::tolerance`].
    pub gradient_norm: f64,
    /// Whether the tolerance was met. False only inside [`MapError::NotConverged`].
    pub converged: bool,
}

/// Why there is no maximum.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum MapError {
    /// The density grows without bound.
    #[error(
        "the density on the simplex is unbounded: it grows as the preferences of options {} go to 0, \
         because α + y < 1 there; use the log basis or a larger α",
        Listed(options)
    )]
    Unbounded {
        /// Options whose preference goes to 0.
        options: Vec<OptionId>,
    },
    /// The supremum lies on the boundary.
    #[error(
        "no interior maximum: options {} were never chosen over any other, so the density on the simplex \
         is largest with them at 0; use the log basis or α > 1",
        Listed(options)
    )]
    AtZero {
        /// Options whose preference would be 0.
        options: Vec<OptionId>,
    },
    /// More than one maximum.
    #[error(
        "the maximum is not determined: {} groups of options were never shown together (the first of each: {}); \
         use the log basis or α > 1", groups.len(), Listed(&groups.iter().map(|group| group[0]).collect::<Vec<_>>())
    )]
    Undetermined {
        /// Groups of options without any comparison between them; a never-shown option is one of its own.
        groups: Vec<Vec<OptionId>>,
    },
    /// The iteration ended too early.
    #[error("not converged after {} passes: gradient {:e}", best.iterations, best.gradient_norm)]
    NotConverged {
        /// The best point found.
        best: Box<Map>,
    },
    /// The starting point cannot be used.
    #[error("bad start")]
    Start(#[source] PosteriorError),
    /// The tolerance cannot be met by any number.
    #[error("tolerance {tolerance} is not above 0")]
    Tolerance {
        /// The tolerance.
        tolerance: f64,
    },
}

impl Posterior {
    /// The most probable preferences; see [`map_with`](Self::map_with).
    ///
    /// # Errors
    /// If there is no maximum, or it was not reached.
    pub fn map(&self, basis: Basis) -> Result<Map, MapError> {
        self.map_with(basis, &MapSettings::default())
    }

    /// The most probable preferences, with settings.
    ///
    /// With α < 1 the density on the simplex need not be concave; the result is then a local maximum.
    ///
    /// # Errors
    /// If there is no maximum, it was not reached (the best point is inside), or the settings are bad.
    pub fn map_with(&self, basis: Basis, settings: &MapSettings) -> Result<Map, MapError> {
        if !(settings.tolerance > 0.0) {
            return Err(MapError::Tolerance { tolerance: settings.tolerance });
        }
        if let Some(start) = &settings.start {
            check_start(start, self.option_count())?;
        }
        let masses = match basis {
            Basis::Log => self.log_masses(),
            Basis::Simplex => self.simplex_masses()?,
        };
        let mut map = Map { theta: vec![0.0; self.option_count()], basis, iterations: 0, gradient_norm: 0.0, converged: true };
        for (&k, mass) in self.unexplored_indices().iter().zip(&masses.unexplored) {
            map.theta[k as usize] = *mass;
        }
        for (component, mass) in self.components().iter().zip(&masses.components) {
            let potential = match basis {
                Basis::Log => &component.potential,
                Basis::Simplex => &lowered(component),
            };
            let start = settings.start.as_ref();
            let start = start.map(|start| component.options.iter().map(|&k| start[k as usize].ln()).collect());
            let optimum = maximise(potential, start, settings.tolerance, settings.max_iterations);
            if basis == Basis::Simplex {
                check_existence(component, potential, &optimum)?;
            }
            let shares = Point::new(optimum.eta).shares();
            for (&k, share) in component.options.iter().zip(shares) {
                map.theta[k as usize] = mass * share;
            }
            map.iterations = map.iterations.max(optimum.iterations);
            map.gradient_norm = map.gradient_norm.max(optimum.gradient_norm);
            map.converged &= optimum.converged;
        }
        if map.converged { Ok(map) } else { Err(MapError::NotConverged { best: Box::new(map) }) }
    }

    /// Shares of components and unexplored options at the maximum of f: their parts of β([K]).
    fn log_masses(&self) -> Masses {
        let masses = Masses {
            components: self.components().iter().map(|component| component.mass).collect(),
            unexplored: self.unexplored_indices().iter().map(|&k| self.alpha()[k as usize]).collect(),
        };
        masses.normalised()
    }

    /// The same for φ, with α − 1 in place of α.
    fn simplex_masses(&self) -> Result<Masses, MapError> {
        let ids = |indices: &[u32]| indices.iter().copied().map(OptionId::new).collect::<Vec<_>>();
        let a = self.exponents();
        let select = |bad: fn(f64) -> bool| -> Vec<OptionId> {
            let explored = self.components().iter().flat_map(|component| &component.options);
            ids(&explored.copied().filter(|&k| bad(a[k as usize] - 1.0)).collect::<Vec<_>>())
        };
        let alone = self.components().len() + self.unexplored_indices().len() == 1;
        let masses = Masses {
            components: self.components().iter().map(|c| c.mass - c.options.len() as f64).collect(),
            unexplored: self.unexplored_indices().iter().map(|&k| self.alpha()[k as usize] - 1.0).collect(),
        };
        let groups = || {
            let components = self.components().iter().map(|component| ids(&component.options));
            components.chain(self.unexplored().map(|option| vec![option]))
        };
        let all = || masses.components.iter().chain(&masses.unexplored).copied();
        let below = |limit: fn(f64) -> bool| -> Vec<OptionId> {
            groups().zip(all()).filter(|&(_, mass)| limit(mass)).flat_map(|(group, _)| group).collect()
        };
        let mut unbounded = select(|a| a < 0.0);
        if !alone {
            unbounded.extend(below(|mass| mass < 0.0));
        }
        if !unbounded.is_empty() {
            unbounded.sort_unstable();
            unbounded.dedup();
            return Err(MapError::Unbounded { options: unbounded });
        }
        let mut at_zero = select(|a| a == 0.0);
        if !at_zero.is_empty() {
            at_zero.sort_unstable();
            return Err(MapError::AtZero { options: at_zero });
        }
        if alone {
            let (components, unexplored) = (vec![1.0; masses.components.len()], vec![1.0; masses.unexplored.len()]);
            return Ok(Masses { components, unexplored });
        }
        if all().all(|mass| mass == 0.0) {
            return Err(MapError::Undetermined { groups: groups().collect() });
        }
        let empty = below(|mass| mass == 0.0);
        if !empty.is_empty() {
            return Err(MapError::AtZero { options: empty });
        }
        Ok(masses.normalised())
    }
}

/// Shares of connected components and of unexplored options.
struct Masses {
    components: Vec<f64>,
    unexplored: Vec<f64>,
}

impl Masses {
    fn normalised(mut self) -> Self {
        let parts = self.components.len() + self.unexplored.len();
        let total: f64 = self.components.iter().chain(&self.unexplored).sum();
        for mass in self.components.iter_mut().chain(&mut self.unexplored) {
            // A prior without weight on all options has one component, of mass 0.
            *mass = if parts == 1 { 1.0 } else { *mass / total };
        }
        self
    }
}

/// The potential whose log-basis maximum is the simplex maximum of a component.
fn lowered(component: &Component) -> Potential {
    let Potential { a, whole, columns } = &component.potential;
    Potential { a: a.iter().map(|a| a - 1.0).collect(), whole: whole - a.len() as f64, columns: columns.clone() }
}

/// Refuses a maximum on the simplex that does not exist: also where the iteration met the tolerance, because gradient and step
/// vanish in rounding as preferences go to 0.
fn check_existence(component: &Component, potential: &Potential, optimum: &Optimum) -> Result<(), MapError> {
    let named = |indices: Vec<u32>| indices.into_iter().map(|i| OptionId::new(component.options[i as usize])).collect();
    if potential.whole < 0.0 {
        // α < 1: groups in the order in which their preferences fall are the candidates for a density without bound.
        return match falling_group(potential, &optimum.eta) {
            Some(group) if !optimum.converged => Err(MapError::Unbounded { options: named(group) }),
            _ => Ok(()),
        };
    }
    let all: Vec<u32> = (0..component.options.len() as u32).collect();
    let mut columns: Vec<(&[u32], f64)> = potential.columns.iter().collect();
    if potential.whole > 0.0 {
        columns.push((&all, potential.whole));
    }
    let lambda = Point::new(optimum.eta.clone()).lambda;
    let gap = optimum.gradient_norm * potential.a.iter().sum::<f64>();
    match check_slack_near(&potential.a, &columns, &lambda, gap) {
        Err(deficit) => Err(MapError::AtZero { options: named(deficit.options) }),
        Ok(()) => Ok(()),
    }
}

/// The m options with the smallest η, for the first m at which they have no slack.
fn falling_group(potential: &Potential, eta: &[f64]) -> Option<Vec<u32>> {
    let n = eta.len();
    let mut order: Vec<u32> = (0..n as u32).collect();
    order.sort_by(|&i, &j| eta[i as usize].total_cmp(&eta[j as usize]));
    let mut place = vec![0; n];
    for (m, &i) in order.iter().enumerate() {
        place[i as usize] = m;
    }
    // A column is inside once its last member is.
    let mut closing = vec![0.0; n];
    for (set, b) in potential.columns.iter() {
        let last = set.iter().map(|&i| place[i as usize]).max().unwrap_or(0);
        closing[last] += b;
    }
    let mut slack = 0.0;
    for m in 0..n - 1 {
        slack += potential.a[order[m] as usize] - closing[m];
        if slack <= 0.0 {
            let mut group = order[..=m].to_vec();
            group.sort_unstable();
            return Some(group);
        }
    }
    None
}

fn check_start(start: &[f64], option_count: usize) -> Result<(), MapError> {
    if start.len() != option_count {
        return Err(MapError::Start(PosteriorError::Dimension { found: start.len(), expected: option_count }));
    }
    match start.iter().position(|&x| !(x > 0.0 && x.is_finite())) {
        Some(k) => Err(MapError::Start(PosteriorError::Coordinate {
            option: OptionId::new(k as u32),
            value: start[k],
            needed: "above 0 and finite",
        })),
        None => Ok(()),
    }
}
