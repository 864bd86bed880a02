//! Charts over time, from the trends that the store keeps: they go on after a restart.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use serde::Serialize;
use unloop_plot::{BandPoint, Bands, Curve, Picture};
use unloop_store::{Trend, TrendSelection, Trends};

use super::board::{MOST_PICKS, View};
use super::page::{Oops, missing};
use super::params::Params;
use super::session::Visitor;
use crate::access::Scope;
use crate::catalog::Known;
use crate::now;
use crate::problem::Problem;
use crate::rankings::Ranked;
use crate::service::{Service, Shared};

/// Options that are drawn though nobody picked them: those with the largest shares.
const LEADING_BEST: usize = 6;
const LEADING_EXPOSURE: usize = 3;

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// How far back charts can go: what it is called in an address, what people read, how long it is and in which steps it is drawn.
pub(super) const BACKS: [(&str, &str, i64, i64); 4] = [
    ("", "hour", HOUR, MINUTE),
    ("day", "day", DAY, 10 * MINUTE),
    ("week", "week", 7 * DAY, HOUR),
    ("month", "30 days", 30 * DAY, 6 * HOUR),
];

/// What is drawn over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Chart {
    /// P(best).
    Best,
    /// The share of what was served, beside the mean share of choices.
    Exposure,
}

impl Chart {
    pub(super) fn of(name: &str) -> Option<Self> {
        match name {
            "best" => Some(Self::Best),
            "exposure" => Some(Self::Exposure),
            _ => None,
        }
    }

    /// Options that are drawn: those with the largest shares, then those that were picked.
    pub(super) fn options(self, ranked: &Ranked, view: &View) -> Vec<String> {
        let leading = if self == Self::Best { LEADING_BEST } else { LEADING_EXPOSURE };
        let mut names: Vec<String> = ranked.rows.iter().take(leading).map(|row| row.option.clone()).collect();
        for name in &view.picks {
            if !names.contains(name) && ranked.rows.iter().any(|row| row.option == *name) {
                names.push(name.clone());
            }
        }
        names.truncate(MOST_PICKS);
        names
    }
}

/// Curves, as the page's script draws them.
#[derive(Debug, Serialize)]
pub(super) struct Curves {
    /// Seconds since 1970, or rounds.
    pub(super) x: Vec<f64>,
    pub(super) series: Vec<Series>,
}

/// A curve.
#[derive(Debug, Serialize)]
pub(super) struct Series {
    pub(super) name: String,
    /// The number of its colour.
    pub(super) colour: usize,
    pub(super) dashed: bool,
    pub(super) values: Vec<Option<f64>>,
}

/// The data of a chart.
pub(super) async fn data(
    State(service): State<Shared>,
    visitor: Visitor,
    Path((name, chart)): Path<(String, String)>,
    params: Params,
) -> Result<Json<Curves>, Oops> {
    let known = visitor.access.catalog(&service, Scope::Admin, &name)?;
    let chart = Chart::of(&chart).ok_or_else(|| missing("there is no such chart"))?;
    Ok(Json(service.curves(&known, chart, &View::of(&params)).await?))
}

impl Service {
    /// A chart's curves: what was noted, and what is believed now.
    pub(super) async fn curves(self: &Shared, known: &Arc<Known>, chart: Chart, view: &View) -> Result<Curves, Problem> {
        let Some((ranked, _)) = super::catalog::ranking(self, known, None).await? else {
            return Ok(Curves { x: Vec::new(), series: Vec::new() });
        };
        let (_, _, length, step) = BACKS.into_iter().find(|&(name, ..)| name == view.back).unwrap_or(BACKS[0]);
        let names = chart.options(&ranked, view);
        let numbers: Vec<Option<u32>> = names.iter().map(|name| known.option(name).map(|own| own.index)).collect();
        let options = Some(numbers.iter().flatten().copied().collect());
        let selection = TrendSelection { catalog: known.id, since: now() - length, step, options };
        let trends = self.store.trends(selection).await?;
        Ok(match chart {
            Chart::Best => best(&trends, &names, &numbers, &ranked),
            Chart::Exposure => {
                // What is not noted yet, with what is believed now, is the last point.
                let (time, unwritten) = (now(), self.trends.unwritten(known.id));
                let mut trends = trends;
                trends.served.push((time, unwritten.iter().map(|&(_, served)| served).sum()));
                for (name, number) in names.iter().zip(&numbers) {
                    let Some(option) = *number else { continue };
                    let served = unwritten.iter().find(|&&(own, _)| own == option).map_or(0.0, |&(_, served)| served);
                    let row = ranked.rows.iter().find(|row| row.option == *name);
                    let (mean, p_best) = row.map_or((0.0, 0.0), |row| (row.mean, row.p_best));
                    trends.rows.push(Trend { catalog: known.id, option, time, served, shown: 0.0, chosen: 0.0, mean, p_best });
                }
                exposure(&trends, &names, &numbers)
            }
        })
    }
}

