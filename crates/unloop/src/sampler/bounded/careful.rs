//! λ and z as logarithms: where λ would underflow, because prior weights are small or choices far apart, and for general β.
//!
//! Differences of logarithms cannot be undone, so R_k is summed anew from the columns of an option at each update, and the group step
//! goes over all columns at the end of a round. A visit costs as much as its options have presentations.

use rand::Rng;

use super::Change;
use crate::option::OptionId;
use crate::posterior::potential::{bounds, ln_sum_exp};
use crate::random::ln_gamma_draw;
use crate::sampler::counts::Counts;
use crate::sampler::spanning::{Slack, SpanningTree};
use crate::statistics::store::Entry;

#[derive(Clone, Debug, Default)]
pub(super) struct Careful {
    /// Columns of each place.
    columns_of: Vec<Vec<Entry>>,
    /// By place; −∞ asleep.
    ln_lambda: Vec<f64>,
    /// By column; −∞ without weight.
    ln_z: Vec<f64>,
    /// −∞ if there is no column of all options.
    ln_scale: f64,
    mass: f64,
    cursor: usize,
}

impl Careful {
    pub(super) fn heap_bytes(&self) -> usize {
        let columns: usize = self.columns_of.iter().map(|own| size_of::<Vec<Entry>>() + 4 * own.capacity()).sum();
        columns + 8 * (self.ln_lambda.capacity() + self.ln_z.capacity())
    }

    pub(super) fn new<R: Rng>(mut ln_lambda: Vec<f64>, counts: &Counts, rng: &mut R) -> Self {
        for (place, ln_lambda) in ln_lambda.iter_mut().enumerate() {
            if !counts.is_awake(place) {
                *ln_lambda = f64::NEG_INFINITY;
            }
        }
        let mass = counts.mass();
        let ln_scale = if mass > 0.0 { 0.0 } else { f64::NEG_INFINITY };
        let mut state =
            Self { ln_lambda, ln_z: vec![f64::NEG_INFINITY; counts.store().end()], ln_scale, mass, ..Self::default() };
        state.columns_of.resize(counts.len(), Vec::new());
        for (entry, members, b) in counts.columns() {
            members.iter().for_each(|place| state.columns_of[place.index()].push(entry));
            state.draw_z(entry, members, b, rng);
        }
        state
    }

    pub(super) fn ln_lambda(&self, place: usize) -> f64 {
        self.ln_lambda[place]
    }

    pub(super) fn ln_scale(&self) -> f64 {
        if self.ln_scale.is_finite() { self.ln_scale } else { 0.0 }
    }

    pub(super) fn wake(&mut self, place: usize, ln_fresh: f64, alpha: f64) {
        self.ln_lambda.resize(self.ln_lambda.len().max(place + 1), f64::NEG_INFINITY);
        self.ln_lambda[place] = ln_fresh - self.ln_scale();
        // The first options to wake up bring the scale with them.
        if !self.ln_scale.is_finite() {
            self.ln_scale = 0.0;
        }
        self.mass += alpha;
    }

    pub(super) fn sleep(&mut self, place: usize, counts: &Counts) {
        self.ln_lambda[place] = f64::NEG_INFINITY;
        // Anew: what subtraction left of nothing would be a shape.
        self.mass = counts.mass();
    }

    pub(super) fn follow<R: Rng>(&mut self, change: &Change, counts: &Counts, rng: &mut R) {
        self.ln_z.resize(counts.store().end(), f64::NEG_INFINITY);
        self.columns_of.resize(counts.len(), Vec::new());
        if change.appeared {
            for place in counts.store().members(change.entry) {
                let columns = &mut self.columns_of[place.index()];
                // One that comes back may have been kept.
                if change.is_new || !columns.contains(&change.entry) {
                    columns.push(change.entry);
                }
            }
        }
        self.visit(change.entry, counts, rng);
    }

