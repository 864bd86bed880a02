//! What becomes of an entry, an erasure, a change of settings: one rule for every backend.

use crate::error::StoreError;
use crate::event::{Body, BodyError, CatalogId, Entry, Kind, What, check_context, import_key, rounded, withdrawal_key};
use crate::settings::{Catalog, CatalogOption, Change, Changed, Key, OptionChange};
use crate::{Appended, Snapshot, SnapshotKey, snapshot};

/// What a backend knows of an event under a key.
pub(crate) struct Found {
    pub(crate) seq: u64,
    pub(crate) context: Option<String>,
    /// Its body as JSON; none where it was erased.
    pub(crate) text: Option<String>,
}

/// A store inside a transaction.
pub(crate) trait Transaction {
    /// The event under a key.
    fn find(&mut self, catalog: CatalogId, kind: Kind, id: &str) -> Result<Option<Found>, StoreError>;

    /// Adds an event at the next position, which it tells; none if there is one under its key.
    fn push(&mut self, event: Pushed<'_>) -> Result<Option<u64>, StoreError>;

    /// The last position.
    fn seq(&self) -> u64;

    /// Events of a context up to a position, the last first.
    fn each_of_context(
        &mut self,
        catalog: CatalogId,
        context: &str,
        upto: u64,
        with: &mut dyn FnMut(Kind, &Body),
    ) -> Result<(), StoreError>;

    /// Takes name and body from all events of a context, or of a whole catalog (none), and deletes what else is kept of it: snapshots, but not
    /// that of the catalog where only a context goes, and notes. How many events there were.
    fn blank(&mut self, catalog: CatalogId, context: Option<&str>) -> Result<usize, StoreError>;

    fn snapshot(&mut self, key: &SnapshotKey) -> Result<Option<Snapshot>, StoreError>;

    /// Puts one in place of whatever is there; none takes it away.
    fn set_snapshot(&mut self, key: &SnapshotKey, snapshot: Option<&Snapshot>) -> Result<(), StoreError>;

    /// The position of the last erasure in a catalog; 0 if there is none.
    fn last_erasure(&mut self, catalog: CatalogId) -> Result<u64, StoreError>;

    fn catalog_named(&mut self, name: &str) -> Result<Option<Catalog>, StoreError>;

    fn catalog(&mut self, id: CatalogId) -> Result<Option<Catalog>, StoreError>;

    /// A number that no catalog had.
    fn next_catalog(&mut self) -> Result<CatalogId, StoreError>;

    fn put_catalog(&mut self, catalog: &Catalog) -> Result<(), StoreError>;

    /// Deletes a catalog and its options.
    fn delete_catalog(&mut self, id: CatalogId) -> Result<(), StoreError>;

    /// How many options a catalog ever had.
    fn option_count(&mut self, catalog: CatalogId) -> Result<u32, StoreError>;

    fn option_index(&mut self, catalog: CatalogId, name: &str) -> Result<Option<u32>, StoreError>;

    fn put_option(&mut self, catalog: CatalogId, option: &CatalogOption) -> Result<(), StoreError>;

    /// Whether it was put: false if there is one of this id.
    fn put_key(&mut self, key: &Key) -> Result<bool, StoreError>;

    /// Whether there was one.
    fn delete_key(&mut self, id: &str) -> Result<bool, StoreError>;

    /// Raises the revision, which it tells.
    fn revise(&mut self) -> Result<u64, StoreError>;
}

/// An event without a position.
pub(crate) struct Pushed<'a> {
    pub(crate) catalog: CatalogId,
    pub(crate) context: Option<&'a str>,
    pub(crate) kind: Kind,
    pub(crate) id: &'a str,
    /// Its body as JSON.
    pub(crate) text: Option<&'a str>,
    pub(crate) time: i64,
}

/// An entry that was checked, as the log keeps it. Whoever appends makes it, not the one thread that writes.
pub(crate) struct Prepared {
    catalog: CatalogId,
    context: Option<String>,
    asked: Asked,
    time: i64,
}

/// What is asked of the log.
pub(crate) enum Asked {
    /// The id under which it is kept, and its body as JSON.
    Record { kind: Kind, key: String, text: String },
    /// What is taken back.
    Withdraw { of: Kind, key: String },
}

