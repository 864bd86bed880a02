//! Options never shown: no state, drawn when asked for.
//!
//! λ of an option without data is an independent Gamma(α_k). Options with equal α are alike, so the largest of them come from uniform
//! order statistics and their identities from a pick without replacement: O(1) each, however many there are.

use hashbrown::HashMap;
use rand::{Rng, RngExt};

use crate::option::OptionId;
use crate::posterior::potential::ln_sum_exp;
use crate::random::{ln_gamma_draw, ln_gamma_quantile};

/// Up to this number options of a group are drawn one by one: a draw is many times cheaper than a quantile.
const FEW: usize = 16;
/// Up to this number the best are kept sorted while they are found.
const INSERTED: usize = 64;

/// Options never shown, by equal α.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unexplored {
    groups: Vec<Group>,
    /// Group of an α, by its bits.
    by_alpha: HashMap<u64, u32, foldhash::fast::FixedState>,
    /// Group and place there of each option; `NOWHERE` for one with data.
    at: Vec<(u32, u32)>,
}

/// Options with the same α.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) alpha: f64,
    pub(crate) options: Vec<OptionId>,
}

const NOWHERE: (u32, u32) = (u32::MAX, u32::MAX);

impl Unexplored {
    pub(crate) fn heap_bytes(&self) -> usize {
        let groups: usize = self.groups.iter().map(|group| size_of::<Group>() + 4 * group.options.capacity()).sum();
        groups + self.by_alpha.allocation_size() + 8 * self.at.capacity()
    }

    pub(crate) fn new(options: impl IntoIterator<Item = (OptionId, f64)>) -> Self {
        let mut unexplored = Self::default();
        for (option, alpha) in options {
            unexplored.insert(option, alpha);
        }
        // A service keeps one or two for each context: no room for options that seldom come.
        unexplored.at.shrink_to_fit();
        unexplored.groups.iter_mut().for_each(|group| group.options.shrink_to_fit());
        unexplored
    }

    pub(crate) fn insert(&mut self, option: OptionId, alpha: f64) {
        let next = self.groups.len() as u32;
        let group = *self.by_alpha.entry(alpha.to_bits()).or_insert(next);
        if group == next {
            self.groups.push(Group { alpha, options: Vec::new() });
        }
        let options = &mut self.groups[group as usize].options;
        if self.at.len() <= option.index() {
            self.at.resize(option.index() + 1, NOWHERE);
        }
        self.at[option.index()] = (group, options.len() as u32);
        options.push(option);
    }

    pub(crate) fn remove(&mut self, option: OptionId) {
        let Some(&(group, place)) = self.at.get(option.index()).filter(|&&at| at != NOWHERE) else { return };
        let options = &mut self.groups[group as usize].options;
        options.swap_remove(place as usize);
        if let Some(moved) = options.get(place as usize) {
            self.at[moved.index()].1 = place;
        }
        self.at[option.index()] = NOWHERE;
    }

    /// Gives options new weights, those of a weight alike.
    pub(crate) fn set_alpha(&mut self, alpha: impl Fn(OptionId) -> f64) {
        self.by_alpha.clear();
        for (i, group) in self.groups.iter_mut().enumerate() {
            if let Some(&option) = group.options.first() {
                group.alpha = alpha(option);
                self.by_alpha.insert(group.alpha.to_bits(), i as u32);
            }
        }
    }

    /// How many have the same weight as one of them, itself included; 0 if it is not among them.
    pub(crate) fn count_alike(&self, option: OptionId) -> usize {
        let at = self.at.get(option.index()).filter(|&&at| at != NOWHERE);
        at.map_or(0, |&(group, _)| self.groups[group as usize].options.len())
    }

    /// How many have a weight.
    pub(crate) fn count_of(&self, alpha: f64) -> usize {
        self.by_alpha.get(&alpha.to_bits()).map_or(0, |&group| self.groups[group as usize].options.len())
    }

    /// Whether an option is among them.
    pub(crate) fn contains(&self, option: OptionId) -> bool {
        self.at.get(option.index()).is_some_and(|&at| at != NOWHERE)
    }

    /// α of an option never shown.
    pub(crate) fn alpha(&self, option: OptionId) -> Option<f64> {
        let (group, _) = *self.at.get(option.index()).filter(|&&at| at != NOWHERE)?;
        Some(self.groups[group as usize].alpha)
    }

    pub(crate) fn groups(&self) -> impl Iterator<Item = &Group> {
        self.groups.iter().filter(|group| !group.options.is_empty())
    }

