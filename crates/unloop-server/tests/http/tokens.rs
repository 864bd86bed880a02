//! The token is the permission to answer one presentation, and nothing else.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use unloop_server::{LONGEST, Secrets, Token};

use crate::support::{Answer, Client, Own, soon};

fn token(shown: &Answer) -> &str {
    shown.body["token"].as_str().expect("a token")
}

/// Answers a presentation with another token than its own.
fn choose_with(client: &Client, shown: &Answer, token: &str) -> Answer {
    let id = shown.body["id"].as_str().expect("an id");
    client.post(&format!("/v1/presentations/{id}/choice"), &json!({ "token": token, "chosen": [shown.options()[0]] }))
}

fn changed(text: &str, place: usize) -> String {
    let mut bytes = text.as_bytes().to_vec();
    bytes[place] = if bytes[place] == b'A' { b'B' } else { b'A' };
    String::from_utf8(bytes).expect("text")
}

#[test]
fn a_forged_token_is_refused() {
    let (own, elsewhere) = (Own::new(), Own::new());
    let client = own.client();
    for client in [&client, &elsewhere.client()] {
        client.catalog("lunch", &["soup", "salad"]);
    }
    let shown = client.present("lunch", &json!({ "context": "ada" })).expect(201);
    let foreign = elsewhere.client().present("lunch", &json!({ "context": "ada" })).expect(201);
    let good = token(&shown);
    let mut forged: Vec<String> = [0, 1, 20, good.len() / 2, good.len() - 44, good.len() - 2, good.len() - 1]
        .into_iter()
        .map(|place| changed(good, place))
        .collect();
    let garbage = ["", "x", "AAAA", "not base64!", "ä", "../../etc/passwd", "\0", "null"];
    forged.extend(garbage.into_iter().map(str::to_owned));
    forged.extend([&good[1..], &good[..good.len() - 1]].map(str::to_owned));
    forged.extend([format!("{good}="), format!("{good}A"), format!(" {good}"), "A".repeat(LONGEST), "A".repeat(LONGEST + 1)]);
    forged.push(
        Token::open(good, &Secrets::read(&own.folder.secret_file()).expect("a file").expect("secrets"))
            .map_or_else(|| panic!("it is one of ours"), |token| token.seal(&Secrets::fresh().expect("random numbers"))),
    );
    for text in &forged {
        choose_with(&client, &shown, text).refused(403, "forged");
        let row = json!({ "rows": [{ "token": text, "chosen": ["soup"] }] });
        let bulk = client.post("/v1/catalogs/lunch/choices", &row).expect(200);
        assert_eq!(
            (&bulk.body["rows"][0]["status"], &bulk.body["rows"][0]["problem"]["status"]),
            (&json!("refused"), &json!(403))
        );
    }
    client.choose(&foreign, &json!({ "chosen": ["soup"] })).refused(403, "forged");
    client.assert_nothing_recorded("lunch");
    choose_with(&client, &shown, good).expect(200);
}

#[test]
fn a_token_is_text_and_there_is_one() {
    let own = Own::new();
    let client = own.client();
    client.catalog("lunch", &["soup", "salad"]);
    let shown = client.present("lunch", &json!({})).expect(201);
    let path = format!("/v1/presentations/{}/choice", shown.body["id"].as_str().expect("an id"));
    let refused = client.post(&path, &json!({ "token": 7, "chosen": ["soup"] })).refused(422, "invalid");
    assert_eq!(refused.body["field"], "token");
    client.post(&path, &json!({ "chosen": ["soup"] })).refused(422, "invalid");
    client.assert_nothing_recorded("lunch");
}

#[test]
fn a_token_answers_its_own_presentation_alone() {
    let own = Own::new();
    let client = own.client();
    client.catalog("lunch", &["soup", "salad"]);
    let (one, other) = (client.present("lunch", &json!({})).expect(201), client.present("lunch", &json!({})).expect(201));
    choose_with(&client, &one, token(&other)).refused(403, "forged");
    let nobody = "/v1/presentations/00000000-0000-0000-0000-000000000000/choice";
    client.post(nobody, &json!({ "token": token(&one), "chosen": ["soup"] })).refused(403, "forged");
    client.assert_nothing_recorded("lunch");
}

#[test]
fn a_token_of_another_catalog_is_refused_in_bulk() {
    let own = Own::new();
    let client = own.client();
    client.catalog("lunch", &["soup", "salad"]);
    client.catalog("dinner", &["soup", "salad"]);
    let shown = client.present("dinner", &json!({})).expect(201);
    let rows = json!({ "rows": [{ "token": token(&shown), "chosen": ["soup"] }] });
    let answer = client.post("/v1/catalogs/lunch/choices", &rows).expect(200);
    assert_eq!(answer.body["rows"][0]["problem"]["type"], "urn:unloop:forged");
    client.assert_nothing_recorded("lunch");
    client.assert_nothing_recorded("dinner");
}

