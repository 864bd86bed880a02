//! How a presenter begins.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::belief::{Frequencies, Means};
use super::outcome::Age;
use super::sampler::{Bounded, Draw, Exact, Sampler};
use super::{Order, Policy, Presenter, PresenterError};
use crate::option::Options;
use crate::prior::{Prior, PriorError};
use crate::sampler::unexplored::Unexplored;
use crate::sampler::{Balancing, BoundedGibbs, MetropolisSweep, Smc, SmcSettings};
use crate::statistics::Statistics;

/// Choices between two steps on the prior's strength, where that is learned.
const LEARN_EVERY: u32 = 16;
/// The random stream of what the presenter draws itself; the sampler has the first.
const STREAM: u64 = 1 << 62;

/// What a presenter draws from.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum SamplerSettings {
    /// A chain that visits so many presentations before each decision; all of them for `usize::MAX`.
    Bounded {
        /// Presentations visited.
        budget: usize,
    },
    /// Particles; the paper's with [`Smc::paper`]'s settings.
    Smc(SmcSettings),
    /// The paper's own: Metropolis steps, multinomial resampling.
    Paper {
        /// 10 000 in the paper, 1 000 where presentations grow.
        particles: usize,
    },
    /// Independent exact draws as long as presentations are nested, then a chain.
    Exact,
}

impl Default for SamplerSettings {
    fn default() -> Self {
        Self::Bounded { budget: BoundedGibbs::BUDGET }
    }
}

/// Settings of a [`Presenter`].
#[derive(Clone, Debug, Default)]
pub struct PresenterBuilder {
    shared: Option<(Options, Vec<f64>)>,
    options: Vec<(String, Option<f64>)>,
    prior: Option<f64>,
    none: Option<(String, f64)>,
    policy: Policy,
    order: Order,
    sampler: SamplerSettings,
    half_life: Option<f64>,
    learn_prior: bool,
    seed: u64,
}

