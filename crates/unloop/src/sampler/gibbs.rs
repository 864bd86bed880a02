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
//! of a spanning tree over co-presentation counts, chosen by counts and coins alone: a rule that looked at λ or z would change the law.
//!
//! Chains or particles are swept side by side; they share the coins that choose the cut.

use rand::Rng;
use rand_chacha::ChaCha8Rng;

use super::lanes::{Kernel, LANES, Lanes, dispatch, exp, ln};
use super::spanning::Slack;
use super::target::{MoveKernel, Target};
use crate::posterior::columns::{Visitor, sums_of_lanes};
use crate::posterior::potential::{Potential, bounds, ln_sum_exp};
use crate::random::{gamma_draw, ln_gamma_draw};

/// Beyond this spread of ln λ, sums are taken in logs.
const SAFE_SPREAD: f64 = 500.0;

/// Full Gibbs sweeps with a group step on both sides of a cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GibbsSweep;

impl MoveKernel for GibbsSweep {
    fn advance(&self, target: &Target, eta: &mut [[f64; LANES]], rng: &mut ChaCha8Rng) -> f64 {
        sweep(target, eta, rng);
        1.0
    }
}

/// Points to start from: independent draws around the exponents.
pub(crate) fn start(potential: &Potential, rng: &mut ChaCha8Rng) -> Vec<Lanes> {
    // Times each option was shown: a_k over it is a first guess that does not depend on the others.
    let mut shown = vec![potential.whole; potential.option_count()];
    for (set, b) in potential.columns.iter() {
        for &i in set {
            shown[i as usize] += b;
        }
    }
    let start = |(&a, &shown): (&f64, &f64)| std::array::from_fn(|_| ln_gamma_draw(a, rng) - shown.ln());
    potential.a.iter().zip(&shown).map(start).collect()
}

/// Every z, every λ, and the groups on both sides of a cut. The largest ln λ of each particle is 0 afterwards.
pub(crate) fn sweep(target: &Target, eta: &mut [Lanes], rng: &mut ChaCha8Rng) {
    let cut = Cut::new(target, rng);
    let safe = (0..LANES).all(|lane| {
        let (low, high) = lane_bounds(eta, lane);
        high - low < SAFE_SPREAD
    });
    if safe {
        sweep_linear(target, eta, cut.as_ref(), rng);
    } else {
        for lane in 0..LANES {
            let mut ln_lambda: Vec<f64> = eta.iter().map(|values| values[lane]).collect();
            sweep_careful(&target.potential, &mut ln_lambda, cut.as_ref(), rng);
            for (values, ln_lambda) in eta.iter_mut().zip(ln_lambda) {
                values[lane] = ln_lambda;
            }
        }
    }
    for lane in 0..LANES {
        let (_, high) = lane_bounds(eta, lane);
        eta.iter_mut().for_each(|values| values[lane] -= high);
    }
}

fn lane_bounds(eta: &[Lanes], lane: usize) -> (f64, f64) {
    eta.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x[lane]), high.max(x[lane])))
}

/// The sides of a cut, and a(A) of each.
struct Cut {
    inside: Vec<bool>,
    slack: Slack,
}

impl Cut {
    fn new(target: &Target, rng: &mut ChaCha8Rng) -> Option<Self> {
        let mut inside = vec![false; target.option_count()];
        if !target.tree.cut(&mut inside, rng) {
            return None;
        }
        let mut slack = Slack::default();
        for (k, &a) in target.potential.a.iter().enumerate() {
            slack.add(usize::from(inside[k]), a);
        }
        for (set, b) in target.columns() {
            if let Some(side) = side(&inside, set) {
                slack.subtract(side, b);
            }
        }
        Some(Self { inside, slack })
    }
}

/// The side that holds a whole column; none for one that straddles the cut.
#[inline(always)]
fn side(inside: &[bool], set: &[u32]) -> Option<usize> {
    let first = inside[set[0] as usize];
    set.iter().all(|&i| inside[i as usize] == first).then_some(usize::from(first))
}

