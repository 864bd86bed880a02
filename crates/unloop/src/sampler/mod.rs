//! Draws from the posterior.

pub(crate) mod lanes;
pub mod tree;
