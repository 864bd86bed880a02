//! Simulated people: what they choose, and what would have been best for them.

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use thiserror::Error;
use unloop::random::ln_gamma_draw;

/// Preferences are at least this.
const FLOOR: f64 = 1e-12;

/// A kind of people.
#[derive(Clone, Debug, PartialEq)]
pub enum User {
    /// Luce's rule: chosen with probability in proportion to preferences, of the options and, if given, of choosing nothing.
    Luce {
        /// θ*, not necessarily normalised.
        theta: Vec<f64>,
        /// That of choosing nothing.
        none: Option<f64>,
    },
    /// Duels decided by a table: P(row beats column).
    Table(Vec<Vec<f64>>),
    /// Luce's rule with preferences that move, on a straight line between the logarithms of two, there and back.
    Drifting {
        /// θ* at the start.
        from: Vec<f64>,
        /// θ* after `rounds`.
        to: Vec<f64>,
        /// Rounds on the way.
        rounds: usize,
    },
    /// Each time somebody else, who chooses the option highest in their own ranking; what they did not rank they choose last, if at all.
    Rankings {
        /// Rankings, best first.
        rows: Vec<Vec<u32>>,
        /// How many people rank like each, and those before it.
        counts: Vec<f64>,
        /// θ* for regret.
        theta: Vec<f64>,
    },
}

/// Why there are no such people.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum UserError {
    /// A table that is none.
    #[error("row {row}, column {column} of the table: {why}")]
    Table {
        /// From 1.
        row: usize,
        /// From 1.
        column: usize,
        /// What is wrong.
        why: String,
    },
    /// No preferences.
    #[error("preference {place} is {value}: it must be finite and above 0")]
    Preference {
        /// From 1.
        place: usize,
        /// The value.
        value: f64,
    },
    /// Preferences that cannot be added up.
    #[error("the preferences add up to {total}: divide them all by the largest")]
    Sum {
        /// Their sum.
        total: f64,
    },
    /// No best option.
    #[error("no option of the table is at least even with every other: regret has nothing to compare with")]
    NoWinner,
    /// Too few options.
    #[error("{count} options leave nothing to choose")]
    Few {
        /// How many there are.
        count: usize,
    },
}

impl User {
    /// θ* ~ Dirichlet(α), from its own seed.
    pub fn dirichlet(count: usize, alpha: f64, seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let eta: Vec<f64> = (0..count).map(|_| ln_gamma_draw(alpha, &mut rng)).collect();
        let high = eta.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = eta.iter().map(|eta| (eta - high).exp()).sum();
        Self::Luce { theta: eta.iter().map(|eta| ((eta - high).exp() / total).max(FLOOR)).collect(), none: None }
    }

    /// The four options of the paper's supplement: 1 beats all, 2 ≻ 3 ≻ 4 ≻ 2.
    pub fn cyclic() -> Self {
        Self::Table(vec![vec![0.5, 0.6, 0.6, 0.6], vec![0.4, 0.5, 0.9, 0.1], vec![0.4, 0.1, 0.5, 0.9], vec![0.4, 0.9, 0.1, 0.5]])
    }

    /// Checks that there are such people.
    ///
    /// # Errors
    /// If there are not.
    pub fn check(&self) -> Result<(), UserError> {
        if self.option_count() < 2 {
            return Err(UserError::Few { count: self.option_count() });
        }
        let positive = |theta: &[f64]| match theta.iter().position(|x| !(*x > 0.0 && x.is_finite())) {
            Some(i) => Err(UserError::Preference { place: i + 1, value: theta[i] }),
            None => match theta.iter().sum::<f64>() {
                total if total.is_finite() => Ok(()),
                total => Err(UserError::Sum { total }),
            },
        };
        match self {
            Self::Luce { theta, none } => {
                positive(theta)?;
                none.map_or(Ok(()), |none| positive(&[none]))
            }
            Self::Drifting { from, to, .. } => positive(from).and_then(|()| positive(to)),
            Self::Rankings { theta, .. } => positive(theta),
            Self::Table(table) => {
                for (i, row) in table.iter().enumerate() {
                    for (j, &p) in row.iter().enumerate() {
                        let other = table.get(j).and_then(|row| row.get(i)).copied();
                        let why = if row.len() != table.len() {
                            format!("{} columns, where there are {} rows", row.len(), table.len())
                        } else if !(0.0..=1.0).contains(&p) {
                            format!("{p} is no probability")
                        } else if other.is_none_or(|other| (other + p - 1.0).abs() > 1e-9) {
                            format!("it and the one across the diagonal add up to {}, not 1", p + other.unwrap_or(0.0))
                        } else {
                            continue;
                        };
                        return Err(UserError::Table { row: i + 1, column: j + 1, why });
                    }
                }
                if table.iter().any(|row| row.iter().all(|&p| p >= 0.5)) { Ok(()) } else { Err(UserError::NoWinner) }
            }
        }
    }

    /// Number of options.
    pub fn option_count(&self) -> usize {
        match self {
            Self::Luce { theta, .. } | Self::Rankings { theta, .. } => theta.len(),
            Self::Drifting { from, .. } => from.len(),
            Self::Table(table) => table.len(),
        }
    }

