//! The log: repeats, conflicts, withdrawals, erasures, snapshots, several appenders.

use crate::*;

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

/// Of whom, and what is gone is not among them.
#[test]
fn the_latest_come_first() {
    for (name, backend) in backends() {
        run(async {
            let store = &*backend.store;
            for (who, id) in [("ada", "p1"), ("bob", "p2"), ("ada", "p3"), ("bob", "p4")] {
                store.append(vec![choice(Some(who), id, "soup")]).await.unwrap();
            }
            let ids = |events: Vec<Event>| events.into_iter().map(|event| event.id).collect::<Vec<_>>();
            assert_eq!(ids(store.latest(LUNCH, None, 3).await.unwrap()), ["p4", "p3", "p2"], "{name}");
            assert_eq!(ids(store.latest(LUNCH, Some("ada".into()), 9).await.unwrap()), ["p3", "p1"], "{name}");
            assert_eq!(ids(store.latest(CatalogId(9), None, 9).await.unwrap()), [""; 0], "{name}");
            store.erase(LUNCH, Some("bob".into()), 9).await.unwrap();
            assert_eq!(ids(store.latest(LUNCH, None, 9).await.unwrap()), ["p3", "p1"], "{name}");
            assert!(store.bytes().await.unwrap() > 0 || name == "memory", "{name}");
        });
    }
}
