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

mod contexts;
mod decide;
mod error;
mod event;
mod fold;
mod memory;
mod note;
mod replay;
mod settings;
pub mod snapshot;
mod sqlite;
mod verify;

use std::future::Future;
use std::pin::Pin;

pub use contexts::{CacheLimits, CacheUse, Contexts, Held, LEAST_TAIL};
pub use error::StoreError;
pub use event::{
    ALL, Body, BodyError, CatalogId, Entry, Event, Kind, LONGEST_ID, MOST_PRESENTED, MOST_WEIGHT, Outcome, What, check_context,
    import_key, withdrawal_key,
};
pub use fold::{Applied, Fold, Part};
pub use memory::Memory;
pub use note::{KEEP_MINUTES, KEEP_PRESENTATIONS, MOST_NOTES, Note, PresentationNote, Pruned, Trend, TrendSelection, Trends};
pub use replay::{Folding, Start, catch_up, fold, load};
pub use settings::{
    Catalog, CatalogOption, Change, Changed, Key, NO_CHOICE, OptionChange, SettingError, Settings, check_catalog_name,
};
pub use sqlite::{Access, Opening, Sqlite, SqliteSettings, Synchronous};
pub use verify::{Report, verify};

/// What a store will answer.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// What is done with what became of an entry, and with the entry: its body is as it was recorded.
pub type Then = Box<dyn FnOnce(&Appended, Entry) + Send>;

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

/// The end of the log, and how new the settings are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The last position; 0 for an empty log.
    pub seq: u64,
    /// Raised by every change of settings.
    pub revision: u64,
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

/// Which names to list, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Beginning with this.
    pub prefix: String,
    /// After this one.
    pub after: Option<String>,
    /// At most so many.
    pub limit: usize,
}

impl Page {
    pub(crate) fn holds(&self, name: &str) -> bool {
        name.starts_with(&self.prefix) && self.after.as_deref().is_none_or(|after| name > after)
    }
}

/// What a snapshot is of.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SnapshotKey {
    /// The catalog.
    pub catalog: CatalogId,
    /// The context; none for all of the catalog.
    pub context: Option<String>,
    /// Events of this stretch of time alone; 0 is all times, and the only one so far.
    pub bucket: i64,
}

impl SnapshotKey {
    /// Of a context, or of all (none), over all times.
    pub fn new(catalog: CatalogId, context: Option<&str>) -> Self {
        Self { catalog, context: context.map(str::to_owned), bucket: 0 }
    }

    /// Of a whole catalog.
    pub fn all(catalog: CatalogId) -> Self {
        Self::new(catalog, None)
    }
}

/// A fold that was put aside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// Everything up to here is in it.
    pub seq: u64,
    /// As [`snapshot::encode`] makes it.
    pub bytes: Vec<u8>,
}

impl Snapshot {
    /// A fold, to be put aside.
    pub fn of(fold: &Fold) -> Self {
        Self { seq: fold.position(), bytes: snapshot::encode(fold) }
    }
}

/// What was erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Erased {
    /// The position of the erasure; none if there was nothing.
    pub seq: Option<u64>,
    /// Whether no byte of it is left in the files. If not, somebody is reading what the log was before, or there is no space to tidy up; what is left
    /// goes when that is over.
    pub emptied: bool,
}

/// A log of choices with what belongs to it. Every call may come from several tasks at once.
pub trait Store: Send + Sync {
    /// Appends entries, all in one transaction; answers after it is flushed, for each entry in order. Repeats and conflicts
    /// within one call are seen, too. With a single entry the call itself may wait for the flush, where the store was told so and nobody else writes.
    fn append(&self, entries: Vec<Entry>) -> Answer<'_, Vec<Appended>>;

    /// Appends one entry, and does something with it as soon as it is flushed, before anybody has the answer: in the order of the log among all who append
    /// here this way. It is done by the one who writes, so it has to be quick. The call itself may wait as that of [`append`](Self::append) may.
    fn append_then(&self, entry: Entry, then: Then) -> Answer<'_, Appended>;

    /// The end of the log: a reader there has seen everything up to it.
    fn head(&self) -> Answer<'_, Head>;

    /// Events in order of position.
    fn read(&self, selection: Selection) -> Answer<'_, Vec<Event>>;

    /// The event of a kind and an id: of an import that is its [`import_key`], of a withdrawal its [`withdrawal_key`].
    fn find(&self, catalog: CatalogId, kind: Kind, id: String) -> Answer<'_, Option<Event>>;

    /// Counts of a context, or of all, as they are at one moment.
    fn fold(&self, folding: Folding) -> Answer<'_, Fold>;

    /// Names of contexts that have events, in order of their bytes.
    fn contexts(&self, catalog: CatalogId, page: Page) -> Answer<'_, Vec<String>>;

    /// Contexts with at least so many events that no snapshot has, by name: those that take long to load.
    fn long_tails(&self, catalog: CatalogId, least: u64) -> Answer<'_, Vec<String>>;

    /// The fold that was put aside last. It holds nothing of what was erased before it was read.
    fn snapshot(&self, key: SnapshotKey) -> Answer<'_, Option<Snapshot>>;

    /// Puts folds aside; none replaces a later one, or one that knows of an erasure that it does not.
    fn put_snapshots(&self, snapshots: Vec<(SnapshotKey, Snapshot)>) -> Answer<'_, ()>;

    /// Erases a context, or a whole catalog with its settings (none): events keep their positions and ids and lose everything else, snapshots
    /// and notes of it go, that of all is corrected, and an erasure is appended.
    fn erase(&self, catalog: CatalogId, context: Option<String>, time: i64) -> Answer<'_, Erased>;

    /// Catalogs and keys.
    fn settings(&self) -> Answer<'_, Settings>;

    /// Options of a catalog by their numbers, retired ones too.
    fn options(&self, catalog: CatalogId) -> Answer<'_, Vec<CatalogOption>>;

    /// Changes settings, and raises the revision.
    fn change(&self, change: Change) -> Answer<'_, Changed>;

    /// Notes something, without waiting: it is written within seconds, and lost if the process ends before.
    fn note(&self, notes: Vec<Note>);

    /// Events of a catalog, or of one context of it, the latest first. Erased ones and erasures are left out.
    fn latest(&self, catalog: CatalogId, context: Option<String>, limit: usize) -> Answer<'_, Vec<Event>>;

    /// What was presented last, in a catalog or to one context of it, the latest first.
    fn presentations(&self, catalog: CatalogId, context: Option<String>, limit: usize) -> Answer<'_, Vec<PresentationNote>>;

    /// How options fared, by time.
    fn trends(&self, selection: TrendSelection) -> Answer<'_, Trends>;

    /// How often each option of a catalog was served, by the trends after a time and up to another.
    fn served(&self, catalog: CatalogId, after: i64, upto: i64) -> Answer<'_, Vec<(u32, f64)>>;

    /// Bytes that it takes on a disk; 0 for one that is on none.
    fn bytes(&self) -> Answer<'_, u64>;

    /// Deletes notes that are older than they are kept, and joins old minutes into hours.
    fn prune(&self, now: i64) -> Answer<'_, Pruned>;
}
