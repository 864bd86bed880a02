//! The leaderboard: a row for each option, its interval drawn beside it.
//!
//! Positions of marks are percentages of the drawing's width, so that it fits any screen and needs no style inside the page.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use askama::Template;
use jiff::Timestamp;
use unloop_plot::figures::{chance, count, percent, range};

use super::params::Params;
use crate::catalog::Known;
use crate::rankings::{Ranked, RankingRow};

/// Rows of a leaderboard, unless somebody wants more; and at most.
const ROWS: usize = 25;
const MOST_ROWS: usize = 1_000;
/// Options that somebody may pick.
pub(super) const MOST_PICKS: usize = 12;
/// A page does not wait longer for a ranking: it shows the last one, or that there is none yet.
pub(super) const PATIENCE: Duration = Duration::from_millis(120);

/// What comes of something within a moment; it goes on by itself if it takes longer.
pub(super) async fn in_a_moment<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> Option<T> {
    tokio::time::timeout(PATIENCE, tokio::spawn(work)).await.ok()?.ok()
}

/// What somebody wants to see of a catalog.
#[derive(Clone, Debug, Default)]
pub(super) struct View {
    /// Options whose names hold this.
    pub(super) search: String,
    /// Options that stay in view, are drawn over time, and are predicted as a set.
    pub(super) picks: Vec<String>,
    rows: usize,
    /// How far back charts go.
    pub(super) back: String,
}

impl View {
    pub(super) fn of(params: &Params) -> Self {
        let mut seen = HashSet::new();
        let picks = params.all("pick").filter(|name| seen.insert(name.to_owned())).take(MOST_PICKS).map(str::to_owned).collect();
        let rows = params.get("rows").parse().map_or(ROWS, |rows: usize| rows.clamp(1, MOST_ROWS));
        let text = |name| params.get(name).chars().take(128).collect::<String>();
        Self { search: text("q").trim().to_owned(), picks, rows, back: text("back") }
    }

    /// As a query, without what is as usual.
    pub(super) fn query(&self) -> String {
        self.query_with(self.rows, &self.back)
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Whether somebody wants another number of rows than usual.
    pub(super) fn has_rows(&self) -> bool {
        self.rows != ROWS
    }

    pub(super) fn query_with(&self, rows: usize, back: &str) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        if !self.search.is_empty() {
            query.append_pair("q", &self.search);
        }
        for name in &self.picks {
            query.append_pair("pick", name);
        }
        if rows != ROWS {
            query.append_pair("rows", &rows.to_string());
        }
        if !back.is_empty() {
            query.append_pair("back", back);
        }
        query.finish()
    }

    pub(super) fn is_picked(&self, name: &str) -> bool {
        self.picks.iter().any(|own| own == name)
    }

    /// Whether an option is to be seen: by its place, or by its name.
    pub(super) fn holds(&self, known: &Known, name: &str, place: usize) -> bool {
        let is_wanted = if self.search.is_empty() { place < self.rows } else { self.is_found(known, name) };
        is_wanted || self.is_picked(name)
    }

    fn is_found(&self, known: &Known, name: &str) -> bool {
        let wanted = self.search.to_lowercase();
        let label = known.option(name).and_then(|own| own.label.as_deref()).unwrap_or_default();
        name.to_lowercase().contains(&wanted) || label.to_lowercase().contains(&wanted)
    }
}

/// A leaderboard to be drawn.
pub(super) struct Board {
    /// Where it is told of changes; empty if nowhere.
    pub(super) live: String,
    /// Whether there is a ranking yet.
    pub(super) is_known: bool,
    /// The position of the log, and when it was computed.
    pub(super) seq: u64,
    pub(super) computed: String,
    pub(super) ticks: Vec<Tick>,
    /// Where an equal share is.
    pub(super) equal: Option<String>,
    pub(super) rows: Vec<Row>,
    /// How many options there are, and where all of those that fit are seen.
    pub(super) total: usize,
    pub(super) more: String,
    /// Whether rows can be picked, and have what `all` believes beside them.
    pub(super) can_pick: bool,
    pub(super) with_all: bool,
    pub(super) none: String,
}

