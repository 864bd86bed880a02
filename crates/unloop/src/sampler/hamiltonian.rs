//! Hamiltonian Monte Carlo in the log basis, whitened by the curvature at the mode.
//!
//! ```text
//! target   f(η) − κ/2 (pᵀ(η − η*))²        the last term pins the common shift, which f ignores; shares do not feel it
//! whitened η = η* + L⁻ᵀ x,  L Lᵀ = −H(η*) + κ p pᵀ
//! ```
//! In x the posterior is nearly standard normal, so that a trajectory of a few long steps ends at a nearly independent point.
//! [`LANES`] chains run side by side, each with a random stream of its own. A trajectory costs O(Σ|C| + n²) for each step.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use super::lanes::{Kernel, LANES, Lanes, dispatch, exp, ln};
use crate::matrix::cholesky;
use crate::posterior::potential::Potential;

/// Steps of a trajectory: so many or one less, by a coin. Near half a period x turns into −x: the centre is then worth more than
/// independent draws, the tails less (2.6 and 0.4 for each draw at K = 50, T = 10 000; `--bench samplers` prints both).
pub(crate) const STEPS: usize = 5;
/// Length of a step to begin with; five of them are less than half a period.
const FIRST_STEP: f64 = 0.55;
/// Steps vary by this part, so that no mode of motion returns to its start every time.
const JITTER: f64 = 0.15;
/// Acceptance that the warm-up steers towards.
const ACCEPTANCE: f64 = 0.85;

/// Chains side by side over the options of one connected component.
pub(crate) struct Hamiltonian<'a> {
    potential: &'a Potential,
    mode: Vec<f64>,
    /// p at the mode, and κ.
    shares: Vec<f64>,
    pin: f64,
    /// L⁻¹, row by row: row i has i + 1 entries.
    whitening: Vec<Vec<f64>>,
    x: Vec<Lanes>,
    state: State,
    rngs: Vec<ChaCha8Rng>,
    step: f64,
    accepted: f64,
    trajectories: f64,
}

/// A point with its value and gradients.
#[derive(Clone)]
struct State {
    eta: Vec<Lanes>,
    value: Lanes,
    /// Gradient by x.
    gradient: Vec<Lanes>,
}

impl<'a> Hamiltonian<'a> {
    /// Chains that start at independent points around the mode; none if the curvature there is lost in rounding.
    /// `stream` numbers the first chain's random stream.
    pub(crate) fn new(potential: &'a Potential, mode: &[f64], seed: u64, stream: u64) -> Option<Self> {
        let n = mode.len();
        let high = mode.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mode: Vec<f64> = mode.iter().map(|eta| eta - high).collect();
        let weights: Vec<f64> = mode.iter().map(|eta| eta.exp()).collect();
        let total: f64 = weights.iter().sum();
        let shares: Vec<f64> = weights.iter().map(|weight| weight / total).collect();
        let mut curvature = vec![vec![0.0; n]; n];
        for (set, b) in potential.columns.iter() {
            let sum: f64 = set.iter().map(|&i| weights[i as usize]).sum();
            for &i in set {
                let p = weights[i as usize] / sum;
                curvature[i as usize][i as usize] += b * p;
                for &j in set {
                    curvature[i as usize][j as usize] -= b * p * weights[j as usize] / sum;
                }
            }
        }
        for (i, share) in shares.iter().enumerate() {
            curvature[i][i] += potential.whole * share;
        }
        // κ = w leaves w diag(p): no full matrix to add. Without w, as much as an option has on average.
        let pin = if potential.whole > 0.0 {
            potential.whole
        } else {
            curvature.iter().enumerate().map(|(i, row)| row[i]).sum::<f64>()
        };
        if potential.whole <= 0.0 {
            for i in 0..n {
                for j in 0..n {
                    curvature[i][j] += pin * shares[i] * shares[j];
                }
            }
        }
        let whitening = inverse_of_lower(cholesky(&mut curvature)?);
        let rngs = (0..LANES as u64)
            .map(|lane| {
                let mut rng = ChaCha8Rng::seed_from_u64(seed);
                rng.set_stream(stream + lane);
                rng
            })
            .collect();
        let zeros = vec![[0.0; LANES]; n];
        let state = State { eta: zeros.clone(), value: [0.0; LANES], gradient: zeros.clone() };
        let mut chains = Self {
            potential,
            mode,
            shares,
            pin,
            whitening,
            x: zeros,
            state,
            rngs,
            step: FIRST_STEP,
            accepted: 0.0,
            trajectories: 0.0,
        };
        chains.x = chains.normals();
        chains.state = chains.evaluate(&chains.x, chains.state.clone(), true);
        chains.state.value.iter().all(|value| value.is_finite()).then_some(chains)
    }

