//! Columns of a segment unpacked, once they are needed of most pages: looking a value up is then a plain array access.
//!
//! Two bytes a page and column; a column with more values than that can tell apart stays packed.

use std::sync::{Arc, OnceLock};

use tantivy::SegmentReader;
use tantivy::columnar::{Cardinality, ColumnValues, StrColumn};

use crate::collector::FACETS;
use crate::error::SearchError;

/// One column.
pub struct Unpacked {
    packed: Option<Arc<dyn ColumnValues<u64>>>,
    /// Where not every page has exactly one value.
    sparse: Option<StrColumn>,
    values: usize,
    pages: u32,
    unpacked: OnceLock<Option<Vec<u16>>>,
}

impl Unpacked {
    fn numbers(column: Arc<dyn ColumnValues<u64>>, pages: u32) -> Self {
        let values = column.max_value() as usize + 1;
        Self { packed: Some(column), sparse: None, values, pages, unpacked: OnceLock::new() }
    }

    fn texts(column: Option<StrColumn>, pages: u32) -> Self {
        let values = column.as_ref().map_or(0, |column| column.num_terms());
        let is_full =
            column.as_ref().is_some_and(|column| column.ords().get_cardinality() == Cardinality::Full);
        let packed = column.as_ref().filter(|_| is_full).map(|column| Arc::clone(&column.ords().values));
        let sparse = column.filter(|_| !is_full);
        Self { packed, sparse, values, pages, unpacked: OnceLock::new() }
    }

    /// How many values there are.
    pub fn values(&self) -> usize {
        self.values
    }

    /// The one value that every page has, if it is so.
    pub fn constant(&self) -> Option<u64> {
        (self.values == 1 && self.packed.is_some()).then_some(0)
    }

    /// All values, for whoever needs most of them.
    pub fn all(&self) -> Option<&[u16]> {
        let unpack = || {
            let packed = self.packed.as_ref().filter(|_| self.values <= 1 << 16)?;
            let mut wide = vec![0; 4096];
            let mut out = Vec::with_capacity(self.pages as usize);
            while out.len() < self.pages as usize {
                wide.truncate(self.pages as usize - out.len());
                packed.get_range(out.len() as u64, &mut wide);
                out.extend(wide.iter().map(|value| *value as u16));
            }
            Some(out)
        };
        self.unpacked.get_or_init(unpack).as_deref()
    }

    /// The value of one page.
    #[inline]
    pub fn get(&self, doc: u32) -> Option<u64> {
        match (&self.packed, &self.sparse) {
            (Some(packed), _) => Some(packed.get_val(doc)),
            (None, Some(sparse)) => sparse.term_ords(doc).next(),
            (None, None) => None,
        }
    }
}

/// The columns of a segment that all matches are asked for.
pub struct Columns {
    pub prior: Unpacked,
    pub facets: [Unpacked; 3],
}

impl Columns {
    pub fn new(segment: &SegmentReader) -> Result<Self, SearchError> {
        let columns = segment.fast_fields();
        let pages = segment.max_doc();
        let [site, lang, kind] = FACETS;
        let texts =
            |name: &str| -> Result<Unpacked, SearchError> { Ok(Unpacked::texts(columns.str(name)?, pages)) };
        Ok(Self {
            prior: Unpacked::numbers(columns.column_first_or_default("prior")?, pages),
            facets: [texts(site)?, texts(lang)?, texts(kind)?],
        })
    }
}
