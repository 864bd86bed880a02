//! Colours: few, told apart by the colour-blind, readable on white paper.

/// Paper.
pub(crate) const WHITE: &str = "#ffffff";
/// Print on colours.
pub(crate) const BLACK: &str = "#000000";
/// Names, numbers, titles.
pub(crate) const INK: &str = "#1c2733";
/// What explains: subtitles, axes, legends. 5.6 : 1 on white, so that small print stays readable.
pub(crate) const SOFT: &str = "#5b6673";
/// Lines of a grid, which should be seen only when looked for.
pub(crate) const GRID: &str = "#dfe3e8";
/// Every second row.
pub(crate) const BAND: &str = "#f4f6f8";
/// What is measured.
pub(crate) const BLUE: &str = "#1f5fa8";
/// Bars behind or beside what is measured.
pub(crate) const PALE_BLUE: &str = "#a9c6e6";
/// What is not measured: a prior.
pub(crate) const GREY: &str = "#8b949e";

/// Orange through near-white to blue, at equal steps of a probability. Blue and orange differ for every common kind of colour
/// blindness, and both sides darken alike, so that the distance from one half survives a grey print.
const DIVERGING: [Rgb; 7] = [
    Rgb(150, 70, 3),
    Rgb(219, 122, 34),
    Rgb(248, 190, 129),
    Rgb(247, 247, 245),
    Rgb(167, 205, 236),
    Rgb(78, 146, 204),
    Rgb(22, 88, 150),
];

/// The colours of Okabe and Ito, which people with any common kind of colour blindness tell apart, without their yellow, which
/// is hardly seen on white. The first four differ most in a grey print. Five more follow for those who need twelve.
const DISTINCT: [Rgb; 12] = [
    Rgb(0, 114, 178),
    Rgb(230, 159, 0),
    Rgb(28, 39, 51),
    Rgb(0, 158, 115),
    Rgb(213, 94, 0),
    Rgb(204, 121, 167),
    Rgb(86, 180, 233),
    Rgb(136, 34, 85),
    Rgb(128, 128, 30),
    Rgb(104, 78, 190),
    Rgb(118, 126, 135),
    Rgb(52, 92, 40),
];

/// Near-white to dark blue, each clearly darker than the one before.
const SEQUENTIAL: [Rgb; 7] = [
    Rgb(246, 249, 252),
    Rgb(221, 233, 245),
    Rgb(184, 210, 234),
    Rgb(136, 180, 219),
    Rgb(84, 142, 197),
    Rgb(38, 101, 167),
    Rgb(10, 58, 114),
];

/// Red, green and blue, each from 0 to 255.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rgb(u8, u8, u8);

impl Rgb {
    /// The colour of a probability: near-white at one half, blue above, orange below.
    pub(crate) fn diverging(probability: f64) -> Self {
        let position = probability.clamp(0.0, 1.0) * (DIVERGING.len() - 1) as f64;
        let lower = (position.floor() as usize).min(DIVERGING.len() - 2);
        let (Rgb(r, g, b), Rgb(s, h, c)) = (DIVERGING[lower], DIVERGING[lower + 1]);
        let part = position - lower as f64;
        let mix = |from: u8, to: u8| (f64::from(from) + part * (f64::from(to) - f64::from(from))).round() as u8;
        Rgb(mix(r, s), mix(g, h), mix(b, c))
    }

    /// A colour for one of several things; after twelve they come again.
    pub(crate) fn distinct(index: usize) -> Self {
        DISTINCT[index % DISTINCT.len()]
    }

    /// One of seven tones, from near-white to dark blue.
    pub(crate) fn sequential(step: usize) -> Self {
        SEQUENTIAL[step.min(SEQUENTIAL.len() - 1)]
    }

