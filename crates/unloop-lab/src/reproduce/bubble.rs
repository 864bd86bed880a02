//! `bubble`: an option that was never presented keeps its prior.
//!
//! The paper's Figure 3: three options, α = 1; {1, 2} was presented fifteen times, 1 chosen ten times, 2 five times. Contours of the
//! prior, of the Dirichlet-Luce posterior, and of the Dirichlet posterior that ignores what was presented; draws of each option's
//! preference along an axis. The paper is silent about how many draws it marks. Beyond it: the largest difference between the
//! distribution functions of θ₃ before and after, by integration of the density and by draws.

use unloop::sampler::SampleSettings;
use unloop::{Basis, OptionId, Posterior, Prior, Statistics};
use unloop_plot::{Picture, SimplexPanel, Simplexes, grid_points};

use super::{Claim, Data, Figure, Plan, ReproduceError, Work, table};
use crate::row;

pub(super) struct Bubble;

/// Intervals of the grid on which densities are written down.
const GRID: usize = 120;
/// Draws that are marked.
const MARKED: usize = 150;
/// Draws whose distribution function is compared.
const COMPARED: usize = 20_000;
/// Steps of Simpson's rule along each direction.
const STEPS: usize = 600;
/// The differences of exact distribution functions that rounding and the rule leave.
const EXACT: f64 = 1e-9;

const MODELS: [(&str, &str); 3] =
    [("prior", "prior"), ("dirichlet-luce", "Dirichlet-Luce posterior"), ("dirichlet", "Dirichlet posterior")];

fn posterior(model: &str) -> Result<Posterior, ReproduceError> {
    let mut statistics = Statistics::new(3);
    let presented: &[u32] = if model == "dirichlet" { &[0, 1, 2] } else { &[0, 1] };
    if model != "prior" {
        for (chosen, times) in [(0, 10.0), (1, 5.0)] {
            statistics.record(presented.iter().map(|&k| OptionId::new(k)), OptionId::new(chosen), times)?;
        }
    }
    Ok(Posterior::new(&Prior::default(), &statistics)?)
}

impl Figure for Bubble {
    fn name(&self) -> &'static str {
        "bubble"
    }

    fn about(&self) -> &'static str {
        "Figure 3: an option that was never presented keeps its prior"
    }

    fn tables(&self) -> &'static [&'static str] {
        &["bubble", "bubble-marginal"]
    }

    fn cost(&self, _: &Plan) -> u64 {
        200
    }

    fn simulate(&self, plan: &Plan, work: &Work) -> Result<Vec<Data>, ReproduceError> {
        let mut points = Data::new("bubble", &["model", "what", "theta_1", "theta_2", "theta_3", "density"]);
        points.set("options", &3);
        points.set("choices", "from {1, 2}: 1 ten times, 2 five times");
        points.set("density", "up to a factor, on a grid");
        points.set("grid", &GRID);
        let mut marginal = Data::new("bubble-marginal", &["model", "method", "difference", "mean", "draws"]);
        marginal.set("difference", "largest difference of the distribution functions of theta_3 before and after");
        marginal.set("mean", "of theta_3 after");
        for (model, _) in MODELS {
            let posterior = posterior(model)?;
            let ln_density =
                grid_points(GRID).map(|theta| posterior.ln_density(Basis::Simplex, &theta)).collect::<Result<Vec<f64>, _>>()?;
            let high = ln_density.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            for (theta, ln_density) in grid_points(GRID).zip(ln_density) {
                points.push(row![model, "density", theta[0], theta[1], theta[2], (ln_density - high).exp()]);
            }
            let settings = SampleSettings { draws: COMPARED, chains: 1, seed: plan.seed, ..SampleSettings::default() };
            let draws = posterior.sample(&settings)?.draws;
            let thetas: Vec<Vec<f64>> = (0..draws.len()).filter_map(|draw| draws.theta(draw)).collect();
            for theta in thetas.iter().take(MARKED) {
                points.push(row![model, "draw", theta[0], theta[1], theta[2], ""]);
            }
            let (difference, mean) = exactly(&posterior)?;
            marginal.push(row![model, "exact", difference, mean, 0_usize]);
            let mut unseen: Vec<f64> = thetas.iter().map(|theta| theta[2]).collect();
            let mean = unseen.iter().sum::<f64>() / unseen.len() as f64;
            marginal.push(row![model, "draws", largest_difference(&mut unseen), mean, COMPARED]);
        }
        work.add(self.cost(plan) as f64);
        Ok(vec![points, marginal])
    }

    fn draw(&self, tables: &[Data]) -> Result<Vec<(String, Picture)>, ReproduceError> {
        let (points, marginal) = (table(tables, "bubble")?, table(tables, "bubble-marginal")?);
        let mut panels = Vec::new();
        for (model, title) in MODELS {
            let marks = |column| points.numbers(column, &[("model", model), ("what", "draw")]);
            let means = marginal.numbers("mean", &[("model", model), ("method", "exact")])?;
            panels.push(SimplexPanel {
                title: title.to_owned(),
                corners: ["option 1", "option 2", "option 3"].map(str::to_owned),
                grid: GRID,
                density: points.numbers("density", &[("model", model), ("what", "density")])?,
                marks: [marks("theta_1")?, marks("theta_2")?, marks("theta_3")?],
                note: means.first().map(|mean| format!("E θ₃ = {mean:.3}")),
            });
        }
        let differences = |model| marginal.numbers("difference", &[("model", model)]);
        let stated = |model| -> Result<String, ReproduceError> {
            let found = differences(model)?;
            let [exact, draws] = [0, 1].map(|i| found.get(i).copied().unwrap_or(f64::NAN));
            let exact = if exact < 1e-3 { format!("{exact:.0e}") } else { format!("{exact:.3}") };
            Ok(format!("{exact} (by draws {draws:.3})"))
        };
        let mut figure = Simplexes::new("Never presented, never punished", 3, panels);
        figure.subtitle = Some(
            "From {1, 2} option 1 was chosen ten times and 2 five times. The Dirichlet posterior ignores what was presented"
                .into(),
        );
        figure.footer = Some(format!(
            "Largest difference of θ₃'s distribution function from its prior: Dirichlet-Luce {}, Dirichlet {}.",
            stated("dirichlet-luce")?,
            stated("dirichlet")?
        ));
        Ok(vec![("bubble".into(), figure.draw()?)])
    }

    fn judge(&self, tables: &[Data]) -> Result<Vec<Claim>, ReproduceError> {
        let marginal = table(tables, "bubble-marginal")?;
        let one = |column, model, method| -> Result<f64, ReproduceError> {
            Ok(marginal.numbers(column, &[("model", model), ("method", method)])?.first().copied().unwrap_or(f64::NAN))
        };
        let (exact, draws) = (one("difference", "dirichlet-luce", "exact")?, one("difference", "dirichlet-luce", "draws")?);
        // Kolmogorov's critical value at 1 %.
        let critical = 1.63 / (COMPARED as f64).sqrt();
        let claim = |id, words| Claim::new("bubble", id, "Figure 3, Lemma 3", words);
        let unmoved = claim("bubble-unmoved", "The marginal of an option that was never presented stays as it was").exact(
            &format!("largest change of θ₃'s distribution function (by draws {draws:.4}, {critical:.4} allowed)"),
            exact,
            exact < EXACT && draws < critical,
        );
        let ignored = one("difference", "dirichlet", "exact")?;
        let punished = claim("bubble-punished", "If presentations are ignored, the option that was never presented is punished")
            .exact(
                &format!("the same without presentations (mean {:.3}, was 0.333)", one("mean", "dirichlet", "exact")?),
                ignored,
                ignored > 0.1,
            );
        Ok(vec![unmoved, punished])
    }
}

