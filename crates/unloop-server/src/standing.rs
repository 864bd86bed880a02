//! What rankings and predictions are computed from: counts, names and weights of a context at a moment.

use std::sync::Arc;

use unloop::presenter::PresenterError;
use unloop::{OptionId, Options, Prior, Statistics};
use unloop_store::{Fold, Held};

use crate::catalog::Known;
use crate::context::Numbered;
use crate::problem::{Kind, Problem};
use crate::service::Service;

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
        let Numbered { names, alpha, statistics, .. } = Numbered::new(fold, known)?;
        let none_name = Known::none_name();
        let is_active = |name: &str| known.option(name).is_some_and(|option| option.active);
        let stays = |option: OptionId, name: &str| {
            is_active(name) || statistics.is_explored(option) || (known.settings.no_choice && name == none_name)
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
        let chosen: Vec<f64> = kept.iter().map(|&option| statistics.chosen(option)).collect();
        let column = |(members, count): (&[OptionId], f64)| {
            let mut members: Vec<OptionId> = members.iter().map(|member| places[member.index()]).collect();
            members.sort_unstable();
            (members, count)
        };
        let mut columns: Vec<(Vec<OptionId>, f64)> = statistics.iter().map(column).collect();
        columns.sort_unstable_by(|x, y| x.0.cmp(&y.0));
        let statistics = Statistics::from_margins(&chosen, columns)?;
        let alpha: Vec<f64> = kept.iter().map(|option| alpha[option.index()]).collect();
        let prior = Prior::per_option(alpha.clone())?;
        let unranked = own.iter().filter(|&(_, name)| !is_active(name)).map(|(option, _)| option).collect();
        let none = own.get(&none_name);
        Ok(Some(Self { prior, alpha, statistics, unranked, none, names: own }))
    }
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
    /// As a context stands now. The counts are copied, off the async threads.
    pub(crate) async fn standing(&self, known: &Arc<Known>, context: Option<&str>) -> Result<(At, Option<Standing>), Problem> {
        // Before the copy: all of it is in there.
        let taken_in = self.position();
        let fold = self.contexts.with(known.id, context, |loaded| crate::context::aside(true, || loaded.fold().clone())).await?;
        let known = Arc::clone(known);
        let made = tokio::task::spawn_blocking(move || {
            Standing::new(&fold, &known)
                .map(|standing| (At { seq: taken_in.max(fold.position()), counted: fold.position() }, standing))
        })
        .await;
        match made {
            Ok(Ok(standing)) => Ok(standing),
            Ok(Err(error)) => Err(internal(&error)),
            Err(error) => Err(internal(&error)),
        }
    }
}

/// Something that should not happen: logged, and told in general terms.
pub(crate) fn internal(error: &dyn std::fmt::Display) -> Problem {
    tracing::error!(%error, "a computation failed");
    Problem::new(Kind::Internal, "a computation failed; the server's log tells more")
}
