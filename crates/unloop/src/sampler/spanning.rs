//! Groups of options worth moving together: the sides of a cut of a spanning tree over co-presentation counts.
//!
//! Two groups that were rarely shown together are far apart in the tree: all paths between them pass light edges, and cutting one
//! separates them. The tree follows the counts as they grow, in memory of O(1) for each option: it knows the counts of its own edges,
//! and of a few pairs for each option that may take their place. What a pair forced out of that list had counted is forgotten, hence
//! the tree may fall short of a true maximum spanning tree. That is allowed: any rule may choose a group that looks at counts and
//! coins alone, a stale one too.

use rand::{Rng, RngExt};

use crate::statistics::DisjointSets;

/// Up to this size of a presentation all its pairs are edges of the graph of co-presentations; beyond, neighbours only.
const ALL_PAIRS: usize = 3;
/// Edges that may enter the tree at once: each takes a walk over it.
const ENTRIES: usize = 4;
/// Pairs outside the tree whose counts are kept, for each option.
const RIVALS: usize = 4;

/// A spanning tree over co-presentation counts, nearly of maximum weight.
#[derive(Clone, Debug, Default)]
pub(crate) struct SpanningTree {
    /// The option above each option; itself at the root of a tree.
    above: Vec<u32>,
    /// How often each option was shown with the one above it.
    weight: Vec<f64>,
    /// Which options hang together.
    sets: DisjointSets,
    /// Pairs that may enter the tree, each in the slot of its hash; as many as a power of two.
    rivals: Vec<Rival>,
}

/// A pair outside the tree.
#[derive(Clone, Copy, Debug, Default)]
struct Rival {
    pair: (u32, u32),
    /// How often it was shown, at least; 0 in a slot that is free.
    weight: f32,
    /// The weight at which it is compared with the tree again.
    next: f32,
}

impl SpanningTree {
    pub(crate) fn heap_bytes(&self) -> usize {
        let by_option = 4 * self.above.capacity() + 8 * self.weight.capacity() + self.sets.heap_bytes();
        by_option + size_of::<Rival>() * self.rivals.capacity()
    }

    /// No edges between options `0 … n−1`.
    fn new(n: usize) -> Self {
        let mut tree = Self::default();
        tree.grow(n);
        tree
    }

