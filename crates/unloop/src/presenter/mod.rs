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
mod sampler;

use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use thiserror::Error;

use crate::option::{OptionError, OptionId, Options};
use crate::presentation::{Choice, Presentation, PresentationError};
use crate::prior::{Prior, PriorError};
use crate::ranking::{Ranking, RankingError, RankingSettings};
use crate::sampler::SamplerError;
use crate::sampler::unexplored::{Unexplored, largest};
use crate::statistics::{Statistics, StatisticsError};
use belief::{Frequencies, Means};
pub use builder::{PresenterBuilder, SamplerSettings};
pub use sampler::{Draw, Sampler};

/// How a presentation is formed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Policy {
    /// The best of one posterior draw: the paper's mechanism.
    #[default]
    Thompson,
    /// The largest posterior means, and the best of a draw in the remaining places. Measured against the rivals in `docs/policies.md`.
    Anchored {
        /// Places that explore, at least one; all but the first by default.
        explore: Option<usize>,
        /// What the draw's deviations above the mean are raised by, as logarithms: above 1 options of which little is known are tried more
        /// often than their posterior asks for, below 1 less often. By default 1.5 for pairs; for more options 1.5 at the start, falling
        /// to 0.8 (half way after 500 choices). Options never shown are drawn from their prior, whatever this is.
        boldness: Option<f64>,
    },
    /// The largest posterior means. It may starve options; to compare with.
    Greedy,
    /// Any options, all alike.
    Uniform,
}

/// How a presentation is ordered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Order {
    /// By posterior mean.
    #[default]
    Mean,
    /// By the draw that formed it: the paper's.
    Draw,
    /// At random.
    Shuffled,
}

/// How the propensities of a presentation were had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Propensities {
    /// They are known.
    Exact,
    /// From how often options were presented of late.
    Running {
        /// Presentations that it rests on.
        draws: usize,
    },
    /// From draws made for it.
    Fresh {
        /// How many.
        draws: usize,
    },
}

/// What to present, other than by default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// Options to present; fewer if fewer are eligible.
    pub size: usize,
    /// The only options that may be presented, if given.
    pub candidates: Option<Vec<OptionId>>,
    /// Options that may not.
    pub excluded: Vec<OptionId>,
    /// Options that are in it and come first, in this order.
    pub pinned: Vec<OptionId>,
    /// Another policy than the presenter's.
    pub policy: Option<Policy>,
    /// Another order than the presenter's.
    pub order: Option<Order>,
    /// Draws to estimate propensities from, beside those that decide.
    pub propensity_draws: Option<usize>,
}

/// A presentation as it is shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// Its options in order.
    pub options: Vec<ShownOption>,
    /// How it was formed.
    pub policy: Policy,
    /// How it is ordered.
    pub order: Order,
    /// How the propensities were had.
    pub propensities: Propensities,
    /// The set that a choice is made from: with the no-choice option, where there is one.
    presentation: Presentation,
}

/// An option in a presentation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShownOption {
    /// The option.
    pub option: OptionId,
    /// Estimated chance that it is in the presentation; 1 if it is pinned.
    pub propensity: f64,
}

impl Shown {
    /// The set that a choice is made from: with the no-choice option, where there is one.
    pub fn presentation(&self) -> &Presentation {
        &self.presentation
    }
}

/// What came of a presentation, and was counted: to be [withdrawn](Presenter::withdraw).
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    choices: Vec<Choice>,
    /// ln of all forgetting before it.
    ln_faded: f64,
}

