//! What came of presentations: counted, taken back, merged, forgotten.

use super::{Presenter, PresenterError, Shown};
use crate::option::{OptionId, Options};
use crate::presentation::{Choice, Presentation};
use crate::statistics::Statistics;

/// What came of a presentation, and was counted: to be [withdrawn](Presenter::withdraw).
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    choices: Vec<Choice>,
    /// ln of all forgetting before it.
    ln_faded: f64,
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
            if let Err(error) = self.sampler.record(choice, 1.0) {
                // All or nothing.
                for choice in &choices[..i] {
                    self.take_back(choice, 1.0)?;
                }
                return Err(error.into());
            }
            self.explore(choice.presentation());
            self.count_alone(choice, 1.0);
        }
        self.choices += choices.len() as f64;
        self.learn();
        Ok(Recorded { choices, ln_faded: self.ln_faded })
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
            self.frequencies.adopt(option, self.alpha[option.index()], self.unexplored.count_alike(option));
            self.unexplored.remove(option);
            self.mass += self.weight(option);
            self.means.touch(option, self.weight(option));
        }
    }

    fn count_alone(&mut self, choice: &Choice, weight: f64) {
        if let [option] = choice.presentation().members() {
            match self.alone.iter_mut().find(|(other, _)| other == option) {
                Some((_, count)) => *count = (*count + weight).max(0.0),
                None => self.alone.push((*option, weight.max(0.0))),
            }
        }
    }

    /// Takes back what was counted.
    ///
    /// # Errors
    /// If it was not counted, or was taken back before.
    pub fn withdraw(&mut self, recorded: &Recorded) -> Result<(), PresenterError> {
        let weight = (self.ln_faded - recorded.ln_faded).exp();
        for choice in &recorded.choices {
            self.take_back(choice, weight)?;
        }
        Ok(())
    }

    fn take_back(&mut self, choice: &Choice, weight: f64) -> Result<(), PresenterError> {
        self.sampler.withdraw(choice, weight)?;
        self.count_alone(choice, -weight);
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
            self.unexplored.insert(option, self.weight(option));
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
            let presentation = Presentation::new(members.iter().copied())?;
            if let [option] = members {
                let choice = presentation.choose(*option)?;
                self.count_alone(&choice, count);
            }
            self.explore(&presentation);
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
        let ln_factor = -std::f64::consts::LN_2 * age / half_life;
        self.sampler.scale(ln_factor.exp())?;
        self.ln_faded += ln_factor;
        self.alone.iter_mut().for_each(|(_, count)| *count *= ln_factor.exp());
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
