//! Draws from the posterior: exact where presentations nest, else Hamiltonian or Gibbs.
//!
//! Each connected component is drawn by the way that suits it; components' masses are independent Gamma draws, options never shown
//! are drawn when asked for. So nothing here mixes badly because of what has no data.
//!
//! ```
//! use unloop::sampler::SampleSettings;
//! use unloop::{OptionId, Posterior, Prior, Statistics};
//! let [a, b, c] = [0, 1, 2].map(OptionId::new);
//! let mut statistics = Statistics::new(4);
//! statistics.record([a, b], a, 3.0)?;
//! statistics.record([b, c], b, 2.0)?;
//! let posterior = Posterior::new(&Prior::default(), &statistics)?;
//! let sample = posterior.sample(&SampleSettings { seed: 7, ..SampleSettings::default() })?;
//! assert!(sample.report.is_good());
//! let best = sample.draws.top(0, 2).ok_or("no draw")?;
//! assert_eq!(best.len(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod draws;
pub(crate) mod gibbs;
pub(crate) mod hamiltonian;
pub(crate) mod lanes;
pub mod tree;

#[cfg(feature = "parallel")]
use rayon::prelude::*;
use thiserror::Error;

use crate::diagnostics::Diagnostics;
use crate::estimate::LaplaceError;
use crate::estimate::laplace::Mode;
use crate::option::OptionId;
use crate::posterior::{Component, Posterior};
use crate::random::ln_gamma_draw;
pub use draws::Draws;
use draws::Group;
use gibbs::Gibbs;
use hamiltonian::Hamiltonian;
use lanes::LANES;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use tree::Tree;

/// Largest component for Hamiltonian steps by default: whitening costs the square.
const MAX_HAMILTONIAN: usize = 400;
/// Moves before the first draw that is kept.
const WARM_UP: usize = 200;
/// R-hat above this says that chains have not met.
const MAX_R_HAT: f64 = 1.01;
/// Effective draws of each chain at least.
const MIN_ESS: f64 = 100.0;
/// Options judged one by one; of more, as many evenly spread.
const MAX_JUDGED: usize = 500;

/// How draws are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum SampleMethod {
    /// Independent draws of nested presentations.
    Tree,
    /// Hamiltonian trajectories around the mode.
    Hamiltonian,
    /// Gibbs sweeps with group steps.
    Gibbs,
}

/// What to draw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampleSettings {
    /// Draws of each chain. 1 000 by default.
    pub draws: usize,
    /// Chains. 4 by default.
    pub chains: usize,
    /// Seed of every random number. 0 by default.
    pub seed: u64,
    /// The method for every component; by default independent draws where presentations nest, Hamiltonian trajectories up to 400
    /// options, Gibbs sweeps beyond.
    pub method: Option<SampleMethod>,
}

impl Default for SampleSettings {
    fn default() -> Self {
        Self { draws: 1_000, chains: 4, seed: 0, method: None }
    }
}

/// Why there are no draws.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum SampleError {
    /// Nothing asked for.
    #[error("{chains} chains of {draws} draws: at least one of each is needed")]
    Nothing {
        /// Chains asked for.
        chains: usize,
        /// Draws asked for.
        draws: usize,
    },
    /// Independent draws were asked for presentations that cross.
    #[error("the presentations are not nested, so there are no independent draws; use another method")]
    NotLaminar,
    /// Hamiltonian steps were asked for, and there is no Gaussian around the mode.
    #[error(transparent)]
    Laplace(#[from] LaplaceError),
}

/// Draws, and how they came about.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The draws.
    pub draws: Draws,
    /// How good they are.
    pub report: SampleReport,
}

/// How draws were made and how good they are.
#[derive(Clone, Debug, PartialEq)]
pub struct SampleReport {
    /// Methods of the components, in order of their smallest option.
    pub methods: Vec<SampleMethod>,
    /// Smallest mean acceptance of Hamiltonian trajectories; 1 if there were none.
    pub acceptance: f64,
    /// Largest R-hat of an option with data; 1 if there is none.
    pub r_hat: f64,
    /// Smallest effective number of draws for the centre of an option with data.
    pub bulk_ess: f64,
    /// The same for its tails.
    pub tail_ess: f64,
    /// Chains.
    pub chains: usize,
}

