//! Sequential Monte Carlo: evidence, calibration, means, options that come in, wide steps, pinned particles.

mod support;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use support::{beta_cdf, choose, distance, ids, random_set, set, statistics};
use testkit::calibration::Ranks;
use testkit::ks;
use testkit::reference::posterior_cases;
use unloop::sampler::{
    Balancing, GibbsSweep, LANES, MetropolisSweep, MoveKernel, Moves, Resampling, SamplerError, Smc, SmcSettings, Target,
};
use unloop::{OptionId, Posterior, Prior, Statistics};

/// False-alarm level of each test of a distribution.
const LEVEL: f64 = 1e-4;

const ROTATING: MetropolisSweep = MetropolisSweep { balancing: Balancing::Rotating };
const PRINTED: MetropolisSweep = MetropolisSweep { balancing: Balancing::Last };

fn settings(particles: usize, seed: u64) -> SmcSettings {
    SmcSettings { particles, seed, ..SmcSettings::default() }
}

/// The paper's way with fewer particles.
fn printed(particles: usize, seed: u64) -> SmcSettings {
    SmcSettings { particles, seed, ..SmcSettings::paper() }
}

/// Choices one by one, in turns over the rows (members, times each was chosen), within a row in proportion.
fn record_rows(smc: &mut Smc, rows: &[(Vec<u32>, Vec<f64>)]) {
    let mut left: Vec<Vec<f64>> = rows.iter().map(|(_, chosen)| chosen.clone()).collect();
    while left.iter().flatten().any(|&count| count > 0.0) {
        for ((members, chosen), left) in rows.iter().zip(&mut left) {
            let part = |&i: &usize| left[i] / chosen[i].max(1e-9);
            let most = (0..left.len()).max_by(|i, j| part(i).total_cmp(&part(j)));
            if let Some(k) = most.filter(|&k| left[k] > 0.0) {
                let weight = left[k].min(1.0);
                left[k] -= weight;
                smc.record(&set(members).choose(OptionId::new(members[k])).unwrap(), weight).unwrap();
            }
        }
    }
}

/// Over 100 seeds the exact evidence lies within twice the stated error as often as it says: 95.4 of 100 on average; fewer than 86
/// happen with probability 1.3·10⁻⁴.
///
/// Broken on purpose: with half the error 63 to 76 of 100 lie within; with every stage's mean weight counted again at each choice, none.
#[test]
fn evidence_and_its_error_on_the_references() {
    const SEEDS: u64 = 100;
    const WITHIN: usize = 86;
    let Some(cases) = posterior_cases() else { return };
    let mut bad = 0;
    for case in &cases {
        let rows = case.rows();
        let prior = Prior::per_option(&case.alpha[..]).unwrap();
        let ways: [(&str, &dyn Fn(u64) -> Smc); 4] = [
            ("multinomial, Gibbs", &|seed| {
                let settings = SmcSettings { resampling: Resampling::Multinomial, ..settings(1_000, seed) };
                Smc::new(&prior, case.alpha.len(), settings).unwrap()
            }),
            ("systematic, Gibbs", &|seed| Smc::new(&prior, case.alpha.len(), settings(1_000, seed)).unwrap()),
            ("multinomial, rotating Metropolis", &|seed| {
                Smc::with_kernel(&prior, case.alpha.len(), printed(1_000, seed), ROTATING).unwrap()
            }),
            ("waste-free, Gibbs", &|seed| {
                let settings = SmcSettings { chain: 5, resampling: Resampling::Multinomial, ..settings(1_000, seed) };
                Smc::new(&prior, case.alpha.len(), settings).unwrap()
            }),
        ];
        for (name, make) in ways {
            let found: Vec<(f64, f64)> = (0..SEEDS)
                .map(|seed| {
                    let mut smc = make(seed);
                    record_rows(&mut smc, &rows);
                    let evidence = smc.ln_evidence().unwrap();
                    (evidence.ln_value - case.log_evidence, evidence.error)
                })
                .collect();
            let within = found.iter().filter(|(off, error)| off.abs() <= 2.0 * error).count();
            let off: f64 = found.iter().map(|(off, _)| off / SEEDS as f64).sum();
            let spread = (found.iter().map(|(x, _)| x * x / SEEDS as f64).sum::<f64>()).sqrt();
            let error = found.iter().map(|(_, error)| error / SEEDS as f64).sum::<f64>();
            println!("{} {name}: {within} of 100 within, off by {off:.4}, spread {spread:.4}, stated {error:.4}", case.name);
            bad += usize::from(within < WITHIN);
        }
    }
    assert_eq!(bad, 0, "cases with too few within");
}

