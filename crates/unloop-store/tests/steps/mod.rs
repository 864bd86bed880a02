//! Steps that use a bit of everything, with what was answered, and how that is compared with what is there.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use unloop_store::{
    Appended, Body, CatalogId, Entry, Event, Kind, Selection, Snapshot, SnapshotKey, Sqlite, SqliteSettings, Store, StoreError,
    What, fold, import_key, load,
};

use crate::layer::{Layer, Plan};

const LUNCH: CatalogId = CatalogId(1);
pub(crate) const ADA: &str = "Ada Lovelace of London";

/// A folder of one test, gone with it.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let folder = Self(std::env::temp_dir().join(format!("unloop-faults-{name}-{}", std::process::id())));
        folder.empty();
        folder
    }

    pub(crate) fn empty(&self) {
        let _ = std::fs::remove_dir_all(&self.0);
        std::fs::create_dir_all(&self.0).unwrap();
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.0.join("unloop.db")
    }

    pub(crate) fn holds(&self, text: &str) -> bool {
        std::fs::read_dir(&self.0).unwrap().any(|entry| {
            let bytes = std::fs::read(entry.unwrap().path()).unwrap();
            bytes.windows(text.len()).any(|window| window == text.as_bytes())
        })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Of several threads: one of them may wait for the disk.
pub(crate) fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap().block_on(work)
}

pub(crate) fn open(path: &Path, layer: &Layer) -> Result<Sqlite, StoreError> {
    open_with(path, layer, false)
}

/// The same, where whoever appends a single entry may write it.
pub(crate) fn open_with(path: &Path, layer: &Layer, at_once: bool) -> Result<Sqlite, StoreError> {
    Sqlite::open_with(path, SqliteSettings { vfs: Some(layer.name), at_once, ..SqliteSettings::default() })
}

fn entry(context: Option<&str>, what: What) -> Entry {
    Entry { catalog: LUNCH, context: context.map(str::to_owned), what, time: 7 }
}

fn choice(context: &str, id: &str) -> Entry {
    let body = Body::chosen(&["soup", "salad", "curry"], ["soup", "salad", "curry"][id.len() % 3]);
    entry(Some(context), What::Choice { id: id.to_owned(), body })
}

fn import(context: &str, id: &str) -> Entry {
    entry(Some(context), What::Import { id: id.to_owned(), body: Body::chosen(&["soup", "salad"], "salad") })
}

fn withdrawal(id: &str) -> Entry {
    entry(None, What::Withdrawal { of: Kind::Choice, id: id.to_owned() })
}

pub(crate) fn choices(context: &str, prefix: &str, count: usize) -> Vec<Entry> {
    (0..count).map(|i| choice(context, &format!("{prefix}{i}"))).collect()
}

/// Under which kind and id an entry is in the log.
fn key(entry: &Entry) -> (Kind, String) {
    match &entry.what {
        What::Choice { id, .. } => (Kind::Choice, id.clone()),
        What::Import { id, .. } => (Kind::Import, import_key(id)),
        What::Withdrawal { id, .. } => (Kind::Withdrawal, format!("choice:{id}")),
    }
}

pub(crate) async fn all(store: &Sqlite) -> Vec<Event> {
    store.read(Selection { limit: usize::MAX, ..Selection::default() }).await.unwrap()
}

