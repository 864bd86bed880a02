//! The prior: pseudo-counts of choices α and of presentations β.
//!
//! ```text
//! p(θ | α, β) ∝ ∏_k θ_k^(α_k − 1) ∏_C S_C(θ)^(−β(C))          (Eq. 2)
//! ```
//! With β₀, all of Σα on the presentation of every option, this is Dirichlet(α); a general β needs Σβ = Σα and a finite integral.
//!
//! ```
//! use unloop::Prior;
//! let flat = Prior::symmetric(1.0)?;
//! let informed = Prior::per_option([2.0, 1.0, 0.5])?;
//! assert!(Prior::per_option([1.0, 0.0]).is_err());
//! # Ok::<(), unloop::PriorError>(())
//! ```

use thiserror::Error;

use crate::margins::check_slack;
use crate::option::{Listed, OptionId};
use crate::presentation::Presentation;

/// Σβ and Σα may differ by this part: rounding of the caller's sums.
const BALANCE_TOLERANCE: f64 = 1e-9;

/// Largest prior weight: beyond, choices would be lost in rounding beside it.
pub const MAX_ALPHA: f64 = 1e9;
/// Smallest prior weight: ln λ has the size of 1/α, and below, the differences that choices make would be lost in rounding beside it.
pub const MIN_ALPHA: f64 = 1e-12;

/// Why numbers are no prior.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum PriorError {
    /// A symmetric α below [`MIN_ALPHA`] or above [`MAX_ALPHA`].
    #[error("prior weight α = {alpha} is not a number from 10⁻¹² to 10⁹")]
    Alpha {
        /// The weight.
        alpha: f64,
    },
    /// An option's α below [`MIN_ALPHA`] or above [`MAX_ALPHA`].
    #[error("prior weight α = {alpha} of option {option} is not a number from 10⁻¹² to 10⁹")]
    OptionAlpha {
        /// The option.
        option: OptionId,
        /// Its weight.
        alpha: f64,
    },
    /// No options.
    #[error("a prior needs at least one option")]
    NoOptions,
    /// More options than can be named.
    #[error("{option_count} options are more than can be named (at most 4 294 967 295)")]
    TooManyOptions {
        /// Number of options.
        option_count: usize,
    },
    /// A β that is negative or not finite.
    #[error("pseudo-count β = {beta} of presentation {} is not a finite number of at least 0", Listed(members))]
    Beta {
        /// The presentation.
        members: Vec<OptionId>,
        /// Its pseudo-count.
        beta: f64,
    },
    /// A β on an option without an α.
    #[error("option {option} is in a presentation of β, but there are only {option_count} options")]
    UnknownOption {
        /// The option.
        option: OptionId,
        /// Number of options with an α.
        option_count: usize,
    },
    /// Σβ differs from Σα.
    #[error("Σβ = {beta} differs from Σα = {alpha}: every pseudo-choice is one of each")]
    Unbalanced {
        /// Σα.
        alpha: f64,
        /// Σβ.
        beta: f64,
    },
    /// The prior has no finite integral.
    #[error("the prior is improper: options {} hold α − β = {slack} among themselves, which must be above 0", Listed(options))]
    Improper {
        /// A group with more presentations than choices.
        options: Vec<OptionId>,
        /// Σ_{k∈A} α_k − Σ_{C⊆A} β(C).
        slack: f64,
    },
    /// A prior with one α for each option met another number of options.
    #[error("the prior has weights for {prior} options, the statistics have {statistics}")]
    OptionCount {
        /// Options of the prior.
        prior: usize,
        /// Options of the statistics.
        statistics: usize,
    },
}

/// Pseudo-counts of choices and presentations.
#[derive(Clone, Debug, PartialEq)]
pub struct Prior {
    alpha: Alpha,
    /// Presentations other than that of all options, at least two members, β > 0, none repeated.
    columns: Vec<(Presentation, f64)>,
}

#[derive(Clone, Debug, PartialEq)]
enum Alpha {
    Symmetric(f64),
    PerOption(Vec<f64>),
}

