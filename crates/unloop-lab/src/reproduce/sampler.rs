//! `sampler`: beyond the paper, what draws cost and what that does to regret.
//!
//! Effective draws a second of the paper's Metropolis kernel, of Gibbs sweeps, of Hamiltonian trajectories and of the bounded chain,
//! for posteriors of 100 to 10 000 choices from presentations of 5 out of 50; and regret beside the time a decision takes, for
//! the bounded chain, full sweeps, SMC with Gibbs moves, and SMC as in the paper. Times are of this machine and differ from run to
//! run; everything else does not.

use std::time::Instant;

use rand::seq::index::sample;
use unloop::diagnostics::Diagnostics;
use unloop::sampler::{BoundedGibbs, SampleMethod, SampleSettings};
use unloop::{OptionId, Posterior, Prior, Statistics};
use unloop_plot::{BandPoint, Look, Panel, Panels, Picture, Series};

use super::merge_rank::stream;
use super::rounds::{DENSE, Entry, MEAN_COLUMNS, Setting, describe, kinds, mean_cells};
use super::toprank::{FAITHFUL, PAPER};
use super::{Claim, Data, Figure, Plan, ReproduceError, Verdict, Work, growing, table};
use crate::row;
use crate::summary::Summary;
use crate::user::User;

pub(super) struct Samplers;

const OPTIONS: usize = 50;
const SIZE: usize = 5;
const SIZES: [usize; 3] = [100, 1_000, 10_000];
const FULL: &str = "thompson:order=draw,budget=full";
const SMC: &str = "thompson:order=draw,sampler=smc";
/// A loss of regret, as a part of what full sweeps have, that would matter.
const MATTERS: f64 = 0.1;

/// Names in figures: these are one algorithm with several samplers.
fn look(policy: &str) -> (&'static str, usize) {
    match policy {
        PAPER => ("bounded Gibbs", 0),
        FULL => ("Gibbs sweeps", 3),
        SMC => ("SMC, Gibbs moves", 5),
        _ => ("the paper's kernel", 6),
    }
}

fn entries(plan: &Plan) -> Vec<Entry> {
    let runs = plan.pick(10, 50);
    let mut entries = vec![
        Entry { policy: PAPER, runs, cost: 6.0 },
        Entry { policy: FULL, runs, cost: 100.0 },
        Entry { policy: SMC, runs: plan.pick(4, 20), cost: 100.0 },
    ];
    entries.push(
        plan.pick(Entry { policy: growing::FAITHFUL, runs: 2, cost: 500.0 }, Entry { policy: FAITHFUL, runs: 10, cost: 2_000.0 }),
    );
    entries
}

fn rounds(plan: &Plan) -> usize {
    plan.pick(2_000, 10_000)
}

/// Choices from random presentations.
fn choices(count: usize, seed: u64) -> Result<Statistics, ReproduceError> {
    let user = User::dirichlet(OPTIONS, DENSE, 700);
    let mut rng = stream(seed, 30, 0);
    let mut statistics = Statistics::new(OPTIONS);
    for _ in 0..count {
        let shown: Vec<u32> = sample(&mut rng, OPTIONS, SIZE).into_iter().map(|k| k as u32).collect();
        if let Some(chosen) = user.choose(&shown, 0, &mut rng) {
            statistics.record(shown.into_iter().map(OptionId::new), OptionId::new(chosen), 1.0)?;
        }
    }
    Ok(statistics)
}

/// Effective draws, those of the option with fewest, and the seconds they took.
fn effective(posterior: &Posterior, method: SampleMethod, draws: usize, seed: u64) -> Result<(f64, f64), ReproduceError> {
    let settings = SampleSettings { draws, chains: 4, seed, method: Some(method), visits: None };
    // On one core, as the bounded chain is.
    let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    let began = Instant::now();
    let found = match &alone {
        Ok(alone) => alone.install(|| posterior.sample(&settings))?,
        Err(_) => posterior.sample(&settings)?,
    };
    Ok((found.report.bulk_ess, began.elapsed().as_secs_f64()))
}

