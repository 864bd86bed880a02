//! Effective draws per second, on one core: K = 50, one of 5, T choices from distinct presentations, Dirichlet(1).
//!
//! `cargo bench -p unloop --bench samplers [-- hamiltonian|gibbs]`. The smallest bulk effective sample size over all options, by the time of the whole call,
//! mode and warm-up included, for chains long enough that these hardly count; then the cost of the random numbers alone: some 2 % of a
//! trajectory at T = 1 000, which is passes over the presentations and two multiplications by the whitening. Of a Gibbs sweep the
//! generator alone is a sixth (perf), the logarithms that make exponentials of its bits another tenth.
#![allow(missing_docs, clippy::disallowed_methods, clippy::disallowed_types, clippy::print_stdout)]

mod support;

use std::time::Instant;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use support::{Case, SEED};
use unloop::sampler::{SampleMethod, SampleSettings};
use unloop::{Posterior, Prior};

fn main() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("one thread");
    pool.install(run);
}

fn run() {
    println!(
        "{:<12} {:>12} {:>10} {:>10} {:>14} {:>14} {:>12} {:>8} {:>11}",
        "method", "choices", "draws", "time", "bulk ESS / s", "tail ESS / s", "ESS / draw", "R-hat", "acceptance"
    );
    for choices in [1_000, 10_000] {
        let case = Case { name: "fives_k50", options: 50, size: 5, choices, window: None };
        let posterior = Posterior::new(&Prior::default(), &case.statistics(SEED)).expect("counts of choices");
        for method in [SampleMethod::Hamiltonian, SampleMethod::Gibbs] {
            let only = std::env::args().skip(1).find(|argument| argument != "--bench");
            if only.is_some_and(|only| only != format!("{method:?}").to_lowercase()) {
                continue;
            }
            let draws = 20_000_000 / choices / if method == SampleMethod::Gibbs { 4 } else { 1 };
            let settings = SampleSettings { draws, chains: 4, seed: 1, method: Some(method), visits: None };
            let start = Instant::now();
            let sample = posterior.sample(&settings).expect("draws");
            let seconds = start.elapsed().as_secs_f64();
            println!(
                "{:<12} {choices:>12} {:>10} {:>8.3} s {:>14.0} {:>14.0} {:>12.2} {:>8.4} {:>11.2}",
                format!("{method:?}"),
                sample.draws.len(),
                seconds,
                sample.report.bulk_ess / seconds,
                sample.report.tail_ess / seconds,
                sample.report.bulk_ess / sample.draws.len() as f64,
                sample.report.r_hat,
                sample.report.acceptance,
            );
        }
    }
    let mut rng = ChaCha8Rng::seed_from_u64(SEED);
    let start = Instant::now();
    let normals = 10_000_000;
    let sum: f64 = (0..normals).map(|_| -> f64 { StandardNormal.sample(&mut rng) }).sum();
    let each = start.elapsed().as_secs_f64() / f64::from(normals);
    println!("50 normals, the random numbers of a trajectory: {:.2} µs ({sum:.0})", 50.0 * each * 1e6);
}
