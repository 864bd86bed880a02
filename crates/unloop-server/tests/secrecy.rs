//! What people are called, what they choose from, and what opens doors stands in no log and in no metric.

mod support;

use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use support::{Answer, Client, Own, raw};
use tracing_subscriber::filter::LevelFilter;
use unloop_server::{Scope, ServerSettings};

/// What was logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().expect("nobody panicked").clone()).expect("text")
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("nobody panicked").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Names that are asking to be let out: each is an option and a context. The path they are asked for by stands beside.
const NAMES: [(&str, &str); 6] = [
    ("<script>alert(1)</script>", "%3Cscript%3Ealert(1)%3C%2Fscript%3E"),
    ("ada.lovelace@example.org", "ada.lovelace@example.org"),
    ("unloop_AAAABBBBCCCCDDDDEEEEFFFFGGGGHHHHIIIIJJJJKKK", "unloop_AAAABBBBCCCCDDDDEEEEFFFFGGGGHHHHIIIIJJJJKKK"),
    ("Bearer hush-hush", "Bearer%20hush-hush"),
    ("%0Aforged=line", "%250Aforged=line"),
    ("\u{202e}gnitirw-drawkcab", "%E2%80%AEgnitirw-drawkcab"),
];
/// What no name can be.
const IMPOSSIBLE: [(&str, &str); 2] = [("two\nlines-of-it", "two%0Alines-of-it"), ("nul\0and-void", "nul%00and-void")];

/// What must not be found.
#[derive(Default)]
struct Hidden(Vec<String>);

impl Hidden {
    fn add(&mut self, text: &str) {
        assert!(text.len() >= 10, "{text:?} may be found by chance");
        self.0.push(text.to_owned());
    }

    fn token(&mut self, answer: &Answer) {
        self.add(answer.body["token"].as_str().expect("a token"));
    }

    /// What of it is in a text, as it is, as JSON writes it or as an address does.
    fn found_in(&self, text: &str) -> Vec<&str> {
        let written = |own: &str| json!(own).to_string().trim_matches('"').to_owned();
        let is_in = |own: &&String| text.contains(own.as_str()) || text.contains(&written(own));
        self.0.iter().filter(is_in).map(String::as_str).collect()
    }
}

/// Presents, chooses, reads and erases as somebody of an odd name.
fn session(client: &Client, hidden: &mut Hidden, name: &str, path: &str) {
    client.put(&format!("/v1/catalogs/lunch/options/{path}"), &json!({ "label": name })).expect(201);
    let shown = client.present("lunch", &json!({ "context": name, "pinned": [name] })).expect(201);
    hidden.token(&shown);
    client.choose(&shown, &json!({ "chosen": [name] })).expect(200);
    client.choose(&shown, &json!({ "none": true })).refused(409, "conflict");
    client.get(&format!("/v1/catalogs/lunch/ranking?context={path}")).expect(200);
    client.get(&format!("/v1/catalogs/lunch/contexts?prefix={path}")).expect(200);
    client.get(&format!("/v1/catalogs/lunch/choices?context={path}")).expect(200);
    client.post("/v1/catalogs/lunch/predictions", &json!({ "context": name, "presented": [[name, "soup"]] })).expect(200);
    let row = json!({ "id": name, "context": name, "presented": [name, "soup"], "chosen": ["soup"] });
    client.post("/v1/catalogs/lunch/choices", &json!({ "rows": [row, { "id": name, "chosen": [name] }] })).expect(200);
    client.delete(&format!("/v1/catalogs/lunch/choices/{path}")).expect(200);
    client.delete(&format!("/v1/catalogs/lunch/options/{path}")).expect(200);
    client.delete(&format!("/v1/catalogs/lunch/contexts/{path}")).expect(200);
}

/// Asks for what cannot be, with names in all places.
fn nonsense(client: &Client, name: &str, path: &str) {
    client.get(&format!("/v1/catalogs/{path}")).refused(404, "no-catalog");
    client.get(&format!("/{path}")).refused(404, "no-such-path");
    client.get(&format!("/v1/catalogs?{path}={path}")).refused(422, "invalid");
    client.put(&format!("/v1/catalogs/{path}%20"), &json!({})).refused(422, "invalid");
    client.delete(&format!("/v1/catalogs/lunch/options/{path}-that-is-not")).refused(404, "no-option");
    client.delete(&format!("/v1/catalogs/lunch/choices/{path}-that-is-not")).refused(404, "no-choice");
    client.post(&format!("/v1/presentations/{path}/choice"), &json!({ "token": name, "chosen": [name] })).refused(403, "forged");
    client.send("POST", "/v1/catalogs/lunch/presentations", Some(name)).refused(400, "not-json");
    client.present("lunch", &json!({ name: name })).refused(422, "invalid");
    client.present("lunch", &json!({ "policy": name })).refused(422, "invalid");
    client
        .header("content-type", "text/plain")
        .send("POST", "/v1/catalogs/lunch/presentations", Some(name))
        .refused(415, "media-type");
}

