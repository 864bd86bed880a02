//! Choice probabilities for a presentation.
//!
//! ```text
//! p(k | C) = E[θ_k / S_C(θ)] = a_k/Σa · R(a + e_k, Z, b + e_C)/R(a, Z, b),    a = α+y, b = β+μ
//! ```
//! Only the connected components that C touches matter. Exact where C crosses no presentation or those components have at most four
//! dimensions (for the dual: with C as one more column); otherwise from weighted draws, with a standard error.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::carlson::quadrature::MAX_DIMENSION;
use crate::carlson::{IntegralError, IntegralSettings, Method, by_quadrature, connected, draws, larger, ln_integral};
use crate::option::OptionId;
use crate::posterior::Posterior;
use crate::posterior::potential::{Potential, ln_sum_exp};
use crate::presentation::Presentation;
use crate::ranking::{interval, ln_lambda};
use crate::sampler::Draws;
use crate::sampler::tree::Tree;

/// The random stream of options never shown.
const STREAM: u64 = (1 << 63) + 5;

/// Probabilities that each option of a presentation is the next choice from it.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// By member of the presentation, ascending.
    pub probabilities: Vec<f64>,
    /// How they were computed.
    pub method: Method,
    /// Largest absolute error: a bound for deterministic methods, a standard error for importance sampling.
    pub error: f64,
}

impl Posterior {
    /// Probabilities of the next choice from a presentation.
    ///
    /// # Errors
    /// If an option is unknown, or an integral without an exact way has no Gaussian to sample around.
    pub fn predict(&self, presentation: &Presentation) -> Result<Prediction, IntegralError> {
        self.predict_with(presentation, &IntegralSettings::default())
    }

    /// As [`predict`](Self::predict), with settings.
    ///
    /// # Errors
    /// As [`predict`](Self::predict), and if the settings ask for no draws.
    pub fn predict_with(&self, presentation: &Presentation, settings: &IntegralSettings) -> Result<Prediction, IntegralError> {
        if let Some(prediction) = self.predict_exactly(presentation)? {
            return Ok(prediction);
        }
        let (potential, set, alpha) = self.touched(presentation);
        // In logarithms: all of a set may be far below the largest option.
        let shares_of_eta = |eta: &[f64], out: &mut [f64]| {
            let ln_total = ln_sum_exp(set.iter().map(|&i| eta[i as usize]));
            for (out, &i) in out.iter_mut().zip(&set) {
                *out = (eta[i as usize] - ln_total).exp();
            }
        };
        let (probabilities, errors) = draws(&potential, &alpha, settings)?.means(set.len(), &shares_of_eta);
        let error = errors.into_iter().fold(0.0, larger);
        Ok(Prediction { probabilities, method: Method::ImportanceSampling, error })
    }

    /// As [`predict`](Self::predict), where there is a closed form or a small grid; none where only draws would do.
    ///
    /// # Errors
    /// If an option is unknown.
    pub fn predict_exactly(&self, presentation: &Presentation) -> Result<Option<Prediction>, IntegralError> {
        self.predict_exactly_with(presentation, &IntegralSettings::default())
    }

    /// As [`predict_exactly`](Self::predict_exactly), with no larger grid than somebody waits for.
    ///
    /// # Errors
    /// If an option is unknown.
    pub fn predict_exactly_with(
        &self,
        presentation: &Presentation,
        settings: &IntegralSettings,
    ) -> Result<Option<Prediction>, IntegralError> {
        let option_count = self.option_count();
        if let Some(&option) = presentation.members().last().filter(|option| option.index() >= option_count) {
            return Err(IntegralError::UnknownOption { option, option_count });
        }
        if presentation.len() == 1 {
            return Ok(Some(Prediction { probabilities: vec![1.0], method: Method::ClosedForm, error: 0.0 }));
        }
        let (potential, set, alpha) = self.touched(presentation);
        if let Some(tree) = Tree::of_potential(&potential)
            && let Some(probabilities) = tree.predict(&set)
        {
            return Ok(Some(Prediction { probabilities, method: Method::ClosedForm, error: tree.rounding().1 }));
        }
        let shares = |lambda: &[f64], out: &mut [f64]| {
            let inverse = 1.0 / set.iter().map(|&i| lambda[i as usize]).sum::<f64>();
            for (out, &i) in out.iter_mut().zip(&set) {
                *out = lambda[i as usize] * inverse;
            }
        };
        if potential.option_count() - 1 <= MAX_DIMENSION
            && let Some(integral) = by_quadrature(&potential, set.len(), &shares, settings)?
        {
            return Ok(Some(Prediction { probabilities: integral.means, method: Method::Quadrature, error: integral.error }));
        }
        by_ratio(&potential, &alpha, &set, settings)
    }

