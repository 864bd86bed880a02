//! Runs: policies against people, the same people for each policy.
//!
//! Run r of every policy meets people with the same preferences in the same order of options, who draw the same random numbers: seeds
//! are paired, and differences between policies have less spread than each alone. Runs are spread over threads; each has random
//! streams of its own, so that the answer is the same on any number of them.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use crate::policy::Policy;
use crate::regret::{Meter, Regret};
use crate::spec::{PolicySpec, Setting, SpecError};
use crate::user::User;

/// What to simulate.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// People; run r meets number r modulo how many there are.
    pub users: Vec<User>,
    /// Options in a presentation.
    pub size: usize,
    /// Rounds of a run.
    pub rounds: usize,
    /// Runs of each policy.
    pub runs: usize,
    /// Policies.
    pub policies: Vec<PolicySpec>,
    /// Seed of everything.
    pub seed: u64,
    /// Rounds after which the regret so far is written down.
    pub marks: Vec<usize>,
}

/// One run of one policy.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Regret of all rounds.
    pub regret: Regret,
    /// Regret up to each mark.
    pub marks: Vec<Regret>,
    /// Different presentations up to each mark.
    pub distinct_at: Vec<usize>,
    /// Different presentations.
    pub distinct: usize,
    /// How often each option was shown, from the best for people to the worst, as they are at the start.
    pub exposure: Vec<u32>,
    /// Rounds in which the best option was shown, among the last tenth.
    pub best_at_the_end: f64,
    /// Seconds that the policy took, the simulated people apart from it.
    pub seconds: f64,
}

/// What makes the streams of a run differ.
const USER: u64 = 0x5eed_0001;
const SHUFFLE: u64 = 0x5eed_0002;
const POLICY: u64 = 0x5eed_0003;

fn stream(seed: u64, kind: u64, run: usize) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed ^ kind);
    rng.set_stream(run as u64);
    rng
}

impl Campaign {
    /// All runs, by policy and run. `done` counts finished runs.
    ///
    /// # Errors
    /// If a policy cannot play: a duel alone for another size, or people who never decline.
    pub fn run(&self, done: &AtomicUsize) -> Result<Vec<Vec<Run>>, SpecError> {
        self.run_with(&|| {
            done.fetch_add(1, Ordering::Relaxed);
        })
    }

    /// As [`run`](Self::run); `finished` is called after each run.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_with(&self, finished: &(dyn Fn() + Sync)) -> Result<Vec<Vec<Run>>, SpecError> {
        for spec in &self.policies {
            for user in &self.users {
                spec.check(&self.setting(user))?;
            }
        }
        let jobs: Vec<(usize, usize)> =
            (0..self.runs).flat_map(|run| (0..self.policies.len()).map(move |policy| (policy, run))).collect();
        let results: Vec<Result<Run, SpecError>> = jobs
            .par_iter()
            .map(|&(policy, run)| {
                let result = self.one(&self.policies[policy], run);
                finished();
                result
            })
            .collect();
        let mut by_policy: Vec<Vec<Run>> = self.policies.iter().map(|_| Vec::with_capacity(self.runs)).collect();
        for ((policy, _), result) in jobs.into_iter().zip(results) {
            by_policy[policy].push(result?);
        }
        Ok(by_policy)
    }

    fn setting(&self, user: &User) -> Setting {
        Setting { options: user.option_count(), size: self.size, rounds: self.rounds, may_decline: user.may_decline() }
    }

    fn one(&self, spec: &PolicySpec, run: usize) -> Result<Run, SpecError> {
        let kind = &self.users[run % self.users.len()];
        let mut order = stream(self.seed, SHUFFLE, run);
        let user = kind.shuffled(&mut order);
        let mut people = stream(self.seed, USER, run);
        let mut rng = stream(self.seed, POLICY, run);
        let setting = self.setting(&user);
        let mut policy = spec.build(&setting, self.seed.wrapping_add(run as u64))?;
        Ok(self.play(&mut *policy, &user, &mut people, &mut rng))
    }

    fn play(&self, policy: &mut dyn Policy, user: &User, people: &mut ChaCha8Rng, rng: &mut ChaCha8Rng) -> Run {
        let mut meter = Meter::new(user.truth(0), self.size);
        let mut best = user.truth(0).best as u32;
        let (mut shown, mut key) = (Vec::new(), Vec::new());
        let mut distinct: HashSet<Vec<u32>> = HashSet::new();
        let mut exposure = vec![0_u32; user.option_count()];
        let (mut marks, mut distinct_at) = (Vec::with_capacity(self.marks.len()), Vec::with_capacity(self.marks.len()));
        let late = self.rounds - self.rounds.div_ceil(10).min(self.rounds);
        let mut best_shown = 0_u32;
        let mut seconds = 0.0;
        for round in 0..self.rounds {
            if user.moves() {
                let truth = user.truth(round);
                best = truth.best as u32;
                meter.set(truth);
            }
            let began = Instant::now();
            policy.present(self.size, &mut shown, rng);
            seconds += began.elapsed().as_secs_f64();
            meter.add(&shown);
            key.clone_from(&shown);
            key.sort_unstable();
            key.dedup();
            key.iter().for_each(|&k| exposure[k as usize] += 1);
            if round >= late {
                best_shown += u32::from(key.binary_search(&best).is_ok());
            }
            if !distinct.contains(&key) {
                distinct.insert(key.clone());
            }
            let chosen = user.choose(&shown, round, people);
            let began = Instant::now();
            policy.choose(&shown, chosen, rng);
            seconds += began.elapsed().as_secs_f64();
            if self.marks.contains(&(round + 1)) {
                marks.push(meter.regret.clone());
                distinct_at.push(distinct.len());
            }
        }
        let gaps = user.truth(0).gaps;
        let mut order: Vec<usize> = (0..gaps.len()).collect();
        order.sort_by(|&i, &j| gaps[i].total_cmp(&gaps[j]).then(i.cmp(&j)));
        let exposure = order.into_iter().map(|k| exposure[k]).collect();
        let best_at_the_end = f64::from(best_shown) / (self.rounds - late).max(1) as f64;
        Run { regret: meter.regret, marks, distinct_at, distinct: distinct.len(), exposure, best_at_the_end, seconds }
    }
}
