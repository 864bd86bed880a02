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

/// A choice from the set by Luce's rule with these preferences.
pub fn choose<R: rand::Rng>(theta: &[f64], members: &[u32], rng: &mut R) -> unloop::Choice {
    use rand::RngExt;
    let total: f64 = members.iter().map(|&k| theta[k as usize]).sum();
    let mut u = rng.random::<f64>() * total;
    let chosen = members.iter().copied().find(|&k| {
        u -= theta[k as usize];
        u < 0.0
    });
    set(members).choose(OptionId::new(chosen.unwrap_or(members[0]))).expect("a member")
}

/// `size` different options below `option_count`, ascending.
pub fn random_set<R: rand::Rng>(option_count: u32, size: usize, rng: &mut R) -> Vec<u32> {
    use rand::RngExt;
    let mut members = Vec::new();
    while members.len() < size {
        let k = rng.random_range(0..option_count);
        if !members.contains(&k) {
            members.push(k);
        }
    }
    members.sort_unstable();
    members
}

/// P(Beta(a, b) ≤ x).
pub fn beta_cdf(a: f64, b: f64, x: f64) -> f64 {
    statrs::function::beta::beta_reg(a, b, x.clamp(0.0, 1.0))
}