    /// The joint potential of the components and unexplored options that a presentation touches, its members there and α.
    fn touched(&self, presentation: &Presentation) -> (Potential, Vec<u32>, Vec<f64>) {
        let holds =
            |options: &[u32]| presentation.members().iter().any(|&option| options.binary_search(&u32::from(option)).is_ok());
        let (mut options, mut a, mut columns, mut mass) = (Vec::new(), Vec::new(), Vec::new(), 0.0);
        for component in self.components().iter().filter(|component| holds(&component.options)) {
            let shift = options.len() as u32;
            options.extend_from_slice(&component.options);
            a.extend_from_slice(&component.potential.a);
            columns.extend(
                component.potential.columns.iter().map(|(set, b)| (set.iter().map(|i| i + shift).collect::<Vec<_>>(), b)),
            );
            if component.own > 0.0 {
                columns.push(((shift..options.len() as u32).collect(), component.own));
            }
            mass += component.mass;
        }
        for &option in presentation.members() {
            let k = u32::from(option);
            if self.unexplored_indices().binary_search(&k).is_ok() {
                options.push(k);
                a.push(self.alpha()[k as usize]);
                mass += self.alpha()[k as usize];
            }
        }
        columns.push(((0..options.len() as u32).collect(), mass));
        let place = |option: &OptionId| options.iter().position(|&k| k == u32::from(*option)).map(|i| i as u32);
        let set = presentation.members().iter().filter_map(place).collect();
        (connected(a, columns), set, self.alpha_of(&options))
    }
}

/// What draws say of one option's chance to be chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChoiceInterval {
    /// Mean of θ_k/S_C(θ) over the draws.
    pub mean: f64,
    /// Lower end of its interval, with equal tails.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Draws {
    /// Chances of each option of a presentation (members ascending) to be chosen, with intervals of a probability; none if an option
    /// is unknown.
    pub fn choice_intervals(&self, presentation: &Presentation, level: f64) -> Option<Vec<ChoiceInterval>> {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        rng.set_stream(STREAM);
        let members: Vec<Vec<f64>> =
            presentation.members().iter().map(|&option| ln_lambda(self, option, &mut rng)).collect::<Option<_>>()?;
        let ln_totals: Vec<f64> = (0..self.len()).map(|draw| ln_sum_exp(members.iter().map(|eta| eta[draw]))).collect();
        let tail = 0.5 * (1.0 - level);
        let chances = members.into_iter().map(|eta| {
            let mut chances: Vec<f64> = eta.iter().zip(&ln_totals).map(|(eta, total)| (eta - total).exp()).collect();
            let mean = chances.iter().sum::<f64>() / chances.len() as f64;
            let (low, high) = interval(&mut chances, tail);
            ChoiceInterval { mean, low, high }
        });
        Some(chances.collect())
    }
}

/// Ratios of integrals with and without the choice, where both are exact.
fn by_ratio(
    potential: &Potential,
    alpha: &[f64],
    set: &[u32],
    settings: &IntegralSettings,
) -> Result<Option<Prediction>, IntegralError> {
    // One more column, and the whole: only the dual can be small here. Where the primal is, its grid was refused already.
    if potential.columns.len() + 2 > MAX_DIMENSION + 1 || potential.option_count() <= MAX_DIMENSION + 1 {
        return Ok(None);
    }
    let before = ln_integral(potential, alpha, settings)?;
    if before.method >= Method::ImportanceSampling {
        return Ok(None);
    }
    let mut prediction = Prediction { probabilities: Vec::new(), method: before.method, error: 0.0 };
    for &k in set {
        let mut a = potential.a.clone();
        a[k as usize] += 1.0;
        let mut columns: Vec<(Vec<u32>, f64)> = potential.columns.iter().map(|(set, b)| (set.to_vec(), b)).collect();
        columns.push(((0..a.len() as u32).collect(), potential.whole));
        columns.push((sorted(set), 1.0));
        let after = ln_integral(&connected(a, columns), alpha, settings)?;
        prediction.probabilities.push((after.ln_value - before.ln_value).exp());
        prediction.method = prediction.method.max(after.method);
        prediction.error = prediction.error.max(before.error + after.error);
    }
    Ok((prediction.method < Method::ImportanceSampling).then_some(prediction))
}

fn sorted(set: &[u32]) -> Vec<u32> {
    let mut set = set.to_vec();
    set.sort_unstable();
    set
}
