//! What a presenter draws from: samplers that follow the choices.

use crate::option::OptionId;
use crate::posterior::Posterior;
use crate::presentation::Choice;
use crate::prior::Prior;
use crate::sampler::{BoundedGibbs, Draws, SampleMethod, SampleSettings, SamplerError, Smc};
use crate::statistics::Statistics;

/// One draw of the options with data. Options never shown are Gamma(α) beside them, and the presenter draws those it needs.
#[derive(Clone, Debug, Default)]
pub struct Draw {
    /// Options with data.
    pub options: Vec<OptionId>,
    /// Of each the λ, up to a common factor, or its logarithm.
    pub values: Vec<f64>,
    /// ln of the factor that gives λ the units of Gamma(α), where values are plain; none where they are logarithms in these units.
    pub ln_scale: Option<f64>,
    /// Sum of the plain values, where it is known without adding them up.
    pub total: Option<f64>,
}

impl Draw {
    /// ln λ of a value, in the units of Gamma(α).
    pub fn ln_lambda(&self, value: f64) -> f64 {
        self.ln_scale.map_or(value, |ln_scale| value.ln() + ln_scale)
    }

    /// Empties it, to be filled with plain values or logarithms.
    pub fn start(&mut self, ln_scale: Option<f64>) {
        self.options.clear();
        self.values.clear();
        self.ln_scale = ln_scale;
        self.total = None;
    }

    /// Adds an option.
    pub fn push(&mut self, option: OptionId, value: f64) {
        self.options.push(option);
        self.values.push(value);
    }
}

/// A sampler that a [`Presenter`](super::Presenter) can use.
pub trait Sampler: Send {
    /// A new option, with the next index.
    ///
    /// # Errors
    /// If α is no prior weight.
    fn add_option(&mut self, alpha: f64) -> Result<OptionId, SamplerError>;

    /// Counts a choice.
    ///
    /// # Errors
    /// If it cannot be counted; nothing has changed then.
    fn record(&mut self, choice: &Choice, weight: f64) -> Result<(), SamplerError>;

    /// Takes a choice back.
    ///
    /// # Errors
    /// If it was not recorded; nothing has changed then.
    fn withdraw(&mut self, choice: &Choice, weight: f64) -> Result<(), SamplerError>;

    /// Adds many choices.
    ///
    /// # Errors
    /// If they are no counts of choices between known options; nothing has changed then.
    fn merge(&mut self, statistics: &Statistics) -> Result<(), SamplerError>;

    /// Multiplies all counts by a factor.
    ///
    /// # Errors
    /// If it is negative or not finite.
    fn scale(&mut self, factor: f64) -> Result<(), SamplerError>;

    /// Moves on, and draws the options with data.
    fn draw(&mut self, draw: &mut Draw);

    /// All that was counted.
    fn statistics(&self) -> Statistics;

    /// Whether an option has data.
    fn is_explored(&self, option: OptionId) -> bool;

    /// Bytes on the heap, about; 0 where nobody knows.
    fn heap_bytes(&self) -> usize {
        0
    }

    /// Changes the prior weights of all options to so many times what they were, those of `fixed` apart, after having learned from the
    /// draw what that factor may be. What it is then, all in all; none where the sampler cannot learn it.
    fn learn_prior(&mut self, fixed: Option<OptionId>) -> Option<f64> {
        let _ = fixed;
        None
    }
}

/// The default: a chain that takes bounded steps.
pub(super) struct Bounded {
    pub(super) chain: BoundedGibbs,
    pub(super) budget: usize,
}

impl Sampler for Bounded {
    fn add_option(&mut self, alpha: f64) -> Result<OptionId, SamplerError> {
        self.chain.add_option(alpha)
    }

    fn record(&mut self, choice: &Choice, weight: f64) -> Result<(), SamplerError> {
        self.chain.record(choice, weight)
    }

    fn withdraw(&mut self, choice: &Choice, weight: f64) -> Result<(), SamplerError> {
        self.chain.withdraw(choice, weight)
    }

    fn merge(&mut self, statistics: &Statistics) -> Result<(), SamplerError> {
        self.chain.merge(statistics)
    }

    fn scale(&mut self, factor: f64) -> Result<(), SamplerError> {
        self.chain.scale(factor)
    }

    fn draw(&mut self, draw: &mut Draw) {
        if self.budget == usize::MAX {
            self.chain.sweep();
        } else {
            self.chain.step(self.budget);
        }
        self.chain.fill(draw);
    }

