//! What the log holds: choices, imported ones, withdrawals and erasures.
//!
//! An event holds all that its fold needs, by option names: no setting ever changes what an old event means.

use std::borrow::Cow;

use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};
use thiserror::Error;
use unloop::{Options, WEIGHT_UNIT};

use crate::settings::check_option_name;

/// Options of a presentation at most.
pub const MOST_PRESENTED: usize = 1_000;
/// Weight of an event at most.
pub const MOST_WEIGHT: f64 = 4_294_967_296.0;
/// Longest id of an event, in bytes.
pub const LONGEST_ID: usize = 512;
/// The name of no context: it stands for all of them.
pub const ALL: &str = "all";

/// A catalog's internal number, never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CatalogId(pub i64);

/// A kind of event. Together with the catalog and the id it is unique in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// What came of a presentation.
    Choice,
    /// The same, from elsewhere.
    Import,
    /// Takes one of the former back.
    Withdrawal,
    /// A context was erased: whoever holds anything of the catalog loads it again.
    Erasure,
}

impl Kind {
    /// As it stands in the log.
    pub fn name(self) -> &'static str {
        match self {
            Self::Choice => "choice",
            Self::Import => "import",
            Self::Withdrawal => "withdrawal",
            Self::Erasure => "erasure",
        }
    }

    /// By its name.
    pub fn of_name(name: &str) -> Option<Self> {
        [Self::Choice, Self::Import, Self::Withdrawal, Self::Erasure].into_iter().find(|kind| kind.name() == name)
    }
}

/// What came of a presentation.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// These were chosen, each a choice of its own.
    Chosen(Vec<String>),
    /// These share one choice.
    Tied(Vec<String>),
    /// Nothing was: a choice of the no-choice option where there was one, else it counts for nothing.
    None,
}

/// A presentation and what came of it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "Read")]
pub struct Body {
    /// Options in order.
    pub presented: Vec<String>,
    /// Whether choosing nothing was an option.
    pub declinable: bool,
    /// What came of it.
    pub outcome: Outcome,
    /// How often it counts.
    pub weight: f64,
    /// What an import calls it.
    pub source: Option<String>,
}

/// What a fold takes of a body.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Counted<'a> {
    /// Names that somebody owns.
    Owned(&'a Body),
    /// Names that stand in the log's own text.
    Read(&'a ReadBody<'a>),
}

/// A body as it stands in the log, read without a copy of its names where that is possible: folds read millions.
#[derive(Debug, Deserialize)]
pub(crate) struct ReadBody<'a> {
    #[serde(borrow)]
    pub(crate) presented: Vec<Name<'a>>,
    #[serde(default)]
    pub(crate) declinable: bool,
    #[serde(borrow)]
    pub(crate) chosen: Option<Vec<Name<'a>>>,
    #[serde(borrow)]
    pub(crate) tied: Option<Vec<Name<'a>>>,
    pub(crate) none: Option<bool>,
    pub(crate) weight: Option<f64>,
}

/// A name in the log's text.
#[derive(Debug, Deserialize)]
pub(crate) struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

impl AsRef<str> for Name<'_> {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

/// A body as it is read: one of three fields says what came of it. (A flattened enum would be read by way of a tree: twice as slow, and folds read
/// millions.)
#[derive(Deserialize)]
struct Read {
    presented: Vec<String>,
    #[serde(default)]
    declinable: bool,
    chosen: Option<Vec<String>>,
    tied: Option<Vec<String>>,
    none: Option<bool>,
    weight: Option<f64>,
    source: Option<String>,
}

impl TryFrom<Read> for Body {
    type Error = &'static str;

    fn try_from(read: Read) -> Result<Self, Self::Error> {
        let Read { presented, declinable, chosen, tied, none, weight, source } = read;
        let outcome = match (chosen, tied, none) {
            (Some(chosen), None, None) => Outcome::Chosen(chosen),
            (None, Some(tied), None) => Outcome::Tied(tied),
            (None, None, Some(true)) => Outcome::None,
            _ => return Err("one of `chosen`, `tied` and `none` says what came of it"),
        };
        Ok(Self { presented, declinable, outcome, weight: weight.unwrap_or(1.0), source })
    }
}

