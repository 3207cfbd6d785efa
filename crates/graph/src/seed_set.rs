//! Seeds for the next crawl from the graph of an earlier one: the best pages, few of each host, such that links lead from
//! them to as much of the graph as can be reached.
//!
//! First the best-ranked pages are taken, at most so many of a host. Whatever no link leads to from there needs a seed of its own:
//! the best-ranked page that is not reached is taken in turn, and all it leads to is reached then. Where the number of seeds
//! is limited, a quarter of it is for those that reach most; they take the places of the worst-ranked.

use foldhash::HashMap;

use crate::error::GraphError;
use crate::link_index::LinkIndex;
use crate::link_list::LinkList;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeedOptions {
    /// Seeds in all.
    pub most: usize,
    pub per_host: usize,
}

/// A page that may become a seed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// Its number in the index.
    pub number: u32,
    pub rank: f32,
    /// Any number that tells hosts apart.
    pub host: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeedSet {
    /// Numbers of the chosen pages: the best-ranked first, then those taken to reach more.
    pub seeds: Vec<u32>,
    /// Candidates that links lead to from the seeds, the seeds included.
    pub reached: usize,
}

/// Chooses among `candidates`; ties go by number.
pub fn choose(
    index: &LinkIndex,
    mut candidates: Vec<Candidate>,
    options: &SeedOptions,
) -> Result<SeedSet, GraphError> {
    candidates.sort_unstable_by(|a, b| b.rank.total_cmp(&a.rank).then(a.number.cmp(&b.number)));
    let seeds = best(&candidates, options);
    let mut reached = vec![false; index.nodes() as usize];
    reach(index, &seeds, &mut reached)?;
    let set = SeedSet { reached: count(&candidates, &reached), seeds };
    if set.reached == candidates.len() || options.most == 0 {
        return Ok(set);
    }
    let numbers = candidates.iter().map(|candidate| candidate.number);
    let left: Vec<u32> = numbers.filter(|number| !is_set(&reached, *number)).collect();
    let mut more = cover(index, &left, &reached)?;
    let mut seeds = set.seeds.clone();
    if seeds.len() + more.len() > options.most {
        more.sort_by_key(|(_, gain)| std::cmp::Reverse(*gain));
        more.truncate((options.most / 4).max(options.most - seeds.len()));
        seeds.truncate(options.most - more.len());
        reached.fill(false);
    }
    seeds.extend(more.iter().map(|(number, _)| *number));
    reach(index, &seeds, &mut reached)?;
    let wider = SeedSet { reached: count(&candidates, &reached), seeds };
    // Those that had to go may have reached more than those that came.
    Ok(if wider.reached > set.reached { wider } else { set })
}

fn count(candidates: &[Candidate], reached: &[bool]) -> usize {
    candidates.iter().filter(|candidate| is_set(reached, candidate.number)).count()
}

fn is_set(flags: &[bool], number: u32) -> bool {
    flags.get(number as usize).copied().unwrap_or(false)
}

fn best(candidates: &[Candidate], options: &SeedOptions) -> Vec<u32> {
    let mut hosts: HashMap<u64, usize> = HashMap::default();
    let mut seeds = Vec::new();
    for candidate in candidates {
        if seeds.len() >= options.most {
            break;
        }
        let taken = hosts.entry(candidate.host).or_default();
        if *taken < options.per_host {
            *taken += 1;
            seeds.push(candidate.number);
        }
    }
    seeds
}

/// Marks all that links lead to. The lists stand in the order of the crawl, so that one or two passes reach nearly everything.
fn reach(index: &LinkIndex, seeds: &[u32], reached: &mut [bool]) -> Result<(), GraphError> {
    for &seed in seeds {
        if let Some(flag) = reached.get_mut(seed as usize) {
            *flag = true;
        }
    }
    loop {
        let mut news = false;
        index.for_each_page(|list| {
            if !is_set(reached, list.owner) {
                return;
            }
            for &other in &list.others {
                if let Some(flag) = reached.get_mut(other as usize).filter(|flag| !**flag) {
                    *flag = true;
                    news = true;
                }
            }
        })?;
        if !news {
            return Ok(());
        }
    }
}

