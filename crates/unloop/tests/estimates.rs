//! Maxima where they are hard: badly connected data, tiny priors, no maximum at all.

mod support;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use support::{distance, ids, posterior, statistics};
use unloop::{Basis, MapError, MapSettings, OptionId, Posterior, PosteriorError, Prior, Statistics};

fn named(indices: &[u32]) -> Vec<OptionId> {
    ids(indices)
}

/// Neighbours on a path meet `wins` times: the ratio of neighbours' strengths is the ratio of their wins, in closed form.
fn path(option_count: usize, seed: u64) -> (Statistics, Vec<f64>) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut statistics = Statistics::new(option_count);
    let mut eta = vec![0.0];
    for k in 1..option_count as u32 {
        let (down, up): (u32, u32) = (rng.random_range(1..2_000), rng.random_range(1..2_000));
        let pair = [OptionId::new(k - 1), OptionId::new(k)];
        statistics.record(pair, pair[0], f64::from(down)).unwrap();
        statistics.record(pair, pair[1], f64::from(up)).unwrap();
        eta.push(eta[k as usize - 1] + (f64::from(up) / f64::from(down)).ln());
    }
    let high = eta.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let total: f64 = eta.iter().map(|x| (x - high).exp()).sum();
    (statistics, eta.iter().map(|x| (x - high).exp() / total).collect())
}

/// A path is as badly connected as data get: first-order iterations need millions of passes. Sizes on both sides of the switch
/// from dense to sparse assembly of the curvature.
#[test]
fn a_long_path_is_solved_exactly() {
    const L1: f64 = 1e-8;
    for option_count in [3, 50, 200, 1_000, 3_000] {
        let (statistics, expected) = path(option_count, 7);
        let posterior = Posterior::new(&Prior::symmetric(1.0).unwrap(), &statistics).unwrap();
        let map = posterior.map(Basis::Simplex).unwrap();
        let error: f64 = map.theta.iter().zip(&expected).map(|(x, y)| (x - y).abs()).sum();
        println!("path of {option_count}: {} passes, gradient {:e}, L1 {error:e}", map.iterations, map.gradient_norm);
        assert!(error < L1 && map.iterations < 100);
        // From the solution, slightly off, it takes a few steps.
        let start = map.theta.iter().map(|x| x * 1.01).collect();
        let warm = posterior.map_with(Basis::Simplex, &MapSettings { start: Some(start), ..MapSettings::default() }).unwrap();
        assert!(warm.iterations <= 3 && distance(&warm.theta, &map.theta) < 1e-10);
    }
}

/// Two groups with many comparisons inside and two between them.
#[test]
fn two_groups_joined_by_two_comparisons() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let mut statistics = Statistics::new(400);
    for _ in 0..40_000 {
        let shift = if rng.random::<bool>() { 200 } else { 0 };
        let (i, j) = (rng.random_range(0..200), rng.random_range(0..200));
        if i != j {
            statistics.record(ids(&[shift + i, shift + j]), OptionId::new(shift + i), 1.0).unwrap();
        }
    }
    for winner in [0, 300] {
        statistics.record(ids(&[0, 300]), OptionId::new(winner), 1.0).unwrap();
    }
    for alpha in [1.0, 1.0001, 2.0] {
        let posterior = Posterior::new(&Prior::symmetric(alpha).unwrap(), &statistics).unwrap();
        let map = posterior.map(Basis::Simplex).unwrap();
        let gradient = simplex_gradient(&posterior, &map.theta);
        println!("α = {alpha}: {} passes, gradient {:e}, largest slope {gradient:e}", map.iterations, map.gradient_norm);
        assert!(gradient < 1e-6 && map.iterations < 100);
    }
}

/// Largest |θ_k (∂φ/∂θ_k − mean)|: zero at a maximum on the simplex.
fn simplex_gradient(posterior: &Posterior, theta: &[f64]) -> f64 {
    let gradient = posterior.gradient(Basis::Simplex, theta).unwrap();
    let scaled: Vec<f64> = gradient.iter().zip(theta).map(|(g, theta)| g * theta).collect();
    let total: f64 = scaled.iter().sum();
    scaled.iter().zip(theta).map(|(x, theta)| (x - total * theta).abs()).fold(0.0, f64::max)
}

