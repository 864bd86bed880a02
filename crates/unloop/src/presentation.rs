//! A presentation, and a choice that cannot lie outside it.
//!
//! ```
//! use unloop::{OptionId, Presentation};
//! let [soup, salad, curry] = [0, 1, 2].map(OptionId::new);
//! let shown = Presentation::new([curry, soup])?;
//! assert!(shown.choose(soup).is_ok());
//! assert!(shown.choose(salad).is_err());
//! # Ok::<(), unloop::PresentationError>(())
//! ```

use thiserror::Error;

use crate::option::OptionId;

/// Why options are no presentation, or a choice is none from it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PresentationError {
    /// Nothing was presented.
    #[error("a presentation needs at least one option")]
    Empty,
    /// An option was presented twice.
    #[error("option {option} is in the presentation more than once")]
    RepeatedOption {
        /// The repeated option.
        option: OptionId,
    },
    /// The chosen option was not presented.
    #[error("option {option} was chosen but not presented")]
    NotPresented {
        /// The chosen option.
        option: OptionId,
    },
    /// A tie names no option.
    #[error("a choice needs at least one option")]
    NothingChosen,
    /// A tie names an option twice.
    #[error("option {option} is tied with itself")]
    RepeatedChoice {
        /// The repeated option.
        option: OptionId,
    },
}

/// A set of options shown together: C in the formulas. Order does not matter to the model.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Presentation {
    members: Box<[OptionId]>,
}

impl Presentation {
    /// The presentation of these options.
    ///
    /// # Errors
    /// If there are none, or one is repeated.
    pub fn new(options: impl IntoIterator<Item = OptionId>) -> Result<Self, PresentationError> {
        let mut members: Vec<OptionId> = options.into_iter().collect();
        sort_members(&mut members)?;
        Ok(Self { members: members.into() })
    }

    /// Options in ascending order.
    pub fn members(&self) -> &[OptionId] {
        &self.members
    }

    /// Number of options: L in the formulas.
    #[expect(clippy::len_without_is_empty, reason = "never empty")]
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether an option is presented.
    pub fn contains(&self, option: OptionId) -> bool {
        self.members.binary_search(&option).is_ok()
    }

    /// The choice of one option from this presentation.
    ///
    /// # Errors
    /// If the option is not in it.
    pub fn choose(&self, option: OptionId) -> Result<Choice, PresentationError> {
        self.tie([option])
    }

    /// The choice of several options at equal parts from this presentation.
    ///
    /// # Errors
    /// If none is named, one is repeated or one is not in it.
    pub fn tie(&self, options: impl IntoIterator<Item = OptionId>) -> Result<Choice, PresentationError> {
        let mut chosen: Vec<OptionId> = options.into_iter().collect();
        sort_chosen(&mut chosen, &self.members)?;
        Ok(Choice { presentation: self.clone(), chosen: chosen.into() })
    }
}

/// An outcome of a presentation: one of its options, or several at equal parts (a tie).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Choice {
    presentation: Presentation,
    chosen: Box<[OptionId]>,
}

impl Choice {
    /// What was shown.
    pub fn presentation(&self) -> &Presentation {
        &self.presentation
    }

    /// What was chosen, in ascending order; more than one option is a tie.
    pub fn chosen(&self) -> &[OptionId] {
        &self.chosen
    }
}

/// Sorts the members of a presentation and checks that they are a non-empty set.
pub(crate) fn sort_members(members: &mut [OptionId]) -> Result<(), PresentationError> {
    if members.is_empty() {
        return Err(PresentationError::Empty);
    }
    members.sort_unstable();
    match repeated(members) {
        Some(option) => Err(PresentationError::RepeatedOption { option }),
        None => Ok(()),
    }
}

/// Sorts what was chosen from sorted `members` and checks that it is a non-empty subset.
pub(crate) fn sort_chosen(chosen: &mut [OptionId], members: &[OptionId]) -> Result<(), PresentationError> {
    if chosen.is_empty() {
        return Err(PresentationError::NothingChosen);
    }
    chosen.sort_unstable();
    if let Some(option) = repeated(chosen) {
        return Err(PresentationError::RepeatedChoice { option });
    }
    match chosen.iter().find(|option| members.binary_search(option).is_err()) {
        Some(&option) => Err(PresentationError::NotPresented { option }),
        None => Ok(()),
    }
}

fn repeated(sorted: &[OptionId]) -> Option<OptionId> {
    sorted.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(indices: &[u32]) -> Vec<OptionId> {
        indices.iter().copied().map(OptionId::new).collect()
    }

    #[test]
    fn a_presentation_is_a_non_empty_set() {
        assert_eq!(Presentation::new([]), Err(PresentationError::Empty));
        let repeated = Presentation::new(ids(&[3, 1, 3]));
        assert_eq!(repeated, Err(PresentationError::RepeatedOption { option: OptionId::new(3) }));
        assert_eq!(Presentation::new(ids(&[2, 0])), Presentation::new(ids(&[0, 2])));
        assert_eq!(Presentation::new(ids(&[7])).unwrap().len(), 1);
    }

    #[test]
    fn a_choice_lies_inside_its_presentation() {
        let shown = Presentation::new(ids(&[4, 2, 9])).unwrap();
        assert_eq!(shown.choose(OptionId::new(3)), Err(PresentationError::NotPresented { option: OptionId::new(3) }));
        assert_eq!(shown.tie([]), Err(PresentationError::NothingChosen));
        let twice = shown.tie(ids(&[2, 2]));
        assert_eq!(twice, Err(PresentationError::RepeatedChoice { option: OptionId::new(2) }));
        assert_eq!(shown.tie(ids(&[9, 2])).unwrap().chosen(), ids(&[2, 9]));
    }
}
