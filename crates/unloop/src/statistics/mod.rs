//! All the posterior needs of the choices: y_k and μ(C).
//!
//! ```text
//! y_k  = Σ_t c_t [k_t = k]        how often option k was chosen
//! μ(C) = Σ_t c_t [C_t = C]        how often presentation C was answered
//! ```
//!
//! Counts are real numbers: a choice has a weight c, a tie of m options gives each 1/m of it, forgetting scales everything.
//! Sums of weights that are multiples of 2⁻²⁰ are exact up to 2³³, hence the same to the bit in any order of recording,
//! merging and withdrawing; the parts of a tie are rounded to such multiples and still add up to the weight.
//!
//! ```
//! use unloop::{OptionId, Statistics};
//! let [a, b, c] = [0, 1, 2].map(OptionId::new);
//! let mut statistics = Statistics::new(3);
//! statistics.record([a, b], b, 1.0)?;
//! statistics.record([b, a], a, 0.5)?;
//! assert_eq!(statistics.chosen(a), 0.5);
//! assert_eq!(statistics.total(), 1.5);
//! assert!(!statistics.is_explored(c));
//! assert!(statistics.record([a, b], c, 1.0).is_err());
//! # Ok::<(), unloop::StatisticsError>(())
//! ```
//!
//! Recording costs O(L) whatever was recorded before. Memory is 4 bytes for each member of a distinct presentation, and 17 to
//! 22 bytes for each presentation.

mod components;
mod many;
pub(crate) mod store;

use std::fmt;

use thiserror::Error;

use crate::option::{Listed, OptionId};
use crate::presentation::{Choice, Presentation, PresentationError, sort_members};

pub(crate) use components::{DisjointSets, find_root, label};
pub use many::RowError;
use store::{Block, Store};

/// Weights that are multiples of this add up without rounding (up to 2³³).
pub const WEIGHT_UNIT: f64 = 1.0 / (1 << 20) as f64;

/// Why statistics refuse a change. Nothing was changed then.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum StatisticsError {
    /// No presentation, or no choice from it.
    #[error(transparent)]
    Presentation(#[from] PresentationError),
    /// An option has an index that these statistics do not know.
    #[error("option {option} is unknown: there are {option_count} options; grow the statistics first")]
    UnknownOption {
        /// The unknown option.
        option: OptionId,
        /// Number of options known.
        option_count: usize,
    },
    /// A weight is negative, infinite or not a number.
    #[error("weight {weight} is not a finite number of at least 0")]
    Weight {
        /// The weight.
        weight: f64,
    },
    /// A factor is negative, infinite or not a number.
    #[error("factor {factor} is not a finite number of at least 0")]
    Factor {
        /// The factor.
        factor: f64,
    },
    /// More choices of an option were withdrawn than recorded.
    #[error("cannot withdraw {weight} from option {option}, chosen {recorded} times")]
    ChosenBelowZero {
        /// The option.
        option: OptionId,
        /// Its count y_k.
        recorded: f64,
        /// What was to be taken away.
        weight: f64,
    },
    /// More answers of a presentation were withdrawn than recorded.
    #[error("cannot withdraw {weight} from presentation {}, answered {recorded} times", Listed(members))]
    PresentedBelowZero {
        /// The presentation.
        members: Vec<OptionId>,
        /// Its count μ(C).
        recorded: f64,
        /// What was to be taken away.
        weight: f64,
    },
    /// A count would pass the largest number.
    #[error("a count of {recorded} and a weight of {weight} do not add up to a finite number")]
    Overflow {
        /// The count.
        recorded: f64,
        /// The weight.
        weight: f64,
    },
    /// Margins that no choices can have.
    #[error("choices add up to {chosen}, presentations to {presented}: every choice is one of each")]
    Unbalanced {
        /// Σ y.
        chosen: f64,
        /// Σ μ.
        presented: f64,
    },
    /// There are as many distinct presentations as can be addressed.
    #[error("no more distinct presentations fit: there are {count}")]
    Full {
        /// Distinct presentations.
        count: usize,
    },
}

