//! Secrets that sign tokens: in a file beside the database, never in it, so that a backup of the database cannot forge.
//!
//! The file has a secret on each line: 64 hexadecimal digits, and when it was made. The first signs, all verify. `unloop secret rotate` puts a
//! new one first and drops those that nothing can be signed with any more; a running server takes the file up within a second.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};

use data_encoding::HEXLOWER_PERMISSIVE;
use jiff::Timestamp;
use thiserror::Error;

use crate::catalog::LONGEST_EXPIRY;
use crate::lock::{read, write};

/// Secrets in a file at most: each of them is tried on a forged token.
const MOST: usize = 64;
/// Clocks may be off by so many seconds.
pub(crate) const LEEWAY: i64 = 60;

/// A secret.
#[derive(Clone)]
struct Secret {
    bytes: [u8; 32],
    made: Timestamp,
}

/// Secrets as a file has them.
#[derive(Clone)]
pub struct Secrets {
    all: Vec<Secret>,
}

/// Why there are no secrets.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SecretError {
    /// The file cannot be read or written.
    #[error("{file}: {problem}")]
    File {
        /// The file.
        file: String,
        /// What is wrong.
        problem: String,
    },
    /// There is something in it that is none.
    #[error("{file}, line {line}: a secret is 64 hexadecimal digits and the time it was made")]
    Line {
        /// The file.
        file: String,
        /// Where.
        line: usize,
    },
    /// There is nothing in it.
    #[error("{file} holds no secret, or more than {MOST}")]
    Count {
        /// The file.
        file: String,
    },
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} secrets", self.all.len())
    }
}

impl Secrets {
    /// A new one.
    ///
    /// # Errors
    /// If the system gives no random numbers.
    pub fn fresh() -> Result<Self, getrandom::Error> {
        Ok(Self { all: vec![Secret { bytes: random()?, made: Timestamp::now() }] })
    }

    /// Where they are kept: beside the database.
    pub fn path_beside(database: &Path) -> PathBuf {
        let mut name = database.file_name().unwrap_or_default().to_owned();
        name.push(".secret");
        database.with_file_name(name)
    }

    /// Those of a file; none if there is no file.
    ///
    /// # Errors
    /// If it cannot be read, or holds anything else.
    pub fn read(path: &Path) -> Result<Option<Self>, SecretError> {
        let file = path.display().to_string();
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(SecretError::File { file, problem: error.to_string() }),
        };
        Self::parse(&text, &file).map(Some)
    }

    fn parse(text: &str, file: &str) -> Result<Self, SecretError> {
        let mut all = Vec::new();
        for (line, text) in (1..).zip(text.lines()) {
            if text.trim().is_empty() || text.starts_with('#') {
                continue;
            }
            let bad = || SecretError::Line { file: file.to_owned(), line };
            let (digits, made) = text.trim().split_once(' ').ok_or_else(bad)?;
            let bytes = HEXLOWER_PERMISSIVE.decode(digits.as_bytes()).ok().and_then(|bytes| bytes.try_into().ok());
            all.push(Secret { bytes: bytes.ok_or_else(bad)?, made: made.trim().parse().map_err(|_| bad())? });
        }
        let count = || SecretError::Count { file: file.to_owned() };
        if (1..=MOST).contains(&all.len()) { Ok(Self { all }) } else { Err(count()) }
    }

    /// Whether there are so many that another one would push one out that still verifies something.
    pub fn is_full(&self, now: Timestamp) -> bool {
        self.still_needed(now).count() >= MOST
    }

    /// Those with which something may have been signed that has not expired.
    fn still_needed(&self, now: Timestamp) -> impl Iterator<Item = &Secret> {
        // Each signed until the one before it came.
        let replaced = std::iter::once(now).chain(self.all.iter().map(|own| own.made));
        let is_needed = move |replaced: Timestamp| now.as_second() - replaced.as_second() <= LONGEST_EXPIRY + LEEWAY;
        self.all.iter().zip(replaced).filter(move |&(_, replaced)| is_needed(replaced)).map(|(own, _)| own)
    }

    /// With a new one first, without those that were replaced so long ago that every token they signed has expired.
    ///
    /// # Errors
    /// If the system gives no random numbers.
    pub fn rotated(&self, now: Timestamp) -> Result<Self, getrandom::Error> {
        let first = Secret { bytes: random()?, made: now };
        Ok(Self { all: std::iter::once(first).chain(self.still_needed(now).cloned()).take(MOST).collect() })
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.all.len()
    }

    /// Writes a file that only its owner reads, in one step.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), SecretError> {
        let failed = |error: std::io::Error| SecretError::File { file: path.display().to_string(), problem: error.to_string() };
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}.part", std::process::id()));
        let part = path.with_file_name(name);
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let written = options.open(&part).and_then(|mut file| {
            writeln!(
                file,
                "# Signs what was presented: the first signs, all verify. Keep it secret, and back it up apart from the database."
            )?;
            for own in &self.all {
                writeln!(file, "{} {}", HEXLOWER_PERMISSIVE.encode(&own.bytes), own.made)?;
            }
            file.sync_all()
        });
        let done = written.and_then(|()| std::fs::rename(&part, path));
        if done.is_err() {
            let _ = std::fs::remove_file(&part);
        }
        done.map_err(failed)
    }

    /// A signature by the first of them, for a purpose.
    pub(crate) fn sign(&self, purpose: &str, bytes: &[u8]) -> [u8; 32] {
        *self.all.first().map_or_else(|| blake3::hash(bytes), |own| own.sign(purpose, bytes)).as_bytes()
    }

    /// Whether one of them has signed this. Every comparison takes the same time.
    pub(crate) fn verify(&self, purpose: &str, bytes: &[u8], signature: [u8; 32]) -> bool {
        let signature = blake3::Hash::from(signature);
        self.all.iter().any(|own| own.sign(purpose, bytes) == signature)
    }
}

