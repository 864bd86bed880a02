//! What to ask next: presentations whose answers tell most.
//!
//! With draws θ^i, p_k^i = θ_k^i/S_C(θ^i) and p̄ their mean, the answer to a presentation C is expected to tell
//!
//! ```text
//! gain(C) = H(p̄) − mean_i H(p^i)                       of the preferences, hence of their order
//! gain(C) = H(p̄) − Σ_B P(B) H(p̄_B)                     of which option is best: draws grouped by it
//! ```
//! in nats, at most ln |C|; H is the entropy. It is the expected divergence of the new posterior from the old. The best pair is
//! grown by the option that adds most. For several presentations in a row an answer to each is simulated and the draws are weighed
//! by it, so that the next one asks about something else: a path through what may be answered, one of many.
//!
//! ```
//! use unloop::information::{Goal, InquirySettings, inquire};
//! use unloop::sampler::SampleSettings;
//! use unloop::{OptionId, Posterior, Prior, Statistics};
//! let [a, b, c] = [0, 1, 2].map(OptionId::new);
//! let mut statistics = Statistics::new(3);
//! statistics.record([a, b], a, 500.0)?;
//! statistics.record([a, b], b, 500.0)?;
//! let sample = Posterior::new(&Prior::default(), &statistics)?.sample(&SampleSettings::default())?;
//! let next = inquire(&sample.draws, &InquirySettings { size: 2, ..InquirySettings::default() });
//! assert!(next[0].options.contains(&c)); // of a and b enough is known
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::collections::BTreeSet;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::option::OptionId;
use crate::posterior::potential::bounds;
use crate::random::ln_gamma_draw;
use crate::sampler::{Draws, in_parallel};

/// The random stream of what is drawn here.
const STREAM: u64 = (1 << 63) + 4;
/// Draws that are looked at.
const DRAWS: usize = 500;
/// Options among which pairs are sought: those of which least is known.
const CANDIDATES: usize = 300;
/// Pairs from which presentations are grown, for each that is asked for.
const PAIRS: usize = 50;
/// Effective draws below which simulated answers are forgotten.
const MIN_ESS: f64 = 50.0;

/// What an answer should tell of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Goal {
    /// The preferences of all options, hence their order.
    #[default]
    Preferences,
    /// Which option is the best.
    Best,
}

/// What to look for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InquirySettings {
    /// Options of a presentation; at least 2. 2 by default.
    pub size: usize,
    /// Presentations, all different. 1 by default.
    pub count: usize,
    /// What the answers should tell of.
    pub goal: Goal,
    /// Options that cannot be presented.
    pub excluded: Vec<OptionId>,
}

impl Default for InquirySettings {
    fn default() -> Self {
        Self { size: 2, count: 1, goal: Goal::Preferences, excluded: Vec::new() }
    }
}

/// A presentation, and what its answer is expected to tell.
#[derive(Clone, Debug, PartialEq)]
pub struct Inquiry {
    /// The options, the most telling pair first.
    pub options: Vec<OptionId>,
    /// Expected information in nats, given answers to those before it.
    pub gain: f64,
}

/// The presentations whose answers tell most, one after the other; fewer if there are no more.
pub fn inquire(draws: &Draws, settings: &InquirySettings) -> Vec<Inquiry> {
    let size = settings.size.max(2);
    let mut search = Search::new(draws, settings, size);
    if search.options.len() < 2 {
        return Vec::new();
    }
    let mut pairs = search.pairs(settings.count.saturating_mul(PAIRS));
    let mut asked = BTreeSet::new();
    let mut inquiries = Vec::new();
    while inquiries.len() < settings.count {
        let gains = in_parallel(pairs.len(), |i| search.gain(&pairs[i]));
        let mut order: Vec<usize> = (0..pairs.len()).collect();
        order.sort_by(|&i, &j| gains[j].total_cmp(&gains[i]).then(i.cmp(&j)));
        // The first pair that leads to something new.
        let found = order.into_iter().find_map(|i| {
            let (set, gain) = search.grow(pairs[i], gains[i], size);
            let mut key = set.clone();
            key.sort_unstable();
            (!asked.contains(&key)).then_some((i, set, gain, key))
        });
        let Some((i, set, gain, key)) = found else { break };
        inquiries.push(Inquiry { options: set.iter().map(|&k| search.options[k]).collect(), gain: gain.max(0.0) });
        if set.len() == 2 {
            pairs.swap_remove(i);
        }
        asked.insert(key);
        search.answer(&set);
    }
    inquiries
}

