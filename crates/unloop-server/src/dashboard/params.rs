//! Fields of forms and queries: in order, and as often as they are given.

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;

use super::page::Oops;
use crate::problem::{Kind, Problem};

/// Fields at most.
const MOST: usize = 2_000;

/// What a query or a form says.
#[derive(Clone, Debug, Default)]
pub(super) struct Params(Vec<(String, String)>);

impl Params {
    fn parse(bytes: &[u8]) -> Self {
        Self(form_urlencoded::parse(bytes).take(MOST).map(|(name, value)| (name.into_owned(), value.into_owned())).collect())
    }

    #[cfg(test)]
    pub(super) fn of(text: &str) -> Self {
        Self::parse(text.as_bytes())
    }

    /// The first of a name; empty if there is none.
    pub(super) fn get(&self, name: &str) -> &str {
        self.0.iter().find(|(own, _)| own == name).map_or("", |(_, value)| value)
    }

    /// All of a name.
    pub(super) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(own, _)| own == name).map(|(_, value)| value.as_str())
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Params {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        Ok(Self::parse(parts.uri.query().unwrap_or_default().as_bytes()))
    }
}

/// What a form says.
pub(super) struct Form(pub(super) Params);

impl<S: Send + Sync> FromRequest<S> for Form {
    type Rejection = Oops;

    async fn from_request(request: Request, state: &S) -> Result<Self, Oops> {
        let kind = request.headers().get(axum::http::header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        if !kind.is_some_and(|kind| kind.starts_with("application/x-www-form-urlencoded")) {
            return Err(Problem::new(Kind::MediaType, "the dashboard takes what its forms send").into());
        }
        let bytes = Bytes::from_request(request, state).await;
        let bytes = bytes.map_err(|_| Oops::from(Problem::new(Kind::TooLarge, "at most 2 MB")))?;
        Ok(Self(Params::parse(&bytes)))
    }
}
