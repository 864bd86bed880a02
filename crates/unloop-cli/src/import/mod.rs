//! `unloop import`: choice files into a database, each row once.

mod entries;
mod target;

use std::collections::VecDeque;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use anyhow::Result;
use clap::Args;
use serde::Serialize;
use unloop::Options;
use unloop_data::{ReadSettings, Row, Rows, Source};
use unloop_store::{Appended, CatalogId, Entry, check_catalog_name};

use crate::client::At;
use crate::database::{Database, now, wait};
use crate::failure::failure;
use crate::input::{Columns, separator, total_bytes, warn_of_skipped};
use crate::output::print_json;
use crate::progress::Progress;
use entries::{Reading, Where};
use target::{Answers, Target};
use unloop_plot::figures::count;

/// Import choices into a database
///
/// A row is imported once: its `id` column, or else its file's name and line number, is remembered, so the same import can be run again after an
/// error, or on a file that has grown. A catalog that is not there is made, with the options that the rows present.
/// Two different files of one name need a --source each.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct Import {
    /// Choice files, as `unloop rank` reads them; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    #[command(flatten)]
    database: Database,

    #[command(flatten)]
    at: At,

    /// The catalog
    #[arg(long, value_name = "NAME")]
    catalog: String,

    /// Add options to a catalog that was there before
    #[arg(long)]
    add_options: bool,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,

    /// Column with whose choice it is: `context` by default, else `user`
    #[arg(long, value_name = "COLUMN", help_heading = "Input")]
    context: Option<String>,

    /// Column with what makes a row unique: `id` by default, else the file's name and the line
    #[arg(long, value_name = "COLUMN", help_heading = "Input")]
    id: Option<String>,

    /// What the file is called in ids, instead of its name; needed for standard input without an id column
    #[arg(long, value_name = "NAME", help_heading = "Input")]
    source: Option<String>,

    #[command(flatten)]
    columns: Columns,

    /// What joins names in a column
    #[arg(long, value_name = "TEXT", default_value = "|", value_parser = separator, help_heading = "Input")]
    separator: String,

    /// In every row, choosing nothing was an option: rows without a choice count for it
    #[arg(long, help_heading = "Input")]
    declinable: bool,

    /// Leave out bad lines, and say how many there were
    #[arg(long, help_heading = "Input")]
    skip_bad: bool,
}

const EXAMPLES: &str = "\
Examples:
  unloop import choices.csv --catalog lunch      Into unloop.db; run again it changes nothing
  unloop import log-*.jsonl.gz --db shop.db --catalog articles --context customer --id event
  unloop export --db old.db --catalog lunch | unloop import - --db new.db --catalog lunch

Exit codes:
  0  done
  1  done, but for rows under ids that hold something else, or were erased
  2  it could not run; rows before the one named are recorded";

/// Rows sent at a time, and how often before the first is answered: these share a transaction.
const TOGETHER: usize = 4_096;
const MOST_WAITING: usize = 64;
/// Rows told one by one at most.
const MOST_TOLD: usize = 5;

/// What became of the rows.
#[derive(Debug, Default, Serialize)]
struct Imported {
    rows: u64,
    recorded: u64,
    repeated: u64,
    empty: u64,
    conflicts: u64,
    erased: u64,
    left_out: u64,
    options_added: usize,
    options_unknown: usize,
    seq: u64,
    #[serde(skip)]
    told: Vec<String>,
}

/// Bad lines: how many, and the first of them.
#[derive(Default)]
struct Skipped {
    lines: u64,
    first: Vec<String>,
}

impl Import {
    pub(crate) fn run(&self) -> Result<ExitCode> {
        check_catalog_name(&self.catalog).map_err(|error| failure(error.to_string(), "choose another name"))?;
        self.check_sources()?;
        let read = Arc::new(AtomicU64::new(0));
        // The first file is looked at before anything is made.
        let first = self.open(&self.files[0], &read)?;
        let target = match self.at.client()? {
            Some(client) => Target::Server(client),
            None => Target::File(Box::new(self.database.open()?)),
        };
        let imported = wait(self.import(&target, first, &read))??;
        for line in &imported.told {
            eprintln!("warning: {line}");
        }
        let refused = imported.conflicts + imported.erased;
        if refused > imported.told.len() as u64 {
            eprintln!("warning: … and {} more", refused - imported.told.len() as u64);
        }
        let mut out = std::io::stdout().lock();
        if self.json {
            print_json(&mut out, &imported)?;
        } else {
            self.tell(&imported, &mut out)?;
        }
        Ok(if refused > 0 { ExitCode::from(1) } else { ExitCode::SUCCESS })
    }

