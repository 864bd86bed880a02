//! A layer between SQLite and the system that cuts the power, fails a call, or has no space left.
//!
//! Each [`Layer`] is registered under a name of its own, so tests beside each other do not meet. It knows what was flushed and what was
//! not; it flushes nothing itself, since nobody pulls the plug of the machine that the tests run on.
#![allow(dead_code, reason = "each test program uses its part")]

mod disk;
mod vfs;

use std::ffi::{OsString, c_int};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rand_chacha::ChaCha8Rng;
use rusqlite::ffi;

use disk::Disk;

/// What is to go wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Plan {
    /// Nothing.
    #[default]
    Nothing,
    /// The power, at this call: it may have reached the disk in part, and everything after it fails.
    Cut {
        /// From 1.
        at: u64,
    },
    /// This call.
    Fail {
        /// From 1.
        at: u64,
        /// All after it, too.
        lasting: bool,
        /// Half of what it was to write is written.
        half: bool,
    },
}

/// What to do with a call.
enum Verdict {
    Go,
    Cut,
    Fail { half: bool },
}

#[derive(Default)]
struct State {
    plan: Plan,
    /// Writes, truncations, flushes, deletions and openings.
    calls: u64,
    /// Bytes that all files may have together.
    quota: Option<u64>,
    disk: Disk,
}

impl State {
    fn next(&mut self) -> Verdict {
        self.calls += 1;
        match self.plan {
            Plan::Cut { at } if self.calls == at => Verdict::Cut,
            Plan::Cut { at } if self.calls > at => Verdict::Fail { half: false },
            Plan::Fail { at, half, .. } if self.calls == at => Verdict::Fail { half },
            Plan::Fail { at, lasting: true, .. } if self.calls > at => Verdict::Fail { half: false },
            _ => Verdict::Go,
        }
    }

    /// Whether the power is gone: then nothing can even be read.
    fn is_dark(&self) -> bool {
        matches!(self.plan, Plan::Cut { at } if self.calls >= at)
    }

    fn write(&mut self, file: usize, offset: u64, bytes: &[u8], really: impl Fn(&[u8]) -> c_int) -> c_int {
        match self.next() {
            Verdict::Go => {
                let growth = self.disk.growth(file, offset, bytes.len());
                if growth > 0 && self.quota.is_some_and(|quota| self.disk.size() + growth > quota) {
                    return ffi::SQLITE_FULL;
                }
                let code = really(bytes);
                if code == ffi::SQLITE_OK {
                    self.disk.write(file, offset, bytes);
                }
                code
            }
            Verdict::Cut => {
                self.disk.write(file, offset, bytes);
                ffi::SQLITE_IOERR_WRITE
            }
            Verdict::Fail { half } => {
                let part = &bytes[..if half { bytes.len() / 2 } else { 0 }];
                if !part.is_empty() && really(part) == ffi::SQLITE_OK {
                    self.disk.write(file, offset, part);
                }
                ffi::SQLITE_IOERR_WRITE
            }
        }
    }

    fn truncate(&mut self, file: usize, length: u64, really: impl Fn() -> c_int) -> c_int {
        match self.next() {
            Verdict::Go => {
                let code = really();
                if code == ffi::SQLITE_OK {
                    self.disk.truncate(file, length);
                }
                code
            }
            Verdict::Cut => {
                self.disk.truncate(file, length);
                ffi::SQLITE_IOERR_TRUNCATE
            }
            Verdict::Fail { .. } => ffi::SQLITE_IOERR_TRUNCATE,
        }
    }

    fn sync(&mut self, file: usize, folder: bool) -> c_int {
        match self.next() {
            Verdict::Go => {
                self.disk.sync(file);
                if folder {
                    self.disk.sync_folder();
                }
                ffi::SQLITE_OK
            }
            // What it was to flush may be there or not, as without it.
            Verdict::Cut => ffi::SQLITE_IOERR_FSYNC,
            Verdict::Fail { half } => {
                // After the power is gone nothing is dropped any more.
                if !self.is_dark() {
                    self.disk.fail_sync(file, half);
                }
                ffi::SQLITE_IOERR_FSYNC
            }
        }
    }

    fn delete(&mut self, path: &Path, flushed: bool, really: impl Fn() -> c_int) -> c_int {
        // One that is deleted before it was ever opened may come back, too.
        let file = self.disk.open(path);
        match self.next() {
            Verdict::Go => {
                let code = really();
                if code == ffi::SQLITE_OK {
                    self.disk.delete(file);
                    if flushed {
                        self.disk.sync_folder();
                    }
                }
                code
            }
            Verdict::Cut => {
                self.disk.delete(file);
                ffi::SQLITE_IOERR_DELETE
            }
            Verdict::Fail { .. } => ffi::SQLITE_IOERR_DELETE,
        }
    }

    /// The number of the file that is opened.
    fn open(&mut self, path: &Path, really: impl Fn() -> c_int) -> Result<usize, c_int> {
        let Verdict::Go = self.next() else { return Err(ffi::SQLITE_CANTOPEN) };
        // Before it is made: one that is not there yet is not flushed.
        let file = self.disk.open(path);
        match really() {
            ffi::SQLITE_OK => Ok(file),
            code => Err(code),
        }
    }
}

/// A layer under SQLite, with a name to open databases over it.
pub(crate) struct Layer {
    pub(crate) name: &'static str,
    state: &'static Mutex<State>,
}

impl Layer {
    /// One through which nothing goes wrong yet.
    pub(crate) fn new() -> Self {
        let (name, state) = vfs::register();
        Self { name, state }
    }

    /// Begins anew: calls are counted from 0, and all that is in files is taken for flushed.
    pub(crate) fn plan(&self, plan: Plan) {
        *lock(self.state) = State { plan, ..State::default() };
    }

    /// How many bytes all files may have together; as many as they like if none.
    pub(crate) fn limit(&self, quota: Option<u64>) {
        lock(self.state).quota = quota;
    }

    /// Bytes that all files have together.
    pub(crate) fn size(&self) -> u64 {
        lock(self.state).disk.size()
    }

    /// Calls so far.
    pub(crate) fn calls(&self) -> u64 {
        lock(self.state).calls
    }

    /// What is left of the files in a folder if the power goes now, or went when it was planned to.
    pub(crate) fn survivors(&self, folder: &Path, rng: &mut ChaCha8Rng) -> Vec<(OsString, Vec<u8>)> {
        let state = lock(self.state);
        let mut left = state.disk.survivors(rng);
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            // Never opened: as it was. What processes share, and locks, are gone with them.
            let is_shared = [".lock", "-shm"].iter().any(|end| path.to_string_lossy().ends_with(end));
            if !is_shared && state.disk.find(&path).is_none() {
                left.push((path.clone(), std::fs::read(&path).expect("read")));
            }
        }
        left.into_iter().map(|(path, bytes)| (path.file_name().unwrap_or_default().to_owned(), bytes)).collect()
    }
}

/// A test that failed elsewhere leaves nothing half done here.
fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
