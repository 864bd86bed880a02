//! Settings: catalogs with their options, and keys. They have a revision, which every change raises; no event depends on them.

use thiserror::Error;
use unloop::Options;

use crate::event::CatalogId;

/// Longest name of a catalog, in bytes.
const LONGEST_CATALOG: usize = 64;
/// Longest label of an option or key, in bytes.
const LONGEST_LABEL: usize = 1_024;

/// A catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Catalog {
    /// Its number, never used again.
    pub id: CatalogId,
    /// Its name, unique among those that are there.
    pub name: String,
    /// What is set for it, as a JSON object. The store keeps it and does not look inside.
    pub settings: String,
    /// The revision at which it or its options changed last.
    pub revision: u64,
}

/// An option of a catalog.
#[derive(Clone, Debug, PartialEq)]
pub struct CatalogOption {
    /// Its number in the catalog: 0, 1, 2, … in order of arrival, never used again.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// What people see.
    pub label: Option<String>,
    /// Its prior weight; the catalog's if none.
    pub weight: Option<f64>,
    /// Whether it may be presented; else it is retired.
    pub active: bool,
}

/// An API key, as much of it as is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// What people call it by; no secret.
    pub id: String,
    /// A hash of the key: the key itself is nowhere.
    pub hash: [u8; 32],
    /// What it is for, in somebody's words.
    pub label: String,
    /// What it may be used for.
    pub scopes: Vec<String>,
    /// The one catalog it is for, unless for all.
    pub catalog: Option<CatalogId>,
    /// When it was made, in milliseconds since 1970.
    pub created: i64,
    /// From when on it is worth nothing.
    pub expires: Option<i64>,
}

/// All settings but the options, of which there may be many.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Raised by every change.
    pub revision: u64,
    /// By name.
    pub catalogs: Vec<Catalog>,
    /// By time.
    pub keys: Vec<Key>,
}

/// A change of settings.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// Makes a catalog, or sets what is set for it.
    Catalog {
        /// Its name.
        name: String,
        /// What is set, as a JSON object.
        settings: String,
        /// The revision that it was read at, so that nobody's change is undone unseen; 0 where it must not be there yet. Any if none.
        expected: Option<u64>,
    },
    /// Adds options, or changes those of the same names.
    Options {
        /// The catalog.
        catalog: CatalogId,
        /// All that is kept of each.
        options: Vec<OptionChange>,
        /// As for catalogs.
        expected: Option<u64>,
    },
    /// Adds a key.
    Key(Key),
    /// Takes a key away.
    Revoke {
        /// What it is called by.
        id: String,
    },
}

/// What an option is to be.
#[derive(Clone, Debug, PartialEq)]
pub struct OptionChange {
    /// Its name.
    pub name: String,
    /// What people see.
    pub label: Option<String>,
    /// Its prior weight; the catalog's if none.
    pub weight: Option<f64>,
    /// Whether it may be presented.
    pub active: bool,
}

impl OptionChange {
    /// An active option with nothing of its own.
    pub fn plain(name: &str) -> Self {
        Self { name: name.to_owned(), label: None, weight: None, active: true }
    }
}

/// What became of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Changed {
    /// It is done, at this revision.
    Done {
        /// The new revision.
        revision: u64,
        /// The catalog it was about, if about one.
        catalog: Option<CatalogId>,
    },
    /// Somebody changed it meanwhile: nothing was done.
    Stale {
        /// The revision of what is there.
        revision: u64,
    },
    /// There is no such catalog or key: nothing was done.
    Missing,
    /// There is one of this id: nothing was done.
    Taken,
}

