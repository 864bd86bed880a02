//! Streams: a leaderboard that moves as choices come in, at most once a second.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use askama::Template;
use axum::extract::{Path, State};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream::unfold;

use super::board::{Board, BoardPart, View};
use super::page::Oops;
use super::params::Params;
use super::session::Visitor;
use crate::access::Scope;
use crate::problem::{Kind, Problem};
use crate::service::{Service, Shared};

/// Between two looks.
const SECOND: Duration = Duration::from_secs(1);
/// A ranking that takes long is asked for less often: of all the time, this part goes into it at most.
const PART: u32 = 3;
/// A stream ends after so many looks; the browser begins another one.
const MOST_LOOKS: u32 = 600;

/// A stream: what is looked at, and what was sent last.
struct Stream {
    service: Shared,
    visitor: Visitor,
    catalog: String,
    id: unloop_store::CatalogId,
    view: View,
    sent: Option<i64>,
    looks: u32,
    pause: Duration,
    _place: tokio::sync::OwnedSemaphorePermit,
}

/// Streams the leaderboard of a catalog.
pub(super) async fn stream(
    State(service): State<Shared>,
    visitor: Visitor,
    Path(name): Path<String>,
    params: Params,
) -> Result<Response, Oops> {
    let known = visitor.access.catalog(&service, Scope::Admin, &name)?;
    let place = Arc::clone(&service.dashboard.streams).try_acquire_owned();
    let place = place.map_err(|_| Oops::from(Problem::new(Kind::Busy, "too many pages are open: reload this one by hand")))?;
    let stream = Stream {
        visitor,
        catalog: name,
        id: known.id,
        view: View::of(&params),
        sent: None,
        looks: 0,
        pause: Duration::ZERO,
        service,
        _place: place,
    };
    Ok(Sse::new(unfold(stream, next)).keep_alive(KeepAlive::default()).into_response())
}

/// Waits for the next change; the end where the server ends, the catalog is gone, or it has been open for long.
async fn next(mut stream: Stream) -> Option<(Result<Event, Infallible>, Stream)> {
    loop {
        if stream.looks == MOST_LOOKS || !wait(&stream.service, stream.pause).await {
            return None;
        }
        stream.looks += 1;
        if !stream.visitor.may_stay(&stream.service) {
            return None;
        }
        stream.pause = SECOND;
        let known = stream.service.registry.get().named(&stream.catalog).filter(|known| known.id == stream.id).cloned()?;
        let Ok(Some((ranked, seq))) = super::catalog::ranking(&stream.service, &known, None).await else { continue };
        stream.pause = SECOND.max(PART * ranked.took);
        if stream.sent.replace(ranked.computed) == Some(ranked.computed) {
            continue;
        }
        let board = Board::new(&known, &stream.view, Some((&ranked, seq)), None);
        let Ok(text) = (BoardPart { board }).render() else { continue };
        return Some((Ok(Event::default().event("part").data(text)), stream));
    }
}

/// Waits a while; false if the server is about to end.
async fn wait(service: &Service, pause: Duration) -> bool {
    let end = tokio::time::Instant::now() + pause;
    loop {
        if service.health.is_draining() {
            return false;
        }
        let left = end.saturating_duration_since(tokio::time::Instant::now());
        if left.is_zero() {
            return true;
        }
        tokio::time::sleep(left.min(SECOND / 4)).await;
    }
}
