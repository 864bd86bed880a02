//! Draws that rand_distr lacks.

use rand::{Rng, RngExt};
use rand_distr::{Distribution, Gamma, StandardNormal};

/// ln of a Gamma(shape) draw (rate 1), in log space where the draw itself would underflow.
///
/// Below shape 1, ln Gamma(a) = ln Gamma(a + 1) + ln U / a: at a = 10⁻³ most draws are below 10⁻³⁰⁰.
pub(crate) fn ln_gamma_draw<R: Rng + ?Sized>(shape: f64, rng: &mut R) -> f64 {
    debug_assert!(shape > 0.0 && shape.is_finite(), "invariant: shapes are positive");
    let (boosted, shift) = if shape < 1.0 {
        // Open01: ln of zero must not happen.
        let u: f64 = rng.sample(rand_distr::Open01);
        (shape + 1.0, u.ln() / shape)
    } else {
        (shape, 0.0)
    };
    match Gamma::new(boosted, 1.0) {
        Ok(gamma) => gamma.sample(rng).ln() + shift,
        Err(_) => f64::NAN,
    }
}

/// Standard normal draws into `z`.
pub(crate) fn fill_normal<R: Rng + ?Sized>(z: &mut [f64], rng: &mut R) {
    for z in z {
        *z = StandardNormal.sample(rng);
    }
}
