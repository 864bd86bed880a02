//! `merge-rank`: preferences are recovered from as many duels as a ranking algorithm asks for.
//!
//! The paper's Figure 1: Merge-Rank (ε = 0.05, δ = 0.1) decides which pairs people are asked about, the Dirichlet-Luce posterior is
//! drawn from (1 000 draws), and its mean over 50 runs is set beside θ*. The paper is silent about K, about θ* (here 50 options,
//! one dense vector), and about whether ε and δ hold for each comparison (here they do).

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use unloop::sampler::SampleSettings;
use unloop::{OptionId, Posterior, Prior, Statistics};
use unloop_plot::{Look, Panel, Panels, Picture};

use super::rounds::{DENSE, MEAN_COLUMNS, mean_cells, series};
use super::{Claim, Data, Figure, Plan, ReproduceError, Verdict, Work, table};
use crate::rivals::{MergeRankSettings, merge_rank};
use crate::row;
use crate::summary::Summary;
use crate::user::User;

pub(super) struct MergeRankRecovery;

const OPTIONS: usize = 50;
const DRAWS: usize = 1_000;
/// Part of an ignorant guess's deviation that counts as accurate.
const ACCURATE: f64 = 0.25;

/// Duels of one run of Merge-Rank: winner and loser of each.
pub(super) fn duels(user: &User, rng: &mut ChaCha8Rng) -> Vec<(u32, u32)> {
    let mut duels = Vec::new();
    merge_rank(user.option_count(), &MergeRankSettings::default(), |i, j| {
        let i_wins = user.choose(&[i, j], 0, rng) == Some(i);
        duels.push(if i_wins { (i, j) } else { (j, i) });
        i_wins
    });
    duels
}

/// Counts of duels.
pub(super) fn counted(options: usize, duels: &[(u32, u32)]) -> Result<Statistics, ReproduceError> {
    let mut statistics = Statistics::new(options);
    for &(winner, loser) in duels {
        statistics.record([winner, loser].map(OptionId::new), OptionId::new(winner), 1.0)?;
    }
    Ok(statistics)
}

/// θ* of people, in the order of options.
pub(super) fn preferences(user: &User) -> Vec<f64> {
    user.truth(0).theta.unwrap_or_default()
}

/// Σ|x − y|.
pub(super) fn deviation(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| (x - y).abs()).sum()
}

/// A random stream of a run of a figure.
pub(super) fn stream(seed: u64, figure: u64, run: usize) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed ^ (figure << 32));
    rng.set_stream(run as u64);
    rng
}

struct Run {
    mean: Vec<f64>,
    duels: usize,
    pairs: usize,
}

fn run(user: &User, plan: &Plan, run: usize) -> Result<Run, ReproduceError> {
    let duels = duels(user, &mut stream(plan.seed, 1, run));
    let statistics = counted(OPTIONS, &duels)?;
    let settings = SampleSettings { draws: DRAWS / 4, chains: 4, seed: plan.seed + run as u64, ..SampleSettings::default() };
    let draws = Posterior::new(&Prior::default(), &statistics)?.sample(&settings)?.draws;
    let mut mean = vec![0.0; OPTIONS];
    for theta in (0..draws.len()).filter_map(|draw| draws.theta(draw)) {
        mean.iter_mut().zip(&theta).for_each(|(mean, theta)| *mean += theta / draws.len() as f64);
    }
    Ok(Run { mean, duels: duels.len(), pairs: statistics.distinct() })
}

