//! A row of a file as entries of the log.

use anyhow::Result;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use unloop::{OptionId, Options};
use unloop_data::{Answer, CountSettings, Row, for_each_choice};
use unloop_store::{Body, CatalogId, Entry, Outcome, What, check_context};

use crate::failure::failure;

/// Options of a ranking at most.
const MOST_RANKED: usize = 200;

/// What is the same for all rows of a file.
pub(super) struct Reading {
    pub(super) file: String,
    /// What the file is called in ids; none where it has no name.
    pub(super) source: Option<String>,
    pub(super) catalog: CatalogId,
    /// Whether choosing nothing was an option in every row.
    pub(super) declinable: bool,
    /// The column that was asked for.
    pub(super) context_column: Option<String>,
    /// Likewise.
    pub(super) id_column: Option<String>,
    pub(super) now: i64,
}

/// Where an entry came from.
pub(super) struct Where {
    pub(super) line: u64,
    pub(super) id: String,
}

impl Reading {
    /// Adds the entries of a row: one, or for a ranking the successive choices it means.
    pub(super) fn entries(&self, options: &Options, row: &Row, entries: &mut Vec<Entry>, places: &mut Vec<Where>) -> Result<()> {
        let [context, id, kind, declinable] = row.also.as_slice() else { return Ok(()) };
        let bad = |problem: String, hint: &str| failure(format!("{}, line {}: {problem}", self.file, row.line), hint);
        let context = match (context.as_str(), &self.context_column) {
            ("", None) => row.user.as_str(),
            (context, _) => context,
        };
        let context = (!context.is_empty()).then(|| context.to_owned());
        if let Some(context) = &context {
            check_context(context).map_err(|error| {
                bad(error.to_string(), "contexts are 1 to 128 bytes without control characters, other than `all`")
            })?;
        }
        let id = match (id.as_str(), &self.source) {
            ("", _) if self.id_column.is_some() => {
                return Err(bad("nothing makes this row unique: its id is empty".into(), "leave such rows out with --skip-bad"));
            }
            ("", None) => {
                let hint = "name a column with --id, or what the lines come from with --source";
                return Err(bad("nothing makes this row unique".into(), hint));
            }
            ("", Some(source)) => format!("{source}:{}", row.line),
            (id, _) => id.to_owned(),
        };
        let is_choice = match kind.as_str() {
            "" | "import" => false,
            "choice" => true,
            other => return Err(bad(format!("{other:?} is no kind of event"), "`kind` is `choice`, `import` or empty")),
        };
        let declinable = match declinable.as_str() {
            "" => self.declinable,
            "true" | "1" => true,
            "false" | "0" => false,
            other => {
                return Err(bad(
                    format!("{other:?} is not true or false"),
                    "`declinable` says whether choosing nothing was an option",
                ));
            }
        };
        let time = match row.time.as_str() {
            "" => self.now,
            text => time(text).ok_or_else(|| {
                bad(
                    format!("{text:?} is no time"),
                    "2026-11-16T20:19:00Z, 2026-11-16 20:19:00 (UTC), or seconds or milliseconds since 1970",
                )
            })?,
        };
        let mut add = |id: String, presented: &[OptionId], outcome: Outcome, weight: f64| -> Result<()> {
            let presented = names(options, presented);
            let body = Body { presented, declinable, outcome, weight, source: None };
            places.push(Where { line: row.line, id: id.clone() });
            let what = if is_choice { What::Choice { id, body } } else { What::Import { id, body } };
            if let Err(error) = what.check() {
                places.pop();
                return Err(bad(error.to_string(), "mend the row, or leave such rows out with --skip-bad"));
            }
            entries.push(Entry { catalog: self.catalog, context: context.clone(), what, time });
            Ok(())
        };
        if row.count == 0.0 {
            // It never happened.
            return Ok(());
        }
        let outcome = match &row.answer {
            Answer::Nothing => Outcome::None,
            Answer::Chosen(option) => Outcome::Chosen(names(options, &[*option])),
            Answer::Several(chosen) => Outcome::Chosen(names(options, chosen)),
            Answer::Tied(tied) => Outcome::Tied(names(options, tied)),
            Answer::AllTied => Outcome::Tied(names(options, &row.presented)),
            Answer::Ranked(_) => {
                // Tied places are all their orders: a row of some kilobytes could mean millions of choices.
                if row.presented.len() > MOST_RANKED {
                    let problem =
                        format!("{} options are ranked: at most {MOST_RANKED} can be imported in one row", row.presented.len());
                    return Err(bad(problem, "leave such rows out with --skip-bad"));
                }
                let mut steps = Vec::new();
                for_each_choice(row, &CountSettings::default(), None, |presented, option, weight| {
                    steps.push((presented.to_vec(), option, weight));
                });
                return steps.into_iter().zip(1..).try_for_each(|((presented, option, weight), step)| {
                    add(format!("{id}#{step}"), &presented, Outcome::Chosen(names(options, &[option])), weight)
                });
            }
        };
        add(id, &row.presented, outcome, row.count)
    }
}

fn names(options: &Options, ids: &[OptionId]) -> Vec<String> {
    ids.iter().filter_map(|&id| options.name(id)).map(str::to_owned).collect()
}

/// Milliseconds since 1970 of a time as people write it.
fn time(text: &str) -> Option<i64> {
    /// Seconds until the year 5138; what is larger is milliseconds.
    const LARGEST_SECONDS: f64 = 1e11;
    let text = text.trim();
    if let Ok(number) = text.parse::<f64>() {
        let milliseconds = if number.abs() < LARGEST_SECONDS { 1e3 * number } else { number };
        return (milliseconds.abs() < 1e15).then_some(milliseconds.round() as i64);
    }
    if let Ok(time) = text.parse::<Timestamp>() {
        return Some(time.as_millisecond());
    }
    let time = text.parse::<DateTime>().ok()?;
    Some(time.to_zoned(TimeZone::UTC).ok()?.timestamp().as_millisecond())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_people_write_them() {
        for text in [
            "2026-11-16T20:19:00Z",
            "2026-11-16T22:19:00+02:00",
            "2026-11-16 20:19:00",
            "1794860340",
            "1794860340000",
            "1794860340.0",
        ] {
            assert_eq!(time(text), Some(1_794_860_340_000), "{text}");
        }
        assert_eq!(time("2026-11-16"), Some(1_794_787_200_000));
        for text in ["yesterday", "", "1e300", "NaN"] {
            assert_eq!(time(text), None, "{text:?}");
        }
    }
}
