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
/// Part by which sums of large counts may differ, added up in another order.
const ROUNDING: f64 = 1e-9;

/// What is in one, in this order: the position; names ascending, with how often each was chosen; sets of places among the names, with how often
/// each was presented.
#[derive(Deserialize)]
struct Parts<'a> {
    position: u64,
    #[serde(borrow)]
    chosen: Vec<(&'a str, f64)>,
    presented: Vec<(Vec<u32>, f64)>,
}

impl Parts<'_> {
    /// Refuses what is in another order than it is written in, or says something twice: what is read is what was written, and is written the
    /// same again.
    fn check(&self) -> Result<(), &'static str> {
        if !self.chosen.is_sorted_by(|(x, _), (y, _)| x < y) {
            return Err("names are not in order");
        }
        let is_set = |(members, count): &(Vec<u32>, f64)| *count > 0.0 && members.is_sorted_by(|x, y| x < y);
        if !(self.presented.iter().all(is_set) && self.presented.is_sorted_by(|(x, _), (y, _)| x < y)) {
            return Err("presentations are not in order");
        }
        Ok(())
    }
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
    let (parts, rest): (Parts<'_>, _) = postcard::take_from_bytes(&body[1..]).map_err(|error| content(&error))?;
    parts.check().map_err(|problem| content(&problem))?;
    if !rest.is_empty() {
        return Err(content(&"there is more behind it"));
    }
    let mut options = Options::new();
    for (name, _) in &parts.chosen {
        options.intern(name).map_err(|error| content(&error))?;
    }
    let chosen: Vec<f64> = parts.chosen.iter().map(|&(_, count)| count).collect();
    let columns =
        parts.presented.into_iter().map(|(members, count)| (members.into_iter().map(OptionId::new).collect::<Vec<_>>(), count));
    let statistics = Statistics::from_margins(&chosen, columns).map_err(|error| content(&error))?;
    let shown = statistics.shown();
    if chosen.iter().zip(&shown).any(|(&chosen, &shown)| !(shown > 0.0 && chosen <= (1.0 + ROUNDING) * shown)) {
        return Err(content(&"an option was chosen more often than presented, or never presented"));
    }
    Ok(Fold::of_parts(options, statistics, parts.position))
}

#[cfg(test)]
mod tests {
    use super::*;

    type Named<'a> = (&'a str, f64);
    type Set<'a> = (&'a [u32], f64);

    /// Bytes with this content and the checksum of it.
    fn sealed(chosen: &[Named<'_>], presented: &[Set<'_>], more: &[u8]) -> Vec<u8> {
        let mut bytes = postcard::to_extend(&(7_u64, chosen, presented), vec![VERSION]).unwrap();
        bytes.extend_from_slice(more);
        let sum = blake3::hash(&bytes);
        bytes.extend_from_slice(&sum.as_bytes()[..CHECKSUM]);
        bytes
    }

    #[test]
    fn only_what_is_written_is_read() {
        let good = sealed(&[("a", 1.0), ("b", 2.0)], &[(&[0, 1], 2.0), (&[1], 1.0)], &[]);
        assert_eq!(encode(&decode(&good).unwrap()), good);
        let cases: [(&[Named<'_>], &[Set<'_>], &[u8]); 9] = [
            (&[("b", 1.0), ("a", 1.0)], &[(&[0, 1], 2.0)], &[]),
            (&[("a", 1.0), ("a", 1.0)], &[(&[0, 1], 2.0)], &[]),
            (&[("a", 1.0), ("b", 1.0)], &[(&[1, 0], 2.0)], &[]),
            (&[("a", 1.0), ("b", 1.0)], &[(&[1], 1.0), (&[0, 1], 1.0)], &[]),
            (&[("a", 1.0), ("b", 1.0)], &[(&[0, 1], 1.0), (&[0, 1], 1.0)], &[]),
            (&[("a", 1.0), ("b", 0.0)], &[(&[0], 1.0), (&[0, 1], 0.0)], &[]),
            // Written again, it was refused: who was never presented is not written.
            (&[("a", 1.0), ("b", 0.0)], &[(&[1], 1.0)], &[]),
            (&[("a", 3.0), ("b", 1.0)], &[(&[0, 1], 1.0), (&[1], 3.0)], &[]),
            (&[("a", 1.0)], &[(&[0], 1.0)], &[0]),
        ];
        for (chosen, presented, more) in cases {
            let read = decode(&sealed(chosen, presented, more));
            assert!(matches!(read, Err(SnapshotError::Content { .. })), "{chosen:?} {presented:?} {more:?}: {read:?}");
        }
    }
}