impl Serialize for Body {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { presented, declinable, outcome, weight, source } = self;
        let others = usize::from(*declinable) + usize::from(*weight != 1.0) + usize::from(source.is_some());
        let mut body = serializer.serialize_struct("Body", 2 + others)?;
        body.serialize_field("presented", presented)?;
        if *declinable {
            body.serialize_field("declinable", &true)?;
        }
        match outcome {
            Outcome::Chosen(names) => body.serialize_field("chosen", names)?,
            Outcome::Tied(names) => body.serialize_field("tied", names)?,
            Outcome::None => body.serialize_field("none", &true)?,
        }
        if *weight != 1.0 {
            body.serialize_field("weight", weight)?;
        }
        if let Some(source) = source {
            body.serialize_field("source", source)?;
        }
        body.end()
    }
}

/// A body that is none.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum BodyError {
    /// Too few or too many options.
    #[error("{count} options were presented: there must be 1 to {MOST_PRESENTED}")]
    Presented {
        /// How many.
        count: usize,
    },
    /// A name that cannot be one.
    #[error("{name:?} cannot be an option: {why}")]
    Name {
        /// The name.
        name: String,
        /// Why not.
        why: String,
    },
    /// A name that no context can have.
    #[error("{name:?} cannot be a context: {why}")]
    Context {
        /// The name.
        name: String,
        /// Why not.
        why: String,
    },
    /// An id that is none.
    #[error("an id of {length} bytes: it takes 1 to {LONGEST_ID}")]
    Id {
        /// Its length.
        length: usize,
    },
    /// The same twice.
    #[error("{name:?} is there twice")]
    Twice {
        /// The name.
        name: String,
    },
    /// Chosen, though it was not there.
    #[error("{name:?} was chosen and not presented")]
    NotPresented {
        /// The name.
        name: String,
    },
    /// Nothing at all.
    #[error("nothing is said to be chosen: say none if nothing was")]
    Nothing,
    /// A weight that is none.
    #[error("the weight is {weight}: it must be above 0 and at most {MOST_WEIGHT}")]
    Weight {
        /// The weight.
        weight: f64,
    },
}

impl Body {
    /// A choice of one option.
    pub fn chosen(presented: &[&str], chosen: &str) -> Self {
        Self {
            presented: presented.iter().map(|&name| name.to_owned()).collect(),
            declinable: false,
            outcome: Outcome::Chosen(vec![chosen.to_owned()]),
            weight: 1.0,
            source: None,
        }
    }

    /// Checks that it is one.
    ///
    /// # Errors
    /// If it is not.
    pub fn check(&self) -> Result<(), BodyError> {
        if !(1..=MOST_PRESENTED).contains(&self.presented.len()) {
            return Err(BodyError::Presented { count: self.presented.len() });
        }
        for name in &self.presented {
            check_option_name(name).map_err(|why| BodyError::Name { name: name.clone(), why })?;
        }
        unique(&self.presented)?;
        let (Outcome::Chosen(named) | Outcome::Tied(named)) = &self.outcome else {
            return self.check_weight();
        };
        if named.is_empty() {
            return Err(BodyError::Nothing);
        }
        unique(named)?;
        match named.iter().find(|name| !self.presented.contains(name)) {
            Some(name) => Err(BodyError::NotPresented { name: name.clone() }),
            None => self.check_weight(),
        }
    }

    fn check_weight(&self) -> Result<(), BodyError> {
        let good = self.weight > 0.0 && self.weight <= MOST_WEIGHT;
        if good { Ok(()) } else { Err(BodyError::Weight { weight: self.weight }) }
    }
}

fn unique(names: &[String]) -> Result<(), BodyError> {
    let mut sorted: Vec<&String> = names.iter().collect();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(BodyError::Twice { name: pair[0].clone() }),
        None => Ok(()),
    }
}

/// A weight as the log keeps it: a multiple of 2⁻²⁰, so that sums are exact in any order; at least one.
pub(crate) fn rounded(weight: f64) -> f64 {
    (weight / WEIGHT_UNIT).round().max(1.0) * WEIGHT_UNIT
}

/// Whether a name can be a context's: one that an option can have, other than [`ALL`].
///
/// # Errors
/// If not.
pub fn check_context(name: &str) -> Result<(), BodyError> {
    let why = match Options::check_name(name) {
        Err(_) => "it takes 1 to 128 bytes of UTF-8 without control characters".into(),
        Ok(()) if name == ALL => "it stands for all of them".into(),
        Ok(()) => return Ok(()),
    };
    Err(BodyError::Context { name: name.to_owned(), why })
}

/// Something to append.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The catalog.
    pub catalog: CatalogId,
    /// Whose choice it is; none for nobody's in particular.
    pub context: Option<String>,
    /// What it is.
    pub what: What,
    /// When, in milliseconds since 1970: for people to read, never for order.
    pub time: i64,
}

