//! Dirichlet-Luce preference learning: which few options to show, what people prefer, without punishing what was not shown.
//!
//! [`Options`] name things, [`Statistics`] count choices together with what was presented, a [`Prior`] and statistics make a
//! [`Posterior`]. From it come the mode ([`Posterior::map`]), means and variances ([`Posterior::moments`]), choice probabilities
//! ([`Posterior::predict`]), the evidence ([`Posterior::ln_evidence`]) and draws ([`Posterior::sample`]; exact and independent for
//! nested presentations, [`Posterior::tree`]). Where choices keep coming, [`sampler::BoundedGibbs`] and [`sampler::Smc`] follow them.
//! [`ranking::Ranking`] is the leaderboard, [`information::inquire`] says what to ask next.
//!
//! ```
//! use unloop::{Options, Posterior, Prior, Statistics};
//!
//! let mut options = Options::new();
//! let [soup, salad, curry] = ["soup", "salad", "curry"].map(|name| options.intern(name));
//! let (soup, salad, curry) = (soup?, salad?, curry?);
//!
//! let mut statistics = Statistics::new(options.len());
//! statistics.record([soup, salad], soup, 10.0)?;
//! statistics.record([soup, salad], salad, 5.0)?;
//!
//! let moments = Posterior::new(&Prior::symmetric(1.0)?, &statistics)?.moments()?;
//! assert!((moments.mean[curry.index()] - 1.0 / 3.0).abs() < 1e-15); // never shown: its prior
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Symbols
//!
//! One name each, in formulas, code and documents:
//!
//! | symbol | code | meaning |
//! |---|---|---|
//! | K, k | `option_count`, [`OptionId`] | options |
//! | C, L | [`Presentation`], its `len` | options shown together, and how many |
//! | θ, η | `theta`, `eta` | preferences, and their logarithms at any scale |
//! | y_k, μ(C) | `chosen`, `presented` | counts of choices and of presentations |
//! | α_k, β(C) | `alpha`, `beta` | pseudo-counts of the prior |
//! | a, b | | α + y and β + μ |
//! | S_C(θ) | | Σ of θ over C |
//! | E | `explored` | options in some presentation with a positive count |
//!
//! The library is pure: no files, no clock, no environment, no random numbers but from a seed or generator that the caller gives.
//! With the feature `parallel` (on by default) passes over large statistics use threads; results are the same to the bit without.
#![forbid(unsafe_code)]

pub mod carlson;
pub mod diagnostics;
pub mod estimate;
pub mod information;
mod margins;
mod matrix;
mod option;
mod pausing;
mod posterior;
mod predict;
mod presentation;
pub mod presenter;
mod prior;
pub mod random;
pub mod ranking;
pub mod sampler;
mod statistics;

pub use carlson::{IntegralError, IntegralSettings, LnEstimate, Method, Moments, RError};
pub use estimate::{Laplace, LaplaceError, Map, MapError, MapSettings, maximum_likelihood};
pub use matrix::Matrix;
pub use option::{MAX_NAME_BYTES, OptionError, OptionId, Options};
pub use pausing::set_pause;
pub use posterior::{Basis, MAX_DENSE, Posterior, PosteriorError};
pub use predict::{ChoiceInterval, Prediction};
pub use presentation::{Choice, Presentation, PresentationError};
pub use presenter::Presenter;
pub use prior::{MAX_ALPHA, MIN_ALPHA, Prior, PriorError};
pub use statistics::{RowError, Statistics, StatisticsError, WEIGHT_UNIT, equal_parts};

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
