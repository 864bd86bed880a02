//! Which columns say what: the form of a file, from its header.

use crate::error::Problem;
use crate::rows::ReadSettings;

/// Sides of a battle, as column names and winners have them.
const SIDES: [(&str, &str); 7] =
    [("a", "b"), ("1", "2"), ("left", "right"), ("first", "second"), ("home", "away"), ("x", "y"), ("one", "two")];
/// What is compared, where several pairs of columns have sides; the earliest here wins.
const SUBJECTS: [&str; 10] = ["model", "option", "player", "team", "item", "competitor", "system", "name", "id", ""];

/// Where a file has what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    pub(crate) presented: Presented,
    pub(crate) answer: AnswerColumn,
    pub(crate) tied: Option<usize>,
    pub(crate) count: Option<usize>,
    /// Where the count is, if the former is empty.
    pub(crate) weight: Option<usize>,
    pub(crate) user: Option<usize>,
    pub(crate) time: Option<usize>,
    pub(crate) group: Option<usize>,
    pub(crate) also: Vec<Option<usize>>,
}

/// Where the presented options are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Presented {
    /// Names joined, or a list.
    Set(usize),
    /// One competitor in each of two columns, with the words for its side.
    Pair([Side; 2]),
    /// Those that are ranked.
    Ranked,
}

/// A side of a battle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Side {
    pub(crate) column: usize,
    /// What a winner may be called, in lower case: the column, and the side.
    pub(crate) words: [String; 2],
}

/// Where the answer is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AnswerColumn {
    Chosen(usize),
    Winner(usize),
    Ranking(usize),
}

impl Layout {
    /// The form of a file with these columns.
    ///
    /// # Errors
    /// If they say nothing of choices, or more than one thing.
    pub fn new(header: &[String], settings: &ReadSettings) -> Result<Self, Problem> {
        for name in ["presented", "chosen", "winner", "ranking", "count"] {
            let alike = header.iter().filter(|column| column.eq_ignore_ascii_case(name)).count();
            let same = header.iter().filter(|column| *column == name).count();
            if alike > 1 && same != 1 {
                return Err(Problem::RepeatedColumn { name: name.into() });
            }
        }
        let named = |name: &str| header.iter().position(|column| column == name);
        let wanted = |name: &str| named(name).ok_or_else(|| Problem::NoColumn { name: name.into(), found: header.to_vec() });
        // Capitals do not matter where nobody said what to look for.
        let known = |name: &str| named(name).or_else(|| header.iter().position(|column| column.eq_ignore_ascii_case(name)));

        let presented = match settings.presented.as_deref() {
            Some(name) => Some(match (named(name), name.split_once(',')) {
                (Some(column), _) => Presented::Set(column),
                (None, Some((a, b))) => Presented::Pair(sides(header, wanted(a.trim())?, wanted(b.trim())?)),
                (None, None) => return Err(Problem::NoColumn { name: name.into(), found: header.to_vec() }),
            }),
            None => known("presented").map(Presented::Set),
        };
        let chosen = settings.chosen.as_deref().map(wanted).transpose()?;
        let winner = chosen.or_else(|| known("winner"));
        let (presented, answer) = match (presented, chosen.or_else(|| known("chosen")), known("ranking")) {
            (Some(pair @ Presented::Pair(_)), chosen, _) => (pair, winner.or(chosen).map(AnswerColumn::Winner)),
            (Some(set), Some(chosen), _) => (set, Some(AnswerColumn::Chosen(chosen))),
            (Some(set), None, Some(ranking)) => (set, Some(AnswerColumn::Ranking(ranking))),
            (Some(set), None, None) => (set, known("winner").map(AnswerColumn::Chosen)),
            (None, _, Some(ranking)) if winner.is_none() => (Presented::Ranked, Some(AnswerColumn::Ranking(ranking))),
            (None, chosen, _) => match (winner.or(chosen), competitors(header)?) {
                (Some(winner), Some([a, b])) => (Presented::Pair(sides(header, a, b)), Some(AnswerColumn::Winner(winner))),
                _ => return Err(Problem::NoColumns { found: header.to_vec() }),
            },
        };
        let Some(answer) = answer else { return Err(Problem::NoColumns { found: header.to_vec() }) };
        Ok(Self {
            presented,
            answer,
            tied: known("tied"),
            count: known("count"),
            weight: known("weight"),
            user: known("user").filter(|_| settings.details),
            time: known("time").filter(|_| settings.details),
            group: settings.group.as_deref().map(wanted).transpose()?,
            also: settings
                .also
                .iter()
                .map(|name| if settings.required.contains(name) { wanted(name).map(Some) } else { Ok(known(name)) })
                .collect::<Result<_, _>>()?,
        })
    }
}

