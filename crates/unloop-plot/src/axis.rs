//! Axes of shares: where a value stands, and where ticks go.

use crate::font::{self, Weight};
use crate::number::percent;

/// How shares are spread along an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Scale {
    /// Logarithmic where the largest mean is more than a hundred times the smallest, else linear.
    #[default]
    Auto,
    /// Equal steps for equal differences.
    Linear,
    /// Equal steps for equal ratios.
    Log,
}

/// Size of the print at ticks.
pub(crate) const TICK_SIZE: f64 = 11.0;
/// What separates two labels at least.
const TICK_GAP: f64 = 10.0;
/// Decades that a logarithmic axis has at most. What is smaller is drawn at its left end.
const MOST_DECADES: i32 = 9;

/// An axis from left to right.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Axis {
    log: bool,
    from: f64,
    to: f64,
    left: f64,
    right: f64,
    ticks: Vec<Tick>,
}

/// A value with its label.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tick {
    pub(crate) value: f64,
    pub(crate) label: String,
}

impl Axis {
    /// A linear axis on which all of `low..=high` has its place, between the pixels `left` and `right`. It begins at zero unless the
    /// values are close together and far from zero.
    pub(crate) fn linear(low: f64, high: f64, (left, right): (f64, f64)) -> Self {
        let high = if high > 0.0 { high } else { 1.0 };
        let low = if high - low < 0.2 * high { low - 0.1 * (high - low) } else { 0.0 };
        let mut axis = Self { log: false, from: low, to: high, left, right, ticks: Vec::new() };
        // Finer steps first; the first whose labels have room is taken.
        for most in [10.0, 8.0, 6.0, 4.0, 3.0, 2.0, 1.0] {
            let step = Step::at_least((high - low).max(1e-9 * high) / most);
            let (first, last) = (step.below(low), step.above(high).max(step.below(low) + 1.0));
            axis.ticks = (0..=(last - first) as u32).map(|i| step.tick(first + f64::from(i))).collect();
            axis.from = step.times(first);
            axis.to = step.times(last);
            if axis.labels_fit() {
                break;
            }
        }
        axis
    }

    /// A logarithmic axis on which all of `low..=high`, both above zero, has its place, unless it spans more than nine decades.
    pub(crate) fn log(low: f64, high: f64, (left, right): (f64, f64)) -> Self {
        let last = Round::above(high);
        let mut first = Round::below(low);
        if first.exponent < last.exponent - MOST_DECADES {
            first = Round { digit: last.digit, exponent: last.exponent - MOST_DECADES };
        }
        if first == last {
            first = first.before();
        }
        let mut axis = Self { log: true, from: first.value(), to: last.value(), left, right, ticks: Vec::new() };
        for (digits, every) in [(&[1, 2, 5][..], 1), (&[1], 1), (&[1], 2), (&[1], 3), (&[1], 5)] {
            axis.ticks = (first.exponent..=last.exponent)
                .filter(|exponent| exponent % every == 0)
                .flat_map(|exponent| digits.iter().map(move |&digit| Round { digit, exponent }))
                .filter(|round| (axis.from..=axis.to).contains(&round.value()))
                .map(Round::tick)
                .collect();
            if axis.labels_fit() {
                break;
            }
        }
        axis
    }

    pub(crate) fn is_log(&self) -> bool {
        self.log
    }

    pub(crate) fn left(&self) -> f64 {
        self.left
    }

    pub(crate) fn right(&self) -> f64 {
        self.right
    }

    pub(crate) fn ticks(&self) -> &[Tick] {
        &self.ticks
    }

    /// The pixel of a value; that of the nearer end if the value is off the axis.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let part = if self.log {
            (value / self.from).ln() / (self.to / self.from).ln()
        } else {
            (value - self.from) / (self.to - self.from)
        };
        self.left + part.clamp(0.0, 1.0) * (self.right - self.left)
    }

    /// Whether a value is off the left end.
    pub(crate) fn is_below(&self, value: f64) -> bool {
        value < self.from
    }

    fn labels_fit(&self) -> bool {
        let half = |tick: &Tick| 0.5 * font::width(&tick.label, TICK_SIZE, Weight::Regular);
        self.ticks
            .windows(2)
            .all(|pair| self.at(pair[0].value) + half(&pair[0]) + TICK_GAP <= self.at(pair[1].value) - half(&pair[1]))
    }
}

/// A step of a linear axis: 1, 2 or 5 times a power of ten.
#[derive(Clone, Copy)]
struct Step(Round);

impl Step {
    fn at_least(size: f64) -> Self {
        Self(Round::above(size))
    }

    /// That many steps. Counting in steps keeps ticks free of sums of rounding errors.
    fn times(self, count: f64) -> f64 {
        let Round { digit, exponent } = self.0;
        scaled(count * f64::from(digit), exponent)
    }

    /// The last count of steps that is not above a value, up to rounding.
    fn below(self, value: f64) -> f64 {
        (value / self.times(1.0) + 1e-9).floor().max(0.0)
    }

    /// The first count of steps that is not below a value, up to rounding.
    fn above(self, value: f64) -> f64 {
        (value / self.times(1.0) - 1e-9).ceil()
    }

    fn tick(self, count: f64) -> Tick {
        let value = self.times(count);
        Tick { value, label: percent(value, self.0.decimals()) }
    }
}

