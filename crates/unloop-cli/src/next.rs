//! `unloop next`: what to present next.

use std::io::{BufWriter, Write};

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use serde_json::json;
use unloop::information::{Goal, InquirySettings, inquire};
use unloop::ranking::{RankedOption, Ranking, RankingSettings};
use unloop::sampler::Sample;
use unloop::{OptionId, Presentation};
use unloop_plot::figures::{chance, count};

use crate::failure::failure;
use crate::input::{Columns, Input};
use crate::model::{self, Model, at_least_one};
use crate::output::{print_json, print_table, table};
use crate::progress::Progress;

/// Say what to present next, and why
///
/// By default the best options of draws from the posterior (Thompson sampling): what probably is good is shown, and so is what may be.
/// To learn the order rather than to please, ask for the presentations whose answers are expected to tell most about it. The same choices and the same seed give the same presentations: for one guest after another, change --seed.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Next {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    columns: Columns,
    #[command(flatten)]
    model: Model,

    /// Options of a presentation
    #[arg(long, value_name = "L", default_value_t = 2, value_parser = at_least_one)]
    size: usize,

    /// Presentations
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = at_least_one)]
    count: usize,

    /// What the presentations are for
    #[arg(long, value_enum, default_value = "thompson")]
    goal: GoalFlag,

    /// Print JSON
    #[arg(long, help_heading = "Output")]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  unloop next lunch.csv --size 3                       What to show to the next guest
  unloop next battles.csv --goal ranking --count 20    Which pairs to compare to learn the order
  unloop next battles.csv --goal best --json           Which pair to compare to learn who is best";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum GoalFlag {
    /// Show what is good or may be: the best of a draw
    Thompson,
    /// Learn the order of all options
    Ranking,
    /// Learn which option is the best
    Best,
}

/// A presentation and what speaks for it.
struct Proposal {
    options: Vec<OptionId>,
    /// Expected information in bits.
    gain: Option<f64>,
}

impl Next {
    pub(crate) fn run(self) -> Result<()> {
        let settings = self.model.sample_settings()?;
        let loaded = self.input.load(&self.columns, None, &self.model)?;
        let statistics = loaded.counted.statistics();
        let none: Vec<OptionId> = loaded.counted.none.into_iter().collect();
        let there_are = loaded.options.len() - none.len();
        if there_are < 2 && self.goal != GoalFlag::Thompson {
            return Err(failure("one option has no order", "name other options with --options"));
        }
        if there_are < self.size {
            eprintln!("warning: there are {there_are} options, fewer than --size {}: all of them are presented", self.size);
        }
        let settings = RankingSettings {
            top: self.size,
            sample: settings,
            evidence_draws: None,
            unranked: none.clone(),
            ..RankingSettings::default()
        };
        let progress = Progress::working("drawing from the posterior");
        let (ranking, sample) = Ranking::with_sample(&loaded.prior, statistics, &settings).context("no ranking")?;
        drop(progress);
        model::warn(&sample.report, statistics, &loaded.options);
        let proposals = self.proposals(&sample, &none)?;
        let mut out = BufWriter::new(std::io::stdout().lock());
        let name = |option: OptionId| loaded.options.name(option).unwrap_or_default();
        let row = |option: OptionId| ranking.options.iter().find(|row| row.option == option);
        if self.json {
            let documents = proposals.iter().map(|proposal| {
                let chances = chances(&sample, proposal);
                let options: Vec<_> = proposal
                    .options
                    .iter()
                    .zip(&chances)
                    .map(|(&option, &(mean, low, high))| {
                        let row = row(option);
                        json!({ "option": name(option), "probability": mean, "low": low, "high": high,
                            "p_best": row.map(|row| row.p_best), "p_top": row.map(|row| row.p_top),
                            "shown": row.map(|row| row.shown), "chosen": row.map(|row| row.chosen) })
                    })
                    .collect();
                let names: Vec<&str> = proposal.options.iter().map(|&option| name(option)).collect();
                json!({ "presented": names, "gain_bits": proposal.gain, "options": options })
            });
            let documents: Vec<_> = documents.collect();
            let goal = self.goal.to_possible_value().map(|value| value.get_name().to_owned());
            print_json(&mut out, &json!({ "goal": goal, "presentations": documents, "seed": self.model.seed }))?;
            return Ok(out.flush()?);
        }
        let why =
            if self.goal == GoalFlag::Thompson { "why: P(top), times shown" } else { "why: chance to be chosen, times shown" };
        let mut header = vec!["#", "present", why];
        if self.goal != GoalFlag::Thompson {
            header.push("tells");
        }
        let mut table = table(&header, &[1, 2]);
        for (i, proposal) in proposals.iter().enumerate() {
            let chances = chances(&sample, proposal);
            let names: Vec<&str> = proposal.options.iter().map(|&option| name(option)).collect();
            let reasons: Vec<String> = proposal
                .options
                .iter()
                .zip(&chances)
                .map(|(&option, &(_, low, high))| self.reason(row(option), low, high))
                .collect();
            let mut cells = vec![(i + 1).to_string(), names.join("\n"), reasons.join("\n")];
            if let Some(gain) = proposal.gain {
                cells.push(format!("{gain:.3} bit"));
            }
            table.add_row(cells);
        }
        print_table(&mut out, &table)?;
        writeln!(out, "\nfrom {} presentations, seed {}", count(ranking.presentations), self.model.seed)?;
        Ok(out.flush()?)
    }

