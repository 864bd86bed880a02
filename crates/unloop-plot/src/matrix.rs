//! The matrix of chances to beat one another: a cell for each pair, blue where the row is ahead, orange where the column is.

use thiserror::Error;

use crate::colour::{GREY, GRID, INK, Rgb, SOFT};
use crate::font::{self, OTHER_FONTS, Weight};
use crate::number::chance;
use crate::paragraph::{self, FOOTER, SUBTITLE, TITLE};
use crate::picture::Picture;
use crate::svg::{Anchor, Element, Page};

const MARGIN: f64 = 24.0;
/// Between names and cells.
const GAP: f64 = 8.0;
const NAME_CHARACTERS: usize = 40;
const NAME_ROOM: f64 = 240.0;
/// With more options cells are too small for numbers.
const MOST_WITH_NUMBERS: usize = 25;
const LEGEND_WIDTH: f64 = 240.0;
const LEGEND_STEPS: usize = 120;
const LEGEND_SIZE: f64 = 11.0;

/// A matrix to draw.
#[derive(Clone, Debug, PartialEq)]
pub struct MatrixPlot {
    /// Stands above all; nothing if empty.
    pub title: String,
    /// Stands below the title.
    pub subtitle: Option<String>,
    /// Stands below all.
    pub footer: Option<String>,
    /// What a cell shows, above the legend. `chance that the row beats the column` by default.
    pub legend: String,
    /// Names of the options, in any script, from top to bottom and from left to right: give the best first.
    pub names: Vec<String>,
    /// The chance that the option of a row beats that of a column, row by row. The diagonal is not looked at. Opposite cells need not
    /// add up to one: there may be ties.
    pub chances: Vec<Vec<f64>>,
}

/// Why a matrix cannot be drawn. Rows and columns are numbered from 1.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum MatrixError {
    /// No pair to compare.
    #[error("a matrix needs two options or more, not {options}")]
    TooFew {
        /// How many names there are.
        options: usize,
    },
    /// Not a row for each name.
    #[error("{options} names but {rows} rows of chances")]
    Rows {
        /// How many names there are.
        options: usize,
        /// How many rows there are.
        rows: usize,
    },
    /// A row that has not a chance for each name.
    #[error("row {row} has {length} chances for {options} names")]
    Columns {
        /// Number of the row.
        row: usize,
        /// How many chances it has.
        length: usize,
        /// How many names there are.
        options: usize,
    },
    /// A chance that is none.
    #[error("row {row}, column {column}: a chance of {value} must be between 0 and 1")]
    Chance {
        /// Number of the row.
        row: usize,
        /// Number of the column.
        column: usize,
        /// The value.
        value: f64,
    },
}

impl MatrixPlot {
    /// A matrix with defaults for everything else.
    pub fn new(title: impl Into<String>, names: impl Into<Vec<String>>, chances: impl Into<Vec<Vec<f64>>>) -> Self {
        Self {
            title: title.into(),
            subtitle: None,
            footer: None,
            legend: "chance that the row beats the column".to_owned(),
            names: names.into(),
            chances: chances.into(),
        }
    }

    /// Draws it.
    ///
    /// # Errors
    ///
    /// Fewer than two options, a matrix that is not square, chances outside 0 to 1.
    pub fn draw(&self) -> Result<Picture, MatrixError> {
        self.check()?;
        Ok(Drawing { plot: self, layout: Layout::new(&self.names), page: Page::default() }.draw())
    }

    fn check(&self) -> Result<(), MatrixError> {
        let options = self.names.len();
        if options < 2 {
            return Err(MatrixError::TooFew { options });
        }
        if self.chances.len() != options {
            return Err(MatrixError::Rows { options, rows: self.chances.len() });
        }
        for (row, chances) in self.chances.iter().enumerate() {
            if chances.len() != options {
                return Err(MatrixError::Columns { row: row + 1, length: chances.len(), options });
            }
            for (column, &value) in chances.iter().enumerate() {
                if row != column && !(0.0..=1.0).contains(&value) {
                    return Err(MatrixError::Chance { row: row + 1, column: column + 1, value });
                }
            }
        }
        Ok(())
    }
}

/// Sizes that follow from the names.
struct Layout {
    names: Vec<String>,
    /// From a cell to the next.
    cell: f64,
    name_size: f64,
    /// How far names of columns are turned.
    angle: f64,
    /// Left end of the cells.
    left: f64,
    /// Height of the names of columns.
    rise: f64,
    width: f64,
}