/// Part of a count that a million scalings may get wrong by rounding.
const ROUNDING: f64 = 1e-11;

/// Counts of choices y_k and presentations μ(C) over options `0 … K−1`.
#[derive(Clone)]
pub struct Statistics {
    chosen: Vec<f64>,
    /// Number of distinct presentations with a positive count that hold the option.
    degree: Vec<u32>,
    store: Store,
    /// Distinct presentations with a positive count.
    distinct: usize,
    /// Reused by every call, so that recording allocates nothing.
    scratch: Vec<OptionId>,
}

impl Statistics {
    /// No choices among `option_count` options; more than [`OptionId`]s can name are as many as they can.
    pub fn new(option_count: usize) -> Self {
        let option_count = option_count.min(u32::MAX as usize);
        Self {
            chosen: vec![0.0; option_count],
            degree: vec![0; option_count],
            store: Store::new(),
            distinct: 0,
            scratch: Vec::new(),
        }
    }

    /// As [`new`](Self::new), with the index sized for a number of distinct presentations.
    pub fn with_capacity(option_count: usize, presentations: usize) -> Self {
        Self { store: Store::with_capacity(presentations), ..Self::new(option_count) }
    }

    /// Statistics with given margins: y_k, and μ(C) for each presentation (repeated ones add up).
    ///
    /// # Errors
    /// As [`record`](Self::record), and if Σy and Σμ differ by more than rounding.
    pub fn from_margins<C: IntoIterator<Item = OptionId>>(
        chosen: &[f64],
        presentations: impl IntoIterator<Item = (C, f64)>,
    ) -> Result<Self, StatisticsError> {
        let presentations = presentations.into_iter();
        // No more than a hint: it may be anybody's.
        let mut statistics = Self::with_capacity(chosen.len(), presentations.size_hint().0.min(1 << 16));
        for &count in chosen {
            check_weight(count)?;
        }
        let mut presented = 0.0;
        let mut members: Vec<OptionId> = Vec::new();
        for (set, count) in presentations {
            check_weight(count)?;
            members.clear();
            members.extend(set);
            sort_members(&mut members)?;
            check_known(&members, chosen.len())?;
            statistics.add_presented(&members, store::hash(&members), count)?;
            presented += count;
        }
        let total: f64 = chosen.iter().sum();
        if !((total - presented).abs() <= 1e-9 * total.max(presented)) {
            return Err(StatisticsError::Unbalanced { chosen: total, presented });
        }
        statistics.chosen.copy_from_slice(chosen);
        Ok(statistics)
    }

    /// The same counts over other numbers of options, `option_count` in all. Options with the same number become one.
    ///
    /// # Errors
    /// If two options of one presentation get the same number, or one a number that is too large.
    pub fn renumbered(&self, option_count: usize, number: impl Fn(OptionId) -> OptionId) -> Result<Self, StatisticsError> {
        let mut renumbered = Self::with_capacity(option_count, self.distinct);
        for (option, &count) in (0..).map(OptionId::new).zip(&self.chosen).filter(|&(_, &count)| count > 0.0) {
            let own = number(option);
            check_known(&[own], option_count)?;
            renumbered.chosen[own.index()] += count;
        }
        let mut members: Vec<OptionId> = Vec::new();
        for (set, count) in self.iter() {
            members.clear();
            members.extend(set.iter().map(|&option| number(option)));
            sort_members(&mut members)?;
            check_known(&members, option_count)?;
            renumbered.add_presented(&members, store::hash(&members), count)?;
        }
        Ok(renumbered)
    }

