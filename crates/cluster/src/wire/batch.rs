//! A batch: links and facts found by one node, for one partition.
//!
//! Links are sorted and front-coded: most URLs of a partition share their host and path with a neighbour, so only what
//! differs travels. One buffer holds all URLs; a link costs no allocation on either side.

use super::frame::{Reader, checked, put_bytes, put_checksum, put_number};
use super::{MAX_MESSAGE_BYTES, WireError};

const KIND: u8 = b'B';
pub const BATCH_VERSION: u8 = 1;
/// Most links of a batch.
pub const MAX_LINKS: usize = 4096;
/// Longest URL.
pub const MAX_URL_BYTES: usize = 8192;
/// Longest note that travels with a link.
pub const MAX_NOTE_BYTES: usize = 512;
/// Most facts of a batch.
pub const MAX_FACTS: usize = 4096;
/// Longest fact.
pub const MAX_FACT_BYTES: usize = 4096;
/// Most bytes of URLs in one batch, before coding.
pub const MAX_TEXT_BYTES: usize = 768 << 10;

const HAS_COUNT: u8 = 1;
const HAS_IMPORTANCE: u8 = 2;
const HAS_NOTE: u8 = 4;

/// Who sent a batch, and which of its batches it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BatchHeader {
    /// A print of the crawl's settings: a node that cuts the partitions differently is not listened to.
    pub crawl: u32,
    pub partition: u16,
    /// The sender's id as a number.
    pub sender: u64,
    /// Counts the sender's batches.
    pub number: u64,
}

/// A link on its way: a URL and numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link<'a> {
    pub url: &'a str,
    /// Links from a seed.
    pub depth: u16,
    /// Pages on which the link was seen since it was last sent.
    pub backlinks: u32,
    /// The importance that those pages gave it.
    pub importance: f32,
    /// Bytes of the caller's own.
    pub note: &'a [u8],
}

impl<'a> Link<'a> {
    /// A link seen once.
    pub fn new(url: &'a str, depth: u16) -> Self {
        Self { url, depth, backlinks: 1, importance: 0.0, note: &[] }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Entry {
    url_end: u32,
    note_end: u32,
    backlinks: u32,
    importance: f32,
    depth: u16,
}

/// Links in one buffer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Links {
    text: String,
    notes: Vec<u8>,
    entries: Vec<Entry>,
}

impl Links {
    /// Takes in a link. False, and nothing taken, if the batch is full or the link is larger than may travel.
    pub fn push(&mut self, link: &Link<'_>) -> bool {
        let fits = self.entries.len() < MAX_LINKS
            && link.url.len() <= MAX_URL_BYTES
            && link.note.len() <= MAX_NOTE_BYTES
            && self.text.len() + self.notes.len() + link.url.len() + link.note.len() <= MAX_TEXT_BYTES;
        if fits {
            self.text.push_str(link.url);
            self.notes.extend_from_slice(link.note);
            self.entries.push(Entry {
                url_end: self.text.len() as u32,
                note_end: self.notes.len() as u32,
                backlinks: link.backlinks,
                importance: link.importance,
                depth: link.depth,
            });
        }
        fits
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.text.len() + self.notes.len()
    }

    pub fn get(&self, index: usize) -> Option<Link<'_>> {
        let entry = self.entries.get(index)?;
        let before = index.checked_sub(1).and_then(|i| self.entries.get(i));
        let (url_start, note_start) = before.map_or((0, 0), |e| (e.url_end as usize, e.note_end as usize));
        Some(Link {
            url: self.text.get(url_start..entry.url_end as usize)?,
            depth: entry.depth,
            backlinks: entry.backlinks,
            importance: entry.importance,
            note: self.notes.get(note_start..entry.note_end as usize)?,
        })
    }

    pub fn iter(&self) -> impl Iterator<Item = Link<'_>> {
        (0..self.len()).filter_map(|i| self.get(i))
    }

    pub fn clear(&mut self) {
        self.text.clear();
        self.notes.clear();
        self.entries.clear();
    }
}

/// What is sent to a partition in one message.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    pub links: Links,
    /// Facts of other kinds, routed by a key of their own: a kind of the caller's choice, and bytes.
    pub facts: Vec<(u8, Vec<u8>)>,
}

impl Batch {
    pub fn is_empty(&self) -> bool {
        self.links.is_empty() && self.facts.is_empty()
    }

