//! What a row means for the counts: one choice, parts of a tie, the successive choices of a ranking, or nothing.

use unloop::{OptionError, OptionId, Options, equal_parts};

use crate::error::Problem;
use crate::rows::{Answer, Row};

/// Name of the no-choice option, where choosing nothing counts as one.
pub const NO_CHOICE: &str = "(none)";
/// Most options tied at one place of a ranking: all orders of them count, and their sets are 2ⁿ.
pub(crate) const MAX_TIED: usize = 8;

/// What a tie counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ties {
    /// Equal parts for the tied options.
    #[default]
    Half,
    /// Nothing.
    Ignore,
    /// As if nothing had been chosen.
    None,
}

/// What choosing nothing counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NoChoice {
    /// Nothing.
    #[default]
    Ignore,
    /// A choice of the no-choice option, which is then in every presentation.
    Option,
    /// A tie of all that was presented.
    Tie,
}

/// What counts, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CountSettings {
    /// What a tie counts.
    pub ties: Ties,
    /// What choosing nothing counts.
    pub none: NoChoice,
    /// Bad rows are counted and left out instead of ending it all.
    pub skip_bad: bool,
}

/// The no-choice option, where choosing nothing counts as one; added to the options if it is not there.
///
/// # Errors
/// If no more options fit.
pub fn no_choice_option(settings: &CountSettings, options: &mut Options) -> Result<Option<OptionId>, OptionError> {
    match settings.none {
        NoChoice::Option => options.intern(NO_CHOICE).map(Some),
        _ => Ok(None),
    }
}

/// Refuses a row that presents an option with the name of the no-choice option, where there is one.
///
/// # Errors
/// Then.
pub fn check_names(row: &Row, none: Option<OptionId>) -> Result<(), Problem> {
    match none {
        Some(none) if row.presented.contains(&none) => Err(Problem::Reserved { name: NO_CHOICE.into() }),
        _ => Ok(()),
    }
}

/// Calls `record` with what was presented, what was chosen from it and the weight, for each choice that a row means.
pub fn for_each_choice(
    row: &Row,
    settings: &CountSettings,
    none: Option<OptionId>,
    mut record: impl FnMut(&[OptionId], OptionId, f64),
) {
    Choices::new(*settings, none).of(row, &mut record);
}

/// What kind of answer a row had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Choice,
    Tie,
    Nothing,
}

/// Turns rows into choices of one option from a presentation, with a weight.
pub(crate) struct Choices {
    settings: CountSettings,
    none: Option<OptionId>,
    members: Vec<OptionId>,
}

impl Choices {
    /// With the no-choice option, where there is one.
    pub(crate) fn new(settings: CountSettings, none: Option<OptionId>) -> Self {
        Self { settings, none, members: Vec::new() }
    }

    /// The choices of a row. A presentation of one option alone is told too: it says nothing, but the option was shown.
    pub(crate) fn of(&mut self, row: &Row, record: &mut impl FnMut(&[OptionId], OptionId, f64)) -> Kind {
        let Row { presented, count, .. } = row;
        match &row.answer {
            Answer::Nothing => self.nothing(presented, *count, record),
            &Answer::Chosen(option) => self.choice(presented, option, *count, record),
            Answer::Several(options) => options.iter().for_each(|&option| self.choice(presented, option, *count, record)),
            Answer::Tied(options) => self.tie(presented, options, *count, record),
            Answer::AllTied => self.tie(presented, presented, *count, record),
            Answer::Ranked(places) => self.ranking(presented, places, *count, record),
        }
        match &row.answer {
            Answer::Nothing => Kind::Nothing,
            Answer::Tied(_) | Answer::AllTied => Kind::Tie,
            _ => Kind::Choice,
        }
    }

