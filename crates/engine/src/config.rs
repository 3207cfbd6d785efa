//! Every setting of a crawl, as in `lycosa.toml`. Unknown keys are errors; [`TEMPLATE`] shows every key with its meaning
//! and its default, and a test holds that it says the truth.

use std::path::{Path, PathBuf};

use lycosa_fetch::{Cidr, FetchOptions, NetGuard, Overrides, PoolLimits, SharedOptions, UserAgent};
use lycosa_frontier::trap::{QUERIES_PER_PATH, TrapRules};
use lycosa_frontier::{FrontierOptions, LookupLimits, Order, Politeness, Revisits, ScopeOptions};
use lycosa_types::{CanonRules, requisite};
use serde::{Deserialize, Serialize};

mod fetch;
mod focus;
mod judging;
mod open_files;
mod page;
mod partitions;
mod refresh;
mod scope;

pub use fetch::FetchConfig;
pub use focus::FocusConfig;
pub use judging::{JudgingConfig, MinutiaHash, NearMethod};
pub use page::PageConfig;
pub use partitions::PartitionConfig;
pub use refresh::{NoiseRules, RefreshConfig, RefreshRule};
pub use scope::ScopeConfig;

/// Connections that are kept open, all workers together, where few requests are under way at a time: a crawl that goes
/// from host to host by importance comes back to each, and a new connection costs more than a page. An idle one
/// has no buffers.
const IDLE_CONNECTIONS: usize = 4096;

/// Most requests sent at once over one connection.
const MOST_PIPELINED: usize = 16;

/// `lycosa.toml` with every key, its meaning and its default.
pub const TEMPLATE: &str = include_str!("lycosa.toml");

