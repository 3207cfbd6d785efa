//! A browsable copy of a site, made from what was fetched.
//!
//! - [`name`]: canonical URL → path below the mirror's directory, and back;
//! - [`links`]: a document's references, led to the other files of the mirror;
//! - [`tree`]: the directory: files switched one by one, nothing outside it touched, no symbolic link followed.
//!
//! Promise: no network, no clock. The archive stays the truth; a mirror can always be made again.

pub mod links;
pub mod name;
pub mod tree;

pub use links::{LinkCounts, Linker, MISSING_PAGE, Missing};
pub use name::{path_of, url_of};
pub use tree::{Tree, TreeError, Written};
