//! A store in a file: SQLite with a write-ahead log, flushed before anything is answered.
//!
//! One writes at a time: a thread that takes requests that wait, does them in one transaction, commits, and then answers them: the longer a flush takes,
//! the more choices share one. Where nobody waits, whoever brings a single entry may do the same for it. Another thread copies the write-ahead log into the database meanwhile, others read. One process appends at a time; a lock file beside the database says so. Others
//! may read beside it, and change settings.

mod backup;
mod copying;
mod pen;
mod reading;
mod schema;
mod transaction;
mod wal;
mod writing;

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use tokio::sync::oneshot;

use crate::error::StoreError;
use crate::event::{CatalogId, Entry, Event, Kind};
use crate::fold::Fold;
use crate::note::{MOST_NOTES, Note, PresentationNote, Pruned, TrendSelection, Trends};
use crate::replay::{Folding, replay};
use crate::settings::{CatalogOption, Change, Changed, Settings};
use crate::{Answer, Appended, Erased, Head, Page, Selection, Snapshot, SnapshotKey, Store, Then, decide};
use copying::Copier;
use pen::{Desk, Emptied, Pen};
use transaction::Log;
use writing::{Flushed, Job, Message, Work, Writer};

/// Below it a WAL that two connections check-point may lose commits.
const LEAST_SQLITE: (&str, i32) = ("3.51.3", 3_051_003);
/// How long something waits for another connection to let go.
const PATIENCE: Duration = Duration::from_secs(10);
/// Threads that read: somebody who reads much does not keep others from the head.
const READERS: usize = 2;
/// Pages that the writer keeps in memory at most, unless it is told otherwise; in bytes.
const WRITER_CACHE: usize = 128 << 20;

/// How hard a commit is pressed onto the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Synchronous {
    /// Flushed before it is answered.
    #[default]
    Full,
    /// Left to the system: a loss of power may lose what was answered. For tests of the tests alone.
    Off,
}

/// What a database is opened for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// Everything. One process at a time; a database is made where there is none.
    #[default]
    Append,
    /// Reading, and changing settings, whoever appends. There has to be a database.
    Beside,
}

/// How to open a database.
#[derive(Clone, Copy, Debug, Default)]
pub struct SqliteSettings {
    /// What for.
    pub access: Access,
    /// How hard commits are pressed.
    pub synchronous: Synchronous,
    /// The layer under SQLite, by the name it was registered with; the system's own if none.
    pub vfs: Option<&'static str>,
    /// Bytes of pages that the writer keeps in memory at most; 128 MiB if none, for imports put hashes all over an index.
    pub page_bytes: Option<usize>,
    /// Frames of the write-ahead log, of a page each, from which on it is copied into the database; 4 096 if none, 16 MB.
    pub log_frames: Option<u32>,
    /// Whether whoever appends a single entry writes it with its own thread where nobody else writes, instead of having the thread that writes for all woken up: the
    /// call then waits for the flush before it returns. For tasks of a runtime of several threads, outside of a `LocalSet`; others are not asked to wait.
    pub at_once: bool,
}

/// What was found when a database was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opening {
    /// The last position: everything up to it is whole.
    pub seq: u64,
    /// Whether there was something of a commit that was not finished, and is left out. Nobody was told that it was recorded.
    pub unfinished: bool,
}

/// A store in a file.
pub struct Sqlite {
    file: String,
    path: PathBuf,
    settings: SqliteSettings,
    opening: Opening,
    writer: Option<Desk>,
    /// Notes that wait.
    pending: Arc<AtomicUsize>,
    reader: Option<Sender<Reading>>,
    writing: Option<JoinHandle<()>>,
    readers: Vec<JoinHandle<()>>,
    /// Held as long as this process appends.
    _lock: Option<File>,
}

/// Something to be read.
type Reading = Box<dyn FnOnce(&Connection) + Send>;

