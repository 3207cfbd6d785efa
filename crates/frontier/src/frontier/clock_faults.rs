//! What a wrong clock left behind: stored times that are further away than any pause can be. They are cut to the longest
//! pause there is, counted, and told by the caller.

use lycosa_types::{PartitionId, UnixMs, UrlId};

use super::Frontier;
use crate::schedule::HostIndex;
use crate::store::StoreError;

/// No plan reaches further: a page that is due later was planned by a clock that was wrong.
const LONGEST_PLAN_MS: u64 = 10 * 365 * 24 * 3_600 * 1_000;
/// Pages with such plans that are taken up at a time.
const PLANS_AT_ONCE: usize = 1024;

#[derive(Debug, Default)]
pub(super) struct ClockFaults {
    cut: u64,
    /// No plan is left that reaches too far.
    planned: bool,
}

impl Frontier {
    /// Stored times that were cut so far.
    pub fn times_cut(&self) -> u64 {
        self.clock_faults.cut
    }

    /// A host that waits for longer than any pause waits for the longest one.
    pub(super) fn cut_pause(&mut self, index: HostIndex, now: UnixMs) {
        let longest = now.plus_ms(self.options.politeness.longest_pause_ms());
        if let Some(host) = self.hosts.get_mut(index)
            && host.ready_at > longest
        {
            host.ready_at = longest;
            self.clock_faults.cut += 1;
        }
    }

    /// Takes up pages whose next visit was planned by a clock that was wrong: they are visited, and planned anew.
    pub(super) fn find_misplanned(&mut self, now: UnixMs) -> Result<(), StoreError> {
        if self.clock_faults.planned {
            return Ok(());
        }
        let beyond = now.plus_ms(LONGEST_PLAN_MS);
        let mut found = 0;
        for partition in (0..self.options.partitioner.partitions).map(PartitionId) {
            if !self.takes_in(partition) {
                continue;
            }
            let plans: Vec<UrlId> = self
                .store
                .due_after(partition, beyond)
                .map(|plan| plan.map(|(id, _)| id))
                .filter(|id| id.as_ref().map_or(true, |id| !self.revisits.keys.contains(&id.key)))
                .take(PLANS_AT_ONCE - found)
                .collect::<Result<_, _>>()?;
            found += plans.len();
            for id in plans {
                if let Some(record) = self.store.url(id)? {
                    self.clock_faults.cut += u64::from(self.revisit(id, record, now)?);
                }
            }
            if found >= PLANS_AT_ONCE {
                return Ok(());
            }
        }
        self.clock_faults.planned = found == 0;
        Ok(())
    }
}
