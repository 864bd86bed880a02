//! The presenter: fairness, policies, requests, outcomes, propensities.

mod support;

use support::{ids, statistics};
use unloop::presenter::{Order, Policy, PresenterBuilder, PresenterError, Propensities, Request, SamplerSettings, Shown};
use unloop::ranking::{RankedOption, RankingSettings};
use unloop::sampler::{SampleSettings, SmcSettings};
use unloop::{OptionId, PresentationError, Presenter, Statistics};

/// Frequencies may be off by this many standard errors; some 40 are looked at, with fixed seeds.
const STANDARD_ERRORS: f64 = 4.5;

fn builder(count: usize) -> PresenterBuilder {
    Presenter::builder().options((0..count).map(|k| k.to_string())).seed(3)
}

fn chosen(shown: &Shown) -> Vec<OptionId> {
    shown.options.iter().map(|row| row.option).collect()
}

/// How often each option is presented, without answers.
fn frequencies(presenter: &mut Presenter, request: &Request, count: usize) -> Vec<f64> {
    let mut times = vec![0.0; presenter.options().len()];
    for _ in 0..count {
        for row in presenter.present_with(request).unwrap().options {
            times[row.option.index()] += 1.0 / count as f64;
        }
    }
    times
}

/// P(among the best n) by chains that decide nothing.
fn chances(presenter: &Presenter, n: usize) -> Vec<RankedOption> {
    let sample = SampleSettings { draws: 20_000, seed: 9, ..SampleSettings::default() };
    let settings = RankingSettings { top: n, sample, evidence_draws: None, ..RankingSettings::default() };
    let mut rows = presenter.ranking_with(&settings).unwrap().options;
    rows.sort_by_key(|row| row.option);
    rows
}

/// A history that would starve options 4 and 5: they were never shown, the others often.
fn history(count: usize) -> Statistics {
    statistics(
        count,
        &[(&[0, 1], &[30.0, 10.0]), (&[1, 2, 3], &[10.0, 5.0, 25.0]), (&[0, 3], &[20.0, 8.0]), (&[2, 3], &[1.0, 6.0])],
    )
}

/// After a history, each option is drawn among the best two as often as the posterior says; never shown or not, by every sampler.
#[test]
fn options_are_drawn_as_often_as_the_posterior_says() {
    let samplers = [
        ("bounded", SamplerSettings::Bounded { budget: 4 }, 40_000, 8_000.0),
        ("full sweeps", SamplerSettings::Bounded { budget: usize::MAX }, 20_000, 8_000.0),
        // As good as its particles: these are what is drawn from.
        ("smc", SamplerSettings::Smc(SmcSettings { particles: 20_000, ..SmcSettings::default() }), 20_000, 3_000.0),
        ("exact or chain", SamplerSettings::Exact, 40_000, 8_000.0),
    ];
    for (what, sampler, count, worth) in samplers {
        let mut presenter = builder(6).sampler(sampler).build().unwrap();
        presenter.merge(&history(6)).unwrap();
        let expected = chances(&presenter, 2);
        let found = frequencies(&mut presenter, &Request { size: 2, ..Request::default() }, count);
        for (row, found) in expected.iter().zip(found) {
            let error = (row.p_top * (1.0 - row.p_top) / worth).sqrt();
            println!("{what}: {} {found} {}", row.option.index(), row.p_top);
            assert!((found - row.p_top).abs() < STANDARD_ERRORS * error + 1e-3, "{what}: {found} for {}", row.p_top);
        }
    }
}

/// Nested presentations have independent exact draws: one for each decision.
#[test]
fn exact_draws_where_presentations_are_nested() {
    let mut presenter = builder(4).sampler(SamplerSettings::Exact).build().unwrap();
    presenter.merge(&statistics(4, &[(&[0, 1], &[10.0, 5.0]), (&[0, 1, 2], &[3.0, 1.0, 2.0])])).unwrap();
    let expected = chances(&presenter, 1);
    let found = frequencies(&mut presenter, &Request { size: 1, ..Request::default() }, 40_000);
    for (row, found) in expected.iter().zip(found) {
        let error = (row.p_best * (1.0 - row.p_best) / 20_000.0).sqrt();
        assert!((found - row.p_best).abs() < STANDARD_ERRORS * error, "{found} for {}", row.p_best);
    }
}

