//! The feedback loop itself: a Dirichlet-Multinomial, which counts choices and forgets what was shown.

use rand_chacha::ChaCha8Rng;
use unloop::random::ln_gamma_draw;

use crate::policy::{Policy, top};

/// Exposure-blind Thompson sampling: θ ~ Dirichlet(α + choices), the largest are shown.
pub struct Blind {
    weights: Vec<f64>,
}

impl Blind {
    /// Over so many options with a prior weight each.
    pub fn new(count: usize, alpha: f64) -> Self {
        Self { weights: vec![alpha; count] }
    }

    /// What it believes each option's share to be: the mean of Dirichlet(α + choices).
    pub fn shares(&self) -> Vec<f64> {
        let total: f64 = self.weights.iter().sum();
        self.weights.iter().map(|weight| weight / total).collect()
    }
}

impl Policy for Blind {
    fn present(&mut self, size: usize, shown: &mut Vec<u32>, rng: &mut ChaCha8Rng) {
        let draws: Vec<f64> = self.weights.iter().map(|&weight| ln_gamma_draw(weight, rng)).collect();
        *shown = top(&draws, size, rng);
    }

    fn choose(&mut self, _: &[u32], chosen: Option<u32>, _: &mut ChaCha8Rng) {
        if let Some(chosen) = chosen {
            self.weights[chosen as usize] += 1.0;
        }
    }
}
