//! Rankings: computed beside the requests, one at a time, kept with the position they are for.
//!
//! Of a big context one takes seconds. Whoever asks waits a little for a new one, and gets the last one if there is one: with its position and age.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use lru::LruCache;
use serde::Serialize;
use tokio::sync::{Semaphore, watch};
use unloop::ranking::{RankedOption, Ranking, RankingSettings};
use unloop_store::{CatalogId, Held};
use utoipa::ToSchema;

use crate::catalog::Known;
use crate::lock::lock;
use crate::now;
use crate::problem::{Kind, Problem};
use crate::service::{Service, Shared};
use crate::standing::{At, Standing, internal};

/// n of the chance to be among the best n, by default.
pub(crate) const TOP: usize = 5;
/// How long one waits for a new one where there is an old one.
const PATIENCE: Duration = Duration::from_millis(250);
/// Of the time for a request this is left to answer in.
const MARGIN: Duration = Duration::from_millis(500);
/// Rankings kept at most, whatever their sizes.
const MOST: usize = 1_024;

/// An option of a ranking, as `unloop rank --json` has it.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct RankingRow {
    /// The option.
    pub(crate) option: String,
    /// Its place by mean share, from 1.
    rank: usize,
    /// Posterior mean of its share.
    pub(crate) mean: f64,
    /// Posterior standard deviation of its share.
    sd: f64,
    /// Lower end of the 90 % interval of its share.
    low: f64,
    /// Upper end.
    high: f64,
    /// Its share at the mode; null where that was not reached.
    map: Option<f64>,
    /// Probability that it is the best.
    pub(crate) p_best: f64,
    /// Probability that it is among the best `top`.
    p_top: f64,
    /// Lower end of the interval of its rank.
    rank_low: usize,
    /// Upper end.
    rank_high: usize,
    /// Times it was in an answered presentation.
    shown: f64,
    /// Times it was chosen.
    chosen: f64,
}

impl RankingRow {
    fn new(standing: &Standing, row: &RankedOption) -> Self {
        Self {
            option: standing.names.name(row.option).unwrap_or_default().to_owned(),
            rank: row.rank,
            mean: row.mean,
            sd: row.sd,
            low: row.low,
            high: row.high,
            map: row.map,
            p_best: row.p_best,
            p_top: row.p_top,
            rank_low: row.rank_low,
            rank_high: row.rank_high,
            shown: row.shown,
            chosen: row.chosen,
        }
    }
}

/// Choosing nothing, in a ranking.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct NoneRow {
    /// Posterior mean of its share.
    mean: f64,
    /// Posterior standard deviation.
    sd: f64,
    /// Lower end of the 90 % interval.
    low: f64,
    /// Upper end.
    high: f64,
    /// Times nothing was chosen.
    chosen: f64,
}

/// A ranking.
pub(crate) struct Ranked {
    /// Everything up to here is in it.
    pub(crate) seq: u64,
    /// The position of the counts it is of.
    counted: u64,
    /// The catalog's revision it was computed at.
    revision: u64,
    /// When, in milliseconds since 1970.
    pub(crate) computed: i64,
    pub(crate) rows: Vec<RankingRow>,
    pub(crate) none: Option<NoneRow>,
    /// Presentations that were answered, and how many different ones.
    pub(crate) presentations: f64,
    pub(crate) distinct: usize,
    pub(crate) components: usize,
    pub(crate) draws: usize,
    pub(crate) rhat_max: f64,
    pub(crate) ess_min: f64,
}

impl Ranked {
    fn bytes(&self) -> usize {
        size_of::<Self>() + self.rows.iter().map(|row| size_of::<RankingRow>() + row.option.capacity()).sum::<usize>()
    }

    fn new(standing: Option<Standing>, at: At, revision: u64, top: usize) -> Result<Self, Problem> {
        let empty = Self {
            seq: at.seq,
            counted: at.counted,
            revision,
            computed: now(),
            rows: Vec::new(),
            none: None,
            presentations: 0.0,
            distinct: 0,
            components: 0,
            draws: 0,
            rhat_max: f64::NAN,
            ess_min: f64::NAN,
        };
        let Some(standing) = standing else { return Ok(empty) };
        let settings =
            RankingSettings { top, evidence_draws: None, unranked: standing.unranked.clone(), ..RankingSettings::default() };
        let ranking = Ranking::new(&standing.prior, &standing.statistics, &settings).map_err(|error| internal(&error))?;
        let none = ranking.unranked.iter().find(|row| Some(row.option) == standing.none);
        Ok(Self {
            rows: ranking.options.iter().map(|row| RankingRow::new(&standing, row)).collect(),
            none: none.map(|row| NoneRow { mean: row.mean, sd: row.sd, low: row.low, high: row.high, chosen: row.chosen }),
            presentations: ranking.presentations,
            distinct: ranking.distinct,
            components: ranking.components,
            draws: ranking.draws,
            rhat_max: ranking.report.r_hat,
            ess_min: ranking.report.bulk_ess.min(ranking.report.tail_ess),
            ..empty
        })
    }
}

