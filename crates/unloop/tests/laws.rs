//! Laws that hold for every prior and every choices, under random inputs.

mod support;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use support::{distance, ids, set};
use unloop::carlson::ln_r;
use unloop::{Basis, Method, OptionId, Posterior, Presentation, Prior, Statistics};

/// One choice: members, which of them, weight in units of 2⁻²⁰.
type Row = (Vec<u32>, usize, u32);

fn rows(options: u32, largest: usize, most: usize) -> impl Strategy<Value = Vec<Row>> {
    let members = proptest::sample::subsequence((0..options).collect::<Vec<_>>(), 1..=largest);
    proptest::collection::vec((members, any::<prop::sample::Index>(), 1_u32..5_000_000), 0..most).prop_map(|rows| {
        rows.into_iter().map(|(members, index, units)| (members.clone(), index.index(members.len()), units)).collect()
    })
}

/// The same inputs in every run.
fn fixed(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, rng_seed: RngSeed::Fixed(2026), ..ProptestConfig::default() }
}

fn weight(units: u32) -> f64 {
    f64::from(units) * unloop::WEIGHT_UNIT
}

fn record(statistics: &mut Statistics, (members, chosen, units): &Row) {
    statistics.record(ids(members), OptionId::new(members[*chosen]), weight(*units)).unwrap();
}

fn recorded<'a>(options: usize, rows: impl IntoIterator<Item = &'a Row>) -> Statistics {
    let mut statistics = Statistics::new(options);
    for row in rows {
        record(&mut statistics, row);
    }
    statistics
}

/// Presentations with their counts, in canonical order.
fn columns(statistics: &Statistics) -> Vec<(Presentation, f64)> {
    let entries = statistics.canonical().into_iter();
    entries.map(|(members, count)| (Presentation::new(members.to_vec()).unwrap(), count)).collect()
}

/// The posterior of a symmetric prior and choices, as a prior for more of them.
fn as_prior(alpha: f64, statistics: &Statistics) -> Prior {
    let option_count = statistics.option_count() as u32;
    let mut beta = columns(statistics);
    beta.push((set(&(0..option_count).collect::<Vec<_>>()), f64::from(option_count) * alpha));
    Prior::general(statistics.all_chosen().iter().map(|y| alpha + y).collect::<Vec<_>>(), beta).unwrap()
}

fn close(x: f64, y: f64, tolerance: f64) -> bool {
    (x - y).abs() <= tolerance * (1.0 + x.abs().max(y.abs()))
}

/// Statistics as bits: y, then every presentation with its count, in canonical order.
fn bits(statistics: &Statistics) -> (Vec<u64>, Vec<(Vec<OptionId>, u64)>) {
    let chosen = statistics.all_chosen().iter().map(|y| y.to_bits()).collect();
    (chosen, statistics.canonical().into_iter().map(|(members, count)| (members.to_vec(), count.to_bits())).collect())
}

