//! Where long computations may stop for a moment, so that others get their turn.

use std::sync::OnceLock;

static PAUSE: OnceLock<fn()> = OnceLock::new();

/// From now on, whatever takes long here calls this very often, mostly after some microseconds, on each thread that computes: it has to be cheap, and decides whether to stop
/// there for a moment. For a server that computes on the cores it answers with. Results do not depend on it. False if one was set before for the process, which stays.
///
/// ```
/// use std::cell::Cell;
/// use std::time::{Duration, Instant};
///
/// thread_local! {
///     static RESTED: Cell<Instant> = Cell::new(Instant::now());
/// }
///
/// unloop::set_pause(|| {
///     if RESTED.get().elapsed() > Duration::from_millis(1) {
///         std::thread::yield_now();
///         RESTED.set(Instant::now());
///     }
/// });
/// ```
pub fn set_pause(pause: fn()) -> bool {
    PAUSE.set(pause).is_ok()
}

/// A place to stop.
pub(crate) fn pause() {
    if let Some(pause) = PAUSE.get() {
        pause();
    }
}