/// An option that comes in after 10 000 rounds is shown at the rate that its prior gives: as often as chains that decide nothing say.
#[test]
fn a_late_option_is_shown_as_its_prior_says() {
    let mut presenter = builder(10).build().unwrap();
    let theta = [0.3, 0.2, 0.15, 0.1, 0.08, 0.06, 0.05, 0.03, 0.02, 0.01];
    let mut state = 1_u64;
    for _ in 0..10_000 {
        let shown = presenter.present(3).unwrap();
        let total: f64 = shown.options.iter().map(|row| theta[row.option.index()]).sum();
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mut u = (state >> 11) as f64 / (1_u64 << 53) as f64 * total;
        let pick = chosen(&shown).into_iter().find(|option| {
            u -= theta[option.index()];
            u < 0.0
        });
        let pick = pick.unwrap_or(shown.options[0].option);
        presenter.choose(&shown, pick).unwrap();
    }
    let late = presenter.add_option("late", 1.0).unwrap();
    let expected = chances(&presenter, 3)[late.index()].p_top;
    let found = frequencies(&mut presenter, &Request { size: 3, ..Request::default() }, 20_000)[late.index()];
    println!("{found} {expected}");
    assert!(expected > 0.05, "the test is idle: {expected}");
    assert!((found - expected).abs() < STANDARD_ERRORS * (expected * (1.0 - expected) / 10_000.0).sqrt());
}

/// Requests: candidates, exclusions, pins, sizes, retired options.
#[test]
fn requests_are_kept() {
    let mut presenter = builder(8).build().unwrap();
    presenter.merge(&history(8)).unwrap();
    for policy in [Policy::Thompson, Policy::Greedy, Policy::Uniform, Policy::Anchored { explore: None, boldness: None }] {
        for order in [Order::Mean, Order::Draw, Order::Shuffled] {
            let request = Request { size: 4, policy: Some(policy), order: Some(order), ..Request::default() };
            let shown = presenter.present_with(&request).unwrap();
            assert_eq!((shown.options.len(), shown.policy, shown.order), (4, policy, order));
            let candidates = Request { candidates: Some(ids(&[1, 2, 5, 6])), excluded: ids(&[2]), ..request.clone() };
            let mut found = chosen(&presenter.present_with(&candidates).unwrap());
            found.sort_unstable();
            assert_eq!(found, ids(&[1, 5, 6]));
            let pinned = Request { pinned: ids(&[7, 3]), excluded: ids(&[0]), size: 3, ..request.clone() };
            let shown = presenter.present_with(&pinned).unwrap();
            assert_eq!(chosen(&shown)[..2], ids(&[7, 3]));
            assert!(shown.options.len() == 3 && !chosen(&shown).contains(&OptionId::new(0)));
            assert!(shown.options[..2].iter().all(|row| row.propensity == 1.0));
            // A size of nothing but pins, and one beyond all options.
            assert_eq!(chosen(&presenter.present_with(&Request { size: 1, ..pinned }).unwrap()), ids(&[7, 3]));
            assert_eq!(presenter.present_with(&Request { size: 99, ..request }).unwrap().options.len(), 8);
        }
    }
    for k in 0..8 {
        presenter.retire(OptionId::new(k)).unwrap();
        presenter.retire(OptionId::new(k)).unwrap();
    }
    assert_eq!(presenter.present(2), Err(PresenterError::NothingEligible { active: 0 }));
    presenter.revive(OptionId::new(5)).unwrap();
    presenter.revive(OptionId::new(0)).unwrap();
    let mut found = chosen(&presenter.present(5).unwrap());
    found.sort_unstable();
    assert_eq!(found, ids(&[0, 5]));
    let retired = Request { size: 1, pinned: ids(&[4]), ..Request::default() };
    assert!(matches!(presenter.present_with(&retired), Err(PresenterError::Pinned { why: "it is retired", .. })));
    let unknown = Request { size: 1, excluded: ids(&[8]), ..Request::default() };
    assert!(matches!(presenter.present_with(&unknown), Err(PresenterError::Unknown { .. })));
    // Retired options with a history keep their share; one retired before it was shown is in no sum.
    let ranking = presenter.ranking().unwrap();
    assert_eq!((ranking.options.len(), ranking.unranked.len()), (2, 3));
    let mean: f64 = ranking.options.iter().chain(&ranking.unranked).map(|row| row.mean).sum();
    assert!((mean - 1.0).abs() < 1e-9, "{mean}");
    assert!((ranking.options.iter().find(|row| row.option == OptionId::new(5)).unwrap().mean - 0.2).abs() < 1e-12);
}