/// Draws of the candidates, with weights that simulated answers give them.
struct Search {
    options: Vec<OptionId>,
    /// λ of each candidate, draw by draw, at a scale of each draw's own.
    lambda: Vec<Vec<f64>>,
    weights: Vec<f64>,
    /// The best option of each draw, where that is asked about.
    labels: Option<Vec<usize>>,
    rng: ChaCha8Rng,
}

impl Search {
    fn new(draws: &Draws, settings: &InquirySettings, size: usize) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(draws.seed);
        rng.set_stream(STREAM);
        let count = draws.len().min(DRAWS);
        let picked: Vec<usize> = (0..count).map(|i| i * draws.len() / count).collect();
        let may = |option: &OptionId| !settings.excluded.contains(option);
        let mut options = Vec::new();
        let mut eta: Vec<Vec<f64>> = Vec::new();
        for (place, &option) in draws.explored().iter().enumerate().filter(|(_, option)| may(option)) {
            options.push(option);
            eta.push(picked.iter().filter_map(|&draw| Some(draws.ln_lambda(draw)?[place])).collect());
        }
        // As many of each group never shown as could be asked about stand for all.
        let most = size.saturating_mul(settings.count).min(CANDIDATES);
        for group in draws.unexplored.groups() {
            for &option in group.options.iter().filter(|option| may(option)).take(most) {
                options.push(option);
                eta.push((0..count).map(|_| ln_gamma_draw(group.alpha, &mut rng)).collect());
            }
        }
        let labels = (settings.goal == Goal::Best && !eta.is_empty()).then(|| {
            let best = |draw: usize| (0..eta.len()).max_by(|&i, &j| eta[i][draw].total_cmp(&eta[j][draw])).unwrap_or(0);
            (0..count).map(best).collect::<Vec<usize>>()
        });
        let kept = candidates(&eta, labels.as_deref());
        let labels =
            labels.map(|labels| labels.into_iter().map(|k| kept.iter().position(|&i| i == k).unwrap_or(kept.len())).collect());
        let highs: Vec<f64> = (0..count).map(|draw| bounds(&kept.iter().map(|&k| eta[k][draw]).collect::<Vec<_>>()).1).collect();
        let lambda = kept.iter().map(|&k| eta[k].iter().zip(&highs).map(|(eta, high)| (eta - high).exp()).collect()).collect();
        let options = kept.iter().map(|&k| options[k]).collect();
        Self { options, lambda, weights: vec![1.0 / count as f64; count], labels, rng }
    }

    /// The pairs that tell most now.
    fn pairs(&self, most: usize) -> Vec<[usize; 2]> {
        let n = self.options.len();
        let rows = in_parallel(n, |i| ((i + 1)..n).map(|j| (self.gain(&[i, j]), [i, j])).collect::<Vec<_>>());
        let mut pairs: Vec<(f64, [usize; 2])> = rows.into_iter().flatten().collect();
        pairs.sort_by(|x, y| y.0.total_cmp(&x.0).then(x.1.cmp(&y.1)));
        pairs.into_iter().take(most.max(1)).map(|(_, pair)| pair).collect()
    }

    /// Adds to a pair, one at a time, the option that tells most.
    fn grow(&self, pair: [usize; 2], gain: f64, size: usize) -> (Vec<usize>, f64) {
        let (mut set, mut best) = (pair.to_vec(), gain);
        while set.len() < size.min(self.options.len()) {
            let gains = in_parallel(self.options.len(), |k| {
                if set.contains(&k) {
                    return f64::NEG_INFINITY;
                }
                let with: Vec<usize> = set.iter().copied().chain([k]).collect();
                self.gain(&with)
            });
            let Some(next) = (0..gains.len()).max_by(|&i, &j| gains[i].total_cmp(&gains[j]).then(j.cmp(&i))) else { break };
            best = gains[next];
            set.push(next);
        }
        (set, best)
    }

    /// What the answer to a set is expected to tell.
    fn gain(&self, set: &[usize]) -> f64 {
        let labels = self.labels.as_deref();
        let groups = if labels.is_some() { self.options.len() + 1 } else { 0 };
        let mut mean = vec![0.0; set.len()];
        let mut means = vec![0.0; set.len() * groups];
        let mut masses = vec![0.0; groups];
        let mut inside = 0.0;
        for (draw, &weight) in self.weights.iter().enumerate() {
            let sum: f64 = set.iter().map(|&k| self.lambda[k][draw]).sum();
            for (place, &k) in set.iter().enumerate() {
                // All of a set may be far below the best option of a draw: then nothing is known of it there.
                let p = if sum > 0.0 { self.lambda[k][draw] / sum } else { 1.0 / set.len() as f64 };
                mean[place] += weight * p;
                match labels {
                    Some(labels) => means[labels[draw] * set.len() + place] += weight * p,
                    None => inside += weight * surprise(p),
                }
            }
            if let Some(labels) = labels {
                masses[labels[draw]] += weight;
            }
        }
        for (part, mass) in means.chunks_exact(set.len()).zip(&masses).filter(|&(_, &mass)| mass > 0.0) {
            inside += mass * part.iter().map(|p| surprise(p / mass)).sum::<f64>();
        }
        mean.into_iter().map(surprise).sum::<f64>() - inside
    }

    /// Simulates an answer and weighs the draws by it.
    fn answer(&mut self, set: &[usize]) {
        let draw = pick(&self.weights, &mut self.rng);
        let chances: Vec<f64> = set.iter().map(|&k| self.lambda[k][draw]).collect();
        let chosen = set[pick(&chances, &mut self.rng)];
        for (i, weight) in self.weights.iter_mut().enumerate() {
            let sum: f64 = set.iter().map(|&k| self.lambda[k][i]).sum();
            *weight *= if sum > 0.0 { self.lambda[chosen][i] / sum } else { 0.0 };
        }
        let total: f64 = self.weights.iter().sum();
        let squares: f64 = self.weights.iter().map(|weight| weight * weight).sum();
        let count = self.weights.len() as f64;
        if !(total * total >= MIN_ESS.min(0.5 * count) * squares && total > 0.0) {
            self.weights.fill(1.0 / count);
            return;
        }
        self.weights.iter_mut().for_each(|weight| *weight /= total);
    }
}