/// Simulation-based calibration of the whole: θ from the prior, choices given θ, rank of the truth among 19 draws.
///
/// Broken on purpose, chi-square against 50.8: no moves 65, weights kept after resampling 1 125, particles that start from Gamma(1) where
/// α is smaller 120, a target with 0.8 of the choices 85.
#[test]
fn ranks_of_the_truth_are_uniform() {
    const REPLICATES: u64 = 1_000;
    let prior = Prior::per_option([0.5, 1.0, 2.0, 1.0]).unwrap();
    let makes: [(&str, &dyn Fn(u64) -> Smc); 4] = [
        ("Gibbs", &|seed| Smc::new(&prior, 4, settings(500, seed)).unwrap()),
        ("as printed", &|seed| Smc::with_kernel(&prior, 4, printed(500, seed), PRINTED).unwrap()),
        ("rotating", &|seed| Smc::with_kernel(&prior, 4, settings(500, seed), ROTATING).unwrap()),
        ("waste-free", &|seed| {
            let settings = SmcSettings { chain: 4, resampling: Resampling::Residual, ..settings(500, seed) };
            Smc::new(&prior, 4, settings).unwrap()
        }),
    ];
    for (name, make) in makes {
        let mut ranks = [(); 2].map(|()| Ranks::new(19));
        for seed in 0..REPLICATES {
            let mut rng = ChaCha8Rng::seed_from_u64(10_000 + seed);
            let truth = Posterior::new(&prior, &Statistics::new(4)).unwrap().tree().unwrap().sample(&mut rng);
            let mut smc = make(seed);
            for _ in 0..40 {
                let members = random_set(4, 2, &mut rng);
                smc.record(&choose(&truth, &members, &mut rng), 1.0).unwrap();
            }
            let draws: Vec<Vec<f64>> = (0..19).map(|_| smc.theta()).collect();
            ranks[0].record(truth[0], draws.iter().map(|theta| theta[0]));
            ranks[1].record(truth[2] / truth[3], draws.iter().map(|theta| theta[2] / theta[3]));
        }
        for (ranks, what) in ranks.iter().zip(["θ_0", "θ_2/θ_3"]) {
            ranks.verdict(LEVEL).assert_passes(&format!("{name} {what}"));
        }
    }
}

/// How often particles are resampled: with the printed (Σw)²/Σw in place of (Σw)²/Σw² it happened 213 times instead of 35.
#[test]
fn particles_are_resampled_when_half_are_left() {
    let mut smc = Smc::new(&Prior::default(), 10, settings(1_000, 3)).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let theta: Vec<f64> = (1..=10).map(f64::from).collect();
    let mut resampled = 0;
    for _ in 0..500 {
        let step = smc.record(&choose(&theta, &random_set(10, 3, &mut rng), &mut rng), 1.0).unwrap();
        assert_eq!(step.moved.is_some(), step.ess < 500.0, "{step:?}");
        assert!(step.ln_increment.is_some_and(|x| x < 0.0));
        if let Some(moved) = step.moved {
            assert_eq!((moved.resampled, moved.moves, moved.acceptance, moved.correlation), (1, 1, 1.0, None));
            assert!((smc.ess() - 1_000.0).abs() < 1e-9);
            resampled += 1;
        }
    }
    println!("resampled {resampled} times");
    assert!((20..=45).contains(&resampled));
}

