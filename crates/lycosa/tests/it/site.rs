//! A synthetic web to crawl, and the arguments that reach it.

use std::collections::BTreeSet;
use std::sync::Arc;

use lycosa_simweb::{Server, TruthOptions, World, WorldConfig};
use tempfile::TempDir;

use crate::binary::{Run, lycosa};

pub struct Site {
    pub server: Server,
    pub dir: TempDir,
    resolve: String,
}

impl Site {
    pub fn start(config: WorldConfig) -> Self {
        let server = Server::start(Arc::new(World::new(config)), "127.0.0.1:0".parse().unwrap()).unwrap();
        let resolve = format!("*:80:{}", server.addr);
        Self { server, dir: tempfile::tempdir().unwrap(), resolve }
    }

    /// The crawl directory.
    pub fn data(&self) -> String {
        self.dir.path().join("data").to_str().unwrap().to_owned()
    }

    pub fn seed(&self) -> String {
        self.server.world().seeds(1).remove(0)
    }

    pub fn net(&self) -> [&str; 4] {
        ["--allow-net", "127.0.0.0/8", "--resolve", &self.resolve]
    }

    /// `lycosa crawl` of everything, with more arguments.
    pub fn crawl_args(&self, more: &[&str]) -> Vec<String> {
        let seed = self.seed();
        let data = self.data();
        let mut args = vec![
            "crawl",
            &seed,
            "-d",
            &data,
            "--scope",
            "any",
            "--ip-delay",
            "0",
            "--set",
            "politeness.retry_ms=50",
            "--no-requisites",
            "--set",
            "politeness.rules_patience_ms=0",
        ];
        args.extend(self.net());
        args.extend(more);
        args.into_iter().map(str::to_owned).collect()
    }

    pub fn crawl(&self, more: &[&str]) -> Run {
        let args = self.crawl_args(more);
        lycosa(&args.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Fails the test unless everything that can be reached was fetched, nothing else (but feeds) was, and nothing twice.
    pub fn expect_complete(&self) {
        self.expect_fetched();
        let mut asked = BTreeSet::new();
        for entry in self.server.ledger.entries() {
            assert!(asked.insert(entry.url()), "{} was asked for twice", entry.url());
        }
    }

    /// The same, where something may have been asked for twice.
    pub fn expect_fetched(&self) {
        let lines = lycosa(&["export", "-d", &self.data(), "-f", "urls"]).expect_code(0).json_lines();
        let fetched: BTreeSet<String> = lines
            .iter()
            .filter(|line| line["outcome"] == "fetched")
            .map(|line| line["url"].as_str().unwrap().to_owned())
            .filter(|url| !url.ends_with("/feed.xml"))
            .collect();
        let truth = self.server.world().truth(&TruthOptions::default());
        assert_eq!(fetched, truth.fetchable_urls().collect());
        assert!(lines.iter().all(|line| line["state"] == "done"));
    }
}
