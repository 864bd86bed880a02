//! A server whose file of secrets is gone.

use serde_json::{Value, json};

use super::caller::Caller;
use super::client::CATALOG;
use super::process::{Folder, Process};

/// A new one is made, which is told with what it means: what is open cannot be answered any more, what was answered stays.
pub(crate) fn is_replaced_with_a_warning(_: u64, _: u64) {
    let folder = Folder::new("secret");
    let server = Process::start(&folder.database(), &["--catalog", CATALOG]);
    let caller = Caller::new(server.address);
    let present = |caller: &Caller| {
        let body = caller.present(&json!({ "context": "ada", "size": 2 })).expect("an answer").expect(201).body;
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        (text(&body["id"]), text(&body["token"]), json!({ "chosen": [body["options"][0]["option"]] }))
    };
    let (id, token, outcome) = present(&caller);
    let (answered, its_token, its_outcome) = present(&caller);
    caller.choose(&answered, &its_token, &its_outcome).expect("an answer").expect(200);
    let log = server.stop();
    assert!(!log.contains("WARN"), "of a new database there is nothing to warn: {log}");
    // As it was, a restart changes nothing.
    let server = Process::start(&folder.database(), &[]);
    let again = Caller::new(server.address).choose(&answered, &its_token, &its_outcome).expect("an answer").expect(200);
    assert_eq!(again.body["repeated"], true);
    let log = server.stop();
    assert!(!log.contains("WARN"), "{log}");

    let file = folder.path().join("unloop.db.secret");
    let before = std::fs::read(&file).expect("secrets");
    std::fs::remove_file(&file).expect("removed");
    let server = Process::start(&folder.database(), &[]);
    assert_ne!(std::fs::read(&file).expect("new secrets"), before);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(std::fs::metadata(&file).expect("a file").permissions().mode() & 0o777, 0o600);
    }
    let caller = Caller::new(server.address);
    caller.choose(&id, &token, &outcome).expect("an answer").refused(403, "forged");
    caller.choose(&answered, &its_token, &its_outcome).expect("an answer").refused(403, "forged");
    let (id, token, outcome) = present(&caller);
    assert_eq!(caller.choose(&id, &token, &outcome).expect("an answer").expect(200).seq(), 2);
    assert_eq!(caller.exported().expect("rows").len(), 2);
    let log = server.stop();
    let warning = log.lines().find(|line| line.contains("WARN")).unwrap_or_else(|| panic!("no warning: {log:?}"));
    assert!(warning.contains("secret") && warning.contains("presentations") && warning.contains("open"), "{warning}");
}
