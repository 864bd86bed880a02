//! Gibbs sampling with bounded work for each decision.
//!
//! A chain beside a running system: each choice moves it by O(b·L), whatever was recorded before and however many options there are
//! (the end of a round over all presentations also takes O(|E|)). Where λ is carried in logarithms (a prior weight below 0.1, a general
//! β, options that choices put more than 10²⁰⁰ apart) each visit takes as long as its options have presentations.
//! The auxiliary z_C of each distinct presentation are kept, and R_k = Σ_{C∋k} z_C with them, so that any update is a full
//! conditional at hand:
//!
//! ```text
//! z_C | λ ~ Gamma(b_C, rate S_C(λ))          λ_k | z ~ Gamma(a_k, rate s + R_k)          s | λ ~ Gamma(Σ_E α, rate Σ_E λ)
//! ```
//! On a choice: the counts; fresh λ for options shown for the first time; z of the presentation with its *new* shape; λ of its options.
//! [`step`](BoundedGibbs::step) then visits b presentations, the next ones in turn. Turns are as valid as coins and waste no visit on
//! a presentation that was visited just before. A round over all presentations ends with a step that moves whole groups
//! (`linear.rs` spreads its cost over the round).
//!
//! Options never shown have no state: they are drawn when asked for, and come in with a fresh draw when shown.
//!
//! ```
//! use unloop::sampler::BoundedGibbs;
//! use unloop::{Presentation, Prior};
//! let mut sampler = BoundedGibbs::new(&Prior::default(), 1_000, 7)?;
//! for _ in 0..20 {
//!     sampler.step(BoundedGibbs::BUDGET);
//!     let shown = Presentation::new(sampler.top(3))?;       // Thompson sampling: the top of one draw
//!     let first = shown.members()[0];
//!     sampler.record(&shown.choose(first)?, 1.0)?;
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod careful;
mod linear;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use statrs::function::gamma::ln_gamma;

use super::SamplerError;
use super::counts::{Change, Counts};
use super::spanning::SpanningTree;
use super::unexplored::{Unexplored, largest};
use crate::estimate::newton::maximise;
use crate::option::OptionId;
use crate::posterior::Posterior;
use crate::posterior::potential::ln_sum_exp;
use crate::presentation::Choice;
use crate::presenter::Draw;
use crate::prior::Prior;
use crate::random::ln_gamma_draw;
use crate::statistics::Statistics;
use careful::Careful;
use linear::Linear;

/// Options with less prior weight are carried in logs: λ of shape 0.1 is below e⁻⁶⁰⁰ with probability e⁻⁶⁰.
const LINEAR_ALPHA: f64 = 0.1;
/// How near to the mode a chain starts, and how long that may take.
const MODE_TOLERANCE: f64 = 1e-10;
const MODE_ITERATIONS: usize = 500;
/// Average prior weights that are learned, and how they are expected to spread, as logarithms. From 0.1: below, λ is carried in logarithms.
const LEARNED: (f64, f64) = (0.1, 10.0);
const LEARNED_SPREAD: f64 = 1.0;
const LEARNING_STEP: f64 = 0.8;
/// Sweeps over all presentations after a start from counts.
const WARM_UP: usize = 20;
/// Steps towards the mode of a chain that takes up where another one was, and how often it draws everything anew: five rounds leave no more of the start than two
/// sweeps do. In logarithms it visits so many presentations at least.
const NEARING: usize = 12;
const ROUNDS: usize = 5;
const RESUMING: usize = 2_000;

/// A chain that follows the choices; see the module.
#[derive(Clone, Debug)]
pub struct BoundedGibbs {
    counts: Counts,
    tree: SpanningTree,
    unexplored: Unexplored,
    state: State,
    /// ln of the average prior weight at the start, and of the factor learned since.
    ln_base: f64,
    ln_factor: f64,
    rng: ChaCha8Rng,
}

/// λ and z: plain numbers where these are safe, logarithms elsewhere.
#[derive(Clone, Debug)]
enum State {
    Linear(Box<Linear>),
    Careful(Careful),
}

impl BoundedGibbs {
    /// Presentations visited for each decision by default: the smallest number that loses no regret that 200 runs could tell
    /// (`docs/policies.md`).
    pub const BUDGET: usize = 16;

    /// A chain over `option_count` options without choices: a draw from the prior.
    ///
    /// # Errors
    /// If there are no options, or the prior is for another number of them.
    pub fn new(prior: &Prior, option_count: usize, seed: u64) -> Result<Self, SamplerError> {
        Self::from_statistics(prior, &Statistics::new(option_count), seed)
    }

