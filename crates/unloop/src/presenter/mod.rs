//! What to show next: the mechanism of the paper, ready to be called on every page view.
//!
//! A [`Presenter`] holds options, what was chosen from what, and a sampler that follows the choices. [`present`](Presenter::present) forms
//! a presentation, [`choose`](Presenter::choose) tells what came of it. An option that was not shown is never punished: it stays
//! exactly at its prior, and so has its prior's chance to be drawn.
//!
//! ```
//! use unloop::Presenter;
//! let mut presenter = Presenter::builder().options(["a", "b", "c", "d"]).prior(1.0).seed(7).build()?;
//! let shown = presenter.present(2)?;               // Thompson draw, top 2
//! let first = shown.options[0].option;
//! presenter.choose(&shown, first)?;                // statistics and sampler move
//! presenter.add_option("e", 1.0)?;                 // cold start: exactly its prior
//! assert_eq!(presenter.ranking()?.options.len(), 5);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Policies
//!
//! [`Policy::Thompson`] is the paper's: the best of one draw. [`Policy::Anchored`] keeps the options with the largest posterior means and
//! explores in the remaining places. [`Policy::Greedy`] and [`Policy::Uniform`] are what they say. The order inside a presentation
//! changes nothing that is learnt under this model, so it is by posterior mean unless asked otherwise ([`Order`]).
//!
//! # Propensities
//!
//! Each option of a presentation comes with an estimate of its chance to be in it, for reports and reweighting; [`Propensities`] says
//! how it was had. Those read off the deciding draws are estimates: the state that formed a presentation depends on it.

mod belief;
mod builder;
mod error;
mod forming;
mod outcome;
mod propensity;
mod request;
mod sampler;

use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use crate::option::{OptionId, Options};
use crate::presentation::Presentation;
use crate::prior::{Prior, PriorError};
use crate::ranking::{Ranking, RankingError, RankingSettings};
use crate::sampler::unexplored::Unexplored;
use crate::statistics::Statistics;
use belief::{Frequencies, Means};
pub use builder::{PresenterBuilder, SamplerSettings};
pub use error::PresenterError;
use forming::Drawn;
use outcome::Age;
pub use outcome::{Named, Recorded};
pub use request::{Order, Policy, Propensities, Request, Shown, ShownOption};
pub use sampler::{Draw, Sampler};

/// Options, choices and a sampler: decides what to show.
pub struct Presenter {
    options: Options,
    /// α as it was given, by option.
    alpha: Vec<f64>,
    retired: Vec<bool>,
    retired_count: usize,
    /// The option that stands for choosing nothing.
    none: Option<OptionId>,
    policy: Policy,
    order: Order,
    half_life: Option<f64>,
    age: Age,
    /// Choices between learning steps, and those left until the next; the factor on α learned so far.
    learning: Option<u32>,
    until_learning: u32,
    factor: f64,
    sampler: Box<dyn Sampler>,
    /// Active options without data, with their weights as they are now.
    unexplored: Unexplored,
    /// Σα of the options with data.
    mass: f64,
    /// Choices counted so far, whether or not they were forgotten.
    choices: f64,
    /// Choices from presentations of one option, which the sampler leaves out.
    alone: Vec<(OptionId, f64)>,
    means: Means,
    frequencies: Frequencies,
    /// Of requests that leave some options out, by themselves.
    filtered: Frequencies,
    draw: Draw,
    /// Which options of the draw a request leaves, by option: the number of the last request that did.
    marks: Vec<u64>,
    request: u64,
    seed: u64,
    rng: ChaCha8Rng,
}

impl Presenter {
    /// Begins a presenter.
    pub fn builder() -> PresenterBuilder {
        PresenterBuilder::default()
    }

    /// Names of the options, the no-choice option included.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The no-choice option, if there is one.
    pub fn none(&self) -> Option<OptionId> {
        self.none
    }

    /// Options that can be presented.
    pub fn active(&self) -> impl Iterator<Item = OptionId> {
        self.options.iter().map(|(option, _)| option).filter(|&option| self.is_active(option))
    }

    fn is_active(&self, option: OptionId) -> bool {
        !self.retired[option.index()] && self.none != Some(option)
    }

    fn active_count(&self) -> usize {
        self.options.len() - self.retired_count - usize::from(self.none.is_some())
    }

    /// What the prior's weights were multiplied by, where that is learned; 1 otherwise.
    pub fn learned_factor(&self) -> f64 {
        self.factor
    }

