//! Deterministic integrals of exp f over a few dimensions.
//!
//! Boundary factors θ^(a−1) are singular on the simplex; in the log basis they are the tails of a smooth log-concave function,
//! analytic in a strip around the reals. For those the trapezoidal rule converges exponentially in 1/h, with no weights to
//! compute and no boundary to treat. Coordinates are whitened by the curvature at the mode, so that one spacing serves every
//! scale from a handful of choices to millions. Sums run outwards from the largest term and stop where what remains is below
//! rounding: marginals of log-concave functions are log-concave, so terms only fall from there.
//!
//! Two grids, the second shifted by half a step in every coordinate, are averaged; their difference is dominated by the first
//! aliasing term of each, which cancels in the average, and bounds the error. The spacing shrinks until they agree.

use crate::matrix::cholesky;
use crate::posterior::potential::{Potential, bounds, ln_sum_exp};

/// Largest dimension integrated.
pub(crate) const MAX_DIMENSION: usize = 4;
/// Relative agreement of the two grids asked for.
const AGREEMENT: f64 = 1e-9;
/// Terms are dropped below this part of the largest, line by line.
const NEGLIGIBLE: f64 = 1e-14;
/// Agreement that is taken where a finer grid brings no more: f of very many choices is rounded, and its exponential more so.
const STALLED: f64 = 1e-4;
/// What a term in logarithms costs, in evaluations.
const CAREFUL_COST: usize = 2;
/// λ follows a line by multiplication, and is recomputed this often against drift, sooner where it would grow by more than e³⁰⁰.
const RESYNC: usize = 16;
/// Sums below this are taken in logarithms.
const TINY: f64 = 1e-280;

/// ∫ exp f and the means of some functions of the shares under it.
#[derive(Clone, Debug)]
pub(crate) struct Integral {
    pub(crate) ln_value: f64,
    /// Relative error, estimated.
    pub(crate) error: f64,
    pub(crate) means: Vec<f64>,
}

/// Integrates over η modulo a shift. `functions(λ, out)` fills `count` functions of the shares λ (of any scale).
/// `mode` is the maximum of f. None if the grids would take more than `most` evaluations.
pub(crate) fn integrate(
    potential: &Potential,
    mode: &[f64],
    count: usize,
    functions: &(dyn Fn(&[f64], &mut [f64]) + Sync),
    most: usize,
) -> Option<Integral> {
    let grid = Grid::new(potential, mode)?;
    // Evaluations that are left.
    let mut left = most;
    let mut last = f64::INFINITY;
    // Gaussian: error e^(−2π²/h²), 10⁻¹³ at 0.8. Where whitening stretches η, by α below 1, the strip in which f is analytic is narrow:
    // a step of 1 in some η is 10⁻⁸.
    let stretch = grid.axes.iter().map(|axis| bounds(axis)).map(|(low, high)| high - low).fold(0.0, f64::max);
    let mut h = f64::min(0.8, 1.0 / stretch);
    if grid.expected_points(0.7 * h) > 0.5 * most as f64 {
        return None;
    }
    loop {
        let first = grid.sum(h, 0.0, count, functions, &mut left)?;
        let second = grid.sum(h, 0.5, count, functions, &mut left)?;
        let total = 0.5 * (first[0] + second[0]);
        let difference = |x: f64, y: f64| (x - y).abs();
        let mut error = difference(first[0], second[0]) / total;
        for i in 1..=count {
            error = error.max(difference(first[i] / first[0], second[i] / second[0]));
        }
        let stalled = error <= STALLED && error > 0.5 * last;
        if error <= AGREEMENT || stalled {
            let means = (1..=count).map(|i| (first[i] + second[i]) / (first[0] + second[0])).collect();
            // The average is better than either grid by far, rounding apart.
            let error = error.max(1e-14);
            let dimension = grid.axes.len() as f64;
            let ln_value = grid.peak + grid.ln_volume + dimension * h.ln() + total.ln();
            return Some(Integral { ln_value, error, means });
        }
        if !error.is_finite() {
            return None;
        }
        last = error;
        h *= 0.75;
    }
}

/// The whitened coordinates of a potential: η = mode + Σ_i x_i · axis_i.
struct Grid<'a> {
    potential: &'a Potential,
    columns: Vec<(&'a [u32], f64)>,
    mode: Vec<f64>,
    axes: Vec<Vec<f64>>,
    /// ln of the volume of a unit cube.
    ln_volume: f64,
    /// f at the mode.
    peak: f64,
}