    /// A chain that starts from statistics: from the mode, by [20 sweeps](Self::sweep) over all presentations.
    ///
    /// # Errors
    /// As [`Posterior::new`].
    pub fn from_statistics(prior: &Prior, statistics: &Statistics, seed: u64) -> Result<Self, SamplerError> {
        let posterior = Posterior::new(prior, statistics)?;
        let mut counts = Counts::new(prior, statistics.option_count())?;
        counts.merge(statistics)?;
        let rng = ChaCha8Rng::seed_from_u64(seed);
        let linear = prior.columns().is_empty() && counts.all_alpha().iter().all(|&alpha| alpha >= LINEAR_ALPHA);
        let state = if linear { State::Linear(Box::default()) } else { State::Careful(Careful::default()) };
        let asleep = posterior.unexplored().map(|option| (option, counts.all_alpha()[option.index()]));
        let unexplored = Unexplored::new(asleep);
        let tree = spanning(&counts);
        // From the mode of each component, or as near as it was reached.
        let mut start = vec![f64::NEG_INFINITY; counts.len()];
        for component in posterior.components() {
            let eta = maximise(&component.potential, None, MODE_TOLERANCE, MODE_ITERATIONS).eta;
            let shift = component.mass.max(f64::MIN_POSITIVE).ln() - ln_sum_exp(eta.iter().copied());
            for (&option, eta) in component.options.iter().zip(eta) {
                start[counts.place(OptionId::new(option))] = eta + shift;
            }
        }
        debug_assert!(counts.awake().all(|place| start[place].is_finite()), "invariant: components hold what is awake");
        let ln_base = (counts.all_alpha().iter().sum::<f64>() / counts.option_count() as f64).ln();
        let mut sampler = Self { counts, tree, unexplored, state, ln_base, ln_factor: 0.0, rng };
        sampler.restart(start);
        for _ in 0..WARM_UP {
            sampler.sweep();
        }
        Ok(sampler)
    }

    /// A chain that takes up counts which another one has seen grow: from near the mode (a dozen fixed-point steps), by drawing everything anew five times; where λ is
    /// carried in logarithms by two sweeps, or more. 0.6 to 1.2 ms for 1 000 presentations of 5, where
    /// [`from_statistics`](Self::from_statistics) takes 7: somebody waits for the first decision (`cargo bench -p unloop --bench present`).
    ///
    /// # Errors
    /// As [`Posterior::new`].
    pub fn resume(prior: &Prior, statistics: &Statistics, seed: u64) -> Result<Self, SamplerError> {
        let mut sampler = Self::new(prior, statistics.option_count(), seed)?;
        sampler.counts.check(statistics)?;
        sampler.counts.merge(statistics)?;
        let places = sampler.counts.len();
        for place in sampler.counts.awake() {
            sampler.unexplored.remove(sampler.counts.option(place));
        }
        sampler.tree = spanning(&sampler.counts);
        let ln_lambda = sampler.near_mode(places);
        sampler.restart(ln_lambda);
        for _ in 0..ROUNDS {
            let Self { counts, tree, state: State::Linear(state), rng, .. } = &mut sampler else { break };
            state.round_at_once(counts, tree, rng);
            if state.is_strained() {
                sampler.take_care();
            }
        }
        if matches!(sampler.state, State::Careful(_)) {
            let visits = sampler.counts.store().end().max(1);
            for _ in 0..(RESUMING / visits).clamp(2, WARM_UP) {
                sampler.sweep();
            }
        }
        Ok(sampler)
    }

    /// ln λ near the mode: λ_k ← a_k / (1 + Σ_{C∋k} b_C / Σ_C λ), with Σλ = Σα.
    fn near_mode(&self, places: usize) -> Vec<f64> {
        let counts = &self.counts;
        let mass: f64 = counts.awake().map(|place| counts.alpha(place)).sum();
        let mut lambda: Vec<f64> =
            (0..places).map(|place| if counts.is_awake(place) { counts.alpha(place) } else { 0.0 }).collect();
        let mut rates = vec![0.0; places];
        for _ in 0..NEARING {
            rates.fill(1.0);
            for (_, members, weight) in counts.columns() {
                let rate = weight / members.iter().map(|place| lambda[place.index()]).sum::<f64>();
                members.iter().for_each(|place| rates[place.index()] += rate);
            }
            counts.awake().for_each(|place| lambda[place] = counts.exponent(place) / rates[place]);
            let unit = mass / lambda.iter().sum::<f64>();
            lambda.iter_mut().for_each(|lambda| *lambda *= unit);
        }
        lambda
            .into_iter()
            .enumerate()
            .map(|(place, own)| if counts.is_awake(place) { own.max(f64::MIN_POSITIVE).ln() } else { f64::NEG_INFINITY })
            .collect()
    }

