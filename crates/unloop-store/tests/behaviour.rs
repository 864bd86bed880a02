//! One behaviour for every backend: repeats, conflicts, withdrawals, erasures, tailing, several appenders.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use unloop_store::{
    Appended, Body, CatalogId, Entry, Kind, Memory, Outcome, Selection, Snapshot, Sqlite, Store, StoreError, What, catch_up,
    fold, load, snapshot,
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
    let folder = folder();
    let sqlite = Sqlite::open(&folder.join("unloop.db")).unwrap();
    vec![
        ("memory", Backend { store: Arc::new(Memory::new()), folder: None }),
        ("sqlite", Backend { store: Arc::new(sqlite), folder: Some(folder) }),
    ]
}

fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(work)
}

fn choice(context: Option<&str>, id: &str, chosen: &str) -> Entry {
    let body = Body::chosen(&["soup", "salad", "curry"], chosen);
    Entry { catalog: LUNCH, context: context.map(str::to_owned), what: What::Choice { id: id.to_owned(), body }, time: 7 }
}

fn withdrawal(of: Kind, id: &str) -> Entry {
    Entry { catalog: LUNCH, context: None, what: What::Withdrawal { of, id: id.to_owned() }, time: 8 }
}

fn all() -> Selection {
    Selection { limit: usize::MAX, ..Selection::default() }
}

#[test]
fn the_same_again_is_answered_alike_and_another_is_refused() {
    for (name, backend) in backends() {
        run(async {
            let store = &backend.store;
            let first = choice(Some("ada"), "p1", "soup");
            // In one call as in several.
            let answers = store.append(vec![first.clone(), first.clone(), choice(Some("ada"), "p1", "salad")]).await.unwrap();
            let body = Body::chosen(&["soup", "salad", "curry"], "soup");
            let repeated = Appended::Repeated { seq: 1, first: body.clone() };
            let conflict = Appended::Conflict { seq: 1, first: body };
            assert_eq!(answers, [Appended::Recorded { seq: 1 }, repeated.clone(), conflict.clone()], "{name}");
            assert_eq!(store.append(vec![first.clone()]).await.unwrap(), [repeated], "{name}");
            assert_eq!(store.append(vec![choice(Some("bob"), "p1", "soup")]).await.unwrap(), [conflict], "{name}");
            // Another kind and another catalog are other keys.
            let What::Choice { body, .. } = first.what.clone() else { unreachable!("a choice") };
            let import = Entry { what: What::Import { id: "p1".into(), body }, ..first.clone() };
            let elsewhere = Entry { catalog: CatalogId(2), ..first };
            let answers = store.append(vec![import.clone(), elsewhere, import]).await.unwrap();
            assert!(matches!(
                answers[..],
                [Appended::Recorded { seq: 2 }, Appended::Recorded { seq: 3 }, Appended::Repeated { seq: 2, .. }]
            ));
            let events = store.read(all()).await.unwrap();
            assert_eq!(events.iter().map(|event| event.seq).collect::<Vec<_>>(), [1, 2, 3], "{name}");
            assert_ne!(events[1].id, "p1", "an import is kept under a hash");
            assert_eq!(events[1].body.as_ref().and_then(|body| body.source.as_deref()), Some("p1"));
        });
    }
}

#[test]
fn entries_that_are_none_change_nothing() {
    for (name, backend) in backends() {
        run(async {
            let mut bad = choice(None, "p2", "soup");
            if let What::Choice { body, .. } = &mut bad.what {
                body.outcome = Outcome::Chosen(vec!["pizza".into()]);
            }
            let error = backend.store.append(vec![choice(None, "p1", "soup"), bad]).await.unwrap_err();
            assert_eq!(error.to_string(), "event 2: \"pizza\" was chosen and not presented", "{name}");
            assert_eq!(backend.store.head().await.unwrap().seq, 0, "{name}");
        });
    }
}

