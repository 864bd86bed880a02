//! The database named on the command line, and what is done with it in general.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use jiff::Timestamp;
use unloop_store::{Access, Catalog, Sqlite, SqliteSettings, Store, StoreError};

use crate::failure::failure;
use crate::settings::File;

/// Which database.
#[derive(Args, Debug)]
pub(crate) struct Database {
    /// The database
    #[arg(long, value_name = "FILE", env = "UNLOOP_DB", default_value_os_t = by_default())]
    db: PathBuf,
}

/// What `unloop.toml` says. One that cannot be read is told by whoever needs more of it.
fn by_default() -> PathBuf {
    File::read().ok().and_then(|file| file.db).unwrap_or_else(|| PathBuf::from("unloop.db"))
}

impl Database {
    pub(crate) fn path(&self) -> &Path {
        &self.db
    }

    /// Whether a path is one of the database's own files.
    pub(crate) fn owns(&self, path: &Path) -> bool {
        let folder = |path: &Path| {
            let parent = path.parent().filter(|own| !own.as_os_str().is_empty()).unwrap_or(Path::new("."));
            parent.canonicalize().ok().map(|parent| parent.join(path.file_name().unwrap_or_default()))
        };
        let name = self.db.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let own = ["", "-wal", "-shm", ".lock", ".secret"].map(|ending| self.db.with_file_name(format!("{name}{ending}")));
        own.iter().any(|own| {
            folder(own) == folder(path) || own.canonicalize().is_ok_and(|own| path.canonicalize().is_ok_and(|path| own == path))
        })
    }

    /// Opens it to append; it is made if there is none.
    pub(crate) fn open(&self) -> Result<Sqlite> {
        self.open_for(Access::Append)
    }

    /// Opens it to append, with so many bytes of its pages in memory.
    pub(crate) fn open_within(&self, page_bytes: usize) -> Result<Sqlite> {
        let settings = SqliteSettings { page_bytes: Some(page_bytes), at_once: true, ..SqliteSettings::default() };
        self.open_settings(settings).map_err(explained)
    }

    /// Opens it beside whoever appends.
    pub(crate) fn open_beside(&self) -> Result<Sqlite> {
        self.open_for(Access::Beside)
    }

    /// Opens it beside whoever appends; it is made if there is none.
    pub(crate) fn open_beside_or_make(&self) -> Result<Sqlite> {
        if !self.db.exists() {
            drop(self.open()?);
        }
        self.open_beside()
    }

    /// Opens one that has to be there, to append.
    pub(crate) fn open_present(&self) -> Result<Sqlite> {
        if !self.db.exists() {
            return Err(explained(StoreError::NoDatabase { file: self.db.display().to_string() }));
        }
        self.open()
    }

    fn open_for(&self, access: Access) -> Result<Sqlite> {
        // One that cannot be read may name another database.
        File::read()?;
        self.open_with(access).map_err(explained)
    }

    /// As [`open_beside`](Self::open_beside), for whoever tells errors otherwise.
    pub(crate) fn open_to_look(&self) -> Result<Sqlite, StoreError> {
        self.open_with(Access::Beside)
    }

    fn open_with(&self, access: Access) -> Result<Sqlite, StoreError> {
        self.open_settings(SqliteSettings { access, ..SqliteSettings::default() })
    }

    fn open_settings(&self, settings: SqliteSettings) -> Result<Sqlite, StoreError> {
        let store = Sqlite::open_with(&self.db, settings)?;
        let opening = store.opening();
        if opening.unfinished {
            eprintln!(
                "note: {}: the last commit was not finished when its process ended, or was damaged, and is left out; the log ends at position {}, everything up \
                 to there is whole",
                self.db.display(),
                opening.seq
            );
        }
        Ok(store)
    }
}

/// An error of the store, with what to do about it.
pub(crate) fn explained(error: StoreError) -> anyhow::Error {
    let hint = match &error {
        StoreError::NoDatabase { .. } => "name one with --db; `unloop import` makes one",
        StoreError::InUse { .. } => "stop that process (a running `unloop serve`, or another import) and try again",
        StoreError::Damaged { .. } => "restore a backup; `unloop verify` tells more, `unloop export` may still read some of it",
        StoreError::Foreign { .. } => "name another file: this one is left as it is",
        StoreError::Newer { .. } => "it was written by a newer unloop: use that one",
        StoreError::Full => "make room on the disk and run it again: what is recorded is found again",
        StoreError::Busy => "run it again",
        StoreError::Broken { .. } => "look after the disk, then run it again: what is recorded is found again",
        StoreError::Log { .. } => "`unloop verify` tells how much is wrong; restore a backup",
        StoreError::Database { .. } => "name a file that can be read and written, in a folder where files can be made",
        _ => return error.into(),
    };
    failure(error.to_string(), hint)
}

/// Waits for the store.
pub(crate) fn wait<T>(work: impl Future<Output = T>) -> Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().context("no runtime")?;
    Ok(runtime.block_on(work))
}

/// A catalog by its name; those that are there are told if it is not.
pub(crate) async fn catalog(store: &dyn Store, name: &str) -> Result<Catalog> {
    let catalogs = store.settings().await.map_err(explained)?.catalogs;
    let known: Vec<&str> = catalogs.iter().map(|catalog| catalog.name.as_str()).collect();
    let hint = match known.as_slice() {
        [] => "the database holds no catalog yet: `unloop import` makes one".to_owned(),
        known => format!("there are: {}", known.join(", ")),
    };
    let missing = || failure(format!("there is no catalog {name:?}"), hint);
    catalogs.iter().find(|catalog| catalog.name == name).cloned().ok_or_else(missing)
}

/// Milliseconds since 1970, for people to read.
pub(crate) fn now() -> i64 {
    Timestamp::now().as_millisecond()
}
