//! What is asked of the tables.

use std::collections::BTreeMap;

use rusqlite::{Connection, ErrorCode, OptionalExtension, Params, Row, params};

use crate::decide::parse;
use crate::error::StoreError;
use crate::event::{CatalogId, Counted, Event, Kind, ReadBody};
use crate::note::{PresentationNote, Trend, TrendSelection, Trends};
use crate::replay::Moment;
use crate::settings::{Catalog, CatalogOption, Key, Settings};
use crate::{Head, Page, Selection, Snapshot, SnapshotKey};

/// The database that a connection is to.
pub(super) fn problem(connection: &Connection, error: &rusqlite::Error) -> StoreError {
    told(connection.path().unwrap_or("a database"), error)
}

/// What a database said.
pub(super) fn told(file: &str, error: &rusqlite::Error) -> StoreError {
    let (file, problem) = (file.to_owned(), error.to_string());
    let code = error.sqlite_error_code();
    // A table without its one row is as bad as a page that is none.
    let damaged = matches!(code, Some(ErrorCode::DatabaseCorrupt)) || matches!(error, rusqlite::Error::QueryReturnedNoRows);
    if damaged { StoreError::Damaged { file, problem } } else { StoreError::Database { file, problem } }
}

pub(super) fn head(connection: &Connection) -> Result<Head, StoreError> {
    let row = |row: &Row<'_>| Ok(Head { seq: row.get::<_, i64>(0)? as u64, revision: row.get::<_, i64>(1)? as u64 });
    let found =
        connection.prepare_cached("SELECT seq, revision FROM head").and_then(|mut query| query.query_row([], row).optional());
    let found = found.map_err(|error| problem(connection, &error))?;
    found.ok_or_else(|| problem(connection, &rusqlite::Error::QueryReturnedNoRows))
}

const COLUMNS: &str = "seq, catalog, context, kind, id, body, time";

pub(super) fn events(connection: &Connection, selection: &Selection) -> Result<Vec<Event>, StoreError> {
    let Selection { after, catalog, context, limit } = selection;
    let (after, limit) = (i64::try_from(*after).unwrap_or(i64::MAX), i64::try_from(*limit).unwrap_or(i64::MAX));
    let catalog_number = catalog.map(|catalog| catalog.0);
    // A plus keeps an index from being used: the order of the log is that of the table, erasures are few.
    let text = match (catalog, context) {
        (None, None) => format!("SELECT {COLUMNS} FROM events WHERE seq > ?1 ORDER BY seq LIMIT ?2"),
        (Some(_), None) => format!("SELECT {COLUMNS} FROM events WHERE seq > ?1 AND +catalog = ?3 ORDER BY seq LIMIT ?2"),
        (_, Some(_)) => format!(
            "SELECT {COLUMNS} FROM events WHERE seq > ?1 AND catalog = ?3 AND context = ?4 \
             UNION ALL \
             SELECT {COLUMNS} FROM events WHERE seq > ?1 AND catalog = ?3 AND kind = 'erasure' \
             ORDER BY seq LIMIT ?2"
        ),
    };
    let failed = |error: rusqlite::Error| problem(connection, &error);
    let mut query = connection.prepare_cached(&text).map_err(failed)?;
    let rows = match (catalog_number, context) {
        (None, None) => query.query(params![after, limit]),
        (Some(catalog), None) => query.query(params![after, limit, catalog]),
        (catalog, Some(context)) => query.query(params![after, limit, catalog.unwrap_or(0), context]),
    };
    let mut rows = rows.map_err(failed)?;
    let mut events = Vec::new();
    while let Some(row) = rows.next().map_err(failed)? {
        events.push(event(row, connection)?);
    }
    Ok(events)
}

pub(super) fn find(connection: &Connection, catalog: CatalogId, kind: Kind, id: &str) -> Result<Option<Event>, StoreError> {
    let failed = |error: rusqlite::Error| problem(connection, &error);
    let text = format!("SELECT {COLUMNS} FROM events WHERE catalog = ?1 AND kind = ?2 AND id = ?3");
    let mut query = connection.prepare_cached(&text).map_err(failed)?;
    let mut rows = query.query(params![catalog.0, kind.name(), id]).map_err(failed)?;
    rows.next().map_err(failed)?.map(|row| event(row, connection)).transpose()
}

