//! Whoever computes stops now and then, where that is asked for; results do not depend on it. In a process of its own: it is set once.
#![allow(missing_docs)]

use std::sync::atomic::{AtomicUsize, Ordering};

use unloop::ranking::{Ranking, RankingSettings};
use unloop::sampler::{SampleMethod, SampleSettings};
use unloop::{OptionId, Prior, Statistics};

static CALLS: AtomicUsize = AtomicUsize::new(0);

fn ranking(method: Option<SampleMethod>) -> Ranking {
    let mut statistics = Statistics::new(7);
    for (shown, chosen) in [([0, 1, 2], 1), ([1, 2, 3], 3), ([0, 3, 4], 4), ([2, 4, 5], 2)] {
        statistics.record(shown.map(OptionId::new), OptionId::new(chosen), 2.0).expect("a choice");
    }
    let sample = SampleSettings { draws: 300, method, ..SampleSettings::default() };
    Ranking::new(&Prior::default(), &statistics, &RankingSettings { sample, ..RankingSettings::default() }).expect("a ranking")
}

#[test]
fn rankings_stop_often_and_stay_the_same() {
    let methods = [None, Some(SampleMethod::Gibbs), Some(SampleMethod::Hamiltonian), Some(SampleMethod::Laplace)];
    let before = methods.map(ranking);
    assert!(unloop::set_pause(|| {
        CALLS.fetch_add(1, Ordering::Relaxed);
    }));
    assert!(!unloop::set_pause(|| ()), "it is set once");
    for (method, before) in methods.into_iter().zip(before) {
        CALLS.store(0, Ordering::Relaxed);
        assert_eq!(ranking(method), before, "{method:?}");
        // 1 200 draws of a few microseconds, each looked at when it is made, when it is told and when it is ranked.
        let calls = CALLS.load(Ordering::Relaxed);
        assert!(calls > 2_000, "{method:?}: {calls} times");
    }
}
