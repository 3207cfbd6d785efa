//! Structure I: two strings, the first and the last character of each start tag's name, in the order of the source.
//!
//! Tags in comments and in raw text (scripts, styles, text areas) are no tags. Names are compared in small letters; a
//! name of one letter stands in both strings. Custom names count with their own characters. The page record keeps the
//! first [`KEPT_TAGS`] bytes of each string to tell where a change begins; a digest covers all of it.

use super::extract::Extract;
use super::tag_names::NAMES;
use super::tags::TagId;
use super::tree::Tree;
use xxhash_rust::xxh3::xxh3_64;

/// Bytes of each string that are kept for later visits; all but custom names count one byte per tag.
pub const KEPT_TAGS: usize = 512;

/// First and last character of every known name; all are ASCII.
static ENDS: [(u8, u8); NAMES.len()] = {
    let mut ends = [(0, 0); NAMES.len()];
    let mut i = 0;
    while i < NAMES.len() {
        let name = NAMES[i].as_bytes();
        ends[i] = (name[0], name[name.len() - 1]);
        i += 1;
    }
    ends
};

/// A number for every known name that stays the same from build to build.
static NAME_HASHES: [u32; NAMES.len()] = {
    let mut hashes = [0; NAMES.len()];
    let mut i = 0;
    while i < NAMES.len() {
        hashes[i] = name_hash(NAMES[i]);
        i += 1;
    }
    hashes
};

const fn name_hash(name: &str) -> u32 {
    let name = name.as_bytes();
    let mut hash = 0x811c_9dc5u32;
    let mut i = 0;
    while i < name.len() {
        hash = (hash ^ name[i] as u32).wrapping_mul(0x0100_0193);
        i += 1;
    }
    hash
}

/// The two strings of a page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TagStrings {
    pub first: String,
    pub last: String,
}

impl TagStrings {
    pub fn of(page: &Extract) -> Self {
        let mut strings = Self::default();
        strings.fill(page);
        strings
    }

    /// As [`of`](Self::of), keeping the memory.
    pub fn fill(&mut self, page: &Extract) {
        self.first.clear();
        self.last.clear();
        let (mut firsts, mut lasts) = ([0u8; 64], [0u8; 64]);
        let mut n = 0;
        for tag in page.start_tags() {
            if let Some(&(first, last)) = ENDS.get(tag.0 as usize) {
                (firsts[n], lasts[n]) = (first, last);
                n += 1;
                if n == firsts.len() {
                    self.add(&firsts, &lasts);
                    n = 0;
                }
            } else {
                self.add(&firsts[..n], &lasts[..n]);
                n = 0;
                let name = page.tag_name(tag);
                self.first.extend(name.chars().next());
                self.last.extend(name.chars().next_back());
            }
        }
        self.add(&firsts[..n], &lasts[..n]);
    }

    /// Adds characters of known names, which are all ASCII.
    fn add(&mut self, first: &[u8], last: &[u8]) {
        self.first.push_str(str::from_utf8(first).unwrap_or(""));
        self.last.push_str(str::from_utf8(last).unwrap_or(""));
    }

    /// A digest of both strings.
    pub fn digest(&self) -> u64 {
        xxh3_64(self.first.as_bytes()) ^ xxh3_64(self.last.as_bytes()).rotate_left(32)
    }
}

/// A number for a tag's name, the same in every build.
pub(crate) fn stable_tag(page: &Extract, tag: TagId) -> u32 {
    NAME_HASHES.get(tag.0 as usize).copied().unwrap_or_else(|| name_hash(page.tag_name(tag)))
}

/// Digest of the whole structure: the full name and depth of every element that `counts`, in order. It changes with any
/// change of the tree, which the strings may miss (`ul` for `ol`… `b` for `blockquoteb`), and with nothing else.
pub(crate) fn digest(
    page: &Extract,
    tree: &Tree,
    counts: impl Fn(usize) -> bool,
    scratch: &mut Vec<u8>,
) -> u64 {
    scratch.clear();
    for (at, node) in tree.nodes.iter().enumerate() {
        if counts(at) {
            let word = u64::from(stable_tag(page, node.tag)) << 16 | u64::from(node.depth);
            scratch.extend_from_slice(&word.to_le_bytes());
        }
    }
    xxh3_64(scratch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limits, Scanner};

    fn page(html: &str) -> Extract {
        let mut page = Extract::new();
        Scanner::new(Limits::default()).scan(html, &mut page);
        page
    }

    #[test]
    fn the_papers_example() {
        let strings = TagStrings::of(&page(
            "<html><head><title>t</title></head><body><h1>x</h1><p>a</p><p>b</p><p>c</p></body></html>",
        ));
        assert_eq!(strings.first, "hhtbhppp");
        assert_eq!(strings.last, "ldey1ppp");
    }

    #[test]
    fn comments_and_scripts_hold_no_tags() {
        let strings = TagStrings::of(&page("<B><!-- <i> --><script>'<u>'</script><style><p></style><x-é>"));
        assert_eq!((strings.first.as_str(), strings.last.as_str()), ("bssx", "bteé"));
    }

    #[test]
    fn the_digest_sees_what_the_strings_miss() {
        let digests = ["<p><b>x</b>y</p>", "<p><b>xy</b></p>", "<p></p><b>xy</b>"].map(|html| {
            let page = page(html);
            let mut tree = Tree::default();
            tree.build(&page);
            (TagStrings::of(&page).digest(), digest(&page, &tree, |_| true, &mut Vec::new()))
        });
        assert_eq!(digests[0], digests[1]);
        assert_eq!(digests[1].0, digests[2].0);
        assert_ne!(digests[1].1, digests[2].1);
    }
}
