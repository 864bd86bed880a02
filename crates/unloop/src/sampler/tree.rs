//! Laminar presentations: everything in closed form.
//!
//! If any two presentations are nested or disjoint, they form a tree. Inside each node the split over its child blocks B (the
//! largest presentations inside it, and the single options left over) is
//!
//! ```text
//! Dirichlet( a(B) : B child ),    a(B) = Σ_{k∈B} (α_k + y_k) − Σ_{C⊆B} (β(C) + μ(C))
//! ```
//! independently between nodes. So the evidence is a product of Beta functions, moments are products along the way down to an
//! option, and draws are independent. Detection costs O(Σ|C|) and stops at the first two presentations that cross.
//!
//! ```
//! use unloop::{OptionId, Posterior, Prior, Statistics};
//! let [a, b] = [0, 1].map(OptionId::new);
//! let mut statistics = Statistics::new(3);
//! statistics.record([a, b], a, 10.0)?;
//! statistics.record([a, b], b, 5.0)?;
//! let tree = Posterior::new(&Prior::default(), &statistics)?.tree().ok_or("not laminar")?;
//! // Inside {a, b} Dirichlet(11, 6), outside Dirichlet(2, 1): the third option keeps its prior.
//! assert!((tree.mean()[0] - 2.0 / 3.0 * 11.0 / 17.0).abs() < 1e-15);
//! assert!((tree.mean()[2] - 1.0 / 3.0).abs() < 1e-15);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use rand::Rng;
use statrs::function::gamma::ln_gamma;

use crate::posterior::Posterior;
use crate::posterior::potential::{Potential, ln_sum_exp};
use crate::random::ln_gamma_draw;
use crate::statistics::find_root;

/// The exact posterior of laminar presentations.
#[derive(Clone, Debug)]
pub struct Tree {
    /// Children before parents; the last is the root.
    nodes: Vec<Node>,
    option_count: usize,
    /// ln ∫ exp φ.
    ln_normaliser: f64,
}

#[derive(Clone, Debug)]
struct Node {
    children: Vec<Child>,
}

/// A block inside a node, with a(B).
#[derive(Clone, Debug)]
struct Child {
    block: Block,
    a: f64,
    /// Σ(α + y) inside, from which a(B) was left: its rounding is relative to this.
    size: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Block {
    Option(u32),
    Node(u32),
}

impl Posterior {
    /// The posterior in closed form, if its presentations are laminar.
    pub fn tree(&self) -> Option<Tree> {
        let mut nodes: Vec<Node> = Vec::new();
        let mut masses: Vec<Child> = Vec::new();
        for component in self.components() {
            let tree = Tree::of_potential(&component.potential)?;
            let shift = nodes.len() as u32;
            let rename = |block: Block| match block {
                Block::Option(i) => Block::Option(component.options[i as usize]),
                Block::Node(i) => Block::Node(i + shift),
            };
            nodes.extend(tree.nodes.into_iter().map(|node| Node {
                children: node.children.into_iter().map(|child| Child { block: rename(child.block), ..child }).collect(),
            }));
            masses.push(Child { block: Block::Node(nodes.len() as u32 - 1), a: component.mass, size: component.mass });
        }
        let alone = self.unexplored_indices().iter().map(|&k| (k, self.alpha()[k as usize]));
        masses.extend(alone.map(|(k, a)| Child { block: Block::Option(k), a, size: a }));
        // A single component is its own root; so is its tree.
        if masses.len() > 1 || nodes.is_empty() {
            nodes.push(Node { children: masses });
        }
        Tree::new(nodes, self.option_count())
    }
}

impl Tree {
    /// The tree of one connected component, whose root holds all its options.
    pub(crate) fn of_potential(potential: &Potential) -> Option<Self> {
        let n = potential.option_count();
        let mut nodes: Vec<Node> = Vec::new();
        // Block that holds an option now, found by following parents; a(B) and size of each block. Options come first.
        let mut parent: Vec<u32> = (0..n as u32).collect();
        let mut slack: Vec<f64> = potential.a.clone();
        let mut sizes: Vec<usize> = vec![1; n];
        let mut weights: Vec<f64> = potential.a.clone();
        // By size ascending, as the columns come, so that nested ones come before those around them.
        let mut blocks: Vec<usize> = Vec::new();
        for (set, b) in potential.columns.iter() {
            blocks.clear();
            blocks.extend(set.iter().map(|&i| find_root(&mut parent, i as usize)));
            blocks.sort_unstable();
            blocks.dedup();
            if blocks.iter().map(|&block| sizes[block]).sum::<usize>() != set.len() {
                return None;
            }
            if let [block] = blocks[..] {
                slack[block] -= b;
                continue;
            }
            join(&blocks, b, n, &mut nodes, &mut parent, &mut slack, &mut sizes, &mut weights);
        }
        let mut roots: Vec<usize> = (0..n).map(|i| find_root(&mut parent, i)).collect();
        roots.sort_unstable();
        roots.dedup();
        if roots.len() > 1 {
            join(&roots, 0.0, n, &mut nodes, &mut parent, &mut slack, &mut sizes, &mut weights);
        }
        Self::new(nodes, n)
    }

