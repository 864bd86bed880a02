//! What to ask next, against what is known in closed form.

mod support;

use support::{ids, statistics};
use unloop::information::{Goal, InquirySettings, inquire};
use unloop::sampler::{Draws, SampleSettings};
use unloop::{Posterior, Prior, Statistics};

fn draws(counts: &Statistics, seed: u64) -> Draws {
    let settings = SampleSettings { draws: 2_000, seed, ..SampleSettings::default() };
    Posterior::new(&Prior::default(), counts).unwrap().sample(&settings).unwrap().draws
}

fn settings(size: usize, count: usize, goal: Goal) -> InquirySettings {
    InquirySettings { size, count, goal, excluded: Vec::new() }
}

/// Two options never shown: p is uniform on (0, 1), whose expected entropy is ½. The answer tells ln 2 − ½ of θ; of which is best,
/// ln 2 − H(¾), since a draw's best is chosen with ¾ on average.
#[test]
fn the_gain_of_a_new_pair_is_known() {
    let draws = draws(&Statistics::new(2), 1);
    // Four standard errors of 500 draws: the spread of the entropy of a uniform p is 0.19, of max(p, 1 − p) 0.14.
    let tolerance = 4.0 * 0.2 / 500.0_f64.sqrt();
    let gain = inquire(&draws, &settings(2, 1, Goal::Preferences))[0].gain;
    println!("{gain}");
    assert!((gain - (2.0_f64.ln() - 0.5)).abs() < tolerance);
    let gain = inquire(&draws, &settings(2, 1, Goal::Best))[0].gain;
    let entropy = -(0.75 * 0.75_f64.ln() + 0.25 * 0.25_f64.ln());
    println!("{gain}");
    assert!((gain - (2.0_f64.ln() - entropy)).abs() < tolerance);
}

/// What is known is not asked: the pair with the fewest answers tells most, and two hopeless options nothing of the best.
#[test]
fn the_least_known_is_asked_first() {
    let counts = statistics(
        4,
        &[(&[0, 1], &[500.0, 500.0]), (&[1, 2], &[500.0, 500.0]), (&[2, 3], &[2.0, 2.0]), (&[0, 2], &[500.0, 500.0])],
    );
    let next = inquire(&draws(&counts, 2), &settings(2, 3, Goal::Preferences));
    assert!(next.iter().all(|inquiry| inquiry.options.contains(&ids(&[3])[0])), "{next:?}");
    // 0 and 1 compete for the first place, 2 and 3 are far behind.
    let far = statistics(4, &[(&[0, 1], &[6.0, 5.0]), (&[1, 2], &[300.0, 1.0]), (&[2, 3], &[3.0, 3.0])]);
    let mut best = inquire(&draws(&far, 3), &settings(2, 1, Goal::Best)).remove(0).options;
    best.sort_unstable();
    assert_eq!(best, ids(&[0, 1]));
}

/// Presentations are all different, of the size asked for, never of what is excluded, and as many as there are.
#[test]
fn inquiries_are_different_and_as_asked() {
    let counts = statistics(6, &[(&[0, 1], &[3.0, 2.0]), (&[1, 2], &[1.0, 1.0])]);
    let draws = draws(&counts, 4);
    for (size, count, expected) in [(2, 20, 10), (3, 4, 4), (9, 3, 1)] {
        let settings = InquirySettings { excluded: ids(&[1]), ..settings(size, count, Goal::Preferences) };
        let found = inquire(&draws, &settings);
        println!("{size} {count}: {found:?}");
        assert_eq!(found.len(), expected);
        let mut sets: Vec<Vec<_>> = found.iter().map(|inquiry| inquiry.options.clone()).collect();
        sets.iter_mut().for_each(|set| set.sort_unstable());
        sets.sort();
        sets.dedup();
        assert_eq!(sets.len(), expected);
        assert!(sets.iter().all(|set| set.len() == size.min(5) && !set.contains(&ids(&[1])[0])));
        assert_eq!(found, inquire(&draws, &settings));
    }
    assert_eq!(inquire(&draws, &InquirySettings { excluded: ids(&[0, 1, 2, 3, 4]), ..settings(2, 1, Goal::Best) }), []);
}

/// Larger presentations tell more: a pair of these in one question each, or all at once.
#[test]
fn more_options_tell_more() {
    let draws = draws(&Statistics::new(8), 5);
    let gains: Vec<f64> = [2, 3, 5].map(|size| inquire(&draws, &settings(size, 1, Goal::Preferences))[0].gain).to_vec();
    println!("{gains:?}");
    assert!(gains.is_sorted_by(|x, y| x < y) && gains.iter().all(|&gain| gain > 0.0 && gain < 5.0_f64.ln()));
}

/// How far ahead option 0 is is hardly known, that it is ahead is certain: of the preferences its duels tell most, of the order those of
/// the two that nobody has compared enough.
#[test]
fn a_settled_order_is_not_asked_about() {
    let counts = statistics(3, &[(&[0, 1], &[25.0, 0.0]), (&[0, 2], &[25.0, 0.0]), (&[1, 2], &[20.0, 20.0])]);
    let draws = draws(&counts, 6);
    let mut order = inquire(&draws, &settings(2, 1, Goal::Order)).remove(0).options;
    order.sort_unstable();
    assert_eq!(order, ids(&[1, 2]));
    // Of three options never shown, the order of two tells what a duel of two tells: ln 2 − H(¾).
    let gain = inquire(&self::draws(&Statistics::new(2), 1), &settings(2, 1, Goal::Order))[0].gain;
    assert_eq!(gain, inquire(&self::draws(&Statistics::new(2), 1), &settings(2, 1, Goal::Best))[0].gain);
}

/// All twenty sets of three out of six are found, each once, for every goal.
#[test]
fn as_many_sets_as_there_are() {
    let counts = statistics(6, &[(&[0, 1], &[3.0, 2.0]), (&[1, 2], &[1.0, 1.0])]);
    for goal in [Goal::Preferences, Goal::Order, Goal::Best] {
        let found = inquire(&draws(&counts, 4), &settings(3, 25, goal));
        let sets: std::collections::BTreeSet<Vec<_>> = found
            .iter()
            .map(|inquiry| {
                let mut set = inquiry.options.clone();
                set.sort_unstable();
                set
            })
            .collect();
        assert_eq!((found.len(), sets.len()), (20, 20), "{goal:?}");
    }
}

/// A thousand options never shown, of which two stand for all: that the best is one of the others is not forgotten, so an answer
/// tells little of who it is: less than a part in a hundred of what it tells where these two are all there are.
#[test]
fn the_best_may_be_one_that_is_not_presented() {
    let gain = |n: usize| inquire(&draws(&Statistics::new(n), 7), &settings(2, 1, Goal::Best))[0].gain;
    let (two, many) = (gain(2), gain(1_000));
    println!("{two} {many}");
    assert!(many < 0.01 * two);
}
