//! Groups of options worth moving together: the sides of a cut of a spanning tree over co-presentation counts.
//!
//! Two groups that were rarely shown together are far apart in the tree: all paths between them pass light edges, and cutting one
//! separates them. The tree follows the counts as they grow, at a bounded cost for each choice, hence it may lag behind a true
//! maximum spanning tree. That is allowed: any rule may choose a group that looks at counts and coins alone, a stale one too.

use std::collections::VecDeque;

use hashbrown::HashMap;
use rand::{Rng, RngExt};

use crate::statistics::DisjointSets;

/// Up to this size of a presentation all its pairs are edges of the graph of co-presentations; beyond, neighbours only.
const ALL_PAIRS: usize = 3;
/// Edges that may enter the tree at once: each takes a walk over it.
const ENTRIES: usize = 4;
/// No edge of the tree.
const NONE: u32 = u32::MAX;

/// A spanning tree over co-presentation counts, nearly of maximum weight.
#[derive(Clone, Debug, Default)]
pub(crate) struct SpanningTree {
    /// How often pairs (smaller first) were shown together, and their edge of the tree.
    pairs: HashMap<(u32, u32), Pair, foldhash::fast::FixedState>,
    edges: Vec<Edge>,
    /// Edges of the tree at each option.
    incident: Vec<Vec<u32>>,
    /// Pairs that have become heavier than when they were last compared with the tree.
    waiting: VecDeque<(u32, u32)>,
}

#[derive(Clone, Copy, Debug)]
struct Pair {
    weight: f64,
    edge: u32,
    /// The weight at which it is compared with the tree again.
    next: f64,
}

#[derive(Clone, Copy, Debug)]
struct Edge {
    ends: (u32, u32),
    weight: f64,
}

impl SpanningTree {
    /// No edges between options `0 … n−1`.
    pub(crate) fn new(n: usize) -> Self {
        Self { incident: vec![Vec::new(); n], ..Self::default() }
    }

