//! A server over a real socket and a real database, and somebody who calls it.
#![allow(dead_code, unreachable_pub, reason = "no test uses all of it")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use unloop_server::{Scope, Secrets, ServerSettings, Service, app, make_key, serve};
use unloop_store::{Access, CatalogId, Change, Changed, Sqlite, SqliteSettings, Store};

/// How long something that a server does by itself may take.
const SOON: Duration = Duration::from_secs(5);

/// A folder that goes with its owner.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("unloop-server-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    pub fn database(&self) -> PathBuf {
        self.0.join("unloop.db")
    }

    pub fn secret_file(&self) -> PathBuf {
        Secrets::path_beside(&self.database())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A store in a file.
pub fn sqlite(path: &Path) -> Arc<dyn Store> {
    Arc::new(Sqlite::open(path).expect("a database"))
}

/// The same store from beside, as `unloop keys` opens it while a server runs.
pub fn beside(path: &Path) -> Sqlite {
    Sqlite::open_with(path, SqliteSettings { access: Access::Beside, ..SqliteSettings::default() }).expect("a database")
}

/// Waits for what a store answers.
pub fn wait<T>(answer: unloop_store::Answer<'_, T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(answer).expect("the store answers")
}

/// Waits until something holds; whether it does in the end.
pub fn soon(mut holds: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while start.elapsed() < SOON {
        if holds() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    holds()
}

/// The secrets beside a database; made if there are none.
pub fn secrets(database: &Path) -> Secrets {
    let path = Secrets::path_beside(database);
    if let Some(found) = Secrets::read(&path).expect("secrets") {
        return found;
    }
    let fresh = Secrets::fresh().expect("random numbers");
    fresh.write(&path).expect("a file");
    fresh
}

/// A server on a port of its own. It ends with its owner, as if it had been told to.
pub struct Server {
    pub address: SocketAddr,
    pub service: Arc<Service>,
    stop: Option<oneshot::Sender<()>>,
    running: Option<tokio::task::JoinHandle<()>>,
    runtime: Option<Runtime>,
}

impl Server {
    /// Over a store; settings as they are by default, but for the seed.
    pub fn over(store: Arc<dyn Store>, database: &Path) -> Self {
        Self::with(store, database, ServerSettings { seed: Some(7), ..ServerSettings::default() })
    }

    pub fn with(store: Arc<dyn Store>, database: &Path, settings: ServerSettings) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
        let (secrets, file) = (secrets(database), Secrets::path_beside(database));
        let (service, address, stop, running) = runtime.block_on(async move {
            let service = Service::new(store, secrets, Some(file), settings).await.expect("a service");
            let background = service.start().expect("a thread");
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
            let address = listener.local_addr().expect("an address");
            let (stop, stopped) = oneshot::channel::<()>();
            let own = Arc::clone(&service);
            let running = tokio::spawn(async move {
                let until = async {
                    let _ = stopped.await;
                };
                serve(listener, app(&own), &own, until).await.expect("connections");
                background.end().await;
            });
            (service, address, stop, running)
        });
        Self { address, service, stop: Some(stop), running: Some(running), runtime: Some(runtime) }
    }

    pub fn client(&self) -> Client {
        Client::new(self.address)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let (Some(runtime), Some(running)) = (self.runtime.take(), self.running.take()) {
            let _ = runtime.block_on(running);
            runtime.shutdown_timeout(Duration::from_secs(5));
        }
    }
}

/// A server over a database of its own.
pub struct Own {
    pub server: Option<Server>,
    pub folder: Folder,
    settings: ServerSettings,
}

impl Own {
    pub fn new() -> Self {
        Self::with(ServerSettings::default())
    }

    /// Expiry is taken to the second.
    pub fn without_leeway() -> Self {
        Self::with(ServerSettings { leeway: Duration::ZERO, ..ServerSettings::default() })
    }

    /// With settings of its own; the seed is always the same.
    pub fn with(settings: ServerSettings) -> Self {
        let folder = Folder::new();
        let mut own = Self { server: None, folder, settings: ServerSettings { seed: Some(7), ..settings } };
        own.restart();
        own
    }

    pub fn client(&self) -> Client {
        self.server.as_ref().expect("it runs").client()
    }

    pub fn address(&self) -> SocketAddr {
        self.server.as_ref().expect("it runs").address
    }

    /// Ends the server in good order, and starts another one over the same files.
    pub fn restart(&mut self) {
        self.server = None;
        let database = self.folder.database();
        self.server = Some(Server::with(sqlite(&database), &database, self.settings.clone()));
    }

    /// Makes a key as `unloop keys create` does beside a server; what it is called by, and the key. Whether the server knows of it is another question.
    pub fn make_key(&self, scopes: &[Scope], catalog: Option<CatalogId>, expires: Option<jiff::Timestamp>) -> (String, String) {
        let (key, text) = make_key("of a test", scopes, catalog, expires).expect("random numbers");
        let id = key.id.clone();
        assert!(matches!(wait(beside(&self.folder.database()).change(Change::Key(key))), Changed::Done { .. }));
        (id, text)
    }

    /// Makes a key, and waits until the server knows of it.
    pub fn key(&self, scopes: &[Scope], catalog: Option<CatalogId>) -> Client {
        let (_, text) = self.make_key(scopes, catalog, None);
        let (stranger, owner) = (self.client(), self.client().key(&text));
        assert!(soon(|| stranger.get("/v1/catalogs").status == 401 && owner.get("/v1/catalogs").status != 401));
        owner
    }

    /// A catalog's internal number.
    pub fn number(&self, catalog: &str) -> CatalogId {
        let settings = wait(beside(&self.folder.database()).settings());
        settings.catalogs.iter().find(|own| own.name == catalog).expect("a catalog").id
    }
}

/// What was answered.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub body: Value,
    pub text: String,
    pub headers: ureq::http::HeaderMap,
}

