//! Threads for what takes long: rankings, predictions.

use crate::problem::Problem;
use crate::standing::internal;

/// Does something that takes long beside the threads that answer.
pub(crate) async fn compute<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Problem> {
    tokio::task::spawn_blocking(work).await.map_err(|error| internal(&error))
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
