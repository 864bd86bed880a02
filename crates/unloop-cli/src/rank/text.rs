//! The leaderboard as a table for people.

use std::io::{self, Write};

use unloop::ranking::Pairwise;
use unloop_plot::figures::{chance, count, level, percent, printable, range};

use super::{Board, Scale};
use crate::model::{evidence_method_name, method_name};
use crate::output::{print_fitted, print_table, table};

/// Prints a board: its rows, what it rests on, and what else was asked for.
pub(super) fn board(
    out: &mut impl Write,
    board: &Board<'_>,
    limit: Option<usize>,
    by: Option<&str>,
    first: bool,
) -> io::Result<()> {
    if !first {
        writeln!(out)?;
    }
    if let (Some(column), Some(group)) = (by, board.group) {
        writeln!(out, "{} = {}\n", printable(column), printable(group))?;
    }
    rows(out, board, limit)?;
    footer(out, board, limit)?;
    if let Some(pairwise) = &board.pairwise {
        writeln!(out)?;
        matrix(out, board, pairwise)?;
    }
    if let Some(verdict) = verdict(board) {
        writeln!(out, "\n{verdict}")?;
    }
    Ok(())
}

/// What is said of the no-choice option.
pub(super) fn none(board: &Board<'_>) -> Vec<String> {
    let line = |row: &unloop::ranking::RankedOption| {
        let (low, high) = (percent(row.low), percent(row.high));
        let name = board.name(row.option);
        format!("{name} is chosen with a share of {} ({low} to {high}) and takes no place", percent(row.mean))
    };
    board.ranking.unranked.iter().map(line).collect()
}

/// Whether what `--until` asks for is reached, in words.
pub(super) fn verdict(board: &Board<'_>) -> Option<String> {
    board.confidence.map(|confidence| {
        let (p, top) = (level((1e4 * board.ranking.p_top_set).floor() / 1e4), board.ranking.top);
        let verdict = if board.is_sure() { "Sure" } else { "Not sure yet" };
        let which = if top == 1 { "the first is the best".to_owned() } else { format!("the first {top} are the best {top}") };
        format!("{verdict}: {which} with probability {p}, asked for {}", level(confidence))
    })
}

fn rows(out: &mut impl Write, board: &Board<'_>, limit: Option<usize>) -> io::Result<()> {
    let ranking = &board.ranking;
    let interval = format!("{} interval", level(ranking.level));
    let top = format!("P(top {})", ranking.top);
    let strength = if board.scale == Scale::Elo { "Elo" } else { "strength" };
    let mut header = vec!["#", "option", "share", &interval, strength, "P(best)", &top, "rank", "shown", "chosen"];
    let mle = board.mle.as_ref().and_then(|mle| mle.as_ref().ok());
    if board.mle.is_some() {
        header.push("MLE");
    }
    let mut rows = Vec::new();
    for row in ranking.options.iter().take(limit.unwrap_or(usize::MAX)) {
        let strength = board.scale.of(row.strength);
        let mut cells = vec![
            row.rank.to_string(),
            board.name(row.option).to_owned(),
            percent(row.mean),
            format!("{} – {}", percent(row.low).trim_end_matches(" %"), percent(row.high)),
            if board.scale == Scale::Elo { format!("{strength:.0}") } else { signed(strength) },
            chance(row.p_best),
            chance(row.p_top),
            range(row.rank_low, row.rank_high),
            count(row.shown),
            count(row.chosen),
        ];
        if board.mle.is_some() {
            cells.push(mle.and_then(|mle| mle[row.option.index()]).map_or(String::new(), percent));
        }
        rows.push(cells);
    }
    print_fitted(out, &header, &rows, &["chosen", "shown", strength, &top, "rank", "#", "P(best)"])
}

fn footer(out: &mut impl Write, board: &Board<'_>, limit: Option<usize>) -> io::Result<()> {
    let ranking = &board.ranking;
    let left = ranking.options.len().saturating_sub(limit.unwrap_or(usize::MAX));
    if left > 0 {
        writeln!(out, "… and {left} more")?;
    }
    writeln!(out)?;
    for line in none(board) {
        writeln!(out, "{line}")?;
    }
    let never = ranking.options.iter().filter(|row| row.shown == 0.0).count();
    let components = match ranking.components {
        0 => "no choice counts".to_owned(),
        1 if never == 0 => "all linked".to_owned(),
        1 => "those shown all linked".to_owned(),
        n => format!("{n} groups that nothing links"),
    };
    let never = if never == 0 { String::new() } else { format!(", {never} never shown (at their prior)") };
    writeln!(
        out,
        "{} presentations of {} distinct {}, {} options: {components}{never}",
        count(ranking.presentations),
        count(ranking.distinct as f64),
        if ranking.distinct == 1 { "set" } else { "sets" },
        ranking.options.len()
    )?;
    for left in &board.left_out {
        writeln!(out, "{left}")?;
    }
    match &ranking.ln_evidence {
        Some(evidence) if evidence.error.is_finite() => writeln!(
            out,
            "ln evidence {:.*} ± {:.1e} ({})",
            if evidence.error < 1e-3 { 4 } else { 2 },
            evidence.ln_value,
            evidence.error,
            evidence_method_name(evidence.method).replace('_', " ")
        )?,
        Some(evidence) => writeln!(out, "ln evidence about {:.0}, its error unknown", evidence.ln_value)?,
        None => writeln!(out, "ln evidence unknown")?,
    }
    match &board.mle {
        Some(Err(reason)) => writeln!(out, "MLE: {reason}")?,
        Some(Ok(shares)) if shares.iter().any(Option::is_none) => {
            writeln!(out, "MLE: none for options that were never compared with the others")?;
        }
        _ => {}
    }
    let report = &ranking.report;
    writeln!(
        out,
        "{} draws by {}, R-hat {:.3}, effective {}, seed {}, {:.2} s",
        count(ranking.draws as f64),
        method_name(report),
        report.r_hat,
        count(report.bulk_ess.min(report.tail_ess).round()),
        ranking.seed,
        board.seconds
    )
}

/// P(row beats column) in percent, with its interval below.
fn matrix(out: &mut impl Write, board: &Board<'_>, pairwise: &Pairwise) -> io::Result<()> {
    writeln!(out, "Chance in percent that the row is chosen over the column, and its {} interval", level(board.ranking.level))?;
    let numbers: Vec<String> = (1..=pairwise.options.len()).map(|n| n.to_string()).collect();
    let header: Vec<&str> = ["#", "option"].into_iter().chain(numbers.iter().map(String::as_str)).collect();
    let mut table = table(&header, &[1]);
    for (i, &option) in pairwise.options.iter().enumerate() {
        let mut cells = vec![(i + 1).to_string(), board.name(option).to_owned()];
        cells.extend(pairwise.beats[i].iter().enumerate().map(|(j, beats)| {
            let percent = |p: f64| format!("{:.0}", 100.0 * p);
            if i == j {
                String::new()
            } else {
                format!("{}\n{}–{}", percent(beats.mean), percent(beats.low), percent(beats.high))
            }
        }));
        table.add_row(cells);
    }
    print_table(out, &table)
}

/// A number around 0, which itself has no sign.
fn signed(x: f64) -> String {
    if x.abs() < 0.005 { "0.00".into() } else { format!("{x:+.2}") }
}
