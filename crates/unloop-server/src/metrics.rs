//! Figures for Prometheus. No option, context, catalog or key is ever a label.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use crate::lock::lock;

/// Flushes whose times are looked at, seconds that are remembered, and over which a rate is told.
const FLUSHES: usize = 1_000;
const SECONDS: usize = 64;
const RATE_SECONDS: u64 = 10;

/// A request: its route, never its path.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct Call {
    pub(crate) method: String,
    pub(crate) route: String,
    pub(crate) status: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct Route {
    pub(crate) route: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct What {
    pub(crate) outcome: &'static str,
}

/// All figures.
pub(crate) struct Metrics {
    registry: Registry,
    calls: Family<Call, Counter>,
    seconds: Family<Route, Histogram>,
    appends: Histogram,
    /// What became of answers to presentations, imported and withdrawn choices.
    outcomes: Family<What, Counter>,
    presentations: Counter,
    rankings: Histogram,
    contexts: Gauge,
    cache_bytes: Gauge,
    position: Gauge,
    ready: Gauge,
    /// For people, who do not read histograms.
    last: Mutex<LastMinute>,
    errors: Counter,
    begun: Instant,
}

/// What happened lately.
#[derive(Default)]
struct LastMinute {
    /// Seconds, each with choices that were recorded in it.
    recorded: VecDeque<(u64, u32)>,
    /// Times until what was appended was flushed.
    flushes: VecDeque<Duration>,
}

/// How it fares, for people.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Vitals {
    /// Choices acknowledged a second, over the last ten whole seconds.
    pub(crate) acknowledged: f64,
    /// Half, and 99 of 100, of the last appends were flushed in this time.
    pub(crate) flush: Option<(Duration, Duration)>,
    pub(crate) recorded: u64,
    pub(crate) repeated: u64,
    pub(crate) expired: u64,
    pub(crate) forged: u64,
    pub(crate) conflicts: u64,
    pub(crate) withdrawn: u64,
    pub(crate) errors: u64,
    pub(crate) presentations: u64,
}

/// 50 µs to 26 s, each twice the one before.
fn times() -> Histogram {
    Histogram::new((0..20).map(|i| 5e-5 * f64::from(1 << i)))
}

impl Default for Metrics {
    fn default() -> Self {
        let mut own = Self {
            registry: Registry::with_prefix("unloop"),
            calls: Family::default(),
            seconds: Family::new_with_constructor(times),
            appends: times(),
            outcomes: Family::default(),
            presentations: Counter::default(),
            rankings: times(),
            contexts: Gauge::default(),
            cache_bytes: Gauge::default(),
            position: Gauge::default(),
            ready: Gauge::default(),
            last: Mutex::default(),
            errors: Counter::default(),
            begun: Instant::now(),
        };
        let registry = &mut own.registry;
        registry.register("http_requests", "Requests by route and status", own.calls.clone());
        registry.register_with_unit("http_request_duration", "Time to answer", Unit::Seconds, own.seconds.clone());
        registry.register_with_unit(
            "append_duration",
            "Time until what is appended is flushed",
            Unit::Seconds,
            own.appends.clone(),
        );
        registry.register("choices", "What became of answers, imports and withdrawals", own.outcomes.clone());
        registry.register("presentations", "Presentations handed out", own.presentations.clone());
        registry.register_with_unit("ranking_duration", "Time to compute a ranking", Unit::Seconds, own.rankings.clone());
        registry.register("contexts_cached", "Contexts in memory", own.contexts.clone());
        registry.register_with_unit("cache", "Memory of contexts", Unit::Bytes, own.cache_bytes.clone());
        registry.register("log_position", "Up to where the log was taken in", own.position.clone());
        registry.register("ready", "Whether it can record choices", own.ready.clone());
        own
    }
}

impl Metrics {
    pub(crate) fn called(&self, method: &str, route: &str, status: u16, time: Duration) {
        let call = Call { method: method.to_owned(), route: route.to_owned(), status };
        self.calls.get_or_create(&call).inc();
        if status >= 500 {
            self.errors.inc();
        }
        self.seconds.get_or_create(&Route { route: route.to_owned() }).observe(time.as_secs_f64());
    }

    pub(crate) fn appended(&self, time: Duration) {
        self.appends.observe(time.as_secs_f64());
        let flushes = &mut lock(&self.last).flushes;
        if flushes.len() == FLUSHES {
            flushes.pop_front();
        }
        flushes.push_back(time);
    }

    pub(crate) fn ranked(&self, time: Duration) {
        self.rankings.observe(time.as_secs_f64());
    }

    pub(crate) fn outcome(&self, outcome: &'static str) {
        self.outcomes.get_or_create(&What { outcome }).inc();
        if outcome == "recorded" {
            let (second, recorded) = (self.second(), &mut lock(&self.last).recorded);
            match recorded.back_mut() {
                Some((own, count)) if *own == second => *count += 1,
                _ => recorded.push_back((second, 1)),
            }
            if recorded.len() > SECONDS {
                recorded.pop_front();
            }
        }
    }

    /// Seconds since it began.
    fn second(&self) -> u64 {
        self.begun.elapsed().as_secs()
    }

    /// How it fares, for people.
    pub(crate) fn vitals(&self) -> Vitals {
        let count = |outcome| self.outcomes.get_or_create(&What { outcome }).get();
        let second = self.second();
        let last = lock(&self.last);
        let whole = second.clamp(1, RATE_SECONDS);
        let recent = last.recorded.iter().filter(|&&(own, _)| own < second && own + RATE_SECONDS >= second);
        let acknowledged = f64::from(recent.map(|&(_, count)| count).sum::<u32>()) / whole as f64;
        let mut flushes: Vec<Duration> = last.flushes.iter().copied().collect();
        drop(last);
        flushes.sort_unstable();
        let at = |part: usize| flushes.get((flushes.len() * part / 100).min(flushes.len().saturating_sub(1))).copied();
        Vitals {
            acknowledged,
            flush: at(50).zip(at(99)),
            recorded: count("recorded"),
            repeated: count("repeated"),
            expired: count("expired"),
            forged: count("forged"),
            conflicts: count("conflict"),
            withdrawn: count("withdrawn"),
            errors: self.errors.get(),
            presentations: self.presentations.get(),
        }
    }

    pub(crate) fn presented(&self) {
        self.presentations.inc();
    }

    /// As text, with what is as it is now.
    pub(crate) fn text(&self, used: unloop_store::CacheUse, position: u64, ready: bool) -> String {
        let number = |value: usize| i64::try_from(value).unwrap_or(i64::MAX);
        self.contexts.set(number(used.contexts));
        self.cache_bytes.set(number(used.bytes));
        self.position.set(i64::try_from(position).unwrap_or(i64::MAX));
        self.ready.set(i64::from(ready));
        let mut text = String::new();
        if encode(&mut text, &self.registry).is_err() {
            let _ = writeln!(text, "# some figures could not be written");
        }
        text
    }
}
