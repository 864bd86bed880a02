//! What a client sent, and what was acknowledged to it; and how that is compared with what the server exports.

use std::collections::HashMap;
use std::fmt;
use std::ops::Add;

use serde_json::{Value, json};

use super::caller::Caller;
use super::client::Client;

/// An outcome of a presentation, or one from elsewhere.
#[derive(Clone, Debug)]
pub(crate) struct Said {
    pub(crate) id: String,
    /// Of a presentation; none for one from elsewhere.
    pub(crate) token: Option<String>,
    pub(crate) context: Option<String>,
    pub(crate) presented: Vec<String>,
    /// An object with `chosen`, `tied` or `none`.
    pub(crate) outcome: Value,
    pub(crate) weight: f64,
}

impl Said {
    pub(crate) fn kind(&self) -> &'static str {
        if self.token.is_some() { "choice" } else { "import" }
    }

    /// As it is exported, but for its position and time.
    fn row(&self) -> Value {
        let mut row = json!({ "kind": self.kind(), "id": self.id, "presented": self.presented, "count": self.weight });
        if let Some(context) = &self.context {
            row["context"] = json!(context);
        }
        match (self.outcome.get("chosen"), self.outcome.get("tied")) {
            (Some(chosen), _) => row["chosen"] = chosen.clone(),
            (None, Some(tied)) => row["tied"] = tied.clone(),
            (None, None) => row["chosen"] = Value::Null,
        }
        row
    }
}

/// Something that was acknowledged, and where it is for ever.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    pub(crate) said: Said,
    pub(crate) seq: u64,
    /// Where it was withdrawn.
    pub(crate) withdrawn: Option<u64>,
}

/// Something that was sent and to which no answer came.
#[derive(Clone, Debug)]
pub(crate) enum Request {
    Choice(Said),
    /// Recorded all together, or not at all.
    Import(Vec<Said>),
    /// Of what is there in the list of what was acknowledged.
    Withdrawal(usize),
}

/// A request on its way.
#[derive(Clone, Debug)]
pub(crate) struct Unsure {
    pub(crate) request: Request,
    /// Where it was found after a restart, in order; nothing if it was not, or not looked for.
    pub(crate) found: Vec<u64>,
}

/// How much of what was acknowledged.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Figures {
    pub(crate) choices: u64,
    pub(crate) imports: u64,
    pub(crate) withdrawals: u64,
    pub(crate) repeats: u64,
    pub(crate) conflicts: u64,
    /// Choices with a token from before a kill.
    pub(crate) from_before: u64,
    /// Requests to which no answer came, found in the log after the kill; and not found.
    pub(crate) found: u64,
    pub(crate) not_found: u64,
}

impl Add for Figures {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            choices: self.choices + other.choices,
            imports: self.imports + other.imports,
            withdrawals: self.withdrawals + other.withdrawals,
            repeats: self.repeats + other.repeats,
            conflicts: self.conflicts + other.conflicts,
            from_before: self.from_before + other.from_before,
            found: self.found + other.found,
            not_found: self.not_found + other.not_found,
        }
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { choices, imports, withdrawals, repeats, conflicts, from_before, found, not_found } = self;
        let acknowledged = choices + imports + withdrawals;
        write!(f, "{acknowledged} acknowledged ({choices} choices, {from_before} of them with tokens from before a kill, ")?;
        write!(f, "{imports} imported, {withdrawals} withdrawals), {repeats} repeats, {conflicts} conflicts, ")?;
        write!(f, "{} without an answer of which {found} were in the log", found + not_found)
    }
}

/// The log as it is exported: by kind and id, where it is and what it says.
struct Exported(HashMap<(String, String), (u64, Value)>);

impl Exported {
    fn of(caller: &Caller) -> Result<Self, String> {
        let rows = caller.exported()?;
        let mut held = HashMap::with_capacity(rows.len());
        for (mut row, place) in rows.into_iter().zip(1..) {
            let fields = row.as_object_mut().ok_or("no object")?;
            let seq = fields.remove("seq").and_then(|seq| seq.as_u64());
            if seq != Some(place) {
                return Err(format!("a hole: {seq:?} is at place {place}"));
            }
            fields.remove("time").ok_or("no time")?;
            let text = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
            let key = (text("kind"), text("id"));
            if let Some((first, _)) = held.insert(key, (place, row.clone())) {
                return Err(format!("{row} is there twice, at {first} and {place}"));
            }
        }
        Ok(Self(held))
    }

    /// Where something is; it is taken out, as all that is expected.
    fn take(&mut self, kind: &str, said: &Said) -> Result<Option<u64>, String> {
        let Some((seq, found)) = self.0.remove(&(kind.to_owned(), said.id.clone())) else { return Ok(None) };
        let mut expected = said.row();
        expected["kind"] = json!(kind);
        // What takes something back counts for nothing by itself.
        if kind == "withdrawal" {
            expected["count"] = json!(0.0);
        }
        if found == expected { Ok(Some(seq)) } else { Err(format!("{expected} is there as {found}")) }
    }

    fn expect(&mut self, kind: &str, said: &Said, seq: u64) -> Result<(), String> {
        match self.take(kind, said)? {
            Some(found) if found == seq => Ok(()),
            Some(found) => Err(format!("{kind} {} was acknowledged at {seq}, and is at {found}", said.id)),
            None => Err(format!("{kind} {} was acknowledged at {seq}, and is lost", said.id)),
        }
    }
}

/// Whether everything acknowledged is there, once and where it was said to be; what no answer came to is there wholly or not at all; and there
/// is nothing else. Notes for each client what of the latter was found.
pub(crate) fn compare(caller: &Caller, clients: &mut [Client]) -> Result<(), String> {
    let mut exported = Exported::of(caller)?;
    for client in clients {
        for kept in &client.kept {
            exported.expect(kept.said.kind(), &kept.said, kept.seq)?;
            if let Some(seq) = kept.withdrawn {
                exported.expect("withdrawal", &kept.said, seq)?;
            }
        }
        let Some(Unsure { request, found }) = &mut client.unsure else { continue };
        let places: Vec<Option<u64>> = match request {
            Request::Choice(said) => vec![exported.take("choice", said)?],
            Request::Import(rows) => rows.iter().map(|said| exported.take("import", said)).collect::<Result<_, _>>()?,
            Request::Withdrawal(of) => vec![exported.take("withdrawal", &client.kept[*of].said)?],
        };
        *found = places.iter().copied().flatten().collect();
        if !found.is_empty() && found.len() != places.len() {
            return Err(format!("half of it is there: {places:?} of {request:?}"));
        }
        if found.is_empty() { client.figures.not_found += 1 } else { client.figures.found += 1 }
    }
    match exported.0.values().next() {
        Some((seq, row)) => Err(format!("nobody sent what is at {seq}: {row}")),
        None => Ok(()),
    }
}