    /// The maximum spanning tree of columns over options `0 … n−1`.
    pub(crate) fn of_columns<'a, T: Copy + Into<u32> + 'a>(n: usize, columns: impl Iterator<Item = (&'a [T], f64)>) -> Self {
        let mut pairs = Pairs::new(n);
        for (set, b) in columns {
            for_pairs(set, |pair| pairs.add(pair, b));
        }
        let mut tree = Self::new(n);
        for (pair, weight) in pairs.heaviest_first() {
            if tree.sets.join(pair.0 as usize, pair.1 as usize) {
                tree.join(pair, weight);
            } else {
                tree.count_rival(pair, weight as f32);
            }
        }
        // No heavier than what is on their way.
        tree.rivals.iter_mut().for_each(|rival| rival.next = 2.0 * rival.weight);
        tree
    }

    fn grow(&mut self, n: usize) {
        self.above.extend(self.above.len() as u32..n as u32);
        self.weight.resize(self.above.len(), 0.0);
        self.sets.grow(self.above.len());
        if self.rivals.len() < RIVALS * n {
            let rivals = vec![Rival::default(); (RIVALS * n).next_power_of_two()];
            for old in std::mem::replace(&mut self.rivals, rivals).into_iter().filter(|rival| rival.weight > 0.0) {
                let slot = self.slot(old.pair);
                if old.weight > self.rivals[slot].weight {
                    self.rivals[slot] = old;
                }
            }
        }
    }

    /// A presentation's count has changed by a weight, which may be negative. O(L), but for a walk where two trees become one.
    pub(crate) fn add<T: Copy + Into<u32>>(&mut self, set: &[T], weight: f64) {
        let end = set.iter().map(|&place| place.into() as usize + 1).max().unwrap_or(0);
        if self.above.len() < end {
            self.grow(end);
        }
        for_pairs(set, |(i, j)| {
            if self.above[i as usize] == j {
                self.weight[i as usize] += weight;
            } else if self.above[j as usize] == i {
                self.weight[j as usize] += weight;
            } else if self.sets.join(i as usize, j as usize) {
                self.join((i, j), weight);
            } else {
                self.count_rival((i, j), weight as f32);
            }
        });
    }

    /// An edge between two trees.
    fn join(&mut self, (i, j): (u32, u32), weight: f64) {
        // One that is new hangs below the other; else a tree is turned round.
        let (below, above) = if self.above[i as usize] == i { (i, j) } else { (j, i) };
        let mut root = below;
        while self.above[root as usize] != root {
            root = self.above[root as usize];
        }
        self.hang(below, above, weight, root);
    }

    /// Hangs an option below another: the way from it up to `top` is turned round, and the edge above `top` goes.
    fn hang(&mut self, below: u32, above: u32, weight: f64, top: u32) {
        let (mut i, mut above, mut weight) = (below, above, weight);
        loop {
            let next = std::mem::replace(&mut self.above[i as usize], above);
            weight = std::mem::replace(&mut self.weight[i as usize], weight);
            if i == top {
                return;
            }
            (above, i) = (i, next);
        }
    }

    fn slot(&self, pair: (u32, u32)) -> usize {
        // Fibonacci hashing of both numbers.
        let key = u64::from(pair.0) << 32 | u64::from(pair.1);
        let hash = (key ^ key >> 29).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (hash >> 32) as usize & (self.rivals.len() - 1)
    }

    /// Counts a pair outside the tree. Of pairs that share a slot the one that is shown more often than all others stays.
    fn count_rival(&mut self, pair: (u32, u32), weight: f32) {
        let slot = self.slot(pair);
        let rival = &mut self.rivals[slot];
        if rival.weight > 0.0 && rival.pair == pair {
            rival.weight = (rival.weight + weight).max(0.0);
        } else if rival.weight > weight {
            rival.weight -= weight.max(0.0);
        } else if weight > 0.0 {
            *rival = Rival { pair, weight, next: 0.0 };
        }
    }

    /// Lets a pair into the tree if it is heavier than the lightest edge between its ends, which becomes a rival; whether it came in.
    /// O(depth).
    fn compare(&mut self, (i, j): (u32, u32), weight: f64) -> bool {
        let (mut ends, mut depths) = ([i, j], [self.depth(i), self.depth(j)]);
        // The option below the lightest edge, and on whose way up it is.
        let mut lightest: Option<(u32, usize)> = None;
        while ends[0] != ends[1] {
            let side = usize::from(depths[1] > depths[0]);
            let at = ends[side];
            if lightest.is_none_or(|(other, _)| self.weight[at as usize] < self.weight[other as usize]) {
                lightest = Some((at, side));
            }
            ends[side] = self.above[at as usize];
            depths[side] -= 1;
        }
        let Some((top, side)) = lightest.filter(|&(top, _)| self.weight[top as usize] < weight) else { return false };
        let (other, gone) = (self.above[top as usize], self.weight[top as usize]);
        let (below, above) = if side == 0 { (i, j) } else { (j, i) };
        self.hang(below, above, weight, top);
        self.count_rival((top.min(other), top.max(other)), gone as f32);
        true
    }

    fn depth(&self, mut i: u32) -> u32 {
        let mut depth = 0;
        while self.above[i as usize] != i {
            i = self.above[i as usize];
            depth += 1;
        }
        depth
    }

    /// Edges by the option below them.
    fn edges(&self) -> impl Iterator<Item = (usize, f64)> {
        self.above
            .iter()
            .zip(&self.weight)
            .enumerate()
            .filter(|&(i, (&above, _))| above as usize != i)
            .map(|(i, (_, &weight))| (i, weight))
    }

    /// Lets the heaviest of the pairs that have doubled since they were last compared into the tree. O(n).
    pub(crate) fn settle(&mut self) {
        let least = self.edges().map(|(_, weight)| weight).fold(f64::INFINITY, f64::min) as f32;
        let mut heaviest: [(f32, usize); ENTRIES] = [(0.0, 0); ENTRIES];
        for (slot, rival) in self.rivals.iter().enumerate() {
            if rival.weight > least && rival.weight >= rival.next && rival.weight > heaviest[ENTRIES - 1].0 {
                heaviest[ENTRIES - 1] = (rival.weight, slot);
                heaviest.sort_unstable_by(|x, y| y.0.total_cmp(&x.0).then(x.1.cmp(&y.1)));
            }
        }
        for (weight, slot) in heaviest {
            if weight == 0.0 {
                break;
            }
            let rival = std::mem::take(&mut self.rivals[slot]);
            if rival.weight > 0.0 && !self.compare(rival.pair, f64::from(rival.weight)) {
                self.rivals[slot] = Rival { next: 2.0 * rival.weight, ..rival };
            }
        }
    }

    /// Cuts a random edge, light ones more often, or takes a whole tree where there are several, and writes for each option whether it
    /// is on that side; false if there is no edge. O(n).
    pub(crate) fn cut<R: Rng>(&self, inside: &mut [bool], rng: &mut R) -> bool {
        let chance = |weight: f64| 1.0 / (1.0 + weight.max(0.0)).sqrt();
        let total: f64 = self.edges().map(|(_, weight)| chance(weight)).sum();
        // Options never shown together may lie in several trees; each is then a group as well, as if edges of no weight joined them.
        let mut linked = vec![false; self.above.len()];
        for (i, _) in self.edges() {
            linked[i] = true;
            linked[self.above[i] as usize] = true;
        }
        let linked = || linked.iter().enumerate().filter(|&(_, &linked)| linked).map(|(i, _)| i);
        let trees = linked().count() - self.edges().count();
        let apart = if trees > 1 { trees as f64 } else { 0.0 };
        let mut at = rng.random::<f64>() * (total + apart) - apart;
        if at < 0.0 {
            let which = rng.random_range(0..linked().count());
            let Some(mut top) = linked().nth(which) else { return false };
            while self.above[top] as usize != top {
                top = self.above[top] as usize;
            }
            self.mark_below(top, inside);
            return true;
        }
        let mut last = None;
        for (i, weight) in self.edges() {
            last = Some(i);
            at -= chance(weight);
            if at < 0.0 {
                break;
            }
        }
        let Some(top) = last else { return false };
        self.mark_below(top, inside);
        true
    }

    /// Marks an option and all that hang below it.
    fn mark_below(&self, top: usize, inside: &mut [bool]) {
        inside.fill(false);
        inside[top] = true;
        let mut known = vec![false; self.above.len()];
        known[top] = true;
        for start in 0..self.above.len() {
            let up = |i: &usize| Some(self.above[*i] as usize).filter(|_| !known[*i] && self.above[*i] as usize != *i);
            let end = std::iter::successors(Some(start), up).last().unwrap_or(start);
            let (is_inside, mut i) = (inside[end], start);
            while !known[i] {
                known[i] = true;
                inside[i] = is_inside;
                i = self.above[i] as usize;
            }
        }
    }
}

/// a(A) = Σ_{k∈A} a_k − Σ_{C⊆A} b_C of the two sides of a cut.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Slack {
    left: [f64; 2],
    /// What it is left of.
    size: [f64; 2],
}

