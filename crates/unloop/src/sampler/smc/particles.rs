//! Weighted particles, option by option: the values of all particles for one option lie side by side.
//!
//! So the weight update of a choice from L options is a loop over L + 1 arrays that the compiler turns into vector instructions, and an
//! option that comes in is one array more.

use rand::{Rng, RngExt};

use crate::posterior::potential::ln_sum_exp;
use crate::sampler::lanes::{Kernel, LANES, Lanes, dispatch, exp, ln};

/// Sums below this may have lost terms to underflow; they are taken in logs then.
const SAFE_SUM: f64 = 1e-290;
/// Particles whose weights are summed up together, to find one by its place in the sum.
const RUN: usize = 64;

/// Particles (a multiple of [`LANES`]) with their weights.
#[derive(Clone, Debug)]
pub(crate) struct Particles {
    count: usize,
    /// ln λ by place and particle, and λ.
    pub(crate) eta: Vec<Vec<f64>>,
    lambda: Vec<Vec<f64>>,
    /// Since the last resampling.
    ln_weights: Vec<f64>,
    /// e^(ln w − max), and their sums over runs.
    weights: Vec<f64>,
    runs: Vec<f64>,
    summary: Summary,
    /// The particle of the beginning that each descends from.
    pub(crate) eve: Vec<u32>,
}

/// What the weights add up to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Summary {
    /// Σw of the scaled weights, and the logarithm of their scale.
    pub(crate) total: f64,
    high: f64,
    /// (Σw)² / Σw².
    pub(crate) ess: f64,
}

impl Summary {
    /// ln Σw.
    pub(crate) fn ln_total(&self) -> f64 {
        self.total.ln() + self.high
    }
}

impl Particles {
    pub(crate) fn new(count: usize) -> Self {
        let mut particles = Self {
            count,
            eta: Vec::new(),
            lambda: Vec::new(),
            ln_weights: vec![0.0; count],
            weights: vec![1.0; count],
            runs: Vec::new(),
            summary: Summary { total: 0.0, high: 0.0, ess: 0.0 },
            eve: (0..count as u32).collect(),
        };
        particles.summarise();
        particles
    }

    pub(crate) fn len(&self) -> usize {
        self.count
    }

    pub(crate) fn summary(&self) -> Summary {
        self.summary
    }

    pub(crate) fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// The values of a place, made if it is new.
    pub(crate) fn set_place(&mut self, place: usize, ln_lambda: Vec<f64>) {
        if self.eta.len() <= place {
            self.eta.resize(place + 1, Vec::new());
            self.lambda.resize(place + 1, Vec::new());
        }
        self.lambda[place].clone_from(&ln_lambda);
        self.eta[place] = ln_lambda;
        exponentials(&mut self.lambda[place]);
    }

    /// ln λ of some places for a group of particles next to each other, or for their ancestors.
    pub(crate) fn gather(&self, places: &[usize], ancestors: &[u32]) -> Vec<Lanes> {
        places.iter().map(|&place| std::array::from_fn(|lane| self.eta[place][ancestors[lane] as usize])).collect()
    }

    /// Replaces ln λ of some places by groups of particles in order; weights become equal.
    pub(crate) fn replace(&mut self, places: &[usize], groups: &[Vec<Lanes>]) {
        for (at, &place) in places.iter().enumerate() {
            for (group, values) in groups.iter().zip(self.eta[place].as_chunks_mut::<LANES>().0) {
                *values = group[at];
            }
            self.lambda[place].clone_from(&self.eta[place]);
            exponentials(&mut self.lambda[place]);
        }
        self.reset_weights();
    }

    pub(crate) fn reset_weights(&mut self) {
        self.ln_weights.fill(0.0);
        self.summarise();
    }

