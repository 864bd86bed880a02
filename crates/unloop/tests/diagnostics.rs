//! Diagnostics against ArviZ on stored chains (`data/diagnostics.py` makes them).

use serde_json::Value;
use unloop::diagnostics::{Diagnostics, DiagnosticsError, autocorrelation_time};

const TOLERANCE: f64 = 1e-9;

#[test]
fn diagnostics_agree_with_arviz() {
    let cases: Vec<Value> = serde_json::from_str(include_str!("data/diagnostics.json")).unwrap();
    assert_eq!(cases.len(), 8);
    for case in &cases {
        let numbers = |value: &Value| value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect::<Vec<_>>();
        let chains: Vec<Vec<f64>> = case["chains"].as_array().unwrap().iter().map(numbers).collect();
        let found = Diagnostics::of(&chains).unwrap();
        for (name, value) in
            [("r_hat", found.r_hat), ("bulk_ess", found.bulk_ess), ("tail_ess", found.tail_ess), ("mcse", found.mcse)]
        {
            let Some(expected) = case[name].as_f64() else {
                assert_eq!((name, chains.len()), ("r_hat", 1));
                continue;
            };
            println!("{}: {name} {value}, ArviZ {expected}", case["name"]);
            assert!((value / expected - 1.0).abs() < TOLERANCE);
        }
    }
}

#[test]
fn bad_chains_are_named() {
    let none: [Vec<f64>; 0] = [];
    assert_eq!(Diagnostics::of(&none), Err(DiagnosticsError::NoChains));
    assert_eq!(Diagnostics::of(&[vec![1.0, 2.0, 3.0]]), Err(DiagnosticsError::TooShort { length: 3 }));
    let uneven = Diagnostics::of(&[vec![0.0; 9], vec![0.0; 8]]);
    assert_eq!(uneven, Err(DiagnosticsError::Uneven { chain: 1, found: 8, expected: 9 }));
    let nan = Diagnostics::of(&[vec![0.0, 1.0, f64::NAN, 2.0]]);
    assert!(matches!(nan, Err(DiagnosticsError::NotFinite { chain: 0, draw: 2, .. })));
    // Constant chains agree with each other or do not, without a NaN.
    let same = Diagnostics::of(&[vec![1.0; 10], vec![1.0; 10]]).unwrap();
    assert_eq!((same.r_hat, same.bulk_ess, same.mcse), (1.0, 20.0, 0.0));
    assert_eq!(Diagnostics::of(&[vec![1.0; 10], vec![2.0; 10]]).unwrap().r_hat, f64::INFINITY);
}

#[test]
fn autocorrelation_time_of_an_autoregression() {
    use rand::SeedableRng;
    use rand_distr::{Distribution, StandardNormal};
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(9);
    let mut x = 0.0;
    let chain: Vec<f64> = (0..200_000)
        .map(|_| {
            let noise: f64 = StandardNormal.sample(&mut rng);
            x = 0.8 * x + 0.6 * noise;
            x
        })
        .collect();
    // (1 + ρ)/(1 − ρ) = 9; the estimate's own error is some 3 % here.
    let time = autocorrelation_time(&chain).unwrap();
    assert!((time - 9.0).abs() < 0.9, "{time}");
}
