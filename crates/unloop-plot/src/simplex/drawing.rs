//! Where everything of a grid of triangles stands, and how it looks.

use super::frame::{Frame, NAMED, OFF, Reach, STROKE, marked};
use super::region::Density;
use super::{SimplexPanel, Simplexes, legend};
use crate::colour::{GREY, INK, Rgb, SOFT};
use crate::font::{self, OTHER_FONTS, Weight};
use crate::paragraph::{self, FOOTER, SUBTITLE, TITLE};
use crate::picture::Picture;
use crate::svg::{Anchor, Element, Page};

const WIDTH: f64 = 900.0;
/// A panel is no narrower.
const NARROWEST: f64 = 110.0;
/// A side of a triangle is no longer.
const LONGEST: f64 = 340.0;
/// Around the whole picture.
const MARGIN: f64 = 24.0;
const COLUMN_GAP: f64 = 18.0;
const ROW_GAP: f64 = 16.0;
const TITLE_SIZE: f64 = 13.0;
const NAME_SIZE: f64 = 11.0;
const NOTE_SIZE: f64 = 11.0;
/// A line of a title or note.
const LINE_HEIGHT: f64 = 17.0;
/// Ends of axes.
const FIGURE_SIZE: f64 = 10.0;
/// Between names side by side.
const GAP: f64 = 8.0;

/// Draws triangles that have been checked.
pub(super) fn draw(simplexes: &Simplexes) -> Picture {
    let columns = simplexes.columns.min(simplexes.panels.len());
    let gaps = 2.0 * MARGIN + COLUMN_GAP * (columns - 1) as f64;
    let width = WIDTH.max(gaps + NARROWEST * columns as f64);
    let room = width - 2.0 * MARGIN;
    let layout = Layout::new(simplexes, (width - gaps) / columns as f64);
    let mut page = Page::default();
    let mut y = paragraph::draw(&mut page, &simplexes.title, TITLE, MARGIN, MARGIN - 4.0, room);
    y = paragraph::draw(&mut page, simplexes.subtitle.as_deref().unwrap_or(""), SUBTITLE, MARGIN, y, room);
    y = legend::draw(&mut page, MARGIN, y + 6.0, layout.marked.contains(&true)) + 12.0;
    for (index, row) in simplexes.panels.chunks(columns).enumerate() {
        y = layout.row(&mut page, row, y + if index == 0 { 0.0 } else { ROW_GAP });
    }
    if let Some(footer) = &simplexes.footer {
        y = paragraph::draw(&mut page, footer, FOOTER, MARGIN, y + 8.0, room);
    }
    Picture::new(&page, width, y + MARGIN - 6.0, &simplexes.title)
}

/// What all panels have in common: their triangles are equally large.
struct Layout {
    /// Width of a panel.
    width: f64,
    /// Length of a side of a triangle.
    side: f64,
    reach: Reach,
    /// Which axes there are in any panel.
    marked: [bool; 3],
}

impl Layout {
    fn new(simplexes: &Simplexes, width: f64) -> Self {
        let marked = marked(&simplexes.panels);
        // Halved until it is as long as the panel allows.
        let (mut side, mut longer) = (0.0, LONGEST);
        for _ in 0..20 {
            let tried = 0.5 * (side + longer);
            if Frame::reach(tried, marked).width() <= width { side = tried } else { longer = tried }
        }
        Self { width, side, reach: Frame::reach(side, marked), marked }
    }

    /// A row of panels from `top` down; returns where it ends.
    fn row(&self, page: &mut Page, row: &[SimplexPanel], top: f64) -> f64 {
        let titles = row.iter().map(|panel| self.title(panel).len()).max().unwrap_or(0) as f64;
        let notes = row.iter().map(|panel| self.note(panel).len()).max().unwrap_or(0) as f64;
        let upper = top + LINE_HEIGHT * titles + 2.0;
        let bottom = upper + self.reach.above;
        let lower = bottom + self.reach.below + 2.0;
        for (index, panel) in row.iter().enumerate() {
            let start = MARGIN + (self.width + COLUMN_GAP) * index as f64;
            let middle = start + 0.5 * self.width;
            let left = middle - 0.5 * self.reach.width() + self.reach.left;
            let title = self.title(panel);
            let y = upper - 2.0 - LINE_HEIGHT * (title.len() as f64 - 0.5);
            for (line, y) in lines(&title, y) {
                let label = Element::label(middle, y, TITLE_SIZE, INK, Anchor::Middle, line).weight(Weight::Bold);
                page.add(&label.with("class", "panel"));
            }
            let frame = Frame { left, bottom, side: self.side };
            Drawing { panel, frame, start, end: start + self.width, apart: self.marked.contains(&true), page }.draw();
            for (line, y) in lines(&self.note(panel), lower + 0.5 * LINE_HEIGHT) {
                page.add(&Element::label(middle, y, NOTE_SIZE, SOFT, Anchor::Middle, line).with("class", "note"));
            }
        }
        lower + LINE_HEIGHT * notes
    }

    fn title(&self, panel: &SimplexPanel) -> Vec<String> {
        font::wrap(&panel.title, self.width / OTHER_FONTS, TITLE_SIZE, Weight::Bold)
    }

    fn note(&self, panel: &SimplexPanel) -> Vec<String> {
        let note = panel.note.as_deref().unwrap_or("");
        font::wrap(note, self.width / OTHER_FONTS, NOTE_SIZE, Weight::Regular)
    }
}