    /// ln of the probability of a choice for each particle: Σ part·ln λ_k − weight·ln S_C.
    pub(crate) fn ln_likelihoods(&self, members: &[usize], parts: &[(usize, f64)], weight: f64) -> Vec<f64> {
        let mut out = vec![0.0; self.count];
        let unsafe_sums = dispatch(LnLikelihoods { particles: self, members, parts, weight, out: &mut out });
        if unsafe_sums {
            for (i, out) in out.iter_mut().enumerate() {
                let chosen: f64 = parts.iter().map(|&(place, part)| part * self.eta[place][i]).sum();
                *out = chosen - weight * ln_sum_exp(members.iter().map(|&place| self.eta[place][i]));
            }
        }
        out
    }

    /// Multiplies the weights by e^(part · ln p).
    pub(crate) fn reweight(&mut self, ln_likelihoods: &[f64], part: f64) {
        for (ln_weight, ln_likelihood) in self.ln_weights.iter_mut().zip(ln_likelihoods) {
            *ln_weight += part * ln_likelihood;
        }
        self.summarise();
    }

    /// The effective size if the weights were multiplied by e^(part · ln p).
    pub(crate) fn ess_after(&self, ln_likelihoods: &[f64], part: f64) -> f64 {
        let mut weights: Vec<f64> = self.ln_weights.iter().zip(ln_likelihoods).map(|(w, p)| w + part * p).collect();
        dispatch(Weigh { values: &mut weights }).ess
    }

    fn summarise(&mut self) {
        self.weights.clone_from(&self.ln_weights);
        self.summary = dispatch(Weigh { values: &mut self.weights });
        self.runs = self.weights.chunks(RUN).map(|run| run.iter().sum()).collect();
    }

    /// A particle, with a chance proportional to its weight.
    pub(crate) fn pick<R: Rng>(&self, rng: &mut R) -> usize {
        let mut at = rng.random::<f64>() * self.runs.iter().sum::<f64>();
        let mut run = 0;
        while run + 1 < self.runs.len() && at >= self.runs[run] {
            at -= self.runs[run];
            run += 1;
        }
        let start = run * RUN;
        let weights = &self.weights[start..(start + RUN).min(self.count)];
        let mut last = start;
        for (i, &weight) in weights.iter().enumerate() {
            if weight > 0.0 {
                last = start + i;
                if at < weight {
                    break;
                }
                at -= weight;
            }
        }
        last
    }
}

/// x ← eˣ, in place.
fn exponentials(values: &mut [f64]) {
    dispatch(Exponentials { values });
}

struct Exponentials<'a> {
    values: &'a mut [f64],
}

impl Kernel for Exponentials<'_> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        for values in self.values.as_chunks_mut::<LANES>().0 {
            *values = exp(*values);
        }
    }
}

struct LnLikelihoods<'a> {
    particles: &'a Particles,
    members: &'a [usize],
    parts: &'a [(usize, f64)],
    weight: f64,
    out: &'a mut [f64],
}

impl Kernel for LnLikelihoods<'_> {
    /// Whether a sum was too small to be trusted.
    type Output = bool;
    #[inline(always)]
    fn run(self) -> bool {
        let mut lowest = [f64::INFINITY; LANES];
        for &place in self.members {
            for (out, lambda) in self.out.iter_mut().zip(&self.particles.lambda[place]) {
                *out += lambda;
            }
        }
        for out in self.out.as_chunks_mut::<LANES>().0 {
            for lane in 0..LANES {
                lowest[lane] = lowest[lane].min(out[lane]);
            }
            let ln_sum = ln(*out);
            for lane in 0..LANES {
                out[lane] = -self.weight * ln_sum[lane];
            }
        }
        for &(place, part) in self.parts {
            for (out, eta) in self.out.iter_mut().zip(&self.particles.eta[place]) {
                *out += part * eta;
            }
        }
        // exp stops at e^±700.
        !lowest.iter().all(|&lowest| lowest > SAFE_SUM)
    }
}

/// Logarithms of weights become weights relative to the largest.
struct Weigh<'a> {
    values: &'a mut [f64],
}

