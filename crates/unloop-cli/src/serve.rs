//! `unloop serve`: the service over a database file.

use std::io::{IsTerminal, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use tracing_subscriber::filter::LevelFilter;
use unloop_server::{CatalogSettings, Secrets, ServerSettings, Service, app, serve};
use unloop_store::{Change, Changed, OptionChange, Store, check_catalog_name};

use crate::database::{Database, explained};
use crate::failure::failure;
use crate::settings::{File, bytes};

pub(crate) const ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 7878);

/// Present and choose over HTTP
///
/// One database file, two calls: what to show, and what was chosen. Without keys it listens on this machine alone; `unloop keys create` makes one.
/// Settings also come from `UNLOOP_…` in the environment and from a file `unloop.toml` in the folder, under the names of the flags.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Serve {
    #[command(flatten)]
    database: Database,

    /// Address and port [default: 127.0.0.1:7878]
    #[arg(long, value_name = "ADDRESS", env = "UNLOOP_LISTEN")]
    listen: Option<SocketAddr>,

    /// Make a catalog if it is missing, with these options; more than once for several
    #[arg(long, value_name = "NAME=OPTION,OPTION,…", value_parser = new_catalog)]
    catalog: Vec<NewCatalog>,

    /// A name that the server goes by, other than addresses: what a reverse proxy passes on as Host
    #[arg(long, value_name = "NAME", env = "UNLOOP_ALLOW_HOST", value_delimiter = ',')]
    allow_host: Vec<String>,

    /// A page, as https://shop.example, that may send choices from the browser
    #[arg(long, value_name = "ORIGIN", env = "UNLOOP_ALLOW_ORIGIN", value_delimiter = ',')]
    allow_origin: Vec<String>,

    /// Memory for contexts and rankings [default: 1GiB]
    #[arg(long, value_name = "SIZE", env = "UNLOOP_CACHE", value_parser = bytes)]
    cache: Option<usize>,

    /// Seconds that a request may take [default: 10]
    #[arg(long, value_name = "SECONDS", env = "UNLOOP_REQUEST_LIMIT")]
    request_limit: Option<f64>,

    /// Connections at a time [default: 4096]
    #[arg(long, value_name = "COUNT", env = "UNLOOP_CONNECTIONS")]
    connections: Option<usize>,

    /// Seed of all draws [default: unpredictable]
    #[arg(long, env = "UNLOOP_SEED")]
    seed: Option<u64>,

    /// What is logged; `debug` has every request [default: info]
    #[arg(long, value_enum, env = "UNLOOP_LOG_LEVEL", help_heading = "Output")]
    log_level: Option<LogLevel>,

    /// How it is logged [default: text]
    #[arg(long, value_enum, env = "UNLOOP_LOG_FORMAT", help_heading = "Output")]
    log_format: Option<LogFormat>,
}

/// How long the end waits for what is still being computed.
const LAST_WORK: Duration = Duration::from_secs(1);

const EXAMPLES: &str = "\
Examples:
  unloop serve --catalog lunch=soup,salad,curry
  unloop serve --db shop.db --listen 127.0.0.1:9000
  unloop keys create --scopes present,choose,read && unloop serve --listen 0.0.0.0:7878

First steps:
  curl localhost:7878/v1/catalogs/lunch/presentations --json '{\"size\": 2}'
  curl localhost:7878/v1/presentations/ID/choice --json '{\"token\": \"…\", \"chosen\": [\"soup\"]}'";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LogFormat {
    Text,
    Json,
}

#[derive(Clone, Debug)]
struct NewCatalog {
    name: String,
    options: Vec<String>,
}

fn new_catalog(text: &str) -> Result<NewCatalog, String> {
    let (name, options) = text.split_once('=').unwrap_or((text, ""));
    check_catalog_name(name).map_err(|error| error.to_string())?;
    let options: Vec<String> = options.split(',').map(str::trim).filter(|option| !option.is_empty()).map(str::to_owned).collect();
    // Before anything is made: else a catalog without options would be left.
    for option in &options {
        OptionChange::plain(option).check().map_err(|error| error.to_string())?;
    }
    Ok(NewCatalog { name: name.to_owned(), options })
}

