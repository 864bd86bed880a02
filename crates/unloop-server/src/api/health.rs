//! Whether it lives, whether it can do its work, and figures.

use axum::Json as Reply;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use serde::Serialize;
use utoipa::ToSchema;

use crate::access::{Access, Scope};
use crate::problem::{Problem, Sent};
use crate::service::Shared;

/// It is well.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Well {
    /// `ok`.
    status: &'static str,
}

/// Whether the process lives.
#[utoipa::path(get, path = "/healthz", tag = "health", security(()), responses((status = 200, body = Well)))]
pub(crate) async fn live() -> Reply<Well> {
    Reply(Well { status: "ok" })
}

/// Whether choices can be recorded.
#[utoipa::path(get, path = "/readyz", tag = "health", security(()), responses(
    (status = 200, body = Well),
    (status = "default", body = Sent<'static>, content_type = "application/problem+json"),
))]
pub(crate) async fn ready(State(service): State<Shared>) -> Result<Reply<Well>, Problem> {
    match service.health.problem() {
        None => Ok(Reply(Well { status: "ok" })),
        Some(problem) => Err(problem),
    }
}

/// Figures for Prometheus.
#[utoipa::path(get, path = "/metrics", tag = "health", responses(
    (status = 200, body = String, content_type = "application/openmetrics-text"),
    (status = "default", body = Sent<'static>, content_type = "application/problem+json"),
))]
pub(crate) async fn metrics(State(service): State<Shared>, access: Access) -> Result<impl IntoResponse, Problem> {
    access.need(Scope::Read, access.only())?;
    let text = service.metrics.text(service.contexts.used(), service.position(), service.health.problem().is_none());
    Ok(([(header::CONTENT_TYPE, "application/openmetrics-text; version=1.0.0; charset=utf-8")], text))
}
