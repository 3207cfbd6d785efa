//! The tasks of a worker that are used again: what one waits for, and where it finds it.
//!
//! A task for each lease would be allocated, moved into place and freed for each; a lane works off one lease after the
//! other and sleeps in between. Everything here stays on one thread.

use std::cell::Cell;
use std::future::poll_fn;
use std::task::{Poll, Waker};

/// A place for one thing, and the task that waits for it.
pub struct Lane<T> {
    next: Cell<Option<T>>,
    waker: Cell<Option<Waker>>,
}

impl<T> Default for Lane<T> {
    fn default() -> Self {
        Self { next: Cell::new(None), waker: Cell::new(None) }
    }
}

impl<T> Lane<T> {
    /// Hands over the next thing; one that was not taken yet is replaced.
    pub fn give(&self, thing: T) {
        self.next.set(Some(thing));
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    /// Waits for the next thing. One task at a time may wait.
    pub async fn next(&self) -> T {
        poll_fn(|cx| {
            if let Some(thing) = self.next.take() {
                return Poll::Ready(thing);
            }
            let waker = match self.waker.take() {
                Some(waker) if waker.will_wake(cx.waker()) => waker,
                _ => cx.waker().clone(),
            };
            self.waker.set(Some(waker));
            Poll::Pending
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::rc::Rc;

    #[test]
    fn what_is_given_arrives_whoever_comes_first() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let lane = Rc::new(Lane::default());
        let received = tokio::task::LocalSet::new().block_on(&runtime, async {
            let waiting = Rc::clone(&lane);
            let task = tokio::task::spawn_local(async move {
                let mut received = Vec::new();
                while received.len() < 3 {
                    received.push(waiting.next().await);
                }
                received
            });
            lane.give(1);
            for number in [2, 3] {
                // Let it take the last one and go to sleep.
                for _ in 0..3 {
                    tokio::task::yield_now().await;
                }
                lane.give(number);
            }
            task.await.unwrap()
        });
        assert_eq!(received, [1, 2, 3]);
    }
}
