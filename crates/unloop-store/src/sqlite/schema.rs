//! The tables, and how older ones become these.

use rusqlite::Connection;

use super::reading;
use crate::error::StoreError;

/// The newest format.
pub(super) const FORMAT: i64 = 2;

/// From each format to the next. What is here once stays as it is: databases were made with it.
const STEPS: [&str; FORMAT as usize] = [
    "
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
",
    // Tables with large values have rows of their own numbers: a key beside a value that fills several pages is read with all of it.
    // A list of kinds to check would be made into a table for each row. Ids come first in their index: they decide nearly every comparison. Erasures are few, and asked for often.
    // Settings and notes. Catalogs that only events knew get names. Snapshots are a cache: they go, and come back with their bucket.
    "
    ALTER TABLE events RENAME TO former;
    DROP INDEX events_of_context;
    CREATE TABLE events (
        seq INTEGER PRIMARY KEY,
        catalog INTEGER NOT NULL,
        context TEXT,
        kind TEXT NOT NULL CHECK (kind = 'choice' OR kind = 'import' OR kind = 'withdrawal' OR kind = 'erasure'),
        id TEXT NOT NULL,
        body TEXT,
        time INTEGER NOT NULL,
        UNIQUE (id, kind, catalog)
    ) STRICT;
    INSERT INTO events SELECT * FROM former;
    DROP TABLE former;
    CREATE INDEX events_of_context ON events (catalog, context) WHERE context IS NOT NULL;
    CREATE INDEX erasures ON events (catalog) WHERE kind = 'erasure';
    ALTER TABLE head ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE head ADD COLUMN catalogs INTEGER NOT NULL DEFAULT 0;
    CREATE TABLE catalogs (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        settings TEXT NOT NULL,
        revision INTEGER NOT NULL
    ) STRICT;
    INSERT INTO catalogs (id, name, settings, revision) SELECT DISTINCT catalog, 'catalog-' || catalog, '{}', 1 FROM events;
    UPDATE head SET revision = 1, catalogs = (SELECT max(id) FROM catalogs) WHERE EXISTS (SELECT 1 FROM catalogs);
    CREATE TABLE options (
        catalog INTEGER NOT NULL,
        place INTEGER NOT NULL,
        name TEXT NOT NULL,
        label TEXT,
        weight REAL,
        active INTEGER NOT NULL CHECK (active IN (0, 1)),
        PRIMARY KEY (catalog, place),
        UNIQUE (catalog, name)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE keys (
        id TEXT PRIMARY KEY,
        hash BLOB NOT NULL UNIQUE,
        label TEXT NOT NULL,
        scopes TEXT NOT NULL,
        catalog INTEGER,
        created INTEGER NOT NULL,
        expires INTEGER
    ) STRICT, WITHOUT ROWID;
    DROP TABLE snapshots;
    CREATE TABLE snapshots (
        catalog INTEGER NOT NULL,
        context TEXT NOT NULL,
        bucket INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        bytes BLOB NOT NULL,
        UNIQUE (catalog, context, bucket)
    ) STRICT;
    CREATE TABLE presentations (
        id TEXT PRIMARY KEY,
        catalog INTEGER NOT NULL,
        context TEXT,
        body TEXT NOT NULL,
        time INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX presentations_of_context ON presentations (catalog, context);
    CREATE INDEX presentations_by_time ON presentations (catalog, time);
    CREATE TABLE trends (
        catalog INTEGER NOT NULL,
        time INTEGER NOT NULL,
        option INTEGER NOT NULL,
        served REAL NOT NULL,
        shown REAL NOT NULL,
        chosen REAL NOT NULL,
        mean REAL NOT NULL,
        p_best REAL NOT NULL,
        PRIMARY KEY (catalog, time, option)
    ) STRICT, WITHOUT ROWID;
",
];

/// Makes the tables, or brings older ones up to date, each step in a transaction.
pub(super) fn prepare(connection: &Connection, file: &str) -> Result<(), StoreError> {
    let problem = |error: rusqlite::Error| StoreError::Database { file: file.to_owned(), problem: error.to_string() };
    let found = format(connection, file)?;
    for (format, step) in STEPS.iter().enumerate().skip(found as usize) {
        let text = format!("BEGIN IMMEDIATE; {step} PRAGMA user_version = {}; COMMIT;", format + 1);
        connection.execute_batch(&text).map_err(problem)?;
    }
    Ok(())
}

/// The format of a database: 0 for one without tables. A newer one is refused, and one of another program.
pub(super) fn format(connection: &Connection, file: &str) -> Result<i64, StoreError> {
    let failed = |error: rusqlite::Error| reading::problem(connection, &error);
    let found: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(failed)?;
    let count = |text: &str| connection.query_row(text, [], |row| row.get::<_, i64>(0)).map_err(failed);
    let tables = count("SELECT count(*) FROM sqlite_master")?;
    let own = count("SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN ('head', 'events')")?;
    match found {
        0 if tables == 0 => Ok(0),
        1..=FORMAT if own == 2 => Ok(found),
        newer if newer > FORMAT && own == 2 => Err(StoreError::Newer { file: file.to_owned(), found, known: FORMAT }),
        _ => Err(StoreError::Foreign { file: file.to_owned() }),
    }
}

/// Tables and indexes that are not there.
pub(super) fn missing(connection: &Connection) -> Result<Vec<&'static str>, StoreError> {
    const PARTS: [&str; 11] = [
        "head",
        "events",
        "events_of_context",
        "erasures",
        "catalogs",
        "options",
        "keys",
        "snapshots",
        "presentations",
        "presentations_of_context",
        "trends",
    ];
    let failed = |error: rusqlite::Error| reading::problem(connection, &error);
    let mut query = connection.prepare_cached("SELECT count(*) FROM sqlite_master WHERE name = ?1").map_err(failed)?;
    let mut missing = Vec::new();
    for part in PARTS {
        if query.query_row([part], |row| row.get::<_, i64>(0)).map_err(failed)? == 0 {
            missing.push(part);
        }
    }
    Ok(missing)
}