    fn choice(
        &mut self,
        presented: &[OptionId],
        option: OptionId,
        weight: f64,
        record: &mut impl FnMut(&[OptionId], OptionId, f64),
    ) {
        match self.none {
            None => record(presented, option, weight),
            Some(none) => {
                self.members.clear();
                self.members.extend_from_slice(presented);
                self.members.push(none);
                record(&self.members, option, weight);
            }
        }
    }

    fn nothing(&mut self, presented: &[OptionId], weight: f64, record: &mut impl FnMut(&[OptionId], OptionId, f64)) {
        match (self.settings.none, self.none) {
            (NoChoice::Option, Some(none)) => self.choice(presented, none, weight, record),
            (NoChoice::Tie, _) => self.parts(presented, presented, weight, record),
            _ => {}
        }
    }

    fn tie(
        &mut self,
        presented: &[OptionId],
        tied: &[OptionId],
        weight: f64,
        record: &mut impl FnMut(&[OptionId], OptionId, f64),
    ) {
        match self.settings.ties {
            Ties::Half => self.parts(presented, tied, weight, record),
            Ties::Ignore => {}
            Ties::None => self.nothing(presented, weight, record),
        }
    }

    fn parts(
        &mut self,
        presented: &[OptionId],
        tied: &[OptionId],
        weight: f64,
        record: &mut impl FnMut(&[OptionId], OptionId, f64),
    ) {
        for (option, part) in equal_parts(tied, weight) {
            self.choice(presented, option, part, record);
        }
    }

    /// Successive choices from what remains, without the last, certain one. All orders of tied options count equally: of the n tied,
    /// any s are the first s with probability 1/(n over s), and the next is one of the others. Where ties count for nothing, each of the tied
    /// is chosen over what is below all of them.
    fn ranking(
        &mut self,
        presented: &[OptionId],
        places: &[Vec<OptionId>],
        weight: f64,
        record: &mut impl FnMut(&[OptionId], OptionId, f64),
    ) {
        let mut remaining = presented.to_vec();
        for tied in places {
            if let &[option] = tied.as_slice() {
                if remaining.len() > 1 || self.none.is_some() {
                    self.choice(&remaining, option, weight, record);
                }
            } else if self.settings.ties == Ties::Half {
                for gone in 0..(1_u32 << tied.len()) - 1 {
                    let is_gone = |place: usize| gone >> place & 1 == 1;
                    let left: Vec<OptionId> =
                        remaining.iter().copied().filter(|id| !tied.iter().position(|t| t == id).is_some_and(is_gone)).collect();
                    let next: Vec<OptionId> = (0..tied.len()).filter(|&place| !is_gone(place)).map(|place| tied[place]).collect();
                    if left.len() > 1 || self.none.is_some() {
                        let ways = binomial(tied.len() as u32, gone.count_ones());
                        self.parts(&left, &next, weight / ways, record);
                    }
                }
            } else {
                // What is tied is not ordered, yet each of it comes before what is below.
                let below: Vec<OptionId> = remaining.iter().copied().filter(|option| !tied.contains(option)).collect();
                let tells = !below.is_empty() || self.none.is_some();
                for &option in tied.iter().filter(|_| tells) {
                    let from: Vec<OptionId> = [option].into_iter().chain(below.iter().copied()).collect();
                    self.choice(&from, option, weight, record);
                }
            }
            remaining.retain(|option| !tied.contains(option));
        }
    }
}

