//! From the log to a fold: from the beginning, from a snapshot, from where one is.

use crate::error::StoreError;
use crate::event::{CatalogId, Counted, Kind};
use crate::fold::Fold;
use crate::{Snapshot, SnapshotKey, Store, snapshot};

/// A fold to be made.
#[derive(Clone, Debug)]
pub struct Folding {
    /// The catalog.
    pub catalog: CatalogId,
    /// The context; none for all of the catalog.
    pub context: Option<String>,
    /// Where it begins.
    pub start: Start,
    /// Nothing above this position is taken in.
    pub upto: u64,
}

/// Where a fold begins.
#[derive(Clone, Debug)]
pub enum Start {
    /// At the beginning of the log.
    Log,
    /// At its snapshot; at the beginning of the log where that is bad, or there is none.
    Snapshot,
    /// Where this one is; at its snapshot, if something was erased since.
    Held(Box<Fold>),
}

/// The fold of a context, or of a whole catalog, from the log alone.
///
/// # Errors
/// If the log cannot be read.
pub async fn fold(store: &dyn Store, catalog: CatalogId, context: Option<&str>) -> Result<Fold, StoreError> {
    store.fold(Folding { catalog, context: context.map(str::to_owned), start: Start::Log, upto: u64::MAX }).await
}

/// The fold of a context, or of a whole catalog, from its snapshot and what came after; from the log alone where the snapshot is bad.
///
/// # Errors
/// If the store cannot be read.
pub async fn load(store: &dyn Store, catalog: CatalogId, context: Option<&str>) -> Result<Fold, StoreError> {
    store.fold(Folding { catalog, context: context.map(str::to_owned), start: Start::Snapshot, upto: u64::MAX }).await
}

/// Takes in what lies above a fold's position, up to the end of the log; loads it anew where something was erased.
///
/// # Errors
/// If the log cannot be read; the fold is empty then.
pub async fn catch_up(store: &dyn Store, catalog: CatalogId, context: Option<&str>, fold: &mut Fold) -> Result<(), StoreError> {
    let start = Start::Held(Box::new(std::mem::take(fold)));
    *fold = store.fold(Folding { catalog, context: context.map(str::to_owned), start, upto: u64::MAX }).await?;
    Ok(())
}

/// A store at one moment: nothing is appended or erased while it is looked at.
pub(crate) trait Moment {
    /// The last position.
    fn seq(&self) -> Result<u64, StoreError>;

    fn snapshot(&self, key: &SnapshotKey) -> Result<Option<Snapshot>, StoreError>;

    /// The position of the last erasure in a catalog; 0 if there is none.
    fn last_erasure(&self, catalog: CatalogId) -> Result<u64, StoreError>;

    /// Events that count, above a position, in order: of a context, or of all (none).
    fn each(
        &self,
        catalog: CatalogId,
        context: Option<&str>,
        after: u64,
        upto: u64,
        with: &mut dyn FnMut(u64, Kind, Counted<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError>;
}

/// Makes a fold.
pub(crate) fn replay(moment: &impl Moment, folding: Folding) -> Result<Fold, StoreError> {
    let Folding { catalog, context, start, upto } = folding;
    let head = moment.seq()?.min(upto);
    let held = match start {
        Start::Held(fold) if moment.last_erasure(catalog)? <= fold.position() => Some(*fold),
        Start::Held(_) | Start::Snapshot => {
            let kept = moment.snapshot(&SnapshotKey::new(catalog, context.as_deref()))?.filter(|kept| kept.seq <= head);
            kept.and_then(|kept| snapshot::decode(&kept.bytes).ok())
        }
        Start::Log => None,
    };
    let mut fold = held.unwrap_or_default();
    let after = fold.position();
    moment.each(catalog, context.as_deref(), after, head, &mut |seq, kind, body| fold.take_in(seq, kind, body, &mut |_| {}))?;
    fold.advance(head);
    Ok(fold)
}