#[test]
fn withdrawals_take_back_exactly_once() {
    for (name, backend) in backends() {
        run(async {
            let store = &*backend.store;
            store.append(vec![choice(Some("ada"), "p1", "soup"), choice(Some("ada"), "p2", "salad")]).await.unwrap();
            let before = fold(store, LUNCH, Some("ada")).await.unwrap();
            store.append(vec![choice(Some("ada"), "p3", "curry")]).await.unwrap();
            let answers = store.append(vec![
                withdrawal(Kind::Choice, "p3"),
                withdrawal(Kind::Choice, "p3"),
                withdrawal(Kind::Choice, "p9"),
            ]);
            let answers = answers.await.unwrap();
            assert!(
                matches!(answers[..], [Appended::Recorded { seq: 4 }, Appended::Repeated { seq: 4, .. }, Appended::Unknown]),
                "{name}: {answers:?}"
            );
            let after = fold(store, LUNCH, Some("ada")).await.unwrap();
            assert_eq!((after.digest(), after.position()), (before.digest(), 4), "{name}");
            assert_ne!(fold(store, LUNCH, None).await.unwrap().digest(), fold(store, CatalogId(2), None).await.unwrap().digest());
            // The id stays used.
            assert!(matches!(
                store.append(vec![choice(Some("ada"), "p3", "curry")]).await.unwrap()[..],
                [Appended::Repeated { seq: 3, .. }]
            ));
        });
    }
}

#[test]
fn erased_is_gone_and_its_ids_are_not_free() {
    for (name, backend) in backends() {
        run(async {
            let store = &*backend.store;
            store.append(vec![choice(Some("bob"), "b1", "salad")]).await.unwrap();
            let without = fold(store, LUNCH, None).await.unwrap().digest();
            let entries: Vec<Entry> = (0..50).map(|i| choice(Some("Ada Lovelace of London"), &format!("a{i}"), "soup")).collect();
            store.append(entries).await.unwrap();
            let mut held = fold(store, LUNCH, None).await.unwrap();
            let kept = Snapshot { seq: held.position(), bytes: snapshot::encode(&held) };
            store.put_snapshot(LUNCH, None, kept.clone()).await.unwrap();
            assert_eq!(store.erase(LUNCH, "nobody".into(), 9).await.unwrap(), None, "{name}");
            assert_eq!(store.erase(LUNCH, "Ada Lovelace of London".into(), 9).await.unwrap(), Some(52), "{name}");
            assert!(store.snapshot(LUNCH, None).await.unwrap().is_none(), "{name}");
            // One that was made before comes too late.
            store.put_snapshot(LUNCH, None, kept).await.unwrap();
            assert!(store.snapshot(LUNCH, None).await.unwrap().is_none(), "{name}");
            // Who held it loads it again; who begins now never sees it.
            catch_up(store, LUNCH, None, &mut held).await.unwrap();
            assert_eq!((held.digest(), held.position()), (without, 52), "{name}");
            assert_eq!(fold(store, LUNCH, None).await.unwrap().digest(), without, "{name}");
            assert_eq!(
                store.append(vec![choice(Some("Ada Lovelace of London"), "a7", "soup")]).await.unwrap(),
                [Appended::Gone { seq: 9 }]
            );
            let events = store.read(all()).await.unwrap();
            assert_eq!(events.len(), 52, "{name}: positions stay");
            if let Some(folder) = &backend.folder {
                for entry in std::fs::read_dir(folder).unwrap() {
                    let bytes = std::fs::read(entry.unwrap().path()).unwrap();
                    assert!(!bytes.windows(12).any(|window| window == b"Ada Lovelace"), "{name}");
                }
            }
        });
    }
}

#[test]
fn snapshots_are_a_cache() {
    for (name, backend) in backends() {
        run(async {
            let store = &*backend.store;
            store
                .append((0..20).map(|i| choice(Some("ada"), &format!("p{i}"), ["soup", "salad"][i % 2])).collect())
                .await
                .unwrap();
            let early = fold(store, LUNCH, Some("ada")).await.unwrap();
            let early_bytes = snapshot::encode(&early);
            store.append(vec![choice(Some("ada"), "later", "curry")]).await.unwrap();
            let late = fold(store, LUNCH, Some("ada")).await.unwrap();
            let late_bytes = snapshot::encode(&late);
            let put =
                |seq, bytes: &Vec<u8>| store.put_snapshot(LUNCH, Some("ada".into()), Snapshot { seq, bytes: bytes.clone() });
            put(late.position(), &late_bytes).await.unwrap();
            put(early.position(), &early_bytes).await.unwrap();
            let kept = store.snapshot(LUNCH, Some("ada".into())).await.unwrap().unwrap();
            assert_eq!(kept, Snapshot { seq: 21, bytes: late_bytes.clone() }, "{name}: never an older one");
            assert_eq!(load(store, LUNCH, Some("ada")).await.unwrap().digest(), late.digest(), "{name}");
            let read = snapshot::decode(&late_bytes).unwrap();
            assert_eq!(
                (read.digest(), read.position(), snapshot::encode(&read)),
                (late.digest(), 21, late_bytes.clone()),
                "{name}"
            );
            // A bad one is folded again.
            for place in 0..late_bytes.len() {
                let mut bad = late_bytes.clone();
                bad[place] ^= 1;
                assert!(snapshot::decode(&bad).is_err(), "byte {place}");
            }
            assert!((0..late_bytes.len()).all(|end| snapshot::decode(&late_bytes[..end]).is_err()));
            put(99, &vec![1, 2, 3]).await.unwrap();
            assert_eq!(load(store, LUNCH, Some("ada")).await.unwrap().digest(), late.digest(), "{name}");
        });
    }
}