/// Means and evidence when options come in while particles run, against the exact posterior of all choices.
#[test]
fn options_that_come_in_late_are_exact() {
    const SEEDS: u32 = 60;
    let rows: [(&[u32], u32); 9] = [
        (&[0, 1], 0),
        (&[0, 1], 1),
        (&[0, 2], 0),
        (&[1, 3], 3),
        (&[2, 3], 2),
        (&[3, 4], 3),
        (&[0, 4], 4),
        (&[1, 4], 4),
        (&[4, 5], 5),
    ];
    let alpha = [0.5, 1.0, 2.0, 1.0, 0.7, 0.05, 1.3];
    let mut counts = Statistics::new(7);
    for (members, chosen) in rows {
        counts.record(ids(members), OptionId::new(chosen), 1.0).unwrap();
    }
    let exact = Posterior::new(&Prior::per_option(alpha).unwrap(), &counts).unwrap();
    let (moments, evidence) = (exact.moments().unwrap(), exact.ln_evidence().unwrap());
    for carry_all in [false, true] {
        let mut mean = [0.0; 7];
        let mut squares = [0.0; 7];
        let mut z = 0.0;
        for seed in 0..SEEDS {
            let settings = SmcSettings { carry_all, ..settings(500, u64::from(seed)) };
            let mut smc = Smc::new(&Prior::per_option(&alpha[..2]).unwrap(), 2, settings).unwrap();
            for (members, chosen) in rows {
                while smc.option_count() <= members[1] as usize {
                    smc.add_option(alpha[smc.option_count()]).unwrap();
                }
                smc.record(&set(members).choose(OptionId::new(chosen)).unwrap(), 1.0).unwrap();
            }
            smc.add_option(alpha[6]).unwrap();
            for (k, value) in smc.mean().into_iter().enumerate() {
                mean[k] += value / f64::from(SEEDS);
                squares[k] += value * value / f64::from(SEEDS);
            }
            let found = smc.ln_evidence().unwrap();
            z += (found.ln_value - evidence.ln_value) / found.error / f64::from(SEEDS);
        }
        println!("carry all {carry_all}: evidence off by {z:.2} standard errors on average");
        assert!(z.abs() < 4.0 / f64::from(SEEDS).sqrt() + 0.1);
        for k in 0..7 {
            let error = ((squares[k] - mean[k] * mean[k]).max(0.0) / f64::from(SEEDS)).sqrt();
            println!("option {k}: {:.5} against {:.5} ± {error:.5}", mean[k], moments.mean[k]);
            assert!((mean[k] - moments.mean[k]).abs() <= 4.0 * error + 1e-12 + moments.error);
        }
        // Never shown: its prior to the last digit, unless it is carried.
        if !carry_all {
            assert!((mean[6] - 1.3 / alpha.iter().sum::<f64>()).abs() < 1e-15);
        }
    }
}

/// One choice of a large weight is taken in parts, and the evidence is still right.
#[test]
fn a_choice_of_a_large_weight_is_taken_in_parts() {
    let counts = statistics(3, &[(&[0, 1], &[300.0, 200.0]), (&[1, 2], &[5.0, 5.0])]);
    let exact = Posterior::new(&Prior::default(), &counts).unwrap().ln_evidence().unwrap();
    let mut z = Vec::new();
    for seed in 0..40 {
        let mut smc = Smc::new(&Prior::default(), 3, settings(1_000, seed)).unwrap();
        let mut resampled = 0;
        for (members, chosen, weight) in [([0, 1], 0, 300.0), ([0, 1], 1, 200.0), ([1, 2], 1, 5.0), ([1, 2], 2, 5.0)] {
            let step = smc.record(&set(&members).choose(OptionId::new(chosen)).unwrap(), weight).unwrap();
            resampled += step.moved.map_or(0, |moved| moved.resampled);
        }
        assert!(resampled > 3);
        let found = smc.ln_evidence().unwrap();
        z.push((found.ln_value - exact.ln_value) / found.error);
    }
    let within = z.iter().filter(|z| z.abs() <= 2.0).count();
    println!("{within} of 40 within twice the error");
    // Fewer than 31 of 40: 10⁻⁵.
    assert!(within >= 31, "{z:?}");
}

/// Until the shares have lost their memory of where they came from.
#[test]
fn the_number_of_moves_adapts() {
    let run = |kernel: MetropolisSweep, watched: Option<OptionId>, correlation: f64| {
        let moves = Moves::Adaptive { correlation, most: 200, watched };
        let settings = SmcSettings { moves, ..settings(1_000, 5) };
        let mut smc = Smc::with_kernel(&Prior::default(), 6, settings, kernel).unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let theta = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let mut total = 0;
        for _ in 0..100 {
            let step = smc.record(&choose(&theta, &random_set(6, 3, &mut rng), &mut rng), 1.0).unwrap();
            if let Some(moved) = step.moved {
                let found = moved.correlation.unwrap();
                assert!(found <= correlation || moved.moves == 200, "{moved:?}");
                assert!(moved.acceptance > 0.0 && moved.acceptance < 1.0);
                total += moved.moves;
            }
        }
        total
    };
    let [all, one, loose] =
        [(None, 0.2), (Some(OptionId::new(5)), 0.2), (None, 0.8)].map(|(watched, c)| run(ROTATING, watched, c));
    println!("moves: {all} for every option, {one} for one, {loose} with a correlation of 0.8");
    assert!(all >= one && all > loose && loose > 0);
}

