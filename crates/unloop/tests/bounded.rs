//! The bounded chain: joint distribution, reference values, slow modes, withdrawals and forgetting, extremes, pinned draws.

mod support;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use statrs::distribution::{ContinuousCDF, Normal};
use support::{beta_cdf, choose, distance, ids, random_set, set, statistics};
use testkit::ks;
use testkit::reference::posterior_cases;
use unloop::diagnostics::{Diagnostics, autocorrelation_time};
use unloop::sampler::{BoundedGibbs, SamplerError};
use unloop::{Choice, OptionId, Posterior, Prior, Statistics, StatisticsError};

/// False-alarm level of each test of a distribution.
const LEVEL: f64 = 1e-4;
/// Means may be off by this many standard errors: 6·10⁻⁵ for one, and there are some 60 of them with fixed seeds.
const STANDARD_ERRORS: f64 = 4.0;

/// Joint distribution (Geweke) with short independent chains: θ from the prior, then again and again a choice given θ and moves given
/// the choices; some are withdrawn, an option comes in late. θ keeps the law of the prior throughout.
///
/// Broken on purpose, KS against 0.0157: z with its old shape on a choice 0.042, z left as it was 0.017 (where no steps follow), the factor
/// of a group step on z forgotten 0.018, a_k + 0.3 0.13, λ without s in logs 0.67.
#[test]
fn the_joint_distribution_is_kept() {
    const CHAINS: u64 = 20_000;
    for (alpha, budget, what) in [
        ([0.5, 1.0, 2.0, 1.0, 0.7], 3, "plain numbers"),
        ([0.5, 1.0, 2.0, 1.0, 0.7], 0, "plain numbers, no steps"),
        ([0.05, 1.0, 0.5, 0.02, 0.3], 3, "logarithms"),
    ] {
        let mut theta: Vec<Vec<f64>> = vec![Vec::new(); 5];
        for seed in 0..CHAINS {
            let mut rng = ChaCha8Rng::seed_from_u64(1_000_000 + seed);
            let prior = Prior::per_option(&alpha[..4]).unwrap();
            let mut sampler = BoundedGibbs::new(&prior, 4, seed).unwrap();
            let mut recorded: Vec<Choice> = Vec::new();
            for round in 0..20 {
                if round == 7 {
                    sampler.add_option(alpha[4]).unwrap();
                }
                let now = sampler.theta();
                // A choice must be made by the θ that the chain holds. Options never shown are drawn afresh each time they are asked
                // for; so they are woken up first, by a choice of so little weight that it says nothing.
                let members = random_set(now.len() as u32, 2 + usize::from(round % 3 == 0), &mut rng);
                let known = members.iter().all(|&k| sampler.ln_lambda(OptionId::new(k)).is_some());
                if !known {
                    let choice = set(&members).choose(OptionId::new(members[0])).unwrap();
                    sampler.record(&choice, 1e-12).unwrap();
                    continue;
                }
                let choice = choose(&now, &members, &mut rng);
                sampler.record(&choice, 1.0).unwrap();
                recorded.push(choice);
                sampler.step(budget);
                if round % 4 == 3 && !recorded.is_empty() {
                    let at = rng.random_range(0..recorded.len());
                    sampler.withdraw(&recorded.swap_remove(at), 1.0).unwrap();
                }
            }
            for (chains, theta) in theta.iter_mut().zip(sampler.theta()) {
                chains.push(theta);
            }
        }
        let total: f64 = alpha.iter().sum();
        for (k, draws) in theta.iter().enumerate() {
            let verdict = ks::one_sample(draws, |x| beta_cdf(alpha[k], total - alpha[k], x), LEVEL);
            println!("{what}, option {k}: {verdict:?}");
            verdict.assert_passes(&format!("{what}, option {k}"));
        }
    }
}