/// Each option beat the next once and never lost to it: with α = 10⁻⁴ preferences fall by up to 10⁴ a step, to 10⁻²⁷⁹. At the
/// maximum the last m options share m·α: what they win of the one pair that reaches outside, and of all options.
#[test]
fn tiny_priors_on_a_chain_of_wins() {
    let mut statistics = Statistics::new(120);
    for k in 0..119 {
        statistics.record(ids(&[k, k + 1]), OptionId::new(k), 1.0).unwrap();
    }
    let posterior = Posterior::new(&Prior::symmetric(1e-4).unwrap(), &statistics).unwrap();
    let map = posterior.map(Basis::Log).unwrap();
    println!("{} passes, gradient {:e}, smallest {:e}", map.iterations, map.gradient_norm, map.theta[119]);
    let mut tail = 0.0;
    for k in (1..120).rev() {
        tail += map.theta[k];
        let share = map.theta[k] / (map.theta[k] + map.theta[k - 1]) + 120.0 * 1e-4 * tail;
        let expected = (120 - k) as f64 * 1e-4;
        assert!((share / expected - 1.0).abs() < 1e-9, "{k}: {share} {expected}");
    }
    assert!(map.iterations < 200);
}

#[test]
fn laminar_maxima_are_products_of_shares() {
    let posterior = posterior(
        &[0.7, 1.3, 2.0, 0.5, 1.0, 4.0],
        &[(&[0, 1], &[4.0, 3.0]), (&[0, 1, 2], &[1.0, 2.0, 5.0]), (&[3, 4], &[0.0, 2.5])],
    );
    let tree = posterior.tree().unwrap();
    let map = posterior.map(Basis::Log).unwrap();
    assert!(distance(&map.theta, &tree.mean()) < 1e-12);
}

#[test]
fn maxima_on_the_simplex_may_be_missing_and_the_error_says_why() {
    let flat = |rows: &[(&[u32], &[f64])], k: usize| posterior(&vec![1.0; k], rows).map(Basis::Simplex);
    // Shown and never chosen.
    let error = flat(&[(&[0, 1], &[3.0, 2.0]), (&[1, 2], &[2.0, 0.0])], 3).unwrap_err();
    assert_eq!(error, MapError::AtZero { options: named(&[2]) });
    assert!(error.to_string().contains("options {#2} were never chosen"), "{error}");
    // Chosen, but only over each other: {2, 3} never beat {0, 1}.
    let rows: [(&[u32], &[f64]); 3] = [(&[0, 1], &[3.0, 2.0]), (&[2, 3], &[2.0, 1.0]), (&[1, 2], &[4.0, 0.0])];
    assert_eq!(flat(&rows, 4).unwrap_err(), MapError::AtZero { options: named(&[2, 3]) });
    // Never compared.
    let rows: [(&[u32], &[f64]); 2] = [(&[0, 1], &[3.0, 2.0]), (&[2, 3], &[2.0, 1.0])];
    let groups = vec![named(&[0, 1]), named(&[2, 3]), named(&[4])];
    assert_eq!(flat(&rows, 5).unwrap_err(), MapError::Undetermined { groups });
    // α + y < 1.
    let rows: [(&[u32], &[f64]); 1] = [(&[0, 1, 2], &[3.0, 0.25, 1.0])];
    let unbounded = posterior(&[1.0, 0.5, 1.0], &rows).map(Basis::Simplex).unwrap_err();
    assert_eq!(unbounded, MapError::Unbounded { options: named(&[1]) });
    // A never-shown option with α < 1.
    let rows: [(&[u32], &[f64]); 1] = [(&[0, 1], &[3.0, 2.0])];
    let unbounded = posterior(&[1.0, 1.0, 0.5], &rows).map(Basis::Simplex).unwrap_err();
    assert_eq!(unbounded, MapError::Unbounded { options: named(&[2]) });
    // α = 1 for some, above for others: what has no weight of its own belongs at zero.
    let at_zero = posterior(&[1.0, 1.0, 2.0], &rows).map(Basis::Simplex).unwrap_err();
    assert_eq!(at_zero, MapError::AtZero { options: named(&[0, 1]) });
    // All of them have a mode in the log basis.
    assert!(posterior(&[1.0, 1.0, 0.5], &rows).map(Basis::Log).is_ok());
}

/// α < 1 with enough choices: the density is bounded on the simplex, not concave in η, and has a maximum all the same.
#[test]
fn small_priors_with_many_choices_have_a_maximum_on_the_simplex() {
    let rows: [(&[u32], &[f64]); 3] = [(&[0, 1], &[30.0, 20.0]), (&[1, 2], &[25.0, 15.0]), (&[0, 2], &[20.0, 18.0])];
    let posterior = posterior(&[0.5; 3], &rows);
    let map = posterior.map(Basis::Simplex).unwrap();
    assert!(simplex_gradient(&posterior, &map.theta) < 1e-6);
    let value = |theta: &[f64]| posterior.ln_density(Basis::Simplex, theta).unwrap();
    let (a, b, c) = (map.theta[0], map.theta[1], map.theta[2]);
    for step in [1e-3, -1e-3] {
        assert!(value(&map.theta) > value(&[a + step, b - step, c]) && value(&map.theta) > value(&[a, b + step, c - step]));
    }
}

