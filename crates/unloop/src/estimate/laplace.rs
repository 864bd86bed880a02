//! The Gaussian around the mode in the log basis, and its evidence.
//!
//! ```text
//! ln ∫ exp φ ≈ f(η*) + (K−1)/2 · ln 2π − ½ ln det(−H without one row and column)
//! ```
//! f is flat along a common shift of η, so covariances are those of centred log preferences η_k − mean η. Inside each connected
//! component the curvature at the mode gives the covariance; the masses of components and unexplored options are Dirichlet, and
//! enter the evidence exactly. Error of the evidence: −0.05 to −0.2 with 4 to 24 choices, −0.002 with 380.

use std::f64::consts::PI;

use thiserror::Error;

use super::factor::{Factor, FactorError};
use super::map::{Map, MapError};
use super::newton::maximise;
use crate::matrix::Matrix;
use crate::posterior::potential::{Point, Potential};
use crate::posterior::{MAX_DENSE, Posterior};
use crate::sampler::tree::ln_beta;

/// The Gaussian approximation of the posterior of η = ln θ.
#[derive(Clone, Debug)]
pub struct Laplace {
    /// Mode of the density of η, with Σe^η = 1: the mean of the Gaussian.
    pub mean: Vec<f64>,
    /// Covariance of the centred log preferences η_k − (Σ_j η_j)/K.
    pub covariance: Matrix,
    /// Approximate ln p(k_{1:T} | C_{1:T}).
    pub ln_evidence: f64,
}

/// Why there is no Gaussian.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum LaplaceError {
    /// The mode was not found.
    #[error(transparent)]
    Map(#[from] MapError),
    /// Too many linked options for a factor of the curvature.
    #[error("the curvature of {option_count} options is too large to factor")]
    TooLarge {
        /// Number of options.
        option_count: usize,
    },
    /// The curvature is lost in rounding.
    #[error("the curvature at the mode of {option_count} options is not positive definite in floating point")]
    Indefinite {
        /// Number of options.
        option_count: usize,
    },
}

/// Mode and factored curvature of one connected component.
pub(crate) struct Mode {
    /// After a pass with curvature.
    pub(crate) point: Point,
    pub(crate) factor: Factor,
    /// f at the mode.
    pub(crate) value: f64,
}

impl Mode {
    pub(crate) fn new(potential: &Potential) -> Result<Self, LaplaceError> {
        Self::near(potential, None)
    }

    /// The mode, sought from a start that is close to it.
    pub(crate) fn near(potential: &Potential, start: Option<Vec<f64>>) -> Result<Self, LaplaceError> {
        let optimum = maximise(potential, start, 1e-10, 500);
        if !(optimum.converged || optimum.gradient_norm < 1e-6) {
            let best = Map {
                theta: Point::new(optimum.eta).shares(),
                basis: crate::posterior::Basis::Log,
                iterations: optimum.iterations,
                gradient_norm: optimum.gradient_norm,
                converged: false,
            };
            return Err(MapError::NotConverged { best: Box::new(best) }.into());
        }
        let value = potential.value(&optimum.eta);
        let mut point = Point::new(optimum.eta);
        let mut workspace = potential.columns.workspace();
        potential.pass_with_curvature(&mut point, &mut workspace);
        let option_count = potential.option_count();
        let factor = Factor::new(potential, &point).map_err(|error| match error {
            FactorError::TooLarge => LaplaceError::TooLarge { option_count },
            FactorError::Indefinite => LaplaceError::Indefinite { option_count },
        })?;
        Ok(Self { point, factor, value })
    }

    /// ln ∫ exp f over η modulo a shift, approximately.
    pub(crate) fn ln_integral(&self) -> f64 {
        let dimension = (self.point.eta.len() - 1) as f64;
        self.value + 0.5 * dimension * (2.0 * PI).ln() - 0.5 * self.factor.ln_minor()
    }
}

impl Posterior {
    /// The Gaussian approximation around the log-basis mode.
    ///
    /// # Errors
    /// If the mode is not reached, or there are too many options for a dense covariance or a factor of the curvature.
    pub fn laplace(&self) -> Result<Laplace, LaplaceError> {
        let option_count = self.option_count();
        if option_count > MAX_DENSE {
            return Err(LaplaceError::TooLarge { option_count });
        }
        let mut mean = vec![0.0; option_count];
        let mut covariance = Matrix::zeros(option_count);
        let mut ln_integral = self.ln_masses();
        let alone = self.components().len() + self.unexplored_indices().len() == 1;
        for component in self.components() {
            let mode = Mode::new(&component.potential)?;
            ln_integral += mode.ln_integral();
            let shares = mode.point.shares();
            let (share, spread) = if alone { (1.0, 0.0) } else { (component.mass / self.total_mass(), 1.0 / component.mass) };
            let mut columns = Vec::with_capacity(shares.len());
            for i in 0..shares.len() {
                let mut column = vec![0.0; shares.len()];
                column[i] = 1.0;
                mode.factor.solve(&mut column);
                columns.push(column);
            }
            // Moves that leave the component's mass as it is: x − pᵀx, of which M⁻¹ is the covariance; then the mass itself.
            let weighted: Vec<f64> = columns.iter().map(|column| dot(column, &shares)).collect();
            let twice = dot(&weighted, &shares);
            for (i, &k) in component.options.iter().enumerate() {
                mean[k as usize] = share.ln() + shares[i].ln();
                for (j, &l) in component.options.iter().enumerate() {
                    *covariance.at(k as usize, l as usize) = columns[i][j] - weighted[i] - weighted[j] + twice + spread;
                }
            }
        }
        for &k in self.unexplored_indices() {
            let alpha = self.alpha()[k as usize];
            mean[k as usize] = if alone { 0.0 } else { (alpha / self.total_mass()).ln() };
            *covariance.at(k as usize, k as usize) = if alone { 0.0 } else { 1.0 / alpha };
        }
        centre(&mut covariance);
        let ln_prior = match self.general_prior() {
            None => ln_beta(self.alpha().iter().copied()),
            Some(prior) => prior.laplace_normaliser()?,
        };
        Ok(Laplace { mean, covariance, ln_evidence: ln_integral - ln_prior })
    }

    /// ln of the normaliser of the Dirichlet over masses: exact.
    pub(crate) fn ln_masses(&self) -> f64 {
        let components = self.components().iter().map(|component| component.mass);
        ln_beta(components.chain(self.unexplored_indices().iter().map(|&k| self.alpha()[k as usize])))
    }

    fn laplace_normaliser(&self) -> Result<f64, LaplaceError> {
        let mut sum = self.ln_masses();
        for component in self.components() {
            sum += Mode::new(&component.potential)?.ln_integral();
        }
        Ok(sum)
    }
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// Covariance of x − mean x from that of x.
fn centre(covariance: &mut Matrix) {
    let n = covariance.size();
    let means: Vec<f64> = covariance.values().chunks_exact(n.max(1)).map(|row| row.iter().sum::<f64>() / n as f64).collect();
    let mean = means.iter().sum::<f64>() / n as f64;
    for i in 0..n {
        for j in 0..n {
            *covariance.at(i, j) += mean - means[i] - means[j];
        }
    }
}
