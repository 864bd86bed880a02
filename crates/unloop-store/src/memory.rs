//! A store in memory: for tests, and for whoever keeps nothing.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::decide::{self, Found, Pushed, Transaction};
use crate::error::StoreError;
use crate::event::{CatalogId, Entry, Event, Kind};
use crate::{Answer, Appended, Head, Selection, Snapshot, Store};

/// A store in memory.
#[derive(Debug, Default)]
pub struct Memory {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    events: Vec<Event>,
    places: HashMap<(CatalogId, Kind, String), usize>,
    snapshots: BTreeMap<(CatalogId, Option<String>), Snapshot>,
}

impl Memory {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing in here panics half way.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Transaction for State {
    fn find(&mut self, catalog: CatalogId, kind: Kind, id: &str) -> Result<Option<Found>, StoreError> {
        let place = self.places.get(&(catalog, kind, id.to_owned()));
        let event = place.and_then(|&place| self.events.get(place));
        Ok(event.map(|event| Found { seq: event.seq, context: event.context.clone(), body: event.body.clone() }))
    }

    fn push(&mut self, event: Pushed<'_>) -> Result<Option<u64>, StoreError> {
        let Pushed { catalog, context, kind, id, body, time } = event;
        if self.places.contains_key(&(catalog, kind, id.to_owned())) {
            return Ok(None);
        }
        let seq = self.events.len() as u64 + 1;
        self.places.insert((catalog, kind, id.to_owned()), self.events.len());
        let context = context.map(str::to_owned);
        self.events.push(Event { seq, catalog, context, kind, id: id.to_owned(), body: body.cloned(), time });
        Ok(Some(seq))
    }
}

fn ready<'a, T: Send + 'a>(value: Result<T, StoreError>) -> Answer<'a, T> {
    Box::pin(std::future::ready(value))
}

impl Store for Memory {
    fn append(&self, entries: Vec<Entry>) -> Answer<'_, Vec<Appended>> {
        let mut state = self.lock();
        ready(decide::check(&entries).and_then(|()| entries.iter().map(|entry| decide::append(&mut *state, entry)).collect()))
    }

    fn head(&self) -> Answer<'_, Head> {
        ready(Ok(Head { seq: self.lock().events.len() as u64 }))
    }

    fn read(&self, selection: Selection) -> Answer<'_, Vec<Event>> {
        let Selection { after, catalog, context, limit } = selection;
        let belongs = |event: &&Event| {
            catalog.is_none_or(|catalog| event.catalog == catalog)
                && (context.is_none() || event.context == context || event.kind == Kind::Erasure)
        };
        let state = self.lock();
        let above = state.events.get(after as usize..).unwrap_or_default();
        ready(Ok(above.iter().filter(belongs).take(limit).cloned().collect()))
    }

    fn snapshot(&self, catalog: CatalogId, context: Option<String>) -> Answer<'_, Option<Snapshot>> {
        ready(Ok(self.lock().snapshots.get(&(catalog, context)).cloned()))
    }

    fn put_snapshot(&self, catalog: CatalogId, context: Option<String>, snapshot: Snapshot) -> Answer<'_, ()> {
        let mut state = self.lock();
        let erased =
            state.events.iter().any(|event| event.catalog == catalog && event.kind == Kind::Erasure && event.seq > snapshot.seq);
        let kept = state.snapshots.get(&(catalog, context.clone())).is_some_and(|own| own.seq >= snapshot.seq);
        if !kept && !erased {
            state.snapshots.insert((catalog, context), snapshot);
        }
        ready(Ok(()))
    }

    fn erase(&self, catalog: CatalogId, context: String, time: i64) -> Answer<'_, Option<u64>> {
        let mut state = self.lock();
        let mut held = false;
        for event in state.events.iter_mut().filter(|event| event.catalog == catalog && event.context.as_ref() == Some(&context))
        {
            (event.context, event.body) = (None, None);
            held = true;
        }
        if !held {
            return ready(Ok(None));
        }
        state.snapshots.remove(&(catalog, Some(context)));
        state.snapshots.remove(&(catalog, None));
        let id = (state.events.len() + 1).to_string();
        let pushed = Pushed { catalog, context: None, kind: Kind::Erasure, id: &id, body: None, time };
        ready(state.push(pushed))
    }
}
