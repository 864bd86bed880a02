//! Three dishes, one never shown: what unloop believes, and what a counter that ignores presentations would.
//!
//! `cargo run --release -p unloop --example lunch` prints a table, with `-- svg` the same as a picture.
#![allow(clippy::disallowed_methods, clippy::print_stdout)]

use std::fmt::Write;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use unloop::{Options, Posterior, Prior, Statistics};

/// Mean and 90 % interval.
#[derive(Clone, Copy)]
struct Belief {
    mean: f64,
    low: f64,
    high: f64,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let options = Options::from_names(["soup", "salad", "curry"])?;
    let ids: Vec<_> = options.iter().map(|(id, _)| id).collect();
    let (soup, salad) = (ids[0], ids[1]);
    // Fifteen people were shown soup and salad. Nobody was shown curry.
    let mut statistics = Statistics::new(options.len());
    statistics.record([soup, salad], soup, 10.0)?;
    statistics.record([soup, salad], salad, 5.0)?;

    // The counter takes the same choices as if everything had been on the table.
    let mut blind = Statistics::new(options.len());
    blind.record(ids.clone(), soup, 10.0)?;
    blind.record(ids, salad, 5.0)?;

    let nothing = Statistics::new(options.len());
    let [prior, unloop, blind] = [beliefs(&nothing)?, beliefs(&statistics)?, beliefs(&blind)?];
    let shown = statistics.shown();
    let names: Vec<&str> = options.iter().map(|(_, name)| name).collect();
    if std::env::args().nth(1).as_deref() == Some("svg") {
        print!(
            "{}",
            svg(&names, &shown, statistics.all_chosen(), &[("prior", &prior), ("unloop", &unloop), ("blind counter", &blind)])
        );
        return Ok(());
    }
    println!("{:<8}{:>6}{:>8}   {:<20}{:<20}blind counter", "option", "shown", "chosen", "prior", "unloop");
    for (k, name) in names.iter().enumerate() {
        let cell = |belief: &Belief| {
            format!("{:>3.0} %  [{:>2.0}, {:>2.0}]", 100.0 * belief.mean, 100.0 * belief.low, 100.0 * belief.high)
        };
        let cells = [&prior, &unloop, &blind].map(|beliefs| cell(&beliefs[k]));
        println!("{name:<8}{:>6}{:>8}   {:<20}{:<20}{}", shown[k], statistics.all_chosen()[k], cells[0], cells[1], cells[2]);
    }
    println!("\npreference of each option: mean and 90 % interval, seed 1");
    Ok(())
}

/// Exact means; intervals from exact draws.
fn beliefs(statistics: &Statistics) -> Result<Vec<Belief>, Box<dyn std::error::Error>> {
    let posterior = Posterior::new(&Prior::symmetric(1.0)?, statistics)?;
    let tree = posterior.tree().ok_or("these presentations are nested")?;
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let draws: Vec<Vec<f64>> = (0..40_000).map(|_| tree.sample(&mut rng)).collect();
    let belief = |(k, mean): (usize, f64)| {
        let mut column: Vec<f64> = draws.iter().map(|theta| theta[k]).collect();
        column.sort_by(f64::total_cmp);
        Belief { mean, low: column[column.len() / 20], high: column[column.len() * 19 / 20] }
    };
    Ok(tree.mean().into_iter().enumerate().map(belief).collect())
}

/// A row for each option, a bar for each belief. Colours keep apart for colour-blind readers and in grey.
fn svg(names: &[&str], shown: &[f64], chosen: &[f64], beliefs: &[(&str, &Vec<Belief>)]) -> String {
    const COLOURS: [&str; 3] = ["#9a9a9a", "#0072b2", "#d55e00"];
    let (left, width, row) = (190.0, 470.0, 92.0);
    let x = |share: f64| left + width * share;
    let height = 62.0 + row * names.len() as f64 + 34.0;
    let mut out = String::new();
    let mut line = |text: String| {
        let _ = writeln!(out, "{text}");
    };
    line(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 720 {height}\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"15\">"
    ));
    line("<title>Preferences of three options, one never shown</title>".into());
    line(format!("<rect width=\"720\" height=\"{height}\" fill=\"#ffffff\"/>"));
    for (i, (label, _)) in beliefs.iter().enumerate() {
        let at = left + 130.0 * i as f64;
        line(format!("<rect x=\"{at}\" y=\"20\" width=\"22\" height=\"9\" rx=\"4\" fill=\"{}\"/>", COLOURS[i]));
        line(format!("<text x=\"{}\" y=\"30\" fill=\"#222222\">{label}</text>", at + 30.0));
    }
    let bottom = 54.0 + row * names.len() as f64;
    for tick in 0..=4 {
        let share = f64::from(tick) * 0.25;
        let at = x(share);
        line(format!("<line x1=\"{at}\" x2=\"{at}\" y1=\"48\" y2=\"{bottom}\" stroke=\"#dddddd\"/>"));
        line(format!(
            "<text x=\"{at}\" y=\"{}\" fill=\"#555555\" text-anchor=\"middle\" font-size=\"13\">{:.0} %</text>",
            bottom + 20.0,
            100.0 * share
        ));
    }
    for (k, name) in names.iter().enumerate() {
        let top = 58.0 + row * k as f64;
        line(format!("<text x=\"20\" y=\"{}\" fill=\"#222222\" font-weight=\"bold\">{name}</text>", top + 32.0));
        let said = if shown[k] > 0.0 { format!("chosen {} of {}", chosen[k], shown[k]) } else { "never shown".into() };
        line(format!("<text x=\"20\" y=\"{}\" fill=\"#555555\" font-size=\"13\">{said}</text>", top + 52.0));
        for (i, (_, beliefs)) in beliefs.iter().enumerate() {
            let (belief, y) = (beliefs[k], top + 20.0 + 22.0 * i as f64);
            line(format!(
                "<line x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{y}\" y2=\"{y}\" stroke=\"{}\" stroke-width=\"7\" stroke-linecap=\"round\" opacity=\"0.55\"/>",
                x(belief.low),
                x(belief.high),
                COLOURS[i]
            ));
            line(format!("<circle cx=\"{:.1}\" cy=\"{y}\" r=\"6.5\" fill=\"{}\"/>", x(belief.mean), COLOURS[i]));
        }
    }
    line("</svg>".into());
    out
}