impl<'a> Grid<'a> {
    fn new(potential: &'a Potential, mode: &[f64]) -> Option<Self> {
        let n = potential.option_count();
        let d = n - 1;
        // −H without the last row and column, which stays at the mode's η.
        let lse = ln_sum(mode);
        let p: Vec<f64> = mode.iter().map(|eta| (eta - lse).exp()).collect();
        let mut curvature = vec![vec![0.0; d]; d];
        let mut add = |set: &[u32], b: f64, p: &[f64]| {
            for (x, &i) in set.iter().enumerate().filter(|&(_, &i)| (i as usize) < d) {
                curvature[i as usize][i as usize] += b * p[x];
                for (y, &j) in set.iter().enumerate().filter(|&(_, &j)| (j as usize) < d) {
                    curvature[i as usize][j as usize] -= b * p[x] * p[y];
                }
            }
        };
        let columns: Vec<(&[u32], f64)> = potential.columns.iter().collect();
        for &(set, b) in &columns {
            let total: f64 = set.iter().map(|&i| p[i as usize]).sum();
            let shares: Vec<f64> = set.iter().map(|&i| p[i as usize] / total).collect();
            add(set, b, &shares);
        }
        let all: Vec<u32> = (0..n as u32).collect();
        add(&all, potential.whole, &p);
        let factor = cholesky(&mut curvature)?;
        // Columns of L⁻ᵀ.
        let mut axes = Vec::with_capacity(d);
        for i in 0..d {
            let mut axis = vec![0.0; n];
            axis[i] = 1.0 / factor[i][i];
            for row in (0..i).rev() {
                let sum: f64 = (row + 1..=i).map(|k| factor[k][row] * axis[k]).sum();
                axis[row] = -sum / factor[row][row];
            }
            axes.push(axis);
        }
        let ln_volume = -(0..d).map(|i| factor[i][i].ln()).sum::<f64>();
        let peak = potential.value(mode);
        Some(Self { potential, columns, mode: mode.to_vec(), axes, ln_volume, peak })
    }

    /// Points of a grid, roughly: along each axis f falls in the end by a known slope, and the region where it matters is like a
    /// cross-polytope.
    fn expected_points(&self, h: f64) -> f64 {
        let slope = |axis: &[f64]| {
            let highest = |set: &[u32]| set.iter().map(|&i| axis[i as usize]).fold(f64::NEG_INFINITY, f64::max);
            let linear: f64 = self.potential.a.iter().zip(axis).map(|(a, v)| a * v).sum();
            let columns: f64 = self.columns.iter().map(|&(set, b)| b * highest(set)).sum();
            let whole = self.potential.whole * axis.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            columns + whole - linear
        };
        let depth = -NEGLIGIBLE.ln();
        let mut points = 1.0;
        for (i, axis) in self.axes.iter().enumerate() {
            let back: Vec<f64> = axis.iter().map(|v| -v).collect();
            // A Gaussian near the mode, a straight fall far from it; whichever reaches further.
            let reach = |slope: f64| (depth / slope).max((2.0 * depth).sqrt());
            points *= (reach(slope(axis)) + reach(slope(&back))) / h / (i + 1) as f64;
        }
        points
    }

    /// Σ exp(f − peak) and Σ exp(f − peak)·function over the grid of spacing h, shifted by a part of it.
    fn sum(
        &self,
        h: f64,
        shift: f64,
        count: usize,
        functions: &(dyn Fn(&[f64], &mut [f64]) + Sync),
        left: &mut usize,
    ) -> Option<Vec<f64>> {
        let mut sums = vec![0.0; count + 1];
        let mut line = Line::new(self, h, count, functions);
        let mut centres = vec![0_i64; self.axes.len()];
        let mut largest = 0.0;
        let complete = self.sum_axis(0, &self.mode.clone(), h, shift, &mut line, &mut centres, &mut largest, &mut sums, left);
        complete.then_some(sums)
    }

    /// Adds the sum over axis `axis` and all after it, from a base point; false if it takes too long.
    #[expect(clippy::too_many_arguments, reason = "one recursion with its accumulators")]
    fn sum_axis(
        &self,
        axis: usize,
        base: &[f64],
        h: f64,
        shift: f64,
        line: &mut Line<'_, '_>,
        centres: &mut [i64],
        largest: &mut f64,
        sums: &mut [f64],
        left: &mut usize,
    ) -> bool {
        if axis + 1 == self.axes.len() {
            return line.sum(base, shift, &mut centres[axis], largest, sums, left);
        }
        // Start where the last sum along this axis was largest, walk up, then down.
        let start = centres[axis];
        let (mut best, mut best_at) = (0.0, start);
        let mut point = base.to_vec();
        for direction in [1_i64, -1] {
            let mut i = if direction == 1 { start } else { start - 1 };
            let mut previous = 0.0;
            let inner = centres[axis + 1..].to_vec();
            loop {
                let x = (i as f64 + shift) * h;
                for (k, point) in point.iter_mut().enumerate() {
                    *point = base[k] + x * self.axes[axis][k];
                }
                let before = sums[0];
                if !self.sum_axis(axis + 1, &point, h, shift, line, centres, largest, sums, left) {
                    return false;
                }
                let term = sums[0] - before;
                if term > best {
                    best = term;
                    best_at = i;
                }
                if term <= previous && term <= NEGLIGIBLE * *largest {
                    break;
                }
                previous = term;
                i += direction;
            }
            centres[axis + 1..].copy_from_slice(&inner);
        }
        centres[axis] = best_at;
        true
    }
}