    /// Two files of one name would have rows of the same ids.
    fn check_sources(&self) -> Result<()> {
        let names: Vec<String> = self.files.iter().map(|file| self.source_of(file)).collect();
        let twice = names.iter().enumerate().find(|(i, name)| names[..*i].contains(name));
        match twice {
            Some((_, name)) if self.id.is_none() && name != "-" => Err(failure(
                format!("two files are called {name:?}: their lines would have the same ids"),
                "import them one at a time, each with a --source of its own, or name a column with --id",
            )),
            _ => Ok(()),
        }
    }

    /// What a file is called in ids. Without its folder, and as if it were not compressed: the same file elsewhere is the same file. A stream
    /// has no name.
    fn source_of(&self, file: &Path) -> String {
        let own = || match file.file_name() {
            Some(name) if file.is_file() && !file.starts_with("/dev") && !file.starts_with("/proc") => {
                let name = name.to_string_lossy();
                name.strip_suffix(".gz").unwrap_or(&name).to_owned()
            }
            _ => "-".into(),
        };
        self.source.clone().unwrap_or_else(own)
    }

    fn open(&self, path: &Path, read: &Arc<AtomicU64>) -> Result<Rows> {
        Ok(Rows::new(Source::open_counted(path, read)?, &self.read_settings())?)
    }

    async fn import(&self, target: &Target, first: Rows, read: &Arc<AtomicU64>) -> Result<Imported> {
        let (catalog, is_new) = target.find_or_make(&self.catalog).await?;
        let mut options = Options::new();
        let mut work = Work { target, catalog: &self.catalog, waiting: VecDeque::new(), imported: Imported::default() };
        let progress = Progress::reading(Arc::clone(read), total_bytes(&self.files));
        let mut skipped = Skipped::default();
        let mut first = Some(first);
        for path in &self.files {
            let name = self.source_of(path);
            let rows = match first.take() {
                Some(rows) => rows,
                None => self.open(path, read)?,
            };
            let reading = Reading {
                file: path.display().to_string(),
                source: (name != "-").then_some(name),
                catalog,
                declinable: self.declinable,
                context_column: self.context.clone(),
                id_column: self.id.clone(),
                now: now(),
            };
            self.rows(rows, &reading, &mut options, &mut work, &mut skipped).await?;
        }
        work.answered().await?;
        drop(progress);
        warn_of_skipped(skipped.lines, &skipped.first);
        let mut imported = work.imported;
        imported.left_out = skipped.lines;
        let _progress = Progress::working("putting folds aside");
        target.put_aside(catalog).await?;
        self.add_options(target, catalog, is_new, &options, &mut imported).await?;
        imported.seq = target.seq(imported.seq).await?;
        Ok(imported)
    }

    fn read_settings(&self) -> ReadSettings {
        let or = |own: &Option<String>, usual: &str| own.clone().unwrap_or_else(|| usual.to_owned());
        ReadSettings {
            presented: self.columns.presented.clone(),
            chosen: self.columns.chosen.clone(),
            separator: self.separator.clone(),
            group: None,
            details: true,
            also: vec![or(&self.context, "context"), or(&self.id, "id"), "kind".into(), "declinable".into()],
            required: self.context.iter().chain(&self.id).cloned().collect(),
        }
    }

    async fn rows(
        &self,
        mut rows: Rows,
        reading: &Reading,
        options: &mut Options,
        work: &mut Work<'_>,
        skipped: &mut Skipped,
    ) -> Result<()> {
        let mut row = Row::default();
        let (mut entries, mut places) = (Vec::with_capacity(TOGETHER), Vec::with_capacity(TOGETHER));
        loop {
            let found = match rows.read(options, &mut row) {
                Ok(false) => break,
                Ok(true) => reading.entries(options, &row, &mut entries, &mut places),
                Err(error) => Err(error.into()),
            };
            match found {
                Ok(()) => {
                    work.imported.rows += 1;
                    work.imported.empty += u64::from(row.count == 0.0);
                }
                Err(error) if self.skip_bad && is_of_row(&error) => {
                    skipped.lines += rows.lines();
                    if skipped.first.len() < MOST_TOLD {
                        skipped.first.push(error.to_string());
                    }
                }
                Err(error) => {
                    // What came before it is recorded, as is said.
                    work.send(std::mem::take(&mut entries), std::mem::take(&mut places), reading).await?;
                    work.answered().await?;
                    return Err(error);
                }
            }
            if entries.len() >= TOGETHER {
                work.send(std::mem::take(&mut entries), std::mem::take(&mut places), reading).await?;
            }
        }
        work.send(entries, places, reading).await
    }

