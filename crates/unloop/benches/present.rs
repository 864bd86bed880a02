//! A decision: present and choose, beside a simulated person whose time is not counted.
//!
//! `cargo bench -p unloop --bench present [-- million]`. One core; of each row the median of five repeats. Flat in T: the rounds 90 000 to 100 000
//! against the rounds 9 000 to 10 000. Memory is what the process grows by while one context learns.
#![allow(missing_docs, clippy::disallowed_methods, clippy::disallowed_types, clippy::print_stdout)]

use std::time::Instant;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Gamma};
use unloop::presenter::{Policy, PresenterBuilder, Request, Shown};
use unloop::sampler::BoundedGibbs;
use unloop::{OptionId, Options, Presenter, Prior};

fn preferences(count: usize, alpha: f64, seed: u64) -> Vec<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let gamma = Gamma::new(alpha, 1.0).expect("a shape");
    (0..count).map(|_| gamma.sample(&mut rng).max(1e-12)).collect()
}

fn choose(theta: &[f64], shown: &Shown, rng: &mut ChaCha8Rng) -> OptionId {
    let weight = |option: OptionId| theta[option.index() % theta.len()];
    let total: f64 = shown.options.iter().map(|row| weight(row.option)).sum();
    let mut left = rng.random::<f64>() * total;
    let chosen = shown.options.iter().find(|row| {
        left -= weight(row.option);
        left < 0.0
    });
    chosen.unwrap_or(&shown.options[0]).option
}

fn builder(count: usize) -> PresenterBuilder {
    Presenter::builder().options((0..count).map(|k| k.to_string())).seed(1)
}

/// Microseconds of a round, between two rounds; how long the person takes is taken off.
fn time(presenter: &mut Presenter, theta: &[f64], size: usize, rounds: usize, rng: &mut ChaCha8Rng) -> f64 {
    let mut seconds = 0.0;
    for _ in 0..rounds {
        let began = Instant::now();
        let shown = presenter.present(size).expect("options");
        seconds += began.elapsed().as_secs_f64();
        let chosen = choose(theta, &shown, rng);
        let began = Instant::now();
        presenter.choose(&shown, chosen).expect("presented");
        seconds += began.elapsed().as_secs_f64();
    }
    // Two readings of the clock for each round.
    let began = Instant::now();
    for _ in 0..rounds {
        std::hint::black_box((Instant::now(), Instant::now()));
    }
    1e6 * (seconds - began.elapsed().as_secs_f64()) / rounds as f64
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    // First, while nothing was freed that could be used again.
    memory();
    resuming();
    if !std::env::args().any(|argument| argument == "million") {
        fifty();
    }
    million();
}

/// Resident bytes of this process, where the system tells; 0 elsewhere.
fn resident() -> f64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    text.split_whitespace().nth(1).and_then(|pages| pages.parse::<f64>().ok()).map_or(0.0, |pages| 4_096.0 * pages)
}

/// What contexts hold: one with many distinct presentations of 5 out of 1 000, and many with few out of 50; one choice each.
fn memory() {
    println!("memory, presentations of 5");
    println!("{:>9} {:>9} {:>14} {:>18} {:>18}", "contexts", "options", "presentations", "bytes a context", "64 D + 64 |E|");
    for (contexts, options, count) in [(1, 1_000_u32, 300_000), (300, 50, 1_000)] {
        let mut rng = ChaCha8Rng::seed_from_u64(9);
        let before = resident();
        let held: Vec<Presenter> = (0..contexts).map(|_| context(options, count, &mut rng)).collect();
        let bytes = (resident() - before) / f64::from(contexts);
        let distinct = held[0].statistics().distinct();
        let target = 64 * distinct + 64 * options as usize;
        println!("{contexts:>9} {options:>9} {distinct:>14} {bytes:>18.0} {target:>18}");
    }
    println!();
}

fn context(options: u32, count: usize, rng: &mut ChaCha8Rng) -> Presenter {
    let mut presenter = builder(options as usize).build().expect("a presenter");
    for _ in 0..count {
        let mut pinned: Vec<OptionId> = Vec::new();
        while pinned.len() < 5 {
            let option = OptionId::new(rng.random_range(0..options));
            if !pinned.contains(&option) {
                pinned.push(option);
            }
        }
        let request = Request { size: 5, pinned, policy: Some(Policy::Greedy), ..Request::default() };
        let shown = presenter.present_with(&request).expect("options");
        presenter.choose(&shown, shown.options[0].option).expect("presented");
    }
    presenter
}

