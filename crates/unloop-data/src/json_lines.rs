//! Records of a JSON Lines file: one object on each line.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt;
use std::io::{BufRead, Read};

use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

use crate::cell::Cell;
use crate::error::{Outcome, Problem, excerpt, refuse};

/// Longest line, in bytes.
const MAX_LINE: u64 = 1 << 22;
/// Bad lines that may come before the first object.
const MOST_BAD: usize = 100;
/// Fields that may be missing in the first object and come later.
const OPTIONAL: [&str; 5] = ["tied", "count", "weight", "user", "time"];

pub(crate) struct JsonRecords {
    input: Box<dyn BufRead + Send>,
    header: Vec<String>,
    /// Values of the object, by place in the header; null where it has none.
    values: Vec<Value>,
    text: Vec<u8>,
    line: u64,
    /// Lines that were read for the fields of the first object, with their numbers, and not yet handed out.
    pending: VecDeque<(u64, Vec<u8>)>,
    /// Fields that were asked for, by place in the header, and were in no object so far.
    missing: Vec<usize>,
}

impl JsonRecords {
    /// A file and the fields of its first object, with those that may come later. `wanted` are fields that were asked for; two may be
    /// joined by a comma. `also` are fields that may come or not.
    pub(crate) fn new(input: Box<dyn BufRead + Send>, wanted: &[&str], also: &[String]) -> Outcome<(Self, Vec<String>)> {
        let mut records = Self {
            input,
            header: Vec::new(),
            values: Vec::new(),
            text: Vec::new(),
            line: 0,
            pending: VecDeque::new(),
            missing: Vec::new(),
        };
        let first = records.first_object()?;
        let mut header: Vec<String> = first.keys().cloned().collect();
        let has = |name: &str| first.keys().any(|key| key.eq_ignore_ascii_case(name));
        // Without a set of options presented, the answer is a ranking or the winner of a battle.
        let answer = if has("presented") && !has("ranking") { "chosen" } else { "winner" };
        let answered = has("ranking") || wanted.iter().any(|name| first.contains_key(*name));
        let wanted = wanted.iter().flat_map(|&name| match name.split_once(',') {
            Some((a, b)) if !first.contains_key(name) => vec![a.trim(), b.trim()],
            _ => vec![name],
        });
        let wanted: Vec<&str> = wanted.collect();
        for name in OPTIONAL.into_iter().chain(also.iter().map(String::as_str)).filter(|name| !wanted.contains(name)) {
            if !header.iter().any(|own| own.eq_ignore_ascii_case(name)) {
                header.push(name.to_owned());
            }
        }
        if !answered && !has(answer) {
            // One that never comes is misspelt in every object.
            records.missing.push(header.len());
            header.push(answer.into());
        }
        for name in wanted {
            if !header.iter().any(|field| field == name) {
                records.missing.push(header.len());
                header.push(name.into());
            }
        }
        records.header.clone_from(&header);
        Ok((records, header))
    }

    /// The first line that is an object. Those before it are bad, and come to be told so when they are handed out.
    fn first_object(&mut self) -> Outcome<serde_json::Map<String, Value>> {
        let mut error = Problem::NoHeader;
        while self.pending.len() < MOST_BAD && self.next_line()? {
            self.pending.push_back((self.line, self.text.clone()));
            match serde_json::from_slice(&self.text) {
                Ok(first) => return Ok(first),
                Err(bad) if self.pending.len() == 1 => error = Problem::Json { message: bad.to_string() },
                Err(_) => {}
            }
        }
        refuse(error)
    }

