//! The tables inside a transaction.

use rusqlite::{Connection, OptionalExtension, Params, Row, params};

use super::pen::{broken, broken_by};
use super::reading::{catalog_of, key, last_erasure, snapshot_of};
use crate::decide::{Found, Pushed, Transaction, parse};
use crate::error::StoreError;
use crate::event::{Body, CatalogId, Kind};
use crate::note::{HOUR, KEEP_MINUTES, KEEP_PRESENTATIONS, Note, PresentationNote, Pruned, Trend};
use crate::settings::{Catalog, CatalogOption, Key};
use crate::{Head, Snapshot, SnapshotKey};

pub(super) struct Log<'a> {
    connection: &'a Connection,
    /// The end of the log; into its row at the end of the transaction.
    head: Head,
    /// As it was at the beginning.
    before: Head,
    erased: bool,
}

impl<'a> Log<'a> {
    /// The lock is held already: nobody else moves the head.
    pub(super) fn begin(connection: &'a Connection) -> Result<Self, StoreError> {
        let head = super::reading::head(connection).map_err(|error| broken_by(&error.to_string()))?;
        Ok(Self { connection, head, before: head, erased: false })
    }

    /// Whether something was erased.
    pub(super) fn finish(&self) -> Result<bool, StoreError> {
        if self.head != self.before {
            let (seq, revision) = (number(self.head.seq)?, number(self.head.revision)?);
            self.execute("UPDATE head SET seq = ?1, revision = ?2", params![seq, revision])?;
        }
        Ok(self.erased)
    }

    fn execute(&self, text: &str, values: impl Params) -> Result<usize, StoreError> {
        let done = self.connection.prepare_cached(text).and_then(|mut statement| statement.execute(values));
        done.map_err(|error| broken(&error))
    }

    fn one<T>(
        &self,
        text: &str,
        values: impl Params,
        row: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, StoreError> {
        let found = self.connection.prepare_cached(text).and_then(|mut query| query.query_row(values, row).optional());
        found.map_err(|error| broken(&error))
    }

    pub(super) fn note(&mut self, note: &Note) -> Result<(), StoreError> {
        match note {
            Note::Presentation(PresentationNote { id, catalog, context, body, time }) => {
                let text = "INSERT OR REPLACE INTO presentations (id, catalog, context, body, time) VALUES (?1, ?2, ?3, ?4, ?5)";
                self.execute(text, params![id, catalog.0, context, body, time]).map(|_| ())
            }
            Note::Trend(trend) => {
                let Trend { catalog, option, served, shown, chosen, mean, p_best, .. } = trend;
                let text = "INSERT INTO trends (catalog, time, option, served, shown, chosen, mean, p_best) \
                            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) \
                            ON CONFLICT (catalog, time, option) DO UPDATE SET served = served + excluded.served, \
                            shown = shown + excluded.shown, chosen = chosen + excluded.chosen, mean = excluded.mean, p_best = excluded.p_best";
                let values = params![catalog.0, trend.minute(), option, served, shown, chosen, mean, p_best];
                self.execute(text, values).map(|_| ())
            }
        }
    }

    pub(super) fn prune(&mut self, now: i64) -> Result<Pruned, StoreError> {
        let presentations = self.execute("DELETE FROM presentations WHERE time < ?1", params![now - KEEP_PRESENTATIONS])? as u64;
        let old = "time < ?1 AND time % ?2 <> 0";
        // The columns beside max(time) are those of its row: the last minute's.
        let join = format!(
            "INSERT INTO trends (catalog, time, option, served, shown, chosen, mean, p_best) \
             SELECT catalog, hour, option, served, shown, chosen, mean, p_best FROM \
             (SELECT catalog, time / ?2 * ?2 AS hour, option, sum(served) AS served, sum(shown) AS shown, sum(chosen) AS chosen, \
              mean, p_best, max(time) FROM trends WHERE {old} GROUP BY catalog, hour, option) WHERE true \
             ON CONFLICT (catalog, time, option) DO UPDATE SET served = served + excluded.served, shown = shown + excluded.shown, \
             chosen = chosen + excluded.chosen, mean = excluded.mean, p_best = excluded.p_best"
        );
        let before = now - KEEP_MINUTES;
        self.execute(&join, params![before, HOUR])?;
        let trends = self.execute(&format!("DELETE FROM trends WHERE {old}"), params![before, HOUR])? as u64;
        Ok(Pruned { presentations, trends })
    }
}

fn number(value: u64) -> Result<i64, StoreError> {
    i64::try_from(value).map_err(|error| broken_by(&error.to_string()))
}

impl Transaction for Log<'_> {
    fn find(&mut self, catalog: CatalogId, kind: Kind, id: &str) -> Result<Option<Found>, StoreError> {
        let text = "SELECT seq, context, body FROM events WHERE catalog = ?1 AND kind = ?2 AND id = ?3";
        let row = |row: &Row<'_>| Ok((row.get::<_, i64>(0)? as u64, row.get(1)?, row.get::<_, Option<String>>(2)?));
        let found = self.one(text, params![catalog.0, kind.name(), id], row)?;
        Ok(found.map(|(seq, context, text)| Found { seq, context, text }))
    }

