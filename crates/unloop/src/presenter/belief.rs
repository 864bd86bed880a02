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

/// How often options were presented of late.
#[derive(Clone, Debug, Default)]
pub(super) struct Frequencies {
    /// Sum of faded presentations, and when it was last brought up to date.
    own: HashMap<OptionId, (f64, u64), foldhash::fast::FixedState>,
    /// The same for all options never shown of a weight together.
    pooled: HashMap<u64, (f64, u64), foldhash::fast::FixedState>,
    now: u64,
    /// Size and policy of the presentations that were counted; others begin anew.
    kind: Option<(usize, Policy)>,
}

impl Frequencies {
    /// Begins anew where presentations are of another size or formed otherwise.
    pub(super) fn of_kind(&mut self, size: usize, policy: Policy) {
        if self.kind != Some((size, policy)) {
            *self = Self { kind: Some((size, policy)), ..Self::default() };
        }
    }

    /// Estimate before this presentation: that of an option that was in it may not know it. `expected` stands for one presentation.
    pub(super) fn estimate(&self, option: OptionId, expected: f64) -> f64 {
        self.smoothed(self.own.get(&option), expected, 1)
    }

    /// The same for one of `count` options never shown with a weight.
    pub(super) fn estimate_pooled(&self, alpha: f64, count: usize, expected: f64) -> f64 {
        self.smoothed(self.pooled.get(&alpha.to_bits()), expected, count)
    }

    /// Presentations that an estimate rests on.
    pub(super) fn draws(&self) -> usize {
        self.now.min(PROPENSITY_MEMORY as u64) as usize
    }

    /// The part of one of `count` options that share a tally.
    fn smoothed(&self, tally: Option<&(f64, u64)>, expected: f64, count: usize) -> f64 {
        let fade = 1.0 - 1.0 / PROPENSITY_MEMORY;
        let sum = tally.map_or(0.0, |&(sum, at)| sum * fade.powi((self.now - at) as i32));
        // All presentations so far, faded alike.
        let total = (1.0 - fade.powi(self.now.min(1 << 20) as i32)) * PROPENSITY_MEMORY;
        ((sum / count as f64 + expected) / (total + 1.0)).clamp(f64::MIN_POSITIVE, 1.0)
    }

    /// Counts a presentation: options with data, and the weights of those never shown.
    pub(super) fn count(&mut self, shown: impl Iterator<Item = (OptionId, Option<f64>)>) {
        let fade = 1.0 - 1.0 / PROPENSITY_MEMORY;
        self.now += 1;
        let now = self.now;
        let add = |tally: &mut (f64, u64)| *tally = (tally.0 * fade.powi((now - tally.1) as i32) + 1.0, now);
        for (option, alpha) in shown {
            match alpha {
                None => add(self.own.entry(option).or_insert((0.0, now))),
                Some(alpha) => add(self.pooled.entry(alpha.to_bits()).or_insert((0.0, now))),
            }
        }
    }

    /// An option is shown for the first time: it begins with what those like it have.
    pub(super) fn adopt(&mut self, option: OptionId, alpha: f64, count: usize) {
        if let Some(&(sum, at)) = self.pooled.get(&alpha.to_bits()) {
            self.own.insert(option, (sum / count.max(1) as f64, at));
        }
    }
}
