//! What all nodes of a crawl must know before they crawl: its settings and its seeds. Both lie on the bus.
//!
//! Seeds decide what is within scope, so whoever adds some writes them down first, and sends them to be crawled after.

use std::time::Duration;

use bytes::Bytes;
use lycosa_cluster::bus::{Bus, BusError, Keys, Watcher};
use lycosa_cluster::exchange::Outbox;
use lycosa_cluster::{Allocation, CrawlSettings, Link, NodeId, OutboxLimits};
use lycosa_types::{CanonUrl, UrlKey};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use super::note::Note;
use crate::config::{Config, ConfigError};

/// The configuration, as in `lycosa.toml`.
pub const CONFIG_KEY: &str = "crawl.config";
/// The seeds, one per line.
pub const SEEDS_KEY: &str = "crawl.seeds";
/// Most bytes of seeds: a key's value is one message.
pub const MAX_SEED_BYTES: usize = 900 << 10;
/// Largest configuration that is read.
const MAX_CONFIG_BYTES: usize = 640 << 10;
/// How long nodes get to hear of new seeds before these are crawled.
const HEAR_OF_SEEDS: Duration = Duration::from_secs(1);
/// Seeds are looked up now and then even if the watch is silent.
const LOOK_AGAIN: Duration = Duration::from_secs(5);
/// Seeds sent before the bus is waited for.
const SENT_AT_ONCE: usize = 10_000;

#[derive(Debug, thiserror::Error)]
pub enum BriefingError {
    #[error(transparent)]
    Bus(#[from] BusError),
    #[error("the configuration on the bus cannot be used: {0}")]
    Config(#[from] ConfigError),
    #[error("the configuration on the bus is no text of at most {MAX_CONFIG_BYTES} bytes; delete the crawl")]
    Unreadable,
    #[error(
        "the seeds take {0} bytes, at most {MAX_SEED_BYTES} may decide what is in scope; use `--scope any` with --include"
    )]
    TooManySeeds(usize),
}

/// Settings and seeds of a crawl.
#[derive(Clone, Debug)]
pub struct Briefing {
    pub config: Config,
    pub seeds: Vec<CanonUrl>,
}

impl Briefing {
    /// What lies on the bus; none if nobody has put anything there.
    pub async fn read<B: Bus>(bus: &B) -> Result<Option<Self>, BriefingError> {
        let Some(found) = retried(|| bus.get(CONFIG_KEY)).await? else { return Ok(None) };
        if found.value.len() > MAX_CONFIG_BYTES {
            return Err(BriefingError::Unreadable);
        }
        let text = std::str::from_utf8(&found.value).map_err(|_| BriefingError::Unreadable)?;
        let config = Config::parse(text, CONFIG_KEY.as_ref())?;
        let seeds = retried(|| bus.get(SEEDS_KEY)).await?;
        let seeds = seeds.map_or_else(Vec::new, |found| read_seeds(&found.value));
        Ok(Some(Self { config, seeds }))
    }

