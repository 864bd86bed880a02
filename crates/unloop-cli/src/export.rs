//! `unloop export`: the choices of a database as a file that `unloop import` and `unloop rank` read.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::{Args, ValueEnum};
use jiff::Timestamp;
use serde_json::Value;
use unloop_data::{Named, WriteFormat, Writer};
use unloop_plot::figures::count;
use unloop_store::{CatalogId, Event, Kind, Outcome, Selection, Store};

use crate::database::{Database, catalog, explained, wait};
use crate::failure::{cannot_write, failure};
use crate::progress::Progress;

/// Export the choices of a catalog
///
/// Each choice that stands is a row, in the order of the log; withdrawn and erased ones are left out. Imported into an empty database it gives the
/// same statistics, into the same one it changes nothing. It may run beside a server.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Export {
    #[command(flatten)]
    database: Database,

    /// The catalog
    #[arg(long, value_name = "NAME")]
    catalog: String,

    /// Only choices of this context
    #[arg(long, value_name = "NAME")]
    context: Option<String>,

    /// File to write; its end says the format (.csv, .jsonl). Standard output by default
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Format, where the file's name does not say it: JSON Lines by default
    #[arg(long, value_enum)]
    format: Option<Format>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A header and a line for each choice
    Csv,
    /// An object for each choice
    Jsonl,
}

const EXAMPLES: &str = "\
Examples:
  unloop export --catalog lunch --output lunch.csv
  unloop export --db shop.db --catalog articles | unloop rank -
  unloop export --catalog lunch --context ada            What is known of one person";

/// Columns beside those that every choice file has.
const COLUMNS: [&str; 6] = ["context", "time", "id", "kind", "declinable", "seq"];
/// Events read at a time.
const PAGE: usize = 10_000;

impl Export {
    pub(crate) fn run(&self) -> Result<()> {
        let format = self.format()?;
        if let Some(path) = self.output.as_ref().filter(|path| self.database.owns(path)) {
            return Err(failure(format!("{}: it belongs to the database", path.display()), "name another file to write"));
        }
        let store = self.database.open_beside()?;
        wait(async {
            let catalog = catalog(&store, &self.catalog).await?.id;
            let written = match &self.output {
                None => {
                    let out = BufWriter::new(std::io::stdout().lock());
                    self.write(&store, catalog, format, out, Path::new("standard output")).await?
                }
                Some(path) => {
                    // There wholly or not at all: an older one stays until the new one is whole.
                    let part = Part::new(path)?;
                    let written = self.write(&store, catalog, format, BufWriter::new(&part.file), path).await?;
                    part.finish(path)?;
                    written
                }
            };
            if let Some(context) = self.context.as_ref().filter(|_| written == 0) {
                eprintln!("note: there is nothing of context {context:?}");
            }
            if let Some(path) = &self.output {
                eprintln!("{} choices in {}", count(written as f64), path.display());
            }
            Ok(())
        })?
    }

    fn format(&self) -> Result<WriteFormat> {
        let ending = self.output.as_ref().map(|path| path.extension().unwrap_or_default().to_string_lossy().to_lowercase());
        match (self.format, ending.as_deref()) {
            (Some(Format::Csv), _) | (None, Some("csv")) => Ok(WriteFormat::Csv),
            (Some(Format::Jsonl), _) | (None, None | Some("jsonl" | "ndjson")) => Ok(WriteFormat::JsonLines),
            (None, Some(_)) => {
                Err(failure("the file's name does not say its format", "end it in .csv or .jsonl, or say --format"))
            }
        }
    }

    async fn write(&self, store: &dyn Store, catalog: CatalogId, format: WriteFormat, out: impl Write, to: &Path) -> Result<u64> {
        let head = store.head().await.map_err(explained)?.seq;
        let _progress = Progress::working("exporting");
        // What is withdrawn later comes after what it takes back: it has to be known before.
        let mut withdrawn: HashSet<String> = HashSet::new();
        self.each(store, catalog, head, |event| {
            if event.kind == Kind::Withdrawal {
                withdrawn.insert(event.id.clone());
            }
            Ok(())
        })
        .await?;
        let failed = |error: std::io::Error| match error.kind() {
            // Whoever reads has heard enough: no fault of the file.
            std::io::ErrorKind::BrokenPipe => error.into(),
            _ => cannot_write(to, &error),
        };
        let mut writer = Writer::with_columns(out, format, &COLUMNS).map_err(failed)?;
        let mut written = 0;
        self.each(store, catalog, head, |event| {
            let stands = matches!(event.kind, Kind::Choice | Kind::Import)
                && !withdrawn.contains(&format!("{}:{}", event.kind.name(), event.id));
            if stands && write_event(&mut writer, event).map_err(failed)? {
                written += 1;
            }
            Ok(())
        })
        .await?;
        writer.finish().map_err(failed)?;
        Ok(written)
    }

    async fn each(
        &self,
        store: &dyn Store,
        catalog: CatalogId,
        head: u64,
        mut with: impl FnMut(&Event) -> Result<()>,
    ) -> Result<()> {
        let mut after = 0;
        while after < head {
            let selection = Selection { after, catalog: Some(catalog), context: self.context.clone(), limit: PAGE };
            let events = store.read(selection).await.map_err(explained)?;
            events.iter().filter(|event| event.seq <= head).try_for_each(&mut with)?;
            after = if events.len() < PAGE { head } else { events.last().map_or(head, |event| event.seq) };
        }
        Ok(())
    }
}

/// A file that takes its name when it is whole, and goes if it never is.
struct Part {
    path: PathBuf,
    file: File,
}

impl Part {
    fn new(to: &Path) -> Result<Self> {
        let mut name = to.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}.part", std::process::id()));
        let path = to.with_file_name(name);
        let mut options = File::options();
        options.write(true).create_new(true);
        #[cfg(unix)]
        {
            // It says what people chose, as the database does.
            use std::os::unix::fs::OpenOptionsExt;
            options.mode(0o600);
        }
        let file = options.open(&path).map_err(|error| cannot_write(to, &error))?;
        Ok(Self { path, file })
    }

    fn finish(self, to: &Path) -> Result<()> {
        let done = self.file.sync_all().and_then(|()| std::fs::rename(&self.path, to));
        done.map_err(|error| cannot_write(to, &error))
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // After it took its name there is nothing under this one.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Whether there was something to write: an erased event has nothing.
fn write_event(writer: &mut Writer<impl Write>, event: &Event) -> std::io::Result<bool> {
    let Some(body) = &event.body else { return Ok(false) };
    let (chosen, tied): (&[String], &[String]) = match &body.outcome {
        Outcome::Chosen(own) => (own, &[]),
        Outcome::Tied(own) => (&[], own),
        Outcome::None => (&[], &[]),
    };
    let time = Timestamp::from_millisecond(event.time).map_or_else(|_| event.time.to_string(), |time| time.to_string());
    let declinable = if body.declinable { true.into() } else { Value::Null };
    // What an import calls it, not the hash it is kept under.
    let id = body.source.as_deref().unwrap_or(&event.id);
    let named = Named { presented: &texts(&body.presented), chosen: &texts(chosen), tied: &texts(tied), count: body.weight };
    let also = [event.context.as_deref().into(), time.into(), id.into(), event.kind.name().into(), declinable, event.seq.into()];
    writer.write_named(named, &also).map(|()| true)
}

fn texts(names: &[String]) -> Vec<&str> {
    names.iter().map(String::as_str).collect()
}