    /// Goes to the next object; false after the last. A line that is no object is an error, and the one after it comes next.
    pub(crate) fn next(&mut self) -> Outcome<bool> {
        if let Some((line, text)) = self.pending.pop_front() {
            (self.line, self.text) = (line, text);
        } else if !self.next_line()? {
            return match self.missing.first() {
                None => Ok(false),
                Some(&place) => {
                    let name = self.header[place].clone();
                    let found = self.header.iter().enumerate().filter(|(i, _)| !self.missing.contains(i));
                    let found = found.map(|(_, name)| name.clone()).filter(|name| !OPTIONAL.contains(&name.as_str())).collect();
                    // Said once.
                    self.missing.clear();
                    refuse(Problem::NoColumn { name, found })
                }
            };
        }
        self.values.clear();
        self.values.resize(self.header.len(), Value::Null);
        let mut reader = serde_json::Deserializer::from_slice(&self.text);
        let fields = Fields { header: &self.header, values: &mut self.values, strange: None };
        let read = fields.deserialize(&mut reader).and_then(|strange| reader.end().map(|()| strange));
        let strange = read.map_err(|error| Problem::Json { message: error.to_string() })?;
        // Without an answer, a field that is nearly the answer's is one that was misspelt.
        let is_empty = |name: &str| self.header.iter().zip(&self.values).any(|(own, value)| own == name && value.is_null());
        if let Some((name, meant)) = strange.filter(|(_, meant)| is_empty(meant)) {
            return refuse(Problem::Misspelt { name, meant });
        }
        self.missing.retain(|&place| self.values[place].is_null());
        Ok(true)
    }

    /// The next line that is not blank.
    fn next_line(&mut self) -> Outcome<bool> {
        loop {
            self.text.clear();
            let read = (&mut self.input).take(MAX_LINE).read_until(b'\n', &mut self.text).map_err(Problem::Io)?;
            self.line += 1;
            if read == 0 {
                return Ok(false);
            }
            if read as u64 == MAX_LINE && !self.text.ends_with(b"\n") {
                return refuse(Problem::LongRecord { bytes: MAX_LINE as usize });
            }
            if self.text.iter().any(|byte| !byte.is_ascii_whitespace()) {
                return Ok(true);
            }
        }
    }

    pub(crate) fn line(&self) -> u64 {
        self.line
    }

    pub(crate) fn cell(&self, column: usize) -> Outcome<Cell<'_>> {
        match &self.values[column] {
            Value::Null => Ok(Cell::Empty),
            Value::String(text) => Ok(Cell::text(text)),
            Value::Number(number) => Ok(Cell::Text(Cow::Owned(number.to_string()))),
            Value::Bool(flag) => Ok(Cell::Text(Cow::Borrowed(if *flag { "true" } else { "false" }))),
            Value::Array(values) => values.iter().map(borrowed_name).collect::<Option<_>>().map(Cell::List).ok_or_else(|| {
                Problem::Kind { value: excerpt(&self.values[column].to_string()), expected: "a list of names" }.into()
            }),
            Value::Object(_) => refuse(Problem::Kind {
                value: excerpt(&self.values[column].to_string()),
                expected: "a text, a number or a list of names",
            }),
        }
    }
}

/// A value as the name of an option.
pub(crate) fn name(value: &Value) -> Option<String> {
    borrowed_name(value).map(Cow::into_owned)
}

fn borrowed_name(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::String(text) => Some(Cow::Borrowed(text)),
        Value::Number(number) => Some(Cow::Owned(number.to_string())),
        _ => None,
    }
}

/// Reads the wanted fields of an object and leaves out the others.
struct Fields<'a> {
    header: &'a [String],
    values: &'a mut [Value],
    /// A field that is nearly one that holds answers, and that one.
    strange: Option<(String, &'static str)>,
}

/// Fields that hold answers.
const ANSWERS: [&str; 3] = ["chosen", "winner", "ranking"];

/// Whether a name is another but for capitals, or one letter too many, too few or wrong.
fn is_near(name: &str, other: &str) -> bool {
    let (name, other) = (name.to_ascii_lowercase(), other.to_ascii_lowercase());
    let (a, b) = (name.as_bytes(), other.as_bytes());
    let front = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let back = a.iter().rev().zip(b.iter().rev()).take_while(|(x, y)| x == y).count();
    let (longer, shorter) = (a.len().max(b.len()), a.len().min(b.len()));
    longer - shorter <= 1 && front + back + 1 >= longer
}

impl<'de> DeserializeSeed<'de> for Fields<'_> {
    type Value = Option<(String, &'static str)>;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Fields<'_> {
    type Value = Option<(String, &'static str)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Self::Value, A::Error> {
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            if let Some(column) = self.header.iter().position(|name| *name == key) {
                self.values[column] = map.next_value()?;
            } else {
                let meant = ANSWERS.iter().find(|answer| is_near(&key, answer));
                self.strange = self.strange.or_else(|| meant.map(|&meant| (key.to_string(), meant)));
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(self.strange)
    }
}
