//! Parquet: choices in, draws out.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use crate::cell::Cell;
use crate::draws::DrawTable;
use crate::error::{Outcome, Problem, excerpt, refuse};
use ::parquet::data_type::{DoubleType, Int64Type};
use ::parquet::errors::ParquetError;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::record::reader::RowIter;
use ::parquet::record::{Field, Row as Record};
use ::parquet::schema::types::Type;

/// Values of a column that are written together, over all columns.
const ROW_GROUP_VALUES: usize = 1 << 22;

/// Records of a Parquet file.
pub(crate) struct ParquetRecords {
    rows: RowIter<'static>,
    columns: usize,
    fields: Vec<Field>,
    row: u64,
}

impl ParquetRecords {
    pub(crate) fn open(path: &Path) -> Outcome<(Self, Vec<String>)> {
        let reader = SerializedFileReader::new(File::open(path).map_err(Problem::Io)?).map_err(|error| problem(&error))?;
        let schema = reader.metadata().file_metadata().schema();
        let header: Vec<String> = schema.get_fields().iter().map(|field| field.name().to_owned()).collect();
        let rows = RowIter::from_file_into(Box::new(reader));
        Ok((Self { rows, columns: header.len(), fields: Vec::new(), row: 0 }, header))
    }

    pub(crate) fn next(&mut self) -> Outcome<bool> {
        self.row += 1;
        match self.rows.next() {
            None => Ok(false),
            Some(Err(error)) => refuse(problem(&error)),
            Some(Ok(record)) => {
                let record: Record = record;
                self.fields = record.into_columns().into_iter().map(|(_, field)| field).collect();
                self.fields.resize(self.columns, Field::Null);
                Ok(true)
            }
        }
    }

    pub(crate) fn line(&self) -> u64 {
        self.row
    }

    pub(crate) fn cell(&self, column: usize) -> Outcome<Cell<'_>> {
        match &self.fields[column] {
            Field::Null => Ok(Cell::Empty),
            Field::ListInternal(list) => {
                let names = list.elements().iter().map(text).collect::<Option<_>>();
                names.map(Cell::List).ok_or_else(|| unexpected(&self.fields[column], "a list of names").into())
            }
            field => match text(field) {
                Some(Cow::Borrowed(text)) => Ok(Cell::text(text)),
                Some(text) => Ok(Cell::Text(text)),
                None => refuse(unexpected(field, "a text, a number or a list of names")),
            },
        }
    }
}

fn unexpected(field: &Field, expected: &'static str) -> Problem {
    Problem::Kind { value: excerpt(&field.to_string()), expected }
}

fn text(field: &Field) -> Option<Cow<'_, str>> {
    match field {
        Field::Str(text) => Some(Cow::Borrowed(text)),
        Field::Bytes(bytes) => std::str::from_utf8(bytes.data()).ok().map(Cow::Borrowed),
        Field::Group(_) | Field::ListInternal(_) | Field::MapInternal(_) | Field::Null => None,
        other => Some(Cow::Owned(other.to_string())),
    }
}

fn problem(error: &ParquetError) -> Problem {
    Problem::Parquet { message: error.to_string() }
}

/// Draws, a column for each option.
pub(crate) fn write_draws<W: Write + Send, I: Iterator<Item = Vec<f64>>>(out: W, table: DrawTable<'_, I>) -> io::Result<()> {
    write_columns(out, table).map_err(io::Error::other)
}

fn write_columns<W: Write + Send, I: Iterator<Item = Vec<f64>>>(out: W, table: DrawTable<'_, I>) -> Result<(), ParquetError> {
    use ::parquet::basic::{Repetition, Type as Physical};
    let column =
        |name: &str, kind| Type::primitive_type_builder(name, kind).with_repetition(Repetition::REQUIRED).build().map(Arc::new);
    let mut fields = vec![column("chain", Physical::INT64)?, column("draw", Physical::INT64)?];
    for (_, name) in table.options.iter() {
        fields.push(column(name, Physical::DOUBLE)?);
    }
    let schema = Arc::new(Type::group_type_builder("draws").with_fields(fields).build()?);
    let mut writer = SerializedFileWriter::new(out, schema, Arc::new(WriterProperties::default()))?;
    let together = (ROW_GROUP_VALUES / table.options.len().max(1)).max(1);
    let mut rows = table.rows();
    loop {
        let part: Vec<(usize, usize, Vec<f64>)> = rows.by_ref().take(together).collect();
        if part.is_empty() {
            break;
        }
        let mut group = writer.next_row_group()?;
        let mut place = 0;
        while let Some(mut column) = group.next_column()? {
            if place < 2 {
                let pick = |(chain, draw, _): &(usize, usize, Vec<f64>)| if place == 0 { *chain } else { *draw };
                let values: Vec<i64> = part.iter().map(|row| pick(row).try_into().unwrap_or(i64::MAX)).collect();
                column.typed::<Int64Type>().write_batch(&values, None, None)?;
            } else {
                let values: Vec<f64> = part.iter().map(|(_, _, theta)| theta[place - 2]).collect();
                column.typed::<DoubleType>().write_batch(&values, None, None)?;
            }
            column.close()?;
            place += 1;
        }
        group.close()?;
    }
    writer.close()?;
    Ok(())
}
