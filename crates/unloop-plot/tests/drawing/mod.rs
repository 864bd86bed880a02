//! Reading pictures back: SVG by an XML parser, PNG by a decoder.

#![allow(dead_code, reason = "each of the tests uses a part of this")]

use resvg::tiny_skia::Pixmap;
use roxmltree::{Document, Node};
use unloop_plot::Picture;

pub(crate) fn parse(picture: &Picture) -> Document<'_> {
    Document::parse(picture.svg()).expect("well-formed XML")
}

/// Elements of a class, in the order in which they are drawn.
pub(crate) fn class<'a, 'input>(document: &'a Document<'input>, class: &'a str) -> impl Iterator<Item = Node<'a, 'input>> {
    document.descendants().filter(move |node| node.attribute("class") == Some(class))
}

pub(crate) fn number(node: Node<'_, '_>, key: &str) -> f64 {
    node.attribute(key).expect("has the attribute").parse().expect("is a number")
}

/// All that is written in the picture.
pub(crate) fn texts(document: &Document<'_>) -> Vec<String> {
    let texts = document.descendants().filter(|node| node.has_tag_name("text"));
    texts.map(|node| node.text().unwrap_or("").to_owned()).collect()
}

pub(crate) fn pixels(png: &[u8]) -> Pixmap {
    Pixmap::decode_png(png).expect("is a PNG")
}

/// The dark pixels of an image of twice the size between two corners of the picture, counted from the first corner.
pub(crate) fn dark(image: &Pixmap, (left, top): (f64, f64), (right, bottom): (f64, f64)) -> Vec<(u32, u32)> {
    let [left, top, right, bottom] = [left, top, right, bottom].map(|length| (2.0 * length).round() as u32);
    let all = (0..bottom - top).flat_map(|y| (0..right - left).map(move |x| (x, y)));
    all.filter(|&(x, y)| image.pixel(left + x, top + y).is_some_and(|pixel| pixel.red() < 128)).collect()
}

/// Whether nothing is drawn within ten pixels of the edges.
pub(crate) fn edges_are_white(picture: &Picture) -> bool {
    let image = pixels(&picture.png().unwrap());
    let (width, height) = (image.width(), image.height());
    let edge = |x: u32, y: u32| x < 20 || y < 20 || x >= width - 20 || y >= height - 20;
    let all = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
    all.filter(|&(x, y)| edge(x, y)).all(|(x, y)| {
        let pixel = image.pixel(x, y).expect("is inside");
        (pixel.red(), pixel.green(), pixel.blue()) == (255, 255, 255)
    })
}
