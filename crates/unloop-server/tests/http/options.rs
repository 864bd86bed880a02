//! Options that come and go, and what may be asked of a presentation.

use serde_json::{Value, json};

use crate::support::{Answer, Client, Own};

fn sorted(shown: &Answer) -> Vec<String> {
    let mut options = shown.options();
    options.sort();
    options
}

#[test]
fn a_retired_option_is_not_presented_but_its_open_presentation_can_be_answered() {
    let own = Own::new();
    let client = own.client();
    client.catalog("lunch", &["soup", "salad", "curry"]);
    let open = client.present("lunch", &json!({ "context": "ada" })).expect(201);
    let retired = client.delete("/v1/catalogs/lunch/options/soup").expect(200);
    assert_eq!((&retired.body["option"], &retired.body["active"]), (&json!("soup"), &json!(false)));
    for context in ["ada", "bob"] {
        assert_eq!(sorted(&client.present("lunch", &json!({ "context": context })).expect(201)), ["curry", "salad"]);
    }
    client.choose(&open, &json!({ "chosen": ["soup"] })).expect(200);
    // It takes no place in the ranking, and what was shown with it counts.
    client.assert_counts("lunch", "ada", 1.0, &[("salad", 1.0, 0.0), ("curry", 1.0, 0.0)]);
    for context in ["ada", "bob"] {
        assert_eq!(sorted(&client.present("lunch", &json!({ "context": context })).expect(201)), ["curry", "salad"]);
    }
    client.put("/v1/catalogs/lunch/options/soup", &json!({})).expect(200);
    client.assert_counts("lunch", "ada", 1.0, &[("soup", 1.0, 1.0), ("salad", 1.0, 0.0), ("curry", 1.0, 0.0)]);
    assert_eq!(sorted(&client.present("lunch", &json!({ "context": "ada" })).expect(201)), ["curry", "salad", "soup"]);
}

#[test]
fn a_retired_option_can_neither_be_pinned_nor_be_the_only_candidate() {
    let own = Own::new();
    let client = own.client();
    client.catalog("lunch", &["soup", "salad"]);
    client.delete("/v1/catalogs/lunch/options/soup").expect(200);
    let refused = client.present("lunch", &json!({ "pinned": ["soup"] })).refused(422, "invalid");
    assert_eq!(refused.body["field"].as_str().map(|field| field.starts_with("pinned")), Some(true));
    client.present("lunch", &json!({ "candidates": ["soup"] })).refused(422, "nothing-eligible");
    let shown = client.present("lunch", &json!({ "candidates": ["soup", "salad"], "exclude": ["soup"] })).expect(201);
    assert_eq!(shown.options(), ["salad"]);
    client.put("/v1/catalogs/lunch/options/soup", &json!({})).expect(200);
    assert_eq!(client.present("lunch", &json!({ "pinned": ["soup"], "size": 1 })).expect(201).options(), ["soup"]);
    client.delete("/v1/catalogs/lunch/options/tart").refused(404, "no-option");
    client.assert_nothing_recorded("lunch");
}

#[test]
fn without_active_options_nothing_is_presented() {
    let own = Own::new();
    let client = own.client();
    client.catalog("lunch", &[]);
    client.present("lunch", &json!({})).refused(422, "nothing-eligible");
    client.put("/v1/catalogs/lunch/options/soup", &json!({})).expect(201);
    client.present("lunch", &json!({})).expect(201);
    client.delete("/v1/catalogs/lunch/options/soup").expect(200);
    client.present("lunch", &json!({})).refused(422, "nothing-eligible");
    client.assert_nothing_recorded("lunch");
}

#[test]
fn a_changed_size_leaves_open_presentations_answerable() {
    let own = Own::new();
    let client = own.client();
    let options: Vec<String> = (0..8).map(|i| format!("dish {i}")).collect();
    client.put("/v1/catalogs/lunch", &json!({ "options": options, "size": 2 })).expect(201);
    let mut open = vec![client.present("lunch", &json!({ "context": "ada" })).expect(201)];
    for size in [5, 1, 100] {
        client.patch("/v1/catalogs/lunch", &json!({ "size": size })).expect(200);
        open.push(client.present("lunch", &json!({ "context": "ada" })).expect(201));
    }
    let sizes: Vec<usize> = open.iter().map(|shown| shown.options().len()).collect();
    assert_eq!(sizes, [2, 5, 1, 8]);
    for shown in &open {
        client.choose(shown, &json!({ "chosen": [shown.options()[0]] })).expect(200);
    }
    let counts = client.counted("lunch", "ada");
    assert_eq!(counts.presentations, 4.0);
    assert_eq!(counts.options.iter().map(|(_, shown, _)| shown).sum::<f64>(), 16.0);
    assert_eq!(client.present("lunch", &json!({ "size": 3 })).expect(201).options().len(), 3);
}

