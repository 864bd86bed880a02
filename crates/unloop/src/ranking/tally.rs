//! What draws say of each option: shares, ranks and chances.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Binomial, Distribution, Exp1};
use statrs::function::gamma::digamma;

use super::{RankedOption, RankingSettings};
use crate::option::OptionId;
use crate::pausing::pause;
use crate::posterior::Posterior;
use crate::posterior::potential::ln_sum_exp;
use crate::random::{beta_quantile, ln_gamma_draw, minus_ln_gamma_cdf};
use crate::sampler::{Draws, in_parallel};

/// The random stream of what is drawn besides the draws; chains and lazy options have others.
const STREAM: u64 = (1 << 63) + 1;
/// Most groups never shown that are counted without being drawn: each costs a distribution function at every place.
const LAZY: usize = 16;
/// Where there are more groups, those with up to so many options are drawn one by one.
const FEW: usize = 16;
/// Numbers that are drawn or looked up for the options of these groups; where that is too few, fewer draws are looked at for places.
const DRAWN: usize = 4_000_000;

/// What draws say of each option.
pub(super) struct Tally<'a> {
    posterior: &'a Posterior,
    draws: &'a Draws,
    top: usize,
    /// Tail on each side of an interval.
    tail: f64,
    /// Explored options that take a place, by where the draws have them.
    ranked: Vec<usize>,
    /// Options never shown, by α: first the lazy ones, then those drawn one by one.
    groups: Vec<Group>,
    lazy: usize,
    /// Options that take no place.
    unranked: &'a [OptionId],
    seed: u64,
}

/// Options never shown with the same α.
struct Group {
    alpha: f64,
    /// All of them, and those that take a place.
    options: Vec<OptionId>,
    ranked: Vec<OptionId>,
}

impl<'a> Tally<'a> {
    pub(super) fn new(posterior: &'a Posterior, draws: &'a Draws, settings: &'a RankingSettings) -> Self {
        let takes_place = |option: &OptionId| !settings.unranked.contains(option);
        let groups = draws.unexplored.groups().map(|group| Group {
            alpha: group.alpha,
            ranked: group.options.iter().copied().filter(takes_place).collect(),
            options: group.options.clone(),
        });
        let mut groups: Vec<Group> = groups.collect();
        groups.sort_by_key(|group| Reverse(group.ranked.len()));
        let large = groups.iter().take(LAZY).filter(|group| group.ranked.len() > FEW).count();
        let lazy = if groups.len() <= LAZY { groups.len() } else { large };
        let explored = draws.explored();
        Self {
            posterior,
            draws,
            top: settings.top,
            tail: 0.5 * (1.0 - settings.level),
            ranked: (0..explored.len()).filter(|&k| takes_place(&explored[k])).collect(),
            groups,
            lazy,
            unranked: &settings.unranked,
            seed: settings.sample.seed,
        }
    }

