//! The contract of the plan, as laws.

use proptest::prelude::*;

use super::*;

fn node(i: usize) -> NodeId {
    NodeId::new(&format!("n{i}"), 1).unwrap()
}

fn member(i: usize) -> Member {
    Member { node: node(i), capacity: 1, load_percent: 60, region: None, idle: false }
}

fn run(members: &[Member], weights: &[u64], current: &Table) -> Vec<Option<NodeId>> {
    plan(&PlanInput {
        members,
        weights,
        regions: &[],
        current,
        allocation: Allocation::Static,
        max_moves: usize::MAX,
    })
}

fn settled(members: &[Member], weights: &[u64], partitions: u16) -> Table {
    let table = Table::new(partitions);
    table.advance(&run(members, weights, &table), |_| true).unwrap()
}

fn moved(a: &[Option<NodeId>], b: &[Option<NodeId>]) -> Vec<usize> {
    (0..a.len()).filter(|&p| a[p] != b[p]).collect()
}

fn counts(owners: &[Option<NodeId>], members: &[Member]) -> Vec<usize> {
    members.iter().map(|m| owners.iter().filter(|o| o.as_ref() == Some(&m.node)).count()).collect()
}

fn busiest_to_mean(owners: &[Option<NodeId>], members: &[Member], weights: &[u64]) -> f64 {
    let load = |m: &Member| -> u64 {
        owners.iter().zip(weights).filter(|(o, _)| o.as_ref() == Some(&m.node)).map(|(_, w)| w).sum()
    };
    let relative: Vec<f64> = members.iter().map(|m| load(m) as f64 / f64::from(m.capacity)).collect();
    let capacity: u32 = members.iter().map(|m| m.capacity).sum();
    let mean = weights.iter().sum::<u64>() as f64 / f64::from(capacity);
    relative.iter().copied().fold(0.0, f64::max) / mean
}

