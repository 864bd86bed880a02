//! What is no request is told as problem+json, and changes nothing.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};
use unloop_server::{LARGEST, LARGEST_BULK};

use crate::support::{Own, raw};

/// Calls with a body.
const BODIES: [(&str, &str); 9] = [
    ("PUT", "/v1/catalogs/lunch"),
    ("PATCH", "/v1/catalogs/lunch"),
    ("PATCH", "/v1/catalogs/lunch/options"),
    ("PUT", "/v1/catalogs/lunch/options/soup"),
    ("POST", "/v1/catalogs/lunch/presentations"),
    ("POST", "/v1/catalogs/lunch/presentations/batch"),
    ("POST", "/v1/catalogs/lunch/choices"),
    ("POST", "/v1/catalogs/lunch/predictions"),
    ("POST", "/v1/presentations/0199f0a4-7c3e-7000-8000-5d1c3a0f9b21/choice"),
];

fn with_lunch() -> (Own, Value) {
    let own = Own::new();
    own.client().catalog("lunch", &["soup", "salad"]);
    let before = own.client().get("/v1/catalogs/lunch").expect(200).body;
    (own, before)
}

fn assert_unchanged(own: &Own, before: &Value) {
    assert_eq!(own.client().get("/v1/catalogs/lunch").expect(200).body, *before);
    own.client().assert_nothing_recorded("lunch");
}

#[test]
fn a_body_that_is_no_json_is_told_so() {
    let (own, before) = with_lunch();
    let client = own.client();
    for (method, path) in BODIES {
        for text in ["", "{", "nonsense", "{'size':1}", "\u{feff}{}"] {
            client.send(method, path, Some(text)).refused(400, "not-json");
        }
    }
    client.send("PATCH", "/v1/catalogs/lunch", Some("{\"size\":1}}")).refused(400, "not-json");
    assert_unchanged(&own, &before);
}

