//! Cholesky factors of the curvature, dense or sparse in a fill-reducing order.
//!
//! The matrix is M of [`potential`](crate::posterior::potential), grounded at one option when w = 0 (M is singular then): adding δ
//! to one diagonal entry fixes the common shift and changes nothing else, since Σg = 0 forces that coordinate of the solution to 0.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::LltRegularization;
use faer::linalg::solvers::{Llt, Solve};
use faer::sparse::linalg::SupernodalThreshold;
use faer::sparse::linalg::cholesky::{
    CholeskySymbolicParams, LltRef, SymbolicCholesky, SymbolicCholeskyRaw, SymmetricOrdering, factorize_symbolic_cholesky,
};
use faer::sparse::{SparseColMatRef, SymbolicSparseColMatRef};
use faer::{Conj, Mat, MatMut, Par, Side, Spec};

use crate::posterior::potential::{Point, Potential};

/// Up to this size the matrix is accumulated densely (32 MB), whatever its pattern.
const DENSE_ASSEMBLY: usize = 2_048;
/// Largest dense factor (800 MB, some ten seconds).
const MAX_DENSE_FACTOR: usize = 10_000;
/// Most pairs of members that are assembled into a sparse matrix (1.6 GB at 16 bytes each, for the while).
const MAX_SPARSE_PAIRS: usize = 100_000_000;
/// Largest work of a sparse factor, in multiplications.
const MAX_SPARSE_WORK: f64 = 3e11;
/// Sparse factors run at about this fraction of the dense speed.
const SPARSE_SLOWDOWN: f64 = 8.0;

/// A factor of M at a point.
pub(crate) struct Factor {
    kind: Kind,
    /// ln det of −H without one row and column.
    ln_minor: f64,
    ground: Ground,
}

/// What M has beyond −H.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Ground {
    /// w p pᵀ.
    Whole(f64),
    /// δ at one option.
    Option(usize, f64),
}

enum Kind {
    Dense(Llt<f64>),
    Sparse { symbolic: Box<SymbolicCholesky<usize>>, values: Vec<f64> },
}

/// Why there is no factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FactorError {
    /// Too large to factor.
    TooLarge,
    /// Not positive definite in floating point.
    Indefinite,
}

/// The lower triangle of M by columns.
struct Lower {
    starts: Vec<usize>,
    rows: Vec<usize>,
    values: Vec<f64>,
}

impl Factor {
    /// Factors M at a point whose pass included curvature.
    pub(crate) fn new(potential: &Potential, point: &Point) -> Result<Self, FactorError> {
        let n = potential.option_count();
        if n > DENSE_ASSEMBLY && potential.columns.pair_count() > MAX_SPARSE_PAIRS {
            return Err(FactorError::TooLarge);
        }
        // Rows of A add up to zero. Taken from the other entries the diagonal keeps that to the last digit; as a difference of sums
        // (an option that nearly always wins) it would not, and the looseness of a group would drown in it.
        let mut diagonal = vec![0.0; n];
        potential.off_diagonal(point, |i, j, x| {
            diagonal[i] -= x;
            diagonal[j] -= x;
        });
        let scale = potential.whole.max(0.0) / point.lambda.iter().sum::<f64>();
        for (diagonal, lambda) in diagonal.iter_mut().zip(&point.lambda) {
            *diagonal += scale * lambda;
        }
        let ground = ground(potential, &mut diagonal);
        let kind = if n <= DENSE_ASSEMBLY {
            let dense = assemble_dense(potential, point);
            let filled = dense.iter().filter(|&&x| x != 0.0).count();
            // A pattern of less than a quarter may have a sparse factor worth its bookkeeping.
            if n > 64 && filled < n * n / 8 {
                sparse_or_dense(sparsify(n, &dense), &diagonal)?
            } else {
                dense_factor(&dense, &diagonal)?
            }
        } else {
            sparse_or_dense(assemble_sparse(potential, point), &diagonal)?
        };
        let mut factor = Self { kind, ln_minor: 0.0, ground };
        // det M = t · det(minor of −H), with t = w or the δ added.
        let (Ground::Whole(t) | Ground::Option(_, t)) = ground;
        factor.ln_minor = 2.0 * factor.diagonal().map(f64::ln).sum::<f64>() - t.ln();
        if factor.ln_minor.is_finite() { Ok(factor) } else { Err(FactorError::Indefinite) }
    }

