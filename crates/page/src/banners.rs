//! Blocks that carry advertisements or rotating banners, told by the words of their `class` and `id`.

use super::extract::Extract;
use super::swar;
use super::tags::TagId;
use super::tree::Tree;

/// Blocks looked for on one page.
const MAX_BANNERS: usize = 256;
/// A block called `banner` with more text than this is the page's own.
const MAX_BANNER_BYTES: u32 = 200;
/// Tags that are remembered, and the longest of them.
const REMEMBERED: usize = 256;
const LONGEST_REMEMBERED: usize = 63;
/// Bytes of a tag that are looked at before its attributes are taken apart.
const LOOK_BYTES: usize = 512;
/// Words of `class` and `id`, after cutting at `-` and `_`, that mark an advertisement.
const ADS: [&str; 16] = [
    "ad",
    "ads",
    "advert",
    "adverts",
    "advertisement",
    "advertisements",
    "advertising",
    "adsense",
    "adslot",
    "adbox",
    "adunit",
    "adbanner",
    "sponsor",
    "sponsored",
    "doubleclick",
    "taboola",
];

/// Start tags that name no banner. The same ones stand on page after page: they need no second look.
#[derive(Debug, Clone)]
pub(crate) struct PlainTags(Box<[PlainTag]>);

#[derive(Debug, Clone, Copy)]
struct PlainTag {
    bytes: [u8; LONGEST_REMEMBERED],
    len: u8,
}

impl Default for PlainTags {
    fn default() -> Self {
        let none = PlainTag { bytes: [0; LONGEST_REMEMBERED], len: 0 };
        Self(vec![none; REMEMBERED].into())
    }
}

impl PlainTags {
    /// Where a tag is remembered, told by its first 24 bytes.
    #[inline(always)]
    fn place(tail: &[u8]) -> usize {
        let (mut sum, mut at) = (0u64, 0);
        while at < 24 {
            let word = swar::load(tail, at).unwrap_or(0);
            let end = swar::equal(word, b'>');
            sum = sum.rotate_left(29) ^ (word & swar::first_bytes(swar::first(end)));
            if end != 0 {
                break;
            }
            at += 8;
        }
        (sum.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as usize
    }

    #[inline(always)]
    fn holds(&self, tail: &[u8]) -> bool {
        let known = self.0.get(Self::place(tail)).and_then(|tag| tag.bytes.get(..usize::from(tag.len)));
        known.is_some_and(|tag| !tag.is_empty() && tail.starts_with(tag))
    }

    fn add(&mut self, tail: &[u8]) {
        let tag = start_tag(tail);
        // One that the page breaks off could go on otherwise elsewhere.
        let whole = tag.ends_with(b">") && tag.len() <= LONGEST_REMEMBERED;
        if let Some(place) = self.0.get_mut(Self::place(tail)).filter(|_| whole) {
            place.bytes[..tag.len()].copy_from_slice(tag);
            place.len = tag.len() as u8;
        }
    }
}

/// Fills `spans` with the text ranges of such blocks and `nodes` with their ranges in the tree; both sorted, disjoint.
pub(crate) fn find(
    source: &str,
    page: &Extract,
    tree: &Tree,
    plain: &mut PlainTags,
    spans: &mut Vec<(u32, u32)>,
    nodes: &mut Vec<(u32, u32)>,
) {
    spans.clear();
    nodes.clear();
    let mut at = 0;
    while let Some(node) = tree.nodes.get(at) {
        let here = at as u32;
        at += 1;
        if !can_be_banner(node.tag) {
            continue;
        }
        let Some(event) = page.events.get(node.event as usize) else { continue };
        let Some(tail) = source.as_bytes().get(event.source_at as usize..) else { continue };
        // No attributes, as with most items and paragraphs: `<p>`, `<li>`, `<div>`.
        if tail.get(2..5).is_some_and(|after| after.contains(&b'>')) {
            continue;
        }
        if plain.holds(tail) {
            continue;
        }
        if !may_name_banner(tail) || !worth_reading(start_tag(tail)) {
            plain.add(tail);
            continue;
        }
        let small = node.text_end - node.text_start <= MAX_BANNER_BYTES;
        let named =
            |attribute| event.attribute(source, attribute).is_some_and(|value| names_banner(value, small));
        if (named("class") || named("id")) && spans.len() < MAX_BANNERS {
            // The separator in front of the block's first word is not its own.
            let start = node.text_start + u32::from(node.text_start > 0);
            spans.push((start.min(node.text_end), node.text_end));
            nodes.push((here, node.end));
            at = node.end as usize;
        }
    }
}

fn can_be_banner(tag: TagId) -> bool {
    matches!(
        tag,
        TagId::DIV
            | TagId::SECTION
            | TagId::ASIDE
            | TagId::INS
            | TagId::P
            | TagId::UL
            | TagId::LI
            | TagId::IFRAME
            | TagId::FIGURE
            | TagId::TD
    )
}

/// The tag with its `>`, or as much of it as is looked at.
fn start_tag(tail: &[u8]) -> &[u8] {
    let near = tail.get(..LOOK_BYTES.min(tail.len())).unwrap_or(tail);
    let end = memchr::memchr(b'>', near).map_or(near.len(), |at| at + 1);
    near.get(..end).unwrap_or(near)
}

/// Three bytes in a row that every word of [`ADS`], and `banner`, holds: `ad` at its start, or one of the others.
const TRIPLES: [&[u8; 3]; 4] = [b"spo", b"ick", b"abo", b"ann"];
/// What a byte is beside a part of them: the end of a tag, or one of the quotes, which are counted in the same pass.
const END: u32 = 1 << 24;
const DOUBLE_QUOTE: u32 = 1 << 25;
const SINGLE_QUOTE: u32 = 1 << 26;

/// For each byte, which of the triples it may be the first of (lowest eight bits), second and third of, in either case.
static TRIPLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut b = 0;
    while b < 256 {
        let byte = b as u8;
        let small = byte.to_ascii_lowercase();
        let ad = [!byte.is_ascii_alphanumeric(), small == b'a', small == b'd'];
        let mut place = 0;
        while place < 3 {
            let mut parts = ad[place] as u32;
            let mut n = 0;
            while n < TRIPLES.len() {
                if TRIPLES[n][place] == small {
                    parts |= 2 << n;
                }
                n += 1;
            }
            table[b] |= parts << (8 * place);
            place += 1;
        }
        table[b] |= match byte {
            b'>' => END,
            b'"' => DOUBLE_QUOTE,
            b'\'' => SINGLE_QUOTE,
            _ => 0,
        };
        b += 1;
    }
    table
};