    /// Statistics from counts that are known to be good.
    pub(crate) fn from_counts(chosen: Vec<f64>, presentations: impl Iterator<Item = (Vec<OptionId>, f64)>) -> Self {
        let mut statistics = Self::new(chosen.len());
        for (mut members, count) in presentations {
            members.sort_unstable();
            let added = statistics.add_presented(&members, store::hash(&members), count);
            debug_assert!(added.is_ok(), "invariant: they were counted before");
        }
        statistics.chosen = chosen;
        statistics
    }

    /// Number of options: K in the formulas.
    pub fn option_count(&self) -> usize {
        self.chosen.len()
    }

    /// Makes room for options up to `option_count`; never fewer than now. New ones are unexplored.
    pub fn grow(&mut self, option_count: usize) {
        let count = option_count.min(u32::MAX as usize).max(self.chosen.len());
        self.chosen.resize(count, 0.0);
        self.degree.resize(count, 0);
    }

    /// Records that `chosen` was chosen, with a weight, when `presented` were shown. O(L).
    ///
    /// # Errors
    /// If these are no presentation and a choice from it, an option is unknown, or the weight is negative or not finite.
    pub fn record(
        &mut self,
        presented: impl IntoIterator<Item = OptionId>,
        chosen: OptionId,
        weight: f64,
    ) -> Result<(), StatisticsError> {
        let members = self.load(presented, chosen, weight)?;
        check_sum(self.chosen[chosen.index()], weight)?;
        self.add_presented(&members, store::hash(&members), weight)?;
        self.chosen[chosen.index()] += weight;
        self.scratch = members;
        Ok(())
    }

    /// Records a choice, with a weight; a tie as equal parts.
    ///
    /// # Errors
    /// As [`record`](Self::record).
    pub fn record_choice(&mut self, choice: &Choice, weight: f64) -> Result<(), StatisticsError> {
        let members = self.check_choice(choice, weight)?;
        for (option, part) in equal_parts(choice.chosen(), weight) {
            check_sum(self.chosen[option.index()], part)?;
        }
        self.add_presented(members, store::hash(members), weight)?;
        for (option, part) in equal_parts(choice.chosen(), weight) {
            self.chosen[option.index()] += part;
        }
        Ok(())
    }

    /// Takes back a choice of a weight; the inverse of [`record`](Self::record) for weights that are multiples of 2⁻²⁰.
    ///
    /// Statistics do not keep which option was chosen from which presentation. They refuse what would take a count below
    /// zero; that this choice was indeed recorded is the caller's knowledge.
    ///
    /// # Errors
    /// As [`record`](Self::record), and if less than the weight was recorded for the option or the presentation.
    pub fn withdraw(
        &mut self,
        presented: impl IntoIterator<Item = OptionId>,
        chosen: OptionId,
        weight: f64,
    ) -> Result<(), StatisticsError> {
        let members = self.load(presented, chosen, weight)?;
        self.check_chosen(chosen, weight)?;
        self.subtract_presented(&members, weight)?;
        self.take_chosen(chosen, weight);
        self.scratch = members;
        Ok(())
    }

    /// Takes back a choice or tie; the inverse of [`record_choice`](Self::record_choice).
    ///
    /// # Errors
    /// As [`withdraw`](Self::withdraw).
    pub fn withdraw_choice(&mut self, choice: &Choice, weight: f64) -> Result<(), StatisticsError> {
        let members = self.check_choice(choice, weight)?;
        for (option, part) in equal_parts(choice.chosen(), weight) {
            self.check_chosen(option, part)?;
        }
        self.subtract_presented(members, weight)?;
        for (option, part) in equal_parts(choice.chosen(), weight) {
            self.take_chosen(option, part);
        }
        Ok(())
    }

