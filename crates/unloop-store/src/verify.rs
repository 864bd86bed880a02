//! Whether a store is what it says: the log without holes, folded again, and every snapshot compared with it.

use blake3::Hasher;

use crate::error::StoreError;
use crate::event::{CatalogId, Event, Kind, check_context, import_key};
use crate::fold::Fold;
use crate::replay::{Folding, Start};
use crate::settings::Change;
use crate::{Page, Selection, SnapshotKey, Store, snapshot};

/// Events or names read at a time.
const PAGE: usize = 10_000;
/// How often a context is folded that somebody keeps erasing from.
const TRIES: usize = 5;
/// Problems told at most: one that repeats a million times says no more.
const MOST_PROBLEMS: usize = 20;

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The last position.
    pub seq: u64,
    /// Events that are there.
    pub events: u64,
    /// Of these, events that were erased.
    pub erased: u64,
    /// Catalogs.
    pub catalogs: usize,
    /// Contexts with events, over all catalogs.
    pub contexts: usize,
    /// Snapshots that agree with the log.
    pub snapshots: usize,
    /// A digest of all counts, by names of catalogs, contexts and options: equal for equal counts, however they came about and wherever they are.
    pub digest: [u8; 32],
    /// What is wrong, the first of it.
    pub problems: Vec<String>,
    /// How much is.
    pub problem_count: usize,
}

impl Report {
    /// Whether nothing is wrong.
    pub fn is_good(&self) -> bool {
        self.problem_count == 0
    }

    /// Adds something that is wrong.
    pub fn problem(&mut self, problem: String) {
        self.problem_count += 1;
        if self.problems.len() < MOST_PROBLEMS {
            self.problems.push(problem);
        }
    }

    /// An event that cannot be counted is a problem; anything else ends it.
    fn wrong(&mut self, whose: &str, error: StoreError) -> Result<Option<Fold>, StoreError> {
        if !matches!(error, StoreError::Log { .. }) {
            return Err(error);
        }
        self.problem(format!("{whose}: {error}"));
        Ok(None)
    }

    /// The digest in hexadecimal digits.
    pub fn digest_text(&self) -> String {
        blake3::Hash::from_bytes(self.digest).to_hex().to_string()
    }
}

/// Reads the whole log, folds it again, context by context, and compares. `progress` hears how many events of how many were read; each is read
/// twice. Memory is that of one context and of all of one catalog.
///
/// # Errors
/// If the store cannot be read at all; what can be read and is wrong is in the report.
pub async fn verify(store: &dyn Store, progress: &mut (dyn FnMut(u64, u64) + Send)) -> Result<Report, StoreError> {
    let head = store.head().await?.seq;
    let mut report = Report { seq: head, ..Report::default() };
    let settings = store.settings().await?.catalogs;
    for catalog in &settings {
        let change = Change::Catalog { name: catalog.name.clone(), settings: catalog.settings.clone(), expected: None };
        if let Err(error) = change.check() {
            report.problem(format!("catalog {}: {error}", catalog.id.0));
        }
    }
    let mut catalogs: Vec<(String, CatalogId)> = settings.into_iter().map(|catalog| (catalog.name, catalog.id)).collect();
    match positions(store, head, &catalogs, &mut report, progress).await {
        Ok(strangers) => catalogs.extend(strangers),
        // Nothing more can be said of a log that cannot be read.
        Err(error @ StoreError::Log { .. }) => {
            report.problem(error.to_string());
            return Ok(report);
        }
        Err(error) => return Err(error),
    }
    report.catalogs = catalogs.len();
    let mut digest = Hasher::new();
    let mut done = head;
    for (name, catalog) in catalogs {
        let Some(all) = refold(store, catalog, None, head, &mut report).await? else { continue };
        text(&mut digest, &name);
        digest.update(&all.digest());
        let mut after = None;
        loop {
            let page = Page { prefix: String::new(), after: after.clone(), limit: PAGE };
            let names = store.contexts(catalog, page).await?;
            after = names.last().cloned();
            for context in &names {
                if let Some(fold) = refold(store, catalog, Some(context), head, &mut report).await? {
                    report.contexts += 1;
                    done += fold.tail() as u64;
                    progress(done.min(2 * head), 2 * head);
                    // One whose events were all withdrawn is as if it had never been.
                    if !fold.statistics().is_empty() {
                        text(&mut digest, context);
                        digest.update(&fold.digest());
                    }
                }
            }
            if names.len() < PAGE {
                break;
            }
        }
    }
    report.digest = *digest.finalize().as_bytes();
    Ok(report)
}

fn text(digest: &mut Hasher, text: &str) {
    digest.update(&(text.len() as u64).to_le_bytes());
    digest.update(text.as_bytes());
}

