//! Maximum of the potential of one connected component.
//!
//! A few minorise-maximise steps λ_k ← λ_k a_k / e_k find the neighbourhood; Newton steps finish. Where the comparisons mix well
//! (random sets of many options) the Newton system is solved by conjugate gradients, which then need a handful of passes. Where
//! they do not within a few passes more, or the component is small, the curvature is factored: first-order steps and conjugate
//! gradients crawl on badly connected data, a factor does not. Which it is, a few Lanczos steps from a random vector tell beforehand:
//! a gradient may happen not to feel the one direction that is loose, a random vector does.
//!
//! Steps are judged by slopes alone. f is concave along a line, so a trial point with a slope that has not turned to more than
//! half its size backwards is progress; no logarithms are needed. A gradient near zero is not enough to stop: on data without a
//! maximum the gradient vanishes too, while Newton steps keep their length until rounding takes over. Both must be small, and on the
//! simplex [`map`](super::map) certifies besides that there is a maximum.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::factor::{Factor, FactorError};
use crate::posterior::columns::Workspace;
use crate::posterior::potential::{Point, Potential, bounds};

/// Up to this number of options the curvature is factored at once.
const SMALL: usize = 128;
/// Minorise-maximise steps before the first Newton step.
const WARM_UP: usize = 3;
/// Lanczos steps that look for loose directions, and the eigenvalue of the preconditioned curvature below which one is loose: random
/// comparisons of well-mixed options are near 1.
const PROBE: usize = 10;
const LOOSE: f64 = 0.1;
/// Conjugate-gradient steps for one Newton step, before a factor is tried.
const PATIENCE: usize = 25;
/// The same when no factor can be had.
const ENDURANCE: usize = 2_000;
/// Longest move of an η relative to another in one step.
const MAX_STEP: f64 = 10.0;
/// A last Newton step shorter than this leaves an error of its square.
const LAST_STEP: f64 = 1e-5;

/// What the iteration did.
pub(crate) struct Optimum {
    /// η up to a common shift.
    pub(crate) eta: Vec<f64>,
    pub(crate) iterations: usize,
    /// max_k |g_k| / a_k.
    pub(crate) gradient_norm: f64,
    pub(crate) converged: bool,
}

/// Maximises f from a start, or from the potential's own. A start that leads nowhere is forgotten.
pub(crate) fn maximise(potential: &Potential, start: Option<Vec<f64>>, tolerance: f64, max_iterations: usize) -> Optimum {
    let warm = start.is_some();
    let optimum = climb(potential, start, tolerance, max_iterations);
    if optimum.converged || !warm { optimum } else { climb(potential, None, tolerance, max_iterations) }
}

fn climb(potential: &Potential, start: Option<Vec<f64>>, tolerance: f64, max_iterations: usize) -> Optimum {
    let n = potential.option_count();
    let mut workspace = potential.columns.workspace();
    let warm = start.is_some();
    let mut point = Point::new(start.unwrap_or_else(|| vec![0.0; n]));
    let mut iterations = 0;
    if !warm {
        for _ in 0..WARM_UP.min(max_iterations) {
            potential.pass(&mut point, &mut workspace);
            for k in 0..n {
                // a/e, with e = a − g.
                point.eta[k] -= (-point.gradient[k] / potential.a[k]).ln_1p();
            }
            point.refresh();
            iterations += 1;
        }
    }
    potential.pass_with_curvature(&mut point, &mut workspace);
    let mut solver = Solver { factor_next: n <= SMALL, factor_works: true, ..Solver::default() };
    let mut last_step = f64::INFINITY;
    let mut norm = gradient_norm(potential, &point);
    let mut best = (point.eta.clone(), norm);
    while iterations < max_iterations {
        if !norm.is_finite() || (norm <= tolerance && last_step <= LAST_STEP) {
            break;
        }
        let Some(step) = solver.step(potential, &point, norm, tolerance, &mut workspace) else { break };
        let (low, high) = bounds(&step);
        let slope: f64 = step.iter().zip(&point.gradient).map(|(d, g)| d * g).sum();
        if !(slope > 0.0) || !(high - low).is_finite() {
            // Rounding is all that is left of the gradient.
            last_step = if norm <= tolerance { (high - low).min(last_step) } else { last_step };
            break;
        }
        let mut t = (MAX_STEP / (high - low)).min(1.0);
        let from = point.eta.clone();
        loop {
            for k in 0..n {
                point.eta[k] = from[k] + t * step[k];
            }
            point.refresh();
            potential.pass_with_curvature(&mut point, &mut workspace);
            iterations += 1;
            let end: f64 = step.iter().zip(&point.gradient).map(|(d, g)| d * g).sum();
            // Tiny slopes are rounding: take the step.
            let negligible = slope <= 1e-18 * potential.a.iter().sum::<f64>();
            if end >= -0.5 * slope || negligible || iterations >= max_iterations {
                break;
            }
            // The slope turned too far: go back to where a straight line between the slopes is zero, at least halfway.
            t *= (slope / (slope - end)).clamp(0.1, 0.5);
        }
        last_step = t * (high - low);
        norm = gradient_norm(potential, &point);
        if norm < best.1 {
            best = (point.eta.clone(), norm);
        }
        if norm > tolerance * 1e3 || last_step > LAST_STEP {
            continue;
        }
        // Near the end a step may only shuffle rounding errors.
        if norm > tolerance && solver.stalled(norm) {
            break;
        }
    }
    let converged = norm <= tolerance && last_step <= LAST_STEP;
    let (eta, gradient_norm) = if converged { (point.eta, norm) } else { best };
    Optimum { eta, iterations, gradient_norm, converged }
}

