//! A million choices of ten thousand contexts, `cargo bench -p unloop-store --bench bulk [-- ROWS CONTEXTS]`: appended in bulk, verified, opened from snapshots, and a cold
//! context of 1 000 choices loaded.
#![allow(missing_docs, clippy::print_stdout)]

use std::collections::VecDeque;
use std::path::Path;
use std::time::Instant;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use unloop_store::{Body, CatalogId, Change, Entry, Snapshot, SnapshotKey, Sqlite, Store, What, fold, load, verify};

const LUNCH: CatalogId = CatalogId(1);
const OPTIONS: usize = 300;
const SHOWN: usize = 5;
const TOGETHER: usize = 4_096;
const WAITING: usize = 64;
/// Choices of the context that is loaded cold.
const LONG: usize = 1_000;

fn main() {
    let numbers: Vec<usize> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    let rows = numbers.first().copied().unwrap_or(1_000_000);
    let contexts = numbers.get(1).copied().unwrap_or(10_000);
    let folder = std::env::temp_dir().join(format!("unloop-bulk-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(run(&folder.join("unloop.db"), rows, contexts));
    let _ = std::fs::remove_dir_all(&folder);
}

async fn run(path: &Path, rows: usize, contexts: usize) {
    let store = Sqlite::open(path).expect("opened");
    let change = Change::Catalog { name: "lunch".into(), settings: "{}".into(), expected: None };
    store.change(change).await.expect("a catalog");
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let began = Instant::now();
    let mut waiting = VecDeque::new();
    let mut entries = Vec::new();
    for i in 0..rows {
        entries.push(entry(&mut rng, &format!("user {}", i * 7_919 % contexts), i));
        if entries.len() == TOGETHER || i + 1 == rows {
            waiting.push_back(store.append(std::mem::take(&mut entries)));
            if waiting.len() > WAITING {
                waiting.pop_front().expect("one").await.expect("appended");
            }
        }
    }
    for answer in waiting {
        answer.await.expect("appended");
    }
    let seconds = began.elapsed().as_secs_f64();
    println!(
        "appended in bulk   {rows} choices of {contexts} contexts, {:.0} a second, {:.1} MB resident at most",
        rows as f64 / seconds,
        peak()
    );
    let began = Instant::now();
    let all = load(&store, LUNCH, None).await.expect("loaded");
    println!("folded             all of it from the log, {:.2} s", began.elapsed().as_secs_f64());
    let began = Instant::now();
    let kept = Snapshot::of(&all);
    println!("put aside          {:.1} MB, {:.2} s", kept.bytes.len() as f64 / 1e6, began.elapsed().as_secs_f64());
    store.put_snapshots(vec![(SnapshotKey::all(LUNCH), kept)]).await.expect("put");
    let began = Instant::now();
    let report = verify(&store, &mut |_, _| {}).await.expect("verified");
    assert!(report.is_good(), "{report:?}");
    let sound = store.soundness().await.expect("checked");
    assert!(sound.is_empty(), "{sound:?}");
    println!("verified           {:.1} s", began.elapsed().as_secs_f64());
    let long = (0..LONG).map(|i| entry(&mut rng, "long", rows + i)).collect();
    store.append(long).await.expect("appended");
    // As it is in use: put aside when its tail has grown to 257.
    let tail = fold(&store, LUNCH, Some("long")).await.expect("folded");
    store.put_snapshots(vec![(SnapshotKey::new(LUNCH, Some("long")), Snapshot::of(&tail))]).await.expect("put");
    store.append((0..255).map(|i| entry(&mut rng, "long", rows + LONG + i)).collect()).await.expect("appended");
    drop(store);
    let began = Instant::now();
    let store = Sqlite::open(path).expect("opened");
    let opened = began.elapsed().as_secs_f64();
    load(&store, LUNCH, None).await.expect("loaded");
    println!("opened             {opened:.3} s, with all of it from its snapshot {:.3} s", began.elapsed().as_secs_f64());
    let mut times: Vec<f64> = Vec::new();
    let mut folds: Vec<f64> = Vec::new();
    for _ in 0..200 {
        let began = Instant::now();
        load(&store, LUNCH, Some("long")).await.expect("loaded");
        times.push(1e3 * began.elapsed().as_secs_f64());
        let began = Instant::now();
        fold(&store, LUNCH, Some("long")).await.expect("folded");
        folds.push(1e3 * began.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    folds.sort_by(f64::total_cmp);
    println!(
        "a cold context     {LONG} choices in its snapshot and 255 after it, {:.2} ms at the median; from the log alone {:.2} ms",
        times[times.len() / 2],
        folds[folds.len() / 2]
    );
}

fn entry(rng: &mut ChaCha8Rng, context: &str, number: usize) -> Entry {
    let first = rng.random_range(0..OPTIONS);
    let presented: Vec<String> = (0..SHOWN).map(|i| format!("option {}", (first + i * (1 + first % 7)) % OPTIONS)).collect();
    let chosen = presented[rng.random_range(0..SHOWN)].clone();
    let names: Vec<&str> = presented.iter().map(String::as_str).collect();
    let what = What::Import { id: format!("row {number}"), body: Body::chosen(&names, &chosen) };
    Entry { catalog: LUNCH, context: Some(context.to_owned()), what, time: 0 }
}

/// Megabytes of memory this process had at most.
fn peak() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|number| number.parse::<f64>().ok()).unwrap_or(f64::NAN) / 1e3
}
