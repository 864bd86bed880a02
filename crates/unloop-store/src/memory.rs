//! A store in memory: for tests, and for whoever keeps nothing.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::decide::{self, Found, Pushed, Transaction};
use crate::error::StoreError;
use crate::event::{Body, CatalogId, Counted, Entry, Event, Kind};
use crate::fold::Fold;
use crate::note::{HOUR, KEEP_MINUTES, KEEP_PRESENTATIONS, Note, PresentationNote, Pruned, Trend, TrendSelection, Trends};
use crate::replay::{Folding, Moment, replay};
use crate::settings::{Catalog, CatalogOption, Change, Changed, Key, Settings};
use crate::{Answer, Appended, Erased, Head, Page, Selection, Snapshot, SnapshotKey, Store, Then};

/// A store in memory.
#[derive(Debug, Default)]
pub struct Memory {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    events: Vec<Event>,
    places: HashMap<(CatalogId, Kind, String), usize>,
    snapshots: BTreeMap<SnapshotKey, Snapshot>,
    revision: u64,
    /// How many there ever were.
    catalog_count: i64,
    catalogs: BTreeMap<CatalogId, Catalog>,
    options: BTreeMap<CatalogId, Vec<CatalogOption>>,
    keys: Vec<Key>,
    presentations: BTreeMap<String, PresentationNote>,
    trends: BTreeMap<(CatalogId, i64, u32), Trend>,
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

impl State {
    fn join_trend(&mut self, time: i64, trend: &Trend) {
        let place = (trend.catalog, time, trend.option);
        match self.trends.get_mut(&place) {
            Some(own) => own.join(trend),
            None => drop(self.trends.insert(place, Trend { time, ..trend.clone() })),
        }
    }
}

impl Transaction for State {
    fn find(&mut self, catalog: CatalogId, kind: Kind, id: &str) -> Result<Option<Found>, StoreError> {
        let place = self.places.get(&(catalog, kind, id.to_owned()));
        let event = place.and_then(|&place| self.events.get(place));
        let text = |event: &Event| event.body.as_ref().map(|body| serde_json::to_string(body).unwrap_or_default());
        Ok(event.map(|event| Found { seq: event.seq, context: event.context.clone(), text: text(event) }))
    }

    fn push(&mut self, event: Pushed<'_>) -> Result<Option<u64>, StoreError> {
        let Pushed { catalog, context, kind, id, text, time } = event;
        if self.places.contains_key(&(catalog, kind, id.to_owned())) {
            return Ok(None);
        }
        let seq = self.events.len() as u64 + 1;
        self.places.insert((catalog, kind, id.to_owned()), self.events.len());
        let body = text.map(|text| decide::parse(seq, text)).transpose()?;
        let context = context.map(str::to_owned);
        self.events.push(Event { seq, catalog, context, kind, id: id.to_owned(), body, time });
        Ok(Some(seq))
    }

    fn seq(&self) -> u64 {
        self.events.len() as u64
    }

    fn each_of_context(
        &mut self,
        catalog: CatalogId,
        context: &str,
        upto: u64,
        with: &mut dyn FnMut(Kind, &Body),
    ) -> Result<(), StoreError> {
        let own = |event: &&Event| event.seq <= upto && event.catalog == catalog && event.context.as_deref() == Some(context);
        for event in self.events.iter().rev().filter(own) {
            if let Some(body) = &event.body {
                with(event.kind, body);
            }
        }
        Ok(())
    }

    fn blank(&mut self, catalog: CatalogId, context: Option<&str>) -> Result<usize, StoreError> {
        let goes = |own: Option<&str>| context.is_none() || own == context;
        let mut count = 0;
        for event in self.events.iter_mut().filter(|event| event.catalog == catalog && goes(event.context.as_deref())) {
            (event.context, event.body) = (None, None);
            count += 1;
        }
        self.snapshots.retain(|key, _| key.catalog != catalog || !goes(key.context.as_deref()));
        self.presentations.retain(|_, note| note.catalog != catalog || !goes(note.context.as_deref()));
        if context.is_none() {
            self.trends.retain(|(own, _, _), _| *own != catalog);
        }
        Ok(count)
    }