    fn statistics(&self) -> Statistics {
        self.chain.statistics()
    }

    fn is_explored(&self, option: OptionId) -> bool {
        self.chain.is_explored(option)
    }

    fn heap_bytes(&self) -> usize {
        size_of::<Self>() + self.chain.heap_bytes()
    }

    fn learn_prior(&mut self, fixed: Option<OptionId>) -> Option<f64> {
        Some(self.chain.learn_prior(fixed))
    }
}

impl Sampler for Smc {
    fn add_option(&mut self, alpha: f64) -> Result<OptionId, SamplerError> {
        Self::add_option(self, alpha)
    }

    fn record(&mut self, choice: &Choice, weight: f64) -> Result<(), SamplerError> {
        Self::record(self, choice, weight).map(|_| ())
    }

    fn withdraw(&mut self, choice: &Choice, weight: f64) -> Result<(), SamplerError> {
        Self::withdraw(self, choice, weight)
    }

    fn merge(&mut self, statistics: &Statistics) -> Result<(), SamplerError> {
        Self::merge(self, statistics)
    }

    fn scale(&mut self, factor: f64) -> Result<(), SamplerError> {
        Self::scale(self, factor)
    }

    fn draw(&mut self, draw: &mut Draw) {
        self.fill(draw);
    }

    fn statistics(&self) -> Statistics {
        Self::statistics(self)
    }

    fn is_explored(&self, option: OptionId) -> bool {
        Self::is_explored(self, option)
    }
}

/// Independent exact draws where presentations are nested, a chain where they are not.
pub(super) struct Exact {
    chain: Bounded,
    /// α of every option.
    alpha: Vec<f64>,
    seed: u64,
    /// Draws for the counts as they are, and how many were used; none where presentations are not nested.
    ready: Option<(Draws, usize)>,
    /// Whether these are still to be made.
    stale: bool,
}

impl Exact {
    /// Draws that are made at a time.
    const BATCH: usize = 16;

    pub(super) fn new(chain: Bounded, alpha: Vec<f64>, seed: u64) -> Self {
        Self { chain, alpha, seed, ready: None, stale: true }
    }

    fn refill(&mut self) -> Option<Draws> {
        self.seed = self.seed.wrapping_add(1);
        let method = Some(SampleMethod::Tree);
        let settings = SampleSettings { draws: Self::BATCH, chains: 1, seed: self.seed, method, visits: None };
        let prior = Prior::per_option(self.alpha.clone()).ok()?;
        let sample = Posterior::new(&prior, &self.chain.statistics()).ok()?.sample(&settings).ok()?;
        Some(sample.draws)
    }
}

impl Sampler for Exact {
    fn add_option(&mut self, alpha: f64) -> Result<OptionId, SamplerError> {
        let option = self.chain.add_option(alpha)?;
        self.alpha.push(alpha);
        self.stale = true;
        Ok(option)
    }

    fn record(&mut self, choice: &Choice, weight: f64) -> Result<(), SamplerError> {
        self.stale = true;
        self.chain.record(choice, weight)
    }

    fn withdraw(&mut self, choice: &Choice, weight: f64) -> Result<(), SamplerError> {
        self.stale = true;
        self.chain.withdraw(choice, weight)
    }

    fn merge(&mut self, statistics: &Statistics) -> Result<(), SamplerError> {
        self.stale = true;
        self.chain.merge(statistics)
    }

    fn scale(&mut self, factor: f64) -> Result<(), SamplerError> {
        self.stale = true;
        self.chain.scale(factor)
    }

    fn draw(&mut self, draw: &mut Draw) {
        if self.stale || self.ready.as_ref().is_some_and(|(draws, used)| *used >= draws.len()) {
            self.ready = self.refill().map(|draws| (draws, 0));
            self.stale = false;
        }
        let Some((draws, used)) = &mut self.ready else { return self.chain.draw(draw) };
        draw.start(None);
        for (&option, &eta) in draws.explored().iter().zip(draws.ln_lambda(*used).unwrap_or_default()) {
            draw.push(option, eta);
        }
        *used += 1;
    }

    fn statistics(&self) -> Statistics {
        self.chain.statistics()
    }

    fn is_explored(&self, option: OptionId) -> bool {
        self.chain.is_explored(option)
    }
}
