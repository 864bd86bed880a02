//! Presentations of one connected component, grouped by size for fast passes.
//!
//! Members of all presentations of one size stand in one array, so that the inner loops have a fixed length. Passes are cut into
//! strands by a rule that looks at the data alone; strands run in parallel, each into accumulators of its own, which are added
//! in the order of the strands. Hence a result does not depend on the number of threads.

use std::borrow::Cow;
use std::ops::Range;

#[cfg(feature = "parallel")]
use rayon::prelude::*;

use crate::pausing::pause;
use crate::posterior::potential::bounds;
use crate::sampler::lanes::{Kernel, LANES, Lanes, dispatch, ln};

/// Members for each strand at least, so that small problems stay on one.
const STRAND_MEMBERS: usize = 1 << 16;
/// Strands at most: enough to balance the load of many cores, few enough to add up quickly.
const MAX_STRANDS: usize = 16;
/// Members of columns between two places to stop: a sweep takes some tenths of a millisecond for them.
const BLOCK: usize = 4096;

/// Columns C with weights b_C > 0, at least two members each, over options `0 … n−1`.
#[derive(Clone, Debug)]
pub(crate) struct Columns {
    option_count: usize,
    groups: Vec<Group>,
    strands: Vec<Vec<Piece>>,
}

/// Columns of one size.
#[derive(Clone, Debug)]
struct Group {
    size: usize,
    members: Vec<u32>,
    weights: Vec<f64>,
}

/// A run of columns of one group.
#[derive(Clone, Debug)]
struct Piece {
    group: usize,
    columns: Range<usize>,
}

/// Accumulators of one strand, reused from pass to pass.
#[derive(Clone, Debug, Default)]
pub(crate) struct Strand {
    /// For each option Σ_{C∋k} b_C/S_C and Σ_{C∋k} b_C/S_C².
    sums: Vec<[f64; 2]>,
    /// b_C/S_C² for each column, for Hessian-vector products.
    curvatures: Vec<f64>,
    product: Vec<f64>,
}

/// Accumulators of all strands.
pub(crate) type Workspace = Vec<Strand>;

/// Collects columns of any sizes in any order; `sizes` tells the number of columns of each size, for exact allocation.
pub(crate) struct Builder {
    option_count: usize,
    groups: Vec<Group>,
    /// Place of the group of a size.
    by_size: Vec<(usize, usize)>,
}

impl Builder {
    pub(crate) fn new(option_count: usize, sizes: &[(usize, usize)]) -> Self {
        let mut sizes: Vec<_> = sizes.iter().copied().filter(|&(size, count)| size > 1 && count > 0).collect();
        sizes.sort_unstable();
        let groups = sizes
            .iter()
            .map(|&(size, count)| Group { size, members: Vec::with_capacity(size * count), weights: Vec::with_capacity(count) })
            .collect();
        let by_size = sizes.iter().enumerate().map(|(g, &(size, _))| (size, g)).collect();
        Self { option_count, groups, by_size }
    }

    /// Adds a column of at least two members.
    pub(crate) fn push(&mut self, members: impl ExactSizeIterator<Item = u32>, weight: f64) {
        let size = members.len();
        let place = match self.by_size.binary_search_by_key(&size, |&(size, _)| size) {
            Ok(i) => self.by_size[i].1,
            Err(i) => {
                self.by_size.insert(i, (size, self.groups.len()));
                self.groups.push(Group { size, members: Vec::new(), weights: Vec::new() });
                self.groups.len() - 1
            }
        };
        self.groups[place].members.extend(members);
        self.groups[place].weights.push(weight);
    }

    pub(crate) fn finish(mut self) -> Columns {
        self.groups.sort_unstable_by_key(|group| group.size);
        let strands = strands(&self.groups);
        Columns { option_count: self.option_count, groups: self.groups, strands }
    }
}

impl Columns {
    /// Columns from a list; for small problems.
    pub(crate) fn from_list<C: AsRef<[u32]>>(option_count: usize, list: &[(C, f64)]) -> Self {
        let mut builder = Builder::new(option_count, &[]);
        for (members, weight) in list {
            if members.as_ref().len() > 1 && *weight > 0.0 {
                builder.push(members.as_ref().iter().copied(), *weight);
            }
        }
        builder.finish()
    }

