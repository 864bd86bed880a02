//! Who looks: anybody on this machine while there are no keys, else whoever signed in with an admin key.
//!
//! A session is a cookie: the key's id and an end, signed with the secret. It is worth nothing once the key is revoked or has expired.

use askama::Template;
use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use data_encoding::BASE64URL_NOPAD;
use serde::{Deserialize, Serialize};

use super::page::{Frame, Oops, Page, is_part};
use super::params::{Form, Params};
use crate::access::{Access, Scope};
use crate::now;
use crate::service::{Service, Shared};

const COOKIE: &str = "unloop_session";
const PURPOSE: &str = "unloop 2026-11-18 dashboard session v1";
const SIGNATURE: usize = 32;
/// Longest cookie that is looked at.
const LONGEST: usize = 512;
/// Seconds that a session lasts.
const LENGTH: i64 = 12 * 3_600;

/// What a cookie says.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Session {
    key: String,
    /// Milliseconds since 1970.
    ends: i64,
}

impl Session {
    fn seal(&self, service: &Service) -> String {
        // Into memory: nothing can fail.
        let mut bytes = postcard::to_extend(self, Vec::new()).unwrap_or_default();
        let signature = service.keyring.get().sign(PURPOSE, &bytes);
        bytes.extend_from_slice(&signature);
        BASE64URL_NOPAD.encode(&bytes)
    }

    fn open(text: &str, service: &Service) -> Option<Self> {
        if text.len() > LONGEST {
            return None;
        }
        let bytes = BASE64URL_NOPAD.decode(text.as_bytes()).ok()?;
        let (content, signature) = bytes.split_last_chunk::<SIGNATURE>()?;
        if !service.keyring.get().verify(PURPOSE, content, *signature) {
            return None;
        }
        let session: Self = postcard::from_bytes(content).ok()?;
        (session.ends > now()).then_some(session)
    }
}

/// Somebody who may look at the dashboard.
pub(super) struct Visitor {
    /// What they may do.
    pub(super) access: Access,
    signed_in: bool,
}

impl Visitor {
    /// The frame of a page for them.
    pub(super) fn frame(&self, place: &'static str) -> Frame {
        Frame::new(place, self.signed_in)
    }
}

fn cookie(headers: &HeaderMap) -> Option<&str> {
    let all = headers.get_all(header::COOKIE).into_iter().filter_map(|own| own.to_str().ok());
    all.flat_map(|own| own.split(';')).find_map(|own| own.trim().strip_prefix(COOKIE)?.strip_prefix('='))
}

/// What whoever asks may do, by a cookie or as everywhere.
fn access(service: &Service, headers: &HeaderMap) -> (Access, bool) {
    match cookie(headers).and_then(|text| Session::open(text, service)) {
        Some(session) if service.registry.get().has_keys() => (Access::by(service.registry.get().key_called(&session.key)), true),
        _ => (Access::of(service, headers), false),
    }
}

impl FromRequestParts<Shared> for Visitor {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, service: &Shared) -> Result<Self, Response> {
        let (access, signed_in) = access(service, &parts.headers);
        // A key for one catalog sees that one; which one is asked where there is one.
        if access.need(Scope::Admin, access.only()).is_ok() {
            return Ok(Self { access, signed_in });
        }
        if is_part(&parts.headers) || parts.method != axum::http::Method::GET {
            return Err(StatusCode::UNAUTHORIZED.into_response());
        }
        let ask = String::from("/sign-in?");
        let length = ask.len();
        let mut to = form_urlencoded::Serializer::for_suffix(ask, length);
        to.append_pair("to", parts.uri.path_and_query().map_or("/", |path| path.as_str()));
        Err(Redirect::to(&to.finish()).into_response())
    }
}

#[derive(Template)]
#[template(path = "sign_in.html")]
pub(super) struct SignIn {
    frame: Frame,
    to: String,
    problem: &'static str,
}

