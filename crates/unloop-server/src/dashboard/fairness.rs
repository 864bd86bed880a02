//! The fairness panel: how often each option was served and shown, where it stands against its prior, how likely it is to be presented next; and
//! what a counter that does not look at what was shown would have made of the same choices.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use unloop_plot::figures::{count, percent};
use unloop_store::CatalogId;

use super::board::{View, in_a_moment};
use crate::beside::compute;
use crate::catalog::{Known, PolicyName};
use crate::context::{Asked, aside};
use crate::lock::lock;
use crate::now;
use crate::problem::Problem;
use crate::rankings::Ranked;
use crate::service::Service;

/// Rows of the panel, beside those that were picked.
const ROWS: usize = 30;
/// Presentations that are formed to see what would be presented, where there is no better way to know.
const ROUNDS: usize = 400;
/// The blind counter starves an option that it would present less than a tenth as often as we do, and that we would present now and then at all.
const STARVED: f64 = 0.1;
const NOW_AND_THEN: f64 = 0.01;
/// Trends of the minute that is not over are not added up yet: milliseconds.
const MINUTE: i64 = 60_000;

/// How often each option was served, by its number.
type Served = HashMap<u32, f64>;

/// How often options were served, by the trends up to a time: what is older than that does not change.
#[derive(Default)]
pub(super) struct ServedTotals {
    totals: Mutex<HashMap<CatalogId, (i64, Served)>>,
}

/// The panel.
pub(super) struct Fairness {
    pub(super) rows: Vec<Row>,
    /// How many options there are, were never shown, and would have been starved.
    pub(super) total: usize,
    pub(super) unseen: usize,
    pub(super) starved: usize,
    pub(super) has_blind: bool,
    pub(super) size: u32,
    pub(super) policy: &'static str,
    pub(super) is_known: bool,
}

/// An option in the panel.
pub(super) struct Row {
    pub(super) name: String,
    pub(super) served: String,
    pub(super) shown: String,
    pub(super) prior: String,
    pub(super) posterior: String,
    pub(super) next: String,
    pub(super) next_part: String,
    pub(super) blind: String,
    pub(super) blind_next: String,
    pub(super) blind_part: String,
    pub(super) is_unseen: bool,
    pub(super) is_starved: bool,
}

/// Numbers of an option in the panel: for tables and for files.
pub(super) struct Figures {
    pub(super) option: String,
    pub(super) rank: usize,
    pub(super) served: f64,
    pub(super) shown: f64,
    pub(super) chosen: f64,
    pub(super) prior: f64,
    pub(super) posterior: f64,
    /// The chance to be presented next.
    pub(super) next: f64,
    /// What the blind counter believes, and the chance that it presents it next.
    pub(super) blind: Option<(f64, f64)>,
}

impl Figures {
    fn is_unseen(&self) -> bool {
        self.shown == 0.0
    }

    /// Whether the blind counter would have starved it.
    pub(super) fn is_starved(&self) -> bool {
        self.blind.is_some_and(|(_, next)| self.next >= NOW_AND_THEN && next < STARVED * self.next)
    }
}

impl Fairness {
    pub(super) fn new(known: &Known, view: &View, figures: &[Figures], is_known: bool) -> Self {
        let mut seen: Vec<&Figures> = figures.iter().collect();
        // What needs looking at first; else by rank.
        seen.sort_by_key(|own| (!own.is_starved(), !own.is_unseen(), own.rank));
        let places = seen.into_iter().enumerate();
        let rows = places.filter(|(place, own)| {
            if view.search.is_empty() {
                *place < ROWS || view.is_picked(&own.option)
            } else {
                view.holds(known, &own.option, usize::MAX)
            }
        });
        let part = |share: f64| format!("{:.1}%", 100.0 * share);
        let row = |own: &Figures| Row {
            name: own.option.clone(),
            served: count(own.served),
            shown: count(own.shown),
            prior: percent(own.prior),
            posterior: percent(own.posterior),
            next: percent(own.next),
            next_part: part(own.next),
            blind: own.blind.map_or_else(String::new, |(mean, _)| percent(mean)),
            blind_next: own.blind.map_or_else(String::new, |(_, next)| percent(next)),
            blind_part: part(own.blind.map_or(0.0, |(_, next)| next)),
            is_unseen: own.is_unseen(),
            is_starved: own.is_starved(),
        };
        Self {
            rows: rows.take(2 * ROWS).map(|(_, own)| row(own)).collect(),
            total: figures.len(),
            unseen: figures.iter().filter(|own| own.is_unseen()).count(),
            starved: figures.iter().filter(|own| own.is_starved()).count(),
            has_blind: figures.iter().any(|own| own.blind.is_some()),
            size: known.settings.size,
            policy: known.settings.policy.name(),
            is_known,
        }
    }
}