    /// A row for each option; those that take no place have rank 0 and no chances.
    pub(super) fn rows(&self) -> Vec<RankedOption> {
        let Places { ranks, best, group_ranks, group_best, group_strengths, ln_totals, averages } = self.places();
        let width = self.draws.explored().len();
        let means = self.means();
        let count = self.draws.len() as f64;
        let looked_at = self.looked_at().count() as f64;
        let mut rows = in_parallel(width, |k| {
            let column = || self.draws.ln_lambda.iter().skip(k).step_by(width);
            let mut shares: Vec<f64> = column().zip(&ln_totals).map(|(eta, total)| (eta - total).exp()).collect();
            let centre = shares.iter().sum::<f64>() / count;
            let variance = shares.iter().map(|x| (x - centre).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
            let (low, high) = interval(&mut shares, self.tail);
            let mut strengths: Vec<f64> = column().zip(&averages).map(|(eta, average)| eta - average).collect();
            let strength = strengths.iter().sum::<f64>() / count;
            let (strength_low, strength_high) = interval(&mut strengths, self.tail);
            let ranks: Vec<u32> = ranks.iter().copied().skip(k).step_by(width).collect();
            RankedOption {
                mean: means[k],
                sd: variance.sqrt(),
                low,
                high,
                strength,
                strength_low,
                strength_high,
                p_best: best[k] / looked_at,
                ..self.ranked(self.draws.explored()[k], ranks)
            }
        });
        // What the explored options leave belongs to the others.
        let left = (1.0 - rows.iter().map(|row| row.p_best).sum::<f64>()).max(0.0);
        // Between groups by lazy draws; where none of these was ever the best, by their weights.
        let group_best = if group_best.iter().any(|&best| best > 0.0) {
            group_best
        } else {
            self.groups.iter().map(|group| group.alpha).collect()
        };
        let found: f64 = group_best.iter().zip(&self.groups).map(|(best, group)| best * group.ranked.len() as f64).sum();
        // Likewise for the best n: all chances together are n.
        let most = self.top.min(self.ranked.len() + self.groups.iter().map(|group| group.ranked.len()).sum::<usize>());
        if self.top == 1 {
            rows.iter_mut().for_each(|row| row.p_top = row.p_best);
        }
        let top_left = (most as f64 - rows.iter().map(|row| row.p_top).sum::<f64>()).max(0.0);
        let group_top: Vec<f64> = group_ranks
            .iter()
            .map(|ranks| ranks.iter().filter(|&&rank| rank as usize <= self.top).count() as f64 / ranks.len().max(1) as f64)
            .collect();
        let top_found: f64 = group_top.iter().zip(&self.groups).map(|(top, group)| top * group.ranked.len() as f64).sum();
        // An option alone is the average.
        let alone = self.ranked.len() + self.groups.iter().map(|group| group.ranked.len()).sum::<usize>() == 1;
        let parts = group_ranks.into_iter().zip(group_best.into_iter().zip(group_top)).zip(group_strengths);
        for (group, ((ranks, (best, top)), mut strengths)) in self.groups.iter().zip(parts) {
            let own = self.prior_row(group.alpha);
            let p_best = if found > 0.0 { left * best / found } else { 0.0 };
            let p_top = if self.top == 1 { p_best } else { (top_left * top / top_found.max(f64::MIN_POSITIVE)).min(1.0) };
            let mut strength = digamma(group.alpha) - averages.iter().sum::<f64>() / count;
            if alone {
                (strength, strengths) = (0.0, vec![0.0]);
            }
            let (strength_low, strength_high) = interval(&mut strengths, self.tail);
            let ranked = self.ranked(group.options[0], ranks);
            for &option in &group.options {
                let row = RankedOption {
                    option,
                    mean: own.mean,
                    sd: own.sd,
                    low: own.low,
                    high: own.high,
                    strength,
                    strength_low,
                    strength_high,
                    p_best,
                    p_top,
                    ..ranked.clone()
                };
                let takes_place = !self.unranked.contains(&option);
                rows.push(if takes_place {
                    row
                } else {
                    RankedOption { p_best: 0.0, p_top: 0.0, rank_low: 0, rank_high: 0, ..row }
                });
            }
        }
        rows
    }

    /// Ranks and the best of each draw, those never shown in between.
    fn places(&self) -> Places {
        // Shares have a stream of their own, so that they do not depend on who takes a place.
        let [mut rng, mut share_rng] = [STREAM, STREAM + 5].map(|stream| {
            let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
            rng.set_stream(stream);
            rng
        });
        let (width, draws) = (self.draws.explored().len(), self.draws.len());
        let alone: f64 = self.groups.iter().map(|group| group.alpha * group.options.len() as f64).sum();
        let lazy: Vec<(f64, usize)> = self.groups.iter().take(self.lazy).map(|group| (group.alpha, group.ranked.len())).collect();
        let mut places = Places {
            ranks: Vec::with_capacity(draws * width),
            best: vec![0.0; width],
            group_ranks: vec![Vec::new(); self.groups.len()],
            group_best: vec![0.0; self.groups.len()],
            group_strengths: vec![Vec::new(); self.groups.len()],
            ln_totals: Vec::with_capacity(draws),
            averages: Vec::with_capacity(draws),
        };
        for eta in (0..draws).filter_map(|draw| self.draws.ln_lambda(draw)) {
            pause();
            let rest = if alone > 0.0 { ln_gamma_draw(alone, &mut share_rng) } else { f64::NEG_INFINITY };
            places.ln_totals.push(ln_sum_exp(eta.iter().copied().chain([rest])));
            places.averages.push(self.average(eta));
        }
        // Who takes a place by itself: an explored option, by where the draws have it, or one of a group that is not lazy.
        let mut order: Vec<(f64, Entrant)> = Vec::new();
        let mut above = Above::default();
        for draw in self.looked_at() {
            pause();
            let Some(eta) = self.draws.ln_lambda(draw) else { continue };
            order.clear();
            order.extend(self.ranked.iter().map(|&k| (eta[k], Entrant::Explored(k))));
            for (g, group) in self.groups.iter().enumerate().skip(self.lazy) {
                order.extend(group.ranked.iter().map(|_| (ln_gamma_draw(group.alpha, &mut rng), Entrant::Drawn(g))));
            }
            order.sort_unstable_by(|x, y| y.0.total_cmp(&x.0).then(x.1.cmp(&y.1)));
            let row = places.ranks.len();
            places.ranks.resize(row + width, 0);
            above.start(lazy.iter().copied(), order.len(), &mut rng);
            for (place, &(own, entrant)) in order.iter().enumerate() {
                let rank = (place + 1 + above.next(own, &mut rng)) as u32;
                match entrant {
                    Entrant::Explored(k) => places.ranks[row + k] = rank,
                    Entrant::Drawn(g) => {
                        places.group_ranks[g].push(rank);
                        places.group_strengths[g].push(own - places.averages[draw]);
                    }
                }
            }
            if let Some(&(own, entrant)) = order.first() {
                let chance = chance_above_all(lazy.iter().copied(), own);
                match entrant {
                    Entrant::Explored(k) => places.best[k] += chance,
                    Entrant::Drawn(g) => places.group_best[g] += chance / self.groups[g].ranked.len() as f64,
                }
            }
            // One option stands for each lazy group, and for each without a place.
            for (g, group) in self.groups.iter().enumerate().filter(|(g, group)| *g < self.lazy || group.ranked.is_empty()) {
                let own = ln_gamma_draw(group.alpha, &mut rng);
                places.group_strengths[g].push(own - places.averages[draw]);
                if group.ranked.is_empty() {
                    continue;
                }
                let before = order.partition_point(|entrant| entrant.0 > own);
                above.start(others(&lazy, g), 1, &mut rng);
                places.group_ranks[g].push((before + 1 + above.next(own, &mut rng)) as u32);
                if before == 0 {
                    places.group_best[g] += chance_above_all(others(&lazy, g), own);
                }
            }
        }
        places
    }

    /// The draws that places are taken from: all, or evenly spaced ones where that would be too many numbers.
    fn looked_at(&self) -> impl Iterator<Item = usize> {
        let drawn: usize = self.groups.iter().skip(self.lazy).map(|group| group.ranked.len().max(1)).sum();
        self.evenly(DRAWN / (drawn * (1 + self.lazy)).max(1))
    }

    /// At most so many draws, evenly spaced.
    fn evenly(&self, most: usize) -> impl Iterator<Item = usize> {
        let all = self.draws.len();
        let count = all.min(most.max(1));
        (0..count).map(move |i| i * all / count)
    }

    /// Average of η over the ranked options with data; without any, of what is expected of the others.
    fn average(&self, eta: &[f64]) -> f64 {
        if self.ranked.is_empty() {
            let counts = self.groups.iter().map(|group| (digamma(group.alpha), group.ranked.len() as f64));
            let (sum, count) = counts.fold((0.0, 0.0), |(sum, count), (mean, n)| (sum + n * mean, count + n));
            return if count > 0.0 { sum / count } else { 0.0 };
        }
        self.ranked.iter().map(|&k| eta[k]).sum::<f64>() / self.ranked.len() as f64
    }

    /// Probability that these options are the best so many.
    pub(super) fn p_top_set(&self, set: &[OptionId]) -> f64 {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        rng.set_stream(STREAM + 2);
        let set: BTreeSet<OptionId> = set.iter().copied().collect();
        let (inside, outside): (Vec<usize>, Vec<usize>) =
            self.ranked.iter().partition(|&&k| set.contains(&self.draws.explored()[k]));
        // α of those of the set that were never shown, and how many of each group are not in it.
        let drawn: Vec<f64> =
            self.groups.iter().flat_map(|group| group.ranked.iter().filter(|id| set.contains(id)).map(|_| group.alpha)).collect();
        let left: Vec<(f64, usize)> =
            self.groups.iter().map(|group| (group.alpha, group.ranked.iter().filter(|id| !set.contains(id)).count())).collect();
        let mut sum = 0.0;
        let draws = self.evenly(DRAWN / (left.len() + drawn.len()).max(1));
        let mut count = 0_usize;
        for draw in draws {
            count += 1;
            pause();
            let Some(eta) = self.draws.ln_lambda(draw) else { continue };
            let mut least = inside.iter().map(|&k| eta[k]).fold(f64::INFINITY, f64::min);
            for &alpha in &drawn {
                least = least.min(ln_gamma_draw(alpha, &mut rng));
            }
            if outside.iter().all(|&k| eta[k] < least) {
                sum += if least == f64::INFINITY { 1.0 } else { chance_above_all(left.iter().copied(), least) };
            }
        }
        sum / count as f64
    }

    /// A row with what ranks say; without any, one that takes no place.
    fn ranked(&self, option: OptionId, mut ranks: Vec<u32>) -> RankedOption {
        let count = ranks.len().max(1) as f64;
        // A rank of 0 is none.
        let p_top = ranks.iter().filter(|&&rank| rank > 0 && rank as usize <= self.top).count() as f64 / count;
        let last = ranks.len().saturating_sub(1) as f64;
        let mut at = |p: f64| {
            let place = (p * last).round() as usize;
            if ranks.is_empty() { 0 } else { *ranks.select_nth_unstable(place).1 as usize }
        };
        RankedOption {
            option,
            rank: 0,
            mean: 0.0,
            sd: 0.0,
            low: 0.0,
            high: 0.0,
            map: None,
            strength: 0.0,
            strength_low: 0.0,
            strength_high: 0.0,
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
                pause();
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
        // The only option there is.
        if !(total - alpha > 0.0) {
            return Interval { mean: 1.0, sd: 0.0, low: 1.0, high: 1.0 };
        }
        let quantile = |p: f64| beta_quantile(alpha, total - alpha, p);
        let sd = (mean * (1.0 - mean) / (total + 1.0)).sqrt();
        Interval { mean, sd, low: quantile(self.tail), high: quantile(1.0 - self.tail) }
    }
}

/// Who takes a place in a draw: an explored option by where the draws have it, or one option of a group.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Entrant {
    Explored(usize),
    Drawn(usize),
}

/// What each draw says of places.
struct Places {
    /// Rank of each explored option, draw by draw of those looked at; 0 if it takes no place.
    ranks: Vec<u32>,
    /// How often it is the best.
    best: Vec<f64>,
    /// The same for one option of each group never shown, or for all of them.
    group_ranks: Vec<Vec<u32>>,
    group_best: Vec<f64>,
    group_strengths: Vec<Vec<f64>>,
    /// ln Σλ over all options.
    ln_totals: Vec<f64>,
    /// Average η of the ranked options.
    averages: Vec<f64>,
}

/// Quantiles at `tail` and 1 − `tail`, linear between neighbours. O(n): the values are left in another order.
pub(crate) fn interval(values: &mut [f64], tail: f64) -> (f64, f64) {
    let last = (values.len() - 1) as f64;
    let mut quantile = |p: f64| {
        let at = p.clamp(0.0, 1.0) * last;
        let (_, &mut low, above) = values.select_nth_unstable_by(at.floor() as usize, f64::total_cmp);
        let high = above.iter().copied().min_by(f64::total_cmp).unwrap_or(low);
        low + at.fract() * (high - low)
    };
    (quantile(tail), quantile(1.0 - tail))
}

struct Interval {
    mean: f64,
    sd: f64,
    low: f64,
    high: f64,
}

/// Options never shown for each level up to which they are gone through one by one; of more than that, binomial numbers cost less.
const SPACED: usize = 10;

/// How many options never shown lie above falling levels of λ: in each step those between two levels, jointly right.
///
/// Where n options of a group are below a level, −ln F of the largest lies as far beyond the level's as an exponential of rate n says, the next one of rate n − 1 beyond that.
/// These are drawn one after the other. Where a group has many more options than there are levels, it is Binomial(n, 1 − F/F') that lie between two levels, F' and F.
#[derive(Default)]
struct Above {
    groups: Vec<Below>,
    count: usize,
}

/// Options of a group that are below the last level.
struct Below {
    alpha: f64,
    count: usize,
    /// −ln F of the largest of them; of the last level where they are not gone through one by one.
    at: f64,
    one_by_one: bool,
}

impl Above {
    /// From the top, for so many levels.
    fn start(&mut self, groups: impl Iterator<Item = (f64, usize)>, levels: usize, rng: &mut ChaCha8Rng) {
        self.count = 0;
        self.groups.clear();
        self.groups.extend(groups.filter(|&(_, count)| count > 0).map(|(alpha, count)| {
            let one_by_one = count <= SPACED * levels;
            Below { alpha, count, at: if one_by_one { spacing(count, rng) } else { 0.0 }, one_by_one }
        }));
    }

