//! Sequential Monte Carlo: particles that follow the choices (Algorithm 2 of the paper, after Chopin 2002).
//!
//! ```text
//! reweight    ln w += ln p(k_t | C_t, θ)                                      O(L) for each particle
//! resample    when (Σw)²/Σw² falls below a part of N; then w = 1
//! move        each particle by a kernel that leaves the posterior at t as it is
//! evidence    Σ_t ln Σ_i W_{t−1}^i p(k_t | C_t, θ^i)
//! ```
//! Particles hold the options with data only. An option shown for the first time enters each particle with a draw from its prior, before
//! the choice counts; those never shown are drawn when asked for. So new options may come at any time, and the law is that of
//! carrying all. [`SmcSettings::paper`] carries all of them from the beginning, as the paper does.
//!
//! Where a choice of a large weight would leave too few particles, it is taken in parts, with a move between them; where a thousand
//! parts are not enough, or the weight is above 10¹², the particles are drawn anew by Gibbs sweeps and the evidence ends.
//!
//! ```
//! use unloop::sampler::{Smc, SmcSettings};
//! use unloop::{Presentation, Prior};
//! let mut smc = Smc::new(&Prior::default(), 100, SmcSettings { particles: 200, ..SmcSettings::default() })?;
//! for _ in 0..10 {
//!     let shown = Presentation::new(smc.top(3))?;
//!     let first = shown.members()[0];
//!     let step = smc.record(&shown.choose(first)?, 1.0)?;
//!     assert!(step.ess > 1.0);
//! }
//! assert!(smc.ln_evidence().is_some_and(|evidence| evidence.ln_value < 0.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod moving;
mod particles;
mod settings;

use std::sync::Arc;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::counts::{Change, Counts};
use super::lanes::{LANES, Lanes};
use super::spanning::SpanningTree;
use super::target::{MoveKernel, Target};
use super::unexplored::{Unexplored, largest};
use super::{Balancing, GibbsSweep, MetropolisSweep, SamplerError};
use crate::option::OptionId;
use crate::posterior::columns::Builder;
use crate::posterior::potential::{Potential, ln_sum_exp};
use crate::presentation::Choice;
use crate::presenter::Draw;
use crate::prior::Prior;
use crate::random::ln_gamma_draw;
use crate::statistics::{DisjointSets, Statistics, equal_parts, label};
use crate::{LnEstimate, Method};
use moving::{BURN_IN, WIDENING_SWEEPS};
use particles::Particles;
use settings::check;
pub use settings::{Moved, Moves, SmcSettings, SmcStep};

/// Weight of a choice at most for reweighting: ln p is right to 10⁻¹⁶, which beyond would be felt.
const MAX_WEIGHT: f64 = 1e12;
/// Parts of one choice at most; each is a resampling and a move.
const MAX_PARTS: usize = 1_000;

/// Particles that follow the choices; see the module.
#[derive(Clone)]
pub struct Smc {
    settings: SmcSettings,
    kernel: Arc<dyn MoveKernel>,
    counts: Counts,
    unexplored: Unexplored,
    tree: SpanningTree,
    particles: Particles,
    evidence: Option<Evidence>,
    rng: ChaCha8Rng,
    /// One for each group of particles side by side.
    rngs: Vec<ChaCha8Rng>,
}

/// The running evidence.
#[derive(Clone, Copy, Debug, Default)]
struct Evidence {
    ln_value: f64,
    /// Σ ln(n/(n−1)) over the multinomial resamplings, n the offspring of each: for the error.
    ln_growth: f64,
    /// Σ (1/ESS − 1/N) at the resamplings.
    independent: f64,
}

impl Smc {
    /// Particles without choices, moved by Gibbs sweeps.
    ///
    /// # Errors
    /// If the prior does not fit the options, or the settings name no particles.
    pub fn new(prior: &Prior, option_count: usize, settings: SmcSettings) -> Result<Self, SamplerError> {
        Self::with_kernel(prior, option_count, settings, GibbsSweep)
    }

