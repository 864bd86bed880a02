//! Random interleavings of everything that happens to a log, with a small model as the judge.
//!
//! `cargo test -p unloop-store --test interleavings [-- --cases N] [--seed S]`; 500 cases by default. In each, two servers over one store append,
//! withdraw, erase, evict, put aside, follow the log and are restarted, in an order that the seed decides, on a database file and in memory. Every answer
//! and all counts must be those of the model, to the bit.
#![allow(missing_docs, clippy::print_stdout)]

mod model;
mod repeated;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use model::{CONTEXTS, LUNCH, MENU, Model};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use repeated::report;
use unloop_store::{
    Body, CacheLimits, Change, Contexts, Entry, Kind, Memory, Outcome, Sqlite, SqliteSettings, Store, Synchronous, What, fold,
    load,
};

fn main() -> ExitCode {
    report("--cases", 500, &[("interleavings", interleave)])
}

fn interleave(cases: u64, seed: u64) {
    let folder = std::env::temp_dir().join(format!("unloop-interleavings-{}", std::process::id()));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().expect("a runtime");
    let mut steps = 0;
    for case in 0..cases {
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("a folder");
        let rng = ChaCha8Rng::seed_from_u64(seed.wrapping_mul(1_000_003) + case);
        let file = (case % 4 != 3).then(|| folder.join("unloop.db"));
        steps += runtime.block_on(Case { rng, file, number: case }.run());
    }
    let _ = std::fs::remove_dir_all(&folder);
    println!("{cases} interleavings of {steps} steps, as the model says");
}

struct Case {
    rng: ChaCha8Rng,
    /// In memory if none.
    file: Option<PathBuf>,
    number: u64,
}

struct World {
    store: Arc<dyn Store>,
    servers: Vec<Contexts>,
}

impl Case {
    fn open(&self) -> Arc<dyn Store> {
        // What reaches the disk is for other tests. The write-ahead log is copied all the time, beside what is written.
        let at_once = self.number.is_multiple_of(2);
        let settings =
            SqliteSettings { synchronous: Synchronous::Off, log_frames: Some(16), at_once, ..SqliteSettings::default() };
        match &self.file {
            Some(file) => Arc::new(Sqlite::open_with(file, settings).expect("opened")),
            None => Arc::new(Memory::new()),
        }
    }

    async fn serve(&mut self, store: Arc<dyn Store>) -> World {
        let mut servers = Vec::new();
        for _ in 0..2 {
            // From room for all to room for next to nothing.
            let limits = CacheLimits { contexts: self.rng.random_range(1..6), bytes: self.rng.random_range(1..20_000) };
            servers.push(Contexts::new(Arc::clone(&store), limits).await.expect("a head"));
        }
        World { store, servers }
    }

    async fn run(mut self) -> usize {
        let store = self.open();
        let catalog = Change::Catalog { name: "lunch".into(), settings: "{}".into(), expected: Some(0) };
        store.change(catalog).await.expect("a catalog");
        let mut world = self.serve(store).await;
        let mut model = Model::default();
        let steps = self.rng.random_range(10..60);
        for step in 0..steps {
            let which = self.rng.random_range(0..2);
            let server = &world.servers[which];
            match self.rng.random_range(0..100) {
                0..55 => {
                    let entries: Vec<Entry> = (0..self.rng.random_range(1..5)).map(|_| self.entry()).collect();
                    let expected: Vec<_> = entries.iter().map(|entry| model.append(entry)).collect();
                    let answers = world.store.append(entries).await.expect("appended");
                    assert_eq!(answers, expected, "case {}, step {step}", self.number);
                    if self.rng.random_range(0..3) > 0 {
                        // Who acknowledged a choice sees it at once.
                        assert_eq!(server.follow(model.seq()).await.expect("followed"), model.seq());
                        let context = self.context();
                        self.compare(&world, which, &model, context.as_deref(), step).await;
                    }
                }
                55..60 => {
                    let context = CONTEXTS[self.rng.random_range(0..CONTEXTS.len())];
                    let erased = world.store.erase(LUNCH, Some(context.into()), 0).await.expect("erased");
                    assert_eq!(erased.seq, model.erase(context), "case {}, step {step}", self.number);
                }
                60..75 => drop(server.follow(0).await.expect("followed")),
                75..82 => server.clear(),
                82..90 => drop(server.put_all_aside().await.expect("put aside")),
                90..94 => {
                    // Loaded while others append, used without following.
                    let context = self.context();
                    server.with(LUNCH, context.as_deref(), |_| ()).await.expect("loaded");
                }
                _ if self.file.is_some() => {
                    drop(world);
                    let store = self.open();
                    world = self.serve(store).await;
                }
                _ => {}
            }
        }
        for which in 0..2 {
            world.servers[which].follow(0).await.expect("followed");
            for context in CONTEXTS.map(Some).into_iter().chain([None]) {
                self.compare(&world, which, &model, context, steps).await;
            }
        }
        for context in CONTEXTS.map(Some).into_iter().chain([None]) {
            let expected = model.counts(context);
            let folded = fold(&*world.store, LUNCH, context).await.expect("folded");
            assert_eq!(model::counts_of(&folded), expected, "case {}, {context:?}, folded", self.number);
            let loaded = load(&*world.store, LUNCH, context).await.expect("loaded");
            assert_eq!(model::counts_of(&loaded), expected, "case {}, {context:?}, loaded", self.number);
            assert_eq!(folded.digest(), loaded.digest(), "case {}, {context:?}", self.number);
        }
        let report = unloop_store::verify(&*world.store, &mut |_, _| {}).await.expect("verified");
        assert!(report.is_good(), "case {}: {report:?}", self.number);
        steps
    }

    async fn compare(&self, world: &World, which: usize, model: &Model, context: Option<&str>, step: usize) {
        let found = world.servers[which].with(LUNCH, context, |fold| model::counts_of(fold)).await.expect("loaded");
        assert_eq!(found, model.counts(context), "case {}, step {step}, server {which}, {context:?}", self.number);
    }

    fn context(&mut self) -> Option<String> {
        CONTEXTS.get(self.rng.random_range(0..=CONTEXTS.len())).map(|&name| name.to_owned())
    }

    fn entry(&mut self) -> Entry {
        let rng = &mut self.rng;
        let start = rng.random_range(0..MENU.len());
        let size = rng.random_range(1..=MENU.len());
        let presented: Vec<String> = MENU.iter().cycle().skip(start).take(size).map(|&name| name.to_owned()).collect();
        let some = presented[..rng.random_range(1..=size)].to_vec();
        let outcome = match rng.random_range(0..6) {
            0 => Outcome::Tied(some),
            1 => Outcome::None,
            2 => Outcome::Chosen(some),
            _ => Outcome::Chosen(vec![presented[rng.random_range(0..size)].clone()]),
        };
        let weight = [1.0, 1.0, 1.0, 0.5, 3.25][rng.random_range(0..5)];
        let body = Body { presented, declinable: rng.random_range(0..4) == 0, outcome, weight, source: None };
        // Few ids: some come again, with the same body or another.
        let id = format!("p{}", rng.random_range(0..60));
        let what = match rng.random_range(0..8) {
            0 => What::Withdrawal { of: Kind::Choice, id },
            1 => What::Withdrawal { of: Kind::Import, id },
            2 | 3 => What::Import { id, body },
            _ => What::Choice { id, body },
        };
        let context = if matches!(what, What::Withdrawal { .. }) { None } else { self.context() };
        Entry { catalog: LUNCH, context, what, time: 0 }
    }
}
