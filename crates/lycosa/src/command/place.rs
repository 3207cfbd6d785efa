//! Which crawl a command is about.

use std::path::PathBuf;

use clap::Args;
use lycosa_engine::Layout;

/// Where a crawl lives unless told otherwise.
pub const DEFAULT_DIR: &str = "crawl";

/// A crawl directory, named with or without `-d`.
#[derive(Debug, Args)]
pub struct Place {
    /// The directory of the crawl [default: crawl]
    #[arg(value_name = "DIR")]
    dir: Option<PathBuf>,
    /// The same, as the other commands spell it
    #[arg(short, long, value_name = "DIR", conflicts_with = "dir")]
    data: Option<PathBuf>,
}

impl Place {
    pub fn layout(self) -> Layout {
        Layout::new(self.dir.or(self.data).unwrap_or_else(|| PathBuf::from(DEFAULT_DIR)))
    }
}