/// The same of the bounded chain: a draw after each step.
fn bounded(statistics: &Statistics, draws: usize, seed: u64) -> Result<(f64, f64), ReproduceError> {
    let mut chains = [Vec::with_capacity(draws * OPTIONS), Vec::with_capacity(draws * OPTIONS)];
    let mut seconds = 0.0;
    for (i, chain) in chains.iter_mut().enumerate() {
        let mut sampler = BoundedGibbs::from_statistics(&Prior::default(), statistics, seed + i as u64)
            .map_err(unloop::presenter::PresenterError::from)?;
        let began = Instant::now();
        for _ in 0..draws {
            sampler.step(BoundedGibbs::BUDGET);
            let eta: Vec<f64> = (0..OPTIONS).map(|k| sampler.ln_lambda(OptionId::new(k as u32)).unwrap_or(0.0)).collect();
            let total: f64 = eta.iter().map(|eta| eta.exp()).sum();
            chain.extend(eta.into_iter().map(|eta| eta.exp() / total));
        }
        seconds += began.elapsed().as_secs_f64();
    }
    let of = |k: usize| -> Option<f64> {
        let own: Vec<Vec<f64>> = chains.iter().map(|chain| chain.iter().skip(k).step_by(OPTIONS).copied().collect()).collect();
        Diagnostics::of(&own).ok().map(|found| found.bulk_ess)
    };
    Ok(((0..OPTIONS).filter_map(of).fold(f64::INFINITY, f64::min), seconds))
}

