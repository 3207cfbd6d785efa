//! What can go wrong with the files of a graph.

use std::path::{Path, PathBuf};

use crate::edge_log::EdgeLogError;

#[derive(Debug, thiserror::Error)]
pub enum GraphError {
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: std::io::Error },
    #[error("{0} is damaged or of another version; delete it, it is made again from the edge log")]
    Damaged(PathBuf),
    #[error("more URLs are linked than the index can number ({limit}); split the crawl")]
    TooManyUrls { limit: u32 },
    #[error(transparent)]
    Log(#[from] EdgeLogError),
}

impl GraphError {
    /// Turns an I/O error on `path` into this one.
    pub fn io(path: &Path) -> impl Fn(std::io::Error) -> Self + '_ {
        |source| match source.kind() {
            // A file of ours that ends too soon was cut off.
            std::io::ErrorKind::UnexpectedEof => Self::Damaged(path.to_owned()),
            _ => Self::Io { path: path.to_owned(), source },
        }
    }
}
