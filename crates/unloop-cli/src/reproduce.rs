//! `unloop reproduce`: the paper again, figure by figure and claim by claim.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use comfy_table::ContentArrangement;
use unloop_lab::reproduce::{Claims, Data, Figure, Plan, Profile, Verdict, Work, figures};

use crate::failure::{cannot_write, failure};
use crate::model::at_least_one;
use crate::output::{print_json, print_table, table};
use crate::progress::Progress;

/// Reproduce the paper: every figure, its data, and whether each claim holds here
///
/// For each figure there are data (CSV, with seed, parameters and version in the header), a picture drawn from these data alone (SVG and
/// PNG), and claims that they decide. What is finished stays if it is interrupted, and --resume goes on from there. The exit code is 1
/// if a claim does not hold.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Reproduce {
    /// Figures: bubble, cyclic, merge-rank, map-error, toprank, dueling, growing, theta, transitivity, promotion, sampler, or all
    #[arg(value_name = "NAME", default_value = "all")]
    names: Vec<String>,

    /// How much to simulate: quick takes about a minute on two cores, paper has the sizes of the paper and takes about half an hour
    #[arg(long, value_name = "PROFILE", value_enum, default_value_t = ProfileName::Quick)]
    profile: ProfileName,

    /// Folder for data, pictures and claims.json
    #[arg(long, value_name = "DIR", default_value = "reproduction")]
    out: PathBuf,

    /// Seed of every random number: the same seed gives the same data, on any number of threads (times apart)
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Threads; all cores by default
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    threads: Option<usize>,

    /// Keep data that are there already, of the same version, profile and seed
    #[arg(long)]
    resume: bool,

    /// Simulate nothing: draw and judge the data of this folder
    #[arg(long, value_name = "DIR", conflicts_with = "resume")]
    from: Option<PathBuf>,

    /// Do nothing but read the claims of this file
    #[arg(long, value_name = "FILE.json", conflicts_with_all = ["resume", "from"])]
    claims: Option<PathBuf>,

    /// Write the claims as a page of Markdown
    #[arg(long, value_name = "FILE.md", help_heading = "Output")]
    report: Option<PathBuf>,

    /// Print the claims as JSON
    #[arg(long, help_heading = "Output")]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ProfileName {
    Quick,
    Paper,
}

const EXAMPLES: &str = "\
Examples:
  unloop reproduce                                Every figure, in about a minute
  unloop reproduce bubble promotion --out figures
  unloop reproduce all --profile paper --out full --resume
  unloop reproduce all --from full --out redrawn  The pictures again, from the data alone";

/// The commit that this program was built from.
const COMMIT: &str = env!("UNLOOP_COMMIT");
const VERSION: &str = env!("CARGO_PKG_VERSION");

impl Reproduce {
    pub(crate) fn run(self) -> Result<ExitCode> {
        let claims = match &self.claims {
            Some(path) => read_claims(path)?,
            None => self.reproduce()?,
        };
        if let Some(path) = &self.report {
            write(path, claims.markdown().as_bytes())?;
        }
        let mut out = std::io::BufWriter::new(std::io::stdout().lock());
        if self.json {
            print_json(&mut out, &claims)?;
        } else {
            print_claims(&mut out, &claims)?;
            if self.claims.is_none() {
                writeln!(out, "data, pictures and claims.json are in {}", self.out.display())?;
            }
        }
        out.flush()?;
        Ok(if claims.counts()[1] > 0 { ExitCode::from(1) } else { ExitCode::SUCCESS })
    }

    fn reproduce(&self) -> Result<Claims> {
        let chosen = chosen(&self.names)?;
        let profile = match self.profile {
            ProfileName::Quick => Profile::Quick,
            ProfileName::Paper => Profile::Paper,
        };
        let plan = Plan { profile, seed: self.seed };
        std::fs::create_dir_all(&self.out).map_err(|error| cannot_write(&self.out, &error))?;
        let total = chosen.iter().map(|figure| figure.cost(&plan)).sum();
        let work = Arc::new(Work::default());
        let progress = Arc::clone(&work);
        let _progress = Progress::parts("reproducing", move || progress.done(), total);
        let threads = rayon::ThreadPoolBuilder::new().num_threads(self.threads.unwrap_or(0)).build().context("no threads")?;
        let mut claims = Claims {
            version: VERSION.into(),
            commit: COMMIT.into(),
            profile: profile.name().into(),
            seed: self.seed,
            claims: Vec::new(),
        };
        let mut finished = 0;
        for figure in chosen {
            let tables = match &self.from {
                Some(folder) => {
                    let tables = read_tables(figure, folder)?;
                    describe(&mut claims, &tables);
                    tables
                }
                None => self.tables(figure, &plan, &work, &threads)?,
            };
            for (name, picture) in figure.draw(&tables)? {
                write(&self.out.join(format!("{name}.svg")), picture.svg().as_bytes())?;
                write(&self.out.join(format!("{name}.png")), &picture.png()?)?;
            }
            claims.claims.extend(figure.judge(&tables)?);
            // After each figure: whoever interrupts has what is finished.
            write(&self.out.join("claims.json"), format!("{}\n", serde_json::to_string_pretty(&claims)?).as_bytes())?;
            finished += figure.cost(&plan);
            work.set(finished);
        }
        Ok(claims)
    }

