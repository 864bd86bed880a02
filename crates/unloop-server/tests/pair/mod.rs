//! Two servers over one store.

mod burst;
pub(crate) mod case;

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;
use unloop_server::ServerSettings;
use unloop_store::{CatalogId, Fold, NO_CHOICE, Page, Sqlite, SqliteSettings, Store, Synchronous, fold, load};

use crate::support::{Answer, Client, Folder, Server, soon, wait};

pub(crate) const CONTEXTS: [&str; 3] = ["ada", "bob", "cy"];
/// The only catalog.
const C: CatalogId = CatalogId(1);

/// The ranking of a context, or of `all`, with all rows.
pub(crate) fn ranking_path(context: &str, at_least: u64) -> String {
    let context = context.replace(' ', "%20");
    format!("/v1/catalogs/c/ranking?context={context}&limit=1000&at_least={at_least}")
}

/// The first place where two values differ, to the bit.
fn difference(x: &Value, y: &Value) -> Option<String> {
    let inside = |place: String, x: &Value, y: &Value| difference(x, y).map(|rest| format!("{place} {rest}"));
    match (x, y) {
        (Value::Object(own), Value::Object(other)) if own.keys().eq(other.keys()) => {
            own.iter().zip(other.values()).find_map(|((name, x), y)| inside(name.clone(), x, y))
        }
        (Value::Array(own), Value::Array(other)) if own.len() == other.len() => {
            own.iter().zip(other).enumerate().find_map(|(place, (x, y))| inside(place.to_string(), x, y))
        }
        _ => (x != y).then(|| format!("is {x} and {y}")),
    }
}

pub(crate) struct Pair {
    servers: [Option<(Server, Client)>; 2],
    store: Option<Arc<dyn Store>>,
    /// Of the second server's cache.
    bytes: usize,
    folder: Folder,
}

impl Pair {
    /// The second server has so much memory; the first has plenty.
    pub(crate) fn new(bytes: usize) -> Self {
        let mut pair = Self { servers: [None, None], store: None, bytes, folder: Folder::new() };
        pair.restart_all();
        pair
    }

    pub(crate) fn client(&self, which: usize) -> &Client {
        &self.servers[which].as_ref().expect("it runs").1
    }

    pub(crate) fn store(&self) -> &dyn Store {
        &**self.store.as_ref().expect("it is open")
    }

    /// Ends a server in good order.
    pub(crate) fn end(&mut self, which: usize) {
        self.servers[which] = None;
    }

    /// Ends a server in good order, and starts another one in its place.
    pub(crate) fn restart(&mut self, which: usize) {
        self.end(which);
        let cache_bytes = [1 << 30, self.bytes][which];
        let settings = ServerSettings { seed: Some(which as u64), cache_bytes, ..ServerSettings::default() };
        let store = Arc::clone(self.store.as_ref().expect("it is open"));
        let server = Server::with(store, &self.folder.database(), settings);
        let client = server.client();
        self.servers[which] = Some((server, client));
    }

    /// Ends both, closes the store, and begins again.
    pub(crate) fn restart_all(&mut self) {
        (0..2).for_each(|which| self.end(which));
        self.store = None;
        // What reaches the disk is for other tests.
        let settings = SqliteSettings { synchronous: Synchronous::Off, ..SqliteSettings::default() };
        self.store = Some(Arc::new(Sqlite::open_with(&self.folder.database(), settings).expect("a database")));
        (0..2).for_each(|which| self.restart(which));
    }

    /// Waits until both servers have the settings that the store has.
    #[track_caller]
    pub(crate) fn settled(&self) {
        let revision = || wait(self.store().settings()).catalogs[0].revision;
        let same = soon(|| (0..2).all(|which| self.client(which).get("/v1/catalogs/c").body["revision"] == revision()));
        assert!(same, "settings do not arrive");
    }