/// Broken on purpose, each fails here: a_k + 0.3, 0.9·b in the slack of a group.
#[test]
fn reference_means_and_variances() {
    type Begin = fn(&Prior, &Statistics, u64) -> Result<BoundedGibbs, SamplerError>;
    let Some(cases) = posterior_cases() else { return };
    for case in &cases {
        let rows = case.rows();
        let rows: Vec<(&[u32], &[f64])> = rows.iter().map(|(members, chosen)| (&members[..], &chosen[..])).collect();
        let prior = Prior::per_option(&case.alpha[..]).unwrap();
        let counts = statistics(case.alpha.len(), &rows);
        for (start, begin) in [("mode", BoundedGibbs::from_statistics as Begin), ("resumed", BoundedGibbs::resume)] {
            let mut sampler = begin(&prior, &counts, 1).unwrap();
            assert_eq!(sampler.statistics().canonical(), counts.canonical());
            let draws: Vec<Vec<f64>> = (0..40_000)
                .map(|_| {
                    sampler.step(2);
                    sampler.theta()
                })
                .collect();
            for k in 0..case.alpha.len() {
                let centre = case.posterior_mean[k];
                let values: Vec<f64> = draws.iter().map(|theta| theta[k]).collect();
                let squares: Vec<f64> = values.iter().map(|x| (x - centre).powi(2)).collect();
                let (mean, square) = (Diagnostics::of(&[&values]).unwrap(), Diagnostics::of(&[&squares]).unwrap());
                let off = [(mean.mean - centre) / mean.mcse, (square.mean - case.posterior_variance[k]) / square.mcse];
                println!("{} ({start}) option {k}: off by {off:.2?} standard errors", case.name);
                assert!(off.iter().all(|off| off.abs() < STANDARD_ERRORS));
            }
        }
    }
}

/// The first draw of a chain that takes up 300 choices is one from the posterior, as far as 600 of them tell: not where it starts, near the mode. In standard
/// deviations of ln θ. Broken on purpose, each fails here: one round alone (the variance is 0.92 of what it should be), z kept in all of them (0.93).
#[test]
fn the_first_draw_after_resuming_is_good() {
    const RESUMED: u64 = 600;
    const OFF: f64 = 0.06;
    const VARIANCE: std::ops::Range<f64> = 0.95..1.05;
    let mut rng = ChaCha8Rng::seed_from_u64(6);
    let mut counts = Statistics::new(60);
    for _ in 0..300 {
        let first = rng.random_range(0..60);
        let shown = set(&[0, 1, 7, 22, 41].map(|step| (first + step) % 60));
        // The later ones are liked more.
        let chosen = shown.members()[rng.random_range(0..5_usize).max(rng.random_range(0..5))];
        counts.record_choice(&shown.choose(chosen).unwrap(), 1.0).unwrap();
    }
    let moments = |draws: &[Vec<f64>], k: usize| {
        let mean = draws.iter().map(|theta| theta[k].ln()).sum::<f64>() / draws.len() as f64;
        (mean, draws.iter().map(|theta| (theta[k].ln() - mean).powi(2)).sum::<f64>() / draws.len() as f64)
    };
    let mut chain = BoundedGibbs::from_statistics(&Prior::default(), &counts, 1).unwrap();
    let expected: Vec<Vec<f64>> = (0..20_000)
        .map(|_| {
            chain.sweep();
            chain.theta()
        })
        .collect();
    let found: Vec<Vec<f64>> =
        (0..RESUMED).map(|seed| BoundedGibbs::resume(&Prior::default(), &counts, seed).unwrap().theta()).collect();
    let (mut off, mut ratio) = (0.0, 0.0);
    for k in 0..60 {
        let (expected, found) = (moments(&expected, k), moments(&found, k));
        off += (found.0 - expected.0).powi(2) / expected.1 / 60.0;
        ratio += found.1 / expected.1 / 60.0;
    }
    // What chance adds.
    let off = (off - 1.0 / RESUMED as f64).max(0.0).sqrt();
    println!("off by {off:.3}, variance {ratio:.3} of what it should be");
    assert!(off < OFF && VARIANCE.contains(&ratio), "off by {off}, variance {ratio}");
}

