//! `cyclic`: choices that go in a circle count as draws.
//!
//! The paper's Figure 2: three options a, b, c, six pairs. In the first row each pair is won once by either; in the second a beats b,
//! b beats c and c beats a, twice each. The posterior after each choice, which in the end is the same. α = 1.

use unloop::{Basis, OptionId, Posterior, Prior, Statistics};
use unloop_plot::{Picture, SimplexPanel, Simplexes, grid_points};

use super::{Claim, Data, Figure, Plan, ReproduceError, Work, table};
use crate::row;

pub(super) struct Cyclic;

const GRID: usize = 40;
/// Winner and loser of each choice.
const DRAWS: [(u32, u32); 6] = [(1, 0), (0, 1), (2, 1), (1, 2), (0, 2), (2, 0)];
const CYCLE: [(u32, u32); 6] = [(0, 1), (0, 1), (1, 2), (1, 2), (2, 0), (2, 0)];
const NAMES: [&str; 3] = ["a", "b", "c"];

impl Figure for Cyclic {
    fn name(&self) -> &'static str {
        "cyclic"
    }

    fn about(&self) -> &'static str {
        "Figure 2: choices that go in a circle count as draws"
    }

    fn tables(&self) -> &'static [&'static str] {
        &["cyclic"]
    }

    fn cost(&self, _: &Plan) -> u64 {
        50
    }

    fn simulate(&self, plan: &Plan, work: &Work) -> Result<Vec<Data>, ReproduceError> {
        let mut data = Data::new("cyclic", &["choices", "after", "last", "theta_a", "theta_b", "theta_c", "density"]);
        data.set("density", "normalised over the grid's points");
        data.set("grid", &GRID);
        for (choices, sequence) in [("draws", DRAWS), ("cycle", CYCLE)] {
            let mut statistics = Statistics::new(3);
            for (i, (winner, loser)) in sequence.into_iter().enumerate() {
                statistics.record([winner, loser].map(OptionId::new), OptionId::new(winner), 1.0)?;
                let posterior = Posterior::new(&Prior::default(), &statistics)?;
                let density = grid_points(GRID).map(|theta| Ok(posterior.ln_density(Basis::Simplex, &theta)?.exp()));
                let density = density.collect::<Result<Vec<f64>, ReproduceError>>()?;
                let total: f64 = density.iter().sum();
                let last = format!("{} > {}", NAMES[winner as usize], NAMES[loser as usize]);
                for (theta, density) in grid_points(GRID).zip(density) {
                    data.push(row![choices, i + 1, last.as_str(), theta[0], theta[1], theta[2], density / total]);
                }
            }
        }
        work.add(self.cost(plan) as f64);
        Ok(vec![data])
    }

    fn draw(&self, tables: &[Data]) -> Result<Vec<(String, Picture)>, ReproduceError> {
        let data = table(tables, "cyclic")?;
        let mut panels = Vec::new();
        for choices in ["draws", "cycle"] {
            for after in 1..=6 {
                let number = after.to_string();
                let having = [("choices", choices), ("after", number.as_str())];
                let row = data.iter().find(|row| row.text("choices") == Ok(choices) && row.text("after") == Ok(&number));
                let last = row.as_ref().map_or(Ok("?"), |row| row.text("last"))?;
                panels.push(SimplexPanel {
                    title: format!("{after}: {last}"),
                    corners: NAMES.map(str::to_owned),
                    grid: GRID,
                    density: data.numbers("density", &having)?,
                    marks: [Vec::new(), Vec::new(), Vec::new()],
                    note: None,
                });
            }
        }
        let mut figure = Simplexes::new("A circle counts as draws", 6, panels);
        figure.subtitle =
            Some("Posterior after each of six choices: each pair drawn (above), a beats b beats c beats a (below)".into());
        Ok(vec![("cyclic".into(), figure.draw()?)])
    }

    fn judge(&self, tables: &[Data]) -> Result<Vec<Claim>, ReproduceError> {
        let data = table(tables, "cyclic")?;
        let after = |choices, after| data.numbers("density", &[("choices", choices), ("after", after)]);
        let distance = |x: &[f64], y: &[f64]| 0.5 * x.iter().zip(y).map(|(x, y)| (x - y).abs()).sum::<f64>();
        let end = distance(&after("draws", "6")?, &after("cycle", "6")?);
        let way = distance(&after("draws", "4")?, &after("cycle", "4")?);
        let claim = Claim::new("cyclic", "cyclic-draws", "Figure 2", "Cyclic choices are treated as draws");
        let measure = format!("total variation of the two posteriors after six choices (after four {way:.2})");
        Ok(vec![claim.exact(&measure, end, end < 1e-12 && way > 0.01)])
    }
}