    /// Options of rows that the catalog does not have: added to a new one, or where it is asked for; else only counted.
    async fn add_options(
        &self,
        target: &Target,
        catalog: CatalogId,
        is_new: bool,
        options: &Options,
        imported: &mut Imported,
    ) -> Result<()> {
        let known = target.options(&self.catalog, catalog).await?;
        let unknown: Vec<&str> = options.iter().map(|(_, name)| name).filter(|name| !known.contains(*name)).collect();
        if !(is_new || self.add_options) {
            imported.options_unknown = unknown.len();
            return Ok(());
        }
        imported.options_added = unknown.len();
        if !unknown.is_empty() {
            target.add_options(&self.catalog, catalog, &unknown).await?;
        }
        Ok(())
    }

    fn tell(&self, imported: &Imported, out: &mut impl Write) -> Result<()> {
        let Imported { rows, recorded, repeated, conflicts, erased, empty, options_added, options_unknown, seq, .. } = imported;
        let number = |value: u64| count(value as f64);
        let plural = |value: u64, one: &str| format!("{} {one}{}", number(value), if value == 1 { "" } else { "s" });
        writeln!(out, "{}: {} recorded, {} there before", plural(*rows, "row"), plural(*recorded, "choice"), number(*repeated))?;
        if *empty > 0 {
            writeln!(out, "{} of a count of 0 left out", plural(*empty, "row"))?;
        }
        if conflicts + erased > 0 {
            writeln!(
                out,
                "{} not recorded: {} under an id that holds something else, {} erased before",
                number(conflicts + erased),
                number(*conflicts),
                number(*erased)
            )?;
        }
        if *options_added > 0 {
            writeln!(out, "{} added to catalog {}", plural(*options_added as u64, "option"), self.catalog)?;
        }
        if *options_unknown > 0 {
            writeln!(
                out,
                "{} not in catalog {}, counted and not presented (--add-options adds them)",
                plural(*options_unknown as u64, "option"),
                self.catalog
            )?;
        }
        match self.at.name() {
            None => writeln!(out, "{}: the log ends at position {}", self.database.path().display(), number(*seq))?,
            Some(url) if *recorded > 0 => writeln!(out, "{url}: the last is at position {}", number(*seq))?,
            Some(_) => {}
        }
        Ok(())
    }
}

/// Whether the next row may be good.
fn is_of_row(error: &anyhow::Error) -> bool {
    error.downcast_ref::<unloop_data::ReadError>().is_none_or(unloop_data::ReadError::is_of_row)
}

/// Rows on their way: while some are written, the next are read.
struct Work<'a> {
    target: &'a Target,
    catalog: &'a str,
    waiting: VecDeque<(Answers<'a>, Vec<Where>, String)>,
    imported: Imported,
}

impl Work<'_> {
    async fn send(&mut self, entries: Vec<Entry>, places: Vec<Where>, reading: &Reading) -> Result<()> {
        if entries.is_empty() {
            return Ok(());
        }
        self.waiting.push_back((self.target.append(self.catalog, entries), places, reading.file.clone()));
        while self.waiting.len() > MOST_WAITING {
            self.take().await?;
        }
        Ok(())
    }

    async fn answered(&mut self) -> Result<()> {
        while !self.waiting.is_empty() {
            self.take().await?;
        }
        Ok(())
    }

    async fn take(&mut self) -> Result<()> {
        let Some((answer, places, file)) = self.waiting.pop_front() else { return Ok(()) };
        let answers = answer.await?;
        for (answer, place) in answers.into_iter().zip(places) {
            let why = match answer {
                Appended::Recorded { seq } => {
                    self.imported.seq = self.imported.seq.max(seq);
                    self.imported.recorded += 1;
                    continue;
                }
                Appended::Repeated { .. } => {
                    self.imported.repeated += 1;
                    continue;
                }
                Appended::Gone { seq } => {
                    self.imported.erased += 1;
                    format!("was erased (position {seq})")
                }
                Appended::Conflict { seq, .. } => {
                    self.imported.conflicts += 1;
                    format!("is recorded with another content (position {seq})")
                }
                Appended::Unknown => "is not there".into(),
            };
            if self.imported.told.len() < MOST_TOLD {
                self.imported.told.push(format!("{file}, line {}: id {:?} {why}", place.line, place.id));
            }
        }
        Ok(())
    }
}
