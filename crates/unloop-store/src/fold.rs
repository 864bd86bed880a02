//! The log folded into statistics: of one context, or of all.

use blake3::Hasher;
use unloop::{OptionId, Options, Statistics, equal_parts};

use crate::error::StoreError;
use crate::event::{Body, Counted, Event, Kind, Outcome, ReadBody, rounded};
use crate::settings::NO_CHOICE;

/// Statistics by option names, up to a position of the log.
#[derive(Clone, Debug)]
pub struct Fold {
    options: Options,
    statistics: Statistics,
    position: u64,
    /// Events since it was last put aside.
    tail: usize,
    /// Room for the options of a presentation.
    members: Vec<OptionId>,
}

/// What was picked of a presentation.
enum Picked<'a, N> {
    Chosen(&'a [N]),
    Tied(&'a [N]),
    Nothing,
}

impl Default for Fold {
    fn default() -> Self {
        Self::new()
    }
}

/// A choice that a fold counted, in its own numbers of options.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part<'a> {
    /// What it was chosen from.
    pub members: &'a [OptionId],
    /// What was chosen.
    pub chosen: OptionId,
    /// How often.
    pub weight: f64,
    /// Whether it came, or was taken back.
    pub adds: bool,
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
        Self { options: Options::new(), statistics: Statistics::new(0), position: 0, tail: 0, members: Vec::new() }
    }

    /// Put together from parts that were checked.
    pub(crate) fn of_parts(options: Options, statistics: Statistics, position: u64) -> Self {
        Self { options, statistics, position, tail: 0, members: Vec::new() }
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
        size_of::<Self>() + self.options.table_bytes() + self.statistics.heap_bytes() + 4 * self.members.capacity()
    }

    /// Takes an event in that belongs to it.
    ///
    /// # Errors
    /// If it cannot be counted: a log that this program has not written.
    pub fn apply(&mut self, event: &Event) -> Result<Applied, StoreError> {
        self.apply_with(event, &mut |_| {})
    }

    /// As [`apply`](Self::apply), and tells what was counted.
    ///
    /// # Errors
    /// As [`apply`](Self::apply).
    pub fn apply_with(&mut self, event: &Event, with: &mut dyn FnMut(Part<'_>)) -> Result<Applied, StoreError> {
        if event.seq <= self.position {
            return Ok(Applied::Before);
        }
        if event.kind == Kind::Erasure {
            return Ok(Applied::Reload);
        }
        match &event.body {
            Some(body) => self.take_in(event.seq, event.kind, Counted::Owned(body), with)?,
            None => self.advance(event.seq),
        }
        Ok(Applied::Counted)
    }

    /// Takes in what an event holds.
    pub(crate) fn take_in(
        &mut self,
        seq: u64,
        kind: Kind,
        body: Counted<'_>,
        with: &mut dyn FnMut(Part<'_>),
    ) -> Result<(), StoreError> {
        self.count(body, kind != Kind::Withdrawal, with).map_err(|problem| StoreError::Log { seq, problem })?;
        (self.position, self.tail) = (seq, self.tail + 1);
        Ok(())
    }

    /// Takes an event back that it holds.
    pub(crate) fn undo(&mut self, kind: Kind, body: &Body) -> Result<(), String> {
        self.count(Counted::Owned(body), kind == Kind::Withdrawal, &mut |_| {})
    }

    fn count(&mut self, body: Counted<'_>, adds: bool, with: &mut dyn FnMut(Part<'_>)) -> Result<(), String> {
        match body {
            Counted::Owned(Body { presented, declinable, outcome, weight, .. }) => {
                let picked = match outcome {
                    Outcome::Chosen(names) => Picked::Chosen(names),
                    Outcome::Tied(names) => Picked::Tied(names),
                    Outcome::None => Picked::Nothing,
                };
                self.count_names(presented, *declinable, &picked, *weight, adds, with)
            }
            Counted::Read(ReadBody { presented, declinable, chosen, tied, none, weight }) => {
                let picked = match (chosen, tied, none) {
                    (Some(names), None, None) => Picked::Chosen(names),
                    (None, Some(names), None) => Picked::Tied(names),
                    (None, None, Some(true)) => Picked::Nothing,
                    _ => return Err("one of `chosen`, `tied` and `none` says what came of it".into()),
                };
                self.count_names(presented, *declinable, &picked, weight.unwrap_or(1.0), adds, with)
            }
        }
    }

    fn count_names<N: AsRef<str>>(
        &mut self,
        presented: &[N],
        declinable: bool,
        picked: &Picked<'_, N>,
        weight: f64,
        adds: bool,
        with: &mut dyn FnMut(Part<'_>),
    ) -> Result<(), String> {
        let Self { options, statistics, members, .. } = self;
        let mut intern = |name: &str| options.intern(name).map_err(|error| error.to_string());
        members.clear();
        for name in presented {
            members.push(intern(name.as_ref())?);
        }
        let none = if declinable { Some(intern(NO_CHOICE.encode_utf8(&mut [0; 4]))?) } else { None };
        members.extend(none);
        statistics.grow(options.len());
        // Exact in any order: the log holds multiples of a grain. One that was written before it did is rounded here.
        let weight = rounded(weight);
        let mut count = |option: OptionId, part: f64| {
            let own = members.iter().copied();
            let counted = if adds { statistics.record(own, option, part) } else { statistics.withdraw(own, option, part) };
            counted.map_err(|error| error.to_string())?;
            with(Part { members, chosen: option, weight: part, adds });
            Ok::<(), String>(())
        };
        let id = |name: &str| options.get(name).ok_or_else(|| format!("{name:?} was chosen and not presented"));
        match picked {
            Picked::Chosen(names) => names.iter().try_for_each(|name| count(id(name.as_ref())?, weight)),
            Picked::Tied(names) => {
                // In the order of their names: what cannot be divided goes to the first, and numbers depend on who came first.
                let mut names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
                names.sort_unstable();
                let ids = names.into_iter().map(id).collect::<Result<Vec<OptionId>, String>>()?;
                equal_parts(&ids, weight).try_for_each(|(option, part)| count(option, part))
            }
            // Nothing chosen where that was no option: recorded, and counts for nothing.
            Picked::Nothing => none.map_or(Ok(()), |none| count(none, weight)),
        }
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
