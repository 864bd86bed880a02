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
//! rank depend on the others.
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

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Binomial, Distribution};
use statrs::distribution::{Beta, ContinuousCDF};
use thiserror::Error;

use crate::carlson::{IntegralSettings, LnEstimate};
use crate::diagnostics::quantile;
use crate::option::OptionId;
use crate::posterior::potential::ln_sum_exp;
use crate::posterior::{Basis, Posterior, PosteriorError};
use crate::prior::Prior;
use crate::random::{ln_gamma_cdf, ln_gamma_draw};
use crate::sampler::{Draws, SampleError, SampleReport, SampleSettings};
use crate::statistics::Statistics;

/// The random stream of what is drawn besides the draws; chains and lazy options have others.
const STREAM: u64 = (1 << 63) + 1;

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
}

impl Default for RankingSettings {
    fn default() -> Self {
        Self { top: 5, level: 0.9, sample: SampleSettings::default(), evidence_draws: Some(20_000) }
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
        let level = settings.level;
        if !(level > 0.0 && level < 1.0) {
            return Err(RankingError::Level { level });
        }
        let posterior = Posterior::new(prior, statistics)?;
        let sample = posterior.sample(&settings.sample)?;
        let map = posterior.map(Basis::Log).ok();
        let ln_evidence = settings
            .evidence_draws
            .and_then(|draws| posterior.ln_evidence_with(&IntegralSettings { draws, seed: settings.sample.seed }).ok());
        let shown = statistics.shown();
        let mut options = Tally::new(&posterior, &sample.draws, settings).rows();
        for row in &mut options {
            row.map = map.as_ref().map(|map| map.theta[row.option.index()]);
            row.shown = shown[row.option.index()];
            row.chosen = statistics.chosen(row.option);
        }
        options.sort_by(|x, y| y.mean.total_cmp(&x.mean).then(x.option.cmp(&y.option)));
        for (place, row) in options.iter_mut().enumerate() {
            row.rank = place + 1;
        }
        Ok(Self {
            options,
            ln_evidence,
            report: sample.report,
            draws: sample.draws.len(),
            presentations: statistics.total(),
            distinct: statistics.distinct(),
            components: posterior.components().len(),
            top: settings.top,
            level,
            seed: settings.sample.seed,
        })
    }

    /// Whether each of the first [`top`](Self::top) rows is among the best so many with at least this probability.
    pub fn is_sure(&self, confidence: f64) -> bool {
        self.options.iter().take(self.top).all(|row| row.p_top >= confidence)
    }
}

/// What draws say of each option.
struct Tally<'a> {
    posterior: &'a Posterior,
    draws: &'a Draws,
    top: usize,
    /// Tail on each side of an interval.
    tail: f64,
    /// Options never shown: α and how many.
    groups: Vec<(f64, usize)>,
    rng: ChaCha8Rng,
}

