//! The `unloop` command line: the only place that parses flags and exits.
//!
//! Data goes to standard output, everything else to standard error. The exit code is 0 when it is done, 1 when it ran
//! and the answer is no, 2 when it could not run.

mod client;
mod database;
mod demo;
mod export;
mod failure;
mod import;
mod input;
mod keep;
mod keys;
mod model;
mod next;
mod output;
mod predict;
mod progress;
mod rank;
mod reproduce;
mod sample;
mod serve;
mod settings;
mod simulate;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// A server lives for months, and gives back what it no longer needs.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Show the right few options, learn from what is chosen, never punish what was not shown.
///
/// unloop learns preferences from choices with the Dirichlet-Luce model: every choice counts together with what was presented.
#[derive(Debug, Parser)]
#[command(name = "unloop", version, arg_required_else_help = true, after_help = AFTER_HELP)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Rank(rank::Rank),
    Next(next::Next),
    Sample(sample::Sample),
    Predict(predict::Predict),
    Simulate(simulate::Simulate),
    Reproduce(reproduce::Reproduce),
    Serve(serve::Serve),
    Demo(demo::Demo),
    Keys(keys::Keys),
    Secret(keys::Secret),
    Import(import::Import),
    Export(export::Export),
    Erase(keep::Erase),
    Backup(keep::Backup),
    Verify(keep::Verify),
}

const AFTER_HELP: &str = "\
Examples:
  unloop rank battles.csv                     A leaderboard with intervals
  unloop next battles.csv --count 5           What to ask next
  unloop predict battles.csv --presented 'a|b'
  unloop sample battles.csv --output draws.npy
  unloop simulate --policy thompson,self-sparring
  unloop reproduce                            The paper again, claim by claim
  unloop serve --catalog lunch=soup,salad     Present and choose over HTTP
  unloop demo                                 Simulated people choose; watch it learn
  unloop import choices.csv --catalog lunch   Into a database, each row once
  unloop verify                               Whether the database is what it says

Exit codes:
  0  done
  1  it ran and the answer is no
  2  it could not run";

fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::Rank(rank) => rank.run(),
        Command::Next(next) => next.run().map(|()| ExitCode::SUCCESS),
        Command::Sample(sample) => sample.run().map(|()| ExitCode::SUCCESS),
        Command::Predict(predict) => predict.run().map(|()| ExitCode::SUCCESS),
        Command::Simulate(simulate) => simulate.run().map(|()| ExitCode::SUCCESS),
        Command::Reproduce(reproduce) => reproduce.run(),
        Command::Serve(serve) => serve.run().map(|()| ExitCode::SUCCESS),
        Command::Demo(demo) => demo.run().map(|()| ExitCode::SUCCESS),
        Command::Keys(keys) => keys.run().map(|()| ExitCode::SUCCESS),
        Command::Secret(secret) => secret.run().map(|()| ExitCode::SUCCESS),
        Command::Import(import) => import.run(),
        Command::Export(export) => export.run().map(|()| ExitCode::SUCCESS),
        Command::Erase(erase) => erase.run(),
        Command::Backup(backup) => backup.run().map(|()| ExitCode::SUCCESS),
        Command::Verify(verify) => verify.run(),
    };
    result.unwrap_or_else(|error| failure::report(&error))
}