/// Why something could not be presented or counted.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum PresenterError {
    /// A name that cannot be one.
    #[error(transparent)]
    Option(#[from] OptionError),
    /// A prior weight that is none.
    #[error(transparent)]
    Prior(#[from] PriorError),
    /// A presentation that is none, or does not hold what was chosen.
    #[error(transparent)]
    Presentation(#[from] PresentationError),
    /// The sampler cannot do it.
    #[error(transparent)]
    Sampler(#[from] SamplerError),
    /// Counts that are none.
    #[error(transparent)]
    Statistics(#[from] StatisticsError),
    /// An option that is not known.
    #[error("there is no option {name:?}")]
    Unknown {
        /// The name, or the index.
        name: String,
    },
    /// An option that is there already.
    #[error("there is an option {name:?} already")]
    Known {
        /// The name.
        name: String,
    },
    /// Nothing can be presented.
    #[error("no option can be presented: {active} are active, and the request leaves none of them")]
    NothingEligible {
        /// Active options.
        active: usize,
    },
    /// An option that cannot be pinned.
    #[error("{name:?} cannot be pinned: {why}")]
    Pinned {
        /// Its name.
        name: String,
        /// Why not.
        why: &'static str,
    },
    /// Nothing chosen, where that is no option.
    #[error("choosing nothing counts for nothing here: the presenter has no no-choice option")]
    NoChoice,
    /// A half-life or an age that is none.
    #[error("{value} is not {what}: it must be finite and {bound}")]
    Time {
        /// The value.
        value: f64,
        /// What it should be.
        what: &'static str,
        /// Its bound.
        bound: &'static str,
    },
}

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
    ln_faded: f64,
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
    draw: Draw,
    /// Which options of the draw a request leaves, by option: the number of the last request that did.
    marks: Vec<u64>,
    request: u64,
    seed: u64,
    rng: ChaCha8Rng,
}

/// A place of a presentation: ln λ of the draw, and the option.
type Drawn = (f64, OptionId);

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
        self.unexplored.insert(option, alpha * self.factor);
        Ok(option)
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
            if !self.sampler.is_explored(option) {
                self.unexplored.insert(option, self.weight(option));
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

    /// What a request leaves.
    fn filter(&mut self, request: &Request) -> Filter {
        if request.candidates.is_none() && request.excluded.is_empty() && request.pinned.is_empty() {
            return Filter::All;
        }
        self.request += 1;
        self.marks.resize(self.options.len(), 0);
        let out = |option: &OptionId| request.excluded.contains(option) || request.pinned.contains(option);
        if let Some(candidates) = &request.candidates {
            let mut unexplored = Unexplored::default();
            for &option in candidates.iter().filter(|option| !out(option)) {
                if self.unexplored.contains(option) && self.marks[option.index()] != self.request {
                    unexplored.insert(option, self.weight(option));
                }
                self.marks[option.index()] = self.request;
            }
            return Filter::Only { unexplored };
        }
        // There may be millions of others: these few step aside until it is done.
        let mut aside = Vec::new();
        for &option in request.excluded.iter().chain(&request.pinned) {
            self.marks[option.index()] = self.request;
            if self.unexplored.contains(option) {
                self.unexplored.remove(option);
                aside.push(option);
            }
        }
        Filter::Without { aside }
    }

    /// Options that stepped aside for a request come back.
    fn put_back(&mut self, filter: Filter) {
        if let Filter::Without { aside } = filter {
            aside.into_iter().for_each(|option| self.unexplored.insert(option, self.weight(option)));
        }
    }

    /// Whether a request leaves an option with data.
    fn leaves(&self, filter: &Filter, option: OptionId) -> bool {
        let in_filter = match filter {
            Filter::All => true,
            Filter::Only { .. } => self.marks[option.index()] == self.request,
            Filter::Without { .. } => self.marks[option.index()] != self.request,
        };
        in_filter && self.is_active(option)
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

    /// The options of a presentation by a policy, from the draw as it is.
    fn form(&mut self, policy: Policy, places: usize, filter: &Filter) -> Vec<Drawn> {
        match policy {
            Policy::Thompson => self.best_of_draw(places, filter, &[]),
            Policy::Greedy => self.best_of_means(places, filter),
            Policy::Anchored { explore, boldness } => {
                let explore = explore.unwrap_or(places.saturating_sub(1)).clamp(1, places.max(1));
                let mut anchors = self.best_of_means(places.saturating_sub(explore), filter);
                let kept: Vec<OptionId> = anchors.iter().map(|&(_, option)| option).collect();
                self.embolden(boldness.unwrap_or_else(|| self.default_boldness(places)));
                anchors.extend(self.best_of_draw(places - kept.len(), filter, &kept));
                anchors
            }
            Policy::Uniform => self.any(places, filter),
        }
    }

    /// How bold exploring is by default. The second of a pair costs nothing as long as the first is the best; of more options each counts, and
    /// what is not found early is hardly found late.
    fn default_boldness(&self, places: usize) -> f64 {
        if places <= 2 { 1.5 } else { 0.8 + 0.7 / (1.0 + self.choices / 500.0) }
    }

    /// Raises what is above its mean in the draw.
    fn embolden(&mut self, boldness: f64) {
        if boldness == 1.0 {
            return;
        }
        // The mean in the units of the values.
        let unit = self.draw.ln_scale.map(|ln_scale| (-ln_scale).exp());
        for (option, value) in self.draw.options.iter().zip(&mut self.draw.values) {
            let mean = self.means.get(*option);
            match unit {
                Some(unit) if *value > mean * unit => *value = mean * unit * (*value / (mean * unit)).powf(boldness),
                None if *value > mean.ln() => *value = mean.ln() + boldness * (*value - mean.ln()),
                _ => {}
            }
        }
    }

    /// The best of the draw, without some options.
    fn best_of_draw(&mut self, count: usize, filter: &Filter, without: &[OptionId]) -> Vec<Drawn> {
        let is_in = |option: OptionId| self.leaves(filter, option) && !without.contains(&option);
        let pairs = self.draw.values.iter().copied().zip(self.draw.options.iter().copied());
        let everything = matches!(filter, Filter::All) && self.retired_count == 0 && self.none.is_none() && without.is_empty();
        let mut best =
            if everything { largest(pairs, count) } else { largest(pairs.filter(|&(_, option)| is_in(option)), count) };
        best.iter_mut().for_each(|(value, _)| *value = self.draw.ln_lambda(*value));
        // Some of these may be among those left out: as many more are asked for, and they are dropped.
        let unexplored = filter.unexplored(&self.unexplored);
        let spare = without.iter().filter(|&&option| unexplored.contains(option)).count();
        unexplored.merge_largest(&mut best, count + spare, &mut self.rng);
        best.retain(|(_, option)| !without.contains(option));
        best.truncate(count);
        best
    }

    /// The largest posterior means; among options never shown of the same weight any.
    fn best_of_means(&mut self, count: usize, filter: &Filter) -> Vec<Drawn> {
        if count == 0 {
            return Vec::new();
        }
        let explored = self.draw.options.iter().copied().filter(|&option| self.leaves(filter, option));
        let mut best: Vec<(f64, f64, OptionId)> = explored.map(|option| (self.means.get(option), 0.0, option)).collect();
        let unexplored = filter.unexplored(&self.unexplored);
        for group in unexplored.groups() {
            let n = group.options.len();
            for place in rand::seq::index::sample(&mut self.rng, n, count.min(n)) {
                best.push((group.alpha, self.rng.random(), group.options[place]));
            }
        }
        let order = |x: &(f64, f64, OptionId), y: &(f64, f64, OptionId)| {
            y.0.total_cmp(&x.0).then(y.1.total_cmp(&x.1)).then(x.2.cmp(&y.2))
        };
        if count < best.len() {
            best.select_nth_unstable_by(count - 1, order);
            best.truncate(count);
        }
        best.sort_by(order);
        best.into_iter().map(|(mean, _, option)| (mean.ln(), option)).collect()
    }

    /// Any options.
    fn any(&mut self, count: usize, filter: &Filter) -> Vec<Drawn> {
        let explored: Vec<OptionId> = self.draw.options.iter().copied().filter(|&option| self.leaves(filter, option)).collect();
        let unexplored = filter.unexplored(&self.unexplored);
        let sizes: Vec<usize> = unexplored.groups().map(|group| group.options.len()).collect();
        let total = explored.len() + sizes.iter().sum::<usize>();
        let picked = rand::seq::index::sample(&mut self.rng, total, count.min(total));
        let at = |mut place: usize| {
            if place < explored.len() {
                return explored[place];
            }
            place -= explored.len();
            let mut groups = unexplored.groups();
            loop {
                match groups.next() {
                    Some(group) if place < group.options.len() => return group.options[place],
                    Some(group) => place -= group.options.len(),
                    None => return explored[0],
                }
            }
        };
        picked.into_iter().map(|place| (self.rng.random::<f64>(), at(place))).collect()
    }

    /// How many options a request leaves.
    fn eligible(&self, filter: &Filter) -> usize {
        let explored = self.draw.options.iter().filter(|&&option| self.leaves(filter, option)).count();
        explored + filter.unexplored(&self.unexplored).groups().map(|group| group.options.len()).sum::<usize>()
    }

    /// Propensities of what was formed: known, from the presentations before, or from a few draws.
    fn propensities(&mut self, policy: Policy, places: usize, filter: &Filter, drawn: &[Drawn]) -> (Vec<f64>, Propensities) {
        match policy {
            Policy::Greedy => return (vec![1.0; drawn.len()], Propensities::Exact),
            Policy::Uniform => {
                let chance = drawn.len() as f64 / self.eligible(filter).max(1) as f64;
                return (vec![chance; drawn.len()], Propensities::Exact);
            }
            // Others are eligible than before: what was presented then says little.
            _ if !matches!(filter, Filter::All) => {
                return self.fresh_propensities(policy, places, filter, drawn, FRESH_DRAWS);
            }
            _ => {}
        }
        self.frequencies.of_kind(places, policy);
        let expected = drawn.len() as f64 / self.active_count().max(1) as f64;
        let weight = |option: OptionId| self.unexplored.alpha(option);
        let chances = drawn.iter().map(|&(_, option)| match weight(option) {
            Some(alpha) => self.frequencies.estimate_pooled(alpha, self.unexplored.count_alike(option), expected),
            None => self.frequencies.estimate(option, expected),
        });
        let chances = chances.collect();
        let draws = self.frequencies.draws();
        let shown: Vec<(OptionId, Option<f64>)> = drawn.iter().map(|&(_, option)| (option, weight(option))).collect();
        self.frequencies.count(shown.into_iter());
        (chances, Propensities::Running { draws })
    }

    /// Propensities from draws made for them.
    fn fresh_propensities(
        &mut self,
        policy: Policy,
        places: usize,
        filter: &Filter,
        drawn: &[Drawn],
        draws: usize,
    ) -> (Vec<f64>, Propensities) {
        // Options never shown of a weight are alike: what one of them has is the part of all.
        let pool = |presenter: &Self, option: OptionId| {
            let unexplored = filter.unexplored(&presenter.unexplored);
            unexplored.alpha(option).map(|alpha| (alpha, unexplored.count_alike(option)))
        };
        let pools: Vec<Option<(f64, usize)>> = drawn.iter().map(|&(_, option)| pool(self, option)).collect();
        let mut counts = vec![0.0; drawn.len()];
        for _ in 0..draws {
            self.advance();
            let formed = self.form(policy, places, filter);
            for ((count, &(_, option)), own) in counts.iter_mut().zip(drawn).zip(&pools) {
                *count += match own {
                    None => f64::from(u8::from(formed.iter().any(|&(_, other)| other == option))),
                    Some((alpha, n)) => {
                        let alike = |&&(_, other): &&Drawn| pool(self, other).is_some_and(|(other, _)| other == *alpha);
                        formed.iter().filter(alike).count() as f64 / *n as f64
                    }
                };
            }
        }
        let expected = drawn.len() as f64 / self.eligible(filter).max(1) as f64;
        let chances = counts.into_iter().map(|count| ((count + expected) / (draws as f64 + 1.0)).min(1.0)).collect();
        (chances, Propensities::Fresh { draws })
    }

    /// Counts a choice of one option.
    ///
    /// # Errors
    /// If it was not presented.
    pub fn choose<N: Named>(&mut self, shown: &Shown, option: N) -> Result<Recorded, PresenterError> {
        let option = option.id(&self.options)?;
        self.record(vec![shown.presentation.choose(option)?])
    }

    /// Counts several options, each as a choice of its own.
    ///
    /// # Errors
    /// If one was not presented; nothing is counted then.
    pub fn choose_each<N: Named>(
        &mut self,
        shown: &Shown,
        options: impl IntoIterator<Item = N>,
    ) -> Result<Recorded, PresenterError> {
        let choices = options.into_iter().map(|option| Ok(shown.presentation.choose(option.id(&self.options)?)?));
        let choices = choices.collect::<Result<Vec<Choice>, PresenterError>>()?;
        self.record(choices)
    }

    /// Counts one choice in equal parts for several options.
    ///
    /// # Errors
    /// If one was not presented; nothing is counted then.
    pub fn choose_tied<N: Named>(
        &mut self,
        shown: &Shown,
        options: impl IntoIterator<Item = N>,
    ) -> Result<Recorded, PresenterError> {
        let ids = options.into_iter().map(|option| option.id(&self.options));
        let ids = ids.collect::<Result<Vec<OptionId>, PresenterError>>()?;
        self.record(vec![shown.presentation.tie(ids)?])
    }

    /// Counts that nothing was chosen.
    ///
    /// # Errors
    /// If there is no no-choice option in the presentation.
    pub fn choose_nothing(&mut self, shown: &Shown) -> Result<Recorded, PresenterError> {
        let none = self.none.ok_or(PresenterError::NoChoice)?;
        self.record(vec![shown.presentation.choose(none)?])
    }

    fn record(&mut self, choices: Vec<Choice>) -> Result<Recorded, PresenterError> {
        for (i, choice) in choices.iter().enumerate() {
            if let Err(error) = self.sampler.record(choice, 1.0) {
                // All or nothing.
                for choice in &choices[..i] {
                    self.take_back(choice, 1.0)?;
                }
                return Err(error.into());
            }
            self.explore(choice.presentation());
            self.count_alone(choice, 1.0);
        }
        self.choices += choices.len() as f64;
        self.learn();
        Ok(Recorded { choices, ln_faded: self.ln_faded })
    }

    /// Options that have data from now on.
    fn explore(&mut self, presentation: &Presentation) {
        if presentation.len() < 2 {
            return;
        }
        for &option in presentation.members() {
            if self.unexplored.contains(option) || self.none == Some(option) && !self.is_counted(option) {
                self.frequencies.adopt(option, self.weight(option), self.unexplored.count_alike(option));
                self.unexplored.remove(option);
                self.mass += self.weight(option);
            } else if self.retired[option.index()] && !self.is_counted(option) {
                self.mass += self.weight(option);
            }
            self.means.touch(option, self.weight(option));
        }
    }

    /// Whether the weight of an option is in the mass.
    fn is_counted(&self, option: OptionId) -> bool {
        self.means.knows(option)
    }

    fn count_alone(&mut self, choice: &Choice, weight: f64) {
        if let [option] = choice.presentation().members() {
            match self.alone.iter_mut().find(|(other, _)| other == option) {
                Some((_, count)) => *count = (*count + weight).max(0.0),
                None => self.alone.push((*option, weight.max(0.0))),
            }
        }
    }

    /// Takes back what was counted.
    ///
    /// # Errors
    /// If it was not counted, or was taken back before.
    pub fn withdraw(&mut self, recorded: &Recorded) -> Result<(), PresenterError> {
        let weight = (self.ln_faded - recorded.ln_faded).exp();
        for choice in &recorded.choices {
            self.take_back(choice, weight)?;
        }
        Ok(())
    }

    fn take_back(&mut self, choice: &Choice, weight: f64) -> Result<(), PresenterError> {
        self.sampler.withdraw(choice, weight)?;
        self.count_alone(choice, -weight);
        for &option in choice.presentation().members() {
            self.resettle(option);
        }
        Ok(())
    }

    /// After counts went down: an option may have lost its data.
    fn resettle(&mut self, option: OptionId) {
        if self.sampler.is_explored(option) || !self.is_counted(option) {
            return;
        }
        self.means.forget(option);
        self.mass = (self.mass - self.weight(option)).max(0.0);
        if self.is_active(option) {
            self.unexplored.insert(option, self.weight(option));
        }
    }

    /// Adds counts from elsewhere.
    ///
    /// # Errors
    /// If they are of options that are not known, or no counts of choices.
    pub fn merge(&mut self, statistics: &Statistics) -> Result<(), PresenterError> {
        self.sampler.merge(statistics)?;
        self.choices += statistics.total();
        for (members, count) in statistics.iter() {
            let presentation = Presentation::new(members.iter().copied())?;
            if let [option] = members {
                let choice = presentation.choose(*option)?;
                self.count_alone(&choice, count);
            }
            self.explore(&presentation);
        }
        Ok(())
    }

    /// Lets time pass: counts lose half their weight in a half-life.
    ///
    /// # Errors
    /// If the age is negative or not finite.
    pub fn age(&mut self, age: f64) -> Result<(), PresenterError> {
        if !(age >= 0.0 && age.is_finite()) {
            return Err(PresenterError::Time { value: age, what: "an age", bound: "at least 0" });
        }
        let Some(half_life) = self.half_life else { return Ok(()) };
        let ln_factor = -std::f64::consts::LN_2 * age / half_life;
        self.sampler.scale(ln_factor.exp())?;
        self.ln_faded += ln_factor;
        self.alone.iter_mut().for_each(|(_, count)| *count *= ln_factor.exp());
        let known: Vec<OptionId> = self.means.known().collect();
        known.into_iter().for_each(|option| self.resettle(option));
        Ok(())
    }

    /// A step on the prior's strength now and then.
    fn learn(&mut self) {
        let Some(every) = self.learning else { return };
        if self.until_learning > 0 {
            self.until_learning -= 1;
            return;
        }
        self.until_learning = every;
        if let Some(factor) = self.sampler.learn_prior(self.none) {
            let change = factor / self.factor;
            if change != 1.0 {
                let none = self.none.filter(|&none| self.is_counted(none)).map_or(0.0, |none| self.alpha[none.index()]);
                self.unexplored.scale_alpha(change, None);
                self.mass = (self.mass - none) * change + none;
                self.factor = factor;
            }
        }
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

/// Draws for the propensities of a request that leaves only some options.
const FRESH_DRAWS: usize = 32;

/// What a request leaves.
enum Filter {
    All,
    /// The marked ones, of which these were never shown.
    Only {
        unexplored: Unexplored,
    },
    /// All but the marked ones; those of them never shown are not among the presenter's now.
    Without {
        aside: Vec<OptionId>,
    },
}

impl Filter {
    fn unexplored<'a>(&'a self, all: &'a Unexplored) -> &'a Unexplored {
        match self {
            Self::All | Self::Without { .. } => all,
            Self::Only { unexplored } => unexplored,
        }
    }
}

/// An option by its name or its index.
pub trait Named {
    /// The option.
    ///
    /// # Errors
    /// If there is none.
    fn id(self, options: &Options) -> Result<OptionId, PresenterError>;
}

impl Named for OptionId {
    fn id(self, _: &Options) -> Result<OptionId, PresenterError> {
        Ok(self)
    }
}

impl Named for &str {
    fn id(self, options: &Options) -> Result<OptionId, PresenterError> {
        options.get(self).ok_or_else(|| PresenterError::Unknown { name: self.into() })
    }
}
