//! Recording many choices at once.
//!
//! Once distinct presentations outgrow the caches, recording one by one waits for memory. Here choices are read in batches: while
//! one batch is counted, the next is sorted and hashed on another thread, and the slots of 64 look-ups are read together so that
//! their misses overlap. The result is that of recording one by one, in the same order.

use thiserror::Error;

use super::store::{self, Block};
use super::{Statistics, StatisticsError, check_row, check_sum};
use crate::option::OptionId;

/// A choice among many that was refused.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("choice {row} (counted from 0) of the many")]
pub struct RowError {
    /// Its place, counted from 0.
    pub row: usize,
    /// Why.
    #[source]
    pub error: StatisticsError,
}

impl Statistics {
    /// Records many choices: what was presented, what was chosen from it, and the weight. Faster than one by one once the
    /// distinct presentations outgrow the caches, because look-ups overlap.
    ///
    /// # Errors
    /// At the first choice that [`record`](Self::record) would refuse, with its place; all before it are recorded, none after.
    pub fn record_all<C: IntoIterator<Item = OptionId>>(
        &mut self,
        choices: impl IntoIterator<Item = (C, OptionId, f64)>,
    ) -> Result<(), RowError> {
        let mut choices = choices.into_iter();
        let (mut next, mut checked) = (Batch::default(), Batch::default());
        let mut row = 0;
        loop {
            next.read(&mut choices);
            let last = next.rows.is_empty();
            // While one batch is looked up and counted, the one after it is sorted and hashed, and memory made ready.
            let (option_count, room) = (self.chosen.len(), self.store.wants_spare());
            let (recorded, spare) = join(
                || self.record_batch(&checked),
                || {
                    next.check(option_count);
                    room.map(Block::touched)
                },
            );
            if spare.is_some() || last {
                self.store.set_spare(spare.filter(|_| !last));
            }
            recorded.map_err(|(place, error)| RowError { row: row + place, error })?;
            row += checked.rows.len();
            match checked.refused.take() {
                Some(error) => return Err(RowError { row, error }),
                None if last => return Ok(()),
                None => std::mem::swap(&mut next, &mut checked),
            }
        }
    }

    /// Records a checked batch; the row and the reason if one is refused.
    fn record_batch(&mut self, batch: &Batch) -> Result<(), (usize, StatisticsError)> {
        let mut start = 0;
        for (group, rows) in batch.rows.chunks(TOGETHER).enumerate() {
            self.store.touch(rows.iter().map(|row| row.hash));
            for (i, row) in rows.iter().enumerate() {
                let recorded = self.chosen[row.chosen.index()];
                check_sum(recorded, row.weight)
                    .and_then(|()| self.add_presented(&batch.members[start..row.end], row.hash, row.weight))
                    .map_err(|error| (group * TOGETHER + i, error))?;
                self.chosen[row.chosen.index()] = recorded + row.weight;
                start = row.end;
            }
        }
        Ok(())
    }
}

/// Choices read ahead by [`Statistics::record_all`].
#[derive(Default)]
struct Batch {
    members: Vec<OptionId>,
    rows: Vec<BatchRow>,
    /// Why the row after the last was refused.
    refused: Option<StatisticsError>,
}

struct BatchRow {
    /// End of its members.
    end: usize,
    chosen: OptionId,
    weight: f64,
    hash: u64,
}

/// Choices read ahead at a time: their members stay in the cache.
const BATCH: usize = 4_096;
/// Choices looked up together: enough to overlap the misses of a large table.
const TOGETHER: usize = 64;

impl Batch {
    fn read<C: IntoIterator<Item = OptionId>>(&mut self, choices: &mut impl Iterator<Item = (C, OptionId, f64)>) {
        self.members.clear();
        self.rows.clear();
        for (presented, chosen, weight) in choices.take(BATCH) {
            self.members.extend(presented);
            self.rows.push(BatchRow { end: self.members.len(), chosen, weight, hash: 0 });
        }
    }

    /// Sorts, checks and hashes; cuts at the first row that is refused.
    fn check(&mut self, option_count: usize) {
        let mut start = 0;
        for i in 0..self.rows.len() {
            let row = &mut self.rows[i];
            let members = &mut self.members[start..row.end];
            if let Err(error) = check_row(members, row.chosen, row.weight, option_count) {
                self.rows.truncate(i);
                self.refused = Some(error);
                return;
            }
            row.hash = store::hash(members);
            start = row.end;
        }
    }
}

/// Both, in parallel where there are threads.
fn join<A: Send, B: Send>(a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B + Send) -> (A, B) {
    #[cfg(feature = "parallel")]
    return rayon::join(a, b);
    #[cfg(not(feature = "parallel"))]
    (a(), b())
}