fn sweep_linear(target: &Target, eta: &mut [Lanes], cut: Option<&Cut>, rng: &mut ChaCha8Rng) {
    let potential = &target.potential;
    let n = potential.option_count();
    let mut lambda = vec![[0.0; LANES]; n];
    let total = dispatch(Exponentiate { eta, lambda: &mut lambda });
    let whole: Lanes = if potential.whole > 0.0 {
        std::array::from_fn(|lane| gamma_draw(potential.whole, rng) / total[lane])
    } else {
        [0.0; LANES]
    };
    let mut rates = vec![whole; n];
    let mut z = Vec::with_capacity(potential.columns.len());
    let ones = exponentials(potential.columns.iter().filter(|&(_, b)| b == 1.0).count(), rng);
    let mut ones = ones.iter();
    potential.columns.pass(&mut Augment { lambda: &lambda, rates: &mut rates, z: &mut z, ones: &mut ones, rng });
    dispatch(DrawOptions { a: &potential.a, rates: &rates, eta, lambda: &mut lambda, rng });
    let Some(cut) = cut else { return };
    // Rates of both sides in one pass; a step on one side leaves the other's rate as it is.
    let mut rates = [[0.0; LANES]; 2];
    for (k, lambda) in lambda.iter().enumerate() {
        let rate = &mut rates[usize::from(cut.inside[k])];
        for lane in 0..LANES {
            rate[lane] += whole[lane] * lambda[lane];
        }
    }
    let mut z = z.iter();
    potential.columns.pass(&mut Straddle { inside: &cut.inside, lambda: &lambda, z: &mut z, rates: &mut rates });
    let mut ln_g = [[0.0; LANES]; 2];
    for side in 0..2 {
        for lane in 0..LANES {
            ln_g[side][lane] = group_step(cut.slack.shape(side), rates[side][lane].ln(), rng);
        }
    }
    for (k, values) in eta.iter_mut().enumerate() {
        let ln_g = &ln_g[usize::from(cut.inside[k])];
        for lane in 0..LANES {
            values[lane] += ln_g[lane];
        }
    }
}

/// ln g of a group.
fn group_step(shape: Option<f64>, ln_rate: f64, rng: &mut ChaCha8Rng) -> f64 {
    match shape {
        Some(shape) if ln_rate.is_finite() => ln_gamma_draw(shape, rng) - ln_rate,
        _ => 0.0,
    }
}

/// As [`sweep_linear`] for one particle, with every sum in logs.
fn sweep_careful(potential: &Potential, ln_lambda: &mut [f64], cut: Option<&Cut>, rng: &mut ChaCha8Rng) {
    let add = |sum: &mut f64, x: f64| *sum = ln_sum_exp([*sum, x].into_iter());
    let whole = if potential.whole > 0.0 {
        ln_gamma_draw(potential.whole, rng) - ln_sum_exp(ln_lambda.iter().copied())
    } else {
        f64::NEG_INFINITY
    };
    let mut ln_rates = vec![whole; ln_lambda.len()];
    let mut ln_z = Vec::with_capacity(potential.columns.len());
    for (set, b) in potential.columns.iter() {
        let z = ln_gamma_draw(b, rng) - ln_sum_exp(set.iter().map(|&i| ln_lambda[i as usize]));
        for &i in set {
            add(&mut ln_rates[i as usize], z);
        }
        ln_z.push(z);
    }
    for (k, ln_lambda) in ln_lambda.iter_mut().enumerate() {
        *ln_lambda = ln_gamma_draw(potential.a[k], rng) - ln_rates[k];
    }
    let Some(cut) = cut else { return };
    let mut rates = [f64::NEG_INFINITY; 2];
    for (k, &ln_lambda) in ln_lambda.iter().enumerate() {
        add(&mut rates[usize::from(cut.inside[k])], whole + ln_lambda);
    }
    for (z, (set, _)) in ln_z.iter().zip(potential.columns.iter()) {
        if side(&cut.inside, set).is_none() {
            for &i in set {
                add(&mut rates[usize::from(cut.inside[i as usize])], z + ln_lambda[i as usize]);
            }
        }
    }
    let ln_g = [0, 1].map(|side| group_step(cut.slack.shape(side), rates[side], rng));
    for (k, ln_lambda) in ln_lambda.iter_mut().enumerate() {
        *ln_lambda += ln_g[usize::from(cut.inside[k])];
    }
    debug_assert!(bounds(ln_lambda).0.is_finite(), "invariant: logarithms do not underflow");
}

/// λ = e^η; returns Σλ. η is moved so that its largest is 0.
struct Exponentiate<'a> {
    eta: &'a mut [Lanes],
    lambda: &'a mut [Lanes],
}

impl Kernel for Exponentiate<'_> {
    type Output = Lanes;
    #[inline(always)]
    fn run(self) -> Lanes {
        let mut high = [f64::NEG_INFINITY; LANES];
        for eta in self.eta.iter() {
            for lane in 0..LANES {
                high[lane] = high[lane].max(eta[lane]);
            }
        }
        let mut total = [0.0; LANES];
        for (eta, lambda) in self.eta.iter_mut().zip(self.lambda) {
            for lane in 0..LANES {
                eta[lane] -= high[lane];
            }
            *lambda = exp(*eta);
            for lane in 0..LANES {
                total[lane] += lambda[lane];
            }
        }
        total
    }
}

