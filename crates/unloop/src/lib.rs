//! Dirichlet-Luce preference learning.
#![forbid(unsafe_code)]

pub mod carlson;
pub mod estimate;
mod margins;
mod matrix;
mod option;
mod posterior;
mod predict;
mod presentation;
mod prior;
mod random;
pub mod sampler;
mod statistics;

pub use carlson::{IntegralError, IntegralSettings, LnEstimate, Method, Moments, RError};
pub use estimate::{Laplace, LaplaceError, Map, MapError, MapSettings};
pub use matrix::Matrix;
pub use option::{MAX_NAME_BYTES, OptionError, OptionId, Options};
pub use posterior::{Basis, MAX_DENSE, Posterior, PosteriorError};
pub use predict::Prediction;
pub use presentation::{Choice, Presentation, PresentationError};
pub use prior::{Prior, PriorError};
pub use statistics::{RowError, Statistics, StatisticsError, WEIGHT_UNIT};