/// Two groups of five, 10 000 comparisons inside and 2 between, recorded choice by choice so that the tree has to follow.
///
/// Without the group step 490 sweeps; without its correction of R_k 160; in logs without that of z 6.8.
#[test]
fn groups_hardly_linked_mix_at_once() {
    const LONGEST: f64 = 3.0;
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    for alpha in [1.0, 0.09] {
        let mut sampler = BoundedGibbs::new(&Prior::symmetric(alpha).unwrap(), 10, 3).unwrap();
        for round in 0..10_000 {
            let group = 5 * (round % 2);
            let i = rng.random_range(0..5);
            let j = (i + rng.random_range(1..5)) % 5;
            let chosen = if rng.random::<bool>() { i } else { j };
            let choice = set(&[group + i, group + j]).choose(OptionId::new(group + chosen)).unwrap();
            sampler.record(&choice, 1.0).unwrap();
            sampler.step(2);
        }
        for chosen in [0, 5] {
            sampler.record(&set(&[0, 5]).choose(OptionId::new(chosen)).unwrap(), 1.0).unwrap();
        }
        let contrast: Vec<f64> = (0..10_000)
            .map(|_| {
                sampler.sweep();
                let theta = sampler.theta();
                (theta[..5].iter().sum::<f64>() / theta[5..].iter().sum::<f64>()).ln()
            })
            .collect();
        let time = autocorrelation_time(&contrast).unwrap();
        println!("α = {alpha}: autocorrelation time {time:.2}");
        assert!(time <= LONGEST);
    }
}

/// The mass of the options with data against the one never shown: after 1 000 choices it takes 2T/Σα = 200 sweeps to forget
/// where it was, unless the scale moves.
///
/// Without its step 60 sweeps in these chains.
#[test]
fn the_scale_mixes_at_once() {
    const LONGEST: f64 = 3.0;
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    for alpha in [1.0, 0.09] {
        let mut sampler = BoundedGibbs::new(&Prior::symmetric(alpha).unwrap(), 11, 4).unwrap();
        for _ in 0..1_000 {
            sampler.record(&choose(&[0.1; 10], &random_set(10, 3, &mut rng), &mut rng), 1.0).unwrap();
        }
        let mass: Vec<f64> = (0..10_000)
            .map(|_| {
                sampler.sweep();
                let eta: Vec<f64> = (0..10).map(|k| sampler.ln_lambda(OptionId::new(k)).unwrap()).collect();
                let high = eta.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                high + eta.iter().map(|eta| (eta - high).exp()).sum::<f64>().ln()
            })
            .collect();
        let time = autocorrelation_time(&mass).unwrap();
        println!("α = {alpha}: autocorrelation time {time:.2}");
        assert!(time <= LONGEST);
        // Gamma(Σα), whatever the choices were.
        let draws: Vec<f64> = mass.iter().step_by(5).map(|x| x.exp()).collect();
        ks::one_sample(&draws, |x| statrs::function::gamma::gamma_lr(10.0 * alpha, x), LEVEL).assert_passes("mass");
    }
}

/// Forgetting and merging end where a chain from the same counts starts: means agree with the exact ones.
#[test]
fn forgetting_and_merging_lead_to_the_posterior_of_the_counts() {
    let mut counts = statistics(4, &[(&[0, 1, 2], &[4.0, 2.0, 1.0]), (&[0, 2], &[1.0, 2.0])]);
    let prior = Prior::symmetric(0.8).unwrap();
    let mut sampler = BoundedGibbs::from_statistics(&prior, &counts, 5).unwrap();
    let more = statistics(4, &[(&[1, 2], &[3.0, 1.0]), (&[2], &[7.0])]);
    sampler.merge(&more).unwrap();
    counts.merge(&more).unwrap();
    sampler.scale(0.6).unwrap();
    counts.scale(0.6).unwrap();
    let exact = Posterior::new(&prior, &counts).unwrap().moments().unwrap();
    for k in 0..4 {
        let mut own = sampler.clone();
        let values: Vec<f64> = (0..40_000)
            .map(|_| {
                own.sweep();
                own.theta()[k]
            })
            .collect();
        let found = Diagnostics::of(&[&values]).unwrap();
        println!("option {k}: {} against {} ± {}", found.mean, exact.mean[k], found.mcse);
        assert!((found.mean - exact.mean[k]).abs() < STANDARD_ERRORS * found.mcse);
    }
    assert_eq!(sampler.explored(), ids(&[0, 1, 2]));
    sampler.scale(0.0).unwrap();
    assert!(sampler.explored().is_empty());
    let draws: Vec<f64> = (0..5_000).map(|_| sampler.theta()[1]).collect();
    ks::one_sample(&draws, |x| beta_cdf(0.8, 2.4, x), LEVEL).assert_passes("everything forgotten");
}

