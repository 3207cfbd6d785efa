//! A crawl that is part of a cluster's: opened empty, its partitions arrive.

use std::sync::Arc;

use lycosa_cluster::{Bus, LinkMode, NodeHandle};
use lycosa_frontier::store::Mark;
use lycosa_frontier::{Frontier, Store, StoreError};

use super::{
    Crawl, CrawlError, MARK_ARCHIVE_NUMBER, MARK_NODE, MARK_SEEDS, Opened, open_writers, read_totals,
    seeds_mark, write_config,
};
use crate::bookkeeper::{MARK_CLEAN, is_supported};
use crate::cluster::aside::{Aside, MARK_ASIDE};
use crate::cluster::{Joining, Seat, archive_number};
use crate::config::Config;
use crate::layout::Layout;
use crate::prospects::Prospects;
use crate::rules;

impl Crawl {
    /// The node, if this crawl is part of a cluster's.
    pub fn node(&self) -> Option<&NodeHandle> {
        self.seat.as_ref().map(|seat| &seat.node)
    }

    /// Joins a cluster's crawl with `layout` as this node's own directory. What it holds from an earlier stay is used
    /// again as far as it connects. The node is started: run the crawl soon.
    pub fn join<B: Bus>(layout: Layout, mut config: Config, joining: Joining<B>) -> Result<Self, CrawlError> {
        let settings = joining.node.settings.clone();
        if !is_supported(&settings) || settings.partitioner.seed != 0 {
            return Err(CrawlError::Unsupported(format!("{settings:?}")));
        }
        config.partitions.count = settings.partitioner.partitions;
        config.partitions.by = settings.partitioner.granularity;
        if settings.links == LinkMode::Cross {
            // One host may be in several partitions then; what they have in common is its address.
            config.politeness.ip_delay_ms = config.politeness.ip_delay_ms.max(config.politeness.delay_ms);
        }
        config.check()?;
        if config.partitioner().regions != settings.partitioner.regions {
            return Err(CrawlError::Unsupported(format!("{} regions", settings.partitioner.regions)));
        }
        let store = super::open_store(&layout, &config)?;
        own(&store, &layout, settings.id)?;
        write_config(&layout, &config)?;
        let totals = read_totals(&store)?;
        let archive = archive_number(&store, &joining)?;
        let first_segment = archive_number::first_segment(archive);
        let committer = open_writers(&layout, &config, Arc::clone(&store), first_segment)?;
        let read_rules = rules::reader(config.agent.product.clone());
        let mut frontier = Frontier::of_node(config.frontier_options(), Arc::clone(&store), read_rules)?;
        let marks: Vec<Mark> = vec![
            (MARK_NODE, settings.id.to_be_bytes().to_vec()),
            (MARK_ARCHIVE_NUMBER, archive.to_be_bytes().to_vec()),
            // For those who ask why a URL is in scope; the seeds in force lie on the bus.
            (MARK_SEEDS, seeds_mark(&joining.seeds)),
            (MARK_CLEAN, vec![0]),
        ];
        let changes = frontier.take_changes();
        store.commit(&[], &changes, &marks)?;
        frontier.committed(changes.epoch);
        let prospects = Prospects::open(config.order, config.prospects_bytes(), &layout.edges())?;
        let aside = match settings.links {
            LinkMode::Cross => Some(open_aside(&store, &layout)?),
            LinkMode::Exchange | LinkMode::Drop => None,
        };
        let working_copy = Arc::clone(&store);
        let opened = Opened { layout, config, store, frontier, prospects, totals, committer };
        let mut crawl = opened.assemble(&joining.seeds)?;
        // Last, since it starts the node.
        let mut seat = Seat::take(joining, working_copy, archive);
        seat.aside = aside;
        crawl.seat = Some(seat);
        Ok(crawl)
    }
}

/// Links that were put aside and not taken up yet.
fn open_aside(store: &Store, layout: &Layout) -> Result<Aside, CrawlError> {
    let mark = store.mark(MARK_ASIDE)?.unwrap_or_default();
    let taken = <[u8; 8]>::try_from(mark).map_or(0, u64::from_be_bytes);
    let path = layout.aside();
    Aside::open(&path, taken).map_err(|source| CrawlError::Io { path, source })
}

/// The number of this directory's archive: the one it has, or a new one.
fn archive_number<B: Bus>(store: &Store, joining: &Joining<B>) -> Result<u32, CrawlError> {
    if let Some(number) = own_archive(store)? {
        return Ok(number);
    }
    let taking = archive_number::take(&joining.bus, joining.node.node.name());
    let number = joining.runtime.block_on(taking)?;
    number.ok_or(CrawlError::TooManyArchives(archive_number::MAX_ARCHIVES))
}

/// Makes sure that the directory is a node's, and of this crawl: its copy of another one is worthless, but its archive is not.
fn own(store: &Store, layout: &Layout, id: u64) -> Result<(), CrawlError> {
    match store.mark(MARK_NODE)? {
        Some(mark) if mark == id.to_be_bytes() => Ok(()),
        Some(_) => Err(CrawlError::OtherCrawl(layout.root.clone())),
        None if store.mark(MARK_SEEDS)?.is_some() => Err(CrawlError::NotANode(layout.root.clone())),
        None => Ok(()),
    }
}

/// The number of a directory's archive; none where it is not a node's.
pub(crate) fn own_archive(store: &Store) -> Result<Option<u32>, StoreError> {
    let Some(mark) = store.mark(MARK_ARCHIVE_NUMBER)? else { return Ok(None) };
    let bytes = <[u8; 4]>::try_from(mark).map_err(|_| StoreError::Damaged("archive number"))?;
    Ok(Some(u32::from_be_bytes(bytes)))
}
