//! Many choices at once: from elsewhere, or late; and taking one back.

use std::sync::Arc;

use axum::Json as Reply;
use axum::extract::State;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use unloop_store::{Appended, Body, Entry, Kind as EventKind, MOST_PRESENTED, What, check_context, import_key};
use utoipa::ToSchema;
use uuid::Uuid;

use super::Rows;
use super::choice::{ChoiceSent, entry, outcome, recorded_before};
use super::context_of;
use crate::access::{Access, Scope};
use crate::body::{Bulk, Many, Path, parse_row};
use crate::catalog::Known;
use crate::context::aside;
use crate::now;
use crate::problem::{Kind, Problem, Sent};
use crate::service::{Service, Shared};
use crate::trends::Said;

/// Rows that are read without leaving the async thread.
const QUICKLY_READ: usize = 16;
/// Rows of a request at most.
const MOST_CHOICES: usize = 10_000;

/// Choices to be recorded.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChoicesGiven {
    /// Each is answered by itself: a bad one keeps none of the others back.
    #[schema(value_type = Vec<ChoiceRow>, max_items = 10_000)]
    rows: Many<MOST_CHOICES>,
}

/// A choice from elsewhere (`id` and `presented`), or a late answer (`token`); and one of `chosen`, `tied` and `none`.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChoiceRow {
    /// What makes it unique: the same again is recorded once.
    #[schema(min_length = 1, max_length = 512)]
    id: Option<String>,
    /// Whose; `all` or none is nobody in particular.
    #[schema(min_length = 1, max_length = 128)]
    context: Option<String>,
    /// What was presented, in order.
    #[schema(max_items = 1000)]
    presented: Option<Vec<String>>,
    /// Whether choosing nothing was an option.
    declinable: Option<bool>,
    /// How often it counts; once by default.
    weight: Option<f64>,
    /// When; now by default.
    #[schema(format = "date-time")]
    time: Option<String>,
    /// The token of a presentation, instead of all of the former.
    token: Option<String>,
    /// What was chosen; several count one each.
    chosen: Option<Vec<String>>,
    /// Options that share one choice.
    tied: Option<Vec<String>>,
    /// `true`: nothing was chosen.
    none: Option<bool>,
}

/// What became of a row.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ChoiceDone {
    /// Its id, as far as it could be read.
    id: Option<String>,
    /// `recorded`, `repeated`, `withdrawn` (it was recorded, and taken back since), `conflict`, `gone` or `refused`.
    status: &'static str,
    /// Its position in the log.
    seq: Option<u64>,
    /// Why it was not recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Sent<'static>>)]
    problem: Option<Value>,
}

impl ChoiceDone {
    fn new(id: String, sent: &ChoiceSent) -> Self {
        let status = match (sent.repeated, sent.withdrawn) {
            (true, Some(true)) => "withdrawn",
            (true, _) => "repeated",
            (false, _) => "recorded",
        };
        Self { id: Some(id), status, seq: Some(sent.seq), problem: None }
    }

    fn refused(id: Option<String>, problem: &Problem) -> Self {
        let status = match problem.kind() {
            Kind::Conflict => "conflict",
            Kind::Gone => "gone",
            _ => "refused",
        };
        let problem = problem.to_json();
        let seq = problem.get("seq").and_then(Value::as_u64);
        Self { id, status, seq, problem: Some(problem) }
    }
}

