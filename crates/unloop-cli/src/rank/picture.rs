//! The leaderboard as a picture.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use unloop_plot::figures::count;
use unloop_plot::{Forest, ForestRow, MatrixPlot, Picture, Reference};

use super::Board;
use crate::failure::{cannot_write, failure};

/// A file for a picture, by the end of its name.
pub(crate) fn path(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    match path.extension().and_then(|end| end.to_str()).map(str::to_ascii_lowercase).as_deref() {
        Some("svg" | "png") => Ok(path),
        _ => Err("the name must end in .svg or .png".into()),
    }
}

/// Rows of a leaderboard that fit into a PNG.
const MOST_ROWS: usize = 1_700;

/// Refuses a picture that is too large, before anything is drawn from the posterior.
pub(super) fn check_size(path: &Path, rows: usize, is_matrix: bool) -> Result<()> {
    if is_png(path) && !is_matrix && rows > MOST_ROWS {
        let message = format!("{}: a leaderboard of {rows} rows is too long for a PNG", path.display());
        return Err(failure(message, "show fewer rows with --limit, or write an SVG"));
    }
    Ok(())
}

fn is_png(path: &Path) -> bool {
    path.extension().is_some_and(|end| end.eq_ignore_ascii_case("png"))
}

/// Draws a board into a file: who beats whom if that was asked for, else all options.
pub(super) fn draw(path: &Path, board: &Board<'_>, limit: Option<usize>) -> Result<()> {
    let picture = if board.pairwise.is_some() { matrix(board) } else { forest(board, limit) }.context("nothing to draw")?;
    write(path, &picture)
}

/// Writes a picture in the form that a file's name says.
pub(crate) fn write(path: &Path, picture: &Picture) -> Result<()> {
    let bytes = if is_png(path) { picture.png().context("no picture")? } else { picture.svg().as_bytes().to_vec() };
    std::fs::write(path, bytes).map_err(|error| cannot_write(path, &error))
}

fn forest(board: &Board<'_>, limit: Option<usize>) -> Result<Picture> {
    let ranking = &board.ranking;
    let rows: Vec<ForestRow> = ranking
        .options
        .iter()
        .take(limit.unwrap_or(usize::MAX))
        .map(|row| ForestRow {
            name: board.name(row.option).to_owned(),
            mean: row.mean,
            low: row.low,
            high: row.high,
            p_best: Some(row.p_best),
            unseen: row.shown == 0.0,
        })
        .collect();
    let equal = 1.0 / (ranking.options.len() + ranking.unranked.len()) as f64;
    let left = ranking.options.len() - rows.len();
    let mut forest = Forest::new("Leaderboard", rows);
    forest.subtitle = Some(basis(board));
    forest.legend = format!("posterior mean and {} % interval", 100.0 * ranking.level);
    forest.reference = Some(Reference { value: equal, label: "equal share".into() });
    forest.footer = (left > 0).then(|| format!("… and {left} more"));
    Ok(forest.draw()?)
}

fn matrix(board: &Board<'_>) -> Result<Picture> {
    let Some(pairwise) = &board.pairwise else { anyhow::bail!("no chances between options") };
    let names: Vec<String> = pairwise.options.iter().map(|&option| board.name(option).to_owned()).collect();
    let chances: Vec<Vec<f64>> = pairwise.beats.iter().map(|row| row.iter().map(|beats| beats.mean).collect()).collect();
    let mut matrix = MatrixPlot::new("Who is chosen over whom", names, chances);
    matrix.subtitle = Some(basis(board));
    Ok(matrix.draw()?)
}

fn basis(board: &Board<'_>) -> String {
    let ranking = &board.ranking;
    format!("{} options, {} presentations", ranking.options.len(), count(ranking.presentations))
}
