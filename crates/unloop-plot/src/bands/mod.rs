//! Curves over rounds: a line for each mean, a shade for its interval, the name at the end of the line.

use thiserror::Error;

use crate::picture::Picture;
use crate::point::{self, BandPoint, PointFault};
use crate::style::MOST_STYLES;

mod drawing;

/// Curves that can be told apart: more have no dashes of their own, and nobody follows them.
pub const MOST_CURVES: usize = MOST_STYLES;

/// Curves to draw.
#[derive(Clone, Debug, PartialEq)]
pub struct Bands {
    /// Stands above all; nothing if empty.
    pub title: String,
    /// Stands below the title.
    pub subtitle: Option<String>,
    /// Stands below all.
    pub footer: Option<String>,
    /// What the axis from left to right shows. `round` by default.
    pub x_label: String,
    /// What the upright axis shows; it stands above it. Nothing by default.
    pub y_label: String,
    /// Up to 12, each with a colour and dashes that follow from its place in the list.
    pub curves: Vec<Curve>,
}

/// One curve, such as the regret of one policy.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// What it is called, in any script. Long names are cut; the whole name shows where the pointer rests on an SVG.
    pub name: String,
    /// Two or more, each further right than the one before. All are drawn: a few hundred are as many as can be seen.
    pub points: Vec<BandPoint>,
}

/// Why curves cannot be drawn. Curves and points are numbered from 1.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum BandsError {
    /// No curves.
    #[error("a picture without curves cannot be drawn")]
    NoCurves,
    /// More curves than can be told apart.
    #[error("{curves} curves cannot be told apart: at most 12 can")]
    TooMany {
        /// How many there are.
        curves: usize,
    },
    /// A curve that is no line.
    #[error("curve {curve} ({name}) needs two points or more, not {points}")]
    TooShort {
        /// Number of the curve.
        curve: usize,
        /// Its name.
        name: String,
        /// How many points it has.
        points: usize,
    },
    /// A value that is not finite, or too large.
    #[error("curve {curve} ({name}), point {point}: its {what} of {value} must be between -10¹⁵ and 10¹⁵")]
    Value {
        /// Number of the curve.
        curve: usize,
        /// Its name.
        name: String,
        /// Number of the point.
        point: usize,
        /// Which of its values.
        what: &'static str,
        /// The value.
        value: f64,
    },
    /// An interval that ends before it begins.
    #[error("curve {curve} ({name}), point {point}: its interval begins at {low} and ends at {high}")]
    Interval {
        /// Number of the curve.
        curve: usize,
        /// Its name.
        name: String,
        /// Number of the point.
        point: usize,
        /// Lower end.
        low: f64,
        /// Upper end.
        high: f64,
    },
    /// A point that is not further right than the one before.
    #[error("curve {curve} ({name}), point {point}: its x of {x} must be above {before}, that of the point before")]
    Order {
        /// Number of the curve.
        curve: usize,
        /// Its name.
        name: String,
        /// Number of the point.
        point: usize,
        /// Where the point before is.
        before: f64,
        /// Where the point is.
        x: f64,
    },
}

impl Bands {
    /// Curves with defaults for everything else.
    pub fn new(title: impl Into<String>, curves: impl Into<Vec<Curve>>) -> Self {
        Self {
            title: title.into(),
            subtitle: None,
            footer: None,
            x_label: "round".to_owned(),
            y_label: String::new(),
            curves: curves.into(),
        }
    }

    /// Draws it. The upright axis always has zero.
    ///
    /// # Errors
    ///
    /// No curves or more than 12, a curve of fewer than two points, values that are not finite or too large, an interval that ends
    /// before it begins, points that do not go from left to right.
    pub fn draw(&self) -> Result<Picture, BandsError> {
        self.check()?;
        Ok(drawing::draw(self))
    }

    fn check(&self) -> Result<(), BandsError> {
        match self.curves.len() {
            0 => return Err(BandsError::NoCurves),
            1..=MOST_CURVES => {}
            curves => return Err(BandsError::TooMany { curves }),
        }
        self.curves.iter().zip(1..).try_for_each(|(curve, number)| curve.check(number))
    }
}

impl Curve {
    fn check(&self, curve: usize) -> Result<(), BandsError> {
        let name = || self.name.clone();
        if self.points.len() < 2 {
            return Err(BandsError::TooShort { curve, name: name(), points: self.points.len() });
        }
        point::check(&self.points).map_err(|(point, fault)| match fault {
            PointFault::Value { what, value } => BandsError::Value { curve, name: name(), point, what, value },
            PointFault::Interval { low, high } => BandsError::Interval { curve, name: name(), point, low, high },
            PointFault::Order { before, x } => BandsError::Order { curve, name: name(), point, before, x },
        })
    }
}
