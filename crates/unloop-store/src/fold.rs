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
            Outcome::None(_) => none.map(|none| (none, weight)).into_iter().collect(),
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

    /// Counts in an order of their own, whatever the order of the log: names ascending with y, then sets of names with μ.
    pub(crate) fn canonical(&self) -> Canonical {
        let name = |option: OptionId| self.options.name(option).unwrap_or_default().to_owned();
        let shown = self.statistics.shown();
        // An option that only withdrawn events held is none.
        let counted = |option: OptionId| shown.get(option.index()).is_some_and(|&count| count > 0.0);
        let mut chosen: Vec<(String, f64)> = (self.options.iter().filter(|&(option, _)| counted(option)))
            .map(|(option, own)| (own.to_owned(), self.statistics.chosen(option)))
            .collect();
        chosen.sort_by(|x, y| x.0.cmp(&y.0));
        let mut presented: Vec<(Vec<String>, f64)> = self
            .statistics
            .iter()
            .map(|(members, count)| {
                let mut names: Vec<String> = members.iter().map(|&option| name(option)).collect();
                names.sort();
                (names, count)
            })
            .collect();
        presented.sort_by(|x, y| x.0.cmp(&y.0));
        Canonical { chosen, presented }
    }

    /// A digest of the counts: equal for equal counts, to the bit, however they came about.
    pub fn digest(&self) -> [u8; 32] {
        let Canonical { chosen, presented } = self.canonical();
        let mut hasher = Hasher::new();
        let text = |hasher: &mut Hasher, name: &str| {
            hasher.update(&(name.len() as u64).to_le_bytes());
            hasher.update(name.as_bytes());
        };
        for (name, count) in &chosen {
            text(&mut hasher, name);
            hasher.update(&count.to_bits().to_le_bytes());
        }
        for (names, count) in &presented {
            hasher.update(&(names.len() as u64).to_le_bytes());
            names.iter().for_each(|name| text(&mut hasher, name));
            hasher.update(&count.to_bits().to_le_bytes());
        }
        *hasher.finalize().as_bytes()
    }
}

/// Counts by name, in order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Canonical {
    pub(crate) chosen: Vec<(String, f64)>,
    pub(crate) presented: Vec<(Vec<String>, f64)>,
}
