//! The fonts that travel with the crate, and how wide a text is.
//!
//! Noto Sans is drawn wherever it has the character. DejaVu Sans stands in for what Noto Sans lacks: Hebrew, Arabic, Georgian,
//! arrows, stars, many signs.

use std::sync::{Arc, LazyLock};

use resvg::usvg::fontdb::{Database, Source};
use skrifa::charmap::Charmap;
use skrifa::instance::{LocationRef, Size};
use skrifa::metrics::GlyphMetrics;
use skrifa::{FontRef, MetadataProvider};

/// What an SVG asks for: our font, else what common systems have of about that width.
pub(crate) const FAMILY: &str = "'Noto Sans', 'Segoe UI', 'Helvetica Neue', Arial, 'Liberation Sans', sans-serif";

/// Other fonts than ours may be wider by about this factor.
pub(crate) const OTHER_FONTS: f64 = 1.08;

/// Which of the fonts a text is set in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weight {
    Regular,
    Bold,
}

/// The fonts for drawing, and no others: the same picture on every machine.
pub(crate) fn database() -> Arc<Database> {
    static DATABASE: LazyLock<Arc<Database>> = LazyLock::new(|| {
        let mut database = Database::new();
        for file in [notosans::REGULAR_TTF, notosans::BOLD_TTF, dejavu::sans::regular()] {
            database.load_font_source(Source::Binary(Arc::new(file)));
        }
        Arc::new(database)
    });
    Arc::clone(&DATABASE)
}

/// Width of a line of text, in pixels.
pub(crate) fn width(text: &str, size: f64, weight: Weight) -> f64 {
    static REGULAR: LazyLock<Face> = LazyLock::new(|| Face::new(notosans::REGULAR_TTF));
    static BOLD: LazyLock<Face> = LazyLock::new(|| Face::new(notosans::BOLD_TTF));
    static STAND_IN: LazyLock<Face> = LazyLock::new(|| Face::new(dejavu::sans::regular()));
    let first = match weight {
        Weight::Regular => &*REGULAR,
        Weight::Bold => &*BOLD,
    };
    // What neither font has is mostly as wide as it is high: Chinese, pictures.
    let em = |character| first.advance(character).or_else(|| STAND_IN.advance(character)).unwrap_or(1.0);
    size * text.chars().map(em).sum::<f64>()
}

/// Room for the widest of some texts, in other fonts too.
pub(crate) fn widest<T: AsRef<str>>(texts: &[T], size: f64) -> f64 {
    let widths = texts.iter().map(|text| width(text.as_ref(), size, Weight::Regular));
    (OTHER_FONTS * widths.fold(0.0, f64::max)).ceil()
}

/// The text, or as much of it as fits into `characters` and `room` pixels with a `…` at the end.
pub(crate) fn shorten(text: &str, characters: usize, room: f64, size: f64) -> String {
    let fits = |text: &str| text.chars().count() <= characters && width(text, size, Weight::Regular) <= room;
    if fits(text) {
        return text.to_owned();
    }
    let mut kept: Vec<char> = text.chars().take(characters).collect();
    loop {
        // A mark belongs to the letter before it: drop both.
        while kept.pop().is_some_and(is_mark) {}
        let short: String = kept.iter().collect::<String>().trim_end().to_owned() + "…";
        if kept.is_empty() || fits(&short) {
            return short;
        }
    }
}

