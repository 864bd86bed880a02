//! Progress on standard error, for whoever watches: nothing in the first two seconds, nothing when piped.

use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
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
        let style = match total {
            Some(_) => "{msg} {bar:30} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left",
            None => "{msg} {spinner} {bytes}, {bytes_per_sec}",
        };
        Self::start("reading", style, total, move |bar| bar.set_position(read.load(Ordering::Relaxed)))
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
            update(&bar);
            bar.set_message(what);
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
