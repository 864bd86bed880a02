//! `unloop keys` and `unloop secret`: who may call the service, and what signs its tokens.

use std::path::Path;

use anyhow::{Context, Result};
use clap::{Args, Subcommand, ValueEnum};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use unloop_server::{Scope, Secrets, make_key};
use unloop_store::{CatalogId, Change, Changed, Key, Store};

use crate::database::{Database, catalog, explained, wait};
use crate::failure::failure;
use crate::output::{print_json, print_table, table};

/// Make, list and revoke keys of the service
///
/// As soon as there is a key, every call needs one, but for health, readiness and the OpenAPI document. A running server takes changes up within a
/// second.
#[derive(Args, Debug)]
#[command(after_help = KEY_EXAMPLES)]
pub(crate) struct Keys {
    #[command(subcommand)]
    command: KeysCommand,
}

const KEY_EXAMPLES: &str = "\
Examples:
  unloop keys create --label shop --scopes present,choose
  unloop keys create --label dashboard --scopes admin,read --expires 90d
  unloop keys list
  unloop keys revoke 1f3c8a02";

#[derive(Debug, Subcommand)]
enum KeysCommand {
    /// Make a key; it is shown once
    Create(Create),
    /// List keys; what is shown cannot be used as one
    List(List),
    /// Revoke a key
    Revoke(Revoke),
}

#[derive(Args, Debug)]
struct Create {
    #[command(flatten)]
    database: Database,

    /// What the key is for, in your words
    #[arg(long, default_value = "")]
    label: String,

    /// What it may be used for: present, choose (import, withdraw), read, admin (settings, erase)
    #[arg(long, value_enum, value_delimiter = ',', default_value = "present,choose,read")]
    scopes: Vec<ScopeName>,

    /// For this catalog alone
    #[arg(long, value_name = "NAME")]
    catalog: Option<String>,

    /// Worth nothing after this time: 90d, 12h, or 2027-01-31T00:00:00Z
    #[arg(long, value_name = "TIME", value_parser = expiry)]
    expires: Option<Timestamp>,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args, Debug)]
struct List {
    #[command(flatten)]
    database: Database,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args, Debug)]
struct Revoke {
    #[command(flatten)]
    database: Database,

