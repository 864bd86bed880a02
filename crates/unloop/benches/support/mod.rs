//! Choices made by seed for the benchmarks: θ* ~ Dirichlet(1), presentations at random, choices by Luce's rule.
#![allow(missing_docs, dead_code, unreachable_pub)]

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use unloop::{OptionId, Statistics};

/// What is presented.
#[derive(Clone, Copy)]
pub struct Case {
    pub name: &'static str,
    pub options: u32,
    pub size: usize,
    pub choices: usize,
    /// Members of a presentation lie within a window of this many neighbours; all options if none.
    pub window: Option<u32>,
}

/// With this seed every option of the cases below is chosen at least once over others, so a maximum-likelihood estimate exists.
pub const SEED: u64 = 2;

pub const PAIRS: Case = Case { name: "pairs_k1000_t1e6", options: 1_000, size: 2, choices: 1_000_000, window: None };
pub const FIVES: Case = Case { name: "fives_k1000_t1e6", options: 1_000, size: 5, choices: 1_000_000, window: None };
/// Options at most 10 places apart meet.
pub const CHAIN: Case = Case { name: "pairs_window10_k1000_t1e6", options: 1_000, size: 2, choices: 1_000_000, window: Some(11) };
pub const CHAIN_FIVES: Case =
    Case { name: "fives_window20_k1000_t1e6", options: 1_000, size: 5, choices: 1_000_000, window: Some(20) };
pub const LARGE: Case = Case { name: "tens_k1e5_t1e7", options: 100_000, size: 10, choices: 10_000_000, window: None };

impl Case {
    /// Members and choice of each presentation, in order.
    pub fn each(&self, seed: u64, mut f: impl FnMut(&[OptionId], OptionId)) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let theta: Vec<f64> = (0..self.options).map(|_| exponential(&mut rng)).collect();
        let mut members = Vec::with_capacity(self.size);
        for _ in 0..self.choices {
            self.present(&mut rng, &mut members);
            let total: f64 = members.iter().map(|k: &OptionId| theta[k.index()]).sum();
            let mut u = rng.random::<f64>() * total;
            let mut chosen = members[0];
            for &k in &members {
                chosen = k;
                u -= theta[k.index()];
                if u < 0.0 {
                    break;
                }
            }
            f(&members, chosen);
        }
    }

    fn present<R: Rng>(&self, rng: &mut R, members: &mut Vec<OptionId>) {
        members.clear();
        let span = self.window.unwrap_or(self.options);
        // Pairs: uniform among those close enough. Larger sets: a window, then members inside it.
        let start = match self.window {
            Some(span) => rng.random_range(0..=self.options - span),
            None => 0,
        };
        while members.len() < self.size {
            let k = OptionId::new(start + rng.random_range(0..span));
            if !members.contains(&k) {
                members.push(k);
            }
        }
    }

    /// Members of all presentations one after the other, and the choices.
    pub fn choices(&self, seed: u64) -> (Vec<OptionId>, Vec<OptionId>) {
        let (mut all, mut chosen) = (Vec::with_capacity(self.size * self.choices), Vec::with_capacity(self.choices));
        self.each(seed, |members, choice| {
            all.extend_from_slice(members);
            chosen.push(choice);
        });
        (all, chosen)
    }

    pub fn statistics(&self, seed: u64) -> Statistics {
        let mut statistics = Statistics::new(self.options as usize);
        self.each(seed, |members, chosen| {
            statistics.record(members.iter().copied(), chosen, 1.0).expect("generated choices are valid");
        });
        statistics
    }
}

fn exponential<R: Rng>(rng: &mut R) -> f64 {
    -(1.0 - rng.random::<f64>()).ln()
}

/// What most packages do: λ_k ← y_k / Σ_{C∋k} μ(C)/S_C, here over flat arrays. Passes until the largest relative gradient is below
/// the tolerance, at most `max_passes`; the passes and the gradient reached.
pub fn minorise_maximise(statistics: &Statistics, tolerance: f64, max_passes: usize) -> (usize, f64) {
    let columns: Vec<(&[OptionId], f64)> = statistics.iter().collect();
    let y = statistics.all_chosen();
    let mut lambda = vec![1.0; y.len()];
    for pass in 1..=max_passes {
        let mut rates = vec![0.0; y.len()];
        for (members, count) in &columns {
            let rate = count / members.iter().map(|k| lambda[k.index()]).sum::<f64>();
            for k in *members {
                rates[k.index()] += rate;
            }
        }
        let mut largest = 0.0_f64;
        for k in 0..y.len() {
            largest = largest.max((y[k] - lambda[k] * rates[k]).abs() / y[k]);
            lambda[k] = y[k] / rates[k];
        }
        if largest <= tolerance || pass == max_passes {
            return (pass, largest);
        }
    }
    (0, f64::NAN)
}
