//! The log-basis potential of one connected component, with gradient and curvature.
//!
//! ```text
//! f(η) = Σ_k a_k η_k − Σ_C b_C ln S_C(e^η) − w ln S(e^η),      S over all options of the component, Σa = Σb + w
//! ∂f/∂η_k = a_k − e_k,      e_k = λ_k (Σ_{C∋k} b_C/S_C + w/S),   λ = e^η
//! −H = A + w (diag p − p pᵀ),   A = Σ_C b_C (diag p_C − p_C p_Cᵀ),   p = λ/S
//! ```
//! f does not change when all η move together, and is concave when w ≥ 0. A pass costs O(Σ|C| + n).
//!
//! Newton steps solve with M = A + w diag(p) in place of −H: for a right side g with Σg = 0 the solution of M d = g has pᵀd = 0,
//! hence −H d = g. M is as sparse as the presentations, −H is full.

use std::sync::Arc;

use super::columns::{Columns, Workspace};

/// Beyond this spread of η, sums of e^η would lose all but their largest terms or underflow; columns are then shifted one by one.
pub(crate) const SAFE_SPREAD: f64 = 300.0;

/// f of one connected component; see the module.
#[derive(Clone, Debug)]
pub(crate) struct Potential {
    /// a_k > 0.
    pub(crate) a: Vec<f64>,
    /// w: the weight of the column that holds every option. Below zero only for maxima on the simplex with α < 1; f is not
    /// concave then, and M leaves the term out, which makes steps shorter.
    pub(crate) whole: f64,
    pub(crate) columns: Arc<Columns>,
}

/// A point with what one pass over the columns tells of it.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    pub(crate) eta: Vec<f64>,
    /// e^(η − max η).
    pub(crate) lambda: Vec<f64>,
    /// g_k = a_k − e_k.
    pub(crate) gradient: Vec<f64>,
    /// Diagonal of M; only after a pass with curvature.
    pub(crate) diagonal: Vec<f64>,
    /// Σ_{C∋k} b_C p_k|C, without the whole column.
    expected: Vec<f64>,
    spread: f64,
}

impl Point {
    pub(crate) fn new(eta: Vec<f64>) -> Self {
        let n = eta.len();
        let mut point = Self {
            eta,
            lambda: vec![0.0; n],
            gradient: vec![0.0; n],
            diagonal: vec![0.0; n],
            expected: vec![0.0; n],
            spread: 0.0,
        };
        point.refresh();
        point
    }

    /// Recomputes λ after η changed.
    pub(crate) fn refresh(&mut self) {
        let (low, high) = bounds(&self.eta);
        self.spread = high - low;
        for (lambda, eta) in self.lambda.iter_mut().zip(&self.eta) {
            *lambda = (eta - high).exp();
        }
    }

    /// p = λ/Σλ.
    pub(crate) fn shares(&self) -> Vec<f64> {
        let total: f64 = self.lambda.iter().sum();
        self.lambda.iter().map(|lambda| lambda / total).collect()
    }

    fn is_safe(&self) -> bool {
        self.spread < SAFE_SPREAD
    }
}

impl Potential {
    pub(crate) fn option_count(&self) -> usize {
        self.a.len()
    }

    /// f(η).
    pub(crate) fn value(&self, eta: &[f64]) -> f64 {
        let (low, high) = bounds(eta);
        let shifted: Vec<f64> = eta.iter().map(|eta| eta - high).collect();
        let lambda: Vec<f64> = shifted.iter().map(|eta| eta.exp()).collect();
        // Differences to the largest η: what was shifted is Σa − Σb − w = 0, up to rounding that the shift keeps small.
        let linear: f64 = self.a.iter().zip(&shifted).map(|(a, eta)| a * eta).sum();
        let sums = if high - low < SAFE_SPREAD {
            self.columns.ln_sums(&lambda)
        } else {
            self.columns.iter().map(|(set, b)| b * ln_sum_exp(set.iter().map(|&i| shifted[i as usize]))).sum()
        };
        let whole = if self.whole == 0.0 { 0.0 } else { self.whole * lambda.iter().sum::<f64>().ln() };
        linear - sums - whole
    }

