//! The service under load: `cargo bench -p unloop-cli --bench service [-- present choose saturation cold pages soak=600]`.
//!
//! The real binary over a database on the disk of the temporary folder; requests over the loopback at a steady rate (open loop), each timed from when it was
//! due. Client and server share the machine's cores; what part of them the host gave to others meanwhile is told as stolen. Without names all but `soak` are run; `soak=SECONDS` is mixed load by 10 000 contexts.
#![allow(clippy::print_stdout)]

mod caller;
mod figures;
mod load;
mod pages;
#[path = "../../tests/serving/mod.rs"]
mod server;
mod soak;

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rusqlite::{Connection, params};
use serde_json::{Value, json};
use unloop_store::Sqlite;

use caller::{Caller, request};
use figures::Load;
use load::{Calls, Loaded, load};
use server::{Folder, Server};

const OPTIONS: usize = 300;
const CONTEXTS: usize = 1_000;
/// Over which requests of a steady rate come.
const CONNECTIONS: usize = 64;

fn main() {
    let asked: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let wants = |name: &str| asked.is_empty() || asked.iter().any(|own| own == name);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    if wants("present") {
        runtime.block_on(present());
    }
    if wants("choose") {
        runtime.block_on(choose());
    }
    if wants("saturation") {
        runtime.block_on(saturation());
    }
    if wants("cold") {
        runtime.block_on(cold());
    }
    if wants("pages") {
        runtime.block_on(pages::pages());
    }
    if let Some(seconds) = asked.iter().find_map(|own| own.strip_prefix("soak=")) {
        let settings = soak::Settings { seconds: seconds.parse().expect("seconds"), ..soak::Settings::default() };
        runtime.block_on(soak::soak(&settings)).tell();
    }
}

fn option(number: usize) -> String {
    format!("option-{number}")
}

/// A catalog of many options.
async fn catalog(caller: &mut Caller) {
    let names: Vec<String> = (0..OPTIONS).map(option).collect();
    let (status, _) = caller.call("PUT", "/v1/catalogs/c", &json!({ "options": names }).to_string()).await.expect("answered");
    assert_eq!(status, 201);
}

/// Past choices, `each` of so many contexts: five options at random, the first chosen.
async fn past(caller: &mut Caller, contexts: usize, each: usize) {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let mut rows = Vec::new();
    for number in 0..contexts * each {
        let mut presented: Vec<usize> = Vec::new();
        while presented.len() < 5 {
            let own = rng.random_range(0..OPTIONS);
            if !presented.contains(&own) {
                presented.push(own);
            }
        }
        let names: Vec<String> = presented.into_iter().map(option).collect();
        rows.push(json!({ "id": number.to_string(), "context": format!("person-{}", number % contexts), "presented": names, "chosen": [names[0]] }));
        if rows.len() == 5_000 || number + 1 == contexts * each {
            let body = json!({ "rows": std::mem::take(&mut rows) }).to_string();
            let (status, _) = caller.post("/v1/catalogs/c/choices", &body).await.expect("answered");
            assert_eq!(status, 200);
        }
    }
}

/// Somebody of many comes to be shown something.
#[derive(Default)]
struct Present {
    request: Vec<u8>,
}

impl Calls for Present {
    fn request(&mut self, number: usize) -> &[u8] {
        // In an order of its own, the same each time.
        let context = number.wrapping_mul(7_919) % CONTEXTS;
        self.request =
            request("POST", "/v1/catalogs/c/presentations", &format!("{{\"context\":\"person-{context}\",\"size\":5}}"));
        &self.request
    }

    fn answered(&mut self, status: u16, _: &[u8]) -> bool {
        status == 201
    }
}

/// A call that does nothing: what client, sockets and HTTP take by themselves.
struct Nothing {
    request: Vec<u8>,
}

impl Nothing {
    fn new() -> Self {
        Self { request: request("GET", "/healthz", "") }
    }
}

impl Calls for Nothing {
    fn request(&mut self, _: usize) -> &[u8] {
        &self.request
    }

    fn answered(&mut self, status: u16, _: &[u8]) -> bool {
        status == 200
    }
}

