//! Which host may be served now, and which one when. Two heaps and a gate per IP address; no clock, no hosts, only
//! their numbers.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::net::IpAddr;

use foldhash::HashMap;
use lycosa_types::UnixMs;

use crate::order::Rank;

/// A host's number in memory, for one run.
pub type HostIndex = u32;

/// What a timer wakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Alarm {
    Host(HostIndex),
    Gate(IpAddr),
    /// The delayed entry with this number.
    Delayed(u64),
}

/// An IP address that several hosts share: one request at a time, with a pause after each.
#[derive(Debug, Default)]
struct Gate {
    busy: bool,
    ready_at: UnixMs,
    waiting: VecDeque<HostIndex>,
}

/// Gates of addresses that nobody waits for are looked for beyond this many.
const MANY_GATES: usize = 100_000;
/// Places of hosts that are gone, among the ready, are looked for beyond this many.
const MANY_STALE: usize = 4096;

#[derive(Debug, Default)]
pub struct Schedule {
    timers: BinaryHeap<Reverse<(UnixMs, Alarm)>>,
    ready: BinaryHeap<Reverse<(Rank, HostIndex)>>,
    gates: HashMap<IpAddr, Gate>,
    /// Gates left after the last look for idle ones: the next look is worth its cost at twice as many.
    gates_left: usize,
}

impl Schedule {
    pub fn wake_at(&mut self, at: UnixMs, alarm: Alarm) {
        self.timers.push(Reverse((at, alarm)));
    }

    /// The next alarm that has come due.
    pub fn due(&mut self, now: UnixMs) -> Option<Alarm> {
        match self.timers.peek() {
            Some(Reverse((at, _))) if *at <= now => self.timers.pop().map(|Reverse((_, alarm))| alarm),
            _ => None,
        }
    }

    /// When the next alarm comes due.
    pub fn next_due(&self) -> Option<UnixMs> {
        self.timers.peek().map(|Reverse((at, _))| *at)
    }

    pub fn push_ready(&mut self, rank: Rank, host: HostIndex) {
        self.ready.push(Reverse((rank, host)));
    }

    /// The ready host with the best rank, and the rank it was given.
    pub fn pop_ready(&mut self) -> Option<(Rank, HostIndex)> {
        self.ready.pop().map(|Reverse(ready)| ready)
    }

    /// The same, and it stays.
    pub fn peek_ready(&self) -> Option<(Rank, HostIndex)> {
        self.ready.peek().map(|Reverse(ready)| *ready)
    }

    pub fn ready_len(&self) -> usize {
        self.ready.len()
    }

    /// Passes the gate of `address`, or queues the host there. True if it passed: [`Self::leave_gate`] must follow.
    pub fn enter_gate(&mut self, address: IpAddr, host: HostIndex, now: UnixMs) -> bool {
        let gate = self.gates.entry(address).or_default();
        if !gate.busy && gate.ready_at <= now {
            gate.busy = true;
            return true;
        }
        gate.waiting.push_back(host);
        if !gate.busy && gate.waiting.len() == 1 {
            let at = gate.ready_at;
            self.wake_at(at, Alarm::Gate(address));
        }
        false
    }

    /// Frees the gate; the next host may pass at `ready_at`.
    pub fn leave_gate(&mut self, address: IpAddr, ready_at: UnixMs, now: UnixMs) {
        let Some(gate) = self.gates.get_mut(&address) else {
            return;
        };
        gate.busy = false;
        gate.ready_at = gate.ready_at.max(ready_at);
        if !gate.waiting.is_empty() {
            let at = gate.ready_at;
            self.wake_at(at, Alarm::Gate(address));
        }
        if self.gates.len() > MANY_GATES.max(self.gates_left * 2) {
            self.gates.retain(|_, gate| gate.busy || gate.ready_at > now || !gate.waiting.is_empty());
            self.gates_left = self.gates.len();
        }
    }