fn event(row: &Row<'_>, connection: &Connection) -> Result<Event, StoreError> {
    let failed = |error: rusqlite::Error| problem(connection, &error);
    let seq = row.get::<_, i64>(0).map_err(failed)? as u64;
    let kind = row.get_ref(3).map_err(failed)?.as_str().unwrap_or_default();
    let kind = Kind::of_name(kind).ok_or_else(|| StoreError::Log { seq, problem: format!("there is no kind {kind:?}") })?;
    let body = row.get_ref(5).map_err(failed)?.as_str_or_null();
    let body = body.map_err(|error| StoreError::Log { seq, problem: error.to_string() })?;
    Ok(Event {
        seq,
        catalog: CatalogId(row.get(1).map_err(failed)?),
        context: row.get(2).map_err(failed)?,
        kind,
        id: row.get(4).map_err(failed)?,
        body: body.map(|text| parse(seq, text)).transpose()?,
        time: row.get(6).map_err(failed)?,
    })
}

impl Moment for Connection {
    fn seq(&self) -> Result<u64, StoreError> {
        head(self).map(|head| head.seq)
    }

    fn snapshot(&self, key: &SnapshotKey) -> Result<Option<Snapshot>, StoreError> {
        snapshot(self, key)
    }

    fn last_erasure(&self, catalog: CatalogId) -> Result<u64, StoreError> {
        last_erasure(self, catalog).map_err(|error| problem(self, &error))
    }

    fn each(
        &self,
        catalog: CatalogId,
        context: Option<&str>,
        after: u64,
        upto: u64,
        with: &mut dyn FnMut(u64, Kind, Counted<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let failed = |error: rusqlite::Error| problem(self, &error);
        let (after, upto) = (i64::try_from(after).unwrap_or(i64::MAX), i64::try_from(upto).unwrap_or(i64::MAX));
        // A plus keeps an index from being used: the order of the log is that of the table.
        let text = match context {
            Some(_) => {
                "SELECT seq, kind, body FROM events WHERE catalog = ?1 AND context = ?4 AND seq > ?2 AND seq <= ?3 ORDER BY seq"
            }
            None => "SELECT seq, kind, body FROM events WHERE +catalog = ?1 AND seq > ?2 AND seq <= ?3 ORDER BY seq",
        };
        let mut query = self.prepare_cached(text).map_err(failed)?;
        let rows = match context {
            Some(context) => query.query(params![catalog.0, after, upto, context]),
            None => query.query(params![catalog.0, after, upto]),
        };
        let mut rows = rows.map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            let seq = row.get::<_, i64>(0).map_err(failed)? as u64;
            let wrong = |problem: String| StoreError::Log { seq, problem };
            let Some(body) = text_of(row, 2, seq)? else { continue };
            let kind = text_of(row, 1, seq)?.and_then(Kind::of_name).ok_or_else(|| wrong("it has no kind".into()))?;
            let body: ReadBody<'_> = serde_json::from_str(body).map_err(|error| wrong(error.to_string()))?;
            with(seq, kind, Counted::Read(&body))?;
        }
        Ok(())
    }
}

fn text_of<'a>(row: &'a Row<'_>, place: usize, seq: u64) -> Result<Option<&'a str>, StoreError> {
    let wrong = |error: &dyn ToString| StoreError::Log { seq, problem: error.to_string() };
    row.get_ref(place).map_err(|error| wrong(&error))?.as_str_or_null().map_err(|error| wrong(&error))
}

/// The position of the last erasure in a catalog, by an index of its own.
pub(super) fn last_erasure(connection: &Connection, catalog: CatalogId) -> rusqlite::Result<u64> {
    let mut query = connection.prepare_cached("SELECT max(seq) FROM events WHERE catalog = ?1 AND kind = 'erasure'")?;
    let last = query.query_row(params![catalog.0], |row| row.get::<_, Option<i64>>(0))?;
    Ok(last.unwrap_or(0) as u64)
}