/// One pass over a start tag, nearly all of which name nothing of the kind. A tag whose `>` may stand inside quotes is
/// left to a closer look.
#[inline]
fn may_name_banner(tail: &[u8]) -> bool {
    // What of each triple was met with this byte: all three in the third eight bits.
    let mut met = 0;
    let (mut found, mut any, mut odd) = (0, 0, 0);
    for &byte in tail.get(..LOOK_BYTES).unwrap_or(tail) {
        let class = TRIPLE[usize::from(byte)];
        if class & END != 0 {
            return found >> 16 & 0xff != 0 || any & SINGLE_QUOTE != 0 || odd & DOUBLE_QUOTE != 0;
        }
        met = (met << 8 | 0xff) & class;
        found |= met;
        any |= class;
        odd ^= class;
    }
    true
}

/// A cheap look at the tag before its attributes are taken apart: does it hold `ad`, `spons`, `banner` … at all? One that may go
/// on, because its `>` may stand inside quotes, is worth it always.
fn worth_reading(tag: &[u8]) -> bool {
    let is_odd = |quote: u8| tag.iter().filter(|&&byte| byte == quote).count() % 2 == 1;
    is_odd(b'"')
        || is_odd(b'\'')
        || tag.len() > 10
            && tag
                .windows(2)
                .any(|pair| matches!(pair, b"ad" | b"Ad" | b"AD" | b"po" | b"nn" | b"bo" | b"ck"))
}

fn names_banner(value: &str, small: bool) -> bool {
    value.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| {
        ADS.iter().any(|ad| word.eq_ignore_ascii_case(ad)) || (small && word.eq_ignore_ascii_case("banner"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dice::Dice;
    use crate::{Limits, Scanner};

    fn banners(html: &str) -> Vec<String> {
        let mut page = Extract::new();
        Scanner::new(Limits::default()).scan(html, &mut page);
        let mut tree = Tree::default();
        tree.build(&page);
        let (mut spans, mut nodes) = (Vec::new(), Vec::new());
        find(html, &page, &tree, &mut PlainTags::default(), &mut spans, &mut nodes);
        assert_eq!(spans.len(), nodes.len());
        spans.iter().map(|&(a, b)| page.text[a as usize..b as usize].to_owned()).collect()
    }

    #[test]
    fn no_banner_is_passed_over() {
        let parts = [
            "ad",
            "Ads",
            "sponsored",
            "banner",
            "-",
            " ",
            "head",
            "er",
            "DoubleClick",
            "taboola",
            "é",
            "x1",
            "_",
            "AdBox",
            "shadow",
            ".",
        ];
        let mut dice = Dice(11);
        let mut named = 0;
        for _ in 0..100_000 {
            let value = dice.text(4, &parts);
            let tag = format!("<div class=\"{value}\">");
            let is_named = names_banner(&value, true);
            named += u32::from(is_named);
            assert!(!is_named || may_name_banner(tag.as_bytes()), "{tag}");
        }
        assert!(named > 10_000);
        assert!(!may_name_banner(b"<div class=\"header table-head\">"));
        assert!(may_name_banner(b"<div title=\"a > b\" class=\"x\">") && may_name_banner(b"<div class='x'>"));
    }

    #[test]
    fn plain_tags_are_known_again_and_no_others() {
        let mut plain = PlainTags::default();
        let tags = [
            "<div class=\"a\">",
            "<div class=\"much longer than that\">",
            "<div class=\"much longer than this\">",
            "<p id=x>",
            "<li class=x>",
            "<td>",
        ];
        for tag in tags {
            let [one, other] =
                ["text of one page", "<b>and that of another"].map(|text| format!("{tag}{text}"));
            assert!(!plain.holds(one.as_bytes()), "{tag}");
            plain.add(one.as_bytes());
            assert!(plain.holds(one.as_bytes()) && plain.holds(other.as_bytes()), "{tag}");
        }
        // Broken off, a tag says nothing about one that goes on.
        plain.add(b"<div class=\"x");
        assert!(!plain.holds(b"<div class=\"x ad\">") && !plain.holds(b"<div class=\"x"));
    }

    #[test]
    fn advertisements_are_found() {
        let html = "<p>a</p><div class='ad banner' id=ad-3>buy <b>this</b></div><p class=lead>b</p><div id=top_ads>c</div>";
        assert_eq!(banners(html), ["buy this", "c"]);
        assert_eq!(
            banners("<div title=\"a > b\" class=ad>x</div><div title='a > b' class='ad'>y</div>"),
            ["x", "y"]
        );
        assert_eq!(
            banners("<div class='add-on header'>x</div><div class=advance>y</div><div class=shadow>z"),
            [""; 0]
        );
        let long =
            format!("<div class=banner>{}</div><div class='site-banner'>short</div>", "word ".repeat(60));
        assert_eq!(banners(&long), ["short"]);
    }
}
