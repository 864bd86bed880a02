//! A server whose disk is full: it refuses, says that it is not ready, and goes on once there is space.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::caller::{Answer, Caller};
use super::client::CATALOG;
use super::process::{Folder, Process, verify};

const SIZE: &str = "size=6m";
/// So long after there is space again it is ready.
const READY_IN: Duration = Duration::from_secs(7);
/// More are never taken by what is left of a full disk.
const MOST: usize = 20_000;

/// A file system of its own, gone with it.
struct Disk<'a>(&'a Path);

impl<'a> Disk<'a> {
    /// Why there is none, where there is none.
    fn new(path: &'a Path) -> Result<Self, String> {
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", SIZE, "unloop-test"]).arg(path).output();
        let output = mount.map_err(|error| format!("no mount command: {error}"))?;
        if output.status.success() { Ok(Self(path)) } else { Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()) }
    }

    /// Takes all the space there is.
    fn fill(&self) -> PathBuf {
        let path = self.0.join("filler");
        let mut file = std::fs::File::create(&path).expect("a file");
        for size in [1 << 16, 1 << 12, 1 << 6, 1] {
            while file.write_all(&vec![1; size]).is_ok() {}
        }
        path
    }
}

impl Drop for Disk<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0).status();
    }
}

/// A presentation that was not answered yet.
struct Open {
    id: String,
    token: String,
    outcome: Value,
}

fn present(caller: &Caller) -> Open {
    let body = caller.present(&json!({ "context": "ada", "size": 3 })).expect("an answer").expect(201).body;
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    Open { id: text(&body["id"]), token: text(&body["token"]), outcome: json!({ "chosen": [body["options"][1]["option"]] }) }
}

fn choose(caller: &Caller, open: &Open) -> Answer {
    caller.choose(&open.id, &open.token, &open.outcome).expect("an answer")
}

pub(crate) fn refuses_and_recovers(_: u64, _: u64) {
    let folder = Folder::new("full");
    let disk = match Disk::new(folder.path()) {
        Ok(disk) => disk,
        Err(reason) => {
            println!("SKIPPED full: no file system of a few megabytes can be mounted: {}", reason.replace('\n', " "));
            return;
        }
    };
    let server = Process::start(&folder.database(), &["--catalog", CATALOG]);
    let caller = Caller::new(server.address);
    let ready = || caller.get("/readyz").expect("an answer");
    let mut acknowledged: BTreeMap<String, u64> = BTreeMap::new();
    let mut refusals = 0;
    for _ in 0..3 {
        for _ in 0..20 {
            let open = present(&caller);
            acknowledged.insert(open.id.clone(), choose(&caller, &open).expect(200).seq());
        }
        ready().expect(200);
        let filler = disk.fill();
        // What is in the write-ahead log already has space.
        let refused = std::iter::from_fn(|| {
            let open = present(&caller);
            let answer = choose(&caller, &open);
            if answer.status == 200 {
                acknowledged.insert(open.id.clone(), answer.seq());
                return Some(None);
            }
            answer.refused(503, "full");
            Some(Some(open))
        });
        let refused = refused.take(MOST).flatten().next().expect("it is full at some time");
        ready().refused(503, "full");
        assert_eq!(caller.get("/healthz").expect("an answer").status, 200);
        // Again and again, and what needs no space goes on.
        for _ in 0..5 {
            choose(&caller, &refused).refused(503, "full");
            refusals += 1;
        }
        let held = caller.exported().expect("rows");
        assert_eq!(held.len(), acknowledged.len(), "what was refused is not there");
        std::fs::remove_file(filler).expect("removed");
        let freed = Instant::now();
        while ready().status != 200 {
            assert!(freed.elapsed() < READY_IN, "not ready {READY_IN:?} after there was space: {}", ready().text);
            std::thread::sleep(Duration::from_millis(50));
        }
        // The same request, now with space.
        let answer = choose(&caller, &refused).expect(200);
        assert_eq!(answer.body["repeated"], false, "nothing had been recorded: {}", answer.text);
        acknowledged.insert(refused.id.clone(), answer.seq());
    }
    let open = present(&caller);
    acknowledged.insert(open.id.clone(), choose(&caller, &open).expect(200).seq());
    compare(&caller, &acknowledged);
    server.stop();
    let server = Process::start(&folder.database(), &[]);
    compare(&Caller::new(server.address), &acknowledged);
    server.stop();
    verify(&folder.database());
    println!("full three times: {refusals} refused, {} acknowledged, none lost", acknowledged.len());
    drop(disk);
}

/// All that was acknowledged is there, and nothing else.
fn compare(caller: &Caller, acknowledged: &BTreeMap<String, u64>) {
    let rows = caller.exported().expect("rows");
    let text = |row: &Value| row["id"].as_str().expect("an id").to_owned();
    let found: BTreeMap<String, u64> = rows.iter().map(|row| (text(row), row["seq"].as_u64().expect("a position"))).collect();
    assert_eq!(found, *acknowledged);
    assert_eq!(found.len(), rows.len());
}
