//! The statistical ladder for draws: reference values, joint distribution, slow modes, lazy options, extremes, pinned draws.

mod support;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use support::{distance, ids, posterior, statistics};
use testkit::reference::posterior_cases;
use testkit::{chi_square, ks};
use unloop::diagnostics::{Diagnostics, autocorrelation_time};
use unloop::sampler::{Sample, SampleError, SampleMethod, SampleSettings};
use unloop::{OptionId, Posterior, Prior, Statistics};

/// False-alarm level of each test of a distribution.
const LEVEL: f64 = 1e-4;
/// Means may be off by this many standard errors: 6·10⁻⁵ for one, and there are some 80 of them with fixed seeds.
const STANDARD_ERRORS: f64 = 4.0;

const KERNELS: [SampleMethod; 2] = [SampleMethod::Hamiltonian, SampleMethod::Gibbs];

fn sample(posterior: &Posterior, method: Option<SampleMethod>, draws: usize, seed: u64) -> Sample {
    posterior.sample(&SampleSettings { draws, seed, method, ..SampleSettings::default() }).unwrap()
}

/// Chains of a function of θ.
fn chains(sample: &Sample, f: impl Fn(&[f64]) -> f64) -> Vec<Vec<f64>> {
    let values: Vec<f64> = (0..sample.draws.len()).map(|i| f(&sample.draws.theta(i).unwrap())).collect();
    values.chunks_exact(sample.draws.draws()).map(<[f64]>::to_vec).collect()
}

/// Broken on purpose, each fails here: a_k + 0.3 in Gibbs, 0.9·b in the slack of a group, half the weight of all options in the
/// Hamiltonian's value.
#[test]
fn reference_means_and_variances() {
    let Some(cases) = posterior_cases() else { return };
    for case in &cases {
        let rows = case.rows();
        let rows: Vec<(&[u32], &[f64])> = rows.iter().map(|(members, chosen)| (&members[..], &chosen[..])).collect();
        let posterior = posterior(&case.alpha, &rows);
        for method in KERNELS.map(Some).into_iter().chain([None]) {
            let sample = sample(&posterior, method, 5_000, 1);
            assert!(sample.report.is_good(), "{}: {:?}", case.name, sample.report);
            for k in 0..case.alpha.len() {
                let mean = Diagnostics::of(&chains(&sample, |theta| theta[k])).unwrap();
                let centre = case.posterior_mean[k];
                let square = Diagnostics::of(&chains(&sample, |theta| (theta[k] - centre).powi(2))).unwrap();
                let off = [(mean.mean - centre) / mean.mcse, (square.mean - case.posterior_variance[k]) / square.mcse];
                println!("{} {method:?} option {k}: off by {off:.2?} standard errors", case.name);
                assert!(off.iter().all(|off| off.abs() < STANDARD_ERRORS));
            }
        }
    }
}

/// Many choices: draws come from around the mode by themselves, and are those of the posterior, in means, spreads and tails.
///
/// Broken on purpose, each fails here: the ground of the factor left in the square of a draw, the Student-t's scale left out of it.
#[test]
fn draws_around_the_mode_are_right_where_choices_are_many() {
    let counts = statistics(
        5,
        &[
            (&[0, 1, 2], &[90.0, 60.0, 30.0]),
            (&[1, 2, 3], &[70.0, 40.0, 90.0]),
            (&[3, 4], &[80.0, 120.0]),
            (&[0, 4], &[100.0, 20.0]),
        ],
    );
    let posterior = Posterior::new(&Prior::symmetric(0.7).unwrap(), &counts).unwrap();
    let found = sample(&posterior, None, 10_000, 3);
    assert_eq!(found.report.methods, [SampleMethod::Laplace]);
    assert!(found.report.importance_ess.is_some_and(|ess| ess > 20_000.0), "{:?}", found.report);
    let exact = posterior.moments().unwrap();
    assert_eq!(exact.method, unloop::Method::Quadrature);
    let other = sample(&posterior, Some(SampleMethod::Gibbs), 25_000, 4);
    for k in 0..5 {
        let mean = Diagnostics::of(&chains(&found, |theta| theta[k])).unwrap();
        let square = Diagnostics::of(&chains(&found, |theta| (theta[k] - exact.mean[k]).powi(2))).unwrap();
        let off = [(mean.mean - exact.mean[k]) / mean.mcse, (square.mean - exact.variance[k]) / square.mcse];
        println!("option {k}: off by {off:.2?} standard errors");
        assert!(off.iter().all(|off| off.abs() < STANDARD_ERRORS));
        // Every tenth sweep is nearly independent; resampled draws may be copies, so that only one in four is taken.
        let own: Vec<f64> = chains(&found, |theta| theta[k]).concat().into_iter().step_by(4).collect();
        let theirs: Vec<f64> = chains(&other, |theta| theta[k]).concat().into_iter().step_by(10).collect();
        ks::two_sample(&own, &theirs, LEVEL).assert_passes(&format!("option {k}"));
    }
}

