//! Many choices at once.

use serde_json::{Value, json};

use crate::support::{Client, Own};

fn import(client: &Client, rows: &Value) -> Vec<Value> {
    let answer = client.post("/v1/catalogs/lunch/choices", &json!({ "rows": rows })).expect(200);
    answer.body["rows"].as_array().expect("rows").clone()
}

fn statuses(rows: &[Value]) -> Vec<&str> {
    rows.iter().filter_map(|row| row["status"].as_str()).collect()
}

#[test]
fn bad_rows_keep_no_good_ones_back() {
    let own = Own::new();
    let client = own.client();
    client.catalog("lunch", &["soup", "salad"]);
    let set = json!(["soup", "salad"]);
    let long = "x".repeat(513);
    let refused = [
        (json!({ "presented": set, "chosen": ["soup"] }), "id"),
        (json!({ "id": "a", "chosen": ["soup"] }), "presented"),
        (json!({ "id": "b", "presented": set }), "chosen"),
        (json!({ "id": "c", "presented": set, "chosen": ["curry"] }), "chosen[0]"),
        (json!({ "id": "d", "presented": [], "none": true }), "presented"),
        (json!({ "id": "f", "presented": set, "chosen": ["soup"], "weight": -1 }), "weight"),
        (json!({ "id": "g", "presented": set, "chosen": ["soup"], "weight": 1e12 }), "weight"),
        (json!({ "id": "h", "presented": set, "chosen": ["soup"], "time": "yesterday" }), "time"),
        (json!({ "id": "i", "presented": set, "chosen": ["soup"], "context": "a\u{7}" }), "context"),
        (json!({ "id": "", "presented": set, "chosen": ["soup"] }), "id"),
        (json!({ "id": long, "presented": set, "chosen": ["soup"] }), "id"),
        (json!({ "id": "j", "presented": (0..1_001).map(|i| i.to_string()).collect::<Vec<_>>(), "chosen": ["1"] }), "presented"),
        (json!({ "id": "k", "presented": ["a\nb", "soup"], "chosen": ["soup"] }), "presented"),
    ];
    let unshaped = [
        json!(7),
        json!(null),
        json!([]),
        json!({ "id": "l", "presented": set, "chosen": ["soup"], "clicked": 1 }),
        json!({ "id": 7 }),
    ];
    let mut rows = vec![json!({ "id": "first", "presented": set, "chosen": ["soup"] })];
    rows.extend(refused.iter().map(|(row, _)| row.clone()));
    rows.extend(unshaped);
    rows.push(json!({ "id": "last", "presented": set, "chosen": ["salad"], "context": "ada", "weight": 2, "time": "2019-03-01T12:00:00Z" }));
    let answers = import(&client, &json!(rows));
    assert_eq!(answers.len(), rows.len());
    assert_eq!(statuses(&answers)[1..rows.len() - 1], vec!["refused"; rows.len() - 2]);
    for ((_, field), answer) in refused.iter().zip(&answers[1..]) {
        assert_eq!((&answer["problem"]["status"], &answer["problem"]["field"]), (&json!(422), &json!(field)), "{answer}");
    }
    assert_eq!(answers[0], json!({ "id": "first", "status": "recorded", "seq": 1 }));
    assert_eq!(answers[rows.len() - 1], json!({ "id": "last", "status": "recorded", "seq": 2 }));
    client.assert_counts("lunch", "all", 3.0, &[("soup", 3.0, 1.0), ("salad", 3.0, 2.0)]);
    client.assert_counts("lunch", "ada", 2.0, &[("soup", 2.0, 0.0), ("salad", 2.0, 2.0)]);
    let exported = client.exported("lunch", "");
    assert_eq!((exported.len(), &exported[1]["time"]), (2, &json!("2019-03-01T12:00:00Z")));
}

#[test]
fn an_option_that_was_presented_twice_is_told_as_such() {
    let own = Own::new();
    let client = own.client();
    client.catalog("lunch", &["soup", "salad"]);
    let rows = import(&client, &json!([{ "id": "a", "presented": ["soup", "salad", "soup"], "chosen": ["soup"] }]));
    assert_eq!((&rows[0]["status"], &rows[0]["problem"]["field"]), (&json!("refused"), &json!("presented")), "{}", rows[0]);
    client.assert_nothing_recorded("lunch");
}

