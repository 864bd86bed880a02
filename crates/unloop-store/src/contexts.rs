//! Contexts in memory: a bounded cache of folds, or of what a service makes of them, which follows the log.
//!
//! Nothing here assumes that it is the only one that appends. Events are taken in from the log alone, in its order, and by a context only
//! above its own position; a context that is not here is loaded from its snapshot and what came after. What is used least goes first,
//! and is put aside before it does, unless so little came since the last time that it is read in no time.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lru::LruCache;

use crate::error::StoreError;
use crate::event::{Body, CatalogId, Event, Kind};
use crate::fold::{Applied, Fold};
use crate::replay::{catch_up, load};
use crate::{Selection, Snapshot, SnapshotKey, Store};

/// Events read at a time.
const PAGE: usize = 1_000;
/// Events taken in at a time, before others have their turn.
const TURN: usize = 32;
/// Events kept after they were taken in, and bytes of them: a context that was being loaded meanwhile has them from here.
const RECENT: usize = 1_024;
const RECENT_BYTES: usize = 1 << 20;
/// The part of its bytes that what had to go may take until it is put aside. What is more is not: the log has it all.
const ASIDE_PART: usize = 16;
/// Events since its last snapshot that a context has at least before it is put aside again: with more it takes too long to load.
pub const LEAST_TAIL: usize = 256;
/// Events since its last snapshot with which a context that has to go is put aside: fewer are read in no time when it comes back, and where contexts come and go for
/// each choice, to write a snapshot each time takes the disk from the choices.
const SHORT_TAIL: usize = 16;
/// Snapshots written at a time.
const TOGETHER: usize = 256;

/// What is kept of a context in memory.
pub trait Held: Send + 'static {
    /// From what was loaded.
    fn new(fold: Fold) -> Self;

    /// Takes an event in.
    ///
    /// # Errors
    /// If it cannot be counted.
    fn apply(&mut self, event: &Event) -> Result<Applied, StoreError>;

    /// The counts.
    fn fold(&self) -> &Fold;

    /// The counts, to be told that they were put aside.
    fn fold_mut(&mut self) -> &mut Fold;

    /// How much memory it takes, about.
    fn bytes(&self) -> usize;
}

impl Held for Fold {
    fn new(fold: Fold) -> Self {
        fold
    }

    fn apply(&mut self, event: &Event) -> Result<Applied, StoreError> {
        Fold::apply(self, event)
    }

    fn fold(&self) -> &Fold {
        self
    }

    fn fold_mut(&mut self) -> &mut Fold {
        self
    }

    fn bytes(&self) -> usize {
        self.heap_bytes()
    }
}

/// How much is kept in memory. The context in use is kept whatever its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheLimits {
    /// Contexts at most.
    pub contexts: usize,
    /// Bytes at most, about.
    pub bytes: usize,
}

impl Default for CacheLimits {
    fn default() -> Self {
        Self { contexts: usize::MAX, bytes: 1 << 30 }
    }
}

/// What is in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheUse {
    /// Contexts.
    pub contexts: usize,
    /// Bytes, about.
    pub bytes: usize,
}

/// A catalog, and a context of it or all (none).
type Place = (CatalogId, Option<String>);

/// Contexts in memory.
pub struct Contexts<H: Held = Fold> {
    store: Arc<dyn Store>,
    limits: CacheLimits,
    cache: Mutex<Cache<H>>,
    /// Held while events are taken in, and while a context joins: it misses none. Never while something is read.
    taken: Mutex<Taken>,
    /// The last erasure of each catalog that was taken in.
    erasures: Mutex<HashMap<CatalogId, u64>>,
    /// What somebody is loading already.
    loading: Mutex<HashMap<Place, Turn>>,
}

struct Cache<H> {
    slots: LruCache<Place, Slot<H>>,
    bytes: usize,
    /// Folds to be put aside. To make bytes of them takes long: nobody waits for that here.
    aside: HashMap<SnapshotKey, Fold>,
    aside_bytes: usize,
}

/// The part of the log that was taken in.
struct Taken {
    /// Its end.
    position: u64,
    /// Events that were appended here and are not taken in, by their positions.
    offered: BTreeMap<u64, Event>,
    /// The last of those that were, without holes; and their bytes, about.
    recent: VecDeque<Event>,
    recent_bytes: usize,
}

impl Taken {
    fn new(position: u64) -> Self {
        Self { position, offered: BTreeMap::new(), recent: VecDeque::new(), recent_bytes: 0 }
    }