    fn snapshot(&mut self, key: &SnapshotKey) -> Result<Option<Snapshot>, StoreError> {
        Ok(self.snapshots.get(key).cloned())
    }

    fn set_snapshot(&mut self, key: &SnapshotKey, snapshot: Option<&Snapshot>) -> Result<(), StoreError> {
        match snapshot {
            Some(snapshot) => drop(self.snapshots.insert(key.clone(), snapshot.clone())),
            None => drop(self.snapshots.remove(key)),
        }
        Ok(())
    }

    fn last_erasure(&mut self, catalog: CatalogId) -> Result<u64, StoreError> {
        Moment::last_erasure(self, catalog)
    }

    fn catalog_named(&mut self, name: &str) -> Result<Option<Catalog>, StoreError> {
        Ok(self.catalogs.values().find(|own| own.name == name).cloned())
    }

    fn catalog(&mut self, id: CatalogId) -> Result<Option<Catalog>, StoreError> {
        Ok(self.catalogs.get(&id).cloned())
    }

    fn next_catalog(&mut self) -> Result<CatalogId, StoreError> {
        self.catalog_count += 1;
        Ok(CatalogId(self.catalog_count))
    }

    fn put_catalog(&mut self, catalog: &Catalog) -> Result<(), StoreError> {
        self.catalogs.insert(catalog.id, catalog.clone());
        Ok(())
    }

    fn delete_catalog(&mut self, id: CatalogId) -> Result<(), StoreError> {
        self.catalogs.remove(&id);
        self.options.remove(&id);
        Ok(())
    }

    fn option_count(&mut self, catalog: CatalogId) -> Result<u32, StoreError> {
        Ok(self.options.get(&catalog).map_or(0, Vec::len) as u32)
    }

    fn option_index(&mut self, catalog: CatalogId, name: &str) -> Result<Option<u32>, StoreError> {
        let own = self.options.get(&catalog);
        Ok(own.and_then(|options| options.iter().find(|option| option.name == name)).map(|option| option.index))
    }

    fn put_option(&mut self, catalog: CatalogId, option: &CatalogOption) -> Result<(), StoreError> {
        let options = self.options.entry(catalog).or_default();
        match options.get_mut(option.index as usize) {
            Some(own) => *own = option.clone(),
            None => options.push(option.clone()),
        }
        Ok(())
    }

    fn put_key(&mut self, key: &Key) -> Result<bool, StoreError> {
        let free = self.keys.iter().all(|own| own.id != key.id && own.hash != key.hash);
        if free {
            self.keys.push(key.clone());
        }
        Ok(free)
    }

    fn delete_key(&mut self, id: &str) -> Result<bool, StoreError> {
        let before = self.keys.len();
        self.keys.retain(|key| key.id != id);
        Ok(self.keys.len() < before)
    }

    fn revise(&mut self) -> Result<u64, StoreError> {
        self.revision += 1;
        Ok(self.revision)
    }
}

impl Moment for State {
    fn seq(&self) -> Result<u64, StoreError> {
        Ok(self.events.len() as u64)
    }

    fn snapshot(&self, key: &SnapshotKey) -> Result<Option<Snapshot>, StoreError> {
        Ok(self.snapshots.get(key).cloned())
    }

    fn last_erasure(&self, catalog: CatalogId) -> Result<u64, StoreError> {
        let last = self.events.iter().rev().find(|event| event.catalog == catalog && event.kind == Kind::Erasure);
        Ok(last.map_or(0, |event| event.seq))
    }

