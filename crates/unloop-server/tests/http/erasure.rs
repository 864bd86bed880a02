//! Erased is gone.

use serde_json::{Value, json};

use crate::support::{Client, Own};

fn chosen(client: &Client, context: &str, option: &str) -> crate::support::Answer {
    let shown = client.present("lunch", &json!({ "context": context })).expect(201);
    client.choose(&shown, &json!({ "chosen": [option] })).expect(200);
    shown
}

fn contexts(client: &Client) -> Value {
    client.get("/v1/catalogs/lunch/contexts").expect(200).body["rows"].clone()
}

#[test]
fn an_erased_context_leaves_nothing_behind() {
    let mut own = Own::new();
    let client = own.client();
    client.catalog("lunch", &["soup", "salad"]);
    let answered = chosen(&client, "ada", "soup");
    let open = client.present("lunch", &json!({ "context": "ada" })).expect(201);
    chosen(&client, "bob", "salad");
    let row = json!({ "id": "mail of ada", "context": "ada", "presented": ["soup", "salad"], "chosen": ["soup"] });
    client.post("/v1/catalogs/lunch/choices", &json!({ "rows": [row] })).expect(200);
    client.assert_counts("lunch", "ada", 2.0, &[("soup", 2.0, 2.0), ("salad", 2.0, 0.0)]);
    client.assert_counts("lunch", "all", 3.0, &[("soup", 3.0, 2.0), ("salad", 3.0, 1.0)]);
    let erased = client.delete("/v1/catalogs/lunch/contexts/ada").expect(200);
    assert_eq!(erased.body["seq"], 4);
    for restarted in [false, true] {
        if restarted {
            own.restart();
        }
        let client = own.client();
        client.assert_counts("lunch", "ada", 0.0, &[]);
        client.assert_counts("lunch", "all", 1.0, &[("soup", 1.0, 0.0), ("salad", 1.0, 1.0)]);
        client.choose(&answered, &json!({ "chosen": ["soup"] })).refused(410, "gone");
        client.choose(&answered, &json!({ "chosen": ["salad"] })).refused(410, "gone");
        let again = client.post("/v1/catalogs/lunch/choices", &json!({ "rows": [row] })).expect(200);
        assert_eq!((&again.body["rows"][0]["status"], &again.body["rows"][0]["seq"]), (&json!("gone"), &json!(3)));
        client.delete("/v1/catalogs/lunch/contexts/ada").refused(404, "no-context");
        assert_eq!(contexts(&client), json!([{ "context": "bob" }]));
        let exported = client.get("/v1/catalogs/lunch/choices").expect(200).text;
        assert!(exported.lines().count() == 1 && !exported.contains("ada"), "{exported}");
        client.assert_counts("lunch", "all", 1.0, &[("soup", 1.0, 0.0), ("salad", 1.0, 1.0)]);
    }
    // What was never answered was not recorded: the context begins anew.
    let client = own.client();
    client.choose(&open, &json!({ "chosen": ["soup"] })).expect(200);
    client.assert_counts("lunch", "ada", 1.0, &[("soup", 1.0, 1.0), ("salad", 1.0, 0.0)]);
    client.assert_counts("lunch", "all", 2.0, &[("soup", 2.0, 1.0), ("salad", 2.0, 1.0)]);
}

/// Nothing of it is left in the files, however they are read.
#[test]
fn no_byte_of_an_erased_context_is_left_in_the_files() {
    let mut own = Own::new();
    let client = own.client();
    client.catalog("lunch", &["soup", "salad"]);
    let name = "ada-of-the-many-letters";
    for _ in 0..3 {
        chosen(&client, name, "soup");
    }
    own.restart();
    let client = own.client();
    assert_eq!(contexts(&client), json!([{ "context": name }]));
    assert!(holds(&own, name), "it can be found while it is there");
    let erased = client.delete(&format!("/v1/catalogs/lunch/contexts/{name}")).expect(200);
    assert_eq!(erased.body["emptied"], true);
    assert!(!holds(&own, name));
}

