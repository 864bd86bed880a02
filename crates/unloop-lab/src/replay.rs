//! People out of files: preferences, tables of duels, and replay of what people ranked or chose.

use thiserror::Error;
use unloop::{Basis, Options, Posterior, Prior, Statistics};
use unloop_data::{Answer, CountSettings, ReadError, ReadSettings, Row, Rows, Source, for_each_choice};

use crate::user::User;

/// Why a file holds no people.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// It could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// What it holds is no preferences.
    #[error("{0}")]
    Content(String),
}

/// People who choose as a log or rankings say. Rankings: each time the person of a random row, who chooses what they ranked highest of
/// what is shown. Choices: by Luce's rule with the preferences at the mode of the log's posterior (α = 1), in the log basis.
///
/// # Errors
/// If the file cannot be read, holds a bad row, or no options.
pub fn replay(source: Source) -> Result<(User, Options), ReplayError> {
    let mut options = Options::new();
    let mut reader = Rows::new(source, &ReadSettings::default())?;
    let mut row = Row::default();
    let mut choices: Vec<(Vec<unloop::OptionId>, unloop::OptionId, f64)> = Vec::new();
    let (mut rankings, mut counts, mut people) = (Vec::new(), Vec::new(), 0.0);
    let mut rows = 0_usize;
    while reader.read(&mut options, &mut row)? {
        rows += 1;
        if let Answer::Ranked(places) = &row.answer {
            // Ties in the order of the file.
            rankings.push(places.iter().flatten().map(|&option| u32::from(option)).collect());
            people += row.count;
            counts.push(people);
        }
        for_each_choice(&row, &CountSettings::default(), None, |presented, option, weight| {
            choices.push((presented.to_vec(), option, weight));
        });
    }
    let content = |error: &dyn std::fmt::Display| ReplayError::Content(error.to_string());
    let mut statistics = Statistics::new(options.len());
    for (presented, option, weight) in choices {
        statistics.record(presented, option, weight).map_err(|error| content(&error))?;
    }
    let posterior = Posterior::new(&Prior::default(), &statistics).map_err(|error| content(&error))?;
    let theta = posterior.map(Basis::Log).map_err(|error| content(&error))?.theta;
    let user = if rankings.len() == rows && rows > 0 {
        User::Rankings { rows: rankings, counts, theta }
    } else {
        User::Luce { theta, none: None }
    };
    Ok((user, options))
}

/// Numbers of a text: one on each line, or several joined by commas. A first line without a digit is a header and left out.
///
/// # Errors
/// If something else is there.
pub fn numbers(text: &str) -> Result<Vec<Vec<f64>>, ReplayError> {
    let mut rows = Vec::new();
    let text = text.trim_start_matches('\u{feff}');
    for (i, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let row: Result<Vec<f64>, &str> =
            line.split(',').map(|field| field.trim().parse::<f64>().map_err(|_| field.trim())).collect();
        match row {
            Ok(row) => rows.push(row),
            Err(_) if i == 0 && !line.contains(|c: char| c.is_ascii_digit()) => {}
            Err(field) => return Err(ReplayError::Content(format!("line {}: {field:?} is not a number", i + 1))),
        }
    }
    Ok(rows)
}
