//! Exact draws of laminar presentations, and what counts as laminar.

mod support;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use support::{distance, posterior, set};
use testkit::ks;
use unloop::Posterior;

/// False-alarm level of each test.
const LEVEL: f64 = 1e-4;
const DRAWS: usize = 40_000;

/// Distribution function of Beta(a, b).
fn beta(a: f64, b: f64) -> impl Fn(f64) -> f64 {
    use statrs::distribution::{Beta, ContinuousCDF};
    let beta = Beta::new(a, b).unwrap();
    move |x| beta.cdf(x.clamp(0.0, 1.0))
}

fn nested() -> Posterior {
    posterior(&[0.7, 1.3, 2.0, 0.5], &[(&[0, 1], &[4.0, 3.0]), (&[0, 1, 2], &[1.0, 2.0, 5.0])])
}

#[test]
fn draws_have_the_marginals_of_the_tree() {
    let tree = nested().tree().unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let draws: Vec<Vec<f64>> = (0..DRAWS).map(|_| tree.sample(&mut rng)).collect();
    let column = |f: &dyn Fn(&[f64]) -> f64| draws.iter().map(|theta| f(theta)).collect::<Vec<_>>();
    // Lemma 3: the option never shown keeps Beta(α, Σα − α).
    ks::one_sample(&column(&|t| t[3]), beta(0.5, 4.0), LEVEL).assert_passes("never shown");
    // Inside {0, 1}: Dirichlet(5.7, 6.3); {0, 1} inside {0, 1, 2}: 12 − 7 = 5 against 7.
    ks::one_sample(&column(&|t| t[0] / (t[0] + t[1])), beta(5.7, 6.3), LEVEL).assert_passes("inside the pair");
    ks::one_sample(&column(&|t| (t[0] + t[1]) / (t[0] + t[1] + t[2])), beta(5.0, 7.0), LEVEL).assert_passes("the pair");
    // A wrong law is noticed.
    ks::one_sample(&column(&|t| t[3]), beta(0.5, 12.0), LEVEL).assert_rejects("penalised");
    for theta in &draws {
        assert!((theta.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }
    let means: Vec<f64> = (0..4).map(|k| draws.iter().map(|theta| theta[k]).sum::<f64>() / DRAWS as f64).collect();
    let errors: Vec<f64> = tree.variance().iter().map(|v| (v / DRAWS as f64).sqrt()).collect();
    for k in 0..4 {
        assert!((means[k] - tree.mean()[k]).abs() < 4.5 * errors[k]);
    }
}

/// A change of these values is draw-breaking and belongs in the CHANGELOG.
#[test]
fn draws_are_pinned() {
    let tree = nested().tree().unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(42);
    let draw = tree.sample(&mut rng);
    println!("{draw:?}");
    assert!(distance(&draw, &PINNED) < 1e-12, "{draw:?}");
}

const PINNED: [f64; 4] = [0.171_399_415_354_747_2, 0.394_375_630_773_890_54, 0.369_637_836_007_435_05, 0.064_587_117_863_927_1];

#[test]
fn crossing_presentations_are_not_laminar() {
    let crossing = posterior(&[1.0; 3], &[(&[0, 1], &[1.0, 1.0]), (&[1, 2], &[1.0, 1.0])]);
    assert!(crossing.tree().is_none());
    let disjoint = posterior(&[1.0; 5], &[(&[0, 1], &[1.0, 1.0]), (&[2, 3], &[1.0, 1.0])]);
    assert!(disjoint.tree().is_some());
    let whole = posterior(&[1.0; 3], &[(&[0, 1, 2], &[1.0, 1.0, 5.0]), (&[0, 1], &[1.0, 1.0])]);
    assert!(whole.tree().is_some());
    // No choices at all: the prior.
    let prior = posterior(&[1.0, 2.0], &[]);
    assert!(distance(&prior.tree().unwrap().mean(), &[1.0 / 3.0, 2.0 / 3.0]) < 1e-15);
}

/// All presentations of every option: Dirichlet(α + y), with the evidence ∏ (α_k)_(y_k) / (Σα)_(T).
#[test]
fn presenting_everything_is_the_dirichlet_multinomial() {
    let posterior = posterior(&[0.5, 1.0, 2.0], &[(&[0, 1, 2], &[2.0, 0.0, 3.0])]);
    let tree = posterior.tree().unwrap();
    assert!(distance(&tree.mean(), &[2.5 / 8.5, 1.0 / 8.5, 5.0 / 8.5]) < 1e-15);
    let rising = |x: f64, n: u32| (0..n).map(|i| x + f64::from(i)).product::<f64>();
    let exact = rising(0.5, 2) * rising(2.0, 3) / rising(3.5, 5);
    assert!((posterior.ln_evidence().unwrap().ln_value - exact.ln()).abs() < 1e-13);
    let prediction = posterior.predict(&set(&[0, 2])).unwrap();
    assert!(distance(&prediction.probabilities, &[2.5 / 7.5, 5.0 / 7.5]) < 1e-15);
}
