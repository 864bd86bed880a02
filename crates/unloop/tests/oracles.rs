//! Every case of the reference values, made by quadrature independent of this project.

mod support;

use support::{distance, set, statistics};
use testkit::reference::{PosteriorCase, posterior_cases};
use unloop::{Basis, Method, Posterior, Prior};

/// Where the method is exact or quadrature.
const INTEGRAL_TOLERANCE: f64 = 1e-8;
/// Value, gradient and Hessian in the log basis.
const DENSITY_TOLERANCE: f64 = 1e-10;
const MAP_TOLERANCE: f64 = 1e-9;

fn posterior(case: &PosteriorCase) -> Posterior {
    let rows: Vec<(Vec<u32>, Vec<f64>)> =
        case.presentations.iter().map(|row| (row.options.iter().map(|&k| k as u32).collect(), row.chosen.clone())).collect();
    let rows: Vec<(&[u32], &[f64])> = rows.iter().map(|(members, chosen)| (&members[..], &chosen[..])).collect();
    let prior = Prior::per_option(case.alpha.clone()).expect("reference priors are valid");
    Posterior::new(&prior, &statistics(case.alpha.len(), &rows)).expect("reference data are valid")
}

fn for_each_case(check: impl Fn(&PosteriorCase, &Posterior)) {
    let Some(cases) = posterior_cases() else { return };
    assert!(!cases.is_empty());
    for case in &cases {
        println!("{}", case.name);
        check(case, &posterior(case));
    }
}

#[test]
fn evidence_and_r_match() {
    for_each_case(|case, posterior| {
        let evidence = posterior.ln_evidence().unwrap();
        let r = posterior.ln_r().unwrap();
        println!(
            "  evidence {evidence:?}, off by {:e}; R off by {:e}",
            evidence.ln_value - case.log_evidence,
            r.ln_value - case.log_r
        );
        assert!(evidence.method < Method::ImportanceSampling);
        assert!(distance(&[evidence.ln_value, r.ln_value], &[case.log_evidence, case.log_r]) < INTEGRAL_TOLERANCE);
        assert!((evidence.ln_value - case.log_evidence).abs() < evidence.error + case.accuracy + 1e-12 * case.log_evidence.abs());
    });
}

#[test]
fn means_and_variances_match() {
    for_each_case(|case, posterior| {
        let moments = posterior.moments().unwrap();
        assert!(moments.method < Method::ImportanceSampling);
        assert!(distance(&moments.mean, &case.posterior_mean) < INTEGRAL_TOLERANCE);
        assert!(distance(&moments.variance, &case.posterior_variance) < INTEGRAL_TOLERANCE);
    });
}

#[test]
fn predictive_matches() {
    for_each_case(|case, posterior| {
        for row in &case.predictive {
            let members: Vec<u32> = row.options.iter().map(|&k| k as u32).collect();
            let prediction = posterior.predict(&set(&members)).unwrap();
            assert!(prediction.method < Method::ImportanceSampling);
            assert!(distance(&prediction.probabilities, &row.probability) < INTEGRAL_TOLERANCE, "{members:?} {prediction:?}");
        }
    });
}

#[test]
fn log_basis_density_matches() {
    for_each_case(|case, posterior| {
        let reference = &case.log_basis;
        let value = posterior.ln_density(Basis::Log, &reference.eta).unwrap();
        assert!((value - reference.value).abs() < DENSITY_TOLERANCE);
        let gradient = posterior.gradient(Basis::Log, &reference.eta).unwrap();
        assert!(distance(&gradient, &reference.gradient) < DENSITY_TOLERANCE);
        let hessian = posterior.hessian(Basis::Log, &reference.eta).unwrap();
        for (i, row) in reference.hessian.iter().enumerate() {
            assert!(distance(hessian.row(i).unwrap(), row) < DENSITY_TOLERANCE);
            let mut unit = vec![0.0; row.len()];
            unit[i] = 1.0;
            let product = posterior.hessian_product(Basis::Log, &reference.eta, &unit).unwrap();
            assert!(distance(&product, row) < DENSITY_TOLERANCE);
        }
    });
}

#[test]
fn log_basis_map_matches() {
    for_each_case(|case, posterior| {
        let map = posterior.map(Basis::Log).unwrap();
        println!("  {} passes, gradient {:e}", map.iterations, map.gradient_norm);
        assert!(map.converged && distance(&map.theta, &case.log_basis_map) < MAP_TOLERANCE);
    });
}