impl Service {
    /// The figures of a catalog's options.
    pub(super) async fn fairness(&self, known: &Arc<Known>, ranked: &Arc<Ranked>) -> Result<Vec<Figures>, Problem> {
        let served = self.served(known).await?;
        let next = self.next_chances(known, ranked).await?;
        let (own, top) = (Arc::clone(ranked), known.settings.size as usize);
        // The first time it takes as long as a small ranking: then the panel has it when it is asked for again.
        let count = move || own.grounds.as_ref().map(|grounds| grounds.blind(top).to_vec());
        let blind = in_a_moment(compute(count)).await;
        let blind = blind.and_then(Result::ok).flatten().unwrap_or_default();
        let figures = ranked.rows.iter().zip(next).map(|(row, next)| {
            let grounds = ranked.grounds.as_ref();
            let place = grounds.and_then(|grounds| grounds.names.get(&row.option));
            Figures {
                option: row.option.clone(),
                rank: row.rank,
                served: known.option(&row.option).and_then(|own| served.get(&own.index)).copied().unwrap_or(0.0),
                shown: row.shown,
                chosen: row.chosen,
                prior: grounds.zip(place).map_or(f64::NAN, |(grounds, option)| grounds.prior_share(option)),
                posterior: row.mean,
                next,
                blind: place.and_then(|option| blind.get(option.index())).map(|own| (own.mean, own.p_top)),
            }
        });
        Ok(figures.collect())
    }

    /// How often each option was served, by its number: what is noted, and what is not yet.
    async fn served(&self, known: &Known) -> Result<Served, Problem> {
        let (upto, mut totals) = {
            let all = lock(&self.dashboard.served.totals);
            all.get(&known.id).cloned().unwrap_or((i64::MIN, Served::new()))
        };
        // Of minutes that are over: those that are not may still grow.
        let over = now() - 2 * MINUTE;
        for (option, served) in self.store.served(known.id, upto, over).await? {
            *totals.entry(option).or_default() += served;
        }
        lock(&self.dashboard.served.totals).insert(known.id, (over, totals.clone()));
        let late = self.store.served(known.id, over, i64::MAX).await?;
        for (option, served) in late.into_iter().chain(self.trends.unwritten(known.id)) {
            *totals.entry(option).or_default() += served;
        }
        Ok(totals)
    }

    /// The chance of each ranked option to be presented next, to nobody in particular, in the order of the ranking.
    async fn next_chances(&self, known: &Arc<Known>, ranked: &Ranked) -> Result<Vec<f64>, Problem> {
        let size = known.settings.size as usize;
        let count = ranked.rows.len();
        Ok(match known.settings.policy {
            // What Thompson sampling presents are the best of a draw: the ranking has their chances, also of those never shown.
            PolicyName::Thompson => ranked.rows.iter().map(|row| row.p_top).collect(),
            PolicyName::Uniform => vec![(size as f64 / count.max(1) as f64).min(1.0); count],
            PolicyName::Anchored | PolicyName::Greedy => {
                let policy = known.settings.policy.into();
                let asked = Asked { size, policy, order: known.settings.order.into(), ..Asked::default() };
                let seed = self.seed_of(known.id, None);
                let formed = self.presenting(known, None, |loaded| {
                    aside(true, || {
                        let mut times: HashMap<String, f64> = HashMap::new();
                        for _ in 0..ROUNDS {
                            for (name, _) in loaded.present(known, seed, &asked).unwrap_or_default() {
                                *times.entry(name).or_default() += 1.0;
                            }
                        }
                        times
                    })
                });
                let times = formed.await?;
                ranked.rows.iter().map(|row| times.get(&row.option).copied().unwrap_or(0.0) / ROUNDS as f64).collect()
            }
        })
    }
}