/// A number on the axis.
pub(super) struct Tick {
    pub(super) x: String,
    pub(super) text: String,
    pub(super) anchor: &'static str,
}

/// An option of a leaderboard.
pub(super) struct Row {
    pub(super) id: u32,
    pub(super) rank: usize,
    pub(super) name: String,
    pub(super) label: String,
    pub(super) is_picked: bool,
    pub(super) is_unseen: bool,
    pub(super) share: String,
    pub(super) interval: String,
    pub(super) marks: Marks,
    pub(super) p_best: String,
    pub(super) p_best_part: String,
    pub(super) ranks: String,
    pub(super) shown: String,
    pub(super) chosen: String,
    /// What `all` believes.
    pub(super) all: Option<(String, Marks)>,
}

/// Where a mean and its interval are drawn.
#[derive(Clone, Debug, Default)]
pub(super) struct Marks {
    pub(super) low: String,
    pub(super) mean: String,
    pub(super) high: String,
}

/// A linear axis from 0, with round numbers on it.
pub(super) struct Axis {
    end: f64,
    step: f64,
}

impl Axis {
    /// Up to some share, in at most five steps.
    pub(super) fn new(highest: f64) -> Self {
        let highest = if highest > 0.0 { highest.min(1.0) } else { 1.0 };
        let raw = highest / 5.0;
        let decade = 10_f64.powf(raw.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|round| round * decade).find(|&step| step >= raw * 0.999_999);
        let step = step.unwrap_or(10.0 * decade);
        Self { end: ((highest / step).ceil() * step).min(1.0), step }
    }

    pub(super) fn place(&self, share: f64) -> String {
        format!("{:.2}%", (100.0 * share / self.end).clamp(0.0, 100.0))
    }

    pub(super) fn marks(&self, mean: f64, low: f64, high: f64) -> Marks {
        Marks { low: self.place(low), mean: self.place(mean), high: self.place(high) }
    }

    pub(super) fn ticks(&self) -> Vec<Tick> {
        let steps = (self.end / self.step).round() as usize;
        let tick = |i: usize| {
            let share = i as f64 * self.step;
            let digits = (-(100.0 * self.step).log10().floor()).max(0.0) as usize;
            let anchor = if i == 0 {
                "start"
            } else if i == steps {
                "end"
            } else {
                "middle"
            };
            Tick { x: self.place(share), text: format!("{:.digits$} %", 100.0 * share), anchor }
        };
        (0..=steps).map(tick).collect()
    }
}

/// A leaderboard by itself: what a stream sends.
#[derive(Template)]
#[template(path = "board.html")]
pub(super) struct BoardPart {
    pub(super) board: Board,
}

impl Board {
    /// Of a ranking, as somebody wants to see it. With one of all beside it, that is drawn, too.
    pub(super) fn new(known: &Known, view: &View, ranked: Option<(&Ranked, u64)>, all: Option<&Ranked>) -> Self {
        let url = format!("/catalogs/{}", known.name);
        let (ranked, seq) = ranked.map_or((None, 0), |(ranked, seq)| (Some(ranked), seq));
        let every: &[RankingRow] = ranked.map_or(&[], |ranked| &ranked.rows);
        let seen: Vec<&RankingRow> = every
            .iter()
            .enumerate()
            .filter(|(place, row)| view.holds(known, &row.option, *place))
            .map(|(_, row)| row)
            .take(MOST_ROWS)
            .collect();
        let of_all: HashMap<&str, &RankingRow> =
            all.into_iter().flat_map(|all| &all.rows).map(|row| (row.option.as_str(), row)).collect();
        let beside = |row: &RankingRow| of_all.get(row.option.as_str()).copied();
        let highest = seen.iter().map(|row| row.high.max(row.mean).max(beside(row).map_or(0.0, |own| own.high)));
        let axis = Axis::new(highest.fold(0.0, f64::max));
        let rows: Vec<Row> = seen.into_iter().map(|row| Row::new(known, view, &axis, row, beside(row))).collect();
        let more = (rows.len() < every.len() && view.search.is_empty())
            .then(|| format!("{url}?{}", view.query_with(every.len().min(MOST_ROWS), &view.back)));
        Self {
            live: format!("{url}/live?{}", view.query()),
            is_known: ranked.is_some(),
            seq,
            computed: ranked.map_or_else(String::new, |ranked| time(ranked.computed)),
            ticks: axis.ticks(),
            equal: (!every.is_empty()).then(|| axis.place(1.0 / every.len() as f64)),
            rows,
            total: every.len(),
            more: more.unwrap_or_default(),
            can_pick: all.is_none(),
            with_all: all.is_some(),
            none: ranked.and_then(|ranked| ranked.none.as_ref()).map_or_else(String::new, |none| {
                format!("{} ({} – {})", percent(none.mean), percent(none.low), percent(none.high))
            }),
        }
    }
}

