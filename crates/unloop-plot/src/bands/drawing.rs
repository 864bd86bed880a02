//! Where everything of a picture of curves stands, and how it looks.

use super::{BandPoint, Bands, Curve};
use crate::axis::{Axis, TICK_SIZE};
use crate::colour::{GREY, GRID, INK, Rgb, SOFT};
use crate::font::{self, OTHER_FONTS};
use crate::paragraph::{self, FOOTER, SUBTITLE, TITLE};
use crate::picture::Picture;
use crate::style;
use crate::svg::{Anchor, Element, Page};

const WIDTH: f64 = 900.0;
/// Between the ends of the upright axis.
const HEIGHT: f64 = 340.0;
/// Around the whole picture.
const MARGIN: f64 = 24.0;
/// A line of a label of an axis.
const LINE_HEIGHT: f64 = 20.0;
const NAME_SIZE: f64 = 12.0;
const NAME_CHARACTERS: usize = 40;
const NAME_ROOM: f64 = 215.0;
/// From a name to the next one at least.
const NAME_HEIGHT: f64 = 17.0;
/// From the ends of lines to their names.
const LEADER: f64 = 26.0;
/// Between the label of the upright axis and its highest tick.
const RISE: f64 = 10.0;
/// Between a line or tick and what is written beside it.
const GAP: f64 = 6.0;

/// Draws curves that have been checked.
pub(super) fn draw(bands: &Bands) -> Picture {
    let names: Vec<String> =
        bands.curves.iter().map(|curve| font::shorten(&curve.name, NAME_CHARACTERS, NAME_ROOM, NAME_SIZE)).collect();
    let mut page = Page::default();
    let room = WIDTH - 2.0 * MARGIN;
    let mut y = paragraph::draw(&mut page, &bands.title, TITLE, MARGIN, MARGIN - 4.0, room);
    y = paragraph::draw(&mut page, bands.subtitle.as_deref().unwrap_or(""), SUBTITLE, MARGIN, y, room);
    let top = y + 12.0 + if bands.y_label.is_empty() { 0.0 } else { LINE_HEIGHT + RISE - 6.0 };
    let axes = Axes::new(bands, font::widest(&names, NAME_SIZE), top);
    y = Drawing { bands, names, axes, page: &mut page }.draw();
    if let Some(footer) = &bands.footer {
        y = paragraph::draw(&mut page, footer, FOOTER, MARGIN, y + 8.0, room);
    }
    Picture::new(&page, WIDTH, y + MARGIN - 6.0, &bands.title)
}

struct Axes {
    x: Axis,
    y: Axis,
}

impl Axes {
    /// Axes as wide as the names at the right and the labels at the left let them be.
    fn new(bands: &Bands, names: f64, top: f64) -> Self {
        let points = || bands.curves.iter().flat_map(|curve| &curve.points);
        let least = |value: fn(&BandPoint) -> f64| points().map(value).fold(f64::INFINITY, f64::min);
        let most = |value: fn(&BandPoint) -> f64| points().map(value).fold(f64::NEG_INFINITY, f64::max);
        let y = Axis::upright(
            least(|point| point.low.min(point.mean)),
            most(|point| point.high.max(point.mean)),
            (top + HEIGHT, top),
        );
        let labels = Axis::widest_label;
        let (left, right) = (MARGIN + labels(&y) + GAP, WIDTH - MARGIN - names - GAP - LEADER);
        let across = |left, right| Axis::across(least(|point| point.x), most(|point| point.x), (left, right));
        // Half of a label may stand beyond either end; on a shorter axis labels are not longer.
        let half = 0.5 * labels(&across(left, right));
        Self { x: across(left.max(MARGIN + half), right.min(WIDTH - MARGIN - half)), y }
    }

    fn at(&self, x: f64, y: f64) -> (f64, f64) {
        (self.x.at(x), self.y.at(y))
    }

    fn bottom(&self) -> f64 {
        self.y.left()
    }
}

/// Curves being drawn: what is below first.
struct Drawing<'a> {
    bands: &'a Bands,
    names: Vec<String>,
    axes: Axes,
    page: &'a mut Page,
}

