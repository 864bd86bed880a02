//! What went wrong, as RFC 9457 has it: one shape for every error.
//!
//! What the caller can mend is explained, with the field. What is ours is told in general terms, and logged.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::{Map, Value};
use unloop_store::{BodyError, SettingError, StoreError};
use utoipa::ToSchema;

/// Seconds after which it may be tried again.
const SOON: u32 = 1;

/// What went wrong. In a box: every call may come to one, and few do.
#[derive(Clone, Debug)]
pub struct Problem(Box<Told>);

#[derive(Clone, Debug)]
struct Told {
    kind: Kind,
    detail: String,
    field: Option<String>,
    also: Map<String, Value>,
    /// Whether the connection ends with it: there is more of the request than anybody reads.
    closes: bool,
}

/// Kinds of problems. Their names are part of the interface, and stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is told by its title below")]
pub enum Kind {
    NotJson,
    NoKey,
    Scope,
    Forged,
    Origin,
    Proxied,
    NoSuchPath,
    NoCatalog,
    NoOption,
    NoChoice,
    NoContext,
    Method,
    Conflict,
    Stale,
    Expired,
    Gone,
    TooLarge,
    MediaType,
    Host,
    Invalid,
    NothingEligible,
    Internal,
    Full,
    Busy,
    Broken,
    Computing,
    Timeout,
}

impl Kind {
    /// Status, name and title.
    fn told(self) -> (StatusCode, &'static str, &'static str) {
        use StatusCode as Status;
        match self {
            Self::NotJson => (Status::BAD_REQUEST, "not-json", "The body is not JSON"),
            Self::NoKey => (Status::UNAUTHORIZED, "no-key", "A key is needed"),
            Self::Scope => (Status::FORBIDDEN, "scope", "This key may not do that"),
            Self::Forged => (Status::FORBIDDEN, "forged", "The token is not one of ours for this presentation"),
            Self::Origin => (Status::FORBIDDEN, "origin", "Pages from elsewhere may not do that"),
            Self::Proxied => (Status::FORBIDDEN, "proxied", "Without keys nothing is served through a proxy"),
            Self::NoSuchPath => (Status::NOT_FOUND, "no-such-path", "There is nothing at this path"),
            Self::NoCatalog => (Status::NOT_FOUND, "no-catalog", "There is no such catalog"),
            Self::NoOption => (Status::NOT_FOUND, "no-option", "There is no such option"),
            Self::NoChoice => (Status::NOT_FOUND, "no-choice", "There is no such choice"),
            Self::NoContext => (Status::NOT_FOUND, "no-context", "There is no such context"),
            Self::Method => (Status::METHOD_NOT_ALLOWED, "method", "This cannot be done at this path"),
            Self::Conflict => (Status::CONFLICT, "conflict", "Something else is recorded"),
            Self::Stale => (Status::PRECONDITION_FAILED, "stale", "Somebody changed it meanwhile"),
            Self::Expired => (Status::GONE, "expired", "The presentation has expired"),
            Self::Gone => (Status::GONE, "gone", "It was erased"),
            Self::TooLarge => (Status::PAYLOAD_TOO_LARGE, "too-large", "The body is too large"),
            Self::MediaType => (Status::UNSUPPORTED_MEDIA_TYPE, "media-type", "Bodies are application/json"),
            Self::Host => (Status::MISDIRECTED_REQUEST, "host", "This server does not go by that name"),
            Self::Invalid => (Status::UNPROCESSABLE_ENTITY, "invalid", "Something in the request cannot be"),
            Self::NothingEligible => (Status::UNPROCESSABLE_ENTITY, "nothing-eligible", "No option can be presented"),
            Self::Internal => (Status::INTERNAL_SERVER_ERROR, "internal", "Something went wrong here"),
            Self::Full => (Status::SERVICE_UNAVAILABLE, "full", "There is no space left"),
            Self::Busy => (Status::SERVICE_UNAVAILABLE, "busy", "Too much is going on"),
            Self::Broken => (Status::SERVICE_UNAVAILABLE, "broken", "Nothing is recorded until a restart"),
            Self::Computing => (Status::SERVICE_UNAVAILABLE, "computing", "It is still being computed"),
            Self::Timeout => (Status::SERVICE_UNAVAILABLE, "timeout", "It took too long"),
        }
    }
}

