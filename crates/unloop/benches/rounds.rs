//! Samplers that follow the choices: K = 50 options, T rounds of Thompson sampling with a simulated person.
//!
//! `cargo bench -p unloop --bench rounds [-- NAME …] [-- --seeds N]`, names `bounded`, `lazy`, `gibbs`, `paper`; all but `paper` by
//! default. One core. θ* ~ Dirichlet(0.1) (sparse) or Dirichlet(2) (dense), one vector of each. Regrets are the paper's: what
//! the best options of θ* have more than those shown, at the top 1 … L in the order shown; for L = 2 the weak one, the smallest
//! P(best ≻ shown) − ½. Of a bounded step the random numbers are about half; the last line of its table prints them alone.
#![allow(missing_docs, clippy::disallowed_methods, clippy::disallowed_types, clippy::print_stdout)]

use std::time::Instant;

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Gamma};
use unloop::sampler::{BoundedGibbs, Smc, SmcSettings};
use unloop::{Choice, OptionId, Presentation, Prior};

const OPTIONS: usize = 50;
const ROUNDS: usize = 10_000;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let seeds = arguments.iter().position(|argument| argument == "--seeds").and_then(|at| arguments.get(at + 1)?.parse().ok());
    let asked = |name: &str, default: bool| {
        let named = arguments.iter().any(|argument| argument == name);
        named || (default && !arguments.iter().any(|argument| ["bounded", "lazy", "gibbs", "paper"].contains(&&**argument)))
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("one thread");
    pool.install(|| {
        if asked("bounded", true) {
            bounded();
        }
        if asked("lazy", true) {
            lazy();
        }
        if asked("gibbs", true) {
            println!("\nSMC, Gibbs sweeps, N = 1 000, systematic");
            table(seeds.unwrap_or(3), |seed| {
                Smc::new(&Prior::default(), OPTIONS, SmcSettings { seed, ..SmcSettings::default() }).expect("settings")
            });
        }
        if asked("paper", false) {
            println!("\nSMC as printed: Metropolis steps, N = 10 000, multinomial, every option carried");
            table(seeds.unwrap_or(1), |seed| Smc::paper(&Prior::default(), OPTIONS, seed).expect("settings"));
        }
    });
}

/// Preferences ~ Dirichlet(α), at least 10⁻¹².
fn preferences(alpha: f64, seed: u64) -> Vec<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let gamma = Gamma::new(alpha, 1.0).expect("a shape");
    let draws: Vec<f64> = (0..OPTIONS).map(|_| gamma.sample(&mut rng)).collect();
    let total: f64 = draws.iter().sum();
    draws.iter().map(|x| (x / total).max(1e-12)).collect()
}

fn choose<R: Rng>(theta: &[f64], shown: &[OptionId], rng: &mut R) -> Choice {
    let total: f64 = shown.iter().map(|k| theta[k.index()]).sum();
    let mut u = rng.random::<f64>() * total;
    let chosen = shown.iter().find(|k| {
        u -= theta[k.index()];
        u < 0.0
    });
    let presentation = Presentation::new(shown.iter().copied()).expect("a set");
    presentation.choose(*chosen.unwrap_or(&shown[0])).expect("a member")
}

/// Cumulative regret: at the top 1 … L, and the weak one.
struct Regret {
    theta: Vec<f64>,
    sorted: Vec<f64>,
    top: Vec<f64>,
    weak: f64,
}

impl Regret {
    fn new(theta: &[f64], size: usize) -> Self {
        let mut sorted = theta.to_vec();
        sorted.sort_by(|x, y| y.total_cmp(x));
        Self { theta: theta.to_vec(), sorted, top: vec![0.0; size], weak: 0.0 }
    }

    fn add(&mut self, shown: &[OptionId]) {
        let mut gap = 0.0;
        for (n, option) in shown.iter().enumerate() {
            gap += self.sorted[n] - self.theta[option.index()];
            self.top[n] += gap;
        }
        let best = self.sorted[0];
        self.weak += shown.iter().map(|k| best / (best + self.theta[k.index()]) - 0.5).fold(f64::INFINITY, f64::min);
    }
}

