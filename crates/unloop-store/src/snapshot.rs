//! A fold as bytes: a cache, with its position, its version and a checksum. A bad one is made again from the log.

use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};
use thiserror::Error;
use unloop::{OptionId, Options, Statistics};

use crate::fold::{Canonical, Fold};

/// The version that is written.
const VERSION: u8 = 1;
/// Bytes of the checksum at the end.
const CHECKSUM: usize = 16;

/// What is in one, in this order: the position; names ascending, with how often each was chosen; sets of places among the names, with how often
/// each was presented.
#[derive(Deserialize)]
struct Parts<'a> {
    position: u64,
    #[serde(borrow)]
    chosen: Vec<(&'a str, f64)>,
    presented: Vec<(Vec<u32>, f64)>,
}

/// The same to be written, without a copy of it.
struct Written<'a> {
    position: u64,
    canonical: &'a Canonical<'a>,
}

impl Serialize for Written<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut parts = serializer.serialize_struct("Parts", 3)?;
        parts.serialize_field("position", &self.position)?;
        parts.serialize_field("chosen", &self.canonical.chosen)?;
        parts.serialize_field("presented", &Sets(self.canonical))?;
        parts.end()
    }
}

struct Sets<'a>(&'a Canonical<'a>);

impl Serialize for Sets<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.presented())
    }
}

/// Bytes that are no snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// Of another version.
    #[error("version {found}, where {VERSION} is known")]
    Version {
        /// Its version.
        found: u8,
    },
    /// Changed since it was written.
    #[error("the checksum does not fit")]
    Checksum,
    /// Counts that are none.
    #[error("{problem}")]
    Content {
        /// What is wrong.
        problem: String,
    },
}

/// A fold as bytes: the same for the same counts, whoever writes it.
pub fn encode(fold: &Fold) -> Vec<u8> {
    let canonical = fold.canonical();
    let written = Written { position: fold.position(), canonical: &canonical };
    let mut bytes = vec![VERSION];
    // Into memory: nothing can fail.
    bytes = postcard::to_extend(&written, bytes).unwrap_or_default();
    let sum = blake3::hash(&bytes);
    bytes.extend_from_slice(&sum.as_bytes()[..CHECKSUM]);
    bytes
}

/// A fold out of bytes.
///
/// # Errors
/// If they are none: it is to be folded from the log again.
pub fn decode(bytes: &[u8]) -> Result<Fold, SnapshotError> {
    let content = |problem: &dyn ToString| SnapshotError::Content { problem: problem.to_string() };
    match bytes.first() {
        None => return Err(content(&"it is empty")),
        Some(&VERSION) => {}
        Some(&found) => return Err(SnapshotError::Version { found }),
    }
    let Some((body, sum)) = bytes.split_last_chunk::<CHECKSUM>() else { return Err(SnapshotError::Checksum) };
    if blake3::hash(body).as_bytes()[..CHECKSUM] != *sum {
        return Err(SnapshotError::Checksum);
    }
    let parts: Parts<'_> = postcard::from_bytes(&body[1..]).map_err(|error| content(&error))?;
    let mut options = Options::new();
    for (name, _) in &parts.chosen {
        options.intern(name).map_err(|error| content(&error))?;
    }
    if options.len() != parts.chosen.len() {
        return Err(content(&"a name is there twice"));
    }
    let chosen: Vec<f64> = parts.chosen.iter().map(|&(_, count)| count).collect();
    let columns =
        parts.presented.into_iter().map(|(members, count)| (members.into_iter().map(OptionId::new).collect::<Vec<_>>(), count));
    let statistics = Statistics::from_margins(&chosen, columns).map_err(|error| content(&error))?;
    Ok(Fold::of_parts(options, statistics, parts.position))
}
