//! The leaderboard for machines: JSON and CSV.

use std::io::Write;

use anyhow::Result;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{Board, Scale};
use crate::model::{evidence_method_name, method_name};

/// A row, in the field names that are the same everywhere.
#[derive(Serialize)]
struct Row<'a> {
    option: &'a str,
    rank: usize,
    mean: f64,
    sd: f64,
    low: f64,
    high: f64,
    map: Option<f64>,
    p_best: f64,
    p_top: f64,
    rank_low: usize,
    rank_high: usize,
    shown: f64,
    chosen: f64,
}

fn row<'a>(board: &'a Board<'_>, row: &unloop::ranking::RankedOption) -> Row<'a> {
    Row {
        option: board.name(row.option),
        rank: row.rank,
        mean: row.mean,
        sd: row.sd,
        low: row.low,
        high: row.high,
        map: row.map,
        p_best: row.p_best,
        p_top: row.p_top,
        rank_low: row.rank_low,
        rank_high: row.rank_high,
        shown: row.shown,
        chosen: row.chosen,
    }
}

/// A ranking as JSON. Numbers that are not finite are null.
pub(super) fn ranking(board: &Board<'_>, scale: Option<Scale>) -> Value {
    let ranking = &board.ranking;
    let report = &ranking.report;
    let mut document = Map::new();
    if let Some(group) = board.group {
        document.insert("group".into(), json!(group));
    }
    let rows = ranking.options.iter().map(|ranked| {
        let mut value = json!(row(board, ranked));
        if let Value::Object(fields) = &mut value {
            if let Some(scale) = scale {
                let ends = [
                    ("strength", ranked.strength),
                    ("strength_low", ranked.strength_low),
                    ("strength_high", ranked.strength_high),
                ];
                fields.extend(ends.map(|(name, strength)| (name.to_owned(), json!(scale.of(strength)))));
            }
            if let Some(mle) = &board.mle {
                fields.insert("mle".into(), json!(mle.as_ref().ok().and_then(|mle| mle[ranked.option.index()])));
            }
        }
        value
    });
    document.insert("options".into(), rows.collect());
    let evidence = ranking.ln_evidence.as_ref();
    let fields = [
        ("ln_evidence", json!(evidence.map(|evidence| evidence.ln_value))),
        ("ln_evidence_se", json!(evidence.map(|evidence| evidence.error))),
        ("evidence_method", json!(evidence.map(|evidence| evidence_method_name(evidence.method)))),
        ("method", json!(method_name(report))),
        ("presentations", json!(ranking.presentations)),
        ("distinct", json!(ranking.distinct)),
        ("components", json!(ranking.components)),
        ("draws", json!(ranking.draws)),
        ("rhat_max", json!(report.r_hat)),
        ("ess_min", json!(report.bulk_ess.min(report.tail_ess))),
        ("seed", json!(ranking.seed)),
        ("seconds", json!(board.seconds)),
    ];
    document.extend(fields.map(|(name, value)| (name.to_owned(), value)));
    if let Some(none) = ranking.unranked.first() {
        document.insert(
            "none".into(),
            json!({ "mean": none.mean, "sd": none.sd, "low": none.low, "high": none.high, "chosen": none.chosen }),
        );
    }
    if let Some(Err(reason)) = &board.mle {
        document.insert("mle_missing".into(), json!(reason));
    }
    if let Some(pairwise) = &board.pairwise {
        let matrix = |pick: fn(&unloop::ranking::Beats) -> f64| -> Vec<Vec<f64>> {
            pairwise.beats.iter().map(|row| row.iter().map(pick).collect()).collect()
        };
        let names: Vec<&str> = pairwise.options.iter().map(|&option| board.name(option)).collect();
        let value = json!({
            "options": names,
            "mean": matrix(|beats| beats.mean),
            "low": matrix(|beats| beats.low),
            "high": matrix(|beats| beats.high),
            "p_stronger": matrix(|beats| beats.p_stronger),
        });
        document.insert("pairwise".into(), value);
    }
    if let Some(confidence) = board.confidence {
        let value =
            json!({ "confidence": confidence, "top": ranking.top, "probability": ranking.p_top_set, "reached": board.is_sure() });
        document.insert("until".into(), value);
    }
    Value::Object(document)
}

const COLUMNS: [&str; 14] = [
    "option",
    "rank",
    "mean",
    "sd",
    "low",
    "high",
    "map",
    "strength",
    "p_best",
    "p_top",
    "rank_low",
    "rank_high",
    "shown",
    "chosen",
];

/// Rows as CSV; with the chances between options, those instead.
pub(super) fn csv(out: &mut impl Write, board: &Board<'_>, by: Option<&str>, header: bool) -> Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    let group: Vec<&str> = board.group.into_iter().collect();
    // A column that is called like one of ours would hide it.
    let clash = by.filter(|by| COLUMNS.contains(by)).map(|by| format!("by {by}"));
    let column: Vec<&str> = clash.as_deref().or(by).into_iter().collect();
    if let Some(pairwise) = &board.pairwise {
        if header {
            writer.write_record(column.iter().chain(&["option", "other", "mean", "low", "high", "p_stronger"]))?;
        }
        for (i, &option) in pairwise.options.iter().enumerate() {
            for (j, &other) in pairwise.options.iter().enumerate().filter(|&(j, _)| j != i) {
                let beats = pairwise.beats[i][j];
                let figures = [beats.mean, beats.low, beats.high, beats.p_stronger].map(|x| x.to_string());
                let names = [board.name(option), board.name(other)];
                writer.write_record(group.iter().copied().chain(names).chain(figures.iter().map(String::as_str)))?;
            }
        }
        return Ok(writer.flush()?);
    }
    let mle = board.mle.as_ref().map(|_| "mle");
    if header {
        writer.write_record(column.iter().chain(&COLUMNS).copied().chain(mle))?;
    }
    for row in &board.ranking.options {
        let mut fields: Vec<String> = group.iter().map(|&group| group.to_owned()).collect();
        fields.push(board.name(row.option).to_owned());
        fields.push(row.rank.to_string());
        fields.extend([row.mean, row.sd, row.low, row.high].map(|x| x.to_string()));
        fields.push(row.map.map_or(String::new(), |map| map.to_string()));
        fields.extend([board.scale.of(row.strength), row.p_best, row.p_top].map(|x| x.to_string()));
        fields.extend([row.rank_low, row.rank_high].map(|rank| rank.to_string()));
        fields.extend([row.shown, row.chosen].map(|x| x.to_string()));
        if let Some(mle) = &board.mle {
            let own = mle.as_ref().ok().and_then(|mle| mle[row.option.index()]);
            fields.push(own.map_or(String::new(), |share| share.to_string()));
        }
        writer.write_record(&fields)?;
    }
    Ok(writer.flush()?)
}
