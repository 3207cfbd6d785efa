//! Where a cluster's crawl is: its nodes, what each has and does, and what nobody has.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result};
use lycosa_cluster::bus::{Bus, Keys, Watcher};
use lycosa_cluster::coordinator::{FINISHED_KEY, TABLE_KEY};
use lycosa_cluster::membership::MEMBER_KEYS;
use lycosa_cluster::{Beat, Regions, Table};
use serde::Serialize;
use tokio::time::timeout;

use crate::figures::{bytes, count, plural};
use crate::nats::NatsArgs;

/// Beats come once a second: two rounds tell the living from what the dead left behind.
const LISTEN: Duration = Duration::from_millis(2500);

#[derive(Debug, Serialize)]
pub struct ClusterStatus {
    pub crawl: String,
    /// `running`, `done`, or `waiting` (nobody crawls).
    pub state: &'static str,
    pub partitions: u16,
    /// Partitions that no living node has open.
    pub unowned: usize,
    pub pages: u64,
    pub queued: u64,
    pub pages_per_minute: u64,
    pub nodes: Vec<NodeStatus>,
}

#[derive(Debug, Serialize)]
pub struct NodeStatus {
    pub node: String,
    pub role: &'static str,
    /// Where it stands, if it said so.
    pub region: Option<String>,
    pub alive: bool,
    pub leaving: bool,
    pub partitions: usize,
    pub opening: usize,
    pub load_percent: u8,
    pub pages: u64,
    pub queued: u64,
    pub pages_per_minute: u64,
    pub links_sent: u64,
    pub links_received: u64,
    pub bytes_sent: u64,
    /// Batches of links handed out and not yet durable.
    pub lag: u64,
    pub refused: u64,
}

pub fn look(args: &NatsArgs) -> Result<ClusterStatus> {
    let connection = args.connect()?;
    let (settings, briefing) = connection.look()?.with_context(|| {
        format!("there is no crawl {}; `lycosa crawl --nats` makes one", connection.crawl)
    })?;
    let partitions = settings.partitioner.partitions;
    let (beats, table, finished) = connection.runtime.block_on(async {
        let finished = connection.bus.get(FINISHED_KEY).await?.is_some();
        let table = connection.bus.get(TABLE_KEY).await?;
        let table = table.and_then(|found| Table::decode(&found.value, partitions).ok());
        anyhow::Ok((listen(&connection.bus).await?, table, finished))
    })?;
    let regions = briefing.config.regions()?;
    let nodes: Vec<NodeStatus> =
        beats.values().map(|(beat, heard)| node_status(beat, *heard > 1, &regions)).collect();
    let held = |node: &NodeStatus| if node.alive { node.partitions } else { 0 };
    let owned: usize = nodes.iter().map(held).sum();
    let alive = || nodes.iter().filter(|node| node.alive);
    let state = match (finished, alive().any(|node| node.role == "node"), table.is_some()) {
        (true, ..) => "done",
        (_, true, true) => "running",
        _ => "waiting",
    };
    Ok(ClusterStatus {
        crawl: connection.crawl.to_string(),
        state,
        partitions,
        unowned: usize::from(partitions).saturating_sub(owned),
        pages: nodes.iter().map(|node| node.pages).sum(),
        queued: alive().map(|node| node.queued).sum(),
        pages_per_minute: alive().map(|node| node.pages_per_minute).sum(),
        nodes,
    })
}

/// Beats by node, each with how many of them were heard.
async fn listen<B: Bus>(bus: &B) -> Result<BTreeMap<String, (Beat, u32)>> {
    let mut beats: BTreeMap<String, (Beat, u32)> = BTreeMap::new();
    let mut watcher = bus.watch(Keys::Under(MEMBER_KEYS)).await?;
    let listening = async {
        while let Ok(update) = watcher.next().await {
            let Some(beat) = update.value.as_deref().and_then(Beat::decode) else {
                beats.remove(&update.key);
                continue;
            };
            let heard = beats.get(&update.key).map_or(0, |(_, heard)| *heard);
            beats.insert(update.key, (beat, heard + 1));
        }
    };
    // It ends by the clock: beats go on for as long as there are nodes.
    let _ = timeout(LISTEN, listening).await;
    Ok(beats)
}

fn node_status(beat: &Beat, alive: bool, regions: &Regions) -> NodeStatus {
    let figures = &beat.figures;
    NodeStatus {
        node: beat.node.name().to_owned(),
        role: if beat.capacity == 0 { "coordinator" } else { "node" },
        region: beat.region.map(|id| regions.name(id).map_or_else(|| id.0.to_string(), str::to_owned)),
        alive,
        leaving: beat.leaving,
        partitions: beat.held.len(),
        opening: beat.opening.len().saturating_sub(beat.held.len()),
        load_percent: beat.load_percent,
        pages: figures.pages,
        queued: figures.queued,
        pages_per_minute: figures.pages_per_minute,
        links_sent: figures.links_sent,
        links_received: figures.links_received,
        bytes_sent: figures.bytes_sent,
        lag: beat.held.iter().map(|held| held.lag).sum(),
        refused: figures.refused,
    }
}

pub fn text(status: &ClusterStatus) -> String {
    let mut out = format!(
        "{}: {} — {}, {} waiting, {} per minute\n",
        status.crawl,
        status.state,
        plural(status.pages, "page", "pages"),
        count(status.queued),
        count(status.pages_per_minute)
    );
    if status.unowned > 0 && status.state != "done" {
        out.push_str(&format!("{} of {} partitions have no owner now\n", status.unowned, status.partitions));
    }
    for node in &status.nodes {
        let state = match (node.alive, node.leaving) {
            (false, _) => "silent",
            (_, true) => "leaving",
            _ => node.role,
        };
        let region = node.region.as_ref().map_or_else(String::new, |region| format!(", region {region}"));
        out.push_str(&format!(
            "  {} ({state}{region}): {}, load {} %, {}, {} waiting, {}/min; links {} out ({}), {} in, lag {}, {} refused\n",
            node.node,
            plural(node.partitions as u64, "partition", "partitions"),
            node.load_percent,
            plural(node.pages, "page", "pages"),
            count(node.queued),
            count(node.pages_per_minute),
            count(node.links_sent),
            bytes(node.bytes_sent),
            count(node.links_received),
            count(node.lag),
            count(node.refused),
        ));
    }
    out
}