/// A problem as it is sent: `application/problem+json` (RFC 9457). Some have more fields, such as `recorded` where something else was.
#[derive(Serialize, ToSchema)]
pub(crate) struct Sent<'a> {
    /// Stable, to be told apart by.
    #[schema(example = "urn:unloop:invalid")]
    r#type: String,
    /// What kind of problem it is.
    title: &'a str,
    /// The status again.
    status: u16,
    /// What is wrong, and what to do.
    detail: &'a str,
    /// Where in the body or query it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<&'a str>,
    #[serde(flatten)]
    #[schema(ignore)]
    also: &'a Map<String, Value>,
}

impl Problem {
    /// Of a kind.
    pub fn new(kind: Kind, detail: impl Into<String>) -> Self {
        Self(Box::new(Told { kind, detail: detail.into(), field: None, also: Map::new(), closes: false }))
    }

    /// A field that cannot be.
    pub fn invalid(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(Kind::Invalid, detail).at(field)
    }

    /// Where.
    #[must_use]
    pub fn at(mut self, field: impl Into<String>) -> Self {
        self.0.field = Some(field.into());
        self
    }

    /// Something else to be told.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.also.insert(name.into(), value.into());
        self
    }

    /// With the end of the connection, if so.
    pub(crate) fn closing(mut self, closes: bool) -> Self {
        self.0.closes = closes;
        self
    }

    /// Its kind.
    pub fn kind(&self) -> Kind {
        self.0.kind
    }

    /// As JSON: of one row among many.
    pub(crate) fn to_json(&self) -> Value {
        serde_json::to_value(self.sent()).unwrap_or_default()
    }

    fn sent(&self) -> Sent<'_> {
        let (status, name, title) = self.0.kind.told();
        Sent {
            r#type: format!("urn:unloop:{name}"),
            title,
            status: status.as_u16(),
            detail: &self.0.detail,
            field: self.0.field.as_deref(),
            also: &self.0.also,
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let (status, ..) = self.0.kind.told();
        let mut response = (status, axum::Json(self.sent())).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(SOON));
        }
        if self.0.closes {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Body { error, .. } => error.into(),
            StoreError::Setting(error) => error.into(),
            StoreError::Full => Self::new(Kind::Full, "nothing was recorded: try again when there is space"),
            StoreError::Busy => Self::new(Kind::Busy, "another process is writing: nothing was recorded, try again"),
            StoreError::Broken { problem } => {
                tracing::error!(problem, "a write failed: nothing more is recorded until a restart");
                Self::new(Kind::Broken, "a write failed: whether this was recorded is found out by trying again after a restart")
            }
            StoreError::Closed => Self::new(Kind::Busy, "the server is stopping: try again"),
            other => {
                tracing::error!(problem = %other, "the store failed");
                Self::new(Kind::Internal, "the store failed; the server's log tells more")
            }
        }
    }
}

impl From<BodyError> for Problem {
    fn from(error: BodyError) -> Self {
        let field = match &error {
            BodyError::Presented { .. } | BodyError::Name { .. } => "presented",
            BodyError::Context { .. } => "context",
            BodyError::Id { .. } => "id",
            BodyError::Weight { .. } => "weight",
            _ => "chosen",
        };
        Self::invalid(field, error.to_string())
    }
}

impl From<SettingError> for Problem {
    fn from(error: SettingError) -> Self {
        let field = match &error {
            SettingError::Option { .. } => "option",
            SettingError::Weight { .. } => "prior",
            SettingError::Label { .. } => "label",
            _ => "catalog",
        };
        Self::invalid(field, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_tells_what_and_where() {
        let problem = Problem::invalid("chosen", "\"x\" was not presented").with("seq", 3);
        let expected = r#"{"type":"urn:unloop:invalid","title":"Something in the request cannot be","status":422,"detail":"\"x\" was not presented","field":"chosen","seq":3}"#;
        assert_eq!(problem.to_json().to_string(), expected);
        assert_eq!(Problem::new(Kind::Full, "").into_response().headers()[header::RETRY_AFTER], "1");
    }
}
