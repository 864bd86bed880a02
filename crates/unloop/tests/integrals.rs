//! Evidence, moments and predictions where they are hard: small α, few dimensions, many dimensions, large counts.

mod support;

use support::{ids, posterior, set};
use unloop::carlson::ln_r;
use unloop::{Basis, Method, OptionId, Posterior, Prior, RError, Statistics};

/// Three choices around a cycle's edges: {0,1} → 0, {1,2} → 1, {0,2} → 0.
fn cycle(alpha: f64) -> Posterior {
    posterior(&[alpha; 3], &[(&[0, 1], &[1.0, 0.0]), (&[1, 2], &[1.0, 0.0]), (&[0, 2], &[1.0, 0.0])])
}

/// Values by a trapezoidal rule of its own, in logarithms throughout, and ln(1/6) in the limit: each order of three options that are
/// far apart is as likely.
#[test]
fn small_priors_keep_their_tails() {
    for (alpha, exact) in [(0.02, -1.792_355_16), (0.015, -1.792_102_8), (0.01, -1.791_915_9)] {
        let evidence = cycle(alpha).ln_evidence().unwrap();
        println!("α = {alpha}: {evidence:?}");
        assert!(evidence.method <= Method::Quadrature && (evidence.ln_value - exact).abs() < 1e-7);
    }
    // Far below, draws from the prior take over; the error must be honest.
    for alpha in [3e-3, 1e-4, 1e-6] {
        let evidence = cycle(alpha).ln_evidence().unwrap();
        println!("α = {alpha}: {evidence:?}");
        assert!(evidence.error < 0.05 && (evidence.ln_value - (1.0_f64 / 6.0).ln()).abs() < 5.0 * evidence.error + 5e-3);
        let prediction = cycle(alpha).predict(&set(&[0, 2])).unwrap();
        assert!((prediction.probabilities.iter().sum::<f64>() - 1.0).abs() < 1e-9 && prediction.error < 0.05);
    }
}

/// The value does not depend on how options are numbered.
#[test]
fn relabelling_moves_nothing() {
    let last = posterior(&[0.01; 3], &[(&[1, 2], &[0.0, 1.0]), (&[0, 1], &[0.0, 1.0]), (&[0, 2], &[0.0, 1.0])]);
    let (x, y) = (last.ln_evidence().unwrap(), cycle(0.01).ln_evidence().unwrap());
    assert!((x.ln_value - y.ln_value).abs() < 1e-8, "{x:?} {y:?}");
}

/// Four dimensions with α below 1 are still within the grid's reach.
#[test]
fn four_dimensions_below_one() {
    let rows: [(&[u32], &[f64]); 6] = [
        (&[0, 1], &[1.0, 0.0]),
        (&[1, 2], &[1.0, 0.0]),
        (&[2, 3], &[1.0, 0.0]),
        (&[3, 4], &[1.0, 0.0]),
        (&[0, 2, 4], &[1.0, 0.0, 0.0]),
        (&[1, 3], &[1.0, 0.0]),
    ];
    let evidence = posterior(&[0.6; 5], &rows).ln_evidence().unwrap();
    println!("{evidence:?}");
    assert_eq!(evidence.method, Method::Quadrature);
    assert!(evidence.error < 1e-8);
}

/// In many dimensions with few choices the weights are hopeless, and the error says so.
#[test]
fn hopeless_weights_claim_no_error() {
    use rand::{RngExt, SeedableRng};
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
    let mut statistics = Statistics::new(300);
    for _ in 0..600 {
        let (i, j) = (rng.random_range(0..300), rng.random_range(0..300));
        if i != j {
            statistics.record(ids(&[i, j]), OptionId::new(i), 1.0).unwrap();
        }
    }
    let posterior = Posterior::new(&Prior::default(), &statistics).unwrap();
    let evidence = posterior.ln_evidence_with(&unloop::IntegralSettings { draws: 2_000, ..Default::default() }).unwrap();
    assert_eq!((evidence.method, evidence.error), (Method::ImportanceSampling, f64::INFINITY));
}

/// K = 2, one option chosen n times: the evidence is 1/(n + 1), the variance that of Beta(n + 1, 1).
#[test]
fn closed_forms_know_their_rounding() {
    for n in [1e3, 1e6, 1e8, 1e10] {
        let posterior = posterior(&[1.0; 2], &[(&[0, 1], &[n, 0.0])]);
        let evidence = posterior.ln_evidence().unwrap();
        let off = (evidence.ln_value + (n + 1.0_f64).ln()).abs();
        println!("{n:e}: off by {off:e}, claimed {:e}", evidence.error);
        assert!(off <= evidence.error && evidence.error < 1e-13 * n);
        let exact = (n + 1.0) / ((n + 2.0).powi(2) * (n + 3.0));
        let moments = posterior.moments().unwrap();
        assert!((moments.variance[0] / exact - 1.0).abs() < 1e-9, "{} {exact}", moments.variance[0]);
    }
}