/// Outcomes are counted as they should be, taken back exactly, and refused where they cannot be.
#[test]
fn outcomes_are_counted_and_taken_back() {
    let mut presenter = builder(4).no_choice("(nothing)", 0.5).build().unwrap();
    let none = presenter.none().unwrap();
    let request = |presented: &[u32]| Request { size: presented.len(), pinned: ids(presented), ..Request::default() };
    let pair = presenter.present_with(&request(&[0, 1])).unwrap();
    let three = presenter.present_with(&request(&[0, 1, 2])).unwrap();
    let one = presenter.choose(&pair, "0").unwrap();
    let before = presenter.statistics();
    assert_eq!(before.chosen(OptionId::new(0)), 1.0);
    assert_eq!(before.presented(pair.presentation()), 1.0);
    assert!(pair.presentation().contains(none), "declining was possible");
    let several = presenter.choose_each(&three, ["0", "2"]).unwrap();
    let tie = presenter.choose_tied(&three, ["1", "2"]).unwrap();
    let nothing = presenter.choose_nothing(&three).unwrap();
    let all = presenter.statistics();
    assert_eq!([0, 1, 2, 4].map(|k| all.chosen(OptionId::new(k))), [2.0, 0.5, 1.5, 1.0]);
    assert_eq!(all.presented(three.presentation()), 4.0);
    // Another presenter's: the first of its choices could be taken back here, the second not. Nothing is.
    let mut other = builder(4).no_choice("(nothing)", 0.5).build().unwrap();
    let foreign = other.choose_each(&three, ["0", "1"]).unwrap();
    assert!(presenter.withdraw(foreign).is_err() && presenter.statistics() == all);
    for recorded in [several, tie, nothing] {
        presenter.withdraw(recorded).unwrap();
    }
    assert_eq!(presenter.statistics().canonical(), before.canonical());
    presenter.withdraw(one).unwrap();
    assert!(presenter.statistics().is_empty());
    // As never shown: exactly the prior again.
    let ranking = presenter.ranking().unwrap();
    assert!(ranking.options.iter().all(|row| (row.mean - 1.0 / 4.5).abs() < 1e-15), "{ranking:?}");

    assert_eq!(presenter.choose(&pair, "5").unwrap_err(), PresenterError::Unknown { name: "5".into() });
    let stranger = presenter.choose(&pair, "3").unwrap_err();
    assert!(matches!(stranger, PresenterError::Presentation(PresentationError::NotPresented { .. })), "{stranger:?}");
    assert!(presenter.choose_each(&three, ["0", "3"]).is_err());
    assert!(presenter.statistics().is_empty(), "all or nothing");
    let mut plain = builder(3).build().unwrap();
    let shown = plain.present(2).unwrap();
    assert_eq!(plain.choose_nothing(&shown), Err(PresenterError::NoChoice));
    // A presentation of one option says nothing of preferences and is counted all the same.
    let alone = plain.present_with(&Request { size: 1, pinned: ids(&[2]), ..Request::default() }).unwrap();
    let recorded = plain.choose(&alone, "2").unwrap();
    assert_eq!((plain.statistics().chosen(OptionId::new(2)), plain.ranking().unwrap().presentations), (1.0, 1.0));
    plain.withdraw(recorded).unwrap();
    let foreign = builder(3).build().unwrap().choose(&alone, "2").unwrap();
    assert!(plain.statistics().is_empty() && plain.withdraw(foreign).is_err());
}

