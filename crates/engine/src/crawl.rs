//! A crawl: a directory is opened, threads are started, the bookkeeper runs, and a report is written.

mod guesses;
mod handle;
mod making;
mod member;
pub mod moved;
mod opened;

pub(crate) use member::own_archive;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::thread::JoinHandle;
use std::time::Instant;

use foldhash::HashSet;
use lycosa_archive::ArchiveError;
use lycosa_cluster::{BusError, NodeHandle};
use lycosa_fetch::{Shared, TlsSetupError};
use lycosa_frontier::scope::PatternError;
use lycosa_frontier::store::Mark;
use lycosa_frontier::{Admission, Discovered, Frontier, Revisits, Store, StoreError};
use lycosa_graph::EdgeLogError;
use lycosa_types::{CanonUrl, UnixMs, UrlKey};

use crate::bookkeeper::{
    Bookkeeper, Desk, Event, Locator, MARK_CLEAN, MARK_SWEEP, MARK_TOTALS, NodeParts, Opener, Parts, Stop,
    Visitor,
};
use crate::cluster::Seat;
use crate::committer::{CommitError, Committer};
use crate::config::{Config, ConfigError, LimitConfig};
use crate::indexing::{Followed, Follower, IndexingError};
use crate::judge::JudgeContext;
use crate::layout::{Layout, used_bytes, write_durably};
use crate::left_out::left_out;
use crate::prospects::{Found, Prospects};
use crate::refresher::{KnownRates, Refresher};
use crate::report::{ExchangeFigures, REPORT_VERSION, Report, RunFigures, process_figures, stop_word};
use crate::seeds::{self, SeedFigures};
use crate::shipping::{Shipping, ShippingError};
use crate::totals::Totals;
use crate::{clock, rules, worker};

pub use handle::Handle;
use making::Making;
use opened::{Opened, open_writers};

/// Marks in the state.
pub(crate) const MARK_SEEDS: &str = "seeds";
/// The id of the cluster's crawl that this directory is a node's working copy of.
const MARK_NODE: &str = "node";
/// The number of this node's archive.
const MARK_ARCHIVE_NUMBER: &str = "archive-number";

