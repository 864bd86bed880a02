//! Why a file, or a row of it, could not be read: where, what, and what to do about it.

use std::fmt;
use std::io;
use std::path::Path;

use thiserror::Error;
use unloop::{OptionError, StatisticsError};

/// What comes of reading a part of a row. The problem is boxed: a row is read in a quarter of a microsecond, and most are good.
pub(crate) type Outcome<T> = Result<T, Box<Problem>>;

/// A row, or a part of it, that is not good.
#[cold]
pub(crate) fn refuse<T>(problem: Problem) -> Outcome<T> {
    Err(Box::new(problem))
}

/// A file or row that could not be read.
#[derive(Debug)]
pub struct ReadError {
    /// Name of the file.
    pub file: String,
    /// Line on which the row begins, from 1; for Parquet its row.
    pub line: Option<u64>,
    /// Name of the column.
    pub column: Option<String>,
    /// What was wrong.
    pub problem: Problem,
}

impl ReadError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        self.problem.hint()
    }

    /// Whether only this row is bad, so that reading may go on after it.
    pub fn is_of_row(&self) -> bool {
        self.line.is_some() && !matches!(self.problem, Problem::Io(_) | Problem::LongRecord { .. })
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if let Some(line) = self.line {
            write!(f, ", line {line}")?;
        }
        if let Some(column) = &self.column {
            write!(f, ", column `{column}`")?;
        }
        write!(f, ": {}", self.problem)
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        // The problem's own text is part of ours.
        self.problem.source()
    }
}

