//! One behaviour for every backend: repeats, conflicts, withdrawals, erasures, tailing, several appenders.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use unloop_store::{
    Access, Appended, Body, BodyError, CatalogId, Change, Changed, Entry, Erased, Kind, Memory, Note, OptionChange, Outcome,
    Page, PresentationNote, Selection, Snapshot, SnapshotKey, Sqlite, SqliteSettings, Store, StoreError, Trend, What, catch_up,
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

fn everything() -> Selection {
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
            let events = store.read(everything()).await.unwrap();
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
            let all = SnapshotKey::all(LUNCH);
            let her = SnapshotKey::new(LUNCH, Some("Ada Lovelace of London"));
            let (kept, own) = (Snapshot::of(&held), Snapshot::of(&load(store, LUNCH, her.context.as_deref()).await.unwrap()));
            store.put_snapshots(vec![(all.clone(), kept.clone()), (her.clone(), own.clone())]).await.unwrap();
            assert_eq!(store.erase(LUNCH, Some("nobody".into()), 9).await.unwrap().seq, None, "{name}");
            let erased = store.erase(LUNCH, her.context.clone(), 9).await.unwrap();
            assert_eq!(erased, Erased { seq: Some(52), emptied: true }, "{name}");
            // That of all stays, without her.
            let corrected = store.snapshot(all.clone()).await.unwrap().unwrap();
            assert_eq!(corrected.seq, kept.seq, "{name}");
            assert_eq!(snapshot::decode(&corrected.bytes).unwrap().digest(), without, "{name}");
            // Those that were made before come too late.
            store.put_snapshots(vec![(all.clone(), kept), (her.clone(), own)]).await.unwrap();
            assert_eq!(store.snapshot(all).await.unwrap(), Some(corrected), "{name}");
            assert_eq!(store.snapshot(her).await.unwrap(), None, "{name}");
            // Who held it loads it again; who begins now never sees it.
            catch_up(store, LUNCH, None, &mut held).await.unwrap();
            assert_eq!((held.digest(), held.position()), (without, 52), "{name}");
            assert_eq!(fold(store, LUNCH, None).await.unwrap().digest(), without, "{name}");
            assert_eq!(load(store, LUNCH, None).await.unwrap().digest(), without, "{name}");
            assert_eq!(
                store.append(vec![choice(Some("Ada Lovelace of London"), "a7", "soup")]).await.unwrap(),
                [Appended::Gone { seq: 9 }]
            );
            let events = store.read(everything()).await.unwrap();
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
            let key = SnapshotKey::new(LUNCH, Some("ada"));
            let put = |seq, bytes: &Vec<u8>| store.put_snapshots(vec![(key.clone(), Snapshot { seq, bytes: bytes.clone() })]);
            put(late.position(), &late_bytes).await.unwrap();
            put(early.position(), &early_bytes).await.unwrap();
            let kept = store.snapshot(key.clone()).await.unwrap().unwrap();
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
            put(99, &late_bytes).await.unwrap();
            assert_eq!(store.snapshot(key.clone()).await.unwrap().unwrap().seq, 21, "{name}: none from where nobody has been");
            store.append(vec![choice(None, "elsewhere", "curry")]).await.unwrap();
            put(22, &vec![1, 2, 3]).await.unwrap();
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
            let events = store.read(everything()).await.unwrap();
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
    let Err(StoreError::Newer { found: 99, known: 2, .. }) = Sqlite::open(&path) else { panic!("a newer format was opened") };
    let text = folder.join("text.db");
    std::fs::write(&text, "this is no database, whatever its name says; ".repeat(100)).unwrap();
    let Err(StoreError::Database { problem, .. }) = Sqlite::open(&text) else { panic!("text was opened") };
    assert!(problem.contains("not a database"), "{problem}");
    assert!(std::fs::read_to_string(&text).unwrap().starts_with("this is no database"));
    assert!(matches!(Sqlite::open(&folder.join("nowhere/unloop.db")), Err(StoreError::Database { .. })));
    let _ = std::fs::remove_dir_all(&folder);
}

/// Names that cannot be are refused before anything is done.
#[test]
fn names_of_contexts_and_ids_are_checked() {
    for (name, backend) in backends() {
        run(async {
            for context in ["", "all", "a\u{7}b", &"x".repeat(200)] {
                let error = backend.store.append(vec![choice(Some(context), "p1", "soup")]).await.unwrap_err();
                assert!(matches!(error, StoreError::Body { place: 1, error: BodyError::Context { .. } }), "{name}: {error}");
            }
            for id in ["", &"x".repeat(600)] {
                let error = backend.store.append(vec![choice(None, id, "soup")]).await.unwrap_err();
                assert!(matches!(error, StoreError::Body { place: 1, error: BodyError::Id { .. } }), "{name}: {error}");
            }
            assert_eq!(backend.store.head().await.unwrap().seq, 0, "{name}");
        });
    }
}