    /// Bytes on the heap, about.
    pub fn heap_bytes(&self) -> usize {
        let state = match &self.state {
            State::Linear(linear) => linear.heap_bytes(),
            State::Careful(careful) => careful.heap_bytes(),
        };
        self.counts.heap_bytes() + self.tree.heap_bytes() + self.unexplored.heap_bytes() + state
    }

    /// Number of options.
    pub fn option_count(&self) -> usize {
        self.counts.option_count()
    }

    /// Options with data, ascending.
    pub fn explored(&self) -> Vec<OptionId> {
        self.counts.explored()
    }

    /// A new option: exactly its prior, until it is shown.
    ///
    /// # Errors
    /// If α is below [`MIN_ALPHA`](crate::MIN_ALPHA) or above [`MAX_ALPHA`](crate::MAX_ALPHA), or a general prior has no weight on all
    /// options.
    pub fn add_option(&mut self, alpha: f64) -> Result<OptionId, SamplerError> {
        let option = self.counts.add_option(alpha)?;
        self.unexplored.insert(option, alpha);
        if alpha < LINEAR_ALPHA && matches!(self.state, State::Linear(_)) {
            self.take_care();
        }
        Ok(option)
    }

    /// Counts a choice and moves what it touches. O(L) in plain numbers.
    ///
    /// # Errors
    /// If an option is unknown, or the weight is negative or not finite; nothing has changed then.
    pub fn record(&mut self, choice: &Choice, weight: f64) -> Result<(), SamplerError> {
        if let Some(change) = self.counts.record(choice, weight)? {
            for &place in &change.turned {
                self.unexplored.remove(self.counts.option(place as usize));
                let ln_fresh = ln_gamma_draw(self.counts.alpha(place as usize), &mut self.rng);
                self.state.wake(place as usize, ln_fresh, self.counts.alpha(place as usize));
            }
            self.follow(&change, weight);
        }
        Ok(())
    }

    /// Takes back a choice and moves what it touches. An option whose last presentation goes is again as never shown.
    ///
    /// # Errors
    /// As [`record`](Self::record), and if less than the weight was recorded for an option or the presentation.
    pub fn withdraw(&mut self, choice: &Choice, weight: f64) -> Result<(), SamplerError> {
        if let Some(change) = self.counts.withdraw(choice, weight)? {
            self.follow(&change, -weight);
            self.put_to_sleep(&change.turned);
            self.compact();
        }
        Ok(())
    }

    /// Adds many choices at once, and sweeps once over all presentations. O(Σ|C|).
    ///
    /// # Errors
    /// If the statistics know options that the chain does not or are no counts of choices, a count would not stay finite, or no more
    /// presentations fit.
    pub fn merge(&mut self, statistics: &Statistics) -> Result<(), SamplerError> {
        self.counts.check(statistics)?;
        let mut ln_lambda = self.ln_lambdas();
        self.counts.merge(statistics)?;
        ln_lambda.resize(self.counts.len(), f64::NEG_INFINITY);
        for place in self.counts.awake() {
            if ln_lambda[place] == f64::NEG_INFINITY {
                self.unexplored.remove(self.counts.option(place));
                ln_lambda[place] = ln_gamma_draw(self.counts.alpha(place), &mut self.rng);
            }
        }
        self.tree = spanning(&self.counts);
        self.restart(ln_lambda);
        self.sweep();
        Ok(())
    }

    /// Multiplies every count by a factor (forgetting) and sweeps once over all presentations. O(Σ|C|).
    ///
    /// # Errors
    /// If the factor is negative or not finite, or a count would not stay finite.
    pub fn scale(&mut self, factor: f64) -> Result<(), SamplerError> {
        let turned = self.counts.scale(factor)?;
        self.put_to_sleep(&turned);
        let ln_lambda = self.ln_lambdas();
        if self.counts.is_sparse() {
            self.counts.compact();
        }
        self.tree = spanning(&self.counts);
        self.restart(ln_lambda);
        self.sweep();
        Ok(())
    }

    /// Visits `budget` presentations, the next in turn: z of each, λ of its options; then the scale. O(budget · L) in
    /// plain numbers.
    pub fn step(&mut self, budget: usize) {
        let Self { counts, tree, state, rng, .. } = self;
        match state {
            State::Linear(state) => {
                let left = state.step(budget, counts, tree, rng);
                if state.is_strained() {
                    self.take_care();
                    self.step(left);
                }
            }
            State::Careful(state) => state.step(budget, counts, tree, rng),
        }
    }

