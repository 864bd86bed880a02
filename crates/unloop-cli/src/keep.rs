//! `unloop erase`, `unloop backup` and `unloop verify`: what a keeper of a database does.

use std::io::{BufRead, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Result;
use clap::Args;
use serde_json::json;
use unloop_store::{Store, verify};

use crate::database::{Database, catalog, explained, now, wait};
use crate::failure::failure;
use crate::figures::count;
use crate::output::print_json;
use crate::progress::Progress;

/// Erase a context, or a whole catalog
///
/// Choices and names go in one transaction, and no byte of them is left in the database's files; positions and ids stay, so that nothing of it
/// comes back. Backups and exports made before still hold it. It needs the database for itself: beside a server, ask the server.
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
  1  there was nothing of it
  2  it could not run";

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
                return Ok(ExitCode::from(1));
            }
            let _progress = Progress::working("erasing");
            let erased = store.erase(catalog.id, self.context.clone(), now()).await.map_err(explained)?;
            let Some(seq) = erased.seq else {
                eprintln!("there is nothing of {what}");
                return Ok(ExitCode::from(1));
            };
            println!("erased {what} (position {})", count(seq as f64));
            if !erased.emptied {
                eprintln!(
                    "note: another process is reading the database: some bytes of it stay in its write-ahead log until that is done and it is opened again"
                );
            }
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
        println!("{}: everything up to position {}, {:.1} MB", self.to.display(), count(seq as f64), bytes as f64 / 1e6);
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
        let store = self.database.open_beside()?;
        let head = wait(store.head())?.map_err(explained)?.seq;
        let done = Arc::new(AtomicU64::new(0));
        let report = {
            let seen = Arc::clone(&done);
            let _progress = Progress::parts("verifying", move || seen.load(Ordering::Relaxed), 2 * head.max(1));
            let report = wait(verify(&store, &mut |read, _| done.store(read, Ordering::Relaxed)))?;
            let mut report = report.map_err(explained)?;
            for line in wait(store.soundness())?.map_err(explained)? {
                report.problem(format!("SQLite: {line}"));
            }
            report
        };
        if self.json {
            let value = json!({
                "good": report.is_good(), "seq": report.seq, "events": report.events, "erased": report.erased,
                "catalogs": report.catalogs, "contexts": report.contexts, "snapshots": report.snapshots,
                "digest": report.digest_text(), "problems": report.problems, "problem_count": report.problem_count,
            });
            print_json(&mut std::io::stdout().lock(), &value)?;
        } else {
            let number = |value: u64| count(value as f64);
            println!("positions  1 to {}, {} erased", number(report.seq), number(report.erased));
            println!("catalogs   {}", number(report.catalogs as u64));
            println!("contexts   {}", number(report.contexts as u64));
            println!("snapshots  {} agree with the log", number(report.snapshots as u64));
            println!("digest     {}", report.digest_text());
            for problem in &report.problems {
                println!("wrong      {problem}");
            }
            if report.problem_count > report.problems.len() {
                println!("wrong      … and {} more", number((report.problem_count - report.problems.len()) as u64));
            }
        }
        Ok(if report.is_good() { ExitCode::SUCCESS } else { ExitCode::from(1) })
    }
}