/// What to append.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// What came of a presentation of this id.
    Choice {
        /// Of the presentation.
        id: String,
        /// What came of it.
        body: Body,
    },
    /// The same from elsewhere; the log keeps a hash of the id.
    Import {
        /// What it is called there.
        id: String,
        /// What came of it.
        body: Body,
    },
    /// Takes back what was recorded.
    Withdrawal {
        /// Whether it was a choice or an import.
        of: Kind,
        /// Its id.
        id: String,
    },
}

impl What {
    /// Checks that it is one.
    ///
    /// # Errors
    /// If it is not.
    pub fn check(&self) -> Result<(), BodyError> {
        let (Self::Choice { id, .. } | Self::Import { id, .. } | Self::Withdrawal { id, .. }) = self;
        if !(1..=LONGEST_ID).contains(&id.len()) {
            return Err(BodyError::Id { length: id.len() });
        }
        match self {
            Self::Choice { body, .. } | Self::Import { body, .. } => body.check(),
            Self::Withdrawal { .. } => Ok(()),
        }
    }
}

/// The id under which an import is kept: a hash, so that erasing its body leaves no text, and a second import still finds it.
pub fn import_key(id: &str) -> String {
    blake3::hash(id.as_bytes()).to_hex()[..32].to_owned()
}

/// The id under which it is kept that something was taken back.
pub fn withdrawal_key(of: Kind, id: &str) -> String {
    format!("{}:{id}", of.name())
}

/// An event of the log.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Its position: 1, 2, 3, … in order of commit, without holes.
    pub seq: u64,
    /// The catalog.
    pub catalog: CatalogId,
    /// Whose; none for nobody's, and where it was erased.
    pub context: Option<String>,
    /// Its kind.
    pub kind: Kind,
    /// Unique among its kind in its catalog.
    pub id: String,
    /// What was presented and chosen; none where it was erased, and for an erasure.
    pub body: Option<Body>,
    /// When, in milliseconds since 1970.
    pub time: i64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_short_json_and_read_again() {
        let plain = Body::chosen(&["soup", "salad"], "soup");
        let text = serde_json::to_string(&plain).unwrap();
        assert_eq!(text, r#"{"presented":["soup","salad"],"chosen":["soup"]}"#);
        let declined = Body { declinable: true, outcome: Outcome::None, weight: 0.5, ..plain.clone() };
        let text = serde_json::to_string(&declined).unwrap();
        assert_eq!(text, r#"{"presented":["soup","salad"],"declinable":true,"none":true,"weight":0.5}"#);
        assert_eq!(serde_json::from_str::<Body>(&text).unwrap(), declined);
        assert!(plain.check().is_ok() && declined.check().is_ok());
    }

    /// Digits that a hasty reader of JSON gets wrong in the last place: the same again was another outcome then, and was refused.
    #[test]
    fn weights_are_read_again_to_the_bit() {
        for weight in [0.933_639_526_367_187_5, 946.180_204_391_479_5, 2_481_508_922.163_800_2, 4_294_967_295.999_999_5] {
            let body = Body { weight, ..Body::chosen(&["soup", "salad"], "soup") };
            let text = serde_json::to_string(&body).unwrap();
            assert_eq!(serde_json::from_str::<Body>(&text).unwrap(), body);
        }
    }

    #[test]
    fn bodies_that_are_none_are_refused() {
        let plain = Body::chosen(&["a", "b"], "a");
        let with = |change: fn(&mut Body)| {
            let mut body = plain.clone();
            change(&mut body);
            body.check().unwrap_err()
        };
        assert_eq!(with(|body| body.presented.clear()), BodyError::Presented { count: 0 });
        assert_eq!(with(|body| body.presented.push("a".into())), BodyError::Twice { name: "a".into() });
        assert!(matches!(with(|body| body.presented.push(String::new())), BodyError::Name { .. }));
        assert!(matches!(with(|body| body.presented.push("\u{e000}".into())), BodyError::Name { .. }));
        assert_eq!(with(|body| body.outcome = Outcome::Chosen(vec!["c".into()])), BodyError::NotPresented { name: "c".into() });
        assert_eq!(with(|body| body.outcome = Outcome::Tied(vec![])), BodyError::Nothing);
        assert!(serde_json::from_str::<Body>(r#"{"presented":["a"],"none":false}"#).is_err());
        assert!(serde_json::from_str::<Body>(r#"{"presented":["a"],"chosen":["a"],"tied":["a"]}"#).is_err());
        assert_eq!(with(|body| body.weight = 0.0), BodyError::Weight { weight: 0.0 });
        assert!(matches!(with(|body| body.weight = f64::NAN), BodyError::Weight { .. }));
    }
}
