//! `unloop demo`: simulated people who choose lunch, over a server in memory, to see it learn.

use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::Args;
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};
use unloop_plot::figures::{chance, count, percent};
use unloop_server::{Secrets, ServerSettings, Service, app, serve};
use unloop_store::Memory;

use crate::client::Client;
use crate::database::explained;
use crate::failure::failure;
use crate::output::{print_json, print_table, table};
use crate::progress::Progress;
use crate::serve::{ADDRESS, stop};

const DISHES: [&str; 12] =
    ["soup", "salad", "curry", "ramen", "pizza", "tacos", "sushi", "stew", "falafel", "pasta", "burger", "dumplings"];
const CATALOG: &str = "lunch";

/// Watch it learn from simulated people
///
/// A server in memory, a dozen dishes, and people with a hidden taste who choose from three at a time, through the same calls as everybody. At the end
/// the estimate stands beside the truth. Nothing is written to a disk.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Demo {
    /// Choices that are made
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    choices: u32,

    /// Choices a second at most; as fast as it goes if 0
    #[arg(long, default_value_t = 100.0)]
    rate: f64,

    /// Address and port of the server
    #[arg(long, value_name = "ADDRESS", default_value_t = ADDRESS)]
    listen: SocketAddr,

    /// Seed of the taste, the people and the server
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// Go on until it is stopped with Ctrl-C
    #[arg(long)]
    stay: bool,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  unloop demo                       500 choices, then the estimate beside the truth
  unloop demo --stay                and on, to call it meanwhile: curl localhost:7878/v1/catalogs/lunch/ranking
  unloop demo --choices 5000 --rate 0";

/// What people like, as shares.
fn taste(seed: u64) -> Vec<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    // A few favourites and a long tail, in any order.
    let mut shares: Vec<f64> = (1..=DISHES.len()).map(|place| (place as f64).powf(-1.2)).collect();
    for i in (1..shares.len()).rev() {
        shares.swap(i, rng.random_range(0..=i));
    }
    let total: f64 = shares.iter().sum();
    shares.iter().map(|share| share / total).collect()
}

/// Which of the dishes presented somebody takes: each with its share among them.
fn pick(taste: &[f64], presented: &[&str], rng: &mut impl Rng) -> Option<usize> {
    let shares: Vec<f64> =
        presented.iter().map(|name| DISHES.iter().position(|dish| dish == name).map_or(0.0, |place| taste[place])).collect();
    let mut left = rng.random::<f64>() * shares.iter().sum::<f64>();
    shares.iter().position(|share| {
        left -= share;
        left < 0.0
    })
}

impl Demo {
    pub(crate) fn run(self) -> Result<()> {
        if !self.listen.ip().is_loopback() {
            return Err(failure(
                format!("{} can be reached from elsewhere", self.listen),
                "the demo has no keys: listen on 127.0.0.1",
            ));
        }
        if !(self.rate >= 0.0 && self.rate.is_finite()) {
            return Err(failure(format!("a rate of {} choices a second", self.rate), "it is 0 or more"));
        }
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().context("no runtime")?;
        runtime.block_on(self.serve())
    }

    async fn serve(self) -> Result<()> {
        let listener = tokio::net::TcpListener::bind(self.listen).await;
        let listener = listener.map_err(|error| failure(format!("{}: {error}", self.listen), "choose another with --listen"))?;
        let address = listener.local_addr().context("no address")?;
        let settings = ServerSettings { seed: Some(self.seed), ..ServerSettings::default() };
        let secrets = Secrets::fresh().context("the system gives no random numbers")?;
        let service = Service::new(Arc::new(Memory::new()), secrets, None, settings).await.map_err(explained)?;
        let background = service.start().context("no thread")?;
        let stop = stop()?;
        let (done, ended) = tokio::sync::oneshot::channel();
        let people = tokio::task::spawn_blocking(move || {
            let told = self.people(&format!("http://{address}"));
            // Whoever waits for it is there until it comes.
            let _ = done.send(());
            told
        });
        let until = async {
            tokio::select! {
                _ = ended => {}
                () = stop => {}
            }
        };
        serve(listener, app(&service), &service, until).await.context("connections are not accepted any more")?;
        background.end().await;
        if people.is_finished() { people.await? } else { Ok(()) }
    }

