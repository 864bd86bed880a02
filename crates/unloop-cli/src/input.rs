//! Choice files named on the command line, read and counted.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use unloop::{OptionId, Options};
use unloop_data::{CountSettings, Counted, NoChoice, ReadError, ReadSettings, Row, Rows, Source, Ties, count};

use crate::failure::failure;
use crate::figures;
use crate::progress::Progress;

/// Where choices come from and what they mean.
#[derive(Args, Debug)]
#[command(next_help_heading = "Input")]
pub(crate) struct Input {
    /// Choice files; `-` is standard input
    ///
    /// CSV or JSON Lines, also compressed with gzip. Columns `presented` and `chosen`; or two competitors such as `model_a`, `model_b`
    /// and `winner`; or `ranking` (a>b>c). Which one it is is found out.
    #[arg(required = true, value_name = "FILE", help_heading = None)]
    files: Vec<PathBuf>,

    /// What joins names in a column
    #[arg(long, value_name = "TEXT", default_value = "|", value_parser = separator)]
    separator: String,

    /// What a tie counts: equal parts, nothing, or as if nothing had been chosen
    #[arg(long, value_enum, default_value = "half")]
    ties: TiesFlag,

    /// What choosing nothing counts: nothing, a choice of an option `(none)`, or a tie of all presented
    #[arg(long, value_enum, default_value = "ignore")]
    none: NoneFlag,

    /// File with names of options that may not occur in the choices, one on each line
    #[arg(long, value_name = "FILE")]
    options: Option<PathBuf>,

    /// Leave out bad lines, and say how many there were
    #[arg(long)]
    skip_bad: bool,
}

/// Columns with names of their own.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Input")]
pub(crate) struct Columns {
    /// Column with what was presented, or two columns of competitors joined by a comma
    #[arg(long, value_name = "COLUMN")]
    pub(crate) presented: Option<String>,