#[test]
fn an_unknown_field_is_told_so() {
    let (own, before) = with_lunch();
    let client = own.client();
    for (method, path) in BODIES {
        let refused = client.send(method, path, Some(r#"{"colour":1}"#)).refused(422, "invalid");
        assert!(refused.body["detail"].as_str().is_some_and(|detail| detail.contains("colour")), "{}", refused.text);
        assert_eq!(refused.body["field"], "colour", "{method} {path}");
    }
    for text in ["[]", "7", "null", "\"text\""] {
        for (method, path) in BODIES {
            client.send(method, path, Some(text)).refused(422, "invalid");
        }
    }
    assert_unchanged(&own, &before);
}

#[test]
fn another_content_type_is_told_so() {
    let (own, before) = with_lunch();
    for kind in
        ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/jsonl", "application/json5", ""]
    {
        let client = own.client().header("content-type", kind);
        for (method, path) in BODIES {
            client.send(method, path, Some("{}")).refused(415, "media-type");
        }
    }
    assert_unchanged(&own, &before);
    for kind in ["application/json; charset=utf-8", "Application/JSON"] {
        own.client().header("content-type", kind).send("POST", "/v1/catalogs/lunch/presentations", Some("{}")).expect(201);
    }
}

/// Spaces around JSON are JSON, too.
fn padded(text: &str, length: usize) -> String {
    format!("{text}{}", " ".repeat(length - text.len()))
}

/// The largest body that a call takes.
fn largest(method: &str, path: &str) -> usize {
    let bulk = ["/v1/catalogs/lunch/options", "/v1/catalogs/lunch/presentations/batch", "/v1/catalogs/lunch/choices"];
    if bulk.contains(&path) || (method, path) == ("PUT", "/v1/catalogs/lunch") { LARGEST_BULK } else { LARGEST }
}

#[test]
fn a_body_that_is_too_large_is_told_so() {
    let (own, before) = with_lunch();
    for (method, path) in BODIES {
        let body = padded("{}", largest(method, path) + 1);
        let head =
            format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n");
        let answer = raw(own.address(), &format!("{head}content-length: {}\r\n\r\n{body}", body.len()));
        assert!(answer.starts_with("HTTP/1.1 413 ") && answer.contains("urn:unloop:too-large"), "{method} {path}: {answer}");
        let fits = padded(r#"{"colour":1}"#, largest(method, path));
        own.client().send(method, path, Some(&fits)).refused(422, "invalid");
    }
    assert_unchanged(&own, &before);
}

/// Most clients send all of it before they read anything: a connection that is closed in their face tells them nothing.
#[test]
fn a_client_that_sends_too_much_gets_to_read_the_answer() {
    let (own, before) = with_lunch();
    for (method, path) in BODIES {
        let body = padded("{}", largest(method, path) + 1);
        own.client().send(method, path, Some(&body)).refused(413, "too-large");
    }
    assert_unchanged(&own, &before);
}

/// Nobody says beforehand how long it is.
#[test]
fn a_body_in_chunks_is_limited_too() {
    let (own, before) = with_lunch();
    let head = "POST /v1/catalogs/lunch/presentations HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
    let chunk = format!("10000\r\n{}\r\n", " ".repeat(0x10000));
    let whole = |chunks: usize| format!("{head}2\r\n{{}}\r\n{}0\r\n\r\n", chunk.repeat(chunks));
    assert!(raw(own.address(), &whole(1)).starts_with("HTTP/1.1 201 "));
    let answer = raw(own.address(), &whole(17));
    assert!(answer.starts_with("HTTP/1.1 413 ") && answer.contains("application/problem+json"), "{answer}");
    assert_unchanged(&own, &before);
}

/// What comes next on a connection until nothing more does for a moment.
fn heard(stream: &mut TcpStream) -> String {
    stream.set_read_timeout(Some(Duration::from_millis(300))).expect("a limit");
    let (mut text, mut part) = (Vec::new(), [0; 4096]);
    while let Ok(length @ 1..) = stream.read(&mut part) {
        text.extend_from_slice(&part[..length]);
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// Many clients send a body after its head, and use a connection again. One that is refused in between must not find it closed unless it was told so.
#[test]
fn a_refusal_leaves_the_connection_or_says_that_it_ends() {
    let (own, before) = with_lunch();
    let refused = [
        ("PUT /v1/catalogs/lunch", "content-type: text/plain\r\n", "415"),
        ("PUT /v1/catalogs/lunch", "content-type: application/json\r\norigin: https://evil.example\r\n", "403"),
        ("PUT /v1/nothing", "content-type: application/json\r\n", "404"),
        ("POST /v1/catalogs/lunch/ranking", "content-type: application/json\r\n", "405"),
    ];
    for (request, headers, status) in refused {
        let mut stream = TcpStream::connect(own.address()).expect("a connection");
        write!(stream, "{request} HTTP/1.1\r\nhost: localhost\r\n{headers}content-length: 2\r\n\r\n").expect("it is sent");
        let mut answer = heard(&mut stream);
        // Nothing yet: it waits for the body.
        let sent = write!(stream, "{{}}");
        answer += &heard(&mut stream);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{request}: {answer}");
        if answer.to_ascii_lowercase().contains("connection: close") {
            continue;
        }
        let sent = sent.and_then(|()| write!(stream, "GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n"));
        let next = heard(&mut stream);
        assert!(sent.is_ok() && next.starts_with("HTTP/1.1 200 "), "after {request} ({status}): {sent:?} {next:?}");
    }
    assert_unchanged(&own, &before);
}

#[test]
fn what_is_not_there_is_told_so() {
    let (own, before) = with_lunch();
    let client = own.client();
    for path in [
        "/v1",
        "/v1/",
        "/v2/catalogs",
        "/v1/catalogs/",
        "/v1/catalogs/lunch/",
        "/v1/catalogs/lunch/rankings",
        "/v1/presentations",
        "/admin",
        "/%00",
    ] {
        for method in ["GET", "POST", "DELETE"] {
            client.send(method, path, None).refused(404, "no-such-path");
        }
    }
    // No text at all.
    client.get("/v1/catalogs/%FF").refused(404, "no-such-path");
    assert_unchanged(&own, &before);
}

#[test]
fn another_method_is_told_so() {
    let (own, before) = with_lunch();
    let client = own.client();
    let wrong = [
        ("POST", "/v1/catalogs"),
        ("POST", "/v1/catalogs/lunch"),
        ("DELETE", "/v1/catalogs/lunch/options"),
        ("GET", "/v1/catalogs/lunch/options/soup"),
        ("GET", "/v1/catalogs/lunch/presentations"),
        ("PUT", "/v1/catalogs/lunch/choices"),
        ("GET", "/v1/catalogs/lunch/choices/1"),
        ("POST", "/v1/catalogs/lunch/ranking"),
        ("GET", "/v1/catalogs/lunch/predictions"),
        ("DELETE", "/v1/catalogs/lunch/contexts"),
        ("GET", "/v1/catalogs/lunch/contexts/ada"),
        ("GET", "/v1/presentations/0199/choice"),
        ("OPTIONS", "/v1/presentations/0199/choice"),
        ("POST", "/healthz"),
        ("POST", "/metrics"),
        ("PUT", "/v1/openapi.json"),
    ];
    for (method, path) in wrong {
        let refused = client.send(method, path, None).refused(405, "method");
        assert!(refused.headers.contains_key("allow"), "{method} {path} says what can be done");
    }
    assert_unchanged(&own, &before);
}

#[test]
fn every_answer_says_that_it_is_not_to_be_kept() {
    let (own, _) = with_lunch();
    let client = own.client();
    for path in ["/healthz", "/v1/catalogs", "/v1/nothing", "/v1/catalogs/lunch/choices"] {
        let answer = client.get(path);
        assert_eq!(answer.headers["cache-control"], "no-store");
        assert_eq!(answer.headers["x-content-type-options"], "nosniff");
        assert!(answer.headers.contains_key("x-request-id"));
    }
    let problem = client.get("/v1/catalogs/supper").refused(404, "no-catalog").body;
    assert_eq!(problem["status"], json!(404));
    assert!(problem["title"].is_string() && problem["detail"].is_string());
}
