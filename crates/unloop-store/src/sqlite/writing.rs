//! The thread that writes: what waits becomes one transaction, and is answered when that is flushed.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode};
use tokio::sync::oneshot;

use super::transaction::Log;
use crate::error::StoreError;
use crate::note::Note;

/// Requests that share a transaction at most: bounds what a failure can take with it, and how long the first waits.
const MOST_TOGETHER: usize = 1_024;
/// How long notes wait for a transaction that is flushed anyway, and the write-ahead log for readers to let go of it.
const PATIENCE: Duration = Duration::from_secs(1);

/// What the thread is sent.
pub(super) enum Message {
    /// Somebody waits for it.
    Work(Box<dyn Work>),
    /// Nobody does.
    Notes(Vec<Note>),
}

/// Something to be written.
pub(super) trait Work: Send {
    /// Does it, inside a transaction.
    fn work(&mut self, log: &mut Log<'_>) -> Result<(), StoreError>;

    /// Answers: what was done is flushed, or nothing was done.
    fn answer(self: Box<Self>, outcome: Result<Flushed, StoreError>);
}

/// What is known after the flush.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flushed {
    /// Whether what was erased is gone from the write-ahead log, too.
    pub(super) emptied: bool,
}

/// Work with an answer: what it comes to inside the transaction, and what that is worth after the flush.
pub(super) struct Job<T, R, W, F> {
    work: Option<W>,
    done: Option<T>,
    finish: F,
    reply: oneshot::Sender<Result<R, StoreError>>,
}

impl<T, R, W, F> Job<T, R, W, F>
where
    W: FnOnce(&mut Log<'_>) -> Result<T, StoreError>,
    F: FnOnce(T, Flushed) -> R,
{
    pub(super) fn new(work: W, finish: F, reply: oneshot::Sender<Result<R, StoreError>>) -> Self {
        Self { work: Some(work), done: None, finish, reply }
    }
}

impl<T: Send, R: Send, W, F> Work for Job<T, R, W, F>
where
    W: FnOnce(&mut Log<'_>) -> Result<T, StoreError> + Send,
    F: FnOnce(T, Flushed) -> R + Send,
{
    fn work(&mut self, log: &mut Log<'_>) -> Result<(), StoreError> {
        if let Some(work) = self.work.take() {
            self.done = Some(work(log)?);
        }
        Ok(())
    }

    fn answer(self: Box<Self>, outcome: Result<Flushed, StoreError>) {
        let Self { done, finish, reply, .. } = *self;
        let result = outcome.and_then(|flushed| Ok(finish(done.ok_or(StoreError::Closed)?, flushed)));
        // Whoever asked may have gone.
        drop(reply.send(result));
    }
}

pub(super) struct Writer {
    connection: Connection,
    /// What broke it: nobody knows what is on the disk, so nothing more is written.
    broken: Option<StoreError>,
    /// Notes that wait, and until when they do.
    notes: Vec<Note>,
    due: Option<Instant>,
    /// How many notes were sent and not written.
    pending: Arc<AtomicUsize>,
    /// The write-ahead log holds what was erased.
    lingering: bool,
}

impl Writer {
    pub(super) fn new(connection: Connection, pending: Arc<AtomicUsize>) -> Self {
        connection.set_prepared_statement_cache_capacity(64);
        Self { connection, broken: None, notes: Vec::new(), due: None, pending, lingering: false }
    }

    /// Until nobody can ask any more.
    pub(super) fn run(mut self, messages: &Receiver<Message>) {
        loop {
            let first = match self.due {
                None => messages.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(due) => messages.recv_timeout(due.saturating_duration_since(Instant::now())),
            };
            let mut together = Vec::new();
            match first {
                Ok(first) => self.take(first, &mut together),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    self.write(together);
                    return;
                }
            }
            while together.len() < MOST_TOGETHER
                && let Ok(next) = messages.try_recv()
            {
                self.take(next, &mut together);
            }
            if !together.is_empty() || self.due.is_some_and(|due| due <= Instant::now()) {
                self.write(together);
            }
        }
    }

    fn take(&mut self, message: Message, together: &mut Vec<Box<dyn Work>>) {
        match message {
            Message::Work(work) => together.push(work),
            Message::Notes(notes) => {
                self.notes.extend(notes);
                self.due.get_or_insert_with(|| Instant::now() + PATIENCE);
            }
        }
    }

    fn write(&mut self, mut together: Vec<Box<dyn Work>>) {
        let notes = std::mem::take(&mut self.notes);
        self.pending.fetch_sub(notes.len(), Ordering::Relaxed);
        self.due = None;
        let outcome = match &self.broken {
            Some(error) => Err(error.clone()),
            None => self.transaction(&mut together, &notes),
        };
        if let Err(error) = &outcome
            && !error.is_passing()
        {
            self.broken = Some(error.clone());
        }
        if self.lingering && self.broken.is_none() {
            self.due = Some(Instant::now() + PATIENCE);
        }
        together.into_iter().for_each(|work| work.answer(outcome.clone()));
    }

    fn transaction(&mut self, together: &mut [Box<dyn Work>], notes: &[Note]) -> Result<Flushed, StoreError> {
        if !together.is_empty() || !notes.is_empty() {
            self.connection.execute_batch("BEGIN IMMEDIATE").map_err(|error| broken(&error))?;
            let done = self.within(together, notes);
            let done =
                done.and_then(|erased| self.connection.execute_batch("COMMIT").map_err(|error| broken(&error)).map(|()| erased));
            match done {
                Ok(erased) => self.lingering |= erased,
                Err(error) => {
                    // It may have been rolled back already; then there is nothing to do.
                    let rolled_back = self.connection.is_autocommit() || self.connection.execute_batch("ROLLBACK").is_ok();
                    return Err(if rolled_back { error } else { broken_by("a transaction that cannot be undone") });
                }
            }
        }
        if self.lingering {
            self.lingering = !empty(&self.connection)?;
        }
        Ok(Flushed { emptied: !self.lingering })
    }

    /// Whether something was erased.
    fn within(&self, together: &mut [Box<dyn Work>], notes: &[Note]) -> Result<bool, StoreError> {
        let mut log = Log::begin(&self.connection)?;
        // Before the rest: an erasure in it takes those of its context, too.
        notes.iter().try_for_each(|note| log.note(note))?;
        together.iter_mut().try_for_each(|work| work.work(&mut log))?;
        log.finish()
    }
}

/// Empties the write-ahead log; false if a reader still needs it.
pub(super) fn empty(connection: &Connection) -> Result<bool, StoreError> {
    let busy = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
    match busy.map_err(|error| broken(&error)) {
        Ok(busy) => Ok(busy == 0),
        Err(error) if error.is_passing() => Ok(false),
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
