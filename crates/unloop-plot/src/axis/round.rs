//! Round numbers: 1, 2 or 5 times a power of ten, for the ends and the ticks of axes.

use super::Tick;
use crate::number::{percent, plain};

/// A step of a linear axis: 1, 2 or 5 times a power of ten.
#[derive(Clone, Copy)]
pub(super) struct Step(Round);

impl Step {
    pub(super) fn at_least(size: f64) -> Self {
        Self(Round::above(size))
    }

    /// That many steps. Counting in steps keeps ticks free of sums of rounding errors.
    pub(super) fn times(self, count: f64) -> f64 {
        let Round { digit, exponent } = self.0;
        scaled(count * f64::from(digit), exponent)
    }

    /// The last count of steps that is not above a value, up to rounding.
    pub(super) fn below(self, value: f64) -> f64 {
        (value / self.times(1.0) + 1e-9).floor()
    }

    /// The first count of steps that is not below a value, up to rounding.
    pub(super) fn above(self, value: f64) -> f64 {
        (value / self.times(1.0) - 1e-9).ceil()
    }

    pub(super) fn tick(self, count: f64, print: Print) -> Tick {
        let value = self.times(count);
        let label = match print {
            Print::Percent => percent(value, self.0.decimals()),
            Print::Plain => plain(value, -self.0.exponent.min(0) as usize),
        };
        Tick { value, label }
    }
}

/// Powers of ten that are written out at a logarithmic axis.
const PLAIN: std::ops::RangeInclusive<i32> = -5..=6;

/// How values are written at ticks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Print {
    Percent,
    Plain,
}

/// Plain numbers that are no further apart are not told apart: the labels would be all decimals.
const FINEST: f64 = 1e-12;

/// The least distance that two plain numbers near these must have to be told apart.
pub(super) fn closest(low: f64, high: f64) -> f64 {
    FINEST.max(1e-9 * low.abs().max(high.abs()))
}

/// A round number: 1, 2 or 5 times a power of ten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Round {
    pub(super) digit: u8,
    pub(super) exponent: i32,
}

impl Round {
    /// The largest round number that is not above a value.
    pub(super) fn below(value: f64) -> Self {
        // One decade too high, then down: a logarithm may be off by a rounding.
        let mut round = Self { digit: 1, exponent: value.log10().ceil() as i32 + 1 };
        while round.value() > value * (1.0 + 1e-12) {
            round = round.before();
        }
        round
    }

    /// The smallest round number that is not below a value.
    pub(super) fn above(value: f64) -> Self {
        let mut round = Self { digit: 1, exponent: value.log10().floor() as i32 - 1 };
        while round.value() < value * (1.0 - 1e-12) {
            round = round.after();
        }
        round
    }

    pub(super) fn before(self) -> Self {
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

    pub(super) fn value(self) -> f64 {
        scaled(f64::from(self.digit), self.exponent)
    }

    /// Decimals that a multiple of it needs when written in per cent.
    fn decimals(self) -> usize {
        (-2 - self.exponent).max(0) as usize
    }

    pub(super) fn tick(self, print: Print) -> Tick {
        let Self { digit, exponent } = self;
        let label = match print {
            Print::Percent => percent(self.value(), self.decimals()),
            Print::Plain if PLAIN.contains(&exponent) => plain(self.value(), -exponent.min(0) as usize),
            Print::Plain => power(digit, exponent),
        };
        Tick { value: self.value(), label }
    }
}

/// A round number as a multiple of a power of ten, such as `2·10⁻⁷`.
fn power(digit: u8, exponent: i32) -> String {
    const RAISED: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let mut text = if digit == 1 { "10".to_owned() } else { format!("{digit}·10") };
    text.extend(exponent.to_string().chars().map(|sign| sign.to_digit(10).map_or('⁻', |digit| RAISED[digit as usize])));
    text
}

/// count · 10^exponent, rounded once: a power of ten below one is not exact, one above is.
fn scaled(count: f64, exponent: i32) -> f64 {
    if exponent < 0 { count / 10f64.powi(-exponent) } else { count * 10f64.powi(exponent) }
}
