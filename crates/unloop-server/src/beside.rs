//! Threads for what takes long: rankings, predictions. They give way to those that answer.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

use rayon::{ThreadPool, ThreadPoolBuilder};
use thread_priority::{ThreadPriority, set_current_thread_priority};

use crate::problem::Problem;
use crate::standing::internal;

/// As many as there are cores, of the least priority; none where there can be none.
fn pool() -> Option<&'static ThreadPool> {
    static POOL: OnceLock<Option<ThreadPool>> = OnceLock::new();
    let give_way = |_| {
        if let Err(error) = set_current_thread_priority(ThreadPriority::Min) {
            tracing::debug!(?error, "rankings have the priority of answers");
        }
    };
    let name = |number| format!("unloop-rank-{number}");
    POOL.get_or_init(|| ThreadPoolBuilder::new().thread_name(name).start_handler(give_way).build().ok()).as_ref()
}

/// Does something that takes long; what it does in parallel is done there, too.
pub(crate) async fn compute<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Problem> {
    let Some(pool) = pool() else {
        return tokio::task::spawn_blocking(work).await.map_err(|error| internal(&error));
    };
    let (done, waiting) = tokio::sync::oneshot::channel();
    pool.spawn(move || {
        // A panic would end the process.
        let result = catch_unwind(AssertUnwindSafe(work));
        // Whoever asked may have gone.
        drop(done.send(result));
    });
    match waiting.await {
        Ok(Ok(result)) => Ok(result),
        Ok(Err(_)) => Err(internal(&"a computation panicked")),
        Err(error) => Err(internal(&error)),
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
}
