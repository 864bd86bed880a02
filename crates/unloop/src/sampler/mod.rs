//! Draws from the posterior.

pub mod tree;