/// A presentation that was withdrawn or forgotten and comes back counts as any other.
#[test]
fn presentations_that_come_back_count_again() {
    for alpha in [1.0, 0.09] {
        let prior = Prior::symmetric(alpha).unwrap();
        let mut sampler = BoundedGibbs::new(&prior, 3, 8).unwrap();
        let choices = [([0, 1], 0), ([1, 2], 2), ([0, 2], 2)].map(|(set_of, k)| set(&set_of).choose(OptionId::new(k)).unwrap());
        let overflow = sampler.record(&choices[1], f64::MAX).and_then(|()| sampler.record(&choices[1], f64::MAX));
        assert!(overflow.is_err());
        sampler.scale(0.0).unwrap();
        for round in 0..2 {
            choices.iter().for_each(|choice| sampler.record(choice, 2.0).unwrap());
            choices.iter().filter(|_| round == 0).for_each(|choice| sampler.withdraw(choice, 2.0).unwrap());
        }
        let counts = statistics(3, &[(&[0, 1], &[2.0, 0.0]), (&[1, 2], &[0.0, 2.0]), (&[0, 2], &[0.0, 2.0])]);
        let exact = Posterior::new(&prior, &counts).unwrap().moments().unwrap();
        let draws: Vec<Vec<f64>> = (0..40_000)
            .map(|_| {
                sampler.sweep();
                sampler.theta()
            })
            .collect();
        for k in 0..3 {
            let values: Vec<f64> = draws.iter().map(|theta| theta[k]).collect();
            let found = Diagnostics::of(&[&values]).unwrap();
            println!("α = {alpha}, option {k}: {} against {} ± {}", found.mean, exact.mean[k], found.mcse);
            assert!((found.mean - exact.mean[k]).abs() < STANDARD_ERRORS * found.mcse);
        }
    }
}

#[test]
fn a_general_prior_has_its_exact_means() {
    let beta = [(set(&[0, 1]), 1.2), (set(&[0, 1, 2, 3]), 2.8)];
    let prior = Prior::general([1.0; 4], beta).unwrap();
    let counts = statistics(4, &[(&[1, 2], &[3.0, 1.0])]);
    let exact = Posterior::new(&prior, &counts).unwrap().moments().unwrap();
    let mut sampler = BoundedGibbs::from_statistics(&prior, &counts, 6).unwrap();
    let draws: Vec<Vec<f64>> = (0..40_000)
        .map(|_| {
            sampler.sweep();
            sampler.theta()
        })
        .collect();
    for k in 0..4 {
        let values: Vec<f64> = draws.iter().map(|theta| theta[k]).collect();
        let found = Diagnostics::of(&[&values]).unwrap();
        println!("option {k}: {} against {} ± {}", found.mean, exact.mean[k], found.mcse);
        assert!((found.mean - exact.mean[k]).abs() < STANDARD_ERRORS * found.mcse);
    }
}

