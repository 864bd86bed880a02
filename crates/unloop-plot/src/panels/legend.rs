//! The legend of all charts: each name once, with what its lines and marks look like.

use super::{Look, Panel};
use crate::colour::INK;
use crate::font::{self, OTHER_FONTS, Weight};
use crate::style;
use crate::svg::{Anchor, Element, Page};

const SIZE: f64 = 12.0;
const LINE_HEIGHT: f64 = 20.0;
/// Length of the sample of a line.
const SWATCH: f64 = 36.0;
/// Between a sample and its name.
const GAP: f64 = 7.0;
/// Between an entry and the next.
const APART: f64 = 22.0;
const NAME_CHARACTERS: usize = 60;

/// A name with its style, and how it is drawn anywhere.
struct Entry<'a> {
    name: &'a str,
    style: usize,
    line: bool,
    marks: bool,
}

fn entries(panels: &[Panel]) -> Vec<Entry<'_>> {
    let mut entries: Vec<Entry<'_>> = Vec::new();
    for series in panels.iter().flat_map(|panel| &panel.series).filter(|series| !series.name.is_empty()) {
        let marks = series.look == Look::Marks;
        match entries.iter_mut().find(|entry| entry.name == series.name && entry.style == series.style) {
            Some(entry) => (entry.line, entry.marks) = (entry.line || !marks, entry.marks || marks),
            None => entries.push(Entry { name: &series.name, style: series.style, line: !marks, marks }),
        }
    }
    entries
}

/// Draws the legend in lines between two ends, from `top` down; returns where it ends.
pub(super) fn draw(page: &mut Page, panels: &[Panel], (left, right): (f64, f64), top: f64) -> f64 {
    let entries = entries(panels);
    if entries.is_empty() {
        return top;
    }
    let (mut x, mut y) = (left, top + 0.5 * LINE_HEIGHT);
    for Entry { name, style, line, marks } in entries {
        let text = font::shorten(name, NAME_CHARACTERS, (right - left - SWATCH - GAP) / OTHER_FONTS, SIZE);
        let width = SWATCH + GAP + OTHER_FONTS * font::width(&text, SIZE, Weight::Regular);
        if x > left && x + width > right {
            (x, y) = (left, y + LINE_HEIGHT);
        }
        let thickness = if line { 2.2 } else { 1.0 };
        page.add(&style::line(style, [(x, y), (x + SWATCH, y)], thickness).with("class", "swatch"));
        if marks {
            page.add(&style::marker(style, (x + 0.5 * SWATCH, y)).with("class", "swatch-mark"));
        }
        let label = Element::label(x + SWATCH + GAP, y, SIZE, INK, Anchor::Start, &text);
        page.add(&label.with("class", "legend").tip(name));
        x += width + APART;
    }
    y + 0.5 * LINE_HEIGHT
}