    /// Solves M x = b in place.
    pub(crate) fn solve(&self, rhs: &mut [f64]) {
        let n = rhs.len();
        match &self.kind {
            Kind::Dense(llt) => llt.solve_in_place(MatMut::from_column_major_slice_mut(rhs, n, 1)),
            Kind::Sparse { symbolic, values } => {
                let mut memory = MemBuffer::new(symbolic.solve_in_place_scratch::<f64>(1, Par::Seq));
                LltRef::<'_, usize, f64>::new(symbolic, values).solve_in_place_with_conj(
                    Conj::No,
                    MatMut::from_column_major_slice_mut(rhs, n, 1),
                    Par::Seq,
                    MemStack::new(&mut memory),
                );
            }
        }
    }

    /// xᵀ(−H)x of x = Lᵀ⁻¹ z, from |z|²; p are the shares at the point.
    pub(crate) fn square(&self, norm: f64, x: &[f64], p: &[f64]) -> f64 {
        let ground = match self.ground {
            Ground::Whole(w) => w * x.iter().zip(p).map(|(x, p)| x * p).sum::<f64>().powi(2),
            Ground::Option(k, delta) => delta * x[k] * x[k],
        };
        (norm - ground).max(0.0)
    }

    /// Solves Lᵀ x = z, M = L Lᵀ, for several z one after the other: standard normal z become draws with covariance M⁻¹.
    pub(crate) fn correlate(&self, z: &mut [f64], count: usize) {
        let n = z.len() / count;
        match &self.kind {
            Kind::Dense(llt) => {
                llt.L().transpose().solve_upper_triangular_in_place(MatMut::from_column_major_slice_mut(z, n, count));
            }
            Kind::Sparse { .. } => z.chunks_exact_mut(n).for_each(|z| self.correlate_sparse(z)),
        }
    }

    fn correlate_sparse(&self, z: &mut [f64]) {
        let Kind::Sparse { symbolic, values } = &self.kind else { return };
        let SymbolicCholeskyRaw::Simplicial(pattern) = symbolic.raw() else { return };
        let (starts, rows) = (pattern.col_ptr(), pattern.row_idx());
        for j in (0..z.len()).rev() {
            let column = starts[j]..starts[j + 1];
            let below: f64 = column.clone().skip(1).map(|i| values[i] * z[rows[i]]).sum();
            z[j] = (z[j] - below) / values[column.start];
        }
        if let Some(order) = symbolic.perm() {
            let permuted = z.to_vec();
            for (j, &k) in order.arrays().0.iter().enumerate() {
                z[k] = permuted[j];
            }
        }
    }

    /// ln det of −H without one row and column; any gives the same.
    pub(crate) fn ln_minor(&self) -> f64 {
        self.ln_minor
    }

    /// Diagonal of the factor.
    fn diagonal(&self) -> Box<dyn Iterator<Item = f64> + '_> {
        match &self.kind {
            Kind::Dense(llt) => Box::new((0..llt.L().nrows()).map(|k| llt.L()[(k, k)])),
            Kind::Sparse { symbolic, values } => match symbolic.raw() {
                SymbolicCholeskyRaw::Simplicial(pattern) => Box::new(pattern.col_ptr().windows(2).map(|ends| values[ends[0]])),
                SymbolicCholeskyRaw::Supernodal(_) => Box::new(std::iter::once(f64::NAN)),
            },
        }
    }
}

/// Adds what makes M regular to its diagonal.
fn ground(potential: &Potential, diagonal: &mut [f64]) -> Ground {
    // Below this part of the data's weight, w is lost in rounding.
    if potential.whole > 1e-13 * potential.a.iter().sum::<f64>() {
        return Ground::Whole(potential.whole);
    }
    let heaviest = (0..diagonal.len()).max_by(|&i, &j| diagonal[i].total_cmp(&diagonal[j])).unwrap_or(0);
    let delta = diagonal[heaviest];
    diagonal[heaviest] += delta;
    Ground::Option(heaviest, delta)
}

/// Off-diagonal of the lower triangle, column by column of an n × n array.
fn assemble_dense(potential: &Potential, point: &Point) -> Vec<f64> {
    let n = potential.option_count();
    let mut lower = vec![0.0; n * n];
    potential.off_diagonal(point, |i, j, x| lower[j * n + i] += x);
    lower
}

