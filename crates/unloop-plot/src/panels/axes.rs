//! The axes of a chart, and where its points stand between them.

use super::{Look, Panel, Series};
use crate::axis::Axis;
use crate::point::BandPoint;

/// From the first and last marks to the ends of their axis.
const INSET: f64 = 16.0;
/// Between marks of two series at one place at most.
const WIDEST_DODGE: f64 = 10.0;
/// The part of the way to the next marks that all marks at one place take at most.
const DODGED: f64 = 0.6;
/// Places of marks that each have a tick, if there is room.
const MOST_PLACES: usize = 12;

/// Both axes of a chart.
pub(super) struct Axes {
    pub(super) x: Axis,
    pub(super) y: Axis,
    /// Ends of the ground, which may be wider than the axis.
    pub(super) left: f64,
    pub(super) right: f64,
}

impl Axes {
    pub(super) fn new(panel: &Panel, (left, right): (f64, f64), (bottom, top): (f64, f64)) -> Self {
        let marks = panel.series.iter().any(|series| series.look == Look::Marks);
        let inset = if marks { INSET } else { 0.0 };
        let (low, high) = ends(panel, |point| (point.x, point.x));
        let pixels = (left + inset, right - inset);
        // A single place stands in the middle.
        let (low, high) = match (low == high, panel.log_x) {
            (true, true) => (0.5 * low, 2.0 * high),
            (true, false) => (low - 1.0, high + 1.0),
            _ => (low, high),
        };
        let mut x = match (panel.log_x, marks) {
            (true, _) => Axis::log_plain(low, high, pixels),
            (false, true) => Axis::between(low, high, pixels),
            (false, false) => Axis::across(low, high, pixels),
        };
        if marks {
            let places = places(panel.series.iter());
            if let Some(ticked) = (places.len() <= MOST_PLACES).then(|| x.with_ticks(&places)).flatten() {
                x = ticked;
            }
        }
        Self { x, y: upright(panel, (bottom, top)), left, right }
    }

    pub(super) fn at(&self, x: f64, y: f64) -> (f64, f64) {
        (self.x.at(x), self.y.at(y))
    }

    pub(super) fn bottom(&self) -> f64 {
        self.y.left()
    }

    pub(super) fn top(&self) -> f64 {
        self.y.right()
    }

    /// How far to the right of its place each series stands: nothing, but for marks of which some share a place.
    pub(super) fn dodges(&self, panel: &Panel) -> Vec<f64> {
        let marks = || panel.series.iter().filter(|series| series.look == Look::Marks);
        let (all, places) = (marks().map(|series| series.points.len()).sum::<usize>(), places(marks()));
        if all == places.len() {
            return vec![0.0; panel.series.len()];
        }
        let count = marks().count() as f64;
        let nearest = places.windows(2).map(|pair| self.x.at(pair[1]) - self.x.at(pair[0])).fold(f64::INFINITY, f64::min);
        let step = (DODGED * nearest / count).min(WIDEST_DODGE).min(2.0 * INSET / count);
        let mut next = -0.5 * (count - 1.0) * step;
        let shift = |series: &Series| {
            let here = next;
            if series.look == Look::Marks {
                next += step;
                here
            } else {
                0.0
            }
        };
        panel.series.iter().map(shift).collect()
    }
}

/// The upright axis of a chart.
pub(super) fn upright(panel: &Panel, pixels: (f64, f64)) -> Axis {
    let (low, high) = ends(panel, |point| (point.low.min(point.mean), point.high.max(point.mean)));
    if panel.log_y { Axis::log_plain(low, high, pixels) } else { Axis::upright_near(low, high, pixels) }
}

/// The least and the most of all points.
fn ends(panel: &Panel, of: impl Fn(&BandPoint) -> (f64, f64)) -> (f64, f64) {
    let points = panel.series.iter().flat_map(|series| &series.points);
    points.map(of).fold((f64::INFINITY, f64::NEG_INFINITY), |all, point| (all.0.min(point.0), all.1.max(point.1)))
}

/// Where points stand from left to right, each place once, ascending.
fn places<'a>(series: impl Iterator<Item = &'a Series>) -> Vec<f64> {
    let mut places: Vec<f64> = series.flat_map(|series| series.points.iter().map(|point| point.x)).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(places: &[f64]) -> Series {
        let points = places.iter().map(|&x| BandPoint { x, mean: 1.0, low: 0.5, high: 2.0 }).collect();
        Series { name: String::new(), style: 0, look: Look::Marks, points }
    }

    fn panel(series: Vec<Series>) -> Panel {
        let none = String::new;
        Panel { title: none(), x_label: none(), y_label: none(), log_x: false, log_y: false, series }
    }

    fn dodges(panel: &Panel) -> Vec<f64> {
        Axes::new(panel, (0.0, 300.0), (200.0, 0.0)).dodges(panel)
    }

    #[test]
    fn marks_at_one_place_stand_beside_each_other() {
        let few = [1.0, 2.0, 3.0];
        assert_eq!(dodges(&panel(vec![marks(&few), marks(&few)])), [-5.0, 5.0]);
        let line = Series { look: Look::Line, ..marks(&few) };
        assert_eq!(dodges(&panel(vec![marks(&few), line, marks(&few)])), [-5.0, 0.0, 5.0]);
        let many: Vec<f64> = (0..100).map(f64::from).collect();
        let close = dodges(&panel(vec![marks(&many), marks(&many)]));
        assert!(close[1] - close[0] > 0.5 && close[1] - close[0] < 1.0, "{close:?}");
        let twelve = dodges(&panel(vec![marks(&few); 12]));
        assert!(twelve.windows(2).all(|pair| pair[1] > pair[0]) && twelve[11] <= INSET, "{twelve:?}");
    }

    #[test]
    fn marks_at_places_of_their_own_stay() {
        assert_eq!(dodges(&panel(vec![marks(&[1.0, 2.0]), marks(&[1.5, 2.5])])), [0.0, 0.0]);
        assert_eq!(dodges(&panel(vec![marks(&[1.0])])), [0.0]);
    }

    #[test]
    fn marks_have_ticks_where_they_stand() {
        let axes = Axes::new(&panel(vec![marks(&[1.0, 2.0, 5.0])]), (0.0, 300.0), (200.0, 0.0));
        assert_eq!(axes.x.ticks().iter().map(|tick| tick.label.as_str()).collect::<Vec<_>>(), ["1", "2", "5"]);
        assert_eq!((axes.x.at(1.0), axes.x.at(5.0)), (INSET, 300.0 - INSET));
        let single = Axes::new(&panel(vec![marks(&[7.0])]), (0.0, 300.0), (200.0, 0.0));
        assert_eq!((single.x.at(7.0), single.x.ticks().len()), (150.0, 1));
    }
}
