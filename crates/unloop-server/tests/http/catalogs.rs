//! Catalogs: made, changed, removed, and nobody's change undone unseen.

use serde_json::{Value, json};

use crate::support::{Answer, Client, Own};

fn tag(answer: &Answer) -> String {
    answer.headers["etag"].to_str().expect("text").to_owned()
}

fn lunch(client: &Client) -> Answer {
    client.get("/v1/catalogs/lunch").expect(200)
}

#[test]
fn a_catalog_is_made_read_replaced_merged_and_removed() {
    let own = Own::new();
    let client = own.client();
    client.get("/v1/catalogs/lunch").refused(404, "no-catalog");
    let made = client
        .put("/v1/catalogs/lunch", &json!({ "options": ["soup", { "option": "salad", "prior": 2 }], "size": 3 }))
        .expect(201);
    let expected = json!({
        "catalog": "lunch", "size": 3, "prior": 1.0, "policy": "thompson", "order": "mean", "no_choice": false, "expiry": 86_400,
        "active": 2, "options": 2, "revision": made.body["revision"],
    });
    assert_eq!(made.body, expected);
    assert_eq!(lunch(&client).body, expected);
    assert_eq!(tag(&lunch(&client)), format!("\"{}\"", made.body["revision"]));
    // What is not given is as by default; options stay unless they are given.
    let replaced = client.put("/v1/catalogs/lunch", &json!({ "policy": "uniform" })).expect(200);
    assert_eq!(
        (&replaced.body["size"], &replaced.body["policy"], &replaced.body["active"]),
        (&json!(5), &json!("uniform"), &json!(2))
    );
    let merged = client.patch("/v1/catalogs/lunch", &json!({ "size": 7, "policy": null })).expect(200);
    assert_eq!((&merged.body["size"], &merged.body["policy"]), (&json!(7), &json!("thompson")));
    // Others are retired.
    let fewer = client.put("/v1/catalogs/lunch", &json!({ "options": ["tart", "salad"] })).expect(200);
    assert_eq!((&fewer.body["active"], &fewer.body["options"]), (&json!(2), &json!(3)));
    let revisions: Vec<u64> =
        [&made, &replaced, &merged, &fewer].iter().filter_map(|answer| answer.body["revision"].as_u64()).collect();
    assert!(revisions.len() == 4 && revisions.is_sorted_by(|x, y| x < y), "{revisions:?}");
    client.delete("/v1/catalogs/lunch").expect(200);
    client.delete("/v1/catalogs/lunch").refused(404, "no-catalog");
    client.get("/v1/catalogs/lunch").refused(404, "no-catalog");
    client.present("lunch", &json!({})).refused(404, "no-catalog");
    assert_eq!(client.get("/v1/catalogs").expect(200).body["rows"], json!([]));
}

#[test]
fn settings_outlive_a_restart() {
    let mut own = Own::new();
    let given = json!({ "options": ["soup"], "size": 3, "prior": 0.5, "policy": "greedy", "order": "draw", "no_choice": true, "expiry": 60 });
    let before = own.client().put("/v1/catalogs/lunch", &given).expect(201).body;
    own.restart();
    assert_eq!(lunch(&own.client()).body, before);
}

#[test]
fn a_change_of_what_somebody_else_changed_is_refused() {
    let own = Own::new();
    let client = own.client();
    client.catalog("lunch", &["soup"]);
    let stale = tag(&lunch(&client));
    client.put("/v1/catalogs/lunch/options/salad", &json!({})).expect(201);
    assert_ne!(tag(&lunch(&client)), stale, "a change of its options is one of the catalog");
    let before = lunch(&client).body;
    let late = client.header("if-match", &stale);
    for refused in [
        late.put("/v1/catalogs/lunch", &json!({ "size": 1, "options": [] })),
        late.patch("/v1/catalogs/lunch", &json!({ "size": 1 })),
    ] {
        assert_eq!(refused.refused(412, "stale").body["revision"], before["revision"]);
    }
    assert_eq!(lunch(&client).body, before);
    let current = client.header("if-match", &tag(&lunch(&client)));
    let changed = current.patch("/v1/catalogs/lunch", &json!({ "size": 1 })).expect(200);
    current.patch("/v1/catalogs/lunch", &json!({ "size": 2 })).refused(412, "stale");
    assert_eq!(lunch(&client).body["size"], 1);
    client.header("if-match", &tag(&changed)).put("/v1/catalogs/lunch", &json!({ "size": 4 })).expect(200);
    client.header("if-match", "*").patch("/v1/catalogs/lunch", &json!({ "size": 6 })).expect(200);
    assert_eq!(lunch(&client).body["size"], 6);
}

#[test]
fn removing_what_somebody_else_changed_is_refused() {
    let own = Own::new();
    let client = own.client();
    client.catalog("lunch", &["soup"]);
    let stale = tag(&lunch(&client));
    client.patch("/v1/catalogs/lunch", &json!({ "size": 1 })).expect(200);
    client.header("if-match", &stale).delete("/v1/catalogs/lunch").refused(412, "stale");
    let current = tag(&lunch(&client));
    client.header("if-match", &current).delete("/v1/catalogs/lunch").expect(200);
    client.get("/v1/catalogs/lunch").refused(404, "no-catalog");
}

