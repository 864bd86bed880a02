//! Pictures of what unloop knows, as SVG and PNG: a [forest plot](Forest) of a leaderboard, a [matrix](MatrixPlot) of chances to
//! beat one another, [curves](Bands) over rounds, [grids of charts](Panels) with one legend and [densities](Simplexes) of three
//! shares on triangles.
//!
//! The crate draws and nothing else: it knows no files, no clock, no arguments. A plot is a plain struct; drawing it checks it and
//! gives a [`Picture`], whose PNG is rendered from its SVG with fonts that are part of the crate.
//!
//! ```
//! use unloop_plot::{Forest, ForestRow, Reference};
//! let row = |name: &str, mean, low, high, p_best, unseen| {
//!     ForestRow { name: name.to_owned(), mean, low, high, p_best: Some(p_best), unseen }
//! };
//! let mut forest = Forest::new("What to have for lunch", [
//!     row("curry", 0.47, 0.33, 0.61, 0.87, false),
//!     row("bread & soup", 0.33, 0.21, 0.46, 0.11, false),
//!     row("salad", 0.20, 0.01, 0.53, 0.02, true),
//! ]);
//! forest.reference = Some(Reference { value: 1.0 / 3.0, label: "equal share".to_owned() });
//! let picture = forest.draw()?;
//! assert!(picture.svg().contains("bread &amp; soup"));
//! assert!(picture.png()?.starts_with(b"\x89PNG"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The fonts are Noto Sans (SIL Open Font License 1.1) and, for characters that it lacks, DejaVu Sans (Bitstream Vera licence).
//! Characters that neither has, Chinese for one, are empty boxes in a PNG; an SVG leaves them to the fonts of its reader.

#![forbid(unsafe_code)]

mod axis;
mod bands;
mod colour;
pub mod figures;
mod font;
mod forest;
mod matrix;
mod number;
mod panels;
mod paragraph;
mod picture;
mod point;
mod simplex;
mod style;
mod svg;

pub use axis::Scale;
pub use bands::{Bands, BandsError, Curve, MOST_CURVES};
pub use forest::{Forest, ForestError, ForestRow, Reference};
pub use matrix::{MatrixError, MatrixPlot};
pub use panels::{Look, Panel, Panels, PanelsError, Series};
pub use picture::{Picture, PngError};
pub use point::{BandPoint, PointFault};
pub use simplex::{SimplexPanel, Simplexes, SimplexesError, grid_points};