impl Answer {
    /// The problem's type without what all have in common, or nothing.
    pub fn problem(&self) -> &str {
        self.body["type"].as_str().and_then(|name| name.strip_prefix("urn:unloop:")).unwrap_or_default()
    }

    /// Of a presentation.
    pub fn options(&self) -> Vec<String> {
        let rows = self.body["options"].as_array().cloned().unwrap_or_default();
        rows.iter().filter_map(|row| row["option"].as_str().map(str::to_owned)).collect()
    }

    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.text);
        self
    }

    #[track_caller]
    pub fn refused(self, status: u16, problem: &str) -> Self {
        assert_eq!((self.status, self.problem()), (status, problem), "{}", self.text);
        assert_eq!(self.headers["content-type"], "application/problem+json");
        self
    }
}

/// Somebody who calls.
#[derive(Clone)]
pub struct Client {
    address: SocketAddr,
    agent: ureq::Agent,
    /// More headers, with every call.
    pub headers: Vec<(String, String)>,
}

impl Client {
    pub fn new(address: SocketAddr) -> Self {
        // A connection for each call: whether one outlives a refusal is a test of its own.
        let agent = ureq::Agent::config_builder().http_status_as_error(false).max_idle_connections(0).build().new_agent();
        Self { address, agent, headers: Vec::new() }
    }

    /// With a key.
    pub fn key(&self, key: &str) -> Self {
        self.header("authorization", &format!("Bearer {key}"))
    }

    /// With a header.
    pub fn header(&self, name: &str, value: &str) -> Self {
        let mut own = self.clone();
        own.headers.push((name.to_owned(), value.to_owned()));
        own
    }

    /// Any call; a body is sent as it is.
    pub fn send(&self, method: &str, path: &str, body: Option<&str>) -> Answer {
        let mut request = ureq::http::Request::builder().method(method).uri(format!("http://{}{path}", self.address));
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        if body.is_some() && !self.headers.iter().any(|(name, _)| name == "content-type") {
            request = request.header("content-type", "application/json");
        }
        let sent = match body {
            Some(body) => self.agent.run(request.body(body.to_owned()).expect("a request")),
            None => self.agent.run(request.body(()).expect("a request")),
        };
        let mut response = sent.expect("an answer");
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let text = response.body_mut().read_to_string().expect("text");
        Answer { status, body: serde_json::from_str(&text).unwrap_or(Value::Null), text, headers }
    }