/// Largest difference of θ₃'s distribution function from that of Beta(1, 2), and its mean, by Simpson's rule: over θ₃, and over
/// u = θ₁/(θ₁ + θ₂) at each.
fn exactly(posterior: &Posterior) -> Result<(f64, f64), ReproduceError> {
    let simpson = |i: usize| if i == 0 || i == STEPS { 1.0 } else { 2.0 + 2.0 * (i % 2) as f64 };
    // The ends, where a density may be none, are left out by a substitution that vanishes there: x = 3t² − 2t³.
    let point = |i: usize| {
        let t = i as f64 / STEPS as f64;
        (t * t * (3.0 - 2.0 * t), 6.0 * t * (1.0 - t))
    };
    let mut slices = Vec::with_capacity(STEPS + 1);
    for i in 0..=STEPS {
        let (unseen, slope) = point(i);
        let mut slice = 0.0;
        for j in 1..STEPS {
            let (u, slope) = point(j);
            let theta = [(1.0 - unseen) * u, (1.0 - unseen) * (1.0 - u), unseen];
            if slope > 0.0 && unseen > 0.0 && unseen < 1.0 {
                slice += simpson(j) * slope * posterior.ln_density(Basis::Simplex, &theta)?.exp();
            }
        }
        slices.push((unseen, slope * slice * (1.0 - unseen)));
    }
    let total: f64 = slices.iter().enumerate().map(|(i, (_, slice))| simpson(i) * slice).sum();
    let mean: f64 = slices.iter().enumerate().map(|(i, (unseen, slice))| simpson(i) * slice * unseen).sum::<f64>() / total;
    // The distribution function at every second point, where Simpson's rule is complete.
    let (mut so_far, mut largest) = (0.0, 0.0_f64);
    for window in slices.windows(3).step_by(2) {
        so_far += window[0].1 + 4.0 * window[1].1 + window[2].1;
        let before = 1.0 - (1.0 - window[2].0).powi(2);
        largest = largest.max((so_far / total - before).abs());
    }
    Ok((largest, mean))
}

/// Kolmogorov's distance of draws from Beta(1, 2).
fn largest_difference(draws: &mut [f64]) -> f64 {
    draws.sort_by(f64::total_cmp);
    let n = draws.len() as f64;
    let distance = |(i, &x): (usize, &f64)| {
        let before = 1.0 - (1.0 - x).powi(2);
        (before - i as f64 / n).max((i + 1) as f64 / n - before)
    };
    draws.iter().enumerate().map(distance).fold(0.0, f64::max)
}
