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

/// Bytes of an element's word.
const WORD: usize = 8;

/// Digest of the whole structure: the full name and depth of every element, in order. It changes with any change of the
/// tree, which the strings may miss (`ul` for `ol`… `b` for `blockquoteb`), and with nothing else. `words` is left with a
/// word for each element.
pub(crate) fn digest(page: &Extract, tree: &Tree, words: &mut Vec<u8>) -> u64 {
    words.clear();
    for node in &tree.nodes {
        let word = u64::from(stable_tag(page, node.tag)) << 16 | u64::from(node.depth);
        words.extend_from_slice(&word.to_le_bytes());
    }
    xxh3_64(words)
}

/// Digest of what is left of a structure without some ranges of elements, from the words that [`digest`] left. Each list is in
/// order.
pub(crate) fn digest_without<const N: usize>(
    words: &[u8],
    mut left_out: [&[(u32, u32)]; N],
    scratch: &mut Vec<u8>,
) -> u64 {
    scratch.clear();
    let nodes = words.len() / WORD;
    let mut at = 0;
    while at < nodes {
        let (mut from, mut to) = (nodes, nodes);
        for ranges in &mut left_out {
            while let [first, rest @ ..] = *ranges
                && first.1 as usize <= at
            {
                *ranges = rest;
            }
            if let Some(first) = ranges.first()
                && (first.0 as usize) < from
            {
                (from, to) = (first.0 as usize, first.1 as usize);
            }
        }
        let from = from.max(at);
        scratch.extend_from_slice(words.get(at * WORD..from * WORD).unwrap_or_default());
        at = to;
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
            (TagStrings::of(&page).digest(), digest(&page, &tree, &mut Vec::new()))
        });
        assert_eq!(digests[0], digests[1]);
        assert_eq!(digests[1].0, digests[2].0);
        assert_ne!(digests[1].1, digests[2].1);
    }

    #[test]
    fn what_is_left_is_digested_as_if_the_rest_had_not_been() {
        let words: Vec<u8> = (0..10u64).flat_map(u64::to_le_bytes).collect();
        let without = |a: &[(u32, u32)], b: &[(u32, u32)]| digest_without(&words, [a, b], &mut Vec::new());
        let of = |kept: &[u64]| xxh3_64(&kept.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<u8>>());
        assert_eq!(without(&[], &[]), of(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]));
        assert_eq!(without(&[(0, 2), (9, 10)], &[]), of(&[2, 3, 4, 5, 6, 7, 8]));
        assert_eq!(without(&[(1, 4), (6, 7)], &[(2, 3), (3, 5), (6, 99)]), of(&[0, 5]));
        assert_eq!(without(&[(0, 10)], &[(3, 4)]), of(&[]));
    }
}