    /// As many visits as there are presentations, and a group step. O(Σ|C|).
    pub fn sweep(&mut self) {
        self.step(self.counts.store().end() + 1);
    }

    /// The `count` options with the largest λ now, best first, of which those never shown are drawn afresh: what Thompson sampling
    /// presents. O(|E|) and a little for each of them, however many options were never shown; each distinct α is a group.
    pub fn top(&mut self, count: usize) -> Vec<OptionId> {
        let ln_scale = self.state.ln_scale();
        let awake = self.counts.awake();
        let mut best = match &self.state {
            State::Linear(state) => {
                // By λ first: of most options no logarithm is needed.
                let mut best = largest(awake.map(|place| (state.lambda(place), self.counts.option(place))), count);
                best.iter_mut().for_each(|(value, _)| *value = value.ln() + ln_scale);
                best
            }
            State::Careful(state) => {
                largest(awake.map(|place| (state.ln_lambda(place) + ln_scale, self.counts.option(place))), count)
            }
        };
        self.unexplored.merge_largest(&mut best, count, &mut self.rng);
        best.into_iter().map(|(_, option)| option).collect()
    }

    /// Writes down λ of the options with data, as it is now. O(|E|).
    pub fn fill(&self, draw: &mut Draw) {
        let ln_scale = self.state.ln_scale();
        match &self.state {
            State::Linear(state) => {
                draw.start(Some(ln_scale));
                draw.total = Some(state.total());
                if self.counts.all_awake() {
                    draw.options.extend_from_slice(self.counts.options());
                    draw.values.extend_from_slice(state.lambdas());
                } else {
                    self.counts.awake().for_each(|place| draw.push(self.counts.option(place), state.lambda(place)));
                }
            }
            State::Careful(state) => {
                draw.start(None);
                let ln_lambda = |place| state.ln_lambda(place) + ln_scale;
                self.counts.awake().for_each(|place| draw.push(self.counts.option(place), ln_lambda(place)));
            }
        }
    }

    /// A step on the strength of the prior: all weights times a common factor, that of `fixed` apart. It is all times the factor
    /// together, and 1 before the first. O(|E|), and O(K) where the factor changes.
    ///
    /// Under a prior on the average weight α that is ln-normal around ½ with a spread of 1, from 0.1 to 10, with the scale integrated out:
    ///
    /// ```text
    /// ln p(α | λ) = ln p(α) + ln Γ(A) − Σ_E ln Γ(α_k) + Σ_E α_k ln(λ_k/S_E),    A = Σ_E α_k
    /// ```
    /// An option never shown follows the learned weight: its mean stays, its spread does not.
    pub fn learn_prior(&mut self, fixed: Option<OptionId>) -> f64 {
        let ln_proposed = self.ln_factor + LEARNING_STEP * self.rng.sample::<f64, _>(rand_distr::StandardNormal);
        let ln_strength = self.ln_base + ln_proposed;
        let places: Vec<usize> = self.counts.awake().collect();
        if !(LEARNED.0.ln()..=LEARNED.1.ln()).contains(&ln_strength) || places.len() < 2 {
            return self.ln_factor.exp();
        }
        let ln_total = ln_sum_exp(places.iter().map(|&place| self.state.ln_lambda(place)));
        let change = (ln_proposed - self.ln_factor).exp();
        let ln_density = |change: f64, ln_strength: f64| {
            let (mut mass, mut sum) = (0.0, -0.5 * ((ln_strength - 0.5_f64.ln()) / LEARNED_SPREAD).powi(2));
            for &place in &places {
                let is_fixed = fixed == Some(self.counts.option(place));
                let alpha = self.counts.alpha(place) * if is_fixed { 1.0 } else { change };
                mass += alpha;
                sum += alpha * (self.state.ln_lambda(place) - ln_total) - ln_gamma(alpha);
            }
            sum + ln_gamma(mass)
        };
        let ln_ratio = ln_density(change, ln_strength) - ln_density(1.0, self.ln_base + self.ln_factor);
        if self.rng.random::<f64>().ln() < ln_ratio {
            self.ln_factor = ln_proposed;
            self.counts.scale_alpha(change, fixed);
            let Self { counts, unexplored, state, rng, .. } = self;
            unexplored.set_alpha(|option| counts.all_alpha()[option.index()]);
            match state {
                State::Linear(state) => state.reweigh(counts, rng),
                State::Careful(state) => state.reweigh(counts, rng),
            }
            let is_small = |place: usize| self.counts.alpha(place) < LINEAR_ALPHA;
            if matches!(self.state, State::Linear(_)) && self.counts.awake().any(is_small) {
                self.take_care();
            }
        }
        self.ln_factor.exp()
    }

