//! A context's page: what is believed of one user or segment, against all; what was presented and chosen; taking back and erasing.

use std::collections::HashSet;

use askama::Template;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;
use unloop_plot::figures::count;
use unloop_store::{Event, Kind as EventKind, Outcome, Page as ContextPage, withdrawal_key};

use super::board::{Board, View, read_time, time};
use super::page::{Frame, Oops, Page, is_part};
use super::params::{Form, Params};
use super::session::Visitor;
use crate::access::Scope;
use crate::catalog::Known;
use crate::problem::{Kind, Problem};
use crate::service::{Service, Shared};

/// Contexts listed at a time; choices and presentations shown.
const LISTED: usize = 100;
const RECENT: usize = 25;

/// Contexts found.
struct Found {
    url: String,
    names: Vec<Link>,
    prefix: String,
    next: Option<String>,
}

/// A context, and where it is.
struct Link {
    name: String,
    query: String,
}

fn named(name: &str) -> String {
    form_urlencoded::Serializer::new(String::new()).append_pair("name", name).finish()
}

#[derive(Template)]
#[template(path = "contexts_part.html")]
struct FoundPart {
    found: Found,
}

#[derive(Template)]
#[template(path = "contexts.html")]
struct FoundPage {
    frame: Frame,
    catalog: String,
    found: Found,
}

/// Finds contexts by how their names begin.
pub(super) async fn find(
    State(service): State<Shared>,
    visitor: Visitor,
    Path(name): Path<String>,
    headers: HeaderMap,
    params: Params,
) -> Result<Response, Oops> {
    let known = visitor.access.catalog(&service, Scope::Admin, &name)?;
    let prefix = params.get("prefix").to_owned();
    let after = Some(params.get("after").to_owned()).filter(|after| !after.is_empty());
    let page = ContextPage { prefix: prefix.clone(), after, limit: LISTED + 1 };
    let mut names = service.store.contexts(known.id, page).await?;
    let more = names.len() > LISTED;
    names.truncate(LISTED);
    let next = names.last().filter(|_| more).map(|last| {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair("prefix", &prefix).append_pair("after", last).finish()
    });
    let names = names.into_iter().map(|name| Link { query: named(&name), name }).collect();
    let found = Found { url: format!("/catalogs/{}", known.name), names, prefix, next };
    Ok(if is_part(&headers) {
        Page(FoundPart { found }).into_response()
    } else {
        Page(FoundPage { frame: visitor.frame("catalogs"), catalog: name, found }).into_response()
    })
}

#[derive(Template)]
#[template(path = "context.html")]
pub(super) struct ContextPageShown {
    frame: Frame,
    catalog: String,
    url: String,
    name: String,
    query: String,
    answered: String,
    board: Board,
    choices: Vec<ChoiceRow>,
    presentations: Vec<PresentationRow>,
}

/// Something that was chosen.
struct ChoiceRow {
    seq: u64,
    time: String,
    read: String,
    kind: &'static str,
    /// Options in order, and whether each was chosen.
    options: Vec<(String, bool)>,
    /// Which place was chosen.
    places: String,
    outcome: &'static str,
    weight: String,
    /// Under which it can be taken back; empty if it cannot.
    id: String,
    is_withdrawn: bool,
}

/// Something that was presented.
struct PresentationRow {
    time: String,
    read: String,
    options: Vec<String>,
    policy: String,
    is_answered: bool,
}

impl ChoiceRow {
    fn new(event: &Event, is_withdrawn: bool) -> Option<Self> {
        let body = event.body.as_ref()?;
        let (chosen, outcome): (&[String], _) = match &body.outcome {
            Outcome::Chosen(names) => (names, "chosen"),
            Outcome::Tied(names) => (names, "tied"),
            Outcome::None => (&[], "nothing"),
        };
        let places =
            (1..).zip(&body.presented).filter(|(_, name)| chosen.contains(name)).map(|(place, _): (u32, _)| place.to_string());
        let is_withdrawal = event.kind == EventKind::Withdrawal;
        Some(Self {
            seq: event.seq,
            time: time(event.time),
            read: read_time(event.time),
            kind: event.kind.name(),
            places: places.collect::<Vec<_>>().join(", "),
            options: body.presented.iter().map(|name| (name.clone(), chosen.contains(name))).collect(),
            outcome,
            weight: if body.weight == 1.0 { String::new() } else { format!("× {}", body.weight) },
            id: if is_withdrawal || is_withdrawn {
                String::new()
            } else {
                body.source.clone().unwrap_or_else(|| event.id.clone())
            },
            is_withdrawn,
        })
    }
}