#[test]
fn extremes_stay_finite_and_ordered() {
    for alpha in [1e-3, 0.1, 1.0, 1e6] {
        let mut sampler = BoundedGibbs::new(&Prior::symmetric(alpha).unwrap(), 6, 7).unwrap();
        // A presentation of one option says nothing.
        sampler.record(&set(&[5]).choose(OptionId::new(5)).unwrap(), 3.0).unwrap();
        assert!(sampler.explored().is_empty());
        for weight in [1.0, 1e9, 1e-9] {
            // 0 always chosen, 3 never.
            for (members, chosen) in [(&[0, 1][..], 0), (&[1, 2, 3], 1), (&[2, 3], 2), (&[0, 3], 0)] {
                sampler.record(&set(members).choose(OptionId::new(chosen)).unwrap(), weight).unwrap();
                sampler.step(5);
                let top = sampler.top(6);
                assert_eq!(top.len(), 6);
                let value = |k: &OptionId| sampler.ln_lambda(*k);
                let known: Vec<f64> = top.iter().filter_map(value).collect();
                assert!(known.iter().all(|x| x.is_finite()), "α = {alpha}, weight {weight}: {known:?}");
                assert!(known.windows(2).all(|pair| pair[0] >= pair[1]));
            }
        }
        let mean: f64 = (0..200)
            .map(|_| {
                sampler.sweep();
                sampler.ln_lambda(OptionId::new(0)).unwrap() - sampler.ln_lambda(OptionId::new(3)).unwrap()
            })
            .sum::<f64>()
            / 200.0;
        println!("α = {alpha}: ln λ_0/λ_3 {mean}");
        assert!(mean > 0.0);
    }
}

#[test]
fn bad_choices_are_named_and_change_nothing() {
    let mut sampler = BoundedGibbs::new(&Prior::default(), 3, 1).unwrap();
    let good = set(&[0, 1]).choose(OptionId::new(0)).unwrap();
    sampler.record(&good, 1.0).unwrap();
    let before = (sampler.ln_lambda(OptionId::new(0)), sampler.explored());
    let refused = |error: SamplerError, expected: StatisticsError| assert_eq!(error, SamplerError::Statistics(expected));
    let unknown = set(&[1, 9]).choose(OptionId::new(1)).unwrap();
    refused(
        sampler.record(&unknown, 1.0).unwrap_err(),
        StatisticsError::UnknownOption { option: OptionId::new(9), option_count: 3 },
    );
    refused(sampler.record(&good, -1.0).unwrap_err(), StatisticsError::Weight { weight: -1.0 });
    refused(
        sampler.withdraw(&good, 2.0).unwrap_err(),
        StatisticsError::ChosenBelowZero { option: OptionId::new(0), recorded: 1.0, weight: 2.0 },
    );
    let other = set(&[0, 2]).choose(OptionId::new(0)).unwrap();
    assert!(matches!(sampler.withdraw(&other, 1.0), Err(SamplerError::Statistics(StatisticsError::PresentedBelowZero { .. }))));
    assert!(sampler.scale(f64::NAN).is_err() && sampler.add_option(0.0).is_err() && sampler.merge(&Statistics::new(4)).is_err());
    assert_eq!(before, (sampler.ln_lambda(OptionId::new(0)), sampler.explored()));
    assert!(BoundedGibbs::new(&Prior::default(), 0, 1).is_err());
    sampler.withdraw(&good, 1.0).unwrap();
    assert!(sampler.explored().is_empty() && sampler.top(9).len() == 3 && sampler.top(0).is_empty());
}

/// Pinned: a change of these values is draw-breaking and belongs in the CHANGELOG.
#[test]
fn draws_are_pinned() {
    for (alpha, pinned) in [(1.0, PINNED[0]), (0.05, PINNED[1])] {
        let mut sampler = BoundedGibbs::new(&Prior::symmetric(alpha).unwrap(), 4, 42).unwrap();
        for round in 0..20 {
            let shown = set(&[round % 3, 3]);
            sampler.record(&shown.choose(shown.members()[usize::from(round % 2 == 0)]).unwrap(), 1.0).unwrap();
            sampler.step(BoundedGibbs::BUDGET);
        }
        let theta = sampler.theta();
        println!("{theta:?}");
        assert!(distance(&theta, &pinned) < 1e-9, "{theta:?}");
    }
}

const PINNED: [[f64; 4]; 2] = [
    [0.579_042_604_554_567_8, 0.214_092_817_501_697_4, 0.090_978_643_738_363_7, 0.115_885_934_205_371_01],
    [0.465_200_215_715_656_06, 0.056_632_865_469_231_096, 0.208_004_424_874_511_57, 0.270_162_493_940_601_54],
];