#[test]
fn names_that_the_catalog_does_not_have_are_told_with_their_place() {
    let own = Own::new();
    let client = own.client();
    client.catalog("lunch", &["soup", "salad"]);
    for field in ["candidates", "exclude", "pinned"] {
        let refused = client.present("lunch", &json!({ field: ["soup", "sou"] })).refused(422, "invalid");
        assert_eq!(refused.body["field"], format!("{field}[1]"));
        assert!(refused.body["detail"].as_str().is_some_and(|detail| detail.contains("sou")));
    }
    client.assert_nothing_recorded("lunch");
}

#[test]
fn what_cannot_be_asked_of_a_presentation_is_told() {
    let own = Own::new();
    let client = own.client();
    client.catalog("lunch", &["soup", "salad"]);
    let long = "x".repeat(129);
    let refused = [
        (json!({ "size": 0 }), "size"),
        (json!({ "size": 101 }), "size"),
        (json!({ "size": 2.5 }), "size"),
        (json!({ "context": "" }), "context"),
        (json!({ "context": long }), "context"),
        (json!({ "context": "a\nb" }), "context"),
        (json!({ "policy": "best" }), "policy"),
        (json!({ "order": "up" }), "order"),
        (json!({ "at_least": 1 }), "at_least"),
        (json!({ "candidates": vec!["soup"; 10_001] }), "candidates"),
    ];
    for (asked, field) in refused {
        assert_eq!(client.present("lunch", &asked).refused(422, "invalid").body["field"], field);
    }
    client.present("lunch", &json!({ "exclude": ["soup", "salad"] })).refused(422, "nothing-eligible");
    client.present("supper", &json!({})).refused(404, "no-catalog");
    client.assert_nothing_recorded("lunch");
}

#[test]
fn a_presentation_says_how_it_was_formed() {
    let own = Own::new();
    let client = own.client();
    client.catalog("lunch", &["soup", "salad", "curry", "tart"]);
    for policy in ["thompson", "anchored", "greedy", "uniform"] {
        for order in ["mean", "draw", "shuffled"] {
            let asked = json!({ "policy": policy, "order": order, "pinned": ["tart"], "size": 2 });
            let shown = client.present("lunch", &asked).expect(201);
            assert_eq!((&shown.body["policy"], &shown.body["order"]), (&json!(policy), &json!(order)));
            assert_eq!((shown.options().len(), shown.options()[0].as_str()), (2, "tart"));
            let rows = shown.body["options"].as_array().expect("options");
            assert_eq!((&rows[0]["propensity"], &rows[0]["position"], &rows[1]["position"]), (&json!(1.0), &json!(1), &json!(2)));
            assert!(rows[1]["propensity"].as_f64().is_some_and(|own| own > 0.0 && own <= 1.0), "{}", shown.text);
        }
    }
}

