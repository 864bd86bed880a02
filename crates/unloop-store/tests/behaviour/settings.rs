//! What belongs to the log: settings, keys, names of contexts, notes.

use crate::*;

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
            // They ride along with what the thread that writes flushes next: two entries are work for it.
            store.append(vec![choice(Some("ada"), "p2", "soup"), choice(Some("ada"), "p3", "soup")]).await.unwrap();
            let ids = |notes: Vec<PresentationNote>| notes.into_iter().map(|note| note.id).collect::<Vec<_>>();
            assert_eq!(ids(store.presentations(LUNCH, None, 9).await.unwrap()), ["n2", "n1", "n0"], "{name}");
            let told =
                |trends: Vec<Trend>| trends.iter().map(|own| (own.time - 30 * DAY, own.served, own.mean)).collect::<Vec<_>>();
            let minutes = [(60_000, 3.0, 0.2), (120_000, 4.0, 0.4), (10 * DAY, 8.0, 0.8)];
            assert_eq!(told(store.trends(TrendSelection::all(LUNCH)).await.unwrap().rows), minutes, "{name}");
            assert_eq!(ids(store.presentations(LUNCH, Some("bob".into()), 1).await.unwrap()), ["n2"], "{name}");
            let hours = TrendSelection { since: 30 * DAY, step: 3_600_000, ..TrendSelection::all(LUNCH) };
            let joined = store.trends(hours.clone()).await.unwrap();
            assert_eq!(told(joined.rows), [(0, 7.0, 0.4), (10 * DAY, 8.0, 0.8)], "{name}");
            assert_eq!(joined.served, [(30 * DAY, 7.0), (40 * DAY, 8.0)], "{name}");
            // What is not asked for counts among all the same.
            let others = store.trends(TrendSelection { options: Some(vec![1]), ..hours }).await.unwrap();
            assert_eq!((others.rows.len(), others.served), (0, joined.served), "{name}");
            assert_eq!(store.served(LUNCH, 0, 39 * DAY).await.unwrap(), [(0, 7.0)], "{name}");
            assert_eq!(store.served(LUNCH, 39 * DAY, 41 * DAY).await.unwrap(), [(0, 8.0)], "{name}");
            let pruned = store.prune(41 * DAY).await.unwrap();
            assert_eq!((pruned.presentations, pruned.trends), (1, 2), "{name}");
            assert_eq!(
                told(store.trends(TrendSelection::all(LUNCH)).await.unwrap().rows),
                [(0, 7.0, 0.4), (10 * DAY, 8.0, 0.8)],
                "{name}"
            );
            store.erase(LUNCH, Some("ada".into()), 9).await.unwrap();
            assert_eq!(ids(store.presentations(LUNCH, None, 9).await.unwrap()), ["n2"], "{name}");
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
            if !backend.store.trends(TrendSelection::all(LUNCH)).await.unwrap().rows.is_empty() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        panic!("a note was never written");
    });
}
