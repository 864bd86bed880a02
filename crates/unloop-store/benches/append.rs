//! Durable appends, `cargo bench -p unloop-store --bench append`: beside a bare loop of SQLite transactions of 256 rows on the same disk, in one run;
//! and one choice at a time beside one flush.
#![allow(missing_docs, clippy::print_stdout)]

use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use rusqlite::{Connection, params};
use unloop_store::{Body, CatalogId, Entry, Sqlite, Store, What};

const WRITERS: usize = 256;
const EACH: usize = 100;
/// More than the write-ahead log takes before it is begun anew: as it is in a store that has run for a while.
const SINGLE: usize = 1_000;

fn entry(id: String) -> Entry {
    let body = Body::chosen(&["soup", "salad", "curry", "ramen", "sushi"], "soup");
    Entry { catalog: CatalogId(1), context: Some("person".into()), what: What::Choice { id, body }, time: 0 }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let folder = std::env::temp_dir().join(format!("unloop-append-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let mut ratios = Vec::new();
    for round in 0..5 {
        let store = Arc::new(Sqlite::open(&folder.join(format!("ours-{round}.db"))).expect("opened"));
        let began = Instant::now();
        runtime.block_on(async {
            let mut writers = tokio::task::JoinSet::new();
            for writer in 0..WRITERS {
                let store = Arc::clone(&store);
                writers.spawn(async move {
                    for i in 0..EACH {
                        store.append(vec![entry(format!("{writer}-{i}"))]).await.expect("appended");
                    }
                });
            }
            while writers.join_next().await.is_some() {}
        });
        let ours = (WRITERS * EACH) as f64 / began.elapsed().as_secs_f64();
        let bare = bare(&folder.join(format!("bare-{round}.db")));
        ratios.push(ours / bare);
        println!(
            "{WRITERS} waiting writers: {ours:.0} durable appends a second, a bare loop {bare:.0}, ratio {:.2}",
            ours / bare
        );
    }
    println!("median ratio {:.2}\n", median(ratios));
    let store = Sqlite::open(&folder.join("single.db")).expect("opened");
    let single = median(
        (0..SINGLE)
            .map(|i| {
                let began = Instant::now();
                runtime.block_on(store.append(vec![entry(i.to_string())])).expect("appended");
                1e6 * began.elapsed().as_secs_f64()
            })
            .collect(),
    );
    let flush = flush(&folder.join("flush"));
    println!("one choice at a time: {single:.0} µs at the median, a flush of 4 kB {flush:.0} µs, ratio {:.2}", single / flush);
    drop(store);
    let _ = std::fs::remove_dir_all(&folder);
}

/// The same rows in transactions of as many as there are writers, and nothing else.
fn bare(path: &Path) -> f64 {
    drop(Sqlite::open(path).expect("the same tables"));
    let connection = Connection::open(path).expect("opened");
    connection.pragma_update(None, "synchronous", "FULL").expect("set");
    connection.pragma_update(None, "secure_delete", true).expect("set");
    let body = r#"{"presented":["soup","salad","curry","ramen","sushi"],"chosen":["soup"]}"#;
    let began = Instant::now();
    for batch in 0..EACH {
        connection.execute_batch("BEGIN IMMEDIATE").expect("begun");
        for writer in 0..WRITERS {
            let seq = i64::try_from(batch * WRITERS + writer + 1).expect("a number");
            let text =
                "INSERT INTO events (seq, catalog, context, kind, id, body, time) VALUES (?1, 1, 'person', 'choice', ?2, ?3, 0)";
            let mut insert = connection.prepare_cached(text).expect("prepared");
            insert.execute(params![seq, format!("{writer}-{batch}"), body]).expect("inserted");
        }
        connection.execute_batch("COMMIT").expect("committed");
    }
    (WRITERS * EACH) as f64 / began.elapsed().as_secs_f64()
}

/// Microseconds to write a page at the end of a file and flush it.
fn flush(path: &Path) -> f64 {
    let mut file = std::fs::File::create(path).expect("a file");
    median(
        (0..SINGLE)
            .map(|_| {
                let began = Instant::now();
                file.write_all(&[7; 4_096]).and_then(|()| file.sync_data()).expect("flushed");
                1e6 * began.elapsed().as_secs_f64()
            })
            .collect(),
    )
}
