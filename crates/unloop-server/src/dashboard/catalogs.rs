//! All catalogs, and a form that makes one.

use std::collections::HashSet;
use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use unloop_plot::figures::count;
use unloop_store::{Change, Held, OptionChange, Page as ContextPage, check_catalog_name};

use super::board::in_a_moment;
use super::page::{Frame, Oops, Page};
use super::params::Form;
use super::session::Visitor;
use crate::access::Scope;
use crate::catalog::{CatalogSettings, Known};
use crate::problem::Problem;
use crate::service::{Service, Shared};
use crate::standing::internal;

/// Contexts that are counted; more are "more than".
const COUNTED_CONTEXTS: usize = 1_000;
/// Options of a new catalog at most.
const MOST_OPTIONS: usize = 10_000;

/// A catalog in a list.
struct Row {
    name: String,
    options: String,
    figures: Figures,
}

/// What is going on in a catalog.
pub(super) struct Figures {
    pub(super) contexts: String,
    pub(super) answered: String,
    pub(super) presentations: u32,
    pub(super) choices: u32,
    pub(super) rate: String,
}

impl Service {
    /// What is going on in a catalog.
    pub(super) async fn figures(self: &Shared, known: &Known) -> Result<Figures, Problem> {
        let page = ContextPage { prefix: String::new(), after: None, limit: COUNTED_CONTEXTS + 1 };
        let contexts = self.store.contexts(known.id, page).await?.len();
        let contexts =
            if contexts > COUNTED_CONTEXTS { format!("over {}", count(COUNTED_CONTEXTS as f64)) } else { count(contexts as f64) };
        let (service, id) = (Arc::clone(self), known.id);
        let counting = async move { service.contexts.with(id, None, |loaded| loaded.fold().statistics().total()).await };
        let answered = in_a_moment(counting).await.transpose()?;
        let rates = self.trends.rates(known.id);
        Ok(Figures {
            contexts,
            answered: answered.map_or_else(|| "…".to_owned(), count),
            presentations: rates.presentations,
            choices: rates.choices,
            rate: rates.answered.map_or_else(|| "–".to_owned(), |rate| format!("{:.0} %", 100.0 * rate)),
        })
    }
}

#[derive(Template)]
#[template(path = "catalogs.html")]
pub(super) struct Catalogs {
    frame: Frame,
    rows: Vec<Row>,
    can_create: bool,
    given: Given,
    problem: String,
}

/// What a form said.
#[derive(Default)]
struct Given {
    name: String,
    options: String,
    size: String,
}

async fn page(service: &Shared, visitor: &Visitor, given: Given, problem: String) -> Result<Page<Catalogs>, Oops> {
    let all = service.registry.get();
    let only = visitor.access.only();
    // All at once: none waits for another one that is loaded for the first time.
    let asked = all.catalogs().into_iter().filter(|known| only.is_none_or(|only| only == known.id)).map(|known| {
        let (service, known) = (Arc::clone(service), Arc::clone(known));
        tokio::spawn(async move {
            let active = known.options.iter().filter(|option| option.active).count();
            let figures = service.figures(&known).await?;
            Ok::<Row, Problem>(Row { name: known.name.clone(), options: count(active as f64), figures })
        })
    });
    let mut rows = Vec::new();
    for row in asked.collect::<Vec<_>>() {
        rows.push(row.await.map_err(|error| internal(&error))??);
    }
    Ok(Page(Catalogs { frame: visitor.frame("catalogs"), rows, can_create: only.is_none(), given, problem }))
}

/// Lists them.
pub(super) async fn list(State(service): State<Shared>, visitor: Visitor) -> Result<Page<Catalogs>, Oops> {
    let given = Given { size: CatalogSettings::default().size.to_string(), ..Given::default() };
    page(&service, &visitor, given, String::new()).await
}

/// Makes one, and goes there.
pub(super) async fn create(State(service): State<Shared>, visitor: Visitor, Form(form): Form) -> Result<Response, Oops> {
    let text = |name| form.get(name).trim().to_owned();
    let given = Given { name: text("name"), options: form.get("options").to_owned(), size: text("size") };
    match make(&service, &visitor, &given).await {
        Ok(known) => Ok(Redirect::to(&format!("/catalogs/{}?new=1", known.name)).into_response()),
        Err(problem) => {
            let told = problem.to_json();
            let detail = told.get("detail").and_then(|own| own.as_str()).unwrap_or_default().to_owned();
            let page = page(&service, &visitor, given, detail).await?;
            Ok((StatusCode::UNPROCESSABLE_ENTITY, page).into_response())
        }
    }
}

/// Names that somebody pasted: one on each line, or all on one with commas between them.
pub(super) fn pasted(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let parts: Vec<&str> = match lines[..] {
        [one] => one.split(',').map(str::trim).filter(|part| !part.is_empty()).collect(),
        _ => lines,
    };
    let mut seen = HashSet::new();
    parts.into_iter().filter(|name| seen.insert(*name)).map(str::to_owned).collect()
}

async fn make(service: &Service, visitor: &Visitor, given: &Given) -> Result<Arc<Known>, Problem> {
    visitor.access.need(Scope::Admin, None)?;
    check_catalog_name(&given.name)?;
    let size = given.size.parse().map_err(|_| Problem::invalid("size", "how many options are shown is a whole number"))?;
    let settings = CatalogSettings { size, ..CatalogSettings::default() };
    settings.check()?;
    let names = pasted(&given.options);
    if names.is_empty() {
        return Err(Problem::invalid("options", "name at least one option"));
    }
    if names.len() > MOST_OPTIONS {
        let detail = format!("at most {MOST_OPTIONS} options at once; `PATCH …/options` adds more");
        return Err(Problem::invalid("options", detail));
    }
    let options: Vec<OptionChange> = names.iter().map(|name| OptionChange::plain(name)).collect();
    options.iter().try_for_each(crate::api::options::check_option)?;
    if service.registry.get().named(&given.name).is_some() {
        return Err(Problem::invalid("catalog", format!("there is a catalog {:?} already", given.name)));
    }
    let id = service.set_catalog(&given.name, &settings, Some(0)).await?.id;
    service.change(Change::Options { catalog: id, options, expected: None }).await?;
    service.known(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_pasted_in_lines_or_with_commas() {
        assert_eq!(pasted("soup, salad,,curry "), ["soup", "salad", "curry"]);
        assert_eq!(pasted("soup, hot\n salad \n\nsoup, hot"), ["soup, hot", "salad"]);
        assert!(pasted(" \n ").is_empty());
    }
}