/// After counts went down the particles are those of the lower counts, and there is no evidence any more.
#[test]
fn counts_that_go_down_widen_the_particles() {
    let counts = statistics(4, &[(&[0, 1, 2], &[3.0, 1.0, 0.0]), (&[1, 2], &[2.0, 2.0])]);
    let exact = Posterior::new(&Prior::symmetric(0.8).unwrap(), &counts).unwrap().moments().unwrap();
    let mut means = vec![Vec::new(); 4];
    for seed in 0..40 {
        let mut smc = Smc::new(&Prior::symmetric(0.8).unwrap(), 4, settings(500, seed)).unwrap();
        let extra = set(&[0, 3]).choose(OptionId::new(3)).unwrap();
        smc.record(&extra, 5.0).unwrap();
        record_rows(&mut smc, &[(vec![0, 1, 2], vec![6.0, 2.0, 0.0]), (vec![1, 2], vec![4.0, 4.0])]);
        smc.withdraw(&extra, 5.0).unwrap();
        assert_eq!(smc.explored(), ids(&[0, 1, 2]));
        smc.scale(0.5).unwrap();
        assert!(smc.ln_evidence().is_none());
        for (means, value) in means.iter_mut().zip(smc.mean()) {
            means.push(value);
        }
        let step = smc.record(&extra, 1.0).unwrap();
        assert!(step.ln_increment.is_none());
        smc.scale(0.0).unwrap();
        assert!(smc.explored().is_empty() && distance(&smc.mean(), &[0.25; 4]) < 1e-15);
    }
    for k in 0..4 {
        let mean = means[k].iter().sum::<f64>() / 40.0;
        let error = (means[k].iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 40.0 / 39.0).sqrt();
        println!("option {k}: {mean:.5} against {:.5} ± {error:.5}", exact.mean[k]);
        assert!((mean - exact.mean[k]).abs() < 4.0 * error + 1e-12);
    }
}

/// Particles of a general prior start from it, nested or not.
#[test]
fn general_priors_are_where_particles_start() {
    let nested = [(set(&[0, 1]), 1.2), (set(&[0, 1, 2, 3]), 2.8)];
    let crossing = [(set(&[0, 1]), 0.8), (set(&[1, 2]), 0.9), (set(&[0, 1, 2, 3]), 2.3)];
    for beta in [&nested[..], &crossing[..]] {
        let prior = Prior::general([1.0; 4], beta.iter().cloned()).unwrap();
        let counts = statistics(4, &[(&[1, 3], &[2.0, 1.0])]);
        let exact = Posterior::new(&prior, &counts).unwrap();
        let (moments, evidence) = (exact.moments().unwrap(), exact.ln_evidence().unwrap());
        let mut means = vec![Vec::new(); 4];
        let mut z = Vec::new();
        for seed in 0..40 {
            let mut smc = Smc::new(&prior, 4, settings(500, seed)).unwrap();
            record_rows(&mut smc, &[(vec![1, 3], vec![2.0, 1.0])]);
            for (means, value) in means.iter_mut().zip(smc.mean()) {
                means.push(value);
            }
            let found = smc.ln_evidence().unwrap();
            z.push((found.ln_value - evidence.ln_value) / found.error);
        }
        assert!(z.iter().filter(|z| z.abs() <= 2.0).count() >= 31, "{z:?}");
        for k in 0..4 {
            let mean = means[k].iter().sum::<f64>() / 40.0;
            let error = (means[k].iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 40.0 / 39.0).sqrt();
            println!("option {k}: {mean:.5} against {:.5} ± {error:.5}", moments.mean[k]);
            assert!((mean - moments.mean[k]).abs() < 4.0 * error + 1e-9);
        }
    }
}

