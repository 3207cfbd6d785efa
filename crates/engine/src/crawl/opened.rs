//! A crawl's directory, opened: the rest is the same whether it is a machine's own crawl or a node's share of a cluster's.

use std::sync::Arc;
use std::sync::mpsc::channel;

use lycosa_fetch::Shared;
use lycosa_frontier::{Frontier, PrintTable, Scope, Store};
use lycosa_types::CanonUrl;

use super::{Crawl, CrawlError, Handle};
use crate::committer::Committer;
use crate::config::Config;
use crate::judge::JudgeContext;
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
            handle: Handle { stop: Arc::default(), progress: Arc::default() },
            events: channel(),
            seat: None,
        })
    }
}