    /// People, one after another.
    fn people(&self, url: &str) -> Result<()> {
        let client = Client::new(url, None);
        let taste = taste(self.seed);
        client.call("PUT", &format!("/v1/catalogs/{CATALOG}"), Some(&json!({ "size": 3, "options": DISHES })))?.done()?;
        eprintln!("unloop is at {url}/, in memory; people choose lunch from three dishes at a time");
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed.wrapping_add(1));
        let made = Arc::new(AtomicUsize::new(0));
        let progress = Progress::counting("choosing", Arc::clone(&made), self.choices as usize);
        let begin = Instant::now();
        let mut progress = Some(progress);
        for round in 0.. {
            if round == self.choices {
                drop(progress.take());
                self.tell(&client, &taste)?;
                if !self.stay {
                    return Ok(());
                }
                eprintln!("people go on choosing: stop it with Ctrl-C");
            }
            choose(&client, &taste, &mut rng)?;
            made.fetch_add(1, Ordering::Relaxed);
            if self.rate > 0.0 {
                let due = Duration::from_secs_f64(f64::from(round + 1) / self.rate);
                std::thread::sleep(due.saturating_sub(begin.elapsed()));
            }
        }
        Ok(())
    }

    fn tell(&self, client: &Client, taste: &[f64]) -> Result<()> {
        let ranking = client.call("GET", &format!("/v1/catalogs/{CATALOG}/ranking"), None)?.done()?;
        let rows = ranking["rows"].as_array().map(Vec::as_slice).unwrap_or_default();
        let truth = |row: &Value| DISHES.iter().position(|dish| row["option"] == **dish).map_or(0.0, |place| taste[place]);
        let mut out = std::io::stdout().lock();
        if self.json {
            let rows: Vec<Value> = rows
                .iter()
                .map(|row| {
                    let mut row = row.clone();
                    row["truth"] = json!(truth(&row));
                    row
                })
                .collect();
            return print_json(&mut out, &json!({ "options": rows, "choices": self.choices, "seed": self.seed }));
        }
        let mut table = table(&["#", "option", "truth", "share", "90 % interval", "P(best)", "shown", "chosen"], &[1]);
        for row in rows {
            let number = |field: &str| row[field].as_f64().unwrap_or(f64::NAN);
            let interval = format!("{} – {}", percent(number("low")).trim_end_matches(" %"), percent(number("high")));
            table.add_row([
                row["rank"].to_string(),
                row["option"].as_str().unwrap_or_default().to_owned(),
                percent(truth(row)),
                percent(number("mean")),
                interval,
                chance(number("p_best")),
                count(number("shown")),
                count(number("chosen")),
            ]);
        }
        print_table(&mut out, &table)?;
        Ok(writeln!(out, "\n{} choices, seed {}", self.choices, self.seed)?)
    }
}

/// Somebody is shown dishes, and takes one.
fn choose(client: &Client, taste: &[f64], rng: &mut impl Rng) -> Result<()> {
    let shown = client.call("POST", &format!("/v1/catalogs/{CATALOG}/presentations"), Some(&json!({})))?.done()?;
    let options: Vec<&str> = shown["options"].as_array().into_iter().flatten().filter_map(|row| row["option"].as_str()).collect();
    let taken = pick(taste, &options, rng).and_then(|place| options.get(place)).context("no dish was presented")?;
    let path = format!("/v1/presentations/{}/choice", shown["id"].as_str().unwrap_or_default());
    client.call("POST", &path, Some(&json!({ "token": shown["token"], "chosen": [taken] })))?.done()?;
    Ok(())
}
