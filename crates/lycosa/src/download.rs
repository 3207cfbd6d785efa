//! One page for a tool: from a file, from standard input or from the network, whole and within limits.

use std::io::Read;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use clap::Args;
use lycosa_engine::Config;
use lycosa_fetch::{Fetcher, Request, RequestKind, Response, Shared, Visit};
use lycosa_types::{CanonRules, CanonUrl};

use crate::advice;
use crate::usage::OrUsage;

/// Largest file that a tool reads.
const MAX_FILE_BYTES: u64 = 64 << 20;
/// Redirects followed from what was typed.
const MAX_REDIRECTS: usize = 10;

/// How the network is reached.
#[derive(Debug, Default, Args)]
pub struct NetArgs {
    /// Open a private network, for instance 127.0.0.0/8; may be repeated
    #[arg(long, value_name = "CIDR")]
    pub allow_net: Vec<String>,
    /// A fixed answer to name look-ups: HOST:PORT:ADDRESS[:PORT] with `*` as wildcard; may be repeated
    #[arg(long, value_name = "RULE")]
    pub resolve: Vec<String>,
    /// A page or address where a site's owner can reach you
    #[arg(long, value_name = "URL")]
    pub contact: Option<String>,
}

/// Whether an argument is an address rather than a file.
pub fn is_url(argument: &str) -> bool {
    argument.starts_with("http://") || argument.starts_with("https://")
}

/// URL rules under which nothing is cut from a query: what was typed is what is asked for.
pub fn literal_rules() -> CanonRules {
    CanonRules {
        tracking_parameters: Vec::new(),
        session_parameters: Vec::new(),
        drop_repeated: false,
        sort_query: false,
    }
}

/// The bytes of a file, or of standard input for `-`.
pub fn read_file(path: &str) -> Result<Vec<u8>> {
    let hint = || format!("{path} is not a file that can be read (a URL starts with http:// or https://)");
    let mut bytes = Vec::new();
    let input: Box<dyn Read> = if path == "-" {
        Box::new(std::io::stdin().lock())
    } else {
        Box::new(std::fs::File::open(path).with_context(hint)?)
    };
    input.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).with_context(hint)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        bail!("{path} is larger than {MAX_FILE_BYTES} bytes");
    }
    Ok(bytes)
}

/// Fetches for a tool, one request at a time.
pub struct Downloader {
    runtime: tokio::runtime::Runtime,
    fetcher: Fetcher,
}

impl Downloader {
    pub fn new(args: &NetArgs) -> Result<Self> {
        let mut config = Config::default();
        config.fetch.allow_net.clone_from(&args.allow_net);
        config.fetch.resolve.clone_from(&args.resolve);
        config.agent.contact = args.contact.clone().unwrap_or_default();
        let shared: Arc<Shared> = Shared::new(config.shared_options().or_usage()?)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(Self { runtime, fetcher: Fetcher::new(shared, config.fetch_options()) })
    }

    /// One request, however it ends.
    pub fn visit(&self, url: &CanonUrl, kind: RequestKind) -> Visit {
        let local = tokio::task::LocalSet::new();
        self.runtime.block_on(local.run_until(self.fetcher.fetch(&Request::new(url, kind))))
    }

    /// The page at `url` or wherever it leads, and its final address.
    pub fn page(&self, url: CanonUrl) -> Result<(CanonUrl, Response)> {
        let mut url = url;
        for _ in 0..=MAX_REDIRECTS {
            let visit = self.visit(&url, RequestKind::Page);
            let response = match visit.result {
                Ok(response) => response,
                Err(failure) => {
                    bail!("{url} could not be fetched: {}", advice::of_failure(failure, url.as_str()))
                }
            };
            if !response.is_redirect() {
                return Ok((url, response));
            }
            url = match response.redirect_target(&url, &literal_rules()) {
                Ok(target) => target,
                Err(_) => bail!("{url} redirects ({}) to nowhere", response.status),
            };
        }
        bail!("{url}: more than {MAX_REDIRECTS} redirects in a row")
    }
}
