//! Why something could not be presented or counted.

use thiserror::Error;

use crate::option::OptionError;
use crate::presentation::PresentationError;
use crate::prior::PriorError;
use crate::sampler::SamplerError;
use crate::statistics::StatisticsError;

/// Why something could not be presented or counted.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum PresenterError {
    /// A name that cannot be one.
    #[error(transparent)]
    Option(#[from] OptionError),
    /// A prior weight that is none.
    #[error(transparent)]
    Prior(#[from] PriorError),
    /// A presentation that is none, or does not hold what was chosen.
    #[error(transparent)]
    Presentation(#[from] PresentationError),
    /// The sampler cannot do it.
    #[error(transparent)]
    Sampler(#[from] SamplerError),
    /// Counts that are none.
    #[error(transparent)]
    Statistics(#[from] StatisticsError),
    /// An option that is not known.
    #[error("there is no option {name:?}")]
    Unknown {
        /// The name, or the index.
        name: String,
    },
    /// An option that is there already.
    #[error("there is an option {name:?} already")]
    Known {
        /// The name.
        name: String,
    },
    /// Nothing can be presented.
    #[error("no option can be presented: {active} are active, and the request leaves none of them")]
    NothingEligible {
        /// Active options.
        active: usize,
    },
    /// Nothing asked for.
    #[error("a presentation of no options: ask for at least one")]
    Nothing,
    /// A boldness that is none.
    #[error("a boldness of {value}: it must be finite and above 0")]
    Boldness {
        /// The value.
        value: f64,
    },
    /// A strength of the prior that cannot be learned.
    #[error("the prior's strength is learned by the bounded sampler alone: use it, or do not learn")]
    Learning,
    /// An option that cannot be pinned.
    #[error("{name:?} cannot be pinned: {why}")]
    Pinned {
        /// Its name.
        name: String,
        /// Why not.
        why: &'static str,
    },
    /// Nothing chosen, where that is no option.
    #[error("choosing nothing counts for nothing here: the presenter has no no-choice option")]
    NoChoice,
    /// A half-life or an age that is none.
    #[error("{value} is not {what}: it must be finite and {bound}")]
    Time {
        /// The value.
        value: f64,
        /// What it should be.
        what: &'static str,
        /// Its bound.
        bound: &'static str,
    },
}
