//! Pairs counted in a table instead of by hash.
//!
//! Battles are pairs of few options, and many. With the counts in a triangle, a battle is one addition at a place computed from its
//! two options; the general way hashes, looks up and compares. Counting 10⁷ battles among 1 000 options takes a twentieth of the time
//! (`cargo bench -p unloop-data --bench read`).

use unloop::{OptionId, Statistics, StatisticsError};

/// Options with a place in the table, which then has 16 MB.
const MOST: usize = 2_048;

/// Counts of pairs among the first options, and of choices from them.
#[derive(Default)]
pub struct Pairs {
    /// μ({i, j}) for j < i at i(i−1)/2 + j.
    presented: Vec<f64>,
    chosen: Vec<f64>,
}

impl Pairs {
    /// Makes room for options, as far as they have a place.
    pub fn grow(&mut self, option_count: usize) {
        let count = option_count.min(MOST).max(self.chosen.len());
        self.chosen.resize(count, 0.0);
        self.presented.resize(count * count.saturating_sub(1) / 2, 0.0);
    }

    /// Counts a choice if it is of a pair that has a place here.
    pub fn record(&mut self, members: &[OptionId], option: OptionId, weight: f64) -> bool {
        let &[x, y] = members else { return false };
        let (low, high) = (x.min(y).index(), x.max(y).index());
        if high >= self.chosen.len() {
            return false;
        }
        self.presented[high * (high - 1) / 2 + low] += weight;
        self.chosen[option.index()] += weight;
        true
    }

    /// The counts as statistics.
    ///
    /// # Errors
    /// If they do not add up, which they do.
    pub fn into_statistics(self) -> Result<Statistics, StatisticsError> {
        let pairs = (1..self.chosen.len()).flat_map(|high| (0..high).map(move |low| (low, high)));
        let counted = pairs.zip(&self.presented).filter(|&(_, &count)| count > 0.0);
        let id = |index: usize| OptionId::new(index as u32);
        Statistics::from_margins(&self.chosen, counted.map(|((low, high), &count)| ([id(low), id(high)], count)))
    }
}
