//! Where everything of a grid of charts stands, and how it looks.

use super::axes::{self, Axes};
use super::{Look, Panel, Panels, Series, legend};
use crate::axis::TICK_SIZE;
use crate::colour::{GREY, GRID, INK, Rgb, SOFT};
use crate::font::{self, OTHER_FONTS, Weight};
use crate::paragraph::{self, FOOTER, SUBTITLE, TITLE};
use crate::picture::Picture;
use crate::point::BandPoint;
use crate::style;
use crate::svg::{Anchor, Element, Page};

const WIDTH: f64 = 900.0;
/// A panel is no narrower.
const NARROWEST: f64 = 230.0;
/// Around the whole picture.
const MARGIN: f64 = 24.0;
/// Between panels side by side, and between rows of them.
const COLUMN_GAP: f64 = 20.0;
const ROW_GAP: f64 = 20.0;
const TITLE_SIZE: f64 = 13.0;
const LABEL_SIZE: f64 = 12.0;
/// A line of a title or label.
const LINE_HEIGHT: f64 = 18.0;
/// Between what stands above the upright axis and its highest tick.
const RISE: f64 = 10.0;
/// Between a tick and its label.
const GAP: f64 = 6.0;
/// From the lower axis to the end of its labels.
const TICKS: f64 = 22.0;
/// Half of the cross lines of an error bar.
const CAP: f64 = 3.0;

/// Draws charts that have been checked.
pub(super) fn draw(panels: &Panels) -> Picture {
    let columns = panels.columns.min(panels.panels.len());
    let gaps = 2.0 * MARGIN + COLUMN_GAP * (columns - 1) as f64;
    let width = WIDTH.max(gaps + NARROWEST * columns as f64);
    let room = width - 2.0 * MARGIN;
    let layout = Layout::new(panels, (width - gaps) / columns as f64);
    let mut page = Page::default();
    let mut y = paragraph::draw(&mut page, &panels.title, TITLE, MARGIN, MARGIN - 4.0, room);
    y = paragraph::draw(&mut page, panels.subtitle.as_deref().unwrap_or(""), SUBTITLE, MARGIN, y, room);
    y = legend::draw(&mut page, &panels.panels, (MARGIN, width - MARGIN), y + 6.0) + 10.0;
    for (index, row) in panels.panels.chunks(columns).enumerate() {
        y = layout.row(&mut page, row, y + if index == 0 { 0.0 } else { ROW_GAP });
    }
    if let Some(footer) = &panels.footer {
        y = paragraph::draw(&mut page, footer, FOOTER, MARGIN, y + 8.0, room);
    }
    Picture::new(&page, width, y + MARGIN - 6.0, &panels.title)
}

/// What all panels have in common: their grounds are equally large.
struct Layout {
    /// Width of a panel with its labels.
    width: f64,
    /// Room for labels at the left of an axis.
    left: f64,
    /// Room for half a label at its right.
    right: f64,
    /// Between the ends of the upright axis.
    height: f64,
}

impl Layout {
    fn new(panels: &Panels, width: f64) -> Self {
        let height = match panels.panels.len().min(panels.columns) {
            1 if panels.panels.len() == 1 => 340.0,
            1 => 260.0,
            2 => 225.0,
            _ => 200.0,
        };
        let most = |of: &dyn Fn(&Panel) -> f64| panels.panels.iter().map(of).fold(0.0, f64::max);
        let uprights = most(&|panel| axes::upright(panel, (height, 0.0)).widest_label()) + GAP;
        // Half of a label may stand beyond either end.
        let across = most(&|panel| {
            let axes = Axes::new(panel, (uprights, width), (height, 0.0));
            0.5 * axes.x.widest_label() - (axes.x.left() - axes.left)
        });
        Self { width, left: uprights.max(across).min(0.6 * width), right: across.min(0.3 * width), height }
    }

    /// A row of panels from `top` down; returns where it ends.
    fn row(&self, page: &mut Page, row: &[Panel], top: f64) -> f64 {
        let most = |lines: &dyn Fn(&Panel) -> usize| row.iter().map(lines).max().unwrap_or(0) as f64;
        let titles = most(&|panel| self.title(panel).len());
        let labels = most(&|panel| self.y_label(panel).len());
        let top = top + LINE_HEIGHT * (titles + labels) + RISE;
        for (index, panel) in row.iter().enumerate() {
            let left = MARGIN + (self.width + COLUMN_GAP) * index as f64;
            let axes = Axes::new(panel, (left + self.left, left + self.width - self.right), (top + self.height, top));
            let mut drawing = Drawing { panel, axes, page };
            drawing.draw();
            // Shorter titles and labels stand as low as longer ones end.
            let (title, label) = (self.title(panel), self.y_label(panel));
            let y = top - RISE - LINE_HEIGHT * (label.len() as f64 - 0.5);
            drawing.lines(&label, TextSet::Label, left, y);
            let y = top - RISE - LINE_HEIGHT * (labels + title.len() as f64 - 0.5);
            drawing.lines(&title, TextSet::Title, left, y);
            let middle = 0.5 * (drawing.axes.left + drawing.axes.right);
            let below = top + self.height + TICKS + 0.5 * LINE_HEIGHT;
            drawing.lines(&self.x_label(panel), TextSet::Centred, middle, below);
        }
        top + self.height + TICKS + LINE_HEIGHT * most(&|panel| self.x_label(panel).len())
    }

    fn title(&self, panel: &Panel) -> Vec<String> {
        font::wrap(&panel.title, self.width / OTHER_FONTS, TITLE_SIZE, Weight::Bold)
    }

