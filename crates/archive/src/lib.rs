//! The archive of a crawl: WARC 1.1 segments with a CDXJ index beside each.
//!
//! A visit is encoded on whichever core fetched it ([`Encoder`]), appended by one thread ([`Archive`]) and read back by
//! its span ([`read_span`]) or in turn ([`records`]). The files are described in this crate's README.
//!
//! Promise: no network, no clock, no async; a span handed out before a successful [`Archive::sync`] can be read back after
//! any crash; whatever bytes an archive holds, reading them ends in data or a typed error.
//!
//! | module | noun |
//! | --- | --- |
//! | [`exchange`] | a visit as it comes from the fetcher |
//! | [`encode`], `fields` | the visit as the bytes of its records |
//! | [`compress`], `deflate` | one record, one member |
//! | [`digest`] | the payload digest and what it covers |
//! | [`head`], [`mod@surt`], [`cdxj`], `index` | what an index line says |
//! | [`segment`] | files and their names |
//! | [`writer`], `tail` | appending, syncing, rotating |
//! | `repair` | torn tails and sealing |
//! | [`record`], [`reader`], [`span`], [`dictionary`], [`payload`] | the way back |
//! | [`merge`], [`export`], [`wacz`] | the archive for others |

pub mod cdxj;
pub mod compress;
pub mod date;
mod deflate;
pub mod dictionary;
pub mod digest;
pub mod encode;
pub mod error;
pub mod exchange;
pub mod export;
mod fields;
pub mod head;
mod index;
pub mod merge;
pub mod payload;
pub mod reader;
pub mod record;
mod repair;
pub mod segment;
pub mod span;
pub mod surt;
mod tail;
pub mod wacz;
pub mod writer;

pub use compress::Compression;
pub use digest::PayloadDigest;
pub use encode::{EncodeError, EncodedVisit, Encoder, EncoderOptions, Member, MemberKind};
pub use error::{ArchiveError, ReadError};
pub use exchange::{Exchange, RevisitOf, RevisitReason, Truncation};
pub use export::export_warc;
pub use merge::MergedIndex;
pub use payload::{HttpResponse, http_response};
pub use reader::{PlacedRecord, RecordReader, read_segment, records};
pub use record::{ReadLimits, Record};
pub use segment::{Segment, segments};
pub use span::{SpanReader, read_span};
pub use surt::surt;
pub use wacz::{PackageInfo, PackageReport, Page, export_wacz};
pub use writer::{Archive, ArchiveOptions, DurableEnd};
