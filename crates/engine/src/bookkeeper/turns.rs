//! Work that one thread at a time can do, done by whichever comes: nobody waits for another, and nothing is left undone.

use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::sync::{LockResult, Mutex, MutexGuard, PoisonError};

pub(super) struct Turns<T> {
    /// What is worked on; none once there is nothing to do any more.
    thing: Mutex<Option<T>>,
    /// There is work that nobody has begun.
    waiting: AtomicBool,
}

impl<T> Turns<T> {
    pub fn new(thing: T) -> Self {
        Self { thing: Mutex::new(Some(thing)), waiting: AtomicBool::new(false) }
    }

    /// For somebody who has brought work: does it, unless another is at it, who then does it before he goes.
    pub fn come(&self, work: impl FnMut(&mut T)) {
        self.waiting.store(true, Ordering::Release);
        self.work_off(work);
    }

    /// Does what waits, as long as nobody else is at it.
    ///
    /// Whoever comes says first that work waits and looks then whether somebody is there; whoever goes is first gone and
    /// looks then whether work waits. So one of them sees the other, and the fences keep both in that order.
    pub fn work_off(&self, mut work: impl FnMut(&mut T)) {
        loop {
            fence(Ordering::SeqCst);
            if !self.waiting.load(Ordering::Relaxed) {
                return;
            }
            // Nothing is done any more where somebody panicked: his thing is not whole.
            let Ok(mut thing) = self.thing.try_lock() else { return };
            let Some(thing) = thing.as_mut() else { return };
            self.waiting.swap(false, Ordering::AcqRel);
            work(thing);
        }
    }

    /// Ends the work, whatever became of it.
    pub fn close(&self) {
        self.thing.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// The thing itself, after waiting for whoever is at it. [`Self::work_off`] must follow, since others leave work behind.
    pub fn lock(&self) -> LockResult<MutexGuard<'_, Option<T>>> {
        self.thing.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    /// Each thread brings numbers and leaves at once when another is at work; still every number is taken in.
    #[test]
    fn nothing_is_left_behind() {
        const THREADS: u64 = 4;
        const EACH: u64 = 20_000;
        let (numbers, brought) = channel();
        let turns = Turns::new((brought, 0_u64));
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let (turns, numbers) = (&turns, numbers.clone());
                scope.spawn(move || {
                    for number in 0..EACH {
                        numbers.send(thread * EACH + number).unwrap();
                        turns.come(|(brought, sum)| *sum += brought.try_iter().sum::<u64>());
                    }
                });
            }
        });
        let total = THREADS * EACH;
        let taken = turns.lock().unwrap().as_ref().map(|(_, sum)| *sum);
        assert_eq!(taken, Some(total * (total - 1) / 2));
        turns.close();
        turns.come(|_| unreachable!("the work is over"));
    }
}
