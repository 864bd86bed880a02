//! `map-error`: how far the MAP is from the truth after so many observations.
//!
//! The paper's Figure 7: duels of Merge-Rank for random dense θ*, random subsets of growing size of them, total absolute deviation and
//! Kullback-Leibler divergence of the maximum a posteriori. The paper maximises on the simplex, where with α = 1 there is no maximum
//! for few duels (an option that never won is at 0, and the divergence infinite); here it is the maximum in the log basis, which always
//! exists. K = 50, which the paper does not say.

use rand::seq::SliceRandom;
use rayon::prelude::*;
use unloop::{Basis, Posterior, Prior};
use unloop_plot::{Look, Panel, Panels, Picture};

use super::merge_rank::{counted, deviation, duels, preferences, stream};
use super::rounds::{DENSE, mean_cells, series};
use super::{Claim, Data, Figure, Plan, ReproduceError, Verdict, Work, table};
use crate::row;
use crate::summary::Summary;
use crate::user::User;

pub(super) struct MapErrors;

const OPTIONS: usize = 50;
const SIZES: [usize; 9] = [50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000];
/// Where a claim is decided.
const REASONABLE: usize = 10_000;
/// Total absolute deviation that counts as accurate; the largest possible is 2.
const ACCURATE: f64 = 0.2;

/// Deviation and divergence at each size that a run has enough duels for.
fn run(plan: &Plan, run: usize) -> Result<Vec<(usize, f64, f64)>, ReproduceError> {
    let user = User::dirichlet(OPTIONS, DENSE, 400 + run as u64);
    let theta = preferences(&user);
    let mut rng = stream(plan.seed, 2, run);
    let mut all = duels(&user, &mut rng);
    all.shuffle(&mut rng);
    let mut errors = Vec::new();
    for size in SIZES.into_iter().filter(|&size| size <= all.len()) {
        let statistics = counted(OPTIONS, &all[..size])?;
        let map = Posterior::new(&Prior::default(), &statistics)?.map(Basis::Log)?.theta;
        let divergence = theta.iter().zip(&map).map(|(x, y)| x * (x / y).ln()).sum();
        errors.push((size, deviation(&map, &theta), divergence));
    }
    Ok(errors)
}

impl Figure for MapErrors {
    fn name(&self) -> &'static str {
        "map-error"
    }

    fn about(&self) -> &'static str {
        "Figure 7: error of the MAP against the number of observations"
    }

    fn tables(&self) -> &'static [&'static str] {
        &["map-error", "map-error-runs"]
    }

    fn cost(&self, plan: &Plan) -> u64 {
        20 * plan.pick(10, 50)
    }

    fn simulate(&self, plan: &Plan, work: &Work) -> Result<Vec<Data>, ReproduceError> {
        let count: usize = plan.pick(10, 50);
        let runs = (0..count).into_par_iter().map(|i| {
            let run = run(plan, i);
            work.add(20.0);
            run
        });
        let runs = runs.collect::<Result<Vec<_>, ReproduceError>>()?;
        let mut each = Data::new("map-error-runs", &["run", "observations", "deviation", "divergence"]);
        for (i, run) in runs.iter().enumerate() {
            run.iter().for_each(|&(size, deviation, divergence)| each.push(row![i, size, deviation, divergence]));
        }
        let mut means = Data::new("map-error", &["error", "observations", "mean", "sd", "low", "high", "runs"]);
        for error in ["deviation", "divergence"] {
            for size in SIZES {
                let values = each.numbers(error, &[("observations", &size.to_string())])?;
                // Runs with more duels are others: a mean over some of them would not go on from the one before.
                if values.len() == count {
                    means.push(row![error, size].into_iter().chain(mean_cells(&values)));
                }
            }
        }
        for data in [&mut means, &mut each] {
            data.set("options", &OPTIONS);
            data.set("estimate", "maximum a posteriori in the log basis, alpha 1");
        }
        Ok(vec![means, each])
    }

    fn draw(&self, tables: &[Data]) -> Result<Vec<(String, Picture)>, ReproduceError> {
        let data = table(tables, "map-error")?;
        let mut panels = Vec::new();
        for (error, title, label) in [
            ("deviation", "Total absolute deviation", "Σ|MAP − θ*|"),
            ("divergence", "Kullback-Leibler divergence", "KL(θ* ‖ MAP), nats"),
        ] {
            panels.push(Panel {
                title: title.into(),
                x_label: "observed duels".into(),
                y_label: label.into(),
                log_x: true,
                log_y: true,
                series: vec![series(data, "observations", &[("error", error)], ("MAP", 0), Look::Marks)?],
            });
        }
        let mut figure = Panels::new("How fast the MAP finds the truth", 2, panels);
        let runs = data.numbers("runs", &[])?.first().copied().unwrap_or(0.0);
        figure.subtitle = Some(format!(
            "{OPTIONS} options, random parts of Merge-Rank's duels, {runs} runs with dense θ* of their own; mean and its 95 % interval"
        ));
        Ok(vec![("map-error".into(), figure.draw()?)])
    }

    fn judge(&self, tables: &[Data]) -> Result<Vec<Claim>, ReproduceError> {
        let runs = table(tables, "map-error-runs")?;
        let size = REASONABLE.to_string();
        let error = Summary::new(&runs.numbers("deviation", &[("observations", &size)])?);
        let claim = Claim::new(
            "map-error",
            "map-error-accurate",
            "Figure 7",
            "The MAP is an accurate estimate after a reasonable number of observations",
        );
        let measure = "Σ|MAP − θ*| after 10 000 duels (accurate: below 0.2, at most 2)";
        Ok(vec![claim.measured(measure, &error, Verdict::below(ACCURATE, error.low, error.high))])
    }
}
