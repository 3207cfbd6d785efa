//! The way to a cluster: which NATS servers, as whom, which crawl.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Args;
use lycosa_cluster::name::MAX_NAME_BYTES;
use lycosa_cluster::node::{join, life, read_settings};
use lycosa_cluster::{
    Allocation, BusError, CrawlName, CrawlSettings, Credentials, LinkMode, NatsBus, NatsOptions, NodeError,
    NodeId, Timing,
};
use lycosa_engine::Config;
use lycosa_engine::cluster::Briefing;
use lycosa_types::CanonUrl;

use crate::output::tell;
use crate::usage::{OrUsage, wrong};
use tokio::runtime::Runtime;

/// Threads for the node: its beats must not wait for pages.
const THREADS: usize = 2;
/// How long servers that are there and do not answer yet are asked again when a command starts.
const PATIENCE: Duration = Duration::from_secs(30);
const LOOK_AGAIN: Duration = Duration::from_millis(250);
/// Where the password and the token are looked for, so that they stand on no command line.
const PASSWORD: &str = "LYCOSA_NATS_PASSWORD";
const TOKEN: &str = "LYCOSA_NATS_TOKEN";

/// Options of a cluster.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Cluster")]
pub struct NatsArgs {
    /// NATS servers of the cluster, with commas between them: nats://a:4222,nats://b:4222 (tls:// for TLS)
    #[arg(long, value_name = "URL")]
    pub nats: Option<String>,
    /// The name of the crawl in the cluster
    #[arg(long = "crawl", value_name = "NAME", default_value = "crawl", requires = "nats")]
    pub name: String,
    /// User at the NATS servers; the password is read from LYCOSA_NATS_PASSWORD, a token from LYCOSA_NATS_TOKEN
    #[arg(long, value_name = "NAME", requires = "nats")]
    pub nats_user: Option<String>,
    /// A .creds file with token and key
    #[arg(long, value_name = "FILE", requires = "nats", conflicts_with = "nats_user")]
    pub nats_creds: Option<PathBuf>,
    /// A file with the seed of an nkey
    #[arg(long, value_name = "FILE", requires = "nats", conflicts_with_all = ["nats_user", "nats_creds"])]
    pub nats_nkey: Option<PathBuf>,
    /// Certificates (PEM) of the authority that signed the servers', instead of the system's
    #[arg(long, value_name = "FILE", requires = "nats")]
    pub nats_ca: Option<PathBuf>,
    /// This machine's certificate (PEM), for servers that ask for one
    #[arg(long, value_name = "FILE", requires_all = ["nats", "nats_key"])]
    pub nats_cert: Option<PathBuf>,
    /// The key (PEM) of this machine's certificate
    #[arg(long, value_name = "FILE", requires = "nats_cert")]
    pub nats_key: Option<PathBuf>,
    /// NATS servers that hold each message: 1, or 3 in production
    #[arg(long, value_name = "N", default_value_t = 1, requires = "nats")]
    pub nats_replicas: usize,
    /// Seconds to wait for NATS servers that cannot be reached
    #[arg(long, value_name = "N", default_value_t = 1, requires = "nats")]
    pub nats_wait: u64,
}

/// A connection to a crawl in a cluster.
pub struct Connection {
    pub runtime: Runtime,
    pub bus: NatsBus,
    pub crawl: CrawlName,
}

impl NatsArgs {
    fn options(&self, url: &str) -> Result<NatsOptions> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let mut options = NatsOptions::new(url);
        options.credentials = if let Some(file) = &self.nats_creds {
            Credentials::File(file.clone())
        } else if let Some(file) = &self.nats_nkey {
            let seed = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
            Credentials::Nkey(seed.trim().to_owned())
        } else if let Some(name) = &self.nats_user {
            let password = variable(PASSWORD)
                .with_context(|| format!("--nats-user wants the password in the variable {PASSWORD}"))?;
            Credentials::User { name: name.clone(), password }
        } else {
            variable(TOKEN).map_or(Credentials::None, Credentials::Token)
        };
        options.authority = self.nats_ca.clone();
        options.certificate = self.nats_cert.clone().zip(self.nats_key.clone());
        options.require_tls |= options.authority.is_some() || options.certificate.is_some();
        options.replicas = self.nats_replicas;
        Ok(options)
    }

    /// Connects. Fails with what to type if no server is named.
    pub fn connect(&self) -> Result<Connection> {
        let Some(url) = &self.nats else {
            return Err(wrong("no NATS server is named; add --nats nats://HOST:4222"));
        };
        let crawl = CrawlName::new(&self.name).or_usage()?;
        let options = self.options(url)?;
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(THREADS).enable_all().build()?;
        let (started, wait) = (Instant::now(), Duration::from_secs(self.nats_wait));
        let connect = || loop {
            match runtime.block_on(NatsBus::connect(&options, &crawl)) {
                Err(BusError::Unreachable(_)) if started.elapsed() < wait => std::thread::sleep(LOOK_AGAIN),
                ended => return Ok(ended?),
            }
        };
        let bus = patiently(connect).with_context(|| url.clone())?;
        Ok(Connection { runtime, bus, crawl })
    }
}