#[test]
fn a_condition_on_what_is_not_there_is_not_met() {
    let own = Own::new();
    let client = own.client();
    for tag in ["*", "\"1\"", "nonsense", "\"0\""] {
        client.header("if-match", tag).put("/v1/catalogs/lunch", &json!({})).refused(412, "stale");
    }
    client.get("/v1/catalogs/lunch").refused(404, "no-catalog");
    client.catalog("lunch", &[]);
    client.header("if-match", "nonsense").patch("/v1/catalogs/lunch", &json!({ "size": 1 })).refused(412, "stale");
    assert_eq!(lunch(&client).body["size"], 5);
}

#[test]
fn what_cannot_be_set_is_told() {
    let own = Own::new();
    let client = own.client();
    client.catalog("lunch", &["soup"]);
    let before = lunch(&client).body;
    let refused = [
        (json!({ "size": 0 }), "size"),
        (json!({ "size": 101 }), "size"),
        (json!({ "prior": 0 }), "prior"),
        (json!({ "prior": -1.5 }), "prior"),
        (json!({ "expiry": 0 }), "expiry"),
        (json!({ "expiry": 2_592_001 }), "expiry"),
        (json!({ "policy": "best" }), "policy"),
        (json!({ "no_choice": "yes" }), "no_choice"),
    ];
    for (given, field) in refused {
        assert_eq!(client.put("/v1/catalogs/lunch", &given).refused(422, "invalid").body["field"], field, "{given}");
        assert_eq!(client.patch("/v1/catalogs/lunch", &given).refused(422, "invalid").body["field"], field, "{given}");
    }
    let refused = [
        (json!(["soup", "salad", "soup"]), "options[2]"),
        (json!(["soup", ""]), "options[1]"),
        (json!([{ "option": "soup", "prior": 0 }]), "options[0]"),
        (json!([{ "option": "soup", "color": "red" }]), "options[0]"),
        (json!((0..10_001).map(|i| i.to_string()).collect::<Vec<_>>()), "options"),
    ];
    for (options, field) in refused {
        assert_eq!(client.put("/v1/catalogs/lunch", &json!({ "options": options })).refused(422, "invalid").body["field"], field);
    }
    assert_eq!(lunch(&client).body, before);
    let long = "x".repeat(65);
    for name in ["a%20b", "%C3%A4", "a%2Fb", "%2E%2E", &long] {
        client.put(&format!("/v1/catalogs/{name}"), &json!({})).refused(422, "invalid");
    }
    assert_eq!(client.get("/v1/catalogs").expect(200).body["rows"], Value::from(vec![before]));
}

#[test]
fn a_catalog_of_ten_thousand_options_is_made_at_once() {
    let own = Own::new();
    let client = own.client();
    let names: Vec<String> = (0..10_000).map(|i| format!("dish {i}")).collect();
    let made = client.put("/v1/catalogs/lunch", &json!({ "options": names })).expect(201);
    assert_eq!(made.body["active"], 10_000);
    assert_eq!(client.present("lunch", &json!({ "candidates": names, "size": 100 })).expect(201).options().len(), 100);
}

/// Of several who set a catalog with its options at once, one is obeyed: nobody's options are joined with another's.
#[test]
fn whoever_sets_a_catalog_sets_all_of_it() {
    let own = Own::new();
    for round in 0..10 {
        let set = |own: &Own, k: usize| {
            let options: Vec<String> = (0..3).map(|i| format!("s{k}-{i}")).collect();
            own.client().put("/v1/catalogs/lunch", &json!({ "size": k, "options": options }))
        };
        std::thread::scope(|scope| {
            let own = &own;
            for k in 1..=3 {
                scope.spawn(move || assert!(matches!(set(own, k).status, 200 | 201)));
            }
        });
        let size = own.client().get("/v1/catalogs/lunch").expect(200).body["size"].clone();
        let rows = own.client().get("/v1/catalogs/lunch/options?limit=1000").expect(200).body["rows"].clone();
        let active: Vec<&str> = rows
            .as_array()
            .unwrap()
            .iter()
            .filter(|row| row["active"] == true)
            .filter_map(|row| row["option"].as_str())
            .collect();
        assert_eq!(active.len(), 3, "round {round}: {active:?}");
        assert!(active.iter().all(|name| name.starts_with(&format!("s{size}-"))), "round {round}, size {size}: {active:?}");
    }
}

#[test]
fn options_are_changed_only_if_nobody_was_faster() {
    let own = Own::new();
    let client = own.client();
    client.catalog("lunch", &["soup", "salad"]);
    let tag = || client.get("/v1/catalogs/lunch").expect(200).headers["etag"].to_str().unwrap().to_owned();
    let old = client.header("if-match", &tag());
    client.put("/v1/catalogs/lunch/options/curry", &json!({})).expect(201);
    old.put("/v1/catalogs/lunch/options/ramen", &json!({})).refused(412, "stale");
    old.patch("/v1/catalogs/lunch/options", &json!({ "options": ["ramen"] })).refused(412, "stale");
    old.delete("/v1/catalogs/lunch/options/soup").refused(412, "stale");
    assert_eq!(client.get("/v1/catalogs/lunch").expect(200).body["active"], 3);
    client.header("if-match", &tag()).put("/v1/catalogs/lunch/options/ramen", &json!({})).expect(201);
    client.header("if-match", &format!("\"1\", {}", tag())).patch("/v1/catalogs/lunch", &json!({ "size": 2 })).expect(200);
}