    pub fn get(&self, path: &str) -> Answer {
        self.send("GET", path, None)
    }

    pub fn delete(&self, path: &str) -> Answer {
        self.send("DELETE", path, None)
    }

    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, Some(&body.to_string()))
    }

    pub fn put(&self, path: &str, body: &Value) -> Answer {
        self.send("PUT", path, Some(&body.to_string()))
    }

    pub fn patch(&self, path: &str, body: &Value) -> Answer {
        self.send("PATCH", path, Some(&body.to_string()))
    }

    /// Exported rows; `query` begins with `?` unless it is empty.
    pub fn exported(&self, catalog: &str, query: &str) -> Vec<Value> {
        let answer = self.get(&format!("/v1/catalogs/{catalog}/choices{query}")).expect(200);
        answer.text.lines().map(|line| serde_json::from_str(line).expect("a row")).collect()
    }

    /// What a ranking counts: answered presentations, and how often each option was shown and chosen.
    pub fn counted(&self, catalog: &str, context: &str) -> Counts {
        let ranking = self.get(&format!("/v1/catalogs/{catalog}/ranking?context={context}&limit=1000")).expect(200);
        Counts::of(&ranking)
    }

    /// Asserts what a ranking counts; options that are not named were never shown. A ranking may be a moment old: it is asked for again.
    #[track_caller]
    pub fn assert_counts(&self, catalog: &str, context: &str, presentations: f64, options: &[(&str, f64, f64)]) {
        let mut expected = Counts { presentations, options: Vec::new() };
        expected.options.extend(options.iter().map(|&(name, shown, chosen)| (name.to_owned(), shown, chosen)));
        expected.options.sort_by(|x, y| x.0.cmp(&y.0));
        let mut found = self.counted(catalog, context);
        soon(|| {
            found = self.counted(catalog, context);
            found == expected
        });
        assert_eq!(found, expected, "in {context:?}");
    }

    /// Asserts that nothing was recorded.
    #[track_caller]
    pub fn assert_nothing_recorded(&self, catalog: &str) {
        assert_eq!(self.exported(catalog, ""), Vec::<Value>::new());
        self.assert_counts(catalog, "all", 0.0, &[]);
    }

    /// A catalog with options.
    pub fn catalog(&self, name: &str, options: &[&str]) {
        self.put(&format!("/v1/catalogs/{name}"), &json!({ "options": options })).expect(201);
    }

    pub fn present(&self, catalog: &str, asked: &Value) -> Answer {
        self.post(&format!("/v1/catalogs/{catalog}/presentations"), asked)
    }

    /// Answers a presentation; `outcome` is an object with `chosen`, `tied` or `none`.
    pub fn choose(&self, presentation: &Answer, outcome: &Value) -> Answer {
        let mut body = outcome.clone();
        body["token"] = presentation.body["token"].clone();
        let id = presentation.body["id"].as_str().expect("an id");
        self.post(&format!("/v1/presentations/{id}/choice"), &body)
    }
}

/// What a ranking counts.
#[derive(Clone, Debug, PartialEq)]
pub struct Counts {
    pub presentations: f64,
    /// Name, shown, chosen; of options that were shown, by name.
    pub options: Vec<(String, f64, f64)>,
}

impl Counts {
    fn of(ranking: &Answer) -> Self {
        let rows = ranking.body["rows"].as_array().expect("rows");
        let number = |row: &Value, field: &str| row[field].as_f64().expect("a number");
        let row = |row: &Value| (row["option"].as_str().expect("a name").to_owned(), number(row, "shown"), number(row, "chosen"));
        let mut options: Vec<_> = rows.iter().map(row).filter(|(_, shown, _)| *shown != 0.0).collect();
        options.sort_by(|x, y| x.0.cmp(&y.0));
        Self { presentations: number(&ranking.body, "presentations"), options }
    }
}

/// Sends bytes as they are, and reads until the connection ends: what no client would send.
pub fn raw(address: SocketAddr, text: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(SOON)).expect("a limit");
    let mut answer = Vec::new();
    // The server may answer and end it before all was sent.
    let _ = stream.write_all(text.as_bytes());
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}
