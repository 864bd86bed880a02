//! What to show: presentations, one or many at a time.

use std::collections::HashSet;
use std::sync::Arc;

use axum::Json as Reply;
use axum::extract::State;
use axum::http::StatusCode;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use unloop::presenter::PresenterError;
use unloop_store::{Note, PresentationNote};
use utoipa::ToSchema;
use uuid::Uuid;

use super::{Rows, context_of};
use crate::access::{Access, Scope};
use crate::body::{Bulk, Json, Many, Path, parse_row};
use crate::catalog::{Known, MOST_SIZE, OrderName, PolicyName};
use crate::context::{Asked, aside};
use crate::now;
use crate::problem::{Kind, Problem, Sent};
use crate::service::{Service, Shared};
use crate::standing::internal;
use crate::token::Token;

/// Requests of a batch at most.
const MOST_BATCH: usize = 1_000;
/// Candidates at most.
const MOST_CANDIDATES: usize = 10_000;
/// Options and candidates with which forming a presentation keeps an async thread too long.
const MANY: usize = 2_000;

/// What is asked for.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PresentationAsked {
    /// For whom; `all` or none is nobody in particular.
    #[schema(min_length = 1, max_length = 128, example = "ada")]
    pub(crate) context: Option<String>,
    /// How many options; the catalog's size if none. Fewer are presented where fewer can be.
    #[schema(minimum = 1, maximum = 100)]
    pub(crate) size: Option<u32>,
    /// The only options that may be presented, if given.
    #[schema(max_items = 10_000)]
    candidates: Option<Vec<String>>,
    /// Options that may not.
    #[schema(max_items = 10_000)]
    exclude: Option<Vec<String>>,
    /// Options that are in it and come first.
    #[schema(max_items = 100)]
    pinned: Option<Vec<String>>,
    /// Another policy than the catalog's.
    policy: Option<PolicyName>,
    /// Another order than the catalog's.
    order: Option<OrderName>,
    /// A position that has to be taken into account: what another server acknowledged.
    at_least: Option<u64>,
}

/// A presentation.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PresentationSent {
    /// Its id, to answer it by.
    #[schema(example = "0199f0a4-7c3e-7000-8000-5d1c3a0f9b21")]
    pub(crate) id: String,
    /// What proves it: whoever has this may answer it.
    pub(crate) token: String,
    /// What to show, in order.
    pub(crate) options: Vec<OptionPresented>,
    /// How it was formed.
    policy: PolicyName,
    /// How it is ordered.
    order: OrderName,
    /// The position of the log that it knows of.
    seq: u64,
    /// Until when it may be answered.
    #[schema(format = "date-time", example = "2026-11-17T20:19:00Z")]
    expires: String,
}

/// An option that is presented.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct OptionPresented {
    /// The option.
    #[schema(example = "curry")]
    pub(crate) option: String,
    /// Its place, from 1.
    pub(crate) position: usize,
    /// Estimated probability that it is in the presentation; 1 if it is pinned.
    pub(crate) propensity: f64,
}

/// Forms a presentation.
#[utoipa::path(post, path = "/v1/catalogs/{catalog}/presentations", tag = "present and choose", params(("catalog" = String, Path)), request_body = PresentationAsked, responses(
    (status = 201, body = PresentationSent),
    (status = "default", body = Sent<'static>, content_type = "application/problem+json"),
))]
pub(crate) async fn create(
    State(service): State<Shared>,
    access: Access,
    Path(name): Path<String>,
    Json(asked): Json<PresentationAsked>,
) -> Result<(StatusCode, Reply<PresentationSent>), Problem> {
    let known = access.catalog(&service, Scope::Present, &name)?;
    let sent = service.present(&known, asked).await?;
    Ok((StatusCode::CREATED, Reply(sent)))
}

/// Many requests.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BatchAsked {
    /// Each is answered by itself.
    #[schema(value_type = Vec<PresentationAsked>, max_items = 1000)]
    presentations: Many<MOST_BATCH>,
}

/// What became of one of them: the presentation, or a problem.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BatchRow {
    /// What was formed.
    #[serde(skip_serializing_if = "Option::is_none")]
    presentation: Option<PresentationSent>,
    /// Why nothing was.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Sent<'static>>)]
    problem: Option<Value>,
}

/// Forms many presentations, each answered by itself.
#[utoipa::path(post, path = "/v1/catalogs/{catalog}/presentations/batch", tag = "present and choose", params(("catalog" = String, Path)), request_body = BatchAsked, responses(
    (status = 200, body = Rows<BatchRow>),
    (status = "default", body = Sent<'static>, content_type = "application/problem+json"),
))]
pub(crate) async fn batch(
    State(service): State<Shared>,
    access: Access,
    Path(name): Path<String>,
    Bulk(asked): Bulk<BatchAsked>,
) -> Result<Reply<Rows<BatchRow>>, Problem> {
    let known = access.catalog(&service, Scope::Present, &name)?;
    let Many(asked) = asked.presentations;
    let mut rows = Vec::with_capacity(asked.len());
    for row in asked {
        let formed = match parse_row(&row) {
            Ok(asked) => service.present(&known, asked).await,
            Err(problem) => Err(problem),
        };
        rows.push(match formed {
            Ok(sent) => BatchRow { presentation: Some(sent), problem: None },
            Err(problem) => BatchRow { presentation: None, problem: Some(problem.to_json()) },
        });
        // Nobody else waits for all of them.
        tokio::task::yield_now().await;
    }
    Ok(Reply(Rows { rows, next: None }))
}