    /// Column with what was chosen
    #[arg(long, value_name = "COLUMN")]
    pub(crate) chosen: Option<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum TiesFlag {
    Half,
    Ignore,
    None,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum NoneFlag {
    Ignore,
    Option,
    Tie,
}

fn separator(text: &str) -> Result<String, String> {
    match text {
        "" => Err("it must not be empty".into()),
        text if text.contains('\\') => Err("a backslash is taken: it goes before a separator inside a name".into()),
        text => Ok(text.into()),
    }
}

/// Choices, counted, and the names of their options.
pub(crate) struct Loaded {
    pub(crate) options: Options,
    pub(crate) counted: Counted,
}

impl Input {
    /// Reads and counts all files; rows are told apart by a column if one is named.
    pub(crate) fn load(&self, columns: &Columns, group: Option<&str>) -> Result<Loaded> {
        let mut options = self.known_options()?;
        let settings = self.count_settings();
        let read = Arc::new(AtomicU64::new(0));
        let counted = {
            let _progress = Progress::reading(Arc::clone(&read), self.total_bytes());
            let sources = self.files.iter().map(|path| Source::open_counted(path, &read));
            count(sources, &mut options, &self.read_settings(columns, group), &settings)?
        };
        warn_of_skipped(counted.skipped.count, &counted.skipped.first);
        if options.is_empty() {
            return Err(failure(
                format!(
                    "no options: {} names none",
                    self.files.iter().map(|f| f.display().to_string()).collect::<Vec<_>>().join(", ")
                ),
                "a header line alone holds no choices; name options with --options to see their prior",
            ));
        }
        if settings.none == NoChoice::Ignore && counted.nothing > 0 && counted.nothing == counted.rows {
            eprintln!("warning: nothing was chosen in any row; --none option or --none tie makes such rows count");
        }
        Ok(Loaded { options, counted })
    }

    /// Reads all rows in order, for what needs them one by one.
    pub(crate) fn rows(&self, columns: &Columns) -> Result<(Options, Vec<Row>)> {
        let mut options = self.known_options()?;
        let (mut rows, mut skipped, mut first) = (Vec::new(), 0, Vec::new());
        for path in &self.files {
            let mut reader = Rows::new(Source::open(path)?, &self.read_settings(columns, None))?;
            loop {
                let mut row = Row::default();
                match reader.read(&mut options, &mut row) {
                    Ok(true) => rows.push(row),
                    Ok(false) => break,
                    Err(error) if self.skip_bad && error.is_of_row() => {
                        skipped += 1;
                        first.push(error);
                        first.truncate(5);
                    }
                    Err(error) => return Err(error.into()),
                }
            }
        }
        warn_of_skipped(skipped, &first);
        Ok((options, rows))
    }

    /// Rows that counted for nothing, in words.
    pub(crate) fn left_out(&self, counted: &Counted) -> Vec<String> {
        let settings = self.count_settings();
        let ignored_ties = settings.ties == Ties::Ignore || settings.ties == Ties::None && settings.none == NoChoice::Ignore;
        let mut words = Vec::new();
        if settings.none == NoChoice::Ignore && counted.nothing > 0 {
            words.push(format!("{} rows without a choice count for nothing (--none)", figures::count(counted.nothing as f64)));
        }
        if ignored_ties && counted.ties > 0 {
            words.push(format!("{} ties count for nothing (--ties)", figures::count(counted.ties as f64)));
        }
        words
    }

    /// What joins names.
    pub(crate) fn separator(&self) -> &str {
        &self.separator
    }

    /// What counts, and how.
    pub(crate) fn count_settings(&self) -> CountSettings {
        CountSettings {
            ties: match self.ties {
                TiesFlag::Half => Ties::Half,
                TiesFlag::Ignore => Ties::Ignore,
                TiesFlag::None => Ties::None,
            },
            none: match self.none {
                NoneFlag::Ignore => NoChoice::Ignore,
                NoneFlag::Option => NoChoice::Option,
                NoneFlag::Tie => NoChoice::Tie,
            },
            skip_bad: self.skip_bad,
        }
    }

    fn read_settings(&self, columns: &Columns, group: Option<&str>) -> ReadSettings {
        ReadSettings {
            presented: columns.presented.clone(),
            chosen: columns.chosen.clone(),
            separator: self.separator.clone(),
            group: group.map(str::to_owned),
        }
    }

    fn total_bytes(&self) -> Option<u64> {
        self.files.iter().map(|path| std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file).map(|m| m.len())).sum()
    }

    /// Options named in a file of their own.
    fn known_options(&self) -> Result<Options> {
        let mut options = Options::new();
        let Some(path) = &self.options else { return Ok(options) };
        let text = std::fs::read_to_string(path).with_context(|| format!("{}: cannot be read", path.display()))?;
        let lines = text.trim_start_matches('\u{feff}').lines().enumerate();
        for (i, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
            options.intern(line).with_context(|| format!("{}, line {}", path.display(), i + 1))?;
        }
        Ok(options)
    }
}

/// Weights of options from a CSV file `option,alpha`; names not known before become options.
pub(crate) fn read_weights(path: &Path, options: &mut Options) -> Result<Vec<(OptionId, f64)>> {
    let place = |line: u64| format!("{}, line {line}", path.display());
    let hint = "it needs the columns `option` and `alpha`: one line for each option, with its weight";
    let mut reader = csv::ReaderBuilder::new()
        .flexible(true)
        .from_path(path)
        .with_context(|| format!("{}: cannot be read", path.display()))?;
    let header = reader.headers()?.clone();
    let column = |name: &str| header.iter().position(|field| field.trim() == name);
    let (Some(name), Some(alpha)) = (column("option"), column("alpha")) else {
        let found = header.iter().collect::<Vec<_>>().join("`, `");
        return Err(failure(format!("{}: no columns `option` and `alpha` among `{found}`", path.display()), hint));
    };
    let mut weights: Vec<(OptionId, f64)> = Vec::new();
    let mut seen = HashSet::new();
    for record in reader.records() {
        let record = record.with_context(|| format!("{}: cannot be read", path.display()))?;
        let line = record.position().map_or(0, csv::Position::line);
        let (name, text) = (record.get(name).unwrap_or_default(), record.get(alpha).unwrap_or_default());
        let Ok(weight) = text.trim().parse::<f64>() else {
            return Err(failure(format!("{}, column `alpha`: {text:?} is not a number", place(line)), hint));
        };
        let id = options.intern(name).with_context(|| format!("{}, column `option`", place(line)))?;
        if !seen.insert(id) {
            return Err(failure(format!("{}: {name:?} is there twice", place(line)), "give each option one weight"));
        }
        weights.push((id, weight));
    }
    Ok(weights)
}

fn warn_of_skipped(count: u64, first: &[ReadError]) {
    if count == 0 {
        return;
    }
    let lines = if count == 1 { "line was" } else { "lines were" };
    eprintln!("warning: {count} bad {lines} left out");
    for error in first {
        eprintln!("  {error}");
    }
    if count > first.len() as u64 {
        eprintln!("  … and {} more", count - first.len() as u64);
    }
}