    /// Number of columns.
    pub(crate) fn len(&self) -> usize {
        self.groups.iter().map(|group| group.weights.len()).sum()
    }

    /// Pairs of members of the same column.
    pub(crate) fn pair_count(&self) -> usize {
        self.groups.iter().map(|group| group.weights.len().saturating_mul(group.size * (group.size - 1) / 2)).sum()
    }

    /// Columns with their weights, by size.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u32], f64)> {
        self.groups.iter().flat_map(|group| group.members.chunks_exact(group.size).zip(group.weights.iter().copied()))
    }

    pub(crate) fn workspace(&self) -> Workspace {
        vec![Strand::default(); self.strands.len()]
    }

    /// Σ_C b_C ln S_C(λ) for positive λ that neither overflow nor underflow in sums.
    pub(crate) fn ln_sums(&self, lambda: &[f64]) -> f64 {
        let parts = self.map_strands(|pieces| {
            let mut sum = 0.0;
            for piece in pieces {
                self.each(piece, |set, b| sum += b * set.iter().map(|&i| lambda[i as usize]).sum::<f64>().ln());
            }
            sum
        });
        parts.iter().sum()
    }

    /// Rates r_k = Σ_{C∋k} b_C/S_C(λ) into `rates`.
    pub(crate) fn rates(&self, lambda: &[f64], rates: &mut [f64], workspace: &mut Workspace) {
        self.for_strands(workspace, |pieces, strand| {
            strand.product.clear();
            strand.product.resize(self.option_count, 0.0);
            let sums = &mut strand.product[..];
            for piece in pieces {
                self.each(piece, |set, b| {
                    let q = b / set.iter().map(|&i| lambda[i as usize]).sum::<f64>();
                    for &i in set {
                        sums[i as usize] += q;
                    }
                });
            }
        });
        rates.fill(0.0);
        for strand in workspace.iter() {
            for (rate, part) in rates.iter_mut().zip(&strand.product) {
                *rate += part;
            }
        }
    }

    /// As [`rates`](Self::rates); besides c_k = Σ_{C∋k} b_C/S_C² into `squares`, and each b_C/S_C² kept for
    /// [`product`](Self::product).
    pub(crate) fn rates_and_squares(&self, lambda: &[f64], rates: &mut [f64], squares: &mut [f64], workspace: &mut Workspace) {
        self.for_strands(workspace, |pieces, strand| {
            strand.sums.clear();
            strand.sums.resize(self.option_count, [0.0; 2]);
            strand.curvatures.clear();
            strand.curvatures.reserve_exact(pieces.iter().map(|piece| piece.columns.len()).sum());
            let (sums, curvatures) = (&mut strand.sums[..], &mut strand.curvatures);
            for piece in pieces {
                self.each(piece, |set, b| {
                    let inverse = 1.0 / set.iter().map(|&i| lambda[i as usize]).sum::<f64>();
                    let q = b * inverse;
                    let c = q * inverse;
                    curvatures.push(c);
                    for &i in set {
                        let sum = &mut sums[i as usize];
                        sum[0] += q;
                        sum[1] += c;
                    }
                });
            }
        });
        rates.fill(0.0);
        squares.fill(0.0);
        for strand in workspace.iter() {
            for ((rate, square), part) in rates.iter_mut().zip(squares.iter_mut()).zip(&strand.sums) {
                *rate += part[0];
                *square += part[1];
            }
        }
    }

    /// Σ_{C∋k} b_C/S_C² Σ_{i∈C} x_i into `out`, at the λ of the last [`rates_and_squares`](Self::rates_and_squares).
    pub(crate) fn product(&self, x: &[f64], out: &mut [f64], workspace: &mut Workspace) {
        self.for_strands(workspace, |pieces, strand| {
            strand.product.clear();
            strand.product.resize(self.option_count, 0.0);
            let sums = &mut strand.product[..];
            let mut curvatures = strand.curvatures.iter();
            for piece in pieces {
                self.each(piece, |set, _| {
                    let c = curvatures.next().copied().unwrap_or(0.0);
                    let t = c * set.iter().map(|&i| x[i as usize]).sum::<f64>();
                    for &i in set {
                        sums[i as usize] += t;
                    }
                });
            }
        });
        out.fill(0.0);
        for strand in workspace.iter() {
            for (out, part) in out.iter_mut().zip(&strand.product) {
                *out += part;
            }
        }
    }

    /// Rates of several chains side by side into `rates`.
    pub(crate) fn rates_of_lanes(&self, lambda: &[Lanes], rates: &mut [Lanes]) {
        rates.fill([0.0; LANES]);
        self.pass(&mut Rates { lambda, rates });
    }

    /// Σ_C b_C ln S_C(λ) of several chains side by side.
    pub(crate) fn ln_sums_of_lanes(&self, lambda: &[Lanes]) -> Lanes {
        let (low, high) = bounds(lambda.as_flattened());
        // So many sums, each between the smallest λ and all of the largest, have a normal product.
        let reach = low.log10().abs().max((high * self.option_count as f64).log10().abs());
        let most = ((SAFE_DECADES / reach) as usize).clamp(1, MAX_FACTORS);
        let mut sums = LnSums { lambda, total: [0.0; LANES], weight: 0.0, product: [1.0; LANES], factors: 0, most };
        self.pass(&mut sums);
        sums.flush();
        sums.total
    }

    /// The same columns with equal weights next to each other, where that saves logarithms.
    pub(crate) fn by_weight(&self) -> Cow<'_, Self> {
        let runs = |weights: &[f64]| 1 + weights.windows(2).filter(|pair| pair[0] != pair[1]).count();
        let is_good = |group: &Group| runs(&group.weights) * MAX_FACTORS <= group.weights.len().max(MAX_FACTORS);
        if self.groups.iter().all(is_good) {
            return Cow::Borrowed(self);
        }
        let sorted = |group: &Group| {
            let mut order: Vec<usize> = (0..group.weights.len()).collect();
            order.sort_by(|&c, &d| group.weights[c].total_cmp(&group.weights[d]));
            let members = order.iter().flat_map(|&c| &group.members[c * group.size..(c + 1) * group.size]).copied().collect();
            Group { size: group.size, members, weights: order.iter().map(|&c| group.weights[c]).collect() }
        };
        let groups: Vec<Group> = self.groups.iter().map(sorted).collect();
        Cow::Owned(Self { option_count: self.option_count, strands: strands(&groups), groups })
    }

    /// Shows each column to a visitor whose loops are compiled for the machine's widest vectors.
    pub(crate) fn pass(&self, visitor: &mut impl Visitor) {
        dispatch(Pass { columns: self, visitor });
    }

    /// As [`each`](Self::each) over all columns, for loops that are dispatched.
    #[inline(always)]
    fn visit(&self, visitor: &mut impl Visitor) {
        for group in &self.groups {
            let columns = columns_of_block(group.size);
            for (members, weights) in group.members.chunks(columns * group.size).zip(group.weights.chunks(columns)) {
                pause();
                macro_rules! fixed {
                    ($($size:literal)*) => {
                        match group.size {
                            $($size => for (set, &b) in members.as_chunks::<$size>().0.iter().zip(weights) {
                                visitor.column(set, b);
                            },)*
                            size => for (set, &b) in members.chunks_exact(size).zip(weights) {
                                visitor.column(set, b);
                            },
                        }
                    };
                }
                fixed!(2 3 4 5 8 10);
            }
        }
    }

    /// Calls `f` with the members and the weight of each column of a piece; fixed lengths for the usual sizes.
    #[inline(always)]
    fn each(&self, piece: &Piece, mut f: impl FnMut(&[u32], f64)) {
        pause();
        let group = &self.groups[piece.group];
        let members = &group.members[piece.columns.start * group.size..piece.columns.end * group.size];
        let weights = &group.weights[piece.columns.clone()];
        macro_rules! fixed {
            ($($size:literal)*) => {
                match group.size {
                    $($size => for (set, &b) in members.as_chunks::<$size>().0.iter().zip(weights) {
                        f(set, b);
                    },)*
                    size => for (set, &b) in members.chunks_exact(size).zip(weights) {
                        f(set, b);
                    },
                }
            };
        }
        fixed!(2 3 4 5 6 8 10);
    }

    fn map_strands<T: Send>(&self, f: impl Fn(&[Piece]) -> T + Sync) -> Vec<T> {
        #[cfg(feature = "parallel")]
        if self.strands.len() > 1 {
            return self.strands.par_iter().map(|pieces| f(pieces)).collect();
        }
        self.strands.iter().map(|pieces| f(pieces)).collect()
    }

    fn for_strands(&self, workspace: &mut Workspace, f: impl Fn(&[Piece], &mut Strand) + Sync) {
        #[cfg(feature = "parallel")]
        if self.strands.len() > 1 {
            self.strands.par_iter().zip(workspace.par_iter_mut()).for_each(|(pieces, strand)| f(pieces, strand));
            return;
        }
        for (pieces, strand) in self.strands.iter().zip(workspace) {
            f(pieces, strand);
        }
    }
}

