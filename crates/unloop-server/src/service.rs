//! What all requests share: the store, contexts, settings, secrets; and what goes on beside the requests.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use unloop_store::{
    Appended, CacheLimits, CatalogId, Contexts, Entry, Event, Fold, Kind as EventKind, Note, Snapshot, SnapshotKey, Store,
    StoreError, What,
};

use crate::beside::compute;
use crate::catalog::Registry;
use crate::context::Loaded;
use crate::dashboard::Dashboard;
use crate::lock::lock;
use crate::metrics::Metrics;
use crate::now;
use crate::problem::{Kind, Problem};
use crate::rankings::Rankings;
use crate::secret::{Keyring, LEEWAY, Secrets};
use crate::tails::Imported;
use crate::trends::Trends;

/// How often the end of the log and the settings' revision are looked at.
const TICK: Duration = Duration::from_millis(100);
/// How often the file of secrets is, and snapshots are written.
const SECOND: Duration = Duration::from_secs(1);
/// How often trends are written.
const MINUTE: Duration = Duration::from_mins(1);
/// How long the end waits for what is believed, to note it with the last trends.
const LAST_TRENDS: Duration = Duration::from_millis(500);
/// How often old notes are deleted.
const HOUR: Duration = Duration::from_hours(1);
/// Snapshots written at a time: choices wait for what is written before them.
pub(crate) const SNAPSHOTS: usize = 64;
/// How long one waits for others before the log is read.
const OFFERED: Duration = Duration::from_millis(1);
/// How long an answer waits until what was recorded is taken in.
const TAKEN_IN: Duration = Duration::from_secs(2);
/// So long after the last time there was no space, in milliseconds, it is ready to be tried again.
const FULL_FOR: i64 = 5_000;
/// The part of the memory that rankings may have, and that the pages of a database may, up to so many bytes.
const RANKINGS_PART: usize = 16;
const PAGES_PART: usize = 8;
const MOST_PAGES: usize = 8 << 20;
/// The part that is left to what is being computed, up to so many bytes: a ranking of 300 options takes 40 MB while it is made.
const WORK_PART: usize = 3;
const MOST_WORK: usize = 128 << 20;
/// What the heap takes for a byte that contexts ask for, where some go and others of other sizes come
/// (`cargo bench -p unloop-cli --bench service -- soak=600`).
const HEAP: f64 = 1.5;

/// Everything shared.
pub(crate) type Shared = Arc<Service>;

/// How a server is set up.
#[derive(Clone, Debug)]
pub struct ServerSettings {
    /// Whether only this machine reaches it.
    pub loopback: bool,
    /// Names other than addresses that it goes by.
    pub allow_hosts: Vec<String>,
    /// Pages that may make the choice call.
    pub allow_origins: Vec<String>,
    /// A request is answered within this time. One that writes its choice itself is not cut off while the disk is at it.
    pub request_limit: Duration,
    /// Connections at a time.
    pub connections: usize,
    /// Bytes above those of an idle server: for contexts, rankings, and what is being computed.
    pub cache_bytes: usize,
    /// Seed of all draws; unpredictable if none.
    pub seed: Option<u64>,
    /// How far clocks of several servers may be apart: an expired presentation is still answered so long.
    pub leeway: Duration,
}

impl Default for ServerSettings {
    fn default() -> Self {
        Self {
            loopback: true,
            allow_hosts: Vec::new(),
            allow_origins: Vec::new(),
            request_limit: Duration::from_secs(10),
            connections: 4_096,
            cache_bytes: 1 << 30,
            seed: None,
            leeway: Duration::from_secs(LEEWAY.unsigned_abs()),
        }
    }
}

impl ServerSettings {
    /// As they are for an address.
    #[must_use]
    pub fn on(mut self, address: SocketAddr) -> Self {
        self.loopback = address.ip().is_loopback();
        self
    }

    /// With a part of the cache given to the pages of a database; and how many bytes that is.
    #[must_use]
    pub fn with_pages(mut self) -> (Self, usize) {
        let pages = (self.cache_bytes / PAGES_PART).min(MOST_PAGES);
        self.cache_bytes -= pages;
        (self, pages)
    }

    /// Whether a presentation can no longer be answered.
    pub(crate) fn is_over(&self, expires: i64) -> bool {
        now() > expires.saturating_add(i64::try_from(self.leeway.as_millis()).unwrap_or(i64::MAX))
    }

    /// Whether it was told that it goes by a name.
    pub(crate) fn is_allowed_host(&self, name: &str) -> bool {
        self.allow_hosts.iter().any(|own| own.eq_ignore_ascii_case(name))
    }
}

