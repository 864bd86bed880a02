//! The maximum-likelihood estimate: what the choices say without a prior, where they say anything.

use super::map::MapError;
use crate::option::OptionId;
use crate::posterior::{Basis, Posterior};
use crate::prior::Prior;
use crate::statistics::{Statistics, StatisticsError};

/// Shares of the options that were shown, adding up to 1, at the maximum of the likelihood; none for options never shown.
///
/// # Errors
/// If the maximum does not exist or is not unique: options that were never chosen over others, groups never compared.
///
/// ```
/// use unloop::{OptionId, Statistics, maximum_likelihood};
/// let [a, b, c] = [0, 1, 2].map(OptionId::new);
/// let mut statistics = Statistics::new(3);
/// statistics.record([a, c], a, 3.0)?;
/// assert!(maximum_likelihood(&statistics).is_err()); // c has lost every time
/// statistics.record([a, c], c, 1.0)?;
/// let strengths = maximum_likelihood(&statistics)?;
/// assert!((strengths[0].ok_or("shown")? - 0.75).abs() < 1e-12);
/// assert_eq!(strengths[b.index()], None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn maximum_likelihood(statistics: &Statistics) -> Result<Vec<Option<f64>>, MapError> {
    let explored: Vec<OptionId> = statistics.explored().collect();
    let mut strengths = vec![None; statistics.option_count()];
    if explored.is_empty() {
        return Ok(strengths);
    }
    // The flat prior on the simplex is the likelihood; options never shown would be free in it, so they are left out.
    let posterior = among(&explored, statistics).ok().and_then(|among| Posterior::new(&Prior::default(), &among).ok());
    let Some(posterior) = posterior else { return Err(MapError::Undetermined { groups: vec![explored] }) };
    let map = posterior.map(Basis::Simplex).map_err(|error| renamed(error, &explored))?;
    for (option, theta) in explored.iter().zip(map.theta) {
        strengths[option.index()] = Some(theta);
    }
    Ok(strengths)
}

/// The same counts over the explored options alone.
fn among(explored: &[OptionId], statistics: &Statistics) -> Result<Statistics, StatisticsError> {
    let chosen: Vec<f64> = explored.iter().map(|&option| statistics.chosen(option)).collect();
    let place = |option: &OptionId| OptionId::new(explored.binary_search(option).unwrap_or(0) as u32);
    let presentations = statistics.iter().map(|(members, count)| (members.iter().map(place).collect::<Vec<_>>(), count));
    Statistics::from_margins(&chosen, presentations)
}

/// An error in terms of all options.
fn renamed(error: MapError, explored: &[OptionId]) -> MapError {
    let names = |options: Vec<OptionId>| options.into_iter().map(|option| explored[option.index()]).collect();
    match error {
        MapError::Unbounded { options } => MapError::Unbounded { options: names(options) },
        MapError::AtZero { options } => MapError::AtZero { options: names(options) },
        MapError::Undetermined { groups } => MapError::Undetermined { groups: groups.into_iter().map(names).collect() },
        other => other,
    }
}
