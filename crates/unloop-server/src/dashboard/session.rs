//! Who looks: anybody on this machine while there are no keys, else whoever signed in with an admin key.
//!
//! A session is a cookie: the key's id and an end, signed with the secret together with the key's hash. It is worth nothing once the key is revoked or has expired.

use std::sync::Arc;

use askama::Template;
use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use data_encoding::BASE64URL_NOPAD;
use serde::{Deserialize, Serialize};
use unloop_store::Key;

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
    /// What is signed: what the cookie says, and the key's hash, which it does not. Whoever has the secret alone cannot sign in.
    fn signed(content: &[u8], key: &Key) -> Vec<u8> {
        [content, &key.hash].concat()
    }

    fn seal(&self, service: &Service, key: &Key) -> String {
        // Into memory: nothing can fail.
        let mut bytes = postcard::to_extend(self, Vec::new()).unwrap_or_default();
        let signature = service.keyring.get().sign(PURPOSE, &Self::signed(&bytes, key));
        bytes.extend_from_slice(&signature);
        BASE64URL_NOPAD.encode(&bytes)
    }

    /// The key that somebody signed in with, as long as that lasts.
    fn open(text: &str, service: &Service) -> Option<Arc<Key>> {
        if text.len() > LONGEST {
            return None;
        }
        let bytes = BASE64URL_NOPAD.decode(text.as_bytes()).ok()?;
        let (content, signature) = bytes.split_last_chunk::<SIGNATURE>()?;
        let session: Self = postcard::from_bytes(content).ok()?;
        let key = service.registry.get().key_called(&session.key).cloned()?;
        let is_ours = service.keyring.get().verify(PURPOSE, &Self::signed(content, &key), *signature);
        (is_ours && session.ends > now()).then_some(key)
    }
}

/// Somebody who may look at the dashboard.
pub(super) struct Visitor {
    /// What they may do.
    pub(super) access: Access,
    signed_in: bool,
}

impl Visitor {
    /// Whether they still may look, a while later.
    pub(super) fn may_stay(&self, service: &Service) -> bool {
        let all = service.registry.get();
        match &self.access {
            Access::Open => !all.has_keys(),
            Access::Key(key) => matches!(Access::by(all.key_called(&key.id)), Access::Key(_)),
            Access::Denied(_) => false,
        }
    }

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
        Some(key) => (Access::by(Some(&key)), true),
        None => (Access::of(service, headers), false),
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
    set(&mut response, &session.seal(&service, key), LENGTH, is_tls(&headers));
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
pub(super) fn is_tls(headers: &HeaderMap) -> bool {
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
