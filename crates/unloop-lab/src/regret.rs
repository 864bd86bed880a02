//! What a presentation falls short of: the paper's regret at the top N, and those of duels.
//!
//! With a* the best option and q_i = P(a* ≻ i) − ½, summed over rounds:
//!
//! ```text
//! top N          Σ_{n≤N} θ*_(n) − Σ_{n≤N} θ*_{shown n}        in the order shown
//! weak           min over the shown of q_i
//! weak, binary   1 if a* is not shown
//! strong         max over the shown of q_i
//! average        mean over the shown of q_i
//! ```

use crate::user::Truth;

/// Regret of all rounds so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Regret {
    /// See the module.
    pub weak: f64,
    /// See the module.
    pub weak_binary: f64,
    /// See the module.
    pub strong: f64,
    /// See the module.
    pub average: f64,
    /// At the top 1, 2, …; empty where people have no preferences but duels.
    pub top: Vec<f64>,
}

/// Adds up regret against a truth.
pub(crate) struct Meter {
    truth: Truth,
    /// Preferences, largest first.
    sorted: Vec<f64>,
    pub(crate) regret: Regret,
}

impl Meter {
    pub(crate) fn new(truth: Truth, size: usize) -> Self {
        let top = if truth.theta.is_some() { vec![0.0; size] } else { Vec::new() };
        let mut meter = Self { truth: truth.clone(), sorted: Vec::new(), regret: Regret { top, ..Regret::default() } };
        meter.set(truth);
        meter
    }

    /// What is best has changed.
    pub(crate) fn set(&mut self, truth: Truth) {
        self.sorted = truth.theta.clone().unwrap_or_default();
        self.sorted.sort_by(|x, y| y.total_cmp(x));
        self.truth = truth;
    }

    pub(crate) fn add(&mut self, shown: &[u32]) {
        let gap = |k: u32| self.truth.gaps[k as usize];
        let gaps = || shown.iter().map(|&k| gap(k));
        self.regret.weak += gaps().fold(f64::INFINITY, f64::min).max(0.0);
        self.regret.strong += gaps().fold(f64::NEG_INFINITY, f64::max);
        self.regret.average += gaps().sum::<f64>() / shown.len() as f64;
        self.regret.weak_binary += f64::from(u8::from(!shown.contains(&(self.truth.best as u32))));
        let Some(theta) = &self.truth.theta else { return };
        let mut short = 0.0;
        for (n, total) in self.regret.top.iter_mut().enumerate() {
            // A presentation that is too short lacks its last options.
            short += self.sorted.get(n).copied().unwrap_or(0.0) - shown.get(n).map_or(0.0, |&k| theta[k as usize]);
            *total += short;
        }
    }
}
