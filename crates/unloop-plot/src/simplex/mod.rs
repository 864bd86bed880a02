//! Densities of three shares that sum to one, each drawn on a triangle as bands of highest density.

use thiserror::Error;

use crate::picture::Picture;

mod drawing;
mod frame;
mod legend;
mod region;

/// Finer grids cannot be seen.
const FINEST_GRID: usize = 1000;

/// Triangles to draw side by side.
#[derive(Clone, Debug, PartialEq)]
pub struct Simplexes {
    /// Stands above all; nothing if empty.
    pub title: String,
    /// Stands below the title.
    pub subtitle: Option<String>,
    /// Stands below all.
    pub footer: Option<String>,
    /// How many panels stand side by side. Six or fewer can be read on a page.
    pub columns: usize,
    /// From left to right, then from top to bottom.
    pub panels: Vec<SimplexPanel>,
}

/// One triangle.
#[derive(Clone, Debug, PartialEq)]
pub struct SimplexPanel {
    /// Stands above it; nothing if empty.
    pub title: String,
    /// The names of the three options: that at the bottom left, at the bottom right and at the top. Long ones are cut.
    pub corners: [String; 3],
    /// Intervals of the grid per side: from 1 to 1 000. About 60 look smooth, 200 where ridges are narrow.
    pub grid: usize,
    /// The density, up to a factor, at each of the [`grid_points`].
    pub density: Vec<f64>,
    /// Samples of each of the three shares, drawn as short strokes along an axis outside the triangle. Where there are none, there
    /// is no axis. A few hundred are as many as can be seen.
    pub marks: [Vec<f64>; 3],
    /// Stands below it.
    pub note: Option<String>,
}

/// Why triangles cannot be drawn. Panels and values are numbered from 1.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum SimplexesError {
    /// No panels.
    #[error("a picture without panels cannot be drawn")]
    NoPanels,
    /// No columns.
    #[error("panels cannot stand in no columns")]
    NoColumns,
    /// A grid that is too coarse or too fine.
    #[error("panel {panel} ({title}): a grid of {grid} intervals per side must have from 1 to 1000")]
    Grid {
        /// Number of the panel.
        panel: usize,
        /// Its title.
        title: String,
        /// Intervals per side.
        grid: usize,
    },
    /// Too few or too many values for the grid.
    #[error("panel {panel} ({title}): {values} values of the density for a grid of {expected} points")]
    Length {
        /// Number of the panel.
        panel: usize,
        /// Its title.
        title: String,
        /// How many values there are.
        values: usize,
        /// How many there must be.
        expected: usize,
    },
    /// A density that is not finite or below zero.
    #[error("panel {panel} ({title}), value {number} of the density: {value} must be finite and not below 0")]
    Density {
        /// Number of the panel.
        panel: usize,
        /// Its title.
        title: String,
        /// Number of the value.
        number: usize,
        /// The value.
        value: f64,
    },
    /// A density that is zero everywhere.
    #[error("panel {panel} ({title}): its density is 0 everywhere")]
    NoMass {
        /// Number of the panel.
        panel: usize,
        /// Its title.
        title: String,
    },
    /// A sample that is no share.
    #[error("panel {panel} ({title}), mark {number} of share {share}: {value} must be between 0 and 1")]
    Mark {
        /// Number of the panel.
        panel: usize,
        /// Its title.
        title: String,
        /// Number of the share.
        share: usize,
        /// Number of the sample.
        number: usize,
        /// The sample.
        value: f64,
    },
}

/// The points of a grid with so many intervals per side, in the order in which a panel wants its density: for i from 0 to `grid`,
/// for j from 0 to `grid` − i, the shares (i + ⅓, j + ⅓, `grid` − i − j + ⅓) / (`grid` + 1).
///
/// They are the centres of small triangles and not on the edges of the large one, where a density may be infinite.
///
/// ```
/// let points: Vec<[f64; 3]> = unloop_plot::grid_points(1).collect();
/// assert_eq!(points.len(), 3);
/// assert!(points.iter().all(|point| (point.iter().sum::<f64>() - 1.0).abs() < 1e-12));
/// assert!(points[0][2] > 0.6 && points[1][1] > 0.6 && points[2][0] > 0.6);
/// ```
pub fn grid_points(grid: usize) -> impl Iterator<Item = [f64; 3]> {
    let share = move |count: usize| (count as f64 + 1.0 / 3.0) / (grid as f64 + 1.0);
    (0..=grid).flat_map(move |i| {
        (0..=grid - i).map(move |j| {
            let (first, second) = (share(i), share(j));
            [first, second, 1.0 - first - second]
        })
    })
}

impl Simplexes {
    /// Triangles with defaults for everything else.
    pub fn new(title: impl Into<String>, columns: usize, panels: impl Into<Vec<SimplexPanel>>) -> Self {
        Self { title: title.into(), subtitle: None, footer: None, columns, panels: panels.into() }
    }

    /// Draws it.
    ///
    /// # Errors
    ///
    /// No panels or no columns, a grid of no or too many intervals, a density of another length than its grid, below zero, not
    /// finite or zero everywhere, samples that are no shares.
    pub fn draw(&self) -> Result<Picture, SimplexesError> {
        if self.panels.is_empty() {
            return Err(SimplexesError::NoPanels);
        }
        if self.columns == 0 {
            return Err(SimplexesError::NoColumns);
        }
        self.panels.iter().zip(1..).try_for_each(|(panel, number)| panel.check(number))?;
        Ok(drawing::draw(self))
    }
}

impl SimplexPanel {
    fn check(&self, panel: usize) -> Result<(), SimplexesError> {
        let title = || self.title.clone();
        let (grid, values) = (self.grid, self.density.len());
        if !(1..=FINEST_GRID).contains(&grid) {
            return Err(SimplexesError::Grid { panel, title: title(), grid });
        }
        let expected = (grid + 1) * (grid + 2) / 2;
        if values != expected {
            return Err(SimplexesError::Length { panel, title: title(), values, expected });
        }
        for (&value, number) in self.density.iter().zip(1..) {
            if !(value.is_finite() && value >= 0.0) {
                return Err(SimplexesError::Density { panel, title: title(), number, value });
            }
        }
        if self.density.iter().all(|&value| value == 0.0) {
            return Err(SimplexesError::NoMass { panel, title: title() });
        }
        for (marks, share) in self.marks.iter().zip(1..) {
            for (&value, number) in marks.iter().zip(1..) {
                if !(0.0..=1.0).contains(&value) {
                    return Err(SimplexesError::Mark { panel, title: title(), share, number, value });
                }
            }
        }
        Ok(())
    }
}
