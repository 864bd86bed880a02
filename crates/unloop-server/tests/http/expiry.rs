//! Late is fine until expiry.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Answer, Client, Own};

/// Seconds in which a presentation may be answered: a busy machine has to get as far as that in time.
const EXPIRY: u64 = 3;

/// A presentation that may be answered for a moment.
fn short_lived(client: &Client) -> Answer {
    client.put("/v1/catalogs/lunch", &json!({ "options": ["soup", "salad"], "expiry": EXPIRY }));
    client.present("lunch", &json!({ "context": "ada" })).expect(201)
}

fn wait_for_expiry() {
    std::thread::sleep(Duration::from_millis(1_000 * EXPIRY + 100));
}

#[test]
fn an_expired_presentation_is_not_answered() {
    let own = Own::without_leeway();
    let client = own.client();
    let shown = short_lived(&client);
    wait_for_expiry();
    client.choose(&shown, &json!({ "chosen": ["soup"] })).refused(410, "expired");
    client.choose(&shown, &json!({ "none": true })).refused(410, "expired");
    client.assert_nothing_recorded("lunch");
    assert_eq!(client.get("/v1/catalogs/lunch/contexts").expect(200).body["rows"], json!([]));
}

#[test]
fn what_was_recorded_is_repeated_after_expiry_and_a_restart() {
    let mut own = Own::without_leeway();
    let client = own.client();
    let shown = short_lived(&client);
    client.choose(&shown, &json!({ "chosen": ["soup"] })).expect(200);
    wait_for_expiry();
    let told = json!({ "id": shown.body["id"], "seq": 1, "chosen": ["soup"], "repeated": true });
    assert_eq!(client.choose(&shown, &json!({ "chosen": ["soup"] })).expect(200).body, told);
    let refused = client.choose(&shown, &json!({ "chosen": ["salad"] })).refused(409, "conflict");
    assert_eq!(refused.body["recorded"], json!({ "chosen": ["soup"] }));
    own.restart();
    let client = own.client();
    assert_eq!(client.choose(&shown, &json!({ "chosen": ["soup"] })).expect(200).body, told);
    client.choose(&shown, &json!({ "none": true })).refused(409, "conflict");
    client.assert_counts("lunch", "ada", 1.0, &[("soup", 1.0, 1.0), ("salad", 1.0, 0.0)]);
    assert_eq!(client.exported("lunch", "").len(), 1);
}

#[test]
fn what_was_withdrawn_is_told_after_expiry() {
    let own = Own::without_leeway();
    let client = own.client();
    let shown = short_lived(&client);
    client.choose(&shown, &json!({ "chosen": ["soup"] })).expect(200);
    client.delete(&format!("/v1/catalogs/lunch/choices/{}", shown.body["id"].as_str().expect("an id"))).expect(200);
    wait_for_expiry();
    let again = client.choose(&shown, &json!({ "chosen": ["soup"] })).expect(200);
    assert_eq!((&again.body["repeated"], &again.body["withdrawn"]), (&json!(true), &json!(true)));
    client.assert_counts("lunch", "all", 0.0, &[]);
}

#[test]
fn an_expired_presentation_of_an_erased_context_is_gone_if_it_was_answered() {
    let own = Own::without_leeway();
    let client = own.client();
    let shown = short_lived(&client);
    client.choose(&shown, &json!({ "chosen": ["soup"] })).expect(200);
    client.delete("/v1/catalogs/lunch/contexts/ada").expect(200);
    wait_for_expiry();
    client.choose(&shown, &json!({ "chosen": ["soup"] })).refused(410, "gone");
    client.assert_nothing_recorded("lunch");
}

/// Clocks of several servers may be apart.
#[test]
fn there_is_a_minute_of_leeway() {
    let own = Own::new();
    let client = own.client();
    let shown = short_lived(&client);
    wait_for_expiry();
    client.choose(&shown, &json!({ "chosen": ["soup"] })).expect(200);
    client.assert_counts("lunch", "ada", 1.0, &[("soup", 1.0, 1.0), ("salad", 1.0, 0.0)]);
}

#[test]
fn the_expiry_is_that_of_the_moment_it_was_presented() {
    let own = Own::without_leeway();
    let client = own.client();
    let short = short_lived(&client);
    client.patch("/v1/catalogs/lunch", &json!({ "expiry": 3600 })).expect(200);
    let long = client.present("lunch", &json!({ "context": "ada" })).expect(201);
    client.patch("/v1/catalogs/lunch", &json!({ "expiry": EXPIRY })).expect(200);
    wait_for_expiry();
    client.choose(&short, &json!({ "chosen": ["soup"] })).refused(410, "expired");
    client.choose(&long, &json!({ "chosen": ["salad"] })).expect(200);
    client.assert_counts("lunch", "ada", 1.0, &[("soup", 1.0, 0.0), ("salad", 1.0, 1.0)]);
}

#[test]
fn late_answers_in_bulk_are_judged_one_by_one() {
    let own = Own::without_leeway();
    let client = own.client();
    let (answered, unanswered) = (short_lived(&client), short_lived(&client));
    client.choose(&answered, &json!({ "chosen": ["soup"] })).expect(200);
    client.patch("/v1/catalogs/lunch", &json!({ "expiry": 3600 })).expect(200);
    let open = client.present("lunch", &json!({ "context": "ada" })).expect(201);
    wait_for_expiry();
    let row = |shown: &Answer, chosen: &str| json!({ "token": shown.body["token"], "chosen": [chosen] });
    let rows = json!({ "rows": [
        row(&answered, "soup"), row(&answered, "salad"), row(&unanswered, "soup"), row(&open, "salad"), row(&open, "salad"), row(&open, "soup"),
    ] });
    let answer = client.post("/v1/catalogs/lunch/choices", &rows).expect(200);
    let told: Vec<&Value> = answer.body["rows"].as_array().expect("rows").iter().map(|row| &row["status"]).collect();
    assert_eq!(told, ["repeated", "conflict", "refused", "recorded", "repeated", "conflict"]);
    let problem = &answer.body["rows"][2]["problem"];
    assert_eq!((&problem["type"], &problem["status"]), (&json!("urn:unloop:expired"), &json!(410)));
    assert_eq!(answer.body["rows"][2]["id"], unanswered.body["id"]);
    client.assert_counts("lunch", "ada", 2.0, &[("soup", 2.0, 1.0), ("salad", 2.0, 1.0)]);
    assert_eq!(client.exported("lunch", "").len(), 2);
}