fn sparsify(n: usize, lower: &[f64]) -> Lower {
    let mut sparse = Lower { starts: vec![0], rows: Vec::new(), values: Vec::new() };
    for (j, column) in lower.chunks_exact(n).enumerate() {
        for (i, &x) in column.iter().enumerate().skip(j) {
            if i == j || x != 0.0 {
                sparse.rows.push(i);
                sparse.values.push(x);
            }
        }
        sparse.starts.push(sparse.rows.len());
    }
    sparse
}

/// Off-diagonal for many options: entries dealt into the columns of M, then summed column by column.
fn assemble_sparse(potential: &Potential, point: &Point) -> Lower {
    let n = potential.option_count();
    let mut starts = vec![0_usize; n + 1];
    potential.off_diagonal(point, |_, j, _| starts[j + 1] += 1);
    for j in 0..n {
        starts[j + 1] += starts[j];
    }
    let mut next = starts.clone();
    let mut entries = vec![(0_u32, 0.0_f64); starts[n]];
    potential.off_diagonal(point, |i, j, x| {
        entries[next[j]] = (i as u32, x);
        next[j] += 1;
    });
    let mut sparse = Lower { starts: vec![0], rows: Vec::new(), values: Vec::new() };
    let mut sums = vec![0.0; n];
    // The column in which a row was last seen.
    let mut seen = vec![usize::MAX; n];
    for j in 0..n {
        sparse.rows.push(j);
        sparse.values.push(0.0);
        let first = sparse.rows.len();
        for &(i, x) in &entries[starts[j]..starts[j + 1]] {
            let i = i as usize;
            if std::mem::replace(&mut seen[i], j) != j {
                sparse.rows.push(i);
                sums[i] = 0.0;
            }
            sums[i] += x;
        }
        sparse.rows[first..].sort_unstable();
        sparse.values.extend(sparse.rows[first..].iter().map(|&i| sums[i]));
        sparse.starts.push(sparse.rows.len());
    }
    sparse
}

fn sparse_or_dense(mut lower: Lower, diagonal: &[f64]) -> Result<Kind, FactorError> {
    let n = diagonal.len();
    for (j, d) in diagonal.iter().enumerate() {
        lower.values[lower.starts[j]] = *d;
    }
    let pattern = SymbolicSparseColMatRef::new_checked(n, n, &lower.starts, None, &lower.rows);
    let params =
        CholeskySymbolicParams { supernodal_flop_ratio_threshold: SupernodalThreshold::FORCE_SIMPLICIAL, ..Default::default() };
    let symbolic =
        factorize_symbolic_cholesky(pattern, Side::Lower, SymmetricOrdering::Amd, params).map_err(|_| FactorError::TooLarge)?;
    let work: f64 = match symbolic.raw() {
        SymbolicCholeskyRaw::Simplicial(pattern) => {
            pattern.col_ptr().windows(2).map(|ends| ((ends[1] - ends[0]) as f64).powi(2)).sum()
        }
        SymbolicCholeskyRaw::Supernodal(_) => f64::INFINITY,
    };
    let dense_work = (n as f64).powi(3) / 3.0;
    if n <= MAX_DENSE_FACTOR && work * SPARSE_SLOWDOWN > dense_work {
        let mut dense = vec![0.0; n * n];
        for j in 0..n {
            for place in lower.starts[j]..lower.starts[j + 1] {
                dense[j * n + lower.rows[place]] = lower.values[place];
            }
        }
        return dense_factor(&dense, diagonal);
    }
    if work > MAX_SPARSE_WORK {
        return Err(FactorError::TooLarge);
    }
    let mut values = vec![0.0; symbolic.len_val()];
    let mut memory = MemBuffer::new(symbolic.factorize_numeric_llt_scratch::<f64>(Par::Seq, Spec::default()));
    symbolic
        .factorize_numeric_llt::<f64>(
            &mut values,
            SparseColMatRef::new(pattern, &lower.values),
            Side::Lower,
            LltRegularization::default(),
            Par::Seq,
            MemStack::new(&mut memory),
            Spec::default(),
        )
        .map_err(|_| FactorError::Indefinite)?;
    Ok(Kind::Sparse { symbolic: Box::new(symbolic), values })
}

fn dense_factor(lower: &[f64], diagonal: &[f64]) -> Result<Kind, FactorError> {
    let n = diagonal.len();
    let matrix = Mat::from_fn(n, n, |i, j| if i == j { diagonal[i] } else { lower[j * n + i] });
    Llt::new(matrix.as_ref(), Side::Lower).map(Kind::Dense).map_err(|_| FactorError::Indefinite)
}
