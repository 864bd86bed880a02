//! The thread that writes: what waits becomes one transaction, and is answered when that is flushed.

use std::sync::mpsc::Receiver;

use rusqlite::{Connection, ErrorCode, OptionalExtension, params};
use tokio::sync::oneshot;

use super::reading::{key, parse};
use crate::decide::{self, Found, Pushed, Transaction};
use crate::error::StoreError;
use crate::event::{CatalogId, Entry, Kind};
use crate::{Appended, Snapshot};

/// Requests that share a transaction at most: bounds what a failure can take with it, and how long the first waits.
const MOST_TOGETHER: usize = 1_024;

type Reply<T> = oneshot::Sender<Result<T, StoreError>>;

/// Something to be written.
pub(super) enum Request {
    Append { entries: Vec<Entry>, reply: Reply<Vec<Appended>> },
    PutSnapshot { catalog: CatalogId, context: Option<String>, snapshot: Snapshot, reply: Reply<()> },
    Erase { catalog: CatalogId, context: String, time: i64, reply: Reply<Option<u64>> },
}

pub(super) struct Writer {
    connection: Connection,
    /// What broke it: nobody knows what is on the disk, so nothing more is written.
    broken: Option<StoreError>,
}

impl Writer {
    pub(super) fn new(connection: Connection) -> Self {
        connection.set_prepared_statement_cache_capacity(32);
        Self { connection, broken: None }
    }

    /// Until nobody can ask any more.
    pub(super) fn run(mut self, requests: &Receiver<Request>) {
        while let Ok(first) = requests.recv() {
            let mut together = vec![first];
            while together.len() < MOST_TOGETHER
                && let Ok(next) = requests.try_recv()
            {
                together.push(next);
            }
            self.write(together);
        }
    }

    fn write(&mut self, requests: Vec<Request>) {
        if let Some(error) = &self.broken {
            requests.into_iter().for_each(|request| request.refuse(error));
            return;
        }
        // Kept apart from the requests, so that a failure can still be answered.
        let mut results = Vec::with_capacity(requests.len());
        let outcome = self.transaction(&requests, &mut results);
        match outcome {
            Ok(()) => requests.into_iter().zip(results).for_each(|(request, result)| request.answer(result)),
            Err(error) => {
                if !matches!(error, StoreError::Full) {
                    self.broken = Some(error.clone());
                }
                requests.into_iter().for_each(|request| request.refuse(&error));
            }
        }
    }

    fn transaction(&mut self, requests: &[Request], results: &mut Vec<Written>) -> Result<(), StoreError> {
        self.connection.execute_batch("BEGIN IMMEDIATE").map_err(|error| broken(&error))?;
        let done =
            self.within(requests, results).and_then(|()| self.connection.execute_batch("COMMIT").map_err(|error| broken(&error)));
        if let Err(error) = done {
            // It may have been rolled back already; then there is nothing to do.
            let rolled_back = self.connection.is_autocommit() || self.connection.execute_batch("ROLLBACK").is_ok();
            return Err(if rolled_back { error } else { broken_by("a transaction that cannot be undone") });
        }
        if results.iter().any(|result| matches!(result, Written::Erase(Some(_)))) {
            // What was erased is still in the write-ahead log until that is emptied.
            let emptied = self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
            if emptied.map_err(|error| broken(&error))? != 0 {
                return Err(broken_by("a reader kept the write-ahead log from being emptied"));
            }
        }
        Ok(())
    }

    fn within(&mut self, requests: &[Request], results: &mut Vec<Written>) -> Result<(), StoreError> {
        let mut log = Log::begin(&self.connection)?;
        for request in requests {
            results.push(match request {
                Request::Append { entries, .. } => {
                    Written::Append(entries.iter().map(|entry| decide::append(&mut log, entry)).collect::<Result<_, _>>()?)
                }
                Request::PutSnapshot { catalog, context, snapshot, .. } => {
                    log.put_snapshot(*catalog, context.as_deref(), snapshot)?;
                    Written::Put
                }
                Request::Erase { catalog, context, time, .. } => Written::Erase(log.erase(*catalog, context, *time)?),
            });
        }
        log.finish()
    }
}

/// What a request came to, not yet flushed.
enum Written {
    Append(Vec<Appended>),
    Put,
    Erase(Option<u64>),
}

impl Request {
    fn refuse(self, error: &StoreError) {
        // Whoever asked may have gone.
        match self {
            Self::Append { reply, .. } => drop(reply.send(Err(error.clone()))),
            Self::PutSnapshot { reply, .. } => drop(reply.send(Err(error.clone()))),
            Self::Erase { reply, .. } => drop(reply.send(Err(error.clone()))),
        }
    }

