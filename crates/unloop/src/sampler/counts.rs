//! Counts of an evolving sampler: exponents and columns over the options that have data, in places of their own.
//!
//! An option gets a place when it is first shown with others and keeps it. It is *awake* while a column holds it; when its last column
//! goes (a withdrawal, forgetting) it falls asleep and is again an option never shown. So everything here is as large as what was
//! shown, whatever the number of options.

use super::SamplerError;
use crate::option::OptionId;
use crate::posterior::Posterior;
use crate::presentation::Choice;
use crate::prior::{Prior, PriorError, check_alpha};
use crate::statistics::store::{Entry, Store};
use crate::statistics::{Statistics, StatisticsError, check_known, check_sum, check_weight, equal_parts, left_of};

/// No place.
const NONE: u32 = u32::MAX;

/// Exponents a_k = α_k + y_k and columns b_C = β(C) + μ(C).
#[derive(Clone, Debug)]
pub(crate) struct Counts {
    /// α of every option, and its place.
    all_alpha: Vec<f64>,
    places: Vec<u32>,
    /// By place: option, α, y, and the columns that hold it.
    options: Vec<OptionId>,
    alpha: Vec<f64>,
    chosen: Vec<f64>,
    degree: Vec<u32>,
    /// Places without columns.
    asleep: usize,
    /// Columns over places, with μ.
    store: Store,
    /// β of the first entries.
    beta: Vec<f64>,
    /// Columns that lost their weight, at least.
    dead: usize,
}

/// What a choice changed.
pub(crate) struct Change {
    pub(crate) entry: Entry,
    /// Whether the column had no weight before, and whether it was never there.
    pub(crate) appeared: bool,
    pub(crate) is_new: bool,
    /// b of the column before, and y of the chosen options.
    pub(crate) weight_before: f64,
    pub(crate) chosen_before: Vec<f64>,
    /// Places that were asleep and are awake now, or the other way round.
    pub(crate) turned: Vec<u32>,
}

impl Counts {
    pub(crate) fn heap_bytes(&self) -> usize {
        let by_option = 8 * self.all_alpha.capacity() + 4 * self.places.capacity();
        let by_place =
            4 * self.options.capacity() + 8 * (self.alpha.capacity() + self.chosen.capacity()) + 4 * self.degree.capacity();
        by_option + by_place + self.store.heap_bytes() + 8 * self.beta.capacity()
    }

    /// No choices yet; options of the prior's columns are awake.
    pub(crate) fn new(prior: &Prior, option_count: usize) -> Result<Self, PriorError> {
        let all_alpha = prior.alpha(option_count)?;
        let mut counts = Self {
            places: vec![NONE; all_alpha.len()],
            all_alpha,
            options: Vec::new(),
            alpha: Vec::new(),
            chosen: Vec::new(),
            degree: Vec::new(),
            asleep: 0,
            store: Store::new(),
            beta: Vec::new(),
            dead: 0,
        };
        for (presentation, beta) in prior.columns() {
            let places = counts.place_all(presentation.members());
            if let Some(entry) = counts.store.find_or_insert(&places) {
                counts.beta.resize(entry.index() + 1, 0.0);
                counts.beta[entry.index()] = *beta;
                counts.turn(&places, true);
            }
        }
        Ok(counts)
    }

    /// Wakes every option up for good, data or not.
    pub(crate) fn carry_all(&mut self) {
        for option in 0..self.all_alpha.len() as u32 {
            self.carry(OptionId::new(option));
        }
    }

    /// Wakes an option up for good; its place.
    pub(crate) fn carry(&mut self, option: OptionId) -> usize {
        let place = self.place_all(&[option])[0];
        self.asleep -= usize::from(self.degree[place.index()] == 0);
        self.degree[place.index()] += 1;
        place.index()
    }

    /// Refuses statistics of options that are not known, and counts that no choices can have, whatever the prior.
    pub(crate) fn check(&self, statistics: &Statistics) -> Result<(), SamplerError> {
        let option_count = self.option_count();
        if statistics.option_count() > option_count {
            let option = OptionId::new(option_count as u32);
            return Err(StatisticsError::UnknownOption { option, option_count }.into());
        }
        if !statistics.is_empty() {
            Posterior::new(&Prior::default(), statistics)?;
        }
        Ok(())
    }

