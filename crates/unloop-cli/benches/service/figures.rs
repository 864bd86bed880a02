//! What came of a load: times, errors, and how much of the machine others had meanwhile.
#![allow(dead_code, reason = "tests use some of the figures")]

use hdrhistogram::Histogram;

/// What came of it.
pub(crate) struct Load {
    /// Microseconds from when it was due.
    pub(crate) times: Histogram<u64>,
    pub(crate) errors: u64,
    pub(crate) seconds: f64,
    /// The part of the time that other machines on the same host took away: figures with much of it say little.
    pub(crate) stolen: f64,
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

    /// Adds another.
    pub(crate) fn add(&mut self, other: &Self) {
        self.times.add(&other.times).expect("the same bounds");
        self.errors += other.errors;
        let seconds = self.seconds + other.seconds;
        self.stolen = (self.stolen * self.seconds + other.stolen * other.seconds) / seconds.max(f64::MIN_POSITIVE);
        self.seconds = seconds;
    }
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