    fn new(nodes: Vec<Node>, option_count: usize) -> Option<Self> {
        let ln_normaliser = nodes.iter().map(|node| ln_beta(node.children.iter().map(|child| child.a))).sum();
        // A block without slack has no posterior to speak of; the general ways report that.
        let proper = nodes.iter().all(|node| node.children.len() == 1 || node.children.iter().all(|child| child.a > 0.0));
        proper.then_some(Self { nodes, option_count, ln_normaliser })
    }

    /// ln ∫_Δ exp φ(θ) dθ.
    pub fn ln_normaliser(&self) -> f64 {
        self.ln_normaliser
    }

    /// E θ_k, by option.
    pub fn mean(&self) -> Vec<f64> {
        self.products(|a, total| a / total)
    }

    /// Var θ_k, by option.
    pub fn variance(&self) -> Vec<f64> {
        // E x² / (E x)² is a product along the way too; as a sum of logarithms it keeps what E x² − (E x)² would lose.
        let excess = self.walk(0.0, |sum, a, total| sum + ((total - a) / (a * (total + 1.0))).ln_1p());
        excess.iter().zip(self.mean()).map(|(excess, mean)| mean * mean * excess.exp_m1()).collect()
    }

    /// Rounding of [`ln_normaliser`](Self::ln_normaliser), and relative rounding of the means: sums of large counts leave small a(B).
    pub(crate) fn rounding(&self) -> (f64, f64) {
        let (mut absolute, mut relative) = (1e-15_f64, 1e-15_f64);
        for node in &self.nodes {
            let total: f64 = node.children.iter().map(|child| child.a).sum();
            absolute += 4.0 * f64::EPSILON * ln_gamma(total).abs().max(1.0);
            for child in &node.children {
                absolute += 4.0 * f64::EPSILON * (ln_gamma(child.a).abs() + child.size * ln_gamma_slope(child.a));
                relative += 2.0 * f64::EPSILON * child.size / child.a;
            }
        }
        (absolute, relative)
    }

    /// An independent draw of ln θ.
    pub fn sample_ln<R: Rng + ?Sized>(&self, rng: &mut R) -> Vec<f64> {
        let mut ln_theta = vec![0.0; self.option_count];
        let mut ln_mass = vec![0.0; self.nodes.len()];
        let mut draws = Vec::new();
        for (i, node) in self.nodes.iter().enumerate().rev() {
            draws.clear();
            if let [_] = node.children[..] {
                draws.push(0.0);
            } else {
                draws.extend(node.children.iter().map(|child| ln_gamma_draw(child.a, rng)));
            }
            let ln_total = ln_sum_exp(draws.iter().copied());
            for (child, draw) in node.children.iter().zip(&draws) {
                let ln_share = ln_mass[i] + draw - ln_total;
                match child.block {
                    Block::Option(k) => ln_theta[k as usize] = ln_share,
                    Block::Node(j) => ln_mass[j as usize] = ln_share,
                }
            }
        }
        ln_theta
    }

    /// An independent draw of θ.
    pub fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> Vec<f64> {
        self.sample_ln(rng).into_iter().map(f64::exp).collect()
    }

