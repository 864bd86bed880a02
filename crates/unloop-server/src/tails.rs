//! Snapshots after an import: whoever comes next is loaded from one, and does not wait for a thousand events to be folded.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use unloop_store::{CatalogId, LEAST_TAIL, SnapshotKey, StoreError, load};

use crate::lock::lock;
use crate::service::{SNAPSHOTS, Service};

/// So long after the last import into a catalog its contexts are looked at: most imports are many requests.
const QUIET: Duration = Duration::from_secs(2);
/// How long it may take at the end. The rest is folded when it is asked for.
const LAST: Duration = Duration::from_secs(3);

/// Catalogs that were imported into, each with when that was last, and how many choices came since its contexts were looked at.
#[derive(Default)]
pub(crate) struct Imported(Mutex<HashMap<CatalogId, (Instant, usize)>>);

impl Imported {
    pub(crate) fn note(&self, catalog: CatalogId, count: usize) {
        let mut all = lock(&self.0);
        let (last, so_far) = all.entry(catalog).or_insert((Instant::now(), 0));
        (*last, *so_far) = (Instant::now(), *so_far + count);
    }

    /// Those into which nothing was imported for so long. Fewer choices than make a long tail give none.
    fn take(&self, quiet: Duration) -> Vec<CatalogId> {
        let is_due = |_: &CatalogId, (last, count): &mut (Instant, usize)| *count > LEAST_TAIL && last.elapsed() >= quiet;
        lock(&self.0).extract_if(is_due).map(|(catalog, _)| catalog).collect()
    }
}

impl Service {
    /// Puts aside what was imported a while ago, again and again until it is time to end.
    pub(crate) async fn keep_imported_aside(&self) {
        while tokio::time::timeout(QUIET / 2, self.stopped()).await.is_err() {
            for catalog in self.imported.take(QUIET) {
                if let Err(error) = self.put_tails_aside(catalog, || self.is_stopping()).await {
                    tracing::warn!(%error, "snapshots were not written");
                }
                if self.is_stopping() {
                    // Some of it may be left.
                    self.imported.note(catalog, LEAST_TAIL + 1);
                }
            }
        }
    }

    /// Puts aside what was imported, as much as there is time for at the end.
    pub(crate) async fn put_last_aside(&self) {
        let all = async {
            for catalog in self.imported.take(Duration::ZERO) {
                self.put_tails_aside(catalog, || false).await?;
            }
            Ok::<(), StoreError>(())
        };
        if let Ok(Err(error)) = tokio::time::timeout(LAST, all).await {
            tracing::warn!(%error, "snapshots were not written: the log has it all");
        }
    }

    async fn put_tails_aside(&self, catalog: CatalogId, is_over: impl Fn() -> bool) -> Result<(), StoreError> {
        if is_over() {
            return Ok(());
        }
        let contexts = self.store.long_tails(catalog, LEAST_TAIL as u64 + 1).await?;
        for together in contexts.chunks(SNAPSHOTS) {
            let mut folds = Vec::with_capacity(together.len());
            for context in together {
                if is_over() {
                    return Ok(());
                }
                folds.push((SnapshotKey::new(catalog, Some(context)), load(&*self.store, catalog, Some(context)).await?));
            }
            self.put_aside(folds).await?;
        }
        Ok(())
    }
}
