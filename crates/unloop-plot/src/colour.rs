//! Colours: few, told apart by the colour-blind, readable on white paper.

/// Paper.
pub(crate) const WHITE: &str = "#ffffff";
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
