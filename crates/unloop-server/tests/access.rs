//! Who may do what, and from where.

mod support;

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::{Answer, Client, Own, beside, raw, soon, wait};
use unloop_server::{Scope, ServerSettings};
use unloop_store::{Change, Changed, Store};

/// A call, with a body where it has one, and the scope it needs.
struct Call {
    method: &'static str,
    path: &'static str,
    body: Option<Value>,
    scope: Scope,
}

fn call(scope: Scope, method: &'static str, path: &'static str, body: Option<Value>) -> Call {
    Call { method, path, body, scope }
}

/// All calls that need a key. Where something goes for good it is something that is not there: it is refused before that is looked at.
fn calls() -> Vec<Call> {
    use Scope::{Admin, Choose, Present, Read};
    vec![
        call(Read, "GET", "/v1/catalogs", None),
        call(Read, "GET", "/v1/catalogs/lunch", None),
        call(Admin, "PUT", "/v1/catalogs/lunch", Some(json!({ "size": 2 }))),
        call(Admin, "PUT", "/v1/catalogs/supper", Some(json!({}))),
        call(Admin, "PATCH", "/v1/catalogs/lunch", Some(json!({ "size": 2 }))),
        call(Admin, "DELETE", "/v1/catalogs/nothing", None),
        call(Read, "GET", "/v1/catalogs/lunch/options", None),
        call(Admin, "PUT", "/v1/catalogs/lunch/options/soup", Some(json!({}))),
        call(Admin, "PATCH", "/v1/catalogs/lunch/options", Some(json!({ "options": ["soup"] }))),
        call(Admin, "DELETE", "/v1/catalogs/lunch/options/nothing", None),
        call(Present, "POST", "/v1/catalogs/lunch/presentations", Some(json!({}))),
        call(Present, "POST", "/v1/catalogs/lunch/presentations/batch", Some(json!({ "presentations": [{}] }))),
        call(Choose, "POST", "/v1/catalogs/lunch/choices", Some(json!({ "rows": [row()] }))),
        call(Read, "GET", "/v1/catalogs/lunch/choices", None),
        call(Choose, "DELETE", "/v1/catalogs/lunch/choices/nothing", None),
        call(Read, "GET", "/v1/catalogs/lunch/ranking", None),
        call(Read, "POST", "/v1/catalogs/lunch/predictions", Some(json!({ "presented": [["soup"]] }))),
        call(Read, "GET", "/v1/catalogs/lunch/contexts", None),
        call(Admin, "DELETE", "/v1/catalogs/lunch/contexts/nobody", None),
        call(Read, "GET", "/metrics", None),
    ]
}

fn row() -> Value {
    json!({ "id": "a", "presented": ["soup", "salad"], "chosen": ["soup"] })
}

fn made(client: &Client, call: &Call) -> Answer {
    client.send(call.method, call.path, call.body.as_ref().map(Value::to_string).as_deref())
}

fn with_lunch(settings: ServerSettings) -> Own {
    let own = Own::with(settings);
    own.client().catalog("lunch", &["soup", "salad"]);
    own
}

#[test]
fn each_call_needs_its_scope_and_no_other() {
    let own = with_lunch(ServerSettings::default());
    let keys = Scope::ALL.map(|scope| (scope, own.key(&[scope], None)));
    let (_, reader) = keys.iter().find(|(scope, _)| *scope == Scope::Read).expect("a key");
    let before = reader.get("/v1/catalogs/lunch").expect(200).body;
    for call in &calls() {
        made(&own.client(), call).refused(401, "no-key");
        for (scope, client) in keys.iter().filter(|(scope, _)| *scope != call.scope) {
            let refused = made(client, call);
            assert_eq!((refused.status, refused.problem()), (403, "scope"), "{scope:?} {} {}", call.method, call.path);
        }
    }
    // Nobody got anything done so far.
    assert_eq!(reader.get("/v1/catalogs/lunch").expect(200).body, before);
    assert_eq!(reader.get("/v1/catalogs").expect(200).body["rows"].as_array().map(Vec::len), Some(1));
    reader.assert_nothing_recorded("lunch");
    for call in &calls() {
        let (_, client) = keys.iter().find(|(scope, _)| *scope == call.scope).expect("a key");
        let answer = made(client, call);
        let allowed = answer.status < 300 || answer.status == 404 && answer.problem() != "no-such-path";
        assert!(allowed, "{:?} {} {}: {}", call.scope, call.method, call.path, answer.text);
    }
    assert_eq!(reader.exported("lunch", "").len(), 1);
    assert_eq!(reader.get("/v1/catalogs/supper").expect(200).body["catalog"], "supper");
}