impl Sqlite {
    /// Opens a database to append to, or makes one.
    ///
    /// # Errors
    /// If it cannot be, is in use by another process, or of a newer format.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Self::open_with(path, SqliteSettings::default())
    }

    /// As [`open`](Self::open), with settings.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with(path: &Path, settings: SqliteSettings) -> Result<Self, StoreError> {
        if rusqlite::version_number() < LEAST_SQLITE.1 {
            return Err(StoreError::Sqlite { found: rusqlite::version().to_owned(), least: LEAST_SQLITE.0 });
        }
        let file = path.display().to_string();
        let problem = |error: &dyn ToString| StoreError::Database { file: file.clone(), problem: error.to_string() };
        let appends = settings.access == Access::Append;
        // Before anything is written, even beside it: what is not ours is left as it is.
        let found = look(path, &file, settings)?;
        if !appends && found == 0 {
            return Err(StoreError::NoDatabase { file });
        }
        // Whoever appends may be in the middle of a commit; without one, what is not finished never will be.
        let lock = if appends { Some(lock(path)?) } else { lock(path).ok() };
        let unfinished = lock.is_some() && wal::is_unfinished(&beside(path, "-wal"));
        let lock = lock.filter(|_| appends);
        let writing = connect(path, &file, settings)?;
        let mut unemptied = false;
        if appends {
            schema::prepare(&writing, &file)?;
            // An erasure that was cut off after its commit left what it erased in the write-ahead log.
            // Without room everything can be read all the same; the writer empties it when there is some.
            unemptied = pen::empty(&writing).map_err(|error| problem(&error))? != Emptied::Wholly;
        } else if schema::format(&writing, &file)? < schema::FORMAT {
            // Whoever appends to it knows the older one alone.
            let _alone = self::lock(path)?;
            schema::prepare(&writing, &file)?;
        }
        let pages = i64::try_from(settings.page_bytes.unwrap_or(WRITER_CACHE) / 1_024).unwrap_or(i64::MAX);
        // Below zero it is in KiB.
        let set = writing.pragma_update(None, "cache_size", -pages.max(1));
        set.and_then(|()| writing.pragma_update(None, "wal_autocheckpoint", 0)).map_err(|error| problem(&error))?;
        let copier =
            if appends { Some(Copier::new(connect(path, &file, settings)?).map_err(|error| problem(&error))?) } else { None };
        let opening = Opening { seq: reading::head(&writing)?.seq, unfinished };
        let (writer, messages) = channel();
        let pending = Arc::new(AtomicUsize::new(0));
        let spawn = |name: &str, run: Box<dyn FnOnce() + Send>| {
            std::thread::Builder::new().name(name.to_owned()).spawn(run).map_err(|error| problem(&error))
        };
        let (pen, queued) = (Pen::new(writing, settings.log_frames), Arc::new(AtomicUsize::new(0)));
        let own = Writer::new(Arc::clone(&pen), copier, Arc::clone(&pending), Arc::clone(&queued), unemptied);
        let thread = spawn("unloop-writer", Box::new(move || own.run(&messages)))?;
        let writer = Desk::new(writer, pen, queued, settings.at_once);
        let (reader, jobs) = channel::<Reading>();
        let jobs = Arc::new(Mutex::new(jobs));
        let mut readers = Vec::new();
        for _ in 0..READERS {
            let connection = connect(path, &file, settings)?;
            connection.pragma_update(None, "query_only", true).map_err(|error| problem(&error))?;
            let jobs = Arc::clone(&jobs);
            let next = move || jobs.lock().unwrap_or_else(PoisonError::into_inner).recv().ok();
            readers.push(spawn(
                "unloop-reader",
                Box::new(move || {
                    while let Some(job) = next() {
                        job(&connection);
                    }
                }),
            )?);
        }
        let (writer, reader, path) = (Some(writer), Some(reader), path.to_owned());
        Ok(Self { file, path, settings, opening, writer, pending, reader, writing: Some(thread), readers, _lock: lock })
    }

    /// What was found when it was opened.
    pub fn opening(&self) -> Opening {
        self.opening
    }

    /// Has the writer do something, and waits until it is flushed.
    fn ask<R: Send + 'static>(&self, job: impl FnOnce(oneshot::Sender<Result<R, StoreError>>) -> Box<dyn Work>) -> Answer<'_, R> {
        let (reply, answer) = oneshot::channel();
        let work = job(reply);
        let sent = self.writer.as_ref().is_some_and(|writer| writer.hand_in(work));
        wait(sent, answer)
    }

    /// The same for what only the process that appends may do.
    fn ask_appender<R: Send + 'static>(
        &self,
        job: impl FnOnce(oneshot::Sender<Result<R, StoreError>>) -> Box<dyn Work>,
    ) -> Answer<'_, R> {
        match self.settings.access {
            Access::Append => self.ask(job),
            Access::Beside => refuse(StoreError::Beside { file: self.file.clone() }),
        }
    }

    /// Has a reader do something.
    fn look<T: Send + 'static>(&self, job: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static) -> Answer<'_, T> {
        let (reply, answer) = oneshot::channel();
        let job: Reading = Box::new(move |connection| drop(reply.send(job(connection))));
        let sent = self.reader.as_ref().is_some_and(|reader| reader.send(job).is_ok());
        wait(sent, answer)
    }
}

