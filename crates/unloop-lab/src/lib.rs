//! The laboratory: simulated people, rival policies, regret, and a runner that pairs them.
//!
//! A [`Campaign`] sets [policies](PolicySpec) to decide what [people](User) see, the same people for each, and adds up
//! [regret](Regret) against what was best for them. [`summary`] says how far the policies are apart and how sure that is.
//!
//! ```
//! use std::sync::atomic::AtomicUsize;
//! use unloop_lab::{Campaign, User};
//! let campaign = Campaign {
//!     users: vec![User::dirichlet(10, 0.1, 1)],
//!     size: 2,
//!     rounds: 100,
//!     runs: 4,
//!     policies: ["thompson", "uniform"].map(str::parse).into_iter().collect::<Result<_, _>>()?,
//!     seed: 7,
//!     marks: Vec::new(),
//! };
//! let runs = campaign.run(&AtomicUsize::new(0))?;
//! assert_eq!((runs.len(), runs[0].len()), (2, 4));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod ours;
mod policy;
mod regret;
mod replay;
pub mod reproduce;
pub mod rivals;
mod run;
mod spec;
pub mod summary;
mod user;

pub use ours::Ours;
pub use policy::Policy;
pub use regret::Regret;
pub use replay::{ReplayError, numbers, replay};
pub use run::{Campaign, Run};
pub use spec::{PolicySpec, Setting, SpecError};
pub use user::{Truth, User, UserError};