    /// Adds other statistics over the same options; those it has beyond ours are taken over.
    ///
    /// # Errors
    /// If a sum is not finite, or no more presentations fit.
    pub fn merge(&mut self, other: &Self) -> Result<(), StatisticsError> {
        for (&ours, &theirs) in self.chosen.iter().zip(&other.chosen) {
            check_sum(ours, theirs)?;
        }
        for (members, count) in other.iter() {
            check_sum(self.store.find(members).map_or(0.0, |entry| self.store.count(entry)), count)?;
        }
        if self.store.entries().saturating_add(other.store.entries()) >= 1 << 31 {
            return Err(StatisticsError::Full { count: self.store.entries() });
        }
        self.grow(other.option_count());
        for (members, count) in other.iter() {
            self.add_presented(members, store::hash(members), count)?;
        }
        for (ours, theirs) in self.chosen.iter_mut().zip(&other.chosen) {
            *ours += theirs;
        }
        Ok(())
    }

    /// Multiplies every count by a factor: forgetting. The prior is not touched. Zero forgets everything.
    ///
    /// # Errors
    /// If the factor is negative or not finite, or a count would not stay finite.
    pub fn scale(&mut self, factor: f64) -> Result<(), StatisticsError> {
        if !(factor >= 0.0 && factor.is_finite()) {
            return Err(StatisticsError::Factor { factor });
        }
        let largest = self.iter().map(|(_, count)| count).chain(self.chosen.iter().copied()).fold(0.0, f64::max);
        if !(largest * factor).is_finite() {
            return Err(StatisticsError::Overflow { recorded: largest, weight: largest * factor });
        }
        for count in self.chosen.iter_mut().chain(self.store.counts_mut()) {
            *count *= factor;
            // Below the smallest normal number a count loses its digits, and never reaches zero: it is forgotten.
            if *count < f64::MIN_POSITIVE {
                *count = 0.0;
            }
        }
        self.recount();
        Ok(())
    }

    /// y_k: how often an option was chosen; zero for an unknown one.
    pub fn chosen(&self, option: OptionId) -> f64 {
        self.chosen.get(option.index()).copied().unwrap_or(0.0)
    }

    /// y, by option.
    pub fn all_chosen(&self) -> &[f64] {
        &self.chosen
    }

    /// μ(C): how often a presentation was answered.
    pub fn presented(&self, presentation: &Presentation) -> f64 {
        self.store.find(presentation.members()).map_or(0.0, |entry| self.store.count(entry))
    }

    /// Times each option was shown: Σ_{C∋k} μ(C). One pass over the distinct presentations.
    pub fn shown(&self) -> Vec<f64> {
        let mut shown = vec![0.0; self.option_count()];
        for (members, count) in self.iter() {
            for option in members {
                shown[option.index()] += count;
            }
        }
        shown
    }

    /// Σμ: the total weight of the choices. One pass over the distinct presentations.
    pub fn total(&self) -> f64 {
        // An empty sum of floats is −0.
        self.iter().map(|(_, count)| count).sum::<f64>() + 0.0
    }

    /// Number of distinct presentations with a positive count.
    pub fn distinct(&self) -> usize {
        self.distinct
    }

    /// Whether nothing is recorded.
    pub fn is_empty(&self) -> bool {
        self.distinct == 0
    }

    /// Distinct presentations (members ascending) with their positive counts, in order of first recording.
    pub fn iter(&self) -> impl Iterator<Item = (&[OptionId], f64)> {
        self.store.blocks().iter().flat_map(Block::iter).filter(|&(_, count)| count > 0.0)
    }

    /// As [`iter`](Self::iter), in the order of the members: the same for statistics that are equal, however they came about.
    pub fn canonical(&self) -> Vec<(&[OptionId], f64)> {
        let mut entries: Vec<_> = self.iter().collect();
        entries.sort_unstable_by_key(|&(members, _)| members);
        entries
    }

    /// Whether an option is in a presentation with a positive count.
    pub fn is_explored(&self, option: OptionId) -> bool {
        self.degree.get(option.index()).is_some_and(|&degree| degree > 0)
    }

    /// Explored options, ascending: E in the formulas.
    pub fn explored(&self) -> impl Iterator<Item = OptionId> {
        self.degree.iter().enumerate().filter(|&(_, &degree)| degree > 0).map(|(k, _)| OptionId::new(k as u32))
    }

