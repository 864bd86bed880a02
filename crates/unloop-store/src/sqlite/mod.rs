//! A store in a file: SQLite with a write-ahead log, flushed before anything is answered.
//!
//! One thread writes. It takes all requests that wait, does them in one transaction, commits, and then answers all: the more writers
//! wait, the more choices share a flush. Another thread reads. One process appends at a time; a lock file beside the database says so.

mod reading;
mod schema;
mod writing;

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use rusqlite::{Connection, OpenFlags};
use tokio::sync::oneshot;

use crate::decide;
use crate::error::StoreError;
use crate::event::{CatalogId, Entry, Event};
use crate::{Answer, Appended, Head, Selection, Snapshot, Store};
use writing::{Request, Writer};

/// Below it a WAL that two connections check-point may lose commits.
const LEAST_SQLITE: (&str, i32) = ("3.51.3", 3_051_003);

/// How hard a commit is pressed onto the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Synchronous {
    /// Flushed before it is answered.
    #[default]
    Full,
    /// Left to the system: a loss of power may lose what was answered. For tests of the tests alone.
    Off,
}

/// How to open a database.
#[derive(Clone, Copy, Debug, Default)]
pub struct SqliteSettings {
    /// How hard commits are pressed.
    pub synchronous: Synchronous,
    /// The layer under SQLite, by the name it was registered with; the system's own if none.
    pub vfs: Option<&'static str>,
}

/// A store in a file.
pub struct Sqlite {
    writer: Option<Sender<Request>>,
    reader: Option<Sender<Reading>>,
    threads: Vec<JoinHandle<()>>,
    /// Held as long as this process appends.
    _lock: File,
}

/// Something to be read.
type Reading = Box<dyn FnOnce(&Connection) + Send>;

impl Sqlite {
    /// Opens a database, or makes one.
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
        let lock = lock(path)?;
        let file = path.display().to_string();
        let writing = connect(path, &file, settings)?;
        schema::prepare(&writing, &file)?;
        let problem = |error: rusqlite::Error| StoreError::Database { file: file.clone(), problem: error.to_string() };
        // An erasure that was cut off after its commit left what it erased in the write-ahead log.
        writing.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).map_err(problem)?;
        let reading = connect(path, &file, settings)?;
        reading.pragma_update(None, "query_only", true).map_err(problem)?;
        let (writer, requests) = channel();
        let (reader, jobs) = channel::<Reading>();
        let spawn = |name: &str, run: Box<dyn FnOnce() + Send>| {
            let thread = std::thread::Builder::new().name(name.to_owned()).spawn(run);
            thread.map_err(|error| StoreError::Database { file: file.clone(), problem: error.to_string() })
        };
        let threads = vec![
            spawn("unloop-writer", Box::new(move || Writer::new(writing).run(&requests)))?,
            spawn("unloop-reader", Box::new(move || jobs.into_iter().for_each(|job| job(&reading))))?,
        ];
        Ok(Self { writer: Some(writer), reader: Some(reader), threads, _lock: lock })
    }

    /// Has the writer do something, and waits until it is flushed.
    fn ask<T: Send + 'static>(&self, request: impl FnOnce(oneshot::Sender<Result<T, StoreError>>) -> Request) -> Answer<'_, T> {
        let (reply, answer) = oneshot::channel();
        let sent = self.writer.as_ref().is_some_and(|writer| writer.send(request(reply)).is_ok());
        wait(sent, answer)
    }

    /// Has the reader do something.
    fn look<T: Send + 'static>(&self, job: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static) -> Answer<'_, T> {
        let (reply, answer) = oneshot::channel();
        let job: Reading = Box::new(move |connection| drop(reply.send(job(connection))));
        let sent = self.reader.as_ref().is_some_and(|reader| reader.send(job).is_ok());
        wait(sent, answer)
    }
}

fn wait<'a, T: Send + 'a>(sent: bool, answer: oneshot::Receiver<Result<T, StoreError>>) -> Answer<'a, T> {
    Box::pin(async move { if sent { answer.await.unwrap_or(Err(StoreError::Closed)) } else { Err(StoreError::Closed) } })
}

impl Drop for Sqlite {
    fn drop(&mut self) {
        // Without senders both threads end, after what waits is done.
        drop((self.writer.take(), self.reader.take()));
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Store for Sqlite {
    fn append(&self, entries: Vec<Entry>) -> Answer<'_, Vec<Appended>> {
        if let Err(error) = decide::check(&entries) {
            return Box::pin(std::future::ready(Err(error)));
        }
        self.ask(|reply| Request::Append { entries, reply })
    }

    fn head(&self) -> Answer<'_, Head> {
        self.look(reading::head)
    }

    fn read(&self, selection: Selection) -> Answer<'_, Vec<Event>> {
        self.look(move |connection| reading::events(connection, &selection))
    }

    fn snapshot(&self, catalog: CatalogId, context: Option<String>) -> Answer<'_, Option<Snapshot>> {
        self.look(move |connection| reading::snapshot(connection, catalog, context.as_deref()))
    }

    fn put_snapshot(&self, catalog: CatalogId, context: Option<String>, snapshot: Snapshot) -> Answer<'_, ()> {
        self.ask(|reply| Request::PutSnapshot { catalog, context, snapshot, reply })
    }

    fn erase(&self, catalog: CatalogId, context: String, time: i64) -> Answer<'_, Option<u64>> {
        self.ask(|reply| Request::Erase { catalog, context, time, reply })
    }
}

/// One process appends: the lock beside the database is held until it ends, however it ends.
fn lock(path: &Path) -> Result<File, StoreError> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".lock");
    let beside: PathBuf = path.with_file_name(name);
    let file = beside.display().to_string();
    let problem = |error: std::io::Error| StoreError::Database { file: file.clone(), problem: error.to_string() };
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    private(&mut options);
    let lock = options.open(&beside).map_err(problem)?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(std::fs::TryLockError::WouldBlock) => Err(StoreError::InUse { file }),
        Err(std::fs::TryLockError::Error(error)) => Err(problem(error)),
    }
}

/// Files are for their owner alone.
fn private(options: &mut OpenOptions) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    #[cfg(not(unix))]
    let _ = options;
}

fn connect(path: &Path, file: &str, settings: SqliteSettings) -> Result<Connection, StoreError> {
    let problem = |problem: &dyn ToString| StoreError::Database { file: file.to_owned(), problem: problem.to_string() };
    // SQLite gives its other files the permissions of this one.
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    private(&mut options);
    options.open(path).map_err(|error| problem(&error))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = match settings.vfs {
        Some(vfs) => Connection::open_with_flags_and_vfs(path, flags, vfs),
        None => Connection::open_with_flags(path, flags),
    };
    let connection = opened.map_err(|error| problem(&error))?;
    let prepare = || -> rusqlite::Result<()> {
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", if settings.synchronous == Synchronous::Full { "FULL" } else { "OFF" })?;
        connection.pragma_update(None, "secure_delete", true)?;
        connection.busy_timeout(std::time::Duration::from_secs(10))
    };
    prepare().map_err(|error| problem(&error))?;
    Ok(connection)
}
