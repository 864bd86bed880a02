//! How much is done: for a bar with the time that is left, over all figures.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Milliseconds of one core that are done, as they were estimated.
#[derive(Debug, Default)]
pub struct Work {
    /// In microseconds, so that many small parts add up.
    done: AtomicUsize,
}

impl Work {
    /// A part is done that was to take so many milliseconds.
    pub fn add(&self, milliseconds: f64) {
        self.done.fetch_add((1e3 * milliseconds) as usize, Ordering::Relaxed);
    }

    /// Milliseconds so far.
    pub fn done(&self) -> u64 {
        (self.done.load(Ordering::Relaxed) / 1_000) as u64
    }

    /// Estimates are wrong; what is finished is finished.
    pub fn set(&self, milliseconds: u64) {
        self.done.store(milliseconds as usize * 1_000, Ordering::Relaxed);
    }
}