/// Options never shown keep their prior in every particle's draw, carried or not; the best three have one law.
#[test]
fn lazy_particles_have_the_law_of_carrying_all() {
    let mut tops = [const { Vec::new() }; 2];
    for (carry_all, tops) in [false, true].into_iter().zip(&mut tops) {
        let mut never = Vec::new();
        for seed in 0..4_000 {
            let settings = SmcSettings { carry_all, ..settings(40, seed) };
            let mut smc = Smc::new(&Prior::default(), 25, settings).unwrap();
            for (members, chosen) in [([0, 1], 0), ([1, 2], 1), ([0, 2], 0)] {
                smc.record(&set(&members).choose(OptionId::new(chosen)).unwrap(), 1.0).unwrap();
            }
            never.push(smc.theta()[20]);
            tops.push(smc.top(3).iter().filter(|option| option.index() < 3).count() as f64 + smc.theta()[0]);
        }
        ks::one_sample(&never, |x| beta_cdf(1.0, 24.0, x), LEVEL).assert_passes(&format!("never shown, carry all {carry_all}"));
    }
    ks::two_sample(&tops[0], &tops[1], LEVEL).assert_passes("explored among the best three, and θ_0");
}

/// A kernel of one's own: here two Gibbs sweeps in a row.
struct Twice;

impl MoveKernel for Twice {
    fn advance(&self, target: &Target, eta: &mut [[f64; LANES]], rng: &mut ChaCha8Rng) -> f64 {
        assert_eq!(target.option_count(), eta.len());
        let total: f64 = target.exponents().iter().sum();
        let weights: f64 = target.columns().map(|(_, b)| b).sum();
        assert!((total - weights - target.whole()).abs() <= 1e-9 * total);
        // The density and its gradient agree along the first option.
        let point: Vec<f64> = eta.iter().map(|values| values[0].max(-50.0)).collect();
        let mut moved = point.clone();
        moved[0] += 1e-6;
        let difference = (target.ln_density(&moved).unwrap() - target.ln_density(&point).unwrap()) / 1e-6;
        assert!((difference - target.gradient(&point).unwrap()[0]).abs() <= 1e-3 * total);
        assert!(target.ln_density(&point[1..]).is_none() && target.gradient(&[]).is_none());
        GibbsSweep.advance(target, eta, rng);
        GibbsSweep.advance(target, eta, rng)
    }
}