/// Of a flag or the environment, else of the file.
fn chosen<T: ValueEnum>(given: Option<T>, file: Option<&str>, name: &str, default: T) -> Result<T> {
    match (given, file) {
        (Some(given), _) => Ok(given),
        (None, Some(text)) => {
            T::from_str(text, true).map_err(|error| failure(format!("unloop.toml: {name}: {error}"), "see `unloop serve --help`"))
        }
        (None, None) => Ok(default),
    }
}

/// Contexts come and go: pages of 2 MB are seldom given back whole (300 contexts of 1 000 choices took a quarter more), and whoever is the first to touch one waits
/// for all of it to be zeroed. Where the system does not let it be said, it works all the same.
fn keep_pages_small() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::thread::disable_transparent_huge_pages(true) {
        tracing::debug!(%error, "huge pages stay");
    }
}

impl Serve {
    pub(crate) fn run(self) -> Result<()> {
        let file = File::read()?;
        let level = chosen(self.log_level, file.log_level.as_deref(), "log-level", LogLevel::Info)?;
        let format = chosen(self.log_format, file.log_format.as_deref(), "log-format", LogFormat::Text)?;
        let address = self.listen.or(file.listen).unwrap_or(ADDRESS);
        let settings = self.server_settings(&file)?.on(address);
        log_to_stderr(level, format);
        keep_pages_small();
        // No more than cores: whoever is woken up to answer wakes up another one to see whether there is more. What takes long leaves these threads.
        let workers = std::thread::available_parallelism().map_or(2, |cores| cores.get().max(2));
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(workers).enable_all().build().context("no runtime")?;
        let served = runtime.block_on(self.serve(address, settings));
        // A ranking that nobody waits for any more is not computed to its end.
        runtime.shutdown_timeout(LAST_WORK);
        served
    }

    fn server_settings(&self, file: &File) -> Result<ServerSettings> {
        let default = ServerSettings::default();
        let or = |own: &[String], file: &[String]| if own.is_empty() { file.to_vec() } else { own.to_vec() };
        let of_file = file.cache.as_deref().map(bytes).transpose();
        let of_file = of_file.map_err(|problem| failure(format!("unloop.toml: cache: {problem}"), "such as cache = \"1GiB\""))?;
        for origin in or(&self.allow_origin, &file.allow_origin) {
            if !is_origin(&origin) {
                return Err(failure(
                    format!("{origin:?} is no origin of a page"),
                    "such as https://shop.example, without a path",
                ));
            }
        }
        let limit = self.request_limit.or(file.request_limit);
        if let Some(limit) = limit.filter(|&limit| !(0.1..=600.0).contains(&limit)) {
            return Err(failure(format!("a request limit of {limit} seconds"), "it is 0.1 to 600 seconds"));
        }
        Ok(ServerSettings {
            allow_hosts: or(&self.allow_host, &file.allow_host),
            allow_origins: or(&self.allow_origin, &file.allow_origin),
            cache_bytes: self.cache.or(of_file).unwrap_or(default.cache_bytes),
            request_limit: limit.map_or(default.request_limit, Duration::from_secs_f64),
            connections: self.connections.or(file.connections).unwrap_or(default.connections).max(1),
            seed: self.seed.or(file.seed),
            ..default
        })
    }