impl Figure for MergeRankRecovery {
    fn name(&self) -> &'static str {
        "merge-rank"
    }

    fn about(&self) -> &'static str {
        "Figure 1: preferences are recovered from Merge-Rank's duels"
    }

    fn tables(&self) -> &'static [&'static str] {
        &["merge-rank", "merge-rank-runs"]
    }

    fn cost(&self, plan: &Plan) -> u64 {
        300 * plan.pick(8, 50)
    }

    fn simulate(&self, plan: &Plan, work: &Work) -> Result<Vec<Data>, ReproduceError> {
        let user = User::dirichlet(OPTIONS, DENSE, 300);
        let theta = preferences(&user);
        let count: usize = plan.pick(8, 50);
        let runs = (0..count).into_par_iter().map(|i| {
            let run = run(&user, plan, i);
            work.add(300.0);
            run
        });
        let runs = runs.collect::<Result<Vec<Run>, ReproduceError>>()?;
        let mut order: Vec<usize> = (0..OPTIONS).collect();
        order.sort_by(|&i, &j| theta[j].total_cmp(&theta[i]));
        let mut means = Data::new("merge-rank", &["place", "theta", "mean", "sd", "low", "high", "runs"]);
        for (place, &k) in order.iter().enumerate() {
            let values: Vec<f64> = runs.iter().map(|run| run.mean[k]).collect();
            let cells = row![place + 1, theta[k]].into_iter().chain(mean_cells(&values));
            means.push(cells);
        }
        means.columns.splice(2.., MEAN_COLUMNS.map(str::to_owned));
        let ignorant = deviation(&theta, &[1.0 / OPTIONS as f64; OPTIONS]);
        let mut each = Data::new("merge-rank-runs", &["run", "duels", "pairs", "deviation", "ignorant"]);
        for (i, run) in runs.iter().enumerate() {
            each.push(row![i, run.duels, run.pairs, deviation(&run.mean, &theta), ignorant]);
        }
        for data in [&mut means, &mut each] {
            data.set("options", &OPTIONS);
            data.set("draws", &DRAWS);
            data.set("merge-rank", "epsilon 0.05, delta 0.1 for each comparison");
        }
        Ok(vec![means, each])
    }

    fn draw(&self, tables: &[Data]) -> Result<Vec<(String, Picture)>, ReproduceError> {
        let data = table(tables, "merge-rank")?;
        let mut mean = series(data, "place", &[], ("posterior mean ± sd over runs", 0), Look::Line)?;
        for (point, sd) in mean.points.iter_mut().zip(data.numbers("sd", &[])?) {
            (point.low, point.high) = (point.mean - sd, point.mean + sd);
        }
        let mut truth = series(data, "place", &[], ("θ*", 2), Look::Marks)?;
        for (point, theta) in truth.points.iter_mut().zip(data.numbers("theta", &[])?) {
            (point.mean, point.low, point.high) = (theta, theta, theta);
        }
        let panel = Panel {
            title: String::new(),
            x_label: "option, by true preference".into(),
            y_label: "preference θ".into(),
            log_x: false,
            log_y: false,
            series: vec![mean, truth],
        };
        let mut figure = Panels::new("Preferences recovered from the duels of a ranking algorithm", 1, vec![panel]);
        let runs = data.numbers("runs", &[])?.first().copied().unwrap_or(0.0);
        figure.subtitle =
            Some(format!("{OPTIONS} options, pairs chosen by Merge-Rank, {runs} runs, posterior mean of {DRAWS} draws in each"));
        Ok(vec![("merge-rank".into(), figure.draw()?)])
    }

    fn judge(&self, tables: &[Data]) -> Result<Vec<Claim>, ReproduceError> {
        let runs = table(tables, "merge-rank-runs")?;
        let ratio = |over: &str, under: &dyn Fn(f64) -> f64, by: &str| -> Result<Summary, ReproduceError> {
            let (x, y) = (runs.numbers(over, &[])?, runs.numbers(by, &[])?);
            Ok(Summary::new(&x.iter().zip(&y).map(|(x, y)| x / under(*y)).collect::<Vec<f64>>()))
        };
        let accurate = ratio("deviation", &|y| y, "ignorant")?;
        let few = ratio("pairs", &|_| OPTIONS as f64 * (OPTIONS as f64).log2(), "pairs")?;
        let claim = |id, words| Claim::new("merge-rank", id, "Figure 1", words);
        Ok(vec![
            claim("merge-rank-accurate", "θ* is recovered accurately from as many duels as a ranking algorithm asks for")
                .measured(
                    "Σ|E θ − θ*| as a part of that of equal shares (accurate: below 0.25)",
                    &accurate,
                    Verdict::below(ACCURATE, accurate.low, accurate.high),
                ),
            claim("merge-rank-few", "The number of different presentations is O(K log K)").measured(
                "different pairs over K log₂ K (at most 1)",
                &few,
                Verdict::below(1.0, few.low, few.high),
            ),
        ])
    }
}
