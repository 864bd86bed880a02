//! How options fare, by the minute: served by this server, shown and chosen in choices that this server acknowledged.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use unloop_store::{Body, CatalogId, Note, Outcome, Trend};

use crate::catalog::Known;
use crate::lock::lock;
use crate::now;
use crate::service::Service;

/// Options that are noted though nothing happened to them: those most likely the best.
const LEADING: usize = 20;
/// Milliseconds of a minute, and minutes over which paces are told.
const MINUTE: i64 = 60_000;
const PACE_MINUTES: i64 = 60;
/// Options counted in a minute at most; more are not noted.
const MOST: usize = 1 << 20;

#[derive(Clone, Copy, Default)]
struct Counts {
    served: f64,
    shown: f64,
    chosen: f64,
}

/// What is said of a presentation.
#[derive(Clone, Copy)]
pub(crate) struct Said<'a> {
    pub(crate) presented: &'a [String],
    pub(crate) outcome: &'a Outcome,
    pub(crate) weight: f64,
}

impl<'a> From<&'a Body> for Said<'a> {
    fn from(body: &'a Body) -> Self {
        Self { presented: &body.presented, outcome: &body.outcome, weight: body.weight }
    }
}

/// By the options' numbers, which are ours: nobody can choose them to collide.
type OptionCounts = HashMap<u32, Counts, foldhash::fast::RandomState>;

/// Counts since they were last written.
#[derive(Default)]
pub(crate) struct Trends {
    counts: Mutex<HashMap<CatalogId, OptionCounts>>,
    paces: Mutex<HashMap<CatalogId, Pace>>,
}

/// Minutes of the last hour, each with how many presentations were handed out and answered by this server.
#[derive(Default)]
struct Pace {
    minutes: VecDeque<(i64, u32, u32)>,
}

impl Pace {
    fn count(&mut self, presented: u32, answered: u32) {
        let minute = now().div_euclid(MINUTE);
        while self.minutes.front().is_some_and(|&(own, ..)| own <= minute - PACE_MINUTES) {
            self.minutes.pop_front();
        }
        match self.minutes.back_mut() {
            Some((own, handed, taken)) if *own == minute => (*handed, *taken) = (*handed + presented, *taken + answered),
            _ => self.minutes.push_back((minute, presented, answered)),
        }
    }
}

/// How fast things go in a catalog.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Rates {
    /// Presentations and choices of the last whole minute.
    pub(crate) presentations: u32,
    pub(crate) choices: u32,
    /// Answered presentations among those handed out in the last hour; none if there were none.
    pub(crate) answered: Option<f64>,
}

impl Trends {
    /// How fast things go.
    pub(crate) fn rates(&self, catalog: CatalogId) -> Rates {
        let paces = lock(&self.paces);
        let Some(pace) = paces.get(&catalog) else { return Rates::default() };
        let minute = now().div_euclid(MINUTE);
        let hour = || pace.minutes.iter().filter(|&&(own, ..)| own > minute - PACE_MINUTES);
        // The last minute that is whole; before there is one, the one that is not.
        let last = hour().rfind(|&&(own, ..)| own == minute - 1).or_else(|| hour().rfind(|&&(own, ..)| own == minute));
        let presented: u32 = hour().map(|&(_, presented, _)| presented).sum();
        let answered: u32 = hour().map(|&(.., answered)| answered).sum();
        Rates {
            presentations: last.map_or(0, |&(_, presented, _)| presented),
            choices: last.map_or(0, |&(.., answered)| answered),
            answered: (presented > 0).then(|| (f64::from(answered) / f64::from(presented)).min(1.0)),
        }
    }

    /// How often options were served since it was last written down.
    pub(crate) fn unwritten(&self, catalog: CatalogId) -> Vec<(u32, f64)> {
        let counts = lock(&self.counts);
        counts.get(&catalog).into_iter().flatten().map(|(&option, own)| (option, own.served)).collect()
    }

    /// Options were presented.
    pub(crate) fn served(&self, known: &Known, names: &[String]) {
        lock(&self.paces).entry(known.id).or_default().count(1, 0);
        let mut counts = lock(&self.counts);
        count(counts.entry(known.id).or_default(), known, names, |own| own.served += 1.0);
    }

    /// A presentation was answered.
    pub(crate) fn answered(&self, known: &Known, said: Said<'_>) {
        lock(&self.paces).entry(known.id).or_default().count(0, 1);
        let (chosen, part): (&[String], f64) = match said.outcome {
            Outcome::Chosen(names) => (names, said.weight),
            Outcome::Tied(names) => (names, said.weight / names.len() as f64),
            Outcome::None => (&[], 0.0),
        };
        let mut counts = lock(&self.counts);
        let own = counts.entry(known.id).or_default();
        count(own, known, said.presented, |own| own.shown += said.weight);
        count(own, known, chosen, |own| own.chosen += part);
    }
}

fn count(counts: &mut OptionCounts, known: &Known, names: &[String], add: impl Fn(&mut Counts)) {
    for option in names.iter().filter_map(|name| known.option(name)) {
        if counts.len() < MOST || counts.contains_key(&option.index) {
            add(counts.entry(option.index).or_default());
        }
    }
}

impl Service {
    /// Writes down what happened since the last time, with what is believed now: if that is known within a time, else it is left for the next time.
    pub(crate) async fn write_trends(self: &Arc<Self>, patience: Duration) {
        let counted: Vec<CatalogId> = lock(&self.trends.counts).keys().copied().collect();
        for id in counted {
            let known = self.registry.get().numbered(id).map(Arc::clone);
            let beliefs = match &known {
                Some(known) => self.beliefs(known, patience).await,
                None => Vec::new(),
            };
            if known.is_some() && beliefs.is_empty() {
                continue;
            }
            // No sooner: whoever is interrupted before has lost nothing.
            let Some(mut noted) = lock(&self.trends.counts).remove(&id) else { continue };
            let time = now();
            for (option, _) in beliefs.iter().take(LEADING) {
                noted.entry(*option).or_default();
            }
            let believed: HashMap<u32, (f64, f64)> = beliefs.into_iter().collect();
            let notes = noted.into_iter().filter_map(|(option, Counts { served, shown, chosen })| {
                let &(mean, p_best) = believed.get(&option)?;
                Some(Note::Trend(Trend { catalog: id, option, time, served, shown, chosen, mean, p_best }))
            });
            self.store.note(notes.collect());
        }
    }

    /// Numbers of options with mean share and P(best) in all contexts, the likeliest best first; nothing where there is no ranking.
    async fn beliefs(self: &Arc<Self>, known: &Arc<Known>, patience: Duration) -> Vec<(u32, (f64, f64))> {
        let ranked = self.ranking_within(known, None, known.settings.size as usize, 0, patience).await;
        let Ok((ranked, _)) = ranked else { return Vec::new() };
        let number = |name: &str| known.option(name).map(|option| option.index);
        let mut all: Vec<(u32, (f64, f64))> =
            ranked.rows.iter().filter_map(|row| Some((number(&row.option)?, (row.mean, row.p_best)))).collect();
        all.sort_by(|x, y| y.1.1.total_cmp(&x.1.1).then(x.0.cmp(&y.0)));
        all
    }
}
