//! Who is chosen over whom, chances of a set that somebody clicked together, and the density over three options.

use std::sync::Arc;

use unloop::ranking::Pairwise;
use unloop::{Basis, OptionId, Posterior, Presentation};
use unloop_plot::figures::percent;
use unloop_plot::{MatrixPlot, Picture, SimplexPanel, Simplexes, grid_points};

use super::board::{Axis, Marks, View, interval};
use crate::beside::compute;
use crate::catalog::Known;
use crate::grounds::Grounds;
use crate::problem::Problem;
use crate::rankings::Ranked;
use crate::service::Service;

/// Options of the matrix: those picked, and the first of the rest.
const MATRIX: usize = 8;
/// Probability of intervals.
const LEVEL: f64 = 0.9;
/// Steps of colour on each side of one half.
const STEPS: f64 = 4.0;
/// Intervals of the simplex's grid along a side.
const GRID: usize = 90;

/// Chances between options.
pub(super) struct Matrix {
    pub(super) names: Vec<String>,
    pub(super) rows: Vec<Vec<Cell>>,
}

/// A cell: the chance that the row is chosen over the column.
pub(super) struct Cell {
    pub(super) class: String,
    pub(super) mean: String,
    pub(super) interval: String,
    pub(super) told: String,
}

fn chosen_first(ranked: &Ranked, grounds: &Grounds, view: &View) -> Vec<OptionId> {
    let rest = ranked.rows.iter().map(|row| &row.option).filter(|name| !view.picks.contains(name));
    let rest = rest.take(MATRIX.saturating_sub(view.picks.len()));
    let mut options: Vec<OptionId> = view.picks.iter().chain(rest).filter_map(|name| grounds.names.get(name)).collect();
    // As they stand in the ranking.
    let rank = |option: &OptionId| {
        let name = grounds.names.name(*option).unwrap_or_default();
        ranked.rows.iter().position(|row| row.option == name).unwrap_or(usize::MAX)
    };
    options.sort_by_cached_key(rank);
    options
}

/// Chances between some options; none where draws are not kept.
fn pairwise(ranked: &Ranked, view: &View) -> Option<(Vec<String>, Pairwise)> {
    let grounds = ranked.grounds.as_ref()?;
    let options = chosen_first(ranked, grounds, view);
    let pairwise = Pairwise::new(grounds.draws.as_ref()?, &options, LEVEL);
    let name = |&option: &OptionId| grounds.names.name(option).unwrap_or_default().to_owned();
    (pairwise.options.len() > 1).then(|| (pairwise.options.iter().map(name).collect(), pairwise))
}

/// The matrix of some options.
pub(super) fn matrix(ranked: &Ranked, view: &View) -> Option<Matrix> {
    let (names, pairwise) = pairwise(ranked, view)?;
    let whole = |share: f64| format!("{:.0} %", 100.0 * share);
    let rows = pairwise.beats.iter().enumerate().map(|(i, row)| {
        let cell = |(j, beats): (usize, &unloop::ranking::Beats)| {
            if i == j {
                return Cell { class: "self".into(), mean: "–".into(), interval: String::new(), told: String::new() };
            }
            let step = (STEPS + 2.0 * STEPS * (beats.mean - 0.5)).round().clamp(0.0, 2.0 * STEPS);
            Cell {
                class: format!("b{step:.0}"),
                mean: whole(beats.mean),
                interval: format!("{:.0} – {:.0}", 100.0 * beats.low, 100.0 * beats.high),
                told: format!("{} is the stronger one with a probability of {}", names[i], whole(beats.p_stronger)),
            }
        };
        row.iter().enumerate().map(cell).collect()
    });
    let rows = rows.collect();
    Some(Matrix { names, rows })
}

/// The same as a picture.
pub(super) fn matrix_picture(known: &Known, ranked: &Ranked, view: &View) -> Option<Picture> {
    let (names, pairwise) = pairwise(ranked, view)?;
    let chances: Vec<Vec<f64>> = pairwise.beats.iter().map(|row| row.iter().map(|beats| beats.mean).collect()).collect();
    let mut plot = MatrixPlot::new("Who is chosen over whom", names, chances);
    plot.subtitle = Some(format!("{}: {:.0} presentations", known.name, ranked.presentations));
    plot.draw().ok()
}

