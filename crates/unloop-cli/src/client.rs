//! Calls to a running server.

use std::time::Duration;

use anyhow::Result;
use clap::Args;
use serde_json::Value;

use crate::failure::failure;

/// How long an answer may take.
const LIMIT: Duration = Duration::from_mins(1);
/// Bytes of an answer at most.
const LARGEST: u64 = 64 << 20;

/// Which server.
#[derive(Args, Debug)]
pub(crate) struct At {
    /// A running server, as http://127.0.0.1:7878, instead of a database file
    #[arg(long, value_name = "URL")]
    url: Option<String>,

    /// The key for it
    #[arg(long, value_name = "KEY", env = "UNLOOP_KEY", hide_env_values = true)]
    key: Option<String>,
}

impl At {
    /// Its address, if there is one.
    pub(crate) fn name(&self) -> Option<&str> {
        self.url.as_deref()
    }

    /// Somebody who calls it, if there is one.
    pub(crate) fn client(&self) -> Result<Option<Client>> {
        let Some(url) = &self.url else { return Ok(None) };
        let url = url.trim_end_matches('/');
        if !(url.starts_with("http://") || url.starts_with("https://")) {
            return Err(failure(format!("{url:?} is no address of a server"), "such as http://127.0.0.1:7878"));
        }
        Ok(Some(Client::new(url, self.key.clone())))
    }
}

/// Somebody who calls a server.
pub(crate) struct Client {
    url: String,
    key: Option<String>,
    agent: ureq::Agent,
}

/// What was answered.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) body: Value,
    from: String,
}

impl Client {
    pub(crate) fn new(url: &str, key: Option<String>) -> Self {
        let agent = ureq::Agent::config_builder().http_status_as_error(false).timeout_global(Some(LIMIT)).build().new_agent();
        Self { url: url.to_owned(), key, agent }
    }

    pub(crate) fn call(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Reply> {
        let from = format!("{}{path}", self.url);
        let cannot = |error: &dyn std::fmt::Display| failure(format!("{}: {error}", self.url), "is the server running there?");
        let mut request = ureq::http::Request::builder().method(method).uri(&from);
        if let Some(key) = &self.key {
            request = request.header("authorization", format!("Bearer {key}"));
        }
        let sent = match body {
            Some(body) => {
                let request = request.header("content-type", "application/json").body(body.to_string());
                self.agent.run(request.map_err(|error| cannot(&error))?)
            }
            None => self.agent.run(request.body(()).map_err(|error| cannot(&error))?),
        };
        let mut response = sent.map_err(|error| cannot(&error))?;
        let status = response.status().as_u16();
        let text = response.body_mut().with_config().limit(LARGEST).read_to_string().map_err(|error| cannot(&error))?;
        Ok(Reply { status, body: serde_json::from_str(&text).unwrap_or_default(), from })
    }
}

impl Reply {
    /// What was asked for.
    pub(crate) fn done(self) -> Result<Value> {
        if (200..300).contains(&self.status) {
            return Ok(self.body);
        }
        let detail = self.body["detail"].as_str().unwrap_or("no reason was given");
        let hint = match self.status {
            401 => "give a key with --key, or in UNLOOP_KEY",
            403 => "use a key with the scope; making catalogs and options needs `admin`",
            503 => "try again in a while",
            _ => "look at the server's log",
        };
        Err(failure(format!("{}: {} ({detail})", self.from, self.status), hint))
    }
}
