//! Draws from the posterior: of a posterior that stands still, and along with one that moves.
//!
//! | | |
//! |---|---|
//! | [`Posterior::sample`] | many draws at once: exact where presentations nest ([`tree`]), else Hamiltonian trajectories or Gibbs sweeps, judged |
//! | [`BoundedGibbs`] | a chain beside a running system: bounded work for each choice and decision |
//! | [`Smc`] | weighted particles: the paper's Algorithm 2, with the evidence as it runs |
//! | [`MoveKernel`] | what moves particles: [`GibbsSweep`], [`MetropolisSweep`], or one's own |
//!
//! In `sample` each connected component is drawn by the way that suits it; components' masses are independent Gamma draws. In all of
//! them options never shown have no state and are drawn when asked for. So nothing mixes badly because of what has no data.
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

mod bounded;
mod counts;
mod draws;
pub(crate) mod gibbs;
pub(crate) mod hamiltonian;
pub(crate) mod lanes;
mod metropolis;
mod resample;
mod smc;
mod spanning;
mod target;
pub mod tree;
pub(crate) mod unexplored;

#[cfg(feature = "parallel")]
use rayon::prelude::*;
use thiserror::Error;

use crate::carlson::importance::{Weighted, has_many_choices};
use crate::carlson::{LnEstimate, Method};
use crate::diagnostics::Diagnostics;
use crate::estimate::LaplaceError;
use crate::estimate::laplace::Mode;
use crate::option::OptionId;
use crate::pausing::pause;
use crate::posterior::potential::Potential;
use crate::posterior::{Component, Posterior, PosteriorError};
use crate::prior::PriorError;
use crate::random::ln_gamma_draw;
use crate::statistics::StatisticsError;
pub use bounded::BoundedGibbs;
pub use draws::Draws;
pub use gibbs::GibbsSweep;
use hamiltonian::Hamiltonian;
pub use lanes::LANES;
use lanes::Lanes;
pub use metropolis::{Balancing, MetropolisSweep};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
pub use resample::Resampling;
pub use smc::{Moved, Moves, Smc, SmcSettings, SmcStep};
pub use target::{MoveKernel, Target};
use tree::Tree;
use unexplored::Unexplored;

/// Largest component for Hamiltonian steps by default: whitening takes the square in memory.
const MAX_HAMILTONIAN: usize = 3_000;
/// Visits of members that a Gibbs sweep's worth of an independent draw costs, for each member of a presentation: at K = 50 and
/// L = 5 it takes 4 sweeps, and a visit with its random numbers ten times that of a gradient (`--bench samplers`).
const GIBBS_VISITS: f64 = 50.0;
/// Draws around the mode that tell whether it is worth it.
const PILOT: usize = 256;
/// Fewer draws than this are not resampled from weighted ones of their own accord: resampling has a bias of one over their number.
const MIN_WEIGHTED: usize = 1_000;
/// Moves before the first draw that is kept.
const WARM_UP: usize = 200;
/// R-hat above this says that chains have not met.
const MAX_R_HAT: f64 = 1.01;
/// Effective draws of each chain at least.
const MIN_ESS: f64 = 100.0;
/// Values of all draws at most: 16 GB with what it takes to make them.
const MAX_VALUES: usize = 1 << 30;
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
    /// The paper's Metropolis steps, with a rotating option that takes the remainder: to compare with, not to use.
    Metropolis,
    /// Draws around the mode, resampled by importance weights: only as good as the
    /// [`importance_ess`](SampleReport::importance_ess) says.
    Laplace,
}

/// What to draw.
#[derive(Clone, Debug, PartialEq)]
pub struct SampleSettings {
    /// Draws of each chain. 1 000 by default.
    pub draws: usize,
    /// Chains. 4 by default.
    pub chains: usize,
    /// Seed of every random number. 0 by default.
    pub seed: u64,
    /// The method for every component; by default independent draws where presentations nest; draws around the mode where choices are
    /// so many that they are worth at least half as many independent ones; else Hamiltonian trajectories or Gibbs sweeps, whichever
    /// should cost less.
    pub method: Option<SampleMethod>,
    /// Visits of members of presentations (about a nanosecond each) that all draws of a component may take. Where trajectories or
    /// sweeps would take more, draws come from around the mode and are resampled by importance weights; the report says so. No
    /// limit by default.
    pub visits: Option<f64>,
}