impl Connection {
    /// Makes the crawl with these settings if there is none. What is on the bus wins.
    pub fn make(
        &self,
        config: &Config,
        allocation: Allocation,
        links: LinkMode,
    ) -> Result<(CrawlSettings, Briefing)> {
        let shared = allocation != Allocation::Independent && links == LinkMode::Exchange;
        if !shared && !config.partitions.regions.is_empty() {
            bail!(
                "regions need nodes that send each other links: use --links exchange and an --allocation by table"
            );
        }
        let make = async || {
            if let Some(settings) = read_settings(&self.bus).await? {
                return Ok((settings, Briefing::offer(&self.bus, config).await?));
            }
            let mut settings = CrawlSettings::new(lycosa_engine::clock::now().0);
            settings.partitioner = config.partitioner();
            (settings.allocation, settings.links) = (allocation, links);
            let settings = join(&self.bus, &settings).await?;
            Ok((settings, Briefing::offer(&self.bus, config).await?))
        };
        patiently(|| self.runtime.block_on(make()))
    }

    /// The settings of a crawl that somebody made; waits for it.
    pub fn wait(&self) -> Result<(CrawlSettings, Briefing)> {
        let mut told = false;
        loop {
            if let Some(found) = self.look()? {
                return Ok(found);
            }
            if !told {
                tell!(
                    "waiting for the crawl {} to be made; `lycosa crawl SEED --nats … --crawl {}` makes it",
                    self.crawl,
                    self.crawl
                );
                told = true;
            }
            std::thread::sleep(LOOK_AGAIN);
        }
    }

    /// The seeds of a crawl; waits for the first.
    pub fn seeds(&self, mut briefing: Briefing) -> Result<Vec<CanonUrl>> {
        while briefing.seeds.is_empty() {
            std::thread::sleep(LOOK_AGAIN);
            briefing = self.wait()?.1;
        }
        Ok(briefing.seeds)
    }

    /// The settings of a crawl, if somebody made it.
    pub fn look(&self) -> Result<Option<(CrawlSettings, Briefing)>> {
        let look = async || {
            let settings = read_settings(&self.bus).await?;
            let briefing = Briefing::read(&self.bus).await?;
            Ok(settings.zip(briefing))
        };
        patiently(|| self.runtime.block_on(look()))
    }
}

/// Tries again while the servers cannot answer: they may be starting, and those of a cluster elect their leaders first.
pub fn patiently<T>(mut attempt: impl FnMut() -> Result<T>) -> Result<T> {
    let started = Instant::now();
    let mut told = false;
    loop {
        match attempt() {
            Err(error) if is_transient(&error) && started.elapsed() < PATIENCE => {
                if !std::mem::replace(&mut told, true) {
                    tell!("the NATS servers do not answer yet; waiting for them ({error})");
                }
                std::thread::sleep(LOOK_AGAIN);
            }
            ended => return ended,
        }
    }
}

fn is_transient(error: &anyhow::Error) -> bool {
    let bus = match error.downcast_ref::<NodeError>() {
        Some(NodeError::Bus(bus)) => Some(bus),
        _ => error.downcast_ref::<BusError>(),
    };
    bus.is_some_and(BusError::is_transient)
}

impl Connection {
    /// Takes the next life of a node, named after the machine unless told otherwise. Refused while another process of this
    /// name is in the crawl, which must have been made.
    pub fn begin_life(&self, name: Option<&str>) -> Result<NodeId> {
        let name = node_name(name)?;
        // Of the clock only so that a node of an older version, which had nothing else, counts as an earlier life.
        let clock = lycosa_engine::clock::now().0;
        let begin = async || Ok(life::begin(&self.bus, &name, clock, Timing::default()).await?);
        patiently(|| self.runtime.block_on(begin()))
    }
}

/// The name a node goes by: the one given, else the machine's, as far as its letters may stand in a subject.
pub fn node_name(name: Option<&str>) -> Result<String> {
    let host = || {
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '-' };
        host.trim().to_ascii_lowercase().chars().map(plain).take(MAX_NAME_BYTES).collect::<String>()
    };
    let name = name.map_or_else(host, str::to_owned);
    let name = if name.is_empty() { "node".to_owned() } else { name };
    Ok(NodeId::new(&name, 0)?.name().to_owned())
}

/// Who sends seeds, in one call: no other call has the same number, whenever it is made.
pub fn sender() -> Result<NodeId> {
    Ok(NodeId::new("submit", sender_number())?)
}

/// A number that no other process has.
pub fn sender_number() -> u64 {
    RandomState::new().build_hasher().finish()
}
