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

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;
    use statrs::function::gamma::gamma_lr;
    use testkit::ks;

    use super::*;

    /// False-alarm level of each test.
    const LEVEL: f64 = 1e-4;

    #[test]
    fn logarithms_of_gamma_draws_have_their_distribution() {
        for shape in [0.05, 0.3, 1.0, 2.5, 400.0] {
            let mut rng = ChaCha8Rng::seed_from_u64(5);
            let draws: Vec<f64> = (0..50_000).map(|_| ln_gamma_draw(shape, &mut rng)).collect();
            // P(ln G ≤ x) = P(shape, eˣ); below rounding of eˣ the leading term eˣᵃ/Γ(a+1).
            let cdf = |x: f64| {
                if x < -700.0 {
                    (shape * x - statrs::function::gamma::ln_gamma(shape + 1.0)).exp()
                } else {
                    gamma_lr(shape, x.exp())
                }
            };
            ks::one_sample(&draws, cdf, LEVEL).assert_passes(&format!("ln Gamma({shape})"));
        }
    }

    /// At shape 10⁻³ most draws would underflow; their logarithms are exponential with rate 10⁻³, nearly.
    #[test]
    fn tiny_shapes_stay_finite() {
        let mut rng = ChaCha8Rng::seed_from_u64(6);
        let draws: Vec<f64> = (0..20_000).map(|_| ln_gamma_draw(1e-3, &mut rng)).collect();
        assert!(draws.iter().all(|x| x.is_finite()));
        assert!(draws.iter().filter(|&&x| x < -745.0).count() > 8_000);
        ks::one_sample(&draws, |x| if x < -5.0 { (1e-3 * x + 5.77e-4).exp() } else { gamma_lr(1e-3, x.exp()) }, LEVEL)
            .assert_passes("ln Gamma(0.001)");
    }
}