    fn each(
        &self,
        catalog: CatalogId,
        context: Option<&str>,
        after: u64,
        upto: u64,
        with: &mut dyn FnMut(u64, Kind, Counted<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let own = |event: &&Event| {
            event.seq <= upto && event.catalog == catalog && (context.is_none() || event.context.as_deref() == context)
        };
        let mut above = self.events.get(after as usize..).unwrap_or_default().iter().filter(own);
        above.try_for_each(|event| event.body.as_ref().map_or(Ok(()), |body| with(event.seq, event.kind, Counted::Owned(body))))
    }
}

fn ready<'a, T: Send + 'a>(value: Result<T, StoreError>) -> Answer<'a, T> {
    Box::pin(std::future::ready(value))
}

impl Store for Memory {
    fn append(&self, entries: Vec<Entry>) -> Answer<'_, Vec<Appended>> {
        let prepared = match decide::prepare(entries) {
            Ok(prepared) => prepared,
            Err(error) => return ready(Err(error)),
        };
        let mut state = self.lock();
        ready(prepared.iter().map(|entry| entry.append(&mut *state)).collect())
    }

    fn append_then(&self, mut entry: Entry, then: Then) -> Answer<'_, Appended> {
        let asked = match decide::asked(&mut entry) {
            Ok(asked) => asked,
            Err(error) => return ready(Err(StoreError::Body { place: 1, error })),
        };
        let mut state = self.lock();
        let answer = decide::append(&mut *state, entry.catalog, entry.context.as_deref(), &asked, entry.time);
        // While nobody else appends: they are told in order.
        if let Ok(answer) = &answer {
            then(answer, entry);
        }
        ready(answer)
    }

    fn head(&self) -> Answer<'_, Head> {
        let state = self.lock();
        ready(Ok(Head { seq: state.events.len() as u64, revision: state.revision }))
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

    fn fold(&self, folding: Folding) -> Answer<'_, Fold> {
        ready(replay(&*self.lock(), folding))
    }

    fn contexts(&self, catalog: CatalogId, page: Page) -> Answer<'_, Vec<String>> {
        let state = self.lock();
        let own = state.events.iter().filter(|event| event.catalog == catalog).filter_map(|event| event.context.as_ref());
        let names: BTreeSet<&String> = own.filter(|name| page.holds(name)).collect();
        ready(Ok(names.into_iter().take(page.limit).cloned().collect()))
    }

    fn long_tails(&self, catalog: CatalogId, least: u64) -> Answer<'_, Vec<String>> {
        let state = self.lock();
        let mut tails: BTreeMap<&String, u64> = BTreeMap::new();
        for event in state.events.iter().filter(|event| event.catalog == catalog) {
            let Some(context) = &event.context else { continue };
            let kept = state.snapshots.get(&SnapshotKey::new(catalog, Some(context))).map_or(0, |kept| kept.seq);
            *tails.entry(context).or_default() += u64::from(event.seq > kept);
        }
        ready(Ok(tails.into_iter().filter(|(_, tail)| *tail >= least).map(|(name, _)| name.clone()).collect()))
    }

    fn snapshot(&self, key: SnapshotKey) -> Answer<'_, Option<Snapshot>> {
        ready(Transaction::snapshot(&mut *self.lock(), &key))
    }

    fn put_snapshots(&self, snapshots: Vec<(SnapshotKey, Snapshot)>) -> Answer<'_, ()> {
        let mut state = self.lock();
        ready(snapshots.iter().try_for_each(|(key, snapshot)| decide::put_snapshot(&mut *state, key, snapshot)))
    }

    fn erase(&self, catalog: CatalogId, context: Option<String>, time: i64) -> Answer<'_, Erased> {
        let erased = decide::erase(&mut *self.lock(), catalog, context.as_deref(), time);
        ready(erased.map(|seq| Erased { seq, emptied: true }))
    }

    fn settings(&self) -> Answer<'_, Settings> {
        let state = self.lock();
        let mut catalogs: Vec<Catalog> = state.catalogs.values().cloned().collect();
        catalogs.sort_by(|x, y| x.name.cmp(&y.name));
        ready(Ok(Settings { revision: state.revision, catalogs, keys: state.keys.clone() }))
    }

    fn find(&self, catalog: CatalogId, kind: Kind, id: String) -> Answer<'_, Option<Event>> {
        let state = self.lock();
        let place = state.places.get(&(catalog, kind, id)).copied();
        ready(Ok(place.and_then(|place| state.events.get(place).cloned())))
    }

    fn options(&self, catalog: CatalogId) -> Answer<'_, Vec<CatalogOption>> {
        ready(Ok(self.lock().options.get(&catalog).cloned().unwrap_or_default()))
    }

    fn change(&self, change: Change) -> Answer<'_, Changed> {
        if let Err(error) = change.check() {
            return ready(Err(error.into()));
        }
        ready(decide::change(&mut *self.lock(), &change))
    }

    fn note(&self, notes: Vec<Note>) {
        let mut state = self.lock();
        for note in notes {
            match note {
                Note::Presentation(note) => drop(state.presentations.insert(note.id.clone(), note)),
                Note::Trend(trend) => state.join_trend(trend.minute(), &trend),
            }
        }
    }

    fn latest(&self, catalog: CatalogId, context: Option<String>, limit: usize) -> Answer<'_, Vec<Event>> {
        let belongs =
            |event: &&Event| event.catalog == catalog && event.body.is_some() && (context.is_none() || event.context == context);
        let state = self.lock();
        ready(Ok(state.events.iter().rev().filter(belongs).take(limit).cloned().collect()))
    }

    fn presentations(&self, catalog: CatalogId, context: Option<String>, limit: usize) -> Answer<'_, Vec<PresentationNote>> {
        let state = self.lock();
        let belongs = |note: &&PresentationNote| note.catalog == catalog && (context.is_none() || note.context == context);
        let mut own: Vec<PresentationNote> = state.presentations.values().filter(belongs).cloned().collect();
        own.sort_by(|x, y| (y.time, &y.id).cmp(&(x.time, &x.id)));
        own.truncate(limit);
        ready(Ok(own))
    }

    fn trends(&self, selection: TrendSelection) -> Answer<'_, Trends> {
        let state = self.lock();
        let (mut trends, mut joined) = (Trends::default(), BTreeMap::new());
        let TrendSelection { catalog, since, .. } = selection;
        for trend in state.trends.range((catalog, since, 0)..=(catalog, i64::MAX, u32::MAX)).map(|(_, trend)| trend) {
            trends.add(&selection, &mut joined, trend);
        }
        trends.rows = joined.into_values().collect();
        ready(Ok(trends))
    }

    fn served(&self, catalog: CatalogId, after: i64, upto: i64) -> Answer<'_, Vec<(u32, f64)>> {
        let state = self.lock();
        let mut served: BTreeMap<u32, f64> = BTreeMap::new();
        for (&(own, time, option), trend) in &state.trends {
            if own == catalog && time > after && time <= upto {
                *served.entry(option).or_default() += trend.served;
            }
        }
        ready(Ok(served.into_iter().collect()))
    }

    fn bytes(&self) -> Answer<'_, u64> {
        ready(Ok(0))
    }

    fn prune(&self, now: i64) -> Answer<'_, Pruned> {
        let mut state = self.lock();
        let before = state.presentations.len();
        state.presentations.retain(|_, note| note.time >= now - KEEP_PRESENTATIONS);
        let presentations = (before - state.presentations.len()) as u64;
        let old = |(_, time, _): &(CatalogId, i64, u32)| *time < now - KEEP_MINUTES && time.rem_euclid(HOUR) != 0;
        let minutes: Vec<_> = state.trends.keys().filter(|key| old(key)).copied().collect();
        for key in &minutes {
            if let Some(trend) = state.trends.remove(key) {
                state.join_trend(trend.time.div_euclid(HOUR) * HOUR, &trend);
            }
        }
        ready(Ok(Pruned { presentations, trends: minutes.len() as u64 }))
    }
}
