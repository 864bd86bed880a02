//! Rankings: computed beside the requests, one big one at a time, kept with the position they are for.
//!
//! Of a big context one takes seconds. Whoever asks waits a little for a new one, and gets the last one if there is one: with its position and age.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use lru::LruCache;
use serde::Serialize;
use tokio::sync::{Semaphore, watch};
use unloop::ranking::{RankedOption, Ranking, RankingSettings};
use unloop::sampler::SampleSettings;
use unloop_store::{CatalogId, Held};
use utoipa::ToSchema;

use crate::beside::compute;
use crate::catalog::Known;
use crate::context::Loaded;
use crate::grounds::Grounds;
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
/// Visits of members of presentations that draws may take, about a nanosecond each: beyond, they come from around the mode. 10⁶ distinct
/// presentations of 5 out of 1 000 options take 93 s by trajectories, and 5 s so.
pub(crate) const MOST_VISITS: f64 = 4e9;
/// Distinct presentations with which a ranking does not wait behind a big one.
const SMALL: usize = 5_000;
/// Rankings kept at most, whatever their sizes.
const MOST: usize = 1_024;

/// An option of a ranking, as `unloop rank --json` has it.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct RankingRow {
    /// The option.
    pub(crate) option: String,
    /// Its place by mean share, from 1.
    pub(crate) rank: usize,
    /// Posterior mean of its share.
    pub(crate) mean: f64,
    /// Posterior standard deviation of its share.
    pub(crate) sd: f64,
    /// Lower end of the 90 % interval of its share.
    pub(crate) low: f64,
    /// Upper end.
    pub(crate) high: f64,
    /// Its share at the mode; null where that was not reached.
    pub(crate) map: Option<f64>,
    /// Probability that it is the best.
    pub(crate) p_best: f64,
    /// Probability that it is among the best `top`.
    pub(crate) p_top: f64,
    /// Lower end of the interval of its rank.
    pub(crate) rank_low: usize,
    /// Upper end.
    pub(crate) rank_high: usize,
    /// Times it was in an answered presentation.
    pub(crate) shown: f64,
    /// Times it was chosen.
    pub(crate) chosen: f64,
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
    pub(crate) mean: f64,
    /// Posterior standard deviation.
    pub(crate) sd: f64,
    /// Lower end of the 90 % interval.
    pub(crate) low: f64,
    /// Upper end.
    pub(crate) high: f64,
    /// Times nothing was chosen.
    pub(crate) chosen: f64,
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
    /// How long it took.
    pub(crate) took: Duration,
    /// What it was made from, of all contexts.
    pub(crate) grounds: Option<Grounds>,
}

impl Ranked {
    fn bytes(&self) -> usize {
        let rows = self.rows.iter().map(|row| size_of::<RankingRow>() + row.option.capacity()).sum::<usize>();
        size_of::<Self>() + rows + self.grounds.as_ref().map_or(0, Grounds::bytes)
    }

    fn new(standing: Option<Standing>, at: At, revision: u64, top: usize, of_all: bool) -> Result<Self, Problem> {
        let start = Instant::now();
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
            took: Duration::ZERO,
            grounds: None,
        };
        let Some(standing) = standing else { return Ok(empty) };
        let sample = SampleSettings { visits: Some(MOST_VISITS), ..SampleSettings::default() };
        let unranked = standing.unranked.clone();
        let settings = RankingSettings { top, evidence_draws: None, unranked, sample, ..RankingSettings::default() };
        let made = Ranking::with_sample(&standing.prior, &standing.statistics, &settings);
        let (ranking, sample) = made.map_err(|error| internal(&error))?;
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
            grounds: of_all.then(|| Grounds::new(standing, &sample.draws)),
            took: start.elapsed(),
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
    /// One big one and one small one at a time: the other cores present.
    big: Arc<Semaphore>,
    small: Arc<Semaphore>,
}

impl Rankings {
    pub(crate) fn new(most_bytes: usize) -> Self {
        let one = || Arc::new(Semaphore::new(1));
        Self { slots: Mutex::new(LruCache::unbounded()), most_bytes, big: one(), small: one() }
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

    /// The last one of all contexts of a catalog, if there is one.
    pub(crate) fn kept(&self, catalog: CatalogId, top: usize) -> Option<Arc<Ranked>> {
        let slots = lock(&self.slots);
        let slot = Arc::clone(slots.peek(&(catalog, None, top))?);
        drop(slots);
        lock(&slot.done).last.clone()
    }

    /// Waits for its turn to compute something of so many distinct presentations.
    pub(crate) async fn turn(&self, distinct: usize) -> Option<tokio::sync::OwnedSemaphorePermit> {
        let turn = if distinct > SMALL { &self.big } else { &self.small };
        Arc::clone(turn).acquire_owned().await.ok()
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
        self.ranking_within(known, context, top, at_least, self.settings.request_limit.saturating_sub(MARGIN)).await
    }

    /// As [`ranking`](Self::ranking), by whoever does not wait so long.
    pub(crate) async fn ranking_within(
        self: &Shared,
        known: &Arc<Known>,
        context: Option<&str>,
        top: usize,
        at_least: u64,
        limit: Duration,
    ) -> Result<(Arc<Ranked>, u64), Problem> {
        let start = Instant::now();
        let slot = self.rankings.slot((known.id, context.map(str::to_owned), top));
        let mut wanted = None;
        loop {
            let mut turns = slot.turns.subscribe();
            // In this order: everything up to here is in the counts.
            let taken_in = self.position();
            let look = |loaded: &mut Loaded| (loaded.fold().position(), loaded.fold().statistics().distinct());
            let (counted, distinct) = self.contexts.with(known.id, context, look).await?;
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
                    self.compute(known, context, top, distinct, &slot);
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
    fn compute(self: &Shared, known: &Arc<Known>, context: Option<&str>, top: usize, distinct: usize, slot: &Arc<Slot>) {
        let (service, known, context, slot) = (Arc::clone(self), Arc::clone(known), context.map(str::to_owned), Arc::clone(slot));
        tokio::spawn(async move {
            let _turn = service.rankings.turn(distinct).await;
            let start = Instant::now();
            let ranked = match service.standing(&known, context.as_deref()).await {
                Ok((at, standing)) => {
                    let (revision, of_all) = (known.revision, context.is_none());
                    compute(move || Ranked::new(standing, at, revision, top, of_all)).await.flatten()
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