    fn proposals(&self, sample: &Sample, none: &[OptionId]) -> Result<Vec<Proposal>> {
        if self.goal == GoalFlag::Thompson {
            let all = sample.draws.len();
            if self.count > all {
                return Err(failure(
                    format!("{} presentations need as many draws, and there are {all}", self.count),
                    "ask for more with --draws",
                ));
            }
            let pick = |i: usize| {
                let mut best = sample.draws.top(i * all / self.count, self.size.saturating_add(none.len()))?;
                best.retain(|option| !none.contains(option));
                best.truncate(self.size);
                Some(Proposal { options: best, gain: None })
            };
            return Ok((0..self.count).filter_map(pick).collect());
        }
        if self.size < 2 {
            return Err(failure("a presentation of one option tells nothing of the order", "use --size 2 or more"));
        }
        let goal = if self.goal == GoalFlag::Best { Goal::Best } else { Goal::Order };
        let settings = InquirySettings { size: self.size, count: self.count, goal, excluded: none.to_vec() };
        let _progress = Progress::working("looking for what tells most");
        let proposals: Vec<Proposal> = inquire(&sample.draws, &settings)
            .into_iter()
            .map(|inquiry| Proposal { options: inquiry.options, gain: Some(inquiry.gain / std::f64::consts::LN_2) })
            .collect();
        if proposals.len() < self.count {
            eprintln!("warning: no more than {} different presentations were found", proposals.len());
        }
        Ok(proposals)
    }

    fn reason(&self, row: Option<&RankedOption>, low: f64, high: f64) -> String {
        let shown = match row.map_or(0.0, |row| row.shown) {
            0.0 => "never shown".to_owned(),
            1.0 => "shown once".to_owned(),
            times => format!("shown {} times", count(times)),
        };
        match self.goal {
            GoalFlag::Thompson => format!("{}, {shown}", chance(row.map_or(0.0, |row| row.p_top))),
            _ => format!("{} to {}, {shown}", chance(low), chance(high)),
        }
    }
}

/// Chance of each option of a proposal to be chosen, with its 90 % interval, in the proposal's order.
fn chances(sample: &Sample, proposal: &Proposal) -> Vec<(f64, f64, f64)> {
    let Ok(set) = Presentation::new(proposal.options.iter().copied()) else { return Vec::new() };
    let Some(chances) = sample.draws.choice_intervals(&set, 0.9) else { return Vec::new() };
    let of = |option: &OptionId| set.members().binary_search(option).map(|i| (chances[i].mean, chances[i].low, chances[i].high));
    proposal.options.iter().filter_map(|option| of(option).ok()).collect()
}