/// The options of which least is known: by how often they are the best where that is asked, else by the spread of η.
fn candidates(eta: &[Vec<f64>], labels: Option<&[usize]>) -> Vec<usize> {
    if eta.len() <= CANDIDATES {
        return (0..eta.len()).collect();
    }
    let spread = |values: &Vec<f64>| {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        values.iter().map(|x| (x - mean).powi(2)).sum::<f64>()
    };
    let mut times = vec![0_usize; eta.len()];
    labels.into_iter().flatten().for_each(|&k| times[k] += 1);
    let spreads: Vec<f64> = eta.iter().map(spread).collect();
    let mut order: Vec<usize> = (0..eta.len()).collect();
    order.sort_by(|&i, &j| times[j].cmp(&times[i]).then(spreads[j].total_cmp(&spreads[i])).then(i.cmp(&j)));
    order.truncate(CANDIDATES);
    order.sort_unstable();
    order
}

/// −p ln p.
fn surprise(p: f64) -> f64 {
    if p > 0.0 { -p * p.ln() } else { 0.0 }
}

/// A place picked with chances in proportion to weights.
fn pick(weights: &[f64], rng: &mut ChaCha8Rng) -> usize {
    let mut left = rng.random::<f64>() * weights.iter().sum::<f64>();
    for (i, weight) in weights.iter().enumerate() {
        left -= weight;
        if left < 0.0 {
            return i;
        }
    }
    weights.len().saturating_sub(1)
}
