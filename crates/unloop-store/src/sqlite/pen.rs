//! The one connection that writes. Whoever holds it writes: mostly the thread that does so for all, or whoever has something small to be written while nobody
//! does, and then need not wait for two threads to be woken up, one after the other.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::wal::CheckpointMode;
use rusqlite::{Connection, ErrorCode, MAIN_DB};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;

use super::transaction::Log;
use super::writing::{BULK_PART, Flushed, Message, Work};
use crate::error::StoreError;

/// Frames of the write-ahead log from which on it is copied into the database, and begun anew: 16 MB. A commit that is written over an old one is flushed
/// faster than one that makes the file longer.
const CHECKPOINT: u32 = 4_096;

/// The pen, for all who write.
pub(super) type SharedPen = Arc<Mutex<Pen>>;

/// The connection that writes.
pub(super) struct Pen {
    connection: Connection,
    /// What broke it: nobody knows what is on the disk, so nothing more is written.
    broken: Option<StoreError>,
    /// Frames of the write-ahead log from which on it is copied.
    pub(super) log_frames: i64,
    /// Frames of the write-ahead log when it was looked at last.
    length: i64,
}

/// Takes it, once nobody else has it.
pub(super) fn hold(pen: &Mutex<Pen>) -> MutexGuard<'_, Pen> {
    // Where whoever panicked with it left a transaction open, the next one does not begin, and nothing more is written.
    pen.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pen {
    /// SQLite would copy the write-ahead log inside of a commit: the connection must have been told not to.
    pub(super) fn new(connection: Connection, log_frames: Option<u32>) -> SharedPen {
        connection.set_prepared_statement_cache_capacity(64);
        let log_frames = i64::from(log_frames.unwrap_or(CHECKPOINT));
        Arc::new(Mutex::new(Self { connection, broken: None, log_frames, length: 0 }))
    }

    /// Does something in a transaction, and flushes it. What is not done is undone; where nobody knows, nothing more is ever written.
    pub(super) fn transaction<T>(&mut self, work: impl FnOnce(&Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let done = self.begin().and_then(|()| self.finish(work));
        if let Err(error) = &done {
            self.failed(error);
        }
        done
    }

    fn begin(&self) -> Result<(), StoreError> {
        match &self.broken {
            Some(error) => Err(error.clone()),
            None => self.execute("BEGIN IMMEDIATE"),
        }
    }

    fn finish<T>(&self, work: impl FnOnce(&Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let done = work(&self.connection).and_then(|done| self.execute("COMMIT").map(|()| done));
        done.map_err(|error| {
            // It may have been rolled back already; then there is nothing to do.
            let rolled_back = self.connection.is_autocommit() || self.connection.execute_batch("ROLLBACK").is_ok();
            if rolled_back { error } else { broken_by("a transaction that cannot be undone") }
        })
    }

    fn failed(&mut self, error: &StoreError) {
        if !error.is_passing() {
            self.broken = Some(error.clone());
        }
    }

    /// A statement that is kept: one that is read again for every choice takes some 3 % of the writer's time.
    fn execute(&self, text: &str) -> Result<(), StoreError> {
        let done = self.connection.prepare_cached(text).and_then(|mut statement| statement.execute([]));
        done.map(|_| ()).map_err(|error| broken(&error))
    }

    /// Frames of the write-ahead log, and how many of them are not in the database yet; none where it cannot be told.
    pub(super) fn frames(&mut self) -> (i64, i64) {
        if self.broken.is_some() {
            return (0, 0);
        }
        // Not by a pragma, which is parsed again each time: that took 4 % of the writer's time.
        let (all, copied) = self.connection.wal_checkpoint_v2(Some(MAIN_DB), CheckpointMode::NOOP).unwrap_or((0, 0));
        self.length = i64::from(all);
        (self.length, i64::from(all - copied))
    }

    /// Copies the write-ahead log into the database.
    pub(super) fn copy(&self) {
        super::copying::copy(&self.connection);
    }

    /// Empties the write-ahead log, if there is something in it that must not be.
    pub(super) fn empty(&mut self, unemptied: bool) -> Result<Emptied, StoreError> {
        let state = match &self.broken {
            Some(error) => return Err(error.clone()),
            None if unemptied => empty(&self.connection),
            None => Ok(Emptied::Wholly),
        };
        if let Err(error) = &state {
            self.broken = Some(error.clone());
        }
        state
    }
}

/// Where work is handed in.
pub(super) struct Desk {
    messages: Sender<Message>,
    pen: SharedPen,
    /// Work that was handed in, and not begun by the thread that writes; and that thread while it waits for the pen.
    queued: Arc<AtomicUsize>,
    /// Whether callers may write.
    at_once: bool,
}

impl Desk {
    pub(super) fn new(messages: Sender<Message>, pen: SharedPen, queued: Arc<AtomicUsize>, at_once: bool) -> Self {
        Self { messages, pen, queued, at_once }
    }

    /// For the thread that writes. Whether there is one.
    pub(super) fn send(&self, message: Message) -> bool {
        if matches!(message, Message::Work(_)) {
            self.queued.fetch_add(1, Ordering::Relaxed);
        }
        self.messages.send(message).is_ok()
    }

    /// Has work done: a single entry at once by the caller's own thread, if nobody writes, and it may wait for a disk; all else by the thread that writes. Whether
    /// it will be.
    pub(super) fn hand_in(&self, mut work: Box<dyn Work>) -> bool {
        if !self.at_once || work.size() != 1 || self.queued.load(Ordering::Relaxed) > 0 || !may_wait() {
            return self.send(Message::Work(work));
        }
        let Ok(mut pen) = self.pen.try_lock() else { return self.send(Message::Work(work)) };
        if pen.length >= BULK_PART * pen.log_frames {
            return self.send(Message::Work(work));
        }
        // Others go on meanwhile with what this thread would have done.
        let is_long = block_in_place(move || {
            let Some(outcome) = pen.at_once(&mut *work) else { return Err(work) };
            // Before anybody else writes: they are told in the order of the log.
            work.answer(outcome.map(|()| Flushed { emptied: true }));
            Ok(pen.frames().0 >= pen.log_frames)
        });
        match is_long {
            Ok(is_long) => {
                if is_long {
                    self.send(Message::Copy);
                }
                true
            }
            Err(work) => self.send(Message::Work(work)),
        }
    }
}

/// Whether this thread may wait for a disk: it is one of a runtime that has others go on with what else is asked for.
fn may_wait() -> bool {
    matches!(Handle::try_current().map(|own| own.runtime_flavor()), Ok(RuntimeFlavor::MultiThread))
}

impl Pen {
    /// How long it waits where another process writes.
    fn wait_for_others(&self, time: Duration) -> Result<(), StoreError> {
        self.connection.busy_timeout(time).map_err(|error| broken(&error))
    }

    /// Does work in a transaction of its own; none, and nothing done, where another process writes.
    fn at_once(&mut self, work: &mut dyn Work) -> Option<Result<(), StoreError>> {
        let begun = self.wait_for_others(Duration::ZERO).and_then(|()| self.begin());
        let patient = self.wait_for_others(super::PATIENCE);
        if matches!((&begun, &patient), (Err(StoreError::Busy), Ok(()))) {
            return None;
        }
        let done = begun.and_then(|()| {
            self.finish(|connection| {
                patient?;
                let mut log = Log::begin(connection)?;
                work.work(&mut log)?;
                log.finish().map(|_| ())
            })
        });
        if let Err(error) = &done {
            self.failed(error);
        }
        Some(done)
    }
}

/// How an attempt to empty the write-ahead log went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Emptied {
    /// Nothing is left in it.
    Wholly,
    /// A reader still needs it.
    Reader,
    /// The database would have to grow, and cannot.
    NoSpace,
}

/// Empties the write-ahead log, without waiting for readers.
pub(super) fn empty(connection: &Connection) -> Result<Emptied, StoreError> {
    let checkpoint = || connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
    let emptied = connection.busy_timeout(Duration::ZERO).and_then(|()| checkpoint());
    connection.busy_timeout(super::PATIENCE).map_err(|error| broken(&error))?;
    match emptied.map_err(|error| broken(&error)) {
        Ok(0) => Ok(Emptied::Wholly),
        Ok(_) | Err(StoreError::Busy) => Ok(Emptied::Reader),
        Err(StoreError::Full) => Ok(Emptied::NoSpace),
        Err(error) => Err(error),
    }
}

pub(super) fn broken(error: &rusqlite::Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => StoreError::Full,
        Some(ErrorCode::DatabaseBusy) => StoreError::Busy,
        _ => broken_by(&error.to_string()),
    }
}

pub(super) fn broken_by(problem: &str) -> StoreError {
    StoreError::Broken { problem: problem.to_owned() }
}
