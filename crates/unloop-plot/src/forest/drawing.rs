//! Where everything of a forest plot stands, and how it looks.

use std::fmt::Write;

use super::{Forest, ForestError, ForestRow, Reference};
use crate::axis::{Axis, TICK_SIZE};
use crate::colour::{BAND, BLUE, GREY, GRID, INK, PALE_BLUE, SOFT, WHITE};
use crate::font::{self, OTHER_FONTS, Weight};
use crate::number::{chance, two_digits};
use crate::paragraph::{self, FOOTER, SUBTITLE, TITLE};
use crate::picture::Picture;
use crate::svg::{Anchor, Element, Page};

/// Around the whole picture.
const MARGIN: f64 = 24.0;
/// Between two columns.
const GAP: f64 = 18.0;
const ROW_HEIGHT: f64 = 18.0;
/// A line of the legend or of headings.
const LINE_HEIGHT: f64 = 20.0;
const AXIS_WIDTH: f64 = 440.0;
const BAR_WIDTH: f64 = 56.0;
const NAME_SIZE: f64 = 12.0;
const NUMBER_SIZE: f64 = 11.0;
const NAME_CHARACTERS: usize = 40;
const NAME_ROOM: f64 = 290.0;
/// With more rows the labels of the axis stand above them too.
const MANY_ROWS: usize = 30;
const DOT: f64 = 4.0;

/// Draws a plot that has been checked; only its axis may still be impossible.
pub(super) fn draw(forest: &Forest) -> Result<Picture, ForestError> {
    let columns = Columns::new(forest);
    let axis = forest.axis(columns.axis)?;
    Ok(Drawing { forest, columns, axis, page: Page::default() }.draw())
}

/// Where columns stand, from left to right.
struct Columns {
    /// Right end of the numbers of rows.
    numbers: f64,
    /// Left end of the names.
    names: f64,
    /// Both ends of the axis.
    axis: (f64, f64),
    /// Right end of the printed shares.
    shares: f64,
    /// Right end of the printed P(best).
    chances: f64,
    /// Left end of the bars of P(best).
    bars: f64,
    /// Width of the picture.
    width: f64,
}

impl Columns {
    fn new(forest: &Forest) -> Self {
        let widest = |texts: &mut dyn Iterator<Item = String>, size| {
            OTHER_FONTS * texts.map(|text| font::width(&text, size, Weight::Regular)).fold(0.0, f64::max)
        };
        let figures = font::width(&forest.rows.len().to_string(), NUMBER_SIZE, Weight::Regular);
        let numbers = MARGIN + if forest.numbered { figures.ceil() } else { 0.0 };
        let names = if forest.numbered { numbers + 8.0 } else { numbers };
        let left = names + widest(&mut forest.rows.iter().map(|row| short(&row.name)), NAME_SIZE).ceil().max(40.0) + GAP;
        let right = left + AXIS_WIDTH;
        let shares = right + GAP + widest(&mut forest.shares().into_iter(), NUMBER_SIZE).ceil().max(36.0);
        let chances = shares + GAP + OTHER_FONTS * font::width("P(best)", NUMBER_SIZE, Weight::Regular).ceil();
        let bars = chances + 8.0;
        let end = if forest.has_chances() { bars + BAR_WIDTH } else { shares };
        Self { numbers, names, axis: (left, right), shares, chances, bars, width: end + MARGIN }
    }
}

fn short(name: &str) -> String {
    font::shorten(name, NAME_CHARACTERS, NAME_ROOM, NAME_SIZE)
}

/// A forest plot being drawn, from top to bottom.
struct Drawing<'a> {
    forest: &'a Forest,
    columns: Columns,
    axis: Axis,
    page: Page,
}