    pub fn encode(&self, header: &BatchHeader) -> Result<Vec<u8>, WireError> {
        let mut out = Vec::with_capacity(64 + self.links.bytes());
        out.extend([KIND, BATCH_VERSION]);
        out.extend(header.crawl.to_le_bytes());
        put_number(&mut out, u64::from(header.partition));
        out.extend(header.sender.to_le_bytes());
        put_number(&mut out, header.number);
        let mut links: Vec<Link<'_>> = self.links.iter().collect();
        links.sort_by(|a, b| a.url.cmp(b.url));
        put_number(&mut out, links.len() as u64);
        let mut before = "";
        for link in &links {
            put_link(&mut out, link, before);
            before = link.url;
        }
        put_number(&mut out, self.facts.len() as u64);
        for (kind, body) in &self.facts {
            if body.len() > MAX_FACT_BYTES {
                return Err(WireError::Limit("fact"));
            }
            out.push(*kind);
            put_bytes(&mut out, body);
        }
        put_checksum(&mut out);
        let fits = out.len() <= MAX_MESSAGE_BYTES && self.facts.len() <= MAX_FACTS;
        if fits { Ok(out) } else { Err(WireError::Limit("batch")) }
    }

    pub fn decode(bytes: &[u8]) -> Result<(BatchHeader, Self), WireError> {
        if bytes.len() > MAX_MESSAGE_BYTES {
            return Err(WireError::Limit("batch"));
        }
        let mut reader = Reader::new(checked(bytes)?);
        if reader.byte()? != KIND {
            return Err(WireError::Kind);
        }
        match reader.byte()? {
            BATCH_VERSION => {}
            other => return Err(WireError::Version(other)),
        }
        let header = BatchHeader {
            crawl: u32::from_le_bytes(reader.array()?),
            partition: reader.count(usize::from(u16::MAX), "partition")? as u16,
            sender: u64::from_le_bytes(reader.array()?),
            number: reader.number()?,
        };
        let mut batch = Self::default();
        let count = reader.count(MAX_LINKS, "number of links")?;
        let mut url = Vec::new();
        for _ in 0..count {
            take_link(&mut reader, &mut url, &mut batch.links)?;
        }
        for _ in 0..reader.count(MAX_FACTS, "number of facts")? {
            let kind = reader.byte()?;
            batch.facts.push((kind, reader.bytes(MAX_FACT_BYTES, "fact")?.to_vec()));
        }
        if reader.is_empty() { Ok((header, batch)) } else { Err(WireError::Nonsense("tail")) }
    }
}

fn put_link(out: &mut Vec<u8>, link: &Link<'_>, before: &str) {
    let shared = link.url.bytes().zip(before.bytes()).take_while(|(a, b)| a == b).count();
    put_number(out, shared as u64);
    put_bytes(out, &link.url.as_bytes()[shared..]);
    let mut flags = 0;
    flags |= if link.backlinks != 1 { HAS_COUNT } else { 0 };
    flags |= if link.importance.to_bits() != 0 { HAS_IMPORTANCE } else { 0 };
    flags |= if link.note.is_empty() { 0 } else { HAS_NOTE };
    out.push(flags);
    put_number(out, u64::from(link.depth));
    if flags & HAS_COUNT != 0 {
        put_number(out, u64::from(link.backlinks));
    }
    if flags & HAS_IMPORTANCE != 0 {
        out.extend(link.importance.to_le_bytes());
    }
    if flags & HAS_NOTE != 0 {
        put_bytes(out, link.note);
    }
}