/// z of each column, added to the rates of its options.
struct Augment<'a, 'o> {
    lambda: &'a [Lanes],
    rates: &'a mut [Lanes],
    z: &'a mut Vec<Lanes>,
    /// Draws for the columns of weight 1.
    ones: &'a mut std::slice::Iter<'o, Lanes>,
    rng: &'a mut ChaCha8Rng,
}

impl Visitor for Augment<'_, '_> {
    #[inline(always)]
    fn column(&mut self, set: &[u32], b: f64) {
        let sums = sums_of_lanes(set, self.lambda);
        let mut z = match if b == 1.0 { self.ones.next() } else { None } {
            Some(&one) => one,
            None => gammas(b, self.rng),
        };
        for lane in 0..LANES {
            z[lane] /= sums[lane];
        }
        for &i in set {
            let rate = &mut self.rates[i as usize];
            for lane in 0..LANES {
                rate[lane] += z[lane];
            }
        }
        self.z.push(z);
    }
}

/// λ of each option given the rates.
struct DrawOptions<'a> {
    a: &'a [f64],
    rates: &'a [Lanes],
    eta: &'a mut [Lanes],
    lambda: &'a mut [Lanes],
    rng: &'a mut ChaCha8Rng,
}

impl Kernel for DrawOptions<'_> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let Self { a, rates, eta, lambda, rng } = self;
        for (k, &a) in a.iter().enumerate() {
            // Below shape 1 the draw itself may underflow.
            let ln_gamma = if a < 1.0 { std::array::from_fn(|_| ln_gamma_draw(a, rng)) } else { ln(gammas(a, rng)) };
            let ln_rate = ln(rates[k]);
            for lane in 0..LANES {
                eta[k][lane] = ln_gamma[lane] - ln_rate[lane];
            }
            lambda[k] = exp(eta[k]);
        }
    }
}

/// Σ z_C λ(C∩A) over the columns that straddle a cut, for both sides.
struct Straddle<'a, 'z> {
    inside: &'a [bool],
    lambda: &'a [Lanes],
    z: &'a mut std::slice::Iter<'z, Lanes>,
    rates: &'a mut [Lanes; 2],
}

impl Visitor for Straddle<'_, '_> {
    #[inline(always)]
    fn column(&mut self, set: &[u32], _: f64) {
        let Some(z) = self.z.next() else { return };
        if side(self.inside, set).is_some() {
            return;
        }
        for &i in set {
            let rate = &mut self.rates[usize::from(self.inside[i as usize])];
            for lane in 0..LANES {
                rate[lane] += z[lane] * self.lambda[i as usize][lane];
            }
        }
    }
}

/// Independent Gamma(shape) draws.
fn gammas(shape: f64, rng: &mut ChaCha8Rng) -> Lanes {
    let mut out = [0.0; LANES];
    for out in &mut out {
        *out = gamma_draw(shape, rng);
    }
    out
}

/// Exponential draws, many at once: presentations answered once have z of shape 1. Vector logarithms of random bits that lie side by
/// side; with one draw at a time where it is needed, Gibbs gave 780 in place of 1 100 effective draws a second at T = 10 000
/// (`--bench samplers`, two runs in a row).
fn exponentials(count: usize, rng: &mut ChaCha8Rng) -> Vec<Lanes> {
    let mut bits = vec![[[0_u8; 8]; LANES]; count];
    rng.fill_bytes(bits.as_flattened_mut().as_flattened_mut());
    let mut draws = vec![[0.0; LANES]; count];
    dispatch(FromBits { bits: &bits, draws: &mut draws });
    draws
}

struct FromBits<'a> {
    bits: &'a [[[u8; 8]; LANES]],
    draws: &'a mut [Lanes],
}

impl Kernel for FromBits<'_> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        const ONE: u64 = 1_023 << 52;
        for (bits, draws) in self.bits.iter().zip(self.draws) {
            // Uniform in (0, 1): half a unit above the multiples of 2⁻⁵².
            let mut u = [0.0; LANES];
            for lane in 0..LANES {
                u[lane] = f64::from_bits(u64::from_le_bytes(bits[lane]) >> 12 | ONE) - (1.0 - f64::EPSILON / 2.0);
            }
            let ln_u = ln(u);
            for lane in 0..LANES {
                draws[lane] = -ln_u[lane];
            }
        }
    }
}
