//! `toprank`: regret at the top 1 … 5, Dirichlet-Luce against TopRank.
//!
//! The paper's Figure 4: K = 50, L = 5, T = 10 000, sparse and dense θ*. TopRank's δ is tuned on held-out people, as in the paper;
//! candidates are those of the range that is known to be good. Dirichlet-Luce presents the best of a draw in the order of the draw
//! (`thompson:order=draw`). Beyond the paper: Self-Sparring, which counts one choice as L − 1 wins, and `anchored`. The paper had
//! 10 runs on one vector of each kind; here runs go round ten vectors of each, and the paper's own sampler has its 10 runs.

use unloop_plot::{Look, Panel, Panels, Picture};

use super::rounds::{Entry, MEAN_COLUMNS, Setting, describe, difference, kinds, mean_cells, policy_series};
use super::{Claim, Data, Figure, Plan, ReproduceError, Verdict, Work, table};
use crate::row;
use crate::run::Run;
use crate::summary::Summary;

pub(super) struct AgainstTopRank;

pub(super) const VECTORS: u64 = 10;
pub(super) const VECTOR_SEED: u64 = 200;
/// People on whom δ is tuned: nobody else meets them.
const HELD_OUT_SEED: u64 = 500;
const OPTIONS: usize = 50;
const SIZE: usize = 5;
/// TopRank with each δ that is tried.
const TUNED: [&str; 4] = ["toprank:delta=0.1", "toprank:delta=0.2", "toprank:delta=0.3", "toprank:delta=0.5"];
pub(super) const PAPER: &str = "thompson:order=draw";
pub(super) const FAITHFUL: &str = "thompson:order=draw,sampler=paper";

fn entries(plan: &Plan, toprank: &'static str) -> Vec<Entry> {
    let runs = plan.pick(20, 100);
    let mut entries = vec![
        Entry { policy: PAPER, runs, cost: 6.0 },
        Entry { policy: toprank, runs, cost: 16.0 },
        Entry { policy: "self-sparring", runs, cost: 6.0 },
        Entry { policy: "anchored:prior=0.3,learn=yes", runs, cost: 10.0 },
    ];
    if matches!(plan.profile, super::Profile::Paper) {
        entries.push(Entry { policy: FAITHFUL, runs: 10, cost: 3_000.0 });
    }
    entries
}

fn rounds(plan: &Plan) -> usize {
    plan.pick(4_000, 10_000)
}

fn tuning(plan: &Plan) -> Vec<Entry> {
    TUNED.map(|policy| Entry { policy, runs: plan.pick(10, 40), cost: 16.0 }).to_vec()
}

fn setting(plan: &Plan, users: Vec<crate::user::User>) -> Setting {
    Setting { users, size: SIZE, rounds: rounds(plan), marks: 1, seed: plan.seed }
}

fn top(runs: &[Run], n: usize) -> Vec<f64> {
    runs.iter().map(|run| run.regret.top[n]).collect()
}