fn holds(own: &Own, name: &str) -> bool {
    let folder = own.folder.database().parent().expect("a folder").to_owned();
    let files = std::fs::read_dir(folder).expect("a folder").map(|file| file.expect("a file").path());
    let holds = |bytes: Vec<u8>| bytes.windows(name.len()).any(|own| own == name.as_bytes());
    files.into_iter().any(|file| std::fs::read(file).is_ok_and(holds))
}

#[test]
fn a_withdrawn_choice_of_an_erased_context_is_gone() {
    let own = Own::new();
    let client = own.client();
    client.catalog("lunch", &["soup", "salad"]);
    let shown = chosen(&client, "ada", "soup");
    client.delete(&format!("/v1/catalogs/lunch/choices/{}", shown.body["id"].as_str().expect("an id"))).expect(200);
    chosen(&client, "bob", "soup");
    client.delete("/v1/catalogs/lunch/contexts/ada").expect(200);
    client.choose(&shown, &json!({ "chosen": ["soup"] })).refused(410, "gone");
    client.assert_counts("lunch", "all", 1.0, &[("soup", 1.0, 1.0), ("salad", 1.0, 0.0)]);
    assert_eq!(client.exported("lunch", "").len(), 1);
}

#[test]
fn who_never_chose_and_everybody_are_not_erased() {
    let own = Own::new();
    let client = own.client();
    client.catalog("lunch", &["soup", "salad"]);
    chosen(&client, "ada", "soup");
    client.present("lunch", &json!({ "context": "bob" })).expect(201);
    client.delete("/v1/catalogs/lunch/contexts/bob").refused(404, "no-context");
    client.delete("/v1/catalogs/lunch/contexts/all").refused(422, "invalid");
    client.delete("/v1/catalogs/lunch/contexts/a%0Ab").refused(422, "invalid");
    client.delete("/v1/catalogs/supper/contexts/ada").refused(404, "no-catalog");
    client.assert_counts("lunch", "all", 1.0, &[("soup", 1.0, 1.0), ("salad", 1.0, 0.0)]);
}

#[test]
fn a_context_of_the_same_name_in_another_catalog_stays() {
    let own = Own::new();
    let client = own.client();
    for catalog in ["lunch", "dinner"] {
        client.catalog(catalog, &["soup", "salad"]);
        let shown = client.present(catalog, &json!({ "context": "ada" })).expect(201);
        client.choose(&shown, &json!({ "chosen": ["soup"] })).expect(200);
    }
    client.delete("/v1/catalogs/lunch/contexts/ada").expect(200);
    client.assert_nothing_recorded("lunch");
    client.assert_counts("dinner", "ada", 1.0, &[("soup", 1.0, 1.0), ("salad", 1.0, 0.0)]);
}

/// Choices that take long to rank.
fn many(names: &[String], context: &str) -> Value {
    let row = |i: usize| {
        let set: Vec<&String> = (0..5).map(|j| &names[(i * 7 + j * (i % 50 + 1)) % names.len()]).collect();
        json!({ "id": format!("{context} {i}"), "context": context, "presented": set, "chosen": [set[i % 5]] })
    };
    json!({ "rows": (0..1_000).map(row).collect::<Vec<Value>>() })
}

/// A ranking that takes long to compute is told as it was a while ago, but never with what was erased since.
#[test]
fn a_ranking_never_holds_what_was_erased() {
    let own = Own::new();
    let client = own.client();
    let names: Vec<String> = (0..301).map(|i| format!("dish {i}")).collect();
    client.put("/v1/catalogs/lunch", &json!({ "options": names })).expect(201);
    for context in ["ada", "bob"] {
        client.post("/v1/catalogs/lunch/choices", &many(&names, context)).expect(200);
        assert_eq!(client.counted("lunch", context).presentations, 1_000.0);
    }
    let start = std::time::Instant::now();
    assert_eq!(client.counted("lunch", "all").presentations, 2_000.0);
    let long = start.elapsed();
    client.delete("/v1/catalogs/lunch/contexts/ada").expect(200);
    std::thread::scope(|scope| {
        // While it is computed no other ranking is.
        let all = scope.spawn(|| client.counted("lunch", "all").presentations);
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert_eq!(client.counted("lunch", "ada").presentations, 0.0, "of the erased, where a ranking takes {long:?}");
        assert_eq!(all.join().expect("a ranking"), 1_000.0, "of all, where a ranking takes {long:?}");
    });
}
