//! What rankings and predictions are computed from: counts, names and weights of a context at a moment.

use std::sync::Arc;

use unloop::presenter::PresenterError;
use unloop::{OptionId, Options, Prior, Statistics, StatisticsError};
use unloop_store::{Fold, Held};

use crate::beside::compute;
use crate::catalog::Known;
use crate::context::{Loaded, Numbering, aside};
use crate::problem::{Kind, Problem};
use crate::service::Service;

/// Distinct presentations with which a copy of the counts, 15 bytes for each, keeps an async thread too long.
const MANY: usize = 50_000;

/// Counts over the options with history or active: shares are over these.
pub(crate) struct Standing {
    pub(crate) names: Options,
    pub(crate) prior: Prior,
    /// Its weights.
    pub(crate) alpha: Vec<f64>,
    pub(crate) statistics: Statistics,
    /// Options that take no place: retired ones, those that are in no catalog, the one for choosing nothing.
    pub(crate) unranked: Vec<OptionId>,
    pub(crate) none: Option<OptionId>,
}

impl Standing {
    /// None if there are no options.
    fn new(fold: &Fold, known: &Known) -> Result<Option<Self>, PresenterError> {
        let Numbering { names, alpha, numbers } = Numbering::new(fold, known)?;
        let statistics = fold.statistics();
        let mut counted: Vec<Option<OptionId>> = vec![None; names.len()];
        numbers.iter().zip(0..).for_each(|(number, own)| counted[number.index()] = Some(OptionId::new(own)));
        let none_name = Known::none_name();
        let is_active = |name: &str| known.option(name).is_some_and(|option| option.active);
        let stays = |option: OptionId, name: &str| {
            let explored = || counted[option.index()].is_some_and(|own| statistics.is_explored(own));
            is_active(name) || explored() || (known.settings.no_choice && name == none_name)
        };
        let mut kept: Vec<(usize, &str, OptionId)> = names
            .iter()
            .filter(|&(option, name)| stays(option, name))
            .map(|(option, name)| (option.index().min(known.names.len()), name, option))
            .collect();
        // Those of the catalog as they are there, others by name: the same on every server, to the last digit, whatever came first.
        kept.sort_unstable();
        let kept: Vec<OptionId> = kept.into_iter().map(|(.., option)| option).collect();
        if kept.is_empty() {
            return Ok(None);
        }
        let mut places = vec![OptionId::new(0); names.len()];
        let mut own = Options::new();
        for &option in &kept {
            places[option.index()] = own.intern(names.name(option).unwrap_or_default())?;
        }
        let chosen: Vec<f64> =
            kept.iter().map(|&option| counted[option.index()].map_or(0.0, |own| statistics.chosen(own))).collect();
        let statistics = ordered(&chosen, statistics, |option| places[numbers[option.index()].index()])?;
        let alpha: Vec<f64> = kept.iter().map(|option| alpha[option.index()]).collect();
        let prior = Prior::per_option(alpha.clone())?;
        let unranked = own.iter().filter(|&(_, name)| !is_active(name)).map(|(option, _)| option).collect();
        let none = own.get(&none_name);
        Ok(Some(Self { prior, alpha, statistics, unranked, none, names: own }))
    }
}

/// Statistics in other numbers, presentations in the order of their members. Members lie end to end until then: there may be millions of sets.
fn ordered(chosen: &[f64], statistics: &Statistics, place: impl Fn(OptionId) -> OptionId) -> Result<Statistics, StatisticsError> {
    let mut members: Vec<OptionId> = Vec::with_capacity(statistics.iter().map(|(set, _)| set.len()).sum());
    let mut sets: Vec<(usize, usize, f64)> = Vec::with_capacity(statistics.distinct());
    for (set, count) in statistics.iter() {
        let start = members.len();
        members.extend(set.iter().map(|&option| place(option)));
        members[start..].sort_unstable();
        sets.push((start, members.len(), count));
    }
    sets.sort_unstable_by(|x, y| members[x.0..x.1].cmp(&members[y.0..y.1]));
    Statistics::from_margins(chosen, sets.into_iter().map(|(start, end, count)| (members[start..end].iter().copied(), count)))
}

/// Where counts stand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At {
    /// Everything up to here is in them.
    pub(crate) seq: u64,
    /// The last event of their own, or where they were loaded.
    pub(crate) counted: u64,
}

impl Service {
    /// As a context stands now.
    pub(crate) async fn standing(&self, known: &Arc<Known>, context: Option<&str>) -> Result<(At, Option<Standing>), Problem> {
        // Before the copy: all of it is in there.
        let taken_in = self.position();
        let copy = |loaded: &mut Loaded| {
            let many = loaded.fold().statistics().distinct() > MANY;
            aside(many, || loaded.fold().clone())
        };
        let fold = self.contexts.with(known.id, context, copy).await?;
        let known = Arc::clone(known);
        let made = compute(move || {
            Standing::new(&fold, &known)
                .map(|standing| (At { seq: taken_in.max(fold.position()), counted: fold.position() }, standing))
        });
        made.await?.map_err(|error| internal(&error))
    }
}

/// Something that should not happen: logged, and told in general terms.
pub(crate) fn internal(error: &dyn std::fmt::Display) -> Problem {
    tracing::error!(%error, "a computation failed");
    Problem::new(Kind::Internal, "a computation failed; the server's log tells more")
}