    async fn serve(&self, address: SocketAddr, settings: ServerSettings) -> Result<()> {
        let (settings, pages) = settings.with_pages();
        let store: Arc<dyn Store> = Arc::new(self.database.open_within(pages)?);
        // Keys may have been made before it ever ran.
        let is_new =
            store.head().await.map_err(explained)?.seq == 0 && store.settings().await.map_err(explained)?.catalogs.is_empty();
        for new in &self.catalog {
            make(&*store, new).await?;
        }
        let known = store.settings().await.map_err(explained)?;
        if !address.ip().is_loopback() && known.keys.is_empty() {
            let hint = "make a key first with `unloop keys create`, or listen on 127.0.0.1";
            return Err(failure(format!("{address} can be reached from elsewhere, and there are no keys"), hint));
        }
        let secret_file = Secrets::path_beside(self.database.path());
        let secrets = secrets(&secret_file, is_new)?;
        let listener = tokio::net::TcpListener::bind(address).await;
        let listener = listener.map_err(|error| failure(format!("{address}: {error}"), "choose another with --listen"))?;
        let bound = listener.local_addr().context("no address")?;
        let service = Service::new(Arc::clone(&store), secrets, Some(secret_file), settings).await.map_err(explained)?;
        let background = service.start().context("no thread")?;
        // Before anybody is told: whoever knows where it is may end it, in good order.
        let stop = stop()?;
        tell(bound, &self.catalog);
        let served = serve(listener, app(&service), &service, stop).await;
        tracing::info!("stopping: what was accepted is answered");
        background.end().await;
        drop(service);
        served.context("connections are not accepted any more")
    }
}

/// Whether a browser would send it as a page's origin.
fn is_origin(text: &str) -> bool {
    let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    host.is_some_and(|host| !host.is_empty() && !host.contains(['/', '?', '#', ' ', '@']))
}

/// Where it is, on standard output; what to do next, for people.
fn tell(address: SocketAddr, catalogs: &[NewCatalog]) {
    // Nobody may be reading it.
    let _ = writeln!(std::io::stdout(), "unloop is at http://{address}/");
    let _ = std::io::stdout().flush();
    if let (true, Some(first)) = (std::io::stderr().is_terminal(), catalogs.first()) {
        eprintln!("try: curl http://{address}/v1/catalogs/{}/presentations --json '{{\"size\": 2}}'", first.name);
        eprintln!("stop it with Ctrl-C");
    }
}

/// Makes a catalog if it is missing; one that is there stays as it is.
async fn make(store: &dyn Store, new: &NewCatalog) -> Result<()> {
    let settings = serde_json::to_string(&CatalogSettings::default())?;
    let change = Change::Catalog { name: new.name.clone(), settings, expected: Some(0) };
    if let Changed::Done { catalog: Some(catalog), .. } = store.change(change).await.map_err(explained)? {
        let options = new.options.iter().map(|name| OptionChange::plain(name)).collect();
        store.change(Change::Options { catalog, options, expected: None }).await.map_err(explained)?;
    }
    Ok(())
}

/// Those of the file; a new one where there is none.
fn secrets(path: &Path, is_new: bool) -> Result<Secrets> {
    let hint = "mend the file, or take it away: a new secret is made then, and open presentations are lost";
    if let Some(found) = Secrets::read(path).map_err(|error| failure(error.to_string(), hint))? {
        return Ok(found);
    }
    let fresh = Secrets::fresh().context("the system gives no random numbers")?;
    fresh.write(path).map_err(|error| failure(error.to_string(), "it is to be written beside the database"))?;
    if !is_new {
        tracing::warn!(
            file = %path.display(),
            "there was no file of secrets: a new one was made, and presentations that are open cannot be answered any more"
        );
    }
    Ok(fresh)
}

fn log_to_stderr(level: LogLevel, format: LogFormat) {
    let level = match level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
    };
    let colours = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let log = tracing_subscriber::fmt().with_max_level(level).with_writer(std::io::stderr).with_ansi(colours);
    match format {
        LogFormat::Text => log.init(),
        LogFormat::Json => log.json().flatten_event(true).init(),
    }
}

/// Until somebody says so, from when it is called: what is said before it is waited for counts, too.
pub(crate) fn stop() -> Result<impl Future<Output = ()>> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let mut interrupted = signal(SignalKind::interrupt()).context("Ctrl-C cannot be waited for")?;
        let mut terminated = signal(SignalKind::terminate()).context("SIGTERM cannot be waited for")?;
        Ok(async move {
            tokio::select! {
                _ = interrupted.recv() => {}
                _ = terminated.recv() => {}
            }
        })
    }
    #[cfg(windows)]
    {
        let mut interrupted = tokio::signal::windows::ctrl_c().context("Ctrl-C cannot be waited for")?;
        Ok(async move {
            let _ = interrupted.recv().await;
        })
    }
}