    /// The next event was taken in.
    fn push(&mut self, event: Event) {
        self.position = event.seq;
        if event.kind == Kind::Erasure {
            // Nothing of what is gone is kept. What is being loaded reads the log.
            self.recent.clear();
            self.recent_bytes = 0;
        }
        self.recent_bytes += bytes_of(&event);
        self.recent.push_back(event);
        while self.recent.len() > RECENT || self.recent_bytes > RECENT_BYTES {
            let Some(oldest) = self.recent.pop_front() else { break };
            self.recent_bytes -= bytes_of(&oldest);
        }
    }

    /// Brings a fold of a place up to here; false where it takes more than is remembered.
    fn bring(&self, fold: &mut Fold, (catalog, context): &Place) -> Result<bool, StoreError> {
        if fold.position() >= self.position {
            return Ok(true);
        }
        let missing = (self.position - fold.position()) as usize;
        let Some(start) = self.recent.len().checked_sub(missing) else { return Ok(false) };
        let of_it = || self.recent.range(start..).filter(|event| event.catalog == *catalog);
        if of_it().any(|event| event.kind == Kind::Erasure) {
            return Ok(false);
        }
        for event in of_it().filter(|event| context.is_none() || event.context == *context) {
            fold.apply(event)?;
        }
        fold.advance(self.position);
        Ok(true)
    }
}

/// Bytes that an event takes, about.
fn bytes_of(event: &Event) -> usize {
    let names = |body: &Body| body.presented.iter().map(|name| 2 * size_of::<String>() + 2 * name.len()).sum::<usize>();
    size_of::<Event>() + event.body.as_ref().map_or(0, names)
}

struct Slot<H> {
    held: Arc<Mutex<H>>,
    /// As they were counted last.
    bytes: usize,
}

