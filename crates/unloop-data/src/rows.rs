//! Rows of a file as presentations and answers, one at a time.

use unloop::{OptionId, Options};

use crate::answer::{self, Members};
use crate::cell::Cell;
use crate::csv::CsvRecords;
use crate::error::{Outcome, Problem, ReadError, excerpt, refuse};
use crate::json_lines::JsonRecords;
use crate::layout::{AnswerColumn, Layout, Presented};
use crate::source::{Content, Source, first_byte};

/// Largest count of a row: sums of any number of them stay finite.
pub const MAX_COUNT: f64 = 1e12;

/// How to read files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadSettings {
    /// The column with what was presented, or two columns of competitors joined by a comma. Found out by default.
    pub presented: Option<String>,
    /// The column with what was chosen. Found out by default.
    pub chosen: Option<String>,
    /// What joins names in a column. `|` by default.
    pub separator: String,
    /// A column by whose values rows are told apart.
    pub group: Option<String>,
    /// Whether the columns `user` and `time` are read, where they are there. They are by default; who only counts needs neither.
    pub details: bool,
    /// Other columns whose values are wanted, where they are there.
    pub also: Vec<String>,
    /// Those of the others that have to be there.
    pub required: Vec<String>,
}

impl Default for ReadSettings {
    fn default() -> Self {
        Self {
            presented: None,
            chosen: None,
            separator: "|".into(),
            group: None,
            details: true,
            also: Vec::new(),
            required: Vec::new(),
        }
    }
}

/// What came back for a presentation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Answer {
    /// Nothing was chosen.
    #[default]
    Nothing,
    /// One option.
    Chosen(OptionId),
    /// Several options, each a choice of its own.
    Several(Vec<OptionId>),
    /// Some options at equal parts.
    Tied(Vec<OptionId>),
    /// All that were presented at equal parts.
    AllTied,
    /// Options in order, the tied ones together; what was presented and is not named comes after them.
    Ranked(Vec<Vec<OptionId>>),
}

/// One row: what was presented, what came back, and how often.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// Options in the order of the file.
    pub presented: Vec<OptionId>,
    /// What came back.
    pub answer: Answer,
    /// How often.
    pub count: f64,
    /// The value of the column `user`; empty if there is none.
    pub user: String,
    /// The value of the column `time`; empty if there is none.
    pub time: String,
    /// The value of the column that tells groups apart; empty if none does.
    pub group: String,
    /// Values of the other columns that were asked for, in their order; empty where a file has none.
    pub also: Vec<String>,
    /// Line on which it begins, from 1; for Parquet the row.
    pub line: u64,
}

/// Rows of one file, as a stream.
pub struct Rows {
    file: String,
    records: Records,
    header: Vec<String>,
    layout: Layout,
    separator: String,
    /// Names of a row not seen before, which become options once the row is known to be good.
    new: Vec<String>,
}

enum Records {
    Csv(Box<CsvRecords>),
    Json(JsonRecords),
    #[cfg(feature = "parquet")]
    Parquet(Box<crate::parquet::ParquetRecords>),
}

impl Rows {
    /// Begins to read a file and finds out its form.
    ///
    /// # Errors
    /// If it cannot be read or its columns say nothing of choices.
    pub fn new(source: Source, settings: &ReadSettings) -> Result<Self, ReadError> {
        let source = source.found()?;
        let file = source.name;
        let failed = |line, problem| ReadError { file: file.clone(), line, column: None, problem };
        let (records, header) = match source.content {
            Content::Unknown(mut input) | Content::Text(mut input) => {
                match first_byte(&mut *input).map_err(|error| failed(None, error.into()))? {
                    None => return Err(failed(None, Problem::NoHeader)),
                    Some(first) if first == b'{' || is_json_lines(&file) => {
                        let columns = [&settings.presented, &settings.chosen, &settings.group];
                        let required = settings.required.iter().map(String::as_str);
                        let wanted: Vec<&str> = columns.iter().filter_map(|name| name.as_deref()).chain(required).collect();
                        let (records, header) =
                            JsonRecords::new(input, &wanted, &settings.also).map_err(|problem| failed(Some(1), *problem))?;
                        (Records::Json(records), header)
                    }
                    Some(b'[') => return Err(failed(None, JSON_DOCUMENT)),
                    Some(_) => {
                        let (records, header) = CsvRecords::new(input).map_err(|problem| failed(Some(1), *problem))?;
                        (Records::Csv(Box::new(records)), header)
                    }
                }
            }
            #[cfg(feature = "parquet")]
            Content::Parquet(path) => {
                let (records, header) = crate::parquet::ParquetRecords::open(&path).map_err(|problem| failed(None, *problem))?;
                (Records::Parquet(Box::new(records)), header)
            }
        };
        if settings.separator.is_empty() || settings.separator.contains('\\') {
            let problem = Problem::Kind { value: format!("{:?}", settings.separator), expected: "a separator of names" };
            return Err(failed(None, problem));
        }
        let layout = Layout::new(&header, settings).map_err(|problem| failed(None, problem))?;
        Ok(Self { file, records, header, layout, separator: settings.separator.clone(), new: Vec::new() })
    }

