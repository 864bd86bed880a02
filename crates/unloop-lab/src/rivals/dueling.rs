//! Double Thompson sampling (Wu & Liu 2016), for pairs.
//!
//! B_ij counts wins of i over j. Candidates for the first place are the options whose upper bounds beat most others; a draw of all
//! chances picks among them. The second is the strongest opponent in a fresh draw, among those that the first does not beat for sure.

use rand_chacha::ChaCha8Rng;
use rand_distr::{Beta, Distribution};

use crate::policy::{Policy, argmax};

/// Settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DoubleThompsonSettings {
    /// Width of the bounds: theory asks for more than ½. 0.51 by default.
    pub alpha: f64,
    /// Whether ties of the first pick are broken by the expected regret (D-TS+), not at random.
    pub plus: bool,
}

impl Default for DoubleThompsonSettings {
    fn default() -> Self {
        Self { alpha: 0.51, plus: false }
    }
}

/// D-TS and D-TS+.
pub struct DoubleThompson {
    settings: DoubleThompsonSettings,
    count: usize,
    wins: Vec<f64>,
    round: f64,
}

impl DoubleThompson {
    /// Over so many options.
    pub fn new(count: usize, settings: DoubleThompsonSettings) -> Self {
        Self { settings, count, wins: vec![0.0; count * count], round: 0.0 }
    }

    fn wins(&self, i: usize, j: usize) -> f64 {
        self.wins[i * self.count + j]
    }

    /// Bound of P(i beats j), above for `side` 1, below for −1. What was never played is anything.
    fn bound(&self, i: usize, j: usize, side: f64) -> f64 {
        if i == j {
            return 0.5;
        }
        let n = self.wins(i, j) + self.wins(j, i);
        if n == 0.0 {
            return 1.0 + side;
        }
        self.wins(i, j) / n + side * (self.settings.alpha * self.round.ln() / n).sqrt()
    }

    /// A draw of P(i beats j).
    fn draw(&self, i: usize, j: usize, rng: &mut ChaCha8Rng) -> f64 {
        Beta::new(self.wins(i, j) + 1.0, self.wins(j, i) + 1.0).map_or(0.5, |beta| beta.sample(rng))
    }

    fn first(&self, rng: &mut ChaCha8Rng) -> usize {
        let k = self.count;
        let likely: Vec<usize> = (0..k).map(|i| (0..k).filter(|&j| j != i && self.bound(i, j, 1.0) > 0.5).count()).collect();
        let most = likely.iter().copied().max().unwrap_or(0);
        let mut theta = vec![0.5; k * k];
        for i in 0..k {
            for j in i + 1..k {
                let p = self.draw(i, j, rng);
                (theta[i * k + j], theta[j * k + i]) = (p, 1.0 - p);
            }
        }
        let beaten: Vec<f64> = (0..k).map(|i| (0..k).filter(|&j| j != i && theta[i * k + j] > 0.5).count() as f64).collect();
        let candidate = |i: usize| likely[i] == most;
        let largest = (0..k).filter(|&i| candidate(i)).map(|i| beaten[i]).fold(0.0, f64::max);
        let score = |i: usize| match candidate(i) && beaten[i] == largest {
            false => f64::NEG_INFINITY,
            true if !self.settings.plus => 0.0,
            true => {
                let cost = |j: usize| {
                    let gap = 2.0 * largest - beaten[i] - beaten[j];
                    let p = theta[i * k + j];
                    if j == i || p == 0.5 { 0.0 } else { gap / divergence_from_half(p) }
                };
                -(0..k).map(cost).sum::<f64>()
            }
        };
        argmax((0..k).map(score), rng)
    }

    fn second(&self, first: usize, rng: &mut ChaCha8Rng) -> usize {
        let score: Vec<f64> = (0..self.count)
            .map(|i| {
                let own = if i == first { 0.5 } else { self.draw(i, first, rng) };
                if self.bound(i, first, -1.0) <= 0.5 { own } else { f64::NEG_INFINITY }
            })
            .collect();
        argmax(score.into_iter(), rng)
    }
}

/// Kullback-Leibler divergence of Bernoulli(p) from Bernoulli(½).
fn divergence_from_half(p: f64) -> f64 {
    let term = |p: f64| if p > 0.0 { p * (2.0 * p).ln() } else { 0.0 };
    term(p) + term(1.0 - p)
}

impl Policy for DoubleThompson {
    fn present(&mut self, _: usize, shown: &mut Vec<u32>, rng: &mut ChaCha8Rng) {
        self.round += 1.0;
        let first = self.first(rng);
        let second = self.second(first, rng);
        shown.clear();
        shown.extend([first as u32, second as u32]);
    }

    fn choose(&mut self, shown: &[u32], chosen: Option<u32>, _: &mut ChaCha8Rng) {
        let Some(chosen) = chosen else { return };
        // An option against itself says nothing.
        for &other in shown.iter().filter(|&&other| other != chosen) {
            self.wins[chosen as usize * self.count + other as usize] += 1.0;
        }
    }
}