fn gradient_norm(potential: &Potential, point: &Point) -> f64 {
    let mut largest = 0.0_f64;
    for (g, a) in point.gradient.iter().zip(&potential.a) {
        let relative = g.abs() / a;
        if relative.is_nan() {
            // It must not hide behind max.
            return relative;
        }
        largest = largest.max(relative);
    }
    largest
}

/// Solves for Newton steps, and remembers which way worked.
#[derive(Default)]
struct Solver {
    factor_next: bool,
    factor_works: bool,
    /// Whether the curvature's smallest eigenvalue was looked at.
    probed: bool,
    smallest: f64,
    stalls: usize,
}

impl Solver {
    /// The Newton step, or none if the curvature is lost in rounding.
    fn step(
        &mut self,
        potential: &Potential,
        point: &Point,
        norm: f64,
        tolerance: f64,
        workspace: &mut Workspace,
    ) -> Option<Vec<f64>> {
        // Σg = 0 up to rounding, which grounding would put on one option.
        let total: f64 = potential.a.iter().sum();
        let excess: f64 = point.gradient.iter().sum::<f64>() / total;
        let gradient: Vec<f64> = point.gradient.iter().zip(&potential.a).map(|(g, a)| g - a * excess).collect();
        if !self.factor_next && !self.probed {
            self.probed = true;
            self.factor_next = self.factor_works && smallest_eigenvalue(potential, point, workspace) < LOOSE;
        }
        if !self.factor_next {
            // Newton squares the error: no use in solving more precisely than that, or than the end asks for.
            let precision = norm.clamp(1e-6, 0.1).max((0.3 * tolerance / norm).min(0.1));
            let patience = if self.factor_works { PATIENCE } else { ENDURANCE };
            let (step, solved) = conjugate_gradients(potential, point, &gradient, precision, patience, workspace);
            if solved || !self.factor_works {
                return Some(step);
            }
        }
        match Factor::new(potential, point) {
            Ok(factor) => {
                self.factor_next = true;
                let mut step = gradient;
                factor.solve(&mut step);
                Some(step)
            }
            Err(FactorError::TooLarge) if self.factor_works => {
                self.factor_works = false;
                self.factor_next = false;
                self.step(potential, point, norm, tolerance, workspace)
            }
            Err(_) => None,
        }
    }

    /// Whether the gradient has stopped falling.
    fn stalled(&mut self, norm: f64) -> bool {
        if self.stalls == 0 || norm < 0.5 * self.smallest {
            self.smallest = norm;
            self.stalls = 1;
        } else {
            self.stalls += 1;
        }
        self.stalls > 4
    }
}

/// −H v: M v without the part that pins the common shift, which would look like a loose direction where w is small beside the data.
fn curvature_product(
    potential: &Potential,
    point: &Point,
    v: &[f64],
    out: &mut [f64],
    scratch: &mut Vec<f64>,
    workspace: &mut Workspace,
) {
    potential.product(point, v, out, scratch, workspace);
    let total: f64 = point.lambda.iter().sum();
    let mean = point.lambda.iter().zip(v).map(|(lambda, v)| lambda * v).sum::<f64>() / total;
    let scale = potential.whole.max(0.0) * mean / total;
    for (out, lambda) in out.iter_mut().zip(&point.lambda) {
        *out -= scale * lambda;
    }
}