/// Refuses entries that are none, before anything is done, and makes them what the log keeps.
pub(crate) fn prepare(entries: Vec<Entry>) -> Result<Vec<Prepared>, StoreError> {
    let prepare = |(i, mut entry): (usize, Entry)| {
        let asked = asked(&mut entry).map_err(|error| StoreError::Body { place: i + 1, error })?;
        let Entry { catalog, context, time, .. } = entry;
        Ok(Prepared { catalog, context, asked, time })
    };
    entries.into_iter().enumerate().map(prepare).collect()
}

/// The same for one that is needed afterwards: its body becomes what the log keeps, weights rounded, imports with what they are called.
pub(crate) fn asked(entry: &mut Entry) -> Result<Asked, BodyError> {
    if let Some(context) = &entry.context {
        check_context(context)?;
    }
    entry.what.check()?;
    // Into memory: nothing can fail.
    let text = |body: &Body| serde_json::to_string(body).unwrap_or_default();
    Ok(match &mut entry.what {
        What::Choice { body, id } => {
            (body.weight, body.source) = (rounded(body.weight), None);
            Asked::Record { kind: Kind::Choice, key: id.clone(), text: text(body) }
        }
        What::Import { body, id } => {
            (body.weight, body.source) = (rounded(body.weight), Some(id.clone()));
            Asked::Record { kind: Kind::Import, key: import_key(id), text: text(body) }
        }
        What::Withdrawal { of: Kind::Import, id } => Asked::Withdraw { of: Kind::Import, key: import_key(id) },
        What::Withdrawal { of, id } => Asked::Withdraw { of: *of, key: id.clone() },
    })
}

/// A body out of the log.
pub(crate) fn parse(seq: u64, text: &str) -> Result<Body, StoreError> {
    serde_json::from_str(text).map_err(|error| StoreError::Log { seq, problem: error.to_string() })
}

impl Prepared {
    pub(crate) fn append(&self, log: &mut impl Transaction) -> Result<Appended, StoreError> {
        append(log, self.catalog, self.context.as_deref(), &self.asked, self.time)
    }
}

/// Appends an entry, or says what is there.
pub(crate) fn append(
    log: &mut impl Transaction,
    catalog: CatalogId,
    context: Option<&str>,
    asked: &Asked,
    time: i64,
) -> Result<Appended, StoreError> {
    match asked {
        Asked::Record { kind, key, text } => {
            let pushed = Pushed { catalog, context, kind: *kind, id: key, text: Some(text), time };
            // Nearly all are new: they are put in without a look.
            if let Some(seq) = log.push(pushed)? {
                return Ok(Appended::Recorded { seq });
            }
            let Some(Found { seq, context: own, text: first }) = log.find(catalog, *kind, key)? else {
                return Ok(Appended::Unknown);
            };
            let Some(first) = first else { return Ok(Appended::Gone { seq }) };
            let first = parse(seq, &first)?;
            let same = own.as_deref() == context && first == parse(seq, text)?;
            Ok(if same { Appended::Repeated { seq, first } } else { Appended::Conflict { seq, first } })
        }
        Asked::Withdraw { of, key } => {
            let Some(found) = log.find(catalog, *of, key)? else { return Ok(Appended::Unknown) };
            let Some(text) = found.text else { return Ok(Appended::Gone { seq: found.seq }) };
            let id = withdrawal_key(*of, key);
            // All that its fold needs: what it takes back, and from whom.
            let context = found.context.as_deref().or(context);
            let pushed = Pushed { catalog, context, kind: Kind::Withdrawal, id: &id, text: Some(&text), time };
            if let Some(seq) = log.push(pushed)? {
                return Ok(Appended::Recorded { seq });
            }
            let before = log.find(catalog, Kind::Withdrawal, &id)?;
            let first = parse(found.seq, &text)?;
            Ok(Appended::Repeated { seq: before.map_or(found.seq, |before| before.seq), first })
        }
    }
}

