//! Contexts in memory: they fit into what they are given, and miss nothing, whoever appends meanwhile.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use unloop_store::{
    Appended, Body, CacheLimits, CatalogId, Change, Contexts, Entry, Event, Kind, Memory, Selection, Snapshot, SnapshotKey,
    Sqlite, SqliteSettings, Store, Synchronous, Then, What, fold, load,
};

const LUNCH: CatalogId = CatalogId(1);

fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap().block_on(work)
}

fn choice(context: &str, id: String) -> Entry {
    let body = Body::chosen(&["soup", "salad", "curry"], ["soup", "salad", "curry"][id.len() % 3]);
    Entry { catalog: LUNCH, context: Some(context.to_owned()), what: What::Choice { id, body }, time: 0 }
}

async fn fill(store: &dyn Store, contexts: usize, each: usize) {
    for context in 0..contexts {
        let entries = (0..each).map(|i| choice(&format!("person {context}"), format!("{context}-{i}"))).collect();
        store.append(entries).await.unwrap();
    }
}

#[test]
fn they_fit_into_what_they_are_given() {
    run(async {
        let store: Arc<dyn Store> = Arc::new(Memory::new());
        fill(&*store, 100, 5).await;
        let limits = CacheLimits { contexts: 10, bytes: usize::MAX };
        let cache: Contexts = Contexts::new(Arc::clone(&store), limits).await.unwrap();
        for context in 0..100 {
            let total = cache.with(LUNCH, Some(&format!("person {context}")), |fold| fold.statistics().total()).await.unwrap();
            assert_eq!(total, 5.0);
            assert!(cache.used().contexts <= 10);
        }
        assert_eq!(cache.used().contexts, 10);
        let one = cache.used().bytes / 10;
        let limits = CacheLimits { contexts: usize::MAX, bytes: 5 * one };
        let cache: Contexts = Contexts::new(Arc::clone(&store), limits).await.unwrap();
        for context in 0..100 {
            cache.with(LUNCH, Some(&format!("person {context}")), |_| ()).await.unwrap();
            assert!(cache.used().bytes <= 5 * one);
        }
        assert_eq!(cache.used().contexts, 5);
        // What is in use fits, whatever the limit; nothing else does.
        let cache: Contexts = Contexts::new(Arc::clone(&store), CacheLimits { contexts: 0, bytes: 0 }).await.unwrap();
        for context in ["person 1", "person 2"] {
            assert_eq!(cache.with(LUNCH, Some(context), |fold| fold.statistics().total()).await.unwrap(), 5.0);
            assert_eq!(cache.used().contexts, 1);
        }
        // Growing counts, too.
        store.append((0..500).map(|i| choice("person 2", format!("more-{i}"))).collect()).await.unwrap();
        let before = cache.used().bytes;
        cache.follow(0).await.unwrap();
        assert!(cache.used().bytes >= before);
    });
}

/// Long tails are put aside, and what is let go, so that it is there again at once.
#[test]
fn they_are_put_aside() {
    run(async {
        let store: Arc<dyn Store> = Arc::new(Memory::new());
        fill(&*store, 3, 50).await;
        let cache: Contexts = Contexts::new(Arc::clone(&store), CacheLimits { contexts: 2, bytes: usize::MAX }).await.unwrap();
        let key = |context: usize| SnapshotKey::new(LUNCH, Some(&format!("person {context}")));
        for context in 0..3 {
            cache.with(LUNCH, key(context).context.as_deref(), |_| ()).await.unwrap();
        }
        assert_eq!(cache.put_aside().await.unwrap(), 1, "the one that had to go");
        assert_eq!(store.snapshot(key(0)).await.unwrap().map(|kept| kept.seq), Some(150));
        // Not each time: loaded again, it has nothing new.
        cache.with(LUNCH, key(0).context.as_deref(), |_| ()).await.unwrap();
        cache.with(LUNCH, key(1).context.as_deref(), |_| ()).await.unwrap();
        cache.with(LUNCH, key(2).context.as_deref(), |_| ()).await.unwrap();
        cache.put_aside().await.unwrap();
        assert_eq!(store.snapshot(key(0)).await.unwrap().map(|kept| kept.seq), Some(150));
        // 50 were there, 206 come: one less than it takes, then one more.
        store.append((0..206).map(|i| choice("person 2", format!("more-{i}"))).collect()).await.unwrap();
        let fresh: Contexts = Contexts::new(Arc::clone(&store), CacheLimits::default()).await.unwrap();
        fresh.with(LUNCH, key(2).context.as_deref(), |fold| assert_eq!(fold.tail(), 206)).await.unwrap();
        assert_eq!(fresh.put_aside().await.unwrap(), 0);
        store.append((0..51).map(|i| choice("person 2", format!("yet-{i}"))).collect()).await.unwrap();
        fresh.follow(0).await.unwrap();
        assert_eq!(fresh.put_aside().await.unwrap(), 1, "a tail of 257");
        let kept = store.snapshot(key(2)).await.unwrap().unwrap();
        assert_eq!(kept, Snapshot::of(&fold(&*store, LUNCH, key(2).context.as_deref()).await.unwrap()));
        // At the end, all that has something new.
        store.append(vec![choice("person 1", "last".into())]).await.unwrap();
        fresh.with(LUNCH, key(1).context.as_deref(), |_| ()).await.unwrap();
        assert_eq!(fresh.put_all_aside().await.unwrap(), 1);
    });
}