/// Until a presenter with past choices has decided for the first time: what whoever comes back waits for.
fn resuming() {
    println!("first decision with past choices of 5 out of 300, ms");
    println!("{:>9} {:>12} {:>14}", "choices", "resumed", "from the mode");
    for count in [100, 1_000, 10_000] {
        let mut rng = ChaCha8Rng::seed_from_u64(10);
        let (options, statistics) =
            (Options::from_names((0..300).map(|k| k.to_string())).expect("names"), context(300, count, &mut rng).statistics());
        let prior = Prior::per_option(vec![1.0; 300]).expect("weights");
        let begin = || builder(0).shared_options(options.clone(), vec![1.0; 300]);
        let resumed = median(
            (0..9)
                .map(|_| {
                    milliseconds(|| {
                        begin().build_with(&statistics).expect("a presenter").present(5).expect("options").options.len()
                    })
                })
                .collect(),
        );
        let mode = median(
            (0..9)
                .map(|_| milliseconds(|| BoundedGibbs::from_statistics(&prior, &statistics, 1).expect("a chain").top(5).len()))
                .collect(),
        );
        println!("{count:>9} {resumed:>12.2} {mode:>14.2}");
    }
    println!();
}

fn milliseconds(work: impl FnOnce() -> usize) -> f64 {
    let start = Instant::now();
    std::hint::black_box(work());
    1e3 * start.elapsed().as_secs_f64()
}

fn fifty() {
    println!("present + choose, K = 50, L = 5, µs a round");
    println!("{:<34} {:>7} {:>18} {:>22} {:>6}", "policy", "θ*", "rounds 9–10 000", "rounds 90–100 000", "ratio");
    let anchored = Policy::Anchored { explore: None, boldness: None };
    for (name, policy, learn) in
        [("thompson", Policy::Thompson, false), ("anchored, learned prior", anchored, true), ("greedy", Policy::Greedy, false)]
    {
        for (kind, alpha) in [("sparse", 0.1), ("dense", 2.0)] {
            let theta = preferences(50, alpha, 1);
            let (mut early, mut late) = (Vec::new(), Vec::new());
            for seed in 0..5 {
                let mut rng = ChaCha8Rng::seed_from_u64(seed);
                let mut presenter = builder(50).policy(policy).learn_prior(learn).seed(seed).build().expect("a presenter");
                time(&mut presenter, &theta, 5, 9_000, &mut rng);
                early.push(time(&mut presenter, &theta, 5, 1_000, &mut rng));
                time(&mut presenter, &theta, 5, 80_000, &mut rng);
                late.push(time(&mut presenter, &theta, 5, 10_000, &mut rng));
            }
            let (early, late) = (median(early), median(late));
            println!("{name:<34} {kind:>7} {early:>18.2} {late:>22.2} {:>6.2}", late / early);
        }
    }
}

fn million() {
    let theta = preferences(1_000, 2.0, 2);
    let mut presenter = builder(1_000_000).build().expect("a presenter");
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    for i in 0..10_000_u32 {
        let pinned = (0..5).map(|j| OptionId::new((i * 7 + j * 211) % 1_000)).collect();
        let shown = presenter.present_with(&Request { size: 5, pinned, ..Request::default() }).expect("options");
        let chosen = choose(&theta, &shown, &mut rng);
        presenter.choose(&shown, chosen).expect("presented");
    }
    // Of a million options others come up each time: after 100 rounds 1 500 are explored.
    let mut times = Vec::new();
    for _ in 0..100 {
        let began = Instant::now();
        let shown = presenter.present(5).expect("options");
        let seconds = began.elapsed().as_secs_f64();
        let chosen = choose(&theta, &shown, &mut rng);
        let began = Instant::now();
        presenter.choose(&shown, chosen).expect("presented");
        times.push(1e6 * (seconds + began.elapsed().as_secs_f64()));
    }
    println!("\nK = 10⁶ of which 1 000 to 1 500 explored, 10 000 choices: {:.2} µs a round", median(times));
}
