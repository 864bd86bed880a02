//! Draws every kind of picture into a directory, to be looked at.
//!
//! ```text
//! cargo run -p unloop-plot --example gallery -- target/gallery
//! ```

mod panels;
mod simplexes;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use unloop_plot::{BandPoint, Bands, Curve, Forest, ForestRow, MatrixPlot, Picture, Reference, Scale};

fn main() -> Result<(), Box<dyn Error>> {
    let directory = PathBuf::from(env::args_os().nth(1).ok_or("usage: gallery <directory>")?);
    fs::create_dir_all(&directory)?;
    for (options, decades, unseen) in [(3, 0.6, 0), (12, 1.2, 2), (59, 1.4, 0), (100, 1.8, 7), (24, 4.0, 3)] {
        let forest = leaderboard(options, decades, unseen);
        save(&directory, &format!("forest-{options}"), &forest.draw()?)?;
    }
    save(&directory, "forest-close", &close_shares().draw()?)?;
    let mut hard = hard_names();
    save(&directory, "forest-names", &hard.draw()?)?;
    hard.scale = Scale::Log;
    save(&directory, "forest-names-log", &hard.draw()?)?;
    for options in [2, 4, 12, 25, 60, 100] {
        save(&directory, &format!("matrix-{options}"), &matrix(options).draw()?)?;
    }
    save(&directory, "bands-4", &regrets(&POLICIES[..4]).draw()?)?;
    save(&directory, "bands-12", &regrets(&POLICIES).draw()?)?;
    save(&directory, "bands-close", &gains().draw()?)?;
    panels::draw(&directory)?;
    simplexes::draw(&directory)
}

/// As SVG and as PNG.
fn save(directory: &Path, name: &str, picture: &Picture) -> Result<(), Box<dyn Error>> {
    fs::write(directory.join(name).with_extension("svg"), picture.svg())?;
    fs::write(directory.join(name).with_extension("png"), picture.png()?)?;
    println!("{name}: {} × {}, {} bytes of SVG", picture.width(), picture.height(), picture.svg().len());
    Ok(())
}

/// A leaderboard whose shares fall off over so many decades, with some options that were never shown.
fn leaderboard(options: usize, decades: f64, unseen: usize) -> Forest {
    let mut rng = ChaCha8Rng::seed_from_u64(options as u64);
    let weights: Vec<f64> =
        (0..options).map(|rank| 10f64.powf(-decades * (rank as f64 + 0.7 * rng.random::<f64>()) / options as f64)).collect();
    let sum: f64 = weights.iter().sum();
    let mut rows: Vec<ForestRow> = weights
        .iter()
        .enumerate()
        .map(|(rank, weight)| {
            let mean = weight / sum;
            let spread = 1.15 + 0.6 * rng.random::<f64>();
            let p_best = Some(0.62 * 0.36f64.powf(rank as f64));
            ForestRow { name: name(rank), mean, low: mean / spread, high: (mean * spread).min(1.0), p_best, unseen: false }
        })
        .collect();
    for index in 0..unseen {
        let row = &mut rows[(2 * index + 3) * options / (2 * unseen + 4)];
        let mean = 1.0 / options as f64;
        *row = ForestRow { mean, low: 0.05 * mean, high: (3.0 * mean).min(1.0), unseen: true, ..row.clone() };
    }
    rows.sort_by(|a, b| b.mean.total_cmp(&a.mean));
    Forest {
        subtitle: Some(format!("{options} options, {} choices from presentations of 5", 40 * options)),
        footer: Some("made up by the gallery; prior weight 1 for every option".to_owned()),
        legend: "posterior mean and 90 % interval".to_owned(),
        reference: Some(Reference { value: 1.0 / options as f64, label: format!("equal share, 1/{options}") }),
        ..Forest::new("What people would have for lunch", rows)
    }
}

/// Two options after many choices: the axis need not begin at zero.
fn close_shares() -> Forest {
    let row = |name: &str, mean, p_best| {
        let (low, high) = (mean - 0.012, mean + 0.012);
        ForestRow { name: name.to_owned(), mean, low, high, p_best: Some(p_best), unseen: false }
    };
    Forest {
        reference: Some(Reference { value: 0.5, label: "equal share".to_owned() }),
        ..Forest::new("Tea or coffee", [row("tea", 0.514, 0.972), row("coffee", 0.486, 0.028)])
    }
}

