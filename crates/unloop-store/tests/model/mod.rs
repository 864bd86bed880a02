//! What a log is, in as few words as possible: the judge of the real one.

use std::collections::BTreeMap;

use unloop_store::{Appended, Body, CatalogId, Entry, Fold, Kind, NO_CHOICE, Outcome, What};

pub(crate) const LUNCH: CatalogId = CatalogId(1);
pub(crate) const CONTEXTS: [&str; 4] = ["ada", "bob", "cy", "dee"];
pub(crate) const MENU: [&str; 5] = ["soup", "salad", "curry", "ramen", "sushi"];

/// Sets that were presented, and options that were chosen, with their weights in units of 2⁻²⁰.
pub(crate) type Counts = (BTreeMap<Vec<String>, i64>, BTreeMap<String, i64>);

/// Kind, id, whose, and what.
type Said = (Kind, String, Option<String>, Body);

#[derive(Default)]
pub(crate) struct Model {
    /// Whose, and what; none where it was erased, and for an erasure.
    log: Vec<Option<Said>>,
    seen: BTreeMap<(Kind, String), usize>,
}

impl Model {
    pub(crate) fn seq(&self) -> u64 {
        self.log.len() as u64
    }

    pub(crate) fn append(&mut self, entry: &Entry) -> Appended {
        let (kind, id, context, body) = match &entry.what {
            What::Choice { id, body } => (Kind::Choice, id.clone(), entry.context.clone(), body.clone()),
            What::Import { id, body } => {
                (Kind::Import, id.clone(), entry.context.clone(), Body { source: Some(id.clone()), ..body.clone() })
            }
            What::Withdrawal { of, id } => {
                let Some(&place) = self.seen.get(&(*of, id.clone())) else { return Appended::Unknown };
                let Some((_, _, context, body)) = self.log[place].clone() else {
                    return Appended::Gone { seq: place as u64 + 1 };
                };
                (Kind::Withdrawal, format!("{of:?}{id}"), context, body)
            }
        };
        if let Some(&place) = self.seen.get(&(kind, id.clone())) {
            let seq = place as u64 + 1;
            return match self.log[place].clone() {
                None => Appended::Gone { seq },
                Some((_, _, own, first)) if own == context && first == body => Appended::Repeated { seq, first },
                Some((.., first)) => Appended::Conflict { seq, first },
            };
        }
        self.seen.insert((kind, id.clone()), self.log.len());
        self.log.push(Some((kind, id, context, body)));
        Appended::Recorded { seq: self.seq() }
    }

    pub(crate) fn erase(&mut self, name: &str) -> Option<u64> {
        let mut found = false;
        for event in &mut self.log {
            if event.as_ref().is_some_and(|(_, _, context, _)| context.as_deref() == Some(name)) {
                (*event, found) = (None, true);
            }
        }
        found.then(|| self.log.push(None)).map(|()| self.seq())
    }

    pub(crate) fn counts(&self, context: Option<&str>) -> Counts {
        let mut counts = Counts::default();
        for (kind, _, own, body) in self.log.iter().flatten() {
            if context.is_some() && own.as_deref() != context {
                continue;
            }
            let weight = (body.weight * 1_048_576.0) as i64 * if *kind == Kind::Withdrawal { -1 } else { 1 };
            let mut set = body.presented.clone();
            set.extend(body.declinable.then(|| NO_CHOICE.to_string()));
            set.sort();
            let parts: Vec<(String, i64)> = match &body.outcome {
                Outcome::Chosen(names) => names.iter().map(|name| (name.clone(), weight)).collect(),
                Outcome::None => body.declinable.then(|| (NO_CHOICE.to_string(), weight)).into_iter().collect(),
                Outcome::Tied(names) => {
                    let mut names = names.clone();
                    names.sort();
                    let (n, sign) = (i64::try_from(names.len()).expect("few"), weight.signum());
                    let part = |i: i64| sign * (weight.abs() / n + i64::from(i < weight.abs() % n));
                    names.into_iter().zip(0..).map(|(name, i)| (name, part(i))).collect()
                }
            };
            for (name, weight) in parts {
                *counts.0.entry(set.clone()).or_default() += weight;
                *counts.1.entry(name).or_default() += weight;
            }
        }
        counts.0.retain(|_, count| *count != 0);
        counts.1.retain(|_, count| *count != 0);
        counts
    }
}

/// The same of a fold.
pub(crate) fn counts_of(fold: &Fold) -> Counts {
    let name = |option| fold.options().name(option).expect("a name").to_owned();
    let units = |count: f64| (count * 1_048_576.0) as i64;
    let sets = fold.statistics().iter().map(|(members, count)| {
        let mut names: Vec<String> = members.iter().map(|&option| name(option)).collect();
        names.sort();
        (names, units(count))
    });
    let chosen = fold.options().iter().map(|(option, name)| (name.to_owned(), units(fold.statistics().chosen(option))));
    (sets.collect(), chosen.filter(|(_, count)| *count != 0).collect())
}