/// A row for each kind of preferences and size of presentations, over seeds.
fn table(seeds: u64, make: impl Fn(u64) -> Smc) {
    println!(
        "{:<7} {:>2} {:>5} {:>9} {:>9} {:>9} {:>8}  regret (weak; top 1 … L), mean±sd",
        "θ*", "L", "seeds", "s / run", "resampled", "distinct", "accepted"
    );
    for (kind, alpha, seed) in [("sparse", 0.1, 1), ("dense", 2.0, 2)] {
        let theta = preferences(alpha, seed);
        for size in [2, 5] {
            let (mut seconds, mut resampled, mut distinct) = (0.0, 0, 0);
            let (mut weak, mut top) = (Vec::new(), vec![Vec::new(); size]);
            let mut acceptance = Vec::new();
            for seed in 0..seeds {
                let mut person = ChaCha8Rng::seed_from_u64(1_000 + seed);
                let mut regret = Regret::new(&theta, size);
                let mut seen = std::collections::HashSet::new();
                let start = Instant::now();
                let mut smc = make(seed);
                for _ in 0..ROUNDS {
                    let shown = smc.top(size);
                    regret.add(&shown);
                    let choice = choose(&theta, &shown, &mut person);
                    if let Some(moved) = smc.record(&choice, 1.0).expect("a choice").moved {
                        resampled += moved.resampled;
                        acceptance.push(moved.acceptance);
                    }
                    seen.insert(choice.presentation().clone());
                }
                seconds += start.elapsed().as_secs_f64();
                distinct += seen.len();
                weak.push(regret.weak);
                top.iter_mut().zip(&regret.top).for_each(|(all, &x)| all.push(x));
            }
            let n = seeds as f64;
            let top: Vec<String> = top.iter().map(|runs| spread(runs)).collect();
            println!(
                "{kind:<7} {size:>2} {seeds:>5} {:>9.2} {:>9.0} {:>9.0} {:>8.3}  {}; {}",
                seconds / n,
                resampled as f64 / n,
                distinct as f64 / n,
                acceptance.iter().sum::<f64>() / acceptance.len() as f64,
                spread(&weak),
                top.join(" "),
            );
        }
    }
}

/// Mean over runs and their standard deviation.
fn spread(runs: &[f64]) -> String {
    let n = runs.len() as f64;
    let mean = runs.iter().sum::<f64>() / n;
    let deviation = (runs.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0)).sqrt();
    format!("{mean:.0}±{deviation:.0}")
}

/// A bounded step, a draw and its top 5, after T rounds; what of it are the random numbers.
fn bounded() {
    println!("bounded steps, after {ROUNDS} rounds of 5 from {OPTIONS}");
    for (kind, alpha, seed) in [("sparse", 0.1, 1), ("dense", 2.0, 2)] {
        let theta = preferences(alpha, seed);
        let mut sampler = BoundedGibbs::new(&Prior::default(), OPTIONS, 1).expect("a prior");
        let mut person = ChaCha8Rng::seed_from_u64(1);
        let mut regret = Regret::new(&theta, 5);
        let start = Instant::now();
        for _ in 0..ROUNDS {
            sampler.step(BoundedGibbs::BUDGET);
            let shown = sampler.top(5);
            regret.add(&shown);
            sampler.record(&choose(&theta, &shown, &mut person), 1.0).expect("a choice");
        }
        let whole = start.elapsed().as_secs_f64() / ROUNDS as f64;
        let [step, top] = [true, false].map(|step| {
            time(|| if step { sampler.step(BoundedGibbs::BUDGET) } else { drop(std::hint::black_box(sampler.top(5))) })
        });
        let top_regret: Vec<String> = regret.top.iter().map(|x| format!("{x:.0}")).collect();
        println!(
            "{kind:<7} step {:.2} µs + draw and top 5 {:.2} µs = {:.2} µs; a round with its choice {:.2} µs; regret {:.0}; {}",
            step * 1e6,
            top * 1e6,
            (step + top) * 1e6,
            whole * 1e6,
            regret.weak,
            top_regret.join(" "),
        );
    }
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let gamma = Gamma::new(30.0, 1.0).expect("a shape");
    let draws = time(|| {
        std::hint::black_box((0..96).map(|_| gamma.sample(&mut rng)).sum::<f64>());
    });
    println!("96 Gamma(30) draws, the random numbers of a step: {:.2} µs", draws * 1e6);
}

/// A draw and its top 10 with 100 explored options among 10³ and 10⁶.
fn lazy() {
    println!("\ntop 10 of a draw, 100 explored options");
    for alpha in [1.0, 0.7] {
        let mut times = Vec::new();
        for options in [1_000, 1_000_000] {
            let mut sampler = BoundedGibbs::new(&Prior::symmetric(alpha).expect("α"), options, 1).expect("a prior");
            let mut rng = ChaCha8Rng::seed_from_u64(1);
            for i in 0..100 {
                let pair = [i, (i + rng.random_range(1..100)) % 100].map(OptionId::new);
                let presentation = Presentation::new(pair).expect("a set");
                sampler.record(&presentation.choose(pair[0]).expect("a member"), 1.0).expect("a choice");
            }
            times.push(time(|| drop(std::hint::black_box(sampler.top(10)))));
        }
        println!(
            "α = {alpha}: K = 10³ {:.2} µs, K = 10⁶ {:.2} µs, ratio {:.2}",
            times[0] * 1e6,
            times[1] * 1e6,
            times[1] / times[0]
        );
    }
}

/// Seconds for each call: the best of several runs.
fn time(mut f: impl FnMut()) -> f64 {
    const CALLS: u32 = 20_000;
    (0..7)
        .map(|_| {
            let start = Instant::now();
            (0..CALLS).for_each(|_| f());
            start.elapsed().as_secs_f64() / f64::from(CALLS)
        })
        .fold(f64::INFINITY, f64::min)
}
