//! Where choices go: into a database file, or through a running server.

use std::collections::HashSet;
use std::pin::Pin;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use unloop_store::{
    Appended, Body, CatalogId, Change, Changed, Entry, LEAST_TAIL, OptionChange, Outcome, Snapshot, SnapshotKey, Sqlite, Store,
    What, load,
};

use crate::client::Client;
use crate::database::explained;
use crate::failure::failure;

/// Snapshots of one transaction.
const SNAPSHOTS: usize = 256;
/// Rows and bytes of one request.
const ROWS: usize = 2_000;
const BYTES: usize = 4 << 20;
/// Options of one request.
const OPTIONS: usize = 10_000;
/// How often a busy server is asked, and what is waited between.
const TRIES: u32 = 10;
const PAUSE: Duration = Duration::from_secs(1);

/// What will have become of entries.
pub(super) type Answers<'a> = Pin<Box<dyn Future<Output = Result<Vec<Appended>>> + 'a>>;

/// Where choices go.
pub(super) enum Target {
    File(Box<Sqlite>),
    Server(Client),
}

impl Target {
    /// A file's writer begins at once, and answers when it is asked; a server is waited for.
    pub(super) fn append(&self, catalog: &str, entries: Vec<Entry>) -> Answers<'_> {
        match self {
            Self::File(store) => {
                let answer = store.append(entries);
                Box::pin(async move { answer.await.map_err(explained) })
            }
            Self::Server(client) => Box::pin(std::future::ready(send(client, catalog, &entries))),
        }
    }

    /// The catalog, and whether it is new: then the rows say what its options are.
    pub(super) async fn find_or_make(&self, name: &str) -> Result<(CatalogId, bool)> {
        let store = match self {
            Self::File(store) => store,
            Self::Server(client) => {
                let path = format!("/v1/catalogs/{name}");
                let found = client.call("GET", &path, None)?;
                if found.status == 404 {
                    client.call("PUT", &path, Some(&json!({})))?.done()?;
                    return Ok((CatalogId(0), true));
                }
                let found = found.done()?;
                return Ok((CatalogId(0), found["options"] == 0));
            }
        };
        let known = store.settings().await.map_err(explained)?.catalogs;
        if let Some(found) = known.iter().find(|catalog| catalog.name == name) {
            // One without any option was made by an import that did not come to its end.
            let is_new = store.options(found.id).await.map_err(explained)?.is_empty();
            return Ok((found.id, is_new));
        }
        let change = Change::Catalog { name: name.to_owned(), settings: "{}".into(), expected: None };
        match store.change(change).await.map_err(explained)? {
            Changed::Done { catalog: Some(id), .. } => Ok((id, true)),
            other => Err(failure(format!("the catalog could not be made: {other:?}"), "run it again")),
        }
    }

    /// Names of all options, retired ones too.
    pub(super) async fn options(&self, name: &str, catalog: CatalogId) -> Result<HashSet<String>> {
        let client = match self {
            Self::File(store) => {
                let options = store.options(catalog).await.map_err(explained)?;
                return Ok(options.into_iter().map(|option| option.name).collect());
            }
            Self::Server(client) => client,
        };
        let mut names = HashSet::new();
        let mut cursor = String::new();
        loop {
            let page = client.call("GET", &format!("/v1/catalogs/{name}/options?limit=1000{cursor}"), None)?.done()?;
            let rows = page["rows"].as_array().map(Vec::as_slice).unwrap_or_default();
            names.extend(rows.iter().filter_map(|row| row["option"].as_str().map(str::to_owned)));
            match page["next"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return Ok(names),
            }
        }
    }

    pub(super) async fn add_options(&self, name: &str, catalog: CatalogId, options: &[&str]) -> Result<()> {
        match self {
            Self::File(store) => {
                let options = options.iter().map(|option| OptionChange::plain(option)).collect();
                store.change(Change::Options { catalog, options, expected: None }).await.map_err(explained)?;
            }
            Self::Server(client) => {
                for some in options.chunks(OPTIONS) {
                    client.call("PATCH", &format!("/v1/catalogs/{name}/options"), Some(&json!({ "options": some })))?.done()?;
                }
            }
        }
        Ok(())
    }

    /// Makes snapshots, so that whoever opens it need not fold all of it. A server does so by itself.
    pub(super) async fn put_aside(&self, catalog: CatalogId) -> Result<()> {
        let Self::File(store) = self else { return Ok(()) };
        let all = Snapshot::of(&load(&**store, catalog, None).await.map_err(explained)?);
        let mut kept = vec![(SnapshotKey::all(catalog), all)];
        for context in store.long_tails(catalog, LEAST_TAIL as u64 + 1).await.map_err(explained)? {
            let fold = load(&**store, catalog, Some(&context)).await.map_err(explained)?;
            kept.push((SnapshotKey::new(catalog, Some(&context)), Snapshot::of(&fold)));
            if kept.len() >= SNAPSHOTS {
                store.put_snapshots(std::mem::take(&mut kept)).await.map_err(explained)?;
            }
        }
        store.put_snapshots(kept).await.map_err(explained)
    }

    /// The end of the log; of a server, the last position that it told.
    pub(super) async fn seq(&self, told: u64) -> Result<u64> {
        match self {
            Self::File(store) => Ok(store.head().await.map_err(explained)?.seq),
            Self::Server(_) => Ok(told),
        }
    }
}

