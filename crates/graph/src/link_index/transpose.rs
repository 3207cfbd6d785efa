//! Turns links round: from the lists of what pages link to, the lists of what links to them.
//!
//! URLs are cut into ranges with about as many links each as fit in memory. One pass over the lists puts every link into
//! the bucket of its target's range; each bucket is then sorted in memory. One bucket needs no file.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

use super::build::{BuildOptions, Nodes, Output};
use super::header::{HEADER_BYTES, Header};
use crate::error::GraphError;
use crate::link_list::{LinkList, ListReader};

/// A link in a bucket file: target, source, attributes.
const LINK_BYTES: usize = 9;
/// A link in memory, sorted by target.
const PLACED_BYTES: usize = size_of::<(u32, u8)>();

/// Writes the in-lists behind the out-lists and returns where each URL's begins; 0 for those without.
pub(super) fn write_in_lists(
    nodes: &Nodes,
    header: &Header,
    options: &BuildOptions,
    out: &mut Output,
) -> Result<Vec<u64>, GraphError> {
    let ranges = ranges(&nodes.in_links, (options.bucket_bytes / PLACED_BYTES).max(1) as u64);
    let mut in_at = vec![0; nodes.ids.len()];
    if let [only] = ranges.as_slice() {
        let mut bucket = Placing::new(nodes, only.clone());
        each_link(header, out, |target, source, attributes| {
            bucket.place(target, source, attributes);
            Ok(())
        })?;
        bucket.write(out, &mut in_at)?;
        return Ok(in_at);
    }
    let files = Buckets::fill(&ranges, header, out)?;
    for (at, range) in ranges.iter().enumerate() {
        let mut bucket = Placing::new(nodes, range.clone());
        files.read(at, |target, source, attributes| bucket.place(target, source, attributes))?;
        bucket.write(out, &mut in_at)?;
    }
    Ok(in_at)
}

type Range = std::ops::Range<u32>;

/// Ranges of URLs with at most `most` links to them, or one URL each.
fn ranges(in_links: &[u32], most: u64) -> Vec<Range> {
    let (mut ranges, mut start, mut links) = (Vec::new(), 0, 0);
    for (at, &count) in (0u32..).zip(in_links) {
        if links + u64::from(count) > most && at > start {
            ranges.push(start..at);
            (start, links) = (at, 0);
        }
        links += u64::from(count);
    }
    ranges.push(start..in_links.len() as u32);
    ranges
}

/// Calls `each` with target, source and attributes of every link written so far.
fn each_link(
    header: &Header,
    out: &Output,
    mut each: impl FnMut(u32, u32, u8) -> Result<(), GraphError>,
) -> Result<(), GraphError> {
    let io = GraphError::io(&out.path);
    let mut file = File::open(&out.path).map_err(&io)?;
    file.seek(SeekFrom::Start(HEADER_BYTES as u64)).map_err(&io)?;
    let input = file.take(header.in_at - HEADER_BYTES as u64);
    let (mut reader, mut list) = (ListReader::new(input, header.nodes as u32), LinkList::default());
    while reader.next_into(&mut list).map_err(&io)? {
        for (&target, &attributes) in list.others.iter().zip(&list.attributes) {
            each(target, list.owner, attributes)?;
        }
    }
    Ok(())
}

/// The links to one range of URLs, put where they belong.
struct Placing<'n> {
    range: Range,
    in_links: &'n [u32],
    /// Where the next link to each URL goes.
    next: Vec<u32>,
    links: Vec<(u32, u8)>,
}

impl<'n> Placing<'n> {
    fn new(nodes: &'n Nodes, range: Range) -> Self {
        let in_links = &nodes.in_links[range.start as usize..range.end as usize];
        let mut total = 0;
        let next = in_links
            .iter()
            .map(|&count| {
                let start = total;
                total += count;
                start
            })
            .collect();
        Self { range, in_links, next, links: vec![(0, 0); total as usize] }
    }

    fn place(&mut self, target: u32, source: u32, attributes: u8) {
        let next = &mut self.next[(target - self.range.start) as usize];
        self.links[*next as usize] = (source, attributes);
        *next += 1;
    }

    fn write(mut self, out: &mut Output, in_at: &mut [u64]) -> Result<(), GraphError> {
        let (mut from, mut list, mut bytes) = (0, LinkList::default(), Vec::new());
        for (number, &count) in self.range.clone().zip(self.in_links) {
            if count == 0 {
                continue;
            }
            let links = &mut self.links[from..from + count as usize];
            from += count as usize;
            links.sort_unstable();
            in_at[number as usize] = out.at;
            list.fill(number, links);
            bytes.clear();
            list.encode(&mut bytes);
            out.put(&bytes)?;
        }
        Ok(())
    }
}

/// Links on disk, one file for each range; gone when this is dropped.
struct Buckets {
    paths: Vec<PathBuf>,
}

impl Buckets {
    fn fill(ranges: &[Range], header: &Header, out: &Output) -> Result<Self, GraphError> {
        let paths = (0..ranges.len()).map(|at| out.path.with_extension(format!("bucket-{at}"))).collect();
        let buckets = Self { paths };
        let mut files = Vec::with_capacity(ranges.len());
        for path in &buckets.paths {
            let file = File::create(path).map_err(GraphError::io(path))?;
            files.push(BufWriter::with_capacity(64 * 1024, file));
        }
        each_link(header, out, |target, source, attributes| {
            let at = ranges.partition_point(|range| range.end <= target);
            let mut bytes = [0; LINK_BYTES];
            bytes[..4].copy_from_slice(&target.to_le_bytes());
            bytes[4..8].copy_from_slice(&source.to_le_bytes());
            bytes[8] = attributes;
            files[at].write_all(&bytes).map_err(GraphError::io(&buckets.paths[at]))
        })?;
        for (file, path) in files.iter_mut().zip(&buckets.paths) {
            file.flush().map_err(GraphError::io(path))?;
        }
        Ok(buckets)
    }

    fn read(&self, at: usize, mut each: impl FnMut(u32, u32, u8)) -> Result<(), GraphError> {
        let io = GraphError::io(&self.paths[at]);
        let file = File::open(&self.paths[at]).map_err(&io)?;
        let links = file.metadata().map_err(&io)?.len() / LINK_BYTES as u64;
        let mut input = BufReader::with_capacity(1 << 20, file);
        for _ in 0..links {
            let mut bytes = [0; LINK_BYTES];
            input.read_exact(&mut bytes).map_err(&io)?;
            let [a, b, c, d, e, f, g, h, attributes] = bytes;
            each(u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]), attributes);
        }
        Ok(())
    }
}

impl Drop for Buckets {
    fn drop(&mut self) {
        for path in &self.paths {
            // What cannot be removed is overwritten by the next build.
            let _ = std::fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_cover_all_urls_and_hold_few_links() {
        assert_eq!(ranges(&[], 5), vec![0..0]);
        assert_eq!(ranges(&[1, 1, 1], 5), vec![0..3]);
        assert_eq!(ranges(&[3, 3, 9, 1, 1], 5), vec![0..1, 1..2, 2..3, 3..5]);
    }
}
