//! Every example of docs/http.md, run in order against a fresh server: what is printed there is what comes.
#![allow(missing_docs)]

mod serving;

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use serving::{Folder, Server};

/// Stands for anything.
const ANYTHING: &str = "…";

/// A block of commands, and what they print.
struct Example {
    line: usize,
    commands: String,
    printed: Vec<Value>,
}

fn examples(text: &str) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    let mut block: Option<(&str, usize, String)> = None;
    for (line, text) in (1..).zip(text.lines()) {
        match (&mut block, text.strip_prefix("```")) {
            (None, Some(language)) => block = Some((language, line, String::new())),
            (Some(_), Some(_)) => {
                let Some((language, line, content)) = block.take() else { continue };
                if language == "sh" {
                    examples.push(Example { line, commands: content, printed: Vec::new() });
                } else if language == "json" {
                    let values = serde_json::Deserializer::from_str(&content).into_iter::<Value>();
                    let values = values.collect::<Result<Vec<Value>, _>>().unwrap_or_else(|error| panic!("line {line}: {error}"));
                    examples.last_mut().expect("commands come first").printed = values;
                }
            }
            (Some((.., content)), None) => {
                content.push_str(text);
                content.push('\n');
            }
            (None, None) => {}
        }
    }
    examples
}

/// Whether what came is what is printed.
fn fits(printed: &Value, came: &Value) -> bool {
    match (printed, came) {
        (Value::String(text), _) if text == ANYTHING => true,
        (Value::Object(printed), Value::Object(came)) => {
            printed.len() == came.len() && printed.iter().all(|(name, value)| came.get(name).is_some_and(|own| fits(value, own)))
        }
        (Value::Array(printed), Value::Array(came)) => {
            printed.len() == came.len() && printed.iter().zip(came).all(|(printed, came)| fits(printed, came))
        }
        (Value::Number(printed), Value::Number(came)) => printed.as_f64() == came.as_f64(),
        (printed, came) => printed == came,
    }
}

#[test]
fn examples_print_what_they_say() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/http.md");
    let examples = examples(&std::fs::read_to_string(path).expect("the page"));
    assert!(examples.len() > 12, "{} examples were found", examples.len());
    let folder = Folder::new("http-docs");
    let server = Server::start(&folder.0.join("unloop.db"), &["--catalog", "lunch=soup,salad,curry", "--seed", "1"]);
    let mut script = String::from("set -eo pipefail\n");
    for (i, example) in examples.iter().enumerate() {
        writeln!(script, "{{\n{}}} > {}/{i}", example.commands, folder.0.display()).expect("text");
    }
    let script = script.replace("localhost:7878", &server.address.to_string());
    let done = Command::new("bash").arg("-c").arg(script).stdin(Stdio::null()).output().expect("bash");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    for (i, example) in examples.iter().enumerate() {
        let text = std::fs::read_to_string(folder.0.join(i.to_string())).expect("what was printed");
        let came: Vec<Value> = serde_json::Deserializer::from_str(&text).into_iter().collect::<Result<_, _>>().expect("JSON");
        assert_eq!(came.len(), example.printed.len(), "docs/http.md, line {}: {text}", example.line);
        for (printed, came) in example.printed.iter().zip(&came) {
            assert!(fits(printed, came), "docs/http.md, line {}:\nprinted {printed}\ncame    {came}", example.line);
        }
    }
}

#[test]
fn what_differs_does_not_fit() {
    let value = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");
    assert!(fits(&value(r#"{"a": "…", "b": [1]}"#), &value(r#"{"a": {"x": 2}, "b": [1.0]}"#)));
    for came in [r#"{"a": 1}"#, r#"{"a": 1, "b": [2]}"#, r#"{"a": 1, "b": [1], "c": 0}"#, r#"{"a": 1, "b": []}"#] {
        assert!(!fits(&value(r#"{"a": "…", "b": [1]}"#), &value(came)), "{came}");
    }
}