    /// Data that are there, or new ones.
    fn tables(&self, figure: &dyn Figure, plan: &Plan, work: &Work, threads: &rayon::ThreadPool) -> Result<Vec<Data>> {
        let properties = [
            ("figure", figure.about().to_owned()),
            ("version", VERSION.to_owned()),
            ("commit", COMMIT.to_owned()),
            ("profile", plan.profile.name().to_owned()),
            ("seed", plan.seed.to_string()),
        ];
        if self.resume
            && let Ok(tables) = read_tables(figure, &self.out)
            && tables.iter().all(|data| properties.iter().all(|(name, value)| data.property(name) == Some(value)))
        {
            return Ok(tables);
        }
        let mut tables = threads.install(|| figure.simulate(plan, work))?;
        for data in &mut tables {
            let own = std::mem::take(&mut data.properties);
            properties.iter().for_each(|(name, value)| data.set(name, value));
            own.iter().for_each(|(name, value)| data.set(name, value));
            write(&self.out.join(format!("{}.csv", data.name)), data.csv().as_bytes())?;
        }
        Ok(tables)
    }
}

/// Figures by name.
fn chosen(names: &[String]) -> Result<Vec<&'static dyn Figure>> {
    for name in names {
        if name != "all" && figures().iter().all(|figure| figure.name() != name) {
            let known = figures().map(Figure::name).join(", ");
            return Err(failure(format!("there is no figure {name:?}"), format!("figures are {known}, or all")));
        }
    }
    let all = names.iter().any(|name| name == "all");
    Ok(figures().into_iter().filter(|figure| all || names.iter().any(|name| name == figure.name())).collect())
}

fn read_tables(figure: &dyn Figure, folder: &Path) -> Result<Vec<Data>> {
    let read = |name: &&str| {
        let path = folder.join(format!("{name}.csv"));
        let text = std::fs::read_to_string(&path).map_err(|error| {
            failure(format!("{}: cannot be read: {error}", path.display()), "give --from a folder that reproduce has filled")
        })?;
        Ok(Data::parse(name, &text)?)
    };
    figure.tables().iter().map(read).collect()
}

/// Claims judged from files are of the program that made the files.
fn describe(claims: &mut Claims, tables: &[Data]) {
    let property = |name| tables.iter().find_map(|data| data.property(name)).map(str::to_owned);
    claims.version = property("version").unwrap_or_else(|| "unknown".into());
    claims.commit = property("commit").unwrap_or_else(|| "unknown".into());
    claims.profile = property("profile").unwrap_or_else(|| "unknown".into());
    claims.seed = property("seed").and_then(|seed| seed.parse().ok()).unwrap_or(0);
}

fn read_claims(path: &Path) -> Result<Claims> {
    let text = std::fs::read_to_string(path).with_context(|| format!("{}: cannot be read", path.display()))?;
    serde_json::from_str(&text).map_err(|error| {
        failure(format!("{}: holds no claims: {error}", path.display()), "give the claims.json that reproduce has written")
    })
}

/// Writes a file at once: whoever interrupts has the old one or the new one.
fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    let part = path.with_file_name(name);
    let written = std::fs::write(&part, bytes).and_then(|()| std::fs::rename(&part, path));
    written.map_err(|error| cannot_write(path, &error))
}

fn print_claims(out: &mut impl Write, claims: &Claims) -> Result<()> {
    let mut table = table(&["", "figure", "claim", "number (95 % interval)", "runs"], &[0, 1, 2]);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    for claim in &claims.claims {
        let sign = match claim.verdict {
            Verdict::Holds => "holds",
            Verdict::Fails => "FAILS",
            Verdict::Undecided => "open",
        };
        let runs = if claim.runs == 0 { "exact".to_owned() } else { claim.runs.to_string() };
        table.add_row([sign.to_owned(), claim.figure.clone(), claim.claim.clone(), claim.figures(), runs]);
    }
    if !claims.claims.is_empty() {
        print_table(out, &table)?;
        writeln!(out)?;
    }
    Ok(writeln!(out, "{} (profile {}, seed {})", claims.summary(), claims.profile, claims.seed)?)
}
