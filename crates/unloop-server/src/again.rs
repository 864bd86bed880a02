//! A future that wakes itself up while it is polled is polled again at once.
//!
//! Whoever reads a request's body wakes up who hands it over, and the other way round; both are parts of one task. The runtime puts a task that woke itself up
//! into a queue, and wakes up another thread that may take it from there: twice for each body, and each time for nothing. That took 0.1 ms or more of somebody's
//! time, more than all else that a call does (`docs/http.md`).

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::task::AtomicWaker;

/// Times in a row: then others have their turn.
const MOST: usize = 16;

/// A future that is polled again at once where it woke itself up.
pub(crate) struct Again<F> {
    inner: Pin<Box<F>>,
    signal: Arc<Signal>,
    waker: Waker,
}

impl<F> Again<F> {
    pub(crate) fn new(inner: F) -> Self {
        let signal = Arc::new(Signal::default());
        Self { inner: Box::pin(inner), waker: Waker::from(Arc::clone(&signal)), signal }
    }
}

impl<F: Future> Future for Again<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let Self { inner, signal, waker } = &mut *self;
        signal.outer.register(context.waker());
        for _ in 0..MOST {
            signal.state.store(Signal::POLLED, Ordering::Release);
            if let Poll::Ready(output) = inner.as_mut().poll(&mut Context::from_waker(waker)) {
                return Poll::Ready(output);
            }
            if signal.state.swap(Signal::LEFT, Ordering::AcqRel) == Signal::POLLED {
                return Poll::Pending;
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

/// What the inner future wakes up.
#[derive(Default)]
struct Signal {
    state: AtomicU8,
    outer: AtomicWaker,
}

impl Signal {
    /// Nobody polls it: whoever wakes it up has the runtime do so.
    const LEFT: u8 = 0;
    /// Somebody does, and nobody woke it up since that began.
    const POLLED: u8 = 1;
    /// Somebody does, and will again.
    const WOKEN: u8 = 2;
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let polled = self.state.compare_exchange(Self::POLLED, Self::WOKEN, Ordering::AcqRel, Ordering::Acquire);
        if polled == Err(Self::LEFT) {
            self.outer.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::time::Duration;

    use super::*;

    /// Counts how often it wakes somebody up.
    #[derive(Default)]
    struct Counter(AtomicUsize);

    impl Wake for Counter {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Wakes itself up so many times before it is done.
    async fn restless(times: usize) -> usize {
        let mut left = times;
        std::future::poll_fn(|context| {
            if left == 0 {
                return Poll::Ready(times);
            }
            left -= 1;
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await
    }

    #[test]
    fn the_runtime_is_left_alone() {
        let counter = Arc::new(Counter::default());
        let waker = Waker::from(Arc::clone(&counter));
        let mut context = Context::from_waker(&waker);
        let mut future = Again::new(restless(MOST - 1));
        assert_eq!(Pin::new(&mut future).poll(&mut context), Poll::Ready(MOST - 1));
        assert_eq!(counter.0.load(Ordering::SeqCst), 0);
    }

    #[test]
    fn others_have_their_turn() {
        let counter = Arc::new(Counter::default());
        let waker = Waker::from(Arc::clone(&counter));
        let mut context = Context::from_waker(&waker);
        let mut future = Again::new(restless(3 * MOST));
        for turn in 1..=3 {
            assert!(Pin::new(&mut future).poll(&mut context).is_pending());
            assert_eq!(counter.0.load(Ordering::SeqCst), turn);
        }
        assert!(Pin::new(&mut future).poll(&mut context).is_ready());
    }

    /// Two threads hand something to and fro: where a wake-up is lost, this never ends.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn nothing_that_others_do_is_missed() {
        const ROUNDS: u32 = 100_000;
        let (there, mut asked) = tokio::sync::mpsc::channel::<u32>(1);
        let (back, mut answered) = tokio::sync::mpsc::channel::<u32>(1);
        let echo = tokio::spawn(Again::new(async move {
            while let Some(number) = asked.recv().await {
                back.send(number + 1).await.unwrap();
            }
        }));
        let caller = tokio::spawn(Again::new(async move {
            for number in 0..ROUNDS {
                there.send(number).await.unwrap();
                assert_eq!(answered.recv().await, Some(number + 1));
            }
        }));
        let both = async { (echo.await, caller.await) };
        let (echo, caller) = tokio::time::timeout(Duration::from_mins(1), both).await.expect("none is missed");
        echo.unwrap();
        caller.unwrap();
    }
}