impl SampleReport {
    /// Whether chains agree (R-hat at most 1.01) and are worth at least 100 independent draws each.
    pub fn is_good(&self) -> bool {
        let enough = MIN_ESS * self.chains as f64;
        self.r_hat <= MAX_R_HAT && self.bulk_ess >= enough && self.tail_ess >= enough
    }
}

/// Draws of one component: η up to a shift, chain by chain, draw by draw.
struct ComponentDraws {
    eta: Vec<Vec<Vec<f64>>>,
    method: SampleMethod,
    acceptance: f64,
}

impl Posterior {
    /// Draws from the posterior. The same for the same seed, whatever the number of threads.
    ///
    /// # Errors
    /// If nothing is asked for, or the method asked for does not apply.
    pub fn sample(&self, settings: &SampleSettings) -> Result<Sample, SampleError> {
        let &SampleSettings { draws, chains, seed, .. } = settings;
        if draws == 0 || chains == 0 {
            return Err(SampleError::Nothing { chains, draws });
        }
        let mut parts = Vec::with_capacity(self.components().len());
        for (index, component) in self.components().iter().enumerate() {
            parts.push(sample_component(component, (index as u64) << 32, settings)?);
        }
        let mut explored: Vec<(u32, usize, usize)> = Vec::new();
        for (part, component) in self.components().iter().enumerate() {
            explored.extend(component.options.iter().enumerate().map(|(place, &k)| (k, part, place)));
        }
        explored.sort_unstable();
        let mut ln_lambda = Vec::with_capacity(chains * draws * explored.len());
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(1 << 63);
        for chain in 0..chains {
            for draw in 0..draws {
                // A component's mass is Gamma(a(B)), in the units of options never shown.
                let shifts: Vec<f64> = self
                    .components()
                    .iter()
                    .zip(&parts)
                    .map(|(component, part)| {
                        let mass = if component.mass > 0.0 { ln_gamma_draw(component.mass, &mut rng) } else { 0.0 };
                        mass - crate::posterior::potential::ln_sum_exp(part.eta[chain][draw].iter().copied())
                    })
                    .collect();
                ln_lambda.extend(explored.iter().map(|&(_, part, place)| parts[part].eta[chain][draw][place] + shifts[part]));
            }
        }
        let draws = Draws {
            option_count: self.option_count(),
            chains,
            draws,
            explored: explored.into_iter().map(|(k, ..)| OptionId::new(k)).collect(),
            ln_lambda,
            groups: self.groups(),
            seed,
        };
        let report = report(&draws, &parts);
        Ok(Sample { draws, report })
    }

    /// Options never shown, by equal α.
    fn groups(&self) -> Vec<Group> {
        let mut options: Vec<u32> = self.unexplored_indices().to_vec();
        let alpha = |k: u32| self.alpha()[k as usize];
        options.sort_by(|&i, &j| alpha(i).total_cmp(&alpha(j)).then(i.cmp(&j)));
        options
            .chunk_by(|&i, &j| alpha(i) == alpha(j))
            .map(|group| Group { alpha: alpha(group[0]), options: group.iter().copied().map(OptionId::new).collect() })
            .collect()
    }
}