    /// Puts the largest of these options among the best `count`, which are given as ln λ and option, largest first.
    pub(crate) fn merge_largest<R: Rng>(&self, best: &mut Vec<(f64, OptionId)>, count: usize, rng: &mut R) {
        for group in self.groups() {
            group.merge_largest(best, count, rng);
        }
        keep_largest(best, count);
    }

    /// θ of all options, given ln λ of those with data; the others are drawn. O(K).
    pub(crate) fn theta<R: Rng>(
        &self,
        option_count: usize,
        explored: impl Iterator<Item = (OptionId, f64)>,
        rng: &mut R,
    ) -> Vec<f64> {
        let mut eta = vec![f64::NEG_INFINITY; option_count];
        for (option, ln_lambda) in explored {
            eta[option.index()] = ln_lambda;
        }
        for group in self.groups() {
            for option in &group.options {
                eta[option.index()] = ln_gamma_draw(group.alpha, rng);
            }
        }
        let ln_total = ln_sum_exp(eta.iter().copied());
        eta.into_iter().map(|eta| (eta - ln_total).exp()).collect()
    }
}

impl Group {
    fn merge_largest<R: Rng>(&self, best: &mut Vec<(f64, OptionId)>, count: usize, rng: &mut R) {
        let n = self.options.len();
        if n <= FEW {
            for &option in &self.options {
                insert(best, count, (ln_gamma_draw(self.alpha, rng), option));
            }
            return;
        }
        // The largest of n uniforms is U^(1/n), the next among those below it likewise with n − 1; their logarithms are carried,
        // since the first is within 10⁻⁶ of 1 for a million.
        let mut ln_u = 0.0_f64;
        let mut picked = Picked::default();
        for i in 0..count.min(n) {
            let u: f64 = rng.sample(rand_distr::Open01);
            ln_u += u.ln() / (n - i) as f64;
            let ln_lambda = ln_gamma_quantile(self.alpha, ln_u);
            // Later ones are smaller still.
            if count <= INSERTED && best.len() >= count && best.last().is_some_and(|last| last.0 >= ln_lambda) {
                return;
            }
            let place = picked.next(n, rng);
            insert(best, count, (ln_lambda, self.options[place]));
        }
    }
}

/// The largest `count` of some values with their options, largest first.
pub(crate) fn largest(values: impl Iterator<Item = (f64, OptionId)>, count: usize) -> Vec<(f64, OptionId)> {
    let mut best = Vec::with_capacity(count.min(INSERTED) + 1);
    // Most of many values are below all of the best: that is seen at once.
    let mut floor = f64::NEG_INFINITY;
    for value in values {
        if value.0 < floor {
            continue;
        }
        insert(&mut best, count, value);
        if best.len() >= count && count <= INSERTED {
            floor = best.last().map_or(f64::INFINITY, |last| last.0);
        }
    }
    keep_largest(&mut best, count);
    best
}

/// Inserts into the best `count`, largest first, ties by option; where these are many, it is left to [`keep_largest`] to sort them.
fn insert(best: &mut Vec<(f64, OptionId)>, count: usize, new: (f64, OptionId)) {
    if count > INSERTED {
        best.push(new);
        return;
    }
    let before = |x: &(f64, OptionId)| x.0 > new.0 || (x.0 == new.0 && x.1 < new.1);
    if best.len() >= count {
        if best.last().is_none_or(before) {
            return;
        }
        best.pop();
    }
    let mut at = best.len();
    while at > 0 && !before(&best[at - 1]) {
        at -= 1;
    }
    best.insert(at, new);
}

/// Sorts what [`insert`] has only collected.
fn keep_largest(best: &mut Vec<(f64, OptionId)>, count: usize) {
    if count <= INSERTED {
        return;
    }
    let order = |x: &(f64, OptionId), y: &(f64, OptionId)| y.0.total_cmp(&x.0).then(x.1.cmp(&y.1));
    if count < best.len() {
        best.select_nth_unstable_by(count - 1, order);
        best.truncate(count);
    }
    best.sort_unstable_by(order);
}

/// Places picked without repeats, all alike: the first steps of a shuffle, of which only what has moved is kept.
#[derive(Default)]
struct Picked {
    moved: HashMap<usize, usize, foldhash::fast::FixedState>,
    count: usize,
}