proptest! {
    #![proptest_config(fixed(300))]

    /// Recording in any order, in one go or merged from parts, and withdrawing what was too much: the same to the bit.
    #[test]
    fn sums_are_exact_in_any_order(
        rows in rows(6, 4, 40),
        shuffle in any::<u64>(),
        cut in any::<prop::sample::Index>(),
        extra in rows(6, 4, 10),
        ties in proptest::collection::vec((proptest::sample::subsequence((0..6_u32).collect::<Vec<_>>(), 1..=5), 1_u32..9), 0..5),
    ) {
        let mut plain = recorded(6, &rows);
        for (members, units) in &ties {
            let tie = set(members).tie(ids(&members[..members.len().div_ceil(2)])).unwrap();
            plain.record_choice(&tie, weight(*units)).unwrap();
        }
        let mut order: Vec<&Row> = rows.iter().collect();
        // A permutation by a multiplier: enough to differ from the order given.
        order.sort_by_key(|row| (shuffle ^ u64::from(row.2)).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let (left, right) = order.split_at(cut.index(order.len() + 1));
        let mut merged = recorded(6, extra.iter().chain(left.iter().copied()));
        for (members, units) in ties.iter().rev() {
            let tie = set(members).tie(ids(&members[..members.len().div_ceil(2)])).unwrap();
            merged.record_choice(&tie, weight(*units)).unwrap();
        }
        merged.merge(&recorded(6, right.iter().copied())).unwrap();
        for (members, chosen, units) in &extra {
            merged.withdraw(ids(members), OptionId::new(members[*chosen]), weight(*units)).unwrap();
        }
        prop_assert_eq!(bits(&plain), bits(&merged));
        prop_assert_eq!(plain.explored().collect::<Vec<_>>(), merged.explored().collect::<Vec<_>>());
        prop_assert_eq!(plain.components(), merged.components());
        prop_assert!(plain == merged);
        // Σy = Σμ, hence Σα + Σy = Σβ + Σμ with β₀.
        prop_assert_eq!(plain.all_chosen().iter().sum::<f64>(), plain.total());
        // Many at once, as one by one.
        let mut many = Statistics::new(6);
        let row = |row: &Row| (ids(&row.0), OptionId::new(row.0[row.1]), weight(row.2));
        many.record_all(rows.iter().map(row)).unwrap();
        prop_assert_eq!(bits(&many), bits(&recorded(6, &rows)));
    }

    /// The posterior of a posterior: choices in two batches, the first one's exponents as the prior of the second.
    #[test]
    fn sequential_is_batch(first in rows(4, 3, 8), second in rows(4, 3, 8), eta in proptest::collection::vec(-3.0..3.0, 4)) {
        let prior = Prior::symmetric(0.8).unwrap();
        let batch = Posterior::new(&prior, &recorded(4, first.iter().chain(&second))).unwrap();
        let once = recorded(4, &first);
        let updated = as_prior(0.8, &once);
        let sequential = Posterior::new(&updated, &recorded(4, &second)).unwrap();
        let (x, y) = (batch.ln_density(Basis::Log, &eta).unwrap(), sequential.ln_density(Basis::Log, &eta).unwrap());
        prop_assert!(close(x, y, 1e-10), "{} {}", x, y);
        prop_assert!(distance(&batch.gradient(Basis::Log, &eta).unwrap(), &sequential.gradient(Basis::Log, &eta).unwrap()) < 1e-9);
        let (x, y) = (batch.map(Basis::Log).unwrap().theta, sequential.map(Basis::Log).unwrap().theta);
        prop_assert!(distance(&x, &y) < 1e-8);
    }

    /// Renaming options renames the answer, and the order of events does not matter.
    #[test]
    fn relabelling_permutes_and_order_is_irrelevant(rows in rows(5, 4, 12), rotate in 1_u32..5) {
        let rename = |k: u32| (k * 2 + rotate) % 5;
        let alpha = [0.5, 1.0, 1.5, 2.0, 0.7];
        let mut renamed_alpha = [0.0; 5];
        for k in 0..5_u32 {
            renamed_alpha[rename(k) as usize] = alpha[k as usize];
        }
        let renamed: Vec<Row> =
            rows.iter().rev().map(|(members, chosen, units)| (members.iter().map(|&k| rename(k)).collect(), *chosen, *units)).collect();
        let plain = Posterior::new(&Prior::per_option(alpha).unwrap(), &recorded(5, &rows)).unwrap();
        let other = Posterior::new(&Prior::per_option(renamed_alpha).unwrap(), &recorded(5, &renamed)).unwrap();
        let (x, y) = (plain.map(Basis::Log).unwrap().theta, other.map(Basis::Log).unwrap().theta);
        for k in 0..5_u32 {
            prop_assert!((x[k as usize] - y[rename(k) as usize]).abs() < 1e-9);
        }
        let (x, y) = (plain.laplace().unwrap(), other.laplace().unwrap());
        prop_assert!(close(x.ln_evidence, y.ln_evidence, 1e-9));
        prop_assert!((x.covariance.get(0, 1).unwrap() - y.covariance.get(rename(0) as usize, rename(1) as usize).unwrap()).abs() < 1e-7);
    }

    /// Gradient and Hessian against differences, in both bases.
    #[test]
    fn derivatives_are_differences(rows in rows(4, 4, 10), eta in proptest::collection::vec(-2.0..2.0, 4)) {
        let posterior = Posterior::new(&Prior::per_option([0.6, 1.0, 1.7, 2.2]).unwrap(), &recorded(4, &rows)).unwrap();
        let step = 1e-5;
        for basis in [Basis::Log, Basis::Simplex] {
            let total: f64 = eta.iter().map(|x: &f64| x.exp()).sum();
            let point: Vec<f64> = match basis {
                Basis::Log => eta.clone(),
                Basis::Simplex => eta.iter().map(|x| x.exp() / total).collect(),
            };
            let gradient = posterior.gradient(basis, &point).unwrap();
            let hessian = posterior.hessian(basis, &point).unwrap();
            // On the simplex only moves that keep the sum are inside: from one option to the next.
            for k in 0..4 {
                let other = (k + 1) % 4;
                let moved = |t: f64| {
                    let mut moved = point.clone();
                    let size = if basis == Basis::Simplex { t * point[k].min(point[other]) } else { t };
                    moved[k] += size;
                    moved[other] -= size;
                    (moved, size)
                };
                let ((up, size), (down, _)) = (moved(step), moved(-step));
                let value = |point: &[f64]| posterior.ln_density(basis, point).unwrap();
                let slope = (value(&up) - value(&down)) / (2.0 * size);
                prop_assert!(close(slope, gradient[k] - gradient[other], 1e-5), "{:?} {} {}", basis, slope, gradient[k] - gradient[other]);
                let change: Vec<f64> = posterior.gradient(basis, &up).unwrap().iter()
                    .zip(posterior.gradient(basis, &down).unwrap()).map(|(up, down)| (up - down) / (2.0 * size)).collect();
                let mut direction = vec![0.0; 4];
                direction[k] = 1.0;
                direction[other] = -1.0;
                let product = posterior.hessian_product(basis, &point, &direction).unwrap();
                for j in 0..4 {
                    let entry = hessian.get(j, k).unwrap() - hessian.get(j, other).unwrap();
                    prop_assert!(close(entry, change[j], 1e-4), "{:?} {} {}", basis, entry, change[j]);
                    prop_assert!(close(entry, product[j], 1e-10));
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(fixed(40))]

    /// Lemma 3: options never presented keep their prior, one by one and as a group, whatever happens to the others.
    #[test]
    fn unexplored_options_keep_their_prior(rows in rows(3, 3, 12), alpha in proptest::collection::vec(0.3..3.0, 5)) {
        let posterior = Posterior::new(&Prior::per_option(alpha.clone()).unwrap(), &recorded(5, &rows)).unwrap();
        let total: f64 = alpha.iter().sum();
        let moments = posterior.moments().unwrap();
        let best = posterior.map(Basis::Log).unwrap();
        for k in [3, 4] {
            let (a, rest) = (alpha[k], total - alpha[k]);
            prop_assert!(close(moments.mean[k], a / total, 1e-14));
            prop_assert!(close(moments.variance[k], a * rest / (total * total * (total + 1.0)), 1e-13));
            prop_assert!(close(best.theta[k], a / total, 1e-14));
        }
        // The pair against each other, and the group against all the rest.
        let pair = posterior.predict(&set(&[3, 4])).unwrap();
        prop_assert!(close(pair.probabilities[0], alpha[3] / (alpha[3] + alpha[4]), 1e-14));
        prop_assert!(close(moments.mean[3] + moments.mean[4], (alpha[3] + alpha[4]) / total, 1e-14));
        prop_assert!(close(moments.mean.iter().sum::<f64>(), 1.0, 1e-8));
    }

    /// Predictive probabilities add up to one and are ratios of evidences.
    #[test]
    fn predictive_is_a_ratio_of_evidences(rows in rows(4, 3, 8), members in proptest::sample::subsequence(vec![0_u32, 1, 2, 3], 2..=4)) {
        let prior = Prior::per_option([1.0, 0.7, 1.4, 2.0]).unwrap();
        let before = recorded(4, &rows);
        let posterior = Posterior::new(&prior, &before).unwrap();
        let prediction = posterior.predict(&set(&members)).unwrap();
        prop_assert!(prediction.method < Method::ImportanceSampling);
        prop_assert!(close(prediction.probabilities.iter().sum(), 1.0, 1e-9));
        let evidence = posterior.ln_evidence().unwrap().ln_value;
        let mut after = before.clone();
        after.record(ids(&members), OptionId::new(members[0]), 1.0).unwrap();
        let next = Posterior::new(&prior, &after).unwrap().ln_evidence().unwrap().ln_value;
        prop_assert!(close((next - evidence).exp(), prediction.probabilities[0], 1e-8), "{} {}", (next - evidence).exp(), prediction.probabilities[0]);
    }

    /// Lemma 1: columns of weight zero drop out. Lemma 2: R(a, Z, b) = R(b, Zᵀ, a).
    #[test]
    fn r_drops_zero_columns_and_is_dual(
        rows in rows(4, 3, 6),
        zero in proptest::sample::subsequence(vec![0_u32, 1, 2, 3], 1..=4),
        alpha in proptest::collection::vec(0.5..2.0, 4),
    ) {
        let statistics = recorded(4, &rows);
        let a: Vec<f64> = alpha.iter().zip(statistics.all_chosen()).map(|(alpha, y)| alpha + y).collect();
        let mut columns = columns(&statistics);
        columns.push((set(&[0, 1, 2, 3]), alpha.iter().sum()));
        let r = ln_r(&a, &columns).unwrap();
        let mut wider = columns.clone();
        wider.insert(0, (set(&zero), 0.0));
        prop_assert_eq!(ln_r(&a, &wider).unwrap(), r);
        // Columns become options: b is the parameter, and each old option a column of those that held it.
        let b: Vec<f64> = columns.iter().map(|(_, b)| *b).collect();
        let transposed: Vec<(Presentation, f64)> = (0..4)
            .map(|k| {
                let holders = (0..columns.len() as u32).filter(|&c| columns[c as usize].0.contains(OptionId::new(k)));
                (Presentation::new(holders.map(OptionId::new)).unwrap(), a[k as usize])
            })
            .collect();
        let dual = ln_r(&b, &transposed).unwrap();
        let allowed = if dual.method == Method::ImportanceSampling { 6.0 * dual.error } else { 1e-8 };
        prop_assert!((dual.ln_value - r.ln_value).abs() < allowed + 1e-8, "{:?} {:?}", r, dual);
    }

    /// The chain rule of evidence through a general β: p(both) = p(first) · p(second | first).
    #[test]
    fn evidence_follows_the_chain_rule(first in rows(4, 3, 4), second in rows(4, 3, 4)) {
        let prior = Prior::symmetric(0.8).unwrap();
        let once = recorded(4, &first);
        let updated = as_prior(0.8, &once);
        let evidence = |prior: &Prior, statistics: &Statistics| Posterior::new(prior, statistics).unwrap().ln_evidence().unwrap();
        let both = evidence(&prior, &recorded(4, first.iter().chain(&second)));
        let (one, two) = (evidence(&prior, &once), evidence(&updated, &recorded(4, &second)));
        prop_assert!(both.method < Method::ImportanceSampling);
        prop_assert!(close(both.ln_value, one.ln_value + two.ln_value, 1e-8), "{:?} {:?} {:?}", both, one, two);
    }
}

/// Other numbers, the same counts: and back again to the bit.
#[test]
fn renumbered_counts_are_the_same_counts() {
    let ids = [0, 1, 2].map(OptionId::new);
    let mut statistics = Statistics::new(3);
    statistics.record([ids[0], ids[2]], ids[2], 0.5).unwrap();
    statistics.record([ids[0], ids[1], ids[2]], ids[1], 2.0).unwrap();
    let turned = statistics.renumbered(5, |option| OptionId::new(4 - option.index() as u32)).unwrap();
    assert_eq!((turned.option_count(), turned.chosen(OptionId::new(2)), turned.total()), (5, 0.5, 2.5));
    assert_eq!(turned.presented(&Presentation::new([OptionId::new(4), OptionId::new(2)]).unwrap()), 0.5);
    assert_eq!(
        turned.renumbered(5, |option| OptionId::new(4 - option.index() as u32)).unwrap().canonical(),
        statistics.canonical()
    );
    assert!(statistics.renumbered(2, |option| option).is_err());
    assert!(statistics.renumbered(3, |_| OptionId::new(0)).is_err());
}
