//! λ and z as plain numbers, and the group step spread over a round.
//!
//! A step that scales a group A needs Σ over the columns that straddle A, and changes z of all columns inside it. Both are spread over
//! the round of visits that goes over all columns anyway. A visit adds z to W_k or Q_k of its options, for columns within one
//! side of the cut and across it; columns already visited keep these sums up to date when a choice changes them. At the end of the
//! round the rate of a side is Σ λ_k (s + Q_k), R_k = W_k + Q_k is fresh (no rounding piles up), and the factors g on λ take effect
//! at once. The factors 1/g on z are written down, and each column takes its own at its next visit: until then `z` holds its value
//! before the factor.

use rand::Rng;
use rand_distr::{Distribution, Gamma};

use crate::option::OptionId;
use crate::random::gamma_draw;
use crate::sampler::counts::Counts;
use crate::sampler::spanning::{Slack, SpanningTree};
use crate::statistics::store::Entry;

/// A sum of which less than this part is left lost too many digits.
const LOST: f64 = 1e-6;
/// Numbers beyond this, or below its inverse, are a strain: the next may not be one.
const STRAIN: f64 = 1e200;

#[derive(Clone, Debug, Default)]
pub(super) struct Linear {
    /// By place; 0 asleep.
    lambda: Vec<f64>,
    /// Gamma(a_k) by place, kept for each visit: to make one takes as long as to draw from it.
    gammas: Vec<Option<Gamma<f64>>>,
    /// R_k, and its largest value since it was last computed afresh.
    rates: Vec<f64>,
    peaks: Vec<f64>,
    /// By column.
    z: Vec<f64>,
    scale: f64,
    /// Shape of the mass: Σ_E α.
    mass: f64,
    /// Σλ, and its largest value since it was last computed afresh.
    total: f64,
    total_peak: f64,
    /// Columns below this index were visited in this round.
    cursor: usize,
    /// Whether there is a cut, the sides of it, and those of the round before.
    cutting: bool,
    side: Vec<bool>,
    side_before: Vec<bool>,
    /// Σb within each side, over the columns visited in this round; sums of z by place.
    weight_within: [f64; 2],
    within: Vec<f64>,
    across: Vec<f64>,
    /// On z of columns not yet visited: within each side of the cut before, and across it.
    factors: [f64; 3],
    /// Whether numbers have come near their ends. Nothing moves any more then; logarithms take over.
    strained: bool,
}

impl Linear {
    pub(super) fn heap_bytes(&self) -> usize {
        let reals = [&self.lambda, &self.rates, &self.peaks, &self.z, &self.within, &self.across];
        let reals: usize = reals.into_iter().map(Vec::capacity).sum();
        let gammas = size_of::<Option<Gamma<f64>>>() * self.gammas.capacity();
        size_of::<Self>() + 8 * reals + gammas + self.side.capacity() + self.side_before.capacity()
    }

    pub(super) fn new<R: Rng>(ln_lambda: &[f64], counts: &Counts, tree: &mut SpanningTree, rng: &mut R) -> Self {
        let n = counts.len();
        let lambda: Vec<f64> = (0..n).map(|place| if counts.is_awake(place) { ln_lambda[place].exp() } else { 0.0 }).collect();
        let strained = !counts.awake().all(|place| is_calm(lambda[place]));
        let mut state = Self {
            lambda,
            strained,
            gammas: (0..n).map(|place| gamma(counts, place)).collect(),
            rates: vec![0.0; n],
            peaks: vec![0.0; n],
            z: vec![0.0; counts.store().end()],
            scale: 1.0,
            mass: counts.mass(),
            side: vec![false; n],
            side_before: vec![false; n],
            within: vec![0.0; n],
            across: vec![0.0; n],
            factors: [1.0; 3],
            ..Self::default()
        };
        state.total = state.lambda.iter().sum();
        state.total_peak = state.total;
        for (entry, members, b) in counts.columns() {
            let z = state.draw_z(b, members, rng);
            state.z[entry.index()] = z;
            for place in members {
                state.rates[place.index()] += z;
            }
        }
        state.peaks.clone_from(&state.rates);
        state.cutting = tree.cut(&mut state.side, rng);
        state
    }