    /// Adds what statistics hold, of no more options than these. O(Σ|C|).
    pub(crate) fn merge(&mut self, statistics: &Statistics) -> Result<(), StatisticsError> {
        for (option, &chosen) in statistics.all_chosen().iter().enumerate() {
            check_sum(self.chosen_of(OptionId::new(option as u32)), chosen)?;
        }
        for (members, count) in statistics.iter() {
            check_sum(self.find(members).map_or(0.0, |entry| self.store.count(entry)), count)?;
        }
        if self.store.entries().saturating_add(statistics.distinct()) >= 1 << 31 {
            return Err(StatisticsError::Full { count: self.store.entries() });
        }
        if self.store.entries() == 0 {
            self.store = Store::with_capacity(statistics.distinct());
        }
        let mut alone = vec![0.0; statistics.option_count()];
        let mut places = Vec::new();
        for (members, count) in statistics.iter() {
            if let [option] = members {
                alone[option.index()] += count;
                continue;
            }
            self.place_into(members, &mut places);
            let full = StatisticsError::Full { count: self.store.entries() };
            let entry = self.store.find_or_insert(&places).ok_or(full)?;
            let asleep = self.weight(entry) == 0.0;
            *self.store.count_mut(entry) += count;
            if asleep {
                self.turn(&places, true);
            }
        }
        for (option, &chosen) in statistics.all_chosen().iter().enumerate() {
            // Choices from sets of one option say nothing.
            if self.places[option] != NONE {
                self.chosen[self.places[option] as usize] += (chosen - alone[option]).max(0.0);
            }
        }
        Ok(())
    }

    /// A new option, asleep.
    pub(crate) fn add_option(&mut self, alpha: f64) -> Result<OptionId, SamplerError> {
        check_alpha(alpha)?;
        // Without weight on all options the masses of old and new have no law.
        if !self.beta.is_empty() && self.mass() == 0.0 {
            return Err(SamplerError::NoWhole);
        }
        let option = OptionId::new(self.all_alpha.len() as u32);
        self.all_alpha.push(alpha);
        self.places.push(NONE);
        Ok(option)
    }

    /// Counts a choice. None for a set of one option or a weight of zero, which say nothing.
    pub(crate) fn record(&mut self, choice: &Choice, weight: f64) -> Result<Option<Change>, StatisticsError> {
        let members = choice.presentation().members();
        if !self.says_something(choice, weight)? {
            return Ok(None);
        }
        for (option, part) in equal_parts(choice.chosen(), weight) {
            check_sum(self.chosen_of(option), part)?;
        }
        check_sum(self.find(members).map_or(0.0, |entry| self.store.count(entry)), weight)?;
        let places = self.place_all(members);
        let entries = self.store.entries();
        let entry = self.store.find_or_insert(&places).ok_or(StatisticsError::Full { count: entries })?;
        let weight_before = self.weight(entry);
        let appeared = weight_before == 0.0;
        let chosen_before = choice.chosen().iter().map(|&option| self.chosen_of(option)).collect();
        *self.store.count_mut(entry) += weight;
        for (option, part) in equal_parts(choice.chosen(), weight) {
            let place = self.place(option);
            self.chosen[place] += part;
        }
        let turned = if appeared { self.turn(&places, true) } else { Vec::new() };
        let is_new = self.store.entries() > entries;
        self.dead = self.dead.saturating_sub(usize::from(appeared && !is_new));
        Ok(Some(Change { entry, appeared, is_new, weight_before, chosen_before, turned }))
    }

    /// Takes back a choice.
    pub(crate) fn withdraw(&mut self, choice: &Choice, weight: f64) -> Result<Option<Change>, StatisticsError> {
        if !self.says_something(choice, weight)? {
            return Ok(None);
        }
        for (option, part) in equal_parts(choice.chosen(), weight) {
            let recorded = self.chosen_of(option);
            if left_of(recorded, part).is_none() {
                return Err(StatisticsError::ChosenBelowZero { option, recorded, weight: part });
            }
        }
        let members = choice.presentation().members();
        let entry = self.find(members);
        let recorded = entry.map_or(0.0, |entry| self.store.count(entry));
        let Some((entry, left)) = entry.zip(left_of(recorded, weight)) else {
            return Err(StatisticsError::PresentedBelowZero { members: members.to_vec(), recorded, weight });
        };
        let weight_before = self.weight(entry);
        let chosen_before = choice.chosen().iter().map(|&option| self.chosen_of(option)).collect();
        *self.store.count_mut(entry) = left;
        for (option, part) in equal_parts(choice.chosen(), weight) {
            let place = self.place(option);
            self.chosen[place] = left_of(self.chosen[place], part).unwrap_or(0.0);
        }
        let gone = self.weight(entry) == 0.0;
        let places = if gone { self.store.members(entry).to_vec() } else { Vec::new() };
        let turned = self.turn(&places, false);
        self.dead += usize::from(gone);
        Ok(Some(Change { entry, appeared: false, is_new: false, weight_before, chosen_before, turned }))
    }

