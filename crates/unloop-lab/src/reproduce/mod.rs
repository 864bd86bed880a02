//! The paper again: every figure from one command, and claim by claim whether it holds here.
//!
//! Each [`Figure`] goes the same way: [simulate](Figure::simulate) makes [tables](Data), which go into files with seed, parameters and
//! version in their headers; [draw](Figure::draw) and [judge](Figure::judge) look at these tables alone, so that figures can be drawn
//! again, and claims judged again, from the files of others. Settings that the paper is silent about are said in each module.
//!
//! Intervals are of the mean over runs (95 %); the paper shades standard deviations, which the tables have too. Policies meet the same
//! people with the same luck, and differences are taken run by run.

mod bubble;
mod claim;
mod cyclic;
mod data;
mod dueling;
mod growing;
mod illustration;
mod map_error;
mod merge_rank;
mod promotion;
mod rounds;
mod sampler;
mod theta;
mod toprank;
mod transitivity;
mod work;

use thiserror::Error;
use unloop::presenter::PresenterError;
use unloop::sampler::SampleError;
use unloop::{MapError, PosteriorError, StatisticsError};
use unloop_plot::{PanelsError, Picture, SimplexesError};

pub use claim::{Claim, Claims, Verdict};
pub use data::{Cell, Data, DataError, DataRow};
pub use work::Work;

use crate::spec::SpecError;

/// How much is simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// A few minutes: every figure, and the claims that so few runs can decide.
    Quick,
    /// The sizes of the paper, and more runs than it had where a claim is decided.
    Paper,
}

impl Profile {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Paper => "paper",
        }
    }
}

/// What to reproduce it with.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// How much.
    pub profile: Profile,
    /// Seed of everything.
    pub seed: u64,
}

impl Plan {
    /// A size for each profile.
    fn pick<T>(&self, quick: T, paper: T) -> T {
        match self.profile {
            Profile::Quick => quick,
            Profile::Paper => paper,
        }
    }
}

/// A figure of the paper.
pub trait Figure: Sync {
    /// Its name on the command line, and of its files.
    fn name(&self) -> &'static str;

    /// Which of the paper's it is, and what it shows.
    fn about(&self) -> &'static str;

    /// Names of its tables, without the end of the file.
    fn tables(&self) -> &'static [&'static str];

    /// About how long it takes on one core, in milliseconds: for the time that is left.
    fn cost(&self, plan: &Plan) -> u64;

    /// Makes the tables.
    ///
    /// # Errors
    /// If something in it is none; a mistake of this program.
    fn simulate(&self, plan: &Plan, work: &Work) -> Result<Vec<Data>, ReproduceError>;

    /// Draws pictures from the tables, each with the name of its file.
    ///
    /// # Errors
    /// If the tables are not its own.
    fn draw(&self, tables: &[Data]) -> Result<Vec<(String, Picture)>, ReproduceError>;

    /// Judges what the paper says by the tables.
    ///
    /// # Errors
    /// If the tables are not its own.
    fn judge(&self, tables: &[Data]) -> Result<Vec<Claim>, ReproduceError>;
}

/// All figures, in the order of the paper.
pub fn figures() -> [&'static dyn Figure; 11] {
    [
        &bubble::Bubble,
        &cyclic::Cyclic,
        &merge_rank::MergeRankRecovery,
        &map_error::MapErrors,
        &toprank::AgainstTopRank,
        &dueling::Dueling,
        &growing::Growing,
        &theta::Preferences,
        &transitivity::Transitivity,
        &promotion::Promotion,
        &sampler::Samplers,
    ]
}

/// Why a figure could not be made.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReproduceError {
    /// A table that is not what the figure needs.
    #[error(transparent)]
    Data(#[from] DataError),
    /// A picture that cannot be drawn.
    #[error(transparent)]
    Panels(#[from] PanelsError),
    /// A picture that cannot be drawn.
    #[error(transparent)]
    Simplexes(#[from] SimplexesError),
    /// A policy that cannot play.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// A presenter that cannot be.
    #[error(transparent)]
    Presenter(#[from] PresenterError),
    /// A posterior that cannot be.
    #[error(transparent)]
    Posterior(#[from] PosteriorError),
    /// Draws that cannot be made.
    #[error(transparent)]
    Sample(#[from] SampleError),
    /// An estimate that cannot be made.
    #[error(transparent)]
    Map(#[from] MapError),
    /// Counts that are none.
    #[error(transparent)]
    Statistics(#[from] StatisticsError),
    /// A table that is missing.
    #[error("there is no table {name}")]
    Missing {
        /// Its name.
        name: String,
    },
}

/// A table of a figure by its name.
fn table<'a>(tables: &'a [Data], name: &str) -> Result<&'a Data, ReproduceError> {
    tables.iter().find(|data| data.name == name).ok_or_else(|| ReproduceError::Missing { name: name.to_owned() })
}

/// What an algorithm is called, and how it looks: the same in every figure.
fn look(policy: &str) -> (&'static str, usize) {
    match policy.split(':').next().unwrap_or_default() {
        "thompson" if policy.contains("sampler=paper") => ("Dirichlet-Luce, the paper's sampler", 6),
        "thompson" => ("Dirichlet-Luce", 0),
        "dts" => ("D-TS", 1),
        "anchored" => ("anchored (ours)", 2),
        "wsw" => ("WS-W", 3),
        "toprank" => ("TopRank", 4),
        "self-sparring" => ("Self-Sparring", 5),
        _ => ("another", 7),
    }
}
