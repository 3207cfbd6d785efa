//! `lycosa node`: one machine of a cluster. It joins a crawl, fetches what it is given, and leaves when asked.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use lycosa_cluster::{Allocation, CrawlSettings, LinkMode, NodeConfig};
use lycosa_engine::bookkeeper::Stop;
use lycosa_engine::cluster::{Briefing, Joining};
use lycosa_engine::{Config, Crawl, Layout};

use super::crawl::run_watched;
use super::search::cluster as searching;
use super::settings::SettingArgs;
use crate::display::Loudness;
use crate::exit::Exit;
use crate::nats::{Connection, NatsArgs};
use crate::output::{stdout, tell};
use crate::summary;

/// How soon a node that only answers notices that it is to stop.
const LOOK_AGAIN: std::time::Duration = std::time::Duration::from_millis(100);

const EXAMPLES: &str = "\
Examples:
  lycosa node --nats nats://10.0.0.1:4222 --crawl news -d /data/news
  lycosa node --nats tls://a:4222,tls://b:4222 --nats-creds news.creds --crawl news -d /data/news --memory 8192
  lycosa node --nats nats://10.0.0.1:4222 --crawl news -d /data/news --capacity 200    a machine twice as strong
  lycosa node --nats nats://10.0.0.1:4222 --crawl news -d /data/news --index --serve    stay to be searched
  lycosa node --nats nats://10.0.0.1:4222 --crawl news -d /data/news --region europe    crawl servers of that region

The settings of the crawl come from the cluster; what is typed here holds on this machine alone. Ctrl-C hands everything over
to the other nodes. A node that starts again with its directory goes on with what it holds.

Exit codes: 0 the crawl is over, 1 failed, 2 wrong usage, 3 stopped with everything saved or handed over.";

/// How partitions are given to nodes.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub enum AllocationArg {
    /// By a table that changes when nodes come and go, or one works much harder than the others
    #[default]
    Static,
    /// One after the other: whoever is idle takes the next
    Dynamic,
    /// Not at all: every node crawls from all seeds for itself, and pages may be fetched by several
    Independent,
}

/// What becomes of links to partitions of other nodes.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub enum LinksArg {
    /// They are sent to the owner
    #[default]
    Exchange,
    /// They are left out
    Drop,
    /// The node that found them follows them once it has nothing else to do; pages may be fetched by several nodes
    Cross,
}

impl From<AllocationArg> for Allocation {
    fn from(allocation: AllocationArg) -> Self {
        match allocation {
            AllocationArg::Static => Self::Static,
            AllocationArg::Dynamic => Self::Dynamic,
            AllocationArg::Independent => Self::Independent,
        }
    }
}

impl From<LinksArg> for LinkMode {
    fn from(links: LinksArg) -> Self {
        match links {
            LinksArg::Exchange => Self::Exchange,
            LinksArg::Drop => Self::Drop,
            LinksArg::Cross => Self::Cross,
        }
    }
}

/// How this machine takes part.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Cluster")]
pub struct PartArgs {
    /// This node's name: a-z, 0-9, `-`, `_` [default: the name of the machine]
    #[arg(long = "node", value_name = "NAME")]
    pub node: Option<String>,
    /// What this machine can do, relative to others
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub capacity: u32,
    /// The region this machine stands in, one of the crawl's (partitions.regions): it crawls the servers there
    #[arg(long, value_name = "NAME", requires = "nats")]
    pub region: Option<String>,
    /// Never coordinate: leave that to other nodes
    #[arg(long)]
    pub no_coordinate: bool,
    /// When the crawl is over, stay and answer searches until stopped; the crawl needs an index (--index)
    #[arg(long, requires = "nats")]
    pub serve: bool,
}

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct NodeArgs {
    /// This node's own directory
    #[arg(short, long, value_name = "DIR", default_value = super::place::DEFAULT_DIR)]
    pub data: PathBuf,
    #[command(flatten)]
    pub nats: NatsArgs,
    #[command(flatten)]
    pub part: PartArgs,
    #[command(flatten)]
    pub settings: SettingArgs,
    /// Print the report of this node as JSON when done, instead of the summary
    #[arg(long)]
    pub json: bool,
    /// Show neither progress nor summary
    #[arg(short, long)]
    pub quiet: bool,
}

pub fn run(args: NodeArgs) -> Result<Exit> {
    let layout = Layout::new(&args.data);
    let connection = args.nats.connect()?;
    let (settings, briefing) = connection.wait()?;
    let mut config = briefing.config.clone();
    // A node that starts again stands where it stood.
    if let Ok(kept) = Config::load(&layout.config()) {
        config.partitions.region = kept.partitions.region;
    }
    let config = args.settings.over(config)?;
    let loudness = if args.quiet { Loudness::Quiet } else { Loudness::Normal };
    let output = (args.json, loudness);
    take_part(&connection, layout, config, (settings, briefing), &args.part, output)
}

/// Joins and crawls until the end.
pub fn take_part(
    connection: &Connection,
    layout: Layout,
    mut config: Config,
    (settings, briefing): (CrawlSettings, Briefing),
    part: &PartArgs,
    (json, loudness): (bool, Loudness),
) -> Result<Exit> {
    let mut node = NodeConfig::new(connection.begin_life(part.node.as_deref())?, settings);
    if config.partitions.regions != briefing.config.partitions.regions {
        bail!(
            "the crawl was made with other regions; they cannot be changed, so leave partitions.regions out"
        );
    }
    if let Some(region) = &part.region {
        config.partitions.region.clone_from(region);
    }
    if !config.partitions.region.is_empty() {
        let named = config.regions()?.named(&config.partitions.region);
        node.region = Some(named.context("--region")?);
    }
    node.capacity = part.capacity;
    node.candidate = !part.no_coordinate;
    node.ends = !config.refresh.continuous;
    let indexes = config.index.during_crawl && config.archive.enabled;
    if part.serve && !indexes {
        bail!("--serve wants an index; add --index");
    }
    let name = node.node.name().to_owned();
    // Where the crawl comes to nothing, nobody is asked to wait for this node.
    let answer = || -> Result<_> {
        searching::remember(&layout, &name)?;
        Ok(searching::start(connection, &layout, &name))
    };
    let crawl = if node.settings.allocation == Allocation::Independent {
        // The cluster gives settings and seeds; everything else happens here.
        Crawl::open(layout.clone(), config, &connection.seeds(briefing)?)?
    } else {
        let (bus, runtime) = (connection.bus.clone(), connection.runtime.handle().clone());
        Crawl::join(layout.clone(), config, Joining { bus, node, runtime, seeds: briefing.seeds })?
    };
    let answering = indexes.then(answer).transpose()?;
    let handle = crawl.handle();
    let end = run_watched(crawl, layout.clone(), loudness)?;
    let mut out = stdout();
    if json {
        writeln!(out, "{}", serde_json::to_string_pretty(&end.report)?)?;
    } else if !matches!(loudness, Loudness::Quiet) {
        writeln!(out, "{}", summary::text(&end.report))?;
    }
    out.flush()?;
    if part.serve && answering.is_some() && !handle.is_stopping() {
        tell!("the crawl is over; {name} answers searches until Ctrl-C");
        while !handle.is_stopping() {
            std::thread::sleep(LOOK_AGAIN);
        }
    }
    if end.index.is_some_and(|index| index.failure.is_some()) {
        return Ok(Exit::Failed);
    }
    Ok(match end.stop {
        Stop::Exhausted => Exit::Done,
        Stop::Superseded => Exit::Failed,
        _ => Exit::Stopped,
    })
}
