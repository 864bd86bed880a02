//! Resampling, and moving particles by a kernel: fixed, adaptive, waste-free; and by Gibbs sweeps where weights fail.

use rand_chacha::ChaCha8Rng;
#[cfg(feature = "parallel")]
use rayon::prelude::*;

use super::{Moved, Moves, Smc};
use crate::posterior::potential::ln_sum_exp;
use crate::random::ln_gamma_draw;
use crate::sampler::lanes::{LANES, Lanes};
use crate::sampler::target::{MoveKernel, Target};
use crate::sampler::tree::Tree;
use crate::sampler::{Resampling, gibbs};

/// Sweeps to draw the particles of a general prior that is not nested.
pub(super) const BURN_IN: usize = 200;
/// Gibbs sweeps after counts went down: the posterior is wider then, where weights fail.
pub(super) const WIDENING_SWEEPS: usize = 10;

impl Smc {
    /// Resamples, then moves each particle; weights are equal afterwards.
    pub(super) fn resample_and_move(&mut self, target: &Target) -> Moved {
        let n = self.particles.len();
        let chain = self.settings.chain;
        let offspring = n / chain;
        let independent = 1.0 / self.ess() - 1.0 / n as f64;
        let ancestors = self.resample(offspring);
        let awake: Vec<usize> = self.counts.awake().collect();
        let mut groups = self.groups(&awake, &ancestors);
        let kernel = &*self.kernel;
        let (moves, correlation, states) = match self.settings.moves {
            Moves::Fixed(times) if chain > 1 => {
                // Every state on the way is kept, that at the start too.
                let ways = each_group(&mut groups, |group| {
                    let mut way = vec![group.eta.clone()];
                    while way.len() < chain {
                        group.advance(kernel, target, times);
                        way.push(group.eta.clone());
                    }
                    way
                });
                (times * (chain - 1), None, ways.into_iter().flatten().collect())
            }
            Moves::Fixed(times) => {
                each_group(&mut groups, |group| group.advance(kernel, target, times));
                (times, None, groups.iter().map(|group| group.eta.clone()).collect())
            }
            Moves::Adaptive { correlation, most, watched } => {
                let start: Vec<Vec<Lanes>> = groups.iter().map(|group| group.eta.clone()).collect();
                let watched = watched.and_then(|option| awake.iter().position(|&place| self.counts.option(place) == option));
                let mut moves = 0;
                let mut found = 1.0;
                while moves < most && !(found <= correlation) {
                    each_group(&mut groups, |group| group.advance(kernel, target, 1));
                    moves += 1;
                    found = correlation_with(&start, &groups, watched);
                }
                (moves, Some(found), groups.iter().map(|group| group.eta.clone()).collect::<Vec<_>>())
            }
        };
        let accepted: f64 = groups.iter().map(|group| group.accepted).sum();
        let acceptance = if moves == 0 { 1.0 } else { accepted / (groups.len() * moves) as f64 };
        for (rng, group) in self.rngs.iter_mut().zip(groups) {
            *rng = group.rng;
        }
        self.place_states(states, &awake);
        // Offspring drawn one by one meet in one family by chance alone; those that are spread evenly hardly do.
        if let Some(evidence) = &mut self.evidence {
            evidence.independent += independent;
            if self.settings.resampling == Resampling::Multinomial {
                evidence.ln_growth += (offspring as f64 / (offspring as f64 - 1.0)).ln();
            }
        }
        Moved { resampled: 1, moves, acceptance, correlation }
    }

    /// Ancestors of the offspring in groups side by side; eves follow, `chain` particles for each offspring.
    fn resample(&mut self, offspring: usize) -> Vec<u32> {
        let total = self.particles.summary().total;
        let ancestors = self.settings.resampling.ancestors(self.particles.weights(), total, offspring, &mut self.rng);
        let eves: Vec<u32> = ancestors.iter().map(|&i| self.particles.eve[i as usize]).collect();
        let chain = self.settings.chain;
        // States of a group come one after the other, each of LANES particles.
        for (particles, eves) in self.particles.eve.chunks_exact_mut(LANES * chain).zip(eves.as_chunks::<LANES>().0) {
            particles.as_chunks_mut::<LANES>().0.fill(*eves);
        }
        ancestors
    }

    /// Puts moved states into the particles. Each connected group gets a fresh mass, Gamma(Σα) whatever its shares are; without that,
    /// masses would be as slow as the data are many.
    fn place_states(&mut self, mut states: Vec<Vec<Lanes>>, awake: &[usize]) {
        let mut local = vec![0; self.counts.len()];
        for (i, &place) in awake.iter().enumerate() {
            local[place] = i;
        }
        for (places, mass) in self.components() {
            let group: Vec<usize> = places.into_iter().map(|place| local[place]).collect();
            for (state, rng) in states.iter_mut().zip(&mut self.rngs) {
                for lane in 0..LANES {
                    let ln_total = ln_sum_exp(group.iter().map(|&i| state[i][lane]));
                    let shift = if mass > 0.0 { ln_gamma_draw(mass, rng) - ln_total } else { -ln_total };
                    group.iter().for_each(|&i| state[i][lane] += shift);
                }
            }
        }
        self.particles.replace(awake, &states);
    }