/// Options that choices put further apart than plain numbers reach: 150 in a row, each preferred 10⁴ times to the next.
#[test]
fn options_far_apart_stay_finite_and_in_order() {
    let mut counts = Statistics::new(150);
    for k in 0..149 {
        counts.record(ids(&[k, k + 1]), OptionId::new(k), 1e4).unwrap();
    }
    let mut whole = BoundedGibbs::from_statistics(&Prior::default(), &counts, 1).unwrap();
    let mut grown = BoundedGibbs::new(&Prior::default(), 150, 1).unwrap();
    for k in 0..149 {
        grown.record(&set(&[k, k + 1]).choose(OptionId::new(k)).unwrap(), 1e4).unwrap();
        grown.step(BoundedGibbs::BUDGET);
    }
    for (sampler, settled) in [(&mut whole, true), (&mut grown, false)] {
        for _ in 0..20 {
            sampler.sweep();
        }
        let eta: Vec<f64> = (0..150).map(|k| sampler.ln_lambda(OptionId::new(k)).unwrap()).collect();
        assert!(eta.iter().all(|x| x.is_finite()), "{eta:?}");
        // A chain that grew choice by choice has a long way to go yet.
        assert!(!settled || (eta[0] - eta[149] > 700.0 && eta.is_sorted_by(|x, y| x > y)), "{eta:?}");
    }
    // Counts beyond all measure: what they leave of α is lost in rounding, and with it the steps that would move them; still numbers.
    for weight in [1e99, 2.5e299, f64::MAX / 8.0] {
        let mut sampler = BoundedGibbs::new(&Prior::default(), 5, 2).unwrap();
        for k in 0..4 {
            sampler.record(&set(&[k, k + 1]).choose(OptionId::new(k)).unwrap(), weight).unwrap();
            sampler.sweep();
        }
        let theta = sampler.theta();
        assert!(theta.iter().all(|x| x.is_finite()), "{weight:e}: {theta:?}");
    }
}

/// Two pairs that were never shown together: the share of one against the other keeps the law of the prior, uniform here, and is
/// forgotten at once however many choices there were. Without groups of whole components its autocorrelation time is 1 185 sweeps.
#[test]
fn masses_of_unlinked_options_mix_at_once() {
    const LONGEST: f64 = 5.0;
    for (alpha, law) in [(1.0, 2.0), (0.09, 0.18)] {
        let counts = statistics(4, &[(&[0, 1], &[1_000.0, 1_000.0]), (&[2, 3], &[1_500.0, 500.0])]);
        let mut sampler = BoundedGibbs::from_statistics(&Prior::symmetric(alpha).unwrap(), &counts, 9).unwrap();
        let shares: Vec<f64> = (0..20_000)
            .map(|_| {
                sampler.sweep();
                let theta = sampler.theta();
                theta[0] + theta[1]
            })
            .collect();
        let time = autocorrelation_time(&shares).unwrap();
        println!("α = {alpha}: autocorrelation time {time:.2}");
        assert!(time <= LONGEST);
        let apart: Vec<f64> = shares.iter().copied().step_by(20).collect();
        ks::one_sample(&apart, |x| beta_cdf(law, law, x), LEVEL).assert_passes("share of the first pair");
    }
}

/// Presentations that lost their weight take no visits and no memory for ever.
#[test]
fn withdrawn_presentations_do_not_use_up_the_budget() {
    let mut sampler = BoundedGibbs::new(&Prior::default(), 400, 3).unwrap();
    let live = set(&[0, 1]).choose(OptionId::new(0)).unwrap();
    sampler.record(&live, 3.0).unwrap();
    for k in 2..399 {
        for j in [k + 1, 0] {
            let choice = set(&[k.min(j), k.max(j)]).choose(OptionId::new(k)).unwrap();
            sampler.record(&choice, 1.0).unwrap();
            sampler.withdraw(&choice, 1.0).unwrap();
        }
    }
    let moved = (0..100).filter(|_| {
        let before = sampler.ln_lambda(OptionId::new(0));
        sampler.step(200);
        before != sampler.ln_lambda(OptionId::new(0))
    });
    assert_eq!(moved.count(), 100);
    assert_eq!(sampler.explored(), ids(&[0, 1]));
}