impl Prior {
    /// The same weight for every option, of which there may be any number: Dirichlet(α, …, α).
    ///
    /// # Errors
    /// If α is below [`MIN_ALPHA`] or above [`MAX_ALPHA`].
    pub fn symmetric(alpha: f64) -> Result<Self, PriorError> {
        check_alpha(alpha)?;
        Ok(Self { alpha: Alpha::Symmetric(alpha), columns: Vec::new() })
    }

    /// A weight for each option: Dirichlet(α).
    ///
    /// # Errors
    /// If there are none, or one is below [`MIN_ALPHA`] or above [`MAX_ALPHA`].
    pub fn per_option(alpha: impl Into<Vec<f64>>) -> Result<Self, PriorError> {
        let alpha = alpha.into();
        if alpha.is_empty() {
            return Err(PriorError::NoOptions);
        }
        let bad = alpha.iter().position(|&alpha| check_alpha(alpha).is_err());
        if let Some(k) = bad {
            return Err(PriorError::OptionAlpha { option: OptionId::new(k as u32), alpha: alpha[k] });
        }
        Ok(Self { alpha: Alpha::PerOption(alpha), columns: Vec::new() })
    }

    /// A weight for each option and a pseudo-count for presentations, that of all options included: Eq. 2 in full.
    ///
    /// # Errors
    /// As [`per_option`](Self::per_option); if a β is negative or not finite, Σβ ≠ Σα, or the prior is improper.
    pub fn general(alpha: impl Into<Vec<f64>>, beta: impl IntoIterator<Item = (Presentation, f64)>) -> Result<Self, PriorError> {
        let mut prior = Self::per_option(alpha)?;
        let Alpha::PerOption(alpha) = &mut prior.alpha else { return Ok(prior) };
        let option_count = alpha.len();
        let mut columns: Vec<(Presentation, f64)> = Vec::new();
        for (presentation, beta) in beta {
            if !(beta >= 0.0 && beta.is_finite()) {
                return Err(PriorError::Beta { members: presentation.members().to_vec(), beta });
            }
            if let Some(&option) = presentation.members().last().filter(|option| option.index() >= option_count) {
                return Err(PriorError::UnknownOption { option, option_count });
            }
            if beta > 0.0 {
                columns.push((presentation, beta));
            }
        }
        columns.sort_by(|x, y| x.0.cmp(&y.0));
        columns.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            kept.1 += if same { next.1 } else { 0.0 };
            same
        });
        let (sum_alpha, sum_beta): (f64, f64) = (alpha.iter().sum(), columns.iter().map(|&(_, beta)| beta).sum());
        if !((sum_alpha - sum_beta).abs() <= BALANCE_TOLERANCE * sum_alpha) {
            return Err(PriorError::Unbalanced { alpha: sum_alpha, beta: sum_beta });
        }
        let sets: Vec<Vec<u32>> =
            columns.iter().map(|(set, _)| set.members().iter().map(|&option| option.into()).collect()).collect();
        let pairs: Vec<(&[u32], f64)> = sets.iter().zip(&columns).map(|(set, &(_, beta))| (&set[..], beta)).collect();
        // All of β on all options is a Dirichlet, proper however small an α is.
        let dirichlet = columns.iter().all(|(set, _)| set.len() == option_count);
        if let Err(deficit) = if dirichlet { Ok(()) } else { check_slack(alpha, &pairs) } {
            let options = deficit.options.into_iter().map(OptionId::new).collect();
            return Err(PriorError::Improper { options, slack: deficit.slack });
        }
        // β of a single option cancels one of its choices; that of all options is what remains of Σα.
        for (presentation, beta) in columns.iter().filter(|(set, _)| set.len() == 1 && option_count > 1) {
            alpha[presentation.members()[0].index()] -= beta;
        }
        let bad = alpha.iter().position(|&alpha| check_alpha(alpha).is_err());
        if let Some(k) = bad {
            return Err(PriorError::OptionAlpha { option: OptionId::new(k as u32), alpha: alpha[k] });
        }
        columns.retain(|(presentation, _)| presentation.len() > 1 && presentation.len() < option_count);
        prior.columns = columns;
        Ok(prior)
    }

    /// α for a number of options.
    ///
    /// # Errors
    /// If there are no options, or the prior is for another number of them.
    pub fn alpha(&self, option_count: usize) -> Result<Vec<f64>, PriorError> {
        if option_count == 0 {
            return Err(PriorError::NoOptions);
        }
        if option_count > u32::MAX as usize {
            return Err(PriorError::TooManyOptions { option_count });
        }
        match &self.alpha {
            Alpha::Symmetric(alpha) => Ok(vec![*alpha; option_count]),
            Alpha::PerOption(alpha) if alpha.len() == option_count => Ok(alpha.clone()),
            Alpha::PerOption(alpha) => Err(PriorError::OptionCount { prior: alpha.len(), statistics: option_count }),
        }
    }

    /// Presentations with a pseudo-count other than that of all options: empty for a Dirichlet prior. A pseudo-count of a
    /// single option is not here: it cancels against that option's α.
    pub fn columns(&self) -> &[(Presentation, f64)] {
        &self.columns
    }
}

