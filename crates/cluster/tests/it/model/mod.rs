//! A model of a crawl: a made-up web of numbered pages, a toy crawler on every node, faults from a seed, and the rules
//! that must hold at the end whatever happened.

pub mod faults;
pub mod toy;
pub mod web;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use lycosa_cluster::wire::{Body, Record};
use lycosa_types::PartitionId;

pub use faults::run;
pub use web::Web;

/// What happened, as an all-seeing observer writes it down.
#[derive(Debug, Default)]
pub struct Chronicle {
    /// Requests per page.
    pub fetched: BTreeMap<u32, u32>,
    /// Pages whose commit was acknowledged.
    pub committed: BTreeSet<u32>,
    /// Rules that were broken.
    pub wrongs: Vec<String>,
    /// Requests that were repeated.
    pub repeated: u32,
    /// Most pages in flight on a node at once.
    pub in_flight: u32,
    /// Pages in flight on nodes that died, were cut off, or lost a partition.
    pub abandoned: u32,
}

pub type Shared = Arc<Mutex<Chronicle>>;

impl Chronicle {
    pub fn fetch(&mut self, page: u32, who: &str) {
        let times = self.fetched.entry(page).or_default();
        *times += 1;
        self.repeated += u32::from(*times > 1);
        if self.committed.contains(&page) {
            self.wrongs.push(format!("{who} fetched page {page}, which was done"));
        }
    }
}

/// Tells what happens, if `MODEL_TRACE` names the partition (or `all`).
pub fn trace(partition: Option<PartitionId>, text: impl FnOnce() -> String) {
    let Ok(wanted) = std::env::var("MODEL_TRACE") else { return };
    if wanted == "all" || partition.is_none_or(|p| wanted == p.to_string()) {
        let at = START.with(|start| start.get_or_init(tokio::time::Instant::now).elapsed());
        eprintln!("{:9.3} {}", at.as_secs_f64(), text());
    }
}

thread_local! {
    static START: std::cell::OnceCell<tokio::time::Instant> = const { std::cell::OnceCell::new() };
}

/// No partition was written by two owners: epochs never go back, each has one owner, no record is missing.
pub fn check_history(history: &[(PartitionId, lycosa_cluster::bus::Message)]) -> Vec<String> {
    let mut wrongs = Vec::new();
    let mut last: BTreeMap<PartitionId, (u64, u64)> = BTreeMap::new();
    for (partition, message) in history {
        let record = Record::decode(&message.body).unwrap();
        let (epoch, number) = (record.header.epoch, record.header.number);
        let opened = matches!(record.body, Body::Opened { .. });
        let expected = last.get(partition).copied();
        let right = match expected {
            Some((last_epoch, last_number)) if epoch == last_epoch => !opened && number == last_number + 1,
            Some((last_epoch, _)) => opened && epoch > last_epoch && number == 0,
            None => opened && number == 0,
        };
        if !right {
            wrongs.push(format!("partition {partition}: epoch {epoch} record {number} after {expected:?}"));
        }
        last.insert(*partition, (epoch, number));
    }
    wrongs
}