/// Appenders at once: positions are dense, each choice is there once, and who tails from anywhere ends with the same counts, to the bit.
#[test]
fn several_appenders_agree() {
    for (name, backend) in backends() {
        let store = Arc::clone(&backend.store);
        let threads: Vec<_> = (0..8_u64)
            .map(|who| {
                let store = Arc::clone(&store);
                std::thread::spawn(move || {
                    let mut rng = ChaCha8Rng::seed_from_u64(who);
                    run(async {
                        let mut tail = fold(&*store, LUNCH, None).await.unwrap();
                        for i in 0..60 {
                            let context = format!("person {}", rng.random_range(0..5));
                            // Some ids are used by two of them: one records, the other repeats or conflicts.
                            let id = format!("{}-{i}", who / 2);
                            let chosen = ["soup", "salad", "curry"][rng.random_range(0..3)];
                            store.append(vec![choice(Some(&context), &id, chosen)]).await.unwrap();
                            if i % 7 == 3 {
                                store.append(vec![withdrawal(Kind::Choice, &format!("{}-{}", who / 2, i - 1))]).await.unwrap();
                            }
                            catch_up(&*store, LUNCH, None, &mut tail).await.unwrap();
                        }
                        tail
                    })
                })
            })
            .collect();
        let tails: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        run(async {
            let store = &*store;
            let events = store.read(all()).await.unwrap();
            assert!(events.iter().zip(1..).all(|(event, seq)| event.seq == seq), "{name}: dense");
            assert_eq!(events.iter().filter(|event| event.kind == Kind::Choice).count(), 4 * 60, "{name}");
            let whole = fold(store, LUNCH, None).await.unwrap();
            for mut tail in tails {
                catch_up(store, LUNCH, None, &mut tail).await.unwrap();
                assert_eq!(tail.digest(), whole.digest(), "{name}");
            }
        });
    }
}

/// What was answered is there after the file is opened again; only one process may append.
#[test]
fn a_file_keeps_what_was_answered() {
    let folder = folder();
    let path = folder.join("unloop.db");
    let digest = {
        let store = Sqlite::open(&path).unwrap();
        assert!(matches!(Sqlite::open(&path), Err(StoreError::InUse { .. })));
        run(async {
            for i in 0..30 {
                store.append(vec![choice(Some("ada"), &format!("p{i}"), "soup")]).await.unwrap();
            }
            fold(&store, LUNCH, Some("ada")).await.unwrap().digest()
        })
    };
    let store = Sqlite::open(&path).unwrap();
    run(async {
        assert_eq!(fold(&store, LUNCH, Some("ada")).await.unwrap().digest(), digest);
        assert!(matches!(
            store.append(vec![choice(Some("ada"), "p3", "soup")]).await.unwrap()[..],
            [Appended::Repeated { seq: 4, .. }]
        ));
    });
    drop(store);
    let _ = std::fs::remove_dir_all(&folder);
}

/// What cannot be opened is named, and left as it is.
#[test]
fn files_that_cannot_be_opened_are_named() {
    let folder = folder();
    let path = folder.join("unloop.db");
    drop(Sqlite::open(&path).unwrap());
    rusqlite::Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let Err(StoreError::Newer { found: 99, known: 1, .. }) = Sqlite::open(&path) else { panic!("a newer format was opened") };
    let text = folder.join("text.db");
    std::fs::write(&text, "this is no database, whatever its name says; ".repeat(100)).unwrap();
    let Err(StoreError::Database { problem, .. }) = Sqlite::open(&text) else { panic!("text was opened") };
    assert!(problem.contains("not a database"), "{problem}");
    assert!(std::fs::read_to_string(&text).unwrap().starts_with("this is no database"));
    assert!(matches!(Sqlite::open(&folder.join("nowhere/unloop.db")), Err(StoreError::Database { .. })));
    let _ = std::fs::remove_dir_all(&folder);
}