#[test]
fn an_import_is_recorded_once() {
    let mut own = Own::new();
    let client = own.client();
    client.catalog("lunch", &["soup", "salad"]);
    let row = |id: &str, chosen: &str, context: &str| json!({ "id": id, "context": context, "presented": ["soup", "salad"], "chosen": [chosen], "weight": 0.1 });
    let rows = json!([row("a", "soup", "ada"), row("b", "salad", "bob"), row("a", "soup", "ada"), row("b", "soup", "bob")]);
    let first = import(&client, &rows);
    assert_eq!(statuses(&first), ["recorded", "recorded", "repeated", "conflict"]);
    assert_eq!((&first[2]["seq"], &first[3]["seq"]), (&json!(1), &json!(2)));
    assert_eq!(
        (&first[3]["problem"]["recorded"], &first[3]["problem"]["status"]),
        (&json!({ "chosen": ["salad"] }), &json!(409))
    );
    let counts = client.counted("lunch", "all");
    own.restart();
    let client = own.client();
    let again = import(&client, &rows);
    assert_eq!(statuses(&again), ["repeated", "repeated", "repeated", "conflict"]);
    let others =
        [row("a", "soup", "eve"), json!({ "id": "a", "context": "ada", "presented": ["soup", "salad"], "chosen": ["soup"] })];
    assert_eq!(statuses(&import(&client, &json!(others))), ["conflict", "conflict"], "of another context, of another weight");
    assert_eq!(client.counted("lunch", "all"), counts);
    assert_eq!(client.exported("lunch", "").len(), 2);
    assert_eq!(
        client.get("/v1/catalogs/lunch/contexts").expect(200).body["rows"],
        json!([{ "context": "ada" }, { "context": "bob" }])
    );
}

#[test]
fn ids_of_presentations_and_of_imports_do_not_meet() {
    let own = Own::new();
    let client = own.client();
    client.catalog("lunch", &["soup", "salad"]);
    let shown = client.present("lunch", &json!({})).expect(201);
    let row = json!([{ "id": shown.body["id"], "presented": ["soup", "salad"], "chosen": ["salad"] }]);
    assert_eq!(statuses(&import(&client, &row)), ["recorded"]);
    client.choose(&shown, &json!({ "chosen": ["soup"] })).expect(200);
    client.assert_counts("lunch", "all", 2.0, &[("soup", 2.0, 1.0), ("salad", 2.0, 1.0)]);
}

#[test]
fn all_is_nobody_in_particular() {
    let own = Own::new();
    let client = own.client();
    client.catalog("lunch", &["soup", "salad"]);
    let row = json!([{ "id": "a", "context": "all", "presented": ["soup", "salad"], "chosen": ["salad"] }]);
    assert_eq!(statuses(&import(&client, &row)), ["recorded"]);
    let shown = client.present("lunch", &json!({ "context": "all" })).expect(201);
    client.choose(&shown, &json!({ "chosen": ["soup"] })).expect(200);
    assert!(client.exported("lunch", "").iter().all(|row| row["context"].is_null()));
    client.assert_counts("lunch", "all", 2.0, &[("soup", 2.0, 1.0), ("salad", 2.0, 1.0)]);
    assert_eq!(client.get("/v1/catalogs/lunch/contexts").expect(200).body["rows"], json!([]));
}

#[test]
fn late_answers_by_token_come_with_imports() {
    let own = Own::new();
    let client = own.client();
    client.catalog("lunch", &["soup", "salad"]);
    let shown = client.present("lunch", &json!({ "context": "ada" })).expect(201);
    let token = &shown.body["token"];
    let rows = import(
        &client,
        &json!([
            { "token": token, "chosen": ["soup"] },
            { "id": "a", "presented": ["soup", "salad"], "chosen": ["salad"] },
            { "token": token, "id": "b", "chosen": ["soup"] },
            { "token": token, "weight": 2, "chosen": ["soup"] },
            { "token": token, "chosen": ["tart"] },
            { "token": token, "chosen": ["soup"] },
            { "token": token, "none": true },
        ]),
    );
    assert_eq!(statuses(&rows), ["recorded", "recorded", "refused", "refused", "refused", "repeated", "conflict"]);
    assert_eq!((&rows[0]["id"], &rows[0]["seq"]), (&shown.body["id"], &json!(1)));
    assert_eq!(client.choose(&shown, &json!({ "chosen": ["soup"] })).expect(200).body["repeated"], true);
    client.assert_counts("lunch", "ada", 1.0, &[("soup", 1.0, 1.0), ("salad", 1.0, 0.0)]);
    client.assert_counts("lunch", "all", 2.0, &[("soup", 2.0, 1.0), ("salad", 2.0, 1.0)]);
    assert_eq!(client.exported("lunch", "").len(), 2);
}