/// Loads a server, and tells how long calls took.
fn timed(what: &str, server: &Server, calls: &mut dyn Calls, count: usize, rate: f64) {
    let cores = server.cores();
    let loaded = load(server.address, calls, count, Some(rate), CONNECTIONS);
    let cores = 1e6 * (server.cores() - cores) / count as f64;
    tell(&format!("{what}, {rate}/s for {:.0} s, {cores:.0} µs of a core each", count as f64 / rate), &loaded);
}

/// Tells how long calls took: all of them, and those of the seconds in which the machine was not taken away.
fn tell(what: &str, loaded: &Loaded) {
    let (whole, (quiet, seconds)) = (loaded.whole(), loaded.quiet());
    println!("{what}, {} errors", whole.errors);
    let row = |which: String, load: &Load| {
        println!("  {which:>20}: p50 {:.2} ms, p99 {:.2} ms, p99.9 {:.2} ms", load.ms(0.5), load.ms(0.99), load.ms(0.999));
    };
    row(format!("{:.1} % stolen", 100.0 * whole.stolen), &whole);
    if seconds > 0 {
        row(format!("{seconds} s without"), &quiet);
    }
}

async fn present() {
    let folder = Folder::new("load-present");
    let server = Server::start(&folder.0.join("unloop.db"), &[]);
    let mut caller = Caller::new(server.address).await.expect("a connection");
    catalog(&mut caller).await;
    past(&mut caller, CONTEXTS, 20).await;
    // Everybody once: who comes back is measured by itself, below.
    load(server.address, &mut Present::default(), 4 * CONTEXTS, Some(2_000.0), 32);
    for rate in [4_000.0, 8_000.0] {
        let count = (20.0 * rate) as usize;
        timed("nothing (GET /healthz)", &server, &mut Nothing::new(), count, rate);
        timed(&format!("present, K = {OPTIONS}, L = 5, {CONTEXTS} contexts"), &server, &mut Present::default(), count, rate);
    }
    server.stop();
}

/// Answers to presentations that were made before.
struct Choose {
    ready: Vec<Vec<u8>>,
    /// Those that were sent before.
    sent: usize,
}

impl Choose {
    async fn new(caller: &mut Caller, count: usize) -> Self {
        let mut ready = Vec::new();
        while ready.len() < count {
            let start = ready.len();
            let asked: Vec<Value> = (start..start + 1_000)
                .map(|number| json!({ "context": format!("person-{}", number % CONTEXTS), "size": 5 }))
                .collect();
            let body = json!({ "presentations": asked }).to_string();
            let (status, reply) = caller.post("/v1/catalogs/c/presentations/batch", &body).await.expect("answered");
            assert_eq!(status, 200);
            let reply: Value = serde_json::from_slice(reply).expect("JSON");
            for row in reply["rows"].as_array().expect("rows") {
                let own = &row["presentation"];
                let path = format!("/v1/presentations/{}/choice", own["id"].as_str().expect("an id"));
                let body = json!({ "token": own["token"], "chosen": [own["options"][0]["option"]] });
                ready.push(request("POST", &path, &body.to_string()));
            }
        }
        Self { ready, sent: 0 }
    }
}

impl Calls for Choose {
    fn request(&mut self, number: usize) -> &[u8] {
        &self.ready[self.sent + number]
    }

    fn answered(&mut self, status: u16, _: &[u8]) -> bool {
        status == 200
    }
}

