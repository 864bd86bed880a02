//! `unloop erase`, `unloop backup` and `unloop verify`: what a keeper of a database does.

use std::io::{BufRead, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Result;
use clap::Args;
use serde_json::json;
use unloop_plot::figures::count;
use unloop_store::{Report, Store, StoreError, verify};

use crate::database::{Database, catalog, explained, now, wait};
use crate::failure::failure;
use crate::output::print_json;
use crate::progress::Progress;

/// Erase a context, or a whole catalog
///
/// Choices and names go in one transaction, and no byte of them is left in the database's files; positions and ids of a context stay, so that it does
/// not come back with the next import (the name of a whole catalog is free again). Backups and exports made before still hold it. It needs the
/// database for itself: beside a server, ask the server.
#[derive(Args, Debug)]
#[command(after_help = ERASE_EXAMPLES)]
pub(crate) struct Erase {
    #[command(flatten)]
    database: Database,

    /// The catalog
    #[arg(long, value_name = "NAME")]
    catalog: String,

    /// The context to erase
    #[arg(long, value_name = "NAME", required_unless_present = "whole_catalog", conflicts_with = "whole_catalog")]
    context: Option<String>,

    /// Erase all contexts of the catalog, its options and settings
    #[arg(long)]
    whole_catalog: bool,

    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

const ERASE_EXAMPLES: &str = "\
Examples:
  unloop erase --catalog lunch --context ada
  unloop erase --catalog lunch --whole-catalog --yes

Exit codes:
  0  it is gone
  1  there was nothing of it, or it was not confirmed
  2  it could not run, or bytes of it are left for now";

impl Erase {
    pub(crate) fn run(&self) -> Result<ExitCode> {
        let store = self.database.open_present()?;
        wait(async {
            let catalog = catalog(&store, &self.catalog).await?;
            let what = match &self.context {
                Some(context) => format!("context {context:?} of catalog {}", catalog.name),
                None => format!("catalog {} with all that was chosen in it", catalog.name),
            };
            if !self.yes && !confirmed(&what)? {
                eprintln!("nothing was erased");
                return Ok(ExitCode::from(1));
            }
            let _progress = Progress::working("erasing");
            let erased = store.erase(catalog.id, self.context.clone(), now()).await.map_err(explained)?;
            let Some(seq) = erased.seq else {
                eprintln!("there is nothing of {what}");
                return Ok(ExitCode::from(1));
            };
            if !erased.emptied {
                return Err(failure(
                    format!(
                        "{what} is erased (position {seq}), but bytes of it are still in the files: another process is reading, or the disk is full"
                    ),
                    "they go when the database is opened again after that: run `unloop erase` once more",
                ));
            }
            writeln!(std::io::stdout(), "erased {what} (position {})", count(seq as f64))?;
            Ok(ExitCode::SUCCESS)
        })?
    }
}

/// Asks, where somebody is there to answer.
fn confirmed(what: &str) -> Result<bool> {
    if !std::io::stdin().is_terminal() {
        return Err(failure(format!("nobody is there to confirm that {what} is to be erased"), "say --yes"));
    }
    eprint!("Erase {what}? It cannot be undone. [y/N] ");
    std::io::stderr().flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// Write a copy of a database while it is in use
///
/// The copy is of one moment, whole, and compact. The secret that signs presentations is in a file of its own and not in it: keep that, too.
#[derive(Args, Debug)]
#[command(after_help = BACKUP_EXAMPLES)]
pub(crate) struct Backup {
    /// The file to write; it must not be there yet
    #[arg(value_name = "FILE")]
    to: PathBuf,

    #[command(flatten)]
    database: Database,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

const BACKUP_EXAMPLES: &str = "\
Examples:
  unloop backup /backups/unloop-$(date +%F).db
  unloop verify --db /backups/unloop-2026-11-16.db";

impl Backup {
    pub(crate) fn run(&self) -> Result<()> {
        if self.to.exists() {
            return Err(failure(
                format!("{}: there is a file already", self.to.display()),
                "name another one: a backup never replaces one",
            ));
        }
        let store = self.database.open_beside()?;
        let _progress = Progress::working("copying");
        let seq = wait(store.backup(&self.to))?.map_err(explained)?;
        let bytes = std::fs::metadata(&self.to).map_or(0, |own| own.len());
        if self.json {
            return print_json(&mut std::io::stdout().lock(), &json!({ "file": self.to, "seq": seq, "bytes": bytes }));
        }
        let megabytes = bytes as f64 / 1e6;
        writeln!(std::io::stdout(), "{}: everything up to position {}, {megabytes:.1} MB", self.to.display(), count(seq as f64))?;
        Ok(())
    }
}

/// Check a database: fold the log again and compare
///
/// Reads the whole log, looks for holes, folds every context again, compares with the snapshots, and has SQLite check the file. The digest depends on
/// catalogs, contexts and counts alone: two databases with the same choices have the same. It may run beside a server.
#[derive(Args, Debug)]
#[command(after_help = VERIFY_EXAMPLES)]
pub(crate) struct Verify {
    #[command(flatten)]
    database: Database,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

const VERIFY_EXAMPLES: &str = "\
Examples:
  unloop verify
  unloop verify --db copy.db --json | jq -r .digest

Exit codes:
  0  it is what it says
  1  something is wrong, and told
  2  it could not run";

impl Verify {
    pub(crate) fn run(&self) -> Result<ExitCode> {
        let report = match self.verify() {
            Ok(report) => report,
            // A file that cannot even be read is an answer, too.
            Err(StoreError::Damaged { problem, .. }) => {
                let mut report = Report::default();
                report.problem(format!("SQLite: {problem}; restore a backup"));
                report
            }
            Err(error) => return Err(explained(error)),
        };
        let mut out = std::io::stdout().lock();
        if self.json {
            let value = json!({
                "good": report.is_good(), "seq": report.seq, "events": report.events, "erased": report.erased,
                "catalogs": report.catalogs, "contexts": report.contexts, "snapshots": report.snapshots,
                "digest": report.digest_text(), "problems": report.problems, "problem_count": report.problem_count,
            });
            print_json(&mut out, &value)?;
        } else {
            tell(&report, &mut out)?;
        }
        Ok(if report.is_good() { ExitCode::SUCCESS } else { ExitCode::from(1) })
    }

    fn verify(&self) -> Result<Report, StoreError> {
        let store = self.database.open_to_look()?;
        let done = Arc::new(AtomicU64::new(0));
        let seen = Arc::clone(&done);
        let total = 2 * store.opening().seq.max(1);
        let _progress = Progress::parts("verifying", move || seen.load(Ordering::Relaxed), total);
        let run = async {
            let mut report = verify(&store, &mut |read, _| done.store(read, Ordering::Relaxed)).await?;
            for line in store.soundness().await? {
                report.problem(format!("SQLite: {line}"));
            }
            Ok(report)
        };
        let file = self.database.path().display().to_string();
        wait(run).unwrap_or_else(|error| Err(StoreError::Database { file, problem: error.to_string() }))
    }
}

fn tell(report: &Report, out: &mut impl Write) -> std::io::Result<()> {
    let number = |value: u64| count(value as f64);
    writeln!(out, "positions  1 to {}, {} erased", number(report.seq), number(report.erased))?;
    writeln!(out, "catalogs   {}", number(report.catalogs as u64))?;
    writeln!(out, "contexts   {}", number(report.contexts as u64))?;
    writeln!(out, "snapshots  {} agree with the log", number(report.snapshots as u64))?;
    writeln!(out, "digest     {}", report.digest_text())?;
    for problem in &report.problems {
        writeln!(out, "wrong      {problem}")?;
    }
    if report.problem_count > report.problems.len() {
        writeln!(out, "wrong      … and {} more", number((report.problem_count - report.problems.len()) as u64))?;
    }
    Ok(())
}