    /// After counts went down, or too far away: particles are resampled and moved by Gibbs sweeps, and the evidence ends.
    pub(super) fn widen(&mut self, turned: &[u32], sweeps: usize) {
        self.evidence = None;
        for &place in turned {
            self.unexplored.insert(self.counts.option(place as usize), self.counts.alpha(place as usize));
        }
        if self.counts.awake().next().is_none() {
            self.particles.reset_weights();
            return;
        }
        if !self.ess().is_finite() {
            self.particles.reset_weights();
        }
        let target = self.compile(None);
        let ancestors = self.resample(self.particles.len() / self.settings.chain);
        let ancestors: Vec<u32> = ancestors.into_iter().flat_map(|i| std::iter::repeat_n(i, self.settings.chain)).collect();
        self.gibbs(&target, &ancestors, sweeps);
    }

    pub(super) fn draw_general_prior(&mut self) {
        let target = self.compile(None);
        if let Some(tree) = Tree::of_potential(&target.potential) {
            let awake: Vec<usize> = self.counts.awake().collect();
            let states = self.rngs.iter_mut().map(|rng| {
                let lanes: [Vec<f64>; LANES] = std::array::from_fn(|_| tree.sample_ln(rng));
                (0..awake.len()).map(|k| std::array::from_fn(|lane| lanes[lane][k])).collect()
            });
            let states = states.collect();
            self.place_states(states, &awake);
        } else {
            let each: Vec<u32> = (0..self.particles.len() as u32).collect();
            self.gibbs(&target, &each, BURN_IN);
        }
    }

    /// Copies of ancestors in groups side by side, each group with its random stream.
    fn groups(&self, awake: &[usize], ancestors: &[u32]) -> Vec<Group> {
        let pairs = ancestors.as_chunks::<LANES>().0.iter().zip(&self.rngs);
        let group = |(ancestors, rng): (&[u32; LANES], &ChaCha8Rng)| Group {
            eta: self.particles.gather(awake, ancestors),
            rng: rng.clone(),
            accepted: 0.0,
        };
        pairs.map(group).collect()
    }

    /// Moves particles from their ancestors by Gibbs sweeps.
    fn gibbs(&mut self, target: &Target, ancestors: &[u32], sweeps: usize) {
        let awake: Vec<usize> = self.counts.awake().collect();
        let mut groups = self.groups(&awake, ancestors);
        each_group(&mut groups, |group| (0..sweeps).for_each(|_| gibbs::sweep(target, &mut group.eta, &mut group.rng)));
        let mut states = Vec::with_capacity(groups.len());
        for (rng, group) in self.rngs.iter_mut().zip(groups) {
            *rng = group.rng;
            states.push(group.eta);
        }
        self.place_states(states, &awake);
    }
}

/// Particles side by side while they move.
struct Group {
    eta: Vec<Lanes>,
    rng: ChaCha8Rng,
    accepted: f64,
}

impl Group {
    fn advance(&mut self, kernel: &dyn MoveKernel, target: &Target, times: usize) {
        for _ in 0..times {
            self.accepted += kernel.advance(target, &mut self.eta, &mut self.rng);
        }
    }
}

/// Groups in order, on as many threads as there are.
fn each_group<T: Send>(groups: &mut [Group], run: impl Fn(&mut Group) -> T + Sync + Send) -> Vec<T> {
    #[cfg(feature = "parallel")]
    return groups.par_iter_mut().map(run).collect();
    #[cfg(not(feature = "parallel"))]
    groups.iter_mut().map(run).collect()
}

/// Correlation over the particles of ln of a share with its value at the start: of one option, or the largest of all.
fn correlation_with(start: &[Vec<Lanes>], groups: &[Group], watched: Option<usize>) -> f64 {
    let ln_totals = |eta: &[Lanes]| -> Lanes { std::array::from_fn(|lane| ln_sum_exp(eta.iter().map(|values| values[lane]))) };
    let totals: Vec<(Lanes, Lanes)> = start.iter().zip(groups).map(|(x, group)| (ln_totals(x), ln_totals(&group.eta))).collect();
    let n = (LANES * groups.len()) as f64;
    let of_option = |k: usize| {
        let mut sums = [0.0; 5];
        for ((x, group), (total_x, total_y)) in start.iter().zip(groups).zip(&totals) {
            for lane in 0..LANES {
                let (x, y) = (x[k][lane] - total_x[lane], group.eta[k][lane] - total_y[lane]);
                for (sum, term) in sums.iter_mut().zip([x, y, x * x, y * y, x * y]) {
                    *sum += term / n;
                }
            }
        }
        let [x, y, xx, yy, xy] = sums;
        let spread = ((xx - x * x) * (yy - y * y)).sqrt();
        // A share that does not vary is not correlated with anything.
        if spread > 0.0 { (xy - x * y) / spread } else { 0.0 }
    };
    let options = start.first().map_or(0, Vec::len);
    match watched {
        Some(k) => of_option(k),
        None => (0..options).map(of_option).fold(f64::NEG_INFINITY, f64::max),
    }
}