    pub(super) fn is_strained(&self) -> bool {
        self.strained
    }

    pub(super) fn lambda(&self, place: usize) -> f64 {
        self.lambda[place]
    }

    /// λ by place.
    pub(super) fn lambdas(&self) -> &[f64] {
        &self.lambda
    }

    /// Σλ.
    pub(super) fn total(&self) -> f64 {
        self.total
    }

    pub(super) fn ln_scale(&self) -> f64 {
        self.scale.ln()
    }

    pub(super) fn wake(&mut self, place: usize, ln_fresh: f64, alpha: f64) {
        for values in [&mut self.lambda, &mut self.rates, &mut self.peaks, &mut self.within, &mut self.across] {
            values.resize(values.len().max(place + 1), 0.0);
            values[place] = 0.0;
        }
        // Whatever side: no column holds it yet.
        self.side.resize(self.lambda.len(), false);
        self.side_before.resize(self.lambda.len(), false);
        self.gammas.resize(self.lambda.len(), None);
        self.lambda[place] = (ln_fresh - self.ln_scale()).exp();
        self.mass += alpha;
        self.change_total(self.lambda[place]);
    }

    pub(super) fn sleep(&mut self, place: usize, counts: &Counts) {
        for values in [&mut self.lambda, &mut self.rates, &mut self.peaks, &mut self.within, &mut self.across] {
            values[place] = 0.0;
        }
        // Anew: what subtraction left of nothing would be a shape.
        self.mass = counts.mass();
        self.total = self.lambda.iter().sum();
    }

    /// A column's weight has changed: its z with the new shape, then λ of its options.
    pub(super) fn follow<R: Rng>(&mut self, entry: Entry, weight: f64, counts: &Counts, rng: &mut R) {
        let members = counts.store().members(entry);
        let index = entry.index();
        if self.z.len() <= index {
            self.z.resize(index + 1, 0.0);
        }
        for place in members {
            self.gammas[place.index()] = gamma(counts, place.index());
        }
        let visited = index < self.cursor;
        let factor = if visited { 1.0 } else { self.factors[class(&self.side_before, members)] };
        let old = self.z[index] * factor;
        let new = self.draw_z(counts.weight(entry), members, rng);
        if self.strained {
            return;
        }
        self.z[index] = new / factor;
        if visited {
            let class = class(&self.side, members);
            if class < 2 {
                self.weight_within[class] += weight;
            }
            self.account(class, members, new - old);
        }
        self.change_rates(entry, old, new, counts);
        self.draw_options(members, rng);
    }

    /// Visits columns; how many of the budget are left, if numbers are strained.
    pub(super) fn step<R: Rng>(&mut self, budget: usize, counts: &Counts, tree: &mut SpanningTree, rng: &mut R) -> usize {
        for done in 0..budget {
            if self.strained {
                return budget - done;
            }
            match counts.store().entry(self.cursor) {
                Some(entry) => self.visit(entry, counts, rng),
                // A hole in the numbering: none but for presentations of thousands of options.
                None if self.cursor < counts.store().end() => self.cursor += 1,
                None => self.finish(counts, tree, rng),
            }
        }
        self.draw_scale(rng);
        0
    }

    /// A round in which λ of all options is drawn at once, then z of all columns, in place of one column after the other: of options that many columns share
    /// λ is drawn once, and that is most of a round's work. Nothing is done in the middle of a round, or once numbers are strained.
    pub(super) fn round_at_once<R: Rng>(&mut self, counts: &Counts, tree: &mut SpanningTree, rng: &mut R) {
        if self.cursor > 0 || self.strained {
            return;
        }
        for place in 0..self.lambda.len() {
            self.draw_option(place, rng);
        }
        self.total = self.lambda.iter().sum();
        self.draw_scale(rng);
        for (entry, members, b) in counts.columns() {
            let z = self.draw_z(b, members, rng);
            if self.strained {
                return;
            }
            self.z[entry.index()] = z;
            let class = class(&self.side, members);
            if class < 2 {
                self.weight_within[class] += b;
            }
            self.account(class, members, z);
        }
        self.finish(counts, tree, rng);
    }

