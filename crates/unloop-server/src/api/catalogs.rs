//! Catalogs: list, read, create or replace, merge, remove.

use std::collections::HashSet;
use std::sync::Arc;

use axum::Json as Reply;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Deserializer, Serialize};
use unloop_store::{CatalogId, Change, Changed, OptionChange, check_catalog_name};
use utoipa::ToSchema;

use super::options::{OptionGiven, check_option};
use super::{Paging, Rows, limit_of};
use crate::access::{Access, Scope};
use crate::body::{Bulk, Json, Path, Query};
use crate::catalog::{CatalogSettings, Known, OrderName, PolicyName};
use crate::now;
use crate::problem::{Kind, Problem, Sent};
use crate::service::{Service, Shared};

/// Options of one request at most.
pub(crate) const MOST_OPTIONS: usize = 10_000;

/// How often a change is merged again that somebody else's came before.
const TRIES: u32 = 8;

/// A catalog.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CatalogSent {
    /// Its name.
    #[schema(example = "lunch")]
    catalog: String,
    /// Options of a presentation, unless a request says otherwise.
    #[schema(minimum = 1, maximum = 100)]
    size: u32,
    /// Prior weight of options that have none of their own.
    prior: f64,
    /// How presentations are formed.
    policy: PolicyName,
    /// How they are ordered.
    order: OrderName,
    /// Whether choosing nothing is an option.
    no_choice: bool,
    /// Seconds in which a presentation may be answered.
    expiry: i64,
    /// Options that are active, and all that there ever were.
    active: usize,
    /// See `active`.
    options: usize,
    /// Raised by every change of it or its options; also the `ETag`.
    revision: u64,
}

impl CatalogSent {
    fn new(known: &Known) -> Self {
        let CatalogSettings { size, prior, policy, order, no_choice, expiry } = known.settings;
        Self {
            catalog: known.name.clone(),
            size,
            prior,
            policy,
            order,
            no_choice,
            expiry,
            active: known.options.iter().filter(|own| own.active).count(),
            options: known.options.len(),
            revision: known.revision,
        }
    }

    fn reply(known: &Known, status: StatusCode) -> Response {
        let mut response = (status, Reply(Self::new(known))).into_response();
        if let Ok(tag) = HeaderValue::from_str(&format!("\"{}\"", known.revision)) {
            response.headers_mut().insert(header::ETAG, tag);
        }
        response
    }
}

/// What a catalog is to be. What is not given is as by default.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CatalogGiven {
    /// Options of a presentation, unless a request says otherwise; 5 by default.
    #[schema(minimum = 1, maximum = 100)]
    size: Option<u32>,
    /// Prior weight of options that have none of their own; 1 by default.
    #[schema(minimum = 1e-12, maximum = 1e6)]
    prior: Option<f64>,
    /// How presentations are formed; `thompson` by default.
    policy: Option<PolicyName>,
    /// How they are ordered; `mean` by default.
    order: Option<OrderName>,
    /// Whether choosing nothing is an option; not by default.
    no_choice: Option<bool>,
    /// Seconds in which a presentation may be answered; a day by default.
    #[schema(minimum = 1, maximum = 2_592_000)]
    expiry: Option<i64>,
    /// All options that are to be active: others are retired. Left as they are if this is not given.
    #[schema(max_items = 10_000)]
    options: Option<Vec<OptionGiven>>,
}

/// What is to change of a catalog: what is not given stays, null is the default.
#[expect(clippy::option_option, reason = "what is null is told from what is not there")]
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CatalogMerged {
    /// Options of a presentation.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<u32>, minimum = 1, maximum = 100)]
    size: Option<Option<u32>>,
    /// Prior weight of options that have none of their own.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<f64>, minimum = 1e-12, maximum = 1e6)]
    prior: Option<Option<f64>>,
    /// How presentations are formed.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<PolicyName>)]
    policy: Option<Option<PolicyName>>,
    /// How they are ordered.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<OrderName>)]
    order: Option<Option<OrderName>>,
    /// Whether choosing nothing is an option.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<bool>)]
    no_choice: Option<Option<bool>>,
    /// Seconds in which a presentation may be answered.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<i64>, minimum = 1, maximum = 2_592_000)]
    expiry: Option<Option<i64>>,
}