    /// All that was counted, choices from single options left out.
    pub fn statistics(&self) -> Statistics {
        self.counts.statistics()
    }

    /// Whether an option has data.
    pub fn is_explored(&self, option: OptionId) -> bool {
        self.counts.is_explored(option)
    }

    /// θ of every option now; those never shown are drawn afresh. O(K).
    pub fn theta(&mut self) -> Vec<f64> {
        let ln_scale = self.state.ln_scale();
        let carried = self.counts.awake().map(|place| (self.counts.option(place), self.state.ln_lambda(place) + ln_scale));
        self.unexplored.theta(self.counts.option_count(), carried, &mut self.rng)
    }

    /// ln λ of an option with data, in units where one never shown is Gamma(α); none for one never shown.
    pub fn ln_lambda(&self, option: OptionId) -> Option<f64> {
        let explored = self.counts.is_explored(option);
        explored.then(|| self.state.ln_lambda(self.counts.place(option)) + self.state.ln_scale())
    }

    /// Moves what a changed column touches: its z with the new shape, then λ of its options.
    fn follow(&mut self, change: &Change, weight: f64) {
        let Self { counts, tree, state, rng, .. } = self;
        tree.add(counts.store().members(change.entry), weight);
        match state {
            State::Linear(state) => {
                state.follow(change.entry, weight, counts, rng);
                if state.is_strained() {
                    self.take_care();
                }
            }
            State::Careful(state) => state.follow(change, counts, rng),
        }
    }

    /// From plain numbers to logarithms.
    fn take_care(&mut self) {
        let ln_lambda = self.ln_lambdas();
        self.state = State::Careful(Careful::default());
        self.restart(ln_lambda);
    }

    /// Drops presentations without weight when they outnumber the others, so that rounds and memory are as large as what counts.
    fn compact(&mut self) {
        if self.counts.is_sparse() {
            let ln_lambda = self.ln_lambdas();
            self.counts.compact();
            self.tree = spanning(&self.counts);
            self.restart(ln_lambda);
        }
    }

    fn put_to_sleep(&mut self, places: &[u32]) {
        for &place in places {
            self.unexplored.insert(self.counts.option(place as usize), self.counts.alpha(place as usize));
            match &mut self.state {
                State::Linear(state) => state.sleep(place as usize, &self.counts),
                State::Careful(state) => state.sleep(place as usize, &self.counts),
            }
        }
    }

    /// ln λ of every place, in units where s = 1; −∞ asleep.
    fn ln_lambdas(&self) -> Vec<f64> {
        let ln_scale = self.state.ln_scale();
        (0..self.counts.len()).map(|place| self.state.ln_lambda(place) + ln_scale).collect()
    }

    /// Starts anew from ln λ of every place, in units where s = 1: every z anew, sums anew.
    fn restart(&mut self, ln_lambda: Vec<f64>) {
        let Self { counts, tree, state, rng, .. } = self;
        match state {
            State::Linear(state) => {
                **state = Linear::new(&ln_lambda, counts, tree, rng);
                if state.is_strained() {
                    self.state = State::Careful(Careful::new(ln_lambda, counts, rng));
                }
            }
            State::Careful(state) => *state = Careful::new(ln_lambda, counts, rng),
        }
    }
}

impl State {
    /// ln λ of a place, less ln s; −∞ for one asleep.
    fn ln_lambda(&self, place: usize) -> f64 {
        match self {
            Self::Linear(state) => state.lambda(place).ln(),
            Self::Careful(state) => state.ln_lambda(place),
        }
    }

    fn ln_scale(&self) -> f64 {
        match self {
            Self::Linear(state) => state.ln_scale(),
            Self::Careful(state) => state.ln_scale(),
        }
    }

    /// A place wakes up with a fresh draw of ln λ in units where s = 1.
    fn wake(&mut self, place: usize, ln_fresh: f64, alpha: f64) {
        match self {
            Self::Linear(state) => state.wake(place, ln_fresh, alpha),
            Self::Careful(state) => state.wake(place, ln_fresh, alpha),
        }
    }
}

/// The maximum spanning tree of what was shown together.
fn spanning(counts: &Counts) -> SpanningTree {
    SpanningTree::of_columns(counts.len(), counts.columns().map(|(_, members, b)| (members, b)))
}
