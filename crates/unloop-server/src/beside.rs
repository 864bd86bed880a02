//! Threads for what takes long: rankings, predictions. They let go of their cores every so often.
//!
//! A ranking keeps a core for a tenth of a second. Whoever is woken up to answer meanwhile, waits for a turn of the scheduler, three or four milliseconds, now and then also where
//! threads that compute have a lower rank: with 10 000 contexts of 30 choices, 600 rounds and 1.2 rankings a second on two cores, the slowest hundredth of choices took 4.2 ms, and takes
//! 1.4 ms since they rest, and that of presentations 2.3 and 0.7 ms. A rank of 5 or 10 less besides changes nothing.

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::problem::Problem;
use crate::standing::internal;

/// Does something that takes long beside the threads that answer.
pub(crate) async fn compute<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Problem> {
    tokio::task::spawn_blocking(work).await.map_err(|error| internal(&error))
}

/// So long they compute,
const SPELL: Duration = Duration::from_micros(300);
/// and so long they rest: some hundredths of a millisecond, as short as the system's timers can.
const REST: Duration = Duration::from_micros(1);

thread_local! {
    /// When this thread rested last. Whoever comes back to compute rests at once: nobody waits for so little.
    static RESTED: Cell<Instant> = Cell::new(Instant::now());
}

/// For whoever computes, to be called now and then.
pub(crate) fn rest() {
    if RESTED.get().elapsed() >= SPELL {
        std::thread::sleep(REST);
        RESTED.set(Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_a_problem_and_no_end() {
        assert!(compute(|| panic!("on purpose")).await.is_err());
        assert_eq!(compute(|| 2 + 2).await.ok(), Some(4));
    }

    #[test]
    fn whoever_computed_for_long_rests() {
        let before = RESTED.get();
        while before.elapsed() < SPELL {
            std::hint::spin_loop();
        }
        rest();
        assert!(RESTED.get() > before + SPELL);
    }
}
