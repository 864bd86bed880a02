//! `dueling`: weak regret over time, Dirichlet-Luce against Double Thompson Sampling.
//!
//! The paper's Figure 5: L = 2, T = 10 000; K = 50 with sparse and dense θ*, and the table of four options where one beats all and the
//! others go in a circle. Weak regret: how far the better of the two shown falls short of the best, as P(best beats it) − ½. D-TS with
//! α = 0.51, which the paper does not say. Beyond the paper: WS-W, the specialist for weak regret that it left out, Self-Sparring and
//! `anchored`. Weak regret has a heavy tail, so a claim about means needs hundreds of runs; the paper had 10.

use rand::RngExt;
use unloop_plot::{Look, Panel, Panels, Picture};

use super::merge_rank::stream;
use super::rounds::{Entry, MEAN_COLUMNS, Setting, describe, difference, kinds, mean_cells, policy_series};
use super::toprank::{FAITHFUL, PAPER};
use super::{Claim, Data, Figure, Plan, Profile, ReproduceError, Verdict, Work, table};
use crate::row;
use crate::summary::Summary;
use crate::user::User;

pub(super) struct Dueling;

pub(super) const VECTORS: u64 = 10;
pub(super) const VECTOR_SEED: u64 = 100;
const OPTIONS: usize = 50;
const MARKS: usize = 50;

fn entries(plan: &Plan, kind: &str) -> Vec<Entry> {
    let runs = plan.pick(40, 300);
    // Tables of 4 × 4 and of 50 × 50.
    let dts = if kind == "cyclic" { 1.0 } else { 45.0 };
    let mut entries = vec![
        Entry { policy: PAPER, runs, cost: 4.0 },
        Entry { policy: "dts", runs, cost: dts },
        Entry { policy: "wsw", runs, cost: 0.5 },
        Entry { policy: "self-sparring", runs, cost: 5.0 },
        Entry { policy: "anchored:prior=0.3,learn=yes", runs, cost: 7.0 },
    ];
    if matches!(plan.profile, Profile::Paper) {
        entries.push(Entry { policy: FAITHFUL, runs: 10, cost: 1_500.0 });
    }
    entries
}

fn rounds(plan: &Plan) -> usize {
    plan.pick(4_000, 10_000)
}