#[test]
fn three_scopes_do_not_make_the_fourth() {
    let own = with_lunch(ServerSettings::default());
    for missing in Scope::ALL {
        let others: Vec<Scope> = Scope::ALL.into_iter().filter(|scope| *scope != missing).collect();
        let client = own.key(&others, None);
        for call in calls().iter().filter(|call| call.scope == missing) {
            made(&client, call).refused(403, "scope");
        }
    }
}

#[test]
fn a_token_is_enough_to_answer_a_presentation() {
    let own = with_lunch(ServerSettings::default());
    let shown = own.client().present("lunch", &json!({})).expect(201);
    let reader = own.key(&[Scope::Read], None);
    let id = shown.body["id"].as_str().expect("an id");
    own.client()
        .post(&format!("/v1/presentations/{id}/choice"), &json!({ "token": "x", "chosen": ["soup"] }))
        .refused(403, "forged");
    reader.assert_nothing_recorded("lunch");
    own.client().choose(&shown, &json!({ "chosen": ["soup"] })).expect(200);
    // Whatever is sent along.
    own.client().key("unloop_unknown").choose(&shown, &json!({ "chosen": ["soup"] })).expect(200);
    reader.choose(&shown, &json!({ "chosen": ["soup"] })).expect(200);
    reader.assert_counts("lunch", "all", 1.0, &[("soup", 1.0, 1.0), ("salad", 1.0, 0.0)]);
}

#[test]
fn health_readiness_and_the_document_need_no_key() {
    let own = with_lunch(ServerSettings::default());
    own.key(&[Scope::Read], None);
    for client in [own.client(), own.client().key("unloop_unknown"), own.client().header("authorization", "Basic eDp5")] {
        for path in ["/healthz", "/readyz", "/v1/openapi.json"] {
            client.get(path).expect(200);
        }
        client.get("/metrics").refused(401, "no-key");
    }
}

#[test]
fn a_key_that_is_none_is_refused() {
    let own = with_lunch(ServerSettings::default());
    let (_, text) = own.make_key(&[Scope::Read], None, None);
    let owner = own.client().key(&text);
    assert!(soon(|| own.client().get("/v1/catalogs").status == 401));
    owner.get("/v1/catalogs").expect(200);
    own.client().header("authorization", &format!("bearer {text}")).get("/v1/catalogs").expect(200);
    let shorter = &text[..text.len() - 1];
    let wrong = [
        format!("Bearer {shorter}"),
        format!("Bearer {text}A"),
        format!("Bearer {}", text.to_uppercase()),
        format!("Basic {text}"),
        format!("Bearer{text}"),
        text.clone(),
        "Bearer".to_owned(),
        "Bearer unloop_".to_owned(),
        String::new(),
    ];
    for header in wrong {
        let refused = own.client().header("authorization", &header).get("/v1/catalogs").refused(401, "no-key");
        assert_eq!(refused.headers["www-authenticate"], "Bearer");
        assert!(!refused.text.contains(shorter), "a key is not repeated");
    }
}

/// Whoever has no key learns nothing of what is right or wrong, and has no work done for them.
#[test]
fn whether_there_is_a_key_is_looked_at_first() {
    let own = with_lunch(ServerSettings::default());
    own.key(&[Scope::Read], None);
    let stranger = own.client();
    stranger.get("/v1/catalogs?colour=1").refused(401, "no-key");
    stranger.get("/v1/catalogs/lunch/ranking?top=x").refused(401, "no-key");
    for call in calls().iter().filter(|call| call.body.is_some()) {
        for body in ["nonsense", "{\"colour\":1}"] {
            let refused = stranger.send(call.method, call.path, Some(body));
            assert_eq!((refused.status, refused.problem()), (401, "no-key"), "{} {} {body}", call.method, call.path);
        }
        stranger.header("content-type", "text/plain").send(call.method, call.path, Some("{}")).refused(401, "no-key");
    }
}