/// Second by second, with flushes of the same disk before and after each: both vary by the minute.
async fn choose() {
    const RATE: usize = 2_000;
    const SECONDS: usize = 20;
    let folder = Folder::new("load-choose");
    let database = folder.0.join("unloop.db");
    let server = Server::start(&database, &[]);
    let mut caller = Caller::new(server.address).await.expect("a connection");
    catalog(&mut caller).await;
    let mut calls = Choose::new(&mut caller, SECONDS * RATE).await;
    noted(&database, SECONDS * RATE);
    let (mut seconds, mut flushes) = (Vec::new(), Vec::new());
    let cores = server.cores();
    let mut before = flush(&folder.0.join("flush"));
    for second in 0..SECONDS {
        calls.sent = second * RATE;
        seconds.push(load(server.address, &mut calls, RATE, Some(RATE as f64), CONNECTIONS).whole());
        let after = flush(&folder.0.join("flush"));
        flushes.push(0.5 * (before + after));
        before = after;
    }
    let cores = 1e6 * (server.cores() - cores) / (SECONDS * RATE) as f64;
    let ratio = |which: &dyn Fn(&Load) -> bool| {
        let of = seconds.iter().zip(&flushes).filter(|(own, _)| which(own)).map(|(own, flush)| own.ms(0.5) / flush);
        median(of.collect())
    };
    let (all, quiet) = (ratio(&|_| true), ratio(&|own| own.stolen == 0.0));
    let flush = median(flushes.clone());
    let quiet = if quiet.is_nan() { String::new() } else { format!("; {quiet:.2} in seconds of which nothing was stolen") };
    tell(&format!("choose, durable, {RATE}/s for {SECONDS} s, {cores:.0} µs of a core each"), &Loaded { seconds });
    println!("  p50 in flushes of {flush:.2} ms: {all:.2}{quiet}");
    // A core that has gone to sleep, and a disk, take longer to wake up than to go on.
    let paced = flush_each(&folder.0.join("flush"), Duration::from_secs(1) / RATE as u32);
    println!("  a flush takes {paced:.2} ms where one is due {RATE} times a second");
    timed("nothing (GET /healthz)", &server, &mut Nothing::new(), 5 * RATE, RATE as f64);
    server.stop();
}

