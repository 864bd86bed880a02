//! The thread that writes: what waits becomes transactions, and is answered when its own is flushed.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::copying::Copier;
use super::pen::{Emptied, Pen, SharedPen, hold};
use super::transaction::Log;
use crate::error::StoreError;
use crate::note::Note;

/// Requests that share a transaction at most: bounds what a failure can take with it, and how long the first waits.
const MOST_TOGETHER: usize = 1_024;
/// So many may always share one, and of those that wait before it begins so many times more.
const FEWEST_TOGETHER: usize = 64;
const WAITING: usize = 2;
/// Entries that share a transaction at most. Imports send thousands at a time: the fewer transactions, the fewer times each page is written.
const MOST_ENTRIES: usize = 262_144;
/// Times as many frames of the write-ahead log while much is appended at once: the rarer it is copied, the fewer times a page is that changes again and again.
/// The log is never much longer: from here on the thread that writes copies it itself, and nobody else writes.
pub(super) const BULK_PART: i64 = 4;
/// The part of them that the writer copies itself: somebody may wait for it.
const LITTLE_PART: i64 = 16;
/// Entries of a transaction from which on that is.
const BULK: usize = 8_192;
/// How long notes wait for a transaction that is flushed anyway.
const PATIENCE: Duration = Duration::from_secs(1);
/// Notes that wait no longer.
const MANY_NOTES: usize = 256;
/// Notes of one transaction, and how long the others wait then: a thousand at once take a core for 15 ms, and whoever is answered there waits.
const NOTES_TOGETHER: usize = 64;
const BETWEEN_NOTES: Duration = Duration::from_millis(4);
/// Notes with which it is no longer a matter of being kind: a quarter of them goes at once.
const TOO_MANY_NOTES: usize = 1_024;
/// How long an erasure waits for readers to let go of the write-ahead log, and how often it looks.
const PATIENCE_WITH_READERS: Duration = Duration::from_secs(10);
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// What the thread is sent.
pub(super) enum Message {
    /// Somebody waits for it.
    Work(Box<dyn Work>),
    /// Nobody does.
    Notes(Vec<Note>),
    /// The write-ahead log has become long.
    Copy,
}

/// How many requests share a transaction: as many as are carried out in half the time that it takes to commit them.
///
/// With more of them a flush is shared by more; but where all who ask are in one transaction, nobody is left to be read and answered while it is flushed: a core idles then,
/// and the disk afterwards. On a slow disk it is flushes that matter, on a fast one cores (256 clients of a server on two cores, 800 choices each: 41 000 a second with all of
/// them in one, 46 000 with 32 and with 128, 50 000 with 64; as many with 128 of those that wait before it begins, which a store without a server before it needs).
#[derive(Clone, Copy, Debug, Default)]
struct Pace {
    /// Seconds to carry out a request, and to commit some of them.
    each: f64,
    commit: f64,
}

impl Pace {
    fn together(self) -> usize {
        // Before anything is known it is nothing by nothing, and that is none.
        ((self.commit / (2.0 * self.each)) as usize).clamp(FEWEST_TOGETHER, MOST_TOGETHER)
    }

    fn learn(&mut self, requests: usize, carrying_out: Duration, commit: Duration) {
        const WEIGHT: f64 = 0.125;
        if requests == 0 {
            return;
        }
        let blend = |own: &mut f64, new: f64| *own += WEIGHT * (new - *own);
        blend(&mut self.each, carrying_out.as_secs_f64() / requests as f64);
        blend(&mut self.commit, commit.as_secs_f64());
    }
}

/// Something to be written.
pub(super) trait Work: Send {
    /// Entries it brings; none if it is something else.
    fn size(&self) -> usize;

    /// Whether it promises that no byte of something is left.
    fn erases(&self) -> bool;

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
    size: usize,
    erases: bool,
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
        Self { work: Some(work), size: 0, erases: false, done: None, finish, reply }
    }

    pub(super) fn of_size(self, size: usize) -> Self {
        Self { size, ..self }
    }

    pub(super) fn erasing(self) -> Self {
        Self { erases: true, ..self }
    }
}

