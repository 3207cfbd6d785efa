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
mod banners;
mod byte_class;
pub mod charset;
pub mod compare;
pub mod content;
mod custom_tags;
#[cfg(test)]
mod dice;
mod elements;
pub mod entities;
mod extract;
mod flow;
mod foreign;
mod host_template;
pub mod keyword_index;
pub mod keywords;
pub mod level_order;
mod limits;
pub mod line_diff;
pub mod line_kind;
mod line_mark;
mod line_store;
mod link_collector;
mod link_prints;
mod links;
mod meta;
pub mod mirror;
pub mod noise;
mod packed;
mod packed_sketch;
pub mod picture;
mod picture_compare;
mod print;
pub mod print_index;
mod raw_text;
mod reason;
mod robots_directives;
mod scanner;
pub mod selector;
pub mod signature;
pub mod sitemap;
mod sniff;
mod sorting;
mod span;
pub mod stemmer;
pub mod structure;
mod surroundings;
mod swar;
mod tag_names;
mod tags;
mod text_code;
mod topic;
mod tree;
mod value;
pub mod values;
mod vocabulary;
pub mod winnow;
mod word_senses;
mod words;
mod xml;

pub use charset::{CharsetSource, Decoded};
pub use compare::{Comparison, Extent, Place, Signal, Verdict, compare, compare_as};
pub use content::{Content, ContentReader};
pub use extract::{Extract, Heading, TagEvent, TagKind};
pub use host_template::HostTemplate;
pub use keyword_index::{KeywordIndex, KeywordPrint};
pub use keywords::Keywords;
pub use level_order::{LevelChanges, LevelTable};
pub use limits::{Limits, PageLimit, Truncated};
pub use line_kind::LineKind;
pub use line_store::Lines;
pub use links::{LinkKind, LinkRef, Rel};
pub use meta::{DateKind, Meta, MetaDate, Refresh};
pub use mirror::{Mirror, MirrorConfig, MirrorDetector};
pub use picture::{Look, PictureError, PictureMark};
pub use picture_compare::{MAX_PICTURES, compare_pictures};
pub use print_index::{Candidate, Print, PrintIndex};
pub use reason::{Explained, NoiseMode, Reason, reason_of_line};
pub use robots_directives::RobotsDirectives;
pub use scanner::Scanner;
pub use selector::{BadSelector, PageRules, Selector};
pub use signature::{Incomparable, Judger, Signatures};
pub use sniff::{ContentKind, sniff};
pub use span::Span;
pub use structure::TagStrings;
pub use tags::TagId;
pub use text_code::TextCode;
pub use topic::Topic;
pub use tree::{Node, Tree};
pub use winnow::{Likeness, WinnowConfig, WinnowHash, Winnower};