/// Reads one link; `url` holds the one before and then this one.
fn take_link(reader: &mut Reader<'_>, url: &mut Vec<u8>, links: &mut Links) -> Result<(), WireError> {
    let shared = reader.count(MAX_URL_BYTES, "shared prefix")?;
    if shared > url.len() {
        return Err(WireError::Nonsense("shared prefix"));
    }
    url.truncate(shared);
    url.extend_from_slice(reader.bytes(MAX_URL_BYTES, "URL")?);
    let flags = reader.byte()?;
    if flags & !(HAS_COUNT | HAS_IMPORTANCE | HAS_NOTE) != 0 {
        return Err(WireError::Nonsense("flag"));
    }
    let depth = reader.count(usize::from(u16::MAX), "depth")? as u16;
    let backlinks = match flags & HAS_COUNT {
        0 => 1,
        _ => reader.count(u32::MAX as usize, "count")? as u32,
    };
    let importance = match flags & HAS_IMPORTANCE {
        0 => 0.0,
        _ => f32::from_le_bytes(reader.array()?),
    };
    if !importance.is_finite() {
        return Err(WireError::Nonsense("importance"));
    }
    let note = if flags & HAS_NOTE == 0 { &[][..] } else { reader.bytes(MAX_NOTE_BYTES, "note")? };
    let url = std::str::from_utf8(url).map_err(|_| WireError::Nonsense("URL"))?;
    let taken = links.push(&Link { url, depth, backlinks, importance, note });
    if taken { Ok(()) } else { Err(WireError::Limit("batch")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HEADER: BatchHeader = BatchHeader { crawl: 7, partition: 3, sender: u64::MAX, number: 300 };

    fn links() -> impl Strategy<Value = Links> {
        let url = "(http://[a-c]{1,3}\\.test/[a-z]{0,6}|\\PC{0,20})";
        let one = (url, any::<u16>(), any::<u32>(), -1e9f32..1e9, prop::collection::vec(any::<u8>(), 0..20));
        prop::collection::vec(one, 0..60).prop_map(|all| {
            let mut links = Links::default();
            for (url, depth, backlinks, importance, note) in &all {
                let taken = links.push(&Link {
                    url,
                    depth: *depth,
                    backlinks: *backlinks,
                    importance: *importance,
                    note,
                });
                assert!(taken);
            }
            links
        })
    }

    proptest! {
        #[test]
        fn batches_come_back_in_order_of_url(links in links(), fact: Vec<u8>) {
            let batch = Batch { links, facts: vec![(9, fact)] };
            let bytes = batch.encode(&HEADER).unwrap();
            let (header, back) = Batch::decode(&bytes).unwrap();
            prop_assert_eq!(header, HEADER);
            prop_assert_eq!(&back.facts, &batch.facts);
            let mut sorted: Vec<Link<'_>> = batch.links.iter().collect();
            sorted.sort_by(|a, b| a.url.cmp(b.url));
            prop_assert_eq!(back.links.iter().collect::<Vec<_>>(), sorted);
        }

        #[test]
        fn any_bytes_are_read_or_refused(mut bytes in prop::collection::vec(any::<u8>(), 0..400), prefix: bool) {
            if prefix {
                bytes.splice(0..0, [KIND, BATCH_VERSION]);
            }
            put_checksum(&mut bytes);
            let _ = Batch::decode(&bytes);
        }

        #[test]
        fn damaged_batches_are_refused_or_read(links in links(), at: usize, value: u8) {
            let mut bytes = Batch { links, facts: Vec::new() }.encode(&HEADER).unwrap();
            bytes.truncate(bytes.len() - 4);
            let at = at % bytes.len();
            bytes[at] = value;
            put_checksum(&mut bytes);
            let _ = Batch::decode(&bytes);
        }
    }

    #[test]
    fn limits_are_kept() {
        let mut links = Links::default();
        assert!(!links.push(&Link::new(&"x".repeat(MAX_URL_BYTES + 1), 0)));
        while links.push(&Link::new("http://a.test/", 0)) {}
        assert_eq!(links.len(), MAX_LINKS);
        let mut heavy = Links::default();
        while heavy.push(&Link::new(&"\u{e4}".repeat(MAX_URL_BYTES / 2), 0)) {}
        assert!(heavy.bytes() <= MAX_TEXT_BYTES);
        assert!(Batch { links: heavy, facts: Vec::new() }.encode(&HEADER).is_ok());
        let fact = Batch { links: Links::default(), facts: vec![(0, vec![0; MAX_FACT_BYTES + 1])] };
        assert_eq!(fact.encode(&HEADER), Err(WireError::Limit("fact")));
        let mut other = Batch::default().encode(&HEADER).unwrap();
        other.truncate(other.len() - 4);
        other[1] = 2;
        put_checksum(&mut other);
        assert_eq!(Batch::decode(&other).map(|_| ()), Err(WireError::Version(2)));
    }

    #[test]
    fn neighbours_share_their_beginnings() {
        let mut links = Links::default();
        for i in 0..500 {
            links.push(&Link::new(&format!("http://www.example.org/some/long/path/page-{i:04}.html"), 3));
        }
        let bytes = Batch { links, facts: Vec::new() }.encode(&HEADER).unwrap();
        assert!(bytes.len() < 500 * 13, "{}", bytes.len());
    }
}
