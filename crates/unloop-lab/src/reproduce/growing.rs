//! `growing`: larger presentations learn faster, and there are not many different ones.
//!
//! The paper's Figure 6: K = 100, a sparse θ*, presentations of 2, 3, 5, 10 and 20, regret at the top 2 and the number of different
//! presentations over 10 000 rounds. Here runs go round five vectors. The paper's own sampler has its 10 runs of 1 000 particles.

use unloop_plot::{Look, Panel, Panels, Picture};

use super::rounds::{Entry, MEAN_COLUMNS, SPARSE, Setting, describe, mean_cells, series};
use super::toprank::PAPER;
use super::{Claim, Data, Figure, Plan, Profile, ReproduceError, Verdict, Work, table};
use crate::row;
use crate::summary::Summary;
use crate::user::User;

pub(super) struct Growing;

pub(super) const VECTORS: u64 = 5;
pub(super) const VECTOR_SEED: u64 = 600;
const OPTIONS: usize = 100;
const SIZES: [usize; 5] = [2, 3, 5, 10, 20];
const MARKS: usize = 40;
/// The paper's sampler, with as many particles as it had there.
pub(super) const FAITHFUL: &str = "thompson:order=draw,sampler=paper,particles=1000";
/// Part of the rounds that "manageably low" is taken to be.
const MANAGEABLE: f64 = 0.5;

fn entries(plan: &Plan, size: usize) -> Vec<Entry> {
    let mut entries = vec![Entry { policy: PAPER, runs: plan.pick(10, 50), cost: 4.0 + size as f64 }];
    if matches!(plan.profile, Profile::Paper) {
        entries.push(Entry { policy: FAITHFUL, runs: 10, cost: 600.0 + 100.0 * size as f64 });
    }
    entries
}

fn rounds(plan: &Plan) -> usize {
    plan.pick(4_000, 10_000)
}

impl Figure for Growing {
    fn name(&self) -> &'static str {
        "growing"
    }

    fn about(&self) -> &'static str {
        "Figure 6: growing presentations, their regret and how many differ"
    }

    fn tables(&self) -> &'static [&'static str] {
        &["growing", "growing-runs"]
    }

    fn cost(&self, plan: &Plan) -> u64 {
        SIZES.iter().map(|&size| Setting::cost(rounds(plan), &entries(plan, size))).sum::<f64>() as u64
    }

    fn simulate(&self, plan: &Plan, work: &Work) -> Result<Vec<Data>, ReproduceError> {
        let mut means = Data::new("growing", &["what", "policy", "size", "round"]);
        means.columns.extend(MEAN_COLUMNS.map(str::to_owned));
        let mut each = Data::new("growing-runs", &["policy", "size", "run", "top_2", "distinct"]);
        for size in SIZES {
            let users = (0..VECTORS).map(|i| User::dirichlet(OPTIONS, SPARSE, VECTOR_SEED + i)).collect();
            let entries = entries(plan, size);
            let setting = Setting { users, size, rounds: rounds(plan), marks: MARKS, seed: plan.seed };
            let played = setting.play(&entries, work)?;
            describe(&mut means, &setting, &entries);
            describe(&mut each, &setting, &entries);
            for (entry, runs) in entries.iter().zip(&played) {
                for mark in 0..MARKS {
                    let regret: Vec<f64> = runs.iter().map(|run| run.marks[mark].top[1]).collect();
                    let distinct: Vec<f64> = runs.iter().map(|run| run.distinct_at[mark] as f64).collect();
                    for (what, values) in [("top 2", regret), ("distinct", distinct)] {
                        means.push(row![what, entry.policy, size, setting.mark(mark)].into_iter().chain(mean_cells(&values)));
                    }
                }
                for (i, run) in runs.iter().enumerate() {
                    each.push(row![entry.policy, size, i, run.regret.top[1], run.distinct]);
                }
            }
        }
        for data in [&mut means, &mut each] {
            data.set("size", "2, 3, 5, 10, 20");
        }
        Ok(vec![means, each])
    }

    fn draw(&self, tables: &[Data]) -> Result<Vec<(String, Picture)>, ReproduceError> {
        let data = table(tables, "growing")?;
        let mut pictures = Vec::new();
        for policy in data.texts("policy")? {
            let faithful = policy == FAITHFUL;
            let mut panels = Vec::new();
            for (what, title, label) in [
                ("top 2", "Regret at the top 2", "regret so far"),
                ("distinct", "Different presentations", "presentations so far"),
            ] {
                let mut lines = Vec::new();
                for (style, size) in SIZES.into_iter().enumerate() {
                    let number = size.to_string();
                    let having = [("what", what), ("policy", policy.as_str()), ("size", number.as_str())];
                    // Styles beyond those of algorithms: these are all one.
                    lines.push(series(data, "round", &having, (&format!("{size} shown"), 7 + style), Look::Line)?);
                }
                panels.push(Panel {
                    title: title.into(),
                    x_label: "rounds".into(),
                    y_label: label.into(),
                    log_x: false,
                    log_y: false,
                    series: lines,
                });
            }
            let title = if faithful { "Growing presentations, by the paper's sampler" } else { "Growing presentations" };
            let mut figure = Panels::new(title, 2, panels);
            let runs = data.numbers("runs", &[("policy", &policy)])?.first().copied().unwrap_or(0.0);
            figure.subtitle = Some(format!("{OPTIONS} options, sparse θ*, {runs} runs of each size; mean and its 95 % interval"));
            pictures.push((if faithful { "growing-faithful" } else { "growing" }.to_owned(), figure.draw()?));
        }
        Ok(pictures)
    }

    fn judge(&self, tables: &[Data]) -> Result<Vec<Claim>, ReproduceError> {
        let runs = table(tables, "growing-runs")?;
        let mut claims = Vec::new();
        for (policy, id, by) in [(PAPER, "growing", ""), (FAITHFUL, "growing-faithful", ", by the paper's sampler")] {
            let of = |column, size: usize| runs.numbers(column, &[("policy", policy), ("size", &size.to_string())]);
            if of("run", SIZES[0])?.is_empty() {
                continue;
            }
            let mut steps = Vec::new();
            for pair in SIZES.windows(2) {
                steps.push(Summary::of_differences(&of("top_2", pair[1])?, &of("top_2", pair[0])?));
            }
            let verdict = Verdict::all(steps.iter().map(|step| Verdict::below(0.0, step.low, step.high)));
            let claim = |id: &str, words: &str| Claim::new("growing", id, "Figure 6", &format!("{words}{by}"));
            if let Some(worst) = steps.iter().max_by(|x, y| x.high.total_cmp(&y.high)) {
                claims.push(claim(&format!("{id}-regret"), "Larger presentations lead to lower regret at the top 2").measured(
                    "change of regret from a size to the next, where it is least clear",
                    worst,
                    verdict,
                ));
            }
            let rounds: f64 = runs.property("rounds").and_then(|rounds| rounds.parse().ok()).unwrap_or(f64::NAN);
            let mut most = Summary::new(&[0.0]);
            for size in SIZES {
                let part: Vec<f64> = of("distinct", size)?.into_iter().map(|count| count / rounds).collect();
                let part = Summary::new(&part);
                if part.mean > most.mean {
                    most = part;
                }
            }
            claims.push(claim(&format!("{id}-distinct"), "The number of different presentations stays manageably low").measured(
                "different presentations over rounds, at the size with most (manageable: below a half)",
                &most,
                Verdict::below(MANAGEABLE, most.low, most.high),
            ));
        }
        Ok(claims)
    }
}
