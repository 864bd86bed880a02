//! `unloop rank`: a leaderboard from choices.

mod document;
mod picture;
mod text;

pub(crate) use picture::{path as picture_path, write as write_picture};

use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use unloop::ranking::{Pairwise, Ranking, RankingSettings};
use unloop::{MapError, OptionId, Options, maximum_likelihood};
use unloop_data::Group;

use crate::failure::failure;
use crate::input::{Columns, Input, Loaded};
use crate::model::{self, Model, at_least_one, listed, probability};
use crate::output::print_json;
use crate::progress::Progress;

/// Rank options from choices, with honest intervals
///
/// Prints for each option its share of choices (posterior mean and interval), its strength against the average, how probably it is the
/// best and among the best, and where its rank lies. Options that were listed and never shown keep their prior.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Rank {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    columns: Columns,
    #[command(flatten)]
    model: Model,

    /// n of the chance to be among the best n
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = at_least_one)]
    top: usize,

    /// Probability of the intervals
    #[arg(long, value_name = "P", default_value_t = 0.9, value_parser = probability)]
    level: f64,

    /// Scale of the strength: natural logarithm around 0 (the default), or 400 points for a factor of ten around 1500; in JSON only
    /// where it is given
    #[arg(long, value_enum)]
    scale: Option<Scale>,

    /// Add the maximum-likelihood estimate, where there is one
    #[arg(long)]
    mle: bool,

    /// A table for each value of a column, such as `user`
    #[arg(long, value_name = "COLUMN")]
    by: Option<String>,

    /// Add the chances between each two of the best N options
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "10", value_parser = at_least_two)]
    pairwise: Option<usize>,

    /// Say whether the first `--top` rows are the true ones with this probability; the exit code is 1 if not
    #[arg(long, value_name = "confidence=P", value_parser = confidence)]
    until: Option<f64>,

    /// Show only the first N rows, in tables and pictures
    #[arg(long, value_name = "N", value_parser = at_least_one, help_heading = "Output")]
    limit: Option<usize>,

    /// Print JSON
    #[arg(long, help_heading = "Output", conflicts_with = "csv")]
    json: bool,

    /// Print CSV
    #[arg(long, help_heading = "Output")]
    csv: bool,

    /// Draw a picture: a forest plot, or with --pairwise a heat map
    #[arg(long, value_name = "FILE.svg|FILE.png", help_heading = "Output", value_parser = picture::path, conflicts_with = "by")]
    plot: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  unloop rank battles.csv                            A leaderboard
  unloop rank battles.csv --none tie --scale elo     Draws are empty winners; ratings around 1500
  unloop rank battles.csv --plot leaderboard.svg     And a picture
  unloop rank votes.jsonl.gz --by user --json        A ranking for each user, for machines
  unloop rank battles.csv --top 3 --until confidence=0.95 || collect more
  zcat battles.csv.gz | unloop rank -                From a stream";

/// What strengths are measured in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scale {
    Log,
    Elo,
}

impl Scale {
    /// A log strength on this scale.
    fn of(self, strength: f64) -> f64 {
        match self {
            Self::Log => strength,
            Self::Elo => 1_500.0 + 400.0 / std::f64::consts::LN_10 * strength,
        }
    }
}

fn at_least_two(text: &str) -> Result<usize, String> {
    text.parse::<usize>().ok().filter(|&n| n > 1).ok_or_else(|| "it must be a whole number of at least 2".into())
}

fn confidence(text: &str) -> Result<f64, String> {
    let p = text.strip_prefix("confidence=").ok_or("write it as confidence=0.95")?;
    probability(p).map_err(|error| format!("confidence: {error}"))
}

/// The ranking of one group of rows, with all that is printed of it.
pub(crate) struct Board<'a> {
    pub(crate) options: &'a Options,
    /// The value of the column of `--by`.
    pub(crate) group: Option<&'a str>,
    pub(crate) ranking: Ranking,
    pub(crate) pairwise: Option<Pairwise>,
    /// Maximum-likelihood shares by option, or why there are none.
    pub(crate) mle: Option<Result<Vec<Option<f64>>, String>>,
    pub(crate) confidence: Option<f64>,
    pub(crate) scale: Scale,
    /// Rows that counted for nothing, in words.
    pub(crate) left_out: Vec<String>,
    /// Seconds since the command began.
    pub(crate) seconds: f64,
}

