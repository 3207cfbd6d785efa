//! Links that were put aside: in link mode `cross`, a link to a partition of another node is followed by the node that
//! found it, once that has nothing else to do. Until then it waits here, in a file of the node's own.
//!
//! One line per link: depth, redirects, relevance (0 to 255), where it was found (hexadecimal, `-` if unknown), the URL. The
//! file only grows; a mark in the state says how far it was taken. Promise: what was put aside before a commit is on disk
//! before any page of that commit counts as done.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;

use foldhash::HashSet;
use lycosa_frontier::{Store, StoreError};
use lycosa_types::{CanonUrl, PartitionId, Partitioner, UrlId, UrlKey, UrlRecord};

use super::unplaced::waiting_id;

/// How far the file was taken, in the state.
pub const MARK_ASIDE: &str = "aside";
/// Links remembered as put aside already; beyond, they are forgotten all at once.
const MAX_KNOWN: usize = 1 << 20;
/// Most bytes read at a time.
const STRETCH: u64 = 256 << 10;

/// What a directory knows of a URL: as one of its own, or as one that this node crossed over for.
pub fn record_of(
    store: &Store,
    partitioner: &Partitioner,
    url: &CanonUrl,
) -> Result<Option<UrlRecord>, StoreError> {
    let own = store.visited_or_waiting(waiting_id(store, partitioner, url)?, url)?;
    if own.is_some() || store.mark(MARK_ASIDE)?.is_none() {
        return Ok(own);
    }
    for partition in (0..partitioner.partitions).map(PartitionId) {
        let id = UrlId { partition, key: UrlKey::crossed(url.as_str(), partition) };
        if let Some(record) = store.url(id)? {
            return Ok(Some(record));
        }
    }
    Ok(None)
}

/// A link that waits.
#[derive(Clone, Debug, PartialEq)]
pub struct AsideLink {
    pub url: String,
    pub depth: u16,
    pub redirects: u8,
    pub relevance: f32,
    pub found_on: Option<UrlId>,
}

#[derive(Debug)]
pub struct Aside {
    file: Arc<File>,
    /// Lines that are not in the file yet.
    fresh: Vec<u8>,
    taken: u64,
    end: u64,
    known: HashSet<UrlKey>,
    /// The disk failed: nothing more may count as done.
    failed: Option<std::io::Error>,
}

impl Aside {
    /// Opens the file, taken up to `taken`. A line that a crash cut off is dropped: its page was not done.
    pub fn open(path: &Path, taken: u64) -> std::io::Result<Self> {
        let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        let end = whole_lines(&mut file)?;
        file.set_len(end)?;
        let taken = taken.min(end);
        let (fresh, known) = (Vec::new(), HashSet::default());
        Ok(Self { file: Arc::new(file), fresh, taken, end, known, failed: None })
    }

    /// The file, for whoever makes it durable.
    pub fn file(&self) -> Arc<File> {
        Arc::clone(&self.file)
    }

    pub fn is_empty(&self) -> bool {
        self.taken == self.end && self.fresh.is_empty()
    }

    /// The disk failed: the next [flush](Self::flush) says how.
    pub fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    /// How far it was taken: to be committed with what was taken.
    pub fn mark(&self) -> Vec<u8> {
        self.taken.to_be_bytes().to_vec()
    }

    /// Puts a link aside, unless that was done lately.
    pub fn put(&mut self, key: UrlKey, link: &AsideLink) {
        if self.known.len() >= MAX_KNOWN {
            self.known.clear();
        }
        if !self.known.insert(key) {
            return;
        }
        let AsideLink { url, depth, redirects, relevance, found_on } = link;
        let relevance = (relevance.clamp(0.0, 1.0) * 255.0) as u8;
        // Into memory: this cannot fail.
        let _ = write!(self.fresh, "{depth} {redirects} {relevance} ");
        match found_on {
            Some(id) => id.to_bytes().iter().for_each(|byte| {
                let _ = write!(self.fresh, "{byte:02x}");
            }),
            None => self.fresh.push(b'-'),
        }
        let _ = writeln!(self.fresh, " {url}");
    }