impl Picked {
    fn next<R: Rng>(&mut self, n: usize, rng: &mut R) -> usize {
        let at = rng.random_range(self.count..n);
        let here = self.moved.get(&self.count).copied().unwrap_or(self.count);
        let picked = self.moved.insert(at, here).unwrap_or(at);
        self.count += 1;
        picked
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;
    use testkit::{chi_square, ks};

    use super::*;

    /// False-alarm level of each test.
    const LEVEL: f64 = 1e-4;

    fn options(n: u32) -> impl Iterator<Item = OptionId> {
        (0..n).map(OptionId::new)
    }

    /// The third largest of 4 and of 200, the eighteenth of 20, against drawing all. With n in place of n − i among the uniforms, the
    /// third of 20 is off by KS 0.0375 against 0.0223.
    #[test]
    fn largest_draws_have_the_law_of_sorting_all() {
        for (shape, n, which) in [(0.2, 4, 2), (1.0, 20, 2), (1.0, 20, 17), (1.0, 200, 2), (5.0, 200, 2)] {
            let mut rng = ChaCha8Rng::seed_from_u64(8);
            let unexplored = Unexplored::new(options(n).map(|option| (option, shape)));
            let lazy: Vec<f64> = (0..20_000)
                .map(|_| {
                    let mut best = Vec::new();
                    unexplored.merge_largest(&mut best, which + 1, &mut rng);
                    best[which].0
                })
                .collect();
            let full: Vec<f64> = (0..20_000)
                .map(|_| {
                    let mut all: Vec<f64> = (0..n).map(|_| ln_gamma_draw(shape, &mut rng)).collect();
                    all.sort_by(|x, y| y.total_cmp(x));
                    all[which]
                })
                .collect();
            ks::two_sample(&lazy, &full, LEVEL).assert_passes(&format!("number {which} of {n} at shape {shape}"));
        }
    }

    /// Which options are the best two of 20 is uniform over ordered pairs, also after some were removed and others put in.
    #[test]
    fn identities_are_uniform_without_repeats() {
        let mut unexplored = Unexplored::new(options(23).map(|option| (option, 1.0)));
        for k in [0, 22, 7] {
            unexplored.remove(OptionId::new(k));
        }
        unexplored.insert(OptionId::new(7), 1.0);
        unexplored.remove(OptionId::new(5));
        unexplored.remove(OptionId::new(5));
        let mut rng = ChaCha8Rng::seed_from_u64(9);
        let mut counts = vec![0_u64; 23 * 23];
        for _ in 0..100_000 {
            let mut best = Vec::new();
            unexplored.merge_largest(&mut best, 2, &mut rng);
            counts[best[0].1.index() * 23 + best[1].1.index()] += 1;
        }
        let gone = [0, 22, 5];
        let mut pairs = Vec::new();
        for (pair, &count) in counts.iter().enumerate() {
            let (i, j) = (pair / 23, pair % 23);
            if i == j || gone.contains(&i) || gone.contains(&j) {
                assert_eq!(count, 0, "{i} {j}");
            } else {
                pairs.push(count);
            }
        }
        assert_eq!(pairs.len(), 20 * 19);
        chi_square::counts(&pairs, &[1.0 / 380.0; 380], LEVEL).assert_passes("ordered pairs");
    }

    #[test]
    fn the_best_stay_sorted_and_few() {
        let mut best = Vec::new();
        for (i, value) in [3.0, 1.0, 2.0, 5.0, 2.0, 0.5].into_iter().enumerate() {
            insert(&mut best, 3, (value, OptionId::new(i as u32)));
        }
        let expected = [(5.0, 3), (3.0, 0), (2.0, 2)].map(|(value, k)| (value, OptionId::new(k)));
        assert_eq!(best, expected);
        assert!(largest([(9.0, OptionId::new(9))].into_iter(), 0).is_empty());
        // Many at once have the same order, and no option is picked twice.
        let values: Vec<(f64, OptionId)> = options(500).map(|option| (f64::from(u32::from(option) * 37 % 101), option)).collect();
        let few = largest(values.iter().copied(), 60);
        let many = largest(values.iter().copied(), 300);
        assert_eq!((&few[..], many.len()), (&many[..60], 300));
        let unexplored = Unexplored::new(options(2_000).map(|option| (option, 1.0)));
        unexplored.merge_largest(&mut best, 1_500, &mut ChaCha8Rng::seed_from_u64(3));
        let mut names: Vec<OptionId> = best[..1_400].iter().map(|row| row.1).filter(|k| k.index() > 5).collect();
        names.sort_unstable();
        names.dedup();
        assert!(best.len() == 1_500 && best.is_sorted_by(|x, y| x.0 >= y.0) && names.len() > 1_390);
    }
}
