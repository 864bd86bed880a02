//! Metropolis within Gibbs on the simplex of shares: the paper's kernel.
//!
//! θ_j is proposed uniformly on (0, θ_j + θ_b), the remainder goes to the balancing option b, and the step is accepted by the ratio of
//!
//! ```text
//! φ(θ) = Σ_k (a_k − 1) ln θ_k − Σ_C b_C ln S_C(θ)
//! ```
//! of which only the columns that hold exactly one of j and b change. (The print has the interval as (0, 1 − Σ_{j'≠j} θ_j'), without
//! saying that θ_b follows.) With a fixed b whose θ is tiny nothing can grow: [`Balancing::Last`] is the paper's, and is stuck for
//! long; [`Balancing::Rotating`] takes another b for each proposal.
//!
//! Uniform proposals hardly ever move an option whose share is many orders of magnitude below another's: with prior weights below 0.1
//! this kernel is slow, and sums leave out shares below e⁻⁷⁰⁰; [`GibbsSweep`](super::GibbsSweep) has no such limits.
//!
//! S_C and ln S_C of every column are kept while a particle is swept, so that a proposal costs one logarithm for each column that
//! changes. Particles are swept side by side and share the coins that choose b.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::lanes::{Kernel, LANES, Lanes, dispatch, exp, ln};
use super::target::{Holding, MoveKernel, Target};

/// Which option takes the remainder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Balancing {
    /// Always the last: the paper's.
    Last,
    /// Another for each proposal, by coins.
    #[default]
    Rotating,
}

/// One proposal for each option but the balancing one, in turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MetropolisSweep {
    /// Which option takes the remainder.
    pub balancing: Balancing,
}

impl MoveKernel for MetropolisSweep {
    fn advance(&self, target: &Target, eta: &mut [[f64; LANES]], rng: &mut ChaCha8Rng) -> f64 {
        let n = target.option_count();
        if n < 2 {
            return 1.0;
        }
        let holding = target.holding();
        let mut state = State::new(holding, eta);
        let mut accepted = 0;
        for j in 0..n {
            let b = match self.balancing {
                Balancing::Last if j == n - 1 => continue,
                Balancing::Last => n - 1,
                Balancing::Rotating => (j + rng.random_range(1..n)) % n,
            };
            state.exchange.set(holding, j, b);
            accepted += state.propose(target, holding, j, b, eta, rng);
        }
        let proposals = if self.balancing == Balancing::Last { n - 1 } else { n };
        accepted as f64 / (LANES * proposals) as f64
    }
}

/// Columns that hold exactly one of two options: the first `growing` hold the one that grows.
#[derive(Default)]
struct Exchange {
    changed: Vec<u32>,
    growing: usize,
}

impl Exchange {
    fn set(&mut self, holding: &Holding, j: usize, b: usize) {
        self.changed.clear();
        let (of_j, of_b) = (&holding.columns_of[j], &holding.columns_of[b]);
        difference(of_j, of_b, &mut self.changed);
        self.growing = self.changed.len();
        difference(of_b, of_j, &mut self.changed);
    }
}

/// θ of each option and S of each column.
struct State {
    theta: Vec<Lanes>,
    sums: Vec<Lanes>,
    ln_sums: Vec<Lanes>,
    exchange: Exchange,
    /// What the columns that change would become.
    new_sums: Vec<Lanes>,
    new_ln_sums: Vec<Lanes>,
}

impl State {
    fn new(holding: &Holding, eta: &mut [Lanes]) -> Self {
        let mut theta = vec![[0.0; LANES]; eta.len()];
        let mut sums = vec![[0.0; LANES]; holding.columns.len()];
        let mut ln_sums = sums.clone();
        dispatch(Begin { holding, eta, theta: &mut theta, sums: &mut sums, ln_sums: &mut ln_sums });
        Self { theta, sums, ln_sums, exchange: Exchange::default(), new_sums: Vec::new(), new_ln_sums: Vec::new() }
    }

    /// Proposes another θ_j, with the remainder to b; how many particles accepted.
    fn propose(
        &mut self,
        target: &Target,
        holding: &Holding,
        j: usize,
        b: usize,
        eta: &mut [Lanes],
        rng: &mut ChaCha8Rng,
    ) -> usize {
        self.new_sums.resize(self.exchange.changed.len().max(self.new_sums.len()), [0.0; LANES]);
        self.new_ln_sums.resize(self.new_sums.len(), [0.0; LANES]);

        let parts: Lanes = std::array::from_fn(|_| rng.sample(rand_distr::Open01));
        let coins: Lanes = std::array::from_fn(|_| rng.sample(rand_distr::Open01));
        let both: Lanes = std::array::from_fn(|lane| self.theta[j][lane] + self.theta[b][lane]);
        let new_j: Lanes = std::array::from_fn(|lane| parts[lane] * both[lane]);
        let new_b: Lanes = std::array::from_fn(|lane| (1.0 - parts[lane]) * both[lane]);
        let change: Lanes = std::array::from_fn(|lane| new_j[lane] - self.theta[j][lane]);
        let ln_columns = dispatch(Columns { state: self, holding, change });
        let (ln_j, ln_b) = (new_j.map(f64::ln), new_b.map(f64::ln));
        let (a_j, a_b) = (target.exponents()[j] - 1.0, target.exponents()[b] - 1.0);
        let mut accepts = [false; LANES];
        for lane in 0..LANES {
            let ln_ratio = a_j * (ln_j[lane] - eta[j][lane]) + a_b * (ln_b[lane] - eta[b][lane]) - ln_columns[lane];
            // NaN is refused: it compares as not larger. So is a share that would underflow.
            accepts[lane] = coins[lane].ln() < ln_ratio && new_j[lane] >= f64::MIN_POSITIVE && new_b[lane] >= f64::MIN_POSITIVE;
        }
        let count = accepts.iter().filter(|&&accept| accept).count();
        if count == 0 {
            return 0;
        }
        for lane in (0..LANES).filter(|&lane| accepts[lane]) {
            (self.theta[j][lane], self.theta[b][lane]) = (new_j[lane], new_b[lane]);
            (eta[j][lane], eta[b][lane]) = (ln_j[lane], ln_b[lane]);
        }
        dispatch(Accept { state: self, accepts });
        count
    }
}