impl Figure for AgainstTopRank {
    fn name(&self) -> &'static str {
        "toprank"
    }

    fn about(&self) -> &'static str {
        "Figure 4: regret at the top 1 … 5 against TopRank"
    }

    fn tables(&self) -> &'static [&'static str] {
        &["toprank", "toprank-runs", "toprank-tuning"]
    }

    fn cost(&self, plan: &Plan) -> u64 {
        let both = Setting::cost(rounds(plan), &entries(plan, TUNED[0])) + Setting::cost(rounds(plan), &tuning(plan));
        (2.0 * both) as u64
    }

    fn simulate(&self, plan: &Plan, work: &Work) -> Result<Vec<Data>, ReproduceError> {
        let mut tuned = Data::new("toprank-tuning", &["user", "policy", "top_5", "runs"]);
        let mut means = Data::new("toprank", &["user", "policy", "n"]);
        means.columns.extend(MEAN_COLUMNS.map(str::to_owned));
        let mut each =
            Data::new("toprank-runs", &["user", "policy", "run", "top_1", "top_2", "top_3", "top_4", "top_5", "distinct"]);
        let held_out = kinds(VECTORS, OPTIONS, HELD_OUT_SEED);
        for ((kind, users), (_, held_out)) in kinds(VECTORS, OPTIONS, VECTOR_SEED).into_iter().zip(held_out) {
            let tries = tuning(plan);
            let played = setting(plan, held_out).play(&tries, work)?;
            let mut best = (f64::INFINITY, TUNED[0]);
            for (entry, runs) in tries.iter().zip(&played) {
                let regret = Summary::new(&top(runs, SIZE - 1)).mean;
                tuned.push(row![kind, entry.policy, regret, entry.runs]);
                if regret < best.0 {
                    best = (regret, entry.policy);
                }
            }
            let entries = entries(plan, best.1);
            let setting = setting(plan, users);
            let played = setting.play(&entries, work)?;
            describe(&mut means, &setting, &entries);
            describe(&mut each, &setting, &entries);
            for (entry, runs) in entries.iter().zip(&played) {
                for n in 0..SIZE {
                    means.push(row![kind, entry.policy, n + 1].into_iter().chain(mean_cells(&top(runs, n))));
                }
                for (i, run) in runs.iter().enumerate() {
                    let regrets = run.regret.top.iter().map(|&regret| regret.into());
                    each.push(row![kind, entry.policy, i].into_iter().chain(regrets).chain(row![run.distinct]));
                }
            }
        }
        for data in [&mut means, &mut each, &mut tuned] {
            data.set("delta", "tuned on held-out people, by regret at the top 5");
        }
        Ok(vec![means, each, tuned])
    }

    fn draw(&self, tables: &[Data]) -> Result<Vec<(String, Picture)>, ReproduceError> {
        let data = table(tables, "toprank")?;
        let mut panels = Vec::new();
        for (kind, title) in [("sparse", "Sparse θ*"), ("dense", "Dense θ*")] {
            let mut series = Vec::new();
            for policy in data.texts("policy")? {
                let found = policy_series(data, "n", kind, &policy, Look::Marks)?;
                if !found.points.is_empty() {
                    series.push(found);
                }
            }
            panels.push(Panel {
                title: title.into(),
                x_label: "N: options at the top that count".into(),
                y_label: "regret at the top N after the last round".into(),
                log_x: false,
                log_y: false,
                series,
            });
        }
        let mut figure = Panels::new("Five at a time: regret at the top N", 2, panels);
        figure.subtitle = Some(format!(
            "{OPTIONS} options, {SIZE} shown, {} rounds; mean over runs and its 95 % interval; TopRank's δ tuned on other people",
            data.property("rounds").unwrap_or("?")
        ));
        Ok(vec![("toprank".into(), figure.draw()?)])
    }

    fn judge(&self, tables: &[Data]) -> Result<Vec<Claim>, ReproduceError> {
        let runs = table(tables, "toprank-runs")?;
        let mut claims = Vec::new();
        let policies = runs.texts("policy")?;
        for kind in ["sparse", "dense"] {
            let has = |policy: &str| runs.numbers("run", &[("user", kind), ("policy", policy)]).map(|found| !found.is_empty());
            let mut toprank = None;
            for policy in policies.iter().filter(|policy| policy.starts_with("toprank")) {
                if has(policy)? {
                    toprank = Some(policy);
                }
            }
            let Some(toprank) = toprank else { continue };
            for (ours, id, by) in [(PAPER, "toprank", ""), (FAITHFUL, "toprank-faithful", ", by the paper's sampler")] {
                if !has(ours)? {
                    continue;
                }
                let differences = (1..=SIZE)
                    .map(|n| difference(runs, &format!("top_{n}"), kind, [ours, toprank]))
                    .collect::<Result<Vec<Summary>, _>>()?;
                let verdict = Verdict::all(differences.iter().map(|found| Verdict::below(0.0, found.low, found.high)));
                let Some(worst) = differences.iter().max_by(|x, y| x.high.total_cmp(&y.high)) else { continue };
                let words = format!("Across N = 1 … 5 Dirichlet-Luce has less regret than TopRank ({kind} θ*){by}");
                let claim = Claim::new("toprank", &format!("{id}-{kind}"), "Figure 4", &words);
                claims.push(claim.measured("difference of regrets at the N where it is least clear", worst, verdict));
            }
        }
        Ok(claims)
    }
}
