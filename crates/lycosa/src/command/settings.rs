//! Options that change settings: what was typed becomes a [`Config`].

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use lycosa_engine::{Config, Layout};
use lycosa_frontier::{Order, ScopeKind};

use super::topic;
use crate::usage::OrUsage;

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum ScopeArg {
    Host,
    Domain,
    Prefix,
    Any,
}

impl From<ScopeArg> for ScopeKind {
    fn from(scope: ScopeArg) -> Self {
        match scope {
            ScopeArg::Host => Self::Host,
            ScopeArg::Domain => Self::Domain,
            ScopeArg::Prefix => Self::Prefix,
            ScopeArg::Any => Self::Any,
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum OrderArg {
    BreadthFirst,
    DepthFirst,
    BestFirst,
    Pvalue,
    Backlink,
    ForwardLink,
    Location,
    Relevance,
}

impl From<OrderArg> for Order {
    fn from(order: OrderArg) -> Self {
        match order {
            OrderArg::BreadthFirst => Self::BreadthFirst,
            OrderArg::DepthFirst => Self::DepthFirst,
            OrderArg::BestFirst => Self::BestFirst,
            OrderArg::Pvalue => Self::Pvalue,
            OrderArg::Backlink => Self::Backlink,
            OrderArg::ForwardLink => Self::ForwardLink,
            OrderArg::Location => Self::Location,
            OrderArg::Relevance => Self::Relevance,
        }
    }
}

/// Settings of a crawl. Each wins over the configuration file.
#[derive(Debug, Default, Args)]
pub struct SettingArgs {
    /// Read settings from this file (see `lycosa crawl --print-config`)
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// How far from the seeds the crawl may go
    #[arg(long, value_enum)]
    pub scope: Option<ScopeArg>,
    /// Only follow URLs that match (`*` is anything, `re:` starts a regular expression); may be repeated
    #[arg(long, value_name = "PATTERN")]
    pub include: Vec<String>,
    /// Never follow URLs that match; may be repeated
    #[arg(long, value_name = "PATTERN")]
    pub exclude: Vec<String>,
    /// Most links from a seed
    #[arg(long, value_name = "N")]
    pub depth: Option<u16>,
    /// Which waiting URL goes first
    #[arg(long, value_enum)]
    pub order: Option<OrderArg>,
    /// Look for pages on a topic: words, each with an optional weight (`solar wind:0.5`); sets the order `relevance`
    #[arg(long, value_name = "WORDS")]
    pub topic: Option<String>,
    /// Look for pages like this one: an HTML file; may be repeated
    #[arg(long, value_name = "FILE")]
    pub topic_page: Vec<PathBuf>,
    /// With a topic, do not follow links less promising than this, 0 to 1
    #[arg(long, value_name = "SHARE")]
    pub least_link: Option<f32>,
    /// With a topic, do not archive pages less relevant than this, 0 to 1
    #[arg(long, value_name = "SHARE")]
    pub least_page: Option<f32>,
    /// Stop after this many pages
    #[arg(long, value_name = "N")]
    pub max_pages: Option<u64>,
    /// Stop after this many received bytes (k, M, G allowed)
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    pub max_bytes: Option<u64>,
    /// Stop after this time (s, m, h allowed; seconds without)
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub max_time: Option<Duration>,
    /// Go on when nothing new is left: visit every page again when it is due
    #[arg(long)]
    pub continuous: bool,
    /// Requests per second, on average, for pages visited before
    #[arg(long, value_name = "N")]
    pub refresh_budget: Option<f64>,
    /// Pause between two requests to one host (ms, s allowed; seconds without)
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub delay: Option<Duration>,
    /// Pause between two requests to one IP address; 0 switches it off
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub ip_delay: Option<Duration>,
    /// Requests under way at the same time
    #[arg(long, value_name = "N")]
    pub concurrency: Option<usize>,
    /// Requests under way to one host at the same time
    #[arg(long, value_name = "N")]
    pub per_host: Option<u32>,
    /// Requests sent at once over one connection, to hosts with several under way; for servers known to bear it
    #[arg(long, value_name = "N")]
    pub pipeline: Option<usize>,
    /// The name sent as User-Agent and looked up in robots.txt
    #[arg(long, value_name = "NAME")]
    pub user_agent: Option<String>,
    /// A page or address where a site's owner can reach you
    #[arg(long, value_name = "URL")]
    pub contact: Option<String>,
    /// Do not ask for, nor obey, robots.txt (only for sites of your own)
    #[arg(long)]
    pub ignore_robots: bool,
    /// Also follow links where the page or the link says nofollow
    #[arg(long)]
    pub ignore_nofollow: bool,
    /// Do not follow the sitemaps that robots.txt names
    #[arg(long)]
    pub no_sitemaps: bool,
    /// Let no guess of the crawler leave a URL out, and fetch what earlier guesses left out
    #[arg(long)]
    pub no_guesses: bool,
    /// Do not write an archive
    #[arg(long)]
    pub no_archive: bool,
    /// Do not fetch what archived pages need to look as they do: style sheets, images, fonts, scripts, media
    #[arg(long)]
    pub no_requisites: bool,
    /// Fetch it again in a crawl that was made without (from any host; with an archive this is the default)
    #[arg(long, conflicts_with_all = ["no_requisites", "no_archive"])]
    pub requisites: bool,
    /// Feed the full-text index on the way, for `lycosa search`
    #[arg(long, conflicts_with = "no_archive")]
    pub index: bool,
    /// Open a private network, for instance 127.0.0.0/8; may be repeated
    #[arg(long, value_name = "CIDR")]
    pub allow_net: Vec<String>,
    /// Trust the certificate authorities of this PEM file beside the web's own; may be repeated
    #[arg(long, value_name = "FILE")]
    pub ca: Vec<PathBuf>,
    /// A fixed answer to name look-ups, as in curl: HOST:PORT:ADDRESS[:PORT] with `*` as wildcard; may be repeated
    #[arg(long, value_name = "RULE")]
    pub resolve: Vec<String>,
    /// Memory for queues, caches and buffers, in MiB
    #[arg(long, value_name = "MIB")]
    pub memory: Option<u64>,
    /// Set any key of the configuration, for instance politeness.max_tries=2; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
}

impl SettingArgs {
    /// The settings in force: those the crawl has, else the file's, else the defaults; then what was typed.
    pub fn resolve(&self, layout: &Layout) -> Result<Config> {
        let config = match (&self.config, layout.config().exists()) {
            (Some(file), _) => Config::load(file).or_usage()?,
            (None, true) => Config::load(&layout.config())?,
            (None, false) => Config::default(),
        };
        self.over(config)
    }

    /// What was typed, over settings from elsewhere.
    pub fn over(&self, mut config: Config) -> Result<Config> {
        self.apply(&mut config);
        self.focus(&mut config)?;
        for assignment in &self.set {
            config = assign(&config, assignment).or_usage()?;
        }
        config.check().or_usage()?;
        Ok(config)
    }

    fn focus(&self, config: &mut Config) -> Result<()> {
        let mut words: Vec<String> =
            self.topic.iter().flat_map(|words| words.split([' ', ','])).map(str::to_owned).collect();
        words.retain(|word| !word.is_empty());
        for page in &self.topic_page {
            words.extend(topic::words_of_file(page)?);
        }
        if !words.is_empty() {
            config.focus.topic = words;
            if self.order.is_none() {
                config.order = Order::Relevance;
            }
        }
        set(&mut config.focus.least_link, self.least_link);
        set(&mut config.focus.least_page, self.least_page);
        Ok(())
    }

    fn apply(&self, config: &mut Config) {
        let ms = |time: Duration| time.as_millis() as u64;
        if let Some(scope) = self.scope {
            config.scope.kind = scope.into();
        }
        set(&mut config.order, self.order.map(Order::from));
        replace(&mut config.scope.include, &self.include);
        replace(&mut config.scope.exclude, &self.exclude);
        replace(&mut config.fetch.allow_net, &self.allow_net);
        replace(&mut config.fetch.resolve, &self.resolve);
        replace(&mut config.fetch.ca, &whole_paths(&self.ca));
        set(&mut config.scope.depth, self.depth);
        config.scope.deeper &= self.depth.is_none();
        set(&mut config.limits.max_pages, self.max_pages);
        set(&mut config.limits.max_bytes, self.max_bytes);
        set(&mut config.limits.max_time_s, self.max_time.map(|time| time.as_secs().max(1)));
        set(&mut config.politeness.delay_ms, self.delay.map(ms));
        set(&mut config.politeness.ip_delay_ms, self.ip_delay.map(ms));
        set(&mut config.politeness.per_host, self.per_host);
        set(&mut config.fetch.concurrency, self.concurrency);
        set(&mut config.fetch.pipeline, self.pipeline);
        set(&mut config.agent.product, self.user_agent.clone());
        set(&mut config.agent.contact, self.contact.clone());
        set(&mut config.memory.budget_mib, self.memory);
        set(&mut config.refresh.budget_per_s, self.refresh_budget);
        config.refresh.continuous |= self.continuous;
        config.robots.obey &= !self.ignore_robots;
        config.robots.nofollow &= !self.ignore_nofollow;
        config.robots.sitemaps &= !self.no_sitemaps;
        config.guesses &= !self.no_guesses;
        config.archive.enabled &= !self.no_archive;
        config.archive.requisites = (config.archive.requisites || self.requisites) && !self.no_requisites;
        config.index.during_crawl |= self.index;
    }
}

fn set<T>(value: &mut T, typed: Option<T>) {
    if let Some(typed) = typed {
        *value = typed;
    }
}

fn replace(value: &mut Vec<String>, typed: &[String]) {
    if !typed.is_empty() {
        *value = typed.to_vec();
    }
}

/// Paths that hold wherever the crawl is resumed.
fn whole_paths(typed: &[PathBuf]) -> Vec<String> {
    let whole = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone());
    typed.iter().map(|path| whole(path).to_string_lossy().into_owned()).collect()
}

/// Applies `section.key=value`, where the value is written as in the configuration file (quotes may be left out).
fn assign(config: &Config, assignment: &str) -> Result<Config> {
    let (key, value) = assignment.split_once('=').context("--set wants KEY=VALUE")?;
    config.with(key.trim(), value.trim()).with_context(|| format!("--set {assignment}"))
}

/// `90`, `90s`, `1500ms`, `2m`, `1h`.
pub fn parse_time(text: &str) -> Result<Duration, String> {
    let (number, unit_ms) = if let Some(number) = text.strip_suffix("ms") {
        (number, 1.0)
    } else if let Some(number) = text.strip_suffix('s') {
        (number, 1000.0)
    } else if let Some(number) = text.strip_suffix('m') {
        (number, 60_000.0)
    } else if let Some(number) = text.strip_suffix('h') {
        (number, 3_600_000.0)
    } else {
        (text, 1000.0)
    };
    let number: f64 =
        number.trim().parse().map_err(|_| "write a time as 90, 90s, 1500ms, 2m or 1h".to_owned())?;
    if !(0.0..=1e9).contains(&number) {
        return Err("that time is out of range".to_owned());
    }
    Ok(Duration::from_millis((number * unit_ms) as u64))
}

/// `1000`, `10k`, `5M`, `2G`.
fn parse_bytes(text: &str) -> Result<u64, String> {
    let (number, factor) = match text.trim_end_matches(['b', 'B']) {
        t if t.ends_with(['k', 'K']) => (&t[..t.len() - 1], 1 << 10),
        t if t.ends_with(['m', 'M']) => (&t[..t.len() - 1], 1 << 20),
        t if t.ends_with(['g', 'G']) => (&t[..t.len() - 1], 1 << 30),
        t => (t, 1),
    };
    let number: u64 = number.trim().parse().map_err(|_| "write a size as 1000, 10k, 5M or 2G".to_owned())?;
    number.checked_mul(factor).ok_or_else(|| "that size is out of range".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sizes() {
        assert_eq!(parse_time("1500ms"), Ok(Duration::from_millis(1500)));
        assert_eq!(parse_time("0.5"), Ok(Duration::from_millis(500)));
        assert_eq!(parse_time("2m"), Ok(Duration::from_secs(120)));
        assert!(parse_time("soon").is_err() && parse_time("-1").is_err());
        assert_eq!(parse_bytes("10k"), Ok(10_240));
        assert_eq!(parse_bytes("2GB"), Ok(2 << 30));
        assert!(parse_bytes("many").is_err());
    }

    #[test]
    fn any_key_can_be_set() {
        let config = assign(&Config::default(), "politeness.max_tries=2").unwrap();
        assert_eq!(config.politeness.max_tries, 2);
        let config = assign(&Config::default(), "order=depth-first").unwrap();
        assert_eq!(config.order, Order::DepthFirst);
        assert!(assign(&Config::default(), "politeness.max_trie=2").is_err());
        assert!(assign(&Config::default(), "nonsense").is_err());
    }
}
