//! The dashboard: pages that show what is shown, what is learnt, and that nothing starves.
//!
//! Pages are made here (`templates/`, askama: every name is escaped) from what the service knows; handlers look, and put into words. Scripts,
//! styles and pictures are part of the binary ([`assets`]); nothing is loaded from elsewhere, and no script or style stands in a page. Whoever
//! signs in does so with an admin key ([`session`]). Without scripts everything works but what moves by itself.

mod assets;
mod board;
mod catalog;
mod catalogs;
mod charts;
mod context;
mod export;
mod fairness;
mod health;
mod live;
mod page;
mod pairs;
mod params;
mod playground;
mod session;

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};
use tokio::sync::Semaphore;

use crate::service::Shared;
use fairness::ServedTotals;
use playground::Playground;

/// Streams of live pages at a time.
const MOST_STREAMS: usize = 256;

/// What pages share beside the service.
pub(crate) struct Dashboard {
    playground: Playground,
    served: ServedTotals,
    streams: Arc<Semaphore>,
}

impl Default for Dashboard {
    fn default() -> Self {
        Self {
            playground: Playground::default(),
            served: ServedTotals::default(),
            streams: Arc::new(Semaphore::new(MOST_STREAMS)),
        }
    }
}

impl Dashboard {
    /// Lets go what nobody has used for long.
    pub(crate) fn sweep(&self) {
        self.playground.sweep();
    }
}

/// All pages.
pub(crate) fn routes() -> Router<Shared> {
    Router::new()
        .route("/", get(catalogs::list))
        .route("/catalogs", post(catalogs::create))
        .route("/catalogs/{catalog}", get(catalog::show))
        .route("/catalogs/{catalog}/live", get(live::stream))
        .route("/catalogs/{catalog}/fairness", get(catalog::fairness))
        .route("/catalogs/{catalog}/charts/{chart}", get(charts::data))
        .route("/catalogs/{catalog}/export/{file}", get(export::of_catalog))
        .route("/catalogs/{catalog}/contexts", get(context::find))
        .route("/catalogs/{catalog}/context", get(context::show))
        .route("/catalogs/{catalog}/context/export/{file}", get(export::of_context))
        .route("/catalogs/{catalog}/context/erase", post(context::erase))
        .route("/catalogs/{catalog}/withdraw", post(context::withdraw))
        .route("/try", get(playground::list).post(playground::create))
        .route("/try/{id}", get(playground::show))
        .route("/try/{id}/state", get(playground::state))
        .route("/try/{id}/choose", post(playground::choose))
        .route("/try/{id}/people", post(playground::people))
        .route("/try/{id}/chart", get(playground::chart))
        .route("/try/{id}/chart.svg", get(playground::picture))
        .route("/health", get(health::show))
        .route("/sign-in", get(session::ask).post(session::enter))
        .route("/sign-out", post(session::leave))
        .route("/assets/{file}", get(assets::send))
}
