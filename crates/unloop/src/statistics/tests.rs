use super::*;

fn ids(indices: &[u32]) -> Vec<OptionId> {
    indices.iter().copied().map(OptionId::new).collect()
}

fn id(index: u32) -> OptionId {
    OptionId::new(index)
}

#[test]
fn bad_input_is_named_and_changes_nothing() {
    let mut statistics = Statistics::new(3);
    statistics.record(ids(&[0, 1]), id(0), 2.0).unwrap();
    let before = statistics.clone();
    let refused: [(&[u32], u32, f64, StatisticsError); 7] = [
        (&[], 0, 1.0, PresentationError::Empty.into()),
        (&[0, 1], 2, 1.0, PresentationError::NotPresented { option: id(2) }.into()),
        (&[0, 1, 0], 0, 1.0, PresentationError::RepeatedOption { option: id(0) }.into()),
        (&[0, 7], 0, 1.0, StatisticsError::UnknownOption { option: id(7), option_count: 3 }),
        (&[0, 1], 0, -1.0, StatisticsError::Weight { weight: -1.0 }),
        (&[0, 1], 0, f64::INFINITY, StatisticsError::Weight { weight: f64::INFINITY }),
        (&[0, 1], 0, f64::MAX, StatisticsError::Overflow { recorded: 2.0, weight: f64::MAX }),
    ];
    statistics.record(ids(&[1, 2]), id(2), 0.0).unwrap();
    assert_eq!(statistics, before, "a weight of zero is nothing");
    for (members, chosen, weight, error) in refused {
        if weight == f64::MAX {
            // 2 + MAX rounds to MAX, so take it to the limit first.
            let mut full = statistics.clone();
            full.record(ids(members), id(chosen), f64::MAX).unwrap();
            assert!(matches!(
                full.record(ids(members), id(chosen), f64::MAX),
                Err(StatisticsError::Overflow { weight: f64::MAX, .. })
            ));
            continue;
        }
        assert_eq!(statistics.record(ids(members), id(chosen), weight), Err(error.clone()));
        assert_eq!(statistics.withdraw(ids(members), id(chosen), weight), Err(error));
    }
    assert!(matches!(statistics.record(ids(&[0, 1]), id(0), f64::NAN), Err(StatisticsError::Weight { .. })));
    assert!(matches!(statistics.scale(-0.5), Err(StatisticsError::Factor { factor: -0.5 })));
    assert!(matches!(statistics.scale(f64::NAN), Err(StatisticsError::Factor { .. })));
    assert_eq!(statistics, before);
}

#[test]
fn withdrawing_more_than_recorded_is_refused() {
    let mut statistics = Statistics::new(3);
    statistics.record(ids(&[0, 1]), id(0), 2.0).unwrap();
    statistics.record(ids(&[1, 2]), id(1), 1.0).unwrap();
    let before = statistics.clone();
    assert_eq!(
        statistics.withdraw(ids(&[0, 1]), id(0), 2.5),
        Err(StatisticsError::ChosenBelowZero { option: id(0), recorded: 2.0, weight: 2.5 })
    );
    let error = statistics.withdraw(ids(&[0, 2]), id(0), 1.0).unwrap_err();
    assert_eq!(error, StatisticsError::PresentedBelowZero { members: ids(&[0, 2]), recorded: 0.0, weight: 1.0 });
    assert_eq!(error.to_string(), "cannot withdraw 1 from presentation {#0, #2}, answered 0 times");
    assert_eq!(statistics, before);
    statistics.withdraw(ids(&[1, 2]), id(1), 1.0).unwrap();
    assert!(!statistics.is_explored(id(2)));
    assert_eq!(statistics.distinct(), 1);
}

#[test]
fn parts_of_a_tie_add_up_exactly() {
    let shown = Presentation::new(ids(&[0, 1, 2, 3])).unwrap();
    let tie = shown.tie(ids(&[0, 2, 3])).unwrap();
    let mut statistics = Statistics::new(4);
    statistics.record_choice(&tie, 1.0).unwrap();
    assert_eq!(statistics.all_chosen().iter().sum::<f64>(), 1.0);
    assert!(statistics.all_chosen().iter().all(|y| y / WEIGHT_UNIT == (y / WEIGHT_UNIT).floor()));
    assert!((statistics.chosen(id(2)) - 1.0 / 3.0).abs() <= WEIGHT_UNIT);
    statistics.withdraw_choice(&tie, 1.0).unwrap();
    assert_eq!(statistics, Statistics::new(4));
    assert!(statistics.is_empty());
    // A weight that is no multiple of the unit is divided as reals.
    statistics.record_choice(&tie, 0.1).unwrap();
    assert_eq!(statistics.chosen(id(0)), 0.1 / 3.0);
}