    /// Gives the file what is new. The error of an earlier failure comes up here.
    pub fn flush(&mut self) -> std::io::Result<()> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        if !self.fresh.is_empty() {
            let mut file = &*self.file;
            file.seek(SeekFrom::Start(self.end))?;
            file.write_all(&self.fresh)?;
            self.end += self.fresh.len() as u64;
            self.fresh.clear();
        }
        Ok(())
    }

    /// Takes the next links, up to `most`.
    pub fn take(&mut self, most: usize) -> Vec<AsideLink> {
        let taken = self.flush().and_then(|()| self.read(most));
        taken.unwrap_or_else(|error| {
            self.failed = Some(error);
            Vec::new()
        })
    }

    fn read(&mut self, most: usize) -> std::io::Result<Vec<AsideLink>> {
        let mut file = &*self.file;
        file.seek(SeekFrom::Start(self.taken))?;
        let mut bytes = Vec::new();
        file.take(STRETCH.min(self.end - self.taken)).read_to_end(&mut bytes)?;
        let mut links = Vec::new();
        for line in bytes.split_inclusive(|&byte| byte == b'\n').filter(|line| line.ends_with(b"\n")) {
            if links.len() == most {
                break;
            }
            self.taken += line.len() as u64;
            // A line that cannot be read was not written here.
            links.extend(std::str::from_utf8(line).ok().and_then(parse));
        }
        Ok(links)
    }
}

/// Where the last whole line ends.
fn whole_lines(file: &mut File) -> std::io::Result<u64> {
    let mut end = file.seek(SeekFrom::End(0))?;
    while end > 0 {
        let from = end.saturating_sub(STRETCH);
        let mut tail = Vec::new();
        file.seek(SeekFrom::Start(from))?;
        Read::by_ref(file).take(end - from).read_to_end(&mut tail)?;
        if let Some(at) = tail.iter().rposition(|&byte| byte == b'\n') {
            return Ok(from + at as u64 + 1);
        }
        end = from;
    }
    Ok(0)
}

fn parse(line: &str) -> Option<AsideLink> {
    let mut words = line.trim_end().split(' ');
    let mut word = || words.next();
    let (depth, redirects) = (word()?.parse().ok()?, word()?.parse().ok()?);
    let relevance = f32::from(word()?.parse::<u8>().ok()?) / 255.0;
    let found_on = match word()? {
        "-" => None,
        hex if hex.is_ascii() && hex.len().is_multiple_of(2) => {
            let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).ok();
            let bytes: Option<Vec<u8>> = (0..hex.len()).step_by(2).map(byte).collect();
            Some(UrlId::from_bytes(&bytes?)?)
        }
        _ => return None,
    };
    let url = word()?.to_owned();
    (!url.is_empty() && word().is_none()).then_some(AsideLink { url, depth, redirects, relevance, found_on })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(n: u16) -> AsideLink {
        let found_on = n
            .is_multiple_of(2)
            .then_some(UrlId { partition: PartitionId(n), key: UrlKey(u128::from(n) << 70) });
        AsideLink { url: format!("http://h{n}.test/{n}"), depth: n, redirects: 1, relevance: 1.0, found_on }
    }

    #[test]
    fn links_come_back_once_in_order_and_a_torn_line_is_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("aside");
        let mut aside = Aside::open(&path, 0).unwrap();
        assert!(aside.is_empty() && aside.take(10).is_empty());
        for n in 0..2000 {
            let link = link(n);
            aside.put(UrlKey::of(&link.url), &link);
            aside.put(UrlKey::of(&link.url), &link);
        }
        assert!(!aside.is_empty());
        assert_eq!(aside.take(3), [link(0), link(1), link(2)]);
        let mark = u64::from_be_bytes(aside.mark().try_into().unwrap());
        aside.flush().unwrap();
        drop(aside);
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"7 1 0 - http://torn.te").unwrap();
        let mut aside = Aside::open(&path, mark).unwrap();
        let rest = aside.take(usize::MAX);
        assert_eq!(rest.len(), 1997);
        assert_eq!((&rest[0], &rest[1996]), (&link(3), &link(1999)));
        assert!(aside.is_empty());
    }

    #[test]
    fn lines_of_others_are_passed_over() {
        for bad in [
            "",
            "1",
            "x 1 1 - http://a/",
            "1 1 1 zz http://a/",
            "1 1 1 - ",
            "1 1 1 - a b",
            "1 1 1 é0 a",
            "70000 1 1 - a",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
