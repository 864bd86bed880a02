//! The log that never loses a choice.
//!
//! The log is the truth: [events](Event) with positions 1, 2, 3, … in order of commit, without holes. Statistics are a [`Fold`] of it,
//! [snapshots](snapshot) a cache of folds. What [`Store::append`] has answered is on the disk; the same again is answered with the first
//! answer, another outcome under the same id is refused. Several appenders over one store agree: each reads the log from
//! where it is and takes in what lies above.
//!
//! Two backends, one behaviour (`tests/behaviour.rs`): [`Memory`], and [`Sqlite`].
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! use unloop_store::{Appended, Body, CatalogId, Entry, Memory, Store, What, fold};
//! let store = Memory::new();
//! let body = Body::chosen(&["soup", "salad"], "soup");
//! let entry = Entry { catalog: CatalogId(1), context: Some("ada".into()), what: What::Choice { id: "p1".into(), body }, time: 0 };
//! assert_eq!(store.append(vec![entry.clone()]).await?, [Appended::Recorded { seq: 1 }]);
//! assert!(matches!(store.append(vec![entry]).await?[..], [Appended::Repeated { seq: 1, .. }]));
//! let ada = fold(&store, CatalogId(1), Some("ada")).await?;
//! assert_eq!((ada.statistics().total(), ada.position()), (1.0, 1));
//! # Ok::<(), unloop_store::StoreError>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod decide;
mod error;
mod event;
mod fold;
mod memory;
pub mod snapshot;
mod sqlite;

use std::future::Future;
use std::pin::Pin;

pub use error::StoreError;
pub use event::{
    Body, BodyError, CatalogId, Entry, Event, Kind, MOST_PRESENTED, MOST_WEIGHT, NO_CHOICE, Outcome, What, import_key,
};
pub use fold::{Applied, Fold};
pub use memory::Memory;
pub use sqlite::{Sqlite, SqliteSettings, Synchronous};

/// What a store will answer.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// What became of an entry.
#[derive(Clone, Debug, PartialEq)]
pub enum Appended {
    /// It is in the log.
    Recorded {
        /// Where.
        seq: u64,
    },
    /// The same was there before.
    Repeated {
        /// Where.
        seq: u64,
        /// As it was recorded.
        first: Body,
    },
    /// Something else is there under this id.
    Conflict {
        /// Where.
        seq: u64,
        /// As it was recorded.
        first: Body,
    },
    /// What was there was erased.
    Gone {
        /// Where.
        seq: u64,
    },
    /// There is nothing of this id to withdraw.
    Unknown,
}

/// The end of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The last position; 0 for an empty log.
    pub seq: u64,
}

/// Which events to read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Above this position.
    pub after: u64,
    /// Of this catalog.
    pub catalog: Option<CatalogId>,
    /// Of this context; and erasures of its catalog, on which whoever holds it loads it again.
    pub context: Option<String>,
    /// At most so many.
    pub limit: usize,
}

/// A fold that was put aside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// Everything up to here is in it.
    pub seq: u64,
    /// As [`snapshot::encode`] makes it.
    pub bytes: Vec<u8>,
}

/// A log of choices with what belongs to it. Every call may come from several tasks at once.
pub trait Store: Send + Sync {
    /// Appends entries, all in one transaction; answers after it is flushed, for each entry in order. Repeats and conflicts
    /// within one call are seen, too.
    fn append(&self, entries: Vec<Entry>) -> Answer<'_, Vec<Appended>>;

    /// The end of the log: a reader there has seen everything up to it.
    fn head(&self) -> Answer<'_, Head>;

    /// Events in order of position.
    fn read(&self, selection: Selection) -> Answer<'_, Vec<Event>>;

    /// The fold of a context, or of all (none), that was put aside last.
    fn snapshot(&self, catalog: CatalogId, context: Option<String>) -> Answer<'_, Option<Snapshot>>;

    /// Puts a fold aside; it never replaces a later one.
    fn put_snapshot(&self, catalog: CatalogId, context: Option<String>, snapshot: Snapshot) -> Answer<'_, ()>;

    /// Erases a context: its events keep their positions and ids and lose everything else, its snapshot and that of all go, and an
    /// erasure is appended. Its position; none if there is nothing of the context.
    fn erase(&self, catalog: CatalogId, context: String, time: i64) -> Answer<'_, Option<u64>>;
}

/// Events read at a time.
const PAGE: usize = 10_000;

/// The fold of a context, or of a whole catalog, from the log alone.
///
/// # Errors
/// If the log cannot be read.
pub async fn fold(store: &dyn Store, catalog: CatalogId, context: Option<&str>) -> Result<Fold, StoreError> {
    let mut fold = Fold::new();
    catch_up(store, catalog, context, &mut fold).await?;
    Ok(fold)
}

/// The fold of a context, or of a whole catalog, from its snapshot and what came after; from the log alone where the snapshot is bad.
///
/// # Errors
/// If the store cannot be read.
pub async fn load(store: &dyn Store, catalog: CatalogId, context: Option<&str>) -> Result<Fold, StoreError> {
    let snapshot = store.snapshot(catalog, context.map(str::to_owned)).await?;
    let mut fold = snapshot.and_then(|found| snapshot::decode(&found.bytes).ok()).unwrap_or_default();
    catch_up(store, catalog, context, &mut fold).await?;
    Ok(fold)
}

/// Takes in what lies above a fold's position, up to the end of the log; all of it anew where a context was erased.
///
/// # Errors
/// If the log cannot be read.
pub async fn catch_up(store: &dyn Store, catalog: CatalogId, context: Option<&str>, fold: &mut Fold) -> Result<(), StoreError> {
    // The head first: what is below it is complete.
    let head = store.head().await?;
    let mut fresh = fold.position() == 0;
    let mut after = fold.position();
    while after < head.seq {
        let selection = Selection { after, catalog: Some(catalog), context: context.map(str::to_owned), limit: PAGE };
        let events = store.read(selection).await?;
        after = if events.len() < PAGE { head.seq } else { events.last().map_or(head.seq, |event| event.seq) };
        for event in events.iter().filter(|event| event.seq <= head.seq) {
            if fold.apply(event)? != Applied::Reload {
                continue;
            }
            if fresh {
                // Read from the beginning after it happened: nothing of what was erased is in it.
                fold.advance(event.seq);
            } else {
                (*fold, fresh, after) = (Fold::new(), true, 0);
                break;
            }
        }
    }
    fold.advance(head.seq);
    Ok(())
}