    /// The same hue, dark enough for small print on white: 4.5 : 1 or more.
    pub(crate) fn for_print(self) -> Self {
        let mut colour = self;
        while 1.05 / (colour.luminance() + 0.05) < 4.5 {
            let Rgb(r, g, b) = colour;
            let [r, g, b] = [r, g, b].map(|part| (0.97 * f64::from(part)) as u8);
            colour = Rgb(r, g, b);
        }
        colour
    }

    /// As SVG writes it.
    pub(crate) fn hex(self) -> String {
        let Rgb(r, g, b) = self;
        format!("#{r:02x}{g:02x}{b:02x}")
    }

    /// Black or white, whichever is read more easily on this colour. Both are alike where 1.05 / (L + 0.05) = (L + 0.05) / 0.05,
    /// with a contrast of 4.6 : 1; with our softer ink it would be less than 4.
    pub(crate) fn print_on_top(self) -> &'static str {
        if self.luminance() > 0.179 { BLACK } else { WHITE }
    }

    /// Relative luminance, 0 for black and 1 for white, as the accessibility guidelines of the W3C define it.
    fn luminance(self) -> f64 {
        let linear = |part: u8| {
            let part = f64::from(part) / 255.0;
            if part <= 0.040_45 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
        };
        let Rgb(r, g, b) = self;
        0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_and_the_middle_are_the_anchors() {
        assert_eq!(Rgb::diverging(0.0), DIVERGING[0]);
        assert_eq!(Rgb::diverging(0.5), DIVERGING[3]);
        assert_eq!(Rgb::diverging(1.0), DIVERGING[6]);
        assert_eq!(Rgb::diverging(1.0).hex(), "#165896");
    }

    #[test]
    fn both_sides_darken_alike_and_steadily() {
        for step in 0..50 {
            let (near, far) = (f64::from(step) / 100.0, f64::from(step + 1) / 100.0);
            for side in [-1.0, 1.0] {
                let [near, far] = [near, far].map(|distance| Rgb::diverging(0.5 + side * distance).luminance());
                assert!(far < near, "luminance {far} after {near}");
            }
            let [orange, blue] = [0.5 - far, 0.5 + far].map(|p| Rgb::diverging(p).luminance());
            assert!((orange - blue).abs() < 0.04, "{orange} and {blue} at {far} from one half");
        }
    }

    #[test]
    fn print_in_a_distinct_colour_is_readable_and_still_distinct() {
        let prints: Vec<Rgb> = (0..DISTINCT.len()).map(|index| Rgb::distinct(index).for_print()).collect();
        for (index, print) in prints.iter().enumerate() {
            assert!(1.05 / (print.luminance() + 0.05) >= 4.5 && !prints[..index].contains(print), "{print:?}");
        }
        assert_eq!(prints[2], DISTINCT[2], "what is dark already stays");
    }

    #[test]
    fn tones_darken_in_grey_by_steps_that_are_seen() {
        let greys = SEQUENTIAL.map(|tone| tone.luminance() + 0.05);
        assert!(greys.windows(2).all(|pair| pair[0] / pair[1] > 1.12), "{greys:?}");
    }

    #[test]
    fn the_first_four_colours_differ_in_grey() {
        let mut greys: Vec<f64> = DISTINCT[..4].iter().map(|colour| colour.luminance()).collect();
        greys.sort_by(f64::total_cmp);
        assert!(greys.windows(2).all(|pair| (pair[1] + 0.05) / (pair[0] + 0.05) > 1.4), "{greys:?}");
    }

    #[test]
    fn print_on_a_cell_has_enough_contrast() {
        for step in 0..=1000 {
            let cell = Rgb::diverging(f64::from(step) / 1000.0);
            let print = if cell.print_on_top() == BLACK { 0.0 } else { 1.0 };
            let (light, dark) = (cell.luminance().max(print), cell.luminance().min(print));
            let contrast = (light + 0.05) / (dark + 0.05);
            assert!(contrast > 4.5, "contrast {contrast} at {step}");
        }
    }
}