/// The service over a store.
pub struct Service {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) settings: ServerSettings,
    pub(crate) contexts: Contexts<Loaded>,
    pub(crate) registry: Registry,
    pub(crate) keyring: Keyring,
    pub(crate) rankings: Rankings,
    pub(crate) metrics: Metrics,
    pub(crate) trends: Trends,
    pub(crate) health: Health,
    pub(crate) dashboard: Dashboard,
    pub(crate) imported: Imported,
    /// Who sets a catalog with its options does both before the next one does.
    pub(crate) setting: tokio::sync::Mutex<()>,
    seed: u64,
    /// Notes of presentations, to be sent together: each would wake the writer up.
    notes: Mutex<Vec<Note>>,
    /// Up to where the log was taken in.
    position: watch::Sender<u64>,
    /// Wakes whoever takes it in.
    behind: Notify,
    /// Set when it is time to end.
    stopping: watch::Sender<bool>,
}

/// Whether it can do its work.
#[derive(Default)]
pub(crate) struct Health {
    broken: AtomicBool,
    /// When there was no space last.
    full: AtomicI64,
    /// Whether the log cannot be taken in.
    deaf: AtomicBool,
    /// Whether it is about to end.
    draining: AtomicBool,
}

impl Health {
    /// Why it is not ready; none if it is.
    pub(crate) fn problem(&self) -> Option<Problem> {
        if self.broken.load(Ordering::Relaxed) {
            return Some(Problem::new(Kind::Broken, "a write failed: nothing is recorded until a restart"));
        }
        if now() - self.full.load(Ordering::Relaxed) < FULL_FOR {
            return Some(Problem::new(Kind::Full, "there is no space left on the disk"));
        }
        if self.is_draining() {
            return Some(Problem::new(Kind::Busy, "the server is stopping"));
        }
        if self.deaf.load(Ordering::Relaxed) {
            return Some(Problem::new(Kind::Busy, "the log cannot be read"));
        }
        None
    }

    /// It is about to end: every answer is the last one of its connection.
    pub(crate) fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    fn note(&self, error: &StoreError) {
        match error {
            StoreError::Full => self.full.store(now(), Ordering::Relaxed),
            StoreError::Broken { .. } => self.broken.store(true, Ordering::Relaxed),
            StoreError::Closed if !self.is_draining() => self.broken.store(true, Ordering::Relaxed),
            _ => {}
        }
    }
}

