//! Mixed load by many contexts for a long time: memory stays within its bound, nothing fails, nothing gets slower.
#![allow(dead_code, reason = "the bench prints, the test asks")]

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

use super::caller::Caller;
use super::figures::{Cores, Load};
use super::server::{Folder, Server};

/// How it is loaded.
pub(crate) struct Settings {
    pub(crate) seconds: u64,
    pub(crate) contexts: usize,
    pub(crate) options: usize,
    /// Rounds a second: present, and mostly choose.
    pub(crate) rate: f64,
    pub(crate) cache_megabytes: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { seconds: 600, contexts: 10_000, options: 300, rate: 600.0, cache_megabytes: 256 }
    }
}

/// What is called.
#[derive(Clone, Copy)]
enum Call {
    Present,
    Choose,
    /// To withdraw, and rankings of a context.
    Other,
}

/// What came of a stretch of it.
pub(crate) struct Part {
    /// By [`Call`].
    loads: [Load; 3],
    resident: f64,
}

impl Part {
    fn whole(&self) -> Load {
        let mut whole = Load::new();
        self.loads.iter().for_each(|load| whole.add(load));
        // All of them in the same time.
        whole.seconds = self.loads[0].seconds;
        whole
    }
}

/// What came of it.
pub(crate) struct Soaked {
    /// Bytes of a server that has done nothing.
    pub(crate) idle: f64,
    pub(crate) cache: f64,
    pub(crate) parts: Vec<Part>,
    /// The most bytes at any moment.
    pub(crate) peak: f64,
}

impl Soaked {
    pub(crate) fn errors(&self) -> u64 {
        self.parts.iter().map(|part| part.whole().errors).sum()
    }

    /// The largest memory above that of an idle server, as a part of the cache's bound.
    pub(crate) fn largest(&self) -> f64 {
        self.parts.iter().map(|part| (part.resident - self.idle) / self.cache).fold(0.0, f64::max)
    }

    pub(crate) fn tell(&self) {
        println!("idle {:.0} MB, cache {:.0} MB", self.idle / 1e6, self.cache / 1e6);
        println!(
            "{:>4} {:>8} {:>14} {:>16} {:>16} {:>16} {:>7} {:>14} {:>13} {:>9}",
            "part",
            "calls/s",
            "p50, p99 in ms",
            "present",
            "choose",
            "other",
            "errors",
            "above idle MB",
            "of the bound",
            "stolen %"
        );
        for (i, part) in self.parts.iter().enumerate() {
            let above = part.resident - self.idle;
            let whole = part.whole();
            let times = |load: &Load| format!("{:.2}, {:.2}", load.ms(0.5), load.ms(0.99));
            let [present, choose, other] = part.loads.each_ref().map(times);
            println!(
                "{:>4} {:>8.0} {:>14} {present:>16} {choose:>16} {other:>16} {:>7} {:>14.0} {:>13.2} {:>9.1}",
                i + 1,
                whole.rate(),
                times(&whole),
                whole.errors,
                above / 1e6,
                above / self.cache,
                100.0 * whole.stolen
            );
        }
        println!("at its peak {:.2} of the bound", (self.peak - self.idle) / self.cache);
    }
}

/// Ten parts of equal length.
const PARTS: usize = 10;

pub(crate) async fn soak(settings: &Settings) -> Soaked {
    let folder = Folder::new("soak");
    let cache = format!("{}MiB", settings.cache_megabytes);
    let server = Server::start(&folder.0.join("unloop.db"), &["--cache", &cache]);
    let mut caller = Caller::new(server.address).await.expect("a connection");
    let names: Vec<String> = (0..settings.options).map(|number| format!("option-{number}")).collect();
    caller.call("PUT", "/v1/catalogs/c", &json!({ "options": names, "no_choice": true }).to_string()).await.expect("answered");
    caller.post("/v1/catalogs/c/presentations", "{}").await.expect("answered");
    let idle = server.resident();
    let mut parts = Vec::new();
    let number = Rc::new(Cell::new(0_u64));
    for _ in 0..PARTS {
        let loads = part(&server, settings, Duration::from_secs(settings.seconds) / PARTS as u32, &number).await;
        parts.push(Part { loads, resident: server.resident() });
    }
    let peak = server.peak();
    server.stop();
    Soaked { idle, cache: settings.cache_megabytes as f64 * 1_048_576.0, parts, peak }
}

