//! What came of a simulation: a table, JSON, CSV, a picture.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Map, Value, json};
use unloop_lab::summary::Summary;
use unloop_lab::{Campaign, Regret, Run};
use unloop_plot::figures::count;
use unloop_plot::{BandPoint, Bands, Curve};

use crate::output::{print_fitted, print_table, table};
use crate::rank::write_picture;

pub(super) struct Report<'a> {
    pub(super) campaign: &'a Campaign,
    pub(super) runs: &'a [Vec<Run>],
    pub(super) user: &'a str,
    pub(super) exposure: bool,
}

fn of(runs: &[Run], pick: impl Fn(&Run) -> f64) -> Vec<f64> {
    runs.iter().map(pick).collect()
}

fn figures(summary: &Summary) -> Value {
    let Summary { mean, sd, low, high, median, worst, .. } = summary;
    json!({ "mean": mean, "sd": sd, "low": low, "high": high, "median": median, "worst": worst })
}

impl Report<'_> {
    /// Whether regret at the top n says more than weak regret.
    fn by_top(&self) -> bool {
        self.campaign.size > 2 && !self.runs[0][0].regret.top.is_empty()
    }

    pub(super) fn print(&self, out: &mut impl Write) -> Result<()> {
        let campaign = self.campaign;
        let mut header = vec!["#".to_owned(), "policy".into(), "weak ± half".into(), "median".into(), "worst".into()];
        let tops: Vec<usize> = if self.by_top() { (0..campaign.size.min(5)).collect() } else { Vec::new() };
        header.extend(tops.iter().map(|n| format!("top {}", n + 1)));
        let compared = tops.last().map_or("weak".into(), |n| format!("top {}", n + 1));
        let against = format!("{compared} − first");
        header.extend([against, "µs".into(), "sets".into(), "best at end".into()]);
        let pick = |run: &Run| tops.last().map_or(run.regret.weak, |&n| run.regret.top[n]);
        let first = of(&self.runs[0], pick);
        let mut rows = Vec::new();
        for (i, (spec, runs)) in campaign.policies.iter().zip(self.runs).enumerate() {
            let weak = Summary::new(&of(runs, |run| run.regret.weak));
            let half = if weak.runs > 1 {
                format!("{:.1} ± {:.1}", weak.mean, weak.high - weak.mean)
            } else {
                format!("{:.1}", weak.mean)
            };
            let mut row =
                vec![(i + 1).to_string(), spec.to_string(), half, format!("{:.1}", weak.median), format!("{:.0}", weak.worst)];
            row.extend(tops.iter().map(|&n| format!("{:.0}", Summary::new(&of(runs, |run| run.regret.top[n])).mean)));
            let difference = Summary::of_differences(&of(runs, pick), &first);
            row.push(if i == 0 || difference.runs < 2 {
                String::new()
            } else {
                format!("{:+.0} ({:+.0} to {:+.0})", difference.mean, difference.low, difference.high)
            });
            let microseconds = 1e6 * Summary::new(&of(runs, |run| run.seconds)).mean / campaign.rounds as f64;
            row.push(format!("{microseconds:.1}"));
            row.push(count(Summary::new(&of(runs, |run| run.distinct as f64)).mean.round()));
            row.push(format!("{:.0} %", 100.0 * Summary::new(&of(runs, |run| run.best_at_the_end)).mean));
            rows.push(row);
        }
        let names: Vec<&str> = header.iter().map(String::as_str).collect();
        print_fitted(out, &names, &rows, &["#", "sets", "median", "µs", "best at end"])?;
        writeln!(
            out,
            "\nregret over {} rounds of {} from {} options, {} runs, people {}, seed {}\nhalf: half the 95 % interval of the mean",
            count(campaign.rounds as f64),
            campaign.size,
            campaign.users[0].option_count(),
            campaign.runs,
            self.user,
            campaign.seed
        )?;
        if self.exposure {
            writeln!(out)?;
            self.print_exposure(out)?;
        }
        Ok(())
    }

    /// Share of all showings for the best option of people, the next, …, over runs.
    fn exposures(&self, runs: &[Run]) -> Vec<f64> {
        let options = self.campaign.users[0].option_count();
        let mut shares = vec![0.0; options];
        for run in runs {
            let total: f64 = run.exposure.iter().map(|&times| f64::from(times)).sum();
            for (share, &times) in shares.iter_mut().zip(&run.exposure) {
                *share += f64::from(times) / total.max(1.0) / runs.len() as f64;
            }
        }
        shares
    }

    fn print_exposure(&self, out: &mut impl Write) -> Result<()> {
        const FEW: usize = 10;
        let shares: Vec<Vec<f64>> = self.runs.iter().map(|runs| self.exposures(runs)).collect();
        let header: Vec<String> =
            std::iter::once("option".to_owned()).chain(self.campaign.policies.iter().map(ToString::to_string)).collect();
        let mut table = table(&header.iter().map(String::as_str).collect::<Vec<_>>(), &[0]);
        let options = shares[0].len();
        for place in 0..options.min(FEW) {
            let name = if place == 0 { "best".to_owned() } else { format!("number {}", place + 1) };
            table.add_row(std::iter::once(name).chain(shares.iter().map(|own| format!("{:.1} %", 100.0 * own[place]))));
        }
        if options > FEW {
            let rest = |own: &Vec<f64>| format!("{:.1} %", 100.0 * own[FEW..].iter().sum::<f64>());
            table.add_row(std::iter::once("all others".to_owned()).chain(shares.iter().map(rest)));
            let least = |own: &Vec<f64>| format!("{:.2} %", 100.0 * own.iter().copied().fold(f64::INFINITY, f64::min));
            table.add_row(std::iter::once("least shown".to_owned()).chain(shares.iter().map(least)));
        }
        Ok(print_table(out, &table)?)
    }

    pub(super) fn json(&self) -> Value {
        let campaign = self.campaign;
        let policies: Vec<Value> = campaign
            .policies
            .iter()
            .zip(self.runs)
            .map(|(spec, runs)| {
                let regret = |pick: fn(&Regret) -> f64| figures(&Summary::new(&of(runs, |run| pick(&run.regret))));
                let top: Vec<Value> = (0..runs[0].regret.top.len())
                    .map(|n| {
                        let mut row = figures(&Summary::new(&of(runs, |run| run.regret.top[n])));
                        row["n"] = json!(n + 1);
                        row
                    })
                    .collect();
                let number = |text: &str| text.parse::<f64>().ok().filter(|x| x.is_finite());
                let setting = |text: &str| match (text.parse::<u64>(), number(text)) {
                    (Ok(whole), _) => json!(whole),
                    (_, Some(number)) => json!(number),
                    _ => json!(text),
                };
                let settings: Map<String, Value> =
                    spec.settings().iter().map(|(key, value)| (key.clone(), setting(value))).collect();
                let mut row = json!({
                    "policy": spec.name(),
                    "settings": settings,
                    "regret": {
                        "weak": regret(|regret| regret.weak),
                        "weak_binary": regret(|regret| regret.weak_binary),
                        "strong": regret(|regret| regret.strong),
                        "average": regret(|regret| regret.average),
                        "top": top,
                    },
                    "us_per_round": 1e6 * Summary::new(&of(runs, |run| run.seconds)).mean / campaign.rounds as f64,
                    "distinct": Summary::new(&of(runs, |run| run.distinct as f64)).mean,
                });
                if self.exposure {
                    row["exposure"] = json!(self.exposures(runs));
                }
                row
            })
            .collect();
        json!({
            "seed": campaign.seed,
            "options": campaign.users[0].option_count(),
            "size": campaign.size,
            "rounds": campaign.rounds,
            "runs": campaign.runs,
            "user": self.user,
            "policies": policies,
        })
    }

    pub(super) fn csv(&self, out: &mut impl Write) -> Result<()> {
        let mut writer = csv::Writer::from_writer(out);
        let tops = self.runs[0][0].regret.top.len();
        let mut header: Vec<String> = ["policy", "run", "weak", "weak_binary", "strong", "average"].map(str::to_owned).to_vec();
        header.extend((1..=tops).map(|n| format!("top_{n}")));
        header.extend(["distinct", "us_per_round"].map(str::to_owned));
        writer.write_record(&header)?;
        for (spec, runs) in self.campaign.policies.iter().zip(self.runs) {
            for (i, run) in runs.iter().enumerate() {
                let regret = &run.regret;
                let mut row = vec![spec.to_string(), i.to_string()];
                row.extend([regret.weak, regret.weak_binary, regret.strong, regret.average].map(|x| x.to_string()));
                row.extend(regret.top.iter().map(ToString::to_string));
                row.push(run.distinct.to_string());
                row.push((1e6 * run.seconds / self.campaign.rounds as f64).to_string());
                writer.write_record(&row)?;
            }
        }
        Ok(writer.flush()?)
    }

    pub(super) fn draw(&self, path: &Path) -> Result<()> {
        let campaign = self.campaign;
        let by_top = self.by_top();
        let pick = |regret: &Regret| if by_top { regret.top.last().copied().unwrap_or(0.0) } else { regret.weak };
        let curves = campaign.policies.iter().zip(self.runs).map(|(spec, runs)| {
            let point = |(mark, &round): (usize, &usize)| {
                let Summary { mean, low, high, .. } = Summary::new(&of(runs, |run| pick(&run.marks[mark])));
                let finite = |x: f64| if x.is_finite() { x } else { mean };
                BandPoint { x: round as f64, mean, low: finite(low), high: finite(high) }
            };
            let start = BandPoint { x: 0.0, mean: 0.0, low: 0.0, high: 0.0 };
            let points = std::iter::once(start).chain(campaign.marks.iter().enumerate().map(point)).collect();
            Curve { name: spec.to_string(), points }
        });
        let kind = if by_top { format!("Regret at the top {}", campaign.size) } else { "Weak regret".into() };
        let mut bands = Bands::new(kind, curves.collect::<Vec<Curve>>());
        bands.subtitle = Some(format!(
            "{} options, {} shown, {} runs, people {}; mean and its 95 % interval",
            campaign.users[0].option_count(),
            campaign.size,
            campaign.runs,
            self.user
        ));
        bands.x_label = "rounds".into();
        bands.y_label = "regret so far".into();
        write_picture(path, &bands.draw().context("nothing to draw")?)
    }
}