impl Figure for Samplers {
    fn name(&self) -> &'static str {
        "sampler"
    }

    fn about(&self) -> &'static str {
        "Beyond the paper: effective draws a second, and regret beside time, of four samplers"
    }

    fn tables(&self) -> &'static [&'static str] {
        &["sampler", "sampler-draws", "sampler-runs"]
    }

    fn cost(&self, plan: &Plan) -> u64 {
        Setting::cost(rounds(plan), &entries(plan)) as u64 + plan.pick(4_000, 30_000)
    }

    fn simulate(&self, plan: &Plan, work: &Work) -> Result<Vec<Data>, ReproduceError> {
        let mut effects = Data::new("sampler-draws", &["method", "choices", "effective", "seconds", "per_second"]);
        effects.set("effective", "effective draws of the option with fewest");
        let draws = plan.pick(500, 4_000);
        for count in SIZES {
            let statistics = choices(count, plan.seed)?;
            let posterior = Posterior::new(&Prior::default(), &statistics)?;
            let mut add = |name: &str, (effective, seconds): (f64, f64)| {
                effects.push(row![name, count, effective, seconds, effective / seconds]);
            };
            add("bounded Gibbs", bounded(&statistics, 10 * draws, plan.seed)?);
            add("Gibbs sweeps", effective(&posterior, SampleMethod::Gibbs, draws, plan.seed)?);
            add("Hamiltonian", effective(&posterior, SampleMethod::Hamiltonian, draws, plan.seed)?);
            add("the paper's kernel", effective(&posterior, SampleMethod::Metropolis, draws, plan.seed)?);
        }
        work.add(plan.pick(4_000.0, 30_000.0));
        let [(kind, users), _] = kinds(5, OPTIONS, 200);
        let setting = Setting { users, size: SIZE, rounds: rounds(plan), marks: 1, seed: plan.seed };
        let entries = entries(plan);
        let played = setting.play(&entries, work)?;
        let mut means = Data::new("sampler", &["policy", "microseconds"]);
        means.columns.extend(MEAN_COLUMNS.map(str::to_owned));
        let mut each = Data::new("sampler-runs", &["user", "policy", "run", "top_5", "microseconds"]);
        for (entry, runs) in entries.iter().zip(&played) {
            let micro = |run: &crate::run::Run| 1e6 * run.seconds / setting.rounds as f64;
            let regrets: Vec<f64> = runs.iter().map(|run| run.regret.top[SIZE - 1]).collect();
            let micros = Summary::new(&runs.iter().map(micro).collect::<Vec<f64>>()).median;
            means.push(row![entry.policy, micros].into_iter().chain(mean_cells(&regrets)));
            for (i, run) in runs.iter().enumerate() {
                each.push(row![kind, entry.policy, i, run.regret.top[SIZE - 1], micro(run)]);
            }
        }
        for data in [&mut means, &mut each] {
            describe(data, &setting, &entries);
        }
        Ok(vec![means, effects, each])
    }

    fn draw(&self, tables: &[Data]) -> Result<Vec<(String, Picture)>, ReproduceError> {
        let (means, effects) = (table(tables, "sampler")?, table(tables, "sampler-draws")?);
        let mut speeds = Vec::new();
        for (name, style) in [("bounded Gibbs", 0), ("Gibbs sweeps", 3), ("Hamiltonian", 2), ("the paper's kernel", 6)] {
            let (xs, ys) =
                (effects.numbers("choices", &[("method", name)])?, effects.numbers("per_second", &[("method", name)])?);
            let points = xs.into_iter().zip(ys).map(|(x, mean)| BandPoint { x, mean, low: mean, high: mean }).collect();
            speeds.push(Series { name: name.to_owned(), style, look: Look::Marks, points });
        }
        let mut regrets = Vec::new();
        for row in means.iter() {
            let (name, style) = look(row.text("policy")?);
            let point = BandPoint {
                x: row.number("microseconds")?,
                mean: row.number("mean")?,
                low: row.number("low")?,
                high: row.number("high")?,
            };
            regrets.push(Series { name: name.to_owned(), style, look: Look::Marks, points: vec![point] });
        }
        let panels = vec![
            Panel {
                title: "Draws of a fixed posterior".into(),
                x_label: "choices so far".into(),
                y_label: "effective draws a second, one core".into(),
                log_x: true,
                log_y: true,
                series: speeds,
            },
            Panel {
                title: "Beside simulated people".into(),
                x_label: "time for a decision, µs".into(),
                y_label: "regret at the top 5".into(),
                log_x: true,
                log_y: false,
                series: regrets,
            },
        ];
        let mut figure = Panels::new("What draws cost", 2, panels);
        figure.subtitle = Some(format!(
            "{OPTIONS} options, {SIZE} shown. Left: a posterior of random presentations, the paper's kernel as a chain. Right: {} rounds, sparse θ*, the kernel in its SMC; mean and its 95 % interval",
            means.property("rounds").unwrap_or("?")
        ));
        Ok(vec![("sampler".into(), figure.draw()?)])
    }

    fn judge(&self, tables: &[Data]) -> Result<Vec<Claim>, ReproduceError> {
        let (effects, runs) = (table(tables, "sampler-draws")?, table(tables, "sampler-runs")?);
        let speed = |method| effects.numbers("per_second", &[("method", method), ("choices", "1000")]);
        let ratio = speed("Gibbs sweeps")?.first().copied().unwrap_or(f64::NAN)
            / speed("the paper's kernel")?.first().copied().unwrap_or(f64::NAN);
        let claim = |id, words| Claim::new("sampler", id, "beyond the paper", words);
        let faster = claim(
            "sampler-faster",
            "Gibbs sweeps give at least ten times the effective draws of the paper's kernel in the same time",
        )
        .once("ratio of effective draws a second after 1 000 choices", ratio, ratio >= 10.0);
        let of = |policy| runs.numbers("top_5", &[("policy", policy)]);
        let (bounded, full) = (of(PAPER)?, of(FULL)?);
        let loss = Summary::of_differences(&bounded, &full);
        let bound = MATTERS * Summary::new(&full).mean;
        let free = claim("sampler-bounded", "Bounded steps lose no regret that matters against full sweeps").measured(
            &format!("difference of regrets at the top 5 (it would matter from {bound:.0})"),
            &loss,
            Verdict::below(bound, loss.low, loss.high),
        );
        Ok(vec![faster, free])
    }
}
