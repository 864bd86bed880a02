//! How probable each option was to be in a presentation.

use super::belief::{Frequencies, Whose};
use super::forming::{Drawn, Filter};
use super::{Policy, Presenter, Propensities};
use crate::option::OptionId;

/// Draws for the propensities of a request that leaves only options of which recent presentations say little.
const FRESH_DRAWS: usize = 32;
/// How far recent frequencies may be scaled to what a request leaves: beyond, they were too few of what is left.
const MOST_SCALE: f64 = 4.0;

impl Presenter {
    /// Propensities of what was formed: known, from the presentations before, or from a few draws.
    pub(super) fn propensities(
        &mut self,
        policy: Policy,
        places: usize,
        filter: &Filter,
        drawn: &[Drawn],
    ) -> (Vec<f64>, Propensities) {
        match policy {
            Policy::Greedy => return (self.greedy_propensities(filter, drawn), Propensities::Exact),
            Policy::Uniform => {
                let chance = drawn.len() as f64 / self.eligible(filter).max(1) as f64;
                return (vec![chance; drawn.len()], Propensities::Exact);
            }
            Policy::Thompson | Policy::Anchored { .. } => {}
        }
        // What a request leaves out says nothing of how often it is presented otherwise.
        let is_plain = matches!(filter, Filter::All);
        self.frequencies_of(is_plain).of_kind(places, policy);
        let expected = drawn.len() as f64 / self.active_count().max(1) as f64;
        // Others are eligible than before: what those left had of the places is now the whole.
        let left = self.share_of_what_is_left(filter, places as f64, expected);
        let scale = drawn.len() as f64 / left;
        let mut fewest = u64::MAX;
        let whose: Vec<Whose> = drawn.iter().map(|&(_, option)| self.whose(filter, option)).collect();
        let chances = whose.iter().map(|&whose| {
            let (chance, draws) = self.frequencies_of(is_plain).estimate(whose, expected);
            fewest = fewest.min(draws);
            (chance * scale).min(1.0)
        });
        let chances = chances.collect();
        self.frequencies_of(is_plain).count(whose.into_iter());
        if !is_plain && scale > MOST_SCALE {
            return self.fresh_propensities(policy, places, filter, drawn, FRESH_DRAWS);
        }
        (chances, Propensities::Running { draws: fewest.min(usize::MAX as u64) as usize })
    }

    /// How often options were presented of late, by requests that leave all of them or by others.
    fn frequencies_of(&mut self, is_plain: bool) -> &mut Frequencies {
        if is_plain { &mut self.frequencies } else { &mut self.filtered }
    }

    /// How many places the options that a request leaves took of late, on average. O(1) for each option that it names.
    fn share_of_what_is_left(&self, filter: &Filter, places: f64, expected: f64) -> f64 {
        let frequencies = if matches!(filter, Filter::All) { &self.frequencies } else { &self.filtered };
        let share = |option: OptionId| frequencies.estimate(self.whose(filter, option), expected).0;
        match filter {
            Filter::All => places.min(self.active_count() as f64),
            Filter::Only { named, .. } => named.iter().map(|&option| share(option)).sum(),
            Filter::Without { named, .. } => {
                let active = named.iter().filter(|&&option| self.is_active(option));
                places - active.map(|&option| share(option)).sum::<f64>()
            }
        }
        .max(f64::MIN_POSITIVE)
    }

    /// Whose tally tells of an option.
    fn whose(&self, filter: &Filter, option: OptionId) -> Whose {
        if self.means.knows(option) {
            return Whose::Own(option);
        }
        // By the weight as it was given: a learned one moves, and those of a weight stay alike.
        let alpha = self.alpha[option.index()];
        // All of them, whatever the request leaves: as with options with data, a tally is of all presentations.
        let aside = if let Filter::Without { aside, .. } = filter { &aside[..] } else { &[] };
        let alike = aside.iter().filter(|other| self.alpha[other.index()] == alpha).count();
        Whose::Pooled { alpha, count: self.unexplored.count_of(self.weight(option)) + alike }
    }

    /// The largest means are sure to be there; of those never shown that are alike any.
    fn greedy_propensities(&self, filter: &Filter, drawn: &[Drawn]) -> Vec<f64> {
        let unexplored = filter.unexplored(&self.unexplored);
        let alike = |option: OptionId| unexplored.alpha(option).map(f64::to_bits);
        let chance = |&(_, option): &Drawn| {
            let Some(weight) = alike(option) else { return 1.0 };
            let shown = drawn.iter().filter(|&&(_, other)| alike(other) == Some(weight)).count();
            shown as f64 / unexplored.count_alike(option).max(1) as f64
        };
        drawn.iter().map(chance).collect()
    }

    /// Propensities from draws made for them.
    pub(super) fn fresh_propensities(
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
}