    /// Particles moved by the paper's Metropolis steps, with [`SmcSettings::paper`].
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn paper(prior: &Prior, option_count: usize, seed: u64) -> Result<Self, SamplerError> {
        let kernel = MetropolisSweep { balancing: Balancing::Last };
        Self::with_kernel(prior, option_count, SmcSettings { seed, ..SmcSettings::paper() }, kernel)
    }

    /// Particles moved by any kernel.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_kernel(
        prior: &Prior,
        option_count: usize,
        settings: SmcSettings,
        kernel: impl MoveKernel + 'static,
    ) -> Result<Self, SamplerError> {
        check(&settings)?;
        let mut counts = Counts::new(prior, option_count)?;
        let general = !prior.columns().is_empty();
        if settings.carry_all {
            counts.carry_all();
        }
        let group = LANES * settings.chain;
        let count = settings.particles.div_ceil(group) * group;
        let stream = |number: u64| {
            let mut rng = ChaCha8Rng::seed_from_u64(settings.seed);
            rng.set_stream(number);
            rng
        };
        let asleep = (0..option_count as u32).map(OptionId::new).filter(|&option| !counts.is_explored(option));
        let unexplored = Unexplored::new(asleep.map(|option| (option, counts.all_alpha()[option.index()])));
        let mut smc = Self {
            kernel: Arc::new(kernel),
            tree: SpanningTree::default(),
            particles: Particles::new(count),
            evidence: Some(Evidence::default()),
            rng: stream(0),
            rngs: (0..count / LANES).map(|group| stream(1 + group as u64)).collect(),
            counts,
            unexplored,
            settings,
        };
        for place in smc.counts.awake().collect::<Vec<_>>() {
            smc.wake(place);
        }
        for (_, members, b) in smc.counts.columns() {
            smc.tree.add(members, b);
        }
        if general {
            smc.draw_general_prior();
        }
        Ok(smc)
    }

    /// Number of options.
    pub fn option_count(&self) -> usize {
        self.counts.option_count()
    }

    /// Number of particles.
    pub fn particle_count(&self) -> usize {
        self.particles.len()
    }

    /// Effective particles now.
    pub fn ess(&self) -> f64 {
        self.particles.summary().ess
    }

    /// Options that the particles carry, ascending.
    pub fn explored(&self) -> Vec<OptionId> {
        self.counts.explored()
    }

    /// A new option: exactly its prior, until it is shown. Weights and evidence stay as they are.
    ///
    /// # Errors
    /// If α is below [`MIN_ALPHA`](crate::MIN_ALPHA) or above [`MAX_ALPHA`](crate::MAX_ALPHA), or a general prior has no weight on all
    /// options.
    pub fn add_option(&mut self, alpha: f64) -> Result<OptionId, SamplerError> {
        let option = self.counts.add_option(alpha)?;
        if self.settings.carry_all {
            let place = self.counts.carry(option);
            self.wake(place);
        } else {
            self.unexplored.insert(option, alpha);
        }
        Ok(option)
    }

    /// Counts a choice, reweights, and resamples and moves if it is time.
    ///
    /// # Errors
    /// If an option is unknown, or the weight is negative or not finite; nothing has changed then.
    pub fn record(&mut self, choice: &Choice, weight: f64) -> Result<SmcStep, SamplerError> {
        let Some(change) = self.counts.record(choice, weight)? else {
            let ln_increment = self.evidence.map(|_| 0.0);
            return Ok(SmcStep { ess: self.ess(), ln_increment, moved: None });
        };
        let members = self.counts.store().members(change.entry);
        self.tree.add(members, weight);
        self.tree.settle();
        for &place in &change.turned {
            self.unexplored.remove(self.counts.option(place as usize));
            self.wake(place as usize);
        }
        let members: Vec<usize> = self.counts.store().members(change.entry).iter().map(|place| place.index()).collect();
        let parts: Vec<(usize, f64)> =
            equal_parts(choice.chosen(), weight).map(|(option, part)| (self.counts.place(option), part)).collect();
        let column = Column { change: &change, weight, parts: &parts };
        let outcome = self.reweight(&column, &members);
        let ess = self.particles.summary().ess;
        let mut moved = outcome.moved;
        if !outcome.reached {
            // Too far for weights: the particles are drawn anew, and the evidence ends.
            self.widen(&[], BURN_IN);
        } else if ess < self.settings.threshold * self.particles.len() as f64 {
            let target = self.compile(None);
            let next = self.resample_and_move(&target);
            moved = Some(moved.map_or(next, |moved| moved.and(next)));
        }
        let ln_increment = self.evidence.as_mut().map(|evidence| {
            evidence.ln_value += outcome.ln_increment;
            outcome.ln_increment
        });
        Ok(SmcStep { ess, ln_increment, moved })
    }

    /// Multiplies the weights by the probability of a choice, in parts with moves between them where that would leave too few particles.
    fn reweight(&mut self, column: &Column<'_>, members: &[usize]) -> Outcome {
        let floor = 0.1 * self.settings.threshold * self.particles.len() as f64;
        let mut outcome = Outcome { ln_increment: 0.0, moved: None, reached: true };
        let mut done = 0.0;
        for _ in 0..if column.weight <= MAX_WEIGHT { MAX_PARTS } else { 0 } {
            let ln_p = self.particles.ln_likelihoods(members, column.parts, column.weight);
            let before = self.particles.summary().ln_total();
            let ess = self.particles.ess_after(&ln_p, 1.0 - done);
            let part = if self.settings.in_parts && !(ess >= floor) {
                self.part_that_leaves_enough(&ln_p, 1.0 - done)
            } else {
                1.0 - done
            };
            self.particles.reweight(&ln_p, part);
            outcome.ln_increment += self.particles.summary().ln_total() - before;
            if done + part >= 1.0 {
                outcome.reached = outcome.ln_increment.is_finite() && self.particles.summary().ess.is_finite();
                return outcome;
            }
            done += part;
            let target = self.compile(Some((column, done)));
            let next = self.resample_and_move(&target);
            outcome.moved = Some(outcome.moved.map_or(next, |moved| moved.and(next)));
        }
        outcome.reached = false;
        outcome
    }

    /// Takes back a choice. The posterior is wider then, where weights fail: particles are resampled and moved by Gibbs sweeps, and the
    /// evidence ends.
    ///
    /// # Errors
    /// As [`record`](Self::record), and if less than the weight was recorded for an option or the presentation.
    pub fn withdraw(&mut self, choice: &Choice, weight: f64) -> Result<(), SamplerError> {
        if let Some(change) = self.counts.withdraw(choice, weight)? {
            self.tree.add(self.counts.store().members(change.entry), -weight);
            self.widen(&change.turned, WIDENING_SWEEPS);
            if self.counts.is_sparse() {
                self.counts.compact();
            }
        }
        Ok(())
    }

    /// Multiplies every count by a factor (forgetting); otherwise as [`withdraw`](Self::withdraw).
    ///
    /// # Errors
    /// If the factor is negative or not finite, or a count would not stay finite.
    pub fn scale(&mut self, factor: f64) -> Result<(), SamplerError> {
        let turned = self.counts.scale(factor)?;
        self.widen(&turned, WIDENING_SWEEPS);
        Ok(())
    }

    /// ln of the evidence of all choices; none after counts went down.
    ///
    /// Its standard error is the larger of two estimates: from the genealogy of the particles (Lee & Whiteley 2018, for multinomial
    /// resampling; for the other schemes without its correction for families that meet by chance), which sees particles that hardly
    /// moved but is noisy itself, and the error of particles drawn independently at each resampling.
    pub fn ln_evidence(&self) -> Option<LnEstimate> {
        let evidence = self.evidence?;
        let total = self.particles.summary().total;
        let mut families = vec![0.0; self.particles.len()];
        for (&eve, weight) in self.particles.eve.iter().zip(self.particles.weights()) {
            families[eve as usize] += weight / total;
        }
        let same: f64 = families.iter().map(|share| share * share).sum();
        let n = self.particles.len() as f64;
        let growth = evidence.ln_growth + (n / (n - 1.0)).ln();
        // 1 − e^growth (1 − same), without losing the small difference.
        let related = same - growth.exp_m1() * (1.0 - same);
        let variance = related.max(evidence.independent + 1.0 / self.ess() - 1.0 / n);
        let error = if variance < 1.0 { variance.max(0.0).sqrt() } else { f64::INFINITY };
        Some(LnEstimate { ln_value: evidence.ln_value, method: Method::Particles, error })
    }

    /// The `count` options with the largest λ in a particle drawn by weight, best first, of which those never shown are drawn afresh:
    /// what Thompson sampling presents.
    pub fn top(&mut self, count: usize) -> Vec<OptionId> {
        let particle = self.particles.pick(&mut self.rng);
        let carried = self.counts.awake().map(|place| (self.particles.eta[place][particle], self.counts.option(place)));
        let mut best = largest(carried, count);
        self.unexplored.merge_largest(&mut best, count, &mut self.rng);
        best.into_iter().map(|(_, option)| option).collect()
    }

    /// Writes down λ of the options that particles carry, of one drawn by weight. O(|E|).
    pub fn fill(&mut self, draw: &mut Draw) {
        let particle = self.particles.pick(&mut self.rng);
        draw.start(None);
        self.counts.awake().for_each(|place| draw.push(self.counts.option(place), self.particles.eta[place][particle]));
    }

    /// All that was counted, choices from single options left out.
    pub fn statistics(&self) -> Statistics {
        self.counts.statistics()
    }

    /// Whether particles carry an option.
    pub fn is_explored(&self, option: OptionId) -> bool {
        self.counts.is_explored(option)
    }

    /// Adds many choices at once. Too far for weights: particles are moved by Gibbs sweeps, and the evidence ends.
    ///
    /// # Errors
    /// If the statistics know options that the particles do not or are no counts of choices, a count would not stay finite, or no more
    /// presentations fit.
    pub fn merge(&mut self, statistics: &Statistics) -> Result<(), SamplerError> {
        self.counts.check(statistics)?;
        if statistics.is_empty() {
            return Ok(());
        }
        let awake: Vec<bool> = (0..self.counts.len()).map(|place| self.counts.is_awake(place)).collect();
        self.counts.merge(statistics)?;
        for (members, b) in statistics.iter().filter(|(members, _)| members.len() > 1) {
            let places: Vec<u32> = members.iter().map(|&option| self.counts.place(option) as u32).collect();
            self.tree.add(&places, b);
        }
        self.tree.settle();
        for place in self.counts.awake().collect::<Vec<_>>() {
            if !awake.get(place).copied().unwrap_or(false) {
                self.unexplored.remove(self.counts.option(place));
                self.wake(place);
            }
        }
        self.widen(&[], BURN_IN);
        Ok(())
    }

    /// θ of every option in a particle drawn by weight; those never shown are drawn afresh. O(K).
    pub fn theta(&mut self) -> Vec<f64> {
        let particle = self.particles.pick(&mut self.rng);
        let carried = self.counts.awake().map(|place| (self.counts.option(place), self.particles.eta[place][particle]));
        self.unexplored.theta(self.counts.option_count(), carried, &mut self.rng)
    }

    /// Posterior mean of θ. That of an option that no particle carries is its prior's to the last digit. O(K + N·|E|).
    pub fn mean(&self) -> Vec<f64> {
        let awake: Vec<usize> = self.counts.awake().collect();
        let mass = self.counts.mass();
        let alone: f64 = self.unexplored.groups().map(|group| group.alpha * group.options.len() as f64).sum();
        let part = if alone > 0.0 { mass / (mass + alone) } else { 1.0 };
        let total = self.particles.summary().total;
        let mut mean: Vec<f64> = self.counts.all_alpha().iter().map(|alpha| alpha / (mass + alone)).collect();
        let mut sums = vec![0.0; awake.len()];
        for (i, weight) in self.particles.weights().iter().enumerate() {
            let ln_total = ln_sum_exp(awake.iter().map(|&place| self.particles.eta[place][i]));
            for (sum, &place) in sums.iter_mut().zip(&awake) {
                *sum += weight / total * (self.particles.eta[place][i] - ln_total).exp();
            }
        }
        for (sum, place) in sums.into_iter().zip(awake) {
            mean[self.counts.option(place).index()] = part * sum;
        }
        mean
    }

    /// The part of a choice that leaves the threshold's effective particles, by bisection of its logarithm.
    fn part_that_leaves_enough(&self, ln_p: &[f64], left: f64) -> f64 {
        let wanted = self.settings.threshold.min(0.9) * self.particles.len() as f64;
        let (mut low, mut high) = (left.ln() - 700.0, left.ln());
        while high - low > 1e-3 {
            let middle = 0.5 * (low + high);
            if self.particles.ess_after(ln_p, middle.exp()) >= wanted {
                low = middle;
            } else {
                high = middle;
            }
        }
        high.exp()
    }

    /// A place wakes up: a draw from the prior for each particle.
    fn wake(&mut self, place: usize) {
        let alpha = self.counts.alpha(place);
        let draw = |rng: &mut ChaCha8Rng| -> Lanes { std::array::from_fn(|_| ln_gamma_draw(alpha, rng)) };
        let values = self.rngs.iter_mut().flat_map(draw).collect();
        self.particles.set_place(place, values);
    }

    /// The posterior over the places that are awake; of one column only a part, if it is given.
    fn compile(&self, partial: Option<(&Column<'_>, f64)>) -> Target {
        let counts = &self.counts;
        let awake: Vec<usize> = counts.awake().collect();
        let mut local = vec![u32::MAX; counts.len()];
        for (i, &place) in awake.iter().enumerate() {
            local[place] = i as u32;
        }
        let mut builder = Builder::new(awake.len(), &[]);
        let mut whole = counts.mass();
        for (entry, members, mut b) in counts.columns() {
            if let Some((column, done)) = partial.filter(|(column, _)| column.change.entry == entry) {
                b = column.change.weight_before + done * column.weight;
            }
            if members.len() < awake.len() {
                builder.push(members.iter().map(|place| local[place.index()]), b);
            } else {
                whole += b;
            }
        }
        let mut a: Vec<f64> = awake.iter().map(|&place| counts.exponent(place)).collect();
        if let Some((column, done)) = partial {
            for (&(place, part), before) in column.parts.iter().zip(&column.change.chosen_before) {
                a[local[place] as usize] = counts.alpha(place) + before + done * part;
            }
        }
        let potential = Potential { a, whole, columns: builder.finish().into() };
        // Places that fell asleep are rare; then the tree has a numbering of its own.
        if awake.len() == counts.len() { Target::new(potential, self.tree.clone()) } else { Target::of_potential(&potential) }
    }

    /// Connected groups of places, each with the shape of its mass; all as one where every option is carried, as in the paper.
    fn components(&self) -> Vec<(Vec<usize>, f64)> {
        if self.settings.carry_all {
            return vec![(self.counts.awake().collect(), self.counts.mass())];
        }
        let mut sets = DisjointSets::new(self.counts.len());
        for (_, members, _) in self.counts.columns() {
            for pair in members.windows(2) {
                sets.join(pair[0].index(), pair[1].index());
            }
        }
        let (labels, members) = label(sets, |place| self.counts.is_awake(place));
        let mut masses: Vec<f64> =
            members.iter().map(|places| places.iter().map(|&place| self.counts.alpha(place as usize)).sum()).collect();
        for (place, beta) in self.counts.prior_columns() {
            masses[labels[place] as usize] -= beta;
        }
        if let [mass] = &mut masses[..] {
            *mass = self.counts.mass();
        }
        members
            .into_iter()
            .zip(masses)
            .map(|(places, mass)| (places.into_iter().map(|place| place as usize).collect(), mass))
            .collect()
    }
}

/// A choice that is being counted: what it changed, its weight, and the parts of the chosen places.
struct Column<'a> {
    change: &'a Change,
    weight: f64,
    parts: &'a [(usize, f64)],
}

/// What reweighting did.
struct Outcome {
    ln_increment: f64,
    moved: Option<Moved>,
    /// Whether all of the choice was taken.
    reached: bool,
}

impl std::fmt::Debug for Smc {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Smc").field("settings", &self.settings).field("ess", &self.ess()).finish_non_exhaustive()
    }
}