    /// Connected components of the explored options, where a presentation links its members: each ascending, in order of
    /// their smallest member.
    pub fn components(&self) -> Vec<Vec<OptionId>> {
        let (_, members) = label(self.links(), |k| self.degree[k] > 0);
        members.into_iter().map(|set| set.into_iter().map(OptionId::new).collect()).collect()
    }

    /// Bytes on the heap.
    pub fn heap_bytes(&self) -> usize {
        8 * self.chosen.capacity() + 4 * self.degree.capacity() + 4 * self.scratch.capacity() + self.store.heap_bytes()
    }

    /// Gives back memory kept for growing.
    pub fn shrink_to_fit(&mut self) {
        self.store.shrink_to_fit();
    }

    /// Options linked by presentations. Stops as soon as all explored ones are one set.
    pub(crate) fn links(&self) -> DisjointSets {
        let mut sets = DisjointSets::new(self.option_count());
        let mut apart = self.degree.iter().filter(|&&degree| degree > 0).count();
        for (members, _) in self.iter() {
            if apart <= 1 {
                break;
            }
            for pair in members.windows(2) {
                apart -= usize::from(sets.join(pair[0].index(), pair[1].index()));
            }
        }
        sets
    }

    /// Sorted, checked members in the buffer of `scratch`, which the caller puts back.
    fn load(
        &mut self,
        presented: impl IntoIterator<Item = OptionId>,
        chosen: OptionId,
        weight: f64,
    ) -> Result<Vec<OptionId>, StatisticsError> {
        let mut members = std::mem::take(&mut self.scratch);
        members.clear();
        members.extend(presented);
        check_row(&mut members, chosen, weight, self.chosen.len())?;
        Ok(members)
    }

    /// Members of a choice, if they are known and the weight is one.
    fn check_choice<'a>(&self, choice: &'a Choice, weight: f64) -> Result<&'a [OptionId], StatisticsError> {
        check_weight(weight)?;
        let members = choice.presentation().members();
        check_known(members, self.chosen.len())?;
        Ok(members)
    }

    /// Adds to μ of a presentation.
    fn add_presented(&mut self, members: &[OptionId], hash: u64, weight: f64) -> Result<(), StatisticsError> {
        if weight == 0.0 {
            return Ok(());
        }
        let Some(entry) = self.store.find_or_insert_hashed(members, hash) else {
            return Err(StatisticsError::Full { count: self.store.entries() });
        };
        let count = self.store.count(entry);
        check_sum(count, weight)?;
        *self.store.count_mut(entry) = count + weight;
        if count == 0.0 {
            self.distinct += 1;
            for option in members {
                self.degree[option.index()] += 1;
            }
        }
        Ok(())
    }

    /// Takes from μ of a presentation.
    fn subtract_presented(&mut self, members: &[OptionId], weight: f64) -> Result<(), StatisticsError> {
        let entry = self.store.find(members);
        let recorded = entry.map_or(0.0, |entry| self.store.count(entry));
        let Some(left) = left_of(recorded, weight) else {
            return Err(StatisticsError::PresentedBelowZero { members: members.to_vec(), recorded, weight });
        };
        let Some(entry) = entry.filter(|_| weight > 0.0 && recorded > 0.0) else { return Ok(()) };
        *self.store.count_mut(entry) = left;
        if left == 0.0 {
            self.distinct -= 1;
            for option in members {
                self.degree[option.index()] -= 1;
            }
            if self.store.entries() > 64 && self.distinct < self.store.entries() / 4 {
                self.recount();
            }
        }
        Ok(())
    }

    /// Rebuilds what depends on which counts are positive, and drops the entries that are not.
    fn recount(&mut self) {
        let mut store = Store::with_capacity(self.iter().count());
        self.degree.fill(0);
        self.distinct = 0;
        for (members, count) in self.store.blocks().iter().flat_map(Block::iter).filter(|&(_, count)| count > 0.0) {
            if let Some(entry) = store.find_or_insert(members) {
                *store.count_mut(entry) = count;
                self.distinct += 1;
            }
            for option in members {
                self.degree[option.index()] += 1;
            }
        }
        self.store = store;
    }

    fn check_chosen(&self, option: OptionId, weight: f64) -> Result<(), StatisticsError> {
        let recorded = self.chosen[option.index()];
        let left = left_of(recorded, weight);
        left.map(|_| ()).ok_or(StatisticsError::ChosenBelowZero { option, recorded, weight })
    }

    fn take_chosen(&mut self, option: OptionId, weight: f64) {
        let chosen = &mut self.chosen[option.index()];
        *chosen = left_of(*chosen, weight).unwrap_or(0.0);
    }
}