impl<'a> Tally<'a> {
    fn new(posterior: &'a Posterior, draws: &'a Draws, settings: &RankingSettings) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(settings.sample.seed);
        rng.set_stream(STREAM);
        let groups = draws.unexplored.groups().map(|group| (group.alpha, group.options.len())).collect();
        Self { posterior, draws, top: settings.top, tail: 0.5 * (1.0 - settings.level), groups, rng }
    }

    fn rows(mut self) -> Vec<RankedOption> {
        let width = self.draws.explored().len();
        let means = self.means();
        let alone: f64 = self.groups.iter().map(|&(alpha, n)| alpha * n as f64).sum();
        let mut ln_totals = Vec::with_capacity(self.draws.len());
        let mut ranks = vec![0_u32; self.draws.len() * width];
        let mut best = vec![0.0; width];
        let mut group_ranks: Vec<Vec<u32>> = vec![Vec::with_capacity(self.draws.len()); self.groups.len()];
        let mut group_best = vec![0.0; self.groups.len()];
        let mut order: Vec<usize> = (0..width).collect();
        for draw in 0..self.draws.len() {
            let Some(eta) = self.draws.ln_lambda(draw) else { continue };
            let rest = if alone > 0.0 { ln_gamma_draw(alone, &mut self.rng) } else { f64::NEG_INFINITY };
            ln_totals.push(ln_sum_exp(eta.iter().copied().chain([rest])));
            order.sort_unstable_by(|&i, &j| eta[j].total_cmp(&eta[i]).then(i.cmp(&j)));
            let mut above = Above::new(&self.groups);
            for (place, &k) in order.iter().enumerate() {
                let unseen = above.next(eta[k], &mut self.rng);
                ranks[draw * width + k] = (place + 1 + unseen) as u32;
            }
            if let Some(&k) = order.first() {
                best[k] += chance_above_all(&self.groups, None, eta[k]);
            }
            // One option stands for each group.
            for g in 0..self.groups.len() {
                let own = ln_gamma_draw(self.groups[g].0, &mut self.rng);
                let explored = order.partition_point(|&k| eta[k] > own);
                let others = others(&self.groups, g);
                let unseen = Above::new(&others).next(own, &mut self.rng);
                group_ranks[g].push((explored + 1 + unseen) as u32);
                if explored == 0 {
                    group_best[g] += chance_above_all(&self.groups, Some(g), own);
                }
            }
        }
        let count = self.draws.len() as f64;
        let mut rows = Vec::with_capacity(self.posterior.option_count());
        for (k, &option) in self.draws.explored().iter().enumerate() {
            let column = self.draws.ln_lambda.iter().skip(k).step_by(width);
            let mut shares: Vec<f64> = column.zip(&ln_totals).map(|(eta, total)| (eta - total).exp()).collect();
            let centre = shares.iter().sum::<f64>() / count;
            let variance = shares.iter().map(|x| (x - centre).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
            shares.sort_unstable_by(f64::total_cmp);
            let ranks: Vec<u32> = ranks.iter().copied().skip(k).step_by(width).collect();
            rows.push(RankedOption {
                mean: means[k],
                sd: variance.sqrt(),
                low: quantile(&shares, self.tail, |&x| x),
                high: quantile(&shares, 1.0 - self.tail, |&x| x),
                p_best: best[k] / count,
                ..self.ranked(option, ranks)
            });
        }
        // What the explored options leave belongs to the others.
        let left = (1.0 - rows.iter().map(|row| row.p_best).sum::<f64>()).max(0.0);
        let found: f64 = group_best.iter().zip(&self.groups).map(|(best, &(_, n))| best * n as f64).sum();
        for (group, (ranks, best)) in self.draws.unexplored.groups().zip(group_ranks.into_iter().zip(group_best)) {
            let own = self.prior_row(group.alpha);
            let p_best = if found > 0.0 { left * best / found } else { 0.0 };
            let ranked = self.ranked(group.options[0], ranks);
            for &option in &group.options {
                rows.push(RankedOption {
                    option,
                    mean: own.mean,
                    sd: own.sd,
                    low: own.low,
                    high: own.high,
                    p_best,
                    ..ranked.clone()
                });
            }
        }
        rows
    }

    /// A row with what ranks say.
    fn ranked(&self, option: OptionId, mut ranks: Vec<u32>) -> RankedOption {
        let count = ranks.len().max(1) as f64;
        let p_top = ranks.iter().filter(|&&rank| rank as usize <= self.top).count() as f64 / count;
        ranks.sort_unstable();
        let at = |p: f64| ranks.get((p * (ranks.len() - 1) as f64).round() as usize).map_or(1, |&rank| rank as usize);
        RankedOption {
            option,
            rank: 0,
            mean: 0.0,
            sd: 0.0,
            low: 0.0,
            high: 0.0,
            map: None,
            p_best: 0.0,
            p_top,
            rank_low: at(self.tail),
            rank_high: at(1.0 - self.tail),
            shown: 0.0,
            chosen: 0.0,
        }
    }

    /// Mean shares of the explored options: that of a component is known, within it the draws speak.
    fn means(&self) -> Vec<f64> {
        let place = |option: u32| self.draws.explored().binary_search(&OptionId::new(option)).unwrap_or(0);
        let mut means = vec![0.0; self.draws.explored().len()];
        let total = self.posterior.total_mass();
        for component in self.posterior.components() {
            let places: Vec<usize> = component.options.iter().map(|&option| place(option)).collect();
            let share = if total > 0.0 { component.mass / total } else { 1.0 };
            for draw in 0..self.draws.len() {
                let Some(eta) = self.draws.ln_lambda(draw) else { continue };
                let ln_total = ln_sum_exp(places.iter().map(|&k| eta[k]));
                for &k in &places {
                    means[k] += share * (eta[k] - ln_total).exp() / self.draws.len() as f64;
                }
            }
        }
        means
    }

    /// The prior's share of an option never shown: Beta(α, Σα − α).
    fn prior_row(&self, alpha: f64) -> Interval {
        let total = self.posterior.total_mass();
        let mean = alpha / total;
        match Beta::new(alpha, total - alpha) {
            Ok(beta) => Interval {
                mean,
                sd: (mean * (1.0 - mean) / (total + 1.0)).sqrt(),
                low: beta.inverse_cdf(self.tail),
                high: beta.inverse_cdf(1.0 - self.tail),
            },
            // The only option there is.
            Err(_) => Interval { mean: 1.0, sd: 0.0, low: 1.0, high: 1.0 },
        }
    }
}

struct Interval {
    mean: f64,
    sd: f64,
    low: f64,
    high: f64,
}

/// How many options never shown lie above falling levels of λ: in each step those between two levels, jointly right.
struct Above {
    /// α, how many are still below, P(λ below the last level), how many are above.
    groups: Vec<(f64, usize, f64)>,
    count: usize,
}

impl Above {
    fn new(groups: &[(f64, usize)]) -> Self {
        Self { groups: groups.iter().map(|&(alpha, n)| (alpha, n, 1.0)).collect(), count: 0 }
    }

    fn next(&mut self, ln_level: f64, rng: &mut ChaCha8Rng) -> usize {
        for (alpha, below, last) in &mut self.groups {
            if *below == 0 {
                continue;
            }
            let lower = ln_gamma_cdf(*alpha, ln_level);
            let between = if *last > 0.0 { (1.0 - lower / *last).clamp(0.0, 1.0) } else { 0.0 };
            let more = Binomial::new(*below as u64, between).map_or(0, |binomial| binomial.sample(rng) as usize);
            *below -= more;
            *last = lower;
            self.count += more;
        }
        self.count
    }
}

/// P(no option never shown is above a level), one of a group left out.
fn chance_above_all(groups: &[(f64, usize)], without: Option<usize>, ln_level: f64) -> f64 {
    let chance = |(g, &(alpha, n)): (usize, &(f64, usize))| {
        ln_gamma_cdf(alpha, ln_level).powf((n - usize::from(without == Some(g))) as f64)
    };
    groups.iter().enumerate().map(chance).product()
}

/// Groups with one option of a group left out.
fn others(groups: &[(f64, usize)], g: usize) -> Vec<(f64, usize)> {
    groups.iter().enumerate().map(|(i, &(alpha, n))| (alpha, n - usize::from(i == g))).collect()
}
