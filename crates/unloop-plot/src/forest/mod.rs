//! The forest plot of a leaderboard: a row for each option, a dot for its share, a line for the interval.

use thiserror::Error;

use crate::axis::{Axis, Scale};
use crate::number::{percent, two_digits};
use crate::picture::Picture;

mod drawing;

/// Ratio of the largest mean to the smallest from which [`Scale::Auto`] is logarithmic.
const TWO_DECADES: f64 = 100.0;
/// On a logarithmic axis an interval reaches at most so far below its mean; the rest is an arrow. The interval of a vague prior
/// goes down to almost nothing and would squeeze everything else.
const LONGEST_TAIL: f64 = 50.0;

/// A leaderboard to draw.
#[derive(Clone, Debug, PartialEq)]
pub struct Forest {
    /// Stands above all; nothing if empty.
    pub title: String,
    /// Stands below the title.
    pub subtitle: Option<String>,
    /// Stands below all.
    pub footer: Option<String>,
    /// What dots and lines are, for the legend. `posterior mean and interval` by default.
    pub legend: String,
    /// What the axis shows. `share of choices` by default.
    pub axis_title: String,
    /// How shares are spread along the axis.
    pub scale: Scale,
    /// A share to compare with.
    pub reference: Option<Reference>,
    /// Whether rows have numbers, from 1. True by default.
    pub numbered: bool,
    /// Drawn from top to bottom as they come: give the best first.
    pub rows: Vec<ForestRow>,
}

/// One option of a leaderboard. Everything is between 0 and 1.
#[derive(Clone, Debug, PartialEq)]
pub struct ForestRow {
    /// What the option is called, in any script. Long names are cut; the whole name shows where the pointer rests on an SVG.
    pub name: String,
    /// Posterior mean of its share. It may be outside the interval, as means of skewed distributions are.
    pub mean: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// Chance to be the best of all.
    pub p_best: Option<f64>,
    /// Never shown, so that all of the above is its prior's.
    pub unseen: bool,
}

/// A share to compare with, drawn as a line across all rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// The share, between 0 and 1.
    pub value: f64,
    /// What it is, such as `equal share`.
    pub label: String,
}

/// Why a leaderboard cannot be drawn. Rows are numbered from 1.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum ForestError {
    /// No rows.
    #[error("a leaderboard without rows cannot be drawn")]
    NoRows,
    /// A share that is none.
    #[error("row {row} ({name}): its {what} of {value} must be between 0 and 1")]
    Share {
        /// Number of the row.
        row: usize,
        /// Name of the option.
        name: String,
        /// Which of its values.
        what: &'static str,
        /// The value.
        value: f64,
    },
    /// An interval that ends before it begins.
    #[error("row {row} ({name}): its interval begins at {low} and ends at {high}")]
    Interval {
        /// Number of the row.
        row: usize,
        /// Name of the option.
        name: String,
        /// Lower end.
        low: f64,
        /// Upper end.
        high: f64,
    },
    /// A reference that is no share.
    #[error("the reference of {value} must be between 0 and 1")]
    Reference {
        /// Its value.
        value: f64,
    },
    /// A logarithmic axis asked for where no mean is above zero.
    #[error("no mean is above 0, so none has a place on a logarithmic axis")]
    NothingAboveZero,
}

impl Forest {
    /// A leaderboard with defaults for everything else.
    pub fn new(title: impl Into<String>, rows: impl Into<Vec<ForestRow>>) -> Self {
        Self {
            title: title.into(),
            subtitle: None,
            footer: None,
            legend: "posterior mean and interval".to_owned(),
            axis_title: "share of choices".to_owned(),
            scale: Scale::Auto,
            reference: None,
            numbered: true,
            rows: rows.into(),
        }
    }

    /// Draws it.
    ///
    /// # Errors
    ///
    /// No rows, values that are no shares, an interval that ends before it begins, a logarithmic axis where all means are zero.
    pub fn draw(&self) -> Result<Picture, ForestError> {
        self.check()?;
        drawing::draw(self)
    }

    fn check(&self) -> Result<(), ForestError> {
        if self.rows.is_empty() {
            return Err(ForestError::NoRows);
        }
        for (row, number) in self.rows.iter().zip(1..) {
            let ForestRow { name, mean, low, high, p_best, unseen: _ } = row;
            let values = [("mean", *mean), ("lower end", *low), ("upper end", *high), ("P(best)", p_best.unwrap_or(0.0))];
            for (what, value) in values {
                if !is_share(value) {
                    return Err(ForestError::Share { row: number, name: name.clone(), what, value });
                }
            }
            if low > high {
                return Err(ForestError::Interval { row: number, name: name.clone(), low: *low, high: *high });
            }
        }
        match self.reference {
            Some(Reference { value, .. }) if !is_share(value) => Err(ForestError::Reference { value }),
            _ => Ok(()),
        }
    }

    fn axis(&self, pixels: (f64, f64)) -> Result<Axis, ForestError> {
        let reference = self.reference.iter().map(|reference| reference.value);
        let highest = self.rows.iter().map(|row| row.high.max(row.mean)).chain(reference.clone()).fold(0.0, f64::max);
        let log = match self.scale {
            Scale::Auto => self.is_wide(),
            Scale::Linear => false,
            Scale::Log => true,
        };
        if log {
            let tails = self.positive_means().map(|row| row.low.max(row.mean / LONGEST_TAIL).min(row.mean));
            let lowest = tails.chain(reference.filter(|value| *value > 0.0)).fold(f64::INFINITY, f64::min);
            if self.positive_means().next().is_none() {
                return Err(ForestError::NothingAboveZero);
            }
            Ok(Axis::log(lowest, highest, pixels))
        } else {
            let lowest = self.rows.iter().map(|row| row.low.min(row.mean)).chain(reference).fold(1.0, f64::min);
            Ok(Axis::linear(lowest, highest, pixels))
        }
    }

    fn positive_means(&self) -> impl Iterator<Item = &ForestRow> {
        self.rows.iter().filter(|row| row.mean > 0.0)
    }

    /// Whether means span more than two decades.
    fn is_wide(&self) -> bool {
        let means = || self.positive_means().map(|row| row.mean);
        means().fold(0.0, f64::max) > TWO_DECADES * means().fold(f64::INFINITY, f64::min)
    }

    /// Means as they are printed: with the same decimals, so that they align, unless they are too far apart for that.
    fn shares(&self) -> Vec<String> {
        let largest = self.rows.iter().map(|row| row.mean).fold(0.0, f64::max);
        let decimals = if largest >= 0.1 { 1 } else { 2 };
        let wide = self.is_wide() || largest < 0.01;
        self.rows.iter().map(|row| if wide { two_digits(row.mean) } else { percent(row.mean, decimals) }).collect()
    }

    fn has_chances(&self) -> bool {
        self.rows.iter().any(|row| row.p_best.is_some())
    }
}

/// Between 0 and 1; NaN is not.
fn is_share(value: f64) -> bool {
    (0.0..=1.0).contains(&value)
}
