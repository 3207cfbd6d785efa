//! Blocks that carry advertisements or rotating banners, told by the words of their `class` and `id`.

use super::extract::Extract;
use super::tags::TagId;
use super::tree::Tree;

/// Blocks looked for on one page.
const MAX_BANNERS: usize = 256;
/// A block called `banner` with more text than this is the page's own.
const MAX_BANNER_BYTES: u32 = 200;
/// Kinds of tags whose last is remembered.
const REMEMBERED: usize = 16;
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

/// Fills `spans` with the text ranges of such blocks and `nodes` with their ranges in the tree; both sorted, disjoint.
pub(crate) fn find(
    source: &str,
    page: &Extract,
    tree: &Tree,
    spans: &mut Vec<(u32, u32)>,
    nodes: &mut Vec<(u32, u32)>,
) {
    spans.clear();
    nodes.clear();
    // Tags repeat: what the last of a kind said without naming a banner needs no second look.
    let mut plain: [&[u8]; REMEMBERED] = [b""; REMEMBERED];
    let mut at = 0;
    while let Some(node) = tree.nodes.get(at) {
        let here = at as u32;
        at += 1;
        if !can_be_banner(node.tag) {
            continue;
        }
        let Some(event) = page.events.get(node.event as usize) else { continue };
        let Some(tail) = source.as_bytes().get(event.source_at as usize..) else { continue };
        let last = &mut plain[node.tag.0 as usize % REMEMBERED];
        if !last.is_empty() && tail.starts_with(last) {
            continue;
        }
        let tag = start_tag(tail);
        if !worth_reading(tag) {
            *last = tag;
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
    let near = tail.get(..512.min(tail.len())).unwrap_or(tail);
    let end = memchr::memchr(b'>', near).map_or(near.len(), |at| at + 1);
    near.get(..end).unwrap_or(near)
}

/// A cheap look at the tag before its attributes are taken apart: does it hold `ad`, `spons`, `banner` … at all?
fn worth_reading(tag: &[u8]) -> bool {
    tag.len() > 10
        && tag.windows(2).any(|pair| matches!(pair, b"ad" | b"Ad" | b"AD" | b"po" | b"nn" | b"bo" | b"ck"))
}

fn names_banner(value: &str, small: bool) -> bool {
    value.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| {
        ADS.iter().any(|ad| word.eq_ignore_ascii_case(ad)) || (small && word.eq_ignore_ascii_case("banner"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limits, Scanner};

    fn banners(html: &str) -> Vec<String> {
        let mut page = Extract::new();
        Scanner::new(Limits::default()).scan(html, &mut page);
        let mut tree = Tree::default();
        tree.build(&page);
        let (mut spans, mut nodes) = (Vec::new(), Vec::new());
        find(html, &page, &tree, &mut spans, &mut nodes);
        assert_eq!(spans.len(), nodes.len());
        spans.iter().map(|&(a, b)| page.text[a as usize..b as usize].to_owned()).collect()
    }

    #[test]
    fn advertisements_are_found() {
        let html = "<p>a</p><div class='ad banner' id=ad-3>buy <b>this</b></div><p class=lead>b</p><div id=top_ads>c</div>";
        assert_eq!(banners(html), ["buy this", "c"]);
        assert_eq!(
            banners("<div class='add-on header'>x</div><div class=advance>y</div><div class=shadow>z"),
            [""; 0]
        );
        let long =
            format!("<div class=banner>{}</div><div class='site-banner'>short</div>", "word ".repeat(60));
        assert_eq!(banners(&long), ["short"]);
    }
}
