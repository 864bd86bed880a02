//! From the log to a fold: from the beginning, from a snapshot, from where one is.

use crate::error::StoreError;
use crate::event::CatalogId;
use crate::fold::{Applied, Fold};
use crate::{Selection, SnapshotKey, Store, snapshot};

/// Events read at a time.
const PAGE: usize = 10_000;

/// The fold of a context, or of a whole catalog, from the log alone.
///
/// # Errors
/// If the log cannot be read.
pub async fn fold(store: &dyn Store, catalog: CatalogId, context: Option<&str>) -> Result<Fold, StoreError> {
    loop {
        let known = store.head().await?.seq;
        let mut fold = Fold::new();
        if replay(store, catalog, context, &mut fold, known).await? {
            return Ok(fold);
        }
    }
}

/// The fold of a context, or of a whole catalog, from its snapshot and what came after; from the log alone where the snapshot is bad.
///
/// # Errors
/// If the store cannot be read.
pub async fn load(store: &dyn Store, catalog: CatalogId, context: Option<&str>) -> Result<Fold, StoreError> {
    loop {
        // Before the snapshot is read: it holds nothing of what was erased up to here.
        let known = store.head().await?.seq;
        let kept = store.snapshot(SnapshotKey::new(catalog, context)).await?;
        let mut fold = kept.and_then(|found| snapshot::decode(&found.bytes).ok()).unwrap_or_default();
        if replay(store, catalog, context, &mut fold, known).await? {
            return Ok(fold);
        }
    }
}

/// Takes in what lies above a fold's position, up to the end of the log; loads it anew where something was erased.
///
/// # Errors
/// If the log cannot be read.
pub async fn catch_up(store: &dyn Store, catalog: CatalogId, context: Option<&str>, fold: &mut Fold) -> Result<(), StoreError> {
    let known = fold.position();
    if !replay(store, catalog, context, fold, known).await? {
        *fold = load(store, catalog, context).await?;
    }
    Ok(())
}

/// Takes in what lies above a fold's position. False if something was erased above a position up to which it is known to hold nothing that
/// was: then the fold is not to be used.
async fn replay(
    store: &dyn Store,
    catalog: CatalogId,
    context: Option<&str>,
    fold: &mut Fold,
    known: u64,
) -> Result<bool, StoreError> {
    // The head first: what is below it is complete.
    let head = store.head().await?.seq;
    let mut after = fold.position();
    while after < head {
        let selection = Selection { after, catalog: Some(catalog), context: context.map(str::to_owned), limit: PAGE };
        let events = store.read(selection).await?;
        after = if events.len() < PAGE { head } else { events.last().map_or(head, |event| event.seq) };
        for event in events.iter().filter(|event| event.seq <= head) {
            match fold.apply(event)? {
                Applied::Reload if event.seq > known => return Ok(false),
                Applied::Reload => fold.advance(event.seq),
                Applied::Counted | Applied::Before => {}
            }
        }
    }
    fold.advance(head);
    Ok(true)
}