/// Names that are long, foreign, empty or look like markup, and intervals that go down to zero.
fn hard_names() -> Forest {
    let names = [
        "crème brûlée & <b>café</b> \"noir\"",
        "Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichen",
        "WWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWW",
        "борщ с пампушками",
        "שקשוקה",
        "حمص بالطحينة",
        "ხაჭაპური",
        "蕎麦と天ぷら",
        "★ chef’s choice → today ♥",
        "",
    ];
    let rows: Vec<ForestRow> = (0..names.len())
        .map(|index| {
            let mean = 0.3 * 0.6f64.powf(index as f64);
            let low = if index % 3 == 2 { 0.0 } else { 0.5 * mean };
            ForestRow { name: names[index].to_owned(), mean, low, high: 1.7 * mean, p_best: None, unseen: index == 8 }
        })
        .collect();
    let subtitle = "A subtitle that is far too long for one line, because whoever wrote it wished to say at once what was asked, who was \
                    asked, when, and what became of the answers";
    Forest { subtitle: Some(subtitle.to_owned()), numbered: false, ..Forest::new("Names that are hard to draw", rows) }
}

fn matrix(options: usize) -> MatrixPlot {
    let mut rng = ChaCha8Rng::seed_from_u64(options as u64);
    let strengths: Vec<f64> = (0..options).map(|rank| -5.0 * rank as f64 / options as f64 + 1.5 * rng.random::<f64>()).collect();
    let chances: Vec<Vec<f64>> =
        strengths.iter().map(|row| strengths.iter().map(|column| 1.0 / (1.0 + (column - row).exp())).collect()).collect();
    let names: Vec<String> = (0..options).map(name).collect();
    MatrixPlot {
        subtitle: Some(format!("{options} options, best first")),
        footer: Some("made up by the gallery".to_owned()),
        ..MatrixPlot::new("Which dish beats which", names, chances)
    }
}

const POLICIES: [&str; 12] = [
    "Thompson sampling",
    "uniform",
    "upper confidence bound with a bonus for options seldom shown",
    "ε-greedy, ε = 0.1",
    "top-two",
    "shown by rank <b>&</b> luck",
    "softmax",
    "борщ first",
    "explore, then commit",
    "knowledge gradient",
    "minimax",
    "",
];

/// Regrets that grow with powers of the rounds, each less than the one before.
fn regrets(policies: &[&str]) -> Bands {
    let mut rng = ChaCha8Rng::seed_from_u64(policies.len() as u64);
    let curves: Vec<Curve> = (0..policies.len())
        .map(|index| {
            let place = (index * 5 + 2) % policies.len();
            let power = 0.35 + 0.6 * place as f64 / policies.len() as f64;
            let mut mean = 0.0;
            let points = (0..=200).map(|step| {
                let x = 50.0 * f64::from(step);
                mean += 3.0 * (x.powf(power) - (x - 50.0).max(0.0).powf(power)) * (0.4 + 1.2 * rng.random::<f64>());
                let half = 0.02 * mean + 2.2 * mean.sqrt();
                BandPoint { x, mean, low: (mean - half).max(0.0), high: mean + half }
            });
            Curve { name: policies[index].to_owned(), points: points.collect() }
        })
        .collect();
    Bands {
        subtitle: Some("mean of 200 runs and where the middle 90 % of them are; 20 options, presentations of 5".to_owned()),
        footer: Some("made up by the gallery".to_owned()),
        y_label: "regret, in choices of the best option that were missed".to_owned(),
        ..Bands::new("What it costs to learn", curves)
    }
}

/// Values below zero, lines that cross and end close together or early.
fn gains() -> Bands {
    let curves: Vec<Curve> = (0..6)
        .map(|index| {
            let last = if index == 4 { 48 } else { 72 };
            let points = (8..=last).map(|hour| {
                let mean = 0.05 * (0.1 * f64::from(hour) + f64::from(index)).sin() / f64::from(hour).sqrt();
                let half = 0.08 / f64::from(hour);
                BandPoint { x: f64::from(hour), mean, low: mean - half, high: mean + half }
            });
            Curve { name: format!("group {}", index + 1), points: points.collect() }
        })
        .collect();
    Bands { x_label: "hours".to_owned(), y_label: "gain".to_owned(), ..Bands::new("Gains and losses", curves) }
}

fn name(index: usize) -> String {
    let dishes = [
        "curry",
        "soup of the day",
        "salad",
        "lasagne",
        "ramen",
        "falafel wrap",
        "pea stew with smoked tofu",
        "pizza",
        "sushi",
        "tacos",
        "dumplings",
        "ratatouille",
        "fish and chips",
        "risotto",
        "pancakes",
        "shakshuka",
        "pho",
        "gnocchi",
        "kebab",
        "quiche",
    ];
    let dish = dishes[index % dishes.len()];
    if index < dishes.len() { dish.to_owned() } else { format!("{dish} no. {}", index / dishes.len() + 1) }
}
