//! Point estimates: the posterior's mode and the Gaussian around it.

pub(crate) mod factor;
pub(crate) mod laplace;
mod likelihood;
pub(crate) mod map;
pub(crate) mod newton;

pub use laplace::{Laplace, LaplaceError};
pub use likelihood::maximum_likelihood;
pub use map::{Map, MapError, MapSettings};
