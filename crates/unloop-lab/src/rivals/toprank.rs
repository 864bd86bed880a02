//! TopRank (Lattimore, Kveton, Li & Szepesvári 2018).
//!
//! Options are kept in blocks: what is known to be below another comes in a later block. Places are filled block by block, at random
//! inside a block. Clicks are compared inside a block alone, and j goes below i once their difference is too large for chance.

use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use crate::policy::Policy;

/// 4√(2/π)/erf(√2).
const C: f64 = 3.343_676_401_881_076_7;

/// TopRank.
pub struct TopRank {
    count: usize,
    delta: f64,
    /// S_ij for i < j, and N_ij.
    difference: Vec<f64>,
    number: Vec<f64>,
    /// Whether j is below i.
    below: Vec<bool>,
    /// Block of each option.
    block: Vec<usize>,
    blocks: Vec<Vec<u32>>,
}

impl TopRank {
    /// Over so many options, wrong with probability δ.
    pub fn new(count: usize, delta: f64) -> Self {
        Self {
            count,
            delta,
            difference: vec![0.0; count * count],
            number: vec![0.0; count * count],
            below: vec![false; count * count],
            block: vec![0; count],
            blocks: vec![(0..count as u32).collect()],
        }
    }

    /// Blocks anew: those below none of the rest, again and again. A cycle leaves none: then all the rest are one block.
    fn sort(&mut self) {
        self.blocks.clear();
        let mut left: Vec<u32> = (0..self.count as u32).collect();
        while !left.is_empty() {
            let is_below = |j: u32| left.iter().any(|&i| self.below[i as usize * self.count + j as usize]);
            let mut first: Vec<u32> = left.iter().copied().filter(|&j| !is_below(j)).collect();
            if first.is_empty() {
                first.clone_from(&left);
            }
            left.retain(|k| !first.contains(k));
            for &k in &first {
                self.block[k as usize] = self.blocks.len();
            }
            self.blocks.push(first);
        }
    }
}

impl Policy for TopRank {
    fn present(&mut self, size: usize, shown: &mut Vec<u32>, rng: &mut ChaCha8Rng) {
        shown.clear();
        for block in &mut self.blocks {
            let (part, _) = block.partial_shuffle(rng, size - shown.len());
            shown.extend_from_slice(part);
            if shown.len() == size {
                break;
            }
        }
    }

    fn choose(&mut self, _: &[u32], chosen: Option<u32>, _: &mut ChaCha8Rng) {
        let Some(i) = chosen.map(|chosen| chosen as usize) else { return };
        let mut changed = false;
        for &j in &self.blocks[self.block[i]] {
            let j = j as usize;
            if j == i {
                continue;
            }
            let (up, down) = (i * self.count + j, j * self.count + i);
            self.difference[up] += 1.0;
            self.difference[down] -= 1.0;
            self.number[up] += 1.0;
            self.number[down] += 1.0;
            let n = self.number[up];
            if !self.below[up] && self.difference[up] >= (2.0 * n * (C * n.sqrt() / self.delta).ln()).sqrt() {
                self.below[up] = true;
                changed = true;
            }
        }
        if changed {
            self.sort();
        }
    }
}
