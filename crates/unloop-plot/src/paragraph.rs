//! Lines of text above and below a picture: titles, legends, footers.

use crate::colour::{INK, SOFT};
use crate::font::{self, Weight};
use crate::svg::{Anchor, Element, Page};

/// How a paragraph is set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    size: f64,
    leading: f64,
    fill: &'static str,
    weight: Weight,
}

pub(crate) const TITLE: Style = Style { size: 17.0, leading: 24.0, fill: INK, weight: Weight::Bold };
pub(crate) const SUBTITLE: Style = Style { size: 12.5, leading: 18.0, fill: SOFT, weight: Weight::Regular };
pub(crate) const FOOTER: Style = Style { size: 10.5, leading: 15.0, fill: SOFT, weight: Weight::Regular };

/// Draws a text in lines no wider than `room`, from `top` down; returns where it ends.
pub(crate) fn draw(page: &mut Page, text: &str, style: Style, left: f64, top: f64, room: f64) -> f64 {
    let Style { size, leading, fill, weight } = style;
    let mut top = top;
    for line in font::wrap(text, room, size, weight) {
        page.add(&Element::label(left, top + 0.5 * leading, size, fill, Anchor::Start, &line).weight(weight));
        top += leading;
    }
    top
}
