//! Writers that keep a ledger of what was acknowledged to them, and how it is compared with what is there.

use std::collections::BTreeSet;
use std::path::Path;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use unloop_store::{
    Appended, Body, CatalogId, Entry, Event, Kind, Selection, Snapshot, SnapshotKey, Sqlite, SqliteSettings, Store, StoreError,
    What, fold, import_key, load,
};

pub(crate) const WRITERS: u64 = 32;
const LUNCH: CatalogId = CatalogId(1);
const CONTEXTS: u64 = 6;
/// Frames of a write-ahead log that is copied all the time.
const COPIED: u32 = 64;

/// Lines of what was acknowledged: a mark for the kind, and an id.
pub(crate) type Ledger = BTreeSet<String>;

/// Of several threads: one of them may wait for the disk.
pub(crate) fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().expect("a runtime").block_on(work)
}

/// How a store is opened in a cycle: every second one copies its write-ahead log all the time, so that it is cut off in the middle of that, too; in two of four
/// whoever appends writes where nobody else does.
pub(crate) fn settings(cycle: u64, all: SqliteSettings) -> SqliteSettings {
    SqliteSettings { log_frames: cycle.is_multiple_of(2).then_some(COPIED), at_once: cycle % 4 < 2, ..all }
}

fn entry(context: String, id: &str, kind: Kind) -> Entry {
    let body = Body::chosen(&["soup", "salad", "curry"], ["soup", "salad", "curry"][id.len() % 3]);
    let id = id.to_owned();
    let what = if kind == Kind::Import { What::Import { id, body } } else { What::Choice { id, body } };
    Entry { catalog: LUNCH, context: Some(context), what, time: 0 }
}

/// Appends, withdraws, puts folds aside and erases guests until something fails; a line into the ledger after each answer.
pub(crate) async fn write(store: &Sqlite, cycle: u64, writer: u64, note: impl Fn(&str)) -> Result<(), StoreError> {
    let mut rng = ChaCha8Rng::seed_from_u64(cycle * WRITERS + writer);
    for i in 0_u64.. {
        let id = format!("{cycle}-{writer}-{i}");
        let (kind, mark) = if i % 3 == 2 { (Kind::Import, "I") } else { (Kind::Choice, "C") };
        let answer = store.append(vec![entry(format!("person {}", rng.random_range(0..CONTEXTS)), &id, kind)]).await?;
        assert!(matches!(answer[..], [Appended::Recorded { .. }]), "{answer:?}");
        note(&format!("{mark} {id}"));
        if i % 5 == 4 && kind == Kind::Choice {
            let what = What::Withdrawal { of: kind, id: id.clone() };
            store.append(vec![Entry { catalog: LUNCH, context: None, what, time: 0 }]).await?;
            note(&format!("W {id}"));
        }
        if i % 20 == 10 {
            let context = format!("person {}", writer % CONTEXTS);
            let folded = load(store, LUNCH, Some(&context)).await?;
            store.put_snapshots(vec![(SnapshotKey::new(LUNCH, Some(&context)), Snapshot::of(&folded))]).await?;
        }
        // Not by all at once: each erasure empties the write-ahead log.
        if i % WRITERS == writer && i % 4 == 3 {
            let (guest, stay) = (format!("guest {id}"), format!("{id}-stay"));
            store.append(vec![entry(guest.clone(), &stay, Kind::Choice)]).await?;
            note(&format!("C {stay}"));
            let erased = store.erase(LUNCH, Some(guest), 0).await?;
            let seq = erased.seq.expect("there is something of the guest");
            note(&format!("E {seq}"));
        }
    }
    Ok(())
}

/// Whether everything acknowledged is there once, without holes, and what snapshots and log give is what the log alone gives, to the bit.
pub(crate) fn compare(path: &Path, ledger: &Ledger) -> Result<(), String> {
    let store = Sqlite::open(path).map_err(|error| format!("it cannot be opened: {error}"))?;
    run(async {
        let problem = |error: StoreError| error.to_string();
        let selection = Selection { limit: usize::MAX, ..Selection::default() };
        let events: Vec<Event> = store.read(selection).await.map_err(problem)?;
        if !events.iter().zip(1..).all(|(event, seq)| event.seq == seq) {
            return Err("there is a hole".to_owned());
        }
        let head = store.head().await.map_err(problem)?.seq;
        if head != events.len() as u64 {
            return Err(format!("the head is {head}, of {} events", events.len()));
        }
        let held: BTreeSet<(Kind, &str)> = events.iter().map(|event| (event.kind, event.id.as_str())).collect();
        if held.len() != events.len() {
            return Err("something is there twice".to_owned());
        }
        for line in ledger {
            let (mark, id) = line.split_once(' ').expect("a line");
            let (kind, id) = match mark {
                "C" => (Kind::Choice, id.to_owned()),
                "I" => (Kind::Import, import_key(id)),
                "E" => (Kind::Erasure, id.to_owned()),
                _ => (Kind::Withdrawal, format!("choice:{id}")),
            };
            if !held.contains(&(kind, id.as_str())) {
                return Err(format!("{line} was acknowledged and is lost"));
            }
        }
        let contexts = (0..CONTEXTS).map(|context| Some(format!("person {context}"))).chain([None]);
        for context in contexts {
            let context = context.as_deref();
            let loaded = load(&store, LUNCH, context).await.map_err(problem)?;
            let folded = fold(&store, LUNCH, context).await.map_err(problem)?;
            if loaded.digest() != folded.digest() {
                return Err(format!("the snapshot of {context:?} does not fit the log"));
            }
        }
        Ok(())
    })
}
