//! How probable each option was to be in a presentation.

use super::forming::{Drawn, Filter};
use super::{Policy, Presenter, Propensities};
use crate::option::OptionId;

/// Draws for the propensities of a request that leaves only some options.
const FRESH_DRAWS: usize = 32;

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
        // By the weight as it was given: a learned one moves, and those of a weight stay alike.
        let weight = |option: OptionId| self.unexplored.contains(option).then(|| self.alpha[option.index()]);
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