#[test]
fn a_key_for_one_catalog_is_for_that_one() {
    let own = with_lunch(ServerSettings::default());
    own.client().catalog("dinner", &["soup", "salad"]);
    let shown = own.client().present("dinner", &json!({})).expect(201);
    let lunch = own.key(&Scope::ALL, Some(own.number("lunch")));
    let all = own.key(&Scope::ALL, None);
    for call in calls().iter().filter(|call| call.path.contains("/lunch")) {
        let answer = made(&lunch, call);
        assert!(answer.status < 300 || answer.status == 404, "{} {}: {}", call.method, call.path, answer.text);
        let elsewhere = call.path.replace("/lunch", "/dinner");
        let body = call.body.as_ref().map(Value::to_string);
        lunch.send(call.method, &elsewhere, body.as_deref()).refused(403, "scope");
        // Whether there is one is not told.
        lunch.send(call.method, &call.path.replace("/lunch", "/nothing"), body.as_deref()).refused(403, "scope");
    }
    lunch.delete("/v1/catalogs/dinner").refused(403, "scope");
    lunch.put("/v1/catalogs/brunch", &json!({})).refused(403, "scope");
    let names = |client: &Client| -> Vec<Value> {
        let rows = client.get("/v1/catalogs").expect(200).body["rows"].as_array().expect("rows").clone();
        rows.into_iter().map(|row| row["catalog"].clone()).collect()
    };
    assert_eq!(names(&lunch), ["lunch"]);
    assert_eq!(names(&all), ["dinner", "lunch"]);
    // A token of another catalog is no way in.
    let id = shown.body["id"].as_str().expect("an id");
    let answer = json!({ "token": shown.body["token"], "chosen": ["soup"] });
    lunch.post(&format!("/v1/presentations/{id}/choice?next=true"), &answer).refused(403, "scope");
    let rows = lunch.post("/v1/catalogs/lunch/choices", &json!({ "rows": [answer] })).expect(200);
    assert_eq!(rows.body["rows"][0]["problem"]["status"], 403);
    all.assert_nothing_recorded("dinner");
    // One that is made again under the same name is another.
    lunch.delete("/v1/catalogs/lunch").expect(200);
    all.put("/v1/catalogs/lunch", &json!({})).expect(201);
    lunch.get("/v1/catalogs/lunch").refused(403, "scope");
}

#[test]
fn an_expired_key_is_refused_and_still_counts_as_one() {
    let own = with_lunch(ServerSettings::default());
    let (_, expired) = own.make_key(&Scope::ALL, None, Some(jiff::Timestamp::now()));
    assert!(soon(|| own.client().get("/v1/catalogs").status == 401));
    own.client().key(&expired).get("/v1/catalogs").refused(401, "no-key");
    own.client().key(&expired).put("/v1/catalogs/lunch", &json!({ "size": 1 })).refused(401, "no-key");
    let end = jiff::Timestamp::now() + Duration::from_secs(3);
    let (_, short) = own.make_key(&Scope::ALL, None, Some(end));
    let client = own.client().key(&short);
    assert!(soon(|| client.get("/v1/catalogs").status == 200));
    assert!(soon(|| client.get("/v1/catalogs").status == 401));
    assert!(jiff::Timestamp::now() >= end);
    let owner = own.key(&Scope::ALL, None);
    assert_eq!(owner.get("/v1/catalogs/lunch").expect(200).body["size"], 5);
}

#[test]
fn a_revoked_key_is_refused_within_a_second() {
    let own = with_lunch(ServerSettings::default());
    let keeper = own.key(&Scope::ALL, None);
    let (id, text) = own.make_key(&Scope::ALL, None, None);
    let client = own.client().key(&text);
    assert!(soon(|| client.get("/v1/catalogs").status == 200));
    let revoked = wait(beside(&own.folder.database()).change(Change::Revoke { id }));
    assert!(matches!(revoked, Changed::Done { .. }));
    let start = Instant::now();
    assert!(soon(|| client.get("/v1/catalogs").status == 401));
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
    client.put("/v1/catalogs/lunch", &json!({ "size": 1 })).refused(401, "no-key");
    assert_eq!(keeper.get("/v1/catalogs/lunch").expect(200).body["size"], 5);
}

#[test]
fn keys_outlive_a_restart() {
    let mut own = with_lunch(ServerSettings::default());
    let (_, text) = own.make_key(&[Scope::Read], None, None);
    own.restart();
    own.client().get("/v1/catalogs").refused(401, "no-key");
    own.client().key(&text).get("/v1/catalogs").expect(200);
}

#[test]
fn without_keys_everything_is_open_to_this_machine() {
    let own = with_lunch(ServerSettings::default());
    for call in &calls() {
        let answer = made(&own.client(), call);
        assert!(answer.status < 300 || answer.status == 404, "{} {}: {}", call.method, call.path, answer.text);
    }
    own.client().key("unloop_unknown").get("/v1/catalogs").expect(200);
}

