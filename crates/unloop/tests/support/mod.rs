//! Shorthands of the integration tests.
#![allow(dead_code, unreachable_pub)]

use unloop::{OptionId, Posterior, Presentation, Prior, Statistics};

pub fn ids(indices: &[u32]) -> Vec<OptionId> {
    indices.iter().copied().map(OptionId::new).collect()
}

pub fn set(indices: &[u32]) -> Presentation {
    Presentation::new(ids(indices)).expect("a presentation")
}

/// Statistics of rows (members, times each member was chosen).
pub fn statistics(option_count: usize, rows: &[(&[u32], &[f64])]) -> Statistics {
    let mut statistics = Statistics::new(option_count);
    for (members, chosen) in rows {
        for (&k, &count) in members.iter().zip(*chosen) {
            statistics.record(ids(members), OptionId::new(k), count).expect("valid rows");
        }
    }
    statistics
}

pub fn posterior(alpha: &[f64], rows: &[(&[u32], &[f64])]) -> Posterior {
    let prior = Prior::per_option(alpha).expect("a prior");
    Posterior::new(&prior, &statistics(alpha.len(), rows)).expect("a posterior")
}

/// Largest absolute difference.
pub fn distance(x: &[f64], y: &[f64]) -> f64 {
    assert_eq!(x.len(), y.len());
    // NaN must not hide behind max.
    x.iter().zip(y).map(|(x, y)| (x - y).abs()).fold(0.0, |max, d| if d <= max { max } else { d })
}
