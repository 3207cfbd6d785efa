//! Making the index. Memory follows the number of URLs, not of links: links pass by as a stream, and are turned round in
//! buckets that lie on disk beyond a budget.

use std::fs::File;
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use foldhash::HashMap;

use super::header::{HEADER_BYTES, Header, RECORD_BYTES, TableRecord};
use super::number_table::NumberTable;
use super::transpose;
use crate::edge_log::{PageEdges, read_edges};
use crate::error::GraphError;
use crate::link_list::LinkList;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BuildOptions {
    /// Memory for turning links round; what does not fit is put into files beside the index.
    pub bucket_bytes: usize,
}

impl Default for BuildOptions {
    fn default() -> Self {
        Self { bucket_bytes: 256 << 20 }
    }
}

/// A file that is being written, and how far.
pub(super) struct Output {
    pub path: PathBuf,
    file: BufWriter<File>,
    pub at: u64,
}

impl Output {
    fn create(path: PathBuf) -> Result<Self, GraphError> {
        let file = File::create(&path).map_err(GraphError::io(&path))?;
        Ok(Self { path, file: BufWriter::with_capacity(1 << 20, file), at: 0 })
    }

    pub fn put(&mut self, bytes: &[u8]) -> Result<(), GraphError> {
        self.file.write_all(bytes).map_err(GraphError::io(&self.path))?;
        self.at += bytes.len() as u64;
        Ok(())
    }

    pub fn flush(&mut self) -> Result<(), GraphError> {
        self.file.flush().map_err(GraphError::io(&self.path))
    }

    /// Puts the header in front, and the whole in the place of what was there.
    fn finish(mut self, header: &Header, place: &Path) -> Result<(), GraphError> {
        let written = (|| {
            self.file.seek(SeekFrom::Start(0))?;
            self.file.write_all(&header.encode())?;
            self.file.flush()?;
            self.file.get_ref().sync_data()?;
            std::fs::rename(&self.path, place)
        })();
        written.map_err(GraphError::io(place))
    }
}

/// What is kept for each URL while the index is made.
#[derive(Default)]
pub(super) struct Nodes {
    pub ids: Vec<u64>,
    pub out_links: Vec<u32>,
    pub in_links: Vec<u32>,
    pub out_at: Vec<u64>,
}

impl Nodes {
    fn add(&mut self, id: u64) {
        self.ids.push(id);
        self.out_links.push(0);
        self.in_links.push(0);
        self.out_at.push(0);
    }
}

/// Builds the index of `log` at `path`. Readers see the old or the new one.
pub fn build(log: &Path, path: &Path, options: &BuildOptions) -> Result<(), GraphError> {
    let log_bytes = std::fs::metadata(log).map_err(GraphError::io(log))?.len();
    let superseded = superseded(log)?;
    let mut out = Output::create(path.with_extension("next"))?;
    out.put(&[0; HEADER_BYTES])?;
    let mut nodes = Nodes::default();
    let mut header = Header { log_bytes, ..Header::default() };
    write_out_lists(log, &superseded, &mut nodes, &mut header, &mut out)?;
    out.flush()?;
    header.nodes = nodes.ids.len() as u64;
    header.in_at = out.at;
    let in_at = transpose::write_in_lists(&nodes, &header, options, &mut out)?;
    write_tables(&nodes, &in_at, &mut header, &mut out)?;
    out.finish(&header, path)
}

/// Which visits in the log were followed by a later one of the same page, by their place in it.
fn superseded(log: &Path) -> Result<Vec<u64>, GraphError> {
    let (mut reader, mut page) = (read_edges(log)?, PageEdges::default());
    let mut last: HashMap<u64, u64> = HashMap::default();
    let (mut place, mut old) = (0u64, Vec::new());
    while reader.next_into(&mut page)? {
        old.extend(last.insert(page.source, place));
        place += 1;
    }
    old.sort_unstable();
    Ok(old)
}

fn write_out_lists(
    log: &Path,
    superseded: &[u64],
    nodes: &mut Nodes,
    header: &mut Header,
    out: &mut Output,
) -> Result<(), GraphError> {
    let (mut reader, mut page) = (read_edges(log)?, PageEdges::default());
    let mut table = NumberTable::new();
    let mut number = |id: u64, nodes: &mut Nodes| {
        let (number, is_new) = table.number(id)?;
        if is_new {
            nodes.add(id);
        }
        Ok::<u32, GraphError>(number)
    };
    let (mut links, mut list, mut bytes) = (Vec::new(), LinkList::default(), Vec::new());
    let mut superseded = superseded.iter().peekable();
    let mut place = 0;
    while reader.next_into(&mut page)? {
        let is_old = superseded.next_if_eq(&&place).is_some();
        place += 1;
        if is_old {
            continue;
        }
        let owner = number(page.source, nodes)?;
        links.clear();
        for edge in &page.edges {
            let target = number(edge.target, nodes)?;
            links.push((target, edge.attributes));
            nodes.in_links[target as usize] += 1;
        }
        links.sort_unstable();
        nodes.out_at[owner as usize] = out.at;
        nodes.out_links[owner as usize] = links.len() as u32;
        header.edges += links.len() as u64;
        header.pages += 1;
        list.fill(owner, &links);
        bytes.clear();
        list.encode(&mut bytes);
        out.put(&bytes)?;
    }
    Ok(())
}

/// Writes ids, directory and table.
fn write_tables(
    nodes: &Nodes,
    in_at: &[u64],
    header: &mut Header,
    out: &mut Output,
) -> Result<(), GraphError> {
    header.ids_at = out.at;
    for id in &nodes.ids {
        out.put(&id.to_le_bytes())?;
    }
    let mut by_id: Vec<(u64, u32)> = nodes.ids.iter().copied().zip(0..).collect();
    by_id.sort_unstable();
    header.directory_at = out.at;
    header.directory_bits = Header::bits_for(header.nodes);
    let mut position = 0;
    for bucket in 0..=1u64 << header.directory_bits {
        while by_id.get(position).is_some_and(|(id, _)| header.bucket_of(*id) < bucket) {
            position += 1;
        }
        out.put(&(position as u32).to_le_bytes())?;
    }
    header.table_at = out.at;
    let mut records = Vec::with_capacity(1024 * RECORD_BYTES);
    for some in by_id.chunks(1024) {
        records.clear();
        for &(id, number) in some {
            let at = number as usize;
            let record = TableRecord {
                id,
                number,
                out_links: nodes.out_links[at],
                in_links: nodes.in_links[at],
                out_at: nodes.out_at[at],
                in_at: in_at[at],
            };
            records.extend(record.encode());
        }
        out.put(&records)?;
    }
    Ok(())
}