/// Positions must be 1, 2, 3, … up to the head. Catalogs of events that the settings do not know, and that were not erased.
async fn positions(
    store: &dyn Store,
    head: u64,
    known: &[(String, CatalogId)],
    report: &mut Report,
    progress: &mut (dyn FnMut(u64, u64) + Send),
) -> Result<Vec<(String, CatalogId)>, StoreError> {
    let mut strangers: Vec<(String, CatalogId)> = Vec::new();
    let mut next = 1;
    loop {
        let events = store.read(Selection { after: next - 1, limit: PAGE, ..Selection::default() }).await?;
        for event in events.iter().filter(|event| event.seq <= head) {
            if event.seq > next {
                report.problem(format!("positions {next} to {} are missing from the log", event.seq - 1));
            }
            next = event.seq + 1;
            report.events += 1;
            report.erased += u64::from(event.body.is_none());
            check_event(event, report);
            let is = |(_, catalog): &(String, CatalogId)| *catalog == event.catalog;
            if event.body.is_some() && !known.iter().any(is) && !strangers.iter().any(is) {
                report
                    .problem(format!("position {} is of catalog {}, which the settings do not know", event.seq, event.catalog.0));
                strangers.push((format!("#{}", event.catalog.0), event.catalog));
            }
        }
        progress((next - 1).min(head), 2 * head);
        if events.len() < PAGE || next > head {
            break;
        }
    }
    if next <= head {
        report.problem(format!("the log ends at position {}, its head says {head}", next - 1));
    }
    let beyond = store.read(Selection { after: head, limit: 1, ..Selection::default() }).await?;
    // Unless somebody appended meanwhile.
    if let [event, ..] = beyond.as_slice()
        && store.head().await?.seq < event.seq
    {
        report.problem(format!("the log goes on after its head, {head}: there is a position {}", event.seq));
    }
    Ok(strangers)
}

/// Whether an event is one that this program would have written.
fn check_event(event: &Event, report: &mut Report) {
    let seq = event.seq;
    if let Some(error) = event.context.as_deref().and_then(|context| check_context(context).err()) {
        report.problem(format!("position {seq}: {error}"));
    }
    let Some(body) = &event.body else { return };
    if let Err(error) = body.check() {
        report.problem(format!("position {seq}: {error}"));
    }
    let is_right = match (event.kind, &body.source) {
        (Kind::Import, Some(source)) => event.id == import_key(source),
        (Kind::Import, None) | (Kind::Erasure, _) => false,
        _ => true,
    };
    if !is_right {
        report.problem(format!("position {seq}: the id is not that of its body: it would be imported again"));
    }
}

/// The fold of a context from the log alone, compared with its snapshot on the way. None if it cannot be folded.
async fn refold(
    store: &dyn Store,
    catalog: CatalogId,
    context: Option<&str>,
    head: u64,
    report: &mut Report,
) -> Result<Option<Fold>, StoreError> {
    for _ in 0..TRIES {
        let mut own = Report::default();
        let fold = refold_once(store, catalog, context, head, &mut own).await?;
        // An erasure takes events away under whoever reads them: then what does not agree may be no fault.
        let disturbed = Selection { after: head, catalog: Some(catalog), context: Some(String::new()), limit: 1 };
        if own.is_good() || store.read(disturbed).await?.is_empty() {
            report.snapshots += own.snapshots;
            own.problems.into_iter().for_each(|problem| report.problem(problem));
            return Ok(fold);
        }
    }
    report.problem(format!("contexts of catalog {} are being erased all the time: verify again later", catalog.0));
    Ok(None)
}

async fn refold_once(
    store: &dyn Store,
    catalog: CatalogId,
    context: Option<&str>,
    head: u64,
    report: &mut Report,
) -> Result<Option<Fold>, StoreError> {
    let whose = context.map_or_else(|| format!("catalog {}", catalog.0), |context| format!("context {context:?}"));
    let kept = store.snapshot(SnapshotKey::new(catalog, context)).await?;
    // One that was put aside meanwhile is compared, too; none can be of what has not been.
    let now = store.head().await?.seq;
    if let Some(kept) = kept.as_ref().filter(|kept| kept.seq > now) {
        report.problem(format!("the snapshot of {whose} is of position {}, the log ends at {now}", kept.seq));
    }
    let folding = |start, upto| Folding { catalog, context: context.map(str::to_owned), start, upto };
    if let Some(kept) = &kept {
        let fold = match store.fold(folding(Start::Log, kept.seq)).await {
            Ok(fold) => fold,
            Err(error) => return report.wrong(&whose, error),
        };
        match snapshot::decode(&kept.bytes) {
            Err(error) => report.problem(format!("the snapshot of {whose}: {error}; it is folded again when it is used")),
            Ok(read) if read.digest() != fold.digest() => {
                report.problem(format!("the snapshot of {whose} at position {} is not what the log gives", kept.seq));
            }
            Ok(read) if read.position() != kept.seq => {
                report.problem(format!("the snapshot of {whose} says position {}, and stands at {}", read.position(), kept.seq));
            }
            Ok(_) => report.snapshots += 1,
        }
    }
    // From the log alone: what snapshots say does not count here.
    match store.fold(folding(Start::Log, head)).await {
        Ok(fold) => Ok(Some(fold)),
        Err(error) => report.wrong(&whose, error),
    }
}
