//! The crawl loop of one node. It owns no algorithm: it moves a URL from stage to stage.
//!
//! ```text
//!            leases                       finished visits
//! bookkeeper ──────► worker (one per core) ──────► bookkeeper ──────► committer ──► archive, edge log, state
//! (frontier)         fetch · scan · judge · encode  (seen-test, queue)   group commit
//!      ▲                                                                     │
//!      └───────────────────────────── committed ────────────────────────────┘
//! ```
//!
//! | module | noun |
//! | --- | --- |
//! | [`config`] | every setting, as in `lycosa.toml` |
//! | [`layout`] | the files of a crawl directory |
//! | [`crawl`] | a crawl: opened, run, reported |
//! | [`cluster`] | this node's place among others |
//! | [`bookkeeper`] | the one thread that owns the frontier |
//! | [`worker`] | a core's share of fetching and judging |
//! | [`lane`] | a task of a worker that takes one lease after the other |
//! | [`inbox`] | seeds submitted from outside, also while the crawl runs |
//! | [`judge`] | from a response to what is remembered and followed |
//! | [`outlinks`] | a page's links, joined, scoped and keyed |
//! | [`prospects`] | what is known about waiting URLs, for the orders that follow links |
//! | [`near`] | pages that read nearly the same, and what is kept to compare visits |
//! | [`refresher`] | pages over time: what another visit adds, and when the next is due |
//! | [`rules`] | robots.txt: fetched, remembered, asked |
//! | [`committer`] | group commit: archive, then state |
//! | [`indexing`] | the full-text index, fed from commits or from the archive |
//! | [`shipping`] | sealed segments on their way to the central archive |
//! | [`left_out`] | what was left out, told apart by whose will that was |
//! | [`seeds`] | what became of the seeds |
//! | [`totals`], [`report`] | what a crawl did, in figures |
//! | [`reader`], [`borrowed`] | a crawl directory, read, also where nothing may be written |
//! | [`why`] | what happened to one URL, and why |

mod all_links;
pub mod bookkeeper;
pub mod borrowed;
pub mod clock;
pub mod cluster;
pub mod committer;
pub mod config;
pub mod crawl;
pub mod inbox;
pub mod indexing;
pub mod judge;
pub mod lane;
pub mod layout;
pub mod left_out;
pub mod limits;
pub mod near;
pub mod newness;
pub mod outlinks;
pub mod prospects;
pub mod reader;
pub mod refresher;
pub mod report;
pub mod rules;
pub mod seeds;
pub mod shipping;
pub mod totals;
pub mod why;
pub mod worker;

pub use config::{Config, ConfigError};
pub use crawl::{Crawl, CrawlEnd, CrawlError, Handle};
pub use layout::Layout;
pub use left_out::LeftOut;
pub use reader::{ArchivedPage, CrawlReader, ReaderError};
pub use refresher::KnownRates;
pub use report::Report;
pub use totals::{Progress, Totals};
pub use why::{Why, why};
