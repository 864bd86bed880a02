//! Options of a catalog: list, add, change, retire.

use std::collections::HashMap;

use axum::Json as Reply;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use unloop_store::{CatalogOption, Change, Changed, OptionChange};
use utoipa::ToSchema;

use super::catalogs::{MOST_OPTIONS, expected};
use super::{Paging, Rows, limit_of, number_of};
use crate::access::{Access, Scope};
use crate::body::{Bulk, Json, Many, Path, Query, object, parse_row};
use crate::catalog::check_prior;
use crate::problem::{Kind, Problem, Sent};
use crate::service::Shared;

/// An option.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct OptionSent {
    /// Its name.
    option: String,
    /// What people see.
    label: Option<String>,
    /// Its prior weight; null for the catalog's.
    prior: Option<f64>,
    /// Whether it may be presented; else it is retired.
    active: bool,
}

impl From<&CatalogOption> for OptionSent {
    fn from(own: &CatalogOption) -> Self {
        Self { option: own.name.clone(), label: own.label.clone(), prior: own.weight, active: own.active }
    }
}

/// An option that is to be: its name alone, or more.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(untagged, expecting = "an option is its name, or an object with `option` and perhaps `label`, `prior`, `active`")]
pub(crate) enum OptionGiven {
    /// Its name.
    Name(String),
    /// Its name, and what belongs to it.
    Whole(#[serde(deserialize_with = "object")] OptionRow),
}

/// An option that is to be.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OptionRow {
    /// Its name.
    #[schema(min_length = 1, max_length = 128)]
    option: String,
    /// What people see.
    label: Option<String>,
    /// Its prior weight; the catalog's if none.
    #[schema(minimum = 1e-12, maximum = 1e6)]
    prior: Option<f64>,
    /// Whether it may be presented; so it is by default.
    active: Option<bool>,
}

impl OptionGiven {
    fn name(&self) -> &str {
        let (Self::Name(name) | Self::Whole(OptionRow { option: name, .. })) = self;
        name
    }

    /// What it is to be; what is not given stays as it was.
    pub(crate) fn change(self, before: Option<&CatalogOption>) -> OptionChange {
        let row = match self {
            Self::Name(option) => OptionRow { option, label: None, prior: None, active: None },
            Self::Whole(row) => row,
        };
        OptionChange {
            label: row.label.or_else(|| before.and_then(|own| own.label.clone())),
            weight: row.prior.or_else(|| before.and_then(|own| own.weight)),
            active: row.active.unwrap_or_else(|| before.is_none_or(|own| own.active)),
            name: row.option,
        }
    }
}

/// Refuses what cannot be, before anything is done.
pub(crate) fn check_option(change: &OptionChange) -> Result<(), Problem> {
    change.weight.map_or(Ok(()), check_prior)?;
    Ok(change.check()?)
}

/// Lists options in the order they came in, retired ones too.
#[utoipa::path(get, path = "/v1/catalogs/{catalog}/options", tag = "options", params(("catalog" = String, Path), Paging), responses(
    (status = 200, body = Rows<OptionSent>),
    (status = "default", body = Sent<'static>, content_type = "application/problem+json"),
))]
pub(crate) async fn list(
    State(service): State<Shared>,
    access: Access,
    Path(name): Path<String>,
    Query(paging): Query<Paging>,
) -> Result<Reply<Rows<OptionSent>>, Problem> {
    let known = access.catalog(&service, Scope::Read, &name)?;
    let (limit, start) = (limit_of(paging.limit)?, number_of(paging.cursor.as_deref())?);
    let rows: Vec<OptionSent> = known.options.iter().skip(start).take(limit).map(OptionSent::from).collect();
    let end = start.saturating_add(rows.len());
    let next = (end < known.options.len()).then(|| end.to_string());
    Ok(Reply(Rows { rows, next }))
}

/// What an option is to be.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OptionPut {
    /// What people see.
    label: Option<String>,
    /// Its prior weight; the catalog's if none.
    #[schema(minimum = 1e-12, maximum = 1e6)]
    prior: Option<f64>,
}

/// Adds an option, changes or revives it.
#[utoipa::path(put, path = "/v1/catalogs/{catalog}/options/{option}", tag = "options", params(("catalog" = String, Path), ("option" = String, Path)), request_body = OptionPut, responses(
    (status = 200, body = OptionSent, description = "it was there"),
    (status = 201, body = OptionSent, description = "it is new"),
    (status = "default", body = Sent<'static>, content_type = "application/problem+json"),
))]
pub(crate) async fn put(
    State(service): State<Shared>,
    access: Access,
    Path((name, option)): Path<(String, String)>,
    headers: HeaderMap,
    Json(given): Json<OptionPut>,
) -> Result<Response, Problem> {
    let known = access.catalog(&service, Scope::Admin, &name)?;
    let expected = expected(&headers, Some(&known))?;
    let change = OptionChange { name: option.clone(), label: given.label, weight: given.prior, active: true };
    check_option(&change)?;
    let was_there = known.option(&option).is_some();
    changed(&service.change(Change::Options { catalog: known.id, options: vec![change], expected }).await?)?;
    let known = service.known(known.id)?;
    let own = known.option(&option).ok_or_else(|| Problem::new(Kind::NoOption, "it was removed meanwhile"))?;
    let status = if was_there { StatusCode::OK } else { StatusCode::CREATED };
    Ok((status, Reply(OptionSent::from(own))).into_response())
}