    /// The next column in turn.
    fn visit<R: Rng>(&mut self, entry: Entry, counts: &Counts, rng: &mut R) {
        self.cursor += 1;
        let b = counts.weight(entry);
        if b == 0.0 {
            return;
        }
        let members = counts.store().members(entry);
        let old = self.z[entry.index()] * self.factors[class(&self.side_before, members)];
        let new = self.draw_z(b, members, rng);
        if self.strained {
            return;
        }
        self.z[entry.index()] = new;
        let class = class(&self.side, members);
        if class < 2 {
            self.weight_within[class] += b;
        }
        self.account(class, members, new);
        self.change_rates(entry, old, new, counts);
        self.draw_options(members, rng);
    }

    /// The end of a round: fresh sums, a step on both sides of the cut, the unit taken out, another cut.
    fn finish<R: Rng>(&mut self, counts: &Counts, tree: &mut SpanningTree, rng: &mut R) {
        self.mass = counts.mass();
        self.total = self.lambda.iter().sum();
        self.total_peak = self.total;
        self.draw_scale(rng);
        let mut slack = Slack::default();
        let mut rates = [0.0; 2];
        for place in counts.awake() {
            let side = usize::from(self.side[place]);
            slack.add(side, counts.exponent(place));
            rates[side] += self.lambda[place] * (self.scale + self.across[place]);
        }
        let mut g = [1.0; 2];
        for side in 0..2 {
            slack.subtract(side, self.weight_within[side]);
            if let Some(shape) = slack.shape(side).filter(|_| self.cutting && rates[side] > 0.0) {
                g[side] = gamma_draw(shape, rng) / rates[side];
            }
        }
        for (lambda, &side) in self.lambda.iter_mut().zip(&self.side) {
            *lambda *= g[usize::from(side)];
        }
        self.total = self.lambda.iter().sum();
        self.draw_scale(rng);
        // Only λs, λz and z/s are determined: without this the unit wanders.
        let unit = self.scale;
        self.factors = [1.0 / (g[0] * unit), 1.0 / (g[1] * unit), 1.0 / unit];
        for place in 0..self.lambda.len() {
            self.lambda[place] *= unit;
            let within = self.within[place] * self.factors[usize::from(self.side[place])];
            self.rates[place] = within + self.across[place] * self.factors[2];
        }
        self.scale = 1.0;
        self.peaks.clone_from(&self.rates);
        self.total *= unit;
        self.total_peak = self.total;
        std::mem::swap(&mut self.side, &mut self.side_before);
        tree.settle();
        self.cutting = tree.cut(&mut self.side, rng);
        self.weight_within = [0.0; 2];
        self.within.fill(0.0);
        self.across.fill(0.0);
        self.cursor = 0;
    }

    fn draw_z<R: Rng>(&mut self, b: f64, members: &[OptionId], rng: &mut R) -> f64 {
        let z = if b > 0.0 { gamma_draw(b, rng) / self.sum(members) } else { 0.0 };
        // NaN is a strain.
        self.strained |= !(z < STRAIN);
        z
    }

    fn draw_options<R: Rng>(&mut self, members: &[OptionId], rng: &mut R) {
        let change = members.iter().map(|place| self.draw_option(place.index(), rng)).sum();
        self.change_total(change);
    }

    /// How much λ of an option changes: not that of one asleep, nor any once numbers are strained.
    fn draw_option<R: Rng>(&mut self, place: usize, rng: &mut R) -> f64 {
        let Some(gamma) = &self.gammas[place] else { return 0.0 };
        let new = gamma.sample(rng) / (self.scale + self.rates[place]);
        self.strained |= !is_calm(new);
        if self.strained { 0.0 } else { new - std::mem::replace(&mut self.lambda[place], new) }
    }

    /// The prior weights have changed.
    pub(super) fn reweigh<R: Rng>(&mut self, counts: &Counts, rng: &mut R) {
        self.gammas = (0..counts.len()).map(|place| gamma(counts, place)).collect();
        self.mass = counts.mass();
        self.draw_scale(rng);
    }

    fn draw_scale<R: Rng>(&mut self, rng: &mut R) {
        // Without data there is nothing to scale.
        self.scale = if self.mass > 0.0 { gamma_draw(self.mass, rng) / self.total } else { 1.0 };
    }