    fn next(&mut self, ln_level: f64, rng: &mut ChaCha8Rng) -> usize {
        for own in self.groups.iter_mut().filter(|own| own.count > 0) {
            let level = minus_ln_gamma_cdf(own.alpha, ln_level);
            let before = own.count;
            if own.one_by_one {
                while own.count > 0 && own.at < level {
                    own.count -= 1;
                    own.at += spacing(own.count, rng);
                }
            } else if level > own.at {
                let between = -(own.at - level).exp_m1();
                own.count -= Binomial::new(own.count as u64, between).map_or(0, |binomial| binomial.sample(rng) as usize);
                own.at = level;
            }
            self.count += before - own.count;
        }
        self.count
    }
}

/// From one of the largest to the next, where so many are left; ∞ where none is.
fn spacing(left: usize, rng: &mut ChaCha8Rng) -> f64 {
    let unit: f64 = rng.sample(Exp1);
    unit / left as f64
}

/// P(no option never shown is above a level).
fn chance_above_all(groups: impl Iterator<Item = (f64, usize)>, ln_level: f64) -> f64 {
    let minus_ln = |(alpha, count): (f64, usize)| count as f64 * minus_ln_gamma_cdf(alpha, ln_level);
    (-groups.filter(|&(_, count)| count > 0).map(minus_ln).sum::<f64>()).exp()
}

/// Groups with one option of a group left out.
fn others(groups: &[(f64, usize)], g: usize) -> impl Iterator<Item = (f64, usize)> {
    groups.iter().enumerate().map(move |(i, &(alpha, n))| (alpha, n - usize::from(i == g)))
}

#[cfg(test)]
mod tests {
    use testkit::chi_square;