/// Imports choices, or takes late answers.
#[utoipa::path(post, path = "/v1/catalogs/{catalog}/choices", tag = "choices", params(("catalog" = String, Path)), request_body = ChoicesGiven, responses(
    (status = 200, body = Rows<ChoiceDone>),
    (status = "default", body = Sent<'static>, content_type = "application/problem+json"),
))]
pub(crate) async fn import(
    State(service): State<Shared>,
    access: Access,
    Path(name): Path<String>,
    Bulk(given): Bulk<ChoicesGiven>,
) -> Result<Reply<Rows<ChoiceDone>>, Problem> {
    let known = access.catalog(&service, Scope::Choose, &name)?;
    let Many(given) = given.rows;
    let mut rows: Vec<Option<ChoiceDone>> = Vec::with_capacity(given.len());
    let (mut entries, mut places) = (Vec::new(), Vec::new());
    let read = |row: Box<RawValue>| {
        let parsed = parse_row::<ChoiceRow>(&row);
        let id = parsed.as_ref().map_or_else(|_| named_in(&row), |own| own.id.clone());
        (id, parsed.and_then(|row| service.read(&known, row)))
    };
    let read: Vec<(Option<String>, Result<Row, Problem>)> =
        aside(given.len() > QUICKLY_READ, || given.into_iter().map(read).collect());
    for (id, read) in read {
        match read {
            Ok(Row::Entry(entry)) => {
                // What was exported from here comes back under its presentation's id: it is there already.
                if let Some(done) = service.chosen_here(&known, &entry).await? {
                    rows.push(Some(done));
                    continue;
                }
                places.push(rows.len());
                entries.push(entry);
                rows.push(None);
            }
            // Few are late: each by itself.
            Ok(Row::Late(token, outcome)) => {
                let id = token.id();
                rows.push(Some(match service.choose(&token, outcome).await {
                    Ok((_, sent)) => ChoiceDone::new(id, &sent),
                    // Nothing of this kind is about the row.
                    Err(problem) if matches!(problem.kind(), Kind::Full | Kind::Busy | Kind::Broken | Kind::Internal) => {
                        return Err(problem);
                    }
                    Err(problem) => ChoiceDone::refused(Some(id), &problem),
                }));
            }
            Err(problem) => rows.push(Some(ChoiceDone::refused(id, &problem))),
        }
    }
    if !entries.is_empty() {
        let told: Vec<(EventKind, String, Body)> = entries.iter().filter_map(named).collect();
        let count = entries.len();
        let answers = service.append(entries).await?;
        service.imported.note(known.id, count);
        for ((answer, place), (of, id, body)) in answers.into_iter().zip(places).zip(told) {
            rows[place] = Some(match service.answered(&known, of, id.clone(), Said::from(&body), answer).await {
                Ok(sent) => ChoiceDone::new(id, &sent),
                Err(problem) => ChoiceDone::refused(Some(id), &problem),
            });
        }
    }
    Ok(Reply(Rows { rows: rows.into_iter().flatten().collect(), next: None }))
}

/// What a row calls itself, though something else in it is wrong.
fn named_in(row: &RawValue) -> Option<String> {
    #[derive(Deserialize)]
    struct Named {
        id: String,
    }
    serde_json::from_str::<Named>(row.get()).ok().map(|own| own.id)
}

fn named(entry: &Entry) -> Option<(EventKind, String, Body)> {
    match &entry.what {
        What::Choice { id, body } => Some((EventKind::Choice, id.clone(), body.clone())),
        What::Import { id, body } => Some((EventKind::Import, id.clone(), body.clone())),
        What::Withdrawal { .. } => None,
    }
}

/// A row that was read.
enum Row {
    Entry(Entry),
    /// An answer whose time is over: it may have been recorded before.
    Late(Box<crate::token::Token>, unloop_store::Outcome),
}

impl Service {
    /// What is told of a row that is the recorded outcome of a presentation of this catalog: the same choice, not another one.
    async fn chosen_here(&self, known: &Known, entry: &Entry) -> Result<Option<ChoiceDone>, Problem> {
        let What::Import { id, body } = &entry.what else { return Ok(None) };
        if Uuid::try_parse(id).is_err() {
            return Ok(None);
        }
        let Some(event) = self.store.find(known.id, EventKind::Choice, id.clone()).await? else { return Ok(None) };
        let answer = recorded_before(event, entry.context.as_deref(), body);
        let answered = self.answered(known, EventKind::Choice, id.clone(), Said::from(body), answer).await;
        Ok(Some(match answered {
            Ok(sent) => ChoiceDone::new(id.clone(), &sent),
            Err(problem) => ChoiceDone::refused(Some(id.clone()), &problem),
        }))
    }