#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: std::io::Error },
    #[error("{path}: {source}")]
    Syntax { path: PathBuf, source: Box<toml::de::Error> },
    #[error("{key}: {problem}")]
    Value { key: &'static str, problem: String },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    pub order: Order,
    pub guesses: bool,
    pub agent: AgentConfig,
    pub scope: ScopeConfig,
    pub limits: LimitConfig,
    pub politeness: Politeness,
    pub robots: RobotsConfig,
    pub fetch: FetchConfig,
    pub urls: CanonRules,
    pub page: PageConfig,
    pub traps: TrapRules,
    pub focus: FocusConfig,
    pub judging: JudgingConfig,
    pub refresh: RefreshConfig,
    pub archive: ArchiveConfig,
    pub index: IndexConfig,
    pub partitions: PartitionConfig,
    pub memory: MemoryConfig,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            order: Order::default(),
            guesses: true,
            agent: AgentConfig::default(),
            scope: ScopeConfig::default(),
            limits: LimitConfig::default(),
            politeness: Politeness::default(),
            robots: RobotsConfig::default(),
            fetch: FetchConfig::default(),
            urls: CanonRules::default(),
            page: PageConfig::default(),
            traps: TrapRules::default(),
            focus: FocusConfig::default(),
            judging: JudgingConfig::default(),
            refresh: RefreshConfig::default(),
            archive: ArchiveConfig::default(),
            index: IndexConfig::default(),
            partitions: PartitionConfig::default(),
            memory: MemoryConfig::default(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AgentConfig {
    pub product: String,
    pub contact: String,
}

impl Default for AgentConfig {
    fn default() -> Self {
        Self { product: "lycosa".to_owned(), contact: String::new() }
    }
}

/// Where a crawl stops by itself. 0 means no limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LimitConfig {
    pub max_pages: u64,
    pub max_bytes: u64,
    pub max_time_s: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RobotsConfig {
    pub obey: bool,
    pub nofollow: bool,
    pub sitemaps: bool,
}

impl Default for RobotsConfig {
    fn default() -> Self {
        Self { obey: true, nofollow: true, sitemaps: true }
    }
}

/// How archive records are compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ArchiveCompression {
    #[default]
    Gzip,
    Zstd,
    None,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ArchiveConfig {
    pub enabled: bool,
    pub requisites: bool,
    pub compression: ArchiveCompression,
    pub segment_bytes: u64,
    pub revisits: bool,
    pub central: String,
    pub central_endpoint: String,
    pub central_ca: String,
    pub central_cert: String,
    pub central_key: String,
}

impl Default for ArchiveConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            requisites: true,
            compression: ArchiveCompression::Gzip,
            segment_bytes: 1 << 30,
            revisits: true,
            central: String::new(),
            central_endpoint: String::new(),
            central_ca: String::new(),
            central_cert: String::new(),
            central_key: String::new(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct IndexConfig {
    pub during_crawl: bool,
    pub commit_pages: u64,
    pub commit_s: u64,
}

impl Default for IndexConfig {
    fn default() -> Self {
        Self { during_crawl: false, commit_pages: 20_000, commit_s: 30 }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MemoryConfig {
    pub budget_mib: u64,
}

impl Default for MemoryConfig {
    fn default() -> Self {
        Self { budget_mib: 512 }
    }
}

impl Config {
    /// Reads a configuration file.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| ConfigError::Io { path: path.to_owned(), source })?;
        Self::parse(&text, path)
    }

    /// Reads a configuration; `path` is what it is called when something is wrong.
    pub fn parse(text: &str, path: &Path) -> Result<Self, ConfigError> {
        let config: Self = toml::from_str(text)
            .map_err(|source| ConfigError::Syntax { path: path.to_owned(), source: Box::new(source) })?;
        config.check()?;
        Ok(config)
    }

    /// These settings with one key changed. The value is written as in the file; quotes around a word may be left out.
    pub fn with(&self, key: &str, value: &str) -> Result<Self, ConfigError> {
        let refuse = |problem: String| ConfigError::Value { key: "--set", problem };
        let mut table: toml::Table = self.to_toml().parse().map_err(|error| refuse(format!("{error}")))?;
        let parsed = format!("v = {value}").parse::<toml::Table>();
        let parsed = parsed.or_else(|_| format!("v = {value:?}").parse::<toml::Table>());
        let value = parsed
            .ok()
            .and_then(|mut table| table.remove("v"))
            .ok_or_else(|| refuse(format!("{value:?} is not a value")))?;
        match key.split_once('.') {
            None => {
                table.insert(key.to_owned(), value);
            }
            Some((section, key)) => match table.get_mut(section) {
                Some(toml::Value::Table(inner)) => {
                    inner.insert(key.to_owned(), value);
                }
                _ => return Err(refuse(format!("there is no section {section:?}"))),
            },
        }
        table.try_into().map_err(|error| refuse(format!("{error}").trim_end().to_owned()))
    }

    /// The values in force as a file.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).unwrap_or_default()
    }

    /// The values in force as a file that shows every key with its meaning: [`TEMPLATE`] with these values.
    pub fn to_documented_toml(&self) -> String {
        let values: toml::Table = self.to_toml().parse().unwrap_or_default();
        let mut section: Option<&str> = None;
        let mut out = String::with_capacity(TEMPLATE.len());
        for line in TEMPLATE.lines() {
            if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                section = Some(name);
            }
            let key = line.split_once(" = ").map(|(key, _)| key).filter(|key| !key.starts_with('#'));
            let value = key.and_then(|key| match section {
                Some(section) => values.get(section)?.get(key),
                None => values.get(key),
            });
            match (key, value) {
                (Some(key), Some(value)) => out.push_str(&format!("{key} = {value}\n")),
                _ => {
                    out.push_str(line);
                    out.push('\n');
                }
            }
        }
        out
    }

    /// Refuses values that cannot work, before anything is started with them.
    pub fn check(&self) -> Result<(), ConfigError> {
        let refuse = |key, problem: &str| Err(ConfigError::Value { key, problem: problem.to_owned() });
        if self.partitions.count == 0 || self.partitions.count > lycosa_types::partition::MAX_PARTITIONS {
            return refuse("partitions.count", "must be between 1 and 16384");
        }
        if self.fetch.concurrency == 0 {
            return refuse("fetch.concurrency", "must be at least 1");
        }
        if !(1..=MOST_PIPELINED).contains(&self.fetch.pipeline) {
            return refuse("fetch.pipeline", "must be between 1 and 16");
        }
        if self.scope.max_redirects > requisite::MAX_STEPS {
            return refuse("scope.max_redirects", "must be at most 127");
        }
        if self.politeness.per_host == 0 {
            return refuse("politeness.per_host", "must be at least 1");
        }
        if !(0.0..=1.0).contains(&self.refresh.share) {
            return refuse("refresh.share", "must be between 0 and 1");
        }
        if !(self.refresh.budget_per_s > 0.0 && self.refresh.budget_per_s.is_finite()) {
            return refuse("refresh.budget_per_s", "must be above 0");
        }
        if let Err(problem) = self.refresh.noise_rules() {
            return refuse("refresh.rules", &problem);
        }
        if usize::from(self.judging.images) > lycosa_page::MAX_PICTURES {
            return refuse("judging.images", "must be between 0 and 16");
        }
        if self.memory.budget_mib < 64 {
            return refuse("memory.budget_mib", "must be at least 64");
        }
        let regions = self.regions()?;
        if !self.partitions.region.is_empty()
            && let Err(error) = regions.named(&self.partitions.region)
        {
            return refuse("partitions.region", &error.to_string());
        }
        self.shared_options()?;
        lycosa_frontier::Scope::new(self.scope_options(), &[]).map_err(|error| ConfigError::Value {
            key: "scope.include, scope.exclude",
            problem: error.to_string(),
        })?;
        Ok(())
    }

    /// Whether what pages need to look as they do is fetched, too.
    pub fn requisites(&self) -> bool {
        self.archive.enabled && self.archive.requisites
    }

    pub fn scope_options(&self) -> ScopeOptions {
        ScopeOptions {
            kind: self.scope.kind,
            include: self.scope.include.clone(),
            exclude: self.scope.exclude.clone(),
            max_depth: self.scope.depth,
            traps: self.traps.clone(),
        }
    }

    /// Whether links beyond the depth are followed on pages that say something new.
    pub fn goes_deeper(&self) -> bool {
        self.scope.deeper && self.scope.depth == scope::DEFAULT_DEPTH
    }

    /// Whether more queries of a path are asked for while its pages say something new.
    pub fn raises_queries(&self) -> bool {
        self.traps.raise && self.traps.max_queries_per_path == QUERIES_PER_PATH
    }

    pub fn frontier_options(&self) -> FrontierOptions {
        let budget = (self.memory.budget_mib as usize) << 20;
        FrontierOptions {
            order: self.order,
            politeness: self.politeness.patient(self.refresh.continuous),
            partitioner: self.partitioner(),
            obey_robots: self.robots.obey,
            max_queries_per_path: self.traps.max_queries_per_path,
            raise_queries: self.raises_queries(),
            max_waiting_per_host: self.traps.max_waiting_per_host,
            max_waiting_per_domain: self.traps.max_waiting_per_domain,
            max_listed_per_host: self.traps.max_listed_per_host,
            renew_sweep: None,
            guesses: self.guesses,
            // An entry takes some 300 bytes with its URL.
            max_entries_in_memory: budget / 16 / 300,
            // A host takes some 1000 bytes with its rules and first URL.
            max_hosts_in_memory: budget / 8 / 1000,
            // Eight bytes a URL, and room: 2 GiB hold 100 million.
            seen_bytes: budget / 2,
            revisits: if self.refresh.continuous { Revisits::Due } else { Revisits::Off },
            refresh_share: self.refresh.share,
            lookups: LookupLimits {
                all: self.lookups_under_way(),
                per_zone: self.fetch.dns_lookups_per_zone,
            },
            // A URL that can move takes some 50 bytes.
            max_tracked: budget / 16 / 50,
            few_in_flight: u32::try_from(2 * self.workers()).unwrap_or(u32::MAX),
        }
    }

    /// Memory for the state store's caches and write buffers.
    pub fn store_bytes(&self) -> u64 {
        (self.memory.budget_mib << 20) / 8
    }

    /// Memory for what the orders that follow links know about URLs.
    pub fn prospects_bytes(&self) -> usize {
        ((self.memory.budget_mib << 20) / 16) as usize
    }

    /// Memory for the content-seen table.
    pub fn prints_bytes(&self) -> usize {
        ((self.memory.budget_mib << 20) / 16) as usize
    }

    pub fn workers(&self) -> usize {
        match self.fetch.workers {
            0 => std::thread::available_parallelism().map_or(1, |n| n.get()),
            n => n,
        }
    }

    pub fn user_agent(&self) -> UserAgent {
        let contact = (!self.agent.contact.is_empty()).then(|| self.agent.contact.clone());
        UserAgent { product: self.agent.product.clone(), contact, ..UserAgent::default() }
    }

    pub fn fetch_options(&self) -> FetchOptions {
        let workers = self.workers();
        let share = self.requests_under_way().div_ceil(workers);
        let most = (self.connections() / workers).max(1);
        FetchOptions {
            user_agent: self.user_agent(),
            limits: self.fetch.limits(),
            // Idle connections of other hosts are kept beside the busy ones.
            pool: PoolLimits {
                connections: share.saturating_mul(2).max(IDLE_CONNECTIONS / workers).max(64).min(most),
                idle_per_origin: (self.politeness.per_host as usize).max(2),
                ..PoolLimits::default()
            },
            compression: self.fetch.compression,
            ..FetchOptions::default()
        }
    }

    pub fn shared_options(&self) -> Result<SharedOptions, ConfigError> {
        let mut opened: Vec<Cidr> = Vec::new();
        for network in &self.fetch.allow_net {
            opened.push(network.parse().map_err(|error: lycosa_fetch::CidrError| ConfigError::Value {
                key: "fetch.allow_net",
                problem: error.to_string(),
            })?);
        }
        let overrides = Overrides::parse(self.fetch.resolve.iter().map(String::as_str))
            .map_err(|error| ConfigError::Value { key: "fetch.resolve", problem: error.to_string() })?;
        let mut options =
            SharedOptions { guard: NetGuard::new(opened), overrides, ..SharedOptions::default() };
        options.dns.concurrent_lookups = self.lookups_under_way();
        options.allow_ports.clone_from(&self.fetch.allow_ports);
        for file in &self.fetch.ca {
            let pem = std::fs::read(file).map_err(|error| ConfigError::Value {
                key: "fetch.ca",
                problem: format!("{file} cannot be read: {error}"),
            })?;
            options.tls.extra_roots_pem.push(pem);
        }
        options.tls.danger_accept_invalid_certs = self.fetch.accept_invalid_certs;
        options.tls.http2 = self.fetch.http2;
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_template_says_the_truth() {
        let parsed: Config = toml::from_str(TEMPLATE).unwrap();
        assert_eq!(parsed, Config::default());
        // Every key is shown: the template has as many as the defaults written out.
        let keys = |text: &str| -> std::collections::BTreeSet<String> {
            let table: toml::Table = text.parse().unwrap();
            let flatten = |(section, value): (&String, &toml::Value)| match value {
                toml::Value::Table(inner) => inner.keys().map(|key| format!("{section}.{key}")).collect(),
                _ => vec![section.clone()],
            };
            table.iter().flat_map(flatten).collect()
        };
        assert_eq!(keys(TEMPLATE), keys(&Config::default().to_toml()));
    }

    #[test]
    fn a_documented_file_says_the_same() {
        let mut config = Config::default();
        config.scope.exclude = vec!["*/a \"b\"*".into(), "re:x$".into()];
        config.politeness.delay_ms = 7;
        config.order = Order::DepthFirst;
        let text = config.to_documented_toml();
        assert_eq!(toml::from_str::<Config>(&text).unwrap(), config);
        assert!(text.contains("# Shortest pause between the end"));
    }

    #[test]
    fn unknown_keys_and_bad_values_are_refused() {
        assert!(toml::from_str::<Config>("[scope]\nkinds = \"host\"").is_err());
        let mut config = Config::default();
        config.fetch.allow_net = vec!["10.0.0.0/99".into()];
        assert!(config.check().unwrap_err().to_string().contains("fetch.allow_net"));
        let mut config = Config::default();
        config.scope.exclude = vec!["re:(".into()];
        assert!(config.check().is_err());
    }
}
