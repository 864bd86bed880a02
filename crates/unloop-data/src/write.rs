//! Rows written in the canonical form, so that [`Rows`](crate::Rows) reads them back.

use std::borrow::Cow;
use std::io::{self, Write};

use serde_json::{Map, Value, json};
use unloop::{OptionId, Options};

use crate::cell::escape;
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
}

impl<W: Write> Writer<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn new(mut out: W, format: WriteFormat) -> io::Result<Self> {
        if format == WriteFormat::Csv {
            out.write_all(b"presented,chosen,tied,count,user,time\n")?;
        }
        Ok(Self { out, format })
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
        match self.format {
            WriteFormat::Csv => {
                let joined = |names: &[&str]| {
                    let text = names.iter().map(|name| escape(name, "|")).collect::<Vec<_>>().join("|");
                    // What looks like a JSON array would be read as one.
                    if text.starts_with('[') && text.ends_with(']') { json!(names).to_string() } else { text }
                };
                let fields = [joined(&presented), joined(&chosen), joined(&tied), count.to_string()];
                let fields = fields.iter().map(String::as_str).chain([row.user.as_str(), row.time.as_str()]);
                let line = fields.map(quoted).collect::<Vec<_>>().join(",");
                writeln!(self.out, "{line}")
            }
            WriteFormat::JsonLines => {
                let mut object = Map::new();
                object.insert("presented".into(), json!(presented));
                match chosen.as_slice() {
                    [] if tied.is_empty() => object.insert("chosen".into(), Value::Null),
                    [] => object.insert("tied".into(), json!(tied)),
                    chosen => object.insert("chosen".into(), json!(chosen)),
                };
                object.insert("count".into(), json!(count));
                for (name, value) in [("user", &row.user), ("time", &row.time)] {
                    if !value.is_empty() {
                        object.insert(name.into(), json!(value));
                    }
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
