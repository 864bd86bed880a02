//! What a ranking of all contexts was made from, as much of it as is worth keeping: for chances between options and of sets that somebody clicks
//! together, and for what a counter that is blind to exposure would believe.

use std::sync::OnceLock;

use unloop::ranking::{Ranking, RankingSettings};
use unloop::sampler::{Draws, SampleSettings};
use unloop::{OptionId, Options, Prior, Statistics};

use crate::standing::Standing;

/// Draws that are kept, and values of all of them together: 16 MB.
const MOST_DRAWS: usize = 1_000;
const MOST_VALUES: usize = 2_000_000;
/// Draws with which chances still mean something.
const LEAST_DRAWS: usize = 100;
/// Options with which the blind counter is not looked at any more: it takes as long as a ranking.
const MOST_BLIND: usize = 20_000;
/// Draws of the blind counter: 4 chains of so many.
const BLIND_DRAWS: usize = 250;

/// What a ranking was made from.
pub(crate) struct Grounds {
    pub(crate) names: Options,
    /// Prior weights by option.
    alpha: Vec<f64>,
    /// Their sum: every option's share is asked for.
    mass: f64,
    /// Choices by option.
    chosen: Vec<f64>,
    unranked: Vec<OptionId>,
    pub(crate) none: Option<OptionId>,
    /// Some of the draws; none where there are too many options.
    pub(crate) draws: Option<Draws>,
    blind: OnceLock<Vec<BlindRow>>,
}

/// What the blind counter believes of an option: Dirichlet(α + y), as if everything had always been shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct BlindRow {
    pub(crate) mean: f64,
    /// The chance that it is among the best so many of a draw: that it would be presented next.
    pub(crate) p_top: f64,
}

impl Grounds {
    pub(crate) fn new(standing: Standing, draws: &Draws) -> Self {
        let Standing { names, alpha, statistics, unranked, none, .. } = standing;
        let count = MOST_DRAWS.min(MOST_VALUES / draws.explored().len().max(1));
        Self {
            chosen: statistics.all_chosen().to_vec(),
            mass: alpha.iter().sum(),
            draws: (count >= LEAST_DRAWS).then(|| draws.thinned(count)),
            names,
            alpha,
            unranked,
            none,
            blind: OnceLock::new(),
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        let draws = self.draws.as_ref().map_or(0, |draws| draws.len() * draws.explored().len() * size_of::<f64>());
        // Names are shared with the catalog in part; a word and a half for each in its index.
        draws + self.names.len() * (3 * size_of::<f64>() + 48)
    }

    /// The prior's share of an option.
    pub(crate) fn prior_share(&self, option: OptionId) -> f64 {
        self.alpha[option.index()] / self.mass
    }

    /// What the blind counter believes, by option; nothing where there are too many. It takes as long as a small ranking the first time.
    pub(crate) fn blind(&self, top: usize) -> &[BlindRow] {
        self.blind.get_or_init(|| self.count_blindly(top).unwrap_or_default())
    }

    /// The same model, told that everything was shown every time: that is what a counter of choices takes for granted.
    fn count_blindly(&self, top: usize) -> Option<Vec<BlindRow>> {
        let count = self.names.len();
        if count > MOST_BLIND {
            return None;
        }
        let total: f64 = self.chosen.iter().sum();
        let everything: Vec<OptionId> = (0..count as u32).map(OptionId::new).collect();
        let columns = (total > 0.0).then_some((everything, total));
        let statistics = Statistics::from_margins(&self.chosen, columns).ok()?;
        let settings = RankingSettings {
            top,
            evidence_draws: None,
            unranked: self.unranked.clone(),
            sample: SampleSettings { draws: BLIND_DRAWS, ..SampleSettings::default() },
            ..RankingSettings::default()
        };
        let prior = Prior::per_option(self.alpha.clone()).ok()?;
        let ranking = Ranking::new(&prior, &statistics, &settings).ok()?;
        // Its means have a closed form.
        let mass = total + self.mass;
        let mean = |(alpha, chosen): (&f64, &f64)| BlindRow { mean: (alpha + chosen) / mass, p_top: 0.0 };
        let mut rows: Vec<BlindRow> = self.alpha.iter().zip(&self.chosen).map(mean).collect();
        for row in &ranking.options {
            rows[row.option.index()].p_top = row.p_top;
        }
        Some(rows)
    }
}
