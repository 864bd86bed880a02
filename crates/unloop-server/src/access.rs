//! Who may do what: keys with scopes, and where a request may come from.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use data_encoding::BASE64URL_NOPAD;
use jiff::Timestamp;
use unloop_store::{CatalogId, Key};

use crate::body::refused;
use crate::catalog::Known;
use crate::problem::{Kind, Problem};
use crate::secret::random;
use crate::service::{Service, Shared};

/// What every key begins with: leaked ones are found by it.
pub const PREFIX: &str = "unloop_";
/// Headers by which a proxy gives itself away.
const PROXIED: [&str; 6] = ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", "via"];

/// What a key may be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// To have options presented.
    Present,
    /// To import and to withdraw choices.
    Choose,
    /// To read rankings, settings, choices.
    Read,
    /// To change settings, to erase.
    Admin,
}

impl Scope {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Present, Self::Choose, Self::Read, Self::Admin];

    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Present => "present",
            Self::Choose => "choose",
            Self::Read => "read",
            Self::Admin => "admin",
        }
    }
}

/// A new key: what is kept of it, and the key itself, which is told once.
///
/// # Errors
/// If the system gives no random numbers.
pub fn make_key(
    label: &str,
    scopes: &[Scope],
    catalog: Option<CatalogId>,
    expires: Option<Timestamp>,
) -> Result<(Key, String), getrandom::Error> {
    let text = format!("{PREFIX}{}", BASE64URL_NOPAD.encode(&random()?));
    let hash = *blake3::hash(text.as_bytes()).as_bytes();
    let key = Key {
        id: data_encoding::HEXLOWER.encode(&random()?[..4]),
        hash,
        label: label.to_owned(),
        scopes: scopes.iter().map(|scope| scope.name().to_owned()).collect(),
        catalog,
        created: Timestamp::now().as_millisecond(),
        expires: expires.map(Timestamp::as_millisecond),
    };
    Ok((key, text))
}

/// What whoever asks may do.
#[derive(Clone)]
pub(crate) enum Access {
    /// Everything: there are no keys.
    Open,
    /// What this key may.
    Key(Arc<Key>),
    /// Nothing: a key is needed, and this is what is wrong.
    Denied(&'static str),
}

impl FromRequestParts<Shared> for Access {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, service: &Shared) -> Result<Self, Problem> {
        Ok(Self::of(service, &parts.headers))
    }
}

impl Access {
    pub(crate) fn of(service: &Service, headers: &HeaderMap) -> Self {
        let all = service.registry.get();
        if !all.has_keys() {
            // Keys may all have been revoked since the address was bound.
            return if service.settings.loopback {
                Self::Open
            } else {
                Self::Denied("there are no keys: `unloop keys create` makes one")
            };
        }
        let Some(header) = headers.get(header::AUTHORIZATION) else {
            return Self::Denied("send it as `Authorization: Bearer unloop_…`");
        };
        let bearer = |text: &str| {
            let (scheme, key) = text.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| key.trim().to_owned())
        };
        let Some(text) = header.to_str().ok().and_then(bearer) else {
            return Self::Denied("the Authorization header is not `Bearer unloop_…`");
        };
        Self::by_key(service, &text)
    }

    /// By the text of a key.
    pub(crate) fn by_key(service: &Service, text: &str) -> Self {
        // By its hash: a look-up that takes longer or shorter tells nothing of the key.
        Self::by(service.registry.get().key(blake3::hash(text.as_bytes()).as_bytes()))
    }

    /// By a key as it is kept, if it is still worth something.
    pub(crate) fn by(key: Option<&Arc<Key>>) -> Self {
        match key {
            None => Self::Denied("this key is not known, or was revoked"),
            Some(key) if key.expires.is_some_and(|end| end <= crate::now()) => Self::Denied("this key has expired"),
            Some(key) => Self::Key(Arc::clone(key)),
        }
    }

    /// Whether it may do something, with a catalog or in general.
    pub(crate) fn need(&self, scope: Scope, catalog: Option<CatalogId>) -> Result<(), Problem> {
        let key = match self {
            Self::Open => return Ok(()),
            Self::Denied(why) => return Err(Problem::new(Kind::NoKey, *why)),
            Self::Key(key) => key,
        };
        if !key.scopes.iter().any(|own| own == scope.name()) {
            return Err(Problem::new(Kind::Scope, format!("it needs the scope `{}`", scope.name())));
        }
        match key.catalog {
            Some(own) if catalog != Some(own) => Err(Problem::new(Kind::Scope, "this key is for one catalog, another one")),
            _ => Ok(()),
        }
    }

    /// The one catalog that it is for, unless for all.
    pub(crate) fn only(&self) -> Option<CatalogId> {
        if let Self::Key(key) = self { key.catalog } else { None }
    }

    /// A catalog by name, if it may do that with it.
    pub(crate) fn catalog(&self, service: &Service, scope: Scope, name: &str) -> Result<Arc<Known>, Problem> {
        let found = service.registry.get().named(name).cloned();
        self.need(scope, found.as_ref().map(|known| known.id))?;
        found.ok_or_else(|| Problem::new(Kind::NoCatalog, format!("there is no catalog {name:?}")))
    }
}

