//! Pages that may not be asked for now, while requisites of pages that were fetched may: a crawl that has as many pages as
//! it was told to get is not done before those look as they should.

use lycosa_types::{UnixMs, requisite};

use super::Frontier;
use crate::host_queue::Entry;
use crate::schedule::HostIndex;

/// Whether pages are held, and the hosts whose turn came meanwhile.
#[derive(Debug, Default)]
pub(super) struct Held {
    pub on: bool,
    hosts: Vec<HostIndex>,
}

impl Frontier {
    /// From now on only requisites are leased, or all again.
    pub fn hold_pages(&mut self, on: bool, now: UnixMs) {
        if std::mem::replace(&mut self.held.on, on) && !on {
            for index in std::mem::take(&mut self.held.hosts) {
                self.settle(index, now);
            }
        }
    }

    /// A host where only pages wait stands aside.
    pub(super) fn hold(&mut self, index: HostIndex) {
        if let Some(host) = self.hosts.get_mut(index) {
            host.place = crate::host::Place::Idle;
            self.held.hosts.push(index);
        }
    }

    /// Whether a host's next entry is a requisite. They stand before its pages.
    pub(super) fn has_requisite(&self, index: HostIndex) -> bool {
        let Some(host) = self.hosts.get(index) else { return false };
        let again = host.revisits.first_key_value().map(|(_, entry)| &**entry);
        host.queue.best_entry().into_iter().chain(again).any(is_requisite)
    }

    /// That requisite, taken out of the queue.
    pub(super) fn take_requisite(&mut self, index: HostIndex) -> Option<Box<Entry>> {
        let host = self.hosts.get_mut(index)?;
        if host.queue.best_entry().is_some_and(is_requisite) {
            let entry = host.queue.pop();
            self.entries_in_memory -= 1;
            return entry;
        }
        host.revisits.first_key_value().filter(|(_, entry)| is_requisite(entry))?;
        host.revisits.pop_first().map(|(_, entry)| entry)
    }
}

pub(super) fn is_requisite(entry: &Entry) -> bool {
    requisite::is_marked(entry.redirects)
}
