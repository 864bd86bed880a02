//! The next presentation with the answer to the last.

use serde_json::{Value, json};
use unloop_server::Scope;

use crate::support::{Answer, Client, Own};

fn choose_and_go_on(client: &Client, shown: &Answer, chosen: &str) -> Answer {
    let id = shown.body["id"].as_str().expect("an id");
    let body = json!({ "token": shown.body["token"], "chosen": [chosen] });
    client.post(&format!("/v1/presentations/{id}/choice?next=true"), &body)
}

#[test]
fn the_next_presentation_comes_with_the_answer() {
    let own = Own::new();
    let client = own.client();
    client.put("/v1/catalogs/lunch", &json!({ "options": ["soup", "salad"], "size": 2 })).expect(201);
    let shown = client.present("lunch", &json!({ "context": "ada" })).expect(201);
    let answer = choose_and_go_on(&client, &shown, "soup").expect(200);
    assert_eq!((&answer.body["repeated"], &answer.body["next"]["seq"]), (&json!(false), &json!(1)));
    let next = Answer { body: answer.body["next"].clone(), ..answer };
    assert_ne!(next.body["id"], shown.body["id"]);
    client.choose(&next, &json!({ "chosen": ["salad"] })).expect(200);
    // It was for the same context.
    client.assert_counts("lunch", "ada", 2.0, &[("soup", 2.0, 1.0), ("salad", 2.0, 1.0)]);
    let again = choose_and_go_on(&client, &shown, "soup").expect(200);
    assert_eq!(again.body["repeated"], true);
    assert!(again.body["next"]["token"].is_string());
    let refused = choose_and_go_on(&client, &shown, "salad").refused(409, "conflict");
    assert_eq!(refused.body["next"], Value::Null);
}

#[test]
fn without_a_next_presentation_the_choice_is_recorded_all_the_same() {
    let own = Own::new();
    let client = own.client();
    client.catalog("lunch", &["soup"]);
    let shown = client.present("lunch", &json!({})).expect(201);
    client.delete("/v1/catalogs/lunch/options/soup").expect(200);
    let answer = choose_and_go_on(&client, &shown, "soup").expect(200);
    assert_eq!(
        (&answer.body["next"], &answer.body["next_problem"]["type"]),
        (&Value::Null, &json!("urn:unloop:nothing-eligible"))
    );
    assert_eq!(client.exported("lunch", "").len(), 1);
}

#[test]
fn once_there_is_a_key_the_next_presentation_needs_one() {
    let own = Own::new();
    let stranger = own.client();
    stranger.catalog("lunch", &["soup", "salad"]);
    stranger.catalog("dinner", &["soup", "salad"]);
    let shown = stranger.present("lunch", &json!({ "context": "ada" })).expect(201);
    let reader = own.key(&[Scope::Read, Scope::Choose, Scope::Admin], None);
    let elsewhere = own.key(&[Scope::Present], Some(own.number("dinner")));
    let presenter = own.key(&[Scope::Present], None);
    let refused = choose_and_go_on(&stranger, &shown, "soup").refused(401, "no-key");
    assert_eq!(refused.headers["www-authenticate"], "Bearer");
    choose_and_go_on(&stranger.key("unloop_wrong"), &shown, "soup").refused(401, "no-key");
    choose_and_go_on(&reader, &shown, "soup").refused(403, "scope");
    choose_and_go_on(&elsewhere, &shown, "soup").refused(403, "scope");
    reader.assert_nothing_recorded("lunch");
    stranger.choose(&shown, &json!({ "chosen": ["soup"] })).expect(200);
    let answer = choose_and_go_on(&presenter, &shown, "soup").expect(200);
    assert_eq!(answer.body["repeated"], true);
    assert!(answer.body["next"]["token"].is_string());
    reader.assert_counts("lunch", "ada", 1.0, &[("soup", 1.0, 1.0), ("salad", 1.0, 0.0)]);
}