/// What is refused leaves no trace, and neither do counts that no choices can have.
#[test]
fn refusals_leave_no_trace() {
    for alpha in [1.0, 0.05] {
        let mut sampler = BoundedGibbs::new(&Prior::symmetric(alpha).unwrap(), 10, 1).unwrap();
        assert!(sampler.withdraw(&set(&[5, 6]).choose(OptionId::new(5)).unwrap(), 1.0).is_err());
        sampler.scale(0.5).unwrap();
        sampler.merge(&Statistics::new(10)).unwrap();
        sampler.merge(&Statistics::new(0)).unwrap();
        sampler.add_option(0.01).unwrap();
        let mut huge = Statistics::new(2);
        huge.record(ids(&[0, 1]), OptionId::new(0), 1e308).unwrap();
        sampler.merge(&huge).unwrap();
        let refused = sampler.merge(&huge).unwrap_err();
        assert!(matches!(refused, SamplerError::Statistics(StatisticsError::Overflow { .. })), "{refused}");
        let mut unbalanced = statistics(3, &[(&[0, 1], &[1.0, 0.0]), (&[0, 2], &[0.0, 1.0])]);
        unbalanced.withdraw(ids(&[0, 2]), OptionId::new(0), 1.0).unwrap();
        assert!(sampler.merge(&unbalanced).is_err());
        assert!(sampler.theta().iter().all(|x| x.is_finite()));
    }
    let pairs = Prior::general([1.0; 3], [(set(&[0, 1]), 1.5), (set(&[1, 2]), 1.5)]).unwrap();
    let mut sampler = BoundedGibbs::new(&pairs, 3, 1).unwrap();
    assert_eq!(sampler.add_option(1.0).unwrap_err(), SamplerError::NoWhole);
}

/// Joint distribution with a learned prior: its strength from its own prior, θ given it, then choices given θ, moves given the choices, and
/// steps on the strength. It keeps its law.
///
/// Broken on purpose, KS against 0.0314: without ln Γ(A) 0.36, without ln Γ(α_k) 0.61, around 0.7 in place of ½ 0.10.
#[test]
fn a_learned_prior_keeps_its_law() {
    const CHAINS: u64 = 5_000;
    let normal = Normal::new(0.5_f64.ln(), 1.0).unwrap();
    let (low, high) = (normal.cdf(0.1_f64.ln()), normal.cdf(10.0_f64.ln()));
    let mut strengths = Vec::new();
    for seed in 0..CHAINS {
        let mut rng = ChaCha8Rng::seed_from_u64(7_000_000 + seed);
        let ln_alpha = normal.inverse_cdf(low + rng.random::<f64>() * (high - low));
        let alpha = ln_alpha.exp().clamp(0.1, 10.0);
        let mut sampler = BoundedGibbs::new(&Prior::symmetric(alpha).unwrap(), 5, seed).unwrap();
        let mut factor = 1.0;
        for round in 0..20 {
            let now = sampler.theta();
            let members = random_set(5, 2 + usize::from(round % 3 == 0), &mut rng);
            // As above: options never shown are woken up first.
            if members.iter().all(|&k| sampler.is_explored(OptionId::new(k))) {
                sampler.record(&choose(&now, &members, &mut rng), 1.0).unwrap();
                sampler.step(3);
            } else {
                let choice = set(&members).choose(OptionId::new(members[0])).unwrap();
                sampler.record(&choice, 1e-12).unwrap();
            }
            factor = sampler.learn_prior(None);
        }
        strengths.push((alpha * factor).ln());
    }
    let cdf = |x: f64| ((normal.cdf(x) - low) / (high - low)).clamp(0.0, 1.0);
    ks::one_sample(&strengths, cdf, LEVEL).assert_passes("strength");
}