fn refuse<'a, T: Send + 'a>(error: StoreError) -> Answer<'a, T> {
    Box::pin(std::future::ready(Err(error)))
}

fn wait<'a, T: Send + 'a>(sent: bool, answer: oneshot::Receiver<Result<T, StoreError>>) -> Answer<'a, T> {
    Box::pin(async move { if sent { answer.await.unwrap_or(Err(StoreError::Closed)) } else { Err(StoreError::Closed) } })
}

impl Drop for Sqlite {
    fn drop(&mut self) {
        // Without senders the threads end, after what waits is done. The writer last: whoever closes last copies the write-ahead log into the
        // database, and two that close at once leave it to each other.
        // What is done with answers may hold the last of whoever owns this: a thread does not wait for itself.
        let join = |thread: JoinHandle<()>| {
            if thread.thread().id() != std::thread::current().id() {
                let _ = thread.join();
            }
        };
        drop(self.reader.take());
        self.readers.drain(..).for_each(join);
        drop(self.writer.take());
        self.writing.take().into_iter().for_each(join);
    }
}

impl Store for Sqlite {
    fn append(&self, entries: Vec<Entry>) -> Answer<'_, Vec<Appended>> {
        let entries = match decide::prepare(entries) {
            Ok(prepared) => prepared,
            Err(error) => return refuse(error),
        };
        let size = entries.len();
        let work = move |log: &mut Log<'_>| entries.iter().map(|entry| entry.append(log)).collect();
        self.ask_appender(|reply| Box::new(Job::new(work, |done, _| done, reply).of_size(size)))
    }

    fn append_then(&self, mut entry: Entry, then: Then) -> Answer<'_, Appended> {
        let asked = match decide::asked(&mut entry) {
            Ok(asked) => asked,
            Err(error) => return refuse(StoreError::Body { place: 1, error }),
        };
        let work = move |log: &mut Log<'_>| {
            let answer = decide::append(log, entry.catalog, entry.context.as_deref(), &asked, entry.time)?;
            Ok((answer, entry))
        };
        let finish = |(answer, entry): (Appended, Entry), _| {
            // A fault of whoever asked is no end of the one who writes: it is in the log.
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| then(&answer, entry)));
            answer
        };
        self.ask_appender(|reply| Box::new(Job::new(work, finish, reply).of_size(1)))
    }

    fn head(&self) -> Answer<'_, Head> {
        self.look(reading::head)
    }

    fn read(&self, selection: Selection) -> Answer<'_, Vec<Event>> {
        self.look(move |connection| reading::events(connection, &selection))
    }

    fn fold(&self, folding: Folding) -> Answer<'_, Fold> {
        self.look(move |connection| {
            // One transaction: nothing moves between snapshot and log.
            let transaction = connection.unchecked_transaction().map_err(|error| reading::problem(connection, &error))?;
            replay(&*transaction, folding)
        })
    }

    fn contexts(&self, catalog: CatalogId, page: Page) -> Answer<'_, Vec<String>> {
        self.look(move |connection| reading::contexts(connection, catalog, &page))
    }

    fn long_tails(&self, catalog: CatalogId, least: u64) -> Answer<'_, Vec<String>> {
        self.look(move |connection| reading::long_tails(connection, catalog, least))
    }

    fn snapshot(&self, key: SnapshotKey) -> Answer<'_, Option<Snapshot>> {
        self.look(move |connection| reading::snapshot(connection, &key))
    }

    fn put_snapshots(&self, snapshots: Vec<(SnapshotKey, Snapshot)>) -> Answer<'_, ()> {
        let work = move |log: &mut Log<'_>| snapshots.iter().try_for_each(|(key, kept)| decide::put_snapshot(log, key, kept));
        self.ask_appender(|reply| Box::new(Job::new(work, |(), _| (), reply)))
    }

    fn erase(&self, catalog: CatalogId, context: Option<String>, time: i64) -> Answer<'_, Erased> {
        let work = move |log: &mut Log<'_>| decide::erase(log, catalog, context.as_deref(), time);
        let finish = |seq, flushed: Flushed| Erased { seq, emptied: flushed.emptied };
        self.ask_appender(|reply| Box::new(Job::new(work, finish, reply).erasing()))
    }

    fn settings(&self) -> Answer<'_, Settings> {
        self.look(reading::settings)
    }

    fn find(&self, catalog: CatalogId, kind: Kind, id: String) -> Answer<'_, Option<Event>> {
        self.look(move |connection| reading::find(connection, catalog, kind, &id))
    }

    fn options(&self, catalog: CatalogId) -> Answer<'_, Vec<CatalogOption>> {
        self.look(move |connection| reading::options(connection, catalog))
    }

    fn change(&self, change: Change) -> Answer<'_, Changed> {
        if let Err(error) = change.check() {
            return refuse(error.into());
        }
        let work = move |log: &mut Log<'_>| decide::change(log, &change);
        self.ask(|reply| Box::new(Job::new(work, |done, _| done, reply)))
    }

    fn note(&self, notes: Vec<Note>) {
        let count = notes.len();
        if self.pending.fetch_add(count, Ordering::Relaxed) + count > MOST_NOTES {
            // Nobody waits for them, and nothing depends on them.
            self.pending.fetch_sub(count, Ordering::Relaxed);
        } else if let Some(writer) = &self.writer {
            let _ = writer.send(Message::Notes(notes));
        }
    }

    fn latest(&self, catalog: CatalogId, context: Option<String>, limit: usize) -> Answer<'_, Vec<Event>> {
        self.look(move |connection| reading::latest(connection, catalog, context.as_deref(), limit))
    }

    fn presentations(&self, catalog: CatalogId, context: Option<String>, limit: usize) -> Answer<'_, Vec<PresentationNote>> {
        self.look(move |connection| reading::presentations(connection, catalog, context.as_deref(), limit))
    }

    fn trends(&self, selection: TrendSelection) -> Answer<'_, Trends> {
        self.look(move |connection| reading::trends(connection, &selection))
    }

    fn served(&self, catalog: CatalogId, after: i64, upto: i64) -> Answer<'_, Vec<(u32, f64)>> {
        self.look(move |connection| reading::served(connection, catalog, after, upto))
    }

    fn bytes(&self) -> Answer<'_, u64> {
        self.look(reading::bytes)
    }

    fn prune(&self, now: i64) -> Answer<'_, Pruned> {
        let work = move |log: &mut Log<'_>| log.prune(now);
        self.ask_appender(|reply| Box::new(Job::new(work, |done, _| done, reply)))
    }
}