    /// Whether they may choose nothing.
    pub fn may_decline(&self) -> bool {
        matches!(self, Self::Luce { none: Some(_), .. })
    }

    /// The same people with options in another order, so that no policy gains from how they are numbered.
    #[must_use]
    pub fn shuffled(&self, rng: &mut ChaCha8Rng) -> Self {
        let mut at: Vec<usize> = (0..self.option_count()).collect();
        at.shuffle(rng);
        let vector = |theta: &[f64]| at.iter().map(|&i| theta[i]).collect::<Vec<f64>>();
        match self {
            Self::Luce { theta, none } => Self::Luce { theta: vector(theta), none: *none },
            Self::Table(table) => Self::Table(at.iter().map(|&i| vector(&table[i])).collect()),
            Self::Drifting { from, to, rounds } => Self::Drifting { from: vector(from), to: vector(to), rounds: *rounds },
            Self::Rankings { rows, counts, theta } => {
                let mut place = vec![0; at.len()];
                at.iter().enumerate().for_each(|(new, &old)| place[old] = new as u32);
                let rows = rows.iter().map(|row| row.iter().map(|&k| place[k as usize]).collect()).collect();
                Self::Rankings { rows, counts: counts.clone(), theta: vector(theta) }
            }
        }
    }

    /// Preferences in a round; none for a table.
    fn theta(&self, round: usize) -> Option<Vec<f64>> {
        match self {
            Self::Luce { theta, .. } | Self::Rankings { theta, .. } => Some(theta.clone()),
            Self::Table(_) => None,
            Self::Drifting { from, to, rounds } => {
                let phase = (round as f64 / (*rounds).max(1) as f64) % 2.0;
                let part = if phase > 1.0 { 2.0 - phase } else { phase };
                Some(from.iter().zip(to).map(|(x, y)| ((1.0 - part) * x.ln() + part * y.ln()).exp()).collect())
            }
        }
    }

    /// What is best in a round.
    pub fn truth(&self, round: usize) -> Truth {
        match (self, self.theta(round).unwrap_or_default()) {
            (Self::Table(table), _) => {
                // The option that beats most others: the Condorcet winner, where there is one.
                let beaten = |row: &Vec<f64>| row.iter().filter(|&&p| p > 0.5).count();
                let best = (0..table.len()).max_by_key(|&i| (beaten(&table[i]), std::cmp::Reverse(i))).unwrap_or(0);
                Truth { theta: None, gaps: (0..table.len()).map(|i| table[best][i] - 0.5).collect(), best }
            }
            (_, theta) => {
                let best = (0..theta.len()).max_by(|&i, &j| theta[i].total_cmp(&theta[j]).then(j.cmp(&i))).unwrap_or(0);
                let gaps = theta.iter().map(|x| theta[best] / (theta[best] + x) - 0.5).collect();
                let total: f64 = theta.iter().sum();
                Truth { gaps, best, theta: Some(theta.iter().map(|x| x / total).collect()) }
            }
        }
    }

    /// Whether what is best changes.
    pub fn moves(&self) -> bool {
        matches!(self, Self::Drifting { .. })
    }

    /// A choice from what is shown; none for nothing.
    pub fn choose(&self, shown: &[u32], round: usize, rng: &mut ChaCha8Rng) -> Option<u32> {
        match self {
            Self::Luce { theta, none } => pick(shown, |k| theta[k as usize], *none, rng),
            Self::Drifting { .. } => {
                let theta = self.theta(round).unwrap_or_default();
                pick(shown, |k| theta[k as usize], None, rng)
            }
            Self::Table(table) => {
                if let [a, b] = *shown {
                    return Some(if rng.random::<f64>() < table[a as usize][b as usize] { a } else { b });
                }
                // Larger sets: by the average chance against the others.
                let others = |k: u32| shown.iter().filter(move |&&j| j != k);
                let against = |k: u32| others(k).map(|&j| table[k as usize][j as usize]).sum::<f64>();
                pick(shown, against, None, rng)
            }
            Self::Rankings { rows, counts, .. } => {
                let at = rng.random::<f64>() * counts.last()?;
                let row = rows.get(counts.partition_point(|&count| count <= at))?;
                row.iter().copied().find(|k| shown.contains(k))
            }
        }
    }
}

fn pick(shown: &[u32], weight: impl Fn(u32) -> f64, none: Option<f64>, rng: &mut ChaCha8Rng) -> Option<u32> {
    let total: f64 = shown.iter().map(|&k| weight(k)).sum::<f64>() + none.unwrap_or(0.0);
    let mut left = rng.random::<f64>() * total;
    for &k in shown {
        left -= weight(k);
        if left < 0.0 {
            return Some(k);
        }
    }
    if none.is_some() { None } else { shown.last().copied() }
}

/// What is best for people.
#[derive(Clone, Debug, PartialEq)]
pub struct Truth {
    /// Preferences over the options, normalised; none where there are only duels.
    pub theta: Option<Vec<f64>>,
    /// P(the best beats an option) − ½.
    pub gaps: Vec<f64>,
    /// The best option.
    pub best: usize,
}