/// The paper's kernel as chains: to compare with, hence right where it moves.
#[test]
fn metropolis_chains_have_the_means_of_the_posterior() {
    let posterior = posterior(&[1.0, 2.0, 1.0, 1.5], &[(&[0, 1], &[4.0, 2.0]), (&[1, 2, 3], &[1.0, 3.0, 2.0])]);
    let found = sample(&posterior, Some(SampleMethod::Metropolis), 20_000, 5);
    assert_eq!(found.report.methods, [SampleMethod::Metropolis]);
    let exact = posterior.moments().unwrap();
    for k in 0..4 {
        let mean = Diagnostics::of(&chains(&found, |theta| theta[k])).unwrap();
        let off = (mean.mean - exact.mean[k]) / mean.mcse;
        println!("option {k}: off by {off:.2} standard errors");
        assert!(off.abs() < STANDARD_ERRORS);
    }
}

/// Simulation-based calibration: θ from the prior, choices given θ, rank of the truth among 19 draws far apart; 1 000 replicates.
///
/// Broken on purpose: 1.5·a in the Hamiltonian's value gave chi-square 4 646 against 50.8. Smaller slips (a_k + 0.3 in Gibbs, half the
/// weight of all options in that value) pass here and fail above, where means are known.
#[test]
fn ranks_of_the_truth_are_uniform() {
    const REPLICATES: u64 = 1_000;
    for method in KERNELS {
        let mut ranks = [(); 2].map(|()| testkit::calibration::Ranks::new(19));
        for seed in 0..REPLICATES {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let prior = Prior::per_option([0.5, 1.0, 2.0, 1.0]).unwrap();
            let truth = Posterior::new(&prior, &Statistics::new(4)).unwrap().tree().unwrap().sample(&mut rng);
            let mut statistics = Statistics::new(4);
            for round in 0..30_u32 {
                let set = [&[0, 1][..], &[1, 2, 3], &[0, 2], &[2, 3]][round as usize % 4];
                let total: f64 = set.iter().map(|&k| truth[k as usize]).sum();
                let mut u = rng.random::<f64>() * total;
                let chosen = set.iter().copied().find(|&k| {
                    u -= truth[k as usize];
                    u < 0.0
                });
                statistics.record(ids(set), OptionId::new(chosen.unwrap_or(set[0])), 1.0).unwrap();
            }
            let posterior = Posterior::new(&prior, &statistics).unwrap();
            // 19 draws far enough apart to be independent.
            let settings = SampleSettings { draws: 19 * 12, chains: 1, seed, method: Some(method), visits: None };
            let sample = posterior.sample(&settings).unwrap();
            let draws: Vec<Vec<f64>> = (0..19).map(|i| sample.draws.theta(i * 12 + 11).unwrap()).collect();
            ranks[0].record(truth[0], draws.iter().map(|theta| theta[0]));
            ranks[1].record(truth[2] / truth[3], draws.iter().map(|theta| theta[2] / theta[3]));
        }
        for (ranks, what) in ranks.iter().zip(["θ_0", "θ_2/θ_3"]) {
            ranks.verdict(LEVEL).assert_passes(&format!("{method:?} {what}"));
        }
    }
}

/// Two groups of five, 10 000 comparisons inside and 2 between. Without the group step Gibbs took 320 to 680 sweeps in chains of
/// 4 000, which are too short to see the thousands it needs.
#[test]
fn groups_hardly_linked_mix_at_once() {
    const LONGEST: f64 = 3.0;
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let mut statistics = Statistics::new(10);
    for group in [0, 5] {
        for _ in 0..5_000 {
            let i = rng.random_range(0..5);
            let j = (i + rng.random_range(1..5)) % 5;
            let chosen = if rng.random::<bool>() { i } else { j };
            statistics.record(ids(&[group + i, group + j]), OptionId::new(group + chosen), 1.0).unwrap();
        }
    }
    for chosen in [0, 5] {
        statistics.record(ids(&[0, 5]), OptionId::new(chosen), 1.0).unwrap();
    }
    let posterior = Posterior::new(&Prior::default(), &statistics).unwrap();
    for method in KERNELS {
        let sample = sample(&posterior, Some(method), 4_000, 3);
        let contrast = chains(&sample, |theta| (theta[..5].iter().sum::<f64>() / theta[5..].iter().sum::<f64>()).ln());
        let times: Vec<f64> = contrast.iter().map(|chain| autocorrelation_time(chain).unwrap()).collect();
        println!("{method:?}: autocorrelation times {times:.2?}");
        assert!(times.iter().all(|&time| time <= LONGEST), "{times:?}");
    }
}