impl PresenterBuilder {
    /// Adds options with the prior's weight.
    #[must_use]
    pub fn options<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.options.extend(names.into_iter().map(|name| (name.into(), None)));
        self
    }

    /// Adds an option with a weight of its own.
    #[must_use]
    pub fn option(mut self, name: impl Into<String>, alpha: f64) -> Self {
        self.options.push((name.into(), Some(alpha)));
        self
    }

    /// Begins with these options and their weights. Names are shared with whoever else holds them, until one of them adds another: a service
    /// has a presenter for each of thousands of people. The [no-choice](Self::no_choice) option may be among them.
    #[must_use]
    pub fn shared_options(mut self, options: Options, alpha: Vec<f64>) -> Self {
        self.shared = Some((options, alpha));
        self
    }

    /// Weight α of every option that has none of its own; 1 by default.
    #[must_use]
    pub fn prior(mut self, alpha: f64) -> Self {
        self.prior = Some(alpha);
        self
    }

    /// An option that stands for choosing nothing: in every set that a choice is made from, never presented.
    #[must_use]
    pub fn no_choice(mut self, name: impl Into<String>, alpha: f64) -> Self {
        self.none = Some((name.into(), alpha));
        self
    }

    /// How presentations are formed; Thompson sampling by default.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// How they are ordered; by posterior mean by default.
    #[must_use]
    pub fn order(mut self, order: Order) -> Self {
        self.order = order;
        self
    }

    /// What is drawn from; a chain with bounded steps by default.
    #[must_use]
    pub fn sampler(mut self, sampler: SamplerSettings) -> Self {
        self.sampler = sampler;
        self
    }

    /// Counts lose half their weight in this time; see [`Presenter::age`]. Nothing is forgotten by default.
    #[must_use]
    pub fn half_life(mut self, half_life: f64) -> Self {
        self.half_life = Some(half_life);
        self
    }

    /// Learns the strength of the prior from the choices: all weights times a common factor, by steps of the chain
    /// ([`BoundedGibbs::learn_prior`]). Fewer choices are spent on options that nobody wants where a few options take it all. But an option
    /// never shown then follows the learned prior: its mean stays, its spread moves with what people chose elsewhere. Off by default;
    /// particles and exact draws cannot, and [`build`](Self::build) says so.
    #[must_use]
    pub fn learn_prior(mut self, learn: bool) -> Self {
        self.learn_prior = learn;
        self
    }

    /// Seed of every random number.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// The presenter.
    ///
    /// # Errors
    /// If there are no options, a name is there twice or cannot be one, a weight or half-life is none.
    pub fn build(self) -> Result<Presenter, PresenterError> {
        if self.learn_prior && !matches!(self.sampler, SamplerSettings::Bounded { .. }) {
            return Err(PresenterError::Learning);
        }
        let (weights, options) = self.named()?;
        let prior = Prior::per_option(weights)?;
        let count = options.len();
        let chain = |budget| -> Result<Bounded, PresenterError> {
            Ok(Bounded { chain: BoundedGibbs::new(&prior, count, self.seed)?, budget })
        };
        let sampler: Box<dyn Sampler> = match &self.sampler {
            SamplerSettings::Bounded { budget } => Box::new(chain(*budget)?),
            SamplerSettings::Smc(settings) => {
                Box::new(Smc::new(&prior, count, SmcSettings { seed: self.seed, ..settings.clone() })?)
            }
            SamplerSettings::Paper { particles } => {
                let settings = SmcSettings { particles: *particles, seed: self.seed, ..SmcSettings::paper() };
                Box::new(Smc::with_kernel(&prior, count, settings, MetropolisSweep { balancing: Balancing::Last })?)
            }
            SamplerSettings::Exact => Box::new(Exact::new(chain(BoundedGibbs::BUDGET)?, prior.alpha(count)?, self.seed)),
        };
        self.with_sampler(sampler)
    }

    /// The presenter with what was chosen so far, ready to decide at once ([`BoundedGibbs::resume`]).
    ///
    /// # Errors
    /// As [`build`](Self::build), and if the counts are of options that are not known.
    pub fn build_with(self, statistics: &Statistics) -> Result<Presenter, PresenterError> {
        let SamplerSettings::Bounded { budget } = self.sampler else {
            let mut presenter = self.build()?;
            return presenter.merge(statistics).map(|()| presenter);
        };
        let (weights, options) = self.named()?;
        let mut all = statistics.clone();
        all.grow(options.len());
        let chain = BoundedGibbs::resume(&Prior::per_option(weights)?, &all, self.seed)?;
        let mut presenter = self.with_sampler(Box::new(Bounded { chain, budget }))?;
        presenter.choices = all.total();
        for (members, count) in all.iter() {
            if let [option] = members {
                presenter.count_alone(*option, count);
            }
        }
        Ok(presenter)
    }

    /// The presenter with a sampler of one's own, over as many options and without choices.
    ///
    /// # Errors
    /// As [`build`](Self::build).
    pub fn with_sampler(self, sampler: Box<dyn Sampler>) -> Result<Presenter, PresenterError> {
        let (alpha, options) = self.named()?;
        self.policy.check()?;
        if let Some(value) = self.half_life.filter(|&half_life| !(half_life > 0.0 && half_life.is_finite())) {
            return Err(PresenterError::Time { value, what: "a half-life", bound: "above 0" });
        }
        let none = self.none.as_ref().and_then(|(name, _)| options.get(name));
        // A sampler may carry options that were never shown; the others are drawn when they are needed.
        let lazy =
            options.iter().map(|(option, _)| option).filter(|&option| none != Some(option) && !sampler.is_explored(option));
        let unexplored = Unexplored::new(lazy.map(|option| (option, alpha[option.index()])));
        let mut means = Means::default();
        let mut mass = 0.0;
        for (option, _) in options.iter().filter(|&(option, _)| sampler.is_explored(option)) {
            means.touch(option, alpha[option.index()]);
            mass += alpha[option.index()];
        }
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        rng.set_stream(STREAM);
        Ok(Presenter {
            retired: vec![false; options.len()],
            retired_count: 0,
            unexplored,
            options,
            alpha,
            none,
            policy: self.policy,
            order: self.order,
            half_life: self.half_life,
            age: Age::default(),
            learning: self.learn_prior.then_some(LEARN_EVERY),
            until_learning: LEARN_EVERY,
            factor: 1.0,
            sampler,
            mass,
            choices: 0.0,
            alone: Vec::new(),
            means,
            frequencies: Frequencies::default(),
            filtered: Frequencies::default(),
            draw: Draw::default(),
            marks: Vec::new(),
            request: 0,
            seed: self.seed,
            rng,
        })
    }

    /// Weights and names; the no-choice option comes last.
    fn named(&self) -> Result<(Vec<f64>, Options), PresenterError> {
        let prior = self.prior.unwrap_or(1.0);
        let (mut options, mut weights) = self.shared.clone().unwrap_or_default();
        if options.len() != weights.len() {
            return Err(PriorError::OptionCount { prior: weights.len(), statistics: options.len() }.into());
        }
        weights.iter().try_for_each(|&alpha| crate::prior::check_alpha(alpha))?;
        let is_new = |(name, _): &(&String, Option<f64>)| self.shared.as_ref().is_none_or(|(own, _)| own.get(name).is_none());
        let none = self.none.iter().map(|(name, alpha)| (name, Some(*alpha))).filter(is_new);
        for (name, alpha) in self.options.iter().map(|(name, alpha)| (name, *alpha)).chain(none) {
            if options.get(name).is_some() {
                return Err(PresenterError::Known { name: name.clone() });
            }
            options.intern(name)?;
            let alpha = alpha.unwrap_or(prior);
            crate::prior::check_alpha(alpha)?;
            weights.push(alpha);
        }
        if options.len() == usize::from(self.none.is_some()) {
            return Err(PresenterError::NothingEligible { active: 0 });
        }
        Ok((weights, options))
    }
}
