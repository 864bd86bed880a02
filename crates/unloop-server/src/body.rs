//! Bodies, queries and paths of requests, with what is wrong with them told in one way.

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use futures_util::StreamExt;
use serde::de::{DeserializeOwned, Error as _, IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::context::aside;
use crate::problem::{Kind, Problem};

/// Bytes of a body at most, and of one with many rows.
pub const LARGEST: usize = 1 << 20;
/// See [`LARGEST`].
pub const LARGEST_BULK: usize = 8 << 20;
/// Bytes that are read as JSON without leaving the async thread.
const QUICKLY_READ: usize = 1 << 16;
/// Bytes of a refused body that are read and dropped.
const MOST_DISCARDED: usize = 16 << 20;

/// A body of JSON.
pub(crate) struct Json<T>(pub(crate) T);
/// A body of JSON with many rows.
pub(crate) struct Bulk<T>(pub(crate) T);
/// What the query says.
pub(crate) struct Query<T>(pub(crate) T);
/// What the path says.
pub(crate) struct Path<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        parse(&body(request, LARGEST).await?).map(Self)
    }
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Bulk<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let bytes = body(request, LARGEST_BULK).await?;
        aside(bytes.len() > QUICKLY_READ, || parse(&bytes)).map(Self)
    }
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        match axum::extract::Query::<T>::from_request_parts(parts, state).await {
            Ok(axum::extract::Query(query)) => Ok(Self(query)),
            Err(rejection) => Err(Problem::invalid("query", inner(&rejection))),
        }
    }
}

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Path<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        match axum::extract::Path::<T>::from_request_parts(parts, state).await {
            Ok(axum::extract::Path(path)) => Ok(Self(path)),
            Err(rejection) => Err(Problem::new(Kind::NoSuchPath, inner(&rejection))),
        }
    }
}

/// What is at the bottom of a rejection.
fn inner(error: &dyn std::error::Error) -> String {
    error.source().map_or_else(|| error.to_string(), inner)
}

/// The body of a request that says it is JSON.
async fn body(request: Request, largest: usize) -> Result<Bytes, Problem> {
    if !is_json(request.headers()) {
        let problem = Problem::new(Kind::MediaType, "send it with `Content-Type: application/json`");
        return Err(refused(problem, request.into_body()).await);
    }
    let mut bytes = Vec::new();
    let mut stream = request.into_body().into_data_stream();
    while let Some(part) = stream.next().await {
        let part = part.map_err(|_| Problem::new(Kind::NotJson, "the body broke off").closing(true))?;
        if bytes.len() + part.len() > largest {
            let problem = Problem::new(Kind::TooLarge, format!("at most {largest} bytes"));
            return Err(refused(problem, Body::from_stream(stream)).await);
        }
        bytes.extend_from_slice(&part);
    }
    Ok(bytes.into())
}

/// A problem after the rest of the body was read, as far as it is not much: most clients send all of it before they read anything, and use the
/// connection again.
pub(crate) async fn refused(problem: Problem, body: Body) -> Problem {
    let mut stream = body.into_data_stream();
    let mut left = MOST_DISCARDED;
    while let Some(part) = stream.next().await {
        match part {
            Ok(part) if part.len() <= left => left -= part.len(),
            _ => return problem.closing(true),
        }
    }
    problem
}

fn is_json(headers: &HeaderMap) -> bool {
    let Some(text) = headers.get(header::CONTENT_TYPE).and_then(|text| text.to_str().ok()) else { return false };
    let essence = text.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/json")
}

/// JSON as a type. What is no JSON is told from JSON that says something else.
pub(crate) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    if bytes.trim_ascii_start().starts_with(b"[") {
        // Serde would take the values of its fields in order: a form that nobody described.
        serde_json::from_slice::<IgnoredAny>(bytes).map_err(|error| Problem::new(Kind::NotJson, told(&error)))?;
        return Err(Problem::invalid(".", "it is an object, not an array"));
    }
    // Nearly all are right: only what is wrong is read again, to tell where.
    if let Ok(parsed) = serde_json::from_slice(bytes) {
        return Ok(parsed);
    }
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let parsed = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let field = error.path().to_string();
        let inner = error.into_inner();
        if inner.is_data() { Problem::invalid(field, told(&inner)) } else { Problem::new(Kind::NotJson, told(&inner)) }
    })?;
    deserializer.end().map_err(|error| Problem::new(Kind::NotJson, told(&error)))?;
    Ok(parsed)
}

