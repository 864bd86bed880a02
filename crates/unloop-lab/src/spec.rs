//! Policies by name, with settings after a colon: `thompson:order=draw,prior=0.3`.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;
use unloop::presenter::{Order, Policy as Forming, PresenterBuilder, PresenterError, SamplerSettings};
use unloop::sampler::{BoundedGibbs, SmcSettings};
use unloop::{MAX_ALPHA, MIN_ALPHA, Presenter};

use crate::ours::Ours;
use crate::policy::Policy;
use crate::rivals::{
    AssortmentBounds, Blind, DoubleThompson, DoubleThompsonSettings, EpochThompson, SelfSparring, TopRank, WinnerStays,
};

/// What a policy plays in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Options.
    pub options: usize,
    /// Options in a presentation.
    pub size: usize,
    /// Rounds.
    pub rounds: usize,
    /// Whether people may choose nothing.
    pub may_decline: bool,
}

/// A policy and its settings, as written.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicySpec {
    name: Name,
    settings: Vec<(String, String)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Name {
    Thompson,
    Anchored,
    Greedy,
    Uniform,
    DoubleThompson { plus: bool },
    TopRank,
    WinnerStays,
    SelfSparring,
    AssortmentBounds,
    EpochThompson,
    Blind,
}

/// Names on the command line.
const NAMES: [(&str, Name); 12] = [
    ("thompson", Name::Thompson),
    ("anchored", Name::Anchored),
    ("greedy", Name::Greedy),
    ("uniform", Name::Uniform),
    ("dts", Name::DoubleThompson { plus: false }),
    ("dts+", Name::DoubleThompson { plus: true }),
    ("toprank", Name::TopRank),
    ("wsw", Name::WinnerStays),
    ("self-sparring", Name::SelfSparring),
    ("aoa-rb", Name::AssortmentBounds),
    ("mnl-ts", Name::EpochThompson),
    ("blind", Name::Blind),
];

/// Options that policies with counts of every pair can have.
const MOST_PAIRED: usize = 5_000;

const OURS: &[&str] = &["order", "sampler", "budget", "particles", "prior", "learn", "half-life"];
const ANCHORED: &[&str] = &["order", "sampler", "budget", "particles", "prior", "learn", "half-life", "explore", "boldness"];

impl Name {
    /// Settings that it has.
    fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Thompson | Self::Greedy | Self::Uniform => OURS,
            Self::Anchored => ANCHORED,
            Self::DoubleThompson { .. } => &["alpha"],
            Self::TopRank => &["delta"],
            Self::WinnerStays => &[],
            Self::SelfSparring => &["wins"],
            Self::AssortmentBounds => &["x", "pivot"],
            Self::EpochThompson => &["factor"],
            Self::Blind => &["prior"],
        }
    }
}

/// A policy that is none, or cannot play.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum SpecError {
    /// A name that is none.
    #[error("there is no policy {name:?}: {}", NAMES.map(|(name, _)| name).join(", "))]
    Name {
        /// The name.
        name: String,
    },
    /// A setting that the policy does not have.
    #[error("{policy} has no setting {key:?}{}", listed(known))]
    Key {
        /// The policy.
        policy: String,
        /// The setting.
        key: String,
        /// Those it has.
        known: &'static [&'static str],
    },
    /// A value that the setting cannot have.
    #[error("{policy}: {key}={value}: it must be {expected}")]
    Value {
        /// The policy.
        policy: String,
        /// The setting.
        key: String,
        /// The value.
        value: String,
        /// What it could be.
        expected: &'static str,
    },
    /// A setting that another one leaves without effect.
    #[error("{policy}: {key} says nothing with {with}: leave one of them out")]
    Idle {
        /// The policy.
        policy: String,
        /// The setting.
        key: &'static str,
        /// The other.
        with: String,
    },
    /// Too many options.
    #[error("{policy} keeps counts of every pair: {options} options are too many, {most} the most")]
    Pairs {
        /// The policy.
        policy: String,
        /// Options there are.
        options: usize,
        /// The most it can have.
        most: usize,
    },
    /// A policy for duels.
    #[error("{policy} plays duels alone: use --size 2")]
    Duels {
        /// The policy.
        policy: String,
    },
    /// A policy for people who may choose nothing.
    #[error("{policy} needs people who may choose nothing: add none=… to --user, for example luce:sparse,none=0.1")]
    NeedsNone {
        /// The policy.
        policy: String,
    },
    /// Settings that the presenter refuses.
    #[error(transparent)]
    Presenter(#[from] PresenterError),
}