    /// Gradient at the point, without curvature.
    pub(crate) fn pass(&self, point: &mut Point, workspace: &mut Workspace) {
        if point.is_safe() {
            self.columns.rates(&point.lambda, &mut point.expected, workspace);
            for (expected, lambda) in point.expected.iter_mut().zip(&point.lambda) {
                *expected *= lambda;
            }
        } else {
            self.careful_pass(point);
        }
        self.finish_gradient(point);
    }

    /// Gradient and diagonal of M at the point; prepares [`product`](Self::product).
    pub(crate) fn pass_with_curvature(&self, point: &mut Point, workspace: &mut Workspace) {
        if point.is_safe() {
            let Point { lambda, expected, diagonal, .. } = point;
            self.columns.rates_and_squares(lambda, expected, diagonal, workspace);
            for ((expected, diagonal), lambda) in expected.iter_mut().zip(diagonal).zip(lambda) {
                *expected *= *lambda;
                *diagonal = *expected - *diagonal * *lambda * *lambda;
            }
        } else {
            self.careful_pass(point);
        }
        self.finish_gradient(point);
        let scale = self.whole.max(0.0) / point.lambda.iter().sum::<f64>();
        for (k, diagonal) in point.diagonal.iter_mut().enumerate() {
            // The difference of nearly equal sums (an option that always wins) may round below zero.
            *diagonal = diagonal.max(f64::EPSILON * point.expected[k]) + scale * point.lambda[k];
        }
    }

    /// M v at a point after [`pass_with_curvature`](Self::pass_with_curvature).
    pub(crate) fn product(&self, point: &Point, v: &[f64], out: &mut [f64], scratch: &mut Vec<f64>, workspace: &mut Workspace) {
        let scale = self.whole.max(0.0) / point.lambda.iter().sum::<f64>();
        if point.is_safe() {
            scratch.clear();
            scratch.extend(v.iter().zip(&point.lambda).map(|(v, lambda)| v * lambda));
            self.columns.product(scratch, out, workspace);
            for (k, out) in out.iter_mut().enumerate() {
                *out = point.expected[k] * v[k] - *out * point.lambda[k] + scale * point.lambda[k] * v[k];
            }
        } else {
            for (k, out) in out.iter_mut().enumerate() {
                *out = (point.expected[k] + scale * point.lambda[k]) * v[k];
            }
            let mut p = Vec::new();
            for (set, b) in self.columns.iter() {
                softmax(set.iter().map(|&i| point.eta[i as usize]), &mut p);
                let mean: f64 = set.iter().zip(&p).map(|(&i, p)| p * v[i as usize]).sum();
                for (&i, p) in set.iter().zip(&p) {
                    out[i as usize] -= b * p * mean;
                }
            }
        }
    }

    /// Calls `f(i, j, −b p_i p_j)` for each pair i > j of each column, and the members' probabilities: the off-diagonal of A.
    pub(crate) fn off_diagonal(&self, point: &Point, mut f: impl FnMut(usize, usize, f64)) {
        let mut p = Vec::new();
        for (set, b) in self.columns.iter() {
            if point.is_safe() {
                p.clear();
                p.extend(set.iter().map(|&i| point.lambda[i as usize]));
                let inverse = 1.0 / p.iter().sum::<f64>();
                p.iter_mut().for_each(|p| *p *= inverse);
            } else {
                softmax(set.iter().map(|&i| point.eta[i as usize]), &mut p);
            }
            for (x, &i) in set.iter().enumerate() {
                let bp = b * p[x];
                for (y, &j) in set[..x].iter().enumerate() {
                    f(i as usize, j as usize, -bp * p[y]);
                }
            }
        }
    }

    /// Expected choices and diagonal of A with each column shifted by its own largest η.
    fn careful_pass(&self, point: &mut Point) {
        point.expected.fill(0.0);
        point.diagonal.fill(0.0);
        let mut p = Vec::new();
        for (set, b) in self.columns.iter() {
            softmax(set.iter().map(|&i| point.eta[i as usize]), &mut p);
            for (&i, p) in set.iter().zip(&p) {
                point.expected[i as usize] += b * p;
                point.diagonal[i as usize] += b * p * (1.0 - p);
            }
        }
    }