/// All rows of a question.
fn all<T>(
    connection: &Connection,
    text: &str,
    values: impl Params,
    row: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Vec<T>, StoreError> {
    let rows = connection.prepare_cached(text).and_then(|mut query| query.query_map(values, row)?.collect());
    rows.map_err(|error| problem(connection, &error))
}

pub(super) fn contexts(connection: &Connection, catalog: CatalogId, page: &Page) -> Result<Vec<String>, StoreError> {
    let Page { prefix, after, limit } = page;
    let (from, bound) = match after {
        Some(after) if after >= prefix => (after, ">"),
        _ => (prefix, ">="),
    };
    // From each name to the next one in the index, however many events each has.
    let text = format!(
        "WITH RECURSIVE names (name) AS ( \
         SELECT min(context) FROM events WHERE catalog = ?1 AND context {bound} ?2 UNION ALL \
         SELECT (SELECT min(context) FROM events WHERE catalog = ?1 AND context > name) FROM names WHERE name IS NOT NULL) \
         SELECT name FROM names WHERE name IS NOT NULL LIMIT ?3"
    );
    let limit = i64::try_from(*limit).unwrap_or(i64::MAX);
    let names = all(connection, &text, params![catalog.0, from, limit], |row| row.get::<_, String>(0))?;
    Ok(names.into_iter().filter(|name| page.holds(name)).collect())
}

pub(super) fn long_tails(connection: &Connection, catalog: CatalogId, least: u64) -> Result<Vec<String>, StoreError> {
    let text = "SELECT events.context FROM events LEFT JOIN snapshots \
                ON snapshots.catalog = events.catalog AND snapshots.context = events.context AND bucket = 0 \
                WHERE events.catalog = ?1 AND events.context IS NOT NULL AND events.seq > coalesce(snapshots.seq, 0) \
                GROUP BY events.context HAVING count(*) >= ?2 ORDER BY events.context";
    all(connection, text, params![catalog.0, i64::try_from(least).unwrap_or(i64::MAX)], |row| row.get(0))
}

/// The name under which the fold of all is kept: no context has an empty one.
pub(super) fn key(context: Option<&str>) -> &str {
    context.unwrap_or("")
}

pub(super) fn snapshot_of(connection: &Connection, of: &SnapshotKey) -> rusqlite::Result<Option<Snapshot>> {
    let text = "SELECT seq, bytes FROM snapshots WHERE catalog = ?1 AND context = ?2 AND bucket = ?3";
    let row = |row: &Row<'_>| Ok(Snapshot { seq: row.get::<_, i64>(0)? as u64, bytes: row.get(1)? });
    let mut query = connection.prepare_cached(text)?;
    query.query_row(params![of.catalog.0, key(of.context.as_deref()), of.bucket], row).optional()
}

pub(super) fn snapshot(connection: &Connection, of: &SnapshotKey) -> Result<Option<Snapshot>, StoreError> {
    snapshot_of(connection, of).map_err(|error| problem(connection, &error))
}

pub(super) fn catalog_of(row: &Row<'_>) -> rusqlite::Result<Catalog> {
    let (id, revision) = (CatalogId(row.get(0)?), row.get::<_, i64>(3)? as u64);
    Ok(Catalog { id, name: row.get(1)?, settings: row.get(2)?, revision })
}

pub(super) fn settings(connection: &Connection) -> Result<Settings, StoreError> {
    // One look at all tables.
    let failed = |error: rusqlite::Error| problem(connection, &error);
    let transaction = connection.unchecked_transaction().map_err(failed)?;
    let text = "SELECT id, name, settings, revision FROM catalogs ORDER BY name";
    let catalogs = all(&transaction, text, [], catalog_of)?;
    let text = "SELECT id, hash, label, scopes, catalog, created, expires FROM keys ORDER BY created, id";
    let keys = all(&transaction, text, [], |row| {
        let scopes: String = row.get(3)?;
        Ok(Key {
            id: row.get(0)?,
            hash: row.get(1)?,
            label: row.get(2)?,
            scopes: scopes.split_whitespace().map(str::to_owned).collect(),
            catalog: row.get::<_, Option<i64>>(4)?.map(CatalogId),
            created: row.get(5)?,
            expires: row.get(6)?,
        })
    })?;
    Ok(Settings { revision: head(&transaction)?.revision, catalogs, keys })
}

pub(super) fn options(connection: &Connection, catalog: CatalogId) -> Result<Vec<CatalogOption>, StoreError> {
    let text = "SELECT place, name, label, weight, active FROM options WHERE catalog = ?1 ORDER BY place";
    all(connection, text, params![catalog.0], |row| {
        let (label, weight, active) = (row.get(2)?, row.get(3)?, row.get(4)?);
        Ok(CatalogOption { index: row.get(0)?, name: row.get(1)?, label, weight, active })
    })
}

pub(super) fn latest(
    connection: &Connection,
    catalog: CatalogId,
    context: Option<&str>,
    limit: usize,
) -> Result<Vec<Event>, StoreError> {
    let failed = |error: rusqlite::Error| problem(connection, &error);
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    // From the end of the log, or of the context's part of its index.
    let of_context = if context.is_some() { "catalog = ?1 AND context = ?3" } else { "+catalog = ?1 AND ?3 IS NULL" };
    let text = format!("SELECT {COLUMNS} FROM events WHERE {of_context} AND body IS NOT NULL ORDER BY seq DESC LIMIT ?2");
    let mut query = connection.prepare_cached(&text).map_err(failed)?;
    let mut rows = query.query(params![catalog.0, limit, context]).map_err(failed)?;
    let mut events = Vec::new();
    while let Some(row) = rows.next().map_err(failed)? {
        events.push(event(row, connection)?);
    }
    Ok(events)
}

pub(super) fn presentations(
    connection: &Connection,
    catalog: CatalogId,
    context: Option<&str>,
    limit: usize,
) -> Result<Vec<PresentationNote>, StoreError> {
    let of_context = if context.is_some() { "context = ?3" } else { "?3 IS NULL" };
    let text = format!(
        "SELECT id, context, body, time FROM presentations WHERE catalog = ?1 AND {of_context} ORDER BY time DESC, id DESC LIMIT ?2"
    );
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    all(connection, &text, params![catalog.0, limit, context], |row| {
        Ok(PresentationNote { id: row.get(0)?, catalog, context: row.get(1)?, body: row.get(2)?, time: row.get(3)? })
    })
}

pub(super) fn trends(connection: &Connection, selection: &TrendSelection) -> Result<Trends, StoreError> {
    let failed = |error: rusqlite::Error| problem(connection, &error);
    let catalog = selection.catalog;
    let text = "SELECT time, option, served, shown, chosen, mean, p_best FROM trends WHERE catalog = ?1 AND time >= ?2 \
                ORDER BY time, option";
    let mut query = connection.prepare_cached(text).map_err(failed)?;
    let mut rows = query.query(params![catalog.0, selection.since]).map_err(failed)?;
    let (mut trends, mut joined) = (Trends::default(), BTreeMap::new());
    let trend = |row: &Row<'_>| {
        let (time, option) = (row.get(0)?, row.get(1)?);
        let (served, shown, chosen) = (row.get(2)?, row.get(3)?, row.get(4)?);
        Ok(Trend { catalog, option, time, served, shown, chosen, mean: row.get(5)?, p_best: row.get(6)? })
    };
    while let Some(row) = rows.next().map_err(failed)? {
        trends.add(selection, &mut joined, &trend(row).map_err(failed)?);
    }
    trends.rows = joined.into_values().collect();
    Ok(trends)
}

pub(super) fn served(connection: &Connection, catalog: CatalogId, after: i64, upto: i64) -> Result<Vec<(u32, f64)>, StoreError> {
    let text =
        "SELECT option, sum(served) FROM trends WHERE catalog = ?1 AND time > ?2 AND time <= ?3 GROUP BY option ORDER BY option";
    all(connection, text, params![catalog.0, after, upto], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// Pages of the database, and the log that is written ahead of it.
pub(super) fn bytes(connection: &Connection) -> Result<u64, StoreError> {
    let failed = |error: rusqlite::Error| problem(connection, &error);
    let number = |pragma: &str| connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0)).map_err(failed);
    let pages = number("page_count")?.saturating_mul(number("page_size")?);
    let wal = connection.path().and_then(|path| std::fs::metadata(format!("{path}-wal")).ok()).map_or(0, |own| own.len());
    Ok(pages.unsigned_abs() + wal)
}
