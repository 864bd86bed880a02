//! What is asked of a presenter, and what it shows.

use super::PresenterError;
use crate::option::OptionId;
use crate::presentation::Presentation;

/// How a presentation is formed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Policy {
    /// The best of one posterior draw: the paper's mechanism.
    #[default]
    Thompson,
    /// The largest posterior means, and the best of a draw in the remaining places. Measured against the rivals in `docs/policies.md`.
    Anchored {
        /// Places that explore, at least one; all but the first by default.
        explore: Option<usize>,
        /// What the draw's deviations above the mean are raised by, as logarithms: above 1 options of which little is known are tried more
        /// often than their posterior asks for, below 1 less often. By default 1.5 for pairs; for more options 1.5 at the start, falling
        /// to 0.8 (half way after 500 choices). Options never shown are drawn from their prior, whatever this is.
        boldness: Option<f64>,
    },
    /// The largest posterior means. It may starve options; to compare with.
    Greedy,
    /// Any options, all alike.
    Uniform,
}

impl Policy {
    /// Refuses settings that are none.
    pub(super) fn check(self) -> Result<(), PresenterError> {
        match self {
            Self::Anchored { boldness: Some(value), .. } if !(value > 0.0 && value.is_finite()) => {
                Err(PresenterError::Boldness { value })
            }
            _ => Ok(()),
        }
    }
}

/// How a presentation is ordered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Order {
    /// By posterior mean.
    #[default]
    Mean,
    /// By the draw that formed it: the paper's.
    Draw,
    /// At random.
    Shuffled,
}

/// How the propensities of a presentation were had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Propensities {
    /// They are known, given what the presenter knows: the means by which `greedy` goes as they stand.
    Exact,
    /// From how often options were presented of late.
    Running {
        /// Presentations that it rests on.
        draws: usize,
    },
    /// From draws made for it.
    Fresh {
        /// How many.
        draws: usize,
    },
}

/// What to present, other than by default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// Options to present; fewer if fewer are eligible.
    pub size: usize,
    /// The only options that may be presented, if given.
    pub candidates: Option<Vec<OptionId>>,
    /// Options that may not.
    pub excluded: Vec<OptionId>,
    /// Options that are in it and come first, in this order.
    pub pinned: Vec<OptionId>,
    /// Another policy than the presenter's.
    pub policy: Option<Policy>,
    /// Another order than the presenter's.
    pub order: Option<Order>,
    /// Draws to estimate propensities from, beside those that decide. Without, they come from how often options were presented of late,
    /// scaled to what the request leaves; from 32 draws where that says too little of the candidates.
    pub propensity_draws: Option<usize>,
}

/// A presentation as it is shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// Its options in order.
    pub options: Vec<ShownOption>,
    /// How it was formed.
    pub policy: Policy,
    /// How it is ordered.
    pub order: Order,
    /// How the propensities were had.
    pub propensities: Propensities,
    /// The set that a choice is made from: with the no-choice option, where there is one.
    pub(super) presentation: Presentation,
}

/// An option in a presentation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShownOption {
    /// The option.
    pub option: OptionId,
    /// Estimated chance that it is in the presentation; 1 if it is pinned.
    pub propensity: f64,
}

impl Shown {
    /// The set that a choice is made from: with the no-choice option, where there is one.
    pub fn presentation(&self) -> &Presentation {
        &self.presentation
    }
}
