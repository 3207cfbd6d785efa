//! The clock over one exchange: time to first byte, whole time, slow drip.
//!
//! One timer serves all three, and it belongs to the connection: the runtime hears of it only when it fires or must fire
//! sooner. Left at the time of an exchange long over it fires early, is found to be early, and is set anew; so an
//! exchange costs no timer at all, and a connection one in a while.

use std::{
    future::{Future, poll_fn},
    pin::{Pin, pin},
    task::{Context, Poll, ready},
};

use lycosa_types::Failure;
use tokio::time::{Instant, Sleep};

use crate::options::Limits;

#[derive(Debug)]
pub(crate) struct Watch<'a> {
    limits: &'a Limits,
    total_at: Instant,
    phase: Phase,
    sleep: Pin<&'a mut Sleep>,
    received: u64,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    FirstByte { until: Instant },
    Body { window_end: Instant, window_bytes: u64, in_grace: bool },
}

impl<'a> Watch<'a> {
    /// A watch whose exchange must be over at `total_at`. `sleep` may be set to anything.
    pub fn new(limits: &'a Limits, total_at: Instant, sleep: Pin<&'a mut Sleep>) -> Self {
        Self { limits, total_at, phase: Phase::FirstByte { until: total_at }, sleep, received: 0 }
    }

    /// The request goes out now.
    pub fn sending(&mut self, now: Instant) {
        self.phase = Phase::FirstByte { until: now + self.limits.first_byte };
        self.received = 0;
    }

    /// Bytes of the response arrived. Says when, for the first ones.
    pub fn arrived(&mut self, bytes: usize) -> Option<Instant> {
        self.received += bytes as u64;
        if !matches!(self.phase, Phase::FirstByte { .. }) {
            return None;
        }
        let now = Instant::now();
        self.phase = Phase::Body {
            window_end: now + self.limits.slow_grace,
            window_bytes: self.received,
            in_grace: true,
        };
        Some(now)
    }

    /// Runs a step of the exchange, unless time runs out first.
    pub async fn guard<T>(&mut self, step: impl Future<Output = T>) -> Result<T, Failure> {
        let mut step = pin!(step);
        poll_fn(|cx| match step.as_mut().poll(cx) {
            Poll::Ready(done) => Poll::Ready(Ok(done)),
            Poll::Pending => self.poll_expired(cx).map(Err),
        })
        .await
    }

    fn poll_expired(&mut self, cx: &mut Context<'_>) -> Poll<Failure> {
        if self.sleep.deadline() > self.due() {
            self.set_timer();
        }
        loop {
            ready!(self.sleep.as_mut().poll(cx));
            if let Some(failure) = self.check(Instant::now()) {
                return Poll::Ready(failure);
            }
            self.set_timer();
        }
    }

    fn set_timer(&mut self) {
        let due = self.due();
        self.sleep.as_mut().reset(due);
    }

    /// When there is something to check next.
    fn due(&self) -> Instant {
        let due = match self.phase {
            Phase::FirstByte { until } => until,
            Phase::Body { window_end, .. } => window_end,
        };
        due.min(self.total_at)
    }

    fn check(&mut self, now: Instant) -> Option<Failure> {
        if now >= self.total_at {
            return Some(Failure::TotalTimeout);
        }
        match self.phase {
            Phase::FirstByte { until } => (now >= until).then_some(Failure::FirstByteTimeout),
            Phase::Body { window_end, .. } if now < window_end => None,
            Phase::Body { window_bytes, in_grace, .. } => {
                let got = self.received - window_bytes;
                let window_ms = u64::try_from(self.limits.slow_window.as_millis()).unwrap_or(u64::MAX);
                let wanted = self.limits.slow_bytes_per_s.saturating_mul(window_ms) / 1_000;
                if !in_grace && got < wanted {
                    return Some(Failure::TooSlow);
                }
                self.phase = Phase::Body {
                    window_end: now + self.limits.slow_window,
                    window_bytes: self.received,
                    in_grace: false,
                };
                None
            }
        }
    }
}
