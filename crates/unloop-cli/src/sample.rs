//! `unloop sample`: posterior draws into a file.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use unloop::sampler::{Smc, SmcSettings};
use unloop::{Options, Posterior, Presentation, Prior};
use unloop_data::draws::{DrawFormat, DrawTable, write_draws};
use unloop_data::for_each_choice;
use unloop_plot::figures::count;

use crate::failure::{cannot_write, failure};
use crate::input::{Columns, Input};
use crate::model::{self, MethodFlag, Model, method_name};
use crate::progress::Progress;

/// Draw preferences from the posterior
///
/// Each draw is a set of shares that add up to 1, one for each option. How good the draws are is said on standard error.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Sample {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    columns: Columns,
    #[command(flatten)]
    model: Model,

    /// File to write; its end says the format (.csv, .jsonl, .npy, .parquet). Standard output by default
    #[arg(long, short, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,

    /// Format, where the file's name does not say it: CSV by default
    #[arg(long, value_enum, help_heading = "Output")]
    format: Option<FormatFlag>,
}

/// Fewer particles lose their way, however few draws are wanted.
const MIN_PARTICLES: usize = 1_000;

const EXAMPLES: &str = "\
Examples:
  unloop sample battles.csv > draws.csv
  unloop sample battles.csv --output draws.npy --draws 5000     With names of the options in draws.options.txt
  unloop sample battles.csv --method smc --format jsonl | head";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FormatFlag {
    /// A column for each option
    Csv,
    /// An object on each line
    Jsonl,
    /// NumPy: chains × draws × options
    Npy,
    /// Apache Parquet
    Parquet,
}

impl FormatFlag {
    fn of_path(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "csv" => Some(Self::Csv),
            "jsonl" | "ndjson" => Some(Self::Jsonl),
            "npy" => Some(Self::Npy),
            "parquet" => Some(Self::Parquet),
            _ => None,
        }
    }

    #[cfg_attr(feature = "parquet", expect(clippy::unnecessary_wraps, reason = "without the feature it can fail"))]
    fn format(self) -> Result<DrawFormat> {
        match self {
            Self::Csv => Ok(DrawFormat::Csv),
            Self::Jsonl => Ok(DrawFormat::JsonLines),
            Self::Npy => Ok(DrawFormat::Npy),
            #[cfg(feature = "parquet")]
            Self::Parquet => Ok(DrawFormat::Parquet),
            #[cfg(not(feature = "parquet"))]
            Self::Parquet => {
                Err(failure("this program was built without Parquet", "build it with `--features parquet`, or write .npy"))
            }
        }
    }
}

impl Sample {
    pub(crate) fn run(self) -> Result<()> {
        let format = match (self.format, &self.output) {
            (Some(format), _) => format,
            (None, Some(path)) => FormatFlag::of_path(path).ok_or_else(|| {
                failure(
                    format!("{}: the name does not say the format", path.display()),
                    "end it in .csv, .jsonl, .npy or .parquet, or give --format",
                )
            })?,
            (None, None) => FormatFlag::Csv,
        };
        let format = format.format()?;
        if let Some(path) = &self.output {
            self.input.check_output(path)?;
        }
        if self.model.method == MethodFlag::Smc { self.particles(format) } else { self.chains(format) }
    }

    fn chains(&self, format: DrawFormat) -> Result<()> {
        let settings = self.model.sample_settings()?;
        let loaded = self.input.load(&self.columns, None, &self.model)?;
        let statistics = loaded.counted.statistics();
        let progress = Progress::working("drawing from the posterior");
        let sample = Posterior::new(&loaded.prior, statistics)?.sample(&settings)?;
        drop(progress);
        model::warn(&sample.report, statistics, &loaded.options);
        let draws = &sample.draws;
        let report = &sample.report;
        let theta = (0..draws.len()).filter_map(|i| draws.theta(i));
        let table = DrawTable { options: &loaded.options, chains: draws.chains(), draws: draws.draws(), theta };
        self.write(format, table)?;
        eprintln!(
            "{} draws by {}, {}seed {}",
            count(draws.len() as f64),
            method_name(report),
            if report.r_hat.is_finite() {
                let [bulk, tails] = [report.bulk_ess, report.tail_ess].map(|ess| count(ess.round()));
                format!("R-hat {:.3}, effective {bulk} (bulk) and {tails} (tails), ", report.r_hat)
            } else {
                String::new()
            },
            self.model.seed
        );
        Ok(())
    }

    /// Particles follow the choices in the order of the file.
    fn particles(&self, format: DrawFormat) -> Result<()> {
        let (mut options, rows) = self.input.rows(&self.columns)?;
        let settings = self.input.count_settings();
        let none = unloop_data::no_choice_option(&settings, &mut options)?;
        let prior = self.model.prior(&mut options)?;
        let (chains, draws) = self.model.total_draws();
        let mut smc = self.start(&prior, &options, chains.saturating_mul(draws))?;
        let progress = Progress::working("following the choices");
        let mut moves = 0_u64;
        for (file, row) in &rows {
            let mut outcome = Ok(());
            for_each_choice(row, &settings, none, |presented, option, weight| {
                let mut step = || -> Result<bool> {
                    let choice = Presentation::new(presented.iter().copied())?.choose(option)?;
                    Ok(smc.record(&choice, weight)?.moved.is_some())
                };
                if outcome.is_ok() {
                    outcome = step().map(|moved| moves += u64::from(moved));
                }
            });
            outcome.with_context(|| self.input.line(*file, row.line))?;
        }
        drop(progress);
        let (ess, evidence) = (smc.ess(), smc.ln_evidence());
        let theta = (0..chains * draws).map(|_| smc.theta());
        self.write(format, DrawTable { options: &options, chains, draws, theta })?;
        let evidence = evidence.filter(|evidence| evidence.error.is_finite());
        let evidence = evidence.map_or(String::new(), |e| format!(", ln evidence {:.2} ± {:.2}", e.ln_value, e.error));
        eprintln!(
            "{} draws by smc from {} effective particles, resampled {moves} times{evidence}, seed {}",
            count((chains * draws) as f64),
            count(ess.round()),
            self.model.seed
        );
        Ok(())
    }

    fn start(&self, prior: &Prior, options: &Options, particles: usize) -> Result<Smc> {
        let settings = SmcSettings { particles: particles.max(MIN_PARTICLES), seed: self.model.seed, ..SmcSettings::default() };
        Ok(Smc::new(prior, options.len(), settings)?)
    }

    fn write<I: Iterator<Item = Vec<f64>>>(&self, format: DrawFormat, table: DrawTable<'_, I>) -> Result<()> {
        let Some(path) = &self.output else {
            return Ok(write_draws(BufWriter::new(std::io::stdout()), format, table)?);
        };
        let cannot = |error: std::io::Error| cannot_write(path, &error);
        // The array has no names in it.
        if format == DrawFormat::Npy {
            let names = path.with_extension("options.txt");
            let mut out = BufWriter::new(File::create(&names).map_err(cannot)?);
            for (_, name) in table.options.iter() {
                writeln!(out, "{name}")?;
            }
            out.flush()?;
            eprintln!("names of the options are in {}", names.display());
        }
        let file = File::create(path).map_err(cannot)?;
        write_draws(BufWriter::new(file), format, table).map_err(cannot)
    }
}