    /// Clears the ready of hosts that are gone, if they outnumber the `hosts` there are.
    pub fn forget_stale(&mut self, hosts: usize, exists: impl Fn(HostIndex) -> bool) {
        if self.ready.len() > 2 * hosts + MANY_STALE {
            self.ready.retain(|Reverse((_, host))| exists(*host));
        }
    }

    /// The host that has waited longest at the gate of `address`, if the gate is free now.
    pub fn next_at_gate(&mut self, address: IpAddr, now: UnixMs) -> Option<HostIndex> {
        let gate = self.gates.get_mut(&address)?;
        if gate.busy {
            return None;
        }
        if gate.ready_at > now {
            let at = gate.ready_at;
            self.wake_at(at, Alarm::Gate(address));
            return None;
        }
        gate.waiting.pop_front()
    }

    /// After a host that was let through did not use the gate: lets the next one try.
    pub fn pass_on(&mut self, address: IpAddr, now: UnixMs) {
        if self.gates.get(&address).is_some_and(|gate| !gate.busy && !gate.waiting.is_empty()) {
            self.wake_at(now, Alarm::Gate(address));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_lets_one_host_pass_at_a_time() {
        let ip: IpAddr = [127, 0, 0, 1].into();
        let mut schedule = Schedule::default();
        assert!(schedule.enter_gate(ip, 1, UnixMs(0)));
        assert!(!schedule.enter_gate(ip, 2, UnixMs(0)));
        assert!(!schedule.enter_gate(ip, 3, UnixMs(0)));
        assert_eq!(schedule.due(UnixMs(1000)), None);
        schedule.leave_gate(ip, UnixMs(150), UnixMs(0));
        assert_eq!(schedule.due(UnixMs(149)), None);
        assert_eq!(schedule.due(UnixMs(150)), Some(Alarm::Gate(ip)));
        assert_eq!(schedule.next_at_gate(ip, UnixMs(150)), Some(2));
        assert!(schedule.enter_gate(ip, 2, UnixMs(150)));
        schedule.leave_gate(ip, UnixMs(300), UnixMs(150));
        assert_eq!(schedule.due(UnixMs(300)), Some(Alarm::Gate(ip)));
        assert_eq!(schedule.next_at_gate(ip, UnixMs(300)), Some(3));
    }

    #[test]
    fn a_gate_that_rests_wakes_once_for_all_that_wait() {
        let ip: IpAddr = [127, 0, 0, 1].into();
        let mut schedule = Schedule::default();
        assert!(schedule.enter_gate(ip, 1, UnixMs(0)));
        schedule.leave_gate(ip, UnixMs(100), UnixMs(10));
        assert_eq!(schedule.next_due(), None, "nobody waits");
        for host in [2, 3, 4] {
            assert!(!schedule.enter_gate(ip, host, UnixMs(99)));
        }
        assert_eq!(schedule.next_due(), Some(UnixMs(100)));
        assert_eq!(schedule.next_at_gate(ip, UnixMs(99)), None);
        assert_eq!(schedule.due(UnixMs(100)), Some(Alarm::Gate(ip)));
        // Asked too early, it rings again; that is the only other alarm there is.
        assert_eq!(schedule.due(UnixMs(100)), Some(Alarm::Gate(ip)));
        assert_eq!(schedule.due(UnixMs(1000)), None);
        assert_eq!(schedule.next_at_gate(ip, UnixMs(100)), Some(2));
        // A host that did not use its turn passes it on.
        schedule.pass_on(ip, UnixMs(100));
        assert_eq!(schedule.due(UnixMs(100)), Some(Alarm::Gate(ip)));
        assert!(schedule.enter_gate(ip, 3, UnixMs(100)));
        schedule.pass_on(ip, UnixMs(100));
        assert_eq!(schedule.due(UnixMs(1000)), None, "a gate in use is left by the host that has it");
        assert_eq!(schedule.next_at_gate(ip, UnixMs(1000)), None);
    }

    #[test]
    fn turns_are_passed_on_only_where_a_host_waits() {
        let ip: IpAddr = [127, 0, 0, 1].into();
        let mut schedule = Schedule::default();
        assert!(schedule.enter_gate(ip, 1, UnixMs(0)));
        schedule.leave_gate(ip, UnixMs(0), UnixMs(0));
        schedule.pass_on(ip, UnixMs(0));
        assert_eq!(schedule.next_due(), None);
    }

    /// Asked without a pause in between, the gate still keeps the longer of the two.
    #[test]
    fn a_gate_never_rests_shorter_than_it_was_told_to() {
        let ip: IpAddr = [127, 0, 0, 1].into();
        let mut schedule = Schedule::default();
        assert!(schedule.enter_gate(ip, 1, UnixMs(0)));
        schedule.leave_gate(ip, UnixMs(500), UnixMs(0));
        schedule.leave_gate(ip, UnixMs(20), UnixMs(0));
        assert!(!schedule.enter_gate(ip, 2, UnixMs(499)));
        assert_eq!(schedule.next_due(), Some(UnixMs(500)));
        assert!(schedule.enter_gate(ip, 3, UnixMs(500)));
    }

    #[test]
    fn gates_are_forgotten_when_they_are_many_and_idle_and_not_before() {
        let mut schedule = Schedule::default();
        let ip = |n: u32| IpAddr::from(n.to_be_bytes());
        let (busy, resting, wanted) = (ip(1), ip(2), ip(3));
        assert!(schedule.enter_gate(busy, 1, UnixMs(0)));
        assert!(schedule.enter_gate(resting, 1, UnixMs(0)));
        schedule.leave_gate(resting, UnixMs(1_000_000), UnixMs(0));
        assert!(schedule.enter_gate(wanted, 1, UnixMs(0)));
        assert!(!schedule.enter_gate(wanted, 2, UnixMs(0)));
        schedule.leave_gate(wanted, UnixMs(5), UnixMs(0));
        for n in 4..=MANY_GATES as u32 {
            assert!(schedule.enter_gate(ip(n), 1, UnixMs(10)));
            schedule.leave_gate(ip(n), UnixMs(10), UnixMs(10));
        }
        assert_eq!(schedule.gates.len(), MANY_GATES);
        assert!(schedule.enter_gate(ip(u32::MAX), 1, UnixMs(10)));
        schedule.leave_gate(ip(u32::MAX), UnixMs(10), UnixMs(10));
        assert_eq!((schedule.gates.len(), schedule.gates_left), (3, 3));
        assert!([busy, resting, wanted].iter().all(|kept| schedule.gates.contains_key(kept)));
        assert_eq!(schedule.next_at_gate(wanted, UnixMs(10)), Some(2));
    }

    #[test]
    fn places_of_hosts_that_are_gone_are_cleared_when_they_outnumber_the_others() {
        let mut schedule = Schedule::default();
        let rank = |n| Rank { priority: 1, sequence: n };
        for n in 0..MANY_STALE as u64 + 20 {
            schedule.push_ready(rank(n), n as u32);
        }
        schedule.forget_stale(10, |host| host < 10);
        assert_eq!(schedule.ready_len(), MANY_STALE + 20, "not yet more than twice as many");
        schedule.push_ready(rank(1), 1);
        schedule.forget_stale(10, |host| host < 10);
        assert_eq!(schedule.ready_len(), 11);
    }

    #[test]
    fn ready_hosts_are_served_by_rank() {
        let mut schedule = Schedule::default();
        schedule.push_ready(Rank { priority: 2, sequence: 1 }, 7);
        schedule.push_ready(Rank { priority: 1, sequence: 9 }, 8);
        assert_eq!(schedule.peek_ready().map(|(_, host)| host), Some(8));
        assert_eq!(schedule.pop_ready().map(|(_, host)| host), Some(8));
        assert_eq!(schedule.pop_ready(), Some((Rank { priority: 2, sequence: 1 }, 7)));
    }
}