/// A change that is none.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum SettingError {
    /// A name that no catalog can have.
    #[error("{name:?} cannot be a catalog: it takes 1 to {LONGEST_CATALOG} letters, digits, dots, dashes and underscores")]
    Catalog {
        /// The name.
        name: String,
    },
    /// A name that no option can have.
    #[error("{name:?} cannot be an option: {why}")]
    Option {
        /// The name.
        name: String,
        /// Why not.
        why: String,
    },
    /// A prior weight that is none.
    #[error("the prior weight of {name:?} is {weight}: it must be above 0 and finite")]
    Weight {
        /// The option.
        name: String,
        /// The weight.
        weight: f64,
    },
    /// A text that is too long.
    #[error("a label of {length} bytes: at most {LONGEST_LABEL}")]
    Label {
        /// Its length.
        length: usize,
    },
    /// Settings that are no JSON object.
    #[error("settings are a JSON object: {problem}")]
    Json {
        /// What is wrong.
        problem: String,
    },
}

impl Change {
    /// Refuses what cannot be, before anything is done.
    ///
    /// # Errors
    /// If it cannot be.
    pub fn check(&self) -> Result<(), SettingError> {
        match self {
            Self::Catalog { name, settings, .. } => {
                check_catalog_name(name)?;
                let parsed = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(settings);
                parsed.map(|_| ()).map_err(|error| SettingError::Json { problem: error.to_string() })
            }
            Self::Options { options, .. } => options.iter().try_for_each(OptionChange::check),
            Self::Key(key) => check_label(&key.label),
            Self::Revoke { .. } => Ok(()),
        }
    }
}

impl OptionChange {
    /// Refuses what cannot be.
    ///
    /// # Errors
    /// If it cannot be.
    pub fn check(&self) -> Result<(), SettingError> {
        let Self { name, label, weight, .. } = self;
        if let Err(why) = check_option_name(name) {
            return Err(SettingError::Option { name: name.clone(), why });
        }
        match weight {
            Some(weight) if !(*weight > 0.0 && weight.is_finite()) => {
                Err(SettingError::Weight { name: name.clone(), weight: *weight })
            }
            _ => label.as_deref().map_or(Ok(()), check_label),
        }
    }
}

/// Whether a name can be a catalog's.
///
/// # Errors
/// If not.
pub fn check_catalog_name(name: &str) -> Result<(), SettingError> {
    let good = (1..=LONGEST_CATALOG).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
        // Addresses would lead elsewhere.
        && name.bytes().any(|byte| byte != b'.');
    if good { Ok(()) } else { Err(SettingError::Catalog { name: name.to_owned() }) }
}

fn check_label(label: &str) -> Result<(), SettingError> {
    let length = label.len();
    if length <= LONGEST_LABEL { Ok(()) } else { Err(SettingError::Label { length }) }
}

/// The option that stands for choosing nothing, in folds: no option of people begins with it.
pub const NO_CHOICE: char = '\u{e000}';

/// Whether a name can be an option's.
pub(crate) fn check_option_name(name: &str) -> Result<(), String> {
    match Options::check_name(name) {
        Err(error) => Err(error.to_string()),
        Ok(()) if name.starts_with(NO_CHOICE) => Err("it begins with a character that is kept for choosing nothing".into()),
        Ok(()) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_that_cannot_be_are_refused() {
        let catalog =
            |name: &str, settings: &str| Change::Catalog { name: name.into(), settings: settings.into(), expected: None }.check();
        assert!(catalog("lunch-2_b.c", "{}").is_ok());
        for name in ["", "a b", "ä", "a/b", "..", &"x".repeat(65)] {
            assert!(matches!(catalog(name, "{}"), Err(SettingError::Catalog { .. })), "{name:?}");
        }
        assert!(matches!(catalog("lunch", "[]"), Err(SettingError::Json { .. })));
        let option = |change: fn(&mut OptionChange)| {
            let mut option = OptionChange::plain("soup");
            change(&mut option);
            Change::Options { catalog: CatalogId(1), options: vec![option], expected: None }.check()
        };
        assert!(option(|_| {}).is_ok());
        assert!(matches!(option(|own| own.name.clear()), Err(SettingError::Option { .. })));
        assert!(matches!(option(|own| own.weight = Some(f64::NAN)), Err(SettingError::Weight { .. })));
        assert!(matches!(option(|own| own.weight = Some(0.0)), Err(SettingError::Weight { .. })));
        assert!(matches!(option(|own| own.label = Some("x".repeat(2_000))), Err(SettingError::Label { length: 2_000 })));
    }
}