/// Retires an option: it is not presented any more, its history stays. `PUT` revives it.
#[utoipa::path(delete, path = "/v1/catalogs/{catalog}/options/{option}", tag = "options", params(("catalog" = String, Path), ("option" = String, Path)), responses(
    (status = 200, body = OptionSent),
    (status = "default", body = Sent<'static>, content_type = "application/problem+json"),
))]
pub(crate) async fn delete(
    State(service): State<Shared>,
    access: Access,
    Path((name, option)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<Reply<OptionSent>, Problem> {
    let known = access.catalog(&service, Scope::Admin, &name)?;
    let expected = expected(&headers, Some(&known))?;
    let own = known.option(&option).ok_or_else(|| Problem::new(Kind::NoOption, format!("there is no option {option:?}")))?;
    let mut sent = OptionSent::from(own);
    sent.active = false;
    let change = OptionChange { name: option, label: own.label.clone(), weight: own.weight, active: false };
    changed(&service.change(Change::Options { catalog: known.id, options: vec![change], expected }).await?)?;
    Ok(Reply(sent))
}

fn changed(changed: &Changed) -> Result<(), Problem> {
    match changed {
        Changed::Done { .. } => Ok(()),
        Changed::Stale { revision } => {
            Err(Problem::new(Kind::Stale, "read it again, and decide again").with("revision", *revision))
        }
        _ => Err(Problem::new(Kind::NoCatalog, "it was removed meanwhile")),
    }
}

/// Options to be added or changed.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OptionsGiven {
    /// Each is done by itself: a bad one keeps none of the others back.
    #[schema(value_type = Vec<OptionGiven>, max_items = 10_000)]
    options: Many<MOST_OPTIONS>,
}

/// What became of an option.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct OptionChanged {
    /// Its name, as far as it could be read.
    option: Option<String>,
    /// `added`, `changed` or `refused`.
    status: &'static str,
    /// Why it was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Sent<'static>>)]
    problem: Option<Value>,
}

/// Adds and changes many options; what is not given of one that is there stays.
#[utoipa::path(patch, path = "/v1/catalogs/{catalog}/options", tag = "options", params(("catalog" = String, Path)), request_body = OptionsGiven, responses(
    (status = 200, body = Rows<OptionChanged>),
    (status = "default", body = Sent<'static>, content_type = "application/problem+json"),
))]
pub(crate) async fn patch(
    State(service): State<Shared>,
    access: Access,
    Path(name): Path<String>,
    headers: HeaderMap,
    Bulk(given): Bulk<OptionsGiven>,
) -> Result<Reply<Rows<OptionChanged>>, Problem> {
    let known = access.catalog(&service, Scope::Admin, &name)?;
    let expected = expected(&headers, Some(&known))?;
    let Many(given) = given.options;
    let mut rows = Vec::with_capacity(given.len());
    let mut changes: HashMap<String, OptionChange> = HashMap::new();
    let mut order: Vec<String> = Vec::new();
    for row in given {
        let read = parse_row::<OptionGiven>(&row);
        let told = read.as_ref().map_or_else(|_| named(&row), |own| Some(own.name().to_owned()));
        let read = read.and_then(|own| {
            let name = own.name().to_owned();
            // What an earlier row of the same request says of it counts.
            let earlier = changes.get(&name).map(|own| CatalogOption {
                index: 0,
                name: own.name.clone(),
                label: own.label.clone(),
                weight: own.weight,
                active: own.active,
            });
            let change = own.change(earlier.as_ref().or_else(|| known.option(&name)));
            check_option(&change).map(|()| change)
        });
        rows.push(match read {
            Ok(change) => {
                let was_there = known.option(&change.name).is_some() || changes.contains_key(&change.name);
                let option = Some(change.name.clone());
                if changes.insert(change.name.clone(), change).is_none() {
                    order.extend(option.clone());
                }
                OptionChanged { option, status: if was_there { "changed" } else { "added" }, problem: None }
            }
            Err(problem) => OptionChanged {
                option: told.filter(|name| !name.is_empty()),
                status: "refused",
                problem: Some(problem.to_json()),
            },
        });
    }
    let options: Vec<OptionChange> = order.iter().filter_map(|name| changes.remove(name)).collect();
    if !options.is_empty() {
        changed(&service.change(Change::Options { catalog: known.id, options, expected }).await?)?;
    }
    Ok(Reply(Rows { rows, next: None }))
}

/// What a row calls its option, though something else in it is wrong.
fn named(row: &RawValue) -> Option<String> {
    #[derive(Deserialize)]
    struct Named {
        option: String,
    }
    serde_json::from_str::<Named>(row.get()).ok().map(|own| own.option)
}
