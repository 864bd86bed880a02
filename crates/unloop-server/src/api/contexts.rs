//! Contexts: who has chosen, and forgetting somebody.

use axum::Json as Reply;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use unloop_store::Page;
use utoipa::{IntoParams, ToSchema};

use super::catalogs::ErasedSent;
use super::{Rows, context_of, limit_of};
use crate::access::{Access, Scope};
use crate::body::{Path, Query};
use crate::problem::{Kind, Problem, Sent};
use crate::service::Shared;

/// Which contexts.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ContextsAsked {
    /// Those that begin with this.
    prefix: Option<String>,
    /// Rows at most.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
    /// What `next` of the page before said.
    cursor: Option<String>,
}

/// A context.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ContextSent {
    /// Its name.
    context: String,
}

/// Lists contexts that have choices, by name.
#[utoipa::path(get, path = "/v1/catalogs/{catalog}/contexts", tag = "contexts", params(("catalog" = String, Path), ContextsAsked), responses(
    (status = 200, body = Rows<ContextSent>),
    (status = "default", body = Sent<'static>, content_type = "application/problem+json"),
))]
pub(crate) async fn list(
    State(service): State<Shared>,
    access: Access,
    Path(name): Path<String>,
    Query(asked): Query<ContextsAsked>,
) -> Result<Reply<Rows<ContextSent>>, Problem> {
    let known = access.catalog(&service, Scope::Read, &name)?;
    let limit = limit_of(asked.limit)?;
    let page = Page { prefix: asked.prefix.unwrap_or_default(), after: asked.cursor, limit: limit + 1 };
    let mut found = service.store.contexts(known.id, page).await?;
    let next = (found.len() > limit).then(|| {
        found.truncate(limit);
        found.last().cloned().unwrap_or_default()
    });
    Ok(Reply(Rows { rows: found.into_iter().map(|context| ContextSent { context }).collect(), next }))
}

/// Erases a context: its choices, its name, everything that was computed from it. It cannot be undone.
#[utoipa::path(delete, path = "/v1/catalogs/{catalog}/contexts/{context}", tag = "contexts", params(("catalog" = String, Path), ("context" = String, Path)), responses(
    (status = 200, body = ErasedSent),
    (status = "default", body = Sent<'static>, content_type = "application/problem+json"),
))]
pub(crate) async fn erase(
    State(service): State<Shared>,
    access: Access,
    Path((name, context)): Path<(String, String)>,
) -> Result<Reply<ErasedSent>, Problem> {
    let known = access.catalog(&service, Scope::Admin, &name)?;
    let context = context_of(Some(context))?;
    let context = context.ok_or_else(|| Problem::invalid("context", "`all` is everybody: remove the catalog instead"))?;
    let erased = service.erase(known.id, Some(context)).await?;
    if erased.seq.is_none() {
        return Err(Problem::new(Kind::NoContext, "nothing is recorded of this context"));
    }
    Ok(Reply(erased))
}
