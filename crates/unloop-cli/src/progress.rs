//! Progress on standard error, for whoever watches: nothing in the first two seconds, nothing when piped.

use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// What takes no longer goes unmentioned.
const PATIENCE: Duration = Duration::from_secs(2);
const TICK: Duration = Duration::from_millis(100);

/// A line on standard error, from two seconds on until it is dropped.
pub(crate) struct Progress {
    running: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Progress {
    /// Bytes read, of how many if that is known.
    pub(crate) fn reading(read: Arc<AtomicU64>, total: Option<u64>) -> Self {
        let style = if total.is_some() { "{msg} {bar:30} {bytes} of {total_bytes}" } else { "{msg} {spinner} {bytes}" };
        // The line appears late: speed and what is left are counted from the beginning.
        let began = Instant::now();
        Self::start("reading", style, total, move |bar| {
            let bytes = read.load(Ordering::Relaxed);
            let speed = bytes as f64 / began.elapsed().as_secs_f64().max(1e-3);
            let left = total
                .map_or(String::new(), |total| format!(", {:.0} s left", total.saturating_sub(bytes) as f64 / speed.max(1.0)));
            bar.set_position(bytes);
            bar.set_message(format!("reading, {:.0} MB/s{left}", speed / 1e6));
        })
    }

    /// Things done, of how many, and the time that is left.
    pub(crate) fn counting(what: &'static str, done: Arc<AtomicUsize>, total: usize) -> Self {
        let began = Instant::now();
        Self::start(what, "{msg} {bar:30} {pos} of {len}", Some(total as u64), move |bar| {
            let done = done.load(Ordering::Relaxed);
            bar.set_position(done as u64);
            if done > 0 {
                let left = began.elapsed().as_secs_f64() * (total - done.min(total)) as f64 / done as f64;
                bar.set_message(format!("{what}, {left:.0} s left"));
            }
        })
    }

    /// Parts of something, as far as can be told how long each takes, and the time that is left.
    pub(crate) fn parts(what: &'static str, done: impl Fn() -> u64 + Send + 'static, total: u64) -> Self {
        let began = Instant::now();
        Self::start(what, "{msg} {bar:30} {percent} %", Some(total), move |bar| {
            let done = done().min(total);
            bar.set_position(done);
            if done > 0 {
                let left = began.elapsed().as_secs_f64() * (total - done) as f64 / done as f64;
                let left = if left < 100.0 { format!("{left:.0} s") } else { format!("{:.0} min", left / 60.0) };
                bar.set_message(format!("{what}, {left} left"));
            }
        })
    }

    /// Something that takes its time.
    pub(crate) fn working(what: &'static str) -> Self {
        Self::start(what, "{msg} {spinner} {elapsed}", None, |_| {})
    }

    fn start(
        what: &'static str,
        style: &'static str,
        total: Option<u64>,
        update: impl Fn(&ProgressBar) + Send + 'static,
    ) -> Self {
        if !std::io::stderr().is_terminal() {
            return Self { running: None };
        }
        let (stop, stopped) = channel();
        let began = Instant::now();
        let thread = std::thread::spawn(move || {
            if stopped.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr()).with_elapsed(began.elapsed());
            if let Ok(style) = ProgressStyle::with_template(style) {
                bar.set_style(style);
            }
            bar.set_message(what);
            update(&bar);
            while stopped.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                update(&bar);
                bar.tick();
            }
            bar.finish_and_clear();
        });
        Self { running: Some((stop, thread)) }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.running.take() {
            drop(stop);
            // It only draws; that it is gone is all that matters.
            let _ = thread.join();
        }
    }
}
