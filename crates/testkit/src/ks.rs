//! Kolmogorov-Smirnov: do these draws come from that continuous distribution, or from the same one as those draws?
//!
//! ```text
//! one sample    D = sup_x |F_n(x) − F(x)|        F_n the empirical distribution of the draws
//! two samples   D = sup_x |F_n(x) − G_m(x)|
//! ```
//!
//! The draws must be independent; thin the output of a chain, or take one draw from each of many chains. Cost
//! O(n log n), for sorting.

use crate::verdict::{Verdict, check_level};

/// Compares `draws` with a continuous distribution, given as its distribution function.
///
/// `level` is the probability of rejecting correct draws. The supremum is taken over both sides of each step of the
/// empirical distribution. A NaN among the draws or from `cdf` gives the statistic NaN, which is rejected.
///
/// # Panics
///
/// When there are no draws, or `level` is not strictly between 0 and 1.
pub fn one_sample(draws: &[f64], cdf: impl Fn(f64) -> f64, level: f64) -> Verdict {
    assert!(!draws.is_empty(), "KS of no draws");
    let n = draws.len();
    Verdict {
        check: "KS",
        statistic: largest(one_sample_gaps(&sorted(draws), cdf)),
        critical: critical_one_sample(n, level),
        level,
        detail: format!("n = {n}"),
    }
}

/// Compares two sets of draws with each other.
///
/// `level` is the probability of rejecting draws of one continuous distribution; for draws with ties it is an upper
/// bound. A NaN among the draws gives the statistic NaN, which is rejected.
///
/// # Panics
///
/// When one of the sets is empty, or `level` is not strictly between 0 and 1.
pub fn two_sample(first: &[f64], second: &[f64], level: f64) -> Verdict {
    assert!(!first.is_empty() && !second.is_empty(), "KS of no draws: {} and {}", first.len(), second.len());
    let (n, m) = (first.len(), second.len());
    Verdict {
        check: "two-sample KS",
        statistic: largest(two_sample_gaps(&sorted(first), &sorted(second))),
        critical: critical_two_sample(n, m, level),
        level,
        detail: format!("n = {n}, m = {m}"),
    }
}

/// The value D exceeds with probability `level` for `n` draws of the right distribution.
///
/// ```text
/// D* = x / (√n + 0.12 + 0.11/√n)   where   2 Σ_{j≥1} (−1)^{j−1} exp(−2 j² x²) = level
/// ```
///
/// The limit distribution of √n D with the correction of Stephens (1970), "Use of the Kolmogorov-Smirnov,
/// Cramér-Von Mises and related statistics without extensive tables", JRSS B 32. For n ≥ 10 and levels from 10⁻² to
/// 10⁻⁶ the true level is never more than 1.05 times the asked one, and well below it for n < 50 (checked against
/// the exact distribution in this module's tests).
///
/// # Panics
///
/// When `level` is not strictly between 0 and 1.
pub fn critical_one_sample(n: usize, level: f64) -> f64 {
    let root = (n as f64).sqrt();
    limit_quantile(level) / (root + 0.12 + 0.11 / root)
}

/// The value D exceeds with probability at most about `level` for `n` and `m` draws of one distribution.
///
/// ```text
/// D* = x √((n + m) / (n m))   with x as in `critical_one_sample`
/// ```
///
/// The limit without a correction: D of two samples takes few values, and between them the correction of one sample
/// would make the check alarm more often than asked.
///
/// # Panics
///
/// When `level` is not strictly between 0 and 1.
pub fn critical_two_sample(n: usize, m: usize, level: f64) -> f64 {
    let (n, m) = (n as f64, m as f64);
    limit_quantile(level) * ((n + m) / (n * m)).sqrt()
}

