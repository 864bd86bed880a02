//! Choices as they stand in the log, page by page of it, as JSON Lines or CSV.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde::Deserialize;
use serde_json::Value;
use unloop_data::{Named, WriteFormat, Writer};
use unloop_store::{CatalogId, Event, Kind as EventKind, Outcome, Selection};
use utoipa::{IntoParams, ToSchema};

use super::context_of;
use super::presentations::told;
use crate::access::{Access, Scope};
use crate::beside::compute;
use crate::body::{Path, Query};
use crate::problem::{Problem, Sent};
use crate::service::{Service, Shared};
use crate::standing::internal;

/// Events read at a time, and of one answer unless it is asked for fewer.
const PAGE: usize = 500;
const MOST_EVENTS: usize = 100_000;
const COLUMNS: [&str; 6] = ["seq", "kind", "id", "context", "time", "declinable"];

/// A form to export in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Form {
    /// JSON Lines.
    #[default]
    Jsonl,
    /// CSV.
    Csv,
}

/// Which events.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ExportAsked {
    /// Those above this position: the `seq` of the last one that was read. 0 by default.
    #[param(format = "uint64")]
    after: Option<u64>,
    /// Rows at most; 100 000 by default.
    #[param(minimum = 1, maximum = 100_000)]
    limit: Option<usize>,
    /// Only those of this context.
    #[param(min_length = 1, max_length = 128)]
    context: Option<String>,
    /// JSON Lines, unless `Accept: text/csv` or this says otherwise.
    #[param(inline)]
    format: Option<Form>,
}

/// Exports choices in the order of the log. Withdrawals are rows of their own, with the id of what they take back; what was erased is left out. Ask
/// again with `after` set to the last `seq` until nothing more comes.
#[utoipa::path(get, path = "/v1/catalogs/{catalog}/choices", tag = "choices", params(("catalog" = String, Path), ExportAsked), responses(
    (status = 200, content((String = "application/jsonl"), (String = "text/csv"))),
    (status = "default", body = Sent<'static>, content_type = "application/problem+json"),
))]
pub(crate) async fn export(
    State(service): State<Shared>,
    access: Access,
    Path(name): Path<String>,
    Query(asked): Query<ExportAsked>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let known = access.catalog(&service, Scope::Read, &name)?;
    send(service, known.id, asked, &headers, MOST_EVENTS).await
}

impl ExportAsked {
    /// All choices, of a context if given, as CSV.
    pub(crate) fn csv(context: Option<String>) -> Self {
        Self { after: None, limit: None, context, format: Some(Form::Csv) }
    }
}

/// Sends choices page by page, at most so many.
pub(crate) async fn send(
    service: Shared,
    catalog: CatalogId,
    asked: ExportAsked,
    headers: &HeaderMap,
    most: usize,
) -> Result<Response, Problem> {
    let limit = asked.limit.unwrap_or(most);
    if !(1..=most).contains(&limit) {
        return Err(Problem::invalid("limit", format!("it is 1 to {MOST_EVENTS}")));
    }
    let accepts_csv =
        headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).is_some_and(|text| text.contains("text/csv"));
    let form = asked.format.unwrap_or(if accepts_csv { Form::Csv } else { Form::Jsonl });
    let (format, media) = match form {
        Form::Jsonl => (WriteFormat::JsonLines, "application/jsonl"),
        Form::Csv => (WriteFormat::Csv, "text/csv; charset=utf-8"),
    };
    let mut pages = Pages {
        service,
        catalog,
        context: context_of(asked.context)?,
        after: asked.after.unwrap_or(0),
        left: limit,
        format,
        is_first: true,
        done: false,
    };
    // The first page is made before the answer begins: what cannot be read is told as a problem.
    let first = pages.next().await?;
    let rest = stream::unfold(pages, |mut pages| async move {
        if pages.done {
            return None;
        }
        let page = pages.next().await.map_err(|_| std::io::Error::other("the log could not be read"));
        pages.done |= page.is_err();
        Some((page, pages))
    });
    let all = futures_util::StreamExt::chain(stream::once(async move { Ok::<Bytes, std::io::Error>(first) }), rest);
    let mut response = Body::from_stream(all).into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
    Ok(response)
}

/// Where an export is.
struct Pages {
    service: Arc<Service>,
    catalog: CatalogId,
    context: Option<String>,
    after: u64,
    left: usize,
    format: WriteFormat,
    is_first: bool,
    done: bool,
}

impl Pages {
    async fn next(&mut self) -> Result<Bytes, Problem> {
        let limit = self.left.min(PAGE);
        let mut events = Vec::new();
        // What was erased is no row: an answer without rows is the end.
        while events.len() < limit && !self.done {
            let selection = Selection { after: self.after, catalog: Some(self.catalog), context: self.context.clone(), limit };
            let read = self.service.store.read(selection).await?;
            self.done = read.len() < limit;
            self.after = read.last().map_or(self.after, |event| event.seq);
            let room = limit - events.len();
            let rows: Vec<Event> = read.into_iter().filter(|event| event.body.is_some()).collect();
            if rows.len() > room {
                self.done = false;
            }
            events.extend(rows.into_iter().take(room));
            self.after =
                if events.len() == limit { events.last().map_or(self.after, |event: &Event| event.seq) } else { self.after };
        }
        self.left -= events.len();
        self.done |= self.left == 0;
        let (format, is_first) = (self.format, std::mem::take(&mut self.is_first));
        let text = compute(move || write(&events, format, is_first)).await?;
        text.map(Into::into).map_err(|error| internal(&error))
    }
}

fn write(events: &[Event], format: WriteFormat, header: bool) -> std::io::Result<Vec<u8>> {
    let mut text = Vec::new();
    let mut writer = Writer::with_columns(&mut text, format, &COLUMNS)?;
    for event in events {
        write_event(&mut writer, event)?;
    }
    writer.finish()?;
    // Every page is written by itself: the names of columns stand before the first alone.
    if format == WriteFormat::Csv && !header {
        let end = text.iter().position(|&byte| byte == b'\n').map_or(text.len(), |end| end + 1);
        text.drain(..end);
    }
    Ok(text)
}

fn texts(names: &[String]) -> Vec<&str> {
    names.iter().map(String::as_str).collect()
}

fn write_event(writer: &mut Writer<&mut Vec<u8>>, event: &Event) -> std::io::Result<()> {
    let Some(body) = &event.body else { return Ok(()) };
    let (chosen, tied): (&[String], &[String]) = match &body.outcome {
        Outcome::Chosen(own) => (own, &[]),
        Outcome::Tied(own) => (&[], own),
        Outcome::None => (&[], &[]),
    };
    let declinable = if body.declinable { true.into() } else { Value::Null };
    // What an import calls it, not the hash it is kept under; of a withdrawal, what it takes back.
    let kept =
        if event.kind == EventKind::Withdrawal { event.id.split_once(':').map_or(&*event.id, |(_, id)| id) } else { &event.id };
    let id = body.source.as_deref().unwrap_or(kept);
    // What takes something back is no choice: whoever adds up the rows must not count it.
    let count = if event.kind == EventKind::Withdrawal { 0.0 } else { body.weight };
    let named = Named { presented: &texts(&body.presented), chosen: &texts(chosen), tied: &texts(tied), count };
    let also = [
        event.seq.into(),
        event.kind.name().into(),
        id.into(),
        event.context.as_deref().into(),
        told(event.time).into(),
        declinable,
    ];
    writer.write_named(named, &also)
}
