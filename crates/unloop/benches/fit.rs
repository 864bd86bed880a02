//! Maximum-likelihood fits from statistics in memory, beside the plain iteration on the same data.
#![allow(missing_docs)]

mod support;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use support::{CHAIN, CHAIN_FIVES, FIVES, PAIRS, SEED, minorise_maximise};
use unloop::{Basis, Posterior, Prior, Statistics};

fn fit(statistics: &Statistics) -> f64 {
    let prior = Prior::symmetric(1.0).expect("α = 1");
    let posterior = Posterior::new(&prior, statistics).expect("counts of choices");
    posterior.map(Basis::Simplex).expect("strongly connected").gradient_norm
}

fn fits(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("fit");
    group.sample_size(10);
    for case in [PAIRS, FIVES, CHAIN, CHAIN_FIVES] {
        let statistics = case.statistics(SEED);
        group.bench_function(case.name, |b| b.iter(|| fit(&statistics)));
        // On badly connected data the plain iteration does not arrive; there is nothing to time.
        if case.window.is_none() {
            let name = format!("{}/plain_iteration", case.name);
            group.bench_function(name, |b| b.iter(|| minorise_maximise(&statistics, 1e-9, 1_000)));
        }
    }
    group.finish();
}

fn evidence(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("evidence");
    group.sample_size(10);
    let ids = |members: &[u32]| members.iter().copied().map(unloop::OptionId::new).collect::<Vec<_>>();
    // Five options, four presentations that cross: four dimensions, the most that quadrature takes.
    let mut statistics = Statistics::new(5);
    let rows: [(&[u32], u32, f64); 8] = [
        (&[0, 1], 0, 3.0),
        (&[0, 1], 1, 2.0),
        (&[1, 2], 1, 4.0),
        (&[1, 2], 2, 3.0),
        (&[2, 3], 2, 2.0),
        (&[2, 3], 3, 3.0),
        (&[0, 2, 4], 0, 2.0),
        (&[0, 2, 4], 4, 5.0),
    ];
    for (members, chosen, times) in rows {
        statistics.record(ids(members), unloop::OptionId::new(chosen), times).expect("valid rows");
    }
    let posterior = Posterior::new(&Prior::default(), &statistics).expect("counts of choices");
    group.bench_function("quadrature_4_dimensions", |b| {
        b.iter_batched(|| (), |()| posterior.ln_evidence().expect("an integral"), BatchSize::SmallInput);
    });
    group.finish();
}

criterion_group!(benches, fits, evidence);
criterion_main!(benches);
