//! `unloop predict`: chances of the next choice from a presentation.

use std::io::{BufWriter, Write};

use anyhow::{Context, Result};
use clap::Args;
use serde_json::json;
use unloop::{ChoiceInterval, OptionId, Options, Posterior, Presentation};
use unloop_plot::figures::{level, percent};

use crate::failure::failure;
use crate::input::{Columns, Input};
use crate::model::{self, Model, evidence_method_name, method_name, probability};
use crate::output::{print_json, print_table, table};
use crate::progress::Progress;

/// Predict what is chosen when certain options are presented
///
/// Prints for each option of the presentation the probability that it is the next choice, and the interval of what that probability may
/// truly be. The options need never have been shown together.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Predict {
    #[command(flatten)]
    input: Input,

    /// The options presented, joined by the separator; more than once for several presentations
    #[arg(long, value_name = "a|b|c", required = true)]
    presented: Vec<String>,

    /// Column with what was presented, or two columns of competitors joined by a comma
    #[arg(long, value_name = "COLUMN", help_heading = "Input")]
    presented_column: Option<String>,

    /// Column with what was chosen
    #[arg(long, value_name = "COLUMN", help_heading = "Input")]
    chosen_column: Option<String>,

    #[command(flatten)]
    model: Model,

    /// Probability of the intervals
    #[arg(long, value_name = "P", default_value_t = 0.9, value_parser = probability)]
    level: f64,

    /// Print JSON
    #[arg(long, help_heading = "Output")]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  unloop predict lunch.csv --presented 'soup|curry'
  unloop predict battles.csv --presented 'gpt|claude' --presented 'claude|llama' --json";

/// One option of a presentation.
struct Chance {
    option: OptionId,
    mean: f64,
    low: f64,
    high: f64,
}

impl Predict {
    pub(crate) fn run(self) -> Result<()> {
        let columns = Columns { presented: self.presented_column.clone(), chosen: self.chosen_column.clone() };
        let settings = self.model.sample_settings()?;
        let loaded = self.input.load(&columns, None, &self.model)?;
        let statistics = loaded.counted.statistics();
        let sets: Vec<Vec<OptionId>> =
            self.presented.iter().map(|text| self.set(text, &loaded.options, loaded.counted.none)).collect::<Result<_>>()?;
        let progress = Progress::working("drawing from the posterior");
        let posterior = Posterior::new(&loaded.prior, statistics)?;
        let sample = posterior.sample(&settings)?;
        drop(progress);
        model::warn(&sample.report, statistics, &loaded.options);
        let mut out = BufWriter::new(std::io::stdout().lock());
        let mut documents = Vec::new();
        for (i, set) in sets.iter().enumerate() {
            let presentation = Presentation::new(set.iter().copied())?;
            let exact = posterior.predict_exactly(&presentation).context("no prediction")?;
            let intervals = sample.draws.choice_intervals(&presentation, self.level).context("an option is unknown")?;
            // Without an exact way the draws speak: they are judged, and one source gives both the chance and its interval.
            let (means, method, error) = if let Some(exact) = exact {
                (exact.probabilities, evidence_method_name(exact.method).to_owned(), exact.error)
            } else {
                let worth = sample.report.bulk_ess.min(sample.draws.len() as f64).max(1.0);
                let spread = |own: &ChoiceInterval| (own.mean * (1.0 - own.mean) / worth).sqrt();
                let error = intervals.iter().map(spread).fold(0.0, f64::max);
                (intervals.iter().map(|own| own.mean).collect(), method_name(&sample.report), error)
            };
            let members = presentation.members().iter().zip(means).zip(&intervals);
            let mut chances: Vec<Chance> = members
                .map(|((&option, mean), interval)| Chance { option, mean, low: interval.low, high: interval.high })
                .collect();
            chances.sort_by(|x, y| y.mean.total_cmp(&x.mean).then(x.option.cmp(&y.option)));
            let name = |option: OptionId| loaded.options.name(option).unwrap_or_default();
            if self.json {
                let rows: Vec<_> = chances
                    .iter()
                    .map(|c| json!({ "option": name(c.option), "probability": c.mean, "low": c.low, "high": c.high }))
                    .collect();
                documents.push(json!({ "options": rows, "method": method, "error": error }));
                continue;
            }
            if i > 0 {
                writeln!(out)?;
            }
            let level = format!("{} interval", level(self.level));
            let mut table = table(&["option", "chosen", &level], &[0]);
            for chance in &chances {
                let interval = format!("{} – {}", percent(chance.low).trim_end_matches(" %"), percent(chance.high));
                table.add_row([name(chance.option).to_owned(), percent(chance.mean), interval]);
            }
            print_table(&mut out, &table)?;
            writeln!(out, "\n{}, error below {error:.0e}", method.replace('_', " "))?;
        }
        if self.json {
            print_json(&mut out, &json!({ "presentations": documents, "level": self.level, "seed": self.model.seed }))?;
        }
        Ok(out.flush()?)
    }

    /// The options that a presentation on the command line names; the no-choice option is in each where there is one.
    fn set(&self, text: &str, options: &Options, none: Option<OptionId>) -> Result<Vec<OptionId>> {
        let mut set: Vec<OptionId> = Vec::new();
        for name in unloop_data::split_names(text, self.input.separator()) {
            let Some(id) = options.get(&name) else {
                let known: Vec<&str> = options.iter().take(5).map(|(_, name)| name).collect();
                let more = if options.len() > known.len() { ", …" } else { "" };
                return Err(failure(
                    format!("--presented {text:?}: there is no option {name:?}"),
                    format!("options are {}{more}; --options names more", known.join(", ")),
                ));
            };
            if set.contains(&id) {
                return Err(failure(format!("--presented {text:?}: {name:?} is there twice"), "a presentation is a set"));
            }
            set.push(id);
        }
        set.extend(none.filter(|none| !set.contains(none)));
        Ok(set)
    }
}