impl Slack {
    /// An option of a side.
    pub(crate) fn add(&mut self, side: usize, a: f64) {
        self.left[side] += a;
        self.size[side] += a;
    }

    /// A column within a side.
    pub(crate) fn subtract(&mut self, side: usize, b: f64) {
        self.left[side] -= b;
    }

    /// The shape of the step on a side. None where so little is left of huge counts that it may be rounding; such a group waits for
    /// another cut, which is a rule that looks at counts alone.
    pub(crate) fn shape(&self, side: usize) -> Option<f64> {
        (self.left[side] > 1e-12 * self.size[side]).then_some(self.left[side])
    }
}

/// Pairs, each with the sum of its weights. Put in order by counting rather than into a hash map: somebody waits for the tree.
struct Pairs {
    /// The smaller option in the upper half.
    all: Vec<(u64, f64)>,
    /// So many from the first on are in order, each pair once.
    distinct: usize,
    options: usize,
}

impl Pairs {
    /// Pairs with which it begins to join them now and then: memory is bounded by those that differ.
    const MANY: usize = 1 << 16;

    /// Of options `0 … n−1`.
    fn new(options: usize) -> Self {
        Self { all: Vec::new(), distinct: 0, options }
    }

    fn add(&mut self, (i, j): (u32, u32), weight: f64) {
        if self.all.len() >= Self::MANY.max(2 * self.distinct) {
            self.join();
        }
        self.all.push((u64::from(i) << 32 | u64::from(j), weight));
    }

