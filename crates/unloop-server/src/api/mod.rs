//! The calls. Handlers translate and delegate.
#![allow(unused_qualifications, reason = "what `utoipa::path` makes of parameters")]

pub(crate) mod catalogs;
pub(crate) mod choice;
pub(crate) mod choices;
pub(crate) mod contexts;
pub(crate) mod export;
pub(crate) mod health;
pub(crate) mod options;
pub(crate) mod presentations;
pub(crate) mod ranking;

use serde::{Deserialize, Serialize};
use unloop_store::ALL;
use utoipa::{IntoParams, ToSchema};

use crate::problem::Problem;

/// Rows of a page, unless it is asked for fewer or more; and at most.
const PAGE: usize = 100;
const MOST_ROWS: usize = 1_000;

/// Which rows of a list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Paging {
    /// Rows at most.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
    /// What `next` of the page before said.
    cursor: Option<String>,
}

/// Rows of a list.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Rows<T> {
    /// The rows.
    rows: Vec<T>,
    /// The `cursor` of the next page; null where there is none.
    next: Option<String>,
}

/// How many rows.
fn limit_of(limit: Option<usize>) -> Result<usize, Problem> {
    match limit {
        None => Ok(PAGE),
        Some(limit) if (1..=MOST_ROWS).contains(&limit) => Ok(limit),
        Some(_) => Err(Problem::invalid("limit", format!("a page has 1 to {MOST_ROWS} rows"))),
    }
}

/// A cursor that is a number.
fn number_of(cursor: Option<&str>) -> Result<usize, Problem> {
    let refuse = |_| Problem::invalid("cursor", "a cursor is what `next` of the page before said");
    cursor.map_or(Ok(0), |cursor| cursor.parse().map_err(refuse))
}

/// A context by its name: `all` is the same as none.
fn context_of(context: Option<String>) -> Result<Option<String>, Problem> {
    let Some(context) = context.filter(|context| context != ALL) else { return Ok(None) };
    unloop_store::check_context(&context)?;
    Ok(Some(context))
}
