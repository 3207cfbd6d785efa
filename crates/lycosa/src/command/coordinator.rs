//! `lycosa coordinator`: keeps the table of a cluster's crawl and notices its end. It fetches nothing.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Result;
use clap::Args;
use lycosa_cluster::node::start;
use lycosa_cluster::{Event, MemoryState, NodeConfig};
use lycosa_engine::Config;

use super::node::{AllocationArg, LinksArg};
use crate::exit::Exit;
use crate::nats::{NatsArgs, sender_number};
use crate::signals::Asked;

const EXAMPLES: &str = "\
Examples:
  lycosa coordinator --nats nats://10.0.0.1:4222 --crawl news
  lycosa coordinator --nats nats://10.0.0.1:4222 --crawl news --config news.toml    and make the crawl if there is none

Nodes coordinate by themselves if there is no coordinator; one of its own is never busy with pages. Start two for safety:
the second steps in when the first is gone.

Exit codes: 0 the crawl is over, 1 failed, 2 wrong usage, 3 stopped.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct CoordinatorArgs {
    #[command(flatten)]
    pub nats: NatsArgs,
    /// This coordinator's name [default: coordinator- and a random number]
    #[arg(long = "node", value_name = "NAME")]
    pub node: Option<String>,
    /// Make the crawl with these settings if there is none (see `lycosa crawl --print-config`)
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// How partitions are given to nodes, if the crawl is made
    #[arg(long, value_enum, default_value_t, requires = "config")]
    pub allocation: AllocationArg,
    /// What becomes of links to partitions of other nodes, if the crawl is made
    #[arg(long, value_enum, default_value_t, requires = "config")]
    pub links: LinksArg,
}

pub fn run(args: CoordinatorArgs) -> Result<Exit> {
    let connection = args.nats.connect()?;
    let (settings, briefing) = match &args.config {
        Some(file) => connection.make(&Config::load(file)?, args.allocation.into(), args.links.into())?,
        None => connection.wait()?,
    };
    let name = args.node.clone().unwrap_or_else(|| format!("coordinator-{:08x}", sender_number()));
    let mut node = NodeConfig::new(connection.begin_life(Some(&name))?, settings);
    node.capacity = 0;
    node.ends = !briefing.config.refresh.continuous;
    connection.runtime.block_on(async {
        let (handle, mut events) = start(connection.bus.clone(), node, Arc::new(MemoryState::default()));
        let mut asked = Asked::listen()?;
        let exit = loop {
            tokio::select! {
                event = events.recv() => match event {
                    Some(Event::Finished) => break Exit::Done,
                    Some(Event::Superseded) => break Exit::Failed,
                    Some(_) => {}
                    None => break Exit::Failed,
                },
                _ = asked.next() => break Exit::Stopped,
            }
        };
        handle.leave().await;
        Ok(exit)
    })
}
