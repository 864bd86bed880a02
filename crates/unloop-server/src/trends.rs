//! How options fare, by the minute: served by this server, shown and chosen in choices that this server acknowledged.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

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

/// Counts since they were last written.
#[derive(Default)]
pub(crate) struct Trends {
    counts: Mutex<HashMap<CatalogId, HashMap<u32, Counts>>>,
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
    fn count<'a>(&self, known: &Known, names: impl IntoIterator<Item = &'a str>, add: impl Fn(&mut Counts)) {
        let mut counts = lock(&self.counts);
        let own = counts.entry(known.id).or_default();
        for option in names.into_iter().filter_map(|name| known.option(name)) {
            if own.len() < MOST || own.contains_key(&option.index) {
                add(own.entry(option.index).or_default());
            }
        }
    }

    fn put_back(&self, catalog: CatalogId, before: HashMap<u32, Counts>) {
        let mut counts = lock(&self.counts);
        let own = counts.entry(catalog).or_default();
        for (option, Counts { served, shown, chosen }) in before {
            let now = own.entry(option).or_default();
            *now = Counts { served: now.served + served, shown: now.shown + shown, chosen: now.chosen + chosen };
        }
    }

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
    pub(crate) fn served<'a>(&self, known: &Known, names: impl IntoIterator<Item = &'a str>) {
        lock(&self.paces).entry(known.id).or_default().count(1, 0);
        self.count(known, names, |own| own.served += 1.0);
    }

    /// A presentation was answered.
    pub(crate) fn answered(&self, known: &Known, body: &Body) {
        let weight = body.weight;
        lock(&self.paces).entry(known.id).or_default().count(0, 1);
        self.count(known, body.presented.iter().map(String::as_str), |own| own.shown += weight);
        match &body.outcome {
            Outcome::Chosen(names) => self.count(known, names.iter().map(String::as_str), |own| own.chosen += weight),
            Outcome::Tied(names) => {
                let part = weight / names.len() as f64;
                self.count(known, names.iter().map(String::as_str), |own| own.chosen += part);
            }
            Outcome::None => {}
        }
    }
}

impl Service {
    /// Writes down what happened since the last time, with what is believed now.
    pub(crate) async fn write_trends(self: &Arc<Self>) {
        let counts = std::mem::take(&mut *lock(&self.trends.counts));
        for (id, counts) in counts {
            let Some(known) = self.registry.get().numbered(id).map(Arc::clone) else { continue };
            let time = now();
            let beliefs = self.beliefs(&known).await;
            if beliefs.is_empty() {
                // The first ranking of a big catalog takes longer: they are noted with the next one.
                self.trends.put_back(id, counts);
                continue;
            }
            let mut noted: HashMap<u32, Counts> = counts;
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
    async fn beliefs(self: &Arc<Self>, known: &Arc<Known>) -> Vec<(u32, (f64, f64))> {
        let Ok((ranked, _)) = self.ranking(known, None, known.settings.size as usize, 0).await else { return Vec::new() };
        let number = |name: &str| known.option(name).map(|option| option.index);
        let mut all: Vec<(u32, (f64, f64))> =
            ranked.rows.iter().filter_map(|row| Some((number(&row.option)?, (row.mean, row.p_best)))).collect();
        all.sort_by(|x, y| y.1.1.total_cmp(&x.1.1).then(x.0.cmp(&y.0)));
        all
    }
}
