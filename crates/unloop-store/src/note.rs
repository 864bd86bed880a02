//! Notes: what was presented, and how things went by the minute. Written without anybody waiting, pruned by age, needed by no truth.

use std::collections::BTreeMap;

use crate::event::CatalogId;

/// Presentations are kept so long, in milliseconds.
pub const KEEP_PRESENTATIONS: i64 = 30 * DAY;
/// Trends are kept by the minute so long, then by the hour.
pub const KEEP_MINUTES: i64 = 7 * DAY;
/// Notes that wait to be written at most: more are dropped.
pub const MOST_NOTES: usize = 65_536;

const DAY: i64 = 86_400_000;
const MINUTE: i64 = 60_000;
pub(crate) const HOUR: i64 = 60 * MINUTE;

/// Something to be noted.
#[derive(Clone, Debug, PartialEq)]
pub enum Note {
    /// What was presented.
    Presentation(PresentationNote),
    /// What an option was doing.
    Trend(Trend),
}

/// What was presented, to whom, when.
#[derive(Clone, Debug, PartialEq)]
pub struct PresentationNote {
    /// Its id.
    pub id: String,
    /// The catalog.
    pub catalog: CatalogId,
    /// To whom.
    pub context: Option<String>,
    /// Options in order with their propensities and the policy, as JSON. The store does not look inside.
    pub body: String,
    /// When, in milliseconds since 1970.
    pub time: i64,
}

/// How an option of a catalog fared in a minute, or in an hour.
#[derive(Clone, Debug, PartialEq)]
pub struct Trend {
    /// The catalog.
    pub catalog: CatalogId,
    /// The option's number.
    pub option: u32,
    /// The begin of the minute or hour, in milliseconds since 1970.
    pub time: i64,
    /// Times in any presentation handed out.
    pub served: f64,
    /// Times in an answered presentation.
    pub shown: f64,
    /// Times chosen.
    pub chosen: f64,
    /// Its mean share at the end.
    pub mean: f64,
    /// The probability that it is the best, at the end.
    pub p_best: f64,
}

impl Trend {
    /// The minute that it belongs to.
    pub(crate) fn minute(&self) -> i64 {
        self.time.div_euclid(MINUTE) * MINUTE
    }

    /// Takes a later one of the same time in: counts add up, the rest is the later one's.
    pub(crate) fn join(&mut self, later: &Self) {
        self.served += later.served;
        self.shown += later.shown;
        self.chosen += later.chosen;
        (self.mean, self.p_best) = (later.mean, later.p_best);
    }
}

/// Which trends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrendSelection {
    /// The catalog.
    pub catalog: CatalogId,
    /// From this time on, in milliseconds since 1970.
    pub since: i64,
    /// Joined into stretches of so many milliseconds; as they are kept if 0.
    pub step: i64,
    /// Of these options alone.
    pub options: Option<Vec<u32>>,
}

impl TrendSelection {
    /// All of a catalog, as they are kept.
    pub fn all(catalog: CatalogId) -> Self {
        Self { catalog, since: i64::MIN, step: 0, options: None }
    }

    /// The stretch that a time belongs to.
    pub(crate) fn stretch(&self, time: i64) -> i64 {
        if self.step > 0 { time.div_euclid(self.step) * self.step } else { time }
    }
}

/// How options fared.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trends {
    /// By time, then by option.
    pub rows: Vec<Trend>,
    /// How often any option was served, by time: those that were not selected, too.
    pub served: Vec<(i64, f64)>,
}

impl Trends {
    /// Takes one in; they come by time.
    pub(crate) fn add(&mut self, selection: &TrendSelection, joined: &mut BTreeMap<(i64, u32), Trend>, trend: &Trend) {
        let time = selection.stretch(trend.time);
        match self.served.last_mut() {
            Some((last, served)) if *last == time => *served += trend.served,
            _ => self.served.push((time, trend.served)),
        }
        if selection.options.as_ref().is_some_and(|options| !options.contains(&trend.option)) {
            return;
        }
        match joined.get_mut(&(time, trend.option)) {
            Some(own) => own.join(trend),
            None => drop(joined.insert((time, trend.option), Trend { time, ..trend.clone() })),
        }
    }
}

/// How much was pruned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Presentations that are gone.
    pub presentations: u64,
    /// Minutes that became part of hours.
    pub trends: u64,
}
