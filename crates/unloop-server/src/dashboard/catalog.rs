//! A catalog's page: what is believed, how it came about, whether anything starves.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, header};
use unloop_plot::figures::count;

use super::board::{Board, PATIENCE, View, in_a_moment};
use super::catalogs::Figures;
use super::charts::{BACKS, Chart};
use super::fairness::Fairness;
use super::page::{Frame, Oops, Page};
use super::pairs::{Matrix, Prediction, has_simplex, matrix, predict};
use super::params::Params;
use super::session::{Visitor, is_tls};
use crate::access::Scope;
use crate::catalog::Known;
use crate::problem::{Kind, Problem};
use crate::rankings::Ranked;
use crate::service::Shared;

#[derive(Template)]
#[template(path = "catalog.html")]
pub(super) struct CatalogPage {
    frame: Frame,
    name: String,
    url: String,
    /// What is looked at, for addresses of parts.
    query: String,
    view: View,
    is_new: bool,
    /// Where the server is, for the lines to copy.
    address: String,
    active: String,
    settings: String,
    figures: Figures,
    distinct: String,
    effective: String,
    board: Board,
    best: Vec<String>,
    exposure: Vec<String>,
    backs: Vec<Back>,
    fairness: Fairness,
    matrix: Option<Matrix>,
    prediction: Option<Prediction>,
    has_simplex: bool,
}

/// How far back charts may go.
struct Back {
    url: String,
    name: &'static str,
    is_current: bool,
}

#[derive(Template)]
#[template(path = "fairness.html")]
pub(super) struct FairnessPart {
    fairness: Fairness,
}

/// A ranking as it is at hand, of a context or of all, and up to where it holds; none if there is none yet.
pub(super) async fn ranking(
    service: &Shared,
    known: &Arc<Known>,
    context: Option<&str>,
) -> Result<Option<(Arc<Ranked>, u64)>, Problem> {
    let (service, known, context) = (Arc::clone(service), Arc::clone(known), context.map(str::to_owned));
    // To load a big one for the first time takes longer than a page should.
    let found = in_a_moment(async move {
        let size = known.settings.size as usize;
        service.ranking_within(&known, context.as_deref(), size, 0, PATIENCE).await
    });
    match found.await {
        Some(Ok(ranked)) => Ok(Some(ranked)),
        Some(Err(problem)) if problem.kind() != Kind::Computing => Err(problem),
        _ => Ok(None),
    }
}

/// Shows it.
pub(super) async fn show(
    State(service): State<Shared>,
    visitor: Visitor,
    Path(name): Path<String>,
    headers: HeaderMap,
    params: Params,
) -> Result<Page<CatalogPage>, Oops> {
    let known = visitor.access.catalog(&service, Scope::Admin, &name)?;
    let view = View::of(&params);
    let at_hand = ranking(&service, &known, None).await?;
    let ranked = at_hand.as_ref().map(|(ranked, _)| ranked);
    let fairness = match ranked {
        Some(ranked) => service.fairness(&known, ranked).await?,
        None => Vec::new(),
    };
    let named = |chart: Chart| ranked.map_or_else(Vec::new, |ranked| chart.options(ranked, &view));
    let url = format!("/catalogs/{}", known.name);
    let back = |(name, title, ..): (&str, &'static str, i64, i64)| Back {
        url: format!("{url}?{}#time", view.query_with(view.rows(), name)),
        name: title,
        is_current: view.back == name,
    };
    let (settings, host) = (&known.settings, headers.get(header::HOST).and_then(|host| host.to_str().ok()));
    Ok(Page(CatalogPage {
        frame: visitor.frame("catalogs"),
        query: view.query(),
        is_new: params.get("new") == "1",
        address: format!("{}://{}", if is_tls(&headers) { "https" } else { "http" }, host.unwrap_or("localhost:7878")),
        active: count(known.options.iter().filter(|option| option.active).count() as f64),
        settings: format!(
            "{} shown at a time, policy {}, order {}",
            settings.size,
            settings.policy.name(),
            settings.order.name()
        ),
        figures: service.figures(&known).await?,
        distinct: ranked.map_or_else(|| "–".into(), |own| count(own.distinct as f64)),
        effective: ranked.filter(|own| own.ess_min.is_finite()).map_or_else(|| "–".into(), |own| count(own.ess_min.round())),
        board: Board::new(&known, &view, at_hand.as_ref().map(|(ranked, seq)| (&**ranked, *seq)), None),
        best: named(Chart::Best),
        exposure: named(Chart::Exposure),
        backs: BACKS.into_iter().map(back).collect(),
        fairness: Fairness::new(&known, &view, &fairness, ranked.is_some()),
        matrix: ranked.and_then(|ranked| matrix(ranked, &view)),
        prediction: ranked.and_then(|ranked| predict(&known, ranked, &view)),
        has_simplex: ranked.is_some_and(|ranked| has_simplex(ranked)),
        name,
        view,
        url,
    }))
}

/// The fairness panel by itself: it is asked for again and again.
pub(super) async fn fairness(
    State(service): State<Shared>,
    visitor: Visitor,
    Path(name): Path<String>,
    params: Params,
) -> Result<Page<FairnessPart>, Oops> {
    let known = visitor.access.catalog(&service, Scope::Admin, &name)?;
    let view = View::of(&params);
    let figures = match ranking(&service, &known, None).await? {
        Some((ranked, _)) => Some(service.fairness(&known, &ranked).await?),
        None => None,
    };
    let is_known = figures.is_some();
    Ok(Page(FairnessPart { fairness: Fairness::new(&known, &view, &figures.unwrap_or_default(), is_known) }))
}