/// A catalog of 2 000 with 100 explored options: how many explored ones are among the best ten, lazily and in full, and which place the
/// first of them has. Without the largest of the lazy draws the chi-square is 4 971 against 44.
#[test]
fn the_best_ten_of_a_large_catalog_have_the_law_of_carrying_all() {
    let mut rng = ChaCha8Rng::seed_from_u64(13);
    let mut statistics = Statistics::new(2_000);
    for i in 0..300 {
        let members = support::random_set(100, 3, &mut rng);
        // Low numbers win: a few explored options are very good.
        statistics.record(ids(&members), OptionId::new(members[usize::from(i % 5 == 0)]), 1.0).unwrap();
    }
    let posterior = Posterior::new(&Prior::symmetric(0.8).unwrap(), &statistics).unwrap();
    let lazy = sample(&posterior, None, 2_000, 14);
    let full = sample(&posterior, None, 2_000, 15);
    let cell = |top: &[OptionId]| {
        let first = top.iter().position(|k| k.index() < 100).unwrap_or(10);
        let count = top.iter().filter(|k| k.index() < 100).count();
        3 * count.min(5) + first.min(2)
    };
    let mut counts = [[0_u64; 18]; 2];
    for i in 0..lazy.draws.len() {
        counts[0][cell(&lazy.draws.top(i, 10).unwrap())] += 1;
        let theta = full.draws.theta(i).unwrap();
        let mut order: Vec<u32> = (0..2_000).collect();
        order.select_nth_unstable_by(9, |&i, &j| theta[j as usize].total_cmp(&theta[i as usize]));
        order.truncate(10);
        order.sort_by(|&i, &j| theta[j as usize].total_cmp(&theta[i as usize]));
        counts[1][cell(&ids(&order))] += 1;
    }
    two_samples_agree(&counts[0], &counts[1]);
}

/// Two samples of the same size: Σ (n₁ − n₂)²/(n₁ + n₂) is chi-square with a degree less than cells that occur.
fn two_samples_agree(first: &[u64], second: &[u64]) {
    let cells = first.iter().zip(second).filter(|(x, y)| **x + **y > 0);
    let statistic: f64 = cells.clone().map(|(&x, &y)| (x as f64 - y as f64).powi(2) / (x + y) as f64).sum();
    let critical = chi_square::critical(cells.count() - 1, LEVEL);
    println!("{first:?} {second:?}: chi-square {statistic:.1}, critical {critical:.1}");
    assert!(statistic < critical);
}

/// Options never shown, drawn lazily: the law of the best three is that of drawing everything.
#[test]
fn lazy_options_have_the_law_of_carrying_all() {
    let mut statistics = Statistics::new(40);
    statistics.record(ids(&[0, 1]), OptionId::new(0), 4.0).unwrap();
    statistics.record(ids(&[1, 2]), OptionId::new(1), 3.0).unwrap();
    let posterior = Posterior::new(&Prior::default(), &statistics).unwrap();
    let lazy = sample(&posterior, None, 5_000, 4);
    let full = sample(&posterior, None, 5_000, 5);
    // Which of the explored options are among the best three: 8 cells.
    let cell = |top: &[OptionId]| top.iter().filter(|k| k.index() < 3).map(|k| 1 << k.index()).sum::<usize>();
    let mut counts = [[0_u64; 8]; 2];
    for i in 0..lazy.draws.len() {
        counts[0][cell(&lazy.draws.top(i, 3).unwrap())] += 1;
        let theta = full.draws.theta(i).unwrap();
        let mut order: Vec<u32> = (0..40).collect();
        order.sort_by(|&i, &j| theta[j as usize].total_cmp(&theta[i as usize]));
        counts[1][cell(&ids(&order[..3]))] += 1;
    }
    two_samples_agree(&counts[0], &counts[1]);
    // Never-shown options share the rest alike.
    let mut seen = vec![0_u64; 37];
    for i in 0..lazy.draws.len() {
        for option in lazy.draws.top(i, 3).unwrap().into_iter().filter(|k| k.index() >= 3) {
            seen[option.index() - 3] += 1;
        }
    }
    chi_square::counts(&seen, &[1.0 / 37.0; 37], LEVEL).assert_passes("never-shown options alike");
    // Lemma 3: a never-shown option keeps Beta(1, 39).
    let draws: Vec<f64> = (0..full.draws.len()).map(|i| full.draws.theta(i).unwrap()[20]).collect();
    ks::one_sample(&draws, |x| 1.0 - (1.0 - x).powi(39), LEVEL).assert_passes("never shown");
}

