//! The `unloop` command line: the only place that parses flags and exits.
//!
//! Data goes to standard output, everything else to standard error. The exit code is 0 when it is done, 1 when it ran
//! and the answer is no, 2 when it could not run.

use clap::Parser;

/// Show the right few options, learn from what is chosen, never punish what was not shown.
///
/// unloop learns preferences from choices with the Dirichlet-Luce model. The model is the Rust library `unloop`; this
/// command has no subcommands yet.
#[derive(Debug, Parser)]
#[command(name = "unloop", version, arg_required_else_help = true, after_help = AFTER_HELP)]
struct Arguments {}

const AFTER_HELP: &str = "\
Examples:
  unloop --version    Say which version this is
  unloop --help       Explain more than -h does

Exit codes:
  0  done
  1  it ran and the answer is no
  2  it could not run";

fn main() {
    // Without a subcommand to hand over to, every way through the parser ends in printing and exiting.
    Arguments::parse();
}