impl Drawing<'_> {
    fn draw(mut self) -> f64 {
        self.ground();
        let curves = self.bands.curves.iter().enumerate();
        curves.clone().for_each(|(index, curve)| self.band(index, curve));
        curves.for_each(|(index, curve)| self.line(index, curve));
        self.names();
        self.labels()
    }

    /// Grid, ticks and the line of zero.
    fn ground(&mut self) {
        let Axes { x, y } = &self.axes;
        let bottom = self.axes.bottom();
        for tick in y.ticks() {
            let height = y.at(tick.value);
            let stroke = if tick.value == 0.0 { GREY } else { GRID };
            self.page.add(&Element::line((x.left(), height), (x.right(), height), stroke, 1.0).with("class", "grid"));
            let label = Element::label(x.left() - GAP, height, TICK_SIZE, SOFT, Anchor::End, &tick.label);
            self.page.add(&label.with("class", "y-tick"));
        }
        for tick in x.ticks() {
            let across = x.at(tick.value);
            self.page.add(&Element::line((across, bottom), (across, bottom + 4.0), GREY, 1.0));
            let label = Element::label(across, bottom + 14.0, TICK_SIZE, SOFT, Anchor::Middle, &tick.label);
            self.page.add(&label.with("class", "x-tick"));
        }
    }

    /// What the axes show; returns where that ends.
    fn labels(&mut self) -> f64 {
        let (x, top, bottom) = (&self.axes.x, self.axes.y.right(), self.axes.bottom());
        let cut = |text: &str, room: f64| font::shorten(text, usize::MAX, room / OTHER_FONTS, NAME_SIZE);
        if !self.bands.y_label.is_empty() {
            let text = cut(&self.bands.y_label, WIDTH - 2.0 * MARGIN);
            let height = top - RISE - 0.5 * LINE_HEIGHT;
            self.page.add(&Element::label(MARGIN, height, NAME_SIZE, INK, Anchor::Start, &text));
        }
        if self.bands.x_label.is_empty() {
            return bottom + 24.0;
        }
        let text = cut(&self.bands.x_label, x.right() - x.left());
        let middle = 0.5 * (x.left() + x.right());
        self.page.add(&Element::label(middle, bottom + 24.0 + 0.5 * LINE_HEIGHT, NAME_SIZE, INK, Anchor::Middle, &text));
        bottom + 24.0 + LINE_HEIGHT
    }

    fn band(&mut self, index: usize, curve: &Curve) {
        let above = curve.points.iter().map(|point| self.axes.at(point.x, point.high));
        let below = curve.points.iter().rev().map(|point| self.axes.at(point.x, point.low));
        self.page.add(&style::band(index, above.chain(below)).with("class", "band"));
    }

    fn line(&mut self, index: usize, curve: &Curve) {
        let points = curve.points.iter().map(|point| self.axes.at(point.x, point.mean));
        self.page.add(&style::line(index, points, 2.0).with("class", "curve").tip(&curve.name));
    }

    /// The names, each with a thin line from the end of its curve.
    fn names(&mut self) {
        let ends: Vec<(f64, f64)> = (self.bands.curves.iter())
            .map(|curve| curve.points.last().map_or((0.0, 0.0), |last| self.axes.at(last.x, last.mean)))
            .collect();
        // A curve without a name needs no line to it.
        let mut order: Vec<usize> = (0..ends.len()).filter(|&index| !self.names[index].is_empty()).collect();
        order.sort_by(|&a, &b| ends[a].1.total_cmp(&ends[b].1));
        let wanted: Vec<f64> = order.iter().map(|&index| ends[index].1).collect();
        let heights = apart(&wanted, NAME_HEIGHT, (self.axes.y.right(), self.axes.bottom()));
        let right = self.axes.x.right();
        let left = right + LEADER;
        for (index, height) in order.into_iter().zip(heights) {
            let colour = Rgb::distinct(index);
            let mut leader = Element::line(ends[index], (left, height), &colour.hex(), 1.0).number("stroke-opacity", 0.7);
            if ends[index].0 < right {
                // Dots do not look like more of a curve that ends early.
                leader = leader.with("stroke-dasharray", "1 4");
            }
            self.page.add(&leader.with("class", "leader"));
            let print = colour.for_print().hex();
            let name = Element::label(left + GAP, height, NAME_SIZE, &print, Anchor::Start, &self.names[index]);
            self.page.add(&name.with("class", "name").tip(&self.bands.curves[index].name));
        }
    }
}

/// Heights as near as possible to the wanted ones, which ascend, but with at least `gap` from each to the next, between two ends.
/// Those that would be too close share the way: each group stands around the mean of what its members want.
fn apart(wanted: &[f64], gap: f64, (least, most): (f64, f64)) -> Vec<f64> {
    // Without the gaps that precede it, a height need only not be below the one before. A group is its sum and its size.
    let mut groups: Vec<(f64, usize)> = Vec::new();
    for (index, height) in wanted.iter().enumerate() {
        let mut group = (height - gap * index as f64, 1);
        while let Some((sum, size)) = groups.pop_if(|(sum, size)| *sum / *size as f64 >= group.0 / group.1 as f64) {
            group = (group.0 + sum, group.1 + size);
        }
        groups.push(group);
    }
    let most = (most - gap * wanted.len().saturating_sub(1) as f64).max(least);
    let shifted = groups.iter().flat_map(|&(sum, size)| std::iter::repeat_n((sum / size as f64).clamp(least, most), size));
    shifted.enumerate().map(|(index, height)| height + gap * index as f64).collect()
}

#[cfg(test)]
mod tests {
    use super::super::MOST_CURVES;
    use super::*;

    const ENDS: (f64, f64) = (0.0, 100.0);

    #[test]
    fn heights_with_room_stay() {
        assert_eq!(apart(&[5.0, 20.0, 90.0], 10.0, ENDS), [5.0, 20.0, 90.0]);
        assert!(apart(&[], 10.0, ENDS).is_empty());
    }

    #[test]
    fn heights_without_room_move_as_little_as_they_can() {
        assert_eq!(apart(&[50.0, 50.0, 90.0], 10.0, ENDS), [45.0, 55.0, 90.0]);
        assert_eq!(apart(&[40.0, 50.0, 50.0], 10.0, ENDS), [40.0 - 10.0 / 3.0, 50.0 - 10.0 / 3.0, 60.0 - 10.0 / 3.0]);
        assert_eq!(apart(&[0.0, 1.0], 10.0, ENDS), [0.0, 10.0]);
        assert_eq!(apart(&[99.0, 100.0], 10.0, ENDS), [90.0, 100.0]);
    }

    #[test]
    fn twelve_names_at_one_place_have_room() {
        for place in [0.0, 3.0, 200.0, HEIGHT] {
            let heights = apart(&[place; MOST_CURVES], NAME_HEIGHT, (0.0, HEIGHT));
            assert!(heights.windows(2).all(|pair| pair[1] - pair[0] >= NAME_HEIGHT - 1e-9), "{heights:?}");
            assert!(heights[0] >= 0.0 && heights[MOST_CURVES - 1] <= HEIGHT, "{heights:?}");
        }
    }
}
