//! Requests at a steady rate, whether or not the server keeps up; the time of each counts from when it was due.
#![allow(dead_code, reason = "tests use the figures alone")]

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use super::caller::Caller;

/// What came of it.
pub(crate) struct Load {
    /// Microseconds from when it was due.
    pub(crate) times: Histogram<u64>,
    pub(crate) errors: u64,
    pub(crate) seconds: f64,
    /// The part of the time that other machines on the same host took away: figures with much of it say little.
    pub(crate) stolen: f64,
}

/// Time of all cores since the start, and the part of it that was taken away; where the system tells.
#[derive(Clone, Copy)]
pub(crate) struct Cores {
    all: f64,
    stolen: f64,
}

impl Cores {
    pub(crate) fn now() -> Self {
        let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
        let times = text.lines().next().unwrap_or_default().split_whitespace().skip(1).take(8);
        let times: Vec<f64> = times.filter_map(|time| time.parse().ok()).collect();
        Self { all: times.iter().sum(), stolen: times.get(7).copied().unwrap_or(0.0) }
    }

    /// The part that was taken away since.
    pub(crate) fn stolen(self) -> f64 {
        let now = Self::now();
        (now.stolen - self.stolen) / (now.all - self.all).max(1.0)
    }
}

impl Load {
    pub(crate) fn new() -> Self {
        Self { times: Histogram::new_with_bounds(1, 60_000_000, 3).expect("bounds"), errors: 0, seconds: 0.0, stolen: 0.0 }
    }

    /// A quantile in milliseconds.
    pub(crate) fn ms(&self, quantile: f64) -> f64 {
        self.times.value_at_quantile(quantile) as f64 / 1e3
    }

    pub(crate) fn rate(&self) -> f64 {
        self.times.len() as f64 / self.seconds
    }
}

/// A request: what it posts where, by its number; and whether the answer is a good one.
pub(crate) trait Calls {
    fn request(&self, number: usize) -> (String, String);
    fn answered(&self, number: usize, status: u16, body: &[u8]) -> bool;
}

/// Sends requests at a rate over some connections (open loop), or as fast as each is answered if there is no rate (closed loop).
pub(crate) async fn load(address: SocketAddr, calls: Rc<dyn Calls>, count: usize, rate: Option<f64>, connections: usize) -> Load {
    let load = Rc::new(RefCell::new(Load::new()));
    let (begin, cores) = (Instant::now(), Cores::now());
    let (send, due) = tokio::sync::mpsc::unbounded_channel();
    // A thread of its own says when: the runtime's timer has milliseconds, and to look at the clock all the time takes a core.
    let clock = std::thread::spawn(move || {
        for number in 0..count {
            let due = begin + rate.map_or(Duration::ZERO, |rate| Duration::from_secs_f64(number as f64 / rate));
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            if send.send((number, due)).is_err() {
                return;
            }
        }
    });
    let due = Rc::new(tokio::sync::Mutex::new(due));
    let local = tokio::task::LocalSet::new();
    for _ in 0..connections {
        let (load, due, calls) = (Rc::clone(&load), Rc::clone(&due), Rc::clone(&calls));
        local.spawn_local(async move {
            let mut caller = Caller::new(address).await.expect("a connection");
            loop {
                let next = due.lock().await.recv().await;
                let Some((number, due)) = next else { break };
                let since = if rate.is_some() { due } else { Instant::now() };
                let (path, body) = calls.request(number);
                let good = if let Ok((status, body)) = caller.post(&path, &body).await {
                    calls.answered(number, status, body)
                } else {
                    caller = Caller::new(address).await.expect("a connection");
                    false
                };
                let mut load = load.borrow_mut();
                load.errors += u64::from(!good);
                let time = u64::try_from(since.elapsed().as_micros()).unwrap_or(u64::MAX);
                load.times.saturating_record(time.max(1));
            }
        });
    }
    local.await;
    let mut load = load.replace(Load::new());
    (load.seconds, load.stolen) = (begin.elapsed().as_secs_f64(), cores.stolen());
    clock.join().expect("it ended");
    load
}