/// A count less a weight; none if that is below zero. What rounding can leave of a count that was scaled is nothing: an option would
/// stay explored by it.
pub(crate) fn left_of(recorded: f64, weight: f64) -> Option<f64> {
    let left = recorded - weight;
    if left.abs() <= ROUNDING * recorded { Some(0.0) } else { Some(left).filter(|&left| left >= 0.0) }
}

/// Equal if every y_k and μ(C) is, whatever the order of recording.
impl PartialEq for Statistics {
    fn eq(&self, other: &Self) -> bool {
        self.chosen == other.chosen
            && self.distinct == other.distinct
            && self.iter().all(|(members, count)| other.store.find(members).is_some_and(|e| other.store.count(e) == count))
    }
}

impl fmt::Debug for Statistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Statistics")
            .field("options", &self.option_count())
            .field("distinct", &self.distinct)
            .field("total", &self.total())
            .finish_non_exhaustive()
    }
}

/// Sorts and checks the members of a presentation, a choice from it and its weight.
fn check_row(members: &mut [OptionId], chosen: OptionId, weight: f64, option_count: usize) -> Result<(), StatisticsError> {
    check_weight(weight)?;
    sort_members(members)?;
    check_known(members, option_count)?;
    if members.contains(&chosen) { Ok(()) } else { Err(PresentationError::NotPresented { option: chosen }.into()) }
}

/// Checks the largest of sorted members.
pub(crate) fn check_known(members: &[OptionId], option_count: usize) -> Result<(), StatisticsError> {
    match members.last() {
        Some(&option) if option.index() >= option_count => Err(StatisticsError::UnknownOption { option, option_count }),
        _ => Ok(()),
    }
}

pub(crate) fn check_sum(recorded: f64, weight: f64) -> Result<(), StatisticsError> {
    if (recorded + weight).is_finite() { Ok(()) } else { Err(StatisticsError::Overflow { recorded, weight }) }
}

pub(crate) fn check_weight(weight: f64) -> Result<(), StatisticsError> {
    if weight >= 0.0 && weight.is_finite() { Ok(()) } else { Err(StatisticsError::Weight { weight }) }
}

/// A weight divided among tied options. A weight that is a multiple of 2⁻²⁰ is divided into such multiples, whose sum is the
/// weight exactly; the first options get a unit more where it does not divide evenly.
pub fn equal_parts(chosen: &[OptionId], weight: f64) -> impl Iterator<Item = (OptionId, f64)> {
    const EXACT: f64 = (1_u64 << 53) as f64;
    let n = chosen.len() as f64;
    let units = weight / WEIGHT_UNIT;
    let exact = units < EXACT && units.fract() == 0.0;
    let (part, extra) = if exact { ((units / n).floor(), units % n) } else { (weight / n, 0.0) };
    chosen.iter().enumerate().map(move |(i, &option)| {
        let part = if exact { (part + f64::from(u8::from((i as f64) < extra))) * WEIGHT_UNIT } else { part };
        (option, part)
    })
}

#[cfg(test)]
mod tests;
