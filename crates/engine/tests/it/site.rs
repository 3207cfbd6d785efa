//! A synthetic web on loopback and a crawl of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use lycosa_engine::{Config, Crawl, CrawlEnd, Layout};
use lycosa_frontier::{ScopeKind, Store};
use lycosa_simweb::{Server, ServerConfig, World, WorldConfig};
use lycosa_types::{CanonRules, CanonUrl, Outcome, UrlRecord};

pub struct Site {
    pub world: Arc<World>,
    pub server: Server,
    pub dir: tempfile::TempDir,
}

impl Site {
    pub fn start(config: WorldConfig) -> Self {
        Self::start_on(config, ServerConfig::loopbacks(1))
    }

    pub fn start_on(config: WorldConfig, server: ServerConfig) -> Self {
        let world = Arc::new(World::new(config));
        let server = Server::start_with(Arc::clone(&world), server).unwrap();
        Self { world, server, dir: tempfile::tempdir().unwrap() }
    }

    /// As fast as it goes: everything reachable, no pauses, quick retries.
    pub fn config(&self) -> Config {
        let mut config = Config::default();
        config.scope.kind = ScopeKind::Any;
        // The truth of the simulated web is about pages.
        config.archive.requisites = false;
        config.scope.depth = 1000;
        config.fetch.allow_net = vec!["127.0.0.0/8".into()];
        config.fetch.resolve = vec![format!("*.sim:80:127.0.0.1:{}", self.server.port())];
        config.politeness.delay_ms = 0;
        config.politeness.ip_delay_ms = 0;
        config.politeness.max_delay_ms = 20;
        config.politeness.retry_ms = 20;
        config.politeness.max_retry_ms = 200;
        config.politeness.rules_patience_ms = 0;
        config.politeness.per_host = 4;
        config.memory.budget_mib = 128;
        // Every page is wanted, also of mirrors.
        config.judging.skip_mirrors = false;
        config
    }

    pub fn layout(&self) -> Layout {
        Layout::new(self.dir.path().join("crawl"))
    }

    pub fn crawl(&self, config: Config, seeds: &[String]) -> CrawlEnd {
        let seeds: Vec<CanonUrl> =
            seeds.iter().map(|seed| CanonUrl::parse(seed, &CanonRules::default()).unwrap()).collect();
        Crawl::open(self.layout(), config, &seeds).unwrap().run().unwrap()
    }

    pub fn records(&self) -> BTreeMap<String, UrlRecord> {
        let store = Store::open(&self.layout().state(), 32 << 20).unwrap();
        store.urls().map(|record| record.unwrap().1).map(|record| (record.url.clone(), record)).collect()
    }

    pub fn outcomes(&self) -> BTreeMap<String, Outcome> {
        self.records()
            .into_iter()
            .map(|(url, record)| (url, record.outcome.expect("every url is done")))
            .collect()
    }
}