fn binomial(n: u32, k: u32) -> f64 {
    (0..k).map(|i| f64::from(n - i) / f64::from(k - i)).product()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choices(settings: CountSettings, none: Option<OptionId>, answer: Answer) -> Vec<(Vec<u32>, u32, f64)> {
        let row = Row { presented: [0, 1, 2].map(OptionId::new).to_vec(), answer, count: 1.0, ..Row::default() };
        let mut found = Vec::new();
        Choices::new(settings, none).of(&row, &mut |presented: &[OptionId], option: OptionId, weight: f64| {
            found.push((presented.iter().map(|&id| id.into()).collect(), option.into(), weight));
        });
        found
    }

    fn ids(ids: &[u32]) -> Vec<OptionId> {
        ids.iter().copied().map(OptionId::new).collect()
    }

    #[test]
    fn a_ranking_is_successive_choices_without_the_last() {
        let ranked = Answer::Ranked(vec![ids(&[2]), ids(&[0]), ids(&[1])]);
        let all = choices(CountSettings::default(), None, ranked);
        assert_eq!(all, [(vec![0, 1, 2], 2, 1.0), (vec![0, 1], 0, 1.0)]);
    }

    #[test]
    fn what_is_not_ranked_stays_to_the_end() {
        let all = choices(CountSettings::default(), None, Answer::Ranked(vec![ids(&[2]), ids(&[0])]));
        assert_eq!(all, [(vec![0, 1, 2], 2, 1.0), (vec![0, 1], 0, 1.0)]);
        let all = choices(CountSettings::default(), None, Answer::Ranked(vec![ids(&[1])]));
        assert_eq!(all, [(vec![0, 1, 2], 1, 1.0)]);
    }

    #[test]
    fn tied_places_of_a_ranking_are_all_their_orders() {
        // {0, 1} before 2: half 0 > 1 > 2 and half 1 > 0 > 2.
        let mut all = choices(CountSettings::default(), None, Answer::Ranked(vec![ids(&[0, 1]), ids(&[2])]));
        all.sort_by(|x, y| x.partial_cmp(y).expect("numbers"));
        let expected = [(vec![0, 1, 2], 0, 0.5), (vec![0, 1, 2], 1, 0.5), (vec![0, 2], 0, 0.5), (vec![1, 2], 1, 0.5)];
        assert_eq!(all, expected);
    }

    #[test]
    fn tied_places_that_count_for_nothing_still_come_before_the_rest() {
        for ties in [Ties::Ignore, Ties::None] {
            let settings = CountSettings { ties, ..CountSettings::default() };
            let all = choices(settings, None, Answer::Ranked(vec![ids(&[0, 1]), ids(&[2])]));
            assert_eq!(all, [(vec![0, 2], 0, 1.0), (vec![1, 2], 1, 1.0)]);
            // At the end of a ranking they say nothing.
            let all = choices(settings, None, Answer::Ranked(vec![ids(&[2]), ids(&[0, 1])]));
            assert_eq!(all, [(vec![0, 1, 2], 2, 1.0)]);
            let settings = CountSettings { none: NoChoice::Option, ..settings };
            let all = choices(settings, Some(OptionId::new(9)), Answer::Ranked(vec![ids(&[0, 1]), ids(&[2])]));
            assert_eq!(all, [(vec![0, 2, 9], 0, 1.0), (vec![1, 2, 9], 1, 1.0), (vec![2, 9], 2, 1.0)]);
        }
    }

    #[test]
    fn ties_and_no_choice_count_as_asked() {
        let with = |ties, none| CountSettings { ties, none, skip_bad: false };
        let parts = [(vec![0, 1, 2], 0, 0.5), (vec![0, 1, 2], 2, 0.5)];
        assert_eq!(choices(with(Ties::Half, NoChoice::Ignore), None, Answer::Tied(ids(&[0, 2]))), parts);
        assert_eq!(choices(with(Ties::Ignore, NoChoice::Tie), None, Answer::AllTied), []);
        assert_eq!(choices(with(Ties::None, NoChoice::Ignore), None, Answer::AllTied), []);
        let none = Some(OptionId::new(9));
        assert_eq!(choices(with(Ties::None, NoChoice::Option), none, Answer::AllTied), [(vec![0, 1, 2, 9], 9, 1.0)]);
        assert_eq!(choices(with(Ties::Half, NoChoice::Option), none, Answer::Nothing), [(vec![0, 1, 2, 9], 9, 1.0)]);
        let third: f64 = choices(with(Ties::Half, NoChoice::Tie), None, Answer::Nothing).iter().map(|choice| choice.2).sum();
        assert_eq!(third, 1.0);
    }
}