/// θ from η, which is moved so that Σθ = 1; S_C and ln S_C.
struct Begin<'a> {
    holding: &'a Holding,
    eta: &'a mut [Lanes],
    theta: &'a mut [Lanes],
    sums: &'a mut [Lanes],
    ln_sums: &'a mut [Lanes],
}

impl Kernel for Begin<'_> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let Self { holding, eta, theta, sums, ln_sums } = self;
        let mut high = [f64::NEG_INFINITY; LANES];
        for eta in eta.iter() {
            for lane in 0..LANES {
                high[lane] = high[lane].max(eta[lane]);
            }
        }
        let mut total = [0.0; LANES];
        for eta in eta.iter() {
            let lambda = exp(std::array::from_fn(|lane| eta[lane] - high[lane]));
            for lane in 0..LANES {
                total[lane] += lambda[lane];
            }
        }
        let ln_total = ln(total);
        for (eta, theta) in eta.iter_mut().zip(theta.iter_mut()) {
            for lane in 0..LANES {
                eta[lane] -= high[lane] + ln_total[lane];
            }
            *theta = exp(*eta);
        }
        for (c, set) in holding.columns.iter().enumerate() {
            let mut sum = [0.0; LANES];
            for &i in set {
                for lane in 0..LANES {
                    sum[lane] += theta[i as usize][lane];
                }
            }
            sums[c] = sum;
            ln_sums[c] = ln(sum);
        }
    }
}

/// Σ_C b_C (ln S'_C − ln S_C) over the columns that change: the first ones by `change`, the others by −`change`.
struct Columns<'a> {
    state: &'a mut State,
    holding: &'a Holding,
    change: Lanes,
}

impl Kernel for Columns<'_> {
    type Output = Lanes;
    #[inline(always)]
    fn run(self) -> Lanes {
        let State { sums, ln_sums, exchange, new_sums, new_ln_sums, .. } = self.state;
        let mut total = [0.0; LANES];
        for (place, &c) in exchange.changed.iter().enumerate() {
            let c = c as usize;
            let sign = if place < exchange.growing { 1.0 } else { -1.0 };
            let b = self.holding.weights[c];
            let mut sum = sums[c];
            for lane in 0..LANES {
                // What rounding leaves of a column that loses its only large member is not below the smallest number.
                sum[lane] = (sum[lane] + sign * self.change[lane]).max(f64::MIN_POSITIVE);
            }
            let ln_sum = ln(sum);
            for lane in 0..LANES {
                total[lane] += b * (ln_sum[lane] - ln_sums[c][lane]);
            }
            new_sums[place] = sum;
            new_ln_sums[place] = ln_sum;
        }
        total
    }
}

/// Takes over the columns of the particles that accept.
struct Accept<'a> {
    state: &'a mut State,
    accepts: [bool; LANES],
}

impl Kernel for Accept<'_> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let State { sums, ln_sums, exchange, new_sums, new_ln_sums, .. } = self.state;
        for (place, &c) in exchange.changed.iter().enumerate() {
            let (sum, ln_sum) = (&mut sums[c as usize], &mut ln_sums[c as usize]);
            for lane in 0..LANES {
                sum[lane] = if self.accepts[lane] { new_sums[place][lane] } else { sum[lane] };
                ln_sum[lane] = if self.accepts[lane] { new_ln_sums[place][lane] } else { ln_sum[lane] };
            }
        }
    }
}

/// Appends what is in the first ascending list and not in the second.
fn difference(first: &[u32], second: &[u32], out: &mut Vec<u32>) {
    let mut other = second.iter().peekable();
    for &x in first {
        while other.next_if(|&&y| y < x).is_some() {}
        if other.peek() != Some(&&x) {
            out.push(x);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_of_ascending_lists() {
        let mut out = vec![9];
        difference(&[1, 3, 5, 7], &[0, 3, 4, 7, 8], &mut out);
        assert_eq!(out, [9, 1, 5]);
        difference(&[2], &[], &mut out);
        assert_eq!(out, [9, 1, 5, 2]);
    }
}