/// Keys in all places that people put them, and ones that are none.
fn failed_logins(own: &Own, hidden: &mut Hidden, key: &str) {
    let stranger = own.client();
    let mut changed = key.to_owned();
    changed.replace_range(key.len() - 2.., "AA");
    for wrong in [changed.as_str(), "unloop_a-guess-at-a-key", "a-password-of-somebody"] {
        hidden.add(wrong);
        stranger.key(wrong).get("/v1/catalogs").refused(401, "no-key");
        stranger.header("authorization", &format!("Basic {wrong}")).get("/v1/catalogs").refused(401, "no-key");
        stranger.header("x-api-key", wrong).get("/v1/catalogs").refused(401, "no-key");
    }
    stranger.get(&format!("/v1/catalogs?cursor={key}")).refused(401, "no-key");
    stranger.get(&format!("/{key}")).refused(401, "no-key");
    let method = raw(own.address(), &format!("{key} / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"));
    assert!(method.starts_with("HTTP/1.1 4"), "{method}");
    let host = raw(own.address(), &format!("GET / HTTP/1.1\r\nhost: {key}.example\r\nconnection: close\r\n\r\n"));
    assert!(host.starts_with("HTTP/1.1 4"), "{host}");
    stranger.header("origin", &format!("https://{key}")).put("/v1/catalogs/lunch", &json!({})).refused(403, "origin");
}

/// Takes the file of secrets away, and puts nonsense in its place that is nearly a secret.
fn spoilt_secrets(own: &Own) {
    let file = own.folder.secret_file();
    let kept = std::fs::read_to_string(&file).expect("a file");
    for text in [kept.replace(' ', ""), kept.replace('Z', "?"), kept.replace("20", "")] {
        std::fs::write(&file, text).expect("a file");
        std::thread::sleep(Duration::from_millis(600));
    }
    std::fs::remove_file(&file).expect("it was there");
    std::thread::sleep(Duration::from_millis(600));
    std::fs::write(&file, &kept).expect("a file");
}

#[test]
fn logs_and_metrics_tell_nothing_of_anybody() {
    let log = Log::default();
    let writer = log.clone();
    tracing_subscriber::fmt().json().with_max_level(LevelFilter::DEBUG).with_writer(move || writer.clone()).init();
    let own = Own::with(ServerSettings { allow_origins: vec!["https://shop.example".into()], ..ServerSettings::default() });
    own.client().catalog("lunch", &["soup", "salad", "the-dish-of-the-day"]);
    let (mut hidden, mut keys) = (Hidden::default(), Vec::new());
    for scopes in [&Scope::ALL[..], &[Scope::Read]] {
        let (_, key) = own.make_key(scopes, None, None);
        hidden.add(&key);
        keys.push(key);
    }
    let [owner, reader] = [own.client().key(&keys[0]), own.client().key(&keys[1])];
    assert!(support::soon(|| own.client().get("/v1/catalogs").status == 401 && reader.get("/v1/catalogs").status == 200));
    hidden.add("the-dish-of-the-day");
    let secrets = std::fs::read_to_string(own.folder.secret_file()).expect("a file");
    let secret = secrets.lines().find(|line| !line.starts_with('#')).and_then(|line| line.split(' ').next()).expect("a secret");
    hidden.add(secret);
    hidden.add(&secret[..32]);

    for (name, path) in NAMES {
        hidden.add(name);
        hidden.add(path);
        session(&owner, &mut hidden, name, path);
        nonsense(&owner, name, path);
        reader.delete(&format!("/v1/catalogs/lunch/contexts/{path}")).refused(403, "scope");
    }
    for (name, path) in IMPOSSIBLE {
        hidden.add(name);
        hidden.add(path);
        nonsense(&owner, name, path);
        owner.put(&format!("/v1/catalogs/lunch/options/{path}"), &json!({})).refused(422, "invalid");
        owner.delete(&format!("/v1/catalogs/lunch/contexts/{path}")).refused(422, "invalid");
        owner.present("lunch", &json!({ "context": name })).refused(422, "invalid");
    }
    failed_logins(&own, &mut hidden, &keys[0]);
    let shown = owner.present("lunch", &json!({ "context": "ada.lovelace@example.org" })).expect(201);
    hidden.token(&shown);
    let token = shown.body["token"].as_str().expect("a token");
    let forged = token.replacen('A', "B", 3);
    hidden.add(&forged);
    owner
        .post(&format!("/v1/presentations/{forged}/choice"), &json!({ "token": forged, "chosen": ["soup"] }))
        .refused(403, "forged");
    owner
        .post(&format!("/v1/presentations/{token}/choice"), &json!({ "token": token, "chosen": ["soup"] }))
        .refused(403, "forged");
    owner.get(&format!("/v1/catalogs/lunch/ranking?context={}", &token[..60])).expect(200);
    spoilt_secrets(&own);

    let metrics = reader.get("/metrics").expect(200).text;
    drop(own);
    let text = log.text();
    // It would be found if it were there.
    assert!(
        text.contains("/v1/presentations/{id}/choice") && text.contains("/v1/catalogs/{catalog}/contexts/{context}"),
        "{text}"
    );
    assert!(text.contains("the secrets in use stay"), "{text}");
    assert!(
        metrics.contains("route=\"/v1/catalogs/{catalog}/options/{option}\"") && metrics.contains("status=\"401\""),
        "{metrics}"
    );
    assert_eq!(hidden.found_in(&text), Vec::<&str>::new(), "{text}");
    assert_eq!(hidden.found_in(&metrics), Vec::<&str>::new(), "{metrics}");
    assert!(!metrics.contains("lunch"), "no catalog is a label");
    tracing::debug!(context = NAMES[0].0, option = %IMPOSSIBLE[0].0, %token, "let slip");
    let slipped = log.text()[text.len()..].to_owned();
    let found = hidden.found_in(&slipped);
    assert!([NAMES[0].0, IMPOSSIBLE[0].0, token].iter().all(|own| found.contains(own)), "{found:?} of {slipped}");
    assert!(text.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "no name makes a line of its own");
}