/// The pair of columns that hold competitors, if there is one.
fn competitors(header: &[String]) -> Result<Option<[usize; 2]>, Problem> {
    let mut pairs = Vec::new();
    for (i, a) in header.iter().enumerate() {
        for (j, b) in header.iter().enumerate() {
            if let Some(subject) = subject(a, b) {
                pairs.push((SUBJECTS.iter().position(|known| *known == subject), [i, j]));
            }
        }
    }
    let best = pairs.iter().filter_map(|&(place, _)| place).min();
    let mut likely = pairs.iter().filter(|(place, _)| *place == best);
    match (likely.next(), likely.next()) {
        (None, _) => Ok(None),
        (Some((_, pair)), None) => Ok(Some(*pair)),
        _ => {
            let names =
                pairs.iter().filter(|(place, _)| *place == best).map(|(_, [i, j])| format!("{},{}", header[*i], header[*j]));
            Err(Problem::Pairs { pairs: names.collect() })
        }
    }
}

/// What two columns compare, if their names differ by a side alone: `model` for `model_a` and `model_b`.
fn subject(a: &str, b: &str) -> Option<String> {
    let (a, b) = (a.to_lowercase(), b.to_lowercase());
    SIDES.iter().find_map(|&(left, right)| {
        let rest = without(&a, left)?;
        (without(&b, right)? == rest).then_some(rest)
    })
}

/// A name without the side at its end or start.
fn without(name: &str, side: &str) -> Option<String> {
    let is_joint = |c: char| matches!(c, '_' | '-' | ' ' | '.');
    let rest = match name.strip_suffix(side) {
        Some(rest) => rest,
        // `left_model`, but not `answer` for a side `a`.
        None => name.strip_prefix(side).filter(|rest| rest.starts_with(is_joint))?,
    };
    // `modela` and `player1` have no joint; `data` is not the side `a` of `dat`: the other column has to agree.
    Some(rest.trim_matches(is_joint).to_owned())
}

fn sides(header: &[String], a: usize, b: usize) -> [Side; 2] {
    let (left, right) = (header[a].to_lowercase(), header[b].to_lowercase());
    let named = SIDES.iter().find(|(x, y)| without(&left, x).is_some() && without(&left, x) == without(&right, y));
    let (x, y) = named.copied().unwrap_or(("a", "b"));
    [Side { column: a, words: [left, x.into()] }, Side { column: b, words: [right, y.into()] }]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(header: &str) -> Result<Layout, Problem> {
        Layout::new(&header.split(',').map(str::to_owned).collect::<Vec<_>>(), &ReadSettings::default())
    }

    fn pair(header: &str) -> [usize; 2] {
        match layout(header).expect("a layout").presented {
            Presented::Pair([a, b]) => [a.column, b.column],
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn battles_are_found_in_the_forms_people_have() {
        assert_eq!(pair("model_a,model_b,winner"), [0, 1]);
        assert_eq!(pair("question_id,model_b,model_a,winner,judge"), [2, 1]);
        assert_eq!(pair("left,right,winner"), [0, 1]);
        assert_eq!(pair("Player1,Player2,Winner"), [0, 1]);
        assert_eq!(pair("home_team,away_team,winner"), [0, 1]);
        assert_eq!(pair("left_model,right_model,winner"), [0, 1]);
        assert_eq!(pair("model_a,model_b,prompt,response_a,response_b,winner"), [0, 1]);
        assert_eq!(pair("winner,A,B"), [1, 2]);
    }

    #[test]
    fn canonical_columns_come_first() {
        let found = layout("presented,chosen,count,user,time").expect("a layout");
        assert_eq!((found.presented, found.answer), (Presented::Set(0), AnswerColumn::Chosen(1)));
        assert_eq!((found.count, found.user, found.time), (Some(2), Some(3), Some(4)));
        let found = layout("ranking,count").expect("a layout");
        assert_eq!((found.presented, found.answer), (Presented::Ranked, AnswerColumn::Ranking(0)));
    }

    #[test]
    fn columns_that_say_nothing_are_refused() {
        assert!(matches!(layout("id,score"), Err(Problem::NoColumns { .. })));
        assert!(matches!(layout("model_a,model_b"), Err(Problem::NoColumns { .. })));
        assert!(matches!(layout("presented,count"), Err(Problem::NoColumns { .. })));
        assert!(matches!(layout("foo_a,foo_b,bar_a,bar_b,winner"), Err(Problem::Pairs { .. })));
        assert!(matches!(layout("presented,presented,chosen"), Err(Problem::RepeatedColumn { .. })));
    }
}
