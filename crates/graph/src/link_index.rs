//! The link index: page → its links, link → the pages it appears on, and how many of each, by URL.
//!
//! One file, `graph/links`, built from the edge log; little-endian:
//!
//! ```text
//! file      = header out-lists in-lists ids directory table
//! header    = "LYCLINK1" log_bytes:u64 nodes:u64 edges:u64 pages:u64 in_at:u64 ids_at:u64 directory_at:u64 table_at:u64
//!             directory_bits:u64 0:u64{2}
//! out-lists = list*            of every page visited, in the order of the log; see `link_list`
//! in-lists  = list*            of every URL that is linked, by number
//! ids       = id:u64{nodes}    by number
//! directory = position:u32{2^directory_bits + 1}    where in the table ids with these leading bits begin
//! table     = (id:u64 number:u32 out:u32 in:u32 out_at:u48 in_at:u48){nodes}    by id; a place of 0 means no list
//! ```
//!
//! A page that was visited again has the links of its last visit alone. The counts of a URL take two reads, whatever the size
//! of the index. The file is as old as `log_bytes` says: [`LinkIndex::open_current`] makes it anew when the log has grown.
//!
//! Why a format of our own and not the `webgraph` crate: that one brings 154 packages, memory maps and `unsafe`, and wants the
//! transpose for ranking. Gaps in bytes need no more memory than the nodes do, and are read as a
//! stream at the speed of the disk.

mod build;
mod header;
mod number_table;
mod transpose;

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::edge_log::Edge;
use crate::error::GraphError;
use crate::link_list::{LinkList, ListReader, MAX_VARINT, numbers, varint};
use header::{HEADER_BYTES, Header, RECORD_BYTES, TableRecord};

pub use build::{BuildOptions, build};

/// What the index knows about a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    /// The low half of its key.
    pub id: u64,
    /// Its place among all URLs of the index, as they were first met.
    pub number: u32,
    /// Pages it links to.
    pub out_links: u32,
    /// Pages that link to it.
    pub in_links: u32,
    out_at: u64,
    in_at: u64,
}

impl Node {
    /// Whether its links are known: it was visited and is a page.
    pub fn is_visited(&self) -> bool {
        self.out_at > 0
    }
}

/// Which links of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Those on it.
    Out,
    /// Those to it.
    In,
}

/// The reading end.
#[derive(Debug)]
pub struct LinkIndex {
    path: PathBuf,
    file: File,
    header: Header,
}