#[test]
fn a_batch_is_answered_row_by_row() {
    let own = Own::new();
    let client = own.client();
    client.catalog("lunch", &["soup", "salad"]);
    let asked = json!({ "presentations": [{ "context": "ada" }, { "pinned": ["tart"] }, { "sise": 2 }, {}] });
    let answer = client.post("/v1/catalogs/lunch/presentations/batch", &asked).expect(200);
    let rows = answer.body["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 4);
    assert_eq!((&rows[1]["problem"]["field"], &rows[1]["presentation"]), (&json!("pinned[0]"), &Value::Null));
    assert_eq!(rows[2]["problem"]["type"], "urn:unloop:invalid");
    let own_presentation = Answer { body: rows[0]["presentation"].clone(), ..answer.clone() };
    client.choose(&own_presentation, &json!({ "chosen": ["soup"] })).expect(200);
    client.assert_counts("lunch", "ada", 1.0, &[("soup", 1.0, 1.0), ("salad", 1.0, 0.0)]);
    let many = json!({ "presentations": vec![json!({}); 1_001] });
    let refused = client.post("/v1/catalogs/lunch/presentations/batch", &many).refused(422, "invalid");
    assert_eq!(refused.body["field"], "presentations");
    let many = json!({ "presentations": vec![json!({}); 1_000] });
    let answer = client.post("/v1/catalogs/lunch/presentations/batch", &many).expect(200);
    assert_eq!(answer.body["rows"].as_array().map(Vec::len), Some(1_000));
}

fn listed(client: &Client) -> Value {
    client.get("/v1/catalogs/lunch/options").expect(200).body["rows"].clone()
}

fn patched(client: &Client, options: &Value) -> Vec<Value> {
    let answer = client.patch("/v1/catalogs/lunch/options", &json!({ "options": options })).expect(200);
    answer.body["rows"].as_array().expect("rows").clone()
}

#[test]
fn options_in_bulk_are_answered_row_by_row() {
    let own = Own::new();
    let client = own.client();
    client.catalog("lunch", &["soup"]);
    let long = "x".repeat(129);
    let rows = patched(
        &client,
        &json!([
            "salad",
            { "option": "soup", "label": "Soup of the day", "prior": 2 },
            { "option": "curry", "prior": -1 },
            { "option": "tart", "color": "red" },
            7,
            "",
            long,
            "a\tb",
            { "label": "nameless" },
            { "option": "stew", "active": false },
        ]),
    );
    let told: Vec<&str> = rows.iter().filter_map(|row| row["status"].as_str()).collect();
    let refused = ["refused"; 7];
    assert_eq!(told[..2], ["added", "changed"]);
    assert_eq!(told[2..9], refused);
    assert_eq!(told[9], "added");
    assert!(rows[2..9].iter().all(|row| row["problem"]["type"] == "urn:unloop:invalid"));
    let expected = json!([
        { "option": "soup", "label": "Soup of the day", "prior": 2.0, "active": true },
        { "option": "salad", "label": null, "prior": null, "active": true },
        { "option": "stew", "label": null, "prior": null, "active": false },
    ]);
    assert_eq!(listed(&client), expected);
    let many = json!({ "options": (0..10_001).map(|i| i.to_string()).collect::<Vec<_>>() });
    let refused = client.patch("/v1/catalogs/lunch/options", &many).refused(422, "invalid");
    assert_eq!(refused.body["field"], "options");
    assert_eq!(listed(&client), expected);
}

#[test]
fn a_refused_option_is_told_by_its_name() {
    let own = Own::new();
    let client = own.client();
    client.catalog("lunch", &[]);
    let rows = patched(&client, &json!([{ "option": "curry", "prior": -1 }, { "option": "tart", "color": "red" }, 7]));
    let names: Vec<&Value> = rows.iter().map(|row| &row["option"]).collect();
    assert_eq!(names, [&json!("curry"), &json!("tart"), &Value::Null]);
    assert_eq!(listed(&client), json!([]));
}

#[test]
fn in_bulk_what_is_not_given_stays() {
    let own = Own::new();
    let client = own.client();
    client.catalog("lunch", &[]);
    patched(&client, &json!([{ "option": "soup", "label": "Soup", "prior": 2 }]));
    patched(&client, &json!([{ "option": "soup", "prior": 3 }]));
    patched(&client, &json!(["soup"]));
    assert_eq!(listed(&client), json!([{ "option": "soup", "label": "Soup", "prior": 3.0, "active": true }]));
    patched(&client, &json!([{ "option": "tart", "label": "Tart", "prior": 4 }, { "option": "tart", "label": "A tart" }]));
    assert_eq!(listed(&client)[1], json!({ "option": "tart", "label": "A tart", "prior": 4.0, "active": true }));
}

#[test]
fn in_bulk_a_retired_option_stays_retired_unless_it_is_said_otherwise() {
    let own = Own::new();
    let client = own.client();
    client.catalog("lunch", &["soup", "salad"]);
    client.delete("/v1/catalogs/lunch/options/soup").expect(200);
    patched(&client, &json!([{ "option": "soup", "label": "Soup" }]));
    assert_eq!(listed(&client)[0], json!({ "option": "soup", "label": "Soup", "prior": null, "active": false }));
    assert_eq!(client.present("lunch", &json!({})).expect(201).options(), ["salad"]);
    patched(&client, &json!([{ "option": "soup", "active": true }]));
    assert_eq!(sorted(&client.present("lunch", &json!({})).expect(201)), ["salad", "soup"]);
}

#[test]
fn an_option_is_added_changed_and_refused_by_its_path() {
    let own = Own::new();
    let client = own.client();
    client.catalog("lunch", &[]);
    let added = client.put("/v1/catalogs/lunch/options/so%2Fup%20%C3%A4", &json!({ "label": "Soup", "prior": 0.5 })).expect(201);
    assert_eq!(added.body, json!({ "option": "so/up ä", "label": "Soup", "prior": 0.5, "active": true }));
    let changed = client.put("/v1/catalogs/lunch/options/so%2Fup%20%C3%A4", &json!({})).expect(200);
    assert_eq!(changed.body, json!({ "option": "so/up ä", "label": null, "prior": null, "active": true }));
    let long = "x".repeat(129);
    for name in ["a%0Ab", "%00", "%EE%80%80", &long] {
        client.put(&format!("/v1/catalogs/lunch/options/{name}"), &json!({})).refused(422, "invalid");
    }
    for body in
        [json!({ "prior": 0 }), json!({ "prior": 1e300 }), json!({ "active": true }), json!({ "label": "x".repeat(2_000) })]
    {
        client.put("/v1/catalogs/lunch/options/tart", &body).refused(422, "invalid");
    }
    client.put("/v1/catalogs/supper/options/tart", &json!({})).refused(404, "no-catalog");
    assert_eq!(listed(&client).as_array().map(Vec::len), Some(1));
}
