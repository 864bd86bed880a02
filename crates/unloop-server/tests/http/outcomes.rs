//! What each kind of outcome counts for.

use serde_json::{Value, json};

use crate::support::{Client, Own};

fn none_of(client: &Client) -> Value {
    client.get("/v1/catalogs/lunch/ranking?context=ada").expect(200).body["none"].clone()
}

#[test]
fn none_is_a_choice_where_choosing_nothing_is_an_option() {
    let own = Own::new();
    let client = own.client();
    client.put("/v1/catalogs/lunch", &json!({ "options": ["soup", "salad"], "no_choice": true })).expect(201);
    assert_eq!(none_of(&client)["chosen"], 0.0);
    let shown = client.present("lunch", &json!({ "context": "ada" })).expect(201);
    let answer = client.choose(&shown, &json!({ "none": true })).expect(200);
    assert_eq!(answer.body, json!({ "id": shown.body["id"], "seq": 1, "none": true, "repeated": false }));
    client.assert_counts("lunch", "ada", 1.0, &[("soup", 1.0, 0.0), ("salad", 1.0, 0.0)]);
    assert_eq!(none_of(&client)["chosen"], 1.0);
    let row = &client.exported("lunch", "")[0];
    assert_eq!((&row["chosen"], &row["declinable"]), (&Value::Null, &json!(true)));
}

#[test]
fn none_counts_for_nothing_elsewhere() {
    let own = Own::new();
    let client = own.client();
    client.catalog("lunch", &["soup", "salad"]);
    let before = client.get("/v1/catalogs/lunch/ranking?context=ada").expect(200).body["rows"].clone();
    let shown = client.present("lunch", &json!({ "context": "ada" })).expect(201);
    client.choose(&shown, &json!({ "none": true })).expect(200);
    let again = client.choose(&shown, &json!({ "none": true })).expect(200);
    assert_eq!((&again.body["repeated"], &again.body["none"]), (&json!(true), &json!(true)));
    client.choose(&shown, &json!({ "chosen": ["soup"] })).refused(409, "conflict");
    client.assert_counts("lunch", "ada", 0.0, &[]);
    assert_eq!(client.get("/v1/catalogs/lunch/ranking?context=ada").expect(200).body["rows"], before);
    let rows = client.exported("lunch", "");
    assert_eq!((rows.len(), &rows[0]["chosen"], &rows[0]["declinable"]), (1, &Value::Null, &Value::Null));
    assert_eq!(none_of(&client), Value::Null);
}

/// Settings never change what an old presentation means.
#[test]
fn whether_none_is_a_choice_was_settled_when_it_was_presented() {
    let own = Own::new();
    let client = own.client();
    client.catalog("lunch", &["soup", "salad"]);
    let without = client.present("lunch", &json!({ "context": "ada" })).expect(201);
    client.patch("/v1/catalogs/lunch", &json!({ "no_choice": true })).expect(200);
    let with = client.present("lunch", &json!({ "context": "ada" })).expect(201);
    client.choose(&without, &json!({ "none": true })).expect(200);
    client.assert_counts("lunch", "ada", 0.0, &[]);
    assert_eq!(none_of(&client)["chosen"], 0.0);
    client.choose(&with, &json!({ "none": true })).expect(200);
    client.assert_counts("lunch", "ada", 1.0, &[("soup", 1.0, 0.0), ("salad", 1.0, 0.0)]);
    assert_eq!(none_of(&client)["chosen"], 1.0);
}

#[test]
fn several_choices_count_one_each() {
    let own = Own::new();
    let client = own.client();
    client.catalog("lunch", &["soup", "salad", "curry"]);
    let shown = client.present("lunch", &json!({ "context": "ada" })).expect(201);
    let answer = client.choose(&shown, &json!({ "chosen": ["soup", "curry"] })).expect(200);
    let mut chosen: Vec<String> = serde_json::from_value(answer.body["chosen"].clone()).expect("names");
    chosen.sort();
    assert_eq!(chosen, ["curry", "soup"]);
    client.assert_counts("lunch", "ada", 2.0, &[("soup", 2.0, 1.0), ("salad", 2.0, 0.0), ("curry", 2.0, 1.0)]);
}

#[test]
fn a_tie_is_one_choice_in_equal_parts() {
    let own = Own::new();
    let client = own.client();
    client.catalog("lunch", &["soup", "salad", "curry", "tart"]);
    let shown = client.present("lunch", &json!({ "context": "ada" })).expect(201);
    let answer = client.choose(&shown, &json!({ "tied": ["soup", "curry"] })).expect(200);
    assert_eq!(answer.body["chosen"], Value::Null);
    let half = [("soup", 1.0, 0.5), ("salad", 1.0, 0.0), ("curry", 1.0, 0.5), ("tart", 1.0, 0.0)];
    client.assert_counts("lunch", "ada", 1.0, &half);
    let row = &client.exported("lunch", "")[0];
    assert_eq!((row["tied"].as_array().map(Vec::len), &row["chosen"]), (Some(2), &Value::Null));
}

/// A third is no multiple of 2⁻²⁰; all of them together are still one choice.
#[test]
fn a_tie_of_three_is_one_choice_all_in_all() {
    let own = Own::new();
    let client = own.client();
    client.catalog("lunch", &["soup", "salad", "curry"]);
    let shown = client.present("lunch", &json!({ "context": "ada" })).expect(201);
    client.choose(&shown, &json!({ "tied": ["soup", "curry", "salad"] })).expect(200);
    let counts = client.counted("lunch", "ada");
    let chosen: Vec<f64> = counts.options.iter().map(|&(_, _, chosen)| chosen).collect();
    assert_eq!((counts.presentations, chosen.iter().sum::<f64>()), (1.0, 1.0));
    assert!(chosen.iter().all(|part| (part - 1.0 / 3.0).abs() < 2e-6), "{chosen:?}");
}

#[test]
fn an_outcome_is_one_of_three_and_names_what_was_presented() {
    let own = Own::new();
    let client = own.client();
    client.catalog("lunch", &["soup", "salad"]);
    let shown = client.present("lunch", &json!({})).expect(201);
    let refused = [
        (json!({}), "chosen"),
        (json!({ "none": false }), "chosen"),
        (json!({ "chosen": [] }), "chosen"),
        (json!({ "tied": [] }), "tied"),
        (json!({ "chosen": ["soup"], "none": true }), "chosen"),
        (json!({ "chosen": ["soup"], "tied": ["salad"] }), "chosen"),
        (json!({ "chosen": ["soup", "soup"] }), "chosen"),
        (json!({ "tied": ["soup", "soup"] }), "tied"),
        (json!({ "chosen": ["soup", "curry"] }), "chosen[1]"),
        (json!({ "tied": ["Soup"] }), "tied[0]"),
        (json!({ "chosen": "soup" }), "chosen"),
        (json!({ "chosen": [1] }), "chosen[0]"),
        (json!({ "none": "yes" }), "none"),
    ];
    for (outcome, field) in refused {
        assert_eq!(client.choose(&shown, &outcome).refused(422, "invalid").body["field"], field, "{outcome}");
    }
    client.assert_nothing_recorded("lunch");
}
