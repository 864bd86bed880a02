//! A presentation takes one outcome.

use serde_json::json;

use crate::support::Own;

#[test]
fn a_choice_is_recorded_once_and_repeated_with_the_first_answer() {
    let own = Own::new();
    let client = own.client();
    client.catalog("lunch", &["soup", "salad", "curry"]);
    let shown = client.present("lunch", &json!({ "context": "ada", "size": 2 })).expect(201);
    let [first, second] = [&shown.options()[0], &shown.options()[1]];
    let answer = client.choose(&shown, &json!({ "chosen": [first] })).expect(200);
    assert_eq!(answer.body, json!({ "id": shown.body["id"], "seq": 1, "chosen": [first], "repeated": false }));
    for _ in 0..3 {
        let again = client.choose(&shown, &json!({ "chosen": [first] })).expect(200);
        assert_eq!(again.body, json!({ "id": shown.body["id"], "seq": 1, "chosen": [first], "repeated": true }));
    }
    for context in ["ada", "all"] {
        client.assert_counts("lunch", context, 1.0, &[(first, 1.0, 1.0), (second, 1.0, 0.0)]);
    }
    client.assert_counts("lunch", "bob", 0.0, &[]);
    let rows = client.exported("lunch", "");
    assert_eq!(rows.len(), 1);
    assert_eq!((&rows[0]["id"], &rows[0]["chosen"], &rows[0]["context"]), (&shown.body["id"], &json!([first]), &json!("ada")));
}

#[test]
fn the_same_outcome_in_another_order_is_the_same() {
    let own = Own::new();
    let client = own.client();
    client.catalog("lunch", &["soup", "salad", "curry"]);
    let shown = client.present("lunch", &json!({})).expect(201);
    let options = shown.options();
    client.choose(&shown, &json!({ "chosen": [options[0], options[2]] })).expect(200);
    let again = client.choose(&shown, &json!({ "chosen": [options[2], options[0]] })).expect(200);
    assert_eq!((&again.body["repeated"], &again.body["seq"]), (&json!(true), &json!(1)));
    assert_eq!(client.exported("lunch", "").len(), 1);
}

#[test]
fn another_outcome_is_told_what_is_recorded() {
    let own = Own::new();
    let client = own.client();
    client.catalog("lunch", &["soup", "salad"]);
    let shown = client.present("lunch", &json!({ "context": "ada" })).expect(201);
    let [first, second] = [&shown.options()[0], &shown.options()[1]];
    client.choose(&shown, &json!({ "chosen": [first] })).expect(200);
    for other in [
        json!({ "chosen": [second] }),
        json!({ "chosen": [first, second] }),
        json!({ "tied": [first, second] }),
        json!({ "none": true }),
    ] {
        let refused = client.choose(&shown, &other).refused(409, "conflict");
        assert_eq!((&refused.body["recorded"], &refused.body["seq"]), (&json!({ "chosen": [first] }), &json!(1)), "{other}");
        assert_eq!(refused.body["withdrawn"], false);
    }
    client.assert_counts("lunch", "all", 1.0, &[(first, 1.0, 1.0), (second, 1.0, 0.0)]);
    assert_eq!(client.exported("lunch", "").len(), 1);
}

#[test]
fn a_repeat_is_known_after_a_restart() {
    let mut own = Own::new();
    let client = own.client();
    client.catalog("lunch", &["soup", "salad"]);
    let shown = client.present("lunch", &json!({ "context": "ada" })).expect(201);
    let [first, second] = [&shown.options()[0], &shown.options()[1]];
    client.choose(&shown, &json!({ "chosen": [first] })).expect(200);
    own.restart();
    let client = own.client();
    let again = client.choose(&shown, &json!({ "chosen": [first] })).expect(200);
    assert_eq!(again.body, json!({ "id": shown.body["id"], "seq": 1, "chosen": [first], "repeated": true }));
    client.choose(&shown, &json!({ "chosen": [second] })).refused(409, "conflict");
    for context in ["ada", "all"] {
        client.assert_counts("lunch", context, 1.0, &[(first, 1.0, 1.0), (second, 1.0, 0.0)]);
    }
}

#[test]
fn a_presentation_from_before_a_restart_can_be_answered() {
    let mut own = Own::new();
    let client = own.client();
    client.catalog("lunch", &["soup", "salad"]);
    let late = client.present("lunch", &json!({ "context": "ada" })).expect(201);
    let other = client.present("lunch", &json!({ "context": "ada" })).expect(201);
    let [first, second] = [&late.options()[0], &late.options()[1]];
    client.choose(&other, &json!({ "chosen": [first] })).expect(200);
    own.restart();
    let client = own.client();
    let answer = client.choose(&late, &json!({ "chosen": [second] })).expect(200);
    assert_eq!((&answer.body["seq"], &answer.body["repeated"]), (&json!(2), &json!(false)));
    client.assert_counts("lunch", "ada", 2.0, &[(first, 2.0, 1.0), (second, 2.0, 1.0)]);
}

#[test]
fn silence_changes_nothing() {
    let own = Own::new();
    let client = own.client();
    client.catalog("lunch", &["soup", "salad"]);
    let before = client.get("/v1/catalogs/lunch/ranking?context=ada").expect(200);
    for _ in 0..5 {
        client.present("lunch", &json!({ "context": "ada" })).expect(201);
    }
    client.assert_nothing_recorded("lunch");
    let after = client.get("/v1/catalogs/lunch/ranking?context=ada").expect(200);
    assert_eq!(before.body["rows"], after.body["rows"]);
    assert_eq!(client.get("/v1/catalogs/lunch/contexts").expect(200).body["rows"], json!([]));
}
