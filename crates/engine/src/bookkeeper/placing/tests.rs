//! What must hold while hosts are placed, as examples and as a law.

use proptest::prelude::*;

use super::*;

const PARTITIONS: u16 = 3;

fn slot(number: u8) -> HostSlot {
    HostSlot {
        partition: PartitionId(u16::from(number) % PARTITIONS),
        host: HostKey(u64::from(number) << 30),
    }
}

fn placing() -> Placing {
    Placing::new(Regions::default(), Locator::silent())
}

fn placement(number: u8) -> Placement {
    if number == 0 {
        Placement::Home
    } else {
        Placement::Region(lycosa_types::RegionId(u16::from(number) - 1))
    }
}

#[test]
fn nothing_leaves_for_a_region_before_the_decision_is_durable() {
    let mut placing = placing();
    let (host, none) = (slot(1), BTreeSet::new());
    assert_eq!(placing.recall(host), None);
    placing.note_url(host, "http://a.test", 4);
    assert_eq!(placing.recall(host), Some(Place::Undecided));
    placing.place(host, placement(2), Some(5));
    placing.committed(4, &none);
    assert_eq!((placing.recall(host), placing.next_to_move()), (Some(Place::Undecided), None));
    // It comes while the decision is on its way: it waits, and its commit is waited for.
    placing.note_url(host, "http://a.test", 6);
    placing.committed(5, &none);
    assert_eq!(placing.recall(host), Some(Place::Known(placement(2))));
    assert_eq!(placing.next_to_move(), None);
    assert!(!placing.is_idle(host.partition));
    placing.committed(6, &none);
    assert_eq!(placing.next_to_move(), Some((host, placement(2))));
    placing.done(host);
    assert!(placing.next_to_move().is_none() && placing.is_idle(host.partition));
}

#[test]
fn a_decision_that_was_lost_is_void() {
    let mut placing = placing();
    let host = slot(1);
    placing.note_url(host, "http://a.test", 1);
    placing.place(host, placement(1), Some(1));
    placing.committed(1, &BTreeSet::from([host.partition]));
    assert_eq!((placing.recall(host), placing.next_to_move()), (None, None));
    // It comes back, and is decided otherwise.
    placing.arrived(host.partition);
    assert!(!placing.is_idle(host.partition));
    placing.note_url(host, "http://a.test", 3);
    placing.place(host, placement(2), Some(3));
    placing.committed(2, &BTreeSet::new());
    assert_eq!((placing.recall(host), placing.next_to_move()), (Some(Place::Undecided), None));
    placing.committed(3, &BTreeSet::new());
    assert_eq!(placing.next_to_move(), Some((host, placement(2))));
}

#[test]
fn hosts_beyond_the_limit_are_walked_to_later() {
    let mut placing = placing();
    let partition = PartitionId(0);
    for number in 0..=MAX_HOSTS as u64 {
        placing.note_url(HostSlot { partition, host: HostKey(number) }, "http://a.test", 7);
    }
    assert_eq!(placing.hosts.len(), MAX_HOSTS);
    assert_eq!(placing.walks[&partition].needed, Some(7));
    placing.gone(partition);
    assert!(placing.is_idle(partition) && placing.hosts.is_empty());
}

/// What a commit has: decisions, and hosts with URLs that came to wait.
type Commit = (Vec<(HostSlot, Placement)>, BTreeSet<HostSlot>);

#[derive(Clone, Debug)]
enum Step {
    Url(u8),
    Decide(u8, u8),
    Cut,
    Commit(Option<u8>),
    Arrive(u8),
    Move,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0u8..8).prop_map(Step::Url),
        3 => (0u8..8, 0u8..3).prop_map(|(host, to)| Step::Decide(host, to)),
        2 => Just(Step::Cut),
        3 => prop::option::weighted(0.3, 0u8..3).prop_map(Step::Commit),
        1 => (0u8..3).prop_map(Step::Arrive),
        3 => Just(Step::Move),
    ];
    prop::collection::vec(step, 1..120)
}

