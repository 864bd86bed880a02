//! The log folded into statistics: of one context, or of all.

use blake3::Hasher;
use unloop::{OptionId, Options, Statistics, equal_parts};

use crate::error::StoreError;
use crate::event::{Body, Event, Kind, Outcome, rounded};
use crate::settings::NO_CHOICE;

/// Statistics by option names, up to a position of the log.
#[derive(Clone, Debug)]
pub struct Fold {
    options: Options,
    statistics: Statistics,
    position: u64,
    /// Events since it was last put aside.
    tail: usize,
    /// Bytes of all names.
    names: usize,
}

/// Bytes that a name takes beside its own: in a list, in a table, in the heap.
const AROUND_A_NAME: usize = 40;

impl Default for Fold {
    fn default() -> Self {
        Self::new()
    }
}

/// What an event did to a fold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applied {
    /// It counts.
    Counted,
    /// It is not above the fold's position: it was seen before.
    Before,
    /// A context was erased: what was folded before may hold it, and has to be made again.
    Reload,
}

impl Fold {
    /// Nothing yet.
    pub fn new() -> Self {
        Self { options: Options::new(), statistics: Statistics::new(0), position: 0, tail: 0, names: 0 }
    }

    /// Put together from parts that were checked.
    pub(crate) fn of_parts(options: Options, statistics: Statistics, position: u64) -> Self {
        let names = options.iter().map(|(_, name)| name.len()).sum();
        Self { options, statistics, position, tail: 0, names }
    }

    /// Names of options that were ever presented, [`NO_CHOICE`] for choosing nothing.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Counts over these options.
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// Everything up to here is in it.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Everything up to here is in it: nothing else of it came before.
    pub fn advance(&mut self, position: u64) {
        self.position = self.position.max(position);
    }

    /// Events that it took in since it was last put aside.
    pub fn tail(&self) -> usize {
        self.tail
    }

    /// It was put aside as it is.
    pub fn was_put_aside(&mut self) {
        self.tail = 0;
    }

    /// How much memory it takes, about.
    pub fn heap_bytes(&self) -> usize {
        size_of::<Self>() + self.names + AROUND_A_NAME * self.options.len() + self.statistics.heap_bytes()
    }

    /// Takes an event in that belongs to it.
    ///
    /// # Errors
    /// If it cannot be counted: a log that this program has not written.
    pub fn apply(&mut self, event: &Event) -> Result<Applied, StoreError> {
        if event.seq <= self.position {
            return Ok(Applied::Before);
        }
        if event.kind == Kind::Erasure {
            return Ok(Applied::Reload);
        }
        if let Some(body) = &event.body {
            let sign = if event.kind == Kind::Withdrawal { -1.0 } else { 1.0 };
            self.count(body, sign).map_err(|problem| StoreError::Log { seq: event.seq, problem })?;
        }
        (self.position, self.tail) = (event.seq, self.tail + 1);
        Ok(Applied::Counted)
    }

    /// Takes an event back that it holds.
    pub(crate) fn undo(&mut self, kind: Kind, body: &Body) -> Result<(), String> {
        match kind {
            Kind::Choice | Kind::Import => self.count(body, -1.0),
            Kind::Withdrawal => self.count(body, 1.0),
            Kind::Erasure => Ok(()),
        }
    }