impl Default for SampleSettings {
    fn default() -> Self {
        Self { draws: 1_000, chains: 4, seed: 0, method: None, visits: None }
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
    /// More asked for than memory can hold.
    #[error("{chains} chains of {draws} draws of {option_count} options are more than {} values", MAX_VALUES)]
    TooMany {
        /// Chains asked for.
        chains: usize,
        /// Draws asked for.
        draws: usize,
        /// Options with data.
        option_count: usize,
    },
    /// Independent draws were asked for presentations that cross.
    #[error("the presentations are not nested, so there are no independent draws; use another method")]
    NotLaminar,
    /// Hamiltonian steps were asked for, and there is no Gaussian around the mode.
    #[error(transparent)]
    Laplace(#[from] LaplaceError),
}

/// Why an evolving sampler refuses to start or to change. Nothing has changed then.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum SamplerError {
    /// There is no posterior to start from.
    #[error(transparent)]
    Posterior(#[from] PosteriorError),
    /// A prior weight is none, or the prior does not fit the options.
    #[error(transparent)]
    Prior(#[from] PriorError),
    /// A choice cannot be counted.
    #[error(transparent)]
    Statistics(#[from] StatisticsError),
    /// A new option beside a prior without weight on all options.
    #[error("the prior has no weight on all options together: a new one has no place beside them")]
    NoWhole,
    /// A setting out of its range.
    #[error("{what} = {value} must be {needed}")]
    Setting {
        /// The setting.
        what: &'static str,
        /// Its value.
        value: f64,
        /// Its range.
        needed: &'static str,
    },
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
    /// Effective number of draws around the mode before resampling, the smallest of the components drawn that way; none if there were
    /// none. The two above are at most this.
    pub importance_ess: Option<f64>,
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
    importance_ess: Option<f64>,
    /// ln of the component's integral, where the draws tell it.
    ln_integral: Option<LnEstimate>,
}

/// Draws, and what else was learnt on the way.
pub(crate) struct Sampled {
    pub(crate) sample: Sample,
    /// ln of each component's integral, where the draws tell it.
    pub(crate) ln_integrals: Vec<Option<LnEstimate>>,
}

impl Posterior {
    /// Draws from the posterior. The same for the same seed, whatever the number of threads.
    ///
    /// # Errors
    /// If nothing is asked for, or the method asked for does not apply.
    pub fn sample(&self, settings: &SampleSettings) -> Result<Sample, SampleError> {
        Ok(self.sample_near(settings, None)?.sample)
    }

    /// As [`sample`](Self::sample), with preferences near the mode if they are known.
    pub(crate) fn sample_near(&self, settings: &SampleSettings, near: Option<&[f64]>) -> Result<Sampled, SampleError> {
        let &SampleSettings { draws, chains, seed, .. } = settings;
        if draws == 0 || chains == 0 {
            return Err(SampleError::Nothing { chains, draws });
        }
        let option_count = self.components().iter().map(|component| component.options.len()).sum::<usize>();
        // Chains come in groups side by side, the last of which may be larger than asked for.
        let values = (chains as f64 + LANES as f64) * draws as f64 * option_count.max(1) as f64;
        if !(values <= MAX_VALUES as f64) {
            return Err(SampleError::TooMany { chains, draws, option_count });
        }
        let mut parts = Vec::with_capacity(self.components().len());
        for (index, component) in self.components().iter().enumerate() {
            let alpha = self.alpha_of(&component.options);
            let near = near.map(|theta| component.options.iter().map(|&k| theta[k as usize].ln()).collect());
            parts.push(sample_component(component, &alpha, (index as u64) << 32, settings, near)?);
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
                pause();
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
            unexplored: Unexplored::new(self.unexplored().map(|option| (option, self.alpha()[option.index()]))),
            seed,
        };
        let report = report(&draws, &parts);
        let ln_integrals = parts.iter().map(|part| part.ln_integral).collect();
        Ok(Sampled { sample: Sample { draws, report }, ln_integrals })
    }
}

fn sample_component(
    component: &Component,
    alpha: &[f64],
    stream: u64,
    settings: &SampleSettings,
    near: Option<Vec<f64>>,
) -> Result<ComponentDraws, SampleError> {
    let potential = &component.potential;
    let &SampleSettings { draws, chains, seed, method, .. } = settings;
    let tree = if matches!(method, None | Some(SampleMethod::Tree)) { Tree::of_potential(potential) } else { None };
    if let Some(tree) = tree {
        let eta = in_parallel(chains, |chain| {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            rng.set_stream(stream + chain as u64);
            let draw = |_| {
                pause();
                tree.sample_ln(&mut rng)
            };
            (0..draws).map(draw).collect()
        });
        return Ok(ComponentDraws { eta, method: SampleMethod::Tree, acceptance: 1.0, importance_ess: None, ln_integral: None });
    }
    if method == Some(SampleMethod::Tree) {
        return Err(SampleError::NotLaminar);
    }
    let way = method.unwrap_or_else(|| plan(potential, settings));
    let rich = method.is_none() && draws * chains >= MIN_WEIGHTED && has_many_choices(potential, alpha);
    // Without a mode, or a curvature there, sweeps still work.
    let needs_mode = rich || matches!(way, SampleMethod::Hamiltonian | SampleMethod::Laplace);
    let mode = needs_mode.then(|| Mode::near(potential, near));
    match mode {
        Some(Ok(mode)) if way == SampleMethod::Laplace || rich && is_gaussian(potential, &mode, alpha, seed, stream) => {
            return Ok(by_laplace(component, &mode, alpha, stream, settings));
        }
        Some(Ok(mode)) if way == SampleMethod::Hamiltonian => match by_hamiltonian(component, &mode, stream, settings) {
            Some(draws) => return Ok(draws),
            None if method.is_some() => {
                return Err(LaplaceError::Indefinite { option_count: potential.option_count() }.into());
            }
            None => {}
        },
        Some(Err(error)) if method.is_some() => return Err(error.into()),
        _ => {}
    }
    let target = Target::of_potential(potential);
    let groups = in_parallel(chains.div_ceil(LANES), |group| {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(stream + (group * LANES) as u64);
        let mut state = gibbs::start(potential, &mut rng);
        let mut advance = || {
            if way == SampleMethod::Metropolis {
                MetropolisSweep::default().advance(&target, &mut state, &mut rng);
            } else {
                gibbs::sweep(&target, &mut state, &mut rng);
            }
            state.clone()
        };
        for _ in 0..WARM_UP {
            advance();
        }
        chains_of_lanes(draws, advance)
    });
    let eta = groups.into_iter().flatten().take(chains).collect();
    let method = if way == SampleMethod::Metropolis { way } else { SampleMethod::Gibbs };
    Ok(ComponentDraws { eta, method, acceptance: 1.0, importance_ess: None, ln_integral: None })
}

/// The way for a component that is not nested: what should cost least, and draws around the mode where that is more than allowed.
fn plan(potential: &Potential, settings: &SampleSettings) -> SampleMethod {
    let n = potential.option_count() as f64;
    let members: f64 = potential.columns.iter().map(|(set, _)| set.len() as f64).sum::<f64>() + n;
    let all = (settings.chains * (settings.draws + WARM_UP)) as f64;
    let gibbs = GIBBS_VISITS * members;
    // Whitening is a matrix product, which runs at four times the speed of a walk through the presentations.
    let hamiltonian = hamiltonian::STEPS as f64 * (2.0 * members + 0.25 * n * n) + n.powi(3) / all;
    let small = potential.option_count() <= MAX_HAMILTONIAN;
    let (method, visits) =
        if small && hamiltonian < gibbs { (SampleMethod::Hamiltonian, hamiltonian) } else { (SampleMethod::Gibbs, gibbs) };
    let allowed = settings.visits.is_none_or(|most| visits * all <= most);
    if allowed { method } else { SampleMethod::Laplace }
}

/// Whether draws around the mode are worth at least half as many independent ones, going by a few.
fn is_gaussian(potential: &Potential, mode: &Mode, alpha: &[f64], seed: u64, stream: u64) -> bool {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(stream);
    let pilot = Weighted::new(potential, mode, alpha, PILOT, rng.next_u64());
    pilot.effective_size() >= 0.5 * PILOT as f64
}

/// Draws around the mode, resampled by their importance weights and dealt out to the chains.
fn by_laplace(component: &Component, mode: &Mode, alpha: &[f64], stream: u64, settings: &SampleSettings) -> ComponentDraws {
    let &SampleSettings { draws, chains, seed, .. } = settings;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(stream);
    let weighted = Weighted::new(&component.potential, mode, alpha, draws * chains, rng.next_u64());
    let high = weighted.ln_weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = weighted.ln_weights.iter().map(|ln_weight| (ln_weight - high).exp()).collect();
    let mut chosen = Resampling::Systematic.ancestors(&weights, weights.iter().sum(), draws * chains, &mut rng);
    // In random order: neighbours would be copies.
    for i in (1..chosen.len()).rev() {
        chosen.swap(i, rng.random_range(0..=i));
    }
    let eta =
        chosen.chunks_exact(draws).map(|chain| chain.iter().map(|&i| weighted.draws[i as usize].clone()).collect()).collect();
    let importance_ess = Some(weighted.effective_size());
    let (ln_value, error) = weighted.ln_integral();
    let ln_integral = Some(LnEstimate { ln_value, method: Method::ImportanceSampling, error });
    ComponentDraws { eta, method: SampleMethod::Laplace, acceptance: 1.0, importance_ess, ln_integral }
}

/// None if the curvature at the mode is lost in rounding.
fn by_hamiltonian(component: &Component, mode: &Mode, stream: u64, settings: &SampleSettings) -> Option<ComponentDraws> {
    let &SampleSettings { draws, chains, seed, .. } = settings;
    let groups = in_parallel(chains.div_ceil(LANES), |group| {
        let stream = stream + (group * LANES) as u64;
        let mut sampler = Hamiltonian::new(&component.potential, &mode.point.eta, seed, stream)?;
        sampler.warm_up(WARM_UP);
        let eta = chains_of_lanes(draws, || {
            sampler.advance();
            sampler.eta().to_vec()
        });
        Some((eta, sampler.acceptance()))
    });
    let groups: Vec<_> = groups.into_iter().collect::<Option<_>>()?;
    let acceptance = groups.iter().map(|&(_, acceptance)| acceptance).fold(1.0, f64::min);
    let eta = groups.into_iter().flat_map(|(eta, _)| eta).take(chains).collect();
    Some(ComponentDraws { eta, method: SampleMethod::Hamiltonian, acceptance, importance_ess: None, ln_integral: None })
}

/// Draws of chains side by side, as one list of draws for each.
fn chains_of_lanes(draws: usize, mut next: impl FnMut() -> Vec<Lanes>) -> Vec<Vec<Vec<f64>>> {
    let mut chains = vec![Vec::new(); LANES];
    for _ in 0..draws {
        pause();
        let eta = next();
        for (lane, chain) in chains.iter_mut().enumerate() {
            chain.push(eta.iter().map(|values| values[lane]).collect());
        }
    }
    chains
}

/// The results of so many runs in order, on as many threads as there are.
pub(crate) fn in_parallel<T: Send>(count: usize, run: impl Fn(usize) -> T + Sync + Send) -> Vec<T> {
    let run = |i| {
        pause();
        run(i)
    };
    #[cfg(feature = "parallel")]
    return (0..count).into_par_iter().map(run).collect();
    #[cfg(not(feature = "parallel"))]
    (0..count).map(run).collect()
}

fn report(draws: &Draws, parts: &[ComponentDraws]) -> SampleReport {
    let all = draws.len() as f64;
    let mut report = SampleReport {
        methods: parts.iter().map(|part| part.method).collect(),
        acceptance: parts.iter().map(|part| part.acceptance).fold(1.0, f64::min),
        r_hat: 1.0,
        bulk_ess: f64::INFINITY,
        tail_ess: f64::INFINITY,
        importance_ess: parts.iter().filter_map(|part| part.importance_ess).reduce(f64::min),
        chains: draws.chains(),
    };
    let stride = draws.explored().len().div_ceil(MAX_JUDGED).max(1);
    let ln_totals = draws.ln_totals();
    let scores = draws.scores();
    let judged = draws.explored().len().div_ceil(stride);
    for found in in_parallel(judged, |i| draws.diagnose(i * stride, &ln_totals, &scores)) {
        // Chains too short to judge are not good.
        let worst = Diagnostics { r_hat: f64::INFINITY, bulk_ess: 0.0, tail_ess: 0.0, mean: 0.0, mcse: 0.0 };
        let found = found.unwrap_or(worst);
        report.r_hat = report.r_hat.max(found.r_hat);
        report.bulk_ess = report.bulk_ess.min(found.bulk_ess);
        report.tail_ess = report.tail_ess.min(found.tail_ess);
    }
    if draws.explored().is_empty() {
        // Options without data are drawn independently.
        (report.bulk_ess, report.tail_ess) = (all, all);
    }
    if let Some(most) = report.importance_ess {
        (report.bulk_ess, report.tail_ess) = (report.bulk_ess.min(most), report.tail_ess.min(most));
    }
    report
}

#[cfg(test)]
mod tests;