/// Half of what was counted is forgotten in a half-life, withdrawals included.
#[test]
fn counts_fade() {
    let mut presenter = builder(3).half_life(10.0).build().unwrap();
    let request = Request { size: 2, pinned: ids(&[0, 1]), ..Request::default() };
    let shown = presenter.present_with(&request).unwrap();
    let recorded = presenter.choose(&shown, "0").unwrap();
    presenter.age(10.0).unwrap();
    assert!((presenter.statistics().chosen(OptionId::new(0)) - 0.5).abs() < 1e-15);
    presenter.choose(&shown, "1").unwrap();
    presenter.age(5.0).unwrap();
    presenter.withdraw(recorded).unwrap();
    assert_eq!(presenter.statistics().chosen(OptionId::new(0)), 0.0);
    assert!((presenter.statistics().total() - 0.5_f64.sqrt()).abs() < 1e-12);
    assert!(presenter.age(-1.0).is_err() && presenter.age(f64::NAN).is_err());
    assert!(builder(2).half_life(0.0).build().is_err());
    // Everything fades in the end, and options are as never shown.
    presenter.age(1e6).unwrap();
    assert!(presenter.statistics().is_empty());
    assert!(presenter.ranking().unwrap().options.iter().all(|row| (row.mean - 1.0 / 3.0).abs() < 1e-15));
    assert_eq!(presenter.present(3).unwrap().options.len(), 3);
    // However it was cut up, time takes as much from what is withdrawn as from what was counted.
    for ages in 1..200 {
        let recorded = presenter.choose(&shown, "0").unwrap();
        (0..ages).for_each(|i| presenter.age(0.1 + f64::from(i % 7)).unwrap());
        presenter.withdraw(recorded).unwrap();
        assert!(presenter.statistics().is_empty(), "{ages}");
    }
    let mut short = builder(3).half_life(1e-300).build().unwrap();
    short.choose(&shown, "1").unwrap();
    short.age(1e300).unwrap();
    let recorded = short.choose(&shown, "0").unwrap();
    short.withdraw(recorded).unwrap();
    assert!(short.statistics().is_empty());
}

/// A sampler that carries options never shown, as the paper's does, draws them itself: they are not drawn a second time. (They were, and
/// came up too often, and some presentations held one of them twice and failed.)
#[test]
fn options_that_a_sampler_carries_are_drawn_once() {
    let mut shown_first = [0_u64; 5];
    for seed in 0..2_000 {
        let sampler = SamplerSettings::Paper { particles: 20 };
        let mut presenter = builder(5).sampler(sampler).seed(seed).build().unwrap();
        if seed == 0 {
            for round in 0..200 {
                let shown = presenter.present(4).unwrap();
                presenter.choose(&shown, shown.options[round % 4].option).unwrap();
            }
            let new = presenter.add_option("new", 1.0).unwrap();
            assert!((0..200).any(|_| chosen(&presenter.present(2).unwrap()).contains(&new)));
            continue;
        }
        let pair = Request { size: 2, pinned: ids(&[0, 1]), ..Request::default() };
        let shown = presenter.present_with(&pair).unwrap();
        presenter.choose(&shown, "0").unwrap();
        shown_first[presenter.present(1).unwrap().options[0].option.index()] += 1;
    }
    // An option never shown is the best of five with a chance of 1/5; 0 and 1 have the rest.
    let [zero, one, others @ ..] = shown_first;
    let counts = [zero + one, others[0], others[1], others[2]];
    testkit::chi_square::counts(&counts, &[0.4, 0.2, 0.2, 0.2], 1e-4).assert_passes("best of a draw");
}

/// Every sampler takes in counts of options that it knows in another order.
#[test]
fn counts_are_merged_into_every_sampler() {
    let smc = SamplerSettings::Smc(SmcSettings { particles: 100, ..SmcSettings::default() });
    for sampler in [SamplerSettings::default(), smc, SamplerSettings::Exact] {
        let mut presenter = builder(3).sampler(sampler).build().unwrap();
        let pair = Request { size: 2, pinned: ids(&[1, 2]), ..Request::default() };
        let shown = presenter.present_with(&pair).unwrap();
        presenter.choose(&shown, "1").unwrap();
        presenter.merge(&statistics(3, &[(&[0, 1], &[1.0, 0.0])])).unwrap();
        assert_eq!((presenter.statistics().total(), presenter.present(3).unwrap().options.len()), (2.0, 3));
    }
}

