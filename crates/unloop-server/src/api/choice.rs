//! What came of a presentation: checked, recorded once, repeated as often as it is asked for.

use std::collections::HashSet;
use std::sync::Arc;

use axum::Json as Reply;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use unloop_store::{Appended, Body, Entry, Event, Kind as EventKind, Outcome, What, import_key, withdrawal_key};
use utoipa::{IntoParams, ToSchema};

use super::presentations::{PresentationAsked, PresentationSent};
use crate::access::{Access, Scope};
use crate::body::{Json, Path, Query};
use crate::catalog::Known;
use crate::now;
use crate::problem::{Kind, Problem, Sent};
use crate::service::{Service, Shared};
use crate::token::Token;
use crate::trends::Said;

/// What came of a presentation: one of `chosen`, `tied` and `none`.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChoiceGiven {
    /// The presentation's token.
    token: String,
    /// What was chosen; several count one each.
    #[schema(example = json!(["soup"]))]
    chosen: Option<Vec<String>>,
    /// Options that share one choice.
    tied: Option<Vec<String>>,
    /// `true`: nothing was chosen.
    none: Option<bool>,
}

/// Whether the next presentation is wanted, too.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Next {
    /// Also returns the next presentation for the same context, of the catalog's size; needs a key with the scope `present` where there are keys.
    next: Option<bool>,
}

/// What is recorded.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ChoiceSent {
    /// The presentation.
    pub(crate) id: String,
    /// Its position in the log.
    pub(crate) seq: u64,
    /// What was chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) chosen: Option<Vec<String>>,
    /// What shared one choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tied: Option<Vec<String>>,
    /// Nothing was chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) none: Option<bool>,
    /// Whether it had been recorded before.
    pub(crate) repeated: bool,
    /// It was withdrawn since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) withdrawn: Option<bool>,
    /// The next presentation, where it was asked for and there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<PresentationSent>,
    /// Why there is no next presentation. The choice is recorded all the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Sent<'static>>)]
    next_problem: Option<Value>,
}

/// Whether a name is among others. A few are looked through faster than they are hashed.
fn among(names: &[String]) -> impl Fn(&String) -> bool {
    const FEW: usize = 16;
    let many: Option<HashSet<&String>> = (names.len() > FEW).then(|| names.iter().collect());
    move |name| many.as_ref().map_or_else(|| names.contains(name), |many| many.contains(name))
}

/// Which of the three outcomes it is; names in the order of the presentation, so that the same is the same in whatever order it is said.
pub(crate) fn outcome(
    chosen: Option<Vec<String>>,
    tied: Option<Vec<String>>,
    none: Option<bool>,
    presented: &[String],
) -> Result<Outcome, Problem> {
    let named = |field: &str, names: Vec<String>| {
        let is_known = among(presented);
        if let Some(place) = names.iter().position(|name| !is_known(name)) {
            let detail = format!("{:?} was not presented", names[place]);
            return Err(Problem::invalid(format!("{field}[{place}]"), detail));
        }
        if names.is_empty() {
            return Err(Problem::invalid(field, "nothing is named: say `\"none\": true` if nothing was chosen"));
        }
        let is_named = among(&names);
        let ordered: Vec<String> = presented.iter().filter(|name| is_named(name)).cloned().collect();
        if ordered.len() == names.len() { Ok(ordered) } else { Err(Problem::invalid(field, "an option is there twice")) }
    };
    match (chosen, tied, none) {
        (Some(names), None, None | Some(false)) => named("chosen", names).map(Outcome::Chosen),
        (None, Some(names), None | Some(false)) => named("tied", names).map(Outcome::Tied),
        (None, None, Some(true)) => Ok(Outcome::None),
        _ => Err(Problem::invalid("chosen", "one of `chosen`, `tied` and `none` says what came of it")),
    }
}

/// Records what came of a presentation, once. The same again is answered with the first answer, another outcome with 409 and the first one.
#[utoipa::path(post, path = "/v1/presentations/{id}/choice", tag = "present and choose", params(("id" = String, Path), Next), request_body = ChoiceGiven, responses(
    (status = 200, body = ChoiceSent),
    (status = "default", body = Sent<'static>, content_type = "application/problem+json"),
))]
pub(crate) async fn create(
    State(service): State<Shared>,
    access: Access,
    Path(id): Path<String>,
    Query(Next { next }): Query<Next>,
    Json(given): Json<ChoiceGiven>,
) -> Result<Reply<ChoiceSent>, Problem> {
    let token = service.opened(&given.token)?;
    if token.id() != id {
        service.metrics.outcome("forged");
        return Err(Problem::new(Kind::Forged, "this token is for another presentation"));
    }
    let next = next.unwrap_or(false);
    if next {
        // Before anything is recorded: the same without `next` needs no key.
        access.need(Scope::Present, Some(token.catalog))?;
    }
    let outcome = outcome(given.chosen, given.tied, given.none, &token.options)?;
    let (known, mut sent) = service.choose(&token, outcome).await?;
    if next {
        let asked = PresentationAsked::of(token.context);
        // By itself: it needs four times the room of all else here, which every choice would have to ask for.
        match Box::pin(service.present(&known, asked)).await {
            Ok(presentation) => sent.next = Some(presentation),
            Err(problem) => sent.next_problem = Some(problem.to_json()),
        }
    }
    Ok(Reply(sent))
}

