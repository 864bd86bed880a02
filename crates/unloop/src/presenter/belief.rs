//! What recent draws say: posterior means, and how often each option was presented.
//!
//! Both are averages with weights that fade, kept at O(|E|) and O(L) for each presentation: estimates to order and to report by,
//! not draws to decide by.

use hashbrown::HashMap;

use super::Policy;
use super::sampler::Draw;
use crate::option::OptionId;

/// Draws that an average of means remembers: a tenth of all there were, within these bounds. A longer memory lags behind what is learnt at the
/// start, a shorter one is noisy. K = 50, L = 5, 60 runs on 20 sparse vectors, regret at top 1 to 3: with all of the last 200, 18 25 35;
/// with a tenth 12 20 32; with a fiftieth 15 21 30. The order of the draw itself has 15 29 50.
const MEMORY: (f64, f64) = (4.0, 200.0);
/// Presentations that a propensity remembers.
const PROPENSITY_MEMORY: f64 = 200.0;

/// Options whose means take a draw in: with a thousand options all of them would take longer than the decision itself.
const IN_TURN: usize = 64;

/// Running posterior means of λ, in units where an option never shown has the mean α.
#[derive(Clone, Debug, Default)]
pub(super) struct Means {
    /// By option; 0 for those without data.
    mean: Vec<f64>,
    /// How many draws each has seen, up to the memory; below 0 without data.
    seen: Vec<f32>,
    /// Draws so far.
    draws: f64,
    /// Where the next turn begins.
    cursor: usize,
}

impl Means {
    pub(super) fn heap_bytes(&self) -> usize {
        8 * self.mean.capacity() + 4 * self.seen.capacity()
    }

    /// Takes a draw in, of many options some in turn. `mass` is Σα of the options with data.
    pub(super) fn observe(&mut self, draw: &Draw, mass: f64) {
        let count = draw.options.len();
        if count == 0 {
            return;
        }
        // A tenth of the draws that each option sees.
        self.draws += (IN_TURN as f64 / count as f64).min(1.0);
        let memory = (self.draws / 10.0).clamp(MEMORY.0, MEMORY.1);
        // The scale given the others is Gamma(mass, rate Σλ): its mean leaves out its noise.
        let plain = draw.ln_scale.is_some();
        let high = if plain { 0.0 } else { draw.values.iter().copied().fold(f64::NEG_INFINITY, f64::max) };
        let lambda = |value: f64| if plain { value } else { (value - high).exp() };
        let unit = mass / draw.total.unwrap_or_else(|| draw.values.iter().map(|&value| lambda(value)).sum::<f64>());
        let start = if count <= IN_TURN { 0 } else { self.cursor % count };
        self.cursor = start + IN_TURN;
        let turn = start..(start + IN_TURN).min(count);
        for (option, &value) in draw.options[turn.clone()].iter().zip(&draw.values[turn]) {
            let k = option.index();
            if !self.knows(*option) {
                continue;
            }
            let seen = (f64::from(self.seen[k]) + 1.0).min(memory);
            self.mean[k] += (lambda(value) * unit - self.mean[k]) / seen;
            self.seen[k] = seen as f32;
        }
    }

    /// The mean of an option with data.
    pub(super) fn get(&self, option: OptionId) -> f64 {
        self.mean.get(option.index()).copied().unwrap_or(0.0)
    }

    /// An option has data from now on, and begins with its prior's mean.
    pub(super) fn touch(&mut self, option: OptionId, alpha: f64) {
        let k = option.index();
        if self.mean.len() <= k {
            self.mean.resize(k + 1, 0.0);
            self.seen.resize(k + 1, -1.0);
        }
        if self.seen[k] < 0.0 {
            (self.mean[k], self.seen[k]) = (alpha, 0.0);
        }
    }

    /// Whether an option has data.
    pub(super) fn knows(&self, option: OptionId) -> bool {
        self.seen.get(option.index()).is_some_and(|&seen| seen >= 0.0)
    }

    /// Options with data.
    pub(super) fn known(&self) -> impl Iterator<Item = OptionId> {
        let known = self.seen.iter().enumerate().filter(|&(_, &seen)| seen >= 0.0);
        known.map(|(k, _)| OptionId::new(k as u32))
    }