/// Known propensities are exact; running and fresh ones are calibrated: weighing each showing by the inverse of its propensity, every
/// option is shown once in a presentation on average (Horvitz & Thompson), and both agree with the posterior's chances.
#[test]
fn propensities_are_calibrated() {
    let uniform = |count| Request { size: count, policy: Some(Policy::Uniform), ..Request::default() };
    let mut presenter = builder(6).build().unwrap();
    presenter.merge(&history(6)).unwrap();
    let shown = presenter.present_with(&uniform(2)).unwrap();
    assert_eq!((shown.propensities, shown.options[0].propensity), (Propensities::Exact, 2.0 / 6.0));
    let greedy = Request { policy: Some(Policy::Greedy), ..uniform(2) };
    assert_eq!(presenter.present_with(&greedy).unwrap().options[1].propensity, 1.0);
    // Options never shown are alike: any of them.
    let fresh = builder(50).build().unwrap().present_with(&greedy).unwrap();
    assert_eq!((fresh.propensities, fresh.options[0].propensity), (Propensities::Exact, 2.0 / 50.0));

    let expected = chances(&presenter, 2);
    let request = Request { size: 2, ..Request::default() };
    for (what, request, rounds, tolerance) in [
        ("running", request.clone(), 60_000, 0.1),
        ("fresh", Request { propensity_draws: Some(400), ..request.clone() }, 600, 0.25),
        ("filtered", Request { candidates: Some(ids(&[0, 1, 2, 3, 4, 5])), ..request.clone() }, 60_000, 0.1),
        // Each time another option may not be there; over all it is as if those that may not were drawn, too.
        ("excluded", request, 60_000, 0.1),
    ] {
        let mut weights = [0.0; 6];
        for round in 0..rounds {
            let excluded = if what == "excluded" { ids(&[round % 6]) } else { Vec::new() };
            let shown = presenter.present_with(&Request { excluded, ..request.clone() }).unwrap();
            match (what, shown.propensities) {
                ("fresh", Propensities::Fresh { draws: 400 }) | (_, Propensities::Running { .. }) => {}
                (_, other) => panic!("{what}: {other:?}"),
            }
            for row in &shown.options {
                assert!(row.propensity > 0.0 && row.propensity <= 1.0);
                weights[row.option.index()] += 1.0 / (row.propensity * f64::from(rounds));
            }
            if what == "fresh" && round == 0 {
                for row in &shown.options {
                    let expected = expected[row.option.index()].p_top;
                    assert!((row.propensity - expected).abs() < 0.1, "{} for {expected}", row.propensity);
                }
            }
        }
        println!("{what}: {weights:?}");
        // An option that may not be there in a sixth of the requests.
        if what == "excluded" {
            weights.iter_mut().for_each(|weight| *weight *= 6.0 / 5.0);
        }
        for (k, weight) in weights.iter().enumerate().filter(|&(k, _)| expected[k].p_top > 0.02) {
            assert!((weight - 1.0).abs() < tolerance, "{what}, option {k}: {weight}");
        }
    }
}

/// Requests that leave few options do not change what is told of the others: half of the requests name one candidate, and the propensities
/// of those between them still add up to one presentation of each option. (Counted together, that candidate had twice its share.)
#[test]
fn propensities_do_not_depend_on_what_others_ask_for() {
    let mut presenter = builder(6).build().unwrap();
    let plain = Request { size: 2, ..Request::default() };
    let one = Request { candidates: Some(ids(&[0])), ..plain.clone() };
    let (rounds, warm_up) = (4_000, 1_000);
    let mut weights = [0.0; 6];
    for round in 0..warm_up + rounds {
        presenter.present_with(&one).unwrap();
        for row in presenter.present_with(&plain).unwrap().options.iter().filter(|_| round >= warm_up) {
            weights[row.option.index()] += 1.0 / (row.propensity * f64::from(rounds));
        }
    }
    println!("{weights:?}");
    assert!(weights.iter().all(|weight| (weight - 1.0).abs() < 0.1), "{weights:?}");
}

/// While the prior is learned its weights move, and options never shown stay alike: over 38 of them the inverse propensities of those shown
/// add up to 38 a presentation. (Cut at 1 before it was divided among them, their common frequency made it 182.)
#[test]
fn propensities_outlive_a_learned_prior() {
    let mut presenter = builder(40).learn_prior(true).build().unwrap();
    let pair = Request { size: 2, pinned: ids(&[0, 1]), ..Request::default() };
    let (mut total, rounds) = (0.0, 8_000);
    for round in 0..rounds {
        let shown = presenter.present_with(&pair).unwrap();
        presenter.choose(&shown, if round % 3 == 0 { "1" } else { "0" }).unwrap();
        let shown = presenter.present(5).unwrap();
        let unseen = shown.options.iter().filter(|row| row.option.index() > 1);
        total += unseen.map(|row| 1.0 / row.propensity).sum::<f64>() / f64::from(rounds);
    }
    println!("{total}");
    assert!((total - 38.0).abs() < 2.0, "{total}");
}