impl Service {
    /// A service; the file of secrets, if there is one, is looked at again and again.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn new(
        store: Arc<dyn Store>,
        secrets: Secrets,
        secret_file: Option<PathBuf>,
        settings: ServerSettings,
    ) -> Result<Arc<Self>, StoreError> {
        let rankings = settings.cache_bytes / RANKINGS_PART;
        let work = (settings.cache_bytes / WORK_PART).min(MOST_WORK);
        let contexts = (settings.cache_bytes - rankings - work) as f64 / HEAP;
        let limits = CacheLimits { bytes: contexts as usize, ..CacheLimits::default() };
        let contexts = Contexts::new(Arc::clone(&store), limits).await?;
        let registry = Registry::new(Arc::clone(&store)).await?;
        let position = watch::Sender::new(store.head().await?.seq);
        let random = || {
            getrandom::u64().map_err(|error| StoreError::Database { file: "random numbers".into(), problem: error.to_string() })
        };
        let seed = match settings.seed {
            Some(seed) => seed,
            None => random()?,
        };
        Ok(Arc::new(Self {
            contexts,
            registry,
            keyring: Keyring::new(secrets, secret_file),
            rankings: Rankings::new(rankings),
            metrics: Metrics::default(),
            trends: Trends::default(),
            health: Health::default(),
            dashboard: Dashboard::default(),
            imported: Imported::default(),
            setting: tokio::sync::Mutex::default(),
            seed,
            notes: Mutex::default(),
            position,
            behind: Notify::new(),
            stopping: watch::Sender::new(false),
            settings,
            store,
        }))
    }

    /// The seed of a context's draws.
    pub(crate) fn seed_of(&self, catalog: CatalogId, context: Option<&str>) -> u64 {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.seed.to_le_bytes()).update(&catalog.0.to_le_bytes()).update(context.unwrap_or_default().as_bytes());
        let mut bytes = [0; 8];
        hasher.finalize_xof().fill(&mut bytes);
        u64::from_le_bytes(bytes)
    }

    /// Appends, and takes in what was appended before it answers.
    pub(crate) async fn append(&self, entries: Vec<Entry>) -> Result<Vec<Appended>, Problem> {
        let start = std::time::Instant::now();
        let answers = self.store.append(entries).await.map_err(|error| self.failed(error))?;
        self.metrics.appended(start.elapsed());
        let recorded = |answer: &Appended| if let Appended::Recorded { seq } = answer { Some(*seq) } else { None };
        if let Some(last) = answers.iter().filter_map(recorded).max() {
            self.taken_in(last).await;
        }
        Ok(answers)
    }

    /// Appends a choice, and has it taken in without reading it again: by whoever writes, so that each request is woken up once.
    pub(crate) async fn append_choice(self: &Shared, entry: Entry) -> Result<Appended, Problem> {
        let start = std::time::Instant::now();
        // Who writes does not keep the service: it would have to end itself.
        let service = Arc::downgrade(self);
        let take_in = Box::new(move |answer: &Appended, entry: Entry| {
            let Entry { catalog, context, what, time } = entry;
            if let (Appended::Recorded { seq }, What::Choice { id, body }, Some(service)) = (answer, what, service.upgrade()) {
                service.offer(Event { seq: *seq, catalog, context, kind: EventKind::Choice, id, body: Some(body), time });
            }
        });
        let answer = self.store.append_then(entry, take_in).await.map_err(|error| self.failed(error))?;
        self.metrics.appended(start.elapsed());
        if let Appended::Recorded { seq } = answer {
            self.taken_in(seq).await;
        }
        Ok(answer)
    }

    /// Takes in what was appended here.
    fn offer(&self, event: Event) {
        match self.contexts.offer(event) {
            Ok(position) => self.reached(position),
            Err(error) => tracing::error!(%error, "a choice could not be taken in"),
        }
    }

    /// The log was taken in up to here.
    fn reached(&self, position: u64) {
        self.position.send_if_modified(|own| position > std::mem::replace(own, position.max(*own)));
    }

    /// Waits until what was recorded is taken in. What takes too long is recorded all the same.
    async fn taken_in(&self, seq: u64) {
        if self.position() >= seq {
            return;
        }
        if tokio::time::timeout(TAKEN_IN, self.reach(seq)).await.is_err() {
            tracing::warn!("the log is taken in too slowly: answers may not know of the last choices");
        }
    }

    /// An error of the store, noted for readiness.
    pub(crate) fn failed(&self, error: StoreError) -> Problem {
        self.health.note(&error);
        error.into()
    }

    /// Waits until the log is taken in up to a position. Whether it is that long.
    pub(crate) async fn reach(&self, seq: u64) -> bool {
        let mut position = self.position.subscribe();
        if *position.borrow_and_update() >= seq {
            return true;
        }
        // Others of the same flush are about to offer theirs.
        if let Ok(reached) = tokio::time::timeout(OFFERED, position.wait_for(|&position| position >= seq)).await {
            return reached.is_ok();
        }
        self.behind.notify_one();
        position.wait_for(|&position| position >= seq).await.is_ok()
    }

    /// Waits until what a caller has seen elsewhere is taken in.
    pub(crate) async fn at_least(&self, seq: Option<u64>) -> Result<(), Problem> {
        let Some(seq) = seq.filter(|&seq| seq > *self.position.borrow()) else { return Ok(()) };
        let head = self.store.head().await?;
        if seq > head.seq {
            return Err(Problem::invalid("at_least", format!("the log ends at position {}", head.seq)));
        }
        self.reach(seq).await;
        Ok(())
    }

    /// Notes something, with the next of them.
    pub(crate) fn note(&self, note: Note) {
        lock(&self.notes).push(note);
    }

    pub(crate) fn send_notes(&self) {
        let notes = std::mem::take(&mut *lock(&self.notes));
        if !notes.is_empty() {
            self.store.note(notes);
        }
    }

    /// Drops what is to be noted, where nobody writes it down.
    pub(crate) fn forget_notes(&self) {
        lock(&self.notes).clear();
    }

    /// Up to where the log was taken in.
    pub(crate) fn position(&self) -> u64 {
        *self.position.borrow()
    }

    /// Tells that it is time to end.
    pub(crate) fn stop(&self) {
        self.stopping.send_replace(true);
    }

    pub(crate) async fn stopped(&self) {
        // It is never dropped before all who wait for it.
        let _ = self.stopping.subscribe().wait_for(|&stopping| stopping).await;
    }

    pub(crate) fn is_stopping(&self) -> bool {
        *self.stopping.borrow()
    }

    /// Starts what goes on beside the requests. The log is taken in by a thread of its own: a page of it may take milliseconds.
    ///
    /// # Errors
    /// If there can be no such thread.
    pub fn start(self: &Arc<Self>) -> std::io::Result<Background> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
        let service = Arc::clone(self);
        let follower =
            std::thread::Builder::new().name("unloop-follow".into()).spawn(move || runtime.block_on(service.follow()))?;
        let service = Arc::clone(self);
        let keeper = tokio::spawn(async move { service.keep().await });
        let service = Arc::clone(self);
        let tails = tokio::spawn(async move { service.keep_imported_aside().await });
        Ok(Background { service: Arc::clone(self), follower, keeper, tails })
    }

    async fn follow(&self) {
        let mut noted = tokio::time::Instant::now();
        while !self.is_stopping() {
            if noted.elapsed() >= TICK {
                noted = tokio::time::Instant::now();
                self.send_notes();
            }
            let news = tokio::time::timeout(TICK, self.behind.notified()).await;
            let followed = self.contexts.follow(0).await;
            match followed {
                Ok(position) => {
                    self.health.deaf.store(false, Ordering::Relaxed);
                    self.reached(position);
                }
                Err(error) => {
                    if !self.health.deaf.swap(true, Ordering::Relaxed) {
                        tracing::error!(%error, "the log cannot be taken in");
                    }
                    tokio::time::sleep(TICK).await;
                }
            }
            // Nothing was asked for: time to look after the settings.
            if news.is_err()
                && let Ok(head) = self.store.head().await
                && let Err(error) = self.registry.refresh(head.revision).await
            {
                tracing::error!(%error, "settings cannot be read");
            }
        }
    }

    /// Puts folds aside. Bytes are made of them beside the threads that answer.
    pub(crate) async fn put_aside(&self, mut folds: Vec<(SnapshotKey, Fold)>) -> Result<(), StoreError> {
        while !folds.is_empty() {
            let rest = folds.split_off(folds.len().min(SNAPSHOTS));
            let encode = move || folds.into_iter().map(|(key, fold)| (key, Snapshot::of(&fold))).collect::<Vec<_>>();
            if let Ok(snapshots) = compute(encode).await {
                self.store.put_snapshots(snapshots).await?;
            }
            folds = rest;
        }
        Ok(())
    }

    /// Secrets, snapshots, trends, pruning.
    async fn keep(self: &Arc<Self>) {
        let mut second = tokio::time::interval(SECOND / 2);
        let (mut trends, mut pruned) = (tokio::time::Instant::now(), tokio::time::Instant::now() - HOUR);
        let mut told = false;
        loop {
            tokio::select! {
                _ = second.tick() => {}
                () = self.stopped() => return,
            }
            match self.keyring.refresh() {
                Ok(()) => told = false,
                Err(error) if !told => {
                    tracing::warn!(%error, "the secrets in use stay");
                    told = true;
                }
                Err(_) => {}
            }
            // Under a steady stream of choices nobody else does.
            if let Ok(head) = self.store.head().await
                && let Err(error) = self.registry.refresh(head.revision).await
            {
                tracing::error!(%error, "settings cannot be read");
            }
            if let Err(error) = self.put_aside(self.contexts.to_be_put_aside()).await {
                self.health.note(&error);
                tracing::warn!(%error, "snapshots were not written");
            }
            if trends.elapsed() >= MINUTE {
                trends = tokio::time::Instant::now();
                tokio::select! {
                    () = self.write_trends(self.settings.request_limit) => {}
                    () = self.stopped() => {}
                }
                self.dashboard.sweep();
            }
            if pruned.elapsed() >= HOUR {
                pruned = tokio::time::Instant::now();
                if let Err(error) = self.store.prune(now()).await {
                    tracing::warn!(%error, "old notes were not deleted");
                }
            }
        }
    }
}

/// What goes on beside the requests.
#[must_use = "it is to be ended"]
pub struct Background {
    service: Arc<Service>,
    follower: std::thread::JoinHandle<()>,
    keeper: tokio::task::JoinHandle<()>,
    tails: tokio::task::JoinHandle<()>,
}

impl Background {
    /// Ends it, and puts aside what is not yet.
    pub async fn end(self) {
        let Self { service, follower, keeper, tails } = self;
        service.stop();
        service.behind.notify_one();
        let _ = keeper.await;
        let _ = tails.await;
        let _ = tokio::task::spawn_blocking(move || follower.join()).await;
        service.send_notes();
        service.write_trends(LAST_TRENDS).await;
        service.put_last_aside().await;
        if let Err(error) = service.contexts.put_all_aside().await {
            tracing::warn!(%error, "snapshots were not written: the log has it all");
        }
    }
}
