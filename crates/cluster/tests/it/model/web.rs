//! A made-up web: pages are numbers, a page's partition is its number modulo theirs, links are drawn from the seed.

use std::collections::BTreeSet;

use lycosa_cluster::bus::memory::Dice;
use lycosa_types::PartitionId;

#[derive(Clone, Debug)]
pub struct Web {
    pub partitions: u16,
    links: Vec<Vec<u32>>,
}

impl Web {
    pub fn new(seed: u64, pages: u32, partitions: u16) -> Self {
        let mut dice = Dice(seed);
        let links = (0..pages)
            .map(|page| {
                let mut links: Vec<u32> =
                    (0..dice.below(5)).map(|_| dice.below(u64::from(pages)) as u32).collect();
                // Popular pages, and a chain so that the crawl goes deep.
                links.push(dice.below(10) as u32);
                if dice.below(3) > 0 {
                    links.push((page + 1).min(pages - 1));
                }
                links
            })
            .collect();
        Self { partitions, links }
    }

    pub fn links(&self, page: u32) -> &[u32] {
        self.links.get(page as usize).map_or(&[], Vec::as_slice)
    }

    pub fn partition(&self, page: u32) -> PartitionId {
        PartitionId((page % u32::from(self.partitions)) as u16)
    }

    pub fn reachable(&self, seeds: &[u32]) -> BTreeSet<u32> {
        let mut found: BTreeSet<u32> = seeds.iter().copied().collect();
        let mut open: Vec<u32> = seeds.to_vec();
        while let Some(page) = open.pop() {
            for &link in self.links(page) {
                if found.insert(link) {
                    open.push(link);
                }
            }
        }
        found
    }
}

pub fn url(page: u32) -> String {
    format!("http://h{}.test/{page}", page % 97)
}

pub fn page_of(url: &str) -> Option<u32> {
    url.rsplit('/').next()?.parse().ok()
}
