//! The tables, and how older ones become these.

use rusqlite::Connection;

use crate::error::StoreError;

/// The newest format.
pub(super) const FORMAT: i64 = 1;

/// From each format to the next. What is here once stays as it is: databases were made with it.
const STEPS: [&str; FORMAT as usize] = ["
    CREATE TABLE head (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        seq INTEGER NOT NULL
    ) STRICT;
    INSERT INTO head VALUES (1, 0);
    CREATE TABLE events (
        seq INTEGER PRIMARY KEY,
        catalog INTEGER NOT NULL,
        context TEXT,
        kind TEXT NOT NULL CHECK (kind IN ('choice', 'import', 'withdrawal', 'erasure')),
        id TEXT NOT NULL,
        body TEXT,
        time INTEGER NOT NULL,
        UNIQUE (catalog, kind, id)
    ) STRICT;
    CREATE INDEX events_of_context ON events (catalog, context, seq);
    CREATE TABLE snapshots (
        catalog INTEGER NOT NULL,
        context TEXT NOT NULL,
        seq INTEGER NOT NULL,
        bytes BLOB NOT NULL,
        PRIMARY KEY (catalog, context)
    ) STRICT, WITHOUT ROWID;
"];

/// Makes the tables, or brings older ones up to date, each step in a transaction.
pub(super) fn prepare(connection: &Connection, file: &str) -> Result<(), StoreError> {
    let problem = |error: rusqlite::Error| StoreError::Database { file: file.to_owned(), problem: error.to_string() };
    let found: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(problem)?;
    if !(0..=FORMAT).contains(&found) {
        return Err(StoreError::Newer { file: file.to_owned(), found, known: FORMAT });
    }
    for (format, step) in STEPS.iter().enumerate().skip(found as usize) {
        let text = format!("BEGIN IMMEDIATE; {step} PRAGMA user_version = {}; COMMIT;", format + 1);
        connection.execute_batch(&text).map_err(problem)?;
    }
    Ok(())
}
