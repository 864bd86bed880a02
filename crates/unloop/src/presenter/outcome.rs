//! What came of presentations: counted, taken back, merged, forgotten.

use super::{Presenter, PresenterError, Shown};
use crate::option::{OptionId, Options};
use crate::presentation::{Choice, Presentation};
use crate::statistics::{Statistics, StatisticsError, left_of};

/// Half-lives after which no count is left, whatever it was.
const FOREVER: f64 = 1e4;

/// What came of a presentation, and was counted: to be [withdrawn](Presenter::withdraw), once.
#[derive(Debug, PartialEq)]
pub struct Recorded {
    choices: Vec<Choice>,
    /// When it was counted.
    age: Age,
}

/// Time that has passed, in half-lives. Whole ones apart from the rest, so that differences stay exact however long it goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Age {
    whole: i64,
    part: f64,
}

impl Age {
    fn advance(&mut self, half_lives: f64) {
        let whole = (self.part + half_lives).floor();
        self.whole += whole as i64;
        self.part += half_lives - whole;
    }

    /// What forgetting has left since then.
    fn weight_since(self, then: Self) -> f64 {
        (-((self.whole - then.whole) as f64 + (self.part - then.part))).exp2()
    }
}

impl Presenter {
    /// Counts a choice of one option.
    ///
    /// # Errors
    /// If it was not presented.
    pub fn choose<N: Named>(&mut self, shown: &Shown, option: N) -> Result<Recorded, PresenterError> {
        let option = option.id(&self.options)?;
        self.record(vec![shown.presentation.choose(option)?])
    }

    /// Counts several options, each as a choice of its own.
    ///
    /// # Errors
    /// If one was not presented; nothing is counted then.
    pub fn choose_each<N: Named>(
        &mut self,
        shown: &Shown,
        options: impl IntoIterator<Item = N>,
    ) -> Result<Recorded, PresenterError> {
        let choices = options.into_iter().map(|option| Ok(shown.presentation.choose(option.id(&self.options)?)?));
        let choices = choices.collect::<Result<Vec<Choice>, PresenterError>>()?;
        self.record(choices)
    }

    /// Counts one choice in equal parts for several options.
    ///
    /// # Errors
    /// If one was not presented; nothing is counted then.
    pub fn choose_tied<N: Named>(
        &mut self,
        shown: &Shown,
        options: impl IntoIterator<Item = N>,
    ) -> Result<Recorded, PresenterError> {
        let ids = options.into_iter().map(|option| option.id(&self.options));
        let ids = ids.collect::<Result<Vec<OptionId>, PresenterError>>()?;
        self.record(vec![shown.presentation.tie(ids)?])
    }

    /// Counts a choice from any set, with a weight.
    ///
    /// # Errors
    /// If an option is not known, or the weight is none; nothing is counted then.
    pub fn record_choice(&mut self, choice: &Choice, weight: f64) -> Result<(), PresenterError> {
        self.count(choice, weight)?;
        self.choices += weight;
        self.learn();
        Ok(())
    }

    /// Takes back a choice that [`record_choice`](Self::record_choice) or [`merge`](Self::merge) counted, where nothing is forgotten.
    ///
    /// # Errors
    /// If it was not counted here; nothing has changed then.
    pub fn withdraw_choice(&mut self, choice: &Choice, weight: f64) -> Result<(), PresenterError> {
        self.take_back(choice, weight)
    }

    /// Counts that nothing was chosen.
    ///
    /// # Errors
    /// If there is no no-choice option in the presentation.
    pub fn choose_nothing(&mut self, shown: &Shown) -> Result<Recorded, PresenterError> {
        let none = self.none.ok_or(PresenterError::NoChoice)?;
        self.record(vec![shown.presentation.choose(none)?])
    }

    fn record(&mut self, choices: Vec<Choice>) -> Result<Recorded, PresenterError> {
        for (i, choice) in choices.iter().enumerate() {
            if let Err(error) = self.count(choice, 1.0) {
                // All or nothing.
                for choice in &choices[..i] {
                    self.take_back(choice, 1.0)?;
                }
                return Err(error);
            }
        }
        self.choices += choices.len() as f64;
        self.learn();
        Ok(Recorded { choices, age: self.age })
    }

    fn count(&mut self, choice: &Choice, weight: f64) -> Result<(), PresenterError> {
        self.sampler.record(choice, weight)?;
        self.explore(choice.presentation());
        if let [option] = choice.presentation().members() {
            self.count_alone(*option, weight);
        }
        Ok(())
    }

    /// Options that have data from now on.
    fn explore(&mut self, presentation: &Presentation) {
        if presentation.len() < 2 {
            return;
        }
        for &option in presentation.members() {
            if self.means.knows(option) {
                continue;
            }
            self.frequencies.adopt(option, self.alpha[option.index()]);
            self.filtered.adopt(option, self.alpha[option.index()]);
            self.unexplored.remove(option);
            self.mass += self.weight(option);
            self.means.touch(option, self.weight(option));
        }
    }

