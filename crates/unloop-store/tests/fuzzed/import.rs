//! Any bytes as a choice file, and its rows in the log.

use std::collections::BTreeSet;
use std::io::Cursor;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use unloop::{OptionId, Options};
use unloop_data::{Answer, CountSettings, ReadSettings, Row, Rows, Source, for_each_choice};
use unloop_store::{
    Appended, Body, BodyError, CatalogId, Entry, Event, Fold, Memory, Outcome, Selection, Store, What, check_context, fold,
    snapshot,
};

const CATALOG: CatalogId = CatalogId(1);
/// A ranking of more options, and what it means beyond so many choices, is left out: ties make thousands of choices out of a short row.
const MOST_RANKED: usize = 64;
const MOST_STEPS: usize = 16;

/// Reads a file to its end, whatever its rows, and has the good ones appended and folded. Its name says nothing, or that it is JSON Lines.
pub(crate) fn import(data: &[u8]) {
    for name in ["choices", "choices.jsonl"] {
        append(entries(name, data));
    }
}

/// What the good rows of a file append.
pub(crate) fn entries(name: &str, data: &[u8]) -> Vec<Entry> {
    let source = Source::from_reader(name, Cursor::new(data.to_vec()));
    let also = ["context", "id", "kind", "declinable"].map(str::to_owned).to_vec();
    let mut entries = Vec::new();
    let mut rows = match Rows::new(source, &ReadSettings { also, ..ReadSettings::default() }) {
        Ok(rows) => rows,
        Err(error) => {
            assert!(!error.to_string().is_empty() && error.hint() != Some(String::new()), "an error says something");
            return entries;
        }
    };
    let (mut options, mut row) = (Options::new(), Row::default());
    loop {
        let known = options.len();
        match rows.read(&mut options, &mut row) {
            Ok(false) => return entries,
            Ok(true) => add(&options, &row, &mut entries),
            Err(error) => {
                assert!(!error.to_string().is_empty() && error.hint() != Some(String::new()), "an error says something");
                assert_eq!(options.len(), known, "a bad row left names: {error}");
                if !error.is_of_row() {
                    return entries;
                }
            }
        }
        assert!(rows.lines() >= 1, "a row of no line");
    }
}

/// Adds the entries of a row, as an import does.
fn add(options: &Options, row: &Row, entries: &mut Vec<Entry>) {
    let [context, id, kind, declinable] = row.also.as_slice() else { panic!("four columns were asked for: {:?}", row.also) };
    let context = if context.is_empty() { &row.user } else { context };
    if !context.is_empty() && check_context(context).is_err() {
        return;
    }
    let declinable = matches!(declinable.as_str(), "true" | "1");
    let names = |ids: &[OptionId]| -> Vec<String> {
        ids.iter().map(|&id| options.name(id).expect("a good row's options have names").to_owned()).collect()
    };
    let mut push = |step: usize, presented: &[OptionId], outcome: Outcome, weight: f64| {
        let id = if id.is_empty() { format!("{}#{step}", row.line) } else { format!("{id}#{step}") };
        let body = Body { presented: names(presented), declinable, outcome, weight, source: None };
        let what = if kind == "choice" { What::Choice { id, body } } else { What::Import { id, body } };
        match what.check() {
            Ok(()) => {
                let context = (!context.is_empty()).then(|| context.clone());
                entries.push(Entry { catalog: CATALOG, context, what, time: 0 });
            }
            // What the log takes less of than a file does.
            Err(BodyError::Presented { .. } | BodyError::Name { .. } | BodyError::Weight { .. } | BodyError::Id { .. }) => {}
            Err(error) => panic!("a good row is no choice: {error} in {what:?}"),
        }
    };
    let outcome = match &row.answer {
        Answer::Nothing => Outcome::None,
        Answer::Chosen(option) => Outcome::Chosen(names(&[*option])),
        Answer::Several(chosen) => Outcome::Chosen(names(chosen)),
        Answer::Tied(tied) => Outcome::Tied(names(tied)),
        Answer::AllTied => Outcome::Tied(names(&row.presented)),
        Answer::Ranked(_) => {
            let mut step = 0;
            if row.presented.len() <= MOST_RANKED {
                for_each_choice(row, &CountSettings::default(), None, |presented, option, weight| {
                    step += 1;
                    if step <= MOST_STEPS {
                        push(step, presented, Outcome::Chosen(names(&[option])), weight);
                    }
                });
            }
            return;
        }
    };
    push(0, &row.presented, outcome, row.count);
}

/// Appends entries that were checked, and folds them.
fn append(entries: Vec<Entry>) {
    for entry in &entries {
        let (What::Choice { body, .. } | What::Import { body, .. }) = &entry.what else { continue };
        assert_eq!(reread(body), *body, "a body has changed on its way through JSON");
    }
    let store = Memory::new();
    let contexts: BTreeSet<Option<String>> = entries.iter().map(|entry| entry.context.clone()).collect();
    let first = run(store.append(entries.clone())).expect("entries that were checked are appended");
    let head = run(store.head()).expect("a head").seq;
    let recorded = first.iter().filter(|answer| matches!(answer, Appended::Recorded { .. })).count();
    assert_eq!(recorded as u64, head);
    let again = run(store.append(entries)).expect("entries are appended again");
    assert!(!again.iter().any(|answer| matches!(answer, Appended::Recorded { .. })), "what is there is recorded again");

    let all = run(fold(&store, CATALOG, None)).expect("the log can be folded");
    assert_eq!(all.position(), head);
    let bytes = snapshot::encode(&all);
    let kept = snapshot::decode(&bytes).unwrap_or_else(|error| panic!("a fold is no snapshot: {error}"));
    assert_eq!(kept.digest(), all.digest(), "a fold has changed on its way through a snapshot");

    // As it comes back from a file, where bodies are JSON.
    let selection = Selection { catalog: Some(CATALOG), limit: usize::MAX, ..Selection::default() };
    let mut refolded = Fold::new();
    for event in run(store.read(selection)).expect("the log can be read") {
        let body = event.body.as_ref().map(reread);
        assert_eq!(body, event.body, "what the log keeps has changed on its way through JSON");
        refolded.apply(&Event { body, ..event }).expect("what is in the log can be counted");
    }
    assert_eq!(refolded.digest(), all.digest());
    for context in contexts.iter().flatten() {
        run(fold(&store, CATALOG, Some(context))).expect("a context can be folded");
    }
}

/// A body as it is after a while in a file.
fn reread(body: &Body) -> Body {
    let text = serde_json::to_string(body).expect("a body is JSON");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{text} is no body: {error}"))
}

/// The answer of a store in memory, which never lets one wait.
fn run<T>(work: impl Future<Output = T>) -> T {
    match pin!(work).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer,
        Poll::Pending => panic!("a store in memory lets one wait"),
    }
}