    /// Whether columns without weight outnumber the others, so that [`compact`](Self::compact) is worth its cost.
    pub(crate) fn is_sparse(&self) -> bool {
        self.dead > 64 && 2 * self.dead > self.store.entries()
    }

    /// Drops columns without weight; the others are numbered anew.
    pub(crate) fn compact(&mut self) {
        let mut store = Store::new();
        // Those of the prior come first, and stay there.
        for (entry, members, _) in self.columns() {
            if let Some(kept) = store.find_or_insert(members) {
                *store.count_mut(kept) = self.store.count(entry);
            }
        }
        self.store = store;
        self.dead = 0;
    }

    /// Multiplies every count by a factor; the places that fell asleep.
    pub(crate) fn scale(&mut self, factor: f64) -> Result<Vec<u32>, StatisticsError> {
        if !(factor >= 0.0 && factor.is_finite()) {
            return Err(StatisticsError::Factor { factor });
        }
        let counts = self.store.blocks().iter().flat_map(|block| block.iter().map(|(_, count)| count));
        let largest = counts.chain(self.chosen.iter().copied()).fold(0.0, f64::max);
        if !(largest * factor).is_finite() {
            return Err(StatisticsError::Overflow { recorded: largest, weight: largest * factor });
        }
        let mut turned = Vec::new();
        for index in 0..self.store.end() {
            let Some(entry) = self.store.entry(index) else { continue };
            let before = self.weight(entry);
            scale_count(self.store.count_mut(entry), factor);
            if before > 0.0 && self.weight(entry) == 0.0 {
                let places = self.store.members(entry).to_vec();
                turned.extend(self.turn(&places, false));
                self.dead += 1;
            }
        }
        for count in &mut self.chosen {
            scale_count(count, factor);
        }
        Ok(turned)
    }

    /// Whether a choice is one that counts; an error if it cannot be one.
    fn says_something(&self, choice: &Choice, weight: f64) -> Result<bool, StatisticsError> {
        check_weight(weight)?;
        let members = choice.presentation().members();
        check_known(members, self.all_alpha.len())?;
        Ok(members.len() > 1 && weight > 0.0)
    }

    /// y of an option, data or not.
    fn chosen_of(&self, option: OptionId) -> f64 {
        let place = self.places[option.index()];
        if place == NONE { 0.0 } else { self.chosen[place as usize] }
    }

    /// The column of some options, if it was ever there.
    fn find(&self, members: &[OptionId]) -> Option<Entry> {
        let place = |option: &OptionId| Some(self.places[option.index()]).filter(|&place| place != NONE).map(OptionId::new);
        let mut places: Vec<OptionId> = members.iter().map(place).collect::<Option<_>>()?;
        places.sort_unstable();
        self.store.find(&places)
    }

    /// Places of options, ascending; those that have none get one, asleep.
    fn place_all(&mut self, members: &[OptionId]) -> Vec<OptionId> {
        let mut places = Vec::with_capacity(members.len());
        self.place_into(members, &mut places);
        places
    }

    /// As [`place_all`](Self::place_all), in place of what was there.
    fn place_into(&mut self, members: &[OptionId], places: &mut Vec<OptionId>) {
        places.clear();
        for &option in members {
            let next = self.options.len() as u32;
            let place = &mut self.places[option.index()];
            if *place == NONE {
                *place = next;
                self.options.push(option);
                self.alpha.push(self.all_alpha[option.index()]);
                self.chosen.push(0.0);
                self.degree.push(0);
                self.asleep += 1;
            }
            places.push(OptionId::new(*place));
        }
        places.sort_unstable();
    }

    /// A column of these places appears or goes; the places that wake up or fall asleep.
    fn turn(&mut self, places: &[OptionId], appears: bool) -> Vec<u32> {
        let mut turned = Vec::new();
        for place in places {
            let degree = &mut self.degree[place.index()];
            let before = *degree > 0;
            *degree = if appears { *degree + 1 } else { *degree - 1 };
            if before != (*degree > 0) {
                turned.push(u32::from(*place));
                self.asleep = if before { self.asleep + 1 } else { self.asleep - 1 };
            }
        }
        turned
    }

    pub(crate) fn option_count(&self) -> usize {
        self.all_alpha.len()
    }

    pub(crate) fn all_alpha(&self) -> &[f64] {
        &self.all_alpha
    }