    fn push(&mut self, event: Pushed<'_>) -> Result<Option<u64>, StoreError> {
        let Pushed { catalog, context, kind, id, text: body, time } = event;
        let seq = number(self.head.seq + 1)?;
        let text = "INSERT INTO events (seq, catalog, context, kind, id, body, time) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) \
                    ON CONFLICT (id, kind, catalog) DO NOTHING";
        let put = self.execute(text, params![seq, catalog.0, context, kind.name(), id, body, time])?;
        self.head.seq += put as u64;
        self.erased |= kind == Kind::Erasure;
        Ok((put > 0).then_some(self.head.seq))
    }

    fn seq(&self) -> u64 {
        self.head.seq
    }

    fn each_of_context(
        &mut self,
        catalog: CatalogId,
        context: &str,
        upto: u64,
        with: &mut dyn FnMut(Kind, &Body),
    ) -> Result<(), StoreError> {
        let failed = |error: rusqlite::Error| broken(&error);
        let text = "SELECT seq, kind, body FROM events WHERE catalog = ?1 AND context = ?2 AND seq <= ?3 ORDER BY seq DESC";
        let mut query = self.connection.prepare_cached(text).map_err(failed)?;
        let mut rows = query.query(params![catalog.0, context, number(upto)?]).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            let seq = row.get::<_, i64>(0).map_err(failed)? as u64;
            let kind = Kind::of_name(row.get_ref(1).map_err(failed)?.as_str().unwrap_or_default());
            let body: Option<String> = row.get(2).map_err(failed)?;
            if let (Some(kind), Some(body)) = (kind, body) {
                with(kind, &parse(seq, &body)?);
            }
        }
        Ok(())
    }

    fn blank(&mut self, catalog: CatalogId, context: Option<&str>) -> Result<usize, StoreError> {
        let catalog = catalog.0;
        let Some(context) = context else {
            self.execute("DELETE FROM snapshots WHERE catalog = ?1", params![catalog])?;
            self.execute("DELETE FROM presentations WHERE catalog = ?1", params![catalog])?;
            self.execute("DELETE FROM trends WHERE catalog = ?1", params![catalog])?;
            return self.execute("UPDATE events SET context = NULL, body = NULL WHERE catalog = ?1", params![catalog]);
        };
        self.execute("DELETE FROM snapshots WHERE catalog = ?1 AND context = ?2", params![catalog, context])?;
        let notes = self.execute("DELETE FROM presentations WHERE catalog = ?1 AND context = ?2", params![catalog, context])?;
        // Notes of somebody without events hold a name, too.
        self.erased |= notes > 0;
        let text = "UPDATE events SET context = NULL, body = NULL WHERE catalog = ?1 AND context = ?2";
        self.execute(text, params![catalog, context])
    }

    fn snapshot(&mut self, key: &SnapshotKey) -> Result<Option<Snapshot>, StoreError> {
        snapshot_of(self.connection, key).map_err(|error| broken(&error))
    }

    fn set_snapshot(&mut self, of: &SnapshotKey, snapshot: Option<&Snapshot>) -> Result<(), StoreError> {
        let SnapshotKey { catalog, context, bucket } = of;
        let context = key(context.as_deref());
        let Some(Snapshot { seq, bytes }) = snapshot else {
            let text = "DELETE FROM snapshots WHERE catalog = ?1 AND context = ?2 AND bucket = ?3";
            return self.execute(text, params![catalog.0, context, bucket]).map(|_| ());
        };
        let text = "INSERT OR REPLACE INTO snapshots (catalog, context, bucket, seq, bytes) VALUES (?1, ?2, ?3, ?4, ?5)";
        self.execute(text, params![catalog.0, context, bucket, number(*seq)?, bytes]).map(|_| ())
    }

    fn last_erasure(&mut self, catalog: CatalogId) -> Result<u64, StoreError> {
        last_erasure(self.connection, catalog).map_err(|error| broken(&error))
    }

    fn catalog_named(&mut self, name: &str) -> Result<Option<Catalog>, StoreError> {
        self.one("SELECT id, name, settings, revision FROM catalogs WHERE name = ?1", params![name], catalog_of)
    }

    fn catalog(&mut self, id: CatalogId) -> Result<Option<Catalog>, StoreError> {
        self.one("SELECT id, name, settings, revision FROM catalogs WHERE id = ?1", params![id.0], catalog_of)
    }

    fn next_catalog(&mut self) -> Result<CatalogId, StoreError> {
        let text = "UPDATE head SET catalogs = catalogs + 1 RETURNING catalogs";
        let next = self.one(text, [], |row| row.get(0))?;
        next.map(CatalogId).ok_or_else(|| broken_by("there is no head"))
    }

    fn put_catalog(&mut self, catalog: &Catalog) -> Result<(), StoreError> {
        let Catalog { id, name, settings, revision } = catalog;
        let text = "INSERT OR REPLACE INTO catalogs (id, name, settings, revision) VALUES (?1, ?2, ?3, ?4)";
        self.execute(text, params![id.0, name, settings, number(*revision)?]).map(|_| ())
    }

    fn delete_catalog(&mut self, id: CatalogId) -> Result<(), StoreError> {
        self.execute("DELETE FROM options WHERE catalog = ?1", params![id.0])?;
        self.execute("DELETE FROM catalogs WHERE id = ?1", params![id.0]).map(|_| ())
    }

    fn option_count(&mut self, catalog: CatalogId) -> Result<u32, StoreError> {
        let text = "SELECT max(place) + 1 FROM options WHERE catalog = ?1";
        Ok(self.one(text, params![catalog.0], |row| row.get::<_, Option<u32>>(0))?.flatten().unwrap_or(0))
    }

    fn option_index(&mut self, catalog: CatalogId, name: &str) -> Result<Option<u32>, StoreError> {
        self.one("SELECT place FROM options WHERE catalog = ?1 AND name = ?2", params![catalog.0, name], |row| row.get(0))
    }

    fn put_option(&mut self, catalog: CatalogId, option: &CatalogOption) -> Result<(), StoreError> {
        let CatalogOption { index, name, label, weight, active } = option;
        let text = "INSERT OR REPLACE INTO options (catalog, place, name, label, weight, active) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        self.execute(text, params![catalog.0, index, name, label, weight, active]).map(|_| ())
    }

    fn put_key(&mut self, key: &Key) -> Result<bool, StoreError> {
        let Key { id, hash, label, scopes, catalog, created, expires } = key;
        let catalog = catalog.map(|catalog| catalog.0);
        let text = "INSERT INTO keys (id, hash, label, scopes, catalog, created, expires) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) \
                    ON CONFLICT DO NOTHING";
        Ok(self.execute(text, params![id, hash, label, scopes.join(" "), catalog, created, expires])? > 0)
    }

    fn delete_key(&mut self, id: &str) -> Result<bool, StoreError> {
        Ok(self.execute("DELETE FROM keys WHERE id = ?1", params![id])? > 0)
    }

    fn revise(&mut self) -> Result<u64, StoreError> {
        self.head.revision += 1;
        Ok(self.head.revision)
    }
}
