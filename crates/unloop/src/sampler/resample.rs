//! Which particles live on, and how often.
//!
//! Every scheme gives particle i on average n·W_i offspring. They differ in spread: multinomial draws each offspring by itself (the
//! paper's), the others spread them evenly and so lose less (Douc, Cappé & Moulines 2005).

use rand::{Rng, RngExt};

/// How offspring are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Resampling {
    /// Each independently of the others: the paper's.
    Multinomial,
    /// One in each of n equal parts of the weight, at an offset of its own.
    Stratified,
    /// One in each of n equal parts of the weight, at a common offset.
    Systematic,
    /// The whole part of n·W_i for certain, the rest multinomial.
    Residual,
}

impl Resampling {
    /// Ancestors of n offspring, ascending, given weights that add up to `total`.
    pub(crate) fn ancestors<R: Rng>(self, weights: &[f64], total: f64, n: usize, rng: &mut R) -> Vec<u32> {
        match self {
            Self::Multinomial => {
                let mut points: Vec<f64> = (0..n).map(|_| rng.random()).collect();
                points.sort_unstable_by(f64::total_cmp);
                at_points(weights, total, points.into_iter())
            }
            Self::Stratified => {
                let points: Vec<f64> = (0..n).map(|i| (i as f64 + rng.random::<f64>()) / n as f64).collect();
                at_points(weights, total, points.into_iter())
            }
            Self::Systematic => {
                let offset: f64 = rng.random();
                at_points(weights, total, (0..n).map(|i| (i as f64 + offset) / n as f64))
            }
            Self::Residual => {
                let expected = |weight: f64| n as f64 * (weight / total);
                let mut ancestors: Vec<u32> = Vec::with_capacity(n);
                for (i, &weight) in weights.iter().enumerate() {
                    let certain = (expected(weight).floor() as usize).min(n - ancestors.len());
                    ancestors.extend(std::iter::repeat_n(i as u32, certain));
                }
                let rest: Vec<f64> = weights.iter().map(|&weight| expected(weight).fract()).collect();
                let left = n - ancestors.len();
                let rest_total = rest.iter().sum();
                ancestors.extend(Self::Multinomial.ancestors(&rest, rest_total, left, rng));
                ancestors.sort_unstable();
                ancestors
            }
        }
    }
}

/// The particle in whose part of the weight each point falls; points ascending in [0, 1).
fn at_points(weights: &[f64], total: f64, points: impl Iterator<Item = f64>) -> Vec<u32> {
    let mut particle = 0;
    let mut sum = weights.first().copied().unwrap_or(0.0);
    // The last with any weight takes what rounding leaves beyond the sum.
    let last = weights.iter().rposition(|&weight| weight > 0.0).unwrap_or(0);
    points
        .map(|point| {
            while particle < last && sum <= point * total {
                particle += 1;
                sum += weights[particle];
            }
            particle as u32
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;
    use testkit::chi_square;

    use super::*;

    /// False-alarm level of each test.
    const LEVEL: f64 = 1e-4;
    const ALL: [Resampling; 4] = [Resampling::Multinomial, Resampling::Stratified, Resampling::Systematic, Resampling::Residual];

    fn offspring(scheme: Resampling, weights: &[f64], n: usize, rng: &mut ChaCha8Rng) -> Vec<u64> {
        let mut counts = vec![0; weights.len()];
        let ancestors = scheme.ancestors(weights, weights.iter().sum(), n, rng);
        assert_eq!(ancestors.len(), n);
        assert!(ancestors.is_sorted());
        for i in ancestors {
            counts[i as usize] += 1;
        }
        counts
    }

    /// On average n·W_i, and within one of it for all but multinomial and residual.
    #[test]
    fn offspring_are_proportional_to_weights() {
        let weights = [0.0, 0.3, 1e-300, 2.0, 0.7, 0.0, 1.0, 0.0];
        let total: f64 = weights.iter().sum();
        for scheme in ALL {
            let mut rng = ChaCha8Rng::seed_from_u64(4);
            let mut sums = vec![0_u64; weights.len()];
            for _ in 0..20_000 {
                let counts = offspring(scheme, &weights, 7, &mut rng);
                for (i, &count) in counts.iter().enumerate() {
                    let expected = 7.0 * weights[i] / total;
                    assert!(weights[i] > 0.0 || count == 0, "{scheme:?}");
                    match scheme {
                        Resampling::Systematic => assert!((count as f64 - expected).abs() < 1.0, "{scheme:?} {count} {expected}"),
                        Resampling::Stratified => assert!((count as f64 - expected).abs() < 2.0, "{scheme:?} {count} {expected}"),
                        Resampling::Residual => assert!(count as f64 >= expected.floor()),
                        Resampling::Multinomial => {}
                    }
                    sums[i] += count;
                }
            }
            if scheme == Resampling::Multinomial {
                let likely: Vec<f64> = weights.iter().map(|weight| weight / total).collect();
                let kept: Vec<usize> = (0..8).filter(|&i| likely[i] > 1e-9).collect();
                let counts: Vec<u64> = kept.iter().map(|&i| sums[i]).collect();
                chi_square::counts(&counts, &kept.iter().map(|&i| likely[i]).collect::<Vec<_>>(), LEVEL)
                    .assert_passes("multinomial offspring");
            }
            for (i, &sum) in sums.iter().enumerate() {
                // Spread at most that of multinomial: 5 standard errors.
                let p = weights[i] / total;
                let error = (7.0 * p * (1.0 - p) / 20_000.0).sqrt();
                let mean = sum as f64 / 20_000.0;
                assert!((mean - 7.0 * p).abs() <= 5.0 * error, "{scheme:?}: {mean} against {}", 7.0 * p);
            }
        }
    }

    #[test]
    fn one_particle_with_all_the_weight_has_all_offspring() {
        for scheme in ALL {
            let mut rng = ChaCha8Rng::seed_from_u64(5);
            assert_eq!(offspring(scheme, &[0.0, 0.0, 3e-200, 0.0], 5, &mut rng), [0, 0, 5, 0]);
            assert_eq!(offspring(scheme, &[1.0; 4], 4, &mut rng).iter().sum::<u64>(), 4);
        }
    }
}