#[test]
fn extremes_stay_finite_and_ordered() {
    // Counts of 10⁹, always chosen and never chosen.
    let huge = posterior(&[1.0; 3], &[(&[0, 1], &[1e9, 0.0]), (&[1, 2], &[6e8, 4e8]), (&[0, 2], &[5e8, 5e8])]);
    for method in KERNELS {
        let sample = sample(&huge, Some(method), 500, 6);
        assert!((0..sample.draws.len()).all(|i| sample.draws.theta(i).unwrap().iter().all(|x| x.is_finite() && *x > 0.0)));
        let ratio = Diagnostics::of(&chains(&sample, |theta| theta[2] / theta[0])).unwrap();
        println!("{method:?}: {ratio:?}");
        assert!(ratio.mean.is_finite());
    }
    // α of 10⁻³: most of the mass on one option, the rest below the smallest number, still in order.
    let tiny = posterior(&[1e-3; 4], &[(&[0, 1], &[1.0, 0.0]), (&[1, 2], &[1.0, 0.0]), (&[2, 3], &[1.0, 0.0])]);
    let sample_tiny = sample(&tiny, Some(SampleMethod::Gibbs), 500, 7);
    for i in 0..sample_tiny.draws.len() {
        let row = sample_tiny.draws.ln_lambda(i).unwrap();
        assert!(row.iter().all(|x| x.is_finite()));
        let top = sample_tiny.draws.top(i, 4).unwrap();
        assert!(top.windows(2).all(|pair| row[pair[0].index()] >= row[pair[1].index()]));
    }
    // α of 10⁶: the prior hardly moves.
    let firm = posterior(&[1e6; 3], &[(&[0, 1], &[5.0, 0.0]), (&[1, 2], &[5.0, 0.0])]);
    for method in KERNELS {
        let sample = sample(&firm, Some(method), 500, 8);
        let mean = Diagnostics::of(&chains(&sample, |theta| theta[0])).unwrap().mean;
        assert!((mean - 1.0 / 3.0).abs() < 1e-4, "{mean}");
    }
    // A presentation of one option says nothing.
    let alone = statistics(2, &[(&[0], &[5.0])]);
    let alone = Posterior::new(&Prior::default(), &alone).unwrap();
    let sample = sample(&alone, None, 1_000, 9);
    let draws: Vec<f64> = (0..sample.draws.len()).map(|i| sample.draws.theta(i).unwrap()[0]).collect();
    ks::one_sample(&draws, |x| x, LEVEL).assert_passes("uniform on the pair");
}

