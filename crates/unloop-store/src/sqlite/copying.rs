//! The thread that copies the write-ahead log into the database, beside the one that writes.
//!
//! 16 MB of log are some 4 000 pages all over a database of hundreds of megabytes: 20 ms and more, in which nobody's choice would be flushed. Beside the writer they keep
//! nobody. What is appended meanwhile is little: the writer copies that itself, and begins the log anew.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use rusqlite::Connection;

/// Copies when it is told to; goes with its owner.
pub(super) struct Copier {
    wake: Option<Sender<()>>,
    working: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Copier {
    pub(super) fn new(connection: Connection) -> std::io::Result<Self> {
        let (wake, told) = channel();
        let working = Arc::new(AtomicBool::new(false));
        let own = Arc::clone(&working);
        let thread = std::thread::Builder::new().name("unloop-copier".into()).spawn(move || run(&connection, &told, &own))?;
        Ok(Self { wake: Some(wake), working, thread: Some(thread) })
    }

    /// Has it copy what is there now, unless it is at it.
    pub(super) fn begin(&self) {
        if !self.working.swap(true, Ordering::AcqRel)
            && let Some(wake) = &self.wake
        {
            // It ends with its owner alone.
            let _ = wake.send(());
        }
    }
}

impl Drop for Copier {
    fn drop(&mut self) {
        drop(self.wake.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run(connection: &Connection, told: &Receiver<()>, working: &AtomicBool) {
    while told.recv().is_ok() {
        copy(connection);
        working.store(false, Ordering::Release);
    }
}

/// Copies what no reader needs to be left, without waiting for anybody. What cannot be copied stays in the log: nothing is lost, and it is tried again after
/// the next commit, which finds out by itself if something is wrong with the disk.
pub(super) fn copy(connection: &Connection) {
    let done = connection.prepare_cached("PRAGMA wal_checkpoint(PASSIVE)").and_then(|mut text| text.query_row([], |_| Ok(())));
    drop(done);
}