impl Drawing<'_> {
    fn draw(mut self) -> Picture {
        let Forest { title, subtitle, footer, rows, .. } = self.forest;
        let room = self.columns.width - 2.0 * MARGIN;
        let mut y = paragraph::draw(&mut self.page, title, TITLE, MARGIN, MARGIN - 4.0, room);
        y = paragraph::draw(&mut self.page, subtitle.as_deref().unwrap_or(""), SUBTITLE, MARGIN, y, room);
        y = self.legend(y + 4.0);
        y = self.headings(y + 6.0);
        if rows.len() > MANY_ROWS {
            self.tick_labels(y + 0.5 * ROW_HEIGHT);
            y += ROW_HEIGHT;
        }
        let (top, bottom) = (y, y + ROW_HEIGHT * rows.len() as f64);
        self.ground(top, bottom);
        for (index, share) in self.forest.shares().iter().enumerate() {
            self.row(index, share, top + ROW_HEIGHT * index as f64);
        }
        self.tick_labels(bottom + 14.0);
        y = self.axis_title(bottom + 24.0);
        if let Some(footer) = footer {
            y = paragraph::draw(&mut self.page, footer, FOOTER, MARGIN, y + 8.0, room);
        }
        Picture::new(&self.page, self.columns.width, y + MARGIN - 6.0, title)
    }

    /// Bands, grid and reference, below everything else.
    fn ground(&mut self, top: f64, bottom: f64) {
        let (left, width) = (MARGIN - 8.0, self.columns.width - 2.0 * MARGIN + 16.0);
        for index in (1..self.forest.rows.len()).step_by(2) {
            self.page.add(&Element::rect(left, top + ROW_HEIGHT * index as f64, width, ROW_HEIGHT, BAND));
        }
        for tick in self.axis.ticks() {
            let x = self.axis.at(tick.value);
            self.page.add(&Element::line((x, top), (x, bottom + 4.0), GRID, 1.0));
        }
        self.page.add(&Element::line((self.axis.left(), bottom), (self.axis.right(), bottom), GREY, 1.0));
        if let Some(reference) = &self.forest.reference {
            let x = self.axis.at(reference.value);
            let line = Element::line((x, top), (x, bottom), SOFT, 1.0).with("class", "reference");
            self.page.add(&line.with("stroke-dasharray", "4 3"));
        }
    }

    fn row(&mut self, index: usize, share: &str, top: f64) {
        let Columns { numbers, names, shares, bars, chances, width, .. } = self.columns;
        let row = &self.forest.rows[index];
        let y = top + 0.5 * ROW_HEIGHT;
        let print = if row.unseen { SOFT } else { INK };
        let mut group = Element::new("g").with("class", "row").tip(&tip(row));
        if self.forest.numbered {
            let number = (index + 1).to_string();
            group = group.child(&Element::label(numbers, y, NUMBER_SIZE, SOFT, Anchor::End, &number));
        }
        group = group.child(&Element::label(names, y, NAME_SIZE, print, Anchor::Start, &short(&row.name)).with("class", "name"));
        group = self.marks(group, row, y);
        group = group.child(&Element::label(shares, y, NUMBER_SIZE, print, Anchor::End, share));
        if let Some(p_best) = row.p_best {
            let bar = Element::rect(bars, y - 5.0, BAR_WIDTH * p_best, 10.0, if row.unseen { GRID } else { PALE_BLUE });
            group = group.child(&bar.with("class", "best"));
            let number = format!("{} %", chance(p_best));
            group = group.child(&Element::label(chances, y, NUMBER_SIZE, print, Anchor::End, &number));
        }
        // Nothing to see: it makes the whole row answer to the pointer.
        let whole = Element::rect(MARGIN, top, width - 2.0 * MARGIN, ROW_HEIGHT, "none").with("pointer-events", "all");
        self.page.add(&group.child(&whole));
    }

    /// Line and dot; arrows where they go on to the left of the axis.
    fn marks(&self, group: Element, row: &ForestRow, y: f64) -> Element {
        let [low, mean, high] = [row.low, row.mean, row.high].map(|value| self.axis.at(value));
        let (stroke, width) = if row.unseen { (GREY, 1.5) } else { (BLUE, 2.0) };
        let mut group = group.child(&Element::line((low, y), (high, y), stroke, width).with("class", "interval"));
        if self.axis.is_below(row.low) {
            group = group.child(&arrow(low, y, stroke));
        }
        // A dot at the end of the axis would claim that the mean is there.
        if self.axis.is_below(row.mean) { group } else { group.child(&dot(mean, y, row.unseen).with("class", "mean")) }
    }

    fn tick_labels(&mut self, y: f64) {
        for tick in self.axis.ticks() {
            let x = self.axis.at(tick.value);
            self.page.add(&Element::label(x, y, TICK_SIZE, SOFT, Anchor::Middle, &tick.label).with("class", "tick"));
        }
    }

    fn axis_title(&mut self, top: f64) -> f64 {
        let mut title = self.forest.axis_title.clone();
        if self.axis.is_log() {
            title.push_str(" (logarithmic)");
        }
        let middle = 0.5 * (self.axis.left() + self.axis.right());
        self.page.add(&Element::label(middle, top + 0.5 * LINE_HEIGHT, NAME_SIZE, INK, Anchor::Middle, title.trim_start()));
        top + LINE_HEIGHT
    }

    /// Headings of the columns at the right, and what the reference is.
    fn headings(&mut self, top: f64) -> f64 {
        let Columns { shares, chances, .. } = self.columns;
        let y = top + 0.5 * LINE_HEIGHT;
        self.page.add(&Element::label(shares, y, NUMBER_SIZE, SOFT, Anchor::End, "mean"));
        if self.forest.has_chances() {
            self.page.add(&Element::label(chances, y, NUMBER_SIZE, SOFT, Anchor::End, "P(best)"));
        }
        if let Some(Reference { value, label }) = &self.forest.reference {
            let half = 0.5 * font::width(label, NUMBER_SIZE, Weight::Regular);
            // Held inside the axis; in the middle of it if it is longer.
            let (left, right) = (self.axis.left() + half, self.axis.right() - half);
            let x = if left < right { self.axis.at(*value).clamp(left, right) } else { 0.5 * (left + right) };
            self.page.add(&Element::label(x, y, NUMBER_SIZE, SOFT, Anchor::Middle, label));
        }
        top + LINE_HEIGHT
    }

    fn legend(&mut self, top: f64) -> f64 {
        const MARK: f64 = 28.0;
        let rows = &self.forest.rows;
        let mut entries = Vec::new();
        if rows.iter().any(|row| !row.unseen) {
            entries.push((Entry::Seen, self.forest.legend.as_str()));
        }
        if rows.iter().any(|row| row.unseen) {
            entries.push((Entry::Unseen, "never shown: its prior"));
        }
        if rows.iter().any(|row| self.axis.is_below(row.low)) {
            entries.push((Entry::Arrow, "goes on further left"));
        }
        let (mut x, mut y) = (MARGIN, top + 0.5 * LINE_HEIGHT);
        for (entry, text) in entries {
            let width = MARK + 8.0 + OTHER_FONTS * font::width(text, NUMBER_SIZE, Weight::Regular);
            if x > MARGIN && x + width > self.columns.width - MARGIN {
                (x, y) = (MARGIN, y + LINE_HEIGHT);
            }
            let (stroke, thickness) = if let Entry::Unseen = entry { (GREY, 1.5) } else { (BLUE, 2.0) };
            self.page.add(&Element::line((x, y), (x + MARK, y), stroke, thickness));
            self.page.add(&match entry {
                Entry::Seen => dot(x + 0.5 * MARK, y, false),
                Entry::Unseen => dot(x + 0.5 * MARK, y, true),
                Entry::Arrow => arrow(x, y, stroke),
            });
            self.page.add(&Element::label(x + MARK + 8.0, y, NUMBER_SIZE, SOFT, Anchor::Start, text).with("class", "legend"));
            x += width + GAP;
        }
        y + 0.5 * LINE_HEIGHT
    }
}

#[derive(Clone, Copy)]
enum Entry {
    Seen,
    Unseen,
    Arrow,
}

fn dot(x: f64, y: f64, unseen: bool) -> Element {
    if unseen {
        Element::circle(x, y, DOT - 0.5, WHITE).with("stroke", GREY).number("stroke-width", 1.5)
    } else {
        Element::circle(x, y, DOT, BLUE)
    }
}

/// Points to the left, with its point at x.
fn arrow(x: f64, y: f64, fill: &str) -> Element {
    let (back, above, below) = (x + 7.0, y - 4.0, y + 4.0);
    Element::new("path").with("d", &format!("M{x} {y}L{back} {above}V{below}Z")).with("fill", fill).with("class", "arrow")
}

/// All of a row in words.
fn tip(row: &ForestRow) -> String {
    let ForestRow { name, mean, low, high, p_best, unseen } = row;
    let mut text = format!("{name}: {} ({} to {})", two_digits(*mean), two_digits(*low), two_digits(*high));
    if let Some(p_best) = p_best {
        let _ = write!(text, ", P(best) {} %", chance(*p_best));
    }
    if *unseen {
        text.push_str(", never shown");
    }
    text
}