/// Where trajectories are more than the caller allows, draws come from around the mode and say what they are worth.
#[test]
fn draws_around_the_mode_are_weighed_and_say_so() {
    let rows: [(&[u32], &[f64]); 3] = [(&[0, 1], &[12.0, 9.0]), (&[1, 2], &[8.0, 11.0]), (&[0, 2, 3], &[7.0, 9.0, 6.0])];
    let posterior = posterior(&[1.0; 5], &rows);
    let exact = posterior.moments().unwrap();
    let free = posterior.sample(&SampleSettings::default()).unwrap().report;
    assert_eq!((free.methods, free.importance_ess), (vec![SampleMethod::Hamiltonian], None));
    let settings = SampleSettings { visits: Some(1e3), draws: 5_000, seed: 3, ..SampleSettings::default() };
    let sample = posterior.sample(&settings).unwrap();
    let ess = sample.report.importance_ess.unwrap();
    println!("{:?}", sample.report);
    assert_eq!(sample.report.methods, [SampleMethod::Laplace]);
    assert!(ess < 20_000.0 && sample.report.bulk_ess <= ess && sample.report.tail_ess <= ess && sample.report.is_good());
    for k in 0..5 {
        let values: Vec<f64> = (0..sample.draws.len()).map(|i| sample.draws.theta(i).unwrap()[k]).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let error = (exact.variance[k] / ess).sqrt();
        println!("option {k}: {mean:.5} against {:.5} ± {error:.5}", exact.mean[k]);
        assert!((mean - exact.mean[k]).abs() < STANDARD_ERRORS * error);
        let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / values.len() as f64;
        assert!((variance / exact.variance[k] - 1.0).abs() < 0.1, "option {k}: {variance} against {}", exact.variance[k]);
    }
    // Many options and few choices: hopeless, and said to be.
    let mut statistics = Statistics::new(200);
    for k in 0..199 {
        statistics.record(ids(&[k, k + 1]), OptionId::new(k), 1.0).unwrap();
        statistics.record(ids(&[k, (k + 7) % 200]), OptionId::new(k), 1.0).unwrap();
    }
    let hopeless = Posterior::new(&Prior::symmetric(0.3).unwrap(), &statistics).unwrap().sample(&settings).unwrap();
    println!("{:?}", hopeless.report);
    assert!(hopeless.report.importance_ess.is_some_and(|ess| ess < 400.0) && !hopeless.report.is_good());
}

/// Few options with many choices are drawn by trajectories, very many options by sweeps.
#[test]
fn the_cheaper_way_is_taken() {
    for (options, choices, expected) in [(50, 500, SampleMethod::Hamiltonian), (1_500, 3_000, SampleMethod::Gibbs)] {
        let mut rng = ChaCha8Rng::seed_from_u64(12);
        let mut statistics = Statistics::new(options as usize);
        for i in 0..choices {
            let members = support::random_set(options, 3, &mut rng);
            statistics.record(ids(&members), OptionId::new(members[i % 3]), 1.0).unwrap();
        }
        let posterior = Posterior::new(&Prior::default(), &statistics).unwrap();
        let sample = sample(&posterior, None, 10, 1);
        assert!(sample.report.methods.contains(&expected), "{:?}", sample.report.methods);
    }
}

#[test]
fn bad_settings_are_named() {
    let crossing = posterior(&[1.0; 3], &[(&[0, 1], &[1.0, 0.0]), (&[1, 2], &[1.0, 0.0])]);
    let settings = SampleSettings { draws: 0, ..SampleSettings::default() };
    assert_eq!(crossing.sample(&settings).unwrap_err(), SampleError::Nothing { chains: 4, draws: 0 });
    let settings = SampleSettings { method: Some(SampleMethod::Tree), ..SampleSettings::default() };
    assert_eq!(crossing.sample(&settings).unwrap_err(), SampleError::NotLaminar);
    let sample = sample(&crossing, None, 10, 0);
    assert!(sample.draws.theta(40).is_none() && sample.draws.top(40, 1).is_none() && sample.draws.ln_lambda(40).is_none());
    assert_eq!(sample.draws.top(0, 99).unwrap().len(), 3);
    assert!(sample.draws.top(0, 0).unwrap().is_empty());
    assert!(!sample.report.is_good(), "forty draws are too few");
}

/// The same on any number of threads; and pinned: a change of these values is draw-breaking and belongs in the CHANGELOG.
#[test]
fn draws_are_pinned_and_the_same_on_any_number_of_threads() {
    let crossing = posterior(&[1.0; 4], &[(&[0, 1], &[2.0, 1.0]), (&[1, 2], &[1.0, 3.0])]);
    for (method, pinned) in KERNELS.into_iter().zip(PINNED) {
        let draw = || sample(&crossing, Some(method), 20, 42);
        let first = draw().draws.theta(33).unwrap();
        println!("{method:?} {first:?}");
        assert!(distance(&first, &pinned) < 1e-9, "{method:?} {first:?}");
        #[cfg(feature = "parallel")]
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let other = pool.install(draw);
            assert!((0..80).all(|i| other.draws.ln_lambda(i) == draw().draws.ln_lambda(i)));
        }
    }
}

const PINNED: [[f64; 4]; 2] = [
    [0.649_409_237_943_595_4, 0.050_987_471_763_789_47, 0.232_087_782_657_639_24, 0.067_515_507_634_975_91],
    [0.561_629_083_868_488_9, 0.221_477_822_407_777_7, 0.149_377_586_088_757_4, 0.067_515_507_634_975_91],
];
