//! One behaviour for every backend: repeats, conflicts, withdrawals, erasures, tailing, several appenders.

mod files;
mod log;
mod settings;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use unloop_store::{
    Access, Appended, Body, BodyError, CatalogId, Change, Changed, Entry, Erased, Event, Kind, Memory, Note, OptionChange,
    Outcome, Page, PresentationNote, Selection, Snapshot, SnapshotKey, Sqlite, SqliteSettings, Store, StoreError, Synchronous,
    Trend, TrendSelection, What, catch_up, fold, load, snapshot,
};

const LUNCH: CatalogId = CatalogId(1);

/// A store, and what it leaves on the disk.
struct Backend {
    store: Arc<dyn Store>,
    folder: Option<std::path::PathBuf>,
}

impl Drop for Backend {
    fn drop(&mut self) {
        if let Some(folder) = &self.folder {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

fn folder() -> std::path::PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("unloop-store-{}-{number}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Every backend, empty.
fn backends() -> Vec<(&'static str, Backend)> {
    let sqlite = |at_once| {
        let folder = folder();
        let settings = SqliteSettings { at_once, ..SqliteSettings::default() };
        Backend { store: Arc::new(Sqlite::open_with(&folder.join("unloop.db"), settings).unwrap()), folder: Some(folder) }
    };
    vec![
        ("memory", Backend { store: Arc::new(Memory::new()), folder: None }),
        ("sqlite", sqlite(false)),
        ("sqlite at once", sqlite(true)),
    ]
}

/// Of several threads: one of them may wait for the disk.
fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap().block_on(work)
}

fn choice(context: Option<&str>, id: &str, chosen: &str) -> Entry {
    let body = Body::chosen(&["soup", "salad", "curry"], chosen);
    Entry { catalog: LUNCH, context: context.map(str::to_owned), what: What::Choice { id: id.to_owned(), body }, time: 7 }
}

fn withdrawal(of: Kind, id: &str) -> Entry {
    Entry { catalog: LUNCH, context: None, what: What::Withdrawal { of, id: id.to_owned() }, time: 8 }
}

fn everything() -> Selection {
    Selection { limit: usize::MAX, ..Selection::default() }
}

fn catalog(name: &str, expected: Option<u64>) -> Change {
    Change::Catalog { name: name.into(), settings: r#"{"size":3}"#.into(), expected }
}
