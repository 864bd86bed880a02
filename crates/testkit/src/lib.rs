//! Tools for the tests of unloop: distribution checks, a calibration harness, reference values.
//!
//! - [`ks`]: Kolmogorov-Smirnov, draws against a distribution or against other draws
//! - [`chi_square`]: counts against probabilities
//! - [`calibration`]: ranks of the truth among posterior draws
//! - [`mod@reference`]: values and choice files computed or collected elsewhere
//! - [`skip`]: how a test says that it could not run
//!
//! Every check takes the false-alarm level it may have and returns a [`Verdict`]: the statistic, the critical value
//! and whether one is above the other. A test names its level in a constant, draws from a fixed seed and ends with
//! [`Verdict::assert_passes`].
//!
//! This crate knows nothing of `unloop`: the library is tested with it, never through it. Functions here panic when
//! they are called wrongly, since a test is what they fail.
#![forbid(unsafe_code)]

pub mod calibration;
pub mod chi_square;
pub mod ks;
pub mod reference;
mod skip;
mod verdict;

pub use skip::skip;
pub use verdict::Verdict;
