//! A page: its frame, and what is sent with it.

use askama::Template;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};

use super::assets;
use crate::problem::{Kind, Problem};

/// Nothing but what this server sends, and no script or style inside a page.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; \
                      base-uri 'none'; frame-ancestors 'none'";

/// What stands around every page.
pub(super) struct Frame {
    /// Which of the places at the top it belongs to.
    pub(super) place: &'static str,
    /// Whether somebody is signed in, and so can sign out.
    pub(super) signed_in: bool,
    /// Behind the addresses of assets.
    pub(super) version: &'static str,
}

impl Frame {
    pub(super) fn new(place: &'static str, signed_in: bool) -> Self {
        Self { place, signed_in, version: assets::version() }
    }
}

/// A template as an answer.
pub(super) struct Page<T>(pub(super) T);

impl<T: Template> IntoResponse for Page<T> {
    fn into_response(self) -> Response {
        match self.0.render() {
            Ok(text) => with_policy(Html(text).into_response()),
            Err(error) => {
                tracing::error!(%error, "a page could not be made");
                StatusCode::INTERNAL_SERVER_ERROR.into_response()
            }
        }
    }
}

/// With what browsers are to hold a page to.
pub(super) fn with_policy(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    response
}

/// What went wrong, as a page.
#[derive(Template)]
#[template(path = "problem.html")]
struct ProblemPage {
    frame: Frame,
    title: String,
    detail: String,
}

/// A problem that is told as a page.
pub(super) struct Oops(Problem);

impl From<Problem> for Oops {
    fn from(problem: Problem) -> Self {
        Self(problem)
    }
}

impl From<unloop_store::StoreError> for Oops {
    fn from(error: unloop_store::StoreError) -> Self {
        Self(error.into())
    }
}

impl IntoResponse for Oops {
    fn into_response(self) -> Response {
        let told = self.0.to_json();
        let text = |field: &str| told.get(field).and_then(|own| own.as_str()).unwrap_or_default().to_owned();
        let status = self.0.into_response().status();
        let page = ProblemPage { frame: Frame::new("", false), title: text("title"), detail: text("detail") };
        (status, Page(page)).into_response()
    }
}

/// Whether a part of a page was asked for by its script, not a page by a person.
pub(super) fn is_part(headers: &HeaderMap) -> bool {
    headers.contains_key("hx-request")
}

/// Something that is not there.
pub(super) fn missing(what: &str) -> Oops {
    Problem::new(Kind::NoSuchPath, what).into()
}