/// What a pass over columns does with each.
pub(crate) trait Visitor {
    fn column(&mut self, set: &[u32], b: f64);
}

/// A dispatched pass.
struct Pass<'a, V> {
    columns: &'a Columns,
    visitor: &'a mut V,
}

impl<V: Visitor> Kernel for Pass<'_, V> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        self.columns.visit(self.visitor);
    }
}

struct Rates<'a> {
    lambda: &'a [Lanes],
    rates: &'a mut [Lanes],
}

impl Visitor for Rates<'_> {
    #[inline(always)]
    fn column(&mut self, set: &[u32], b: f64) {
        let sums = sums_of_lanes(set, self.lambda);
        let q: Lanes = [b / sums[0], b / sums[1], b / sums[2], b / sums[3]];
        for &i in set {
            let rate = &mut self.rates[i as usize];
            for lane in 0..LANES {
                rate[lane] += q[lane];
            }
        }
    }
}

/// Factors of a product before its logarithm is taken, at most; it has to stay within so many decades of 1.
const MAX_FACTORS: usize = 32;
const SAFE_DECADES: f64 = 300.0;

/// Columns of equal weight next to each other share a logarithm: b ln S + b ln S' = b ln SS'.
struct LnSums<'a> {
    lambda: &'a [Lanes],
    total: Lanes,
    weight: f64,
    product: Lanes,
    factors: usize,
    /// Factors of a product at most.
    most: usize,
}