    /// Number of places.
    pub(crate) fn len(&self) -> usize {
        self.options.len()
    }

    pub(crate) fn is_awake(&self, place: usize) -> bool {
        self.degree[place] > 0
    }

    /// Places that are awake, ascending.
    pub(crate) fn awake(&self) -> impl Iterator<Item = usize> {
        (0..self.degree.len()).filter(|&place| self.degree[place] > 0)
    }

    /// Options that are awake, ascending.
    pub(crate) fn explored(&self) -> Vec<OptionId> {
        let mut explored: Vec<OptionId> = self.awake().map(|place| self.options[place]).collect();
        explored.sort_unstable();
        explored
    }

    /// Whether an option has data.
    pub(crate) fn is_explored(&self, option: OptionId) -> bool {
        self.places.get(option.index()).is_some_and(|&place| place != NONE && self.is_awake(place as usize))
    }

    /// Options by place.
    pub(crate) fn options(&self) -> &[OptionId] {
        &self.options
    }

    /// Whether every option that has a place has data.
    pub(crate) fn all_awake(&self) -> bool {
        self.asleep == 0
    }

    pub(crate) fn option(&self, place: usize) -> OptionId {
        self.options[place]
    }

    /// The place of an option that has one.
    pub(crate) fn place(&self, option: OptionId) -> usize {
        self.places[option.index()] as usize
    }

    pub(crate) fn alpha(&self, place: usize) -> f64 {
        self.alpha[place]
    }

    /// a = α + y of a place.
    pub(crate) fn exponent(&self, place: usize) -> f64 {
        self.alpha[place] + self.chosen[place]
    }

    /// b = β + μ of a column.
    pub(crate) fn weight(&self, entry: Entry) -> f64 {
        self.store.count(entry) + self.beta.get(entry.index()).copied().unwrap_or(0.0)
    }

    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// Columns with a positive weight: entry, members as places, b.
    pub(crate) fn columns(&self) -> impl Iterator<Item = (Entry, &[OptionId], f64)> {
        (0..self.store.end())
            .filter_map(|index| self.store.entry(index))
            .map(|entry| (entry, self.store.members(entry), self.weight(entry)))
            .filter(|&(.., b)| b > 0.0)
    }

    /// What was counted, over all options.
    pub(crate) fn statistics(&self) -> Statistics {
        let mut chosen = vec![0.0; self.all_alpha.len()];
        for (option, &count) in self.options.iter().zip(&self.chosen) {
            chosen[option.index()] = count;
        }
        let entries = (0..self.store.end()).filter_map(|index| self.store.entry(index));
        let counted = entries.map(|entry| (entry, self.store.count(entry))).filter(|&(_, count)| count > 0.0);
        let columns = counted.map(|(entry, count)| {
            let members = self.store.members(entry).iter().map(|place| self.options[place.index()]);
            (members.collect::<Vec<_>>(), count)
        });
        Statistics::from_counts(chosen, columns)
    }

    /// Multiplies all prior weights by a factor, but for one option. O(K).
    pub(crate) fn scale_alpha(&mut self, factor: f64, fixed: Option<OptionId>) {
        let kept = fixed.map(|option| (option, self.all_alpha[option.index()]));
        self.all_alpha.iter_mut().for_each(|alpha| *alpha *= factor);
        if let Some((option, alpha)) = kept {
            self.all_alpha[option.index()] = alpha;
        }
        for (alpha, option) in self.alpha.iter_mut().zip(&self.options) {
            *alpha = self.all_alpha[option.index()];
        }
    }

    /// β of each column of the prior, with one of its places.
    pub(crate) fn prior_columns(&self) -> impl Iterator<Item = (usize, f64)> {
        let column = |(index, &beta): (usize, &f64)| Some((self.store.members(self.store.entry(index)?)[0].index(), beta));
        self.beta.iter().enumerate().filter_map(column)
    }

    /// Shape of the mass of all options with data: Σ_E α − Σβ. O(|E|).
    pub(crate) fn mass(&self) -> f64 {
        let alpha: f64 = self.awake().map(|place| self.alpha[place]).sum();
        let beta: f64 = self.beta.iter().sum();
        // What rounding leaves of a prior without a column of all options is nothing.
        if alpha - beta > 1e-12 * alpha { alpha - beta } else { 0.0 }
    }
}

/// A count below the smallest normal number is forgotten.
fn scale_count(count: &mut f64, factor: f64) {
    *count *= factor;
    if *count < f64::MIN_POSITIVE {
        *count = 0.0;
    }
}
