//! Running a plan: every part of it worked out for one frame of pages after the other.
//!
//! | module | noun |
//! | --- | --- |
//! | [`frame`] | a stretch of pages with a bit and a score each |
//! | [`segment`] | a piece of the index, with what tantivy keeps of it within reach |
//! | [`word`] | a word in all its fields, and other plain lists |
//! | [`positions`] | where a term stands in one page, compared with another |
//! | [`places`] | terms with their positions |
//! | [`span`] | phrases and NEAR |
//! | [`cursor`] | the whole tree of a plan |
//! | [`explain`] | how the score of one page came about |
//!
//! Promises: a cursor is asked for frames in ascending order; it answers with a subset of the pages it is asked about, and
//! with the same score for a page whatever else is asked about, so that pages of several indexes can be compared.

pub mod cursor;
pub mod explain;
pub mod frame;
pub mod places;
pub mod positions;
pub mod segment;
pub mod span;
pub mod word;

pub use cursor::Cursor;
pub use explain::Explanation;
pub use frame::{Bits, FRAME, Frame};
pub use segment::Segment;