#[derive(Debug, thiserror::Error)]
pub enum CrawlError {
    #[error("there is nothing to crawl: name at least one URL, or a directory that holds a crawl")]
    NoSeeds,
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    #[error(transparent)]
    Edges(#[from] EdgeLogError),
    #[error(transparent)]
    Tls(#[from] TlsSetupError),
    #[error(transparent)]
    Pattern(#[from] PatternError),
    #[error(transparent)]
    Index(#[from] IndexingError),
    #[error(transparent)]
    Shipping(#[from] ShippingError),
    #[error("{0} holds a crawl of its own; give the node another directory")]
    NotANode(PathBuf),
    #[error("{0} belongs to a node of another crawl of that name; give the node another directory")]
    OtherCrawl(PathBuf),
    #[error("{0} belongs to a node of a cluster; use `lycosa node` there, or another directory")]
    IsANode(PathBuf),
    #[error("the crawl has {0} archives already, one for each directory of a node; no more are possible")]
    TooManyArchives(u32),
    #[error(transparent)]
    Bus(#[from] BusError),
    #[error("the crawl is set to {0}, which nodes cannot do; make it with other settings")]
    Unsupported(String),
    #[error(
        "regions (partitions.regions) are for clusters whose nodes share the work: add --nats URL, or leave them out"
    )]
    RegionsAlone,
    #[error(
        "the directory {0} was removed while the crawl wrote into it; what was crawled is lost, start the crawl anew"
    )]
    Gone(PathBuf),
    #[error("the crawl stopped because it could not save its work: {0}")]
    Commit(#[from] CommitError),
}

/// How a crawl ended.
#[derive(Clone, Debug)]
pub struct CrawlEnd {
    pub stop: Stop,
    pub report: Report,
    /// What was indexed on the way, if that was wanted.
    pub index: Option<Followed>,
}

/// A crawl that is open and ready to run.
pub struct Crawl {
    layout: Layout,
    config: Config,
    context: Arc<JudgeContext>,
    store: Arc<Store>,
    frontier: Frontier,
    prospects: Prospects,
    refresher: Refresher,
    totals: Totals,
    committer: Committer,
    shared: Arc<Shared>,
    handle: Handle,
    events: (Sender<Event>, Receiver<Event>),
    /// Its place in a cluster.
    seat: Option<Seat>,
}

impl Crawl {
    /// Opens the crawl in `layout`, making it if there is none. `seeds` are added to those it has.
    pub fn open(layout: Layout, config: Config, seeds: &[CanonUrl]) -> Result<Self, CrawlError> {
        Self::start(layout, config, seeds, None)
    }

    /// Opens the crawl in `layout` to visit once again every page whose last visit was before `before`. A refresh that
    /// was interrupted goes on with the time it began with.
    pub fn refresh(layout: Layout, config: Config, before: UnixMs) -> Result<Self, CrawlError> {
        Self::start(layout, config, &[], Some(before))
    }

    fn start(
        layout: Layout,
        config: Config,
        seeds: &[CanonUrl],
        refresh_before: Option<UnixMs>,
    ) -> Result<Self, CrawlError> {
        config.check()?;
        if !config.partitions.regions.is_empty() {
            return Err(CrawlError::RegionsAlone);
        }
        let store = open_store(&layout, &config)?;
        if store.mark(MARK_NODE)?.is_some() {
            return Err(CrawlError::IsANode(layout.root));
        }
        let named: HashSet<UrlKey> = seeds.iter().map(CanonUrl::key).collect();
        let seeds = merged_seeds(&store, seeds)?;
        if seeds.is_empty() {
            return Err(CrawlError::NoSeeds);
        }
        write_config(&layout, &config)?;
        let mut totals = read_totals(&store)?;
        let clean = store.mark(MARK_CLEAN)?.is_none_or(|mark| mark == [1]);
        let committer = open_writers(&layout, &config, Arc::clone(&store), 1)?;
        let read_rules = rules::reader(config.agent.product.clone());
        let now = clock::now();
        let mut options = config.frontier_options();
        let mut marks: Vec<Mark> = vec![(MARK_CLEAN, vec![0])];
        if let Some(before) = refresh_before {
            options.renew_sweep = Some(before);
            let before = sweep_under_way(&store)?.unwrap_or(before);
            options.revisits = Revisits::Sweep { before, images: config.judging.images == 0 };
            marks.push((MARK_SWEEP, before.0.to_be_bytes().to_vec()));
        }
        let mut frontier = Frontier::open(options, Arc::clone(&store), read_rules, clean, now)?;
        let prospects = Prospects::open(config.order, config.prospects_bytes(), &layout.edges())?;
        for seed in &seeds {
            let (url, key) = (seed.as_str(), seed.key());
            let signals = prospects.signals(url, key, Found { depth: 0, seed: true, relevance: 1.0 });
            let found = Discovered { url, key, redirects: 0, found_on: None, signals, listed: false };
            match frontier.admit(found, now)? {
                Admission::Queued => totals.accepted += 1,
                // It is named once more, or all of them failed: the settings may suit it better now.
                _ if refresh_before.is_none() && (named.contains(&key) || totals.pages == 0) => {
                    if let Some((id, record)) = seeds::to_try_again(&store, &config, seed)? {
                        frontier.try_again(id, record, now)?;
                    }
                }
                _ => {}
            }
        }
        guesses::undo(&store, &mut frontier, &mut totals, !config.guesses, now)?;
        // Seeds are durable before anything else happens, together with the mark that a crawl is under way. Their places in the
        // queue become so with the first pages: whoever opens a crawl admits its seeds.
        marks.push((MARK_SEEDS, seeds_mark(&seeds)));
        store.commit_marks(&marks)?;
        Opened { layout, config, store, frontier, prospects, totals, committer }.assemble(&seeds)
    }

    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Its state, which stays open as long as somebody holds it.
    pub fn store(&self) -> Arc<Store> {
        Arc::clone(&self.store)
    }

    /// Tells a continuous crawl how often pages change; the others are learnt from their visits.
    pub fn knowing(mut self, rates: Arc<dyn KnownRates>) -> Self {
        self.refresher.know(rates);
        self
    }

    /// Runs until nothing is left, a limit is reached, or [`Handle::stop`] is called; then saves everything.
    pub fn run(self) -> Result<CrawlEnd, CrawlError> {
        let Self {
            layout,
            config,
            context,
            store,
            frontier,
            prospects,
            refresher,
            totals,
            mut committer,
            shared,
            handle,
            events,
            seat,
        } = self;
        let started = Instant::now();
        if config.requests_under_way() < config.fetch.concurrency {
            tracing::warn!(
                allowed = config.requests_under_way(),
                wanted = config.fetch.concurrency,
                "the system lets this process have few files open, so fewer requests are under way at a time; raise `ulimit -n`"
            );
        }
        let (cpu_before, _) = process_figures();
        let before = totals.clone();
        let (events_in, events_out) = events;
        let mut threads: Vec<JoinHandle<()>> = Vec::new();
        let mut workers = Vec::new();
        committer.node = seat.as_ref().map(Seat::committer);
        let node = seat.as_ref().map(|seat| seat.node.clone());
        let mut seat = seat;
        let parts = match &mut seat {
            Some(seat) => {
                let (opener, thread) = Opener::new(Arc::clone(&store));
                threads.push(spawn(&layout, "opener".to_owned(), thread)?);
                let regions = match seat.settings.partitioner.regions {
                    0 => None,
                    _ => {
                        let (shared, options) = (Arc::clone(&shared), config.fetch_options());
                        let (locator, thread) = Locator::new(shared, options, events_in.clone());
                        threads.push(spawn(&layout, "locator".to_owned(), thread)?);
                        Some((config.regions()?, locator))
                    }
                };
                Some(NodeParts {
                    node: seat.node.clone(),
                    runtime: seat.runtime.clone(),
                    settings: seat.settings.clone(),
                    aside: seat.aside.take(),
                    opener,
                    regions,
                })
            }
            None => None,
        };
        let central = config.archive.enabled && !config.archive.central.is_empty();
        let (membership, tell) = seat.map(|seat| seat.attend(events_in.clone(), central)).unzip();
        let (results, results_out) = channel();
        let mut inboxes = Vec::new();
        for _ in 0..config.workers() {
            let (leases, inbox) = tokio::sync::mpsc::unbounded_channel();
            workers.push(leases);
            inboxes.push(inbox);
        }
        let follower = match config.index.during_crawl && config.archive.enabled {
            true => Some(Follower::start(&layout, &config, Arc::clone(&store))?),
            false => None,
        };
        let name = node.as_ref().map(|node| node.node().name());
        let shipping = match central {
            true => Some(Shipping::start(&layout, &config.archive, name, tell)?),
            false => None,
        };
        committer.follower = follower.as_ref().map(Follower::inbox);
        let (batches, batches_out) = sync_channel(1);
        let commit_events = events_in.clone();
        threads.push(spawn(&layout, "committer".to_owned(), move || {
            committer.run(&batches_out, &commit_events)
        })?);
        let bookkeeper = Bookkeeper::new(Parts {
            frontier,
            prospects,
            refresher,
            store: Arc::clone(&store),
            context: Arc::clone(&context),
            inbox: layout.inbox(),
            limits: config.limits.clone(),
            concurrency: config.requests_under_way(),
            per_host: config.politeness.per_host,
            relevant_from: config.focus.relevant_from,
            skip_mirrors: config.judging.skip_mirrors && config.guesses,
            workers,
            results: results_out,
            batches,
            totals,
            progress: Arc::clone(&handle.progress),
            stop: Arc::clone(&handle.stop),
            node: parts,
        });
        let desk = Arc::new(Desk::new(bookkeeper));
        for (worker, inbox) in inboxes.into_iter().enumerate() {
            let visitor = Visitor {
                worker,
                desk: Arc::clone(&desk),
                results: results.clone(),
                events: events_in.clone(),
            };
            let (context, shared, node) = (Arc::clone(&context), Arc::clone(&shared), node.clone());
            threads.push(spawn(&layout, format!("worker-{worker}"), move || {
                if let Err(error) = worker::run(context, shared, node, inbox, visitor) {
                    tracing::error!(%error, worker, "a worker could not start");
                }
            })?);
        }
        drop(events_in);
        let ended = desk.run(&events_out);
        // Whichever notices first, the watch or a write that failed.
        if handle.is_lost() || (ended.is_err() && !layout.exists()) {
            return Err(CrawlError::Gone(layout.root));
        }
        let (stop, totals) = ended?;
        let (moved, moved_count) = moved::moved_seeds(&context.scope());
        // Its tables are freed by the last worker, while the archive is sealed.
        drop(context);
        for thread in threads {
            if thread.join().is_err() {
                tracing::error!("a thread ended by a panic");
            }
        }
        let doubtful_servers = shared.doubtful_servers();
        let exchange = node.as_ref().map(exchange_figures);
        if let Some(membership) = membership {
            membership.leave();
        }
        let index = follower.map(Follower::finish);
        if let Some(shipped) =
            shipping.map(|shipping| shipping.finish(stop == Stop::Exhausted || node.is_some()))
            && shipped.left > 0
        {
            tracing::warn!(left = shipped.left, "not all of the archive is in the central one yet");
        }
        let seconds = started.elapsed().as_secs_f64();
        let (cpu_s, peak_rss_bytes) = process_figures();
        let progress = handle.progress();
        let pages = totals.pages - before.pages;
        let received_bytes = totals.received_bytes - before.received_bytes;
        let cpu_s = cpu_s - cpu_before;
        let seeds = match (stop, &node) {
            (Stop::Exhausted, None) => SeedFigures::look(&store, &config)?,
            _ => SeedFigures::default(),
        };
        let report = Report {
            version: REPORT_VERSION,
            lycosa: env!("CARGO_PKG_VERSION").to_owned(),
            finished_at: clock::now(),
            stopped_by: stop_word(stop).to_owned(),
            waiting: progress.waiting,
            hosts: progress.hosts,
            known: progress.known,
            run: RunFigures {
                seconds,
                pages,
                pages_per_s: pages as f64 / seconds,
                revisits: totals.revisits - before.revisits,
                changes: totals.changes_since(&before),
                received_bytes,
                received_bytes_per_s: received_bytes as f64 / seconds,
                doubtful_servers: doubtful_servers as u64,
                cpu_s,
                cpu_ms_per_page: cpu_s * 1000.0 / (pages.max(1) as f64),
                peak_rss_bytes,
                state_bytes: used_bytes(&layout.state()),
            },
            cluster: exchange,
            left_out: left_out(&totals),
            robots_failing: totals.robots_failing.iter().cloned().collect(),
            broken: totals.broken.clone(),
            moved,
            moved_count,
            seeds,
            totals,
        };
        let text = serde_json::to_vec_pretty(&report).unwrap_or_default();
        write_durably(&layout.report(), &text)
            .map_err(|source| CrawlError::Io { path: layout.report(), source })?;
        Ok(CrawlEnd { stop, report, index })
    }
}

fn open_store(layout: &Layout, config: &Config) -> Result<Arc<Store>, CrawlError> {
    let io = |path: PathBuf| move |source| CrawlError::Io { path, source };
    std::fs::create_dir_all(&layout.root).map_err(io(layout.root.clone()))?;
    // First the mark that the directory is not finished, so that a process killed here leaves nothing without it.
    let making = Making::begin(layout)?;
    std::fs::create_dir_all(layout.graph()).map_err(io(layout.graph()))?;
    let store = Store::open(&layout.state(), config.store_bytes())?;
    if let Some(making) = making {
        making.end().map_err(io(layout.making()))?;
    }
    Ok(Arc::new(store))
}

fn write_config(layout: &Layout, config: &Config) -> Result<(), CrawlError> {
    // Limits are of a run, not of the crawl: going on later must not stop at once again.
    let kept = Config { limits: LimitConfig::default(), ..config.clone() };
    write_durably(&layout.config(), kept.to_documented_toml().as_bytes())
        .map_err(|source| CrawlError::Io { path: layout.config(), source })
}

/// What was done so far, with this run counted.
fn read_totals(store: &Store) -> Result<Totals, StoreError> {
    let mut totals: Totals = match store.mark(MARK_TOTALS)? {
        Some(bytes) => serde_json::from_slice(&bytes).map_err(|_| StoreError::Damaged("totals"))?,
        None => Totals::default(),
    };
    totals.runs += 1;
    Ok(totals)
}

fn spawn(
    layout: &Layout,
    name: String,
    run: impl FnOnce() + Send + 'static,
) -> Result<JoinHandle<()>, CrawlError> {
    std::thread::Builder::new()
        .name(name)
        .spawn(run)
        .map_err(|source| CrawlError::Io { path: layout.root.clone(), source })
}

/// The seeds of a crawl: those it was made with and those added since.
pub fn stored_seeds(store: &Store) -> Result<Vec<CanonUrl>, StoreError> {
    let bytes = store.mark(MARK_SEEDS)?.unwrap_or_default();
    let text = String::from_utf8(bytes).map_err(|_| StoreError::Damaged("seeds"))?;
    Ok(text.lines().map(|line| CanonUrl::from_canonical(line.to_owned())).collect())
}

/// When the refresh began that was interrupted, if one was.
pub fn sweep_under_way(store: &Store) -> Result<Option<UnixMs>, StoreError> {
    let bytes = store.mark(MARK_SWEEP)?.unwrap_or_default();
    Ok(<[u8; 8]>::try_from(bytes).ok().map(|bytes| UnixMs(u64::from_be_bytes(bytes))))
}

/// The seeds a crawl has, and new ones.
pub(crate) fn merged_seeds(store: &Store, new: &[CanonUrl]) -> Result<Vec<CanonUrl>, StoreError> {
    let mut seeds = stored_seeds(store)?;
    let mut known: HashSet<UrlKey> = seeds.iter().map(CanonUrl::key).collect();
    seeds.extend(new.iter().filter(|seed| known.insert(seed.key())).cloned());
    Ok(seeds)
}

/// Seeds as they are stored.
pub(crate) fn seeds_mark(seeds: &[CanonUrl]) -> Vec<u8> {
    let names: Vec<&str> = seeds.iter().map(CanonUrl::as_str).collect();
    names.join("\n").into_bytes()
}

fn exchange_figures(node: &NodeHandle) -> ExchangeFigures {
    let totals = node.exchange_totals();
    ExchangeFigures {
        links_met: totals.met,
        links_sent: totals.sent,
        batches: totals.batches,
        bytes_sent: totals.bytes,
        refused: node.refusals().iter().sum(),
    }
}
