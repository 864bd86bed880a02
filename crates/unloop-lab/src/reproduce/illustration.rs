//! The two illustrations of the paper's supplement: a history to begin with, then greedy or Thompson sampling, under a model that
//! knows what was presented or under one that does not.
//!
//! Five options with θ*₁ > … > θ*₅. The paper does not say their values, how many rounds there are, nor how large presentations are.

use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use unloop::presenter::{Order, Policy as Forming};
use unloop::random::ln_gamma_draw;
use unloop::sampler::SampleSettings;
use unloop::{OptionId, Posterior, Presenter, Prior, Statistics};
use unloop_plot::{Look, Panel, Panels, Picture};

use super::merge_rank::stream;
use super::rounds::series;
use super::{Data, Plan, ReproduceError, Work};
use crate::policy::top;
use crate::row;
use crate::summary::Summary;
use crate::user::User;

pub(super) const OPTIONS: usize = 5;
const THETA: [f64; OPTIONS] = [0.35, 0.25, 0.2, 0.12, 0.08];
const MARKS: usize = 20;
/// Draws of a posterior whose mean and spread are written down.
const DRAWS: usize = 400;

/// What decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Way {
    /// Whether the model knows what was presented.
    pub(super) aware: bool,
    /// Whether it draws, or takes means.
    pub(super) draws: bool,
}

impl Way {
    pub(super) fn names(self) -> (&'static str, &'static str) {
        (
            if self.aware { "Dirichlet-Luce" } else { "Dirichlet-Multinomial" },
            if self.draws { "Thompson sampling" } else { "greedy" },
        )
    }
}

/// What was presented, and what was chosen; where nothing is said, the simulated person chooses.
pub(super) type Past = (Vec<u32>, Option<u32>);

/// An illustration.
pub(super) struct Illustration {
    pub(super) name: &'static str,
    pub(super) ways: &'static [Way],
    pub(super) size: usize,
    /// Before it begins.
    pub(super) history: fn() -> Vec<Past>,
    /// Which of the random streams.
    pub(super) stream: u64,
}

/// Something that presents and learns.
enum Learner {
    Aware(Box<Presenter>),
    Blind { weights: Vec<f64>, draws: bool },
}

impl Learner {
    fn new(way: Way, history: &Statistics, seed: u64) -> Result<Self, ReproduceError> {
        if way.aware {
            let policy = if way.draws { Forming::Thompson } else { Forming::Greedy };
            let options = (1..=OPTIONS).map(|k| k.to_string());
            let mut presenter = Presenter::builder().options(options).policy(policy).order(Order::Draw).seed(seed).build()?;
            presenter.merge(history)?;
            Ok(Self::Aware(Box::new(presenter)))
        } else {
            let weights = (0..OPTIONS).map(|k| 1.0 + history.chosen(OptionId::new(k as u32))).collect();
            Ok(Self::Blind { weights, draws: way.draws })
        }
    }

    /// One round; what was shown.
    fn round(
        &mut self,
        size: usize,
        user: &User,
        people: &mut ChaCha8Rng,
        rng: &mut ChaCha8Rng,
    ) -> Result<Vec<u32>, ReproduceError> {
        match self {
            Self::Aware(presenter) => {
                let shown = presenter.present(size)?;
                let options: Vec<u32> = shown.options.iter().map(|row| row.option.into()).collect();
                if let Some(chosen) = user.choose(&options, 0, people) {
                    presenter.choose(&shown, OptionId::new(chosen))?;
                }
                Ok(options)
            }
            Self::Blind { weights, draws } => {
                let values: Vec<f64> =
                    weights.iter().map(|&weight| if *draws { ln_gamma_draw(weight, rng) } else { weight }).collect();
                let options = top(&values, size, rng);
                if let Some(chosen) = user.choose(&options, 0, people) {
                    weights[chosen as usize] += 1.0;
                }
                Ok(options)
            }
        }
    }

    /// Posterior mean and standard deviation of each option.
    fn belief(&self, seed: u64) -> Result<Vec<(f64, f64)>, ReproduceError> {
        match self {
            Self::Aware(presenter) => {
                let settings = SampleSettings { draws: DRAWS, chains: 1, seed, ..SampleSettings::default() };
                let draws = Posterior::new(&Prior::default(), &presenter.statistics())?.sample(&settings)?.draws;
                let thetas: Vec<Vec<f64>> = (0..draws.len()).filter_map(|draw| draws.theta(draw)).collect();
                let of = |k: usize| Summary::new(&thetas.iter().map(|theta| theta[k]).collect::<Vec<f64>>());
                Ok((0..OPTIONS).map(of).map(|found| (found.mean, found.sd)).collect())
            }
            Self::Blind { weights, .. } => {
                let total: f64 = weights.iter().sum();
                let spread = |mean: f64| (mean * (1.0 - mean) / (total + 1.0)).sqrt();
                Ok(weights.iter().map(|weight| weight / total).map(|mean| (mean, spread(mean))).collect())
            }
        }
    }
}

/// Beliefs at each mark, and how often each option was shown in the last tenth.
struct Run {
    beliefs: Vec<Vec<(f64, f64)>>,
    late: Vec<f64>,
}