    /// The maximum spanning tree of columns over options `0 … n−1`.
    pub(crate) fn of_columns<'a>(n: usize, columns: impl Iterator<Item = (&'a [u32], f64)>) -> Self {
        let mut tree = Self::new(n);
        for (set, b) in columns {
            tree.count(set, b);
        }
        tree.span();
        tree
    }

    /// Counts a column, before the tree is [spanned](Self::span).
    pub(crate) fn count(&mut self, set: &[u32], b: f64) {
        for_pairs(set, |i, j| self.add_weight((i, j), b));
    }

    /// Makes the maximum spanning tree of the counts.
    pub(crate) fn span(&mut self) {
        let mut sorted: Vec<((u32, u32), f64)> = self.pairs.iter().map(|(&pair, found)| (pair, found.weight)).collect();
        // Ties by index, so that the tree does not depend on the order of the map.
        sorted.sort_unstable_by(|x, y| y.1.total_cmp(&x.1).then(x.0.cmp(&y.0)));
        let mut sets = DisjointSets::new(self.incident.len());
        for (pair, _) in sorted {
            if sets.join(pair.0 as usize, pair.1 as usize) {
                self.link(pair);
            }
        }
    }

    /// A presentation's count has changed by a weight, which may be negative. O(L).
    pub(crate) fn add(&mut self, set: &[u32], weight: f64) {
        if let Some(&last) = set.last()
            && self.incident.len() <= last as usize
        {
            self.incident.resize(last as usize + 1, Vec::new());
        }
        for_pairs(set, |i, j| {
            self.add_weight((i, j), weight);
            let pair = self.pairs[&(i, j)];
            if pair.edge != NONE {
                self.edges[pair.edge as usize].weight = pair.weight;
            } else if self.incident[i as usize].is_empty() || self.incident[j as usize].is_empty() {
                // One of them is new to the tree: no circle can close.
                self.link((i, j));
            } else if pair.weight >= pair.next {
                // Compared again when it has doubled.
                if let Some(pair) = self.pairs.get_mut(&(i, j)) {
                    pair.next = 2.0 * pair.weight;
                }
                self.waiting.push_back((i, j));
            }
        });
    }

    fn add_weight(&mut self, pair: (u32, u32), weight: f64) {
        self.pairs.entry(pair).or_insert(Pair { weight: 0.0, edge: NONE, next: 0.0 }).weight += weight;
    }

    fn link(&mut self, pair: (u32, u32)) {
        let edge = self.edges.len() as u32;
        let found = self.pairs.entry(pair).or_insert(Pair { weight: 0.0, edge: NONE, next: 0.0 });
        found.edge = edge;
        self.edges.push(Edge { ends: pair, weight: found.weight });
        self.incident[pair.0 as usize].push(edge);
        self.incident[pair.1 as usize].push(edge);
    }

    /// Takes an edge out of the tree; the last takes its number.
    fn unlink(&mut self, edge: u32) {
        let Edge { ends, .. } = self.edges.swap_remove(edge as usize);
        for end in [ends.0, ends.1] {
            self.incident[end as usize].retain(|&other| other != edge);
        }
        if let Some(pair) = self.pairs.get_mut(&ends) {
            pair.edge = NONE;
        }
        if let Some(moved) = self.edges.get(edge as usize).copied() {
            let old = self.edges.len() as u32;
            for end in [moved.ends.0, moved.ends.1] {
                for other in &mut self.incident[end as usize] {
                    if *other == old {
                        *other = edge;
                    }
                }
            }
            if let Some(pair) = self.pairs.get_mut(&moved.ends) {
                pair.edge = edge;
            }
        }
    }

    /// Lets a pair into the tree if it joins two parts of it, or is heavier than the lightest edge between its ends.
    fn compare(&mut self, pair: (u32, u32)) {
        let Some(found) = self.pairs.get(&pair).copied().filter(|found| found.edge == NONE) else { return };
        // The edge by which each option is reached from the first end.
        let mut reached = vec![NONE; self.incident.len()];
        let mut stack = vec![(pair.0, NONE)];
        while let Some((i, from)) = stack.pop() {
            reached[i as usize] = from;
            if i == pair.1 {
                break;
            }
            for &edge in &self.incident[i as usize] {
                if edge != from {
                    stack.push((self.edges[edge as usize].other(i), edge));
                }
            }
        }
        if reached[pair.1 as usize] == NONE {
            self.link(pair);
            return;
        }
        let mut lightest = reached[pair.1 as usize];
        let mut i = pair.1;
        while i != pair.0 {
            let edge = reached[i as usize];
            if self.edges[edge as usize].weight < self.edges[lightest as usize].weight {
                lightest = edge;
            }
            i = self.edges[edge as usize].other(i);
        }
        if self.edges[lightest as usize].weight < found.weight {
            self.unlink(lightest);
            self.link(pair);
        }
    }

    /// Lets a few of the pairs that have become heavier into the tree. O(n).
    pub(crate) fn settle(&mut self) {
        for _ in 0..ENTRIES {
            let Some(pair) = self.waiting.pop_front() else { break };
            self.compare(pair);
        }
    }

    /// Cuts a random edge, light ones more often, or takes a whole tree where there are several, and writes for each option whether it
    /// is on that side; false if there is no edge. O(n).
    pub(crate) fn cut<R: Rng>(&self, inside: &mut [bool], rng: &mut R) -> bool {
        let chance = |edge: &Edge| 1.0 / (1.0 + edge.weight.max(0.0)).sqrt();
        let total: f64 = self.edges.iter().map(chance).sum();
        // Options never shown together may lie in several trees; each is then a group as well, as if edges of no weight joined them.
        let linked = || (0..self.incident.len()).filter(|&i| !self.incident[i].is_empty());
        let trees = linked().count() - self.edges.len();
        let apart = if trees > 1 { trees as f64 } else { 0.0 };
        let mut at = rng.random::<f64>() * (total + apart) - apart;
        if at < 0.0 {
            let which = rng.random_range(0..linked().count());
            let Some(start) = linked().nth(which) else { return false };
            self.flood(start as u32, None, inside);
            return true;
        }
        let cut = self.edges.iter().position(|edge| {
            at -= chance(edge);
            at < 0.0
        });
        let Some(cut) = cut.or_else(|| self.edges.len().checked_sub(1)) else { return false };
        self.flood(self.edges[cut].ends.0, Some(cut as u32), inside);
        true
    }

    /// Marks what can be reached from an option without an edge.
    fn flood(&self, start: u32, cut: Option<u32>, inside: &mut [bool]) {
        inside.fill(false);
        inside[start as usize] = true;
        let mut stack = vec![start];
        while let Some(i) = stack.pop() {
            for &edge in self.incident[i as usize].iter().filter(|&&edge| Some(edge) != cut) {
                let j = self.edges[edge as usize].other(i);
                if !inside[j as usize] {
                    inside[j as usize] = true;
                    stack.push(j);
                }
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

impl Edge {
    fn other(&self, end: u32) -> u32 {
        if self.ends.0 == end { self.ends.1 } else { self.ends.0 }
    }
}

/// Calls `f` with the pairs of a set that are edges of the graph, smaller option first.
fn for_pairs(set: &[u32], mut f: impl FnMut(u32, u32)) {
    let reach = if set.len() <= ALL_PAIRS { set.len() } else { 2 };
    for (x, &i) in set.iter().enumerate() {
        for &j in set[x + 1..].iter().take(reach - 1) {
            f(i.min(j), i.max(j));
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
        tree.edges.len() == n - 1 && tree.edges.iter().all(|edge| sets.join(edge.ends.0 as usize, edge.ends.1 as usize))
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
            inside.resize(tree.incident.len(), false);
            assert!(tree.cut(&mut inside, &mut rng));
            tree.settle();
        }
        for _ in 0..100 {
            tree.settle();
        }
        assert!(is_spanning(&tree, n) && tree.waiting.is_empty());
        let best = SpanningTree::of_columns(n, columns.iter().map(|(set, b)| (&set[..], *b)));
        let weight = |tree: &SpanningTree| tree.edges.iter().map(|edge| edge.weight).sum::<f64>();
        println!("grown {}, best {}", weight(&tree), weight(&best));
        assert!(is_spanning(&best, n) && weight(&tree) <= weight(&best) && weight(&tree) >= 0.5 * weight(&best));
        // The two groups hang together by one edge, and cutting it separates them.
        let crossing = |tree: &SpanningTree| tree.edges.iter().filter(|edge| (edge.ends.0 < 15) != (edge.ends.1 < 15)).count();
        assert_eq!((crossing(&tree), crossing(&best)), (1, 1));
        let separated = (0..200).filter(|_| {
            tree.cut(&mut inside, &mut rng);
            (0..n).all(|k| inside[k] == inside[if k < 15 { 0 } else { 15 }])
        });
        assert!(separated.count() > 10);
    }

    #[test]
    fn nothing_to_cut_is_said() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        assert!(!SpanningTree::default().cut(&mut [], &mut rng));
    }
}