    /// Sets the chains to given points and the length of their steps: x from η by solving with L⁻ᵀ, last row first.
    #[cfg(test)]
    pub(crate) fn start_at(&mut self, eta: &[Lanes], step: f64) {
        self.step = step;
        for lane in 0..LANES {
            let mut left: Vec<f64> = eta.iter().zip(&self.mode).map(|(eta, mode)| eta[lane] - mode).collect();
            // pᵀ(η − η*) is Normal(0, 1/κ) whatever the shares are.
            let shift: f64 = left.iter().zip(&self.shares).map(|(x, share)| x * share).sum();
            let normal: f64 = StandardNormal.sample(&mut self.rngs[lane]);
            left.iter_mut().for_each(|x| *x += normal / self.pin.sqrt() - shift);
            for i in (0..left.len()).rev() {
                let x = left[i] / self.whitening[i][i];
                for j in 0..=i {
                    left[j] -= self.whitening[i][j] * x;
                }
                self.x[i][lane] = x;
            }
        }
        self.state = self.evaluate(&self.x, self.state.clone(), true);
    }

    /// Moves, and steers the length of the steps by how many were accepted.
    pub(crate) fn warm_up(&mut self, iterations: usize) {
        for i in 0..iterations {
            let before = self.accepted;
            self.advance();
            let rate = (self.accepted - before) / LANES as f64;
            let gain = 1.0 / (1.0 + i as f64).powf(0.6);
            // A quarter of a period at most: longer trajectories turn back.
            self.step = (self.step * (gain * (rate - ACCEPTANCE)).exp()).clamp(1e-3, FIRST_STEP);
        }
        (self.accepted, self.trajectories) = (0.0, 0.0);
    }

    /// One trajectory of each chain.
    pub(crate) fn advance(&mut self) {
        let mut momentum = self.normals();
        let steps: Lanes = std::array::from_fn(|lane| self.step * (1.0 + JITTER * (2.0 * self.rngs[lane].random::<f64>() - 1.0)));
        let kinetic = |momentum: &[Lanes]| {
            let mut sum = [0.0; LANES];
            for p in momentum {
                for lane in 0..LANES {
                    sum[lane] += 0.5 * p[lane] * p[lane];
                }
            }
            sum
        };
        let energy = kinetic(&momentum);
        let mut x = self.x.clone();
        let mut state = self.state.clone();
        let count = STEPS - usize::from(self.rngs[0].random::<bool>());
        for i in 0..count {
            dispatch(Kick { momentum: &mut momentum, gradient: &state.gradient, x: &x, steps: &steps });
            dispatch(Rotate { x: &mut x, momentum: &mut momentum, steps: &steps });
            state = self.evaluate(&x, state, i + 1 == count);
            dispatch(Kick { momentum: &mut momentum, gradient: &state.gradient, x: &x, steps: &steps });
        }
        let end = kinetic(&momentum);
        for lane in 0..LANES {
            let ln_ratio = (state.value[lane] - end[lane]) - (self.state.value[lane] - energy[lane]);
            self.trajectories += 1.0;
            self.accepted += ln_ratio.exp().min(1.0);
            // NaN is refused: it compares as not smaller.
            if self.rngs[lane].random::<f64>().ln() < ln_ratio {
                for k in 0..x.len() {
                    self.x[k][lane] = x[k][lane];
                    self.state.eta[k][lane] = state.eta[k][lane];
                    self.state.gradient[k][lane] = state.gradient[k][lane];
                }
                self.state.value[lane] = state.value[lane];
            }
        }
    }

    /// η of each chain, up to a shift.
    pub(crate) fn eta(&self) -> &[Lanes] {
        &self.state.eta
    }

    /// Mean acceptance since the warm-up.
    pub(crate) fn acceptance(&self) -> f64 {
        self.accepted / self.trajectories
    }

    fn normals(&mut self) -> Vec<Lanes> {
        let mut out = vec![[0.0; LANES]; self.mode.len()];
        for (lane, rng) in self.rngs.iter_mut().enumerate() {
            for values in &mut out {
                values[lane] = StandardNormal.sample(rng);
            }
        }
        out
    }

    /// Value (if wanted) and gradient at x, in the buffers of an old state.
    fn evaluate(&self, x: &[Lanes], mut state: State, with_value: bool) -> State {
        let n = x.len();
        let mut lambda = vec![[0.0; LANES]; n];
        let (shift, total) = dispatch(Unwhiten { chains: self, x, eta: &mut state.eta, lambda: &mut lambda });
        let mut rates = std::mem::take(&mut state.gradient);
        self.potential.columns.rates_of_lanes(&lambda, &mut rates);
        let mut slope = vec![[0.0; LANES]; n];
        dispatch(Slope { chains: self, lambda: &lambda, slope: &mut slope, rates: &mut rates, shift, total });
        state.gradient = rates;
        if with_value {
            let sums = self.potential.columns.ln_sums_of_lanes(&lambda);
            let ln_total = ln(total);
            for lane in 0..LANES {
                let linear: f64 = self.potential.a.iter().zip(&state.eta).map(|(a, eta)| a * eta[lane]).sum();
                state.value[lane] =
                    linear - sums[lane] - self.potential.whole * ln_total[lane] - 0.5 * self.pin * shift[lane] * shift[lane];
            }
        }
        state
    }
}

