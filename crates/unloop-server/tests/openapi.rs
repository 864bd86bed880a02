//! The document says what the service does, and changes only when somebody means it to.

mod support;

use std::path::Path;

use serde_json::{Value, json};
use support::Own;

const UPDATE: &str = "UNLOOP_UPDATE_SNAPSHOTS";

#[test]
fn the_document_is_the_one_that_was_looked_at() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/openapi.json");
    let document = unloop_server::document() + "\n";
    if std::env::var(UPDATE).is_ok_and(|value| value == "1") {
        std::fs::write(&path, &document).expect("a file");
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    let first = || document.lines().zip(kept.lines().chain(std::iter::repeat(""))).find(|(new, old)| new != old);
    assert!(
        document == kept,
        "the OpenAPI document is not what {} says; the first lines that differ are {:?}. `/v1` only ever grows: if that is so, \
         `{UPDATE}=1 cargo test -p unloop-server --test openapi` writes the file, to be looked at and committed.",
        path.display(),
        first(),
    );
}

/// Methods and paths of the document.
fn calls(document: &Value) -> Vec<(String, String)> {
    let paths = document["paths"].as_object().expect("paths");
    let of_path = |(path, methods): (&String, &Value)| -> Vec<(String, String)> {
        let methods = methods.as_object().expect("methods");
        methods.keys().map(|method| (method.to_uppercase(), path.clone())).collect()
    };
    paths.iter().flat_map(of_path).collect()
}

#[test]
fn everything_in_the_document_is_there() {
    let own = Own::new();
    let client = own.client();
    let document = client.get("/v1/openapi.json").expect(200).body;
    assert_eq!(document, serde_json::from_str::<Value>(&unloop_server::document()).expect("JSON"));
    assert!(document["openapi"].as_str().is_some_and(|version| version.starts_with("3.1")));
    let calls = calls(&document);
    assert!(calls.len() >= 22, "{calls:?}");
    for (method, path) in calls {
        let filled =
            path.replace("{catalog}", "lunch").replace("{option}", "soup").replace("{context}", "ada").replace("{id}", "0199");
        assert!(!filled.contains('{'), "{path}");
        let has_body = ["PUT", "POST", "PATCH"].contains(&method.as_str());
        let answer = client.send(&method, &filled, has_body.then_some("{}"));
        assert!(!["no-such-path", "method"].contains(&answer.problem()), "{method} {path}: {}", answer.text);
        let operation = &document["paths"][&path][method.to_lowercase()];
        assert!(operation["summary"].is_string() && operation["responses"].is_object(), "{method} {path} is described");
        let answered = &operation["responses"][answer.status.to_string()];
        assert!(
            answered.is_object() || operation["responses"]["default"].is_object(),
            "{method} {path} answers {}",
            answer.status
        );
    }
    client.get("/v1/nothing").refused(404, "no-such-path");
}

/// The table of calls in the design.
#[test]
fn the_calls_are_those_of_the_design() {
    let document: Value = serde_json::from_str(&unloop_server::document()).expect("JSON");
    let mut found = calls(&document);
    found.sort();
    let mut expected = vec![("GET", "/healthz"), ("GET", "/readyz"), ("GET", "/metrics"), ("GET", "/v1/catalogs")];
    for method in ["GET", "PUT", "PATCH", "DELETE"] {
        expected.push((method, "/v1/catalogs/{catalog}"));
    }
    expected.extend([
        ("GET", "/v1/catalogs/{catalog}/options"),
        ("PATCH", "/v1/catalogs/{catalog}/options"),
        ("PUT", "/v1/catalogs/{catalog}/options/{option}"),
        ("DELETE", "/v1/catalogs/{catalog}/options/{option}"),
        ("POST", "/v1/catalogs/{catalog}/presentations"),
        ("POST", "/v1/catalogs/{catalog}/presentations/batch"),
        ("POST", "/v1/presentations/{id}/choice"),
        ("POST", "/v1/catalogs/{catalog}/choices"),
        ("GET", "/v1/catalogs/{catalog}/choices"),
        ("DELETE", "/v1/catalogs/{catalog}/choices/{id}"),
        ("GET", "/v1/catalogs/{catalog}/ranking"),
        ("POST", "/v1/catalogs/{catalog}/predictions"),
        ("GET", "/v1/catalogs/{catalog}/contexts"),
        ("DELETE", "/v1/catalogs/{catalog}/contexts/{context}"),
    ]);
    for (method, path) in expected {
        assert!(found.contains(&(method.to_owned(), path.to_owned())), "{method} {path}");
    }
    assert_eq!(json!(document["components"]["securitySchemes"]["key"]["scheme"]), "bearer");
}