/// An option that comes in late has no share in presentations from before: its first propensities are its expected share, not that of one
/// that was passed over 3 000 times (0.0007). Nor does one that comes back with data take the share of all that were never shown.
#[test]
fn propensities_of_late_options_begin_anew() {
    let mut presenter = builder(20).build().unwrap();
    for _ in 0..3_000 {
        let shown = presenter.present(3).unwrap();
        let best = chosen(&shown).into_iter().min().unwrap();
        presenter.choose(&shown, best).unwrap();
    }
    let new = presenter.add_option("new", 1.0).unwrap();
    let first = (0..1_000).find_map(|_| {
        let shown = presenter.present(3).unwrap();
        let row = shown.options.iter().find(|row| row.option == new).copied()?;
        Some((row.propensity, shown.propensities))
    });
    let (propensity, draws) = first.unwrap();
    println!("{propensity} {draws:?}");
    assert!(propensity > 0.02 && propensity < 0.5, "{propensity}");

    let mut presenter = builder(40).build().unwrap();
    (0..400).for_each(|_| drop(presenter.present(5)));
    presenter.retire(OptionId::new(3)).unwrap();
    presenter.merge(&statistics(40, &[(&[3, 4], &[1.0, 0.0])])).unwrap();
    presenter.revive(OptionId::new(3)).unwrap();
    let shown = (0..1_000).find_map(|_| presenter.present(5).unwrap().options.into_iter().find(|row| row.option.index() == 3));
    assert!(shown.unwrap().propensity < 0.5, "{shown:?}");
}

/// A posterior mean may be below the smallest number: boldness has nothing to measure by then, and leaves the draw as it is.
#[test]
fn boldness_leaves_what_has_no_mean() {
    let policy = Policy::Anchored { explore: None, boldness: Some(1.01) };
    let mut presenter = builder(20).prior(1e-6).policy(policy).build().unwrap();
    let mut sets = std::collections::BTreeSet::new();
    for _ in 0..500 {
        let shown = presenter.present(5).unwrap();
        let best = chosen(&shown).into_iter().min().unwrap();
        presenter.choose(&shown, best).unwrap();
        sets.insert(shown.presentation().members().to_vec());
    }
    println!("{}", sets.len());
    assert!(sets.iter().flatten().any(|option| option.index() == 0), "the best was found");
    for boldness in [f64::NAN, f64::INFINITY, -1.0, 0.0] {
        let policy = Policy::Anchored { explore: None, boldness: Some(boldness) };
        assert!(matches!(builder(3).policy(policy).build(), Err(PresenterError::Boldness { .. })));
        let request = Request { size: 2, policy: Some(policy), ..Request::default() };
        assert!(matches!(presenter.present_with(&request), Err(PresenterError::Boldness { .. })));
    }
}

/// Learned from choices of a few favourites the prior grows sparse, from those of people who like everything it grows even; an option
/// never shown follows it, and its mean stays.
#[test]
fn the_prior_is_learned() {
    for (favourites, expected) in [(true, 0.0..0.5), (false, 1.0..100.0)] {
        let mut presenter = builder(20).option("new", 1.0).learn_prior(true).build().unwrap();
        let mut sum = 0.0;
        for round in 0..3_000_u32 {
            let others = Request { size: 4, policy: Some(Policy::Uniform), excluded: ids(&[20]), ..Request::default() };
            let shown = presenter.present_with(&others).unwrap();
            let options = chosen(&shown);
            let best = options.iter().copied().min().unwrap();
            let pick = if favourites { best } else { options[round as usize % 4] };
            presenter.choose(&shown, pick).unwrap();
            sum += presenter.learned_factor() / 3_000.0;
        }
        println!("{favourites}: {sum}");
        assert!(expected.contains(&sum), "{sum}");
        let row = presenter.ranking().unwrap().options.into_iter().find(|row| row.option == OptionId::new(20)).unwrap();
        assert!((row.mean - 1.0 / 21.0).abs() < 1e-12);
    }
}