    /// The form of the file.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Lines that the row last read takes, good or bad: more than one where quotes hold line ends.
    pub fn lines(&self) -> u64 {
        if let Records::Csv(records) = &self.records { records.last_line() - records.line() + 1 } else { 1 }
    }

    /// Reads the next row; false after the last. Names not seen before become options, in order of appearance.
    ///
    /// # Errors
    /// If the row is bad. Its names are not interned then, and where [`ReadError::is_of_row`] says so the next call goes on after it.
    pub fn read(&mut self, options: &mut Options, row: &mut Row) -> Result<bool, ReadError> {
        self.new.clear();
        row.presented.clear();
        row.answer = Answer::Nothing;
        row.also.resize_with(self.layout.also.len(), String::new);
        for text in [&mut row.user, &mut row.time, &mut row.group].into_iter().chain(&mut row.also) {
            text.clear();
        }
        let read = match &mut self.records {
            Records::Csv(records) => records.next().and_then(|more| match (records.fields(), records.last_line()) {
                (found, _) if !more || found == self.header.len() => Ok(more),
                (_, last) if last > records.line() => refuse(Problem::OpenQuote { last }),
                (found, _) => refuse(Problem::Fields { found, expected: self.header.len() }),
            }),
            Records::Json(records) => records.next(),
            #[cfg(feature = "parquet")]
            Records::Parquet(records) => records.next(),
        };
        row.line = self.records.line();
        match read {
            Ok(false) => return Ok(false),
            // A field that no object has is the whole file's fault.
            Err(problem) if matches!(*problem, Problem::NoColumn { .. }) => {
                return Err(ReadError { file: self.file.clone(), line: None, column: None, problem: *problem });
            }
            Err(problem) => return Err(self.failed(row.line, None, *problem)),
            Ok(true) => {}
        }
        if self.battle(options, row).is_some() {
            return Ok(true);
        }
        self.fill(options, row).map_err(|(column, problem)| self.failed(row.line, Some(column), *problem))?;
        for name in &self.new {
            let interned = options.intern(name);
            interned.map_err(|error| self.failed(row.line, None, Problem::Name { error }))?;
        }
        Ok(true)
    }

    /// A battle between options seen before, in the very words that most files have: without the detours of [`fill`](Self::fill)
    /// it takes half the time. None if anything is out of the ordinary.
    fn battle(&self, options: &Options, row: &mut Row) -> Option<()> {
        let (Records::Csv(records), Presented::Pair([a, b])) = (&self.records, &self.layout.presented) else { return None };
        let &Layout {
            answer: AnswerColumn::Winner(winner),
            tied: None,
            count: None,
            weight: None,
            user: None,
            time: None,
            group: None,
            ref also,
            ..
        } = &self.layout
        else {
            return None;
        };
        if also.iter().any(Option::is_some) {
            return None;
        }
        let (left, right, word) = (records.bytes(a.column), records.bytes(b.column), records.bytes(winner));
        let (x, y) = (options.get_bytes(left)?, options.get_bytes(right)?);
        if word == left || word == right {
            return None;
        }
        let answer = match word {
            word if word == a.words[0].as_bytes() => Answer::Chosen(x),
            word if word == b.words[0].as_bytes() => Answer::Chosen(y),
            b"tie" | b"tie (bothbad)" => Answer::AllTied,
            _ => return None,
        };
        if x == y {
            return None;
        }
        row.presented.extend([x, y]);
        (row.answer, row.count) = (answer, 1.0);
        Some(())
    }

