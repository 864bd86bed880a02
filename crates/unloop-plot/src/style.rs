//! How series look: a colour, dashes and a marker for each style, so that they are told apart in a grey print too.

use crate::colour::{Rgb, WHITE};
use crate::svg::Element;

/// Styles that can be told apart.
pub(crate) const MOST_STYLES: usize = 12;

/// Dashes and the gaps between them, so that curves are told apart without colours too. None is a line without gaps.
const DASHES: [Option<&str>; MOST_STYLES] = [
    None,
    Some("8 3"),
    Some("2 2.5"),
    Some("9 3 2 3"),
    Some("16 4"),
    Some("5 3"),
    Some("9 3 2 3 2 3"),
    Some("16 3 5 3"),
    Some("2 5"),
    Some("16 3 2 3"),
    Some("5 6"),
    Some("16 3 2 3 2 3"),
];

/// What stands at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Circle,
    Square,
    Triangle,
    Diamond,
    Tip,
    Plus,
    Cross,
}

/// A shape and whether it is filled. Those next to each other differ most.
const MARKERS: [(Shape, bool); MOST_STYLES] = [
    (Shape::Circle, true),
    (Shape::Square, false),
    (Shape::Triangle, true),
    (Shape::Diamond, false),
    (Shape::Tip, true),
    (Shape::Plus, true),
    (Shape::Cross, true),
    (Shape::Circle, false),
    (Shape::Square, true),
    (Shape::Triangle, false),
    (Shape::Diamond, true),
    (Shape::Tip, false),
];

/// A line in a style.
pub(crate) fn line(style: usize, points: impl IntoIterator<Item = (f64, f64)>, width: f64) -> Element {
    let line = Element::through("polyline", points)
        .with("fill", "none")
        .with("stroke", &Rgb::distinct(style).hex())
        .number("stroke-width", width)
        .with("stroke-linejoin", "round");
    match DASHES[style % MOST_STYLES] {
        Some(dashes) => line.with("stroke-dasharray", dashes),
        None => line,
    }
}

/// The shade of an interval in a style.
pub(crate) fn band(style: usize, outline: impl IntoIterator<Item = (f64, f64)>) -> Element {
    Element::through("polygon", outline).with("fill", &Rgb::distinct(style).hex()).number("fill-opacity", 0.16)
}

/// The marker of a style around a point.
pub(crate) fn marker(style: usize, (x, y): (f64, f64)) -> Element {
    let (shape, filled) = MARKERS[style % MOST_STYLES];
    let colour = Rgb::distinct(style).hex();
    let through = |corners: &[(f64, f64)]| Element::through("polygon", corners.iter().map(|(right, down)| (x + right, y + down)));
    // A plus with thick arms; turned by an eighth it is a cross.
    let (arm, half) = (4.6, 1.5);
    let plus = [
        (half, -arm),
        (half, -half),
        (arm, -half),
        (arm, half),
        (half, half),
        (half, arm),
        (-half, arm),
        (-half, half),
        (-arm, half),
        (-arm, -half),
        (-half, -half),
        (-half, -arm),
    ];
    let element = match shape {
        Shape::Circle => Element::new("circle").number("cx", x).number("cy", y).number("r", 3.6),
        Shape::Square => through(&[(-3.2, -3.2), (3.2, -3.2), (3.2, 3.2), (-3.2, 3.2)]),
        Shape::Triangle => through(&[(0.0, -4.6), (4.3, 3.0), (-4.3, 3.0)]),
        Shape::Tip => through(&[(0.0, 4.6), (4.3, -3.0), (-4.3, -3.0)]),
        Shape::Diamond => through(&[(0.0, -4.8), (4.8, 0.0), (0.0, 4.8), (-4.8, 0.0)]),
        Shape::Plus => through(&plus),
        Shape::Cross => through(&plus).turned(45.0, (x, y)),
    };
    let (fill, stroke, width) = if filled { (colour.as_str(), WHITE, 0.8) } else { (WHITE, colour.as_str(), 1.6) };
    element.with("fill", fill).with("stroke", stroke).number("stroke-width", width)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_markers_are_used_twice() {
        for (index, marker) in MARKERS.iter().enumerate() {
            assert!(!MARKERS[..index].contains(marker));
        }
    }

    #[test]
    fn no_dashes_are_used_twice() {
        for (index, dashes) in DASHES.iter().enumerate() {
            assert!(!DASHES[..index].contains(dashes));
        }
    }
}
