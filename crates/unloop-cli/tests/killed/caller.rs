//! Calls over HTTP, to a server that may go away in the middle.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};

/// Nothing takes longer, unless it hangs.
const LIMIT: Duration = Duration::from_secs(30);

/// Somebody who calls, over connections of its own.
pub(crate) struct Caller {
    address: SocketAddr,
    agent: ureq::Agent,
}

/// What was answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Value,
    pub(crate) text: String,
}

/// No answer came, or half of one: whether it was done is not known.
pub(crate) type Cut = String;

impl Answer {
    /// The problem's type without what all have in common.
    pub(crate) fn problem(&self) -> &str {
        self.body["type"].as_str().and_then(|name| name.strip_prefix("urn:unloop:")).unwrap_or_default()
    }

    #[track_caller]
    pub(crate) fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.text);
        self
    }

    #[track_caller]
    pub(crate) fn refused(&self, status: u16, problem: &str) {
        assert_eq!((self.status, self.problem()), (status, problem), "{}", self.text);
    }

    #[track_caller]
    pub(crate) fn seq(&self) -> u64 {
        self.body["seq"].as_u64().unwrap_or_else(|| panic!("a position: {}", self.text))
    }
}

impl Caller {
    pub(crate) fn new(address: SocketAddr) -> Self {
        let config = ureq::Agent::config_builder().http_status_as_error(false).timeout_global(Some(LIMIT));
        Self { address, agent: config.build().new_agent() }
    }

    fn call(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Answer, Cut> {
        let request = ureq::http::Request::builder().method(method).uri(format!("http://{}{path}", self.address));
        let sent = match body {
            Some(body) => {
                let request = request.header("content-type", "application/json").body(body.to_string());
                self.agent.run(request.expect("a request"))
            }
            None => self.agent.run(request.body(()).expect("a request")),
        };
        let mut response = sent.map_err(|error| error.to_string())?;
        let status = response.status().as_u16();
        let reader = response.body_mut().with_config().limit(1 << 30);
        let text = reader.read_to_string().map_err(|error| error.to_string())?;
        Ok(Answer { status, body: serde_json::from_str(&text).unwrap_or(Value::Null), text })
    }

    pub(crate) fn get(&self, path: &str) -> Result<Answer, Cut> {
        self.call("GET", path, None)
    }

    pub(crate) fn delete(&self, path: &str) -> Result<Answer, Cut> {
        self.call("DELETE", path, None)
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Result<Answer, Cut> {
        self.call("POST", path, Some(body))
    }

    pub(crate) fn present(&self, asked: &Value) -> Result<Answer, Cut> {
        self.post("/v1/catalogs/c/presentations", asked)
    }

    pub(crate) fn choose(&self, id: &str, token: &str, outcome: &Value) -> Result<Answer, Cut> {
        let mut body = outcome.clone();
        body["token"] = json!(token);
        self.post(&format!("/v1/presentations/{id}/choice"), &body)
    }

    /// Everything that the log has, in order, page by page.
    pub(crate) fn exported(&self) -> Result<Vec<Value>, Cut> {
        let mut rows: Vec<Value> = Vec::new();
        loop {
            let after = rows.last().and_then(|row| row["seq"].as_u64()).unwrap_or(0);
            let page = self.get(&format!("/v1/catalogs/c/choices?after={after}"))?.expect(200);
            let before = rows.len();
            rows.extend(page.text.lines().map(|line| serde_json::from_str::<Value>(line).expect("a row")));
            if rows.len() == before {
                return Ok(rows);
            }
        }
    }
}
