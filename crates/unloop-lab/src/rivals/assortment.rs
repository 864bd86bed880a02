//! Two rivals built on users who may choose nothing: AOA-RB (Saha & Gaillard 2024) and MNL-TS (Agrawal, Avadhanula, Goyal & Zeevi 2017).

use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use crate::policy::{Policy, top};

/// AOA-RB: bounds of pairwise chances, chained through a pivot to the no-choice option.
pub struct AssortmentBounds {
    count: usize,
    /// Width of the bounds; theory has 2 ln T.
    x: f64,
    /// Whether the pivot is chosen for each option, or is always the no-choice option.
    adaptive: bool,
    /// Wins of i over j, the no-choice option last.
    wins: Vec<f64>,
    /// γ_ij, brought up to date where wins have changed.
    odds: Vec<f64>,
}

impl AssortmentBounds {
    /// Over so many options, with bounds of a width.
    pub fn new(count: usize, x: f64, adaptive: bool) -> Self {
        let n = count + 1;
        let mut odds = vec![f64::INFINITY; n * n];
        (0..n).for_each(|i| odds[i * n + i] = 1.0);
        Self { count, x, adaptive, wins: vec![0.0; n * n], odds }
    }

    /// Upper bound of the odds of i against j.
    fn bound(&self, i: usize, j: usize) -> f64 {
        let width = self.count + 1;
        let (wins, losses) = (self.wins[i * width + j], self.wins[j * width + i]);
        let n = wins + losses;
        if n == 0.0 {
            return f64::INFINITY;
        }
        let p = wins / n;
        let bound = p + (2.0 * p * (1.0 - p) * self.x / n).sqrt() + 3.0 * self.x / n;
        if bound >= 1.0 { f64::INFINITY } else { bound / (1.0 - bound) }
    }
}

impl Policy for AssortmentBounds {
    fn present(&mut self, size: usize, shown: &mut Vec<u32>, rng: &mut ChaCha8Rng) {
        let (n, none) = (self.count + 1, self.count);
        let strength = |i: usize| {
            let own = self.odds[i * n + none];
            if !self.adaptive {
                return own;
            }
            // ∞ · 0 is no bound.
            let through = |j: usize| self.odds[i * n + j] * self.odds[j * n + none];
            (0..=none).map(through).filter(|bound| !bound.is_nan()).fold(own, f64::min)
        };
        let strengths: Vec<f64> = (0..self.count).map(strength).collect();
        *shown = top(&strengths, size, rng);
    }

    fn choose(&mut self, shown: &[u32], chosen: Option<u32>, _: &mut ChaCha8Rng) {
        let (n, none) = (self.count + 1, self.count);
        let winner = chosen.map_or(none, |chosen| chosen as usize);
        let others = shown.iter().map(|&k| k as usize).chain([none]).filter(|&k| k != winner);
        for k in others {
            self.wins[winner * n + k] += 1.0;
            self.odds[winner * n + k] = self.bound(winner, k);
            self.odds[k * n + winner] = self.bound(k, winner);
        }
    }
}

/// MNL-TS: a presentation is kept until nothing is chosen; normal draws around the average number of choices until then.
pub struct EpochThompson {
    /// Epochs with each option, and choices of it in these.
    epochs: Vec<f64>,
    choices: Vec<f64>,
    /// ln(T·L).
    ln_horizon: f64,
    /// On the constants of the bounds.
    factor: f64,
    /// The presentation of the epoch; empty when another begins.
    current: Vec<u32>,
}

impl EpochThompson {
    /// Over so many options, for so many rounds of a size, with a factor on its constants (1 as published).
    pub fn new(count: usize, rounds: usize, size: usize, factor: f64) -> Self {
        let ln_horizon = ((rounds * size).max(2) as f64).ln();
        Self { epochs: vec![0.0; count], choices: vec![0.0; count], ln_horizon, factor, current: Vec::new() }
    }
}

impl Policy for EpochThompson {
    fn present(&mut self, size: usize, shown: &mut Vec<u32>, rng: &mut ChaCha8Rng) {
        if self.current.is_empty() {
            // One epoch of each option alone comes first.
            self.current = if let Some(new) = self.epochs.iter().position(|&n| n == 0.0) {
                vec![new as u32]
            } else {
                let normal = || -> f64 { StandardNormal.sample(rng) };
                let xi = std::iter::repeat_with(normal).take(size).fold(f64::NEG_INFINITY, f64::max);
                let draw = |(n, choices): (&f64, &f64)| {
                    let mean = choices / n;
                    let spread = (50.0 * mean * (mean + 1.0) / n).sqrt() + 75.0 * self.ln_horizon.sqrt() / n;
                    (mean + xi * self.factor * spread).min(1.0)
                };
                let draws: Vec<f64> = self.epochs.iter().zip(&self.choices).map(draw).collect();
                top(&draws, size, rng)
            };
        }
        shown.clone_from(&self.current);
    }

    fn choose(&mut self, shown: &[u32], chosen: Option<u32>, _: &mut ChaCha8Rng) {
        if let Some(chosen) = chosen {
            self.choices[chosen as usize] += 1.0;
        } else {
            shown.iter().for_each(|&k| self.epochs[k as usize] += 1.0);
            self.current.clear();
        }
    }
}
