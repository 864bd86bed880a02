//! Grids of triangles.

use std::error::Error;
use std::path::Path;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use unloop_plot::{SimplexPanel, Simplexes, grid_points};

use crate::save;

pub(crate) fn draw(directory: &Path) -> Result<(), Box<dyn Error>> {
    let three = [
        panel("Nothing seen", 60, 100, |_| 1.0),
        panel("10 of 15 duels of curry and soup", 200, 100, |[a, b, _]| a.powi(10) * b.powi(5) / (a + b).powi(15)),
        panel("Dirichlet(11, 6, 1)", 60, 100, |[a, b, _]| a.powi(10) * b.powi(5)),
    ];
    let marked = Simplexes {
        subtitle: Some("What is known of three options after 15 choices".to_owned()),
        footer: Some("made up by the gallery".to_owned()),
        ..Simplexes::new("Posteriors on the simplex", 3, three)
    };
    save(directory, "simplexes-marks", &marked.draw()?)?;
    let two = Simplexes { columns: 2, panels: marked.panels[1..].to_vec(), ..marked.clone() };
    save(directory, "simplexes-two", &two.draw()?)?;
    let small: Vec<SimplexPanel> = (0..12)
        .map(|index| {
            let power = 0.5 * f64::from(index);
            let of = move |[a, b, c]: [f64; 3]| a.powf(power) * b.powf(0.5 * power - 0.5) * c.powf(-0.5 + 0.1 * power);
            SimplexPanel { note: Some(format!("a = {power}")), ..panel(&format!("after {index}"), 40, 0, of) }
        })
        .collect();
    save(directory, "simplexes-small", &Simplexes::new("Twelve densities", 6, small).draw()?)?;
    let coarse = [panel("coarse", 8, 0, |[a, b, c]| a * b * c), panel("corners", 60, 0, |[a, b, c]| 1.0 / (a * b * c))];
    save(directory, "simplexes-plain", &Simplexes::new("Coarse and infinite at the edges", 2, coarse).draw()?)?;
    let mut one = panel("Only one", 60, 500, |[a, b, c]| a * b.powi(3) * c.powi(2));
    one.marks[0].clear();
    one.corners = [
        "curry with a very long name that goes on".to_owned(),
        "bread & soup, also long".to_owned(),
        "salad of the day, long".to_owned(),
    ];
    save(directory, "simplexes-one", &Simplexes::new("One", 1, [one]).draw()?)?;
    Ok(())
}

/// A density with so many samples of it, taken from its grid.
fn panel(title: &str, grid: usize, samples: usize, of: impl Fn([f64; 3]) -> f64) -> SimplexPanel {
    let points: Vec<[f64; 3]> = grid_points(grid).collect();
    let density: Vec<f64> = points.iter().map(|&point| of(point)).collect();
    let sum: f64 = density.iter().sum();
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let mut marks = [Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..samples {
        let mut left = sum * rng.random::<f64>();
        let index = density.iter().position(|value| {
            left -= value;
            left <= 0.0
        });
        let point = points[index.unwrap_or(0)];
        for (mark, share) in marks.iter_mut().zip(point) {
            mark.push((share + (rng.random::<f64>() - 0.5) / (grid as f64 + 1.0)).clamp(0.0, 1.0));
        }
    }
    let note = (samples > 0).then(|| format!("{samples} samples"));
    SimplexPanel { title: title.to_owned(), corners: ["curry", "soup", "salad"].map(str::to_owned), grid, density, marks, note }
}
