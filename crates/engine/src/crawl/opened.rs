//! A crawl's directory, opened: the rest is the same whether it is a machine's own crawl or a node's share of a cluster's.

use std::sync::Arc;
use std::sync::mpsc::channel;

use lycosa_archive::{Archive, ArchiveOptions, DurableEnd};
use lycosa_fetch::Shared;
use lycosa_frontier::{Frontier, PrintTable, Scope, Store, StoreError};
use lycosa_graph::EdgeLog;
use lycosa_types::CanonUrl;

use super::{Crawl, CrawlError, Handle};
use crate::committer::{Committer, MARK_ARCHIVE_END, MARK_EDGES_END};
use crate::config::Config;
use crate::judge::{JudgeContext, compression};
use crate::layout::Layout;
use crate::near::NearTable;
use crate::prospects::Prospects;
use crate::refresher::Refresher;
use crate::totals::Totals;

/// What a crawl has once its directory is open, whether it is a machine's own or a node's.
pub(super) struct Opened {
    pub layout: Layout,
    pub config: Config,
    pub store: Arc<Store>,
    pub frontier: Frontier,
    pub prospects: Prospects,
    pub totals: Totals,
    pub committer: Committer,
}

impl Opened {
    /// The crawl, with what all crawls need besides. `seeds` decide what is within scope.
    pub fn assemble(self, seeds: &[CanonUrl]) -> Result<Crawl, CrawlError> {
        let Self { layout, config, store, frontier, prospects, totals, committer } = self;
        let refresher = Refresher::open(&config.refresh, &store)?;
        let scope = Scope::new(config.scope_options(), seeds)?;
        super::moved::read_moved(&store, &config, seeds, &scope)?;
        let prints = PrintTable::load(Arc::clone(&store), config.prints_bytes())?;
        let near = NearTable::load(&store, &config.judging, config.prints_bytes())?;
        Ok(Crawl {
            shared: Shared::new(config.shared_options()?)?,
            context: Arc::new(JudgeContext::new(config.clone(), scope, prints, near, Arc::clone(&store))),
            layout,
            config,
            store,
            frontier,
            prospects,
            refresher,
            totals,
            committer,
            handle: Handle::default(),
            events: channel(),
            seat: None,
        })
    }
}

/// The writing ends of a directory, as far as its state says that they are written.
pub(super) fn open_writers(
    layout: &Layout,
    config: &Config,
    store: Arc<Store>,
    first_segment: u32,
) -> Result<Committer, CrawlError> {
    let archive = if config.archive.enabled {
        let options = ArchiveOptions {
            rotate_bytes: config.archive.segment_bytes,
            compression: compression(config.archive.compression),
            info: archive_info(config),
            first_segment,
            ..ArchiveOptions::default()
        };
        Some(Archive::open_at(&layout.archive(), options, archive_end(&store)?)?)
    } else {
        None
    };
    let edges_end = match store.mark(MARK_EDGES_END)? {
        Some(bytes) => {
            let bytes = <[u8; 8]>::try_from(bytes).map_err(|_| StoreError::Damaged("edges mark"))?;
            Some(u64::from_be_bytes(bytes))
        }
        None => None,
    };
    Ok(Committer {
        store,
        archive,
        edges: EdgeLog::open(&layout.edges(), edges_end)?,
        follower: None,
        node: None,
    })
}

fn archive_info(config: &Config) -> Vec<(String, String)> {
    let field = |name: &str, value: String| (name.to_owned(), value);
    let agent = config.user_agent().header_value();
    vec![
        field("software", concat!("lycosa/", env!("CARGO_PKG_VERSION")).to_owned()),
        field("http-header-user-agent", agent),
        field("robots", if config.robots.obey { "obey" } else { "ignore" }.to_owned()),
    ]
}

fn archive_end(store: &Store) -> Result<Option<DurableEnd>, StoreError> {
    let Some(bytes) = store.mark(MARK_ARCHIVE_END)? else { return Ok(None) };
    let damaged = || StoreError::Damaged("archive mark");
    let (segment, offset) = bytes.split_first_chunk::<4>().ok_or_else(damaged)?;
    let offset = <[u8; 8]>::try_from(offset).map_err(|_| damaged())?;
    Ok(Some(DurableEnd { segment: u32::from_be_bytes(*segment), offset: u64::from_be_bytes(offset) }))
}
