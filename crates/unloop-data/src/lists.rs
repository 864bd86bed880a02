//! Lists that stand beside choices: names of options, and their prior weights.

use std::collections::HashSet;
use std::io::BufRead;

use unloop::{MAX_ALPHA, MIN_ALPHA, OptionId, Options};

use crate::csv::CsvRecords;
use crate::error::{Problem, ReadError, excerpt};
use crate::source::{Content, Source, first_byte};

/// Adds the names of a file to the options: one on each line, blank lines left out.
///
/// # Errors
/// If the file cannot be read or a name cannot be one.
pub fn read_names(source: Source, options: &mut Options) -> Result<(), ReadError> {
    let (file, mut input) = text(source)?;
    let failed = |line, problem| ReadError { file: file.clone(), line: Some(line), column: None, problem };
    let (mut name, mut line) = (Vec::new(), 0);
    loop {
        name.clear();
        line += 1;
        if input.read_until(b'\n', &mut name).map_err(|error| failed(line, error.into()))? == 0 {
            return Ok(());
        }
        let not_utf8 = |_| failed(line, Problem::NotUtf8 { value: excerpt(&String::from_utf8_lossy(&name)) });
        let text = std::str::from_utf8(&name).map_err(not_utf8)?.trim_end_matches(['\n', '\r']);
        if !text.trim().is_empty() {
            options.intern(text).map_err(|error| failed(line, Problem::Name { error }))?;
        }
    }
}

/// Prior weights from a CSV file with the columns `option` and `alpha`. Names not known become options, unless one is known without the
/// blanks around it.
///
/// # Errors
/// If the file cannot be read, a weight is none, or an option has two.
pub fn read_weights(source: Source, options: &mut Options) -> Result<Vec<(OptionId, f64)>, ReadError> {
    let (file, input) = text(source)?;
    let failed =
        |line, column: Option<&str>, problem| ReadError { file: file.clone(), line, column: column.map(str::to_owned), problem };
    let (mut records, header) = CsvRecords::new(input).map_err(|problem| failed(Some(1), None, *problem))?;
    let column = |name: &str| header.iter().position(|column| column.eq_ignore_ascii_case(name));
    let (Some(name_column), Some(weight_column)) = (column("option"), column("alpha")) else {
        return Err(failed(None, None, Problem::WeightColumns { found: header }));
    };
    let mut weights = Vec::new();
    let mut seen = HashSet::new();
    while records.next().map_err(|problem| failed(Some(records.line()), None, *problem))? {
        let line = Some(records.line());
        if records.fields() != header.len() {
            return Err(failed(line, None, Problem::Fields { found: records.fields(), expected: header.len() }));
        }
        let field = |place, column| records.field(place).map_err(|problem| failed(line, Some(column), *problem));
        let (name, text) = (field(name_column, "option")?, field(weight_column, "alpha")?);
        let weight = text.trim().parse::<f64>().ok().filter(|weight| (MIN_ALPHA..=MAX_ALPHA).contains(weight));
        let weight = weight.ok_or_else(|| failed(line, Some("alpha"), Problem::Weight { value: excerpt(text) }))?;
        let known = options.get(name).or_else(|| options.get(name.trim()));
        let option = match known {
            Some(option) => option,
            None => options.intern(name).map_err(|error| failed(line, Some("option"), Problem::Name { error }))?,
        };
        if !seen.insert(option) {
            return Err(failed(line, Some("option"), Problem::Repeated { name: excerpt(name) }));
        }
        weights.push((option, weight));
    }
    Ok(weights)
}

/// The text of a source, gzip undone and without a byte order mark.
fn text(source: Source) -> Result<(String, Box<dyn BufRead + Send>), ReadError> {
    let source = source.found()?;
    let failed = |problem| ReadError { file: source.name.clone(), line: None, column: None, problem };
    match source.content {
        Content::Unknown(mut input) | Content::Text(mut input) => {
            first_byte(&mut *input).map_err(|error| failed(error.into()))?;
            Ok((source.name, input))
        }
        #[cfg(feature = "parquet")]
        Content::Parquet(_) => Err(failed(Problem::Form { what: "a Parquet file", hint: "give a text file" })),
    }
}
