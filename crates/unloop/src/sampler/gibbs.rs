//! Gibbs sampling by gamma augmentation, with a step that moves whole groups of options.
//!
//! ```text
//! z_C | λ ~ Gamma(b_C, rate S_C(λ))                 one for each column, the whole one too      (after Caron & Doucet 2012)
//! λ_k | z ~ Gamma(a_k, rate Σ_{C∋k} z_C)
//! λ_A ← g λ_A,  g ~ Gamma(a(A), rate Σ_{C straddling A} z_C λ(C∩A))                           for a group A
//! ```
//! No rejections and no tuning; a sweep costs O(Σ|C| + n). The last line is a full conditional too: along it λ_A moves by g and z_C by
//! 1/g for the columns inside A. Without it, two groups with many comparisons inside and few between them crawl: with 10 000 inside
//! and 2 between, the autocorrelation time of their contrast is thousands of sweeps. Groups are the two sides of a random cut
//! of a maximum spanning tree over co-presentation counts, chosen by counts and coins alone: a rule that looked at λ or z would
//! change the law.

use hashbrown::HashMap;
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::posterior::potential::{Potential, bounds, ln_sum_exp};
use crate::random::ln_gamma_draw;
use crate::statistics::DisjointSets;

/// Beyond this spread of ln λ, sums are taken in logs.
const SAFE_SPREAD: f64 = 500.0;
/// Up to this size of a column all its pairs are edges of the graph of co-presentations; beyond, neighbours only.
const ALL_PAIRS: usize = 6;

/// A chain over the options of one connected component.
pub(crate) struct Gibbs<'a> {
    potential: &'a Potential,
    columns: Vec<(&'a [u32], f64)>,
    /// ln λ, the largest at 0.
    ln_lambda: Vec<f64>,
    lambda: Vec<f64>,
    /// z of each column, and that of all options; on the scale of ln where the spread is not safe.
    z: Vec<f64>,
    whole: f64,
    rates: Vec<f64>,
    tree: SpanningTree,
    rng: ChaCha8Rng,
}

impl<'a> Gibbs<'a> {
    /// A chain that starts from independent draws around the exponents, with a random stream of its own.
    pub(crate) fn new(potential: &'a Potential, seed: u64, stream: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(stream);
        let columns: Vec<(&[u32], f64)> = potential.columns.iter().collect();
        let n = potential.option_count();
        // Times each option was shown: a_k over it is a first guess that does not depend on the others.
        let mut shown = vec![potential.whole; n];
        for &(set, b) in &columns {
            for &i in set {
                shown[i as usize] += b;
            }
        }
        let ln_lambda: Vec<f64> =
            potential.a.iter().zip(&shown).map(|(&a, shown)| ln_gamma_draw(a, &mut rng) - shown.ln()).collect();
        let z = vec![0.0; columns.len()];
        let tree = SpanningTree::new(n, &columns);
        let mut chain =
            Self { potential, columns, lambda: vec![0.0; n], ln_lambda, z, whole: 0.0, rates: vec![0.0; n], tree, rng };
        chain.normalise();
        chain
    }

    /// ln λ, up to a shift.
    pub(crate) fn eta(&self) -> &[f64] {
        &self.ln_lambda
    }

    /// Every z, every λ, and the groups on both sides of a cut.
    pub(crate) fn sweep(&mut self) {
        let (low, high) = bounds(&self.ln_lambda);
        if high - low < SAFE_SPREAD {
            self.sweep_linear();
        } else {
            self.sweep_careful();
        }
        self.normalise();
    }

    fn sweep_linear(&mut self) {
        let total: f64 = self.lambda.iter().sum();
        self.whole =
            if self.potential.whole > 0.0 { ln_gamma_draw(self.potential.whole, &mut self.rng).exp() / total } else { 0.0 };
        self.rates.fill(self.whole);
        for (z, &(set, b)) in self.z.iter_mut().zip(&self.columns) {
            let sum: f64 = set.iter().map(|&i| self.lambda[i as usize]).sum();
            *z = gamma(b, &mut self.rng) / sum;
            for &i in set {
                self.rates[i as usize] += *z;
            }
        }
        for k in 0..self.lambda.len() {
            self.ln_lambda[k] = ln_gamma_draw(self.potential.a[k], &mut self.rng) - self.rates[k].ln();
            self.lambda[k] = self.ln_lambda[k].exp();
        }
        let Some(cut) = self.tree.cut(&mut self.rng) else { return };
        // Rates of both sides in one pass; a step on one side leaves the other's rate as it is.
        let mut rates = [0.0; 2];
        for (k, lambda) in self.lambda.iter().enumerate() {
            rates[usize::from(cut.inside[k])] += self.whole * lambda;
        }
        for (z, &(set, _)) in self.z.iter().zip(&self.columns) {
            let mut sums = [0.0; 2];
            let mut held = 0;
            for &i in set {
                let side = cut.inside[i as usize];
                sums[usize::from(side)] += self.lambda[i as usize];
                held += usize::from(side);
            }
            if held > 0 && held < set.len() {
                rates[0] += z * sums[0];
                rates[1] += z * sums[1];
            }
        }
        self.scale_groups(&cut, rates.map(f64::ln));
    }