    fn finish_gradient(&self, point: &mut Point) {
        let scale = self.whole / point.lambda.iter().sum::<f64>();
        for k in 0..self.a.len() {
            point.gradient[k] = self.a[k] - point.expected[k] - scale * point.lambda[k];
        }
    }
}

/// Smallest and largest.
pub(crate) fn bounds(values: &[f64]) -> (f64, f64) {
    values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &x| (low.min(x), high.max(x)))
}

/// ln Σ e^x without overflow; −∞ for an empty sum.
pub(crate) fn ln_sum_exp(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let high = values.clone().fold(f64::NEG_INFINITY, f64::max);
    if !high.is_finite() {
        // All −∞ (or none): −∞. A single +∞ or a NaN: what it is.
        return values.fold(high, |sum, x| if x.is_nan() { x } else { sum });
    }
    high + values.map(|x| (x - high).exp()).sum::<f64>().ln()
}

fn softmax(eta: impl Iterator<Item = f64> + Clone, p: &mut Vec<f64>) {
    let high = eta.clone().fold(f64::NEG_INFINITY, f64::max);
    p.clear();
    p.extend(eta.map(|eta| (eta - high).exp()));
    let inverse = 1.0 / p.iter().sum::<f64>();
    p.iter_mut().for_each(|p| *p *= inverse);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ln_sum_exp_of_extremes() {
        let lse = |values: &[f64]| ln_sum_exp(values.iter().copied());
        assert_eq!(lse(&[]), f64::NEG_INFINITY);
        assert_eq!(lse(&[f64::NEG_INFINITY, f64::NEG_INFINITY]), f64::NEG_INFINITY);
        assert_eq!(lse(&[f64::NEG_INFINITY, 3.0]), 3.0);
        assert_eq!(lse(&[1e4, 1e4]), 1e4 + 2.0_f64.ln());
        assert_eq!(lse(&[-1e4, 700.0]), 700.0);
        assert!(lse(&[f64::NAN, 0.0]).is_nan());
    }

    fn example() -> Potential {
        let columns = Columns::from_list(4, &[(vec![0, 1], 3.0), (vec![1, 2, 3], 2.5), (vec![0, 3], 1.5)]);
        Potential { a: vec![2.0, 3.0, 1.5, 2.5], whole: 2.0, columns: columns.into() }
    }

    /// The fast passes and those that shift each column must agree; only the spread of η decides between them.
    #[test]
    fn careful_passes_agree_with_fast_ones() {
        let potential = example();
        let mut workspace = potential.columns.workspace();
        let mut fast = Point::new(vec![0.3, -1.2, 2.0, -0.4]);
        potential.pass_with_curvature(&mut fast, &mut workspace);
        let mut careful = fast.clone();
        careful.spread = 2.0 * SAFE_SPREAD;
        potential.pass_with_curvature(&mut careful, &mut workspace);
        let close = |x: &[f64], y: &[f64]| x.iter().zip(y).all(|(x, y)| (x - y).abs() < 1e-14);
        assert!(close(&fast.gradient, &careful.gradient));
        assert!(close(&fast.diagonal, &careful.diagonal));
        let v = [1.0, -0.5, 0.25, 2.0];
        let (mut x, mut y, mut scratch) = ([0.0; 4], [0.0; 4], Vec::new());
        potential.pass_with_curvature(&mut fast, &mut workspace);
        potential.product(&fast, &v, &mut x, &mut scratch, &mut workspace);
        potential.product(&careful, &v, &mut y, &mut scratch, &mut workspace);
        assert!(close(&x, &y), "{x:?} {y:?}");
    }

    #[test]
    fn huge_spreads_stay_finite() {
        let potential = example();
        let mut workspace = potential.columns.workspace();
        let mut point = Point::new(vec![0.0, -5_000.0, 5_000.0, -9_000.0]);
        potential.pass_with_curvature(&mut point, &mut workspace);
        assert!(point.gradient.iter().chain(&point.diagonal).all(|x| x.is_finite()));
        assert!(potential.value(&point.eta).is_finite());
    }
}