#[test]
fn weights_are_multiples_of_a_grain_in_the_log() {
    for (name, backend) in backends() {
        run(async {
            let mut entry = choice(Some("ada"), "p1", "soup");
            if let What::Choice { body, .. } = &mut entry.what {
                body.weight = 0.1;
            }
            backend.store.append(vec![entry.clone()]).await.unwrap();
            let events = backend.store.read(everything()).await.unwrap();
            let weight = events[0].body.as_ref().unwrap().weight;
            assert_eq!((weight * 1_048_576.0).fract(), 0.0, "{name}");
            assert!((weight - 0.1).abs() < 1e-6, "{name}");
            // The same words are the same choice.
            assert!(
                matches!(backend.store.append(vec![entry]).await.unwrap()[..], [Appended::Repeated { seq: 1, .. }]),
                "{name}"
            );
        });
    }
}

fn catalog(name: &str, expected: Option<u64>) -> Change {
    Change::Catalog { name: name.into(), settings: r#"{"size":3}"#.into(), expected }
}

#[test]
fn settings_have_a_revision_and_numbers_are_never_used_again() {
    for (name, backend) in backends() {
        run(async {
            let store = &*backend.store;
            assert_eq!(store.head().await.unwrap().revision, 0, "{name}");
            let done = store.change(catalog("lunch", Some(0))).await.unwrap();
            assert_eq!(done, Changed::Done { revision: 1, catalog: Some(LUNCH) }, "{name}");
            // Who has not seen a change does not undo it.
            assert_eq!(store.change(catalog("lunch", Some(0))).await.unwrap(), Changed::Stale { revision: 1 }, "{name}");
            let options = |names: &[&str], expected| Change::Options {
                catalog: LUNCH,
                options: names.iter().map(|name| OptionChange::plain(name)).collect(),
                expected,
            };
            store.change(options(&["soup", "salad"], Some(1))).await.unwrap();
            assert_eq!(store.change(options(&["pizza"], Some(1))).await.unwrap(), Changed::Stale { revision: 2 }, "{name}");
            let retired =
                OptionChange { weight: Some(0.5), active: false, label: Some("Suppe".into()), ..OptionChange::plain("soup") };
            let more = Change::Options { catalog: LUNCH, options: vec![retired, OptionChange::plain("curry")], expected: None };
            assert_eq!(store.change(more).await.unwrap(), Changed::Done { revision: 3, catalog: Some(LUNCH) }, "{name}");
            let found = store.options(LUNCH).await.unwrap();
            let told: Vec<_> = found.iter().map(|own| (own.index, own.name.as_str(), own.weight, own.active)).collect();
            assert_eq!(told, [(0, "soup", Some(0.5), false), (1, "salad", None, true), (2, "curry", None, true)], "{name}");
            assert_eq!(found[0].label.as_deref(), Some("Suppe"));
            let settings = store.settings().await.unwrap();
            assert_eq!((settings.revision, settings.catalogs.len(), settings.catalogs[0].revision), (3, 1, 3), "{name}");
            assert_eq!(settings.catalogs[0].settings, r#"{"size":3}"#);
            assert!(matches!(store.change(catalog("a b", None)).await, Err(StoreError::Setting(_))), "{name}");
            // A catalog that goes takes its options and events along; another of its name is another one.
            store.append(vec![choice(Some("ada"), "p1", "soup")]).await.unwrap();
            assert_eq!(store.erase(LUNCH, None, 9).await.unwrap(), Erased { seq: Some(2), emptied: true }, "{name}");
            assert_eq!(store.erase(CatalogId(7), None, 9).await.unwrap().seq, None, "{name}");
            assert_eq!(store.change(options(&["soup"], None)).await.unwrap(), Changed::Missing, "{name}");
            assert!(
                store.options(LUNCH).await.unwrap().is_empty() && store.settings().await.unwrap().catalogs.is_empty(),
                "{name}"
            );
            assert_eq!(fold(store, LUNCH, None).await.unwrap().statistics().total(), 0.0, "{name}");
            let done = store.change(catalog("lunch", Some(0))).await.unwrap();
            assert!(matches!(done, Changed::Done { catalog: Some(CatalogId(2)), .. }), "{name}: {done:?}");
        });
    }
}

#[test]
fn keys_are_kept_as_hashes_and_revoked() {
    for (name, backend) in backends() {
        run(async {
            let store = &*backend.store;
            let key = unloop_store::Key {
                id: "k1".into(),
                hash: [7; 32],
                label: "the app".into(),
                scopes: vec!["present".into(), "choose".into()],
                catalog: None,
                created: 5,
                expires: Some(50),
            };
            assert_eq!(
                store.change(Change::Key(key.clone())).await.unwrap(),
                Changed::Done { revision: 1, catalog: None },
                "{name}"
            );
            assert_eq!(store.change(Change::Key(key.clone())).await.unwrap(), Changed::Taken, "{name}");
            assert_eq!(store.settings().await.unwrap().keys, [key], "{name}");
            assert_eq!(store.change(Change::Revoke { id: "k2".into() }).await.unwrap(), Changed::Missing, "{name}");
            store.change(Change::Revoke { id: "k1".into() }).await.unwrap();
            let settings = store.settings().await.unwrap();
            assert_eq!((settings.keys.len(), settings.revision), (0, 2), "{name}");
        });
    }
}

#[test]
fn contexts_are_listed_page_by_page() {
    for (name, backend) in backends() {
        run(async {
            let store = &*backend.store;
            let people = ["bob", "ada", "bo", "cy", "ada", "bea"];
            let entries = people.iter().enumerate().map(|(i, who)| choice(Some(who), &format!("p{i}"), "soup")).collect();
            store.append(entries).await.unwrap();
            store.append(vec![choice(None, "nobody", "soup")]).await.unwrap();
            let page = |prefix: &str, after: Option<&str>, limit| {
                store.contexts(LUNCH, Page { prefix: prefix.into(), after: after.map(str::to_owned), limit })
            };
            assert_eq!(page("", None, 9).await.unwrap(), ["ada", "bea", "bo", "bob", "cy"], "{name}");
            assert_eq!(page("", Some("bea"), 2).await.unwrap(), ["bo", "bob"], "{name}");
            assert_eq!(page("bo", None, 9).await.unwrap(), ["bo", "bob"], "{name}");
            assert_eq!(page("bo", Some("bo"), 9).await.unwrap(), ["bob"], "{name}");
            assert!(page("x", None, 9).await.unwrap().is_empty(), "{name}");
        });
    }
}

/// Notes come without anybody waiting, are thinned with age, and go with what they are about.
#[test]
fn notes_are_written_thinned_and_erased() {
    const DAY: i64 = 86_400_000;
    for (name, backend) in backends() {
        run(async {
            let store = &*backend.store;
            store.append(vec![choice(Some("ada"), "p1", "soup")]).await.unwrap();
            let note = |id: &str, who: &str, time| {
                Note::Presentation(PresentationNote {
                    id: id.into(),
                    catalog: LUNCH,
                    context: Some(who.into()),
                    body: "{}".into(),
                    time,
                })
            };
            let trend = |time, served| {
                Note::Trend(Trend {
                    catalog: LUNCH,
                    option: 0,
                    time,
                    served,
                    shown: 1.0,
                    chosen: 0.5,
                    mean: served / 10.0,
                    p_best: 0.1,
                })
            };
            store.note(vec![note("n1", "ada", 40 * DAY), note("n2", "bob", 40 * DAY + 1), note("n0", "bob", DAY)]);
            // Twice in one minute, another minute of that hour, and one of another.
            store.note(vec![trend(30 * DAY + 61_000, 1.0), trend(30 * DAY + 62_000, 2.0), trend(30 * DAY + 125_000, 4.0)]);
            store.note(vec![trend(40 * DAY, 8.0)]);
            // They ride along with what is flushed next.
            store.append(vec![choice(Some("ada"), "p2", "soup")]).await.unwrap();
            let ids = |notes: Vec<PresentationNote>| notes.into_iter().map(|note| note.id).collect::<Vec<_>>();
            assert_eq!(ids(store.presentations(LUNCH, 9).await.unwrap()), ["n2", "n1", "n0"], "{name}");
            let told =
                |trends: Vec<Trend>| trends.iter().map(|own| (own.time - 30 * DAY, own.served, own.mean)).collect::<Vec<_>>();
            let minutes = [(60_000, 3.0, 0.2), (120_000, 4.0, 0.4), (10 * DAY, 8.0, 0.8)];
            assert_eq!(told(store.trends(LUNCH, 0).await.unwrap()), minutes, "{name}");
            let pruned = store.prune(41 * DAY).await.unwrap();
            assert_eq!((pruned.presentations, pruned.trends), (1, 2), "{name}");
            assert_eq!(told(store.trends(LUNCH, 0).await.unwrap()), [(0, 7.0, 0.4), (10 * DAY, 8.0, 0.8)], "{name}");
            store.erase(LUNCH, Some("ada".into()), 9).await.unwrap();
            assert_eq!(ids(store.presentations(LUNCH, 9).await.unwrap()), ["n2"], "{name}");
        });
    }
}

/// Alone they are written after a second.
#[test]
fn notes_alone_are_written_soon() {
    let (_, backend) = backends().pop().unwrap();
    run(async {
        let trend = Trend { catalog: LUNCH, option: 1, time: 0, served: 1.0, shown: 0.0, chosen: 0.0, mean: 0.0, p_best: 0.0 };
        backend.store.note(vec![Note::Trend(trend)]);
        for _ in 0..100 {
            if !backend.store.trends(LUNCH, 0).await.unwrap().is_empty() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        panic!("a note was never written");
    });
}

/// Others read beside the process that appends, and change settings; they do not append.
#[test]
fn others_read_beside_and_change_settings() {
    let folder = folder();
    let path = folder.join("unloop.db");
    let beside = SqliteSettings { access: Access::Beside, ..SqliteSettings::default() };
    assert!(matches!(Sqlite::open_with(&path, beside), Err(StoreError::NoDatabase { .. })));
    assert!(!path.exists());
    let store = Sqlite::open(&path).unwrap();
    let other = Sqlite::open_with(&path, beside).unwrap();
    run(async {
        store.append(vec![choice(Some("ada"), "p1", "soup")]).await.unwrap();
        assert_eq!(other.head().await.unwrap().seq, 1);
        assert!(matches!(other.append(vec![choice(None, "p2", "soup")]).await, Err(StoreError::Beside { .. })));
        assert!(matches!(other.erase(LUNCH, Some("ada".into()), 0).await, Err(StoreError::Beside { .. })));
        other.change(catalog("lunch", None)).await.unwrap();
        assert_eq!(store.head().await.unwrap(), unloop_store::Head { seq: 1, revision: 1 });
    });
    drop((store, other));
    let _ = std::fs::remove_dir_all(&folder);
}

/// A backup is whole, opens, and is made while others append; one that fails leaves nothing behind.
#[test]
fn a_backup_is_whole() {
    let folder = folder();
    let store = Arc::new(Sqlite::open(&folder.join("unloop.db")).unwrap());
    let copy = folder.join("copy.db");
    let appender = {
        let store = Arc::clone(&store);
        std::thread::spawn(move || {
            run(async {
                for i in 0..300 {
                    store.append(vec![choice(Some("ada"), &format!("p{i}"), "soup")]).await.unwrap();
                }
            });
        })
    };
    let seq = run(store.backup(&copy)).unwrap();
    appender.join().unwrap();
    assert!(matches!(run(store.backup(&copy)), Err(StoreError::Database { .. })), "a file is never written over");
    // A name that only a folder can have: the last step, the renaming, fails.
    assert!(matches!(run(store.backup(&folder.join("other.db/"))), Err(StoreError::Database { .. })));
    assert!(!folder.join("other.db").exists());
    let opened = Sqlite::open(&copy).unwrap();
    run(async {
        let events = opened.read(everything()).await.unwrap();
        assert_eq!(events.len() as u64, seq);
        assert!(opened.soundness().await.unwrap().is_empty() && store.soundness().await.unwrap().is_empty());
    });
    let left: Vec<_> =
        std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert!(!left.iter().any(|name| name.contains(".part")), "{left:?}");
    drop((store, opened));
    let _ = std::fs::remove_dir_all(&folder);
}

/// Files of older formats are brought up to date, and lose nothing. They were written by `examples/fixture.rs` as it was then.
#[test]
fn older_formats_are_opened() {
    const DIGEST: &str = "a50e3f6580836459315a0076ca00366b7c09327ffd38fe5707d9dcb97580b70c";
    let fixtures = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    for format in 1..=2 {
        let folder = folder();
        let path = folder.join("unloop.db");
        std::fs::copy(fixtures.join(format!("format-{format}.db")), &path).unwrap();
        let store = Sqlite::open(&path).unwrap();
        run(async {
            for folded in [fold(&store, LUNCH, None).await.unwrap(), load(&store, LUNCH, None).await.unwrap()] {
                assert_eq!(blake3::Hash::from_bytes(folded.digest()).to_hex().to_string(), DIGEST, "format {format}");
            }
            assert_eq!(store.head().await.unwrap().seq, 43, "format {format}");
            let name = if format == 1 { "catalog-1" } else { "lunch" };
            assert_eq!(store.settings().await.unwrap().catalogs[0].name, name, "format {format}");
            store.append(vec![choice(Some("dee"), "new", "soup")]).await.unwrap();
        });
        drop(store);
        let _ = std::fs::remove_dir_all(&folder);
    }
}