    /// Adds an option: exactly its prior, until it is shown.
    ///
    /// # Errors
    /// If there is one of this name, or the weight is none.
    pub fn add_option(&mut self, name: &str, alpha: f64) -> Result<OptionId, PresenterError> {
        if self.options.get(name).is_some() {
            return Err(PresenterError::Known { name: name.into() });
        }
        Options::check_name(name)?;
        crate::prior::check_alpha(alpha)?;
        let added = self.sampler.add_option(alpha * self.factor)?;
        let option = self.options.intern(name)?;
        debug_assert_eq!(added, option, "invariant: the sampler numbers options alike");
        self.alpha.push(alpha);
        self.retired.push(false);
        if self.sampler.is_explored(option) {
            self.means.touch(option, self.weight(option));
            self.mass += self.weight(option);
        } else {
            self.insert_unexplored(option);
        }
        Ok(option)
    }

    /// An active option without data, from now on.
    fn insert_unexplored(&mut self, option: OptionId) {
        self.unexplored.insert(option, self.weight(option));
        if self.unexplored.count_alike(option) == 1 {
            self.frequencies.open(self.alpha[option.index()]);
            self.filtered.open(self.alpha[option.index()]);
        }
    }

    /// Retires an option: it is not presented any more, and what was chosen stays.
    ///
    /// # Errors
    /// If it is not known.
    pub fn retire(&mut self, option: OptionId) -> Result<(), PresenterError> {
        self.set_retired(option, true)
    }

    /// Revives an option.
    ///
    /// # Errors
    /// If it is not known.
    pub fn revive(&mut self, option: OptionId) -> Result<(), PresenterError> {
        self.set_retired(option, false)
    }

    fn set_retired(&mut self, option: OptionId, retired: bool) -> Result<(), PresenterError> {
        self.check(option)?;
        if self.none == Some(option) || self.retired[option.index()] == retired {
            return Ok(());
        }
        self.retired[option.index()] = retired;
        if retired {
            self.retired_count += 1;
            self.unexplored.remove(option);
        } else {
            self.retired_count -= 1;
            if self.sampler.is_explored(option) {
                self.frequencies.renew(option);
                self.filtered.renew(option);
            } else {
                self.insert_unexplored(option);
            }
        }
        Ok(())
    }

    fn check(&self, option: OptionId) -> Result<(), PresenterError> {
        let known = option.index() < self.options.len();
        if known { Ok(()) } else { Err(PresenterError::Unknown { name: format!("number {}", option.index()) }) }
    }

    /// α of an option as it is now.
    fn weight(&self, option: OptionId) -> f64 {
        let factor = if self.none == Some(option) { 1.0 } else { self.factor };
        self.alpha[option.index()] * factor
    }

    /// Forms a presentation of `size` options, fewer if fewer are active.
    ///
    /// # Errors
    /// If none is.
    pub fn present(&mut self, size: usize) -> Result<Shown, PresenterError> {
        self.present_with(&Request { size, ..Request::default() })
    }

    /// Forms a presentation as asked for.
    ///
    /// # Errors
    /// If no option is eligible, or one is pinned that is not.
    pub fn present_with(&mut self, request: &Request) -> Result<Shown, PresenterError> {
        self.check_request(request)?;
        let policy = request.policy.unwrap_or(self.policy);
        let order = request.order.unwrap_or(self.order);
        let size = request.size.max(request.pinned.len());
        let places = size - request.pinned.len();
        let filter = self.filter(request);
        self.advance();
        let mut drawn = self.form(policy, places, &filter);
        let (chances, propensities) = match request.propensity_draws {
            Some(draws) => self.fresh_propensities(policy, places, &filter, &drawn, draws.max(1)),
            None => self.propensities(policy, places, &filter, &drawn),
        };
        self.put_back(filter);
        if drawn.is_empty() && request.pinned.is_empty() {
            return Err(PresenterError::NothingEligible { active: self.active_count() });
        }
        let mut rows: Vec<(Drawn, f64)> = drawn.drain(..).zip(chances).collect();
        match order {
            Order::Mean => rows.sort_by(|x, y| self.mean(y.0.1).total_cmp(&self.mean(x.0.1)).then(y.0.0.total_cmp(&x.0.0))),
            Order::Draw => rows.sort_by(|x, y| y.0.0.total_cmp(&x.0.0)),
            Order::Shuffled => rows.shuffle(&mut self.rng),
        }
        let pinned = request.pinned.iter().map(|&option| ShownOption { option, propensity: 1.0 });
        let others = rows.into_iter().map(|((_, option), propensity)| ShownOption { option, propensity });
        let options: Vec<ShownOption> = pinned.chain(others).collect();
        let presentation = Presentation::new(options.iter().map(|shown| shown.option).chain(self.none))?;
        Ok(Shown { options, policy, order, propensities, presentation })
    }