    /// As [`sweep_linear`](Self::sweep_linear), with every sum in logs.
    fn sweep_careful(&mut self) {
        let mut ln_rates = vec![f64::NEG_INFINITY; self.ln_lambda.len()];
        let add = |sum: &mut f64, x: f64| *sum = ln_sum_exp([*sum, x].into_iter());
        if self.potential.whole > 0.0 {
            self.whole = ln_gamma_draw(self.potential.whole, &mut self.rng) - ln_sum_exp(self.ln_lambda.iter().copied());
            ln_rates.fill(self.whole);
        } else {
            self.whole = f64::NEG_INFINITY;
        }
        for (z, &(set, b)) in self.z.iter_mut().zip(&self.columns) {
            *z = ln_gamma_draw(b, &mut self.rng) - ln_sum_exp(set.iter().map(|&i| self.ln_lambda[i as usize]));
            for &i in set {
                add(&mut ln_rates[i as usize], *z);
            }
        }
        for k in 0..self.ln_lambda.len() {
            self.ln_lambda[k] = ln_gamma_draw(self.potential.a[k], &mut self.rng) - ln_rates[k];
        }
        let Some(cut) = self.tree.cut(&mut self.rng) else { return };
        let mut rates = [f64::NEG_INFINITY; 2];
        for (k, &ln_lambda) in self.ln_lambda.iter().enumerate() {
            add(&mut rates[usize::from(cut.inside[k])], self.whole + ln_lambda);
        }
        for (z, &(set, _)) in self.z.iter().zip(&self.columns) {
            let held = set.iter().filter(|&&i| cut.inside[i as usize]).count();
            if held > 0 && held < set.len() {
                for &i in set {
                    add(&mut rates[usize::from(cut.inside[i as usize])], z + self.ln_lambda[i as usize]);
                }
            }
        }
        self.scale_groups(&cut, rates);
    }

    /// The group step on both sides of a cut, given the logs of their rates.
    fn scale_groups(&mut self, cut: &Cut, ln_rates: [f64; 2]) {
        // a(A) from the sides' own columns.
        let mut slack = [0.0; 2];
        for (k, a) in self.potential.a.iter().enumerate() {
            slack[usize::from(cut.inside[k])] += a;
        }
        for &(set, b) in &self.columns {
            let held = set.iter().filter(|&&i| cut.inside[i as usize]).count();
            if held == 0 || held == set.len() {
                slack[usize::from(held > 0)] -= b;
            }
        }
        for side in 0..2 {
            // Rounding may take the slack of a group with huge counts below zero; such a group waits for another cut.
            if slack[side] > 0.0 && ln_rates[side].is_finite() {
                let ln_g = ln_gamma_draw(slack[side], &mut self.rng) - ln_rates[side];
                for (k, ln_lambda) in self.ln_lambda.iter_mut().enumerate() {
                    if usize::from(cut.inside[k]) == side {
                        *ln_lambda += ln_g;
                    }
                }
            }
        }
    }

    /// Takes the common unit out: only ratios are determined.
    fn normalise(&mut self) {
        let (_, high) = bounds(&self.ln_lambda);
        for (ln_lambda, lambda) in self.ln_lambda.iter_mut().zip(&mut self.lambda) {
            *ln_lambda -= high;
            *lambda = ln_lambda.exp();
        }
    }
}

/// A Gamma(shape) draw; an exponential where the shape is 1, as for presentations answered once.
fn gamma<R: Rng>(shape: f64, rng: &mut R) -> f64 {
    if shape == 1.0 { rng.sample(rand_distr::Exp1) } else { ln_gamma_draw(shape, rng).exp() }
}

/// A maximum spanning tree over co-presentation counts.
struct SpanningTree {
    /// Neighbours of each option in the tree.
    neighbours: Vec<Vec<u32>>,
    edges: Vec<(u32, u32)>,
    /// Sums of the edges' chances to be cut, light ones more often.
    chances: Vec<f64>,
}

/// One side of a cut.
struct Cut {
    inside: Vec<bool>,
}

impl SpanningTree {
    fn new(n: usize, columns: &[(&[u32], f64)]) -> Self {
        let mut weights: HashMap<(u32, u32), f64, foldhash::fast::FixedState> =
            HashMap::with_hasher(foldhash::fast::FixedState::with_seed(0));
        let mut add = |i: u32, j: u32, b: f64| *weights.entry((i.min(j), i.max(j))).or_insert(0.0) += b;
        for &(set, b) in columns {
            if set.len() <= ALL_PAIRS {
                for (x, &i) in set.iter().enumerate() {
                    for &j in &set[..x] {
                        add(i, j, b);
                    }
                }
            } else {
                for pair in set.windows(2) {
                    add(pair[0], pair[1], b);
                }
            }
        }
        let mut sorted: Vec<((u32, u32), f64)> = weights.into_iter().collect();
        // Ties by index, so that the tree does not depend on the order of the map.
        sorted.sort_by(|x, y| y.1.total_cmp(&x.1).then(x.0.cmp(&y.0)));
        let mut sets = DisjointSets::new(n);
        let mut tree = Self { neighbours: vec![Vec::new(); n], edges: Vec::new(), chances: Vec::new() };
        let mut sum = 0.0;
        for ((i, j), weight) in sorted {
            if sets.join(i as usize, j as usize) {
                tree.neighbours[i as usize].push(j);
                tree.neighbours[j as usize].push(i);
                tree.edges.push((i, j));
                sum += 1.0 / (1.0 + weight).sqrt();
                tree.chances.push(sum);
            }
        }
        tree
    }

    /// The options on one side of a random edge.
    fn cut<R: Rng>(&self, rng: &mut R) -> Option<Cut> {
        let total = self.chances.last()?;
        let at = rng.random::<f64>() * total;
        let edge = self.chances.partition_point(|&sum| sum <= at).min(self.edges.len() - 1);
        let (start, other) = self.edges[edge];
        let mut inside = vec![false; self.neighbours.len()];
        let mut stack = vec![start];
        inside[start as usize] = true;
        while let Some(i) = stack.pop() {
            for &j in &self.neighbours[i as usize] {
                if !inside[j as usize] && (i, j) != (start, other) {
                    inside[j as usize] = true;
                    stack.push(j);
                }
            }
        }
        Some(Cut { inside })
    }
}
