//! Grids of charts.

use std::error::Error;
use std::path::Path;

use unloop_plot::{BandPoint, Look, Panel, Panels, Series};

use crate::save;

pub(crate) fn draw(directory: &Path) -> Result<(), Box<dyn Error>> {
    save(directory, "panels-regret", &regrets(3, false).draw()?)?;
    save(directory, "panels-regret-log", &regrets(2, true).draw()?)?;
    save(directory, "panels-marks", &sizes().draw()?)?;
    save(directory, "panels-styles", &styles().draw()?)?;
    save(directory, "panels-one", &Panels::new("Only one", 3, [regret(0, true)]).draw()?)?;
    Ok(())
}

const POLICIES: [&str; 4] = ["uniform", "Thompson sampling, anchored", "top two", "D-TS (duels, Wu & Liu 2016)"];

/// Regret of four policies over 10 000 rounds.
fn regret(index: usize, log: bool) -> Panel {
    let titles =
        ["12 options, presentations of 3", "59 options, presentations of 5", "100 options, presentations of 5, tastes drift"];
    let series = |policy: usize| {
        let size = [900.0, 180.0, 240.0, 420.0][policy] * [1.0, 2.3, 5.2][index];
        let points = (1..=100).map(|step| {
            let x = 100.0 * f64::from(step);
            let part = if policy == 0 { x / 1e4 } else { (1.0 + x / 300.0).ln() / 3.55 };
            let mean = size * part + if log { 1.0 } else { 0.0 };
            let spread = 0.1 + 0.02 * policy as f64;
            BandPoint { x, mean, low: mean * (1.0 - spread), high: mean * (1.0 + spread) }
        });
        Series { name: POLICIES[policy].to_owned(), style: policy, look: Look::Line, points: points.collect() }
    };
    Panel {
        title: titles[index].to_owned(),
        x_label: "round".to_owned(),
        y_label: "regret (sum of lost probabilities)".to_owned(),
        log_x: log,
        log_y: log,
        series: (0..4).map(series).collect(),
    }
}

fn regrets(columns: usize, log: bool) -> Panels {
    Panels {
        subtitle: Some("Mean of 200 runs; the shade holds the middle 90 % of them".to_owned()),
        footer: Some("made up by the gallery".to_owned()),
        ..Panels::new("What exploring costs", columns, (0..3).map(|index| regret(index, log)).collect::<Vec<_>>())
    }
}

fn marks(name: &str, style: usize, points: &[(f64, f64, f64, f64)]) -> Series {
    let points = points.iter().map(|&(x, mean, low, high)| BandPoint { x, mean, low, high }).collect();
    Series { name: name.to_owned(), style, look: Look::Marks, points }
}

/// Errors by the size of presentations.
fn sizes() -> Panels {
    let falling = |start: f64, spread: f64| -> Vec<(f64, f64, f64, f64)> {
        (1..=5)
            .map(|n| {
                (f64::from(n), start / f64::from(n), start / f64::from(n) * (1.0 - spread), start / f64::from(n) * (1.0 + spread))
            })
            .collect()
    };
    let panel = |title: &str, y: &str, log_y, series| Panel {
        title: title.to_owned(),
        x_label: "options in a presentation, N".to_owned(),
        y_label: y.to_owned(),
        log_x: false,
        log_y,
        series,
    };
    let rising: Vec<_> = [30.0, 100.0, 300.0, 1000.0, 3000.0]
        .iter()
        .enumerate()
        .map(|(i, &x)| (x, 0.86 + 0.02 * i as f64, 0.84 + 0.02 * i as f64, 0.88 + 0.021 * i as f64))
        .collect();
    let coverage = Panel {
        log_x: true,
        x_label: "choices".to_owned(),
        ..panel(
            "Coverage",
            "share of intervals that hold the truth",
            false,
            vec![marks("exact", 0, &rising), marks("Gibbs", 1, &rising)],
        )
    };
    let single = vec![
        marks("exact", 0, &[(3.0, 12.0, 9.0, 16.0)]),
        marks("Gibbs", 1, &[(3.0, 14.0, 12.0, 17.0)]),
        marks("EM", 2, &[(3.0, 14.0, 12.0, 17.0)]),
    ];
    Panels {
        subtitle: Some("Dots are means, bars 95 % intervals".to_owned()),
        ..Panels::new(
            "Two samplers",
            2,
            [
                panel(
                    "Error of shares",
                    "mean absolute error",
                    false,
                    vec![marks("exact", 0, &falling(0.12, 0.1)), marks("Gibbs", 1, &falling(0.121, 0.12))],
                ),
                panel(
                    "Time",
                    "seconds for 1 000 samples",
                    true,
                    vec![marks("exact", 0, &falling(300.0, 0.4)), marks("Gibbs", 1, &falling(0.08, 0.3))],
                ),
                coverage,
                panel("A single place", "score", false, single),
            ],
        )
    }
}

/// All styles, as lines, steps and marks.
fn styles() -> Panels {
    let series = |look: Look| -> Vec<Series> {
        let one = |style: usize| {
            let level = 12.0 - style as f64;
            let points = (1..=6).map(|x| {
                let mean = level + 0.3 * f64::from(x);
                BandPoint { x: f64::from(x), mean, low: mean - 0.3, high: mean + 0.3 }
            });
            Series { name: format!("algorithm number {style}"), style, look, points: points.collect() }
        };
        (0..12).map(one).collect()
    };
    let panel = |title: &str, look| Panel {
        title: title.to_owned(),
        x_label: "x".to_owned(),
        y_label: String::new(),
        log_x: false,
        log_y: false,
        series: series(look),
    };
    Panels::new("All styles", 3, [panel("lines", Look::Line), panel("marks", Look::Marks), panel("steps", Look::Steps)])
}
