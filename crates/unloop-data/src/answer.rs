//! What a cell says was chosen: an option, several, a tie, a winner, a ranking.

use unloop::{OptionId, Options};

use crate::cell::{Cell, split};
use crate::choices::MAX_TIED;
use crate::error::{Outcome, Problem, excerpt, refuse};
use crate::layout::Side;
use crate::rows::Answer;

/// The options of a row as they are read. Names not seen before get the indices they will have once the row is known to be good.
pub(crate) struct Members<'a> {
    pub(crate) options: &'a Options,
    pub(crate) presented: &'a mut Vec<OptionId>,
    pub(crate) new: &'a mut Vec<String>,
}

impl Members<'_> {
    pub(crate) fn add(&mut self, name: &str) -> Outcome<()> {
        let known = self.id(name);
        if known.is_some_and(|id| self.presented.contains(&id)) {
            return refuse(Problem::Repeated { name: excerpt(name) });
        }
        let id = if let Some(id) = known {
            id
        } else {
            Options::check_name(name).map_err(|error| Problem::Name { error })?;
            self.new.push(name.into());
            OptionId::new((self.options.len() + self.new.len() - 1) as u32)
        };
        self.presented.push(id);
        Ok(())
    }

    pub(crate) fn add_all(&mut self, cell: &Cell<'_>, separator: &str) -> Outcome<()> {
        cell.for_each_name(separator, |name| self.add(name))?;
        if self.presented.is_empty() { refuse(Problem::NothingPresented) } else { Ok(()) }
    }

    fn id(&self, name: &str) -> Option<OptionId> {
        let new = |place| OptionId::new((self.options.len() + place) as u32);
        self.options.get(name).or_else(|| self.new.iter().position(|known| known == name).map(new))
    }

    /// The presented option of this name.
    fn get(&self, name: &str) -> Option<OptionId> {
        self.id(name).filter(|id| self.presented.contains(id))
    }

    fn name(&self, id: OptionId) -> &str {
        self.options.name(id).or_else(|| Some(self.new.get(id.index() - self.options.len())?.as_str())).unwrap_or_default()
    }

    fn not_presented(&self, name: &str) -> Problem {
        let presented = self.presented.iter().map(|&id| self.name(id).to_owned()).collect();
        Problem::NotPresented { value: excerpt(name), presented }
    }

    /// Some of what was presented, each once.
    fn some(&self, cell: &Cell<'_>, separator: &str) -> Outcome<Vec<OptionId>> {
        let mut chosen = Vec::new();
        cell.for_each_name(separator, |name| {
            let id = self.get(name).ok_or_else(|| self.not_presented(name))?;
            if chosen.contains(&id) {
                return refuse(Problem::Repeated { name: excerpt(name) });
            }
            chosen.push(id);
            Ok(())
        })?;
        Ok(chosen)
    }
}

/// One of the presented options, several of them, or nothing.
pub(crate) fn chosen(cell: &Cell<'_>, separator: &str, members: &Members<'_>) -> Outcome<Answer> {
    if let Cell::Text(text) = cell
        && let Some(id) = members.get(text)
    {
        return Ok(Answer::Chosen(id));
    }
    let mut chosen = members.some(cell, separator)?;
    Ok(match chosen.len() {
        0 => Answer::Nothing,
        1 => Answer::Chosen(chosen.remove(0)),
        _ => Answer::Several(chosen),
    })
}

/// Options at equal parts, beside an answer that must not say something else.
pub(crate) fn tied(cell: &Cell<'_>, separator: &str, members: &Members<'_>, answer: &Answer) -> Outcome<Answer> {
    let tied = members.some(cell, separator)?;
    if *answer != Answer::Nothing && !tied.is_empty() {
        let value = tied.iter().map(|&id| members.name(id)).collect::<Vec<_>>().join(separator);
        return refuse(Problem::Kind {
            value: excerpt(&value),
            expected: "possible beside a choice: a row has one or the other",
        });
    }
    Ok(if tied.is_empty() { answer.clone() } else { Answer::Tied(tied) })
}

/// Whether a cell says yes or no, as a column `tied` of battles does.
pub(crate) fn flag(cell: &Cell<'_>) -> Option<bool> {
    let Cell::Text(text) = cell else { return None };
    match text.trim().to_ascii_lowercase().as_str() {
        "true" | "yes" | "1" | "1.0" => Some(true),
        "false" | "no" | "0" | "0.0" => Some(false),
        _ => None,
    }
}

/// The winner of a battle: a name, a side, a tie, or nothing.
pub(crate) fn winner(cell: &Cell<'_>, sides: &[Side; 2], members: &Members<'_>) -> Outcome<Answer> {
    let Cell::Text(text) = cell else {
        return cell.one().map(|_| Answer::Nothing);
    };
    let pair = [members.presented[0], members.presented[1]];
    let word = text.trim().to_lowercase();
    let by_name = pair.iter().copied().find(|&id| *members.name(id) == **text);
    let by_side = sides.iter().zip(pair).find(|(side, _)| side.words.contains(&word)).map(|(_, id)| id);
    match (by_name, by_side) {
        (Some(name), Some(side)) if name != side => {
            return refuse(Problem::Kind {
                value: format!("{:?}", excerpt(text)),
                expected: "clear: it names one competitor and the side of the other",
            });
        }
        (Some(id), _) | (None, Some(id)) => return Ok(Answer::Chosen(id)),
        (None, None) => {}
    }
    if is_tie(&word) {
        return Ok(Answer::AllTied);
    }
    if word.is_empty() {
        return Ok(Answer::Nothing);
    }
    let known = pair.iter().map(|&id| members.name(id).to_owned()).chain(sides.iter().map(|side| side.words[0].clone()));
    refuse(Problem::Winner { value: excerpt(text), known: known.collect() })
}

/// `tie`, `tie (bothbad)`, `draw`, `both bad` and the like.
fn is_tie(word: &str) -> bool {
    let first = word.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    matches!(first, "tie" | "tied" | "ties" | "draw" | "drawn" | "equal" | "both" | "bothbad" | "bothgood")
}

/// `a>b>c`, where `=` ties neighbours, or a list. The ranked options are what was presented, unless that is said elsewhere.
pub(crate) fn ranking(cell: &Cell<'_>, presents: bool, members: &mut Members<'_>) -> Outcome<Answer> {
    let mut places: Vec<Vec<OptionId>> = Vec::new();
    let mut place = |names: &mut dyn Iterator<Item = &str>| -> Outcome<()> {
        let mut tied = Vec::new();
        for name in names {
            if presents {
                members.add(name)?;
            }
            let id = members.get(name).ok_or_else(|| members.not_presented(name))?;
            if tied.contains(&id) || places.iter().flatten().any(|&other| other == id) {
                return refuse(Problem::Repeated { name: excerpt(name) });
            }
            tied.push(id);
        }
        if tied.len() > MAX_TIED {
            return refuse(Problem::ManyTied { count: tied.len(), most: MAX_TIED });
        }
        places.push(tied);
        Ok(())
    };
    match cell {
        Cell::Empty => {}
        Cell::List(names) => names.iter().try_for_each(|name| place(&mut std::iter::once(&**name)))?,
        Cell::Text(text) => {
            for level in split(text, ">") {
                let names: Vec<_> = split(&level, "=").collect();
                place(&mut names.iter().map(|name| name.trim()))?;
            }
        }
    }
    match places.is_empty() {
        true if presents => refuse(Problem::NothingPresented),
        true => Ok(Answer::Nothing),
        false => Ok(Answer::Ranked(places)),
    }
}