/// A request that can be.
struct Checked {
    context: Option<String>,
    at_least: Option<u64>,
    policy: PolicyName,
    order: OrderName,
    asked: Asked,
}

impl PresentationAsked {
    /// As the catalog has it, for a context.
    pub(crate) fn of(context: Option<String>) -> Self {
        Self { context, ..Self::default() }
    }

    /// In the catalog's terms. Names that it does not have are refused: one that is misspelt would be left out unseen.
    fn checked(self, known: &Known) -> Result<Checked, Problem> {
        let settings = &known.settings;
        let size = self.size.unwrap_or(settings.size);
        if !(1..=MOST_SIZE).contains(&size) {
            return Err(Problem::invalid("size", format!("a presentation has 1 to {MOST_SIZE} options")));
        }
        let check = |field: &str, names: &[String], most: usize| {
            if names.len() > most {
                return Err(Problem::invalid(field, format!("at most {most} options")));
            }
            match names.iter().position(|name| known.option(name).is_none()) {
                Some(place) => {
                    Err(Problem::invalid(format!("{field}[{place}]"), format!("the catalog has no option {:?}", names[place])))
                }
                None => Ok(()),
            }
        };
        let (excluded, pinned) = (self.exclude.unwrap_or_default(), self.pinned.unwrap_or_default());
        check("candidates", self.candidates.as_deref().unwrap_or_default(), MOST_CANDIDATES)?;
        check("exclude", &excluded, MOST_CANDIDATES)?;
        check("pinned", &pinned, MOST_SIZE as usize)?;
        let (policy, order) = (self.policy.unwrap_or(settings.policy), self.order.unwrap_or(settings.order));
        let candidates = self.candidates.map(|names| {
            let mut seen = HashSet::new();
            names.into_iter().filter(|name| seen.insert(name.clone())).collect()
        });
        let asked = Asked { size: size as usize, candidates, excluded, pinned, policy: policy.into(), order: order.into() };
        Ok(Checked { context: context_of(self.context)?, at_least: self.at_least, policy, order, asked })
    }
}

impl Service {
    /// Forms a presentation. Nothing is made for a context that is not known, and nothing waits for a disk.
    pub(crate) async fn present(
        self: &Shared,
        known: &Arc<Known>,
        asked: PresentationAsked,
    ) -> Result<PresentationSent, Problem> {
        let Checked { context, at_least, policy, order, asked } = asked.checked(known)?;
        self.at_least(at_least).await?;
        let seed = self.seed_of(known.id, context.as_deref());
        let many = asked.candidates.as_ref().map_or(0, Vec::len) + asked.excluded.len() > MANY;
        let formed =
            self.presenting(known, context.as_deref(), |loaded| aside(many, || loaded.present(known, seed, &asked))).await?;
        let presented = formed.map_err(|error| refused(&error))?;
        // Everything up to here was taken in before.
        let seq = self.position();
        let made = now();
        let expires = made + 1_000 * known.settings.expiry;
        let id = Uuid::now_v7();
        let token = Token {
            id: *id.as_bytes(),
            catalog: known.id,
            context,
            options: presented.iter().map(|(name, _)| name.clone()).collect(),
            propensities: presented.iter().map(|&(_, propensity)| propensity as f32).collect(),
            declinable: known.settings.no_choice,
            policy: policy.name().to_owned(),
            made,
            expires,
        };
        let sealed = token.seal(&self.keyring.get());
        self.metrics.presented();
        self.trends.served(known, &token.options);
        let body = json!({ "options": token.options, "propensities": token.propensities, "policy": token.policy, "declinable": token.declinable });
        let note = PresentationNote {
            id: token.id(),
            catalog: known.id,
            context: token.context.clone(),
            body: body.to_string(),
            time: made,
        };
        self.note(Note::Presentation(note));
        let row = |(position, (option, propensity)): (usize, (String, f64))| OptionPresented { option, position, propensity };
        Ok(PresentationSent {
            id: token.id(),
            token: sealed,
            options: (1..).zip(presented).map(row).collect(),
            policy,
            order,
            seq,
            expires: told(expires),
        })
    }
}

/// A time for people and machines.
pub(crate) fn told(milliseconds: i64) -> String {
    Timestamp::from_millisecond(milliseconds).map_or_else(|_| milliseconds.to_string(), |time| time.to_string())
}

fn refused(error: &PresenterError) -> Problem {
    match error {
        PresenterError::NothingEligible { .. } => {
            Problem::new(Kind::NothingEligible, "no option is active, or the request leaves none of them")
        }
        PresenterError::Pinned { .. } => Problem::invalid("pinned", error.to_string()),
        _ => internal(error),
    }
}