#[test]
fn extremes_stay_finite_and_ordered() {
    for alpha in [1e-3, 0.1, 1.0, 1e6] {
        let prior = Prior::symmetric(alpha).unwrap();
        for smc in [Smc::with_kernel(&prior, 6, settings(100, 1), Twice), Smc::with_kernel(&prior, 6, settings(100, 1), ROTATING)]
        {
            let mut smc = smc.unwrap();
            let alone = smc.record(&set(&[5]).choose(OptionId::new(5)).unwrap(), 3.0).unwrap();
            assert_eq!((alone.ln_increment, alone.moved), (Some(0.0), None));
            for weight in [1.0, 1e6, 1e-9] {
                // 0 always chosen, 3 never.
                for (members, chosen) in [(&[0, 1][..], 0), (&[1, 2, 3], 1), (&[2, 3], 2), (&[0, 3], 0)] {
                    let step = smc.record(&set(members).choose(OptionId::new(chosen)).unwrap(), weight).unwrap();
                    assert!(step.ess >= 1.0 && step.ln_increment.is_some_and(f64::is_finite), "{step:?}");
                    assert_eq!(smc.top(6).len(), 6);
                }
            }
            let mean = smc.mean();
            assert!(mean.iter().all(|x| x.is_finite() && *x >= 0.0), "{mean:?}");
            assert!((mean.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            assert!(mean[0] > mean[3], "{mean:?}");
        }
    }
}

#[test]
fn bad_settings_and_choices_are_named() {
    let prior = Prior::default();
    for (settings, what) in [
        (SmcSettings { particles: 0, ..SmcSettings::default() }, "particles"),
        (SmcSettings { threshold: f64::NAN, ..SmcSettings::default() }, "threshold"),
        (SmcSettings { chain: 0, ..SmcSettings::default() }, "chain"),
        (
            SmcSettings { moves: Moves::Adaptive { correlation: 0.0, most: 3, watched: None }, ..SmcSettings::default() },
            "correlation",
        ),
    ] {
        let error = Smc::new(&prior, 3, settings).unwrap_err();
        assert!(matches!(error, SamplerError::Setting { what: found, .. } if found == what), "{error}");
    }
    assert!(Smc::new(&prior, 0, SmcSettings::default()).is_err());
    let mut smc = Smc::new(&prior, 3, settings(101, 1)).unwrap();
    assert_eq!(smc.particle_count(), 104);
    let before = smc.mean();
    assert!(smc.record(&set(&[0, 7]).choose(OptionId::new(0)).unwrap(), 1.0).is_err());
    assert!(smc.record(&set(&[0, 1]).choose(OptionId::new(0)).unwrap(), f64::INFINITY).is_err());
    assert!(smc.withdraw(&set(&[0, 1]).choose(OptionId::new(0)).unwrap(), 1.0).is_err());
    assert!(smc.add_option(-1.0).is_err() && smc.scale(-1.0).is_err());
    assert_eq!(before, smc.mean());
}

/// Weights beyond all measure: right where parts reach, else drawn anew without evidence; never without end.
#[test]
fn huge_weights_and_strict_thresholds_come_to_an_end() {
    let first = set(&[0, 1]).choose(OptionId::new(0)).unwrap();
    let second = set(&[0, 1]).choose(OptionId::new(1)).unwrap();
    for weight in [1e6_f64, 1e9, 1e12] {
        let mut smc = Smc::new(&Prior::default(), 3, settings(1_000, 1)).unwrap();
        let step = smc.record(&first, weight).unwrap();
        // Among the two: ∫ θ^w = 1/(1 + w).
        let exact = -weight.ln_1p();
        let evidence = smc.ln_evidence().unwrap();
        println!("{weight:e}: {:?} against {exact}, {:?}", step.ln_increment, step.moved);
        assert!((evidence.ln_value - exact).abs() < 5.0 * evidence.error);
    }
    for weight in [1e12, 1e17, 1e20, f64::MAX / 4.0] {
        let mut smc = Smc::new(&Prior::default(), 3, settings(100, 1)).unwrap();
        smc.record(&first, weight).unwrap();
        let step = smc.record(&second, weight).unwrap();
        assert!(step.ln_increment.is_none() && smc.ln_evidence().is_none());
        let mean = smc.mean();
        println!("{weight:e}: {mean:?}");
        assert!((mean[0] / mean[1] - 1.0).abs() < 0.2, "{mean:?}");
    }
    let strict = SmcSettings { threshold: 1.0, ..settings(100, 2) };
    let mut smc = Smc::new(&Prior::default(), 2, strict).unwrap();
    let step = smc.record(&first, 100.0).unwrap();
    assert!(step.moved.is_some_and(|moved| moved.resampled < 100));
}

/// Two pairs never shown together: the mass of one keeps the law of the prior.
#[test]
fn masses_of_unlinked_options_keep_their_law() {
    let mut masses = Vec::new();
    for seed in 0..400 {
        let mut smc = Smc::new(&Prior::default(), 4, settings(20, seed)).unwrap();
        for round in 0..200 {
            let choice = if round % 2 == 0 { set(&[0, 1]) } else { set(&[2, 3]) };
            smc.record(&choice.choose(choice.members()[round / 2 % 2]).unwrap(), 1.0).unwrap();
        }
        let theta = smc.theta();
        masses.push(theta[0] + theta[1]);
    }
    ks::one_sample(&masses, |x| beta_cdf(2.0, 2.0, x), LEVEL).assert_passes("mass of the first pair");
}

/// The same on any number of threads; and pinned: a change of these values is draw-breaking and belongs in the CHANGELOG.
#[test]
fn particles_are_pinned_and_the_same_on_any_number_of_threads() {
    let run = |paper: bool| {
        let prior = Prior::default();
        let mut smc = if paper {
            Smc::with_kernel(&prior, 5, printed(200, 42), PRINTED).unwrap()
        } else {
            Smc::new(&prior, 5, settings(200, 42)).unwrap()
        };
        for round in 0..40 {
            let shown = set(&[round % 3, 3]);
            smc.record(&shown.choose(shown.members()[usize::from(round % 2 == 0)]).unwrap(), 1.0).unwrap();
        }
        smc.mean()
    };
    for (paper, pinned) in [(false, PINNED[0]), (true, PINNED[1])] {
        let mean = run(paper);
        println!("{mean:?}");
        assert!(distance(&mean, &pinned) < 1e-9, "{mean:?}");
        #[cfg(feature = "parallel")]
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            assert_eq!(pool.install(|| run(paper)), mean);
        }
    }
}

const PINNED: [[f64; 5]; 2] = [
    [0.210_661_134_589_092_05, 0.224_960_014_713_945_67, 0.170_888_841_977_924_45, 0.193_490_008_719_037_88, 0.2],
    [
        0.197_771_430_479_072_34,
        0.240_065_914_536_888_1,
        0.175_564_263_537_818_54,
        0.189_008_957_639_443_48,
        0.197_589_433_806_777_51,
    ],
];