/// Rows by time and option.
fn by_time(trends: &Trends) -> BTreeMap<(i64, u32), &Trend> {
    trends.rows.iter().map(|row| ((row.time, row.option), row)).collect()
}

fn seconds(milliseconds: i64) -> f64 {
    milliseconds as f64 / 1e3
}

fn best(trends: &Trends, names: &[String], numbers: &[Option<u32>], ranked: &Ranked) -> Curves {
    let rows = by_time(trends);
    let times: Vec<i64> = trends.served.iter().map(|&(time, _)| time).collect();
    let is_later = times.last().is_none_or(|&last| ranked.computed > last);
    let series = names.iter().zip(numbers).enumerate().map(|(colour, (name, number))| {
        let noted = times.iter().map(|&time| number.and_then(|number| rows.get(&(time, number))).map(|row| row.p_best));
        let now = ranked.rows.iter().find(|row| row.option == *name).map(|row| row.p_best);
        Series { name: name.clone(), colour, dashed: false, values: noted.chain(is_later.then_some(now)).collect() }
    });
    let series = series.collect();
    let x = times.into_iter().chain(is_later.then_some(ranked.computed)).map(seconds).collect();
    Curves { x, series }
}

fn exposure(trends: &Trends, names: &[String], numbers: &[Option<u32>]) -> Curves {
    let rows = by_time(trends);
    let served: Vec<(i64, f64)> = trends.served.iter().copied().filter(|&(_, served)| served > 0.0).collect();
    let of = |number: Option<u32>, value: &dyn Fn(&Trend, f64) -> f64, absent: Option<f64>| -> Vec<Option<f64>> {
        let at =
            |&(time, all): &(i64, f64)| number.and_then(|number| rows.get(&(time, number))).map(|row| value(row, all)).or(absent);
        served.iter().map(at).collect()
    };
    let series = names.iter().zip(numbers).enumerate().flat_map(|(colour, (name, number))| {
        // An option that is not noted was not served.
        let share = of(*number, &|row, all| row.served / all, Some(0.0));
        let mean = of(*number, &|row, _| row.mean, None);
        [
            Series { name: format!("{name}: share of exposure"), colour, dashed: false, values: share },
            Series { name: format!("{name}: mean share of choices"), colour, dashed: true, values: mean },
        ]
    });
    Curves { series: series.collect(), x: served.iter().map(|&(time, _)| seconds(time)).collect() }
}

impl Curves {
    /// As a picture by itself, with so many of x to a unit of its axis; none before there are two points to draw.
    pub(super) fn draw(&self, title: String, y_label: &str, x_label: &str, unit: f64) -> Option<Picture> {
        // Times count from the first.
        let begin = if unit > 1.0 { *self.x.first()? } else { 0.0 };
        let curve = |own: &Series| {
            let points = self.x.iter().zip(&own.values).filter_map(|(x, value)| {
                let value = (*value)?;
                Some(BandPoint { x: (x - begin) / unit, mean: value, low: value, high: value })
            });
            Curve { name: own.name.clone(), points: points.collect() }
        };
        let curves: Vec<Curve> = self.series.iter().map(curve).filter(|curve| curve.points.len() > 1).take(MOST_PICKS).collect();
        let mut bands = Bands::new(title, curves);
        bands.x_label = x_label.into();
        bands.y_label = y_label.into();
        bands.draw().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unloop_store::CatalogId;

    #[test]
    fn exposure_is_a_share_of_all_that_was_served() {
        let trend = |time, option, served, mean| Trend {
            catalog: CatalogId(1),
            option,
            time,
            served,
            shown: 0.0,
            chosen: 0.0,
            mean,
            p_best: 0.5,
        };
        let rows = vec![trend(60_000, 0, 3.0, 0.4), trend(120_000, 1, 2.0, 0.3)];
        let trends = Trends { rows, served: vec![(60_000, 4.0), (120_000, 8.0), (180_000, 0.0)] };
        let curves = exposure(&trends, &["a".into(), "b".into()], &[Some(0), Some(1)]);
        assert_eq!(curves.x, [60.0, 120.0]);
        assert_eq!(curves.series[0].values, [Some(0.75), Some(0.0)]);
        assert_eq!(curves.series[1].values, [Some(0.4), None]);
        assert_eq!(curves.series[2].values, [Some(0.0), Some(0.25)]);
        assert!(curves.series[3].dashed && curves.draw("t".into(), "share", "minutes", 60.0).is_some());
    }
}
