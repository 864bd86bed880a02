//! SVG text: elements with escaped attributes and content.

use std::fmt::{self, Display, Write};

use crate::colour::WHITE;
use crate::font::{FAMILY, Weight};

/// One element.
#[derive(Clone, Debug)]
pub(crate) struct Element {
    name: &'static str,
    attributes: String,
    content: String,
}

/// Which point of a text stands at its x.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

impl Element {
    pub(crate) fn new(name: &'static str) -> Self {
        Self { name, attributes: String::new(), content: String::new() }
    }

    /// A filled rectangle.
    pub(crate) fn rect(x: f64, y: f64, width: f64, height: f64, fill: &str) -> Self {
        Self::new("rect").number("x", x).number("y", y).number("width", width).number("height", height).with("fill", fill)
    }

    /// A straight line.
    pub(crate) fn line((x1, y1): (f64, f64), (x2, y2): (f64, f64), stroke: &str, width: f64) -> Self {
        Self::new("line")
            .number("x1", x1)
            .number("y1", y1)
            .number("x2", x2)
            .number("y2", y2)
            .with("stroke", stroke)
            .number("stroke-width", width)
    }

    /// A `polyline` or `polygon` through points.
    pub(crate) fn through(name: &'static str, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let mut text = String::new();
        for (x, y) in points {
            let space = if text.is_empty() { "" } else { " " };
            let _ = write!(text, "{space}{},{}", Number(x), Number(y));
        }
        Self::new(name).with("points", &text)
    }

    /// A `path` along lines, each closed or open.
    pub(crate) fn path<'a>(lines: impl IntoIterator<Item = &'a [(f64, f64)]>, closed: bool) -> Self {
        let mut text = String::new();
        for line in lines {
            for (index, (x, y)) in line.iter().enumerate() {
                let step = if index == 0 { 'M' } else { 'L' };
                let _ = write!(text, "{step}{} {}", Number(*x), Number(*y));
            }
            text.push_str(if closed { "Z" } else { "" });
        }
        Self::new("path").with("d", &text)
    }

    /// A filled circle.
    pub(crate) fn circle(x: f64, y: f64, radius: f64, fill: &str) -> Self {
        Self::new("circle").number("cx", x).number("cy", y).number("r", radius).with("fill", fill)
    }

    /// A line of text whose middle, by height, is at y. The base line is computed here because renderers disagree about
    /// `dominant-baseline`.
    pub(crate) fn label(x: f64, y: f64, size: f64, fill: &str, anchor: Anchor, text: &str) -> Self {
        let label = Self::new("text").number("x", x).number("y", y + 0.36 * size).number("font-size", size).with("fill", fill);
        match anchor {
            Anchor::Start => label,
            Anchor::Middle => label.with("text-anchor", "middle"),
            Anchor::End => label.with("text-anchor", "end"),
        }
        .text(text)
    }

    pub(crate) fn weight(self, weight: Weight) -> Self {
        match weight {
            Weight::Regular => self,
            Weight::Bold => self.with("font-weight", "bold"),
        }
    }

    /// Turned by an angle in degrees, clockwise, around a point.
    pub(crate) fn turned(self, degrees: f64, (x, y): (f64, f64)) -> Self {
        let (degrees, x, y) = (Number(degrees), Number(x), Number(y));
        self.with("transform", &format!("rotate({degrees} {x} {y})"))
    }

    pub(crate) fn with(mut self, key: &str, value: &str) -> Self {
        let _ = write!(self.attributes, " {key}=\"{}\"", Escaped(value));
        self
    }

    pub(crate) fn number(mut self, key: &str, value: f64) -> Self {
        let _ = write!(self.attributes, " {key}=\"{}\"", Number(value));
        self
    }

    pub(crate) fn text(mut self, text: &str) -> Self {
        let _ = write!(self.content, "{}", Escaped(text));
        self
    }

    /// What a browser shows when the pointer rests on the element.
    pub(crate) fn tip(self, text: &str) -> Self {
        self.child(&Self::new("title").text(text))
    }

    pub(crate) fn child(mut self, child: &Self) -> Self {
        let _ = write!(self.content, "{child}");
        self
    }
}

impl Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, attributes, content } = self;
        if content.is_empty() { write!(f, "<{name}{attributes}/>") } else { write!(f, "<{name}{attributes}>{content}</{name}>") }
    }
}

/// Elements in the order in which they are drawn, the later above the earlier.
#[derive(Clone, Debug, Default)]
pub(crate) struct Page {
    body: String,
}

impl Page {
    pub(crate) fn add(&mut self, element: &Element) {
        let _ = writeln!(self.body, "{element}");
    }

    /// Everything on white. `title` is for screen readers and for those who rest the pointer.
    pub(crate) fn finish(&self, width: u32, height: u32, title: &str) -> String {
        let mut text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
             role=\"img\" font-family=\"{FAMILY}\">\n"
        );
        if !title.is_empty() {
            let _ = writeln!(text, "{}", Element::new("title").text(title));
        }
        let _ = writeln!(text, "{}", Element::rect(0.0, 0.0, f64::from(width), f64::from(height), WHITE));
        text.push_str(&self.body);
        text.push_str("</svg>\n");
        text
    }
}

/// A coordinate to a hundredth of a pixel, the shortest way.
struct Number(f64);

impl Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Adding zero turns -0 into 0.
        let rounded = (self.0 * 100.0).round() / 100.0 + 0.0;
        write!(f, "{rounded}")
    }
}

/// Text as XML wants it. Characters that XML cannot hold at all become U+FFFD.
struct Escaped<'a>(&'a str);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in self.0.chars() {
            match character {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\t' | '\n' | '\r' => f.write_char(' ')?,
                '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}' => f.write_char('\u{fffd}')?,
                other => f.write_char(other)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_short() {
        let written: Vec<String> = [0.0, -0.0, -0.001, 12.0, 12.5, 1.0 / 3.0, 1e6].map(|x| Number(x).to_string()).into();
        assert_eq!(written, ["0", "0", "0", "12", "12.5", "0.33", "1000000"]);
    }

    #[test]
    fn markup_and_control_characters_do_not_get_through() {
        assert_eq!(Escaped("a<b> & \"c\"\u{0}\u{1b}\n").to_string(), "a&lt;b&gt; &amp; &quot;c&quot;\u{fffd}\u{fffd} ");
        assert_eq!(Element::new("g").with("id", "\"><").to_string(), "<g id=\"&quot;&gt;&lt;\"/>");
    }
}
