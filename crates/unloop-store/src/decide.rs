//! What becomes of an entry: one rule for every backend.

use crate::Appended;
use crate::error::StoreError;
use crate::event::{Body, CatalogId, Entry, Kind, What, import_key};

/// What a backend knows of an event under a key.
pub(crate) struct Found {
    pub(crate) seq: u64,
    pub(crate) context: Option<String>,
    /// None where it was erased.
    pub(crate) body: Option<Body>,
}

/// A log inside a transaction.
pub(crate) trait Transaction {
    /// The event under a key.
    fn find(&mut self, catalog: CatalogId, kind: Kind, id: &str) -> Result<Option<Found>, StoreError>;

    /// Adds an event at the next position, which it tells; none if there is one under its key.
    fn push(&mut self, event: Pushed<'_>) -> Result<Option<u64>, StoreError>;
}

/// An event without a position.
pub(crate) struct Pushed<'a> {
    pub(crate) catalog: CatalogId,
    pub(crate) context: Option<&'a str>,
    pub(crate) kind: Kind,
    pub(crate) id: &'a str,
    pub(crate) body: Option<&'a Body>,
    pub(crate) time: i64,
}

/// Refuses entries that are none, before anything is done.
pub(crate) fn check(entries: &[Entry]) -> Result<(), StoreError> {
    for (i, entry) in entries.iter().enumerate() {
        if let What::Choice { body, .. } | What::Import { body, .. } = &entry.what {
            body.check().map_err(|error| StoreError::Body { place: i + 1, error })?;
        }
    }
    Ok(())
}

/// Appends an entry, or says what is there.
pub(crate) fn append(log: &mut impl Transaction, entry: &Entry) -> Result<Appended, StoreError> {
    let Entry { catalog, context, what, time } = entry;
    match what {
        What::Choice { id, body } => record(log, entry, Kind::Choice, id, body),
        What::Import { id, body } => {
            let body = Body { source: Some(id.clone()), ..body.clone() };
            record(log, entry, Kind::Import, &import_key(id), &body)
        }
        What::Withdrawal { of, id } => {
            let own = if *of == Kind::Import { import_key(id) } else { id.clone() };
            let Some(found) = log.find(*catalog, *of, &own)? else { return Ok(Appended::Unknown) };
            let Some(body) = found.body else { return Ok(Appended::Gone { seq: found.seq }) };
            let key = format!("{}:{own}", of.name());
            // All that its fold needs: what it takes back, and from whom.
            let context = found.context.as_deref().or(context.as_deref());
            let pushed = Pushed { catalog: *catalog, context, kind: Kind::Withdrawal, id: &key, body: Some(&body), time: *time };
            if let Some(seq) = log.push(pushed)? {
                return Ok(Appended::Recorded { seq });
            }
            let before = log.find(*catalog, Kind::Withdrawal, &key)?;
            Ok(Appended::Repeated { seq: before.map_or(found.seq, |before| before.seq), first: body })
        }
    }
}

fn record(log: &mut impl Transaction, entry: &Entry, kind: Kind, id: &str, body: &Body) -> Result<Appended, StoreError> {
    let pushed =
        Pushed { catalog: entry.catalog, context: entry.context.as_deref(), kind, id, body: Some(body), time: entry.time };
    // Nearly all are new: they are put in without a look.
    if let Some(seq) = log.push(pushed)? {
        return Ok(Appended::Recorded { seq });
    }
    let Some(found) = log.find(entry.catalog, kind, id)? else { return Ok(Appended::Unknown) };
    let seq = found.seq;
    let Some(first) = found.body else { return Ok(Appended::Gone { seq }) };
    let same = first == *body && found.context == entry.context;
    Ok(if same { Appended::Repeated { seq, first } } else { Appended::Conflict { seq, first } })
}