impl<H: Held> Contexts<H> {
    /// An empty cache over a store.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn new(store: Arc<dyn Store>, limits: CacheLimits) -> Result<Self, StoreError> {
        let taken = Mutex::new(Taken::new(store.head().await?.seq));
        let cache = Mutex::new(Cache { slots: LruCache::unbounded(), bytes: 0, aside: HashMap::new(), aside_bytes: 0 });
        Ok(Self { store, limits, cache, taken, erasures: Mutex::default(), loading: Mutex::new(HashMap::new()) })
    }

    /// Does something with a context, or with all (none); it is loaded if it is not here.
    ///
    /// # Errors
    /// If it cannot be loaded.
    pub async fn with<R>(
        &self,
        catalog: CatalogId,
        context: Option<&str>,
        work: impl FnOnce(&mut H) -> R,
    ) -> Result<R, StoreError> {
        let place = (catalog, context.map(str::to_owned));
        let held = match self.find(&place) {
            Some(held) => held,
            None => self.join(&place).await?,
        };
        let mut own = lock(&held);
        let result = work(&mut own);
        let bytes = own.bytes();
        drop(own);
        self.measure(&place, &held, bytes);
        drop(held);
        self.evict(&place);
        Ok(result)
    }

    /// Takes in what was appended since, at least up to a position if the log is that long. The position that was reached.
    ///
    /// # Errors
    /// If the log cannot be read, or an event not be counted.
    pub async fn follow(&self, at_least: u64) -> Result<u64, StoreError> {
        loop {
            let after = lock(&self.taken).position;
            // Somebody else did it already.
            if at_least > 0 && after >= at_least {
                return Ok(after);
            }
            let events = self.store.read(Selection { after, limit: PAGE, ..Selection::default() }).await?;
            let is_end = events.len() < PAGE;
            let mut events = events.into_iter().peekable();
            while events.peek().is_some() {
                let mut taken = lock(&self.taken);
                for event in events.by_ref().take(TURN) {
                    // Some may have been offered meanwhile.
                    if event.seq > taken.position {
                        self.take_in(&event)?;
                        taken.push(event);
                    }
                }
            }
            if is_end {
                return self.take_offered(&mut lock(&self.taken));
            }
        }
    }

    /// Takes in an event that was appended here, without reading it again, if everything before it was; else it waits for that. The position
    /// that was reached.
    ///
    /// # Errors
    /// If it cannot be counted.
    pub fn offer(&self, event: Event) -> Result<u64, StoreError> {
        let mut taken = lock(&self.taken);
        // More wait only if somebody else appends much: then the log is read.
        if event.seq > taken.position && taken.offered.len() < PAGE {
            taken.offered.insert(event.seq, event);
        }
        self.take_offered(&mut taken)
    }

    /// Takes in what was offered, as far as nothing before it is missing.
    fn take_offered(&self, taken: &mut Taken) -> Result<u64, StoreError> {
        while let Some(first) = taken.offered.first_entry() {
            if *first.key() > taken.position + 1 {
                break;
            }
            let event = first.remove();
            if event.seq > taken.position {
                self.take_in(&event)?;
                taken.push(event);
            }
        }
        Ok(taken.position)
    }

    /// Writes what is to be put aside: contexts with a long tail, and those that had to go.
    ///
    /// # Errors
    /// If it cannot be written. Nothing is lost then but time: the log has it all.
    pub async fn put_aside(&self) -> Result<usize, StoreError> {
        let all = self.to_be_put_aside();
        let count = all.len();
        for together in all.chunks(TOGETHER) {
            let snapshots = together.iter().map(|(key, fold)| (key.clone(), Snapshot::of(fold))).collect();
            self.store.put_snapshots(snapshots).await?;
        }
        Ok(count)
    }

    /// What [`put_aside`](Self::put_aside) would write, for whoever has a thread to make bytes of it: of many presentations that takes long.
    pub fn to_be_put_aside(&self) -> Vec<(SnapshotKey, Fold)> {
        let mut cache = lock(&self.cache);
        cache.aside_bytes = 0;
        cache.aside.drain().collect()
    }

    /// Puts everything aside that is not yet: at the end.
    ///
    /// # Errors
    /// As [`put_aside`](Self::put_aside).
    pub async fn put_all_aside(&self) -> Result<usize, StoreError> {
        let held: Vec<(Place, Arc<Mutex<H>>)> =
            lock(&self.cache).slots.iter().map(|(place, slot)| (place.clone(), Arc::clone(&slot.held))).collect();
        let mut count = 0;
        for (place, held) in held {
            if !self.keep(&place, &held, 1) {
                count += self.put_aside().await?;
                self.keep(&place, &held, 1);
            }
        }
        Ok(count + self.put_aside().await?)
    }

    /// Lets everything go, as if it had not been used for long.
    pub fn clear(&self) {
        let gone: Vec<(Place, Slot<H>)> = {
            let mut cache = lock(&self.cache);
            cache.bytes = 0;
            std::iter::from_fn(|| cache.slots.pop_lru()).collect()
        };
        for (place, slot) in gone {
            self.keep(&place, &slot.held, 1);
        }
    }

    /// The position of the last erasure in a catalog that was taken in since the beginning; 0 if there was none. What was computed before it may
    /// hold what is gone.
    pub fn erased(&self, catalog: CatalogId) -> u64 {
        lock(&self.erasures).get(&catalog).copied().unwrap_or(0)
    }

    /// How much is in memory.
    pub fn used(&self) -> CacheUse {
        let cache = lock(&self.cache);
        CacheUse { contexts: cache.slots.len(), bytes: cache.bytes }
    }

    fn find(&self, place: &Place) -> Option<Arc<Mutex<H>>> {
        lock(&self.cache).slots.get(place).map(|slot| Arc::clone(&slot.held))
    }

    /// Loads a context, once for all who wait for it.
    async fn join(&self, place: &Place) -> Result<Arc<Mutex<H>>, StoreError> {
        let turn = Arc::clone(lock(&self.loading).entry(place.clone()).or_default());
        // Whoever asks may go away in the middle.
        let _left = Left { loading: &self.loading, place, turn: &turn };
        let _mine = turn.lock().await;
        match self.find(place) {
            Some(held) => Ok(held),
            None => self.load(place).await,
        }
    }

    async fn load(&self, place: &Place) -> Result<Arc<Mutex<H>>, StoreError> {
        let (catalog, context) = place;
        let mut fold = load(&*self.store, *catalog, context.as_deref()).await?;
        let (held, distinct) = loop {
            {
                let taken = lock(&self.taken);
                // What came meanwhile, and others have taken in already.
                if taken.bring(&mut fold, place)? {
                    let held = H::new(fold);
                    let (bytes, distinct) = (held.bytes(), held.fold().statistics().distinct());
                    let held = Arc::new(Mutex::new(held));
                    let mut cache = lock(&self.cache);
                    cache.bytes += bytes;
                    let before = cache.slots.put(place.clone(), Slot { held: Arc::clone(&held), bytes });
                    cache.bytes -= before.map_or(0, |slot| slot.bytes);
                    break (held, distinct);
                }
            }
            catch_up(&*self.store, *catalog, context.as_deref(), &mut fold).await?;
        };
        // What took long to load, such as after an import, is loaded from a snapshot the next time.
        self.keep(place, &held, tail_bound(distinct));
        Ok(held)
    }

    fn take_in(&self, event: &Event) -> Result<(), StoreError> {
        if event.kind == Kind::Erasure {
            lock(&self.erasures).insert(event.catalog, event.seq);
            // Whatever was loaded before may hold what was erased.
            let mut cache = lock(&self.cache);
            let of_it: Vec<Place> = cache
                .slots
                .iter()
                .filter(|((catalog, _), _)| *catalog == event.catalog)
                .map(|(place, _)| place.clone())
                .collect();
            let gone: Vec<Slot<H>> = of_it.iter().filter_map(|place| cache.slots.pop(place)).collect();
            cache.bytes -= gone.iter().map(|slot| slot.bytes).sum::<usize>();
            cache.aside.retain(|key, _| key.catalog != event.catalog);
            // Thousands of them take a while to be dropped.
            drop(cache);
            return Ok(());
        }
        let own = event.context.clone().map(|context| (event.catalog, Some(context)));
        for place in own.into_iter().chain([(event.catalog, None)]) {
            // Without making it the one used last: nobody asked for it.
            let Some(held) = lock(&self.cache).slots.peek(&place).map(|slot| Arc::clone(&slot.held)) else { continue };
            let mut inside = lock(&held);
            inside.apply(event)?;
            let (bytes, distinct) = (inside.bytes(), inside.fold().statistics().distinct());
            drop(inside);
            self.measure(&place, &held, bytes);
            self.keep(&place, &held, tail_bound(distinct));
        }
        Ok(())
    }

    /// Has a context put aside if its tail is so long. False if there is no room for it before others are.
    fn keep(&self, place: &Place, held: &Mutex<H>, tail: usize) -> bool {
        let mut own = lock(held);
        if own.fold().tail() >= tail {
            let bytes = own.fold().heap_bytes();
            let aside = lock(&self.cache).aside_bytes;
            // One of any size, so that the largest is ever put aside.
            if aside > 0 && aside + bytes > self.limits.bytes / ASIDE_PART {
                return false;
            }
            let fold = own.fold().clone();
            let mut cache = lock(&self.cache);
            cache.aside_bytes += bytes;
            cache.aside.insert(SnapshotKey::new(place.0, place.1.as_deref()), fold);
            own.fold_mut().was_put_aside();
        }
        true
    }

    fn measure(&self, place: &Place, held: &Arc<Mutex<H>>, bytes: usize) {
        let mut cache = lock(&self.cache);
        let Some(slot) = cache.slots.peek_mut(place).filter(|slot| Arc::ptr_eq(&slot.held, held)) else { return };
        let before = std::mem::replace(&mut slot.bytes, bytes);
        cache.bytes = cache.bytes - before + bytes;
    }

    /// Lets go of what is used least, until it fits; never of what is in use, or of one place.
    fn evict(&self, used: &Place) {
        let mut gone = Vec::new();
        {
            let mut cache = lock(&self.cache);
            for _ in 0..cache.slots.len() {
                if cache.slots.len() <= self.limits.contexts && cache.bytes <= self.limits.bytes {
                    break;
                }
                let Some((place, slot)) = cache.slots.pop_lru() else { break };
                if place == *used || Arc::strong_count(&slot.held) > 1 {
                    cache.slots.put(place, slot);
                } else {
                    cache.bytes -= slot.bytes;
                    gone.push((place, slot));
                }
            }
        }
        for (place, slot) in gone {
            // Of all contexts of a catalog the tail is looked for in the whole log.
            self.keep(&place, &slot.held, if place.1.is_some() { SHORT_TAIL } else { 1 });
        }
    }
}

/// A turn to load something.
type Turn = Arc<tokio::sync::Mutex<()>>;

/// Takes a place out of those that are being loaded, however that ends, by the last one who waited for it.
struct Left<'a> {
    loading: &'a Mutex<HashMap<Place, Turn>>,
    place: &'a Place,
    turn: &'a Turn,
}

impl Drop for Left<'_> {
    fn drop(&mut self) {
        let mut loading = lock(self.loading);
        // The one in the table, and this one's own.
        if loading.get(self.place).is_some_and(|turn| Arc::ptr_eq(turn, self.turn) && Arc::strong_count(turn) == 2) {
            loading.remove(self.place);
        }
    }
}

/// The tail with which a context of so many distinct presentations is put aside.
fn tail_bound(distinct: usize) -> usize {
    LEAST_TAIL.max(distinct / 4) + 1
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What panicked while it held this has told so; counts change in one step.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