impl Kernel for Weigh<'_> {
    type Output = Summary;
    #[inline(always)]
    fn run(self) -> Summary {
        let mut high = [f64::NEG_INFINITY; LANES];
        for values in self.values.as_chunks::<LANES>().0 {
            for lane in 0..LANES {
                high[lane] = if values[lane] > high[lane] { values[lane] } else { high[lane] };
            }
        }
        let high = high.into_iter().fold(f64::NEG_INFINITY, f64::max);
        let (mut sum, mut square) = ([0.0; LANES], [0.0; LANES]);
        for values in self.values.as_chunks_mut::<LANES>().0 {
            let mut weights = exp(std::array::from_fn(|lane| values[lane] - high));
            for lane in 0..LANES {
                // Below e⁻⁷⁰⁰ of the largest: nothing.
                weights[lane] = if values[lane] - high > -700.0 { weights[lane] } else { 0.0 };
                sum[lane] += weights[lane];
                square[lane] += weights[lane] * weights[lane];
            }
            *values = weights;
        }
        let total: f64 = sum.iter().sum();
        Summary { total, high, ess: total * total / square.iter().sum::<f64>() }
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;
    use testkit::chi_square;

    use super::*;

    fn particles() -> Particles {
        let mut particles = Particles::new(4);
        particles.set_place(0, [1.0_f64, 2.0, 3.0, 4.0].map(f64::ln).to_vec());
        particles.set_place(1, [1.0_f64, 1.0, 1.0, 4.0].map(f64::ln).to_vec());
        particles
    }

    /// By hand: p = ½, ⅔, ¾, ½.
    #[test]
    fn weights_and_their_effective_size() {
        let mut particles = particles();
        assert_eq!(particles.summary().ess, 4.0);
        let ln_p = particles.ln_likelihoods(&[0, 1], &[(0, 1.0)], 1.0);
        let p = [0.5, 2.0 / 3.0, 0.75, 0.5];
        assert!(ln_p.iter().zip(p).all(|(x, p): (&f64, f64)| (x - p.ln()).abs() < 1e-15));
        let (sum, square) = (p.iter().sum::<f64>(), p.iter().map(|p| p * p).sum::<f64>());
        assert!((particles.ess_after(&ln_p, 1.0) - sum * sum / square).abs() < 1e-14);
        particles.reweight(&ln_p, 1.0);
        assert!((particles.summary().ess - sum * sum / square).abs() < 1e-14);
        assert!((particles.summary().ln_total() - sum.ln()).abs() < 1e-15);
        // A tie of both: √(p₀ p₁).
        let tie = particles.ln_likelihoods(&[0, 1], &[(0, 0.5), (1, 0.5)], 1.0);
        assert!((tie[1] - (2.0_f64 / 9.0).ln() / 2.0).abs() < 1e-15);
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut counts = [0; 4];
        for _ in 0..10_000 {
            counts[particles.pick(&mut rng)] += 1;
        }
        chi_square::counts(&counts, &p.map(|p| p / sum), 1e-4).assert_passes("particles by weight");
    }

    /// Far below the smallest number, likelihoods are right, and a weight of 10⁶ takes nothing below zero.
    #[test]
    fn extremes() {
        let mut particles = Particles::new(4);
        particles.set_place(0, vec![-2_000.0, -1_000.0, -3.0, -900.0]);
        particles.set_place(1, vec![-2_001.0, -1_000.0, 5.0, -1_900.0]);
        let ln_p = particles.ln_likelihoods(&[0, 1], &[(0, 1e6)], 1e6);
        let expected = [-(1.0 + (-1.0_f64).exp()).ln(), -(2.0_f64.ln()), -8.0 - (-8.0_f64).exp().ln_1p(), 0.0];
        assert!(ln_p.iter().zip(expected).all(|(x, e)| (x - 1e6 * e).abs() <= 1e-9 * (1e6 * e).abs()), "{ln_p:?}");
        particles.reweight(&ln_p, 1.0);
        assert_eq!(particles.weights(), [0.0, 0.0, 0.0, 1.0]);
        assert_eq!(particles.summary().ess, 1.0);
        assert_eq!(particles.pick(&mut ChaCha8Rng::seed_from_u64(1)), 3);
    }
}