impl Layout {
    fn new(names: &[String]) -> Self {
        let options = names.len();
        let cell: f64 = match options {
            0..=8 => 46.0,
            9..=12 => 38.0,
            13..=MOST_WITH_NUMBERS => 32.0,
            _ => (900.0 / options as f64).floor().clamp(11.0, 22.0),
        };
        let name_size = if cell < 13.0 { 9.0 } else { 12.0_f64.min(cell - 3.0) };
        let names: Vec<String> = names.iter().map(|name| font::shorten(name, NAME_CHARACTERS, NAME_ROOM, name_size)).collect();
        let widths = names.iter().map(|name| OTHER_FONTS * font::width(name, name_size, Weight::Regular));
        let widest = widths.clone().fold(0.0, f64::max).ceil();
        // Slanted names are easier to read, upright ones stand closer.
        let angle: f64 = if options <= MOST_WITH_NUMBERS { -45.0 } else { -90.0 };
        let (sine, cosine) = angle.to_radians().sin_cos();
        let left = MARGIN + widest + GAP;
        // Slanted names lean out to the right, the last ones beyond the cells.
        let lean = widths.zip(0..).map(|(width, column)| f64::from(column) * cell + 0.5 * cell + width * cosine + name_size);
        let right = lean.fold(cell * options as f64, f64::max);
        let width = (left + right).max(MARGIN + 360.0) + MARGIN;
        Self { names, cell, name_size, angle, left, rise: widest * -sine + name_size, width }
    }
}

/// A matrix being drawn, from top to bottom.
struct Drawing<'a> {
    plot: &'a MatrixPlot,
    layout: Layout,
    page: Page,
}

impl Drawing<'_> {
    fn draw(mut self) -> Picture {
        let MatrixPlot { title, subtitle, footer, names, .. } = self.plot;
        let width = self.layout.width;
        let room = width - 2.0 * MARGIN;
        let mut y = paragraph::draw(&mut self.page, title, TITLE, MARGIN, MARGIN - 4.0, room);
        y = paragraph::draw(&mut self.page, subtitle.as_deref().unwrap_or(""), SUBTITLE, MARGIN, y, room);
        y = self.legend(y + 8.0);
        let top = (y + 14.0 + self.layout.rise).ceil();
        self.names(top);
        self.cells(top);
        y = top + self.layout.cell * names.len() as f64;
        if let Some(footer) = footer {
            y = paragraph::draw(&mut self.page, footer, FOOTER, MARGIN, y + 12.0, room);
        }
        Picture::new(&self.page, width, y + MARGIN, title)
    }

    fn names(&mut self, top: f64) {
        let Layout { ref names, cell, name_size, angle, left, .. } = self.layout;
        for (name, index) in names.iter().zip(0..) {
            let middle = (f64::from(index) + 0.5) * cell;
            let row = Element::label(left - GAP, top + middle, name_size, INK, Anchor::End, name);
            self.page.add(&row.with("class", "row-name"));
            let foot = (left + middle, top - GAP);
            let column = Element::label(foot.0, foot.1, name_size, INK, Anchor::Start, name).turned(angle, foot);
            self.page.add(&column.with("class", "column-name"));
        }
    }

    fn cells(&mut self, top: f64) {
        let Layout { ref names, cell, left, .. } = self.layout;
        let numbers = names.len() <= MOST_WITH_NUMBERS;
        // Tells the empty diagonal from cells near one half, which are nearly white too.
        let side = cell * names.len() as f64 - 1.0;
        let diagonal = Element::line((left, top), (left + side, top + side), GREY, 1.0);
        self.page.add(&diagonal.with("class", "diagonal"));
        for (row, chances) in self.plot.chances.iter().enumerate() {
            for (column, &value) in chances.iter().enumerate() {
                if row == column {
                    continue;
                }
                let (x, y) = (left + cell * column as f64, top + cell * row as f64);
                let colour = Rgb::diverging(value);
                let number = chance(value);
                // A line of white between cells.
                let rect = Element::rect(x, y, cell - 1.0, cell - 1.0, &colour.hex());
                self.page.add(&rect.tip(&format!("{} over {}: {number} %", names[row], names[column])));
                if numbers {
                    let (x, y) = (x + 0.5 * (cell - 1.0), y + 0.5 * (cell - 1.0));
                    let label = Element::label(x, y, LEGEND_SIZE, colour.print_on_top(), Anchor::Middle, &number);
                    // The pointer means the cell below.
                    self.page.add(&label.with("pointer-events", "none"));
                }
            }
        }
    }

    /// The colours from 0 to 100 %, with what they mean.
    fn legend(&mut self, top: f64) -> f64 {
        const HEIGHT: f64 = 10.0;
        let page = &mut self.page;
        page.add(&Element::label(MARGIN, top + 8.0, LEGEND_SIZE, SOFT, Anchor::Start, &self.plot.legend).with("class", "legend"));
        let bar = top + 20.0;
        let step = LEGEND_WIDTH / LEGEND_STEPS as f64;
        for index in 0..LEGEND_STEPS {
            let colour = Rgb::diverging((index as f64 + 0.5) / LEGEND_STEPS as f64);
            page.add(&Element::rect(MARGIN + step * index as f64, bar, step, HEIGHT, &colour.hex()));
        }
        let frame = Element::rect(MARGIN, bar, LEGEND_WIDTH, HEIGHT, "none").with("stroke", GRID).number("stroke-width", 1.0);
        page.add(&frame);
        for (part, text, anchor) in [(0.0, "0 %", Anchor::Start), (0.5, "50 %", Anchor::Middle), (1.0, "100 %", Anchor::End)] {
            page.add(&Element::label(MARGIN + part * LEGEND_WIDTH, bar + HEIGHT + 9.0, LEGEND_SIZE, SOFT, anchor, text));
        }
        bar + HEIGHT + 18.0
    }
}