/// A field that is there, even where it is null.
#[expect(clippy::option_option, reason = "see CatalogMerged")]
fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<Option<T>>, D::Error> {
    Option::<T>::deserialize(deserializer).map(Some)
}

impl CatalogMerged {
    fn into(self, before: &CatalogSettings) -> CatalogSettings {
        #[expect(clippy::option_option, reason = "see CatalogMerged")]
        fn merged<T>(given: Option<Option<T>>, before: T, default: T) -> T {
            given.map_or(before, |given| given.unwrap_or(default))
        }
        let (before, default) = (before.clone(), CatalogSettings::default());
        CatalogSettings {
            size: merged(self.size, before.size, default.size),
            prior: merged(self.prior, before.prior, default.prior),
            policy: merged(self.policy, before.policy, default.policy),
            order: merged(self.order, before.order, default.order),
            no_choice: merged(self.no_choice, before.no_choice, default.no_choice),
            expiry: merged(self.expiry, before.expiry, default.expiry),
        }
    }
}

/// Lists catalogs, by name.
#[utoipa::path(get, path = "/v1/catalogs", tag = "catalogs", params(Paging), responses(
    (status = 200, body = Rows<CatalogSent>),
    (status = "default", body = Sent<'static>, content_type = "application/problem+json"),
))]
pub(crate) async fn list(
    State(service): State<Shared>,
    access: Access,
    Query(paging): Query<Paging>,
) -> Result<Reply<Rows<CatalogSent>>, Problem> {
    access.need(Scope::Read, access.only())?;
    let limit = limit_of(paging.limit)?;
    let all = service.registry.get();
    let after = paging.cursor.unwrap_or_default();
    let of_key = |known: &&&Arc<Known>| access.only().is_none_or(|only| only == known.id);
    let found = all.catalogs();
    let mut rest = found.iter().filter(of_key).filter(|known| known.name > after);
    let rows: Vec<CatalogSent> = rest.by_ref().take(limit).map(|known| CatalogSent::new(known)).collect();
    let next = rest.next().and(rows.last()).map(|last| last.catalog.clone());
    Ok(Reply(Rows { rows, next }))
}

/// Reads a catalog.
#[utoipa::path(get, path = "/v1/catalogs/{catalog}", tag = "catalogs", params(("catalog" = String, Path)), responses(
    (status = 200, body = CatalogSent),
    (status = "default", body = Sent<'static>, content_type = "application/problem+json"),
))]
pub(crate) async fn get(State(service): State<Shared>, access: Access, Path(name): Path<String>) -> Result<Response, Problem> {
    let known = access.catalog(&service, Scope::Read, &name)?;
    Ok(CatalogSent::reply(&known, StatusCode::OK))
}

