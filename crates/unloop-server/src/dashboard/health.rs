//! How the server fares, for people.

use std::time::Duration;

use askama::Template;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use unloop_plot::figures::count;

use super::page::{Frame, Oops, Page, is_part};
use super::session::Visitor;
use crate::service::Shared;

/// A figure with what it means.
struct Figure {
    name: &'static str,
    value: String,
    told: &'static str,
}

#[derive(Template)]
#[template(path = "health.html")]
struct HealthPage {
    frame: Frame,
    figures: Vec<Figure>,
    catalogs: Vec<Drawn>,
    problem: String,
}

#[derive(Template)]
#[template(path = "health_part.html")]
struct HealthPart {
    figures: Vec<Figure>,
    catalogs: Vec<Drawn>,
    problem: String,
}

/// How good the draws behind a catalog's ranking are.
struct Drawn {
    catalog: String,
    distinct: String,
    effective: String,
    rhat: String,
    took: String,
    is_good: bool,
}

fn milliseconds(time: Duration) -> String {
    format!("{:.2} ms", 1e3 * time.as_secs_f64())
}

/// Bytes as people read them.
fn bytes(bytes: f64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB"];
    let (mut value, mut place) = (bytes, 0);
    while value >= 1e3 && place + 1 < units.len() {
        (value, place) = (value / 1e3, place + 1);
    }
    let digits = usize::from(place > 0);
    format!("{value:.digits$} {}", units[place])
}

/// Shows it.
pub(super) async fn show(State(service): State<Shared>, visitor: Visitor, headers: HeaderMap) -> Result<Response, Oops> {
    let vitals = service.metrics.vitals();
    let (used, size) = (service.contexts.used(), service.store.bytes().await?);
    let whole = |value: u64| count(value as f64);
    let figure = |name, value, told| Figure { name, value, told };
    let figures = vec![
        figure(
            "Acknowledged",
            format!("{:.1} / s", vitals.acknowledged),
            "choices recorded and flushed, over the last ten seconds",
        ),
        figure(
            "Flush",
            vitals.flush.map_or_else(|| "–".into(), |(half, most)| format!("{} · {}", milliseconds(half), milliseconds(most))),
            "until what was appended is on the disk: median, and 99 of 100",
        ),
        figure("Recorded", whole(vitals.recorded), "choices since this server started"),
        figure("Presented", whole(vitals.presentations), "presentations since it started"),
        figure("Duplicates", whole(vitals.repeated), "the same answer again: answered as the first time"),
        figure("Conflicts", whole(vitals.conflicts), "another answer to what was answered: refused"),
        figure("Late", whole(vitals.expired), "answers after the expiry: refused"),
        figure("Forged", whole(vitals.forged), "tokens that no secret of ours has signed: refused"),
        figure("Withdrawn", whole(vitals.withdrawn), "choices taken back"),
        figure("Errors", whole(vitals.errors), "requests that ended in a fault of ours"),
        figure(
            "Cache",
            format!("{} · {}", bytes(used.bytes as f64), whole(used.contexts as u64)),
            "memory of contexts, and how many",
        ),
        figure("Database", bytes(size as f64), "on the disk, with its write-ahead log"),
        figure("Position", whole(service.position()), "up to where the log was taken in"),
    ];
    let mut catalogs = Vec::new();
    for known in service.registry.get().catalogs() {
        if visitor.access.only().is_some_and(|only| only != known.id) {
            continue;
        }
        // Only what is there already: this page computes nothing.
        let Some(ranked) = service.rankings.kept(known.id, known.settings.size as usize) else { continue };
        let finite = |value: f64, text: String| if value.is_finite() { text } else { "–".to_owned() };
        catalogs.push(Drawn {
            catalog: known.name.clone(),
            distinct: count(ranked.distinct as f64),
            effective: finite(ranked.ess_min, count(ranked.ess_min.round())),
            rhat: finite(ranked.rhat_max, format!("{:.3}", ranked.rhat_max)),
            took: milliseconds(ranked.took),
            is_good: !(ranked.ess_min < 400.0 || ranked.rhat_max > 1.01),
        });
    }
    let problem = service.health.problem().map(|problem| problem.to_json());
    let problem = problem.and_then(|told| told.get("detail").and_then(|own| own.as_str()).map(str::to_owned)).unwrap_or_default();
    Ok(if is_part(&headers) {
        Page(HealthPart { figures, catalogs, problem }).into_response()
    } else {
        Page(HealthPage { frame: visitor.frame("health"), figures, catalogs, problem }).into_response()
    })
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn bytes_read_well() {
        assert_eq!([0.0, 999.0, 1_000.0, 258_400_000.0, 3e15].map(bytes), ["0 B", "999 B", "1.0 kB", "258.4 MB", "3000.0 TB"]);
    }
}