#[test]
fn one_option_is_trivial() {
    let mut statistics = Statistics::new(1);
    statistics.record(ids(&[0]), OptionId::new(0), 5.0).unwrap();
    let posterior = Posterior::new(&Prior::symmetric(2.0).unwrap(), &statistics).unwrap();
    assert_eq!(posterior.map(Basis::Log).unwrap().theta, [1.0]);
    assert_eq!(posterior.map(Basis::Simplex).unwrap().theta, [1.0]);
    assert_eq!(posterior.ln_evidence().unwrap().ln_value, 0.0);
    let moments = posterior.moments().unwrap();
    assert_eq!((moments.mean, moments.variance), (vec![1.0], vec![0.0]));
    assert_eq!(posterior.laplace().unwrap().ln_evidence, 0.0);
    assert_eq!(posterior.ln_density(Basis::Simplex, &[1.0]).unwrap(), 0.0);
}

#[test]
fn bad_points_and_settings_are_named() {
    let posterior = posterior(&[1.0; 3], &[(&[0, 1], &[3.0, 2.0])]);
    let option = |k| OptionId::new(k);
    assert_eq!(posterior.ln_density(Basis::Log, &[0.0, 1.0]), Err(PosteriorError::Dimension { found: 2, expected: 3 }));
    assert!(matches!(
        posterior.gradient(Basis::Log, &[0.0, f64::NAN, 0.0]),
        Err(PosteriorError::Coordinate { option: k, .. }) if k == option(1)
    ));
    assert!(matches!(posterior.hessian(Basis::Simplex, &[0.5, 0.5, 0.0]), Err(PosteriorError::Coordinate { .. })));
    assert_eq!(posterior.ln_density(Basis::Simplex, &[0.5, 0.5, 0.5]), Err(PosteriorError::OffSimplex { sum: 1.5 }));
    let start = |start: Vec<f64>| MapSettings { start: Some(start), ..MapSettings::default() };
    assert!(matches!(posterior.map_with(Basis::Log, &start(vec![1.0])), Err(MapError::Start(PosteriorError::Dimension { .. }))));
    assert!(matches!(
        posterior.map_with(Basis::Log, &start(vec![1.0, 0.0, 1.0])),
        Err(MapError::Start(PosteriorError::Coordinate { .. }))
    ));
    let settings = MapSettings { tolerance: f64::NAN, ..MapSettings::default() };
    assert!(matches!(posterior.map_with(Basis::Log, &settings), Err(MapError::Tolerance { .. })));
    // Too few passes: an error with the best point inside.
    let settings = MapSettings { max_iterations: 1, ..MapSettings::default() };
    let (statistics, _) = path(40, 1);
    let path = Posterior::new(&Prior::symmetric(1.0).unwrap(), &statistics).unwrap();
    let Err(MapError::NotConverged { best }) = path.map_with(Basis::Simplex, &settings) else { panic!("converged") };
    assert!(!best.converged && best.theta.len() == 40 && best.gradient_norm.is_finite());
    // No options at all, or another number of them than the prior's.
    assert!(Posterior::new(&Prior::default(), &Statistics::new(0)).is_err());
    assert!(Posterior::new(&Prior::per_option([1.0, 1.0]).unwrap(), &Statistics::new(3)).is_err());
    // A choice withdrawn that had not been recorded: {0, 1} keeps a presentation that nobody answered.
    let mut broken = statistics_of_two_pairs();
    broken.withdraw(ids(&[0, 2]), option(0), 1.0).unwrap();
    assert!(matches!(Posterior::new(&Prior::default(), &broken), Err(PosteriorError::Unbalanced { .. })));
}

fn statistics_of_two_pairs() -> Statistics {
    statistics(3, &[(&[0, 1], &[1.0, 0.0]), (&[0, 2], &[0.0, 1.0])])
}

/// The same to the bit on one thread and on several.
#[cfg(feature = "parallel")]
#[test]
fn threads_do_not_change_a_bit() {
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    let mut statistics = Statistics::new(500);
    for _ in 0..120_000 {
        let mut members: Vec<u32> = Vec::new();
        while members.len() < 5 {
            let k = rng.random_range(0..500);
            if !members.contains(&k) {
                members.push(k);
            }
        }
        statistics.record(ids(&members), OptionId::new(members[0]), 1.0).unwrap();
    }
    let posterior = Posterior::new(&Prior::symmetric(1.5).unwrap(), &statistics).unwrap();
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| posterior.map(Basis::Log).unwrap())
    };
    let one = on(1);
    assert!(one.converged);
    for threads in [2, 3, 8] {
        assert_eq!(on(threads), one);
    }
}