/// Where contexts come and go for every choice, not each of them costs a snapshot.
#[test]
fn a_short_tail_is_not_worth_a_snapshot() {
    run(async {
        for (choices, kept) in [(15, 0), (16, 2)] {
            let store: Arc<dyn Store> = Arc::new(Memory::new());
            fill(&*store, 3, choices).await;
            let cache: Contexts =
                Contexts::new(Arc::clone(&store), CacheLimits { contexts: 1, bytes: usize::MAX }).await.unwrap();
            for context in 0..3 {
                cache.with(LUNCH, Some(&format!("person {context}")), |_| ()).await.unwrap();
            }
            assert_eq!(cache.put_aside().await.unwrap(), kept, "{choices} choices");
        }
        // Of all of them together it is: what came since is looked for in the whole log.
        let store: Arc<dyn Store> = Arc::new(Memory::new());
        fill(&*store, 3, 5).await;
        let cache: Contexts = Contexts::new(Arc::clone(&store), CacheLimits { contexts: 1, bytes: usize::MAX }).await.unwrap();
        for context in [None, Some("person 0"), Some("person 1")] {
            cache.with(LUNCH, context, |_| ()).await.unwrap();
        }
        assert_eq!(cache.put_aside().await.unwrap(), 1);
        assert!(store.snapshot(SnapshotKey::new(LUNCH, None)).await.unwrap().is_some());
    });
}

/// However little may wait to be put aside: at the end everything is.
#[test]
fn at_the_end_all_of_them_are_put_aside() {
    run(async {
        let store: Arc<dyn Store> = Arc::new(Memory::new());
        let contexts: Vec<String> = (0..40).map(|number| format!("person {number}")).collect();
        let limits = CacheLimits { contexts: usize::MAX, bytes: 100_000 };
        let cache: Contexts = Contexts::new(Arc::clone(&store), limits).await.unwrap();
        for context in &contexts {
            cache.with(LUNCH, Some(context), |_| ()).await.unwrap();
        }
        fill(&*store, 40, 5).await;
        cache.follow(0).await.unwrap();
        assert_eq!(cache.used().contexts, 40, "all of them fit");
        assert_eq!(cache.put_all_aside().await.unwrap(), 40);
        for context in &contexts {
            let kept = store.snapshot(SnapshotKey::new(LUNCH, Some(context))).await.unwrap();
            assert!(kept.is_some(), "{context}");
        }
    });
}

