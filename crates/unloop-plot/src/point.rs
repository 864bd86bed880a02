//! Points with intervals, of which curves consist, and what can be wrong with them.

use thiserror::Error;

/// Larger numbers have labels that nobody reads.
pub(crate) const LARGEST: f64 = 1e15;

/// One point of a curve. Everything is between -10¹⁵ and 10¹⁵.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BandPoint {
    /// Where it stands from left to right, such as a number of rounds.
    pub x: f64,
    /// Where the line goes. It may be outside the interval, as means of skewed distributions are.
    pub mean: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

/// What is wrong with a point.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum PointFault {
    /// A value that is not finite, or too large.
    #[error("its {what} of {value} must be between -10¹⁵ and 10¹⁵")]
    Value {
        /// Which of its values.
        what: &'static str,
        /// The value.
        value: f64,
    },
    /// An interval that ends before it begins.
    #[error("its interval begins at {low} and ends at {high}")]
    Interval {
        /// Lower end.
        low: f64,
        /// Upper end.
        high: f64,
    },
    /// A point that is not further right than the one before.
    #[error("its x of {x} must be above {before}, that of the point before")]
    Order {
        /// Where the point before is.
        before: f64,
        /// Where the point is.
        x: f64,
    },
}

/// The first of the points, numbered from 1, with which something is wrong.
pub(crate) fn check(points: &[BandPoint]) -> Result<(), (usize, PointFault)> {
    let mut before = f64::NEG_INFINITY;
    for (&BandPoint { x, mean, low, high }, point) in points.iter().zip(1..) {
        for (what, value) in [("x", x), ("mean", mean), ("lower end", low), ("upper end", high)] {
            if !(-LARGEST..=LARGEST).contains(&value) {
                return Err((point, PointFault::Value { what, value }));
            }
        }
        if low > high {
            return Err((point, PointFault::Interval { low, high }));
        }
        if x <= before {
            return Err((point, PointFault::Order { before, x }));
        }
        before = x;
    }
    Ok(())
}