    /// The id of the key, as `unloop keys list` tells
    id: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ScopeName {
    Present,
    Choose,
    Read,
    Admin,
}

impl From<ScopeName> for Scope {
    fn from(name: ScopeName) -> Self {
        match name {
            ScopeName::Present => Self::Present,
            ScopeName::Choose => Self::Choose,
            ScopeName::Read => Self::Read,
            ScopeName::Admin => Self::Admin,
        }
    }
}

/// A time, or how long from now.
fn expiry(text: &str) -> Result<Timestamp, String> {
    if let Ok(time) = text.parse::<Timestamp>() {
        return Ok(time);
    }
    let bad = || format!("{text:?} is no time: 90d, 12h, or 2027-01-31T00:00:00Z");
    let (number, unit) = text.split_at(text.len().saturating_sub(1));
    let hours = match unit {
        "d" => 24,
        "h" => 1,
        _ => return Err(bad()),
    };
    let count: i64 = number.parse().map_err(|_| bad())?;
    let seconds = count.checked_mul(3_600 * hours).filter(|&seconds| seconds > 0).ok_or_else(bad)?;
    Timestamp::now().checked_add(SignedDuration::from_secs(seconds)).map_err(|_| bad())
}

impl Keys {
    pub(crate) fn run(self) -> Result<()> {
        match self.command {
            KeysCommand::Create(create) => wait(create.run())?,
            KeysCommand::List(list) => wait(list.run())?,
            KeysCommand::Revoke(revoke) => wait(revoke.run())?,
        }
    }
}

impl Create {
    async fn run(self) -> Result<()> {
        let store = self.database.open_beside_or_make()?;
        let only = match &self.catalog {
            Some(name) => Some(catalog(&store, name).await?.id),
            None => None,
        };
        let mut scopes: Vec<Scope> = Vec::new();
        for scope in self.scopes.iter().map(|&scope| Scope::from(scope)) {
            if !scopes.contains(&scope) {
                scopes.push(scope);
            }
        }
        let (key, text) = make_key(&self.label, &scopes, only, self.expires).context("the system gives no random numbers")?;
        let id = key.id.clone();
        match store.change(Change::Key(key)).await.map_err(explained)? {
            Changed::Done { .. } => {}
            _ => return Err(failure("there is a key of this id", "run it again")),
        }
        if self.json {
            let names: Vec<&str> = scopes.iter().map(|scope| scope.name()).collect();
            print_json(&mut std::io::stdout().lock(), &json!({ "id": id, "key": text, "scopes": names }))?;
        } else {
            println!("{text}");
            eprintln!("This is key {id}. It is shown this once: keep it where secrets are kept.");
            eprintln!("From now on every call needs a key, as `Authorization: Bearer …`.");
        }
        Ok(())
    }
}

impl List {
    async fn run(self) -> Result<()> {
        let settings = self.database.open_beside()?.settings().await.map_err(explained)?;
        let name_of = |id: CatalogId| {
            let found = settings.catalogs.iter().find(|own| own.id == id);
            found.map_or_else(|| "(removed)".to_owned(), |own| own.name.clone())
        };
        let now = Timestamp::now().as_millisecond();
        if self.json {
            let rows: Vec<_> = settings
                .keys
                .iter()
                .map(|key| {
                    json!({
                        "id": key.id,
                        "label": key.label,
                        "scopes": key.scopes,
                        "catalog": key.catalog.map(name_of),
                        "created": time(key.created),
                        "expires": key.expires.map(time),
                    })
                })
                .collect();
            return print_json(&mut std::io::stdout().lock(), &json!({ "keys": rows }));
        }
        if settings.keys.is_empty() {
            eprintln!("there are no keys: `unloop keys create` makes one");
            return Ok(());
        }
        let mut table = table(&["id", "label", "scopes", "catalog", "created", "expires"], &[0, 1, 2, 3, 4, 5]);
        for key in &settings.keys {
            let Key { id, label, scopes, catalog, created, expires, .. } = key;
            let expires = match expires {
                None => "never".to_owned(),
                Some(end) if *end <= now => format!("{} (over)", time(*end)),
                Some(end) => time(*end),
            };
            let catalog = catalog.map_or_else(|| "all".to_owned(), name_of);
            table.add_row([id.clone(), label.clone(), scopes.join(" "), catalog, time(*created), expires]);
        }
        Ok(print_table(&mut std::io::stdout().lock(), &table)?)
    }
}

impl Revoke {
    async fn run(self) -> Result<()> {
        let store = self.database.open_beside()?;
        match store.change(Change::Revoke { id: self.id.clone() }).await.map_err(explained)? {
            Changed::Done { .. } => {}
            _ => return Err(failure(format!("there is no key {:?}", self.id), "`unloop keys list` tells their ids")),
        }
        eprintln!("key {} is worth nothing any more", self.id);
        if store.settings().await.map_err(explained)?.keys.is_empty() {
            eprintln!("note: that was the last key: calls from this machine need none now, others are refused");
        }
        Ok(())
    }
}

fn time(milliseconds: i64) -> String {
    let seconds = Timestamp::from_second(milliseconds.div_euclid(1_000));
    seconds.map_or_else(|_| milliseconds.to_string(), |time| time.to_string())
}

/// What signs the tokens of presentations
#[derive(Args, Debug)]
pub(crate) struct Secret {
    #[command(subcommand)]
    command: SecretCommand,
}

#[derive(Debug, Subcommand)]
enum SecretCommand {
    /// Put a new secret first; those before verify until everything they signed has expired
    ///
    /// A running server takes it up within a second. Where several servers share one store, copy the file to all of them.
    Rotate(Rotate),
}

#[derive(Args, Debug)]
struct Rotate {
    #[command(flatten)]
    database: Database,
}

impl Secret {
    pub(crate) fn run(self) -> Result<()> {
        let SecretCommand::Rotate(Rotate { database }) = self.command;
        let path = Secrets::path_beside(database.path());
        // Two at once would each drop what the other one made.
        let _turn = turn(&path)?;
        let rotated = rotated(&path)?;
        rotated.write(&path).map_err(|error| failure(error.to_string(), "the folder has to be writable"))?;
        let before = rotated.count() - 1;
        let verify = if before == 1 { "verifies" } else { "verify" };
        eprintln!("{}: a new secret signs from now on; {before} from before still {verify}", path.display());
        Ok(())
    }
}

/// A lock beside the file of secrets, held until it is dropped.
fn turn(path: &Path) -> Result<std::fs::File> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".lock");
    let beside = path.with_file_name(name);
    let failed = |error: std::io::Error| failure(format!("{}: {error}", beside.display()), "the folder has to be writable");
    let file = std::fs::OpenOptions::new().write(true).create(true).truncate(false).open(&beside).map_err(failed)?;
    file.lock().map_err(failed)?;
    Ok(file)
}

fn rotated(path: &Path) -> Result<Secrets> {
    let no_numbers = "the system gives no random numbers";
    let hint = "mend the file, or take it away: a new secret is made then, and open presentations are lost";
    if let Some(secrets) = Secrets::read(path).map_err(|error| failure(error.to_string(), hint))? {
        if secrets.is_full(Timestamp::now()) {
            let hint =
                "wait until presentations signed by the oldest have expired, or take its line out: they cannot be answered then";
            return Err(failure(format!("{} holds as many secrets as it may", path.display()), hint));
        }
        return secrets.rotated(Timestamp::now()).context(no_numbers);
    }
    let hint = "name the database with --db; `unloop serve` makes the secret beside it";
    Err(failure(format!("{}: there is no file of secrets", path.display()), hint))
}