#[test]
fn a_token_of_a_catalog_that_was_made_again_is_gone() {
    let own = Own::new();
    let client = own.client();
    client.catalog("lunch", &["soup", "salad"]);
    let (open, answered) = (client.present("lunch", &json!({})).expect(201), client.present("lunch", &json!({})).expect(201));
    client.choose(&answered, &json!({ "chosen": ["soup"] })).expect(200);
    client.delete("/v1/catalogs/lunch").expect(200);
    client.choose(&open, &json!({ "chosen": ["soup"] })).refused(410, "gone");
    client.catalog("lunch", &["soup", "salad"]);
    for shown in [&open, &answered] {
        client.choose(shown, &json!({ "chosen": ["soup"] })).refused(410, "gone");
    }
    client.assert_nothing_recorded("lunch");
}

fn secrets_of(path: &Path) -> Secrets {
    Secrets::read(path).expect("a file").expect("secrets")
}

/// Presents until it is signed as it should be.
fn signed(client: &Client, good: impl Fn(&str) -> bool) -> bool {
    soon(|| good(token(&client.present("lunch", &json!({})).expect(201))))
}

#[test]
fn a_secret_that_was_rotated_still_verifies_and_one_that_was_dropped_does_not() {
    let own = Own::new();
    let (client, file) = (own.client(), own.folder.secret_file());
    client.catalog("lunch", &["soup", "salad"]);
    let [early, dropped, answered] = [(); 3].map(|()| client.present("lunch", &json!({ "context": "ada" })).expect(201));
    let old = secrets_of(&file);
    old.rotated(jiff::Timestamp::now()).expect("random numbers").write(&file).expect("a file");
    assert!(signed(&client, |text| Token::open(text, &old).is_none()), "the new secret signs");
    client.choose(&early, &json!({ "chosen": ["soup"] })).expect(200);
    client.choose(&answered, &json!({ "chosen": ["soup"] })).expect(200);
    let fresh = Secrets::fresh().expect("random numbers");
    fresh.write(&file).expect("a file");
    assert!(signed(&client, |text| Token::open(text, &fresh).is_some()), "the file is taken up");
    client.choose(&dropped, &json!({ "chosen": ["soup"] })).refused(403, "forged");
    client.choose(&answered, &json!({ "chosen": ["soup"] })).refused(403, "forged");
    client.assert_counts("lunch", "ada", 2.0, &[("soup", 2.0, 2.0), ("salad", 2.0, 0.0)]);
    assert_eq!(client.exported("lunch", "").len(), 2);
}

/// Whatever happens to the file, what is signed stays signed.
#[test]
fn secrets_in_use_stay_where_the_file_is_gone_or_spoilt() {
    let own = Own::new();
    let (client, file) = (own.client(), own.folder.secret_file());
    client.catalog("lunch", &["soup", "salad"]);
    let kept = secrets_of(&file);
    let spoil: [&dyn Fn(); 3] =
        [&|| std::fs::remove_file(&file).expect("it was there"), &|| std::fs::write(&file, "nonsense").expect("a file"), &|| {
            std::fs::write(&file, "").expect("a file");
        }];
    for (count, spoil) in (1..).zip(spoil) {
        let before = client.present("lunch", &json!({ "context": "ada" })).expect(201);
        spoil();
        std::thread::sleep(Duration::from_millis(700));
        client.choose(&before, &json!({ "chosen": ["soup"] })).expect(200);
        let after = client.present("lunch", &json!({ "context": "ada" })).expect(201);
        assert!(Token::open(token(&after), &kept).is_some());
        client.get("/readyz").expect(200);
        let times = f64::from(count);
        client.assert_counts("lunch", "ada", times, &[("soup", times, times), ("salad", times, 0.0)]);
    }
}

#[test]
fn a_token_says_nothing_that_a_choice_may_change() {
    let own = Own::new();
    let client = own.client();
    client.catalog("lunch", &["soup", "salad"]);
    let shown = client.present("lunch", &json!({ "context": "ada", "size": 1 })).expect(201);
    let other = if shown.options() == ["soup"] { "salad" } else { "soup" };
    let refused = client.choose(&shown, &json!({ "chosen": [other] })).refused(422, "invalid");
    assert_eq!(refused.body["field"], "chosen[0]");
    for (extra, value) in [("context", json!("eve")), ("weight", json!(9)), ("presented", json!([other]))] {
        let mut given = json!({ "chosen": shown.options() });
        given[extra] = Value::clone(&value);
        client.choose(&shown, &given).refused(422, "invalid");
    }
    client.assert_nothing_recorded("lunch");
}