/// Something asked of a store.
#[derive(Clone)]
pub(crate) enum Step {
    Append(Vec<Entry>),
    /// Puts the fold of a context aside, or of all.
    Put(Option<&'static str>),
    Erase(&'static str),
}

/// A step, with what was answered.
pub(crate) struct Told {
    pub(crate) step: Step,
    pub(crate) answer: Result<Acknowledged, StoreError>,
}

#[derive(Debug)]
pub(crate) enum Acknowledged {
    Append(Vec<Appended>),
    Put,
    Erase(Option<u64>),
}

pub(crate) async fn ask(store: &Sqlite, step: Step) -> Told {
    let answer = match step.clone() {
        Step::Append(entries) => store.append(entries).await.map(Acknowledged::Append),
        // What is erased and may still be in the files is not done: it is asked for again, as what found no space.
        Step::Erase(context) => match store.erase(LUNCH, Some(context.to_owned()), 9).await {
            Ok(erased) if erased.emptied => Ok(Acknowledged::Erase(erased.seq)),
            Ok(_) => Err(StoreError::Full),
            Err(error) => Err(error),
        },
        Step::Put(context) => match load(store, LUNCH, context).await {
            Ok(folded) => {
                let kept = vec![(SnapshotKey::new(LUNCH, context), Snapshot::of(&folded))];
                store.put_snapshots(kept).await.map(|()| Acknowledged::Put)
            }
            Err(error) => Err(error),
        },
    };
    Told { step, answer }
}

/// A bit of everything.
pub(crate) fn steps() -> Vec<Step> {
    let mut first = choices(ADA, "a", 6);
    first.extend([choice("bob", "b1"), choice(ADA, "a1")]);
    vec![
        Step::Append(first),
        Step::Append(vec![choice(ADA, "a2"), import("bob", "i1"), import(ADA, "i2"), withdrawal("b1"), withdrawal("nothing")]),
        Step::Append(choices("bob", "long", 40)),
        Step::Put(None),
        Step::Put(Some("bob")),
        Step::Append(vec![withdrawal("long3"), withdrawal("a0")]),
        Step::Erase(ADA),
        Step::Append(vec![choice("bob", "b2"), choice(ADA, "a3"), choice("bob", "b1"), withdrawal("long5")]),
        Step::Put(Some("bob")),
        Step::Append(choices("cy", "c", 3)),
        Step::Append(choices("cy", "one", 1)),
        Step::Append(vec![withdrawal("one0")]),
        Step::Append(choices("bob", "last", 1)),
    ]
}

/// Opens a database again, through which nothing goes wrong any more, and compares it with what was told.
pub(crate) fn compare(folder: &Folder, quiet: &Layer, told: &[Told], at: &str) {
    quiet.plan(Plan::Nothing);
    let store = open(&folder.database(), quiet).unwrap_or_else(|error| panic!("{at}: {error}"));
    let events = run(async {
        let events = all(&store).await;
        assert!(events.iter().zip(1..).all(|(event, seq)| event.seq == seq), "{at}: a hole");
        assert_eq!(store.head().await.unwrap().seq, events.len() as u64, "{at}: the head");
        for context in [None, Some("bob"), Some("cy"), Some(ADA)] {
            let (loaded, folded) = (load(&store, LUNCH, context).await.unwrap(), fold(&store, LUNCH, context).await.unwrap());
            assert_eq!(loaded.digest(), folded.digest(), "{at}: the fold of {context:?}");
        }
        let answer = store.append(vec![choice("bob", "afterwards")]).await.unwrap_or_else(|error| panic!("{at}: {error}"));
        assert_eq!(answer, [Appended::Recorded { seq: events.len() as u64 + 1 }], "{at}");
        events
    });
    check(&events, told, at);
    if events.iter().any(|event| event.kind == Kind::Erasure) {
        assert!(!folder.holds(ADA), "{at}: what was erased is there");
    }
    drop(store);
    let connection = rusqlite::Connection::open(folder.database()).unwrap();
    let word: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(word, "ok", "{at}");
}

/// What was acknowledged is there once, where it was said to be; what was not is there wholly or not at all.
fn check(events: &[Event], told: &[Told], at: &str) {
    let held: BTreeSet<(Kind, String)> = events.iter().map(|event| (event.kind, event.id.clone())).collect();
    assert_eq!(held.len(), events.len(), "{at}: something is there twice");
    let is_at = |seq: u64, (kind, id): (Kind, String)| {
        events.get(seq as usize - 1).is_some_and(|event| event.kind == kind && event.id == id)
    };
    let mut known: BTreeSet<(Kind, String)> = BTreeSet::new();
    for (place, Told { step, answer }) in told.iter().enumerate() {
        let at = format!("{at}, step {place}");
        match (step, answer) {
            (Step::Append(entries), Ok(Acknowledged::Append(answers))) => {
                assert_eq!(entries.len(), answers.len(), "{at}");
                for (entry, answer) in entries.iter().zip(answers) {
                    match answer {
                        Appended::Recorded { seq } => {
                            assert!(is_at(*seq, key(entry)) && known.insert(key(entry)), "{at}: {answer:?}");
                        }
                        Appended::Unknown => assert!(!held.contains(&key(entry)), "{at}"),
                        _ => assert!(known.contains(&key(entry)), "{at}: {answer:?}"),
                    }
                }
            }
            (Step::Append(entries), Err(_)) => {
                let own: BTreeSet<_> = entries.iter().map(key).filter(|key| !known.contains(key)).collect();
                // There is nothing that this one could take back.
                let own: Vec<_> = own.into_iter().filter(|(_, id)| id != "choice:nothing").collect();
                let there = own.iter().filter(|key| held.contains(key)).count();
                assert!(there == 0 || there == own.len(), "{at}: {there} of {} are there", own.len());
                known.extend(own.into_iter().filter(|key| held.contains(key)));
            }
            (Step::Erase(context), answer) => {
                let erased = events.iter().any(|event| event.kind == Kind::Erasure);
                if let Ok(Acknowledged::Erase(seq)) = answer {
                    assert!(erased, "{at}: it was erased");
                    seq.inspect(|&seq| assert!(is_at(seq, (Kind::Erasure, seq.to_string())), "{at}"));
                }
                // Nothing but an erasure takes bodies away, and it takes all of the context.
                let is_left = |event: &Event| event.context.as_deref() == Some(*context);
                let whole = if erased { !events.iter().any(is_left) } else { events.iter().all(|event| event.body.is_some()) };
                assert!(whole, "{at}: half of it is erased");
            }
            (_, answer) => assert!(matches!(answer, Ok(Acknowledged::Put) | Err(_)), "{at}"),
        }
    }
}