    fn read(&self, known: &Arc<Known>, row: ChoiceRow) -> Result<Row, Problem> {
        let ChoiceRow { id, context, presented, declinable, weight, time, token, chosen, tied, none } = row;
        if let Some(token) = token {
            let foreign = id.is_some() || context.is_some() || presented.is_some() || weight.is_some() || declinable.is_some();
            if foreign || time.is_some() {
                return Err(Problem::invalid("token", "a token says all of `id`, `context`, `presented`, `weight`, `time`"));
            }
            let token = self.opened(&token)?;
            if token.catalog != known.id {
                self.metrics.outcome("forged");
                return Err(Problem::new(Kind::Forged, "this token is for a presentation of another catalog"));
            }
            let outcome = outcome(chosen, tied, none, &token.options)?;
            let late = self.settings.is_over(token.expires);
            return Ok(if late { Row::Late(Box::new(token), outcome) } else { Row::Entry(entry(&token, outcome)) });
        }
        let id = id.ok_or_else(|| Problem::invalid("id", "a row has an id that makes it unique, or a token"))?;
        let presented = presented.ok_or_else(|| Problem::invalid("presented", "a row says what was presented"))?;
        if presented.len() > MOST_PRESENTED {
            return Err(Problem::invalid("presented", format!("at most {MOST_PRESENTED} options")));
        }
        let mut sorted: Vec<&String> = presented.iter().collect();
        sorted.sort_unstable();
        if let Some([twice, _]) = sorted.array_windows().find(|[x, y]| x == y) {
            return Err(Problem::invalid("presented", format!("{twice:?} is there twice")));
        }
        let context = context_of(context)?;
        context.as_deref().map_or(Ok(()), check_context)?;
        let time = match time {
            None => now(),
            Some(text) => {
                let parsed = text.parse::<Timestamp>();
                let refuse = |_| Problem::invalid("time", "a time is like 2026-11-16T20:19:00Z, in the years -9999 to 9999");
                parsed.map_err(refuse)?.as_millisecond()
            }
        };
        let outcome = outcome(chosen, tied, none, &presented)?;
        let declinable = declinable.unwrap_or(false);
        let body = Body { presented, declinable, outcome, weight: weight.unwrap_or(1.0), source: None };
        let what = What::Import { id, body };
        what.check()?;
        Ok(Row::Entry(Entry { catalog: known.id, context, what, time }))
    }
}

/// What was taken back.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Withdrawn {
    /// What it was recorded under.
    id: String,
    /// The position of the withdrawal in the log.
    seq: u64,
    /// Whether it had been withdrawn before.
    repeated: bool,
}

/// Withdraws a choice: an event of its own. The id stays used.
#[utoipa::path(delete, path = "/v1/catalogs/{catalog}/choices/{id}", tag = "choices", params(("catalog" = String, Path), ("id" = String, Path)), responses(
    (status = 200, body = Withdrawn),
    (status = "default", body = Sent<'static>, content_type = "application/problem+json"),
))]
pub(crate) async fn withdraw(
    State(service): State<Shared>,
    access: Access,
    Path((name, id)): Path<(String, String)>,
) -> Result<Reply<Withdrawn>, Problem> {
    let known = access.catalog(&service, Scope::Choose, &name)?;
    service.withdraw(&known, id).await.map(Reply)
}

impl Service {
    /// Takes back what is recorded under an id.
    pub(crate) async fn withdraw(&self, known: &Known, id: String) -> Result<Withdrawn, Problem> {
        let choice = self.store.find(known.id, EventKind::Choice, id.clone()).await?;
        let of = match choice {
            Some(_) => EventKind::Choice,
            None => match self.store.find(known.id, EventKind::Import, import_key(&id)).await? {
                Some(_) => EventKind::Import,
                None => return Err(Problem::new(Kind::NoChoice, "nothing is recorded under this id")),
            },
        };
        let what = What::Withdrawal { of, id: id.clone() };
        let mut answers = self.append(vec![Entry { catalog: known.id, context: None, what, time: now() }]).await?;
        match answers.pop() {
            Some(Appended::Recorded { seq }) => {
                self.metrics.outcome("withdrawn");
                Ok(Withdrawn { id, seq, repeated: false })
            }
            Some(Appended::Repeated { seq, .. }) => Ok(Withdrawn { id, seq, repeated: true }),
            Some(Appended::Gone { .. }) => Err(Problem::new(Kind::Gone, "it was erased")),
            _ => Err(Problem::new(Kind::NoChoice, "nothing is recorded under this id")),
        }
    }
}