    /// An option has lost its data, or all have changed: forget what was seen.
    pub(super) fn forget(&mut self, option: OptionId) {
        if let (Some(mean), Some(seen)) = (self.mean.get_mut(option.index()), self.seen.get_mut(option.index())) {
            (*mean, *seen) = (0.0, -1.0);
        }
    }
}

/// How often an option was presented of late: a sum that fades.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    sum: f64,
    /// When it was last brought up to date, and since when it could be presented.
    at: u64,
    since: u64,
}

impl Tally {
    fn faded(self, now: u64) -> f64 {
        self.sum * fade(now - self.at)
    }
}

/// What is left of a presentation after so many others.
fn fade(presentations: u64) -> f64 {
    (1.0 - 1.0 / PROPENSITY_MEMORY).powi(presentations.min(1 << 20) as i32)
}

/// How often options were presented of late.
#[derive(Clone, Debug, Default)]
pub(super) struct Frequencies {
    own: HashMap<OptionId, Tally, foldhash::fast::FixedState>,
    /// For each of the options never shown of a weight: they are alike.
    pooled: HashMap<u64, Tally, foldhash::fast::FixedState>,
    now: u64,
    /// Size and policy of the presentations that were counted; others begin anew.
    kind: Option<(usize, Policy)>,
}

/// Whose tally: an option's with data, or that of options never shown with a weight.
#[derive(Clone, Copy, Debug)]
pub(super) enum Whose {
    Own(OptionId),
    Pooled {
        alpha: f64,
        /// How many share it.
        count: usize,
    },
}

impl Frequencies {
    pub(super) fn heap_bytes(&self) -> usize {
        self.own.allocation_size() + self.pooled.allocation_size()
    }

    /// Begins anew where presentations are of another size or formed otherwise.
    pub(super) fn of_kind(&mut self, size: usize, policy: Policy) {
        if self.kind != Some((size, policy)) {
            *self = Self { kind: Some((size, policy)), ..Self::default() };
        }
    }

    /// Estimate before this presentation, and how many it rests on: that of an option that was in it may not know it. `expected` stands
    /// for one presentation.
    pub(super) fn estimate(&self, whose: Whose, expected: f64) -> (f64, u64) {
        let tally = match whose {
            Whose::Own(option) => self.own.get(&option),
            Whose::Pooled { alpha, .. } => self.pooled.get(&alpha.to_bits()),
        };
        let tally = tally.copied().unwrap_or_default();
        let seen = self.now - tally.since;
        // All presentations since then, faded alike.
        let total = (1.0 - fade(seen)) * PROPENSITY_MEMORY;
        let estimate = (tally.faded(self.now) + expected) / (total + 1.0);
        (estimate.clamp(f64::MIN_POSITIVE, 1.0), seen.min(PROPENSITY_MEMORY as u64))
    }

    /// Counts a presentation.
    pub(super) fn count(&mut self, shown: impl Iterator<Item = Whose>) {
        self.now += 1;
        let now = self.now;
        for whose in shown {
            let (tally, part) = match whose {
                Whose::Own(option) => (self.own.entry(option).or_default(), 1.0),
                Whose::Pooled { alpha, count } => (self.pooled.entry(alpha.to_bits()).or_default(), 1.0 / count.max(1) as f64),
            };
            *tally = Tally { sum: tally.faded(now) + part, at: now, ..*tally };
        }
    }

    /// An option is shown for the first time: it begins with what those like it have.
    pub(super) fn adopt(&mut self, option: OptionId, alpha: f64) {
        if let Some(&tally) = self.pooled.get(&alpha.to_bits()) {
            self.own.insert(option, tally);
        }
    }

    /// An option can be presented from now on, the first never shown with its weight.
    pub(super) fn open(&mut self, alpha: f64) {
        self.pooled.insert(alpha.to_bits(), Tally { sum: 0.0, at: self.now, since: self.now });
    }

    /// An option with data can be presented again.
    pub(super) fn renew(&mut self, option: OptionId) {
        self.own.insert(option, Tally { sum: 0.0, at: self.now, since: self.now });
    }
}