/// The last key may be revoked while a server listens to the world.
#[test]
fn without_keys_nothing_is_open_to_others() {
    let own = Own::with(ServerSettings { loopback: false, ..ServerSettings::default() });
    for call in &calls() {
        made(&own.client(), call).refused(401, "no-key");
    }
    own.client().get("/healthz").expect(200);
    let owner = own.key(&Scope::ALL, None);
    assert_eq!(owner.get("/v1/catalogs").expect(200).body["rows"], json!([]));
}

#[test]
fn without_keys_nothing_comes_through_a_proxy() {
    let own = with_lunch(ServerSettings::default());
    let headers = [
        ("x-forwarded-for", "203.0.113.7"),
        ("x-forwarded-host", "shop.example"),
        ("x-forwarded-proto", "https"),
        ("x-real-ip", "203.0.113.7"),
        ("forwarded", "for=203.0.113.7"),
        ("via", "1.1 proxy"),
    ];
    let before = own.client().get("/v1/catalogs/lunch").expect(200).body;
    for (name, value) in headers {
        let client = own.client().header(name, value);
        client.get("/v1/catalogs").refused(403, "proxied");
        client.patch("/v1/catalogs/lunch", &json!({ "size": 1 })).refused(403, "proxied");
        client.present("lunch", &json!({})).refused(403, "proxied");
        client.get("/").refused(403, "proxied");
    }
    assert_eq!(own.client().get("/v1/catalogs/lunch").expect(200).body, before);
    let owner = own.key(&Scope::ALL, None);
    for (name, value) in headers {
        owner.header(name, value).get("/v1/catalogs").expect(200);
        own.client().header(name, value).get("/v1/catalogs").refused(401, "no-key");
    }
}

/// Sent as it is: a client would write another Host.
fn asked_as(own: &Own, request: &str, host: &str) -> String {
    raw(own.address(), &format!("{request} HTTP/1.1\r\n{host}connection: close\r\n\r\n"))
}

#[test]
fn a_server_answers_to_its_own_names_alone() {
    let own = with_lunch(ServerSettings { allow_hosts: vec!["unloop.example".into()], ..ServerSettings::default() });
    let port = own.address().port();
    let addresses = ["127.0.0.1", "localhost", "LOCALHOST", "[::1]"];
    let named = ["unloop.example", "Unloop.Example"];
    let with_port = |host: &str| [host.to_owned(), format!("{host}:{port}")];
    for host in addresses.into_iter().flat_map(with_port) {
        let answer = asked_as(&own, "GET /v1/catalogs", &format!("host: {host}\r\n"));
        assert!(answer.starts_with("HTTP/1.1 200 "), "{host}: {answer}");
    }
    // A name that it was given leads here from elsewhere: a proxy that says nothing of itself serves nobody without a key.
    for host in named.into_iter().flat_map(with_port) {
        let answer = asked_as(&own, "DELETE /v1/catalogs/lunch", &format!("host: {host}\r\n"));
        assert!(answer.starts_with("HTTP/1.1 403 ") && answer.contains("urn:unloop:proxied"), "{host}: {answer}");
    }
    let bad = [
        "evil.example",
        "evil.example:80",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "unloop.example.evil",
        "x@localhost",
        "",
    ];
    for host in bad {
        for request in ["GET /v1/catalogs", "GET /healthz", "DELETE /v1/catalogs/lunch"] {
            let answer = asked_as(&own, request, &format!("host: {host}\r\n"));
            // What is no host at all is refused before it is looked at.
            let refused = answer.starts_with("HTTP/1.1 421 ") && answer.contains("urn:unloop:host");
            assert!(refused || answer.starts_with("HTTP/1.1 400 "), "{host}: {answer}");
        }
    }
    let nameless = asked_as(&own, "GET /v1/catalogs", "");
    assert!(nameless.starts_with("HTTP/1.1 421 "), "{nameless}");
    // The name in the request line is the one that counts.
    let whole = asked_as(&own, "GET http://evil.example/v1/catalogs", "host: localhost\r\n");
    assert!(whole.starts_with("HTTP/1.1 421 "), "{whole}");
    own.client().get("/v1/catalogs/lunch").expect(200);
}