/// What was wrong.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Problem {
    /// The file could not be opened or read.
    #[error("cannot be read")]
    Io(#[from] io::Error),
    /// The file holds nothing.
    #[error("it is empty: not even a header line")]
    NoHeader,
    /// Bytes that are no text.
    #[error("{value:?} is not UTF-8")]
    NotUtf8 {
        /// The cell, as far as it can be shown.
        value: String,
    },
    /// A form of file that is not read.
    #[error("this is {what}")]
    Form {
        /// What it is.
        what: &'static str,
        /// How to have it read.
        hint: &'static str,
    },
    /// Too few or too many fields.
    #[error("{found} fields, where the header has {expected}")]
    Fields {
        /// Fields of the row.
        found: usize,
        /// Fields of the header.
        expected: usize,
    },
    /// A row with quotes that end on another line, and too few or too many fields.
    #[error("a quote is opened in this row and closed on line {last}, and its fields do not fit the header")]
    OpenQuote {
        /// The line on which it ends.
        last: u64,
    },
    /// A row that does not end.
    #[error("this row is longer than {bytes} bytes")]
    LongRecord {
        /// The longest that is read.
        bytes: usize,
    },
    /// No columns that hold choices.
    #[error("none of the columns says what was presented and chosen: {}", Quoted(found))]
    NoColumns {
        /// The columns there are.
        found: Vec<String>,
    },
    /// A column that was asked for is not there.
    #[error("there is no column `{name}` among {}", Quoted(found))]
    NoColumn {
        /// The column asked for.
        name: String,
        /// The columns there are.
        found: Vec<String>,
    },
    /// A column that two columns claim to be.
    #[error("there is more than one column `{name}`")]
    RepeatedColumn {
        /// Its name.
        name: String,
    },
    /// Several pairs of columns could be the competitors.
    #[error("which columns hold the competitors: {}?", Quoted(pairs))]
    Pairs {
        /// The pairs.
        pairs: Vec<String>,
    },
    /// Nothing was presented.
    #[error("nothing was presented")]
    NothingPresented,
    /// Something else than one of the options presented was chosen.
    #[error("{value:?} was chosen but not presented: {}", Quoted(presented))]
    NotPresented {
        /// What was chosen.
        value: String,
        /// What was presented.
        presented: Vec<String>,
    },
    /// A winner that is no competitor.
    #[error("{value:?} is neither {} nor a tie", Quoted(known))]
    Winner {
        /// The value.
        value: String,
        /// Names and sides that would do.
        known: Vec<String>,
    },
    /// An option twice in a row.
    #[error("{name:?} is named twice")]
    Repeated {
        /// The option.
        name: String,
    },
    /// A name that no option can have.
    #[error("{error}")]
    Name {
        /// Why.
        error: OptionError,
    },
    /// An option with the name of the no-choice option.
    #[error("an option cannot be called {name:?}: that is the name for choosing nothing")]
    Reserved {
        /// The name.
        name: String,
    },
    /// A count that is none.
    #[error("{value:?} is not a count: a number from 0 to {:.0e}", crate::MAX_COUNT)]
    Count {
        /// The value.
        value: String,
    },
    /// A list of prior weights without its columns.
    #[error("there are no columns `option` and `alpha` among {}", Quoted(found))]
    WeightColumns {
        /// The columns there are.
        found: Vec<String>,
    },
    /// A prior weight that is none.
    #[error("{value:?} is not a weight: a number from {:e} to {:e}", unloop::MIN_ALPHA, unloop::MAX_ALPHA)]
    Weight {
        /// The value.
        value: String,
    },
    /// Broken JSON.
    #[error("this is no JSON object: {message}")]
    Json {
        /// What the parser said.
        message: String,
    },
    /// A field whose name is nearly that of the answer, in an object without one.
    #[error("there is a field `{name}` and no `{meant}`")]
    Misspelt {
        /// The field.
        name: String,
        /// What it may be.
        meant: &'static str,
    },
    /// A value of another kind.
    #[error("{value} is not {expected}")]
    Kind {
        /// The value.
        value: String,
        /// What was expected.
        expected: &'static str,
    },
    /// More than can be tied in a ranking.
    #[error("{count} options tied at one place of a ranking are more than {most}")]
    ManyTied {
        /// Tied options.
        count: usize,
        /// The most.
        most: usize,
    },
    /// More groups than tables.
    #[error("{value:?} would be group {}: at most {} are told apart", crate::MAX_GROUPS + 1, crate::MAX_GROUPS)]
    Groups {
        /// The group too many.
        value: String,
    },
    /// Counts that do not add up.
    #[error(transparent)]
    Statistics(#[from] StatisticsError),
    /// A Parquet file that is none.
    #[error("it is no Parquet file that can be read: {message}")]
    Parquet {
        /// What the reader said.
        message: String,
    },
}

impl Problem {
    /// This problem of a row, with where the row is.
    pub fn at(self, file: &Path, line: u64) -> ReadError {
        ReadError { file: file.display().to_string(), line: Some(line), column: None, problem: self }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::NoHeader => "give a CSV file with a header line, or JSON Lines",
            Self::NotUtf8 { .. } => "convert the file to UTF-8, for example with `iconv -f latin1 -t utf-8`",
            Self::Form { hint, .. } => hint,
            Self::Fields { .. } => "a name with a comma needs quotes around it; --skip-bad leaves out such lines",
            Self::OpenQuote { .. } => {
                "look for a quote too many; --skip-bad leaves out all lines up to that one, and counts them"
            }
            Self::LongRecord { .. } => "look for a quote that is opened in this row and not closed",
            Self::NoColumns { .. } => {
                "a file has columns `presented` and `chosen`, or two competitors and `winner`, or `ranking`; \
                 name others with --presented and --chosen (--presented home,away for two columns)"
            }
            Self::NoColumn { .. } => "names of columns are compared byte by byte",
            Self::RepeatedColumn { .. } => "give each column a name of its own",
            Self::Pairs { .. } => "say it with --presented, for example --presented model_a,model_b",
            Self::NotPresented { value, presented } => return Some(not_presented_hint(value, presented)),
            Self::Winner { .. } => "a winner is a side, a competitor's name, `tie`, or empty; --skip-bad leaves out other lines",
            Self::Repeated { .. } => "name each option once; --skip-bad leaves out such lines of choices",
            Self::Name { error: OptionError::EmptyName } => "look for a separator too many",
            Self::WeightColumns { .. } => "it needs a header line `option,alpha`, then a line for each option",
            Self::Weight { .. } => "give each option one line `option,alpha`",
            Self::Reserved { .. } => "rename it in the file",
            Self::Misspelt { .. } => "write the field as in the other lines; null is for nothing chosen",
            Self::Count { .. } | Self::Json { .. } | Self::Kind { .. } | Self::NothingPresented | Self::Name { .. } => {
                "--skip-bad leaves out such lines"
            }
            Self::ManyTied { .. } => {
                "leave out what was not ranked: options that are presented and not ranked come after the others"
            }
            Self::Groups { .. } => "choose a column with fewer values for --by",
            _ => return None,
        };
        Some(hint.into())
    }
}

fn not_presented_hint(value: &str, presented: &[String]) -> String {
    let alike = |name: &&String| name.trim().to_lowercase() == value.trim().to_lowercase();
    match presented.iter().find(alike) {
        Some(name) => format!("{name:?} was presented: names are compared byte by byte, spaces and capitals too"),
        None if presented.len() == 1 => "are the names joined by something else? Say it with --separator".into(),
        None => "--skip-bad leaves out such lines".into(),
    }
}

/// Names in a message: the first few of many.
struct Quoted<'a>(&'a [String]);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const FEW: usize = 8;
        for (i, name) in self.0.iter().take(FEW).enumerate() {
            write!(f, "{}`{}`", if i == 0 { "" } else { ", " }, excerpt(name))?;
        }
        if self.0.len() > FEW {
            write!(f, ", … {} in all", self.0.len())?;
        }
        Ok(())
    }
}

/// The beginning of a value, for a message.
pub(crate) fn excerpt(value: &str) -> String {
    const MOST: usize = 60;
    match value.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &value[..end]),
        None => value.into(),
    }
}
