//! Options by name, interned to dense indices.
//!
//! People name options by strings; the mathematics works on the dense indices `0, 1, …` that [`Options`] hands out in order of
//! first appearance. An index is never reused, so statistics stay valid when options are added.
//!
//! ```
//! use unloop::Options;
//! let mut options = Options::new();
//! let soup = options.intern("soup")?;
//! let curry = options.intern("curry")?;
//! assert_eq!(options.intern("soup")?, soup);
//! assert_eq!(options.name(curry), Some("curry"));
//! assert_eq!(options.get("salad"), None);
//! # Ok::<(), unloop::OptionError>(())
//! ```

use std::fmt;
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use thiserror::Error;

/// Longest name of an option, in bytes.
pub const MAX_NAME_BYTES: usize = 128;

/// Dense index of an option: `k` in the formulas.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct OptionId(u32);

impl OptionId {
    /// The option with this index.
    pub const fn new(index: u32) -> Self {
        Self(index)
    }

    /// Position in arrays over options.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl From<u32> for OptionId {
    fn from(index: u32) -> Self {
        Self(index)
    }
}

impl From<OptionId> for u32 {
    fn from(id: OptionId) -> Self {
        id.0
    }
}

impl fmt::Display for OptionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

impl fmt::Debug for OptionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Options in an error message: `{#1, #2}`, the first few of many.
pub(crate) struct Listed<'a>(pub(crate) &'a [OptionId]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const FEW: usize = 8;
        f.write_str("{")?;
        for (i, option) in self.0.iter().take(FEW).enumerate() {
            write!(f, "{}{option}", if i == 0 { "" } else { ", " })?;
        }
        if self.0.len() > FEW {
            write!(f, ", … {} in all", self.0.len())?;
        }
        f.write_str("}")
    }
}

/// Why a name cannot be an option.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum OptionError {
    /// The name is empty.
    #[error("an option needs a name of at least one byte")]
    EmptyName,
    /// The name is longer than [`MAX_NAME_BYTES`].
    #[error("option name of {bytes} bytes starting with {start:?} is too long: at most {MAX_NAME_BYTES} bytes")]
    LongName {
        /// Length of the name.
        bytes: usize,
        /// Its first characters.
        start: String,
    },
    /// The name holds a control character.
    #[error("option name {name:?} holds the control character {character:?}")]
    ControlCharacter {
        /// The whole name.
        name: String,
        /// The first offending character.
        character: char,
    },
    /// There are as many options as indices.
    #[error("no more options fit: {count} are interned already")]
    TooMany {
        /// Options interned so far.
        count: usize,
    },
}

/// Names of options and their dense indices, both ways.
///
/// Names are compared byte by byte. A clone shares them until one of the two grows: a service keeps thousands.
#[derive(Clone, Default)]
pub struct Options {
    table: Arc<Table>,
}

#[derive(Clone, Default)]
struct Table {
    /// Names end to end, and where each ends: a context of a service has its own, and a piece of the heap for each would take three times as much.
    text: String,
    ends: Vec<u32>,
    /// Numbers of names, found by the hash of the name.
    index: HashTable<u32>,
}

impl Table {
    fn name(&self, number: usize) -> Option<&str> {
        named(&self.text, &self.ends, number)
    }
}

/// The name of a number, if there is one.
fn named<'a>(text: &'a str, ends: &[u32], number: usize) -> Option<&'a str> {
    let end = *ends.get(number)?;
    let start = number.checked_sub(1).map_or(0, |before| ends[before]);
    text.get(start as usize..end as usize)
}

impl Options {
    /// No options yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Options named by an iterator, in its order; a repeated name counts once.
    ///
    /// # Errors
    /// The first name that cannot be an option.
    pub fn from_names<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> Result<Self, OptionError> {
        let mut options = Self::new();
        for name in names {
            options.intern(name.as_ref())?;
        }
        Ok(options)
    }

    /// Index of the option with this name, adding it if it is new.
    ///
    /// # Errors
    /// If the name is empty, too long or holds a control character.
    pub fn intern(&mut self, name: &str) -> Result<OptionId, OptionError> {
        if let Some(id) = self.get(name) {
            return Ok(id);
        }
        check_name(name)?;
        // The last index stays free, so that a number of options fits u32 too.
        let id = u32::try_from(self.len()).ok().filter(|&id| id < u32::MAX);
        let end = u32::try_from(self.table.text.len() + name.len()).ok();
        let (Some(id), Some(end)) = (id, end) else { return Err(OptionError::TooMany { count: self.len() }) };
        let Table { text, ends, index } = Arc::make_mut(&mut self.table);
        text.push_str(name);
        ends.push(end);
        let hash_of = |&id: &u32| named(text, ends, id as usize).map_or(0, |name| hash(name.as_bytes()));
        index.insert_unique(hash(name.as_bytes()), id, hash_of);
        Ok(OptionId(id))
    }