type Place = (CatalogId, Option<String>, usize);

/// One ranking, and whether another one is on its way.
struct Slot {
    done: Mutex<Done>,
    /// Raised whenever one was computed, or could not be.
    turns: watch::Sender<u64>,
}

#[derive(Default)]
struct Done {
    last: Option<Arc<Ranked>>,
    failed: Option<Problem>,
    running: bool,
}

/// All rankings that are kept.
pub(crate) struct Rankings {
    slots: Mutex<LruCache<Place, Arc<Slot>>>,
    most_bytes: usize,
    /// One at a time: the other core presents.
    turn: Arc<Semaphore>,
}

impl Rankings {
    pub(crate) fn new(most_bytes: usize) -> Self {
        Self { slots: Mutex::new(LruCache::unbounded()), most_bytes, turn: Arc::new(Semaphore::new(1)) }
    }

    fn slot(&self, place: Place) -> Arc<Slot> {
        let mut slots = lock(&self.slots);
        let fresh = || Arc::new(Slot { done: Mutex::default(), turns: watch::Sender::new(0) });
        let slot = Arc::clone(slots.get_or_insert(place, fresh));
        let size = |slot: &Arc<Slot>| lock(&slot.done).last.as_ref().map_or(0, |ranked| ranked.bytes());
        // Few enough to be counted each time one is new.
        while slots.len() > MOST || (slots.len() > 1 && slots.iter().map(|(_, slot)| size(slot)).sum::<usize>() > self.most_bytes)
        {
            slots.pop_lru();
        }
        slot
    }

    /// Waits for its turn to compute something long.
    pub(crate) async fn turn(&self) -> Option<tokio::sync::OwnedSemaphorePermit> {
        Arc::clone(&self.turn).acquire_owned().await.ok()
    }
}

impl Service {
    /// The ranking of a context, or of all, and up to which position it holds: as it is now, or as it was a while ago if that takes long to
    /// compute. Nothing of it is from before an erasure.
    pub(crate) async fn ranking(
        self: &Shared,
        known: &Arc<Known>,
        context: Option<&str>,
        top: usize,
        at_least: u64,
    ) -> Result<(Arc<Ranked>, u64), Problem> {
        let start = Instant::now();
        let limit = self.settings.request_limit.saturating_sub(MARGIN);
        let slot = self.rankings.slot((known.id, context.map(str::to_owned), top));
        let mut wanted = None;
        loop {
            let mut turns = slot.turns.subscribe();
            // In this order: everything up to here is in the counts.
            let taken_in = self.position();
            let counted = self.contexts.with(known.id, context, |loaded| loaded.fold().position()).await?;
            // What was acknowledged here before it was asked for is in it.
            let wanted = *wanted.get_or_insert(counted);
            let least = at_least.max(self.contexts.erased(known.id));
            let usable = {
                let mut done = lock(&slot.done);
                let last = done.last.clone().filter(|own| own.revision == known.revision);
                if let Some(own) = last.clone().filter(|own| own.counted >= counted) {
                    // Nothing came since: it holds for all that was taken in.
                    let seq = own.seq.max(taken_in);
                    return Ok((own, seq));
                }
                let usable = last.filter(|own| own.seq >= least);
                if let Some(own) = usable.clone().filter(|own| own.counted >= wanted) {
                    let seq = own.seq;
                    return Ok((own, seq));
                }
                if let Some(problem) = done.failed.take() {
                    return Err(problem);
                }
                if !done.running {
                    done.running = true;
                    self.compute(known, context, top, &slot);
                }
                usable
            };
            let patience = if usable.is_some() { PATIENCE.min(limit) } else { limit.saturating_sub(start.elapsed()) };
            if tokio::time::timeout(patience, turns.changed()).await.is_err() {
                let late = || Problem::new(Kind::Computing, "it takes longer than a request may: ask again");
                return usable.map(|own| (Arc::clone(&own), own.seq)).ok_or_else(late);
            }
        }
    }

    /// Computes a ranking beside the requests.
    fn compute(self: &Shared, known: &Arc<Known>, context: Option<&str>, top: usize, slot: &Arc<Slot>) {
        let (service, known, context, slot) = (Arc::clone(self), Arc::clone(known), context.map(str::to_owned), Arc::clone(slot));
        tokio::spawn(async move {
            let _turn = service.rankings.turn().await;
            let start = Instant::now();
            let ranked = match service.standing(&known, context.as_deref()).await {
                Ok((at, standing)) => {
                    let revision = known.revision;
                    let made = tokio::task::spawn_blocking(move || Ranked::new(standing, at, revision, top)).await;
                    made.unwrap_or_else(|error| Err(internal(&error)))
                }
                Err(problem) => Err(problem),
            };
            service.metrics.ranked(start.elapsed());
            {
                let mut done = lock(&slot.done);
                done.running = false;
                match ranked {
                    Ok(ranked) => (done.last, done.failed) = (Some(Arc::new(ranked)), None),
                    Err(problem) => done.failed = Some(problem),
                }
            }
            slot.turns.send_modify(|turn| *turn += 1);
        });
    }
}