/// Waits until presentations that were made before are written down: else that is measured with what comes.
fn noted(database: &Path, count: usize) {
    let connection = Connection::open(database).expect("opened");
    let written = || connection.query_row("SELECT count(*) FROM presentations", [], |row| row.get::<_, i64>(0));
    while usize::try_from(written().expect("counted")).expect("a count") < count {
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Clients that wait for each answer, beside a bare loop of SQLite transactions of as many choices.
///
/// So many that it matters little how they began: while the database is small a row costs half as much. The bare loop writes 170 000, 120 000, 92 000 and 86 000 a second
/// where there are 200, 400, 800 and 1 600 of each client.
async fn saturation() {
    const CLIENTS: usize = 256;
    const EACH: usize = 800;
    for round in 1..=3 {
        let folder = Folder::new("load-saturation");
        let database = folder.0.join("unloop.db");
        let server = Server::start(&database, &[]);
        let mut caller = Caller::new(server.address).await.expect("a connection");
        catalog(&mut caller).await;
        let mut calls = Choose::new(&mut caller, CLIENTS * EACH).await;
        noted(&database, CLIENTS * EACH);
        let cores = server.cores();
        let done = load(server.address, &mut calls, CLIENTS * EACH, None, CLIENTS).whole();
        let cores = 1e6 * (server.cores() - cores) / (CLIENTS * EACH) as f64;
        // As fast as client, sockets and HTTP are without anything to record.
        let nothing = load(server.address, &mut Nothing::new(), CLIENTS * EACH, None, CLIENTS).whole();
        server.stop();
        let bare = bare(&folder.0.join("bare.db"), CLIENTS, EACH);
        println!(
            "round {round}, choose, {CLIENTS} clients: {:.0} durable choices a second, {:.2} of a bare loop ({bare:.0}), {:.2} of calls that do nothing ({:.0}); \
             {:.2} of the bare loop if nothing else took any time; p50 {:.1} ms, p99 {:.1} ms, {} errors, {cores:.0} µs of a core each, {:.1} % stolen",
            done.rate(),
            done.rate() / bare,
            done.rate() / nothing.rate(),
            nothing.rate(),
            most(nothing.rate(), bare) / bare,
            done.ms(0.5),
            done.ms(0.99),
            done.errors,
            100.0 * done.stolen
        );
    }
}

/// Choices a second if each took what a call that does nothing takes of all cores, what a row takes of one, and nothing else: no token, no body, no context, and no
/// core that ever waits.
fn most(nothing: f64, bare: f64) -> f64 {
    let cores = std::thread::available_parallelism().map_or(1.0, |cores| cores.get() as f64);
    cores / (cores / nothing + 1.0 / bare)
}

/// Durable rows a second, in transactions of as many as there are clients.
fn bare(path: &Path, clients: usize, each: usize) -> f64 {
    drop(Sqlite::open(path).expect("the same tables"));
    let connection = Connection::open(path).expect("opened");
    connection.pragma_update(None, "synchronous", "FULL").expect("set");
    connection.pragma_update(None, "secure_delete", true).expect("set");
    let names: Vec<String> = (0..5).map(option).collect();
    let body = json!({ "presented": names, "chosen": [names[0]] }).to_string();
    let began = Instant::now();
    for batch in 0..each {
        connection.execute_batch("BEGIN IMMEDIATE").expect("begun");
        for client in 0..clients {
            let seq = i64::try_from(batch * clients + client + 1).expect("a number");
            let text = "INSERT INTO events (seq, catalog, context, kind, id, body, time) VALUES (?1, 1, ?2, 'choice', ?3, ?4, 0)";
            let mut insert = connection.prepare_cached(text).expect("prepared");
            let id = format!("0199f0a4-7c3e-7000-8000-{seq:012}");
            insert.execute(params![seq, format!("person-{}", client % CONTEXTS), id, body]).expect("inserted");
        }
        connection.execute_batch("COMMIT").expect("committed");
    }
    (clients * each) as f64 / began.elapsed().as_secs_f64()
}

/// The first presentation for whoever has 1 000 past choices and was away.
async fn cold() {
    const PEOPLE: usize = 60;
    let folder = Folder::new("load-cold");
    let database = folder.0.join("unloop.db");
    let server = Server::start(&database, &[]);
    let mut caller = Caller::new(server.address).await.expect("a connection");
    catalog(&mut caller).await;
    past(&mut caller, PEOPLE, 1_000).await;
    server.stop();
    // Right after an import there are no snapshots: the log is folded. Whoever was there before has one.
    for what in ["right after an import", "who was there before"] {
        let server = Server::start(&database, &[]);
        let (first, second) = first_and_second(&server, PEOPLE).await;
        server.stop();
        println!(
            "cold context with 1 000 past choices, {what}: first present {first:.2} ms at the median, the second {second:.2} ms"
        );
    }
}

async fn first_and_second(server: &Server, people: usize) -> (f64, f64) {
    let mut caller = Caller::new(server.address).await.expect("a connection");
    let mut times = Vec::new();
    for person in 0..people {
        let body = format!("{{\"context\":\"person-{person}\",\"size\":5}}");
        let mut took = [0.0; 2];
        for time in &mut took {
            let began = Instant::now();
            let (status, _) = caller.post("/v1/catalogs/c/presentations", &body).await.expect("answered");
            *time = 1e3 * began.elapsed().as_secs_f64();
            assert_eq!(status, 201);
        }
        times.push(took);
    }
    let which = |which: usize| median(times.iter().map(|took| took[which]).collect());
    (which(0), which(1))
}

/// Milliseconds to write a page at the end of a file and flush it, one time after the other.
fn flush(path: &Path) -> f64 {
    flushes(path, 100, |_| {})
}

/// The same where one is due each so often, for a second or so.
fn flush_each(path: &Path, interval: Duration) -> f64 {
    let begin = Instant::now();
    flushes(path, 2_000, |number| std::thread::sleep((interval * number).saturating_sub(begin.elapsed())))
}

fn flushes(path: &Path, count: u32, wait: impl Fn(u32)) -> f64 {
    let mut file = std::fs::File::create(path).expect("a file");
    let once = |number| {
        wait(number);
        let began = Instant::now();
        file.write_all(&[7; 4_096]).and_then(|()| file.sync_data()).expect("flushed");
        1e3 * began.elapsed().as_secs_f64()
    };
    median((0..count).map(once).collect())
}

fn median(mut of: Vec<f64>) -> f64 {
    of.sort_by(f64::total_cmp);
    of.get(of.len() / 2).copied().unwrap_or(f64::NAN)
}