/// Sums along the last axis, with λ moved by multiplication.
struct Line<'a, 'g> {
    grid: &'g Grid<'a>,
    h: f64,
    /// e^(±h·axis).
    up: Vec<f64>,
    down: Vec<f64>,
    /// Steps between computing λ anew.
    resync: usize,
    /// e^(η − level) at the current point.
    lambda: Vec<f64>,
    eta: Vec<f64>,
    /// Σa: f does not change when η is shifted, the linear part does by this.
    total: f64,
    values: Vec<f64>,
    functions: &'g (dyn Fn(&[f64], &mut [f64]) + Sync),
}

impl<'a, 'g> Line<'a, 'g> {
    fn new(grid: &'g Grid<'a>, h: f64, count: usize, functions: &'g (dyn Fn(&[f64], &mut [f64]) + Sync)) -> Self {
        let axis = &grid.axes[grid.axes.len() - 1];
        Self {
            grid,
            h,
            up: axis.iter().map(|v| (h * v).exp()).collect(),
            down: axis.iter().map(|v| (-h * v).exp()).collect(),
            resync: ((300.0 / (h * axis.iter().map(|v| v.abs()).fold(0.0, f64::max))) as usize).clamp(1, RESYNC),
            lambda: vec![0.0; axis.len()],
            eta: vec![0.0; axis.len()],
            total: grid.potential.a.iter().sum(),
            values: vec![0.0; count],
            functions,
        }
    }

    fn sum(&mut self, base: &[f64], shift: f64, centre: &mut i64, largest: &mut f64, sums: &mut [f64], left: &mut usize) -> bool {
        let start = *centre;
        let (mut best, mut best_at) = (0.0, start);
        let axis = &self.grid.axes[self.grid.axes.len() - 1];
        let linear_base: f64 = self.grid.potential.a.iter().zip(base).map(|(a, eta)| a * eta).sum();
        let linear_step: f64 = self.grid.potential.a.iter().zip(axis).map(|(a, v)| a * v).sum();
        for direction in [1_i64, -1] {
            let mut i = if direction == 1 { start } else { start - 1 };
            let mut previous = 0.0;
            let (mut steps, mut level) = (0, 0.0);
            loop {
                let x = (i as f64 + shift) * self.h;
                if steps % self.resync == 0 {
                    for (k, eta) in self.eta.iter_mut().enumerate() {
                        *eta = base[k] + x * axis[k];
                    }
                    level = self.eta.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                    for (lambda, eta) in self.lambda.iter_mut().zip(&self.eta) {
                        *lambda = (eta - level).exp();
                    }
                }
                let linear = linear_base + x * linear_step;
                let mut term = self.term(linear - level * self.total);
                if term.is_nan() {
                    for (k, eta) in self.eta.iter_mut().enumerate() {
                        *eta = base[k] + x * axis[k];
                    }
                    term = self.careful_term(linear);
                    *left = left.saturating_sub(CAREFUL_COST);
                }
                *left = left.saturating_sub(1);
                if term > 0.0 {
                    sums[0] += term;
                    if !self.values.is_empty() {
                        (self.functions)(&self.lambda, &mut self.values);
                        for (sum, value) in sums[1..].iter_mut().zip(&self.values) {
                            *sum += term * value;
                        }
                    }
                }
                if term > best {
                    best = term;
                    best_at = i;
                }
                if term > *largest {
                    *largest = term;
                }
                if term <= previous && term <= NEGLIGIBLE * *largest {
                    break;
                }
                if !term.is_finite() || *left == 0 {
                    return false;
                }
                previous = term;
                i += direction;
                steps += 1;
                let factors = if direction == 1 { &self.up } else { &self.down };
                for (lambda, factor) in self.lambda.iter_mut().zip(factors) {
                    *lambda *= factor;
                }
            }
        }
        *centre = best_at;
        true
    }

    /// exp(f − peak) at the current λ; NaN where a sum is too small to be trusted.
    fn term(&self, linear: f64) -> f64 {
        let mut f = linear - self.grid.peak;
        for &(set, b) in &self.grid.columns {
            let sum: f64 = set.iter().map(|&i| self.lambda[i as usize]).sum();
            if sum < TINY {
                return f64::NAN;
            }
            f -= b * sum.ln();
        }
        if self.grid.potential.whole != 0.0 {
            f -= self.grid.potential.whole * self.lambda.iter().sum::<f64>().ln();
        }
        f.exp()
    }
}