/// Choices from sets of one option say nothing, however many they are.
#[test]
fn single_options_say_nothing() {
    let mut statistics = Statistics::new(2);
    statistics.record(ids(&[0]), OptionId::new(0), 1e15).unwrap();
    statistics.record(ids(&[1]), OptionId::new(1), 1e4).unwrap();
    statistics.record(ids(&[0, 1]), OptionId::new(0), 7.0).unwrap();
    let noisy = Posterior::new(&Prior::symmetric(1e-3).unwrap(), &statistics).unwrap();
    let plain = posterior(&[1e-3; 2], &[(&[0, 1], &[7.0, 0.0])]);
    assert_eq!(noisy.moments().unwrap(), plain.moments().unwrap());
    assert_eq!(noisy.map(Basis::Log).unwrap(), plain.map(Basis::Log).unwrap());
    assert_eq!(noisy.ln_evidence().unwrap(), plain.ln_evidence().unwrap());
    // R counts them, as its definition does: both ways to ask give the same.
    let mut statistics = Statistics::new(2);
    statistics.record(ids(&[0]), OptionId::new(0), 3.0).unwrap();
    statistics.record(ids(&[0, 1]), OptionId::new(1), 2.0).unwrap();
    let posterior = Posterior::new(&Prior::default(), &statistics).unwrap();
    let direct = ln_r(&[4.0, 3.0], &[(set(&[0]), 3.0), (set(&[0, 1]), 4.0)]).unwrap();
    assert!((posterior.ln_r().unwrap().ln_value - direct.ln_value).abs() < 1e-13);
}

/// Fractions that cancel leave rounding, which is no accusation; forgetting for ever is no error.
#[test]
fn rounding_of_counts_is_forgiven() {
    let (a, b) = (OptionId::new(0), OptionId::new(1));
    let mut statistics = Statistics::new(4);
    statistics.record([a, b], a, 0.1).unwrap();
    statistics.record([a, b], b, 0.2).unwrap();
    statistics.withdraw([a, b], b, 0.2).unwrap();
    statistics.withdraw([a, b], a, 0.1).unwrap();
    let posterior = Posterior::new(&Prior::default(), &statistics).unwrap();
    assert!((posterior.moments().unwrap().mean[0] - 0.25).abs() < 1e-12);
    let mut fading = Statistics::new(4);
    fading.record([a, b], a, 1.0).unwrap();
    for _ in 0..8_000 {
        fading.scale(0.9).unwrap();
        fading.record(ids(&[2, 3]), OptionId::new(2), 1.0).unwrap();
    }
    assert!(!fading.is_explored(a));
    assert!(Posterior::new(&Prior::default(), &fading).is_ok());
}

#[test]
fn bad_parameters_of_r_are_named() {
    let all = |members: &[u32], b| (set(members), b);
    assert_eq!(ln_r(&[], &[]), Err(RError::NoOptions));
    assert!(matches!(ln_r(&[1.0, 0.0], &[]), Err(RError::A { .. })));
    assert!(matches!(ln_r(&[1.0, 1.0], &[all(&[0, 1], -1.0)]), Err(RError::B { column: 0, .. })));
    assert!(matches!(ln_r(&[1.0], &[all(&[3], 0.5)]), Err(RError::UnknownOption { .. })));
    assert!(matches!(ln_r(&[1.0, 1.0, 1.0], &[all(&[0], 1.0)]), Err(RError::Divergent { .. })));
    assert!(matches!(ln_r(&[1.0, 1.0, 1.0], &[all(&[0, 1], 1.5), all(&[1, 2], 2.0)]), Err(RError::Unbalanced { .. })));
    let tiny = [all(&[0], 0.9e-13), all(&[0], 0.9e-13), all(&[0], 0.9e-13)];
    assert!(matches!(ln_r(&[2e-13, 1.0], &tiny), Err(RError::Divergent { .. })));
    for a in [[1e-14, 1.0], [1e8, 1.0]] {
        assert!(ln_r(&a, &[]).unwrap().ln_value.abs() < 1e-6);
    }
    // A prior that choices could not move is refused, not rounded away.
    assert!(Prior::symmetric(1e12).is_err() && Prior::per_option([1.0, 1e300]).is_err());
}