impl LinkIndex {
    /// Opens the index at `path`; if it is missing, damaged or older than `log`, it is built first.
    pub fn open_current(log: &Path, path: &Path, options: &BuildOptions) -> Result<Self, GraphError> {
        let log_bytes = std::fs::metadata(log).map_err(GraphError::io(log))?.len();
        match Self::open(path) {
            Ok(index) if index.header.log_bytes == log_bytes => return Ok(index),
            Ok(_) | Err(GraphError::Damaged(_)) => {}
            Err(GraphError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        build(log, path, options)?;
        Self::open(path)
    }

    pub fn open(path: &Path) -> Result<Self, GraphError> {
        let file = File::open(path).map_err(GraphError::io(path))?;
        let length = file.metadata().map_err(GraphError::io(path))?.len();
        let mut bytes = [0; HEADER_BYTES];
        file.read_exact_at(&mut bytes, 0).map_err(GraphError::io(path))?;
        let header = Header::decode(&bytes).filter(|header| header.end() == Some(length));
        let header = header.ok_or_else(|| GraphError::Damaged(path.to_owned()))?;
        Ok(Self { path: path.to_owned(), file, header })
    }

    /// URLs that link or are linked.
    pub fn nodes(&self) -> u32 {
        self.header.nodes as u32
    }

    pub fn edges(&self) -> u64 {
        self.header.edges
    }

    /// Pages whose links are known.
    pub fn pages(&self) -> u64 {
        self.header.pages
    }

    /// Length of the log this was made from.
    pub fn log_bytes(&self) -> u64 {
        self.header.log_bytes
    }

    /// Looks a URL up by the low half of its key.
    pub fn node(&self, id: u64) -> Result<Option<Node>, GraphError> {
        let mut ends = [0; 8];
        self.read(self.header.directory_at + self.header.bucket_of(id) * 4, &mut ends)?;
        let [a, b, c, d, e, f, g, h] = ends;
        let (from, until) = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
        if from > until || u64::from(until) > self.header.nodes {
            return Err(self.damaged());
        }
        let mut bytes = vec![0; (until - from) as usize * RECORD_BYTES];
        self.read(self.header.table_at + u64::from(from) * RECORD_BYTES as u64, &mut bytes)?;
        let (records, _) = bytes.as_chunks::<RECORD_BYTES>();
        Ok(records.iter().map(TableRecord::decode).find(|record| record.id == id).map(|record| Node {
            id,
            number: record.number,
            out_links: record.out_links,
            in_links: record.in_links,
            out_at: record.out_at,
            in_at: record.in_at,
        }))
    }

    /// Up to `limit` links on a page or to it: the URL at the other end, and what the link looks like.
    pub fn links(&self, node: &Node, direction: Direction, limit: usize) -> Result<Vec<Edge>, GraphError> {
        let (at, count) = match direction {
            Direction::Out => (node.out_at, node.out_links),
            Direction::In => (node.in_at, node.in_links),
        };
        let wanted = limit.min(count as usize);
        if at == 0 || wanted == 0 {
            return Ok(Vec::new());
        }
        let damaged = || self.damaged();
        let head = self.read_up_to(at, 2 * MAX_VARINT)?;
        let mut after = 0;
        let owner = varint(&head, &mut after).ok_or_else(damaged)?;
        let stored = varint(&head, &mut after).ok_or_else(damaged)?;
        if (owner, stored) != (node.number, count) {
            return Err(damaged());
        }
        let from = at + after as u64;
        let attributes = self.read_up_to(from, wanted)?;
        let gaps = self.read_up_to(from + u64::from(count), wanted * MAX_VARINT)?;
        let mut others = Vec::new();
        numbers(&gaps, &mut 0, wanted, self.nodes(), &mut others).ok_or_else(damaged)?;
        let link = |(&number, &attributes)| Ok(Edge { target: self.id(number)?, attributes });
        others.iter().zip(&attributes).map(link).collect()
    }

    /// The id of a number.
    pub fn id(&self, number: u32) -> Result<u64, GraphError> {
        let mut bytes = [0; 8];
        self.read(self.header.ids_at + u64::from(number) * 8, &mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// All ids by number.
    pub fn ids(&self) -> Result<Vec<u64>, GraphError> {
        let mut ids = Vec::with_capacity(self.nodes() as usize);
        let mut input = self.section(self.header.ids_at, self.header.directory_at)?;
        let mut bytes = [0; 8];
        for _ in 0..self.header.nodes {
            input.read_exact(&mut bytes).map_err(GraphError::io(&self.path))?;
            ids.push(u64::from_le_bytes(bytes));
        }
        Ok(ids)
    }

    /// Calls `each` with the links of every page, block by block.
    pub fn for_each_page(&self, mut each: impl FnMut(&LinkList)) -> Result<(), GraphError> {
        let input = self.section(HEADER_BYTES as u64, self.header.in_at)?;
        let (mut reader, mut list) = (ListReader::new(input, self.nodes()), LinkList::default());
        while self.checked(reader.next_into(&mut list))? {
            each(&list);
        }
        Ok(())
    }

    fn checked<T>(&self, result: std::io::Result<T>) -> Result<T, GraphError> {
        result.map_err(|error| match error.kind() {
            std::io::ErrorKind::InvalidData => self.damaged(),
            _ => GraphError::io(&self.path)(error),
        })
    }

    fn section(&self, from: u64, until: u64) -> Result<impl Read, GraphError> {
        // A handle of its own, so that several readers do not move each other.
        let mut file = File::open(&self.path).map_err(GraphError::io(&self.path))?;
        file.seek(SeekFrom::Start(from)).map_err(GraphError::io(&self.path))?;
        Ok(BufReader::with_capacity(256 * 1024, file.take(until - from)))
    }

    fn read(&self, at: u64, bytes: &mut [u8]) -> Result<(), GraphError> {
        self.file.read_exact_at(bytes, at).map_err(GraphError::io(&self.path))
    }

    fn read_up_to(&self, at: u64, most: usize) -> Result<Vec<u8>, GraphError> {
        let end = self.header.end().unwrap_or(at);
        let mut bytes = vec![0; most.min(end.saturating_sub(at) as usize)];
        self.read(at, &mut bytes)?;
        Ok(bytes)
    }

    fn damaged(&self) -> GraphError {
        GraphError::Damaged(self.path.clone())
    }
}
