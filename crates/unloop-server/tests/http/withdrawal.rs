//! Taking a choice back.

use serde_json::json;

use crate::support::{Answer, Client, Own};

fn withdraw(client: &Client, id: &str) -> Answer {
    client.delete(&format!("/v1/catalogs/lunch/choices/{id}"))
}

#[test]
fn a_withdrawn_choice_counts_for_nothing_and_its_id_stays_used() {
    let mut own = Own::new();
    let client = own.client();
    client.catalog("lunch", &["soup", "salad"]);
    let shown = client.present("lunch", &json!({ "context": "ada" })).expect(201);
    let id = shown.body["id"].as_str().expect("an id");
    client.choose(&shown, &json!({ "chosen": ["soup"] })).expect(200);
    client.assert_counts("lunch", "ada", 1.0, &[("soup", 1.0, 1.0), ("salad", 1.0, 0.0)]);
    assert_eq!(withdraw(&client, id).expect(200).body, json!({ "id": id, "seq": 2, "repeated": false }));
    for _ in 0..2 {
        assert_eq!(withdraw(&client, id).expect(200).body, json!({ "id": id, "seq": 2, "repeated": true }));
    }
    let told = json!({ "id": id, "seq": 1, "chosen": ["soup"], "repeated": true, "withdrawn": true });
    for restarted in [false, true] {
        if restarted {
            own.restart();
        }
        let client = own.client();
        assert_eq!(client.choose(&shown, &json!({ "chosen": ["soup"] })).expect(200).body, told);
        let refused = client.choose(&shown, &json!({ "chosen": ["salad"] })).refused(409, "conflict");
        assert_eq!((&refused.body["withdrawn"], &refused.body["recorded"]), (&json!(true), &json!({ "chosen": ["soup"] })));
        for context in ["ada", "all"] {
            client.assert_counts("lunch", context, 0.0, &[]);
        }
        let rows = client.exported("lunch", "");
        let kinds: Vec<_> = rows.iter().map(|row| (row["kind"].as_str(), row["id"].as_str())).collect();
        assert_eq!(kinds, [(Some("choice"), Some(id)), (Some("withdrawal"), Some(id))]);
    }
}

#[test]
fn an_import_is_withdrawn_by_its_own_id() {
    let own = Own::new();
    let client = own.client();
    client.catalog("lunch", &["soup", "salad"]);
    let row = json!({ "id": "2019/row 7", "context": "ada", "presented": ["soup", "salad"], "chosen": ["soup"], "weight": 3 });
    client.post("/v1/catalogs/lunch/choices", &json!({ "rows": [row] })).expect(200);
    client.assert_counts("lunch", "ada", 3.0, &[("soup", 3.0, 3.0), ("salad", 3.0, 0.0)]);
    let withdrawn = withdraw(&client, "2019%2Frow%207").expect(200);
    assert_eq!(withdrawn.body, json!({ "id": "2019/row 7", "seq": 2, "repeated": false }));
    assert_eq!(withdraw(&client, "2019%2Frow%207").expect(200).body["repeated"], true);
    let again = client.post("/v1/catalogs/lunch/choices", &json!({ "rows": [row] })).expect(200);
    assert_eq!(again.body["rows"][0]["status"], "withdrawn");
    for context in ["ada", "all"] {
        client.assert_counts("lunch", context, 0.0, &[]);
    }
    let rows = client.exported("lunch", "");
    assert_eq!((rows.len(), &rows[1]["kind"], &rows[1]["id"]), (2, &json!("withdrawal"), &json!("2019/row 7")));
}

#[test]
fn what_is_not_recorded_cannot_be_withdrawn() {
    let own = Own::new();
    let client = own.client();
    client.catalog("lunch", &["soup", "salad"]);
    client.catalog("dinner", &["soup", "salad"]);
    let open = client.present("lunch", &json!({})).expect(201);
    let elsewhere = client.present("dinner", &json!({})).expect(201);
    client.choose(&elsewhere, &json!({ "chosen": ["soup"] })).expect(200);
    for id in [open.body["id"].as_str().expect("an id"), elsewhere.body["id"].as_str().expect("an id"), "nothing", "choice:x"] {
        withdraw(&client, id).refused(404, "no-choice");
    }
    client.delete("/v1/catalogs/supper/choices/x").refused(404, "no-catalog");
    client.assert_nothing_recorded("lunch");
    client.assert_counts("dinner", "all", 1.0, &[("soup", 1.0, 1.0), ("salad", 1.0, 0.0)]);
}

#[test]
fn withdrawing_nothing_chosen_takes_back_the_choice_of_nothing() {
    let own = Own::new();
    let client = own.client();
    client.put("/v1/catalogs/lunch", &json!({ "options": ["soup", "salad"], "no_choice": true })).expect(201);
    let shown = client.present("lunch", &json!({ "context": "ada" })).expect(201);
    client.choose(&shown, &json!({ "none": true })).expect(200);
    withdraw(&client, shown.body["id"].as_str().expect("an id")).expect(200);
    client.assert_counts("lunch", "ada", 0.0, &[]);
    let ranking = client.get("/v1/catalogs/lunch/ranking?context=ada").expect(200);
    assert_eq!(ranking.body["none"]["chosen"], 0.0);
}

#[test]
fn an_erased_choice_cannot_be_withdrawn() {
    let own = Own::new();
    let client = own.client();
    client.catalog("lunch", &["soup", "salad"]);
    let shown = client.present("lunch", &json!({ "context": "ada" })).expect(201);
    client.choose(&shown, &json!({ "chosen": ["soup"] })).expect(200);
    client.delete("/v1/catalogs/lunch/contexts/ada").expect(200);
    withdraw(&client, shown.body["id"].as_str().expect("an id")).refused(410, "gone");
    client.assert_nothing_recorded("lunch");
}
