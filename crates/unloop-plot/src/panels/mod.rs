//! A grid of charts with one legend: lines with shades, or marks with error bars, in styles that the caller chooses.

use thiserror::Error;

use crate::picture::Picture;
use crate::point::{self, BandPoint, LARGEST, PointFault};
use crate::style::MOST_STYLES;

mod axes;
mod drawing;
mod legend;

/// Smaller numbers have no place on a logarithmic axis.
const SMALLEST: f64 = 1.0 / LARGEST;

/// Charts to draw side by side.
#[derive(Clone, Debug, PartialEq)]
pub struct Panels {
    /// Stands above all; nothing if empty.
    pub title: String,
    /// Stands below the title.
    pub subtitle: Option<String>,
    /// Stands below all.
    pub footer: Option<String>,
    /// How many panels stand side by side. Three or fewer can be read on a page.
    pub columns: usize,
    /// From left to right, then from top to bottom.
    pub panels: Vec<Panel>,
}

/// One chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// Stands above it; nothing if empty.
    pub title: String,
    /// What the axis from left to right shows.
    pub x_label: String,
    /// What the upright axis shows; it stands above it.
    pub y_label: String,
    /// Whether the axis from left to right is logarithmic.
    pub log_x: bool,
    /// Whether the upright axis is logarithmic. One that is not has zero, unless all values are close together and far from it.
    pub log_y: bool,
    /// What is drawn, the first below the others.
    pub series: Vec<Series>,
}

/// One series of a chart, such as the regret of one policy.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// What it is called, in any script. The legend lists it once for all charts, or not at all if it is empty.
    pub name: String,
    /// Below 12: the number of a colour, of dashes and of a marker. The same number looks the same in every picture.
    pub style: usize,
    /// How the points are drawn.
    pub look: Look,
    /// Two or more, one or more for marks, each further right than the one before.
    pub points: Vec<BandPoint>,
}

/// How the points of a series are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Look {
    /// A line through the means and a shade from the lower to the upper ends.
    #[default]
    Line,
    /// A marker at each mean, an error bar from its lower to its upper end, and a thin line that joins the markers. Marks of several
    /// series at one place stand a little beside each other.
    Marks,
    /// As a line, but each value holds until the next point.
    Steps,
}

/// Why charts cannot be drawn. Panels, series and points are numbered from 1.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum PanelsError {
    /// No panels.
    #[error("a picture without panels cannot be drawn")]
    NoPanels,
    /// No columns.
    #[error("panels cannot stand in no columns")]
    NoColumns,
    /// A panel in which nothing is.
    #[error("panel {panel} ({title}) has no series")]
    Empty {
        /// Number of the panel.
        panel: usize,
        /// Its title.
        title: String,
    },
    /// A style that there is not.
    #[error("panel {panel} ({title}), series {series} ({name}): its style of {style} must be below 12")]
    Style {
        /// Number of the panel.
        panel: usize,
        /// Its title.
        title: String,
        /// Number of the series.
        series: usize,
        /// Its name.
        name: String,
        /// The style.
        style: usize,
    },
    /// Too few points.
    #[error("panel {panel} ({title}), series {series} ({name}) needs {least} points or more, not {points}")]
    TooShort {
        /// Number of the panel.
        panel: usize,
        /// Its title.
        title: String,
        /// Number of the series.
        series: usize,
        /// Its name.
        name: String,
        /// How many points it needs.
        least: usize,
        /// How many points it has.
        points: usize,
    },
    /// A point that is none, or not in order.
    #[error("panel {panel} ({title}), series {series} ({name}), point {point}: {fault}")]
    Point {
        /// Number of the panel.
        panel: usize,
        /// Its title.
        title: String,
        /// Number of the series.
        series: usize,
        /// Its name.
        name: String,
        /// Number of the point.
        point: usize,
        /// What is wrong with it.
        fault: PointFault,
    },
    /// A value that has no place on a logarithmic axis.
    #[error(
        "panel {panel} ({title}), series {series} ({name}), point {point}: its {what} of {value} must be 10⁻¹⁵ or more on a \
         logarithmic axis"
    )]
    NotAboveZero {
        /// Number of the panel.
        panel: usize,
        /// Its title.
        title: String,
        /// Number of the series.
        series: usize,
        /// Its name.
        name: String,
        /// Number of the point.
        point: usize,
        /// Which of its values.
        what: &'static str,
        /// The value.
        value: f64,
    },
}

impl Panels {
    /// Charts with defaults for everything else.
    pub fn new(title: impl Into<String>, columns: usize, panels: impl Into<Vec<Panel>>) -> Self {
        Self { title: title.into(), subtitle: None, footer: None, columns, panels: panels.into() }
    }

    /// Draws it.
    ///
    /// # Errors
    ///
    /// No panels or no columns, a panel without series, a style of 12 or more, too few points, values that are not finite or too
    /// large or not above zero on a logarithmic axis, an interval that ends before it begins, points that do not go from left to
    /// right.
    pub fn draw(&self) -> Result<Picture, PanelsError> {
        if self.panels.is_empty() {
            return Err(PanelsError::NoPanels);
        }
        if self.columns == 0 {
            return Err(PanelsError::NoColumns);
        }
        self.panels.iter().zip(1..).try_for_each(|(panel, number)| panel.check(number))?;
        Ok(drawing::draw(self))
    }
}

impl Panel {
    fn check(&self, panel: usize) -> Result<(), PanelsError> {
        if self.series.is_empty() {
            return Err(PanelsError::Empty { panel, title: self.title.clone() });
        }
        self.series.iter().zip(1..).try_for_each(|(series, number)| self.check_series(panel, series, number))
    }

    fn check_series(&self, panel: usize, it: &Series, series: usize) -> Result<(), PanelsError> {
        let (title, name, style, points) = (self.title.clone(), it.name.clone(), it.style, it.points.len());
        if style >= MOST_STYLES {
            return Err(PanelsError::Style { panel, title, series, name, style });
        }
        let least = if it.look == Look::Marks { 1 } else { 2 };
        if points < least {
            return Err(PanelsError::TooShort { panel, title, series, name, least, points });
        }
        if let Err((point, fault)) = point::check(&it.points) {
            return Err(PanelsError::Point { panel, title, series, name, point, fault });
        }
        for (at, point) in it.points.iter().zip(1..) {
            let logarithmic = [(self.log_x, "x", at.x), (self.log_y, "mean", at.mean), (self.log_y, "lower end", at.low)];
            if let Some(&(_, what, value)) = logarithmic.iter().find(|&&(log, _, value)| log && value < SMALLEST) {
                return Err(PanelsError::NotAboveZero { panel, title, series, name, point, what, value });
            }
        }
        Ok(())
    }
}