impl Illustration {
    fn run(&self, way: Way, rounds: usize, plan: &Plan, run: usize) -> Result<Run, ReproduceError> {
        let user = User::Luce { theta: THETA.to_vec(), none: None };
        let (mut people, mut rng) = (stream(plan.seed, self.stream, run), stream(plan.seed, self.stream + 1, run));
        let mut history = Statistics::new(OPTIONS);
        for (presented, chosen) in (self.history)() {
            let chosen = chosen.or_else(|| user.choose(&presented, 0, &mut people));
            let Some(chosen) = chosen else { continue };
            history.record(presented.iter().map(|&k| OptionId::new(k)), OptionId::new(chosen), 1.0)?;
        }
        let seed = plan.seed.wrapping_add(run as u64);
        let mut learner = Learner::new(way, &history, seed)?;
        let mut found = Run { beliefs: vec![learner.belief(seed)?], late: vec![0.0; OPTIONS] };
        let late = rounds - rounds / 10;
        for round in 0..rounds {
            let shown = learner.round(self.size, &user, &mut people, &mut rng)?;
            if round >= late {
                shown.iter().for_each(|&k| found.late[k as usize] += 1.0 / (rounds - late) as f64);
            }
            if (round + 1) % (rounds / MARKS) == 0 {
                found.beliefs.push(learner.belief(seed ^ (round as u64) << 20)?);
            }
        }
        Ok(found)
    }

    pub(super) fn cost(&self, runs: usize, rounds: usize) -> u64 {
        self.ways
            .iter()
            .map(|way| if way.aware { (runs * (rounds + 2_000 * MARKS / 20)) as u64 / 100 } else { runs as u64 })
            .sum()
    }

    /// Beliefs over rounds, and the share of late presentations with each option in each run.
    pub(super) fn simulate(&self, runs: usize, rounds: usize, plan: &Plan, work: &Work) -> Result<Vec<Data>, ReproduceError> {
        let mut means = Data::new(self.name, &["model", "policy", "option", "round", "mean", "low", "high", "runs"]);
        let mut each = Data::new(&format!("{}-runs", self.name), &["model", "policy", "run", "option", "shown_late"]);
        for &way in self.ways {
            let cost = self.cost(runs, rounds) as f64 / (runs * self.ways.len()) as f64;
            let played = (0..runs).into_par_iter().map(|i| {
                let run = self.run(way, rounds, plan, i);
                work.add(cost);
                run
            });
            let played = played.collect::<Result<Vec<Run>, ReproduceError>>()?;
            let (model, policy) = way.names();
            for k in 0..OPTIONS {
                for mark in 0..=MARKS {
                    let average = |pick: fn(&(f64, f64)) -> f64| {
                        played.iter().map(|run| pick(&run.beliefs[mark][k])).sum::<f64>() / runs as f64
                    };
                    let (mean, sd) = (average(|belief| belief.0), average(|belief| belief.1));
                    let round = mark * (rounds / MARKS);
                    means.push(row![model, policy, k + 1, round, mean, (mean - sd).max(0.0), mean + sd, runs]);
                }
                for (i, run) in played.iter().enumerate() {
                    each.push(row![model, policy, i, k + 1, run.late[k]]);
                }
            }
        }
        for data in [&mut means, &mut each] {
            data.set("theta", &THETA.map(|x| x.to_string()).join(" "));
            data.set("size", &self.size);
            data.set("rounds", &rounds);
            data.set(
                "low and high",
                "posterior mean less (not below 0) and plus its standard deviation, both averaged over runs",
            );
            data.set("shown_late", "part of the presentations of the last tenth that hold the option");
        }
        Ok(vec![means, each])
    }

    pub(super) fn draw(&self, data: &Data, title: &str, subtitle: &str, columns: usize) -> Result<Picture, ReproduceError> {
        let mut panels = Vec::new();
        for &way in self.ways {
            let (model, policy) = way.names();
            let mut lines = Vec::new();
            for k in 1..=OPTIONS {
                let number = k.to_string();
                let having = [("model", model), ("policy", policy), ("option", number.as_str())];
                lines.push(series(data, "round", &having, (&format!("option {k}"), 6 + k), Look::Line)?);
            }
            panels.push(Panel {
                title: format!("{model}, {policy}"),
                x_label: "rounds after the beginning".into(),
                y_label: "preference θ".into(),
                log_x: false,
                log_y: false,
                series: lines,
            });
        }
        let mut figure = Panels::new(title, columns, panels);
        let runs = data.numbers("runs", &[])?.first().copied().unwrap_or(0.0);
        let theta = data.property("theta").unwrap_or("?");
        figure.subtitle =
            Some(format!("{subtitle}. θ* = {theta}; {runs} runs; posterior mean and standard deviation, averaged over runs"));
        Ok(figure.draw()?)
    }
}

/// Part of late presentations with an option, run by run.
pub(super) fn shown_late(runs: &Data, way: Way, option: usize) -> Result<Vec<f64>, ReproduceError> {
    let (model, policy) = way.names();
    Ok(runs.numbers("shown_late", &[("model", model), ("policy", policy), ("option", &option.to_string())])?)
}