/// A round number: 1, 2 or 5 times a power of ten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Round {
    digit: u8,
    exponent: i32,
}

impl Round {
    /// The largest round number that is not above a value.
    fn below(value: f64) -> Self {
        // One decade too high, then down: a logarithm may be off by a rounding.
        let mut round = Self { digit: 1, exponent: value.log10().ceil() as i32 + 1 };
        while round.value() > value * (1.0 + 1e-12) {
            round = round.before();
        }
        round
    }

    /// The smallest round number that is not below a value.
    fn above(value: f64) -> Self {
        let mut round = Self { digit: 1, exponent: value.log10().floor() as i32 - 1 };
        while round.value() < value * (1.0 - 1e-12) {
            round = round.after();
        }
        round
    }

    fn before(self) -> Self {
        match self.digit {
            5 => Self { digit: 2, ..self },
            2 => Self { digit: 1, ..self },
            _ => Self { digit: 5, exponent: self.exponent - 1 },
        }
    }

    fn after(self) -> Self {
        match self.digit {
            1 => Self { digit: 2, ..self },
            2 => Self { digit: 5, ..self },
            _ => Self { digit: 1, exponent: self.exponent + 1 },
        }
    }

    fn value(self) -> f64 {
        scaled(f64::from(self.digit), self.exponent)
    }

    /// Decimals that a multiple of it needs when written in per cent.
    fn decimals(self) -> usize {
        (-2 - self.exponent).max(0) as usize
    }

    fn tick(self) -> Tick {
        Tick { value: self.value(), label: percent(self.value(), self.decimals()) }
    }
}

/// count · 10^exponent, rounded once: a power of ten below one is not exact, one above is.
fn scaled(count: f64, exponent: i32) -> f64 {
    if exponent < 0 { count / 10f64.powi(-exponent) } else { count * 10f64.powi(exponent) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PIXELS: (f64, f64) = (100.0, 540.0);

    fn labels(axis: &Axis) -> Vec<&str> {
        axis.ticks().iter().map(|tick| tick.label.as_str()).collect()
    }

    #[test]
    fn linear_ticks_are_round() {
        let axis = Axis::linear(0.01, 0.55, PIXELS);
        assert_eq!(labels(&axis), ["0 %", "10 %", "20 %", "30 %", "40 %", "50 %", "60 %"]);
        assert_eq!(axis.ticks()[3].value, 0.3);
        let axis = Axis::linear(0.0, 0.0123, PIXELS);
        assert_eq!(labels(&axis), ["0.0 %", "0.2 %", "0.4 %", "0.6 %", "0.8 %", "1.0 %", "1.2 %", "1.4 %"]);
        assert_eq!(labels(&Axis::linear(0.0, 1.0, PIXELS)).last(), Some(&"100 %"));
    }

    #[test]
    fn a_linear_axis_leaves_zero_out_only_where_values_are_close() {
        assert_eq!(Axis::linear(0.1, 0.2, PIXELS).ticks()[0].value, 0.0);
        let close = Axis::linear(0.45, 0.5, PIXELS);
        assert!(close.ticks()[0].value > 0.4 && close.ticks()[0].value <= 0.45, "{close:?}");
        assert!(close.at(0.5) <= PIXELS.1 && close.at(0.45) > PIXELS.0);
    }

    #[test]
    fn log_ticks_are_round() {
        let axis = Axis::log(0.0021, 0.43, PIXELS);
        assert_eq!(labels(&axis), ["0.2 %", "0.5 %", "1 %", "2 %", "5 %", "10 %", "20 %", "50 %"]);
        let axis = Axis::log(3e-5, 0.9, PIXELS);
        assert_eq!(labels(&axis), ["0.01 %", "0.1 %", "1 %", "10 %", "100 %"]);
        assert!((axis.at(0.01) - axis.at(0.001) - (axis.at(0.1) - axis.at(0.01))).abs() < 1e-9);
    }

    #[test]
    fn the_ends_are_on_the_axis_and_what_is_beyond_is_at_its_end() {
        for axis in [Axis::linear(0.02, 0.3, PIXELS), Axis::log(0.02, 0.3, PIXELS)] {
            for value in [0.02, 0.3] {
                assert!((PIXELS.0..=PIXELS.1).contains(&axis.at(value)) && !axis.is_below(value), "{value}: {axis:?}");
            }
            assert_eq!(axis.at(0.0), PIXELS.0);
            assert_eq!(axis.at(1.0), PIXELS.1);
        }
    }

    #[test]
    fn labels_never_touch_and_there_is_always_more_than_one() {
        for exponent in 0..=40 {
            let high = 10f64.powf(-f64::from(exponent) / 5.0);
            for part in [1.0, 0.999, 0.9, 0.5, 0.1, 1e-3, 1e-6, 1e-300] {
                for axis in [Axis::linear(part * high, high, PIXELS), Axis::log(part * high, high, PIXELS)] {
                    assert!(axis.labels_fit() && axis.ticks().len() > 1, "{part} of {high}: {axis:?}");
                    assert!(!axis.is_below(high) && axis.to >= high * (1.0 - 1e-9), "{part} of {high}: {axis:?}");
                }
            }
        }
    }

    #[test]
    fn a_linear_axis_of_nothing_goes_to_one() {
        assert_eq!(labels(&Axis::linear(0.0, 0.0, PIXELS)).last(), Some(&"100 %"));
    }
}