/// What a note of a presentation says.
#[derive(Deserialize)]
struct Noted {
    options: Vec<String>,
    #[serde(default)]
    policy: String,
}

/// The context that a form or an address is about.
fn context_of(params: &Params) -> Result<String, Problem> {
    let name = params.get("name").to_owned();
    unloop_store::check_context(&name)?;
    Ok(name)
}

/// Shows it.
pub(super) async fn show(
    State(service): State<Shared>,
    visitor: Visitor,
    Path(catalog): Path<String>,
    params: Params,
) -> Result<Page<ContextPageShown>, Oops> {
    let known = visitor.access.catalog(&service, Scope::Admin, &catalog)?;
    let name = context_of(&params)?;
    let events = service.store.latest(known.id, Some(name.clone()), RECENT).await?;
    if events.is_empty() {
        return Err(Problem::new(Kind::NoContext, "nothing is recorded of this context").into());
    }
    let ranked = super::catalog::ranking(&service, &known, Some(&name)).await?;
    let all = super::catalog::ranking(&service, &known, None).await?;
    let view = View::of(&params);
    let mut board =
        Board::new(&known, &view, ranked.as_ref().map(|(ranked, seq)| (&**ranked, *seq)), all.as_ref().map(|(all, _)| &**all));
    let (url, query) = (format!("/catalogs/{}", known.name), named(&name));
    if !board.more.is_empty() {
        board.more = format!("{url}/context?{query}&rows={}", board.total);
    }
    board.can_pick = false;
    Ok(Page(ContextPageShown {
        frame: visitor.frame("catalogs"),
        answered: ranked.as_ref().map_or_else(|| "–".into(), |(ranked, _)| count(ranked.presentations)),
        choices: service.recent_choices(&known, &events).await?,
        presentations: service.recent_presentations(&known, &name, &events).await?,
        board,
        url,
        query,
        name,
        catalog,
    }))
}

impl Service {
    async fn recent_choices(&self, known: &Known, events: &[Event]) -> Result<Vec<ChoiceRow>, Problem> {
        let mut rows = Vec::new();
        for event in events {
            let key = withdrawal_key(event.kind, &event.id);
            let is_withdrawn =
                event.kind != EventKind::Withdrawal && self.store.find(known.id, EventKind::Withdrawal, key).await?.is_some();
            rows.extend(ChoiceRow::new(event, is_withdrawn));
        }
        Ok(rows)
    }

    async fn recent_presentations(&self, known: &Known, name: &str, events: &[Event]) -> Result<Vec<PresentationRow>, Problem> {
        let answered: HashSet<&str> = events.iter().map(|event| event.id.as_str()).collect();
        let mut rows = Vec::new();
        for note in self.store.presentations(known.id, Some(name.to_owned()), RECENT).await? {
            let Ok(Noted { options, policy }) = serde_json::from_str(&note.body) else { continue };
            let is_answered = answered.contains(note.id.as_str())
                || self.store.find(known.id, EventKind::Choice, note.id.clone()).await?.is_some();
            rows.push(PresentationRow { time: time(note.time), read: read_time(note.time), options, policy, is_answered });
        }
        Ok(rows)
    }
}

/// Takes a choice back, and goes to where it was asked for.
pub(super) async fn withdraw(
    State(service): State<Shared>,
    visitor: Visitor,
    Path(catalog): Path<String>,
    Form(form): Form,
) -> Result<Redirect, Oops> {
    let known = visitor.access.catalog(&service, Scope::Admin, &catalog)?;
    let name = context_of(&form)?;
    service.withdraw(&known, form.get("id").to_owned()).await?;
    Ok(Redirect::to(&format!("/catalogs/{catalog}/context?{}", named(&name))))
}

/// Erases a context, if it is named once more.
pub(super) async fn erase(
    State(service): State<Shared>,
    visitor: Visitor,
    Path(catalog): Path<String>,
    Form(form): Form,
) -> Result<Redirect, Oops> {
    let known = visitor.access.catalog(&service, Scope::Admin, &catalog)?;
    let name = context_of(&form)?;
    if form.get("again") != name {
        return Err(Problem::invalid("again", "nothing was erased: the name that was typed is another one").into());
    }
    let erased = service.erase(known.id, Some(name)).await?;
    if erased.seq.is_none() {
        return Err(Problem::new(Kind::NoContext, "nothing is recorded of this context").into());
    }
    Ok(Redirect::to(&format!("/catalogs/{catalog}")))
}
