//! Why a store could not do it.

use thiserror::Error;

use crate::event::BodyError;
use crate::settings::SettingError;

/// Why a store could not do it.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// An event that is none; nothing of the call was recorded.
    #[error("event {place}: {error}")]
    Body {
        /// Which of the call, from 1.
        place: usize,
        /// What is wrong.
        error: BodyError,
    },
    /// A change of settings that is none; nothing was changed.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// No room: nothing was recorded, and it may be tried again.
    #[error("there is no space left: nothing was recorded")]
    Full,
    /// Another process is writing: nothing was done, and it may be tried again.
    #[error("another process has been writing for too long: nothing was recorded")]
    Busy,
    /// A write failed, and nobody knows what is on the disk: nothing more is written until a restart.
    #[error("a write failed ({problem}): nothing more is recorded until a restart")]
    Broken {
        /// What the database said.
        problem: String,
    },
    /// Another process appends.
    #[error("{file} is held by another process, which appends: only one does at a time")]
    InUse {
        /// The lock.
        file: String,
    },
    /// The database of another program.
    #[error("{file} is a database of another program")]
    Foreign {
        /// The database.
        file: String,
    },
    /// A format that this program does not know.
    #[error("{file} has format {found}, this program knows up to {known}: use a newer one")]
    Newer {
        /// The database.
        file: String,
        /// Its format.
        found: i64,
        /// The newest known.
        known: i64,
    },
    /// A library that is too old.
    #[error("SQLite {found} has known faults with WAL: {least} or newer is needed")]
    Sqlite {
        /// Its version.
        found: String,
        /// The least.
        least: &'static str,
    },
    /// It was opened beside the process that appends.
    #[error("{file} was opened to read and to change settings, not to append")]
    Beside {
        /// The database.
        file: String,
    },
    /// The file is damaged.
    #[error("{file} is damaged: {problem}")]
    Damaged {
        /// The database.
        file: String,
        /// What the database said.
        problem: String,
    },
    /// There is none.
    #[error("{file}: there is no database")]
    NoDatabase {
        /// Where it was looked for.
        file: String,
    },
    /// It could not be opened or read.
    #[error("{file}: {problem}")]
    Database {
        /// The database.
        file: String,
        /// What the database said.
        problem: String,
    },
    /// An event in the log that cannot be read.
    #[error("position {seq} of the log cannot be read: {problem}")]
    Log {
        /// Where.
        seq: u64,
        /// What is wrong.
        problem: String,
    },
    /// Somebody closed it.
    #[error("the store was closed")]
    Closed,
}

impl StoreError {
    /// Whether nothing was done, and the same may be tried again.
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::Full | Self::Busy)
    }
}