    pub(super) fn step<R: Rng>(&mut self, budget: usize, counts: &Counts, tree: &mut SpanningTree, rng: &mut R) {
        for _ in 0..budget {
            if self.cursor < counts.store().end() {
                if let Some(entry) = counts.store().entry(self.cursor) {
                    self.visit(entry, counts, rng);
                }
                self.cursor += 1;
            } else {
                self.finish(counts, tree, rng);
            }
        }
        self.draw_scale(rng);
    }

    fn visit<R: Rng>(&mut self, entry: Entry, counts: &Counts, rng: &mut R) {
        let members = counts.store().members(entry);
        self.draw_z(entry, members, counts.weight(entry), rng);
        for place in members.iter().map(|place| place.index()).filter(|&place| counts.is_awake(place)) {
            let columns = self.columns_of[place].iter().map(|column| self.ln_z[column.index()]);
            let ln_rate = ln_sum_exp(columns.chain([self.ln_scale]));
            self.ln_lambda[place] = ln_gamma_draw(counts.exponent(place), rng) - ln_rate;
        }
    }

    fn draw_z<R: Rng>(&mut self, entry: Entry, members: &[OptionId], b: f64, rng: &mut R) {
        self.ln_z[entry.index()] = if b > 0.0 {
            ln_gamma_draw(b, rng) - ln_sum_exp(members.iter().map(|place| self.ln_lambda[place.index()]))
        } else {
            f64::NEG_INFINITY
        };
    }

    /// The prior weights have changed.
    pub(super) fn reweigh<R: Rng>(&mut self, counts: &Counts, rng: &mut R) {
        self.mass = counts.mass();
        self.draw_scale(rng);
    }

    fn draw_scale<R: Rng>(&mut self, rng: &mut R) {
        if self.mass > 0.0 && self.ln_lambda.iter().any(|x| x.is_finite()) {
            self.ln_scale = ln_gamma_draw(self.mass, rng) - ln_sum_exp(self.ln_lambda.iter().copied());
        }
    }

    /// The end of a round: a step on both sides of a cut, and the unit taken out.
    fn finish<R: Rng>(&mut self, counts: &Counts, tree: &mut SpanningTree, rng: &mut R) {
        self.cursor = 0;
        self.mass = counts.mass();
        let mut side = vec![false; counts.len()];
        tree.settle();
        if tree.cut(&mut side, rng) {
            let mut slack = Slack::default();
            let mut terms = [Vec::new(), Vec::new()];
            for place in counts.awake() {
                let side = usize::from(side[place]);
                slack.add(side, counts.exponent(place));
                terms[side].push(self.ln_scale + self.ln_lambda[place]);
            }
            for (entry, members, b) in counts.columns() {
                let held = members.iter().filter(|place| side[place.index()]).count();
                if held == 0 || held == members.len() {
                    slack.subtract(usize::from(held > 0), b);
                    continue;
                }
                for place in members.iter().map(|place| place.index()) {
                    terms[usize::from(side[place])].push(self.ln_z[entry.index()] + self.ln_lambda[place]);
                }
            }
            let mut ln_g = [0.0; 2];
            for i in 0..2 {
                let ln_rate = ln_sum_exp(terms[i].iter().copied());
                if let Some(shape) = slack.shape(i).filter(|_| ln_rate.is_finite()) {
                    ln_g[i] = ln_gamma_draw(shape, rng) - ln_rate;
                }
            }
            for (place, ln_lambda) in self.ln_lambda.iter_mut().enumerate() {
                *ln_lambda += ln_g[usize::from(side[place])];
            }
            for (entry, members, _) in counts.columns() {
                let first = side[members[0].index()];
                if members.iter().all(|place| side[place.index()] == first) {
                    self.ln_z[entry.index()] -= ln_g[usize::from(first)];
                }
            }
        }
        self.draw_scale(rng);
        let unit = if self.ln_scale.is_finite() { self.ln_scale } else { -bounds(&self.ln_lambda).1 };
        if unit.is_finite() {
            self.ln_lambda.iter_mut().for_each(|ln_lambda| *ln_lambda += unit);
            self.ln_z.iter_mut().for_each(|ln_z| *ln_z -= unit);
            self.ln_scale -= unit;
        }
    }
}
