//! What can go wrong with an index; what can go wrong with a query is in [`crate::query::QueryError`].

use std::path::PathBuf;

use crate::query::QueryError;

#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    #[error("there is no index in {0}; make one with `lycosa index -d DIR`")]
    NoIndex(PathBuf),
    #[error(
        "the index in {path} has format {found}, this program writes format {expected}; make it anew with `lycosa index --rebuild`"
    )]
    Format { path: PathBuf, found: u32, expected: u32 },
    #[error("another program writes the index in {0}; wait for it to end")]
    InUse(PathBuf),
    #[error(transparent)]
    Query(#[from] QueryError),
    #[error("the index cannot be read or written: {0}")]
    Index(#[from] tantivy::TantivyError),
    #[error("the index cannot be read or written: {0}")]
    Io(#[from] std::io::Error),
    #[error(
        "the note in the index's last commit is damaged; make the index anew with `lycosa index --rebuild`"
    )]
    DamagedNote,
    #[error(
        "a thread that searched ended by a panic; the index may be damaged: make it anew with `lycosa index --rebuild`"
    )]
    Thread,
    #[error(
        "results up to number {asked} were asked for, of several nodes at most {limit} can be told; narrow the query down"
    )]
    TooFar { asked: usize, limit: usize },
    #[error("{asked} nodes keep an index, at most {limit} can be asked; forget those that are gone")]
    TooManyNodes { asked: usize, limit: usize },
    #[error(transparent)]
    Message(#[from] crate::federation::MessageError),
}