    fn check_request(&self, request: &Request) -> Result<(), PresenterError> {
        let lists = [&request.excluded, &request.pinned];
        let named = lists.into_iter().flatten().chain(request.candidates.iter().flatten());
        named.copied().try_for_each(|option| self.check(option))?;
        request.policy.map_or(Ok(()), Policy::check)?;
        if request.size == 0 && request.pinned.is_empty() {
            return Err(PresenterError::Nothing);
        }
        for (i, &option) in request.pinned.iter().enumerate() {
            let why = if self.none == Some(option) {
                "it stands for choosing nothing"
            } else if self.retired[option.index()] {
                "it is retired"
            } else if request.excluded.contains(&option) {
                "it is excluded"
            } else if request.pinned[..i].contains(&option) {
                "it is there twice"
            } else {
                continue;
            };
            return Err(PresenterError::Pinned { name: self.options.name(option).unwrap_or_default().into(), why });
        }
        Ok(())
    }

    /// The sampler moves on, and what it draws is taken in.
    fn advance(&mut self) {
        self.sampler.draw(&mut self.draw);
        self.means.observe(&self.draw, self.mass);
    }

    /// Posterior mean of λ, in units where an option never shown has α.
    fn mean(&self, option: OptionId) -> f64 {
        if self.means.knows(option) { self.means.get(option) } else { self.weight(option) }
    }

    /// Bytes that it takes, about; names that it [shares](PresenterBuilder::shared_options) are not its own.
    pub fn heap_bytes(&self) -> usize {
        let draw = 12 * self.draw.options.capacity().max(self.draw.values.capacity());
        let by_option = 8 * self.alpha.capacity() + self.retired.capacity() + 8 * self.marks.capacity();
        let parts = [
            self.options.heap_bytes(),
            self.unexplored.heap_bytes(),
            self.means.heap_bytes(),
            self.frequencies.heap_bytes(),
            self.filtered.heap_bytes(),
        ];
        size_of::<Self>()
            + parts.iter().sum::<usize>()
            + draw
            + by_option
            + 16 * self.alone.capacity()
            + self.sampler.heap_bytes()
    }

    /// All that was counted.
    pub fn statistics(&self) -> Statistics {
        let mut statistics = self.sampler.statistics();
        for &(option, count) in &self.alone {
            let recorded = statistics.record([option], option, count);
            debug_assert!(recorded.is_ok(), "invariant: it was counted before");
        }
        statistics
    }

    /// The prior as it is now, over all options.
    ///
    /// # Errors
    /// Never, for weights that were accepted.
    pub fn prior(&self) -> Result<Prior, PriorError> {
        let weights = self.options.iter().map(|(option, _)| self.weight(option));
        Prior::per_option(weights.collect::<Vec<f64>>())
    }

    /// The leaderboard by chains of its own, which decide nothing: the no-choice option and retired ones take no place.
    ///
    /// # Errors
    /// As [`Ranking::new`].
    pub fn ranking(&self) -> Result<Ranking, RankingError> {
        self.ranking_with(&RankingSettings {
            sample: crate::sampler::SampleSettings { seed: self.seed, ..Default::default() },
            ..RankingSettings::default()
        })
    }

    /// As [`ranking`](Self::ranking), with settings.
    ///
    /// # Errors
    /// As [`Ranking::new`].
    pub fn ranking_with(&self, settings: &RankingSettings) -> Result<Ranking, RankingError> {
        let statistics = self.statistics();
        // Shares are over options with history or active: one that was retired before it was ever shown is in no sum.
        let kept: Vec<OptionId> = self
            .options
            .iter()
            .map(|(option, _)| option)
            .filter(|&option| !self.retired[option.index()] || statistics.is_explored(option))
            .collect();
        let place = |option: &OptionId| kept.binary_search(option).ok().map(|place| OptionId::new(place as u32));
        let unranked = settings.unranked.iter().copied().chain(kept.iter().copied().filter(|&option| !self.is_active(option)));
        let settings = RankingSettings { unranked: unranked.filter_map(|option| place(&option)).collect(), ..settings.clone() };
        let prior = Prior::per_option(kept.iter().map(|&option| self.weight(option)).collect::<Vec<f64>>());
        let chosen = kept.iter().map(|&option| statistics.chosen(option)).collect();
        let columns = statistics.iter().map(|(members, count)| (members.iter().filter_map(place).collect(), count));
        let statistics = Statistics::from_counts(chosen, columns);
        let prior = prior.map_err(crate::posterior::PosteriorError::from)?;
        let mut ranking = Ranking::new(&prior, &statistics, &settings)?;
        for row in ranking.options.iter_mut().chain(&mut ranking.unranked) {
            row.option = kept[row.option.index()];
        }
        Ok(ranking)
    }
}