/// Half a step of the force that is left when that of the standard normal, −x, is taken out.
struct Kick<'a> {
    momentum: &'a mut [Lanes],
    gradient: &'a [Lanes],
    x: &'a [Lanes],
    steps: &'a Lanes,
}

impl Kernel for Kick<'_> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        for ((momentum, gradient), x) in self.momentum.iter_mut().zip(self.gradient).zip(self.x) {
            for lane in 0..LANES {
                momentum[lane] += 0.5 * self.steps[lane] * (gradient[lane] + x[lane]);
            }
        }
    }
}

/// The motion of the standard normal: a rotation of position and momentum.
struct Rotate<'a> {
    x: &'a mut [Lanes],
    momentum: &'a mut [Lanes],
    steps: &'a Lanes,
}

impl Kernel for Rotate<'_> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let (sin, cos) = (self.steps.map(f64::sin), self.steps.map(f64::cos));
        for (x, momentum) in self.x.iter_mut().zip(self.momentum) {
            for lane in 0..LANES {
                let (position, speed) = (x[lane], momentum[lane]);
                x[lane] = position * cos[lane] + speed * sin[lane];
                momentum[lane] = speed * cos[lane] - position * sin[lane];
            }
        }
    }
}

/// η = η* + L⁻ᵀ x and λ = e^η; returns pᵀ(η − η*) and Σλ.
struct Unwhiten<'a, 'p> {
    chains: &'a Hamiltonian<'p>,
    x: &'a [Lanes],
    eta: &'a mut [Lanes],
    lambda: &'a mut [Lanes],
}

impl Kernel for Unwhiten<'_, '_> {
    type Output = (Lanes, Lanes);
    #[inline(always)]
    fn run(self) -> (Lanes, Lanes) {
        let Self { chains, x, eta, lambda } = self;
        eta.fill([0.0; LANES]);
        for (row, x) in chains.whitening.iter().zip(x) {
            for (eta, factor) in eta.iter_mut().zip(row) {
                for lane in 0..LANES {
                    eta[lane] += factor * x[lane];
                }
            }
        }
        let (mut shift, mut total) = ([0.0; LANES], [0.0; LANES]);
        for (((eta, lambda), share), mode) in eta.iter_mut().zip(lambda).zip(&chains.shares).zip(&chains.mode) {
            for lane in 0..LANES {
                shift[lane] += share * eta[lane];
                eta[lane] += mode;
            }
            *lambda = exp(*eta);
            for lane in 0..LANES {
                total[lane] += lambda[lane];
            }
        }
        (shift, total)
    }
}

/// Gradient by x from the rates, into them, by way of that by η.
struct Slope<'a, 'p> {
    chains: &'a Hamiltonian<'p>,
    lambda: &'a [Lanes],
    slope: &'a mut [Lanes],
    rates: &'a mut [Lanes],
    shift: Lanes,
    total: Lanes,
}

impl Kernel for Slope<'_, '_> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let Self { chains, lambda, slope, rates, shift, total } = self;
        let whole: Lanes = [0, 1, 2, 3].map(|lane: usize| chains.potential.whole / total[lane]);
        for (k, slope) in slope.iter_mut().enumerate() {
            let (a, share) = (chains.potential.a[k], chains.pin * chains.shares[k]);
            for lane in 0..LANES {
                slope[lane] = a - lambda[k][lane] * (rates[k][lane] + whole[lane]) - share * shift[lane];
            }
        }
        for (out, row) in rates.iter_mut().zip(&chains.whitening) {
            let mut sum = [0.0; LANES];
            for (factor, slope) in row.iter().zip(slope.iter()) {
                for lane in 0..LANES {
                    sum[lane] += factor * slope[lane];
                }
            }
            *out = sum;
        }
    }
}

/// Inverse of a lower triangular matrix, as rows of growing length.
fn inverse_of_lower(factor: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let n = factor.len();
    let mut inverse: Vec<Vec<f64>> = Vec::with_capacity(n);
    for i in 0..n {
        let mut row = vec![0.0; i + 1];
        row[i] = 1.0 / factor[i][i];
        for j in 0..i {
            let sum: f64 = (j..i).map(|k| factor[i][k] * inverse[k][j]).sum();
            row[j] = -sum / factor[i][i];
        }
        inverse.push(row);
    }
    inverse
}
