//! `unloop simulate`: policies against simulated people.

mod report;
mod user;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result};
use clap::Args;
use unloop_lab::{Campaign, PolicySpec};
use unloop_plot::MOST_CURVES;

use crate::failure::failure;
use crate::model::at_least_one;
use crate::output::print_json;
use crate::progress::Progress;
use crate::rank::picture_path;

/// Set policies to decide what simulated people see, and compare their regret
///
/// Every policy meets the same people with the same luck. Regret is summed over the rounds of a run: weak (how far the best option shown
/// falls short of the best there is), and at the top n (how far the first n shown do). Intervals are 95 % intervals of the mean over runs;
/// differences are to the first policy, run by run.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Simulate {
    /// Options there are; a file of people brings its own
    #[arg(long, value_name = "K", default_value_t = 50, value_parser = at_most_ten_million)]
    options: usize,

    /// Options in a presentation
    #[arg(long, value_name = "L", default_value_t = 5, value_parser = at_least_one)]
    size: usize,

    /// Rounds of a run
    #[arg(long, value_name = "T", default_value_t = 10_000, value_parser = at_least_one)]
    rounds: usize,

    /// Runs of each policy
    #[arg(long, value_name = "R", default_value_t = 30, value_parser = at_most_ten_million)]
    runs: usize,

    /// Policies: thompson, anchored, greedy, uniform, dts, dts+, toprank, wsw, self-sparring, aoa-rb, mnl-ts, blind; settings after a colon.
    /// Give the flag again, or join them by blanks or semicolons (by commas where none has settings)
    #[arg(long, value_name = "NAME[:KEY=VALUE,…]", default_value = "thompson")]
    policy: Vec<String>,

    /// People: luce:sparse, luce:dense, luce:FILE (a preference on each line), cyclic, table:FILE (chances of duels), replay:FILE (a log or
    /// rankings), drift:sparse, drift:dense; `,none=0.1` lets them choose nothing, `,vectors=10` and `,seed=7` say which preferences
    #[arg(long, value_name = "PEOPLE", default_value = "luce:sparse")]
    user: String,

    /// Seed of every random number: the same seed gives the same answer, on any number of threads
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,

    /// Threads; all cores by default
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    threads: Option<usize>,

    /// Add the share of exposure of each option, from the best to the worst for people
    #[arg(long, conflicts_with = "csv")]
    exposure: bool,

    /// Print JSON
    #[arg(long, help_heading = "Output", conflicts_with = "csv")]
    json: bool,

    /// Print CSV: a row for each run
    #[arg(long, help_heading = "Output")]
    csv: bool,

    /// Draw regret over rounds
    #[arg(long, value_name = "FILE.svg|FILE.png", help_heading = "Output", value_parser = picture_path)]
    plot: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  unloop simulate --policy thompson,self-sparring,toprank --runs 30
  unloop simulate --size 2 --policy 'anchored:prior=0.3,learn=yes wsw dts' --user luce:dense --plot regret.svg
  unloop simulate --policy thompson:order=draw,sampler=smc,particles=1000 --policy blind --exposure
  unloop simulate --user replay:rankings.csv --size 3 --policy thompson --json";

/// Points of a picture's curves.
const MARKS: usize = 100;

impl Simulate {
    pub(crate) fn run(self) -> Result<()> {
        let users = user::users(&self.user, self.options)?;
        let policies = policies(&self.policy)?;
        let options = users[0].option_count();
        if self.size > options {
            return Err(failure(format!("--size {} of {options} options", self.size), "show fewer, or have more with --options"));
        }
        if self.plot.is_some() && policies.len() > MOST_CURVES {
            let told = format!("--plot: {} curves cannot be told apart, at most {MOST_CURVES} can", policies.len());
            return Err(failure(told, "draw fewer policies"));
        }
        let marks = if self.plot.is_some() { marks(self.rounds) } else { Vec::new() };
        let campaign =
            Campaign { users, size: self.size, rounds: self.rounds, runs: self.runs, policies, seed: self.seed, marks };
        let runs = self.play(&campaign)?;
        let report = report::Report { campaign: &campaign, runs: &runs, user: &self.user, exposure: self.exposure };
        let mut out = std::io::BufWriter::new(std::io::stdout().lock());
        if self.json {
            print_json(&mut out, &report.json())?;
        } else if self.csv {
            report.csv(&mut out)?;
        } else {
            report.print(&mut out)?;
        }
        std::io::Write::flush(&mut out)?;
        // Last: if it cannot be written, the figures are not lost.
        self.plot.as_ref().map_or(Ok(()), |path| report.draw(path))
    }

    fn play(&self, campaign: &Campaign) -> Result<Vec<Vec<unloop_lab::Run>>> {
        let done = Arc::new(AtomicUsize::new(0));
        let total = campaign.runs * campaign.policies.len();
        let _progress = Progress::counting("playing", Arc::clone(&done), total);
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(self.threads.map_or(0, |n| n.min(total)))
            .build()
            .context("no threads")?;
        let runs = pool.install(|| campaign.run(&done))?;
        debug_assert_eq!(done.load(Ordering::Relaxed), total);
        Ok(runs)
    }
}

/// Rounds at which curves have points, each once.
fn marks(rounds: usize) -> Vec<usize> {
    let mut marks: Vec<usize> = (1..=MARKS).map(|i| (i as u128 * rounds as u128).div_ceil(MARKS as u128) as usize).collect();
    marks.dedup();
    marks
}

fn at_most_ten_million(text: &str) -> Result<usize, String> {
    at_least_one(text).ok().filter(|&n| n <= 10_000_000).ok_or_else(|| "it must be a whole number from 1 to 10000000".into())
}

/// Policies as written: by blanks and semicolons, and by commas where what follows is another policy.
fn policies(texts: &[String]) -> Result<Vec<PolicySpec>> {
    let mut policies = Vec::new();
    for text in texts {
        for part in text.split([' ', ';']).filter(|part| !part.is_empty()) {
            // A comma before another name begins another policy; before a setting it goes on.
            let mut own = String::new();
            for piece in part.split(',') {
                if !own.is_empty() && (!piece.contains('=') || piece.contains(':')) {
                    policies.push(own.parse().map_err(anyhow::Error::new)?);
                    own.clear();
                }
                if !own.is_empty() {
                    own.push(',');
                }
                own.push_str(piece);
            }
            policies.push(own.parse().map_err(anyhow::Error::new)?);
        }
    }
    if policies.is_empty() {
        return Err(failure("no policy", "name one with --policy"));
    }
    Ok(policies)
}
