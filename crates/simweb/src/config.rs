//! What the builder of a world may choose.
//!
//! Promise: two equal configurations give the same world, byte for byte.

use crate::life::LifeConfig;

/// Switches for whole families of behaviour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Features {
    /// One host per [`crate::Fault`].
    pub faults: bool,
    /// Robots files of every kind; otherwise `Missing` and `AllowAll` alternate.
    pub robots: bool,
    /// Endless parts on some hosts.
    pub traps: bool,
    /// Mirrors of whole hosts.
    pub mirrors: bool,
    /// Duplicates, redirects, errors and documents among the leaf pages.
    pub odd_pages: bool,
    /// Several languages and charsets; otherwise English in UTF-8.
    pub languages: bool,
    /// Several content codings and chunked bodies; otherwise identity with a length.
    pub codings: bool,
    /// Hrefs in many spellings (case, default port, tracking parameters, …); otherwise plain ones.
    pub href_variants: bool,
    /// `rel=nofollow` links and links to pages that do not exist.
    pub odd_links: bool,
}

impl Features {
    pub const NONE: Self = Self {
        faults: false,
        robots: false,
        traps: false,
        mirrors: false,
        odd_pages: false,
        languages: false,
        codings: false,
        href_variants: false,
        odd_links: false,
    };
    pub const ALL: Self = Self {
        faults: true,
        robots: true,
        traps: true,
        mirrors: true,
        odd_pages: true,
        languages: true,
        codings: true,
        href_variants: true,
        odd_links: true,
    };
}

/// How many leaf pages in a thousand are of an odd kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rates {
    pub duplicate: u16,
    pub near_duplicate: u16,
    pub redirect: u16,
    pub soft_not_found: u16,
    pub not_found: u16,
    pub gone: u16,
    pub no_index: u16,
    pub no_follow: u16,
    pub robots_tag: u16,
    pub document: u16,
}

impl Default for Rates {
    fn default() -> Self {
        Self {
            duplicate: 30,
            near_duplicate: 40,
            redirect: 40,
            soft_not_found: 10,
            not_found: 15,
            gone: 5,
            no_index: 10,
            no_follow: 10,
            robots_tag: 10,
            document: 10,
        }
    }
}

/// How mean change intervals are spread over pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateSpread {
    /// Uniform between the two intervals.
    Uniform { min_ms: u64, max_ms: u64 },
    /// Uniform in the rate of change between those of the two intervals: most pages change often.
    UniformRate { min_ms: u64, max_ms: u64 },
    /// Log-uniform between the two: few pages change often, most seldom.
    PowerLaw { min_ms: u64, max_ms: u64 },
}

/// Whether events follow a Poisson process or come once per interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    Poisson,
    Regular,
}

/// How pages change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeConfig {
    pub spread: RateSpread,
    pub timing: Timing,
    /// Weights of none, structure, text, image, noise.
    pub weights: [u16; 5],
    /// If set, the noise of every page (clock, counter, token, advertisement) turns over this often.
    pub ambient_noise_ms: Option<u64>,
}

impl ChangeConfig {
    /// Nothing ever changes.
    pub fn still() -> Self {
        Self { weights: [1, 0, 0, 0, 0], ..Self::lively() }
    }

    /// Every kind of change, at intervals from an hour to some forty days.
    pub fn lively() -> Self {
        Self {
            spread: RateSpread::PowerLaw { min_ms: 3_600_000, max_ms: 3_600_000_000 },
            timing: Timing::Poisson,
            weights: [20, 15, 35, 10, 20],
            ambient_noise_ms: None,
        }
    }
}

/// The measures of the hostile responses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultConfig {
    /// Fault pages on each fault host.
    pub pages_per_fault: u32,
    pub slow_ms: u64,
    pub drip_ms: u64,
    pub bomb_bytes: u64,
    /// Endless bodies stop here, so that a client without limits does not run for ever.
    pub endless_limit_bytes: u64,
    pub huge_header_bytes: usize,
    pub many_headers: usize,
    pub huge_page_bytes: usize,
    pub flaky_tries: u32,
    pub retry_after_s: u32,
}

impl Default for FaultConfig {
    fn default() -> Self {
        Self {
            pages_per_fault: 2,
            slow_ms: 300,
            drip_ms: 200,
            bomb_bytes: 256 << 20,
            endless_limit_bytes: 1 << 30,
            huge_header_bytes: 1 << 20,
            many_headers: 20_000,
            huge_page_bytes: 32 << 20,
            flaky_tries: 2,
            retry_after_s: 1,
        }
    }
}

/// Everything that decides a world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorldConfig {
    pub seed: u64,
    /// Regular hosts, mirrors included; fault hosts come on top.
    pub hosts: u32,
    /// Regular pages, approximately; thin ones are among them.
    pub pages: u32,
    /// The port written into URLs; `None` leaves it out.
    pub authority_port: Option<u16>,
    pub features: Features,
    pub rates: Rates,
    pub change: ChangeConfig,
    /// Pages that vanish, come back or move.
    pub life: LifeConfig,
    pub faults: FaultConfig,
    /// Links of a page that stay on its host, in percent.
    pub same_host_percent: u8,
    /// Fewest and most links of a page on a host that has enough pages.
    pub links: (u32, u32),
    /// Pages of a host, beside the front page, that every page of the host links to.
    pub menu: u32,
    /// Thin pages of each article: print views, forms to reply and the like. At most as many as there are kinds of them, 8.
    pub thin_pages: u8,
    /// Median number of paragraphs; the spread around it is log-normal in shape.
    pub paragraphs: u32,
    /// `Crawl-delay` in the robots files that carry one.
    pub crawl_delay_s: u32,
    /// Every response waits this long: the distance to the server.
    pub latency_ms: u64,
}

/// More hosts or pages than this are cut down to it: page numbers are 32 bits wide.
pub const MAX_HOSTS: u32 = 1 << 20;
pub const MAX_PAGES: u32 = 1 << 30;

impl WorldConfig {
    /// A well-behaved world: every page answers 200, every page is reachable and allowed.
    pub fn clean(seed: u64, hosts: u32, pages: u32) -> Self {
        Self {
            seed,
            hosts: hosts.clamp(1, MAX_HOSTS),
            pages: pages.clamp(1, MAX_PAGES),
            authority_port: None,
            features: Features::NONE,
            rates: Rates::default(),
            change: ChangeConfig::still(),
            life: LifeConfig::still(),
            faults: FaultConfig::default(),
            same_host_percent: 82,
            links: (30, 60),
            menu: 5,
            thin_pages: 0,
            paragraphs: 5,
            crawl_delay_s: 1,
            latency_ms: 0,
        }
    }

    /// Everything at once, faults and traps included.
    pub fn full(seed: u64, hosts: u32, pages: u32) -> Self {
        Self { features: Features::ALL, change: ChangeConfig::lively(), ..Self::clean(seed, hosts, pages) }
    }
}
