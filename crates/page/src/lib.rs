//! What a page says, from its bytes.
//!
//! Pure functions: no I/O, no clock, no failure. Bytes become text ([`charset`]), text is scanned once ([`Scanner`])
//! into an [`Extract`] whose buffers are reused from page to page, and sitemaps and feeds become entries
//! ([`sitemap`]). Whatever the input, there is an answer; where a limit cut it short, [`Truncated`] says so.
//!
//! ```
//! use lycosa_page::{Extract, Limits, Scanner, charset};
//!
//! let body = b"<title>Spiders</title><p>Wolf <b><a href='/lycosa'>spiders</a></b> hunt.";
//! let decoded = charset::decode(body, Some("text/html; charset=utf-8"));
//! let mut scanner = Scanner::new(Limits::default());
//! let mut page = Extract::new();
//! scanner.scan(&decoded.text, &mut page);
//! assert_eq!(page.title(), "Spiders");
//! assert_eq!(page.text, "Wolf spiders hunt.");
//! let link = &page.links[0];
//! assert_eq!((page.href(link), page.anchor(link), link.visibility), ("/lycosa", "spiders", 2));
//! ```

mod attributes;
mod byte_class;
pub mod charset;
mod custom_tags;
mod elements;
pub mod entities;
mod extract;
mod flow;
mod foreign;
mod limits;
mod link_collector;
mod links;
mod meta;
mod raw_text;
mod robots_directives;
mod scanner;
pub mod sitemap;
mod sniff;
mod span;
mod swar;
mod tag_names;
mod tags;
mod value;
mod xml;

pub use charset::{CharsetSource, Decoded};
pub use extract::{Extract, Heading, TagEvent, TagKind};
pub use limits::{Limits, Truncated};
pub use links::{LinkKind, LinkRef, Rel};
pub use meta::{DateKind, Meta, MetaDate, Refresh};
pub use robots_directives::RobotsDirectives;
pub use scanner::Scanner;
pub use sniff::{ContentKind, sniff};
pub use span::Span;
pub use tags::TagId;
