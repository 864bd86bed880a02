//! A leaderboard: who is best, and how sure that is.
//!
//! Shares, ranks and chances to be best from posterior draws, where options never shown take part without being carried: with F_g the
//! distribution function of Gamma(α_g) and n_g options of group g never shown,
//!
//! ```text
//! P(best = k) = mean over draws of 1{k = argmax_E λ} ∏_g F_g(λ_k)^n_g
//! rank_k      = 1 + #{j ∈ E: λ_j > λ_k} + Σ_g Binomial(n_g, 1 − F_g(λ_k))
//! ```
//! An option never shown has its prior's mean, spread and interval in closed form, to the last digit; its chance to be best and its
//! rank depend on the others. The no-choice option and retired ones may be left [`unranked`](RankingSettings::unranked): they keep their
//! share and take no place.
//!
//! ```
//! use unloop::ranking::{Ranking, RankingSettings};
//! use unloop::{OptionId, Prior, Statistics};
//! let [soup, salad, curry] = [0, 1, 2].map(OptionId::new);
//! let mut statistics = Statistics::new(3);
//! statistics.record([soup, salad], soup, 10.0)?;
//! statistics.record([soup, salad], salad, 5.0)?;
//! let ranking = Ranking::new(&Prior::default(), &statistics, &RankingSettings::default())?;
//! assert_eq!(ranking.options[0].option, soup);
//! let unseen = ranking.options.iter().find(|row| row.option == curry).ok_or("listed")?;
//! assert!((unseen.mean - 1.0 / 3.0).abs() < 1e-15);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod pairwise;
mod tally;

use thiserror::Error;

use crate::carlson::{IntegralSettings, LnEstimate, Method};
use crate::option::OptionId;
use crate::posterior::{Basis, Posterior, PosteriorError};
use crate::prior::Prior;
use crate::sampler::{Sample, SampleError, SampleReport, SampleSettings};
use crate::statistics::Statistics;
pub(crate) use pairwise::ln_lambda;
pub use pairwise::{Beats, Pairwise};
use tally::Tally;
pub(crate) use tally::interval;

/// Points of a grid that a ranking waits for, a few hundredths of a second; beyond, draws do.
const GRID: usize = 500_000;

/// What to rank by, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct RankingSettings {
    /// n of the chance to be among the best n. 5 by default.
    pub top: usize,
    /// Probability of the intervals, with equal tails. 0.9 by default.
    pub level: f64,
    /// How draws are made.
    pub sample: SampleSettings,
    /// Draws for an evidence that has no exact way; none to leave the evidence out. 20 000 by default.
    pub evidence_draws: Option<usize>,
    /// Options that take no place: the no-choice option, retired ones. None by default.
    pub unranked: Vec<OptionId>,
}

impl Default for RankingSettings {
    fn default() -> Self {
        Self { top: 5, level: 0.9, sample: SampleSettings::default(), evidence_draws: Some(20_000), unranked: Vec::new() }
    }
}

/// Why there is no ranking.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum RankingError {
    /// No posterior.
    #[error(transparent)]
    Posterior(#[from] PosteriorError),
    /// No draws.
    #[error(transparent)]
    Sample(#[from] SampleError),
    /// A level outside (0, 1).
    #[error("an interval of probability {level} is none: it must be above 0 and below 1")]
    Level {
        /// The level.
        level: f64,
    },
}

/// One option of a ranking.
#[derive(Clone, Debug, PartialEq)]
pub struct RankedOption {
    /// The option.
    pub option: OptionId,
    /// Its place by mean share, from 1.
    pub rank: usize,
    /// Posterior mean of its share.
    pub mean: f64,
    /// Posterior standard deviation of its share.
    pub sd: f64,
    /// Lower end of the interval of its share.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Its share at the log-basis mode; none where the mode was not reached.
    pub map: Option<f64>,
    /// Its log strength against the average of the ranked options with data: the posterior mean of η_k minus theirs.
    pub strength: f64,
    /// Lower end of the interval of its strength.
    pub strength_low: f64,
    /// Upper end.
    pub strength_high: f64,
    /// Probability that it is the best.
    pub p_best: f64,
    /// Probability that it is among the best n.
    pub p_top: f64,
    /// Lower end of the interval of its rank.
    pub rank_low: usize,
    /// Upper end.
    pub rank_high: usize,
    /// Times it was shown in an answered presentation.
    pub shown: f64,
    /// Times it was chosen.
    pub chosen: f64,
}

/// A leaderboard.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranking {
    /// By mean share, best first; ties by index.
    pub options: Vec<RankedOption>,
    /// Options that take no place, by index: their ranks and chances to be best are 0.
    pub unranked: Vec<RankedOption>,
    /// Probability that the first [`top`](Self::top) rows are the best so many options, in any order.
    pub p_top_set: f64,
    /// Evidence of the choices; none if it was left out or could not be had.
    pub ln_evidence: Option<LnEstimate>,
    /// How draws were made and how good they are.
    pub report: SampleReport,
    /// Number of draws.
    pub draws: usize,
    /// Weight of all answered presentations.
    pub presentations: f64,
    /// Distinct presentations.
    pub distinct: usize,
    /// Groups of options that no presentation links, those never shown left out.
    pub components: usize,
    /// n of [`RankedOption::p_top`].
    pub top: usize,
    /// Probability of the intervals.
    pub level: f64,
    /// Seed of the draws.
    pub seed: u64,
}