proptest! {
    #[test]
    fn the_order_of_the_inputs_does_not_matter(n in 1usize..20, partitions in 1u16..200, seed: u64) {
        let members: Vec<Member> = (0..n).map(|i| Member { capacity: 1 + (i as u32 % 3), ..member(i) }).collect();
        let weights: Vec<u64> = (0..u64::from(partitions)).map(|p| (p ^ seed).wrapping_mul(0x9E37_79B9) % 1000).collect();
        let mut shuffled = members.clone();
        shuffled.reverse();
        shuffled.rotate_left(seed as usize % n);
        shuffled.push(members[0].clone());
        let table = Table::new(partitions);
        let first = run(&members, &weights, &table);
        prop_assert_eq!(&first, &run(&shuffled, &weights, &table));
        prop_assert!(first.iter().all(Option::is_some));
        // A table that is in force and still good stays.
        let table = table.advance(&first, |_| true).unwrap();
        prop_assert_eq!(run(&shuffled, &weights, &table), first);
    }

    #[test]
    fn equal_partitions_are_shared_equally(n in 1usize..50, partitions in 1u16..500) {
        let members: Vec<Member> = (0..n).map(member).collect();
        let counts = counts(&run(&members, &[], &Table::new(partitions)), &members);
        prop_assert!(counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 1, "{:?}", counts);
    }

    #[test]
    fn a_join_moves_its_share_and_only_to_itself(n in 1usize..40, partitions in 1u16..400) {
        let mut members: Vec<Member> = (0..n).map(member).collect();
        let before = settled(&members, &[], partitions);
        members.push(member(n));
        let after = run(&members, &[], &before);
        let moves = moved(&before.owners(), &after);
        prop_assert!(moves.len() <= usize::from(partitions) / (n + 1) + 1);
        prop_assert!(moves.iter().all(|&p| after[p] == Some(node(n))));
        let counts = counts(&after, &members);
        let fair = usize::from(partitions).div_ceil(n + 1);
        prop_assert!(counts.iter().all(|&c| c <= fair + fair / 6 + 1), "{:?}", counts);
    }

    #[test]
    fn a_leave_moves_only_what_the_leaver_had(n in 2usize..40, partitions in 1u16..400, pick: usize) {
        let mut members: Vec<Member> = (0..n).map(member).collect();
        let before = settled(&members, &[], partitions);
        let gone = members.remove(pick % n);
        let after = run(&members, &[], &before);
        for p in moved(&before.owners(), &after) {
            prop_assert_eq!(before.slots[p].owner.as_ref(), Some(&gone.node));
        }
        let counts = counts(&after, &members);
        prop_assert!(counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 2, "{:?}", counts);
    }

    #[test]
    fn loads_are_evened_out_where_weights_permit(
        n in 2usize..12,
        weights in prop::collection::vec(1u64..10_000, 100..300),
        capacities in prop::collection::vec(1u32..4, 12),
        rotate: usize,
    ) {
        let members: Vec<Member> =
            (0..n).map(|i| Member { capacity: capacities[i], ..member(i) }).collect();
        let smallest = f64::from(members.iter().map(|m| m.capacity).min().unwrap());
        let capacity = f64::from(members.iter().map(|m| m.capacity).sum::<u32>());
        let total = weights.iter().sum::<u64>() as f64;
        let heaviest = *weights.iter().max().unwrap() as f64;
        prop_assume!(heaviest <= total / capacity * smallest * 0.25);
        // Start from what was good for other weights.
        let mut old = weights.clone();
        old.rotate_left(rotate % weights.len());
        let before = settled(&members, &old, weights.len() as u16);
        let after = run(&members, &weights, &before);
        let ratio = busiest_to_mean(&after, &members, &weights);
        prop_assert!(ratio <= 1.25, "{}", ratio);
    }

    #[test]
    fn a_budget_of_moves_is_kept_and_reaches_the_goal_in_steps(n in 2usize..10, budget in 2usize..6) {
        let mut members: Vec<Member> = (0..n).map(member).collect();
        let mut table = settled(&members, &[], 128);
        members.push(member(n));
        for _ in 0..200 {
            let owners = plan(&PlanInput {
                members: &members, weights: &[], regions: &[], current: &table,
                allocation: Allocation::Static, max_moves: budget,
            });
            prop_assert!(moved(&table.owners(), &owners).len() <= budget);
            let Some(next) = table.advance(&owners, |_| true) else { break };
            table = next;
        }
        // Within the band in which nothing moves any more.
        let counts = counts(&table.owners(), &members);
        let mean = 128.0 / (n + 1) as f64;
        prop_assert!(counts.iter().all(|&c| (c as f64 - mean).abs() <= mean * 0.16 + 1.0), "{:?}", counts);
    }

    #[test]
    fn no_input_is_too_odd(
        n in 0usize..6,
        weights in prop::collection::vec(any::<u64>(), 0..50),
        capacities in prop::collection::vec(any::<u32>(), 6),
        loads in prop::collection::vec(any::<u8>(), 6),
        dynamic: bool,
    ) {
        let members: Vec<Member> = (0..n)
            .map(|i| Member { capacity: capacities[i], load_percent: loads[i], idle: loads[i] & 1 == 0, ..member(i) })
            .collect();
        let allocation = if dynamic { Allocation::Dynamic } else { Allocation::Static };
        let current = Table::new(40);
        let owners = plan(&PlanInput {
            members: &members, weights: &weights, regions: &[], current: &current, allocation, max_moves: 3,
        });
        prop_assert_eq!(owners.len(), 40);
    }
}

#[test]
fn a_returning_node_gets_its_partitions_back() {
    let members: Vec<Member> = (0..3).map(member).collect();
    let before = settled(&members, &[], 30);
    let mut again = members.clone();
    again[1].node = NodeId::new("n1", 2).unwrap();
    let after = run(&again, &[], &before);
    for (p, slot) in before.slots.iter().enumerate() {
        let name = |n: &NodeId| n.name().to_owned();
        assert_eq!(slot.owner.as_ref().map(name), after[p].as_ref().map(name));
    }
    assert!(after.iter().all(|owner| owner.as_ref() != Some(&members[1].node)));
}