    /// E[θ_k / S_C] for each member of C, if C crosses no presentation.
    pub(crate) fn predict(&self, set: &[u32]) -> Option<Vec<f64>> {
        // How many members of C each node holds; the lowest node with all of them is where C splits off.
        let mut inside = vec![0_usize; self.nodes.len()];
        let mut sizes = vec![0_usize; self.nodes.len()];
        let mut member = vec![false; self.option_count];
        for &k in set {
            member[k as usize] = true;
        }
        for (i, node) in self.nodes.iter().enumerate() {
            for child in &node.children {
                let (held, size) = match child.block {
                    Block::Option(k) => (usize::from(member[k as usize]), 1),
                    Block::Node(j) => (inside[j as usize], sizes[j as usize]),
                };
                inside[i] += held;
                sizes[i] += size;
            }
        }
        let top = inside.iter().position(|&held| held == set.len())?;
        let mut ratio = vec![0.0; self.nodes.len()];
        let mut shares = vec![0.0; self.option_count];
        let mut total = 0.0;
        for child in &self.nodes[top].children {
            let (held, size) = match child.block {
                Block::Option(k) => (usize::from(member[k as usize]), 1),
                Block::Node(j) => (inside[j as usize], sizes[j as usize]),
            };
            if held != 0 && held != size {
                return None;
            }
            total += if held > 0 { child.a } else { 0.0 };
        }
        for child in &self.nodes[top].children {
            match child.block {
                Block::Option(k) if member[k as usize] => shares[k as usize] = child.a / total,
                Block::Node(j) if inside[j as usize] > 0 => ratio[j as usize] = child.a / total,
                _ => {}
            }
        }
        for (i, node) in self.nodes.iter().enumerate().rev().filter(|&(i, _)| i < top) {
            let total: f64 = node.children.iter().map(|child| child.a).sum();
            let share = ratio[i];
            for child in node.children.iter().filter(|_| share > 0.0) {
                match child.block {
                    Block::Option(k) => shares[k as usize] = share * child.a / total,
                    Block::Node(j) => ratio[j as usize] = share * child.a / total,
                }
            }
        }
        Some(set.iter().map(|&k| shares[k as usize]).collect())
    }

    /// Products of a factor of (a(child), Σ a(children)) along the way to each option.
    fn products(&self, factor: impl Fn(f64, f64) -> f64) -> Vec<f64> {
        self.walk(1.0, |product, a, total| product * factor(a, total))
    }

    /// A value for each option, from the root down: `next(value of the node, a(child), Σ a(children))`.
    fn walk(&self, start: f64, next: impl Fn(f64, f64, f64) -> f64) -> Vec<f64> {
        let mut options = vec![start; self.option_count];
        let mut values = vec![start; self.nodes.len()];
        for (i, node) in self.nodes.iter().enumerate().rev() {
            let total: f64 = node.children.iter().map(|child| child.a).sum();
            for child in &node.children {
                let value = if node.children.len() == 1 { values[i] } else { next(values[i], child.a, total) };
                match child.block {
                    Block::Option(k) => options[k as usize] = value,
                    Block::Node(j) => values[j as usize] = value,
                }
            }
        }
        options
    }
}

/// Makes a node of some blocks.
#[expect(clippy::too_many_arguments, reason = "the columns of one table of blocks")]
fn join(
    blocks: &[usize],
    b: f64,
    n: usize,
    nodes: &mut Vec<Node>,
    parent: &mut Vec<u32>,
    slack: &mut Vec<f64>,
    sizes: &mut Vec<usize>,
    weights: &mut Vec<f64>,
) {
    let id = parent.len();
    let name = |block: usize| if block < n { Block::Option(block as u32) } else { Block::Node((block - n) as u32) };
    let child = |&block: &usize| Child { block: name(block), a: slack[block], size: weights[block] };
    nodes.push(Node { children: blocks.iter().map(child).collect() });
    weights.push(blocks.iter().map(|&block| weights[block]).sum());
    parent.push(id as u32);
    slack.push(blocks.iter().map(|&block| slack[block]).sum::<f64>() - b);
    sizes.push(blocks.iter().map(|&block| sizes[block]).sum());
    for &block in blocks {
        parent[block] = id as u32;
    }
}

/// |d ln Γ(a)/da| roughly: how rounding of a shows in ln Γ(a).
fn ln_gamma_slope(a: f64) -> f64 {
    1.0 / a + a.max(1.0).ln()
}

/// ln of the multivariate Beta function; 0 for a single argument.
pub(crate) fn ln_beta(a: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut ln, mut count) = (0.0, 0.0, 0);
    for a in a {
        sum += a;
        ln += ln_gamma(a);
        count += 1;
    }
    if count < 2 { 0.0 } else { ln - ln_gamma(sum) }
}