    fn count(&mut self, body: &Body, sign: f64) -> Result<(), String> {
        let mut intern = |name: &str| {
            let before = self.options.len();
            let option = self.options.intern(name).map_err(|error| error.to_string())?;
            self.names += (self.options.len() - before) * name.len();
            Ok::<OptionId, String>(option)
        };
        let mut members = body.presented.iter().map(|name| intern(name)).collect::<Result<Vec<OptionId>, String>>()?;
        let none = if body.declinable { Some(intern(&NO_CHOICE.to_string())?) } else { None };
        members.extend(none);
        self.statistics.grow(self.options.len());
        let ids = |names: &[String]| names.iter().filter_map(|name| self.options.get(name)).collect::<Vec<OptionId>>();
        // Exact in any order: the log holds multiples of a grain. One that was written before it did is rounded here.
        let weight = rounded(body.weight);
        let parts: Vec<(OptionId, f64)> = match &body.outcome {
            Outcome::Chosen(names) => ids(names).into_iter().map(|option| (option, weight)).collect(),
            Outcome::Tied(names) => {
                // In the order of their names: what cannot be divided goes to the first, and numbers depend on who came first.
                let mut names = names.clone();
                names.sort_unstable();
                equal_parts(&ids(&names), weight).collect()
            }
            // Nothing chosen where that was no option: recorded, and counts for nothing.
            Outcome::None => none.map(|none| (none, weight)).into_iter().collect(),
        };
        for (option, part) in parts {
            let counted = if sign > 0.0 {
                self.statistics.record(members.iter().copied(), option, part)
            } else {
                self.statistics.withdraw(members.iter().copied(), option, part)
            };
            counted.map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    /// Counts in an order of their own, whatever the order of the log: names ascending with y, then sets of places among the names with μ.
    pub(crate) fn canonical(&self) -> Canonical<'_> {
        let shown = self.statistics.shown();
        // An option that only withdrawn events held is none.
        let counted = |option: OptionId| shown.get(option.index()).is_some_and(|&count| count > 0.0);
        let mut named: Vec<(&str, OptionId)> =
            self.options.iter().filter(|&(option, _)| counted(option)).map(|(option, name)| (name, option)).collect();
        named.sort_unstable();
        let mut places = vec![0_u32; self.options.len()];
        named.iter().zip(0..).for_each(|((_, option), place)| places[option.index()] = place);
        // End to end: there may be millions of sets.
        let mut members: Vec<u32> = Vec::with_capacity(self.statistics.iter().map(|(set, _)| set.len()).sum());
        let mut sets: Vec<(u32, u32, f64)> = Vec::with_capacity(self.statistics.distinct());
        for (set, count) in self.statistics.iter() {
            let start = members.len();
            members.extend(set.iter().map(|option| places[option.index()]));
            members[start..].sort_unstable();
            sets.push((start as u32, set.len() as u32, count));
        }
        let of = |&(start, length, _): &(u32, u32, f64)| &members[start as usize..(start + length) as usize];
        sets.sort_unstable_by(|x, y| of(x).cmp(of(y)));
        let chosen = named.into_iter().map(|(name, option)| (name, self.statistics.chosen(option))).collect();
        Canonical { chosen, members, sets }
    }

    /// A digest of the counts: equal for equal counts, to the bit, however they came about.
    pub fn digest(&self) -> [u8; 32] {
        let canonical = self.canonical();
        let mut hasher = Hasher::new();
        hasher.update(&(canonical.chosen.len() as u64).to_le_bytes());
        for (name, count) in &canonical.chosen {
            hasher.update(&(name.len() as u64).to_le_bytes());
            hasher.update(name.as_bytes());
            hasher.update(&count.to_bits().to_le_bytes());
        }
        let mut bytes = Vec::new();
        for (places, count) in canonical.presented() {
            bytes.clear();
            bytes.extend((places.len() as u64).to_le_bytes());
            places.iter().for_each(|place| bytes.extend(place.to_le_bytes()));
            bytes.extend(count.to_bits().to_le_bytes());
            hasher.update(&bytes);
        }
        *hasher.finalize().as_bytes()
    }
}

/// Counts in order.
pub(crate) struct Canonical<'a> {
    /// Names, with how often each was chosen.
    pub(crate) chosen: Vec<(&'a str, f64)>,
    /// Places among the names, set after set.
    members: Vec<u32>,
    /// Where each set begins, its size, and how often it was presented.
    sets: Vec<(u32, u32, f64)>,
}

impl Canonical<'_> {
    /// Sets of places among the names, with how often each was presented.
    pub(crate) fn presented(&self) -> impl ExactSizeIterator<Item = (&[u32], f64)> {
        self.sets.iter().map(|&(start, length, count)| (&self.members[start as usize..(start + length) as usize], count))
    }
}