/// x with P(K > x) = level, K of the Kolmogorov distribution, by bisection.
fn limit_quantile(level: f64) -> f64 {
    check_level(level);
    let (mut low, mut high) = (0.0, 40.0);
    // 60 halvings of 40 leave less than one unit in the last place.
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if limit_survival(middle) > level {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

/// P(K > x) = 2 Σ_{j≥1} (−1)^{j−1} exp(−2 j² x²).
fn limit_survival(x: f64) -> f64 {
    // Below this the series needs ever more terms, while the answer is 1 to within 10⁻¹¹.
    if x < 0.2 {
        return 1.0;
    }
    let terms = (1..=20).map(|j| {
        let jx = f64::from(j) * x;
        let sign = if j % 2 == 1 { 1.0 } else { -1.0 };
        sign * (-2.0 * jx * jx).exp()
    });
    2.0 * terms.sum::<f64>()
}

fn sorted(draws: &[f64]) -> Vec<f64> {
    let mut draws = draws.to_vec();
    draws.sort_unstable_by(f64::total_cmp);
    draws
}

/// F(x) − F_n just below x and F_n(x) − F(x), for each draw x in order.
fn one_sample_gaps(sorted: &[f64], cdf: impl Fn(f64) -> f64) -> impl Iterator<Item = f64> {
    let n = sorted.len() as f64;
    sorted.iter().enumerate().flat_map(move |(i, &x)| {
        let f = cdf(x);
        [f - i as f64 / n, (i + 1) as f64 / n - f]
    })
}

/// |F_n(x) − G_m(x)| after each distinct value x of either set. Equal values step together: a tie is no difference.
fn two_sample_gaps(first: &[f64], second: &[f64]) -> impl Iterator<Item = f64> {
    let (n, m) = (first.len() as f64, second.len() as f64);
    let (mut i, mut j) = (0, 0);
    std::iter::from_fn(move || {
        let x = match (first.get(i), second.get(j)) {
            (Some(a), Some(b)) => a.min(*b),
            (Some(x), None) | (None, Some(x)) => *x,
            (None, None) => return None,
        };
        let before = (i, j);
        i += first[i..].iter().take_while(|&&a| a == x).count();
        j += second[j..].iter().take_while(|&&b| b == x).count();
        if (i, j) == before {
            // A NaN equals nothing, not even itself.
            (i, j) = (first.len(), second.len());
            return Some(f64::NAN);
        }
        Some((i as f64 / n - j as f64 / m).abs())
    })
}

/// The maximum, or NaN if there is one: `f64::max` would drop it.
fn largest(gaps: impl Iterator<Item = f64>) -> f64 {
    gaps.fold(0.0, |largest, gap| if largest.is_nan() || gap.is_nan() { f64::NAN } else { largest.max(gap) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    /// Odds of a false alarm in each test below.
    const LEVEL: f64 = 1e-4;

    fn uniform(x: f64) -> f64 {
        x.clamp(0.0, 1.0)
    }

    fn uniform_draws(seed: u64, n: usize) -> Vec<f64> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        (0..n).map(|_| rng.random()).collect()
    }

    fn statistic(draws: &[f64]) -> f64 {
        one_sample(draws, uniform, LEVEL).statistic
    }

    fn statistic_of_two(first: &[f64], second: &[f64]) -> f64 {
        two_sample(first, second, LEVEL).statistic
    }

    #[test]
    fn both_sides_of_a_step_count() {
        // Below the step the empirical distribution is 0, above it is 1.
        assert_eq!(statistic(&[0.75]), 0.75);
        assert_eq!(statistic(&[0.25]), 0.75);
        assert_eq!(statistic(&[0.5, 0.25]), 0.5);
        assert_eq!(statistic(&[0.5, 0.5]), 0.5);
    }

    #[test]
    fn two_samples_compare_after_each_distinct_value() {
        assert_eq!(statistic_of_two(&[1.0, 2.0], &[3.0, 4.0]), 1.0);
        assert_eq!(statistic_of_two(&[1.0, 3.0], &[2.0, 4.0]), 0.5);
        assert_eq!(statistic_of_two(&[3.0, 1.0, 1.0, 2.0], &[1.0, 2.0, 3.0, 1.0]), 0.0);
        assert_eq!(statistic_of_two(&[1.0], &[1.0, 1.0, 2.0, 3.0]), 0.5);
        assert_eq!(statistic_of_two(&[-0.0], &[0.0]), 0.0);
    }

    #[test]
    fn nan_is_rejected_wherever_it_stands() {
        let nan = f64::NAN;
        for draws in [[nan, 0.5], [0.5, nan], [-nan, 0.5]] {
            assert!(!one_sample(&draws, uniform, LEVEL).passes());
            assert!(!two_sample(&draws, &[0.5, 0.6], LEVEL).passes());
            assert!(!two_sample(&[0.5, 0.6], &draws, LEVEL).passes());
        }
        let gap = |x: f64| if x < 0.3 { f64::NAN } else { x };
        assert!(!one_sample(&[0.2, 0.5], gap, LEVEL).passes());
    }

    #[test]
    fn limit_quantiles_are_those_of_the_tables() {
        // Smirnov (1948), Table for estimating the goodness of fit of empirical distributions.
        for (level, x) in [(0.10, 1.2238), (0.05, 1.3581), (0.01, 1.6276), (0.001, 1.9495)] {
            assert!((limit_quantile(level) - x).abs() < 5e-5, "{level}: {}", limit_quantile(level));
        }
        assert!((limit_survival(limit_quantile(0.999)) - 0.999).abs() < 1e-12);
    }

    /// P(D > d) of one sample, exact where it is small: twice the one-sided probability of Birnbaum and Tingey
    /// (1951), since both sides exceed d together with far smaller probability.
    fn exact_one_sample(n: usize, d: f64) -> f64 {
        use statrs::function::factorial::ln_binomial;
        let size = n as f64;
        let terms = (0..=n).map(|j| {
            let a = d + j as f64 / size;
            if a >= 1.0 {
                return 0.0;
            }
            let ln_power = (j as f64 - 1.0) * a.ln() + (size - j as f64) * (1.0 - a).ln();
            (ln_binomial(n as u64, j as u64) + ln_power).exp()
        });
        2.0 * d * terms.sum::<f64>()
    }

    #[test]
    fn one_sample_level_is_kept() {
        for level in [1e-2, 1e-3, 1e-4, 1e-5, 1e-6] {
            for n in [10, 20, 50, 100, 500, 2_000, 20_000] {
                let ratio = exact_one_sample(n, critical_one_sample(n, level)) / level;
                assert!(ratio < 1.05, "n {n}, level {level}: {ratio}");
                // Nor is the check blunt once there is something to see.
                assert!(n < 100 || ratio > 0.98, "n {n}, level {level}: {ratio}");
            }
        }
    }

    /// P(D ≥ k/n) of two samples of n each, exact: Gnedenko and Korolyuk (1951).
    ///
    /// ```text
    /// 2 Σ_{j≥1} (−1)^{j−1} C(2n, n − jk) / C(2n, n)
    /// ```
    fn exact_two_sample(n: u64, k: u64) -> f64 {
        use statrs::function::factorial::ln_binomial;
        let terms = (1..=n / k).map(|j| {
            let sign = if j % 2 == 1 { 1.0 } else { -1.0 };
            sign * (ln_binomial(2 * n, n - j * k) - ln_binomial(2 * n, n)).exp()
        });
        2.0 * terms.sum::<f64>()
    }

    #[test]
    fn two_sample_level_is_kept() {
        for level in [1e-2, 1e-3, 1e-4, 1e-5, 1e-6] {
            for n in [10_usize, 20, 50, 100, 500, 2_000, 20_000] {
                let critical = critical_two_sample(n, n, level);
                let Some(first_rejected) = (1..=n).find(|&k| k as f64 / n as f64 > critical) else {
                    continue;
                };
                let ratio = exact_two_sample(n as u64, first_rejected as u64) / level;
                assert!(ratio < 1.02, "n {n}, level {level}: {ratio}");
            }
        }
    }

    #[test]
    fn right_draws_pass() {
        one_sample(&uniform_draws(1, 10_000), uniform, LEVEL).assert_passes("uniform");
        let squares: Vec<f64> = uniform_draws(2, 10_000).iter().map(|u| u * u).collect();
        one_sample(&squares, |x| uniform(x).sqrt(), LEVEL).assert_passes("square of uniform");
        two_sample(&uniform_draws(3, 10_000), &uniform_draws(4, 5_000), LEVEL).assert_passes("two uniform");
    }

    #[test]
    fn wrong_draws_are_rejected() {
        // Largest difference |u − u^1.1| of the distribution functions: 0.035, the critical value is 0.022.
        let bent: Vec<f64> = uniform_draws(5, 10_000).iter().map(|u| u.powf(1.1)).collect();
        one_sample(&bent, uniform, LEVEL).assert_rejects("bent");
        two_sample(&bent, &uniform_draws(6, 10_000), LEVEL).assert_rejects("bent and straight");
        // Stuck at few values, though with the right mean and variance.
        let coarse: Vec<f64> = uniform_draws(7, 10_000).iter().map(|u| (u * 10.0).round() / 10.0).collect();
        one_sample(&coarse, uniform, LEVEL).assert_rejects("coarse");
    }

    #[test]
    #[should_panic(expected = "KS of no draws")]
    fn no_draws_are_no_evidence() {
        let _ = one_sample(&[], uniform, LEVEL);
    }

    #[test]
    #[should_panic(expected = "a false-alarm level is strictly between 0 and 1")]
    fn a_nan_level_is_refused() {
        let _ = one_sample(&[0.5], uniform, f64::NAN);
    }
}
