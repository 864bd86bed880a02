//! Choice files named on the command line, read and counted.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use anyhow::Result;
use clap::{Args, ValueEnum};
use unloop::{Options, Prior};
use unloop_data::{
    CountSettings, Counted, NoChoice, ReadSettings, Row, Rows, Source, Ties, check_names, count, no_choice_option, read_names,
};
use unloop_plot::figures;

use crate::failure::failure;
use crate::model::Model;
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

pub(crate) fn separator(text: &str) -> Result<String, String> {
    match text {
        "" => Err("it must not be empty".into()),
        text if text.contains('\\') => Err("a backslash is taken: it goes before a separator inside a name".into()),
        text => Ok(text.into()),
    }
}

/// Choices, counted, the names of their options, and what is believed of these before.
pub(crate) struct Loaded {
    pub(crate) options: Options,
    /// Counts over all options, those of the prior file too.
    pub(crate) counted: Counted,
    pub(crate) prior: Prior,
}

impl Input {
    /// Reads and counts all files; rows are told apart by a column if one is named.
    pub(crate) fn load(&self, columns: &Columns, group: Option<&str>, model: &Model) -> Result<Loaded> {
        let mut options = self.known_options()?;
        let settings = self.count_settings();
        let read = Arc::new(AtomicU64::new(0));
        let mut counted = {
            let _progress = Progress::reading(Arc::clone(&read), total_bytes(&self.files));
            let sources = self.files.iter().map(|path| Source::open_counted(path, &read));
            count(sources, &mut options, &self.read_settings(columns, group), &settings)?
        };
        warn_of_skipped(counted.skipped.count, &counted.skipped.first);
        if options.is_empty() && counted.skipped.count > 0 {
            return Err(failure(
                "no options: every line was left out",
                "without --skip-bad the first bad line says what is wrong",
            ));
        }
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
        let prior = model.prior(&mut options)?;
        counted.groups.iter_mut().for_each(|group| group.statistics.grow(options.len()));
        Ok(Loaded { options, counted, prior })
    }

    /// Reads all rows in order, with the places of their files, for what needs them one by one.
    pub(crate) fn rows(&self, columns: &Columns) -> Result<(Options, Vec<(usize, Row)>)> {
        let mut options = self.known_options()?;
        let none = no_choice_option(&self.count_settings(), &mut options)?;
        let (mut rows, mut skipped, mut first) = (Vec::new(), 0, Vec::new());
        for (file, path) in self.files.iter().enumerate() {
            let mut reader = Rows::new(Source::open(path)?, &self.read_settings(columns, None))?;
            loop {
                let mut row = Row::default();
                let read = reader.read(&mut options, &mut row);
                let read = read.and_then(|more| {
                    if more {
                        check_names(&row, none).map_err(|problem| problem.at(path, row.line)).map(|()| true)
                    } else {
                        Ok(false)
                    }
                });
                match read {
                    Ok(true) => rows.push((file, row)),
                    Ok(false) => break,
                    Err(error) if self.skip_bad && error.is_of_row() => {
                        skipped += reader.lines();
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

    /// A line of a file, for messages.
    pub(crate) fn line(&self, file: usize, line: u64) -> String {
        format!("{}, line {line}", self.files[file].display())
    }

    /// Refuses to write over a file that choices come from.
    pub(crate) fn check_output(&self, path: &Path) -> Result<()> {
        let same = |file: &PathBuf| match (file.canonicalize(), path.canonicalize()) {
            (Ok(file), Ok(path)) => file == path,
            _ => false,
        };
        if self.files.iter().any(same) {
            return Err(failure(format!("{}: the choices are read from it", path.display()), "name another file to write"));
        }
        Ok(())
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
            details: false,
            also: Vec::new(),
            required: Vec::new(),
        }
    }

    /// Options named in a file of their own.
    fn known_options(&self) -> Result<Options> {
        let mut options = Options::new();
        if let Some(path) = &self.options {
            read_names(Source::open(path)?, &mut options)?;
        }
        Ok(options)
    }
}

/// Bytes of all files, where that can be known.
pub(crate) fn total_bytes(files: &[PathBuf]) -> Option<u64> {
    files.iter().map(|path| std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file).map(|own| own.len())).sum()
}

pub(crate) fn warn_of_skipped(count: u64, first: &[impl std::fmt::Display]) {
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
