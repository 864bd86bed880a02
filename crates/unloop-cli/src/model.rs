//! Prior and draws, as the command line sets them.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use unloop::sampler::{SampleMethod, SampleReport, SampleSettings};
use unloop::{MAX_ALPHA, MIN_ALPHA, Method, OptionId, Options, Prior, Statistics};
use unloop_data::{Source, read_weights};
use unloop_plot::figures::printable;

use crate::failure::failure;

/// What is believed before any choice, and how the posterior is drawn from.
#[derive(Args, Debug)]
#[command(next_help_heading = "Model")]
pub(crate) struct Model {
    /// Prior weight α of every option; below 1 a few options are expected to take it all, above 1 all to be alike
    #[arg(long, value_name = "ALPHA", default_value_t = 1.0, value_parser = weight)]
    prior: f64,

    /// CSV file `option,alpha` with weights of some options
    #[arg(long, value_name = "FILE")]
    prior_file: Option<PathBuf>,

    /// Draws of each chain
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = at_least_one)]
    draws: usize,

    /// Chains
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = at_least_one)]
    chains: usize,

    /// How to draw from the posterior
    #[arg(long, value_enum, default_value = "auto")]
    pub(crate) method: MethodFlag,

    /// Seed of every random number: the same seed gives the same answer
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
}

/// A probability that is neither 0 nor 1.
pub(crate) fn probability(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(p) if p > 0.0 && p < 1.0 => Ok(p),
        _ => Err("it must be above 0 and below 1".into()),
    }
}

/// A count that is not 0.
pub(crate) fn at_least_one(text: &str) -> Result<usize, String> {
    text.parse::<usize>().ok().filter(|&n| n > 0).ok_or_else(|| "it must be a whole number of at least 1".into())
}

fn weight(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(alpha) if (MIN_ALPHA..=MAX_ALPHA).contains(&alpha) => Ok(alpha),
        _ => Err(format!("it must be a number from {MIN_ALPHA:e} to {MAX_ALPHA:e}")),
    }
}

/// How to draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MethodFlag {
    /// Whatever suits the choices
    Auto,
    /// Gibbs sweeps
    Gibbs,
    /// Hamiltonian trajectories
    Hamiltonian,
    /// Particles that follow the choices one by one
    Smc,
    /// The paper's Metropolis steps, to compare with
    Metropolis,
    /// Independent draws, for nested presentations
    Tree,
    /// Draws around the mode, resampled by their weights
    Laplace,
}

impl Model {
    /// The prior over all options; those that a prior file names are added to them.
    pub(crate) fn prior(&self, options: &mut Options) -> Result<Prior> {
        let Some(path) = &self.prior_file else { return Ok(Prior::symmetric(self.prior)?) };
        let weights = read_weights(Source::open(path)?, options)?;
        let mut alpha = vec![self.prior; options.len()];
        weights.into_iter().for_each(|(option, weight)| alpha[option.index()] = weight);
        Prior::per_option(alpha).with_context(|| path.display().to_string())
    }

    /// How to draw from a posterior.
    pub(crate) fn sample_settings(&self) -> Result<SampleSettings> {
        let method = match self.method {
            MethodFlag::Auto => None,
            MethodFlag::Gibbs => Some(SampleMethod::Gibbs),
            MethodFlag::Hamiltonian => Some(SampleMethod::Hamiltonian),
            MethodFlag::Metropolis => Some(SampleMethod::Metropolis),
            MethodFlag::Tree => Some(SampleMethod::Tree),
            MethodFlag::Laplace => Some(SampleMethod::Laplace),
            MethodFlag::Smc => {
                return Err(failure(
                    "particles follow choices one by one, which this command does not",
                    "use `unloop sample --method smc`",
                ));
            }
        };
        Ok(SampleSettings { draws: self.draws, chains: self.chains, seed: self.seed, method, visits: None })
    }

    /// Draws of all chains.
    pub(crate) fn total_draws(&self) -> (usize, usize) {
        (self.chains, self.draws)
    }
}

/// The methods of a report as a word; several are joined.
pub(crate) fn method_name(report: &SampleReport) -> String {
    let name = |method: &SampleMethod| match method {
        SampleMethod::Tree => "tree",
        SampleMethod::Hamiltonian => "hamiltonian",
        SampleMethod::Gibbs => "gibbs",
        SampleMethod::Laplace => "laplace",
        SampleMethod::Metropolis => "metropolis",
        _ => "other",
    };
    let mut names: Vec<&str> = report.methods.iter().map(name).collect();
    names.sort_unstable();
    names.dedup();
    if names.is_empty() { "prior".into() } else { names.join("+") }
}

/// How an evidence was computed, as a word.
pub(crate) fn evidence_method_name(method: Method) -> &'static str {
    match method {
        Method::ClosedForm => "closed_form",
        Method::Quadrature => "quadrature",
        Method::ImportanceSampling => "importance_sampling",
        Method::Particles => "particles",
        _ => "other",
    }
}

/// Warns of draws that are not good, and of groups that nothing links.
pub(crate) fn warn(report: &SampleReport, statistics: &Statistics, options: &Options) {
    warn_of_draws(report, "");
    warn_of_groups(statistics, options);
}

/// Warns of draws that are not good.
pub(crate) fn warn_of_draws(report: &SampleReport, context: &str) {
    let context = if context.is_empty() { String::new() } else { format!("{}: ", printable(context)) };
    if !report.r_hat.is_finite() {
        eprintln!("warning: {context}the draws are too few to judge; ask for more with --draws");
    } else if !report.is_good() {
        eprintln!(
            "warning: {context}the draws are not good enough: R-hat {:.4} (at most 1.01), {:.0} effective (at least 100 for each \
             chain); try more --draws, or another --method",
            report.r_hat,
            report.bulk_ess.min(report.tail_ess)
        );
    }
}

fn warn_of_groups(statistics: &Statistics, options: &Options) {
    let groups = statistics.components();
    if groups.len() > 1 {
        const FEW: usize = 4;
        let mut listed: Vec<String> = groups.iter().take(FEW).map(|group| listed(group, options)).collect();
        if groups.len() > FEW {
            listed.push(format!("… {} in all", groups.len()));
        }
        eprintln!(
            "warning: the options fall into {} groups that no presentation links: {}. \
             Inside a group choices decide the order, between groups the prior does",
            groups.len(),
            listed.join(", ")
        );
    }
}

/// Names of a group, the first few of many.
pub(crate) fn listed(group: &[OptionId], options: &Options) -> String {
    const FEW: usize = 3;
    let mut names: Vec<String> = group.iter().take(FEW).map(|&id| options.name(id).unwrap_or_default().to_owned()).collect();
    if group.len() > FEW {
        names.push(format!("… {} in all", group.len()));
    }
    format!("{{{}}}", names.join(", "))
}