    /// In order, each pair once; weights of a pair are added up in the order in which they came.
    fn join(&mut self) {
        let mut sorted = vec![(0, 0.0); self.all.len()];
        for half in [0, 32] {
            let place = |pair: u64| (pair >> half) as u32 as usize;
            let mut ends = vec![0_usize; self.options + 1];
            self.all.iter().for_each(|&(pair, _)| ends[place(pair) + 1] += 1);
            (1..ends.len()).for_each(|option| ends[option] += ends[option - 1]);
            for &(pair, weight) in &self.all {
                let next = &mut ends[place(pair)];
                sorted[*next] = (pair, weight);
                *next += 1;
            }
            std::mem::swap(&mut self.all, &mut sorted);
        }
        self.all.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            kept.1 += if same { next.1 } else { 0.0 };
            same
        });
        self.distinct = self.all.len();
    }

    /// The heaviest first, ties by index.
    fn heaviest_first(mut self) -> impl Iterator<Item = ((u32, u32), f64)> {
        self.join();
        // They are in order of their index, and stay so. As whole numbers, which bits of counts can be.
        self.all.sort_by_key(|&(_, weight)| !weight.to_bits());
        self.all.into_iter().map(|(pair, weight)| (((pair >> 32) as u32, pair as u32), weight))
    }
}

/// Calls `f` with the pairs of a set that are edges of the graph, smaller option first.
fn for_pairs<T: Copy + Into<u32>>(set: &[T], mut f: impl FnMut((u32, u32))) {
    let reach = if set.len() <= ALL_PAIRS { set.len() } else { 2 };
    for (x, &i) in set.iter().enumerate() {
        for &j in set[x + 1..].iter().take(reach - 1) {
            let (i, j) = (i.into(), j.into());
            f((i.min(j), i.max(j)));
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;

    fn is_spanning(tree: &SpanningTree, n: usize) -> bool {
        let mut sets = DisjointSets::new(n);
        tree.edges().count() == n - 1 && tree.edges().all(|(i, _)| sets.join(i, tree.above[i] as usize))
    }

    /// Grown choice by choice, the tree stays a spanning tree and comes within a factor of two of the maximum one.
    #[test]
    fn a_grown_tree_is_nearly_the_maximum_one() {
        let n = 30;
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let mut tree = SpanningTree::default();
        let mut columns: Vec<([u32; 2], f64)> = Vec::new();
        let mut inside = vec![false; n];
        for round in 0..5_000 {
            let i = rng.random_range(0..n as u32);
            let j = (i + 1 + rng.random_range(0..n as u32 - 1)) % n as u32;
            // Two groups meet rarely.
            if (i < 15) != (j < 15) && round % 50 != 0 {
                continue;
            }
            let set = [i.min(j), i.max(j)];
            tree.add(&set, 1.0);
            columns.push((set, 1.0));
            inside.resize(tree.above.len(), false);
            assert!(tree.cut(&mut inside, &mut rng));
            tree.settle();
        }
        for _ in 0..100 {
            tree.settle();
        }
        assert!(is_spanning(&tree, n));
        let best = SpanningTree::of_columns(n, columns.iter().map(|(set, b)| (&set[..], *b)));
        let weight = |tree: &SpanningTree| tree.edges().map(|(_, weight)| weight).sum::<f64>();
        println!("grown {}, best {}", weight(&tree), weight(&best));
        assert!(is_spanning(&best, n) && weight(&tree) <= weight(&best) && weight(&tree) >= 0.5 * weight(&best));
        // The two groups hang together by one edge, and cutting it separates them.
        let crossing = |tree: &SpanningTree| tree.edges().filter(|&(i, _)| (i < 15) != (tree.above[i] < 15)).count();
        assert_eq!((crossing(&tree), crossing(&best)), (1, 1));
        let separated = (0..200).filter(|_| {
            tree.cut(&mut inside, &mut rng);
            (0..n).all(|k| inside[k] == inside[if k < 15 { 0 } else { 15 }])
        });
        assert!(separated.count() > 10);
    }

    #[test]
    fn pairs_are_summed_and_come_in_order() {
        let n = 50;
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        let (mut pairs, mut expected) = (Pairs::new(n), std::collections::BTreeMap::new());
        // More than are kept before they are joined.
        for _ in 0..3 * Pairs::MANY {
            let i = rng.random_range(0..n as u32 - 1);
            let (pair, weight) = ((i, rng.random_range(i + 1..n as u32)), f64::from(rng.random_range(1..4_u32)));
            pairs.add(pair, weight);
            *expected.entry(pair).or_insert(0.0) += weight;
        }
        assert!(pairs.all.len() < 2 * Pairs::MANY);
        let mut expected: Vec<((u32, u32), f64)> = expected.into_iter().collect();
        expected.sort_by(|x, y| y.1.total_cmp(&x.1).then(x.0.cmp(&y.0)));
        assert_eq!(pairs.heaviest_first().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn nothing_to_cut_is_said() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        assert!(!SpanningTree::default().cut(&mut [], &mut rng));
    }
}