/// Seeds from which all of `left` is reached, best first, with how many of them each adds. Only the part of the graph that is not
/// reached is held in memory.
fn cover(index: &LinkIndex, left: &[u32], reached: &[bool]) -> Result<Vec<(u32, usize)>, GraphError> {
    let mut lists: HashMap<u32, Vec<u32>> = HashMap::default();
    index.for_each_page(|list: &LinkList| {
        if !is_set(reached, list.owner) {
            let others = list.others.iter().copied().filter(|other| !is_set(reached, *other));
            lists.insert(list.owner, others.collect());
        }
    })?;
    let mut covered = reached.to_vec();
    let mut seeds = Vec::new();
    let mut stack = Vec::new();
    for &seed in left {
        if is_set(&covered, seed) {
            continue;
        }
        let mut gain = 0;
        stack.push(seed);
        while let Some(page) = stack.pop() {
            let Some(flag) = covered.get_mut(page as usize).filter(|flag| !**flag) else { continue };
            *flag = true;
            gain += 1;
            stack.extend(lists.get(&page).into_iter().flatten().copied());
        }
        seeds.push((seed, gain));
    }
    Ok(seeds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BuildOptions, Edge, EdgeLog, PageEdges};

    /// Two islands, 1 → 2 → 3 and 11 → 12 → 13 → 14, and a page 20 that nobody links to; ids are numbers here.
    fn index(dir: &std::path::Path) -> LinkIndex {
        let log = dir.join("edges.log");
        let mut writer = EdgeLog::open(&log, None).unwrap();
        for (source, target) in [(1, 2), (2, 3), (3, 1), (11, 12), (12, 13), (13, 14), (14, 14), (20, 1)] {
            let edges = vec![Edge { target, attributes: 0 }];
            writer.append(&PageEdges { source, edges }).unwrap();
        }
        writer.sync().unwrap();
        LinkIndex::open_current(&log, &dir.join("links"), &BuildOptions::default()).unwrap()
    }

    fn chosen(index: &LinkIndex, options: &SeedOptions, host: fn(u64) -> u64) -> (Vec<u64>, usize) {
        let candidates = index.ids().unwrap().into_iter().zip(0..).map(|(id, number)| Candidate {
            number,
            rank: 100.0 - id as f32,
            host: host(id),
        });
        let set = choose(index, candidates.collect(), options).unwrap();
        (set.seeds.iter().map(|&number| index.id(number).unwrap()).collect(), set.reached)
    }

    #[test]
    fn the_best_of_each_host_come_first() {
        let dir = tempfile::tempdir().unwrap();
        let index = index(dir.path());
        let chosen = |most, per_host| chosen(&index, &SeedOptions { most, per_host }, |id| id / 10);
        assert_eq!(chosen(100, 1), (vec![1, 11, 20], 8));
        assert_eq!(chosen(100, 2), (vec![1, 2, 11, 12, 20], 8));
        assert_eq!(chosen(0, 5), (vec![], 0));
        assert_eq!(chosen(1, 5), (vec![1], 3));
        assert_eq!(chosen(4, 3), (vec![1, 2, 3, 11], 7), "20 instead of 11 would reach less");
    }

    #[test]
    fn what_is_not_reached_gets_a_seed_of_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let index = index(dir.path());
        let chosen = |most, per_host| chosen(&index, &SeedOptions { most, per_host }, |_| 0);
        assert_eq!(chosen(100, 1), (vec![1, 11, 20], 8));
        // Of four, one is for reach: the page from which most is gained.
        assert_eq!(chosen(4, 4), (vec![1, 2, 3, 11], 7));
        assert_eq!(chosen(4, 3), (vec![1, 2, 3, 11], 7));
    }
}
