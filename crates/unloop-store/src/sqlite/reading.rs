//! What is asked of the tables.

use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::error::StoreError;
use crate::event::{Body, CatalogId, Event, Kind};
use crate::{Head, Selection, Snapshot};

/// The database that a connection is to.
pub(super) fn problem(connection: &Connection, error: &rusqlite::Error) -> StoreError {
    StoreError::Database { file: connection.path().unwrap_or("a database").to_owned(), problem: error.to_string() }
}

pub(super) fn head(connection: &Connection) -> Result<Head, StoreError> {
    let seq =
        connection.prepare_cached("SELECT seq FROM head").and_then(|mut query| query.query_row([], |row| row.get::<_, i64>(0)));
    Ok(Head { seq: seq.map_err(|error| problem(connection, &error))? as u64 })
}

const COLUMNS: &str = "seq, catalog, context, kind, id, body, time";

pub(super) fn events(connection: &Connection, selection: &Selection) -> Result<Vec<Event>, StoreError> {
    let Selection { after, catalog, context, limit } = selection;
    let (after, limit) = (i64::try_from(*after).unwrap_or(i64::MAX), i64::try_from(*limit).unwrap_or(i64::MAX));
    let catalog_number = catalog.map(|catalog| catalog.0);
    let text = match (catalog, context) {
        (None, None) => format!("SELECT {COLUMNS} FROM events WHERE seq > ?1 ORDER BY seq LIMIT ?2"),
        (Some(_), None) => format!("SELECT {COLUMNS} FROM events WHERE seq > ?1 AND catalog = ?3 ORDER BY seq LIMIT ?2"),
        // Two looks at the index: those of the context, and erasures, which have none.
        (_, Some(_)) => format!(
            "SELECT {COLUMNS} FROM events WHERE seq > ?1 AND catalog = ?3 AND context = ?4 \
             UNION ALL \
             SELECT {COLUMNS} FROM events WHERE seq > ?1 AND catalog = ?3 AND context IS NULL AND kind = 'erasure' \
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

fn event(row: &Row<'_>, connection: &Connection) -> Result<Event, StoreError> {
    let failed = |error: rusqlite::Error| problem(connection, &error);
    let seq = row.get::<_, i64>(0).map_err(failed)? as u64;
    let kind: String = row.get(3).map_err(failed)?;
    let kind = Kind::of_name(&kind).ok_or_else(|| StoreError::Log { seq, problem: format!("there is no kind {kind:?}") })?;
    let body: Option<String> = row.get(5).map_err(failed)?;
    Ok(Event {
        seq,
        catalog: CatalogId(row.get(1).map_err(failed)?),
        context: row.get(2).map_err(failed)?,
        kind,
        id: row.get(4).map_err(failed)?,
        body: body.map(|text| parse(seq, &text)).transpose()?,
        time: row.get(6).map_err(failed)?,
    })
}

pub(super) fn parse(seq: u64, text: &str) -> Result<Body, StoreError> {
    serde_json::from_str(text).map_err(|error| StoreError::Log { seq, problem: error.to_string() })
}

/// The name under which the fold of all is kept: no context has an empty one.
pub(super) fn key(context: Option<&str>) -> &str {
    context.unwrap_or("")
}

pub(super) fn snapshot(
    connection: &Connection,
    catalog: CatalogId,
    context: Option<&str>,
) -> Result<Option<Snapshot>, StoreError> {
    let found = connection.prepare_cached("SELECT seq, bytes FROM snapshots WHERE catalog = ?1 AND context = ?2").and_then(
        |mut query| {
            let row = |row: &Row<'_>| Ok(Snapshot { seq: row.get::<_, i64>(0)? as u64, bytes: row.get(1)? });
            query.query_row(params![catalog.0, key(context)], row).optional()
        },
    );
    found.map_err(|error| problem(connection, &error))
}