/// Where to go afterwards: a page of ours.
fn target(params: &Params) -> String {
    let to = params.get("to");
    // Two slashes, or a backslash, lead elsewhere.
    let own = to.starts_with('/') && !to.starts_with("//") && !to.contains(['\\', '\r', '\n']);
    if own { to.to_owned() } else { "/".to_owned() }
}

/// Asks for a key.
pub(super) async fn ask(params: Params) -> Page<SignIn> {
    Page(SignIn { frame: Frame::new("", false), to: target(&params), problem: "" })
}

/// Signs in.
pub(super) async fn enter(State(service): State<Shared>, headers: HeaderMap, Form(form): Form) -> Result<Response, Oops> {
    let to = target(&form);
    let access = Access::by_key(&service, form.get("key").trim());
    let refused = |problem| {
        let page = SignIn { frame: Frame::new("", false), to: to.clone(), problem };
        Ok((StatusCode::UNAUTHORIZED, Page(page)).into_response())
    };
    let key = match &access {
        Access::Key(key) => key,
        Access::Denied(why) => return refused(why),
        Access::Open => return Ok(Redirect::to(&to).into_response()),
    };
    if access.need(Scope::Admin, access.only()).is_err() {
        return refused("this key has not the scope admin");
    }
    let session = Session { key: key.id.clone(), ends: now() + 1_000 * LENGTH };
    let mut response = Redirect::to(&to).into_response();
    set(&mut response, &session.seal(&service), LENGTH, is_tls(&headers));
    Ok(response)
}

/// Signs out.
pub(super) async fn leave(headers: HeaderMap) -> Response {
    let mut response = Redirect::to("/sign-in").into_response();
    set(&mut response, "", 0, is_tls(&headers));
    response
}

fn set(response: &mut Response, value: &str, seconds: i64, tls: bool) {
    let secure = if tls { "; Secure" } else { "" };
    let text = format!("{COOKIE}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}");
    if let Ok(text) = HeaderValue::from_str(&text) {
        response.headers_mut().insert(header::SET_COOKIE, text);
    }
}

/// Whether the proxy in front speaks TLS.
fn is_tls(headers: &HeaderMap) -> bool {
    let says = |name: &str, what: &str| {
        headers.get(name).and_then(|own| own.to_str().ok()).is_some_and(|own| own.to_ascii_lowercase().contains(what))
    };
    says("x-forwarded-proto", "https") || says("forwarded", "proto=https") || says("origin", "https://")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_signing_in_one_stays_here() {
        let to = |to: &str| {
            let mut query = form_urlencoded::Serializer::new(String::new());
            query.append_pair("to", to);
            target(&Params::of(&query.finish()))
        };
        assert_eq!(to("/catalogs/lunch?pick=soup"), "/catalogs/lunch?pick=soup");
        for elsewhere in ["//evil.example", "https://evil.example", "/\\evil.example", "", "evil", "/a\r\nb"] {
            assert_eq!(to(elsewhere), "/", "{elsewhere}");
        }
    }

    #[test]
    fn a_cookie_is_found_among_others() {
        let mut headers = HeaderMap::new();
        headers.insert(header::COOKIE, HeaderValue::from_static("a=b; unloop_session=xyz; unloop_sessions=no"));
        assert_eq!(cookie(&headers), Some("xyz"));
        headers.insert(header::COOKIE, HeaderValue::from_static("unloop_sessionx=1"));
        assert_eq!(cookie(&headers), None);
    }

    #[test]
    fn tls_is_told_by_the_proxy_or_the_page() {
        let with = |name: &'static str, value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, HeaderValue::from_static(value));
            is_tls(&headers)
        };
        assert!(with("x-forwarded-proto", "https") && with("forwarded", "for=1;proto=HTTPS") && with("origin", "https://a"));
        assert!(!with("x-forwarded-proto", "http") && !with("origin", "http://a"));
    }
}