impl Ranking {
    /// Ranks options. O(draws · |E| ln |E|) after the draws.
    ///
    /// # Errors
    /// If there is no posterior, no draws, or the level is none.
    pub fn new(prior: &Prior, statistics: &Statistics, settings: &RankingSettings) -> Result<Self, RankingError> {
        Ok(Self::with_sample(prior, statistics, settings)?.0)
    }

    /// As [`new`](Self::new), with the draws that it was made from: for [`Pairwise`] and predictions.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_sample(
        prior: &Prior,
        statistics: &Statistics,
        settings: &RankingSettings,
    ) -> Result<(Self, Sample), RankingError> {
        let level = settings.level;
        if !(level > 0.0 && level < 1.0) {
            return Err(RankingError::Level { level });
        }
        let posterior = Posterior::new(prior, statistics)?;
        let map = posterior.map(Basis::Log).ok();
        let sampled = posterior.sample_near(&settings.sample, map.as_ref().map(|map| map.theta.as_slice()))?;
        let sample = sampled.sample;
        let integrals = IntegralSettings { draws: settings.evidence_draws.unwrap_or(0), seed: settings.sample.seed, grid: GRID };
        let ln_evidence =
            settings.evidence_draws.and_then(|_| posterior.ln_evidence_given(&integrals, &sampled.ln_integrals).ok());
        // Means are exact where they can be: alike options then have like shares.
        let is_exact = |method: Method| matches!(method, Method::ClosedForm | Method::Quadrature);
        let exact =
            ln_evidence.filter(|evidence| is_exact(evidence.method)).and_then(|_| posterior.moments_with(&integrals).ok());
        let exact = exact.filter(|moments| is_exact(moments.method));
        let shown = statistics.shown();
        let tally = Tally::new(&posterior, &sample.draws, settings);
        let mut rows = tally.rows();
        for row in &mut rows {
            row.map = map.as_ref().map(|map| map.theta[row.option.index()]);
            if let Some(exact) = &exact {
                row.mean = exact.mean[row.option.index()];
            }
            row.shown = shown[row.option.index()];
            row.chosen = statistics.chosen(row.option);
        }
        let (mut unranked, mut options): (Vec<_>, Vec<_>) =
            rows.into_iter().partition(|row| settings.unranked.contains(&row.option));
        unranked.sort_by_key(|row| row.option);
        options.sort_by(|x, y| y.mean.total_cmp(&x.mean).then(x.option.cmp(&y.option)));
        for (place, row) in options.iter_mut().enumerate() {
            row.rank = place + 1;
        }
        let best: Vec<OptionId> = options.iter().take(settings.top).map(|row| row.option).collect();
        let ranking = Self {
            p_top_set: tally.p_top_set(&best),
            options,
            unranked,
            ln_evidence,
            report: sample.report.clone(),
            draws: sample.draws.len(),
            presentations: statistics.total(),
            distinct: statistics.distinct(),
            components: statistics.components().len(),
            top: settings.top,
            level,
            seed: settings.sample.seed,
        };
        Ok((ranking, sample))
    }

    /// Whether the first [`top`](Self::top) rows are the best so many options with at least this probability.
    pub fn is_sure(&self, confidence: f64) -> bool {
        self.p_top_set >= confidence
    }
}