    fn failed(&self, line: u64, column: Option<usize>, problem: Problem) -> ReadError {
        ReadError { file: self.file.clone(), line: Some(line), column: column.map(|i| self.header[i].clone()), problem }
    }

    /// Fills a row from the record. What went wrong comes with its column.
    fn fill(&mut self, options: &Options, row: &mut Row) -> Result<(), (usize, Box<Problem>)> {
        let Self { records, layout, separator, new, .. } = self;
        let at = |column: usize| move |problem| (column, problem);
        let cell = |column: usize| records.cell(column).map_err(at(column));
        let own = [(layout.group, &mut row.group), (layout.user, &mut row.user), (layout.time, &mut row.time)];
        for (column, to) in own.into_iter().chain(layout.also.iter().copied().zip(&mut row.also)) {
            if let Some(column) = column {
                to.push_str(&cell(column)?.one().map_err(at(column))?);
            }
        }
        row.count = 1.0;
        for column in [layout.count, layout.weight].into_iter().flatten() {
            let cell = cell(column)?;
            if cell != Cell::Empty {
                row.count = count(&cell).map_err(at(column))?;
                break;
            }
        }
        let mut members = Members { options, presented: &mut row.presented, new };
        match &layout.presented {
            Presented::Set(column) => members.add_all(&cell(*column)?, separator).map_err(at(*column))?,
            Presented::Pair(sides) => {
                for side in sides {
                    let cell = cell(side.column)?;
                    cell.one().and_then(|name| members.add(&name)).map_err(at(side.column))?;
                }
            }
            Presented::Ranked => {}
        }
        let (column, found) = match (&layout.answer, &layout.presented) {
            (AnswerColumn::Winner(column), Presented::Pair(sides)) => (*column, answer::winner(&cell(*column)?, sides, &members)),
            (AnswerColumn::Chosen(column) | AnswerColumn::Winner(column), _) => {
                (*column, answer::chosen(&cell(*column)?, separator, &members))
            }
            (AnswerColumn::Ranking(column), presented) => {
                (*column, answer::ranking(&cell(*column)?, *presented == Presented::Ranked, &mut members))
            }
        };
        row.answer = found.map_err(at(column))?;
        if let Some(column) = layout.tied {
            let cell = cell(column)?;
            match answer::flag(&cell).filter(|_| matches!(layout.presented, Presented::Pair(_))) {
                Some(false) => {}
                Some(true) if matches!(row.answer, Answer::Chosen(_)) => {
                    let expected = "possible beside a winner: a row has one or the other";
                    return Err((column, Box::new(Problem::Kind { value: "true".into(), expected })));
                }
                Some(true) => row.answer = Answer::AllTied,
                None if cell == Cell::Empty => {}
                None => row.answer = answer::tied(&cell, separator, &members, &row.answer).map_err(at(column))?,
            }
        }
        Ok(())
    }
}

impl Records {
    fn line(&self) -> u64 {
        match self {
            Self::Csv(records) => records.line(),
            Self::Json(records) => records.line(),
            #[cfg(feature = "parquet")]
            Self::Parquet(records) => records.line(),
        }
    }

    fn cell(&self, column: usize) -> Outcome<Cell<'_>> {
        match self {
            Self::Csv(records) => records.cell(column),
            Self::Json(records) => records.cell(column),
            #[cfg(feature = "parquet")]
            Self::Parquet(records) => records.cell(column),
        }
    }
}

fn count(cell: &Cell<'_>) -> Outcome<f64> {
    let Cell::Text(text) = cell else {
        return refuse(Problem::Count { value: "a list".into() });
    };
    match text.trim().parse::<f64>() {
        Ok(count) if (0.0..=MAX_COUNT).contains(&count) => Ok(count),
        _ => refuse(Problem::Count { value: excerpt(text) }),
    }
}

/// Whether a file's name says that it holds JSON Lines; its first line may be bad.
fn is_json_lines(file: &str) -> bool {
    let name = file.to_ascii_lowercase();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    [".jsonl", ".ndjson"].iter().any(|end| name.ends_with(end))
}

const JSON_DOCUMENT: Problem =
    Problem::Form { what: "one JSON array, not JSON Lines", hint: "put each object on a line of its own: jq -c '.[]' file.json" };