/// The text in lines no wider than `room`, broken at spaces, or inside a word that has no line to itself.
pub(crate) fn wrap(text: &str, room: f64, size: f64, weight: Weight) -> Vec<String> {
    let fits = |line: &str| width(line, size, weight) <= room;
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        let longer = if line.is_empty() { word.to_owned() } else { format!("{line} {word}") };
        if fits(&longer) {
            line = longer;
            continue;
        }
        if !line.is_empty() {
            lines.push(std::mem::take(&mut line));
        }
        for character in word.chars() {
            line.push(character);
            if !fits(&line) && line.chars().count() > 1 {
                line.pop();
                lines.push(std::mem::replace(&mut line, character.to_string()));
            }
        }
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

/// Accents and joiners, as far as names usually have them.
fn is_mark(character: char) -> bool {
    matches!(character, '\u{300}'..='\u{36f}' | '\u{591}'..='\u{5bd}' | '\u{64b}'..='\u{65f}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}')
}

/// One font, for measuring.
struct Face {
    characters: Charmap<'static>,
    metrics: GlyphMetrics<'static>,
}

impl Face {
    fn new(file: &'static [u8]) -> Self {
        let font = FontRef::new(file).expect("the font in the crate is a font");
        Self { characters: font.charmap(), metrics: font.glyph_metrics(Size::new(1.0), LocationRef::default()) }
    }

    /// Width of a character in units of the font's size; none if the font lacks it.
    fn advance(&self, character: char) -> Option<f64> {
        self.characters.map(character).and_then(|glyph| self.metrics.advance_width(glyph)).map(f64::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_add_up_and_scale() {
        let [one, two] = [12.0, 24.0].map(|size| width("Hm", size, Weight::Regular));
        assert!((two - 2.0 * one).abs() < 1e-9);
        assert!((one - width("H", 12.0, Weight::Regular) - width("m", 12.0, Weight::Regular)).abs() < 1e-9);
        assert!(width("Hm", 12.0, Weight::Bold) > one);
        assert!(width("i", 12.0, Weight::Regular) < width("W", 12.0, Weight::Regular));
    }

    #[test]
    fn figures_are_all_as_wide_so_that_columns_align() {
        for weight in [Weight::Regular, Weight::Bold] {
            assert!("0123456789".chars().all(|figure| width(&figure.to_string(), 1.0, weight) == width("0", 1.0, weight)));
        }
    }

    #[test]
    fn what_noto_lacks_is_measured_with_dejavu_and_the_rest_is_square() {
        let noto = Face::new(notosans::REGULAR_TTF);
        assert!(noto.advance('★').is_none());
        assert!(width("★", 10.0, Weight::Regular) < 10.0);
        assert_eq!(width("蕎麦", 10.0, Weight::Regular), 20.0);
    }

    #[test]
    fn long_names_are_cut() {
        assert_eq!(shorten("soup", 40, 300.0, 12.0), "soup");
        assert_eq!(shorten("", 40, 300.0, 12.0), "");
        let exactly: String = "i".repeat(40);
        assert_eq!(shorten(&exactly, 40, 300.0, 12.0), exactly);
        let cut = shorten(&"i".repeat(41), 40, 300.0, 12.0);
        assert_eq!(cut, "i".repeat(39) + "…");
        let wide = shorten(&"W".repeat(40), 40, 300.0, 12.0);
        assert!(wide.chars().count() < 30 && width(&wide, 12.0, Weight::Regular) <= 300.0);
        assert_eq!(shorten("crème brûlée", 6, 300.0, 12.0), "crème…");
        // e and an accent of its own: the accent does not stay without its letter, nor the letter without its accent.
        assert_eq!(shorten("ne\u{301}e", 3, 300.0, 12.0), "n…");
    }

    #[test]
    fn lines_fit_and_nothing_is_lost() {
        let text = "the quick brown fox jumps over the lazy dog";
        let lines = wrap(text, 90.0, 12.0, Weight::Regular);
        assert!(lines.len() > 2);
        assert!(lines.iter().all(|line| width(line, 12.0, Weight::Regular) <= 90.0));
        assert_eq!(lines.join(" "), text);
        let word = wrap("antidisestablishmentarianism", 60.0, 12.0, Weight::Regular);
        assert!(word.len() > 1 && word.concat() == "antidisestablishmentarianism");
        assert!(wrap("  ", 60.0, 12.0, Weight::Regular).is_empty());
        assert_eq!(wrap("W", 1.0, 12.0, Weight::Regular), ["W"]);
    }
}