impl Row {
    fn new(known: &Known, view: &View, axis: &Axis, row: &RankingRow, all: Option<&RankingRow>) -> Self {
        let option = known.option(&row.option);
        Self {
            id: option.map_or(u32::MAX, |own| own.index),
            rank: row.rank,
            name: row.option.clone(),
            label: option.and_then(|own| own.label.clone()).unwrap_or_default(),
            is_picked: view.is_picked(&row.option),
            is_unseen: row.shown == 0.0,
            share: percent(row.mean),
            interval: interval(row.low, row.high),
            marks: axis.marks(row.mean, row.low, row.high),
            p_best: chance(row.p_best),
            p_best_part: format!("{:.1}%", 100.0 * row.p_best),
            ranks: range(row.rank_low, row.rank_high),
            shown: count(row.shown),
            chosen: count(row.chosen),
            all: all.map(|all| (percent(all.mean), axis.marks(all.mean, all.low, all.high))),
        }
    }
}

/// From – to, in percent.
pub(super) fn interval(low: f64, high: f64) -> String {
    format!("{} – {}", percent(low).trim_end_matches(" %"), percent(high))
}

/// A time as machines have it.
pub(super) fn time(milliseconds: i64) -> String {
    Timestamp::from_millisecond(milliseconds).map_or_else(|_| String::new(), |time| time.to_string())
}

/// A time as people read it.
pub(super) fn read_time(milliseconds: i64) -> String {
    let text = Timestamp::from_millisecond(milliseconds).map(|time| time.strftime("%Y-%m-%d %H:%M:%S").to_string());
    text.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_end_on_round_numbers() {
        for (highest, end, steps) in [(0.7, 0.8, 4), (0.053, 0.06, 3), (1.0, 1.0, 5), (0.0, 1.0, 5), (0.000_41, 0.0005, 5)] {
            let axis = Axis::new(highest);
            assert!((axis.end - end).abs() < 1e-12, "{highest}: {}", axis.end);
            assert_eq!(axis.ticks().len(), steps + 1, "{highest}");
        }
        assert_eq!(Axis::new(0.7).place(0.4), "50.00%");
        assert_eq!(Axis::new(0.053).ticks()[1].text, "2 %");
        assert_eq!(Axis::new(0.000_41).ticks()[1].text, "0.01 %");
    }

    #[test]
    fn a_view_is_told_by_its_query() {
        let view = View::of(&Params::of("q=so+up&pick=a&pick=b%26c&pick=a&rows=7&back=day"));
        assert_eq!((view.search.as_str(), &view.picks[..]), ("so up", &["a".to_owned(), "b&c".to_owned()][..]));
        assert_eq!(view.query(), "q=so+up&pick=a&pick=b%26c&rows=7&back=day");
        assert_eq!(View::of(&Params::of("rows=99999999999")).query(), "rows=1000");
        assert_eq!(View::of(&Params::of("rows=many")).query(), "");
        assert_eq!(View::of(&Params::of("rows=0")).query(), "rows=1");
    }
}
