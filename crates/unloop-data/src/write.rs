//! Rows written in the canonical form, so that [`Rows`](crate::Rows) reads them back.

use std::borrow::Cow;
use std::io::{self, Write};

use serde_json::{Map, Value, json};
use unloop::{OptionId, Options};

use crate::choices::{Choices, CountSettings};
use crate::rows::{Answer, Row};

/// How rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteFormat {
    /// CSV with a header line.
    Csv,
    /// One JSON object on each line.
    JsonLines,
}

/// Writes rows: what was presented, what was chosen or tied, the count, and user and time where they are known.
///
/// A ranking is written as the successive choices it means.
pub struct Writer<W> {
    out: W,
    format: WriteFormat,
    /// Columns beside what was presented, what came back and the count.
    also: Vec<String>,
}

/// A row by names.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Named<'a> {
    /// What was presented.
    pub presented: &'a [&'a str],
    /// What was chosen of it.
    pub chosen: &'a [&'a str],
    /// What shares a choice, where nothing was chosen alone.
    pub tied: &'a [&'a str],
    /// How often.
    pub count: f64,
}

impl<W: Write> Writer<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn new(out: W, format: WriteFormat) -> io::Result<Self> {
        Self::with_columns(out, format, &["user", "time"])
    }

    /// Begins a file with columns of one's own beside `presented`, `chosen`, `tied` and `count`, for [`write_named`](Self::write_named).
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn with_columns(mut out: W, format: WriteFormat, also: &[&str]) -> io::Result<Self> {
        if format == WriteFormat::Csv {
            let columns = ["presented", "chosen", "tied", "count"].iter().chain(also).map(|name| quoted(name));
            writeln!(out, "{}", columns.collect::<Vec<_>>().join(","))?;
        }
        Ok(Self { out, format, also: also.iter().map(|&name| name.to_owned()).collect() })
    }

    /// Writes a row, in the names of its options.
    ///
    /// # Errors
    /// If it cannot be written, or an option has no name.
    pub fn write(&mut self, options: &Options, row: &Row) -> io::Result<()> {
        match &row.answer {
            Answer::Nothing => self.write_row(options, row, &row.presented, &[], &[], row.count),
            Answer::Chosen(option) => self.write_row(options, row, &row.presented, &[*option], &[], row.count),
            Answer::Several(chosen) => self.write_row(options, row, &row.presented, chosen, &[], row.count),
            Answer::Tied(tied) => self.write_row(options, row, &row.presented, &[], tied, row.count),
            Answer::AllTied => self.write_row(options, row, &row.presented, &[], &row.presented, row.count),
            Answer::Ranked(_) => {
                let mut result = Ok(());
                let mut write = |presented: &[OptionId], option: OptionId, count: f64| {
                    if result.is_ok() {
                        result = self.write_row(options, row, presented, &[option], &[], count);
                    }
                };
                Choices::new(CountSettings::default(), None).of(row, &mut write);
                result
            }
        }
    }

    /// Hands everything over to what it is written to.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }

    fn write_row(
        &mut self,
        options: &Options,
        row: &Row,
        presented: &[OptionId],
        chosen: &[OptionId],
        tied: &[OptionId],
        count: f64,
    ) -> io::Result<()> {
        let names = |ids: &[OptionId]| -> io::Result<Vec<&str>> {
            let unknown = |id: &OptionId| io::Error::other(format!("option {id} has no name"));
            ids.iter().map(|id| options.name(*id).ok_or_else(|| unknown(id))).collect()
        };
        let (presented, chosen, tied) = (names(presented)?, names(chosen)?, names(tied)?);
        let named = Named { presented: &presented, chosen: &chosen, tied: &tied, count };
        self.write_named(named, &[row.user.as_str().into(), row.time.as_str().into()])
    }

    /// Writes a row by names, with the values of the other columns in their order: texts, numbers or flags. Null and an empty text are left out.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_named(&mut self, row: Named<'_>, also: &[Value]) -> io::Result<()> {
        let Named { presented, chosen, tied, count } = row;
        match self.format {
            WriteFormat::Csv => {
                // Where a name could be taken for several, or several for one, or for a list.
                let is_plain = presented.iter().all(|name| !name.contains(['|', '\\']) && !name.starts_with('['));
                let joined = |names: &[&str]| match names {
                    [] => String::new(),
                    names if is_plain => names.join("|"),
                    names => json!(names).to_string(),
                };
                let fields = [joined(presented), joined(chosen), joined(tied), count.to_string()];
                let others = also.iter().map(|value| match value {
                    Value::Null => String::new(),
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                });
                let line =
                    fields.into_iter().chain(others).map(|field| quoted(&field).into_owned()).collect::<Vec<_>>().join(",");
                writeln!(self.out, "{line}")
            }
            WriteFormat::JsonLines => {
                let mut object = Map::new();
                object.insert("presented".into(), json!(presented));
                match chosen {
                    [] if tied.is_empty() => object.insert("chosen".into(), Value::Null),
                    [] => object.insert("tied".into(), json!(tied)),
                    chosen => object.insert("chosen".into(), json!(chosen)),
                };
                object.insert("count".into(), json!(count));
                for (name, value) in self.also.iter().zip(also).filter(|(_, value)| !value.is_null() && *value != "") {
                    object.insert(name.clone(), value.clone());
                }
                serde_json::to_writer(&mut self.out, &object)?;
                self.out.write_all(b"\n")
            }
        }
    }
}

/// A field of a CSV file, in quotes where it needs them.
pub(crate) fn quoted(field: &str) -> Cow<'_, str> {
    if field.contains([',', '"', '\n', '\r', ';', '\t'])
        || field.starts_with(char::is_whitespace)
        || field.ends_with(char::is_whitespace)
    {
        Cow::Owned(format!("\"{}\"", field.replace('"', "\"\"")))
    } else {
        Cow::Borrowed(field)
    }
}