impl LnSums<'_> {
    #[inline(always)]
    fn flush(&mut self) {
        let logarithms = ln(self.product);
        for lane in 0..LANES {
            self.total[lane] += self.weight * logarithms[lane];
        }
        (self.product, self.factors) = ([1.0; LANES], 0);
    }
}

impl Visitor for LnSums<'_> {
    #[inline(always)]
    fn column(&mut self, set: &[u32], b: f64) {
        if self.factors == self.most || b != self.weight {
            self.flush();
            self.weight = b;
        }
        let sums = sums_of_lanes(set, self.lambda);
        for lane in 0..LANES {
            self.product[lane] *= sums[lane];
        }
        self.factors += 1;
    }
}

/// S_C of several chains side by side.
#[inline(always)]
pub(crate) fn sums_of_lanes(set: &[u32], lambda: &[Lanes]) -> Lanes {
    let mut sums = [0.0; LANES];
    for &i in set {
        let lambda = &lambda[i as usize];
        for lane in 0..LANES {
            sums[lane] += lambda[lane];
        }
    }
    sums
}

fn columns_of_block(size: usize) -> usize {
    (BLOCK / size).max(1)
}

/// Cuts the columns into strands of about equal numbers of members.
fn strands(groups: &[Group]) -> Vec<Vec<Piece>> {
    let total: usize = groups.iter().map(|group| group.members.len()).sum();
    let count = (total / STRAND_MEMBERS).clamp(1, MAX_STRANDS);
    let share = total.div_ceil(count).max(1);
    let mut strands = vec![Vec::new()];
    let mut room = share;
    for (g, group) in groups.iter().enumerate() {
        let mut start = 0;
        while start < group.weights.len() {
            if room == 0 {
                strands.push(Vec::new());
                room = share;
            }
            let take = room.div_ceil(group.size).min(group.weights.len() - start).min(columns_of_block(group.size));
            if let Some(strand) = strands.last_mut() {
                strand.push(Piece { group: g, columns: start..start + take });
            }
            start += take;
            room = room.saturating_sub(take * group.size);
        }
    }
    strands
}