/// Sends entries, as many at a time as a request takes.
fn send(client: &Client, catalog: &str, entries: &[Entry]) -> Result<Vec<Appended>> {
    let path = format!("/v1/catalogs/{catalog}/choices");
    let mut answers = Vec::with_capacity(entries.len());
    let mut rest = entries;
    while !rest.is_empty() {
        let (mut rows, mut bytes) = (Vec::new(), 0);
        for entry in rest.iter().take(ROWS) {
            let row = row(entry);
            bytes += row.to_string().len();
            if bytes > BYTES && !rows.is_empty() {
                break;
            }
            rows.push(row);
        }
        let (sent, later) = rest.split_at(rows.len());
        let document = json!({ "rows": rows });
        let mut tries = 0;
        let reply = loop {
            let reply = client.call("POST", &path, Some(&document))?;
            tries += 1;
            if reply.status != 503 || tries >= TRIES {
                break reply.done()?;
            }
            std::thread::sleep(PAUSE);
        };
        let done =
            reply["rows"].as_array().filter(|done| done.len() == sent.len()).context("the server's answer is of another kind")?;
        for (row, entry) in done.iter().zip(sent) {
            answers.push(answer(row, entry)?);
        }
        rest = later;
    }
    Ok(answers)
}

fn body(entry: &Entry) -> Option<(&str, &Body)> {
    match &entry.what {
        What::Choice { id, body } | What::Import { id, body } => Some((id, body)),
        What::Withdrawal { .. } => None,
    }
}

/// An entry as the call has it. An exported choice is an import there: its id is used all the same.
fn row(entry: &Entry) -> Value {
    let Some((id, body)) = body(entry) else { return Value::Null };
    let time = jiff::Timestamp::from_millisecond(entry.time).map_or_else(|_| String::new(), |time| time.to_string());
    let mut row = json!({ "id": id, "presented": body.presented, "time": time });
    match &body.outcome {
        Outcome::Chosen(names) => row["chosen"] = json!(names),
        Outcome::Tied(names) => row["tied"] = json!(names),
        Outcome::None => row["none"] = true.into(),
    }
    if let Some(context) = &entry.context {
        row["context"] = json!(context);
    }
    if body.declinable {
        row["declinable"] = true.into();
    }
    if body.weight != 1.0 {
        row["weight"] = json!(body.weight);
    }
    row
}

fn answer(row: &Value, entry: &Entry) -> Result<Appended> {
    let seq = row["seq"].as_u64().unwrap_or(0);
    let first = || body(entry).map(|(_, body)| body.clone()).context("a choice");
    Ok(match row["status"].as_str() {
        Some("recorded") => Appended::Recorded { seq },
        Some("repeated" | "withdrawn") => Appended::Repeated { seq, first: first()? },
        Some("conflict") => Appended::Conflict { seq, first: first()? },
        Some("gone") => Appended::Gone { seq },
        _ => {
            let detail = row["problem"]["detail"].as_str().unwrap_or("no reason was given");
            let id = body(entry).map_or("?", |(id, _)| id);
            return Err(failure(
                format!("the server refused the row with id {id:?}: {detail}"),
                "mend the row, and run it again",
            ));
        }
    })
}