/// A file that belongs to a database.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(ending);
    path.with_file_name(name)
}

/// One process appends: the lock beside the database is held until it ends, however it ends.
fn lock(path: &Path) -> Result<File, StoreError> {
    let beside = beside(path, ".lock");
    let file = beside.display().to_string();
    let problem = |error: std::io::Error| StoreError::Database { file: file.clone(), problem: error.to_string() };
    let lock = private(true).open(&beside).map_err(problem)?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(std::fs::TryLockError::WouldBlock) => Err(StoreError::InUse { file: path.display().to_string() }),
        Err(std::fs::TryLockError::Error(error)) => Err(problem(error)),
    }
}

/// The format of what lies there, without changing it: 0 for nothing, or an empty file.
fn look(path: &Path, file: &str, settings: SqliteSettings) -> Result<i64, StoreError> {
    if std::fs::metadata(path).map_or(true, |own| own.is_file() && own.len() == 0) {
        return Ok(0);
    }
    let open = |flags| match settings.vfs {
        Some(vfs) => Connection::open_with_flags_and_vfs(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX, vfs),
        None => Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX),
    };
    let told = |error: rusqlite::Error| reading::told(file, &error);
    let mut connection = open(OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(told)?;
    let first = connection.query_row("SELECT count(*) FROM sqlite_master", [], |_| Ok(()));
    if first.is_err_and(|error| error.sqlite_error_code() == Some(ErrorCode::ReadOnly)) {
        // Cut off while it was made: it has to be rolled back before it can be read.
        connection = open(OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(told)?;
    }
    schema::format(&connection, file)
}

/// How files are opened: for their owner alone.
fn private(create: bool) -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(create).truncate(false);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    options
}

fn connect(path: &Path, file: &str, settings: SqliteSettings) -> Result<Connection, StoreError> {
    let problem = |problem: &dyn ToString| StoreError::Database { file: file.to_owned(), problem: problem.to_string() };
    // SQLite gives its other files the permissions of this one.
    private(settings.access == Access::Append).open(path).map_err(|error| problem(&error))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = match settings.vfs {
        Some(vfs) => Connection::open_with_flags_and_vfs(path, flags, vfs),
        None => Connection::open_with_flags(path, flags),
    };
    let connection = opened.map_err(|error| problem(&error))?;
    let prepare = || -> rusqlite::Result<()> {
        connection.busy_timeout(PATIENCE)?;
        // Plans do not depend on what is bound: else statements beside a partial index are planned anew whenever that changes, for 0.1 ms.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", if settings.synchronous == Synchronous::Full { "FULL" } else { "OFF" })?;
        connection.pragma_update(None, "secure_delete", true)
    };
    prepare().map_err(|error| problem(&error))?;
    Ok(connection)
}
