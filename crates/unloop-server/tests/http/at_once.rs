//! Answers that come at the same moment.

use std::sync::Barrier;

use serde_json::{Value, json};

use crate::support::{Answer, Client, Own};

/// Two answers to one presentation, sent at once.
fn race(client: &Client, shown: &Answer, outcomes: [Value; 2]) -> [Answer; 2] {
    let start = Barrier::new(2);
    let [one, other] = outcomes;
    std::thread::scope(|scope| {
        let send = |outcome: Value| {
            let start = &start;
            scope.spawn(move || {
                start.wait();
                client.choose(shown, &outcome)
            })
        };
        let (one, other) = (send(one), send(other));
        [one.join().expect("an answer"), other.join().expect("an answer")]
    })
}

#[test]
fn of_two_outcomes_at_once_one_is_recorded_and_the_other_told() {
    let own = Own::new();
    let client = own.client();
    client.catalog("lunch", &["soup", "salad"]);
    let rounds = 20;
    for _ in 0..rounds {
        let shown = client.present("lunch", &json!({ "context": "ada" })).expect(201);
        let mut answers = race(&client, &shown, [json!({ "chosen": ["soup"] }), json!({ "chosen": ["salad"] })]);
        answers.sort_by_key(|answer| answer.status);
        let [taken, refused] = answers;
        let taken = taken.expect(200);
        assert_eq!(taken.body["repeated"], false);
        let refused = refused.refused(409, "conflict");
        assert_eq!(refused.body["recorded"]["chosen"], taken.body["chosen"]);
        assert_eq!(refused.body["seq"], taken.body["seq"]);
    }
    let rows = client.exported("lunch", "");
    assert_eq!(rows.len(), rounds);
    let times = |name: &str| rows.iter().filter(|row| row["chosen"] == json!([name])).count() as f64;
    let all = rounds as f64;
    client.assert_counts("lunch", "ada", all, &[("soup", all, times("soup")), ("salad", all, times("salad"))]);
}

#[test]
fn of_two_equal_outcomes_at_once_one_is_a_repeat() {
    let own = Own::new();
    let client = own.client();
    client.catalog("lunch", &["soup", "salad"]);
    for seq in 1..=20 {
        let shown = client.present("lunch", &json!({})).expect(201);
        let answers = race(&client, &shown, [json!({ "chosen": ["soup"] }), json!({ "chosen": ["soup"] })]);
        let repeated = answers.iter().filter(|&answer| answer.clone().expect(200).body["repeated"] == true).count();
        assert_eq!(repeated, 1);
        assert!(answers.iter().all(|answer| answer.body["seq"] == seq));
    }
    assert_eq!(client.exported("lunch", "").len(), 20);
}