    fn sum(&self, members: &[OptionId]) -> f64 {
        members.iter().map(|place| self.lambda[place.index()]).sum()
    }

    fn account(&mut self, class: usize, members: &[OptionId], change: f64) {
        let sums = if class < 2 { &mut self.within } else { &mut self.across };
        for place in members {
            sums[place.index()] += change;
        }
    }

    fn change_rates(&mut self, entry: Entry, old: f64, new: f64, counts: &Counts) {
        let mut lost = false;
        for place in counts.store().members(entry).iter().map(|place| place.index()) {
            let rate = &mut self.rates[place];
            *rate += new - old;
            let peak = &mut self.peaks[place];
            *peak = peak.max(*rate);
            // Only s + R_k is ever used.
            lost |= self.scale + *rate < LOST * *peak;
        }
        if lost {
            self.sum_rates(counts);
        }
    }

    /// R_k of all options afresh. O(Σ|C|), yet rare: z of a presentation would have to fall by the factor `LOST` within a round, below
    /// the scale.
    fn sum_rates(&mut self, counts: &Counts) {
        self.rates.fill(0.0);
        for (entry, members, _) in counts.columns() {
            let z = self.z_now(entry, counts);
            for place in members {
                self.rates[place.index()] += z;
            }
        }
        self.peaks.clone_from(&self.rates);
    }

    fn change_total(&mut self, change: f64) {
        self.total += change;
        self.total_peak = self.total_peak.max(self.total);
        if self.total < LOST * self.total_peak {
            self.total = self.lambda.iter().sum();
            self.total_peak = self.total;
        }
    }

    /// z of a column, with the factor that it has not taken yet.
    fn z_now(&self, entry: Entry, counts: &Counts) -> f64 {
        let z = self.z[entry.index()];
        if entry.index() < self.cursor { z } else { z * self.factors[class(&self.side_before, counts.store().members(entry))] }
    }
}

/// Gamma(a_k) of a place that is awake.
fn gamma(counts: &Counts, place: usize) -> Option<Gamma<f64>> {
    if counts.is_awake(place) { Gamma::new(counts.exponent(place), 1.0).ok() } else { None }
}

/// Whether λ is far from the largest and the smallest number.
fn is_calm(lambda: f64) -> bool {
    lambda > 1.0 / STRAIN && lambda < STRAIN
}

/// 0 and 1 for columns within a side, 2 for those across.
fn class(side: &[bool], members: &[OptionId]) -> usize {
    let first = side[members[0].index()];
    if members[1..].iter().all(|place| side[place.index()] == first) { usize::from(first) } else { 2 }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::presentation::Presentation;
    use crate::prior::Prior;

    /// R_k as it is kept up to date, in the middle of a round with factors that some columns have not taken, is the sum of its columns;
    /// and it is summed afresh when rounding may have eaten it.
    #[test]
    fn rates_are_the_sums_of_their_columns() {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let mut counts = Counts::new(&Prior::default(), 8).unwrap();
        let mut tree = SpanningTree::default();
        for i in 0..40_u32 {
            let shown = Presentation::new([i % 8, (i * i + 3) % 8, (3 * i + 1) % 8].map(OptionId::new));
            let Ok(shown) = shown else { continue };
            let choice = shown.choose(shown.members()[0]).unwrap();
            if let Some(change) = counts.record(&choice, 1.0).unwrap() {
                tree.add(counts.store().members(change.entry), 1.0);
            }
        }
        let mut state = Linear::new(&vec![0.0; counts.len()], &counts, &mut tree, &mut rng);
        for _ in 0..50 {
            state.step(3, &counts, &mut tree, &mut rng);
            let kept = state.rates.clone();
            state.sum_rates(&counts);
            for (kept, fresh) in kept.iter().zip(&state.rates) {
                assert!((kept / fresh - 1.0).abs() < 1e-12, "{kept} {fresh}");
            }
        }
        let rates = state.rates.clone();
        state.rates.iter_mut().for_each(|rate| *rate += 1e20);
        state.peaks.fill(1e30);
        let entry = counts.store().entry(0).unwrap();
        let z = state.z_now(entry, &counts);
        state.change_rates(entry, z, z, &counts);
        assert_eq!((&state.rates, &state.peaks), (&rates, &rates));
    }
}
