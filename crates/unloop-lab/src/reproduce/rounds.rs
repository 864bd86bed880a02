//! Campaigns of several policies, as the figures of regret need them.

use rayon::prelude::*;

use super::{Data, ReproduceError, Work, look};
use crate::run::{Campaign, Run};
use crate::summary::Summary;
use crate::user::User;

/// Vectors θ* are drawn from these: the paper shows its own and does not say where they come from.
pub(super) const SPARSE: f64 = 0.1;
pub(super) const DENSE: f64 = 2.0;

/// What people are called in tables and above panels.
pub(super) fn kinds(vectors: u64, options: usize, seed: u64) -> [(&'static str, Vec<User>); 2] {
    let people = |alpha| (0..vectors).map(|i| User::dirichlet(options, alpha, seed + i)).collect();
    [("sparse", people(SPARSE)), ("dense", people(DENSE))]
}

/// A policy in a figure: as it is written, how many runs, and microseconds a round takes, about.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) policy: &'static str,
    pub(super) runs: usize,
    pub(super) cost: f64,
}

/// What a campaign of a figure is.
pub(super) struct Setting {
    pub(super) users: Vec<User>,
    pub(super) size: usize,
    pub(super) rounds: usize,
    pub(super) marks: usize,
    pub(super) seed: u64,
}

impl Setting {
    /// Milliseconds, about.
    pub(super) fn cost(rounds: usize, entries: &[Entry]) -> f64 {
        entries.iter().map(|entry| entry.cost * (entry.runs * rounds) as f64 / 1e3).sum()
    }

    /// Runs of each policy; run r of all meets the same people. Parallel over all of them, the same on any number of threads.
    pub(super) fn play(&self, entries: &[Entry], work: &Work) -> Result<Vec<Vec<Run>>, ReproduceError> {
        let mut marks: Vec<usize> = (1..=self.marks).map(|i| (i * self.rounds).div_ceil(self.marks)).collect();
        marks.dedup();
        let campaign = |entry: &Entry| -> Result<Campaign, ReproduceError> {
            Ok(Campaign {
                users: self.users.clone(),
                size: self.size,
                rounds: self.rounds,
                runs: entry.runs,
                policies: vec![entry.policy.parse()?],
                seed: self.seed,
                marks: marks.clone(),
            })
        };
        let campaigns = entries.iter().map(campaign).collect::<Result<Vec<Campaign>, _>>()?;
        let played = campaigns.par_iter().zip(entries).map(|(campaign, entry)| {
            let runs = campaign.run_with(&|| work.add(entry.cost * self.rounds as f64 / 1e3))?;
            Ok(runs.into_iter().flatten().collect())
        });
        played.collect()
    }

    /// Rounds at which curves have points.
    pub(super) fn mark(&self, index: usize) -> usize {
        ((index + 1) * self.rounds).div_ceil(self.marks)
    }
}

/// Cells of a mean over runs: mean, standard deviation, interval, runs.
pub(super) const MEAN_COLUMNS: [&str; 5] = ["mean", "sd", "low", "high", "runs"];

pub(super) fn mean_cells(values: &[f64]) -> [super::Cell; 5] {
    let Summary { mean, sd, low, high, runs, .. } = Summary::new(values);
    // One run has no interval.
    let finite = |x: f64| if x.is_finite() { x } else { mean };
    [mean.into(), sd.into(), finite(low).into(), finite(high).into(), runs.into()]
}

/// Settings of a campaign, for the header of its tables.
pub(super) fn describe(data: &mut Data, setting: &Setting, entries: &[Entry]) {
    data.set("options", &setting.users.first().map_or(0, User::option_count));
    data.set("size", &setting.size);
    data.set("rounds", &setting.rounds);
    data.set("preference vectors", &setting.users.len());
    let policies: Vec<String> = entries.iter().map(|entry| format!("{} ({} runs)", entry.policy, entry.runs)).collect();
    data.set("policies", &policies.join("; "));
}

/// Differences between two policies in a column of a table of runs, run by run, as far as both go.
pub(super) fn difference(runs: &Data, column: &str, user: &str, policies: [&str; 2]) -> Result<Summary, ReproduceError> {
    let of = |policy| runs.numbers(column, &[("user", user), ("policy", policy)]);
    Ok(Summary::of_differences(&of(policies[0])?, &of(policies[1])?))
}

/// A curve or marks out of rows of means: those with these texts.
pub(super) fn series(
    data: &Data,
    x: &str,
    having: &[(&str, &str)],
    (name, style): (&str, usize),
    shape: unloop_plot::Look,
) -> Result<unloop_plot::Series, ReproduceError> {
    let column = |column| data.numbers(column, having);
    let (xs, means, lows, highs) = (column(x)?, column("mean")?, column("low")?, column("high")?);
    let points = xs.into_iter().zip(means).zip(lows.into_iter().zip(highs));
    let points = points.map(|((x, mean), (low, high))| unloop_plot::BandPoint { x, mean, low, high }).collect();
    Ok(unloop_plot::Series { name: name.to_owned(), style, look: shape, points })
}

/// The same, of a policy, as it looks everywhere.
pub(super) fn policy_series(
    data: &Data,
    x: &str,
    user: &str,
    policy: &str,
    shape: unloop_plot::Look,
) -> Result<unloop_plot::Series, ReproduceError> {
    series(data, x, &[("user", user), ("policy", policy)], look(policy), shape)
}