/// Puts a fold aside, unless there is a later one, or it may hold what was erased since.
pub(crate) fn put_snapshot(log: &mut impl Transaction, key: &SnapshotKey, snapshot: &Snapshot) -> Result<(), StoreError> {
    let later = log.snapshot(key)?.is_some_and(|own| own.seq >= snapshot.seq);
    if later || log.last_erasure(key.catalog)? > snapshot.seq || snapshot.seq > log.seq() {
        return Ok(());
    }
    log.set_snapshot(key, Some(snapshot))
}

/// Erases a context, or a whole catalog (none) with its settings; the position of the erasure, none if there was nothing.
///
/// Every snapshot that stands afterwards holds nothing that was erased, even those from before: that of the catalog is corrected.
pub(crate) fn erase(
    log: &mut impl Transaction,
    catalog: CatalogId,
    context: Option<&str>,
    time: i64,
) -> Result<Option<u64>, StoreError> {
    if let Some(context) = context {
        let all = SnapshotKey::all(catalog);
        if let Some(kept) = log.snapshot(&all)? {
            let corrected = without(log, catalog, context, &kept)?;
            log.set_snapshot(&all, corrected.as_ref())?;
        }
        if log.blank(catalog, Some(context))? == 0 {
            return Ok(None);
        }
    } else {
        let known = log.catalog(catalog)?.is_some();
        if log.blank(catalog, None)? == 0 && !known {
            return Ok(None);
        }
        log.delete_catalog(catalog)?;
        log.revise()?;
    }
    let id = (log.seq() + 1).to_string();
    log.push(Pushed { catalog, context: None, kind: Kind::Erasure, id: &id, text: None, time })
}

/// The snapshot of a catalog without a context; none if it is bad and has to be folded again.
fn without(
    log: &mut impl Transaction,
    catalog: CatalogId,
    context: &str,
    kept: &Snapshot,
) -> Result<Option<Snapshot>, StoreError> {
    let Ok(mut fold) = snapshot::decode(&kept.bytes) else { return Ok(None) };
    let mut failed = false;
    // The last first: a withdrawal gives back before the choice is taken.
    log.each_of_context(catalog, context, kept.seq, &mut |kind, body| failed |= fold.undo(kind, body).is_err())?;
    Ok((!failed).then(|| Snapshot::of(&fold)))
}

/// Changes settings, or says why not.
pub(crate) fn change(log: &mut impl Transaction, change: &Change) -> Result<Changed, StoreError> {
    let refused = match change {
        Change::Catalog { name, settings, expected } => {
            let found = log.catalog_named(name)?;
            if let Some(stale) = stale(found.as_ref(), *expected) {
                return Ok(stale);
            }
            let id = match found {
                Some(found) => found.id,
                None => log.next_catalog()?,
            };
            let revision = log.revise()?;
            log.put_catalog(&Catalog { id, name: name.clone(), settings: settings.clone(), revision })?;
            return Ok(Changed::Done { revision, catalog: Some(id) });
        }
        Change::Options { catalog, options, expected } => {
            let Some(found) = log.catalog(*catalog)? else { return Ok(Changed::Missing) };
            if let Some(stale) = stale(Some(&found), *expected) {
                return Ok(stale);
            }
            let mut next = log.option_count(*catalog)?;
            for OptionChange { name, label, weight, active } in options {
                let known = log.option_index(*catalog, name)?;
                let index = known.unwrap_or(next);
                next += u32::from(known.is_none());
                let (name, label) = (name.clone(), label.clone());
                log.put_option(*catalog, &CatalogOption { index, name, label, weight: *weight, active: *active })?;
            }
            let revision = log.revise()?;
            log.put_catalog(&Catalog { revision, ..found })?;
            return Ok(Changed::Done { revision, catalog: Some(*catalog) });
        }
        Change::Key(key) => (!log.put_key(key)?).then_some(Changed::Taken),
        Change::Revoke { id } => (!log.delete_key(id)?).then_some(Changed::Missing),
    };
    match refused {
        Some(refused) => Ok(refused),
        None => Ok(Changed::Done { revision: log.revise()?, catalog: None }),
    }
}

fn stale(found: Option<&Catalog>, expected: Option<u64>) -> Option<Changed> {
    let revision = found.map_or(0, |found| found.revision);
    expected.filter(|&expected| expected != revision).map(|_| Changed::Stale { revision })
}