impl Board<'_> {
    pub(crate) fn name(&self, option: OptionId) -> &str {
        self.options.name(option).unwrap_or_default()
    }

    /// Whether what `--until` asks for is reached.
    pub(crate) fn is_sure(&self) -> bool {
        self.confidence.is_none_or(|confidence| self.ranking.is_sure(confidence))
    }
}

impl Rank {
    pub(crate) fn run(self) -> Result<ExitCode> {
        let began = Instant::now();
        let sample = self.model.sample_settings()?;
        let loaded = self.input.load(&self.columns, self.by.as_deref(), &self.model)?;
        let settings = RankingSettings {
            top: self.top,
            level: self.level,
            sample,
            unranked: loaded.counted.none.into_iter().collect(),
            ..RankingSettings::default()
        };
        let ranked = loaded.options.len() - settings.unranked.len();
        if let Some(path) = &self.plot {
            self.input.check_output(path)?;
            picture::check_size(path, self.limit.unwrap_or(ranked).min(ranked), self.pairwise.is_some())?;
        }
        if self.until.is_some() && self.top >= ranked {
            return Err(failure(
                format!("--until asks whether the first {} are the best, and there are {ranked} options", self.top),
                "ask for fewer with --top",
            ));
        }
        let mut out = BufWriter::new(std::io::stdout().lock());
        let mut documents = Vec::new();
        let (mut sure, mut apart) = (true, 0);
        for (i, group) in loaded.counted.groups.iter().enumerate() {
            let board = self.board(&loaded, group, &settings, began)?;
            match board.group {
                None => model::warn(&board.ranking.report, &group.statistics, &loaded.options),
                Some(name) => model::warn_of_draws(&board.ranking.report, name),
            }
            apart += usize::from(board.ranking.components > 1);
            sure &= board.is_sure();
            if let Some(path) = &self.plot {
                picture::draw(path, &board, self.limit)?;
            }
            if self.json {
                documents.push(document::ranking(&board, self.scale));
            } else if self.csv {
                document::csv(&mut out, &board, self.by.as_deref(), i == 0)?;
                text::none(&board).into_iter().for_each(|none| eprintln!("{none}"));
                text::verdict(&board).into_iter().for_each(|verdict| eprintln!("{verdict}"));
            } else {
                text::board(&mut out, &board, self.limit, self.by.as_deref(), i == 0)?;
            }
        }
        if self.json {
            match self.by {
                Some(_) => print_json(&mut out, &serde_json::json!({ "groups": documents }))?,
                None => documents.into_iter().try_for_each(|document| print_json(&mut out, &document))?,
            }
        }
        out.flush()?;
        if self.by.is_some() && apart > 0 {
            eprintln!(
                "warning: in {apart} of {} tables the options fall into groups that no presentation links, as said below each: \
                 between such groups the prior decides the order",
                loaded.counted.groups.len()
            );
        }
        Ok(ExitCode::from(u8::from(!sure)))
    }

    fn board<'a>(&self, loaded: &'a Loaded, group: &'a Group, settings: &RankingSettings, began: Instant) -> Result<Board<'a>> {
        let (options, statistics) = (&loaded.options, &group.statistics);
        let _progress = Progress::working("drawing from the posterior");
        let (ranking, sample) = Ranking::with_sample(&loaded.prior, statistics, settings).context("no ranking")?;
        let pairwise = self.pairwise.map(|most| {
            let best: Vec<OptionId> = ranking.options.iter().take(most).map(|row| row.option).collect();
            Pairwise::new(&sample.draws, &best, self.level)
        });
        let mle = self.mle.then(|| maximum_likelihood(statistics).map_err(|error| why_no_maximum(&error, options)));
        Ok(Board {
            options,
            group: self.by.as_ref().map(|_| group.name.as_str()),
            ranking,
            pairwise,
            mle,
            confidence: self.until,
            scale: self.scale.unwrap_or(Scale::Log),
            left_out: if self.by.is_none() { self.input.left_out(&loaded.counted) } else { Vec::new() },
            seconds: began.elapsed().as_secs_f64(),
        })
    }
}

/// Why there is no maximum-likelihood estimate, in names.
fn why_no_maximum(error: &MapError, options: &Options) -> String {
    match error {
        MapError::AtZero { options: never } => {
            format!("none exists: {} never won against the others and would have no strength at all", listed(never, options))
        }
        MapError::Undetermined { groups } => {
            let firsts: Vec<OptionId> = groups.iter().filter_map(|group| group.first().copied()).collect();
            format!(
                "it is not determined: {} groups were never compared, the first of each {}",
                groups.len(),
                listed(&firsts, options)
            )
        }
        other => other.to_string(),
    }
}