    pub(super) fn count_alone(&mut self, option: OptionId, weight: f64) {
        match self.alone.iter_mut().find(|(other, _)| *other == option) {
            Some((_, count)) => *count += weight,
            None => self.alone.push((option, weight)),
        }
    }

    /// Takes back what was counted, with the weight that forgetting has left of it.
    ///
    /// # Errors
    /// If it was not counted here; nothing has changed then.
    pub fn withdraw(&mut self, recorded: Recorded) -> Result<(), PresenterError> {
        let Recorded { choices, age } = recorded;
        let weight = self.age.weight_since(age);
        for (i, choice) in choices.iter().enumerate() {
            if let Err(error) = self.take_back(choice, weight) {
                // All or nothing.
                for choice in &choices[..i] {
                    self.count(choice, weight)?;
                }
                return Err(error);
            }
        }
        Ok(())
    }

    fn take_back(&mut self, choice: &Choice, weight: f64) -> Result<(), PresenterError> {
        if let [option] = choice.presentation().members() {
            let counted = self.alone.iter_mut().find(|(other, _)| other == option);
            let left = counted.as_ref().and_then(|(_, count)| left_of(*count, weight));
            let (Some((_, count)), Some(left)) = (counted, left) else {
                let recorded = self.alone.iter().find(|(other, _)| other == option).map_or(0.0, |(_, count)| *count);
                return Err(StatisticsError::ChosenBelowZero { option: *option, recorded, weight }.into());
            };
            *count = left;
        }
        self.sampler.withdraw(choice, weight)?;
        for &option in choice.presentation().members() {
            self.resettle(option);
        }
        Ok(())
    }

    /// After counts went down: an option may have lost its data.
    fn resettle(&mut self, option: OptionId) {
        if self.sampler.is_explored(option) || !self.means.knows(option) {
            return;
        }
        self.means.forget(option);
        self.mass = (self.mass - self.weight(option)).max(0.0);
        if self.is_active(option) {
            self.insert_unexplored(option);
        }
    }

    /// Adds counts from elsewhere.
    ///
    /// # Errors
    /// If they are of options that are not known, or no counts of choices.
    pub fn merge(&mut self, statistics: &Statistics) -> Result<(), PresenterError> {
        self.sampler.merge(statistics)?;
        self.choices += statistics.total();
        for (members, count) in statistics.iter() {
            if let [option] = members {
                self.count_alone(*option, count);
            }
            self.explore(&Presentation::new(members.iter().copied())?);
        }
        Ok(())
    }

    /// Lets time pass: counts lose half their weight in a half-life.
    ///
    /// # Errors
    /// If the age is negative or not finite.
    pub fn age(&mut self, age: f64) -> Result<(), PresenterError> {
        if !(age >= 0.0 && age.is_finite()) {
            return Err(PresenterError::Time { value: age, what: "an age", bound: "at least 0" });
        }
        let Some(half_life) = self.half_life else { return Ok(()) };
        let half_lives = (age / half_life).min(FOREVER);
        let factor = (-half_lives).exp2();
        self.sampler.scale(factor)?;
        self.age.advance(half_lives);
        self.alone.iter_mut().for_each(|(_, count)| *count *= factor);
        let known: Vec<OptionId> = self.means.known().collect();
        known.into_iter().for_each(|option| self.resettle(option));
        Ok(())
    }

    /// A step on the prior's strength now and then.
    fn learn(&mut self) {
        let Some(every) = self.learning else { return };
        if self.until_learning > 0 {
            self.until_learning -= 1;
            return;
        }
        self.until_learning = every;
        if let Some(factor) = self.sampler.learn_prior(self.none) {
            let change = factor / self.factor;
            if change != 1.0 {
                let none = self.none.filter(|&none| self.means.knows(none)).map_or(0.0, |none| self.alpha[none.index()]);
                self.mass = (self.mass - none) * change + none;
                self.factor = factor;
                let alpha = &self.alpha;
                self.unexplored.set_alpha(|option| alpha[option.index()] * factor);
            }
        }
    }
}

/// An option by its name or its index.
pub trait Named {
    /// The option.
    ///
    /// # Errors
    /// If there is none.
    fn id(self, options: &Options) -> Result<OptionId, PresenterError>;
}

impl Named for OptionId {
    fn id(self, _: &Options) -> Result<OptionId, PresenterError> {
        Ok(self)
    }
}

impl Named for &str {
    fn id(self, options: &Options) -> Result<OptionId, PresenterError> {
        options.get(self).ok_or_else(|| PresenterError::Unknown { name: self.into() })
    }
}
