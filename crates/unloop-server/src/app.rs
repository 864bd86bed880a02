//! All calls put together: routes, what is done around every request, and their description.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::body::Body;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use futures_util::FutureExt;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::{Modify, OpenApi};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;
use uuid::fmt::Simple;

use crate::access::guard;
use crate::api;
use crate::body::refused;
use crate::problem::{Kind, Problem};
use crate::service::{Service, Shared};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "unloop",
        description = "Shows the right few options, learns from what is chosen, never punishes what was not shown.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0"),
    ),
    tags(
        (name = "present and choose", description = "The two calls that matter"),
        (name = "beliefs", description = "What is believed"),
        (name = "choices", description = "Import, export, withdraw"),
        (name = "catalogs", description = "Options with their settings"),
        (name = "options", description = "What can be shown"),
        (name = "contexts", description = "Who chooses"),
        (name = "health", description = "How it fares"),
    ),
    security((), ("key" = [])),
    modifiers(&Keys),
)]
struct Document;

struct Keys;

impl Modify for Keys {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let described =
            "A key that `unloop keys create` made. Needed once there is one, but on health, readiness and this document.";
        let scheme = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).description(Some(described)).build();
        document.components.get_or_insert_default().add_security_scheme("key", SecurityScheme::Http(scheme));
    }
}

fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::with_openapi(Document::openapi())
        .routes(routes!(api::catalogs::list))
        .routes(routes!(api::catalogs::get, api::catalogs::put, api::catalogs::patch, api::catalogs::delete))
        .routes(routes!(api::options::list, api::options::patch))
        .routes(routes!(api::options::put, api::options::delete))
        .routes(routes!(api::presentations::create))
        .routes(routes!(api::presentations::batch))
        .routes(routes!(api::choices::import, api::export::export))
        .routes(routes!(api::choices::withdraw))
        .routes(routes!(api::ranking::get))
        .routes(routes!(api::ranking::predict))
        .routes(routes!(api::contexts::list))
        .routes(routes!(api::contexts::erase))
        .routes(routes!(api::health::live))
        .routes(routes!(api::health::ready))
        .routes(routes!(api::health::metrics))
}

/// The description of all calls: OpenAPI 3.1.
pub fn document() -> String {
    let (_, choice) = OpenApiRouter::<Shared>::default().routes(routes!(api::choice::create)).split_for_parts();
    let (_, mut document) = routes().split_for_parts();
    document.merge(choice);
    document.to_pretty_json().unwrap_or_default()
}

/// All calls over a service.
pub fn app(service: &Arc<Service>) -> Router {
    let text = document();
    let described = get(move || {
        let text = text.clone();
        async move { ([(header::CONTENT_TYPE, "application/json")], text) }
    });
    let (router, _) = routes().split_for_parts();
    let (choice, _) = OpenApiRouter::default().routes(routes!(api::choice::create)).split_for_parts();
    router
        .merge(choice)
        .route("/v1/openapi.json", described)
        .merge(crate::dashboard::routes())
        .fallback(|body: Body| refused(Problem::new(Kind::NoSuchPath, "/v1/openapi.json lists all paths"), body))
        .method_not_allowed_fallback(|body: Body| {
            refused(Problem::new(Kind::Method, "/v1/openapi.json lists what can be done here"), body)
        })
        .layer(from_fn_with_state(Arc::clone(service), around))
        .with_state(Arc::clone(service))
}

/// What is done around every request, in one layer: each more clones all that lies inside of it. From the inside: who may ask, the limit, panics, figures and the log.
async fn around(State(service): State<Shared>, request: Request, next: Next) -> Response {
    let call = Call::begin(&request);
    let answered = tokio::time::timeout(service.settings.request_limit, guard(&service, request, next));
    // What panicked may have left behind is kept by locks that changes pass in one step.
    let response = match AssertUnwindSafe(answered).catch_unwind().await {
        Ok(Ok(response)) => response,
        Ok(Err(_)) => Problem::new(Kind::Timeout, "whether something was recorded is found out by trying again").into_response(),
        Err(panic) => panicked(panic),
    };
    call.end(&service, response)
}

/// A panic is a fault of ours: told in general terms, and logged.
#[expect(clippy::needless_pass_by_value, reason = "it is handed over")]
fn panicked(panic: Box<dyn Any + Send + 'static>) -> Response {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    tracing::error!(panic = text.unwrap_or("?"), "a request panicked");
    Problem::new(Kind::Internal, "something went wrong here; the server's log tells more").into_response()
}

/// A request by its route. Its path holds names of people.
struct Call {
    start: Instant,
    method: &'static str,
    route: Option<MatchedPath>,
    id: Simple,
}

impl Call {
    fn begin(request: &Request) -> Self {
        let route = request.extensions().get::<MatchedPath>().cloned();
        Self { start: Instant::now(), method: known_method(request.method()), route, id: Uuid::now_v7().simple() }
    }

    /// Counts and logs it.
    fn end(self, service: &Service, mut response: Response) -> Response {
        let Self { start, method, route, id } = self;
        let route = route.as_ref().map_or("none", MatchedPath::as_str);
        let (status, time) = (response.status(), start.elapsed());
        service.metrics.called(method, route, status.as_u16(), time);
        let ms = (time.as_secs_f64() * 1e6).round() / 1e3;
        if status.is_server_error() {
            tracing::warn!(target: "unloop::http", %id, method, route, status = status.as_u16(), ms, "answered");
        } else {
            tracing::debug!(target: "unloop::http", %id, method, route, status = status.as_u16(), ms, "answered");
        }
        let headers = response.headers_mut();
        if let Ok(id) = HeaderValue::from_str(id.encode_lower(&mut Uuid::encode_buffer())) {
            headers.insert(HeaderName::from_static("x-request-id"), id);
        }
        if service.health.is_draining() {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
        debug_assert!(status != StatusCode::SWITCHING_PROTOCOLS);
        response
    }
}

/// Methods that have a name of ours: a label must not be whatever anybody sends.
fn known_method(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}