async fn part(server: &Server, settings: &Settings, length: Duration, number: &Rc<Cell<u64>>) -> [Load; 3] {
    let loads = Rc::new(RefCell::new(std::array::from_fn(|_| Load::new())));
    let (begin, cores) = (Instant::now(), Cores::now());
    let rounds = (settings.rate * length.as_secs_f64()) as u64;
    let done = Rc::new(Cell::new(0_u64));
    let local = tokio::task::LocalSet::new();
    for _ in 0..32 {
        let (loads, done, number) = (Rc::clone(&loads), Rc::clone(&done), Rc::clone(number));
        let (address, rate, contexts) = (server.address, settings.rate, settings.contexts);
        local.spawn_local(async move {
            let mut caller = Caller::new(address).await.expect("a connection");
            loop {
                let own = done.get();
                if own >= rounds {
                    break;
                }
                done.set(own + 1);
                number.set(number.get() + 1);
                // Before it waits: others count on meanwhile.
                let mut rng = ChaCha8Rng::seed_from_u64(number.get());
                let due = begin + Duration::from_secs_f64(own as f64 / rate);
                tokio::time::sleep_until(due.into()).await;
                if round(&mut caller, contexts, &mut rng, &loads).await.is_err() {
                    loads.borrow_mut()[Call::Present as usize].errors += 1;
                    caller = Caller::new(address).await.expect("a connection");
                }
            }
        });
    }
    local.await;
    let mut loads = loads.replace(std::array::from_fn(|_| Load::new()));
    for load in &mut loads {
        (load.seconds, load.stolen) = (begin.elapsed().as_secs_f64(), cores.stolen());
    }
    loads
}

/// Somebody comes, is shown something and mostly answers; now and then something else is done.
async fn round(caller: &mut Caller, contexts: usize, rng: &mut ChaCha8Rng, loads: &RefCell<[Load; 3]>) -> std::io::Result<()> {
    let context = format!("person-{}", rng.random_range(0..contexts));
    let shown = timed(
        caller,
        (loads, Call::Present),
        "POST",
        "/v1/catalogs/c/presentations",
        &json!({ "context": context }).to_string(),
        201,
    )
    .await?;
    let shown: Value = serde_json::from_slice(&shown).unwrap_or_default();
    if rng.random::<f64>() < 0.8 {
        let outcome = if rng.random::<f64>() < 0.1 {
            json!({ "token": shown["token"], "none": true })
        } else {
            json!({ "token": shown["token"], "chosen": [shown["options"][rng.random_range(0..5_usize)]["option"]] })
        };
        let path = format!("/v1/presentations/{}/choice", shown["id"].as_str().unwrap_or_default());
        timed(caller, (loads, Call::Choose), "POST", &path, &outcome.to_string(), 200).await?;
        if rng.random::<f64>() < 0.01 {
            let path = format!("/v1/catalogs/c/choices/{}", shown["id"].as_str().unwrap_or_default());
            timed(caller, (loads, Call::Other), "DELETE", &path, "", 200).await?;
        }
    }
    if rng.random::<f64>() < 0.002 {
        timed(caller, (loads, Call::Other), "GET", &format!("/v1/catalogs/c/ranking?context={context}&limit=10"), "", 200)
            .await?;
    }
    Ok(())
}

async fn timed(
    caller: &mut Caller,
    (loads, call): (&RefCell<[Load; 3]>, Call),
    method: &str,
    path: &str,
    body: &str,
    expected: u16,
) -> std::io::Result<Vec<u8>> {
    let began = Instant::now();
    let (status, reply) = caller.call(method, path, body).await?;
    let reply = reply.to_vec();
    let load = &mut loads.borrow_mut()[call as usize];
    let times: &mut Histogram<u64> = &mut load.times;
    times.saturating_record(u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX).max(1));
    if status != expected {
        load.errors += 1;
        eprintln!("{method} {path}: {status} {}", String::from_utf8_lossy(&reply));
    }
    Ok(reply)
}