    /// Puts the configuration on the bus if there is none. What lies there wins.
    pub async fn offer<B: Bus>(bus: &B, config: &Config) -> Result<Self, BriefingError> {
        loop {
            if let Some(found) = Self::read(bus).await? {
                return Ok(found);
            }
            let text = Bytes::from(config.to_shared_toml());
            match retried(|| bus.create(CONFIG_KEY, text.clone())).await {
                Ok(_) | Err(BusError::Conflict(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Makes a call until the bus answers.
async fn retried<T, F: Future<Output = Result<T, BusError>>>(call: impl Fn() -> F) -> Result<T, BusError> {
    loop {
        match call().await {
            Err(error) if error.is_transient() => {
                tracing::debug!(%error, "asked again");
                sleep(Duration::from_millis(200)).await;
            }
            other => return other,
        }
    }
}

fn read_seeds(bytes: &[u8]) -> Vec<CanonUrl> {
    let text = String::from_utf8_lossy(bytes);
    let lines = text.lines().filter(|line| line.starts_with("http"));
    lines.map(|line| CanonUrl::from_canonical(line.to_owned())).collect()
}

/// Writes seeds down, so that all nodes know what is within scope.
pub async fn add_seeds<B: Bus>(bus: &B, new: &[CanonUrl]) -> Result<(), BriefingError> {
    loop {
        let found = retried(|| bus.get(SEEDS_KEY)).await?;
        let mut seeds = found.as_ref().map_or_else(Vec::new, |found| read_seeds(&found.value));
        let mut known: foldhash::HashSet<UrlKey> = seeds.iter().map(CanonUrl::key).collect();
        let before = seeds.len();
        seeds.extend(new.iter().filter(|seed| known.insert(seed.key())).cloned());
        if seeds.len() == before {
            return Ok(());
        }
        let text: String = seeds.iter().flat_map(|seed| [seed.as_str(), "\n"]).collect();
        if text.len() > MAX_SEED_BYTES {
            return Err(BriefingError::TooManySeeds(text.len()));
        }
        let text = Bytes::from(text);
        let written = match &found {
            Some(found) => bus.update(SEEDS_KEY, text, found.revision).await,
            None => bus.create(SEEDS_KEY, text).await,
        };
        match written {
            Ok(_) => return Ok(()),
            Err(BusError::Conflict(_)) => {}
            Err(error) if error.is_transient() => sleep(Duration::from_millis(200)).await,
            Err(error) => return Err(error.into()),
        }
    }
}

/// Adds seeds to a crawl, whether it runs or not. They are durable when this returns.
pub async fn submit<B: Bus>(
    bus: &B,
    settings: &CrawlSettings,
    config: &Config,
    sender: &NodeId,
    seeds: &[CanonUrl],
) -> Result<(), BriefingError> {
    if settings.allocation == Allocation::Independent {
        // Every node reads them for itself; no partition has an owner.
        return add_seeds(bus, seeds).await;
    }
    if config.scope.kind != lycosa_frontier::ScopeKind::Any {
        add_seeds(bus, seeds).await?;
        sleep(HEAR_OF_SEEDS).await;
    }
    let outbox = Outbox::new(sender.clone(), settings.print(), OutboxLimits::default());
    let mut note = Vec::new();
    Note { seed: true, relevance: 1.0, ..Note::default() }.encode(&mut note);
    for chunk in seeds.chunks(SENT_AT_ONCE) {
        for seed in chunk {
            let link = Link { note: &note, ..Link::new(seed.as_str(), 0) };
            // There is room: everything before was waited for.
            let _ = outbox.try_send(settings.partitioner.partition_of(seed), &link);
        }
        tokio::select! {
            () = outbox.flush() => {}
            () = outbox.run_publisher(bus) => {}
        }
    }
    Ok(())
}

/// Follows the seeds until nobody listens any more.
pub async fn follow_seeds<B: Bus>(bus: B, told: mpsc::Sender<Vec<CanonUrl>>) {
    let mut last = 0;
    while !told.is_closed() {
        let Ok(mut watcher) = bus.watch(Keys::One(SEEDS_KEY)).await else {
            sleep(Duration::from_millis(500)).await;
            continue;
        };
        loop {
            let (value, revision) = match timeout(LOOK_AGAIN, watcher.next()).await {
                Ok(Ok(update)) => (update.value, update.revision),
                Ok(Err(_)) => break,
                // A silent watch may be a dead one.
                Err(_) => match bus.get(SEEDS_KEY).await {
                    Ok(Some(found)) => (Some(found.value), found.revision),
                    _ => (None, 0),
                },
            };
            if let Some(value) = value.filter(|_| revision > last) {
                last = revision;
                if told.send(read_seeds(&value)).await.is_err() {
                    return;
                }
            }
        }
        sleep(Duration::from_millis(200)).await;
    }
}