/// Chances in a set.
pub(super) struct Prediction {
    pub(super) rows: Vec<Chance>,
}

/// A chance.
pub(super) struct Chance {
    pub(super) name: String,
    pub(super) chance: String,
    pub(super) interval: String,
    pub(super) marks: Marks,
    pub(super) mean: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

/// What would be chosen from what was picked; none for fewer than two, or where draws are not kept.
pub(super) fn predict(known: &Known, ranked: &Ranked, view: &View) -> Option<Prediction> {
    let grounds = ranked.grounds.as_ref()?;
    let mut options: Vec<OptionId> = view.picks.iter().filter_map(|name| grounds.names.get(name)).collect();
    if options.len() < 2 {
        return None;
    }
    options.extend(grounds.none.filter(|_| known.settings.no_choice));
    let set = Presentation::new(options).ok()?;
    let chances = grounds.draws.as_ref()?.choice_intervals(&set, LEVEL)?;
    let axis = Axis::new(1.0);
    let mut rows: Vec<Chance> = set
        .members()
        .iter()
        .zip(chances)
        .map(|(&option, own)| {
            let name = if Some(option) == grounds.none { "nothing" } else { grounds.names.name(option).unwrap_or_default() };
            Chance {
                name: name.to_owned(),
                chance: percent(own.mean),
                interval: interval(own.low, own.high),
                marks: axis.marks(own.mean, own.low, own.high),
                mean: own.mean,
                low: own.low,
                high: own.high,
            }
        })
        .collect();
    rows.sort_by(|x, y| y.mean.total_cmp(&x.mean));
    Some(Prediction { rows })
}

/// Whether there are three options and nothing else: then their density can be drawn.
pub(super) fn has_simplex(ranked: &Ranked) -> bool {
    ranked.grounds.as_ref().is_some_and(|grounds| grounds.names.len() == 3)
}

impl Service {
    /// The density over three options, beside that of a counter that is blind to exposure.
    pub(super) async fn simplex(&self, known: &Arc<Known>) -> Result<Option<Picture>, Problem> {
        let (_, standing) = self.standing(known, None).await?;
        let Some(standing) = standing.filter(|own| own.names.len() == 3) else { return Ok(None) };
        let drawn = compute(move || {
            let names: Vec<String> = standing.names.iter().map(|(_, name)| name.to_owned()).collect();
            let corners: [String; 3] = names.try_into().ok()?;
            let posterior = Posterior::new(&standing.prior, &standing.statistics).ok()?;
            let luce = density(|theta| posterior.ln_density(Basis::Simplex, theta).ok())?;
            let chosen = standing.statistics.all_chosen().to_vec();
            let alpha = standing.alpha;
            let blind = density(|theta| {
                let terms = theta.iter().zip(&alpha).zip(&chosen);
                Some(terms.map(|((theta, alpha), chosen)| (alpha + chosen - 1.0) * theta.ln()).sum())
            })?;
            let panel = |title: &str, density: Vec<f64>| SimplexPanel {
                title: title.to_owned(),
                corners: corners.clone(),
                grid: GRID,
                density,
                marks: [Vec::new(), Vec::new(), Vec::new()],
                note: None,
            };
            let panels = vec![panel("What is believed", luce), panel("A blind counter", blind)];
            Simplexes::new("", 2, panels).draw().ok()
        });
        Ok(drawn.await.ok().flatten())
    }
}

/// A density on the grid, the largest 1; none where it cannot be had.
fn density(ln: impl Fn(&[f64]) -> Option<f64>) -> Option<Vec<f64>> {
    let values: Vec<f64> = grid_points(GRID).map(|point| ln(&point)).collect::<Option<_>>()?;
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    Some(values.into_iter().map(|value| (value - high).exp()).collect())
}

/// The matrix as rows: each option against each other one.
pub(super) fn pairwise_rows(ranked: &Ranked, view: &View) -> Vec<(String, String, unloop::ranking::Beats)> {
    let Some((names, pairwise)) = pairwise(ranked, view) else { return Vec::new() };
    let pairs = names.iter().enumerate().flat_map(|(i, one)| names.iter().enumerate().map(move |(j, other)| (i, one, j, other)));
    let rows = pairs.filter(|(i, _, j, _)| i != j).map(|(i, one, j, other)| (one.clone(), other.clone(), pairwise.beats[i][j]));
    rows.collect()
}
