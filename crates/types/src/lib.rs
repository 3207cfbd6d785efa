//! The words every other crate speaks: canonical URL, keys, partition, link, outcome, record, time.
//!
//! Promise: no I/O, no async, no clock; nothing here panics on any input.
//!
//! | module | noun |
//! | --- | --- |
//! | [`canon`] | a raw URL becomes a [`CanonUrl`] under [`CanonRules`] |
//! | [`join`] | a link on a page becomes a canonical URL, mostly without allocating |
//! | [`key`] | [`UrlKey`], [`HostKey`], [`Digest`]: what things are stored under |
//! | [`partition`] | which partition owns a URL |
//! | [`link`] | link kinds and the three attributes of a link |
//! | [`origin`] | why a URL was left out, and by whose will |
//! | [`outcome`] | how a visit ended, as a closed set of cases |
//! | [`history`] | what became of a page from visit to visit |
//! | [`record`] | what is remembered about a URL |
//! | [`requisite`] | the mark of a URL that a page needs to look as it does |
//! | [`time`] | [`UnixMs`], the only clock value that is stored |

pub mod canon;
pub mod history;
pub mod join;
pub mod key;
pub mod link;
pub mod origin;
pub mod outcome;
pub mod partition;
pub mod record;
pub mod requisite;
pub mod time;

pub use canon::{CanonRules, CanonUrl, UrlError};
pub use history::{Change, KeptLine, MOST_KEPT_LINES, PastVisit};
pub use key::{Digest, HostKey, UrlKey};
pub use link::{LinkAttributes, LinkKind};
pub use origin::{Origin, Reason};
pub use outcome::{CertificateFault, Exclusion, Failure, Outcome};
pub use partition::{Granularity, PartitionId, Partitioner, RegionId, UrlId};
pub use record::{ArchiveSpan, NearDuplicate, UrlRecord, UrlState, VisitFacts};
pub use time::UnixMs;
