//! Axes of shares and of plain numbers: where a value stands, and where ticks go.

use crate::font::{self, Weight};
use crate::number::plain;

mod round;

use round::{Print, Round, Step, closest};

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

/// Most steps of a linear axis: finer ones first; the first whose labels have room is taken.
const STEPS: [f64; 7] = [10.0, 8.0, 6.0, 4.0, 3.0, 2.0, 1.0];
/// From one label of an upright axis to the next at least.
const UPRIGHT_GAP: f64 = 17.0;
/// Decimals of ticks that a picture asks for at most.
const MOST_DECIMALS: usize = 3;
/// Most steps of an upright axis, whose labels always have room.
const UPRIGHT_STEPS: f64 = 8.0;

/// An axis from left to right, or upright with its lower end as its left.
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
    pub(crate) fn linear(low: f64, high: f64, pixels: (f64, f64)) -> Self {
        let high = if high > 0.0 { high } else { 1.0 };
        let low = if high - low < 0.2 * high { low - 0.1 * (high - low) } else { 0.0 };
        Self::first_that_fits(|most| Self::stepped((low, high), pixels, most, Print::Percent))
    }

    /// A linear axis of plain numbers from left to right. It ends at `high`, as curves do, and begins at `low`, or at zero if that is
    /// near.
    pub(crate) fn across(low: f64, high: f64, pixels: (f64, f64)) -> Self {
        let low = if (0.0..0.2 * high).contains(&low) { 0.0 } else { low };
        Self::between(low, high, pixels)
    }

    /// A linear axis of plain numbers from left to right, from `low` to `high`.
    pub(crate) fn between(low: f64, high: f64, pixels: (f64, f64)) -> Self {
        let high = high.max(low + closest(low, high));
        let slack = 1e-9 * (high - low);
        Self::first_that_fits(|most| {
            let mut axis = Self::stepped((low, high), pixels, most, Print::Plain);
            axis.ticks.retain(|tick| (low - slack..=high + slack).contains(&tick.value));
            Self { from: low, to: high, ..axis }
        })
    }

    /// An upright linear axis of plain numbers on which zero and all of `low..=high` have their place, from tick to tick.
    pub(crate) fn upright(low: f64, high: f64, pixels: (f64, f64)) -> Self {
        let (low, high) = (low.min(0.0), high.max(0.0));
        let high = if low == high { 1.0 } else { high };
        Self::stepped((low, high), pixels, UPRIGHT_STEPS, Print::Plain)
    }

    /// The same, but without zero where the values are close together and far from it.
    pub(crate) fn upright_near(low: f64, high: f64, pixels: (f64, f64)) -> Self {
        let far = if low > 0.0 { high } else { -low };
        if low * high > 0.0 && high - low < 0.5 * far {
            Self::stepped((low, high), pixels, UPRIGHT_STEPS, Print::Plain)
        } else {
            Self::upright(low, high, pixels)
        }
    }

    /// A linear axis from the tick at or below `low` to that at or above `high`, in at most about so many steps.
    fn stepped((low, high): (f64, f64), (left, right): (f64, f64), most: f64, print: Print) -> Self {
        let least = if print == Print::Plain { closest(low, high) } else { 1e-9 * high };
        let step = Step::at_least((high - low).max(least) / most);
        let (first, last) = (step.below(low), step.above(high).max(step.below(low) + 1.0));
        let ticks = (0..=(last - first) as u32).map(|i| step.tick(first + f64::from(i), print)).collect();
        Self { log: false, from: step.times(first), to: step.times(last), left, right, ticks }
    }

    fn first_that_fits(axis: impl Fn(f64) -> Self) -> Self {
        let [finest @ .., coarsest] = STEPS;
        finest.into_iter().map(&axis).find(Self::labels_fit).unwrap_or_else(|| axis(coarsest))
    }

    /// A logarithmic axis of shares on which all of `low..=high`, both above zero, has its place, unless it spans more than nine
    /// decades.
    pub(crate) fn log(low: f64, high: f64, pixels: (f64, f64)) -> Self {
        let last = Round::above(high);
        let mut first = Round::below(low);
        if first.exponent < last.exponent - MOST_DECADES {
            first = Round { digit: last.digit, exponent: last.exponent - MOST_DECADES };
        }
        Self::decades(first, last, pixels, Print::Percent)
    }

    /// A logarithmic axis of plain numbers, in either direction, on which all of `low..=high`, both above zero, has its place.
    pub(crate) fn log_plain(low: f64, high: f64, pixels: (f64, f64)) -> Self {
        Self::decades(Round::below(low), Round::above(high), pixels, Print::Plain)
    }

    /// A logarithmic axis from one round number to another.
    fn decades(first: Round, last: Round, (left, right): (f64, f64), print: Print) -> Self {
        let mut first = first;
        if first == last {
            first = first.before();
        }
        let mut axis = Self { log: true, from: first.value(), to: last.value(), left, right, ticks: Vec::new() };
        for (digits, every) in [(&[1, 2, 5][..], 1), (&[1], 1), (&[1], 2), (&[1], 3), (&[1], 5), (&[1], 10)] {
            axis.ticks = (first.exponent..=last.exponent)
                .filter(|exponent| exponent % every == 0)
                .flat_map(|exponent| digits.iter().map(move |&digit| Round { digit, exponent }))
                .filter(|round| (axis.from..=axis.to).contains(&round.value()))
                .map(|round| round.tick(print))
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

    /// Room for the widest label.
    pub(crate) fn widest_label(&self) -> f64 {
        font::widest(&self.ticks.iter().map(|tick| tick.label.as_str()).collect::<Vec<_>>(), TICK_SIZE)
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

    /// The same axis with ticks at just these values, which ascend and are on it; none if they are long or have no room.
    pub(crate) fn with_ticks(&self, values: &[f64]) -> Option<Self> {
        let decimals = (0..=MOST_DECIMALS).find(|&decimals| {
            let power = 10f64.powf(decimals as f64);
            values.iter().all(|value| (value * power - (value * power).round()).abs() <= 1e-9 * power)
        })?;
        let ticks = values.iter().map(|&value| Tick { value, label: plain(value, decimals) }).collect();
        Some(Self { ticks, ..self.clone() }).filter(Self::labels_fit)
    }

    fn labels_fit(&self) -> bool {
        if self.right < self.left {
            return self.ticks.windows(2).all(|pair| self.at(pair[0].value) - self.at(pair[1].value) >= UPRIGHT_GAP);
        }
        let half = |tick: &Tick| 0.5 * font::width(&tick.label, TICK_SIZE, Weight::Regular);
        self.ticks
            .windows(2)
            .all(|pair| self.at(pair[0].value) + half(&pair[0]) + TICK_GAP <= self.at(pair[1].value) - half(&pair[1]))
    }
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
    fn plain_log_ticks_are_plain_numbers_across_and_upright() {
        assert_eq!(labels(&Axis::log_plain(1.0, 9000.0, PIXELS)), ["1", "10", "100", "1 000", "10 000"]);
        let small = Axis::log_plain(0.01, 1e4, (200.0, 100.0));
        assert_eq!(labels(&small), ["0.01", "1", "100", "10 000"]);
        assert_eq!((small.at(0.01), small.at(1e4)), (200.0, 100.0));
        let wide = Axis::log_plain(1e-15, 1e15, PIXELS);
        assert!(wide.labels_fit() && labels(&wide).contains(&"10⁻¹⁰"), "{wide:?}");
        for power in -15..15 {
            let (low, high) = (10f64.powi(power), 10f64.powi(power + 1));
            for axis in [Axis::log_plain(low, high, PIXELS), Axis::log_plain(low, low, (300.0, 50.0))] {
                assert!(axis.labels_fit() && axis.ticks().len() > 1, "{axis:?}");
            }
        }
    }

    #[test]
    fn ticks_stand_where_a_picture_wants_them_if_they_have_room() {
        let axis = Axis::between(1.0, 5.0, PIXELS);
        assert_eq!(axis.with_ticks(&[1.0, 2.0, 5.0]).as_ref().map(labels), Some(vec!["1", "2", "5"]));
        assert_eq!(axis.with_ticks(&[1.0, 2.25]).as_ref().map(labels), Some(vec!["1.00", "2.25"]));
        assert_eq!(axis.with_ticks(&[1.0, 1.001]), None);
        assert_eq!(axis.with_ticks(&[1.0, std::f64::consts::E]), None);
    }

    #[test]
    fn an_upright_axis_leaves_zero_out_only_where_values_are_close() {
        assert_eq!(labels(&Axis::upright_near(0.8, 0.95, (400.0, 50.0))).first(), Some(&"0.80"));
        assert_eq!(Axis::upright_near(0.3, 0.95, (400.0, 50.0)).ticks()[0].value, 0.0);
        assert!(labels(&Axis::upright_near(-12.0, -11.0, (400.0, 50.0))).iter().all(|label| label.starts_with("−1")));
        assert_eq!(Axis::upright_near(-1.0, 0.0, (400.0, 50.0)).ticks().last().map(|tick| tick.value), Some(0.0));
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
    fn plain_axes_have_round_ticks_with_thousands_apart() {
        let rounds = Axis::across(100.0, 10_300.0, PIXELS);
        assert_eq!(labels(&rounds), ["0", "2 000", "4 000", "6 000", "8 000", "10 000"]);
        assert_eq!((rounds.at(0.0), rounds.at(10_300.0)), PIXELS);
        assert_eq!(labels(&Axis::across(2020.5, 2024.0, PIXELS)).first(), Some(&"2 020.5"));
        let regret = Axis::upright(3.0, 1234.0, (400.0, 50.0));
        assert_eq!(labels(&regret), ["0", "200", "400", "600", "800", "1 000", "1 200", "1 400"]);
        assert_eq!((regret.at(0.0), regret.at(1400.0)), (400.0, 50.0));
        assert_eq!(labels(&Axis::upright(-0.31, 0.52, (400.0, 50.0))), ["−0.4", "−0.2", "0.0", "0.2", "0.4", "0.6"]);
        assert_eq!(labels(&Axis::upright(0.0, 0.0, (400.0, 50.0))).last(), Some(&"1.0"));
        assert_eq!(labels(&Axis::upright(-7.0, -2.0, (400.0, 50.0))).last(), Some(&"0"));
    }

    #[test]
    fn plain_axes_have_two_ticks_or_more_and_hold_their_ends() {
        for low in [-1e15, -1e3, -1.0, -1e-30, 0.0, 1e-13, 0.7, 12.0, 1e9, 1e15] {
            for span in [0.0, 1e-300, 1e-14, 1e-9, 0.1, 0.7, 3.0, 99.0, 1e5, 2e15] {
                let (across, upright) = (Axis::across(low, low + span, PIXELS), Axis::upright(low, low + span, (400.0, 50.0)));
                assert!(across.labels_fit(), "{low} and {span} more: {across:?}");
                // A value that is beyond an end by less than can be told apart is drawn at that end.
                let slack = closest(low, low + span);
                for axis in [across, upright] {
                    assert!((2..=12).contains(&axis.ticks().len()), "{low} and {span} more: {axis:?}");
                    assert!(axis.from <= low + slack && axis.to >= low + span - slack, "{low} and {span} more: {axis:?}");
                }
            }
        }
    }

    #[test]
    fn a_linear_axis_of_nothing_goes_to_one() {
        assert_eq!(labels(&Axis::linear(0.0, 0.0, PIXELS)).last(), Some(&"100 %"));
    }
}
