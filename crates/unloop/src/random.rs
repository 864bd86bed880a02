//! Draws that rand_distr lacks.

use rand::{Rng, RngExt};
use rand_distr::{Distribution, Gamma, StandardNormal};
use statrs::function::beta::{beta_reg, ln_beta};
use statrs::function::gamma::{gamma_lr, gamma_ur, ln_gamma};

/// ln of a Gamma(shape) draw (rate 1), in log space where the draw itself would underflow.
///
/// Below shape 1, ln Gamma(a) = ln Gamma(a + 1) + ln U / a: at a = 10⁻³ most draws are below 10⁻³⁰⁰.
pub fn ln_gamma_draw<R: Rng + ?Sized>(shape: f64, rng: &mut R) -> f64 {
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

/// A Gamma(shape) draw (rate 1); an exponential where the shape is 1, as for presentations answered once.
pub(crate) fn gamma_draw<R: Rng + ?Sized>(shape: f64, rng: &mut R) -> f64 {
    if shape == 1.0 {
        return rng.sample(rand_distr::Exp1);
    }
    match Gamma::new(shape, 1.0) {
        Ok(gamma) if shape > 1.0 => gamma.sample(rng),
        _ => ln_gamma_draw(shape, rng).exp(),
    }
}

/// ln x with P(Gamma(shape) ≤ x) = e^ln_p, for ln_p < 0: by bisection and Newton on ln x, on the smaller tail.
pub(crate) fn ln_gamma_quantile(shape: f64, ln_p: f64) -> f64 {
    let ln_q = (-ln_p.exp_m1()).ln();
    // An exponential: P(X > x) = e⁻ˣ.
    if shape == 1.0 {
        return if ln_q < ln_p { (-ln_q).ln() } else { (-(-ln_p.exp()).ln_1p()).ln() };
    }
    // Below this, P = xᵃ/Γ(a+1) to rounding.
    let small = (ln_p + ln_gamma(shape + 1.0)) / shape;
    if small < -40.0 {
        return small;
    }
    let ln_ga = ln_gamma(shape);
    // Distance to the wanted tail, increasing in ln x, and its slope.
    let value = |y: f64| {
        let x = y.exp();
        let ln_density = shape * y - x - ln_ga;
        if ln_q < ln_p {
            let ln_tail = gamma_ur(shape, x).ln();
            (ln_q - ln_tail, (ln_density - ln_tail).exp())
        } else {
            let ln_tail = gamma_lr(shape, x).ln();
            (ln_tail - ln_p, (ln_density - ln_tail).exp())
        }
    };
    let (mut low, mut high) = (small.min(0.0) - 1.0, (shape + 10.0 - 2.0 * ln_q + shape.sqrt() * 20.0).ln());
    // In the upper tail P(X > x) ≈ x^(a−1) e⁻ˣ/Γ(a), at the lower end P(X ≤ x) ≈ xᵃ/Γ(a+1); else from the middle.
    let tail = -ln_q - ln_ga;
    let guess = if -ln_q > 3.0 + shape {
        (tail + (shape - 1.0) * (-ln_q).ln()).max(1.0).ln()
    } else if small < (0.3 * shape).ln() {
        small
    } else {
        shape.max(1e-3).ln()
    };
    let mut y = guess.clamp(low, high);
    for _ in 0..200 {
        let (distance, slope) = value(y);
        if distance > 0.0 {
            high = y;
        } else {
            low = y;
        }
        let newton = y - distance / slope;
        let next = if newton > low && newton < high { newton } else { 0.5 * (low + high) };
        // Newton squares the distance.
        if (next - y).abs() <= 1e-8 * (1.0 + y.abs()) {
            return next;
        }
        y = next;
    }
    y
}

/// −ln P(ln Gamma(shape) ≤ ln_x): 0 far above the median, as precise as the upper tail is there; ∞ at −∞.
pub(crate) fn minus_ln_gamma_cdf(shape: f64, ln_x: f64) -> f64 {
    if ln_x < -40.0 {
        return ln_gamma(shape + 1.0) - shape * ln_x;
    }
    let x = ln_x.exp();
    if x == f64::INFINITY {
        return 0.0;
    }
    // An exponential: P(X > x) = e⁻ˣ.
    let above = if shape == 1.0 { (-x).exp() } else { gamma_ur(shape, x) };
    if above < 0.5 {
        return -(-above).ln_1p();
    }
    -(if shape == 1.0 { -(-x).exp_m1() } else { gamma_lr(shape, x) }).ln()
}

/// Standard normal draws into `z`.
pub(crate) fn fill_normal<R: Rng + ?Sized>(z: &mut [f64], rng: &mut R) {
    for z in z {
        *z = StandardNormal.sample(rng);
    }
}

/// Quantile of Beta(a, b), to twelve digits (of 10⁶ options: eight) however small it is: the share of an option never shown may be
/// 10⁻¹⁰⁰ of all.
///
/// Newton steps in t = ln x, kept inside a bracket, from x = (p a B(a, b))^(1/a), which is right where x is small.
pub(crate) fn beta_quantile(a: f64, b: f64, p: f64) -> f64 {
    let ln_b = ln_beta(a, b);
    let start = (p.ln() + a.ln() + ln_b) / a;
    // There 1 − x is 1.
    if start < -50.0 {
        return start.exp();
    }
    let (mut low, mut high) = (start.min(-1.0) - 50.0, 0.0_f64);
    let mut t = if start < -1e-3 { start } else { (a / (a + b)).ln() };
    for _ in 0..200 {
        let x = t.exp();
        let excess = beta_reg(a, b, x.min(1.0)) - p;
        if excess > 0.0 {
            high = t;
        } else {
            low = t;
        }
        // d I/d t = x·density.
        let slope = (a * t + (b - 1.0) * (-x).ln_1p() - ln_b).exp();
        let newton = t - excess / slope;
        let next = if newton > low && newton < high { newton } else { 0.5 * (low + high) };
        if (next - t).abs() <= 1e-16 * t.abs() {
            break;
        }
        t = next;
    }
    t.exp()
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;
    use testkit::ks;

    use super::*;

    /// False-alarm level of each test.
    const LEVEL: f64 = 1e-4;

    #[test]
    fn logarithms_of_gamma_draws_have_their_distribution() {
        for shape in [0.05, 0.3, 1.0, 2.5, 400.0] {
            let mut rng = ChaCha8Rng::seed_from_u64(5);
            let draws: Vec<f64> = (0..50_000).map(|_| ln_gamma_draw(shape, &mut rng)).collect();
            ks::one_sample(&draws, |x| (-minus_ln_gamma_cdf(shape, x)).exp(), LEVEL).assert_passes(&format!("ln Gamma({shape})"));
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

    #[test]
    fn quantiles_invert_the_distribution_function() {
        for shape in [1e-3, 0.1, 1.0, 3.7, 250.0, 1e6] {
            for ln_p in [-30.0, -3.0, -0.7, -0.1, -1e-3, -1e-6, -1e-12] {
                let y = ln_gamma_quantile(shape, ln_p);
                assert!(y.is_finite(), "{shape} {ln_p}");
                if y < -40.0 {
                    continue;
                }
                let (lower, upper) = (gamma_lr(shape, y.exp()), gamma_ur(shape, y.exp()));
                let off = if ln_p < -0.7 { lower.ln() - ln_p } else { upper / -ln_p.exp_m1() - 1.0 };
                assert!(off.abs() < 1e-6, "{shape} {ln_p}: {y} off by {off:e}");
            }
        }
    }

    /// Closed forms where one parameter is 1, the distribution function elsewhere; also where a share is tiny.
    #[test]
    fn beta_quantiles_are_right_however_small() {
        for p in [0.005, 0.05, 0.25, 0.5, 0.75, 0.95, 0.995_f64] {
            // ln Γ(c) of the density's constant has an error of c ln c units in the last place.
            for c in [1e-3, 0.03, 0.5, 1.0, 7.0, 999.0, 1e6] {
                let power = beta_quantile(c, 1.0, p);
                let exact = (p.ln() / c).exp();
                assert!((power - exact).abs() <= (1e-12 + 1e-14 * c) * exact, "Beta({c}, 1) at {p}: {power} is not {exact}");
                let first = beta_quantile(1.0, c, p);
                let exact = -((-p).ln_1p() / c).exp_m1();
                assert!((first - exact).abs() <= (1e-12 + 1e-14 * c) * exact, "Beta(1, {c}) at {p}: {first} is not {exact}");
            }
            for (a, b) in [(0.01, 9.99), (0.7, 8.6), (50.0, 49_950.0), (1e3, 1e6), (3.0, 2.0)] {
                let x = beta_quantile(a, b, p);
                let back = beta_reg(a, b, x);
                println!("Beta({a}, {b}) at {p}: {x:e}, back {back}");
                // The distribution function that is inverted has an error of about a + b units in the last place.
                assert!((back - p).abs() < 1e-12 + 1e-15 * (a + b), "Beta({a}, {b}) at {p}: {x} gives {back}");
            }
        }
        // The largest weights: the distribution function itself is known to six digits there, and is nearly that of a normal.
        let (low, high) = (beta_quantile(1e9, 3e9, 0.05), beta_quantile(1e9, 3e9, 0.95));
        let sd = (0.25_f64 * 0.75 / 4e9).sqrt();
        assert!(((high - low) / sd - 2.0 * 1.644_853_6).abs() < 1e-3 && (0.5 * (low + high) - 0.25).abs() < 0.01 * sd);
        // (p a B)^(1/a) for a = 0.01, b = 10: far below what 1 − x can tell from 1.
        let tiny = beta_quantile(0.01, 10.0, 0.05);
        assert!((tiny.ln() - (0.05_f64.ln() + 0.01_f64.ln() + ln_beta(0.01, 10.0)) / 0.01).abs() < 1e-9 && tiny < 1e-100);
    }
}