/// Refuses what comes from where it should not: by another name, through a proxy where nobody is asked for a key, from a foreign page.
pub(crate) async fn guard(service: &Shared, request: Request, next: Next) -> Response {
    if let Err(problem) = check(service, &request) {
        return refused(problem, request.into_body()).await.into_response();
    }
    let allowed = allowed_origin(service, &request);
    let is_asking = request.method() == Method::OPTIONS && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    let mut response = if allowed.is_some() && is_asking {
        let methods = HeaderValue::from_static("POST");
        let names = HeaderValue::from_static("content-type, authorization");
        [(header::ACCESS_CONTROL_ALLOW_METHODS, methods), (header::ACCESS_CONTROL_ALLOW_HEADERS, names)].into_response()
    } else {
        next.run(request).await
    };
    if let Some(origin) = allowed {
        response.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        response.headers_mut().insert(header::VARY, HeaderValue::from_static("origin"));
    }
    response
}

/// The page that a request comes from, if it may make it from elsewhere.
fn allowed_origin(service: &Service, request: &Request) -> Option<HeaderValue> {
    let origin = request.headers().get(header::ORIGIN)?;
    let allowed = service.settings.allow_origins.iter().any(|allowed| allowed.as_bytes() == origin.as_bytes());
    (allowed && is_choice(request.uri().path())).then(|| origin.clone())
}

fn check(service: &Service, request: &Request) -> Result<(), Problem> {
    let headers = request.headers();
    let host = request.uri().authority().map(Authority::as_str);
    let host = host.or_else(|| headers.get(header::HOST).and_then(|host| host.to_str().ok()));
    let Some(host) = host else { return Err(Problem::new(Kind::Host, "there is no Host header")) };
    let (name, has_keys) = (name_of(host), service.registry.get().has_keys());
    if !is_address(name) {
        if !service.settings.is_allowed_host(name) {
            let hint = "a page elsewhere may have its name lead here; --allow-host names those that this server goes by";
            return Err(Problem::new(Kind::Host, hint));
        }
        if !has_keys {
            // Somebody meant it to be reached by a name, and so from elsewhere.
            let detail = "whoever comes by a name that --allow-host gives needs a key: `unloop keys create` makes one";
            return Err(Problem::new(Kind::Proxied, detail));
        }
    }
    if !has_keys && PROXIED.iter().any(|name| headers.contains_key(*name)) {
        return Err(Problem::new(Kind::Proxied, "whoever is behind a proxy needs a key: `unloop keys create` makes one"));
    }
    let changes = !matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    if changes && let Some(origin) = headers.get(header::ORIGIN) {
        let origin = origin.to_str().unwrap_or_default();
        if !is_own(origin, host) && allowed_origin(service, request).is_none() {
            let detail = "its Origin is not this server; --allow-origin opens the choice call for a page";
            return Err(Problem::new(Kind::Origin, detail));
        }
    }
    if changes && is_page(request.uri().path()) {
        // A browser says where a form comes from. Who is signed in by a cookie does nothing on behalf of other pages.
        let origin = headers.get(header::ORIGIN).and_then(|origin| origin.to_str().ok());
        if !origin.is_some_and(|origin| is_own(origin, host)) {
            return Err(Problem::new(Kind::Origin, "the dashboard's forms are sent from its own pages"));
        }
    }
    // Before anything else is looked at: whoever has no key learns nothing of what is right or wrong.
    match Access::of(service, headers) {
        Access::Denied(why) if !is_open(request.uri().path()) => Err(Problem::new(Kind::NoKey, why)),
        _ => Ok(()),
    }
}

/// Whether a page is one of this server.
fn is_own(origin: &str, host: &str) -> bool {
    origin.split_once("://").is_some_and(|(_, authority)| authority.eq_ignore_ascii_case(host))
}

/// Whether a path needs no key. Pages of the dashboard ask for it by themselves, in a way that people understand.
fn is_open(path: &str) -> bool {
    matches!(path, "/healthz" | "/readyz" | "/v1/openapi.json") || is_choice(path) || is_page(path)
}

/// Whether a path is one of the dashboard's.
pub(crate) fn is_page(path: &str) -> bool {
    let first = path.split('/').nth(1).unwrap_or_default();
    matches!(first, "" | "assets" | "catalogs" | "try" | "health" | "sign-in" | "sign-out")
}

/// Whether a path is that of the choice call, which pages may be allowed to make.
pub(crate) fn is_choice(path: &str) -> bool {
    path.strip_prefix("/v1/presentations/").and_then(|rest| rest.strip_suffix("/choice")).is_some_and(|id| !id.contains('/'))
}

/// A host without its port.
fn name_of(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !name.ends_with(':') => name,
        _ => host,
    }
}

/// Whether a name leads here whoever is asked: an address, or this machine.
pub(crate) fn is_address(name: &str) -> bool {
    let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    name.eq_ignore_ascii_case("localhost") || bare.parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_lose_their_ports() {
        for (host, name) in
            [("a.example:80", "a.example"), ("[::1]:7878", "[::1]"), ("[::1]", "[::1]"), ("127.0.0.1", "127.0.0.1")]
        {
            assert_eq!(name_of(host), name);
        }
        assert!(["127.0.0.1", "[::1]", "localhost", "LOCALHOST", "192.0.2.7"].into_iter().all(is_address));
        assert!(!["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", ""].into_iter().any(is_address));
    }

    #[test]
    fn keys_are_kept_by_their_hash() {
        let (key, text) = make_key("shop", &[Scope::Present], None, None).unwrap();
        assert!(text.starts_with(PREFIX) && text.len() == PREFIX.len() + 43);
        assert_eq!(*blake3::hash(text.as_bytes()).as_bytes(), key.hash);
    }

    #[test]
    fn the_choice_call_is_told_from_others() {
        assert!(is_choice("/v1/presentations/0199/choice"));
        assert!(!is_choice("/v1/presentations/0199/x/choice") && !is_choice("/v1/catalogs/a/presentations"));
    }
}
