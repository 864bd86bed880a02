//! Instruction counts of the main operations on small cases: repeatable on noisy machines.
//!
//! Needs valgrind and the runner of the same version: `./bench.sh` installs both.
#![allow(missing_docs, unused_qualifications, clippy::disallowed_methods, clippy::disallowed_types)]

mod support;

use std::hint::black_box;

use gungraun::{library_benchmark, library_benchmark_group, main};
use support::{Case, SEED};
use unloop::{Basis, Map, OptionId, Posterior, Presentation, Prior, Statistics};

const PAIRS: Case = Case { name: "pairs", options: 100, size: 2, choices: 20_000, window: None };
const FIVES: Case = Case { name: "fives", options: 100, size: 5, choices: 20_000, window: None };
const CHAIN: Case = Case { name: "chain", options: 300, size: 2, choices: 60_000, window: Some(11) };

type Rows = (Vec<OptionId>, Vec<OptionId>, usize, u32);

fn rows(case: Case) -> Rows {
    let (members, chosen) = case.choices(SEED);
    (members, chosen, case.size, case.options)
}

fn statistics(case: Case) -> Statistics {
    case.statistics(SEED)
}

fn five_options() -> Posterior {
    let ids = |members: &[u32]| members.iter().copied().map(OptionId::new).collect::<Vec<_>>();
    let mut statistics = Statistics::new(4);
    for (members, chosen, times) in [(&[0, 1][..], 0, 3.0), (&[1, 2], 2, 4.0), (&[2, 3], 3, 2.0), (&[0, 2, 3], 0, 5.0)] {
        statistics.record(ids(members), OptionId::new(chosen), times).expect("valid rows");
    }
    Posterior::new(&Prior::default(), &statistics).expect("counts of choices")
}

#[library_benchmark]
#[bench::pairs(setup = rows, args = (PAIRS))]
#[bench::fives(setup = rows, args = (FIVES))]
fn record((members, chosen, size, options): Rows) -> Statistics {
    let mut statistics = Statistics::new(options as usize);
    let rows = members.chunks_exact(size).zip(&chosen).map(|(members, &chosen)| (members.iter().copied(), chosen, 1.0));
    statistics.record_all(rows).expect("valid choices");
    black_box(statistics)
}

#[library_benchmark]
#[bench::pairs(setup = statistics, args = (PAIRS))]
#[bench::fives(setup = statistics, args = (FIVES))]
#[bench::chain(setup = statistics, args = (CHAIN))]
fn fit(statistics: Statistics) -> Map {
    let posterior = Posterior::new(&Prior::symmetric(2.0).expect("α > 0"), &statistics).expect("counts of choices");
    black_box(posterior.map(Basis::Simplex).expect("a maximum"))
}

#[library_benchmark]
#[bench::three_dimensions(setup = five_options)]
fn evidence(posterior: Posterior) -> f64 {
    black_box(posterior.ln_evidence().expect("an integral").ln_value)
}

#[library_benchmark]
#[bench::three_dimensions(setup = five_options)]
fn predict(posterior: Posterior) -> Vec<f64> {
    let pair = Presentation::new([OptionId::new(0), OptionId::new(3)]).expect("a set");
    black_box(posterior.predict(&pair).expect("an integral").probabilities)
}

library_benchmark_group!(name = model; benchmarks = record, fit, evidence, predict);
main!(library_benchmark_groups = model);
