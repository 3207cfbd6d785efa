//! Where the books are kept. Workers bring their results here, and whoever finds nobody at the books takes the results
//! in and hands out leases, for the others too: a thread of its own would have to be woken for every few pages, and the
//! workers would wait for it. What takes longer, or comes with time alone, is left to the bookkeeper's own thread:
//! partitions that come and go, mail, progress, the end of the crawl.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};

use lycosa_frontier::StoreError;

use super::turns::Turns;
use super::{Bookkeeper, Event, Results, Stop};
use crate::committer::CommitError;
use crate::totals::Totals;
use crate::worker::Finished;

pub struct Desk {
    books: Turns<Bookkeeper>,
}

/// A worker's way to the desk.
pub struct Visitor {
    pub worker: usize,
    pub desk: Arc<Desk>,
    pub results: Sender<Results>,
    /// To the bookkeeper's own thread.
    pub events: Sender<Event>,
}

impl Visitor {
    /// Leaves results at the desk, and does the books if nobody is at them.
    pub fn bring(&self, batch: Vec<Finished>) {
        // Nobody takes results or events any more only when the crawl is over.
        let _ = self.results.send(Results { worker: self.worker, batch });
        self.desk.books.come(|bookkeeper| {
            if bookkeeper.serve_workers() {
                let _ = self.events.send(Event::Wanted);
            }
        });
    }
}

impl Desk {
    pub fn new(bookkeeper: Bookkeeper) -> Self {
        Self { books: Turns::new(bookkeeper) }
    }

    /// Runs the crawl to its end. Everything that ended is committed when this returns without an error.
    pub fn run(&self, events: &Receiver<Event>) -> Result<(Stop, Totals), CommitError> {
        let end = self.run_to_end(events);
        // The workers end when the bookkeeper is gone, and not before.
        self.books.close();
        end
    }

    fn run_to_end(&self, events: &Receiver<Event>) -> Result<(Stop, Totals), CommitError> {
        let mut next = None;
        loop {
            let sleep = {
                // A worker that panicked over the books leaves them in disorder.
                let mut books = self.books.lock().map_err(|_| StoreError::Poisoned)?;
                let bookkeeper = books.as_mut().ok_or(StoreError::Poisoned)?;
                bookkeeper.take_events(next.take().into_iter().chain(events.try_iter()))?;
                match bookkeeper.turn().map_err(|error| reason_given(events).unwrap_or(error))? {
                    None => bookkeeper.sleep(),
                    Some(reason) => {
                        let bookkeeper = books.take().ok_or(StoreError::Poisoned)?;
                        drop(books);
                        return Ok((reason, bookkeeper.finish(reason, events)?));
                    }
                }
            };
            let mut wanted = false;
            self.books.work_off(|bookkeeper| wanted |= bookkeeper.serve_workers());
            if wanted {
                continue;
            }
            next = match events.recv_timeout(sleep) {
                Ok(event) => Some(event),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return Err(StoreError::Poisoned.into()),
            };
        }
    }
}

/// Why the committer ended, if that is what went wrong.
fn reason_given(events: &Receiver<Event>) -> Option<CommitError> {
    events.try_iter().find_map(|event| match event {
        Event::CommitFailed(error) => Some(error),
        _ => None,
    })
}
