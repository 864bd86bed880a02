//! What particles and chains move towards: the posterior over the options that have data.

use std::sync::OnceLock;

use super::spanning::SpanningTree;
use crate::posterior::potential::{Point, Potential};

/// The density of the log preferences η of the options that have data, modulo a common shift:
///
/// ```text
/// f(η) = Σ_k a_k η_k − Σ_C b_C ln S_C(e^η) − w ln S(e^η),      Σa = Σb + w
/// ```
/// On the simplex of shares the exponents are a − 1 instead: the Jacobian is included here.
#[derive(Clone, Debug)]
pub struct Target {
    pub(crate) potential: Potential,
    pub(crate) tree: SpanningTree,
    holding: OnceLock<Holding>,
}

/// Columns in one numbering, and which of them hold each option.
#[derive(Clone, Debug)]
pub(crate) struct Holding {
    pub(crate) columns: Vec<Box<[u32]>>,
    pub(crate) weights: Vec<f64>,
    pub(crate) columns_of: Vec<Vec<u32>>,
}

impl Target {
    pub(crate) fn new(potential: Potential, tree: SpanningTree) -> Self {
        Self { potential, tree, holding: OnceLock::new() }
    }

    /// The target of a compiled potential, with a tree of its own.
    pub(crate) fn of_potential(potential: &Potential) -> Self {
        let tree = SpanningTree::of_columns(potential.option_count(), potential.columns.iter());
        Self::new(potential.clone(), tree)
    }

    /// Number of options with data.
    pub fn option_count(&self) -> usize {
        self.potential.option_count()
    }

    /// Exponents a_k = α_k + y_k.
    pub fn exponents(&self) -> &[f64] {
        &self.potential.a
    }

    /// w: the weight of the column that holds every option.
    pub fn whole(&self) -> f64 {
        self.potential.whole
    }

    /// The other columns C, as ascending places of their options, with b_C = β(C) + μ(C).
    pub fn columns(&self) -> impl Iterator<Item = (&[u32], f64)> {
        self.potential.columns.iter()
    }

    /// f(η); none if η has another number of options.
    pub fn ln_density(&self, eta: &[f64]) -> Option<f64> {
        (eta.len() == self.option_count()).then(|| self.potential.value(eta))
    }

    /// Gradient of f at η; none if η has another number of options.
    pub fn gradient(&self, eta: &[f64]) -> Option<Vec<f64>> {
        if eta.len() != self.option_count() {
            return None;
        }
        let mut point = Point::new(eta.to_vec());
        self.potential.pass(&mut point, &mut self.potential.columns.workspace());
        Some(point.gradient)
    }

    pub(crate) fn holding(&self) -> &Holding {
        self.holding.get_or_init(|| {
            let (columns, weights): (Vec<Box<[u32]>>, Vec<f64>) = self.columns().map(|(set, b)| (set.into(), b)).unzip();
            let mut columns_of = vec![Vec::new(); self.option_count()];
            for (c, set) in columns.iter().enumerate() {
                for &i in set {
                    columns_of[i as usize].push(c as u32);
                }
            }
            Holding { columns, weights, columns_of }
        })
    }
}

/// A way to move particles that leaves their target as it is.
///
/// Particles come [`LANES`](super::LANES) side by side: `eta[k][lane]` is ln λ of option k (in the target's numbering). The common
/// shift of a particle is free. Which options are moved, and how, must not depend on the particles but through a rule that keeps
/// the target invariant.
pub trait MoveKernel: Send + Sync {
    /// Moves each particle once; the part of its proposals that were accepted, on average.
    fn advance(&self, target: &Target, eta: &mut [[f64; super::LANES]], rng: &mut rand_chacha::ChaCha8Rng) -> f64;
}
