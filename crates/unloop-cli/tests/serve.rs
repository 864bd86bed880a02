//! The server as a process: where it listens, what it reads its settings from, what is done beside it, and mixed load for a while.
#![allow(missing_docs)]

#[path = "../benches/service/caller.rs"]
mod caller;
#[path = "../benches/service/figures.rs"]
mod figures;
#[path = "serving/mod.rs"]
mod server;
#[path = "../benches/service/soak.rs"]
mod soak;

use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use serde_json::Value;
use server::{Folder, Server};

fn unloop(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_unloop")).args(arguments).current_dir(folder).output().expect("it runs")
}

#[track_caller]
fn done(folder: &Path, arguments: &[&str]) -> String {
    let output = unloop(folder, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

fn status(server: &Server, path: &str, key: Option<&str>) -> u16 {
    let agent = ureq::Agent::config_builder().http_status_as_error(false).build().new_agent();
    let mut request = agent.get(format!("http://{}{path}", server.address));
    if let Some(key) = key {
        request = request.header("authorization", format!("Bearer {key}"));
    }
    request.call().expect("answered").status().as_u16()
}

/// Waits until it is so, a second at most and a little for a busy machine.
#[track_caller]
fn soon(what: impl Fn() -> bool) {
    let begin = Instant::now();
    while !what() {
        assert!(begin.elapsed() < Duration::from_secs(3), "not within a second");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn without_keys_nobody_else_is_served() {
    let folder = Folder::new("serve-address");
    let output = unloop(&folder.0, &["serve", "--listen", "0.0.0.0:0"]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2));
    assert!(told.contains("there are no keys") && told.contains("unloop keys create"), "{told}");
}

#[test]
fn keys_made_and_revoked_beside_a_server_are_seen_within_a_second() {
    let folder = Folder::new("serve-keys");
    let server = Server::start(&folder.0.join("unloop.db"), &["--catalog", "lunch=soup,salad"]);
    assert_eq!(status(&server, "/v1/catalogs", None), 200);
    let made: Value = serde_json::from_str(&done(&folder.0, &["keys", "create", "--scopes", "read", "--json"])).expect("JSON");
    let (id, key) = (made["id"].as_str().expect("an id"), made["key"].as_str().expect("a key"));
    soon(|| status(&server, "/v1/catalogs", None) == 401);
    assert_eq!(status(&server, "/v1/catalogs", Some(key)), 200);
    let other: Value = serde_json::from_str(&done(&folder.0, &["keys", "create", "--json"])).expect("JSON");
    done(&folder.0, &["keys", "revoke", id]);
    soon(|| status(&server, "/v1/catalogs", Some(key)) == 401);
    soon(|| status(&server, "/v1/catalogs", other["key"].as_str()) == 200);
    let listed = done(&folder.0, &["keys", "list"]);
    assert!(
        !listed.contains("unloop_") && !listed.contains(id) && listed.contains(other["id"].as_str().expect("an id")),
        "{listed}"
    );
    let database = std::fs::read(folder.0.join("unloop.db")).expect("the database");
    assert!(!database.windows(key.len()).any(|window| window == key.as_bytes()), "the key is in the database");
}

#[test]
fn a_rotated_secret_is_taken_up_and_the_old_one_verifies() {
    let folder = Folder::new("serve-secret");
    let server = Server::start(&folder.0.join("unloop.db"), &["--catalog", "lunch=soup,salad,curry"]);
    let agent = ureq::Agent::config_builder().http_status_as_error(false).build().new_agent();
    let post = |path: &str, body: String| {
        let request = agent.post(format!("http://{}{path}", server.address)).header("content-type", "application/json");
        let mut reply = request.send(body).expect("answered");
        let text = reply.body_mut().read_to_string().expect("text");
        (reply.status().as_u16(), serde_json::from_str::<Value>(&text).expect("JSON"))
    };
    let choose = |shown: &Value| {
        let body = serde_json::json!({ "token": shown["token"], "chosen": [shown["options"][0]["option"]] });
        post(&format!("/v1/presentations/{}/choice", shown["id"].as_str().expect("an id")), body.to_string())
    };
    let before = post("/v1/catalogs/lunch/presentations", "{}".into()).1;
    done(&folder.0, &["secret", "rotate"]);
    std::thread::sleep(Duration::from_secs(1));
    let after = post("/v1/catalogs/lunch/presentations", "{}".into()).1;
    assert_eq!((choose(&before).0, choose(&after).0), (200, 200));
    // Without the new one, what it signed is forged: it was in use.
    let file = folder.0.join("unloop.db.secret");
    let text = std::fs::read_to_string(&file).expect("secrets");
    let old: Vec<&str> = text.lines().enumerate().filter(|(line, _)| *line != 1).map(|(_, line)| line).collect();
    std::fs::write(&file, old.join("\n")).expect("written");
    soon(|| choose(&after).1["type"] == "urn:unloop:forged");
    assert_eq!(choose(&before).1["repeated"], true);
}

#[test]
fn settings_come_from_flags_then_the_environment_then_the_file() {
    let folder = Folder::new("serve-settings");
    std::fs::write(folder.0.join("unloop.toml"), "listen = \"256.0.0.1:80\"\n").expect("written");
    let output = unloop(&folder.0, &["serve"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("unloop.toml"), "the file is read");
    std::fs::write(folder.0.join("unloop.toml"), "listen = \"0.0.0.0:0\"\ndb = \"of-file.db\"\n").expect("written");
    let told = |environment: &[(&str, &str)], arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_unloop"));
        let output = command.arg("serve").args(arguments).envs(environment.iter().copied()).current_dir(&folder.0).output();
        String::from_utf8_lossy(&output.expect("it runs").stderr).into_owned()
    };
    assert!(told(&[], &[]).contains("0.0.0.0:0 can be reached"), "the file");
    assert!(folder.0.join("of-file.db").exists());
    assert!(told(&[("UNLOOP_LISTEN", "0.0.0.0:1")], &[]).contains("0.0.0.0:1 can be reached"), "the environment");
    assert!(told(&[("UNLOOP_LISTEN", "0.0.0.0:1")], &["--listen", "0.0.0.0:2"]).contains("0.0.0.0:2 can be reached"), "a flag");
}

#[test]
fn a_file_is_imported_through_a_server_once() {
    let folder = Folder::new("serve-import");
    let server = Server::start(&folder.0.join("unloop.db"), &[]);
    let rows = "presented,chosen,user,count\nsoup|salad,soup,ada,2\nsoup|curry,,bob,1\nsalad|curry,salad|curry,,1\n";
    std::fs::write(folder.0.join("rows.csv"), rows).expect("written");
    let url = format!("http://{}", server.address);
    let import = ["import", "rows.csv", "--catalog", "lunch", "--url", &url, "--json"];
    let told = |arguments: &[&str]| serde_json::from_str::<Value>(&done(&folder.0, arguments)).expect("JSON");
    let first = told(&import);
    assert_eq!((first["recorded"].as_u64(), first["options_added"].as_u64()), (Some(3), Some(3)), "{first}");
    let again = told(&import);
    assert_eq!((again["recorded"].as_u64(), again["repeated"].as_u64()), (Some(0), Some(3)), "{again}");
    let exported = done(&folder.0, &["export", "--catalog", "lunch"]);
    assert_eq!(exported.lines().count(), 3, "{exported}");
}

#[test]
fn simulated_people_are_found_out() {
    let folder = Folder::new("serve-demo");
    let told = done(&folder.0, &["demo", "--rate", "0", "--choices", "300", "--listen", "127.0.0.1:0", "--json"]);
    let told: Value = serde_json::from_str(&told).expect("JSON");
    let rows = told["options"].as_array().expect("rows");
    let truth = |row: &Value| row["truth"].as_f64().expect("a share");
    let best = rows.iter().map(truth).fold(0.0, f64::max);
    assert_eq!(truth(&rows[0]), best, "after 300 choices the favourite is first: {told}");
    assert!(std::fs::read_dir(&folder.0).expect("a folder").next().is_none(), "nothing was written");
}

/// A short version of `cargo bench -p unloop-cli --bench service -- soak=600`, with larger contexts, so that the bound is reached in time. A smaller bound is
/// passed by what rankings take while they are made.
#[test]
fn mixed_load_stays_within_its_memory() {
    let settings = soak::Settings { seconds: 20, contexts: 10_000, options: 600, rate: 500.0, cache_megabytes: 128 };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let soaked = runtime.block_on(soak::soak(&settings));
    soaked.tell();
    assert_eq!(soaked.errors(), 0);
    assert!(soaked.largest() <= 1.1, "{:.2} of the bound", soaked.largest());
}