impl Line<'_, '_> {
    /// exp(f − peak) from η, every sum in logarithms.
    fn careful_term(&self, linear: f64) -> f64 {
        let mut f = linear - self.grid.peak;
        for &(set, b) in &self.grid.columns {
            f -= b * ln_sum_exp(set.iter().map(|&i| self.eta[i as usize]));
        }
        if self.grid.potential.whole != 0.0 {
            f -= self.grid.potential.whole * ln_sum(&self.eta);
        }
        f.exp()
    }
}

fn ln_sum(eta: &[f64]) -> f64 {
    ln_sum_exp(eta.iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::carlson::{IntegralSettings, connected, draws};
    use crate::estimate::laplace::Mode;
    use crate::sampler::tree::Tree;

    /// a, and the columns other than the whole.
    type Case = (&'static [f64], &'static [(&'static [u32], f64)]);

    fn integral(potential: &Potential) -> Integral {
        let mode = Mode::new(potential).unwrap();
        let n = potential.option_count();
        let shares = |lambda: &[f64], out: &mut [f64]| {
            let total: f64 = lambda.iter().sum();
            out.iter_mut().zip(lambda).for_each(|(out, lambda)| *out = lambda / total);
        };
        integrate(potential, &mode.point.eta, n, &shares, 100_000_000).unwrap()
    }

    /// Laminar cases are known in closed form: heavy and light counts, α below 1, one to four dimensions.
    #[test]
    fn laminar_integrals_match_their_closed_form() {
        const TOLERANCE: f64 = 1e-10;
        let cases: [Case; 6] = [
            (&[3.0, 0.4], &[]),
            (&[0.2, 0.3, 5.0], &[(&[0, 1], 0.1)]),
            (&[11.0, 6.0, 1.0], &[(&[0, 1], 15.0)]),
            (&[4_000.0, 3_000.0, 10.0], &[(&[0, 1], 6_999.0)]),
            (&[5.7, 6.3, 7.0, 0.5], &[(&[0, 1], 7.0), (&[0, 1, 2], 8.0)]),
            (&[2.0, 1.0, 3.0, 1.5, 0.8], &[(&[0, 1], 2.0), (&[2, 3], 3.0)]),
        ];
        for (a, columns) in cases {
            let inside: f64 = columns.iter().map(|(_, b)| b).sum();
            let mut columns: Vec<(Vec<u32>, f64)> = columns.iter().map(|(set, b)| (set.to_vec(), *b)).collect();
            columns.push(((0..a.len() as u32).collect(), a.iter().sum::<f64>() - inside));
            let potential = connected(a.to_vec(), columns);
            let tree = Tree::of_potential(&potential).unwrap();
            let integral = integral(&potential);
            println!("{a:?}: off by {:e}, bound {:e}", integral.ln_value - tree.ln_normaliser(), integral.error);
            assert!((integral.ln_value - tree.ln_normaliser()).abs() < TOLERANCE * tree.ln_normaliser().abs().max(1.0));
            for (mean, exact) in integral.means.iter().zip(tree.mean()) {
                assert!((mean - exact).abs() < TOLERANCE);
            }
        }
    }

    /// The standard error of importance sampling means what it says: over seeds, deviations in its units have variance 1.
    #[test]
    fn importance_sampling_agrees_and_knows_its_error() {
        const SEEDS: u64 = 200;
        // 200 squared standard normals have a mean of 1 ± 0.1; five standard errors, and room for the weights' own skew.
        const ALLOWED: std::ops::Range<f64> = 0.5..1.5;
        let columns =
            vec![(vec![0, 1], 5.0), (vec![1, 2], 7.0), (vec![2, 3], 5.0), (vec![0, 2, 4], 7.0), (vec![0, 1, 2, 3, 4], 5.0)];
        let potential = connected(vec![6.0, 7.0, 9.0, 4.0, 3.0], columns);
        let exact = integral(&potential);
        let mut squares = 0.0;
        for seed in 0..SEEDS {
            let weighted =
                draws(&potential, &[1.0; 5], &IntegralSettings { draws: 2_000, seed, ..IntegralSettings::default() }).unwrap();
            let (ln_value, error) = weighted.ln_integral();
            assert!(weighted.effective_size() > 500.0);
            squares += ((ln_value - exact.ln_value) / error).powi(2);
        }
        let mean = squares / SEEDS as f64;
        println!("mean squared deviation in standard errors {mean}, allowed {ALLOWED:?}");
        assert!(ALLOWED.contains(&mean));
    }
}