fn sample_component(component: &Component, stream: u64, settings: &SampleSettings) -> Result<ComponentDraws, SampleError> {
    let potential = &component.potential;
    let &SampleSettings { draws, chains, seed, method } = settings;
    let tree = if matches!(method, None | Some(SampleMethod::Tree)) { Tree::of_potential(potential) } else { None };
    if let Some(tree) = tree {
        let eta = each_chain(chains, |chain| {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            rng.set_stream(stream + chain as u64);
            (0..draws).map(|_| tree.sample_ln(&mut rng)).collect()
        });
        return Ok(ComponentDraws { eta, method: SampleMethod::Tree, acceptance: 1.0 });
    }
    if method == Some(SampleMethod::Tree) {
        return Err(SampleError::NotLaminar);
    }
    let small = potential.option_count() <= MAX_HAMILTONIAN;
    if method == Some(SampleMethod::Hamiltonian) || (method.is_none() && small) {
        match (Mode::new(potential), method) {
            (Ok(mode), _) => {
                if let Some(draws) = by_hamiltonian(component, &mode, stream, settings) {
                    return Ok(draws);
                }
                if method.is_some() {
                    return Err(LaplaceError::Indefinite { option_count: potential.option_count() }.into());
                }
            }
            (Err(error), Some(_)) => return Err(error.into()),
            (Err(_), None) => {}
        }
    }
    let eta = each_chain(chains, |chain| {
        let mut gibbs = Gibbs::new(potential, seed, stream + chain as u64);
        for _ in 0..WARM_UP {
            gibbs.sweep();
        }
        (0..draws)
            .map(|_| {
                gibbs.sweep();
                gibbs.eta().to_vec()
            })
            .collect()
    });
    Ok(ComponentDraws { eta, method: SampleMethod::Gibbs, acceptance: 1.0 })
}

/// None if the curvature at the mode is lost in rounding.
fn by_hamiltonian(component: &Component, mode: &Mode, stream: u64, settings: &SampleSettings) -> Option<ComponentDraws> {
    let &SampleSettings { draws, chains, seed, .. } = settings;
    let groups = each_chain(chains.div_ceil(LANES), |group| {
        let stream = stream + (group * LANES) as u64;
        let mut sampler = Hamiltonian::new(&component.potential, &mode.point.eta, seed, stream)?;
        sampler.warm_up(WARM_UP);
        let mut eta: Vec<Vec<Vec<f64>>> = vec![Vec::new(); LANES];
        for _ in 0..draws {
            sampler.advance();
            for (lane, eta) in eta.iter_mut().enumerate() {
                eta.push(sampler.eta().iter().map(|values| values[lane]).collect());
            }
        }
        Some((eta, sampler.acceptance()))
    });
    let groups: Vec<_> = groups.into_iter().collect::<Option<_>>()?;
    let acceptance = groups.iter().map(|&(_, acceptance)| acceptance).fold(1.0, f64::min);
    let eta = groups.into_iter().flat_map(|(eta, _)| eta).take(chains).collect();
    Some(ComponentDraws { eta, method: SampleMethod::Hamiltonian, acceptance })
}

/// Chains in order, on as many threads as there are.
fn each_chain<T: Send>(chains: usize, run: impl Fn(usize) -> T + Sync + Send) -> Vec<T> {
    #[cfg(feature = "parallel")]
    return (0..chains).into_par_iter().map(run).collect();
    #[cfg(not(feature = "parallel"))]
    (0..chains).map(run).collect()
}

fn report(draws: &Draws, parts: &[ComponentDraws]) -> SampleReport {
    let all = draws.len() as f64;
    let mut report = SampleReport {
        methods: parts.iter().map(|part| part.method).collect(),
        acceptance: parts.iter().map(|part| part.acceptance).fold(1.0, f64::min),
        r_hat: 1.0,
        bulk_ess: f64::INFINITY,
        tail_ess: f64::INFINITY,
        chains: draws.chains(),
    };
    let stride = draws.explored().len().div_ceil(MAX_JUDGED).max(1);
    let ln_totals = draws.ln_totals();
    for place in (0..draws.explored().len()).step_by(stride) {
        // Chains too short to judge are not good.
        let worst = Diagnostics { r_hat: f64::INFINITY, bulk_ess: 0.0, tail_ess: 0.0, mean: 0.0, mcse: 0.0 };
        let found = draws.diagnose(place, &ln_totals).unwrap_or(worst);
        report.r_hat = report.r_hat.max(found.r_hat);
        report.bulk_ess = report.bulk_ess.min(found.bulk_ess);
        report.tail_ess = report.tail_ess.min(found.tail_ess);
    }
    if draws.explored().is_empty() {
        // Options without data are drawn independently.
        (report.bulk_ess, report.tail_ess) = (all, all);
    }
    report
}