/// Two groups whose members beat each other often, linked by one pair that only one side ever won. Gradient and Newton step vanish in
/// rounding long before the losing group is at 0, and conjugate gradients never feel the link; still there is no maximum.
#[test]
fn a_one_way_bridge_has_no_maximum() {
    for (half, times) in [(2, 10.0), (3, 1.0), (10, 1.0), (65, 100.0), (80, 1.0), (150, 1e4)] {
        let mut statistics = two_groups(half, times);
        statistics.record(ids(&[0, half]), OptionId::new(half), 1.0).unwrap();
        let posterior = Posterior::new(&Prior::default(), &statistics).unwrap();
        let losers: Vec<u32> = (0..half).collect();
        assert_eq!(posterior.map(Basis::Simplex).unwrap_err(), MapError::AtZero { options: ids(&losers) }, "{half} {times}");
    }
}

/// The same with a bridge won 3 and 5 times: the ratio across it is 3/5 exactly.
#[test]
fn a_two_way_bridge_is_crossed_exactly() {
    for times in [1.0, 100.0, 1e4] {
        let mut statistics = two_groups(150, times);
        statistics.record(ids(&[0, 150]), OptionId::new(0), 3.0).unwrap();
        statistics.record(ids(&[0, 150]), OptionId::new(150), 5.0).unwrap();
        let map = Posterior::new(&Prior::default(), &statistics).unwrap().map(Basis::Simplex).unwrap();
        let ratio = map.theta[0] / map.theta[150];
        println!("{times}: {ratio}");
        assert!((ratio - 0.6).abs() < 1e-8, "{ratio}");
    }
}

/// Inside each of two groups every pair i < j meets, i wins `times` and j twice as often.
fn two_groups(half: u32, times: f64) -> Statistics {
    let mut statistics = Statistics::new(2 * half as usize);
    for shift in [0, half] {
        for i in 0..half {
            for j in 0..i {
                statistics.record(ids(&[shift + i, shift + j]), OptionId::new(shift + j), times).unwrap();
                statistics.record(ids(&[shift + i, shift + j]), OptionId::new(shift + i), 2.0 * times).unwrap();
            }
        }
    }
    statistics
}

/// The density grows without bound along a group, though every single option has α + y > 1.
#[test]
fn unbounded_groups_are_named() {
    let posterior = posterior(&[0.5; 3], &[(&[0, 1], &[3.0, 3.0]), (&[1, 2], &[0.0, 5.0])]);
    assert_eq!(posterior.map(Basis::Simplex).unwrap_err(), MapError::Unbounded { options: ids(&[0, 1]) });
}

/// The mode in the log basis exists for every proper posterior: small α beside large counts, where groups hang by α alone. (At
/// α = 10⁻⁸ beside counts of 10⁴ the sum α + y keeps four digits of α, and some modes are not found.)
#[test]
fn log_basis_modes_are_found_for_small_priors_and_large_counts() {
    let mut rng = ChaCha8Rng::seed_from_u64(17);
    for alpha in [1e-1, 1e-3, 1e-4, 1e-6] {
        let mut failed = 0;
        for _ in 0..300 {
            let option_count = rng.random_range(2..=6_u32);
            let mut statistics = Statistics::new(option_count as usize);
            for _ in 0..rng.random_range(1..8) {
                let (i, j) = (rng.random_range(0..option_count), rng.random_range(0..option_count));
                if i != j {
                    let weight = f64::from(rng.random_range(1..10_000_u32));
                    statistics.record(ids(&[i, j]), OptionId::new(i), weight).unwrap();
                }
            }
            let posterior = Posterior::new(&Prior::symmetric(alpha).unwrap(), &statistics).unwrap();
            failed += u32::from(posterior.map(Basis::Log).is_err());
        }
        println!("α = {alpha}: {failed} of 300 not found");
        assert_eq!(failed, 0, "α = {alpha}");
    }
}

/// Starts that are nowhere near are forgotten.
#[test]
fn bad_starts_do_no_harm() {
    let (statistics, expected) = path(200, 5);
    let posterior = Posterior::new(&Prior::default(), &statistics).unwrap();
    let alternating: Vec<f64> = (0..200).map(|k| if k % 2 == 0 { 1e-300 } else { 1e300 }).collect();
    let mut tiny = vec![1.0; 200];
    tiny[0] = 5e-324;
    for start in [alternating, tiny] {
        let map = posterior.map_with(Basis::Simplex, &MapSettings { start: Some(start), ..MapSettings::default() }).unwrap();
        assert!(distance(&map.theta, &expected) < 1e-10);
    }
}