impl Secret {
    fn sign(&self, purpose: &str, bytes: &[u8]) -> blake3::Hash {
        // A key of its own for each purpose: what signs one thing never signs another.
        blake3::keyed_hash(&blake3::derive_key(purpose, &self.bytes), bytes)
    }
}

/// 256 random bits.
pub(crate) fn random() -> Result<[u8; 32], getrandom::Error> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)?;
    Ok(bytes)
}

/// The secrets in use, and where they came from.
#[derive(Debug)]
pub(crate) struct Keyring {
    path: Option<PathBuf>,
    now: RwLock<Arc<Secrets>>,
}

impl Keyring {
    pub(crate) fn new(secrets: Secrets, path: Option<PathBuf>) -> Self {
        Self { path, now: RwLock::new(Arc::new(secrets)) }
    }

    pub(crate) fn get(&self) -> Arc<Secrets> {
        Arc::clone(&read(&self.now))
    }

    /// Takes the file up if it was changed. What cannot be read leaves things as they are: whether that happened is told.
    pub(crate) fn refresh(&self) -> Result<(), SecretError> {
        let Some(path) = &self.path else { return Ok(()) };
        let missing =
            || SecretError::File { file: path.display().to_string(), problem: "it is gone: the secrets in use stay".into() };
        let found = Secrets::read(path)?.ok_or_else(missing)?;
        let same = {
            let now = read(&self.now);
            now.all.len() == found.all.len() && now.all.iter().zip(&found.all).all(|(x, y)| x.bytes == y.bytes)
        };
        if !same {
            tracing::info!(secrets = found.count(), "the file of secrets was changed");
            *write(&self.now) = Arc::new(found);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rotation_keeps_what_may_still_be_needed() {
        let start = Timestamp::from_second(1_800_000_000).unwrap();
        let later = |seconds: i64| Timestamp::from_second(1_800_000_000 + seconds).unwrap();
        let first = Secrets { all: vec![Secret { bytes: [1; 32], made: start }] };
        let signed = first.sign("test", b"text");
        let second = first.rotated(later(10)).unwrap();
        assert!(second.verify("test", b"text", signed) && !second.verify("other", b"text", signed));
        assert_ne!(second.sign("test", b"text"), signed);
        // The first was replaced at 10: what it signed has expired only after the longest expiry since then.
        let third = second.rotated(later(10 + LONGEST_EXPIRY + LEEWAY)).unwrap();
        assert!(third.count() == 3 && third.verify("test", b"text", signed));
        let fourth = second.rotated(later(11 + LONGEST_EXPIRY + LEEWAY)).unwrap();
        assert!(fourth.count() == 2 && !fourth.verify("test", b"text", signed));
    }

    #[test]
    fn files_are_read_again_and_anything_else_is_refused() {
        let folder = std::env::temp_dir().join(format!("unloop-secrets-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("a.secret");
        assert!(Secrets::read(&path).unwrap().is_none());
        let own = Secrets::fresh().unwrap().rotated(Timestamp::now()).unwrap();
        own.write(&path).unwrap();
        let read = Secrets::read(&path).unwrap().unwrap();
        assert!(read.count() == 2 && read.sign("x", b"y") == own.sign("x", b"y"));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        for text in ["", "# nothing\n", "abc 2026-01-01T00:00:00Z\n", &format!("{} yesterday", "0".repeat(64)), &"0".repeat(64)] {
            std::fs::write(&path, text).unwrap();
            assert!(Secrets::read(&path).is_err(), "{text:?}");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
