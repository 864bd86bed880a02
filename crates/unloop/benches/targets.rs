//! The sizes this library is built for, each with its time, passes and memory, in one table.
//!
//! `cargo bench -p unloop --bench targets`, or with a part of a name to run one. Fits are from statistics in memory to the estimate,
//! best of five (one for the large case); recording is the best of three. The plain iteration runs in the same process for comparison; it stops at the same
//! gradient, or after 300 passes where it does not arrive.
#![allow(missing_docs, clippy::disallowed_methods, clippy::disallowed_types, clippy::print_stdout)]

mod support;

use std::time::{Duration, Instant};

use support::{CHAIN, CHAIN_FIVES, Case, FIVES, LARGE, PAIRS, SEED, minorise_maximise};
use unloop::{Basis, Posterior, Prior, Statistics};

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let runs = |name: &str| wanted.is_empty() || wanted.iter().any(|part| name.contains(part.as_str()));
    println!("{:<28} {:>10} {:>7} {:>10} {:>10}   plain iteration", "case", "fit", "passes", "gradient", "L1 change");
    for case in [PAIRS, FIVES, CHAIN, CHAIN_FIVES].into_iter().filter(|case| runs(case.name)) {
        fit(case, 1.0, 5, &case.statistics(SEED));
    }
    if runs(LARGE.name) {
        let statistics = record();
        fit(LARGE, 2.0, 1, &statistics);
        println!("peak memory of the process, generated choices included: {} MB", peak_megabytes());
    }
}

fn fit(case: Case, alpha: f64, times: usize, statistics: &Statistics) {
    let prior = Prior::symmetric(alpha).expect("α > 0");
    let once = || {
        let start = Instant::now();
        let posterior = Posterior::new(&prior, statistics).expect("counts of choices");
        let map = posterior.map(Basis::Simplex).expect("a maximum");
        (start.elapsed(), map, posterior)
    };
    let (mut best, map, posterior) = once();
    for _ in 1..times {
        best = best.min(once().0);
    }
    // How far a much tighter tolerance moves the estimate: the error of what was timed.
    let settings = unloop::MapSettings { tolerance: 1e-12, start: Some(map.theta.clone()), ..unloop::MapSettings::default() };
    let tight = match posterior.map_with(Basis::Simplex, &settings) {
        Ok(map) => map,
        Err(unloop::MapError::NotConverged { best }) => *best,
        Err(error) => panic!("{error}"),
    };
    let change: f64 = map.theta.iter().zip(&tight.theta).map(|(x, y)| (x - y).abs()).sum();
    let plain = if alpha == 1.0 {
        let start = Instant::now();
        let (passes, gradient) = minorise_maximise(statistics, 1e-9, 300);
        let time = start.elapsed();
        let ratio = time.as_secs_f64() / best.as_secs_f64();
        format!("{passes} passes, gradient {gradient:.0e}, {}: {ratio:.1} times as long", seconds(time))
    } else {
        String::new()
    };
    println!(
        "{:<28} {:>10} {:>7} {:>10.0e} {:>10.0e}   {plain}",
        case.name,
        seconds(best),
        map.iterations,
        map.gradient_norm,
        change
    );
}

fn record() -> Statistics {
    let (members, chosen) = LARGE.choices(SEED);
    let rows = members.chunks_exact(LARGE.size).zip(&chosen).map(|(members, &chosen)| (members.iter().copied(), chosen, 1.0));
    let mut time = Duration::MAX;
    let mut statistics = Statistics::new(0);
    // Fresh memory is slow to touch on some machines, so the best of three.
    for _ in 0..3 {
        statistics = Statistics::new(LARGE.options as usize);
        let start = Instant::now();
        statistics.record_all(rows.clone()).expect("valid choices");
        time = time.min(start.elapsed());
    }
    let each = statistics.heap_bytes() as f64 / statistics.distinct() as f64;
    println!(
        "recording {} choices of {}: {}, {each:.1} bytes for each distinct presentation",
        LARGE.choices,
        LARGE.size,
        seconds(time)
    );
    statistics
}

fn seconds(time: Duration) -> String {
    format!("{:.3} s", time.as_secs_f64())
}

/// The high-water mark of resident memory, where the system tells.
fn peak_megabytes() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes: Option<u64> = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
    kilobytes.map_or("unknown".to_owned(), |kilobytes| (kilobytes / 1024).to_string())
}
