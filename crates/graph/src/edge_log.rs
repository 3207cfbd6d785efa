//! Every page's links, appended as pages are committed. Nine bytes a link; no sync and no seek per page.
//!
//! ```text
//! file   = "LYCEDGE1" page*
//! page   = source:u64 count:u32 edge{count}
//! edge   = target:u64 attributes:u8          all little-endian; ids are the low half of the URL key
//! ```
//!
//! Edges of a page are sorted by target and each target stands once. The end of what is durable is kept in the state;
//! whatever lies behind it after a crash is cut off on opening.

use std::fs::{File, OpenOptions};
use std::io::{BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use lycosa_types::{LinkAttributes, UrlKey};

const MAGIC: &[u8; 8] = b"LYCEDGE1";
const EDGE_BYTES: usize = 9;
/// Edges written at once.
const BLOCK_EDGES: usize = 64;
/// More links than any page may have; a count above it means that the log is damaged.
const MAX_EDGES: u32 = 1 << 20;

#[derive(Debug, thiserror::Error)]
pub enum EdgeLogError {
    #[error("the edge log {path}: {source}")]
    Io { path: PathBuf, source: std::io::Error },
    #[error("{0} is not an edge log of this version; delete it and rebuild it from the archive")]
    Damaged(PathBuf),
    #[error("an earlier write to the edge log failed; free space or repair the disk and run again")]
    Poisoned,
}

/// A link of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    pub target: u64,
    /// [`LinkAttributes::pack`].
    pub attributes: u8,
}

impl Edge {
    pub fn new(target: UrlKey, attributes: LinkAttributes) -> Self {
        Self { target: target.low(), attributes: attributes.pack() }
    }
}

/// One page with its links.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageEdges {
    pub source: u64,
    pub edges: Vec<Edge>,
}

impl PageEdges {
    /// Sorts the edges and keeps the most prominent of several links to one target.
    pub fn settle(&mut self) {
        self.edges.sort_unstable_by(|a, b| a.target.cmp(&b.target).then(b.attributes.cmp(&a.attributes)));
        self.edges.dedup_by_key(|edge| edge.target);
    }
}

/// The writing end.
#[derive(Debug)]
pub struct EdgeLog {
    path: PathBuf,
    out: BufWriter<File>,
    end: u64,
    poisoned: bool,
}

impl EdgeLog {
    /// Opens (or makes) the log, cut to `durable_end` if that is known.
    pub fn open(path: &Path, durable_end: Option<u64>) -> Result<Self, EdgeLogError> {
        let io = |source| EdgeLogError::Io { path: path.to_owned(), source };
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).map_err(io)?;
        let length = file.metadata().map_err(io)?.len();
        let end = durable_end.unwrap_or(0).min(length).max(MAGIC.len() as u64);
        if length < MAGIC.len() as u64 {
            file.set_len(0).map_err(io)?;
            file.write_all(MAGIC).map_err(io)?;
        }
        file.set_len(end).map_err(io)?;
        file.seek(SeekFrom::Start(end)).map_err(io)?;
        Ok(Self {
            path: path.to_owned(),
            out: BufWriter::with_capacity(256 * 1024, file),
            end,
            poisoned: false,
        })
    }

    pub fn append(&mut self, page: &PageEdges) -> Result<(), EdgeLogError> {
        let count = page.edges.len().min(MAX_EDGES as usize);
        self.guarded(|out| {
            out.write_all(&page.source.to_le_bytes())?;
            out.write_all(&(count as u32).to_le_bytes())?;
            // Some at a time: a call for every few bytes would cost more than copying them.
            for some in page.edges[..count].chunks(BLOCK_EDGES) {
                let mut block = [0; BLOCK_EDGES * EDGE_BYTES];
                let (places, _) = block.as_chunks_mut::<EDGE_BYTES>();
                for ([target @ .., attributes], edge) in places.iter_mut().zip(some) {
                    *target = edge.target.to_le_bytes();
                    *attributes = edge.attributes;
                }
                out.write_all(&block[..some.len() * EDGE_BYTES])?;
            }
            Ok(())
        })?;
        self.end += 12 + (count * EDGE_BYTES) as u64;
        Ok(())
    }

    /// Makes everything appended durable and returns the end of the log.
    pub fn sync(&mut self) -> Result<u64, EdgeLogError> {
        self.guarded(|out| {
            out.flush()?;
            out.get_ref().sync_data()
        })?;
        Ok(self.end)
    }

    fn guarded(
        &mut self,
        write: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<()>,
    ) -> Result<(), EdgeLogError> {
        if self.poisoned {
            return Err(EdgeLogError::Poisoned);
        }
        write(&mut self.out).map_err(|source| {
            self.poisoned = true;
            EdgeLogError::Io { path: self.path.clone(), source }
        })
    }
}

/// Reads the pages of a log in order. A page that is cut off at the end is left out: it was not durable.
pub fn read_edges(path: &Path) -> Result<EdgeReader, EdgeLogError> {
    let io = |source| EdgeLogError::Io { path: path.to_owned(), source };
    let mut input = BufReader::with_capacity(256 * 1024, File::open(path).map_err(io)?);
    let mut magic = [0; 8];
    input.read_exact(&mut magic).map_err(io)?;
    if &magic != MAGIC {
        return Err(EdgeLogError::Damaged(path.to_owned()));
    }
    Ok(EdgeReader { path: path.to_owned(), input, block: Vec::new() })
}

/// The reading end; see [`read_edges`].
#[derive(Debug)]
pub struct EdgeReader {
    path: PathBuf,
    input: BufReader<File>,
    /// The edges of one page as they stand in the log.
    block: Vec<u8>,
}

