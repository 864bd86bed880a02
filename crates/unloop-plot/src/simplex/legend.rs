//! What the tones of triangles mean.

use super::region::MASSES;
use crate::colour::{INK, Rgb, SOFT};
use crate::font::{self, OTHER_FONTS, Weight};
use crate::number::percent;
use crate::svg::{Anchor, Element, Page};

const SIZE: f64 = 11.0;
const HEIGHT: f64 = 17.0;
const SWATCH: f64 = 38.0;
const GAP: f64 = 7.0;
const LINE_HEIGHT: f64 = 22.0;

/// Draws the legend from `top` down; returns where it ends.
pub(super) fn draw(page: &mut Page, left: f64, top: f64, marks: bool) -> f64 {
    let y = top + 0.5 * LINE_HEIGHT;
    let mut x = left;
    let write = |page: &mut Page, x: f64, text: &str| {
        page.add(&Element::label(x, y, SIZE, INK, Anchor::Start, text).with("class", "legend"));
        x + OTHER_FONTS * font::width(text, SIZE, Weight::Regular) + GAP
    };
    x = write(page, x, "the densest region that holds");
    for (tone, mass) in MASSES.iter().enumerate().rev().map(|(index, mass)| (Rgb::sequential(index + 1), mass)) {
        let swatch = Element::rect(x, y - 0.5 * HEIGHT, SWATCH, HEIGHT, &tone.hex()).with("class", "swatch");
        page.add(&swatch);
        let print = tone.print_on_top();
        page.add(&Element::label(x + 0.5 * SWATCH, y, SIZE, print, Anchor::Middle, &percent(*mass, 0)));
        x += SWATCH;
    }
    x = write(page, x + GAP, "of the probability");
    if marks {
        x += 2.0 * GAP;
        for stroke in 0..5 {
            let across = x + 3.0 * f64::from(stroke);
            page.add(&Element::line((across, y - 4.0), (across, y + 4.0), SOFT, 1.0));
        }
        write(page, x + 12.0 + GAP, "samples of each share");
    }
    top + LINE_HEIGHT
}