/// Rows of a request as they were sent, at most so many: what is more is refused before it takes memory, and each is read by itself.
#[derive(Debug)]
pub(crate) struct Many<const MOST: usize>(pub(crate) Vec<Box<RawValue>>);

impl<'de, const MOST: usize> Deserialize<'de> for Many<MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Rows<const MOST: usize>;

        impl<'de, const MOST: usize> Visitor<'de> for Rows<MOST> {
            type Value = Vec<Box<RawValue>>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an array")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut rows: A) -> Result<Self::Value, A::Error> {
                let mut kept = Vec::new();
                while let Some(row) = rows.next_element()? {
                    if kept.len() == MOST {
                        return Err(A::Error::custom(format_args!("at most {MOST} in one request")));
                    }
                    kept.push(row);
                }
                Ok(kept)
            }
        }

        deserializer.deserialize_seq(Rows::<MOST>).map(Self)
    }
}

/// One row as a type.
pub(crate) fn parse_row<T: DeserializeOwned>(row: &RawValue) -> Result<T, Problem> {
    parse(row.get().as_bytes())
}

/// An object as a type, for what stands inside of something else: see [`parse`] on arrays.
pub(crate) fn object<'de, D: Deserializer<'de>, T: DeserializeOwned>(deserializer: D) -> Result<T, D::Error> {
    let fields = serde_json::Map::deserialize(deserializer)?;
    T::deserialize(serde_json::Value::Object(fields)).map_err(D::Error::custom)
}

/// An error of JSON. What it quotes is cut: a body may be a megabyte.
fn told(error: &serde_json::Error) -> String {
    const LONGEST: usize = 300;
    let text = error.to_string();
    if text.chars().count() <= LONGEST { text } else { text.chars().take(LONGEST).chain(['…']).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Row {
        #[expect(dead_code, reason = "it is there to be parsed")]
        sizes: Vec<u32>,
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        assert!(parse::<Row>(br#"{"sizes":[1]}"#).is_ok());
        let problem = |text: &str| parse::<Row>(text.as_bytes()).unwrap_err();
        assert_eq!(problem(r#"{"sizes":[1,"x"]}"#).to_json()["field"], "sizes[1]");
        assert_eq!(problem(r#"{"sizes":[1],"more":2}"#).kind(), Kind::Invalid);
        for text in ["", "{", "{} {}", r#"{"sizes":[1]} x"#] {
            assert!(matches!(problem(text).kind(), Kind::NotJson | Kind::Invalid), "{text}");
        }
        assert_eq!(problem("nonsense").kind(), Kind::NotJson);
    }

    #[test]
    fn rows_are_counted_while_they_are_read() {
        #[derive(Debug, Deserialize)]
        struct Around {
            rows: Many<2>,
        }
        assert_eq!(parse::<Around>(br#"{"rows":[{"a": 1}, 2]}"#).unwrap().rows.0[0].get(), r#"{"a": 1}"#);
        let problem = parse::<Around>(br#"{"rows":[1,2,3]}"#).unwrap_err().to_json();
        assert_eq!((problem["field"].as_str(), problem["status"].as_u64()), (Some("rows"), Some(422)), "{problem}");
        assert_eq!(parse::<Around>(br#"{"rows":{}}"#).unwrap_err().kind(), Kind::Invalid);
    }

    /// Serde takes `[[1]]` for `{"sizes":[1]}`. Nobody else does.
    #[test]
    fn an_array_is_no_object() {
        #[derive(Debug, Deserialize)]
        struct Around {
            #[serde(deserialize_with = "object")]
            #[expect(dead_code, reason = "it is there to be parsed")]
            row: Row,
        }
        assert_eq!(parse::<Row>(b" [[1]]").unwrap_err().to_json()["field"], ".");
        assert_eq!(parse::<Row>(b"[[1]").unwrap_err().kind(), Kind::NotJson);
        let row = serde_json::value::to_raw_value(&serde_json::json!([[1]])).unwrap();
        assert_eq!(parse_row::<Row>(&row).unwrap_err().kind(), Kind::Invalid);
        assert!(parse::<Around>(br#"{"row":{"sizes":[1]}}"#).is_ok());
        assert_eq!(parse::<Around>(br#"{"row":[[1]]}"#).unwrap_err().to_json()["field"], "row");
        assert_eq!(parse::<Around>(br#"{"row":{"sizes":["x"]}}"#).unwrap_err().kind(), Kind::Invalid);
    }
}