#[test]
fn a_lightly_loaded_node_gets_more_and_an_over_worked_one_less() {
    let mut members: Vec<Member> = (0..4).map(member).collect();
    members[0].load_percent = 5;
    members[3].load_percent = 100;
    let weights = vec![100; 200];
    let counts = counts(&run(&members, &weights, &Table::new(200)), &members);
    assert!(counts[0] > counts[1] && counts[1] > counts[3], "{counts:?}");
}

#[test]
fn partitions_of_a_region_go_to_its_nodes_while_there_are_any() {
    let near = |i| Member { region: Some(RegionId(0)), ..member(i) };
    let members = [member(0), near(1), near(2), member(3)];
    let regions: Vec<Option<RegionId>> = (0..64).map(|p| (p < 32).then_some(RegionId(0))).collect();
    let input = |members, current| PlanInput {
        members,
        weights: &[],
        regions: &regions,
        current,
        allocation: Allocation::Static,
        max_moves: usize::MAX,
    };
    let empty = Table::new(64);
    let owners = plan(&input(&members, &empty));
    assert!(owners[..32].iter().all(|o| *o == Some(node(1)) || *o == Some(node(2))));
    let far = [member(0), member(3)];
    assert!(plan(&input(&far, &empty)).iter().all(Option::is_some));
}

#[test]
fn the_first_node_of_a_region_gets_its_block_step_by_step() {
    let regions: Vec<Option<RegionId>> = (0..64).map(|p| (p < 32).then_some(RegionId(0))).collect();
    let members = [member(0), Member { region: Some(RegionId(0)), ..member(1) }];
    let mut table = Table::new(64).advance(&vec![Some(node(0)); 64], |_| true).unwrap();
    for step in 1..=6 {
        let input = PlanInput {
            members: &members,
            weights: &[],
            regions: &regions,
            current: &table,
            allocation: Allocation::Static,
            max_moves: 8,
        };
        let owners = plan(&input);
        let moved = owners.iter().zip(&table.slots).filter(|(owner, slot)| **owner != slot.owner).count();
        assert!(moved <= 8, "{moved} in step {step}");
        if let Some(next) = table.advance(&owners, |_| true) {
            table = next;
        }
        let at_home = table.slots[..32].iter().filter(|slot| slot.owner == Some(node(1))).count();
        assert_eq!(at_home, (8 * step).min(32));
    }
}

#[test]
fn dynamic_allocation_gives_the_next_to_whoever_is_idle() {
    let mut members: Vec<Member> = (0..3).map(member).collect();
    let mut table = Table::new(10);
    let step = |members: &[Member], table: &Table| {
        plan(&PlanInput {
            members,
            weights: &[],
            regions: &[],
            current: table,
            allocation: Allocation::Dynamic,
            max_moves: usize::MAX,
        })
    };
    table = table.advance(&step(&members, &table), |_| true).unwrap();
    assert_eq!(table.owners().iter().flatten().count(), 3);
    assert_eq!(table.advance(&step(&members, &table), |_| true), None);
    members[1].idle = true;
    for owned in 2..=8 {
        table = table.advance(&step(&members, &table), |_| true).unwrap();
        assert_eq!(counts(&table.owners(), &members), [1, owned, 1]);
    }
    // Nothing is left to take and nobody has two but the idle one: all stay.
    assert_eq!(table.advance(&step(&members, &table), |_| true), None);
    // A dead node's work does not wait for an idle one.
    members.remove(1);
    table = table.advance(&step(&members, &table), |_| true).unwrap();
    assert_eq!(counts(&table.owners(), &members), [5, 5]);
    // An idle node takes from the busiest.
    members.push(member(7));
    table = table.advance(&step(&members, &table), |_| true).unwrap();
    assert_eq!(counts(&table.owners(), &members).iter().min(), Some(&1));
}

#[test]
fn a_coordinator_and_an_independent_crawl_own_nothing() {
    let coordinator = Member { capacity: 0, ..member(0) };
    assert!(run(&[coordinator], &[], &Table::new(4)).iter().all(Option::is_none));
    let current = Table::new(4);
    let owners = plan(&PlanInput {
        members: &[member(0)],
        weights: &[],
        regions: &[],
        current: &current,
        allocation: Allocation::Independent,
        max_moves: 9,
    });
    assert!(owners.iter().all(Option::is_none));
}