/// Lines of text with their middles, the first at y.
fn lines(texts: &[String], y: f64) -> impl Iterator<Item = (&str, f64)> {
    texts.iter().enumerate().map(move |(index, text)| (text.as_str(), y + LINE_HEIGHT * index as f64))
}

/// A panel being drawn: what is below first.
struct Drawing<'a> {
    panel: &'a SimplexPanel,
    frame: Frame,
    /// Ends of the panel.
    start: f64,
    end: f64,
    /// Whether names make room for axes.
    apart: bool,
    page: &'a mut Page,
}

impl Drawing<'_> {
    fn draw(&mut self) {
        self.density();
        self.names();
        (0..3).filter(|&share| !self.panel.marks[share].is_empty()).for_each(|share| self.axis(share));
    }

    fn density(&mut self) {
        let density = Density::new(self.panel.grid, &self.panel.density);
        let corners = self.frame.corners();
        self.page.add(&Element::through("polygon", corners).with("fill", &Rgb::sequential(0).hex()).with("class", "rest"));
        let mut contours = Vec::new();
        for (index, level) in density.levels() {
            let region = density.above(level);
            let place = |lines: &[Vec<(f64, f64)>]| -> Vec<Vec<(f64, f64)>> {
                lines.iter().map(|line| line.iter().map(|&point| self.frame.at(point)).collect()).collect()
            };
            let loops = place(&region.loops);
            let fill = Element::path(loops.iter().map(Vec::as_slice), true).with("fill", &Rgb::sequential(index + 1).hex());
            contours.extend(place(&region.contours()));
            self.page.add(&fill.with("fill-rule", "evenodd").with("class", "region"));
        }
        if !contours.is_empty() {
            let lines = Element::path(contours.iter().map(Vec::as_slice), false).with("fill", "none").with("stroke", INK);
            let lines = lines.number("stroke-width", 0.6).number("stroke-opacity", 0.55).with("stroke-linejoin", "round");
            self.page.add(&lines.with("class", "contour"));
        }
        let outline = Element::through("polygon", corners).with("fill", "none").with("stroke", SOFT).number("stroke-width", 1.0);
        self.page.add(&outline.with("stroke-linejoin", "round").with("class", "outline"));
    }

    /// The names of options at their corners.
    fn names(&mut self) {
        let [first, second, third] = self.frame.corners();
        let half = 0.5 * (self.end - self.start - GAP);
        let placed = if self.apart {
            // Beside the corners, where no axis passes.
            [
                (first.0 - 9.0, first.1 - 7.0, Anchor::End, first.0 - 9.0 - self.start),
                (second.0 + 4.0, second.1 + 12.0, Anchor::End, 0.7 * self.frame.side),
                (third.0 + 9.0, third.1 - 4.0, Anchor::Start, second.0 + 0.5 * OFF - third.0 - 9.0),
            ]
        } else {
            [
                (self.start.max(first.0 - 10.0), first.1 + 11.0, Anchor::Start, half),
                (self.end.min(second.0 + 10.0), second.1 + 11.0, Anchor::End, half),
                (third.0, third.1 - 10.0, Anchor::Middle, 2.0 * half),
            ]
        };
        for ((x, y, anchor, room), name) in placed.into_iter().zip(&self.panel.corners) {
            let text = font::shorten(name, usize::MAX, room / OTHER_FONTS, NAME_SIZE);
            self.page.add(&Element::label(x, y, NAME_SIZE, INK, anchor, &text).with("class", "corner").tip(name));
        }
    }

    /// The axis of a share with its marks.
    fn axis(&mut self, share: usize) {
        let beside = self.frame.beside(share);
        let out = |(x, y): (f64, f64), far: f64| (x + far * beside.out.0, y + far * beside.out.1);
        self.page.add(&Element::line(beside.zero, beside.one, GREY, 1.0).with("class", "axis"));
        for (end, (text, at)) in [beside.zero, beside.one].into_iter().zip(["0", "1"].into_iter().zip(beside.figures())) {
            self.page.add(&Element::line(out(end, -3.0), out(end, 0.0), GREY, 1.0));
            self.page.add(&Element::label(at.0, at.1, FIGURE_SIZE, SOFT, Anchor::Middle, text).with("class", "end"));
        }
        let marks = &self.panel.marks[share];
        let opacity = (60.0 / marks.len() as f64).clamp(0.08, 0.5);
        let mut rug = Element::new("g").with("class", "rug").with("stroke", INK).number("stroke-width", 0.9);
        rug = rug.number("stroke-opacity", opacity);
        for &mark in marks {
            let at = beside.at(mark);
            rug = rug.child(&Element::path([&[at, out(at, STROKE)][..]], false).with("class", "mark"));
        }
        self.page.add(&rug);
        let text = format!("{} {}", ["θ₁", "θ₂", "θ₃"][share % 3], self.panel.corners[share]);
        let length = (beside.one.0 - beside.zero.0).hypot(beside.one.1 - beside.zero.1);
        let text = font::shorten(&text, usize::MAX, 0.9 * length / OTHER_FONTS, NAME_SIZE);
        let at = out(beside.at(0.5), NAMED);
        let label = Element::label(at.0, at.1, NAME_SIZE, SOFT, Anchor::Middle, &text).turned([-30.0, 30.0, 90.0][share % 3], at);
        self.page.add(&label.with("class", "share"));
    }
}