    /// Whether a name can be an option's, before it is interned.
    ///
    /// # Errors
    /// If it is empty, too long or holds a control character.
    pub fn check_name(name: &str) -> Result<(), OptionError> {
        check_name(name)
    }

    /// Index of the option with this name, if there is one.
    pub fn get(&self, name: &str) -> Option<OptionId> {
        self.get_bytes(name.as_bytes())
    }

    /// As [`get`](Self::get), for bytes of a file that nobody has checked yet to be text.
    pub fn get_bytes(&self, name: &[u8]) -> Option<OptionId> {
        let table = &*self.table;
        let is_it = |&id: &u32| table.name(id as usize).is_some_and(|own| own.as_bytes() == name);
        table.index.find(hash(name), is_it).map(|&id| OptionId(id))
    }

    /// Name of an option.
    pub fn name(&self, id: OptionId) -> Option<&str> {
        self.table.name(id.index())
    }

    /// Number of options: K in the formulas.
    pub fn len(&self) -> usize {
        self.table.ends.len()
    }

    /// Whether there are no options.
    pub fn is_empty(&self) -> bool {
        self.table.ends.is_empty()
    }

    /// Bytes on the heap that no clone shares.
    pub fn heap_bytes(&self) -> usize {
        if Arc::strong_count(&self.table) > 1 { 0 } else { self.table_bytes() }
    }

    /// Bytes on the heap, those that clones share too.
    pub fn table_bytes(&self) -> usize {
        let Table { text, ends, index } = &*self.table;
        // Two counts of owners beside the table.
        16 + size_of::<Table>() + text.capacity() + 4 * ends.capacity() + index.allocation_size()
    }

    /// Names with their indices, in order of index.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (OptionId, &str)> {
        (0..self.len()).map(|k| (OptionId(k as u32), self.table.name(k).unwrap_or_default()))
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map(|(_, name)| name)).finish()
    }
}

impl PartialEq for Options {
    fn eq(&self, other: &Self) -> bool {
        self.table.text == other.table.text && self.table.ends == other.table.ends
    }
}

impl Eq for Options {}

fn check_name(name: &str) -> Result<(), OptionError> {
    if name.is_empty() {
        return Err(OptionError::EmptyName);
    }
    if name.len() > MAX_NAME_BYTES {
        return Err(OptionError::LongName { bytes: name.len(), start: name.chars().take(24).collect() });
    }
    match name.chars().find(|c| c.is_control()) {
        Some(character) => Err(OptionError::ControlCharacter { name: name.to_owned(), character }),
        None => Ok(()),
    }
}

fn hash(name: &[u8]) -> u64 {
    // A fixed seed: the library has no source of randomness of its own.
    let mut hasher = FixedState::with_seed(0).build_hasher();
    hasher.write(name);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_are_dense_and_stable() {
        let mut options = Options::from_names(["a", "b", "a", "c"]).unwrap();
        assert_eq!(options.len(), 3);
        assert_eq!(options.get("c"), Some(OptionId(2)));
        for i in 0..1_000 {
            options.intern(&format!("option {i}")).unwrap();
        }
        assert_eq!(options.get("a"), Some(OptionId(0)));
        assert_eq!(options.get("option 999"), Some(OptionId(1_002)));
        assert!(options.iter().all(|(id, name)| options.get(name) == Some(id)));
    }

    #[test]
    fn bad_names_are_named() {
        let mut options = Options::new();
        assert_eq!(options.intern(""), Err(OptionError::EmptyName));
        assert!(options.intern(&"é".repeat(64)).is_ok());
        let long = options.intern(&"é".repeat(65)).unwrap_err();
        assert!(matches!(long, OptionError::LongName { bytes: 130, .. }), "{long}");
        let control = options.intern("a\tb").unwrap_err();
        assert!(matches!(control, OptionError::ControlCharacter { character: '\t', .. }), "{control}");
        assert_eq!(options.len(), 1);
    }
}