    fn answer(self, result: Written) {
        match (self, result) {
            (Self::Append { reply, .. }, Written::Append(result)) => drop(reply.send(Ok(result))),
            (Self::PutSnapshot { reply, .. }, Written::Put) => drop(reply.send(Ok(()))),
            (Self::Erase { reply, .. }, Written::Erase(result)) => drop(reply.send(Ok(result))),
            (request, _) => {
                debug_assert!(false, "invariant: results come in the order of requests");
                request.refuse(&broken_by("an answer to another request"));
            }
        }
    }
}

fn broken(error: &rusqlite::Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => StoreError::Full,
        _ => broken_by(&error.to_string()),
    }
}

fn broken_by(problem: &str) -> StoreError {
    StoreError::Broken { problem: problem.to_owned() }
}

/// The tables inside a transaction.
struct Log<'a> {
    connection: &'a Connection,
    /// The last position; into its row at the end of the transaction.
    head: u64,
}

impl<'a> Log<'a> {
    /// The lock is held already: nobody else moves the head.
    fn begin(connection: &'a Connection) -> Result<Self, StoreError> {
        let head = super::reading::head(connection).map_err(|error| broken_by(&error.to_string()))?.seq;
        Ok(Self { connection, head })
    }

    fn finish(&self) -> Result<(), StoreError> {
        let seq = i64::try_from(self.head).map_err(|error| broken_by(&error.to_string()))?;
        self.execute("UPDATE head SET seq = ?1 WHERE seq <> ?1", params![seq]).map(|_| ())
    }

    fn execute(&self, text: &str, values: impl rusqlite::Params) -> Result<usize, StoreError> {
        let done = self.connection.prepare_cached(text).and_then(|mut statement| statement.execute(values));
        done.map_err(|error| broken(&error))
    }

    fn put_snapshot(&self, catalog: CatalogId, context: Option<&str>, snapshot: &Snapshot) -> Result<(), StoreError> {
        let seq = i64::try_from(snapshot.seq).unwrap_or(i64::MAX);
        // One from before an erasure may hold what was erased.
        let text = "INSERT INTO snapshots (catalog, context, seq, bytes) SELECT ?1, ?2, ?3, ?4 \
                    WHERE NOT EXISTS (SELECT 1 FROM events WHERE catalog = ?1 AND context IS NULL AND kind = 'erasure' AND seq > ?3) \
                    ON CONFLICT (catalog, context) DO UPDATE SET seq = excluded.seq, bytes = excluded.bytes WHERE excluded.seq > seq";
        self.execute(text, params![catalog.0, key(context), seq, snapshot.bytes]).map(|_| ())
    }

    fn erase(&mut self, catalog: CatalogId, context: &str, time: i64) -> Result<Option<u64>, StoreError> {
        let blanked = "UPDATE events SET context = NULL, body = NULL WHERE catalog = ?1 AND context = ?2";
        if self.execute(blanked, params![catalog.0, context])? == 0 {
            return Ok(None);
        }
        self.execute("DELETE FROM snapshots WHERE catalog = ?1 AND context IN (?2, '')", params![catalog.0, context])?;
        let id = (self.head + 1).to_string();
        self.push(Pushed { catalog, context: None, kind: Kind::Erasure, id: &id, body: None, time })
    }
}

impl Transaction for Log<'_> {
    fn find(&mut self, catalog: CatalogId, kind: Kind, id: &str) -> Result<Option<Found>, StoreError> {
        let text = "SELECT seq, context, body FROM events WHERE catalog = ?1 AND kind = ?2 AND id = ?3";
        let found = self.connection.prepare_cached(text).and_then(|mut query| {
            let row = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)? as u64, row.get(1)?, row.get::<_, Option<String>>(2)?));
            query.query_row(params![catalog.0, kind.name(), id], row).optional()
        });
        let Some((seq, context, body)) = found.map_err(|error| broken(&error))? else { return Ok(None) };
        Ok(Some(Found { seq, context, body: body.map(|text| parse(seq, &text)).transpose()? }))
    }

    fn push(&mut self, event: Pushed<'_>) -> Result<Option<u64>, StoreError> {
        let Pushed { catalog, context, kind, id, body, time } = event;
        let seq = i64::try_from(self.head + 1).map_err(|error| broken_by(&error.to_string()))?;
        let body = body.map(serde_json::to_string).transpose().map_err(|error| broken_by(&error.to_string()))?;
        let text = "INSERT INTO events (seq, catalog, context, kind, id, body, time) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) \
                    ON CONFLICT (catalog, kind, id) DO NOTHING";
        let put = self.execute(text, params![seq, catalog.0, context, kind.name(), id, body, time])?;
        self.head += put as u64;
        Ok((put > 0).then_some(self.head))
    }
}
