//! Blocks that carry advertisements or rotating banners, told by the words of their `class` and `id`.

use super::extract::Extract;
use super::tags::TagId;
use super::tree::Tree;

/// Blocks looked for on one page.
const MAX_BANNERS: usize = 256;
/// A block called `banner` with more text than this is the page's own.
const MAX_BANNER_BYTES: u32 = 200;
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
    let mut at = 0;
    while let Some(node) = tree.nodes.get(at) {
        let here = at as u32;
        at += 1;
        if !can_be_banner(node.tag) {
            continue;
        }
        let Some(event) = page.events.get(node.event as usize) else { continue };
        if !worth_reading(source.as_bytes(), event.source_at as usize) {
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

/// A cheap look at the tag before its attributes are taken apart: does it hold `ad`, `spons`, `banner` … at all?
fn worth_reading(source: &[u8], open: usize) -> bool {
    let Some(tail) = source.get(open..) else { return false };
    // Most tags have no attributes.
    if tail.get(2..5).is_none_or(|near| near.contains(&b'>')) {
        return false;
    }
    let end =
        memchr::memchr(b'>', tail.get(..512.min(tail.len())).unwrap_or(tail)).unwrap_or(tail.len().min(512));
    let tag = tail.get(..end).unwrap_or(b"");
    if tag.len() < 10 {
        return false;
    }
    tag.windows(2).any(|pair| matches!(pair, b"ad" | b"Ad" | b"AD" | b"po" | b"nn" | b"bo" | b"ck"))
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
