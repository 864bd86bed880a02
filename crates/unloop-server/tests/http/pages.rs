//! Lists page by page, and answers that know of a position.

use std::time::Duration;

use serde_json::{Value, json};
use unloop_server::ServerSettings;

use crate::support::{Client, Own};

/// All rows of a list, in pages of two.
fn pages(client: &Client, path: &str, field: &str) -> Vec<String> {
    let join = if path.contains('?') { '&' } else { '?' };
    let (mut names, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = client.get(&format!("{path}{join}limit=2{cursor}")).expect(200);
        let rows = page.body["rows"].as_array().expect("rows");
        assert!((1..=2).contains(&rows.len()), "{}", page.text);
        names.extend(rows.iter().filter_map(|row| row[field].as_str().map(str::to_owned)));
        let Some(next) = page.body["next"].as_str() else { return names };
        cursor = format!("&cursor={}", next.replace(' ', "%20"));
    }
}

#[test]
fn lists_are_read_page_by_page() {
    let own = Own::new();
    let client = own.client();
    for name in ["b", "a", "C", "d", "e-1"] {
        client.catalog(name, &["soup"]);
    }
    assert_eq!(pages(&client, "/v1/catalogs", "catalog"), ["C", "a", "b", "d", "e-1"]);
    let options = ["soup", "salad", "curry", "tart"];
    client.catalog("lunch", &options);
    assert_eq!(pages(&client, "/v1/catalogs/lunch/options", "option"), options);
    let contexts = ["user 10", "guest", "user 2", "user 1", "user"];
    for name in contexts {
        let shown = client.present("lunch", &json!({ "context": name })).expect(201);
        client.choose(&shown, &json!({ "chosen": ["tart"] })).expect(200);
    }
    assert_eq!(pages(&client, "/v1/catalogs/lunch/contexts", "context"), ["guest", "user", "user 1", "user 10", "user 2"]);
    assert_eq!(pages(&client, "/v1/catalogs/lunch/contexts?prefix=user%201", "context"), ["user 1", "user 10"]);
    let whole = client.get("/v1/catalogs/lunch/ranking").expect(200).body;
    let ranked: Vec<String> =
        whole["rows"].as_array().expect("rows").iter().filter_map(|row| row["option"].as_str().map(str::to_owned)).collect();
    assert_eq!((ranked.len(), ranked[0].as_str(), &whole["next"]), (4, "tart", &Value::Null));
    assert_eq!(pages(&client, "/v1/catalogs/lunch/ranking", "option"), ranked);
}

#[test]
fn pages_that_cannot_be_are_told() {
    let own = Own::new();
    let client = own.client();
    client.catalog("lunch", &["soup"]);
    for list in ["/v1/catalogs", "/v1/catalogs/lunch/options", "/v1/catalogs/lunch/contexts", "/v1/catalogs/lunch/ranking"] {
        for query in ["limit=0", "limit=1001", "limit=x", "limit=-1", "page=2"] {
            client.get(&format!("{list}?{query}")).refused(422, "invalid");
        }
        client.get(&format!("{list}?limit=1000")).expect(200);
    }
    for list in ["/v1/catalogs/lunch/options", "/v1/catalogs/lunch/ranking"] {
        assert_eq!(client.get(&format!("{list}?cursor=x")).refused(422, "invalid").body["field"], "cursor");
        assert_eq!(client.get(&format!("{list}?cursor=18446744073709551615")).expect(200).body["rows"], json!([]));
    }
    for query in ["top=0", "top=1001", "context=%0A"] {
        client.get(&format!("/v1/catalogs/lunch/ranking?{query}")).refused(422, "invalid");
    }
    client.get("/v1/catalogs/supper/ranking").refused(404, "no-catalog");
}

#[test]
fn a_position_behind_the_end_of_the_log_is_refused() {
    let own = Own::new();
    let client = own.client();
    client.catalog("lunch", &["soup", "salad"]);
    let refused = client.get("/v1/catalogs/lunch/ranking?at_least=1").refused(422, "invalid");
    assert_eq!(refused.body["field"], "at_least");
    let refused = client.post("/v1/catalogs/lunch/predictions", &json!({ "presented": [["soup"]], "at_least": 1 }));
    assert_eq!(refused.refused(422, "invalid").body["field"], "at_least");
}