#[test]
fn forgetting_scales_and_zero_forgets_all() {
    let mut statistics = Statistics::new(3);
    statistics.record(ids(&[0, 1]), id(0), 3.0).unwrap();
    statistics.scale(0.5).unwrap();
    assert_eq!(statistics.chosen(id(0)), 1.5);
    assert_eq!(statistics.total(), 1.5);
    statistics.scale(0.0).unwrap();
    assert_eq!(statistics, Statistics::new(3));
    assert_eq!(statistics.explored().count(), 0);
}

#[test]
fn components_are_linked_by_presentations() {
    let mut statistics = Statistics::new(7);
    for set in [&[5, 3][..], &[0, 1], &[3, 4], &[6]] {
        statistics.record(ids(set), id(set[0]), 1.0).unwrap();
    }
    assert_eq!(statistics.components(), [ids(&[0, 1]), ids(&[3, 4, 5]), ids(&[6])]);
    assert_eq!(statistics.explored().collect::<Vec<_>>(), ids(&[0, 1, 3, 4, 5, 6]));
}

#[test]
fn margins_must_balance() {
    let balanced = Statistics::from_margins(&[1.5, 0.5, 0.0], [(ids(&[0, 1]), 2.0)]).unwrap();
    assert_eq!(balanced.chosen(id(0)), 1.5);
    let error = Statistics::from_margins(&[1.0, 0.5], [(ids(&[0, 1]), 2.0)]).unwrap_err();
    assert_eq!(error, StatisticsError::Unbalanced { chosen: 1.5, presented: 2.0 });
    assert!(matches!(Statistics::from_margins(&[f64::NAN], [(ids(&[0]), 1.0)]), Err(StatisticsError::Weight { .. })));
}

#[test]
fn withdrawn_presentations_are_dropped_in_the_end() {
    let mut statistics = Statistics::new(1_000);
    for i in 0..999 {
        statistics.record(ids(&[i, i + 1]), id(i), 1.0).unwrap();
    }
    let full = statistics.heap_bytes();
    for i in 0..990 {
        statistics.withdraw(ids(&[i, i + 1]), id(i), 1.0).unwrap();
    }
    assert_eq!(statistics.distinct(), 9);
    assert_eq!(statistics.iter().count(), 9);
    statistics.shrink_to_fit();
    assert!(statistics.heap_bytes() < full);
    assert_eq!(statistics.components().len(), 1);
}

/// A bad row among many: all before it are recorded, none after, and the error names its place; in any batch.
#[test]
fn many_choices_stop_at_the_first_bad_one() {
    for bad in [0, 5, 4_095, 4_096, 9_000] {
        let rows = (0..10_000).map(|i| (ids(&[i % 7, 7 + i % 5]), id(if i == bad { 50 } else { i % 7 }), 1.0));
        let mut statistics = Statistics::new(12);
        let error = statistics.record_all(rows).unwrap_err();
        assert_eq!(error, RowError { row: bad as usize, error: PresentationError::NotPresented { option: id(50) }.into() });
        assert_eq!(statistics.total(), f64::from(bad));
    }
    let mut statistics = Statistics::new(2);
    statistics.record_all(std::iter::empty::<(Vec<OptionId>, OptionId, f64)>()).unwrap();
    assert!(statistics.is_empty());
    // As many as make several blocks, and once more.
    let rows = || (0..200_000_u32).map(|i| (ids(&[i % 1_000, 1_000 + i / 1_000]), id(i % 1_000), 1.0));
    let mut many = Statistics::new(1_200);
    many.record_all(rows()).unwrap();
    many.record_all(rows()).unwrap();
    assert_eq!(many.distinct(), 200_000);
    assert!(many.iter().all(|(_, count)| count == 2.0));
    // At most 22 bytes and 4 for each member.
    assert!(many.heap_bytes() < 200_000 * 30 + 4_000_000, "{}", many.heap_bytes());
}