    fn y_label(&self, panel: &Panel) -> Vec<String> {
        font::wrap(&panel.y_label, self.width / OTHER_FONTS, LABEL_SIZE, Weight::Regular)
    }

    fn x_label(&self, panel: &Panel) -> Vec<String> {
        let room = self.width - self.left - self.right;
        font::wrap(&panel.x_label, room / OTHER_FONTS, LABEL_SIZE, Weight::Regular)
    }
}

/// How lines of text are set.
#[derive(Clone, Copy)]
enum TextSet {
    Title,
    Label,
    Centred,
}

/// A panel being drawn: what is below first.
struct Drawing<'a> {
    panel: &'a Panel,
    axes: Axes,
    page: &'a mut Page,
}

impl Drawing<'_> {
    fn draw(&mut self) {
        self.ground();
        let panel = self.panel;
        let lines = || panel.series.iter().filter(|series| series.look != Look::Marks);
        lines().for_each(|series| self.band(series));
        lines().for_each(|series| self.line(series));
        let dodges = self.axes.dodges(panel);
        let marks = || panel.series.iter().zip(&dodges).filter(|(series, _)| series.look == Look::Marks);
        marks().for_each(|(series, dodge)| self.bars(series, *dodge));
        marks().for_each(|(series, dodge)| self.marks(series, *dodge));
    }

    /// Lines of text at the same x, the middle of the first at y.
    fn lines(&mut self, lines: &[String], set: TextSet, x: f64, y: f64) {
        for (index, line) in lines.iter().enumerate() {
            let y = y + LINE_HEIGHT * index as f64;
            let label = |size, anchor| Element::label(x, y, size, INK, anchor, line);
            self.page.add(&match set {
                TextSet::Title => label(TITLE_SIZE, Anchor::Start).weight(Weight::Bold).with("class", "panel"),
                TextSet::Label => label(LABEL_SIZE, Anchor::Start).with("class", "y-label"),
                TextSet::Centred => label(LABEL_SIZE, Anchor::Middle).with("class", "x-label"),
            });
        }
    }

    /// Grid, ticks and axes.
    fn ground(&mut self) {
        let Axes { x, y, left, right } = &self.axes;
        let (top, bottom) = (self.axes.top(), self.axes.bottom());
        for tick in x.ticks() {
            let across = x.at(tick.value);
            self.page.add(&Element::line((across, top), (across, bottom), GRID, 0.7).with("class", "grid"));
            self.page.add(&Element::line((across, bottom), (across, bottom + 4.0), GREY, 1.0));
            let label = Element::label(across, bottom + 13.0, TICK_SIZE, SOFT, Anchor::Middle, &tick.label);
            self.page.add(&label.with("class", "x-tick"));
        }
        for tick in y.ticks() {
            let height = y.at(tick.value);
            let stroke = if tick.value == 0.0 && !y.is_log() { GREY } else { GRID };
            self.page.add(&Element::line((*left, height), (*right, height), stroke, 1.0).with("class", "grid"));
            let label = Element::label(left - GAP, height, TICK_SIZE, SOFT, Anchor::End, &tick.label);
            self.page.add(&label.with("class", "y-tick"));
        }
        self.page.add(&Element::line((*left, bottom), (*right, bottom), GREY, 1.0).with("class", "axis"));
    }

    /// Where a line goes for one value of its points.
    fn through(&self, series: &Series, value: fn(&BandPoint) -> f64) -> Vec<(f64, f64)> {
        let mut line: Vec<(f64, f64)> = Vec::new();
        for point in &series.points {
            let (x, y) = self.axes.at(point.x, value(point));
            if let (Look::Steps, Some(&(_, before))) = (series.look, line.last()) {
                line.push((x, before));
            }
            line.push((x, y));
        }
        line
    }

    fn band(&mut self, series: &Series) {
        let (above, below) = (self.through(series, |point| point.high), self.through(series, |point| point.low));
        let outline = above.into_iter().chain(below.into_iter().rev());
        self.page.add(&style::band(series.style, outline).with("class", "band"));
    }

    fn line(&mut self, series: &Series) {
        let line = style::line(series.style, self.through(series, |point| point.mean), 1.8);
        self.page.add(&line.with("class", "curve").tip(&series.name));
    }

    /// Error bars of marks and the line that joins them.
    fn bars(&mut self, series: &Series, dodge: f64) {
        let at = |axes: &Axes, x: f64, y: f64| (axes.x.at(x) + dodge, axes.y.at(y));
        let joined = series.points.iter().map(|point| at(&self.axes, point.x, point.mean));
        let line = style::line(series.style, joined, 1.0).number("stroke-opacity", 0.7);
        if series.points.len() > 1 {
            self.page.add(&line.with("class", "join"));
        }
        let colour = Rgb::distinct(series.style).hex();
        for point in series.points.iter().filter(|point| point.low < point.high) {
            let ((x, low), (_, high)) = (at(&self.axes, point.x, point.low), at(&self.axes, point.x, point.high));
            self.page.add(&Element::line((x, low), (x, high), &colour, 1.4).with("class", "bar"));
            for end in [low, high] {
                self.page.add(&Element::line((x - CAP, end), (x + CAP, end), &colour, 1.4));
            }
        }
    }

    fn marks(&mut self, series: &Series, dodge: f64) {
        for point in &series.points {
            let (x, y) = self.axes.at(point.x, point.mean);
            self.page.add(&style::marker(series.style, (x + dodge, y)).with("class", "mark").tip(&series.name));
        }
    }
}