/// Whether a number is a prior weight.
pub(crate) fn check_alpha(alpha: f64) -> Result<(), PriorError> {
    if (MIN_ALPHA..=MAX_ALPHA).contains(&alpha) { Ok(()) } else { Err(PriorError::Alpha { alpha }) }
}

impl Default for Prior {
    /// Dirichlet(1, …, 1).
    fn default() -> Self {
        Self { alpha: Alpha::Symmetric(1.0), columns: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(members: &[u32]) -> Presentation {
        Presentation::new(members.iter().copied().map(OptionId::new)).unwrap()
    }

    #[test]
    fn bad_weights_are_named() {
        for alpha in [0.0, -1.0, 1e-13, 1.1e9, f64::NAN, f64::INFINITY] {
            assert!(matches!(Prior::symmetric(alpha), Err(PriorError::Alpha { .. })));
            let error = Prior::per_option([1.0, alpha]).unwrap_err();
            assert!(matches!(error, PriorError::OptionAlpha { option, .. } if option.index() == 1), "{error}");
        }
        assert_eq!(Prior::per_option([]), Err(PriorError::NoOptions));
        assert_eq!(Prior::default().alpha(0), Err(PriorError::NoOptions));
    }

    #[test]
    fn beta_must_balance_and_be_proper() {
        let whole = |beta| (set(&[0, 1, 2]), beta);
        assert!(Prior::general([1.0, 1.0, 1.0], [whole(3.0)]).unwrap().columns().is_empty());
        let unbalanced = Prior::general([1.0, 1.0, 1.0], [whole(2.0)]);
        assert_eq!(unbalanced, Err(PriorError::Unbalanced { alpha: 3.0, beta: 2.0 }));
        let improper = Prior::general([1.0, 1.0, 1.0], [(set(&[0]), 1.0), whole(2.0)]);
        let option = vec![OptionId::new(0)];
        assert_eq!(improper, Err(PriorError::Improper { options: option, slack: 0.0 }));
        assert!(Prior::general([1.0, 1.0, 1.0], [(set(&[0, 1]), 1.5), whole(1.5)]).is_ok());
        // A chain of pairs without any weight on all options is proper too.
        assert!(Prior::general([1.0, 1.0, 1.0], [(set(&[0, 1]), 1.5), (set(&[1, 2]), 1.5)]).is_ok());
        let outside = Prior::general([1.0], [(set(&[4]), 1.0)]);
        assert!(matches!(outside, Err(PriorError::UnknownOption { option_count: 1, .. })));
        assert!(matches!(Prior::general([1.0], [(set(&[0]), f64::NAN)]), Err(PriorError::Beta { .. })));
        // One option alone is trivially proper.
        assert!(Prior::general([1.0], [(set(&[0]), 1.0)]).is_ok());
    }
}