impl EdgeReader {
    /// Reads the next page into `page`; false at the end.
    pub fn next_into(&mut self, page: &mut PageEdges) -> Result<bool, EdgeLogError> {
        self.next_if(page, |_| true)
    }

    /// The same, but a page whose source is not `wanted` is passed over: `page` has its source and no edges then.
    pub fn next_if(
        &mut self,
        page: &mut PageEdges,
        wanted: impl FnOnce(u64) -> bool,
    ) -> Result<bool, EdgeLogError> {
        let mut head = [0; 12];
        if !self.fill(&mut head)? {
            return Ok(false);
        }
        let [s0, s1, s2, s3, s4, s5, s6, s7, c0, c1, c2, c3] = head;
        page.source = u64::from_le_bytes([s0, s1, s2, s3, s4, s5, s6, s7]);
        let count = u32::from_le_bytes([c0, c1, c2, c3]);
        if count > MAX_EDGES {
            return Err(EdgeLogError::Damaged(self.path.clone()));
        }
        page.edges.clear();
        if !wanted(page.source) {
            let length = i64::from(count) * EDGE_BYTES as i64;
            let to = self.input.seek_relative(length);
            return to.map(|()| true).map_err(|source| EdgeLogError::Io { path: self.path.clone(), source });
        }
        let mut block = std::mem::take(&mut self.block);
        block.resize(count as usize * EDGE_BYTES, 0);
        let whole = self.fill(&mut block)?;
        if whole {
            let (edges, _) = block.as_chunks::<EDGE_BYTES>();
            page.edges.extend(edges.iter().map(|&[t0, t1, t2, t3, t4, t5, t6, t7, attributes]| Edge {
                target: u64::from_le_bytes([t0, t1, t2, t3, t4, t5, t6, t7]),
                attributes,
            }));
        }
        self.block = block;
        Ok(whole)
    }

    /// Goes back to the first page.
    pub fn rewind(&mut self) -> Result<(), EdgeLogError> {
        let to = self.input.seek(SeekFrom::Start(MAGIC.len() as u64));
        to.map(drop).map_err(|source| EdgeLogError::Io { path: self.path.clone(), source })
    }

    fn fill(&mut self, buffer: &mut [u8]) -> Result<bool, EdgeLogError> {
        match self.input.read_exact(buffer) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Ok(false),
            Err(source) => Err(EdgeLogError::Io { path: self.path.clone(), source }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(source: u64, targets: &[u64]) -> PageEdges {
        let edges = targets.iter().map(|&target| Edge { target, attributes: target as u8 }).collect();
        let mut page = PageEdges { source, edges };
        page.settle();
        page
    }

    fn all(path: &Path) -> Vec<PageEdges> {
        let (mut reader, mut found, mut page) = (read_edges(path).unwrap(), Vec::new(), PageEdges::default());
        while reader.next_into(&mut page).unwrap() {
            found.push(page.clone());
        }
        found
    }

    #[test]
    fn what_was_durable_is_read_back_and_the_rest_is_cut() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("edges.log");
        let mut log = EdgeLog::open(&path, None).unwrap();
        log.append(&page(1, &[5, 3, 5])).unwrap();
        let durable = log.sync().unwrap();
        log.append(&page(2, &[9])).unwrap();
        drop(log);
        assert_eq!(all(&path), [page(1, &[3, 5]), page(2, &[9])]);
        let mut log = EdgeLog::open(&path, Some(durable)).unwrap();
        log.append(&page(3, &[])).unwrap();
        log.sync().unwrap();
        assert_eq!(all(&path), [page(1, &[3, 5]), page(3, &[])]);
    }

    #[test]
    fn pages_that_are_not_wanted_are_passed_over() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("edges.log");
        let mut log = EdgeLog::open(&path, None).unwrap();
        for source in 1..=50 {
            log.append(&page(source, &[source + 1, source + 2])).unwrap();
        }
        log.sync().unwrap();
        let (mut reader, mut found) = (read_edges(&path).unwrap(), PageEdges::default());
        for source in 1..=50 {
            let wanted = source % 3 == 0;
            assert!(reader.next_if(&mut found, |next| next % 3 == 0).unwrap());
            assert_eq!((found.source, found.edges.is_empty()), (source, !wanted));
            assert!(!wanted || found == page(source, &[source + 1, source + 2]));
        }
        assert!(!reader.next_if(&mut found, |_| true).unwrap());
    }

    /// An error of the disk is not the end of the log: ranks from half a log would be wrong without a word.
    #[test]
    fn an_error_amid_the_log_is_told_and_not_taken_for_its_end() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("edges.log");
        let mut log = EdgeLog::open(&path, None).unwrap();
        log.append(&page(1, &[2])).unwrap();
        log.sync().unwrap();
        let mut reader = read_edges(&path).unwrap();
        // Not open for reading: every read fails from here on.
        reader.input = BufReader::new(OpenOptions::new().write(true).open(&path).unwrap());
        let mut page = PageEdges::default();
        assert!(matches!(reader.next_into(&mut page), Err(EdgeLogError::Io { .. })));
        assert!(matches!(reader.next_if(&mut page, |_| true), Err(EdgeLogError::Io { .. })));
    }

    #[test]
    fn a_torn_page_is_left_out_and_a_foreign_file_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("edges.log");
        let mut log = EdgeLog::open(&path, None).unwrap();
        log.append(&page(1, &[2])).unwrap();
        log.append(&page(2, &[3, 4])).unwrap();
        let end = log.sync().unwrap();
        for cut in (29..end).rev() {
            OpenOptions::new().write(true).open(&path).unwrap().set_len(cut).unwrap();
            assert_eq!(all(&path), [page(1, &[2])]);
        }
        std::fs::write(&path, b"not a log").unwrap();
        assert!(matches!(read_edges(&path), Err(EdgeLogError::Damaged(_))));
    }
}