fn listed(known: &[&str]) -> String {
    if known.is_empty() { "; it has none".into() } else { format!("; it has {}", known.join(", ")) }
}

impl FromStr for PolicySpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        let found = NAMES.iter().find(|(known, _)| *known == name);
        let &(_, found) = found.ok_or_else(|| SpecError::Name { name: name.into() })?;
        let mut settings = Vec::new();
        for part in rest.split(',').filter(|part| !part.is_empty()) {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            if !found.keys().contains(&key) {
                return Err(SpecError::Key { policy: name.into(), key: key.into(), known: found.keys() });
            }
            settings.push((key.to_owned(), value.to_owned()));
        }
        let spec = Self { name: found, settings };
        spec.build(&Setting { options: 3, size: 2, rounds: 1, may_decline: true }, 0)?;
        Ok(spec)
    }
}

impl fmt::Display for PolicySpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        for (i, (key, value)) in self.settings.iter().enumerate() {
            write!(f, "{}{key}={value}", if i == 0 { ':' } else { ',' })?;
        }
        Ok(())
    }
}

impl PolicySpec {
    /// The policy's name.
    pub fn name(&self) -> &'static str {
        NAMES.iter().find(|(_, name)| *name == self.name).map_or("", |(name, _)| name)
    }

    /// Its settings, as written.
    pub fn settings(&self) -> &[(String, String)] {
        &self.settings
    }

    /// Whether it can play.
    ///
    /// # Errors
    /// If it cannot.
    pub fn check(&self, setting: &Setting) -> Result<(), SpecError> {
        let policy = || self.to_string();
        let pairs = matches!(self.name, Name::DoubleThompson { .. } | Name::TopRank | Name::AssortmentBounds);
        if pairs && setting.options > MOST_PAIRED {
            return Err(SpecError::Pairs { policy: policy(), options: setting.options, most: MOST_PAIRED });
        }
        match self.name {
            Name::DoubleThompson { .. } | Name::WinnerStays if setting.size != 2 => Err(SpecError::Duels { policy: policy() }),
            Name::AssortmentBounds | Name::EpochThompson if !setting.may_decline => {
                Err(SpecError::NeedsNone { policy: policy() })
            }
            _ => Ok(()),
        }
    }

    fn value<T: FromStr>(
        &self,
        key: &str,
        default: T,
        expected: &'static str,
        is_good: impl Fn(&T) -> bool,
    ) -> Result<T, SpecError> {
        let Some((_, value)) = self.settings.iter().rev().find(|(own, _)| own == key) else { return Ok(default) };
        value.parse().ok().filter(is_good).ok_or_else(|| SpecError::Value {
            policy: self.name().into(),
            key: key.into(),
            value: value.clone(),
            expected,
        })
    }

    fn word<T: Copy>(&self, key: &str, words: &[(&str, T)], expected: &'static str) -> Result<T, SpecError> {
        let text =
            self.value(key, words[0].0.to_owned(), expected, |text: &String| words.iter().any(|(word, _)| word == text))?;
        Ok(words.iter().find(|(word, _)| *word == text).map_or(words[0].1, |&(_, value)| value))
    }

    /// The policy, ready to play.
    ///
    /// # Errors
    /// If a setting has a value that it cannot have.
    pub fn build(&self, setting: &Setting, seed: u64) -> Result<Box<dyn Policy>, SpecError> {
        let count = setting.options;
        let positive = |x: &f64| *x > 0.0 && x.is_finite();
        Ok(match self.name {
            Name::Thompson | Name::Anchored | Name::Greedy | Name::Uniform => {
                let alpha = self.alpha()?;
                let none = setting.may_decline.then_some(alpha);
                let half_life = self.value("half-life", 0.0, "a number of rounds above 0", positive)?;
                let builder = self.presenter(seed)?;
                Box::new(if half_life > 0.0 {
                    Ours::forgetting(count, builder, none, half_life)?
                } else {
                    Ours::new(count, builder, none)?
                })
            }
            Name::DoubleThompson { plus } => {
                let alpha = self.value("alpha", 0.51, "a number above 0", positive)?;
                Box::new(DoubleThompson::new(count, DoubleThompsonSettings { alpha, plus }))
            }
            Name::TopRank => {
                let delta = self.value("delta", 0.3, "a number above 0 and below 1", |x: &f64| *x > 0.0 && *x < 1.0)?;
                Box::new(TopRank::new(count, delta))
            }
            Name::WinnerStays => Box::new(WinnerStays::new(count)),
            Name::SelfSparring => {
                let one = self.word("wins", &[("each", false), ("one", true)], "each (one for each other option) or one")?;
                Box::new(SelfSparring::new(count, one))
            }
            Name::AssortmentBounds => {
                let theory = 2.0 * (setting.rounds.max(2) as f64).ln();
                let x = self.value("x", theory, "a number above 0", positive)?;
                let adaptive = self.word("pivot", &[("adaptive", true), ("none", false)], "adaptive or none")?;
                Box::new(AssortmentBounds::new(count, x, adaptive))
            }
            Name::EpochThompson => {
                let factor = self.value("factor", 1.0, "a number above 0", positive)?;
                Box::new(EpochThompson::new(count, setting.rounds, setting.size, factor))
            }
            Name::Blind => Box::new(Blind::new(count, self.alpha()?)),
        })
    }

    fn alpha(&self) -> Result<f64, SpecError> {
        self.value("prior", 1.0, "a number from 1e-12 to 1e9", |x: &f64| (MIN_ALPHA..=MAX_ALPHA).contains(x))
    }

    /// A presenter with these settings, for ours.
    ///
    /// # Errors
    /// If a setting has a value that it cannot have.
    pub fn presenter(&self, seed: u64) -> Result<PresenterBuilder, SpecError> {
        let explore = self.value("explore", 0_usize, "a whole number of at least 1", |&n| n > 0)?;
        let boldness = self.value("boldness", 0.0, "a number above 0", |&x: &f64| x > 0.0 && x.is_finite())?;
        let policy = match self.name {
            Name::Anchored => {
                Forming::Anchored { explore: Some(explore).filter(|&n| n > 0), boldness: Some(boldness).filter(|&x| x > 0.0) }
            }
            Name::Greedy => Forming::Greedy,
            Name::Uniform => Forming::Uniform,
            _ => Forming::Thompson,
        };
        let orders = [("mean", Order::Mean), ("draw", Order::Draw), ("shuffled", Order::Shuffled)];
        let order = self.word("order", &orders, "mean, draw or shuffled")?;
        let full = self.settings.iter().any(|(key, value)| key == "budget" && value == "full");
        let expected = "a whole number of at least 1, or full";
        let budget = if full { usize::MAX } else { self.value("budget", BoundedGibbs::BUDGET, expected, |&n| n > 0)? };
        let particles = |default: usize| self.value("particles", default, "a whole number of at least 2", |&n| n > 1);
        let name =
            self.word("sampler", &["bounded", "smc", "paper", "exact"].map(|name| (name, name)), "bounded, smc, paper or exact")?;
        let sampler = match name {
            "smc" => SamplerSettings::Smc(SmcSettings { particles: particles(1_000)?, ..SmcSettings::default() }),
            "paper" => SamplerSettings::Paper { particles: particles(10_000)? },
            "exact" => SamplerSettings::Exact,
            _ => SamplerSettings::Bounded { budget },
        };
        let learn = self.word("learn", &[("no", false), ("yes", true)], "yes or no")?;
        let given = |own: &str| self.settings.iter().any(|(key, _)| key == own);
        for (key, idle) in [
            ("particles", !["smc", "paper"].contains(&name) && given("particles")),
            ("budget", name != "bounded" && given("budget")),
            ("learn", name != "bounded" && learn),
        ] {
            if idle {
                return Err(SpecError::Idle { policy: self.to_string(), key, with: format!("sampler={name}") });
            }
        }
        let builder = Presenter::builder().prior(self.alpha()?).policy(policy).order(order).sampler(sampler);
        Ok(builder.learn_prior(learn).seed(seed))
    }
}