proptest! {
    /// Against what is durable: whatever is lost on the way, URLs go to one place alone, which was durable before, and only
    /// once all that waits is durable as well.
    #[test]
    fn a_host_ends_in_one_place(steps in steps()) {
        let mut placing = placing();
        let mut durable: BTreeMap<HostSlot, Placement> = BTreeMap::new();
        // Cut and not durable yet.
        let mut commits: VecDeque<Commit> = VecDeque::new();
        let mut current = Commit::default();
        let mut epoch = 0u64;
        let mut committed = 0u64;
        for step in steps {
            match step {
                Step::Url(host) => {
                    let host = slot(host);
                    let known = durable.get(&host).copied().map(Place::Known);
                    // As the state would be asked.
                    let place = placing.recall(host).or(known).unwrap_or(Place::Undecided);
                    match place {
                        Place::Known(Placement::Region(to)) => {
                            prop_assert_eq!(durable.get(&host), Some(&Placement::Region(to)));
                        }
                        Place::Known(Placement::Home) => {
                            let other = durable.get(&host).filter(|to| **to != Placement::Home);
                            prop_assert_eq!(other, None);
                        }
                        Place::Undecided => {
                            prop_assert_eq!(durable.get(&host).filter(|_| !placing.hosts.contains_key(&host)), None);
                            placing.note_url(host, "http://a.test", epoch);
                            current.1.insert(host);
                        }
                    }
                }
                Step::Decide(host, to) => {
                    let host = slot(host);
                    let waits = placing.hosts.get(&host).is_some_and(|host| host.stage == Stage::Waiting);
                    if waits {
                        // As for a host that was placed in an earlier stay.
                        match durable.get(&host) {
                            Some(before) => placing.place(host, *before, None),
                            None => {
                                placing.place(host, placement(to), Some(epoch));
                                current.0.push((host, placement(to)));
                            }
                        }
                    }
                }
                Step::Cut => {
                    commits.push_back(std::mem::take(&mut current));
                    epoch += 1;
                }
                Step::Commit(lost) => {
                    if let Some((decisions, _)) = commits.pop_front() {
                        let lost = lost.map(|number| PartitionId(u16::from(number) % PARTITIONS));
                        let lost: BTreeSet<PartitionId> = lost.into_iter().collect();
                        for (host, to) in decisions {
                            if !lost.contains(&host.partition) {
                                let before = durable.insert(host, to);
                                prop_assert!(before.is_none_or(|before| before == to), "decided twice");
                            }
                        }
                        placing.committed(committed, &lost);
                        committed += 1;
                        // What is lost is not written by later commits of the same stay either; it comes back after them.
                        for partition in lost {
                            for commit in commits.iter_mut().chain([&mut current]) {
                                commit.0.retain(|(host, _)| host.partition != partition);
                                commit.1.retain(|host| host.partition != partition);
                            }
                            placing.arrived(partition);
                            placing.walks.remove(&partition);
                        }
                    }
                }
                Step::Arrive(number) => {
                    // Only once all commits of its earlier stay are durable.
                    let partition = PartitionId(u16::from(number) % PARTITIONS);
                    let under_way = commits.iter().chain([&current]);
                    let mut under_way = under_way.flat_map(|commit| commit.0.iter().map(|(host, _)| host).chain(&commit.1));
                    if !under_way.any(|host| host.partition == partition) {
                        placing.arrived(partition);
                        placing.walks.remove(&partition);
                    }
                }
                Step::Move => {
                    if let Some((host, to)) = placing.next_to_move() {
                        prop_assert_eq!(durable.get(&host), Some(&to));
                        let waits = |commit: &Commit| commit.1.contains(&host);
                        prop_assert!(!commits.iter().any(waits) && !waits(&current), "not all that waits is durable");
                        placing.done(host);
                    }
                }
            }
        }
    }
}