    use super::*;
    use crate::random::ln_gamma_quantile;

    /// False-alarm level of each test.
    const LEVEL: f64 = 1e-4;

    /// Of four options, how many lie above the upper tercile, between the terciles and below: multinomial, however they are counted. With n in place of n − 1 for the second of
    /// them χ² is 2 318 instead of 6 to 21, against 42.6.
    #[test]
    fn how_many_lie_between_levels_is_multinomial() {
        const COUNT: usize = 4;
        const TIMES: u64 = 60_000;
        let factorial = |n: usize| (1..=n).product::<usize>() as f64;
        for (alpha, levels) in [(1.0, 2), (0.3, 2), (7.0, 2), (1.0, 0), (0.3, 0)] {
            let terciles = [2.0, 1.0].map(|third: f64| ln_gamma_quantile(alpha, (third / 3.0).ln()));
            let mut rng = ChaCha8Rng::seed_from_u64(11);
            let mut above = Above::default();
            let mut seen = [[0_u64; COUNT + 1]; COUNT + 1];
            for _ in 0..TIMES {
                above.start([(alpha, COUNT)].into_iter(), levels, &mut rng);
                assert_eq!(above.groups[0].one_by_one, levels > 0);
                let [first, second] = terciles.map(|level| above.next(level, &mut rng));
                seen[first][second - first] += 1;
            }
            let pairs = (0..=COUNT).flat_map(|i| (0..=COUNT - i).map(move |j| (i, j)));
            let (counts, chances): (Vec<u64>, Vec<f64>) = pairs
                .map(|(i, j)| {
                    let ways = factorial(COUNT) / factorial(i) / factorial(j) / factorial(COUNT - i - j);
                    (seen[i][j], ways / 3.0_f64.powf(COUNT as f64))
                })
                .unzip();
            chi_square::counts(&counts, &chances, LEVEL).assert_passes(&format!("Gamma({alpha}), for {levels} levels"));
        }
    }

    /// Beyond all of them, and below all.
    #[test]
    fn nobody_is_above_everything_and_everybody_above_nothing() {
        let mut rng = ChaCha8Rng::seed_from_u64(12);
        for levels in [0, 1] {
            let mut above = Above::default();
            above.start([(1.0, 7), (0.2, 0), (0.2, 5)].into_iter(), levels, &mut rng);
            let counts = [f64::INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY].map(|level| above.next(level, &mut rng));
            assert_eq!(counts, [0, 12, 12]);
        }
    }
}