    pub(crate) fn head(&self) -> u64 {
        wait(self.store().head()).seq
    }

    /// What the log says of a context, or of `all`.
    pub(crate) fn fold(&self, context: &str) -> Fold {
        wait(Box::pin(fold(self.store(), C, Some(context).filter(|&name| name != "all"))))
    }

    /// Contexts that have choices.
    pub(crate) fn with_choices(&self) -> Vec<String> {
        wait(self.store().contexts(C, Page { prefix: String::new(), after: None, limit: 1_000 }))
    }

    /// Those, some that may have none, and `all`.
    pub(crate) fn contexts(&self) -> Vec<String> {
        let mut names = self.with_choices();
        names.extend(CONTEXTS.iter().chain(&["nobody", "all"]).map(|&name| name.to_owned()));
        names.sort();
        names.dedup();
        names
    }

    /// Asserts that a ranking counts what the log says.
    #[track_caller]
    pub(crate) fn assert_counts(&self, ranked: &Answer, context: &str, at: &str) {
        let (fold, none) = (self.fold(context), NO_CHOICE.to_string());
        let (statistics, shown) = (fold.statistics(), fold.statistics().shown());
        let counts = |name: &str| {
            let option = fold.options().get(name);
            option.map_or((0.0, 0.0), |option| (shown[option.index()], statistics.chosen(option)))
        };
        let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("{at}, {context}: no number: {}", ranked.text));
        let rows = ranked.body["rows"].as_array().expect("rows");
        for row in rows {
            let name = row["option"].as_str().expect("a name");
            assert_eq!((number(&row["shown"]), number(&row["chosen"])), counts(name), "{at}, {context}, {name}: {}", ranked.text);
        }
        if let Some(own) = ranked.body.get("none") {
            assert_eq!(number(&own["chosen"]), counts(&none).1, "{at}, {context}: {}", ranked.text);
        }
        let (found, expected) = (number(&ranked.body["presentations"]), statistics.total());
        // Of a catalog without options there is nothing to rank.
        if !rows.is_empty() {
            assert_eq!(found, expected, "{at}, {context}: {}", ranked.text);
            assert_eq!(ranked.body["distinct"], statistics.distinct(), "{at}, {context}: {}", ranked.text);
        }
    }

    /// Asserts that both servers say the same of a context, and what the log says.
    pub(crate) fn compare(&self, context: &str, at: &str) {
        let path = ranking_path(context, self.head());
        let ranked = [0, 1].map(|which| self.client(which).get(&path).expect(200));
        let bodies = ranked.map(|answer| {
            self.assert_counts(&answer, context, at);
            let mut body = answer.body;
            body.as_object_mut().expect("an object").remove("age").expect("an age");
            body
        });
        if let Some(place) = difference(&bodies[0], &bodies[1]) {
            panic!("{at}, {context}: the servers do not agree: {place}");
        }
        let active = wait(self.store().options(C)).into_iter().filter(|own| own.active);
        let named: BTreeSet<String> = active.map(|own| own.name).collect();
        let rows = bodies[0]["rows"].as_array().expect("rows");
        let ranked: BTreeSet<String> = rows.iter().map(|row| row["option"].as_str().expect("a name").to_owned()).collect();
        assert!(ranked == named && rows.len() == named.len(), "{at}, {context}: not all that is active is ranked, once");
    }

    /// Asserts that what servers have put aside is what the log says, to the bit.
    pub(crate) fn assert_put_aside(&self, at: &str) {
        let report = wait(Box::pin(unloop_store::verify(self.store(), &mut |_, _| {})));
        assert!(report.is_good(), "{at}: {report:?}");
        for context in self.contexts() {
            let name = Some(context.as_str()).filter(|&name| name != "all");
            let loaded = wait(Box::pin(load(self.store(), C, name)));
            assert_eq!(loaded.digest(), self.fold(&context).digest(), "{at}, {context}");
        }
    }
}
