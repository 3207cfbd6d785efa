//! What the index takes in: pages, each under the key of its URL.

/// The name of a page in the index: 16 bytes, the same for the same URL for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PageKey(pub [u8; 16]);

impl PageKey {
    /// Half of the key: enough to tell pages apart within one answer.
    pub(crate) fn low(self) -> u64 {
        let mut half = [0; 8];
        half.copy_from_slice(&self.0[8..]);
        u64::from_be_bytes(half)
    }
}

/// A page as it is indexed. What is not known is empty.
#[derive(Clone, Debug)]
pub struct PageDoc {
    pub url: String,
    pub key: PageKey,
    pub title: String,
    /// The texts of its headings, one per line.
    pub headings: String,
    /// The main text: what the page is about.
    pub text: String,
    /// The rest of the visible text: navigation, notes, footers.
    /// Pieces that do not touch, because the main text stood between them, have a blank line between them.
    pub other: String,
    /// The texts of links that point to it.
    pub anchors: Vec<String>,
    /// A language tag such as `en-GB`.
    pub language: String,
    /// A media type such as `text/html`; parameters are ignored.
    pub content_type: String,
    pub author: String,
    /// Seconds since 1970.
    pub published_s: Option<i64>,
    /// Seconds since 1970.
    pub modified_s: Option<i64>,
    /// The host.
    pub site: String,
    /// Links away from a seed.
    pub depth: u16,
    /// Importance by links: 1 is the average page, 0 is unknown.
    pub rank: f64,
    /// The first page with the same content, if this is not the first.
    pub duplicate_of: Option<PageKey>,
    /// A number that stands for its bytes: pages with the same one are copies.
    pub content: Option<u64>,
    /// Any number that changes when the page has to be indexed anew.
    pub version: u64,
}

impl PageDoc {
    /// A page of which only the address is known.
    pub fn new(url: impl Into<String>, key: PageKey) -> Self {
        Self {
            url: url.into(),
            key,
            title: String::new(),
            headings: String::new(),
            text: String::new(),
            other: String::new(),
            anchors: Vec::new(),
            language: String::new(),
            content_type: String::new(),
            author: String::new(),
            published_s: None,
            modified_s: None,
            site: String::new(),
            depth: 0,
            rank: 0.0,
            duplicate_of: None,
            content: None,
            version: 0,
        }
    }

    /// The day it is from: published, else modified.
    pub fn date_s(&self) -> Option<i64> {
        self.published_s.or(self.modified_s)
    }
}

/// One step of feeding an index.
#[derive(Clone, Debug)]
pub enum Change {
    /// Puts a page in place of whatever is there under its key.
    Put(Box<PageDoc>),
    /// Removes the page under a key, if there is one.
    Delete(PageKey),
}