#[test]
fn pages_from_elsewhere_change_nothing() {
    let own = with_lunch(ServerSettings::default());
    let shown = own.client().present("lunch", &json!({})).expect(201);
    let before = own.client().get("/v1/catalogs/lunch").expect(200).body;
    let port = own.address().port();
    let foreign = [
        "https://evil.example",
        "null",
        "http://127.0.0.1",
        "http://127.0.0.1:1",
        &format!("http://localhost:{port}"),
        "http://",
        "",
    ];
    for origin in foreign {
        let client = own.client().header("origin", origin);
        for call in calls().iter().filter(|call| call.method != "GET") {
            made(&client, call).refused(403, "origin");
        }
        client.choose(&shown, &json!({ "chosen": ["soup"] })).refused(403, "origin");
        let read = client.get("/v1/catalogs").expect(200);
        assert!(!read.headers.contains_key("access-control-allow-origin"), "a page may ask, and cannot read");
    }
    assert_eq!(own.client().get("/v1/catalogs/lunch").expect(200).body, before);
    own.client().assert_nothing_recorded("lunch");
    let page = own.client().header("origin", &format!("http://127.0.0.1:{port}"));
    page.choose(&shown, &json!({ "chosen": ["soup"] })).expect(200);
    page.patch("/v1/catalogs/lunch", &json!({ "size": 1 })).expect(200);
    page.assert_counts("lunch", "all", 1.0, &[("soup", 1.0, 1.0), ("salad", 1.0, 0.0)]);
}

const SHOP: &str = "https://shop.example";

/// What a browser asks before it sends JSON from a page.
fn preflight(own: &Own, origin: &str, path: &str, method: &str) -> Answer {
    let client = own.client().header("origin", origin).header("access-control-request-method", method);
    client.header("access-control-request-headers", "content-type").send("OPTIONS", path, None)
}

fn with_shop() -> Own {
    with_lunch(ServerSettings { allow_origins: vec![SHOP.into()], ..ServerSettings::default() })
}

#[test]
fn an_allowed_page_is_told_beforehand_that_it_may_make_the_choice_call() {
    let own = with_shop();
    let answer = preflight(&own, SHOP, "/v1/presentations/0199/choice", "POST").expect(200);
    assert_eq!(answer.headers["access-control-allow-origin"], SHOP);
    assert_eq!(answer.headers["access-control-allow-methods"], "POST");
    let headers = answer.headers["access-control-allow-headers"].to_str().expect("text").to_ascii_lowercase();
    assert!(headers.contains("content-type") && headers.contains("authorization"));
}

#[test]
fn an_allowed_page_may_make_the_choice_call_and_no_other() {
    let own = with_shop();
    let shown = own.client().present("lunch", &json!({})).expect(201);
    let choice = format!("/v1/presentations/{}/choice", shown.body["id"].as_str().expect("an id"));
    for other in ["https://evil.example", "http://shop.example", "https://shop.example.evil.example", "null"] {
        assert!(!preflight(&own, other, &choice, "POST").headers.contains_key("access-control-allow-origin"), "{other}");
        own.client().header("origin", other).choose(&shown, &json!({ "chosen": ["soup"] })).refused(403, "origin");
    }
    let page = own.client().header("origin", SHOP);
    for call in &calls() {
        let opened = preflight(&own, SHOP, call.path, call.method);
        assert!(!opened.headers.contains_key("access-control-allow-origin"), "{} {}", call.method, call.path);
        let answer = made(&page, call);
        assert!(!answer.headers.contains_key("access-control-allow-origin"), "{} {}", call.method, call.path);
        if call.method != "GET" {
            answer.refused(403, "origin");
        }
    }
    own.client().assert_nothing_recorded("lunch");
    let taken = page.choose(&shown, &json!({ "chosen": ["soup"] })).expect(200);
    assert_eq!(taken.headers["access-control-allow-origin"], SHOP);
    // What went wrong can be read by the page, too.
    let refused = page.choose(&shown, &json!({ "chosen": ["salad"] })).refused(409, "conflict");
    assert_eq!(refused.headers["access-control-allow-origin"], SHOP);
    own.client().assert_counts("lunch", "all", 1.0, &[("soup", 1.0, 1.0), ("salad", 1.0, 0.0)]);
}

#[test]
fn without_allowed_pages_there_is_no_preflight() {
    let own = with_lunch(ServerSettings::default());
    let client = own.client().header("origin", "https://shop.example").header("access-control-request-method", "POST");
    let answer = client.send("OPTIONS", "/v1/presentations/0199/choice", None).refused(405, "method");
    assert!(!answer.headers.contains_key("access-control-allow-origin"));
}
