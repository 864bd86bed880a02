//! Rivals, each as its authors have it; where a public port differs, the module says so.

mod assortment;
mod blind;
mod dueling;
mod merge_rank;
mod sparring;
mod toprank;

pub use assortment::{AssortmentBounds, EpochThompson};
pub use blind::Blind;
pub use dueling::{DoubleThompson, DoubleThompsonSettings};
pub use merge_rank::{MergeRankSettings, merge_rank};
pub use sparring::{SelfSparring, WinnerStays};
pub use toprank::TopRank;