#[test]
fn an_import_has_ten_thousand_rows_at_most() {
    let own = Own::new();
    let client = own.client();
    client.catalog("lunch", &["soup", "salad"]);
    let rows: Vec<Value> =
        (0..10_001).map(|id| json!({ "id": id.to_string(), "presented": ["soup", "salad"], "chosen": ["soup"] })).collect();
    let refused = client.post("/v1/catalogs/lunch/choices", &json!({ "rows": rows })).refused(422, "invalid");
    assert_eq!(refused.body["field"], "rows");
    client.assert_nothing_recorded("lunch");
    let answers = import(&client, &json!(rows[..10_000]));
    assert!(answers.len() == 10_000 && answers.iter().all(|row| row["status"] == "recorded"));
    assert_eq!(answers[9_999]["seq"], 10_000);
    client.assert_counts("lunch", "all", 10_000.0, &[("soup", 10_000.0, 10_000.0), ("salad", 10_000.0, 0.0)]);
    assert!(import(&client, &json!(rows[..10_000])).iter().all(|row| row["status"] == "repeated"));
    client.assert_counts("lunch", "all", 10_000.0, &[("soup", 10_000.0, 10_000.0), ("salad", 10_000.0, 0.0)]);
}

#[test]
fn an_import_may_hold_options_that_the_catalog_does_not() {
    let own = Own::new();
    let client = own.client();
    client.catalog("lunch", &["soup"]);
    let row = json!([{ "id": "a", "context": "ada", "presented": ["soup", "tart"], "chosen": ["tart"] }]);
    assert_eq!(statuses(&import(&client, &row)), ["recorded"]);
    assert_eq!(client.present("lunch", &json!({ "context": "ada" })).expect(201).options(), ["soup"]);
    client.assert_counts("lunch", "ada", 1.0, &[("soup", 1.0, 0.0)]);
    client.put("/v1/catalogs/lunch/options/tart", &json!({})).expect(201);
    client.assert_counts("lunch", "ada", 1.0, &[("soup", 1.0, 0.0), ("tart", 1.0, 1.0)]);
    assert_eq!(client.present("lunch", &json!({ "context": "ada" })).expect(201).options().len(), 2);
}

/// A choice that was recorded here comes back under its presentation's id: it is the same one, not another.
#[test]
fn what_was_exported_is_there_already() {
    let own = Own::new();
    let client = own.client();
    client.catalog("lunch", &["soup", "salad"]);
    let shown = client.present("lunch", &json!({ "context": "ada" })).expect(201);
    client.choose(&shown, &json!({ "chosen": ["soup"] })).expect(200);
    let id = shown.body["id"].clone();
    let row = json!({ "id": id, "context": "ada", "presented": shown.options(), "chosen": ["soup"] });
    let told =
        |row: &Value| client.post("/v1/catalogs/lunch/choices", &json!({ "rows": [row] })).expect(200).body["rows"][0].clone();
    assert_eq!(told(&row)["status"], "repeated");
    let mut other = row.clone();
    other["chosen"] = json!(["salad"]);
    assert_eq!(told(&other)["status"], "conflict");
    client.delete(&format!("/v1/catalogs/lunch/choices/{}", id.as_str().unwrap())).expect(200);
    assert_eq!(told(&row)["status"], "withdrawn");
    client.assert_counts("lunch", "all", 0.0, &[]);
    // What takes it back is a row of the log that counts for nothing.
    let counts: Vec<f64> = client.exported("lunch", "").iter().map(|row| row["count"].as_f64().unwrap()).collect();
    assert_eq!(counts, [1.0, 0.0]);
}

/// Rows are read one by one, each as strictly as a body by itself; too many are refused before they take memory.
#[test]
fn rows_are_read_as_strictly_as_bodies() {
    let own = Own::new();
    let client = own.client();
    client.catalog("lunch", &["soup", "salad"]);
    let twice = r#"{"rows":[{"id":"1","presented":["soup","salad"],"chosen":["soup"],"chosen":["salad"]}]}"#;
    let told = client.send("POST", "/v1/catalogs/lunch/choices", Some(twice)).expect(200).body["rows"][0].clone();
    assert_eq!((told["status"].as_str(), told["id"].as_str()), (Some("refused"), Some("1")), "{told}");
    let many = format!("{{\"presentations\":[{}{{}}]}}", "{},".repeat(1_000));
    let refused = client.send("POST", "/v1/catalogs/lunch/presentations/batch", Some(&many)).refused(422, "invalid");
    assert_eq!(refused.body["field"], "presentations");
    client.assert_nothing_recorded("lunch");
}
