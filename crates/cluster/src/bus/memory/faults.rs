//! What goes wrong: chances drawn from a seed, and links between a node and the server that can be cut or paused.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::sync::futures::Notified;

/// How often things go wrong by themselves, in thousandths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Chances {
    /// An answer is lost after the work was done.
    pub lost_answers: u32,
    /// A reader is given a message twice.
    pub repeats: u32,
    /// A batch is refused although there is room.
    pub refused_publishes: u32,
    /// Longest way of a request or an answer.
    pub longest_way: Duration,
}

/// A small generator: the same seed, the same faults.
#[derive(Clone, Debug)]
pub struct Dice(pub u64);

impl Dice {
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `n`.
    pub fn below(&mut self, n: u64) -> u64 {
        self.word() % n.max(1)
    }

    /// A number from 0 up to 1.
    pub fn unit(&mut self) -> f64 {
        (self.word() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn hits(&mut self, thousandths: u32) -> bool {
        thousandths > 0 && self.below(1000) < u64::from(thousandths)
    }
}

/// The way between one node and the server.
#[derive(Debug, Default)]
pub struct Link {
    cut: AtomicBool,
    paused: AtomicBool,
    generation: AtomicU64,
    changed: Notify,
}

impl Link {
    /// Cuts the network, or mends it.
    pub fn set_cut(&self, cut: bool) {
        self.cut.store(cut, Ordering::SeqCst);
        if cut {
            self.generation.fetch_add(1, Ordering::SeqCst);
        }
        self.changed.notify_waiters();
    }

    /// Stops the node in whatever it does, or lets it go on.
    pub fn set_paused(&self, paused: bool) {
        self.paused.store(paused, Ordering::SeqCst);
        self.changed.notify_waiters();
    }

    pub fn is_cut(&self) -> bool {
        self.cut.load(Ordering::SeqCst)
    }

    pub fn is_paused(&self) -> bool {
        self.paused.load(Ordering::SeqCst)
    }

    pub(super) fn generation(&self) -> u64 {
        self.generation.load(Ordering::SeqCst)
    }

    pub(super) fn changed(&self) -> Notified<'_> {
        self.changed.notified()
    }

    /// Returns at once, or when the node goes on.
    pub async fn unpaused(&self) {
        while self.is_paused() {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if self.is_paused() {
                changed.await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chances_come_about_as_often_as_said() {
        let mut dice = Dice(5);
        let hits = (0..10_000).filter(|_| dice.hits(100)).count();
        assert!((800..1200).contains(&hits), "{hits}");
        assert!(!(0..1000).any(|_| dice.hits(0)));
    }
}