/// The same seed gives the same presentations; another seed others.
#[test]
fn the_same_seed_presents_the_same() {
    let run = |seed: u64| -> Vec<Vec<OptionId>> {
        let policy = Policy::Anchored { explore: None, boldness: None };
        let mut presenter = builder(30).policy(policy).learn_prior(true).seed(seed).build().unwrap();
        (0..200)
            .map(|round| {
                let shown = presenter.present(3).unwrap();
                presenter.choose(&shown, shown.options[round % 3].option).unwrap();
                chosen(&shown)
            })
            .collect()
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

/// What cannot be is refused before anything is changed.
#[test]
fn builders_and_options_are_checked() {
    assert_eq!(builder(2).options(["1"]).build().err(), Some(PresenterError::Known { name: "1".into() }));
    assert!(matches!(Presenter::builder().build().err(), Some(PresenterError::NothingEligible { active: 0 })));
    let learning = builder(2).learn_prior(true);
    assert_eq!(learning.sampler(SamplerSettings::Exact).build().err(), Some(PresenterError::Learning));
    assert_eq!(builder(2).build().unwrap().present(0), Err(PresenterError::Nothing));
    assert!(builder(2).prior(0.0).build().is_err() && builder(2).option("x", f64::NAN).build().is_err());
    let mut presenter = builder(2).build().unwrap();
    assert!(presenter.add_option("0", 1.0).is_err() && presenter.add_option("", 1.0).is_err());
    assert!(presenter.add_option("x", -1.0).is_err());
    assert_eq!(presenter.options().len(), 2);
    assert_eq!(presenter.add_option("x", 1.0).unwrap(), OptionId::new(2));
    assert_eq!(presenter.present(3).unwrap().options.len(), 3);
    let strangers = statistics(5, &[(&[3, 4], &[1.0, 1.0])]);
    assert!(presenter.merge(&strangers).is_err() && presenter.statistics().is_empty());
}

#[test]
fn what_takes_up_past_choices_presents_like_what_saw_them() {
    let counts = statistics(6, &[(&[0, 1, 2], &[6.0, 2.0, 1.0]), (&[2, 3], &[4.0, 1.0]), (&[4], &[3.0])]);
    let request = Request { size: 2, ..Request::default() };
    let mut merged = builder(6).build().unwrap();
    merged.merge(&counts).unwrap();
    let names = unloop::Options::from_names((0..6).map(|k| k.to_string())).unwrap();
    let shared = Presenter::builder().shared_options(names.clone(), vec![1.0; 6]).seed(4);
    let mut resumed = shared.build_with(&counts).unwrap();
    assert_eq!(resumed.statistics().canonical(), counts.canonical());
    let times = 20_000;
    let expected: Vec<f64> = chances(&merged, 2).iter().map(|row| row.p_top).collect();
    for (option, (found, expected)) in frequencies(&mut resumed, &request, times).into_iter().zip(expected).enumerate() {
        // Draws of a chain are worth about a third.
        let error = (3.0 * expected * (1.0 - expected) / times as f64).sqrt();
        println!("option {option}: {found:.4} where {expected:.4} is expected");
        assert!((found - expected).abs() < STANDARD_ERRORS * error + 1e-9);
    }
    // Names are shared until one adds another.
    assert_eq!(resumed.options().heap_bytes(), 0);
    resumed.add_option("new", 1.0).unwrap();
    assert_eq!((names.len(), resumed.options().len()), (6, 7));
}

#[test]
fn choices_from_any_set_are_counted_and_taken_back() {
    let mut presenter = builder(4).build().unwrap();
    let set = unloop::Presentation::new(ids(&[0, 1, 3])).unwrap();
    let (first, tied) = (set.choose(OptionId::new(1)).unwrap(), set.tie(ids(&[0, 3])).unwrap());
    presenter.record_choice(&first, 2.5).unwrap();
    presenter.record_choice(&tied, 1.0).unwrap();
    assert_eq!(presenter.statistics().all_chosen(), [0.5, 2.5, 0.0, 0.5]);
    presenter.withdraw_choice(&tied, 1.0).unwrap();
    presenter.withdraw_choice(&first, 2.5).unwrap();
    assert!(presenter.statistics().is_empty());
    assert!(presenter.withdraw_choice(&first, 1.0).is_err());
}