/// Creates a catalog, or sets all of it anew.
#[utoipa::path(put, path = "/v1/catalogs/{catalog}", tag = "catalogs", params(("catalog" = String, Path)), request_body = CatalogGiven, responses(
    (status = 200, body = CatalogSent, description = "it was there"),
    (status = 201, body = CatalogSent, description = "it is new"),
    (status = "default", body = Sent<'static>, content_type = "application/problem+json"),
))]
pub(crate) async fn put(
    State(service): State<Shared>,
    access: Access,
    Path(name): Path<String>,
    headers: HeaderMap,
    Bulk(given): Bulk<CatalogGiven>,
) -> Result<Response, Problem> {
    let before = service.registry.get().named(&name).cloned();
    access.need(Scope::Admin, before.as_ref().map(|known| known.id))?;
    check_catalog_name(&name)?;
    let default = CatalogSettings::default();
    let settings = CatalogSettings {
        size: given.size.unwrap_or(default.size),
        prior: given.prior.unwrap_or(default.prior),
        policy: given.policy.unwrap_or(default.policy),
        order: given.order.unwrap_or(default.order),
        no_choice: given.no_choice.unwrap_or(default.no_choice),
        expiry: given.expiry.unwrap_or(default.expiry),
    };
    settings.check()?;
    let options = given.options.map(checked).transpose()?;
    let asked = expected(&headers, before.as_deref())?;
    let mut tries = 0;
    let _turn = service.setting.lock().await;
    let id = loop {
        let set = service.set_catalog(&name, &settings, asked).await?;
        let Some(options) = options.clone() else { break set.id };
        // Another server's options in between would be joined with these: then all of it is set again.
        match service.replace_options(set, options).await? {
            Changed::Stale { .. } if asked.is_none() && tries < TRIES => tries += 1,
            Changed::Stale { revision } => {
                return Err(Problem::new(Kind::Stale, "read it again, and decide again").with("revision", revision));
            }
            _ => break set.id,
        }
    };
    let known = service.known(id)?;
    Ok(CatalogSent::reply(&known, if before.is_some() { StatusCode::OK } else { StatusCode::CREATED }))
}

fn checked(options: Vec<OptionGiven>) -> Result<Vec<OptionChange>, Problem> {
    if options.len() > MOST_OPTIONS {
        return Err(Problem::invalid("options", format!("at most {MOST_OPTIONS} in one request")));
    }
    let mut seen = HashSet::new();
    let check = |(i, own): (usize, OptionGiven)| {
        let change = own.change(None);
        check_option(&change).map_err(|problem| problem.at(format!("options[{i}]")))?;
        if !seen.insert(change.name.clone()) {
            return Err(Problem::invalid(format!("options[{i}]"), format!("{:?} is there twice", change.name)));
        }
        Ok(change)
    };
    options.into_iter().enumerate().map(check).collect()
}

/// Changes some of what is set for a catalog.
#[utoipa::path(patch, path = "/v1/catalogs/{catalog}", tag = "catalogs", params(("catalog" = String, Path)), request_body = CatalogMerged, responses(
    (status = 200, body = CatalogSent),
    (status = "default", body = Sent<'static>, content_type = "application/problem+json"),
))]
pub(crate) async fn patch(
    State(service): State<Shared>,
    access: Access,
    Path(name): Path<String>,
    headers: HeaderMap,
    Json(merged): Json<CatalogMerged>,
) -> Result<Response, Problem> {
    let mut tries = 0;
    loop {
        let known = access.catalog(&service, Scope::Admin, &name)?;
        let settings = merged.clone().into(&known.settings);
        settings.check()?;
        let asked = expected(&headers, Some(&known))?;
        // Merged into what was read: somebody else's change is not undone unseen. Who does not say what it is based on has it merged again.
        match service.set_catalog(&name, &settings, asked.or(Some(known.revision))).await {
            Ok(set) => return Ok(CatalogSent::reply(&*service.known(set.id)?, StatusCode::OK)),
            Err(problem) if problem.kind() == Kind::Stale && asked.is_none() && tries < TRIES => tries += 1,
            Err(problem) => return Err(problem),
        }
    }
}

/// What was erased.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ErasedSent {
    /// The position of the erasure in the log; null if there was nothing to erase.
    pub(crate) seq: Option<u64>,
    /// Whether no byte of it is left in the files. If not, a reader holds what was before, and it goes when that is done.
    pub(crate) emptied: bool,
}

