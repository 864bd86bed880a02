//! Recording choices: one by one, and many at once.
#![allow(missing_docs)]

mod support;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use support::{Case, SEED};
use unloop::Statistics;

const TENS: Case = Case { name: "tens_k1e5_t1e6", options: 100_000, size: 10, choices: 1_000_000, window: None };

fn record(criterion: &mut Criterion) {
    let (members, chosen) = TENS.choices(SEED);
    let rows = || members.chunks_exact(TENS.size).zip(&chosen).map(|(members, &chosen)| (members.iter().copied(), chosen, 1.0));
    let mut group = criterion.benchmark_group("record");
    group.sample_size(10).throughput(Throughput::Elements(TENS.choices as u64));
    let empty = || Statistics::new(TENS.options as usize);
    group.bench_function(format!("{}/one_by_one", TENS.name), |b| {
        b.iter_batched_ref(
            empty,
            |statistics| rows().for_each(|(members, chosen, weight)| statistics.record(members, chosen, weight).expect("valid")),
            BatchSize::PerIteration,
        );
    });
    group.bench_function(format!("{}/many", TENS.name), |b| {
        b.iter_batched_ref(empty, |statistics| statistics.record_all(rows()).expect("valid"), BatchSize::PerIteration);
    });
    group.finish();
}

criterion_group!(benches, record);
criterion_main!(benches);