impl<T: Send, R: Send, W, F> Work for Job<T, R, W, F>
where
    W: FnOnce(&mut Log<'_>) -> Result<T, StoreError> + Send,
    F: FnOnce(T, Flushed) -> R + Send,
{
    fn size(&self) -> usize {
        self.size
    }

    fn erases(&self) -> bool {
        self.erases
    }

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
    pen: SharedPen,
    /// Notes that wait, and until when they do.
    notes: Vec<Note>,
    due: Option<Instant>,
    /// How many notes were sent and not written.
    pending: Arc<AtomicUsize>,
    /// Work that was handed in and not begun; and this thread while it waits for the pen.
    queued: Arc<AtomicUsize>,
    /// Copies the write-ahead log; none where somebody else appends.
    copier: Option<Copier>,
    /// How many requests share a transaction.
    pace: Pace,
    /// Whether much was appended at once the last time.
    bulk: bool,
    /// What was erased may still be in the write-ahead log.
    unemptied: bool,
    /// Erasures that wait for it to be emptied, and until when they do. Nobody else waits with them.
    erasures: Vec<(Instant, Box<dyn Work>)>,
}

impl Writer {
    pub(super) fn new(
        pen: SharedPen,
        copier: Option<Copier>,
        pending: Arc<AtomicUsize>,
        queued: Arc<AtomicUsize>,
        unemptied: bool,
    ) -> Self {
        let due = unemptied.then(Instant::now);
        Self {
            pen,
            notes: Vec::new(),
            due,
            pending,
            queued,
            copier,
            pace: Pace::default(),
            bulk: false,
            unemptied,
            erasures: Vec::new(),
        }
    }

    /// Until nobody can ask any more.
    pub(super) fn run(mut self, messages: &Receiver<Message>) {
        loop {
            let first = match self.due {
                None => messages.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(due) => messages.recv_timeout(due.saturating_duration_since(Instant::now())),
            };
            let mut waiting = Vec::new();
            match first {
                Ok(first) => self.take(first, &mut waiting),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    self.write(waiting, messages);
                    while !self.notes.is_empty() {
                        self.write(Vec::new(), messages);
                    }
                    self.erasures.drain(..).for_each(|(_, work)| work.answer(Ok(Flushed { emptied: false })));
                    // Before the connection that writes: whoever closes last copies what is left.
                    drop(self.copier.take());
                    return;
                }
            }
            let most = WAITING * self.pace.together();
            self.drain(messages, &mut waiting, most);
            if !waiting.is_empty() || self.due.is_some_and(|due| due <= Instant::now()) {
                self.write(waiting, messages);
            }
        }
    }

    /// Takes what has come, until so many wait.
    fn drain(&mut self, messages: &Receiver<Message>, waiting: &mut Vec<Box<dyn Work>>, most: usize) {
        let mut entries: usize = waiting.iter().map(|work| work.size()).sum();
        while waiting.len() < most
            && entries < MOST_ENTRIES
            && let Ok(next) = messages.try_recv()
        {
            let count = waiting.len();
            self.take(next, waiting);
            entries += waiting[count..].iter().map(|work| work.size()).sum::<usize>();
        }
    }

    fn take(&mut self, message: Message, together: &mut Vec<Box<dyn Work>>) {
        match message {
            Message::Work(work) => together.push(work),
            // As soon as nothing is being written. It was no bulk that made it long.
            Message::Copy => (self.due, self.bulk) = (Some(Instant::now()), false),
            Message::Notes(notes) => {
                self.notes.extend(notes);
                // Many at once would keep a core for long: they are written in smaller parts.
                let patience = if self.notes.len() < MANY_NOTES { PATIENCE } else { Duration::ZERO };
                let due = Instant::now() + patience;
                self.due = Some(self.due.map_or(due, |before| before.min(due)));
            }
        }
    }

    fn write(&mut self, waiting: Vec<Box<dyn Work>>, messages: &Receiver<Message>) {
        self.due = None;
        let mut together = waiting;
        let pen = Arc::clone(&self.pen);
        // Until all are answered: they are told in the order of the log.
        let mut pen = self.hold(&pen);
        self.queued.fetch_sub(together.len(), Ordering::Relaxed);
        let outcome = if together.is_empty() && self.notes.is_empty() {
            Ok(())
        } else {
            let began = Instant::now();
            let done = pen.transaction(|connection| {
                let erased = self.within(connection, &mut together, messages)?;
                Ok((erased, Instant::now()))
            });
            done.map(|(erased, executed)| {
                self.unemptied |= erased;
                self.pace.learn(together.len(), executed - began, executed.elapsed());
            })
        };
        if outcome.is_err() {
            // They are dropped: nothing depends on them.
            let dropped = std::mem::take(&mut self.notes).len();
            self.pending.fetch_sub(dropped, Ordering::Relaxed);
        }
        if !self.notes.is_empty() {
            self.due = Some(Instant::now() + BETWEEN_NOTES);
        }
        let until = Instant::now() + PATIENCE_WITH_READERS;
        for work in together {
            match &outcome {
                Ok(()) if work.erases() => self.erasures.push((until, work)),
                Ok(()) => work.answer(Ok(Flushed { emptied: true })),
                Err(error) => work.answer(Err(error.clone())),
            }
        }
        self.settle(&mut pen);
        self.copy_log(&mut pen);
    }

    /// Takes the pen before anybody else who wants to write at once: they might have it again and again.
    fn hold<'a>(&self, pen: &'a SharedPen) -> MutexGuard<'a, Pen> {
        self.queued.fetch_add(1, Ordering::Relaxed);
        let own = hold(pen);
        self.queued.fetch_sub(1, Ordering::Relaxed);
        own
    }

    /// Has the write-ahead log copied where it has become long, after everybody was answered.
    fn copy_log(&self, pen: &mut Pen) {
        // What cannot be told now is told after the next commit.
        let (all, left) = pen.frames();
        let most = BULK_PART * pen.log_frames;
        if all == 0 || all < if self.bulk { most } else { pen.log_frames } {
            return;
        }
        match &self.copier {
            Some(copier) if left > pen.log_frames / LITTLE_PART && all < most => copier.begin(),
            _ => pen.copy(),
        }
    }

    /// Empties the write-ahead log of what was erased, and answers erasures.
    fn settle(&mut self, pen: &mut Pen) {
        let state = pen.empty(self.unemptied);
        match state {
            Ok(Emptied::Wholly) => {
                self.unemptied = false;
                self.erasures.drain(..).for_each(|(_, work)| work.answer(Ok(Flushed { emptied: true })));
            }
            Ok(why) => {
                let now = Instant::now();
                let over = |until: &Instant| why == Emptied::NoSpace || *until <= now;
                for (_, work) in self.erasures.extract_if(.., |(until, _)| over(until)) {
                    work.answer(Ok(Flushed { emptied: false }));
                }
                let next = now + if self.erasures.is_empty() { PATIENCE } else { LOOK_AGAIN };
                self.due = Some(self.due.map_or(next, |due| due.min(next)));
            }
            Err(error) => {
                self.erasures.drain(..).for_each(|(_, work)| work.answer(Err(error.clone())));
            }
        }
    }

    /// Whether something was erased. What comes meanwhile joins, as long as there is room in the transaction.
    fn within(
        &mut self,
        connection: &Connection,
        together: &mut Vec<Box<dyn Work>>,
        messages: &Receiver<Message>,
    ) -> Result<bool, StoreError> {
        let mut entries = 0;
        let mut done = 0;
        let mut erased = false;
        loop {
            let mut log = Log::begin(connection)?;
            let count = self.notes.len();
            let part = if together[done..].iter().any(|work| work.erases()) {
                // Before the rest, all of them: an erasure takes those of its context, too.
                count
            } else if done > 0 {
                // Once for each transaction, however many join it.
                0
            } else if count > TOO_MANY_NOTES {
                count / 4
            } else {
                count.min(NOTES_TOGETHER)
            };
            self.notes[..part].iter().try_for_each(|note| log.note(note))?;
            for work in &mut together[done..] {
                work.work(&mut log)?;
                entries += work.size();
            }
            erased |= log.finish()?;
            self.notes.drain(..part);
            self.pending.fetch_sub(part, Ordering::Relaxed);
            done = together.len();
            let mut more = Vec::new();
            if entries < MOST_ENTRIES {
                let most = self.pace.together().saturating_sub(done);
                self.drain(messages, &mut more, most);
                self.queued.fetch_sub(more.len(), Ordering::Relaxed);
            }
            together.append(&mut more);
            if together.len() == done {
                self.bulk = entries >= BULK;
                return Ok(erased);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slower_a_disk_the_more_share_a_transaction() {
        let after = |commit: Duration| {
            let mut pace = Pace::default();
            assert_eq!(pace.together(), FEWEST_TOGETHER);
            (0..100).for_each(|_| pace.learn(50, Duration::from_micros(300), commit));
            pace.together()
        };
        assert_eq!(after(Duration::from_micros(200)), FEWEST_TOGETHER);
        assert_eq!(after(Duration::from_millis(3)), 250);
        assert_eq!(after(Duration::from_millis(100)), MOST_TOGETHER);
    }
}