#[test]
fn a_ranking_knows_of_a_position_that_is_asked_for() {
    let own = Own::new();
    let client = own.client();
    client.catalog("lunch", &["soup", "salad"]);
    for times in 1..=5 {
        let shown = client.present("lunch", &json!({ "context": "ada" })).expect(201);
        let seq = client.choose(&shown, &json!({ "chosen": ["soup"] })).expect(200).body["seq"].clone();
        for context in ["ada", "all"] {
            let ranking = client.get(&format!("/v1/catalogs/lunch/ranking?context={context}&at_least={seq}")).expect(200);
            assert_eq!(
                (&ranking.body["presentations"], ranking.body["seq"].as_u64() >= seq.as_u64()),
                (&json!(f64::from(times)), true)
            );
        }
    }
}

/// The position is one of the whole log: whose event is there does not matter.
#[test]
fn a_position_may_be_of_somebody_else() {
    let own = Own::with(ServerSettings { request_limit: Duration::from_secs(3), ..ServerSettings::default() });
    let client = own.client();
    client.catalog("lunch", &["soup", "salad"]);
    client.catalog("dinner", &["soup", "salad"]);
    let choose = |catalog: &str, context: &str| {
        let shown = client.present(catalog, &json!({ "context": context })).expect(201);
        client.choose(&shown, &json!({ "chosen": ["soup"] })).expect(200).body["seq"].as_u64().expect("a position")
    };
    choose("lunch", "ada");
    client.counted("lunch", "ada");
    client.counted("lunch", "all");
    for seq in [choose("lunch", "bob"), choose("dinner", "ada")] {
        for context in ["ada", "all", "nobody"] {
            let ranking = client.get(&format!("/v1/catalogs/lunch/ranking?context={context}&at_least={seq}"));
            assert!(ranking.expect(200).body["seq"].as_u64() >= Some(seq), "{context} at {seq}");
        }
        client.present("lunch", &json!({ "context": "ada", "at_least": seq })).expect(201);
        let asked = json!({ "context": "ada", "presented": [["soup", "salad"]], "at_least": seq });
        client.post("/v1/catalogs/lunch/predictions", &asked).expect(200);
    }
}

#[test]
fn predictions_are_chances_of_the_options_of_a_set() {
    let own = Own::new();
    let client = own.client();
    client.put("/v1/catalogs/lunch", &json!({ "options": ["soup", "salad", "curry"], "no_choice": true })).expect(201);
    let shown = client.present("lunch", &json!({ "context": "ada" })).expect(201);
    client.choose(&shown, &json!({ "chosen": ["soup"] })).expect(200);
    let asked = json!({ "context": "ada", "presented": [["soup", "salad"], ["curry"]] });
    let answer = client.post("/v1/catalogs/lunch/predictions", &asked).expect(200).body;
    let rows = answer["rows"].as_array().expect("rows");
    assert_eq!((rows.len(), &rows[0]["options"][0]["option"]), (2, &json!("soup")));
    for row in rows {
        let chances = row["options"].as_array().expect("options").iter().chain([&row["none"]]);
        let sum: f64 = chances.map(|chance| chance["probability"].as_f64().expect("a number")).sum();
        assert!((sum - 1.0).abs() < 1e-9, "{row}");
    }
    for (presented, field) in [
        (json!([["tart"]]), "presented[0]"),
        (json!([["soup"], []]), "presented[1]"),
        (json!([["soup", "soup"]]), "presented[0]"),
        (json!([["\u{e000}"]]), "presented[0]"),
        (json!(vec![["soup"]; 101]), "presented"),
    ] {
        let refused = client.post("/v1/catalogs/lunch/predictions", &json!({ "presented": presented })).refused(422, "invalid");
        assert_eq!(refused.body["field"], field);
    }
    client.assert_counts("lunch", "ada", 1.0, &[("soup", 1.0, 1.0), ("salad", 1.0, 0.0), ("curry", 1.0, 0.0)]);
}