impl Figure for Dueling {
    fn name(&self) -> &'static str {
        "dueling"
    }

    fn about(&self) -> &'static str {
        "Figure 5: weak regret over time against Double Thompson Sampling"
    }

    fn tables(&self) -> &'static [&'static str] {
        &["dueling", "dueling-runs"]
    }

    fn cost(&self, plan: &Plan) -> u64 {
        let cost = |kind| Setting::cost(rounds(plan), &entries(plan, kind));
        (cost("sparse") + cost("dense") + cost("cyclic")) as u64
    }

    fn simulate(&self, plan: &Plan, work: &Work) -> Result<Vec<Data>, ReproduceError> {
        let mut means = Data::new("dueling", &["user", "policy", "round"]);
        means.columns.extend(MEAN_COLUMNS.map(str::to_owned));
        let mut each = Data::new("dueling-runs", &["user", "policy", "run", "weak", "distinct"]);
        let people = kinds(VECTORS, OPTIONS, VECTOR_SEED).into_iter().chain([("cyclic", vec![User::cyclic()])]);
        for (kind, users) in people {
            let entries = entries(plan, kind);
            let setting = Setting { users, size: 2, rounds: rounds(plan), marks: MARKS, seed: plan.seed };
            let played = setting.play(&entries, work)?;
            if kind != "cyclic" {
                describe(&mut means, &setting, &entries);
                describe(&mut each, &setting, &entries);
            }
            for (entry, runs) in entries.iter().zip(&played) {
                for mark in 0..MARKS {
                    let regret: Vec<f64> = runs.iter().map(|run| run.marks[mark].weak).collect();
                    means.push(row![kind, entry.policy, setting.mark(mark)].into_iter().chain(mean_cells(&regret)));
                }
                for (i, run) in runs.iter().enumerate() {
                    each.push(row![kind, entry.policy, i, run.regret.weak, run.distinct]);
                }
            }
        }
        for data in [&mut means, &mut each] {
            data.set("cyclic", "4 options: 1 beats all, 2 beats 3 beats 4 beats 2");
        }
        Ok(vec![means, each])
    }

    fn draw(&self, tables: &[Data]) -> Result<Vec<(String, Picture)>, ReproduceError> {
        let data = table(tables, "dueling")?;
        let mut panels = Vec::new();
        for (kind, title) in [("sparse", "Sparse θ*"), ("dense", "Dense θ*"), ("cyclic", "A circle")] {
            let mut series = Vec::new();
            for policy in data.texts("policy")? {
                series.push(policy_series(data, "round", kind, &policy, Look::Line)?);
            }
            panels.push(Panel {
                title: title.into(),
                x_label: "rounds".into(),
                y_label: "weak regret so far".into(),
                log_x: false,
                log_y: false,
                series,
            });
        }
        let mut figure = Panels::new("Duels: weak regret over time", 3, panels);
        figure.subtitle = Some(format!(
            "{OPTIONS} options (the circle: 4), two shown, {} rounds; mean over runs and its 95 % interval",
            data.property("rounds").unwrap_or("?")
        ));
        Ok(vec![("dueling".into(), figure.draw()?)])
    }

    fn judge(&self, tables: &[Data]) -> Result<Vec<Claim>, ReproduceError> {
        let runs = table(tables, "dueling-runs")?;
        let mut claims = Vec::new();
        for (kind, words) in [
            ("sparse", "In duels Dirichlet-Luce has less weak regret than D-TS (sparse θ*)"),
            ("dense", "In duels Dirichlet-Luce has less weak regret than D-TS (dense θ*)"),
            ("cyclic", "It outperforms D-TS on average even where preferences go in a circle"),
        ] {
            for (ours, id, by) in [(PAPER, "dueling", ""), (FAITHFUL, "dueling-faithful", ", by the paper's sampler")] {
                let found = difference(runs, "weak", kind, [ours, "dts"])?;
                if found.runs == 0 {
                    continue;
                }
                let claim = Claim::new("dueling", &format!("{id}-{kind}"), "Figure 5", &format!("{words}{by}"));
                let verdict = Verdict::below(0.0, found.low, found.high);
                claims.push(claim.measured("difference of weak regrets at the end", &found, verdict));
            }
        }
        let weak = |policy| runs.numbers("weak", &[("user", "cyclic"), ("policy", policy)]);
        let ratio = ratio_of_spreads(&weak(PAPER)?, &weak("dts")?);
        let claim = Claim::new("dueling", "dueling-variance", "Figure 5", "Its regret varies more than that of D-TS (circle)");
        let verdict = Verdict::below(-1.0, -ratio.high, -ratio.low);
        claims.push(claim.measured("ratio of standard deviations, interval by the bootstrap", &ratio, verdict));
        Ok(claims)
    }
}

/// Ratio of standard deviations, with the middle 95 % of 2 000 bootstrap samples as its interval.
fn ratio_of_spreads(x: &[f64], y: &[f64]) -> Summary {
    let mut rng = stream(0, 3, 0);
    let mut again = |values: &[f64]| {
        let picked: Vec<f64> = (0..values.len()).map(|_| values[rng.random_range(0..values.len())]).collect();
        Summary::new(&picked).sd
    };
    let mut ratios: Vec<f64> = (0..2_000).map(|_| again(x) / again(y)).filter(|ratio| ratio.is_finite()).collect();
    ratios.sort_by(f64::total_cmp);
    let at = |part: f64| ratios.get((part * ratios.len() as f64) as usize).copied().unwrap_or(f64::NAN);
    let mean = Summary::new(x).sd / Summary::new(y).sd;
    Summary { mean, low: at(0.025), high: at(0.975), ..Summary::new(x) }
}
