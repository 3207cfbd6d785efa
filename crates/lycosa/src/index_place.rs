//! The full-text index of a crawl, opened to be asked, also where nothing may be written.

use std::ops::Deref;
use std::path::Path;

use anyhow::{Context, Result};
use lycosa_engine::borrowed::Borrowed;
use lycosa_search::{SearchIndex, index_dir};

/// An index, and where it is read from if that is not its own directory.
pub struct OpenIndex {
    index: SearchIndex,
    _borrowed: Option<Borrowed>,
}

impl OpenIndex {
    /// The index of the crawl in `data`.
    pub fn of(data: &Path) -> Result<Self> {
        let dir = index_dir(data);
        let borrowed =
            if dir.is_dir() { Borrowed::of_files(&dir).context("reading the index")? } else { None };
        let index = SearchIndex::open(borrowed.as_ref().map_or(dir.as_path(), Borrowed::path))?;
        Ok(Self { index, _borrowed: borrowed })
    }
}

impl Deref for OpenIndex {
    type Target = SearchIndex;

    fn deref(&self) -> &SearchIndex {
        &self.index
    }
}