impl Service {
    /// A token that is one of ours.
    pub(crate) fn opened(&self, text: &str) -> Result<Token, Problem> {
        let opened = Token::open(text, &self.keyring.get());
        if opened.is_none() {
            self.metrics.outcome("forged");
        }
        opened.ok_or_else(|| Problem::new(Kind::Forged, "its signature is not by a secret in use"))
    }

    /// Records what came of a presentation: forged was checked before; then what is recorded counts, whatever the time; then the expiry.
    pub(crate) async fn choose(self: &Shared, token: &Token, outcome: Outcome) -> Result<(Arc<Known>, ChoiceSent), Problem> {
        let known = self.registry.get().numbered(token.catalog).cloned();
        let known = known.ok_or_else(|| Problem::new(Kind::Gone, "the catalog was removed"))?;
        let id = token.id();
        let answer = if self.settings.is_over(token.expires) {
            let Some(event) = self.store.find(known.id, EventKind::Choice, id.clone()).await? else {
                self.metrics.outcome("expired");
                return Err(Problem::new(Kind::Expired, "the time to answer it is over, and nothing was recorded"));
            };
            recorded_before(event, token.context.as_deref(), &body(token, outcome.clone()))
        } else {
            self.append_choice(entry(token, outcome.clone())).await?
        };
        let said = Said { presented: &token.options, outcome: &outcome, weight: 1.0 };
        self.answered(&known, EventKind::Choice, id, said, answer).await.map(|sent| (known, sent))
    }

    /// What is told of an answer to a presentation.
    pub(crate) async fn answered(
        &self,
        known: &Known,
        of: EventKind,
        id: String,
        said: Said<'_>,
        answer: Appended,
    ) -> Result<ChoiceSent, Problem> {
        match answer {
            Appended::Recorded { seq } => {
                self.metrics.outcome("recorded");
                // What is imported happened at another time.
                if of == EventKind::Choice {
                    self.trends.answered(known, said);
                }
                Ok(sent(id, seq, said.outcome, false, None))
            }
            Appended::Repeated { seq, first } => {
                self.metrics.outcome("repeated");
                let withdrawn = self.is_withdrawn(known, of, &id).await?;
                Ok(sent(id, seq, &first.outcome, true, withdrawn.then_some(true)))
            }
            Appended::Conflict { seq, first } => {
                self.metrics.outcome("conflict");
                let withdrawn = self.is_withdrawn(known, of, &id).await?;
                let problem = Problem::new(Kind::Conflict, "another outcome of this presentation is recorded");
                Err(problem.with("seq", seq).with("recorded", told(&first.outcome)).with("withdrawn", withdrawn))
            }
            Appended::Gone { seq } => {
                self.metrics.outcome("gone");
                Err(Problem::new(Kind::Gone, "what was recorded of it was erased").with("seq", seq))
            }
            Appended::Unknown => Err(Problem::new(Kind::Internal, "it was neither recorded nor found")),
        }
    }

    async fn is_withdrawn(&self, known: &Known, of: EventKind, id: &str) -> Result<bool, Problem> {
        let kept = if of == EventKind::Import { import_key(id) } else { id.to_owned() };
        let key = withdrawal_key(of, &kept);
        Ok(self.store.find(known.id, EventKind::Withdrawal, key).await?.is_some())
    }
}

/// What a token and an outcome say, for the log.
pub(crate) fn entry(token: &Token, outcome: Outcome) -> Entry {
    let what = What::Choice { id: token.id(), body: body(token, outcome) };
    Entry { catalog: token.catalog, context: token.context.clone(), what, time: now() }
}

fn body(token: &Token, outcome: Outcome) -> Body {
    Body { presented: token.options.clone(), declinable: token.declinable, outcome, weight: 1.0, source: None }
}

/// What the log would answer to an outcome of something that is recorded already.
pub(crate) fn recorded_before(event: Event, context: Option<&str>, body: &Body) -> Appended {
    let Event { seq, context: own, body: first, .. } = event;
    match first {
        None => Appended::Gone { seq },
        Some(first) if first == *body && own.as_deref() == context => Appended::Repeated { seq, first },
        Some(first) => Appended::Conflict { seq, first },
    }
}

fn sent(id: String, seq: u64, outcome: &Outcome, repeated: bool, withdrawn: Option<bool>) -> ChoiceSent {
    let (mut chosen, mut tied, mut none) = (None, None, None);
    match outcome {
        Outcome::Chosen(names) => chosen = Some(names.clone()),
        Outcome::Tied(names) => tied = Some(names.clone()),
        Outcome::None => none = Some(true),
    }
    ChoiceSent { id, seq, chosen, tied, none, repeated, withdrawn, next: None, next_problem: None }
}

/// An outcome as it is told.
fn told(outcome: &Outcome) -> Value {
    match outcome {
        Outcome::Chosen(names) => json!({ "chosen": names }),
        Outcome::Tied(names) => json!({ "tied": names }),
        Outcome::None => json!({ "none": true }),
    }
}