/// Smallest eigenvalue of D^(−½) M D^(−½) that a few Lanczos steps from a random vector see: those of conjugate gradients.
fn smallest_eigenvalue(potential: &Potential, point: &Point, workspace: &mut Workspace) -> f64 {
    let n = point.diagonal.len();
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    // A right side with entries of the size of √D, orthogonal to the common shift.
    let mut residual: Vec<f64> = point.diagonal.iter().map(|d| d.sqrt() * if rng.random() { 1.0 } else { -1.0 }).collect();
    let total: f64 = point.diagonal.iter().sum();
    let excess = residual.iter().sum::<f64>() / total;
    residual.iter_mut().zip(&point.diagonal).for_each(|(r, d)| *r -= d * excess);
    let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
    let mut z: Vec<f64> = residual.iter().zip(&point.diagonal).map(|(r, d)| r / d).collect();
    let mut direction = z.clone();
    let mut rz = dot(&residual, &z);
    let (mut product, mut scratch) = (vec![0.0; n], Vec::new());
    // The tridiagonal matrix of the Lanczos steps, from the coefficients of conjugate gradients.
    let (mut diagonal, mut off): (Vec<f64>, Vec<f64>) = (Vec::new(), Vec::new());
    let (mut last_length, mut last_ratio) = (1.0, 0.0);
    for _ in 0..PROBE.min(n.saturating_sub(1)) {
        curvature_product(potential, point, &direction, &mut product, &mut scratch, workspace);
        let curvature = dot(&direction, &product);
        if !(curvature > 0.0) {
            return 0.0;
        }
        let length = rz / curvature;
        diagonal.push(1.0 / length + last_ratio / last_length);
        residual.iter_mut().zip(&product).for_each(|(r, p)| *r -= length * p);
        z.iter_mut().zip(&residual).zip(&point.diagonal).for_each(|((z, r), d)| *z = r / d);
        let next = dot(&residual, &z);
        let ratio = next / rz;
        if !(ratio > 1e-20) {
            break;
        }
        off.push(ratio.sqrt() / length);
        direction.iter_mut().zip(&z).for_each(|(d, z)| *d = z + ratio * *d);
        (rz, last_length, last_ratio) = (next, length, ratio);
    }
    smallest_of_tridiagonal(&diagonal, &off)
}

/// Smallest eigenvalue of a symmetric tridiagonal matrix, by counting those below a bound.
fn smallest_of_tridiagonal(diagonal: &[f64], off: &[f64]) -> f64 {
    let below = |x: f64| {
        let mut count = 0;
        let mut pivot = 1.0_f64;
        for (i, d) in diagonal.iter().enumerate() {
            let square = if i == 0 { 0.0 } else { off[i - 1] * off[i - 1] };
            pivot = d - x - square / if pivot == 0.0 { f64::MIN_POSITIVE } else { pivot };
            count += usize::from(pivot < 0.0);
        }
        count
    };
    let (mut low, mut high) = (0.0, diagonal.iter().copied().fold(0.0, f64::max));
    for _ in 0..50 {
        let middle = 0.5 * (low + high);
        if below(middle) == 0 { low = middle } else { high = middle }
    }
    low
}

/// M d = g by conjugate gradients, preconditioned by the diagonal, to a residual of `precision` in the norm of the preconditioner.
fn conjugate_gradients(
    potential: &Potential,
    point: &Point,
    gradient: &[f64],
    precision: f64,
    max_steps: usize,
    workspace: &mut Workspace,
) -> (Vec<f64>, bool) {
    let n = gradient.len();
    let mut solution = vec![0.0; n];
    let mut residual = gradient.to_vec();
    let mut direction = vec![0.0; n];
    let (mut product, mut scratch) = (vec![0.0; n], Vec::new());
    let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
    let precondition = |r: &[f64]| -> Vec<f64> { r.iter().zip(&point.diagonal).map(|(r, d)| r / d).collect() };
    let mut z = precondition(&residual);
    let mut rz = dot(&residual, &z);
    let enough = rz * precision * precision;
    direction.copy_from_slice(&z);
    for _ in 0..max_steps {
        curvature_product(potential, point, &direction, &mut product, &mut scratch, workspace);
        let curvature = dot(&direction, &product);
        if !(curvature > 0.0) {
            return (solution, false);
        }
        let length = rz / curvature;
        for k in 0..n {
            solution[k] += length * direction[k];
            residual[k] -= length * product[k];
        }
        z = precondition(&residual);
        let next = dot(&residual, &z);
        if next <= enough {
            return (solution, true);
        }
        let ratio = next / rz;
        rz = next;
        for k in 0..n {
            direction[k] = z[k] + ratio * direction[k];
        }
    }
    (solution, false)
}