/// Removes a catalog with all that was chosen in it.
#[utoipa::path(delete, path = "/v1/catalogs/{catalog}", tag = "catalogs", params(("catalog" = String, Path)), responses(
    (status = 200, body = ErasedSent),
    (status = "default", body = Sent<'static>, content_type = "application/problem+json"),
))]
pub(crate) async fn delete(
    State(service): State<Shared>,
    access: Access,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Result<Reply<ErasedSent>, Problem> {
    let known = access.catalog(&service, Scope::Admin, &name)?;
    if let Some(revision) = expected(&headers, Some(&known))?.filter(|&expected| expected != known.revision) {
        let problem =
            Problem::new(Kind::Stale, format!("it is not at revision {revision} any more: read it again, and decide again"));
        return Err(problem.with("revision", known.revision));
    }
    service.erase(known.id, None).await.map(Reply)
}

/// The revision that a change is based on, where it says so.
pub(crate) fn expected(headers: &HeaderMap, known: Option<&Known>) -> Result<Option<u64>, Problem> {
    let Some(tag) = headers.get(header::IF_MATCH).and_then(|tag| tag.to_str().ok()) else { return Ok(None) };
    match (tag.trim(), known) {
        ("*", Some(_)) => Ok(None),
        (tags, known) => {
            // One of several will do.
            let read = |tag: &str| tag.trim().trim_matches('"').parse().ok().filter(|&revision| revision > 0);
            let all: Vec<u64> = tags.split(',').filter_map(read).collect();
            let current = known.map(|known| known.revision).filter(|revision| all.contains(revision));
            let wanted = current.or(all.first().copied());
            wanted.map(Some).ok_or_else(|| Problem::new(Kind::Stale, "If-Match holds the ETag of what was read"))
        }
    }
}

/// A catalog that was set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Set {
    pub(crate) id: CatalogId,
    /// At which it was.
    revision: u64,
}

impl Service {
    /// Changes settings, and takes the change up.
    pub(crate) async fn change(&self, change: Change) -> Result<Changed, Problem> {
        let changed = self.store.change(change).await.map_err(|error| self.failed(error))?;
        if let Changed::Done { revision, .. } = changed {
            self.registry.refresh(revision).await?;
        }
        Ok(changed)
    }

    /// Makes or changes a catalog.
    pub(crate) async fn set_catalog(
        &self,
        name: &str,
        settings: &CatalogSettings,
        expected: Option<u64>,
    ) -> Result<Set, Problem> {
        let text = serde_json::to_string(settings).unwrap_or_default();
        match self.change(Change::Catalog { name: name.to_owned(), settings: text, expected }).await? {
            Changed::Done { catalog: Some(id), revision } => Ok(Set { id, revision }),
            Changed::Stale { revision } => {
                self.registry.refresh(revision).await?;
                Err(Problem::new(Kind::Stale, "read it again, and decide again").with("revision", revision))
            }
            _ => Err(Problem::new(Kind::NoCatalog, "it was removed meanwhile")),
        }
    }

    /// Sets the options of a catalog as it was set, and retires those that are not among them.
    async fn replace_options(&self, set: Set, mut options: Vec<OptionChange>) -> Result<Changed, Problem> {
        let listed: HashSet<&str> = options.iter().map(|own| own.name.as_str()).collect();
        let present = self.store.options(set.id).await?;
        let left = present.into_iter().filter(|own| own.active && !listed.contains(own.name.as_str()));
        let retired: Vec<OptionChange> =
            left.map(|own| OptionChange { name: own.name, label: own.label, weight: own.weight, active: false }).collect();
        options.extend(retired);
        self.change(Change::Options { catalog: set.id, options, expected: Some(set.revision) }).await
    }

    /// A catalog by its number, as it is now.
    pub(crate) fn known(&self, id: CatalogId) -> Result<Arc<Known>, Problem> {
        let found = self.registry.get().numbered(id).cloned();
        found.ok_or_else(|| Problem::new(Kind::NoCatalog, "it was removed meanwhile"))
    }

    /// Erases a context, or a whole catalog.
    pub(crate) async fn erase(&self, id: CatalogId, context: Option<String>) -> Result<ErasedSent, Problem> {
        let whole = context.is_none();
        // Before it: what is noted of it goes with it.
        self.send_notes();
        let erased = self.store.erase(id, context, now()).await.map_err(|error| self.failed(error))?;
        if let Some(seq) = erased.seq {
            self.reach(seq).await;
        }
        if whole {
            let head = self.store.head().await?;
            self.registry.refresh(head.revision).await?;
        }
        Ok(ErasedSent { seq: erased.seq, emptied: erased.emptied })
    }
}
