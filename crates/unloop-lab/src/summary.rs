//! Means over runs, with intervals; differences between policies on paired seeds.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// Mean, spread and interval of some runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// Mean.
    pub mean: f64,
    /// Standard deviation of a run; 0 for one alone.
    pub sd: f64,
    /// Lower end of the 95 % interval of the mean, by Student's t.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Median.
    pub median: f64,
    /// The largest.
    pub worst: f64,
    /// Runs.
    pub runs: usize,
}

impl Summary {
    /// Of some values; NaN without any.
    pub fn new(values: &[f64]) -> Self {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let sd = if values.len() < 2 { 0.0 } else { (values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt() };
        let t = StudentsT::new(0.0, 1.0, (n - 1.0).max(1.0)).map_or(f64::INFINITY, |t| t.inverse_cdf(0.975));
        let half = if values.len() < 2 { f64::INFINITY } else { t * sd / n.sqrt() };
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let median = match sorted.len() {
            0 => f64::NAN,
            n if n % 2 == 1 => sorted[n / 2],
            n => 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]),
        };
        let worst = sorted.last().copied().unwrap_or(f64::NAN);
        Self { mean, sd, low: mean - half, high: mean + half, median, worst, runs: values.len() }
    }

    /// Of the differences x − y, run by run.
    pub fn of_differences(x: &[f64], y: &[f64]) -> Self {
        Self::new(&x.iter().zip(y).map(|(x, y)| x - y).collect::<Vec<f64>>())
    }
}
