//! The data behind a figure: a table with what it came from in its header, as CSV.

use std::fmt::Write as _;

use thiserror::Error;

/// A table of a figure. Its file has one line for each property, `# name: value`, and then plain CSV.
#[derive(Clone, Debug, PartialEq)]
pub struct Data {
    /// Name of the file, without its end.
    pub name: String,
    /// Where it came from: seed, parameters, version.
    pub properties: Vec<(String, String)>,
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Cells, as many in each row as there are columns.
    pub rows: Vec<Vec<String>>,
}

/// Data that are not what a figure needs.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{file}{}: {problem}", row.map_or(String::new(), |row| format!(", row {row}")))]
pub struct DataError {
    /// The file.
    pub file: String,
    /// The row, from 1, the names of the columns not counted; none if it is the whole file.
    pub row: Option<usize>,
    /// What is wrong.
    pub problem: String,
}

impl Data {
    /// An empty table.
    pub fn new(name: &str, columns: &[&str]) -> Self {
        let columns = columns.iter().map(|&column| column.to_owned()).collect();
        Self { name: name.to_owned(), properties: Vec::new(), columns, rows: Vec::new() }
    }

    /// Says where it came from.
    pub fn set(&mut self, property: &str, value: &(impl ToString + ?Sized)) {
        // A line each.
        let value = value.to_string().replace(['\n', '\r'], " ");
        self.properties.retain(|(known, _)| known != property);
        self.properties.push((property.to_owned(), value));
    }

    /// A property.
    pub fn property(&self, property: &str) -> Option<&str> {
        self.properties.iter().find(|(known, _)| known == property).map(|(_, value)| value.as_str())
    }

    /// Adds a row.
    pub fn push(&mut self, row: impl IntoIterator<Item = Cell>) {
        let row: Vec<String> = row.into_iter().map(|Cell(text)| text).collect();
        debug_assert_eq!(row.len(), self.columns.len(), "invariant: a cell for each column");
        self.rows.push(row);
    }

    /// As its file holds it.
    pub fn csv(&self) -> String {
        let mut text = String::new();
        for (property, value) in &self.properties {
            let _ = writeln!(text, "# {property}: {value}");
        }
        let mut writer = csv::Writer::from_writer(Vec::new());
        // Into memory, cells of text: nothing can fail.
        for row in std::iter::once(&self.columns).chain(&self.rows) {
            let _ = writer.write_record(row);
        }
        text.push_str(&String::from_utf8_lossy(&writer.into_inner().unwrap_or_default()));
        text
    }

    /// Out of the text of a file.
    ///
    /// # Errors
    /// If it is no table.
    pub fn parse(name: &str, text: &str) -> Result<Self, DataError> {
        let problem = |row, problem: String| DataError { file: format!("{name}.csv"), row, problem };
        let mut data = Self::new(name, &[]);
        for line in text.lines().take_while(|line| line.starts_with('#')) {
            if let Some((property, value)) = line[1..].split_once(':') {
                data.set(property.trim(), value.trim());
            }
        }
        let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_reader(text.as_bytes());
        let header = reader.headers().map_err(|error| problem(None, error.to_string()))?;
        data.columns = header.iter().map(str::to_owned).collect();
        for (i, row) in reader.records().enumerate() {
            let row = row.map_err(|error| problem(Some(i + 1), error.to_string()))?;
            data.rows.push(row.iter().map(str::to_owned).collect());
        }
        if data.rows.is_empty() {
            return Err(problem(None, "there are no rows".into()));
        }
        Ok(data)
    }

    /// The rows, each with its cells by the names of columns.
    pub fn iter(&self) -> impl Iterator<Item = DataRow<'_>> {
        self.rows.iter().enumerate().map(|(index, cells)| DataRow { data: self, index, cells })
    }

    /// Numbers of a column, of the rows that have these texts in other columns.
    ///
    /// # Errors
    /// If there is no such column, or something else is there.
    pub fn numbers(&self, column: &str, having: &[(&str, &str)]) -> Result<Vec<f64>, DataError> {
        let mut numbers = Vec::new();
        for row in self.iter() {
            if row.has(having)? {
                numbers.push(row.number(column)?);
            }
        }
        Ok(numbers)
    }

    /// Different texts of a column, in order of appearance.
    ///
    /// # Errors
    /// If there is no such column.
    pub fn texts(&self, column: &str) -> Result<Vec<String>, DataError> {
        let mut texts: Vec<String> = Vec::new();
        for row in self.iter() {
            let text = row.text(column)?;
            if !texts.iter().any(|known| known == text) {
                texts.push(text.to_owned());
            }
        }
        Ok(texts)
    }
}

/// A cell: a text, or a number with all its digits.
pub struct Cell(String);

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl From<f64> for Cell {
    fn from(number: f64) -> Self {
        Self(number.to_string())
    }
}

impl From<usize> for Cell {
    fn from(number: usize) -> Self {
        Self(number.to_string())
    }
}

/// A row of a table.
pub struct DataRow<'a> {
    data: &'a Data,
    index: usize,
    cells: &'a [String],
}

impl DataRow<'_> {
    /// The text of a cell.
    ///
    /// # Errors
    /// If there is no such column.
    pub fn text(&self, column: &str) -> Result<&str, DataError> {
        let place = self.data.columns.iter().position(|known| known == column);
        let cell = place.and_then(|place| self.cells.get(place));
        cell.map(String::as_str).ok_or_else(|| self.problem(format!("there is no column {column:?}")))
    }

    /// The number of a cell.
    ///
    /// # Errors
    /// If there is no such column, or no number there.
    pub fn number(&self, column: &str) -> Result<f64, DataError> {
        let text = self.text(column)?;
        text.parse().map_err(|_| self.problem(format!("{column} is {text:?}, which is not a number")))
    }

    fn has(&self, having: &[(&str, &str)]) -> Result<bool, DataError> {
        for (column, text) in having {
            if self.text(column)? != *text {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn problem(&self, problem: String) -> DataError {
        DataError { file: format!("{}.csv", self.data.name), row: Some(self.index + 1), problem }
    }
}

/// A row of cells of any kinds.
#[macro_export]
#[doc(hidden)]
macro_rules! row {
    ($($cell:expr),* $(,)?) => { [$($crate::reproduce::Cell::from($cell)),*] };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_read_as_it_was_written() {
        let mut data = Data::new("example", &["who", "x"]);
        data.set("seed", &7);
        data.set("about", "two\nlines: and more");
        data.push(row!["a, b", 0.1 + 0.2]);
        data.push(row!["\"quoted\"", 3_usize]);
        let text = data.csv();
        assert!(text.starts_with("# seed: 7\n# about: two lines: and more\nwho,x\n"), "{text}");
        let again = Data::parse("example", &text).unwrap();
        assert_eq!(again, data);
        assert_eq!(again.numbers("x", &[("who", "a, b")]).unwrap(), [0.1 + 0.2]);
        assert_eq!(again.texts("who").unwrap(), ["a, b", "\"quoted\""]);
        assert_eq!(
            again.numbers("who", &[]).unwrap_err().to_string(),
            "example.csv, row 1: who is \"a, b\", which is not a number"
        );
        assert!(Data::parse("empty", "# seed: 1\nx\n").is_err() && again.numbers("y", &[]).is_err());
    }
}
