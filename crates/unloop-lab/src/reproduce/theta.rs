//! `theta`: the preferences of the simulated people.
//!
//! The paper's Figure 9 shows the vectors it used, without saying where they come from. Here they are drawn from Dirichlet(0.1) (sparse)
//! and Dirichlet(2) (dense); runs go round several of them, so that no claim hangs on one.

use unloop_plot::{BandPoint, Look, Panel, Panels, Picture, Series};

use super::merge_rank::preferences;
use super::rounds::{DENSE, SPARSE};
use super::{Claim, Data, Figure, Plan, ReproduceError, Work, dueling, growing, table, toprank};
use crate::row;
use crate::user::User;

pub(super) struct Preferences;

/// Vectors that are drawn, of each kind.
const DRAWN: usize = 5;
/// Smaller preferences are not drawn.
const LEAST: f64 = 1e-4;

impl Figure for Preferences {
    fn name(&self) -> &'static str {
        "theta"
    }

    fn about(&self) -> &'static str {
        "Figure 9: the preferences θ* of the simulated people"
    }

    fn tables(&self) -> &'static [&'static str] {
        &["theta"]
    }

    fn cost(&self, _: &Plan) -> u64 {
        10
    }

    fn simulate(&self, plan: &Plan, work: &Work) -> Result<Vec<Data>, ReproduceError> {
        let mut data = Data::new("theta", &["experiment", "kind", "vector", "place", "theta"]);
        data.set("sparse", "Dirichlet(0.1)");
        data.set("dense", "Dirichlet(2)");
        for (experiment, kind, alpha, options, first, vectors) in [
            ("dueling", "sparse", SPARSE, 50, dueling::VECTOR_SEED, dueling::VECTORS),
            ("dueling", "dense", DENSE, 50, dueling::VECTOR_SEED, dueling::VECTORS),
            ("growing", "sparse", SPARSE, 100, growing::VECTOR_SEED, growing::VECTORS),
            ("toprank", "sparse", SPARSE, 50, toprank::VECTOR_SEED, toprank::VECTORS),
            ("toprank", "dense", DENSE, 50, toprank::VECTOR_SEED, toprank::VECTORS),
        ] {
            for vector in 0..vectors {
                let mut theta = preferences(&User::dirichlet(options, alpha, first + vector));
                theta.sort_by(|x, y| y.total_cmp(x));
                for (place, theta) in theta.into_iter().enumerate() {
                    data.push(row![experiment, kind, vector as usize, place + 1, theta]);
                }
            }
        }
        work.add(self.cost(plan) as f64);
        Ok(vec![data])
    }

    fn draw(&self, tables: &[Data]) -> Result<Vec<(String, Picture)>, ReproduceError> {
        let data = table(tables, "theta")?;
        let mut panels = Vec::new();
        for (experiment, title) in [("dueling", "Duels"), ("growing", "Growing presentations"), ("toprank", "Ranking")] {
            let mut lines = Vec::new();
            for (kind, style) in [("sparse", 7), ("dense", 9)] {
                for vector in 0..DRAWN {
                    let number = vector.to_string();
                    let having = [("experiment", experiment), ("kind", kind), ("vector", number.as_str())];
                    let theta = data.numbers("theta", &having)?.into_iter().take_while(|&theta| theta >= LEAST).enumerate();
                    let points: Vec<BandPoint> =
                        theta.map(|(i, mean)| BandPoint { x: (i + 1) as f64, mean, low: mean, high: mean }).collect();
                    if points.len() > 1 {
                        lines.push(Series { name: kind.to_owned(), style, look: Look::Line, points });
                    }
                }
            }
            panels.push(Panel {
                title: title.into(),
                x_label: "option, by preference".into(),
                y_label: "preference θ*".into(),
                log_x: false,
                log_y: true,
                series: lines,
            });
        }
        let mut figure = Panels::new("What simulated people prefer", 3, panels);
        figure.subtitle =
            Some(format!("The first {DRAWN} vectors θ* of each kind, in descending order, as far as they are above {LEAST}"));
        Ok(vec![("theta".into(), figure.draw()?)])
    }

    fn judge(&self, _: &[Data]) -> Result<Vec<Claim>, ReproduceError> {
        Ok(Vec::new())
    }
}