/// Two servers load, follow, let go and put aside while others append, withdraw and erase: in the end both have what the log has, to the bit.
#[test]
fn they_miss_nothing_while_others_append() {
    let folder = std::env::temp_dir().join(format!("unloop-contexts-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let settings = SqliteSettings { synchronous: Synchronous::Off, at_once: true, ..SqliteSettings::default() };
    let store: Arc<dyn Store> = Arc::new(Sqlite::open_with(&folder.join("unloop.db"), settings).unwrap());
    let catalog = Change::Catalog { name: "lunch".into(), settings: "{}".into(), expected: Some(0) };
    run(store.change(catalog)).unwrap();
    let servers: Vec<Arc<Contexts>> = (0..2)
        .map(|_| {
            let limits = CacheLimits { contexts: 4, bytes: usize::MAX };
            Arc::new(run(Contexts::new(Arc::clone(&store), limits)).unwrap())
        })
        .collect();
    let (over, compared) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let name = |number: u32| (number > 0).then(|| format!("person {number}"));
    let users: Vec<_> = (0..4_usize)
        .map(|who| {
            let (server, store) = (Arc::clone(&servers[who % 2]), Arc::clone(&store));
            let (over, compared) = (Arc::clone(&over), Arc::clone(&compared));
            std::thread::spawn(move || {
                let mut rng = ChaCha8Rng::seed_from_u64(who as u64);
                run(async {
                    while !over.load(Ordering::Relaxed) {
                        match rng.random_range(0..10) {
                            0 => server.clear(),
                            1 => drop(server.put_all_aside().await.unwrap()),
                            2 | 3 => drop(server.follow(0).await.unwrap()),
                            _ => {
                                let context = name(rng.random_range(0..6));
                                // Compared where nothing happened meanwhile: an erasure takes events away under whoever reads them.
                                let before = store.head().await.unwrap();
                                server.follow(before.seq).await.unwrap();
                                let found = server.with(LUNCH, context.as_deref(), |fold| fold.digest()).await.unwrap();
                                let whole = fold(&*store, LUNCH, context.as_deref()).await.unwrap().digest();
                                if store.head().await.unwrap() == before {
                                    assert_eq!(found, whole, "{context:?}");
                                    compared.fetch_add(1, Ordering::Relaxed);
                                }
                            }
                        }
                    }
                });
            })
        })
        .collect();
    let appenders: Vec<_> = (0..3_u64)
        .map(|who| {
            let store = Arc::clone(&store);
            // One of them tells the first server of what it appends, as a server does itself.
            let told = (who == 0).then(|| Arc::clone(&servers[0]));
            std::thread::spawn(move || {
                let mut rng = ChaCha8Rng::seed_from_u64(100 + who);
                run(async {
                    for i in 0..400 {
                        let context = name(rng.random_range(1..6)).unwrap();
                        std::thread::sleep(Duration::from_micros(rng.random_range(0..4_000)));
                        let entry = choice(&context, format!("{who}-{i}"));
                        let then = told.clone().map(offering);
                        store.append_then(entry, then.unwrap_or_else(|| Box::new(|_, _| ()))).await.unwrap();
                        if i % 9 == 4 {
                            let what = What::Withdrawal { of: Kind::Choice, id: format!("{who}-{}", i - 2) };
                            store.append(vec![Entry { catalog: LUNCH, context: None, what, time: 0 }]).await.unwrap();
                        }
                        if i % 80 == 79 {
                            store.erase(LUNCH, Some(context), 0).await.unwrap();
                        }
                    }
                });
            })
        })
        .collect();
    appenders.into_iter().for_each(|thread| thread.join().unwrap());
    over.store(true, Ordering::Relaxed);
    users.into_iter().for_each(|thread| thread.join().unwrap());
    assert!(compared.load(Ordering::Relaxed) > 50, "hardly anything was compared: {compared:?}");
    run(async {
        for server in &servers {
            server.follow(0).await.unwrap();
            for context in (0..6).map(name) {
                let whole = fold(&*store, LUNCH, context.as_deref()).await.unwrap().digest();
                assert_eq!(server.with(LUNCH, context.as_deref(), |fold| fold.digest()).await.unwrap(), whole, "{context:?}");
                assert_eq!(load(&*store, LUNCH, context.as_deref()).await.unwrap().digest(), whole, "{context:?}");
            }
        }
        assert!(unloop_store::verify(&*store, &mut |_, _| {}).await.unwrap().is_good());
    });
    drop((servers, store));
    let _ = std::fs::remove_dir_all(&folder);
}

/// Offers an entry to a cache once it is recorded.
fn offering(cache: Arc<Contexts>) -> Then {
    Box::new(move |answer, entry| {
        let Entry { catalog, context, what, time } = entry;
        if let (Appended::Recorded { seq }, What::Choice { id, body }) = (answer, what) {
            let event = Event { seq: *seq, catalog, context, kind: Kind::Choice, id, body: Some(body), time };
            cache.offer(event).unwrap();
        }
    })
}

/// Whoever appends has it taken in before it is answered, with every backend.
#[test]
fn what_is_appended_here_is_known_when_it_is_answered() {
    let folder = std::env::temp_dir().join(format!("unloop-then-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let sqlite = |name: &str, at_once| {
        Arc::new(Sqlite::open_with(&folder.join(name), SqliteSettings { at_once, ..SqliteSettings::default() }).unwrap())
    };
    let stores: [Arc<dyn Store>; 3] = [Arc::new(Memory::new()), sqlite("unloop.db", false), sqlite("at-once.db", true)];
    for store in stores {
        run(async {
            let cache: Arc<Contexts> = Arc::new(Contexts::new(Arc::clone(&store), CacheLimits::default()).await.unwrap());
            for number in 1..=5_u32 {
                let total = cache.with(LUNCH, Some("ada"), |fold| fold.statistics().total()).await.unwrap();
                assert_eq!(total, f64::from(number - 1));
                let entry = choice("ada", number.to_string());
                for _ in 0..2 {
                    // The same again is no other one.
                    store.append_then(entry.clone(), offering(Arc::clone(&cache))).await.unwrap();
                }
            }
            // What somebody else appended is read when it is time to; then it goes on.
            store.append(vec![choice("ada", "elsewhere".into())]).await.unwrap();
            let entry = choice("ada", "after it".into());
            store.append_then(entry, offering(Arc::clone(&cache))).await.unwrap();
            assert_eq!(cache.with(LUNCH, Some("ada"), |fold| fold.statistics().total()).await.unwrap(), 5.0);
            assert_eq!(cache.follow(0).await.unwrap(), 7);
            assert_eq!(cache.with(LUNCH, Some("ada"), |fold| fold.statistics().total()).await.unwrap(), 7.0);
        });
    }
    let _ = std::fs::remove_dir_all(&folder);
}

/// Whoever writes, the thread for many or somebody for one, what is done with answers is done in the order of the log.
#[test]
fn answers_are_told_in_the_order_of_the_log() {
    const TASKS: u64 = 6;
    const EACH: u64 = 500;
    let folder = std::env::temp_dir().join(format!("unloop-order-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let settings = SqliteSettings { synchronous: Synchronous::Off, at_once: true, ..SqliteSettings::default() };
    let store = Arc::new(Sqlite::open_with(&folder.join("unloop.db"), settings).unwrap());
    let told = Arc::new(Mutex::new(Vec::new()));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(3).build().unwrap();
    let tasks: Vec<_> = (0..TASKS)
        .map(|task| {
            let (store, told) = (Arc::clone(&store), Arc::clone(&told));
            runtime.spawn(async move {
                for i in 0..EACH {
                    let told = Arc::clone(&told);
                    let tell = Box::new(move |answer: &Appended, _| {
                        let Appended::Recorded { seq } = answer else { panic!("{answer:?}") };
                        told.lock().unwrap().push(*seq);
                    });
                    store.append_then(choice("ada", format!("{task}-{i}")), tell).await.unwrap();
                }
            })
        })
        .collect();
    runtime.block_on(async {
        for task in tasks {
            task.await.unwrap();
        }
    });
    let told = told.lock().unwrap();
    assert_eq!(*told, (1..=TASKS * EACH).collect::<Vec<_>>());
    drop(store);
    let _ = std::fs::remove_dir_all(&folder);
}

/// What was appended here is taken in without being read again, in order, whoever offers first.
#[test]
fn what_is_offered_is_taken_in_once_and_in_order() {
    run(async {
        let store: Arc<dyn Store> = Arc::new(Memory::new());
        let cache: Contexts = Contexts::new(Arc::clone(&store), CacheLimits::default()).await.unwrap();
        let total = async |cache: &Contexts| cache.with(LUNCH, None, |fold| fold.statistics().total()).await.unwrap();
        assert_eq!(total(&cache).await, 0.0);
        let entries: Vec<Entry> = (0..4).map(|i| choice("ada", format!("{i}"))).collect();
        store.append(entries).await.unwrap();
        let events = store.read(Selection { limit: 10, ..Selection::default() }).await.unwrap();
        assert_eq!(cache.offer(events[2].clone()).unwrap(), 0);
        assert_eq!(cache.offer(events[0].clone()).unwrap(), 1);
        assert_eq!(total(&cache).await, 1.0);
        assert_eq!(cache.offer(events[1].clone()).unwrap(), 3);
        assert_eq!(cache.offer(events[1].clone()).unwrap(), 3);
        assert_eq!(total(&cache).await, 3.0);
        // Somebody else's is read from the log.
        assert_eq!(cache.follow(0).await.unwrap(), 4);
        let digest = cache.with(LUNCH, Some("ada"), |fold| fold.digest()).await.unwrap();
        assert_eq!(digest, fold(&*store, LUNCH, Some("ada")).await.unwrap().digest());
        assert_eq!(cache.with(LUNCH, None, |fold| fold.digest()).await.unwrap(), digest);
    });
}
