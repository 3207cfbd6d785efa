//! What stands around the main content, told by tags and by the words of `class`, `id` and `role`: navigation, margins,
//! widgets, lists of the newest and of related pages, a page's header and footer.
//!
//! Only what says so counts. A block that holds half of the page's text is the page, whatever its name.

use super::extract::Extract;
use super::tags::TagId;
use super::tree::{NO_PARENT, Tree};
use xxhash_rust::xxh3::xxh3_64;

/// Blocks looked for on one page.
const MAX_BLOCKS: usize = 512;
/// Tags that are remembered.
const REMEMBERED: usize = 1024;
/// Bytes of a tag that are looked at.
const LOOK_BYTES: usize = 256;
/// Elements looked at above a header or footer.
const MAX_ABOVE: usize = 32;
/// Words of the attributes, after cutting at anything but letters, that name what stands around.
const NAMES: [&str; 41] = [
    "nav",
    "navbar",
    "navigation",
    "menu",
    "submenu",
    "sidebar",
    "sidebars",
    "widget",
    "widgets",
    "breadcrumb",
    "breadcrumbs",
    "related",
    "recent",
    "recentposts",
    "recentcomments",
    "newest",
    "latest",
    "popular",
    "trending",
    "tagcloud",
    "recommendations",
    "recommended",
    "recommendation",
    "teaser",
    "teasers",
    "promo",
    "pager",
    "pagination",
    "similar",
    "toolbar",
    "complementary",
    "contentinfo",
    "footer",
    "colophon",
    "masthead",
    "random",
    "rotator",
    "carousel",
    "slider",
    "testimonial",
    "testimonials",
];

/// Start tags that were looked at before, by their hash; the lowest bit says what they are.
#[derive(Debug, Clone)]
pub(crate) struct NamedTags(Box<[u64]>);

impl Default for NamedTags {
    fn default() -> Self {
        Self(vec![0; REMEMBERED].into())
    }
}

impl NamedTags {
    fn names_surroundings(&mut self, tag: &[u8]) -> bool {
        let hash = xxh3_64(tag);
        let place = (hash >> 54) as usize % REMEMBERED;
        let Some(known) = self.0.get_mut(place) else { return false };
        if *known | 1 != hash | 1 || *known == 0 {
            *known = (hash & !1) | u64::from(names(tag));
        }
        *known & 1 == 1
    }
}

/// Fills `spans` with the ranges of such blocks in the text and `nodes` with those in the tree; both sorted, disjoint.
pub(crate) fn find(
    source: &str,
    page: &Extract,
    tree: &Tree,
    known: &mut NamedTags,
    spans: &mut Vec<(u32, u32)>,
    nodes: &mut Vec<(u32, u32)>,
) {
    spans.clear();
    nodes.clear();
    let half = page.text.len() as u32 / 2;
    let mut at = 0;
    while let Some(node) = tree.nodes.get(at) {
        let here = at as u32;
        at += 1;
        let by_tag = matches!(node.tag, TagId::NAV | TagId::ASIDE)
            || matches!(node.tag, TagId::FOOTER | TagId::HEADER) && is_of_page(tree, node.parent);
        if !by_tag {
            let named = matches!(
                node.tag,
                TagId::DIV | TagId::SECTION | TagId::UL | TagId::OL | TagId::P | TagId::TABLE
            );
            if !named {
                continue;
            }
            let Some(event) = page.events.get(node.event as usize) else { continue };
            let Some(tail) = source.as_bytes().get(event.source_at as usize..) else { continue };
            // No attributes, as with most paragraphs.
            if tail.get(2..8).is_some_and(|after| after.contains(&b'>'))
                || !known.names_surroundings(start_tag(tail))
            {
                continue;
            }
        }
        if node.text_end - node.text_start > half || spans.len() >= MAX_BLOCKS {
            continue;
        }
        // The separator in front of the block's first word is not its own.
        let start = node.text_start + u32::from(node.text_start > 0);
        spans.push((start.min(node.text_end), node.text_end));
        nodes.push((here, node.end));
        at = node.end as usize;
    }
}

/// Not the header or footer of an article or section.
fn is_of_page(tree: &Tree, parent: u32) -> bool {
    let mut above = parent;
    for _ in 0..MAX_ABOVE {
        let Some(node) = tree.nodes.get(above as usize).filter(|_| above != NO_PARENT) else { return true };
        if matches!(node.tag, TagId::ARTICLE | TagId::SECTION | TagId::MAIN) {
            return false;
        }
        above = node.parent;
    }
    false
}

fn start_tag(tail: &[u8]) -> &[u8] {
    let near = tail.get(..LOOK_BYTES.min(tail.len())).unwrap_or(tail);
    let end = memchr::memchr(b'>', near).map_or(near.len(), |at| at + 1);
    near.get(..end).unwrap_or(near)
}

/// Whether a value of `class`, `id` or `role` in a start tag has one of the names.
fn names(tag: &[u8]) -> bool {
    let mut found = false;
    super::attributes::walk(
        tag,
        super::byte_class::find(tag, 1, super::byte_class::NAME_END),
        |attribute, value| {
            let is = |name: &[u8]| attribute.written.eq_ignore_ascii_case(name);
            if is(b"class") || is(b"id") || is(b"role") {
                let value = tag.get(value).unwrap_or_default();
                let mut words = value.split(|byte| !byte.is_ascii_alphabetic());
                found |=
                    words.any(|word| NAMES.iter().any(|name| word.eq_ignore_ascii_case(name.as_bytes())));
            }
        },
    );
    found
}

/// Walks over sorted, disjoint ranges as places in ascending order are asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Inside<'a>(pub &'a [(u32, u32)]);

impl Inside<'_> {
    pub fn holds(&mut self, at: usize) -> bool {
        while let [first, rest @ ..] = self.0
            && first.1 as usize <= at
        {
            self.0 = rest;
        }
        self.0.first().is_some_and(|first| first.0 as usize <= at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limits, Scanner};

    fn around(html: &str) -> Vec<String> {
        let mut page = Extract::new();
        Scanner::new(Limits::default()).scan(html, &mut page);
        let mut tree = Tree::default();
        tree.build(&page);
        let (mut spans, mut nodes) = (Vec::new(), Vec::new());
        find(html, &page, &tree, &mut NamedTags::default(), &mut spans, &mut nodes);
        spans.iter().map(|&(from, to)| page.text[from as usize..to as usize].replace('\n', " ")).collect()
    }

    #[test]
    fn what_stands_around_is_found_by_tags_and_names() {
        let main = format!("<p>{}</p>", "words of the page ".repeat(9));
        let html = format!(
            "<header>top</header><nav>menu</nav>{main}<div class='widget recent-posts'>new</div>\
             <article><header>headline</header>{main}<footer>by</footer></article><ul id=related><li>a<li>b</ul>\
             <div role=navigation>go</div><div class=product>text</div><div class=footer>imprint</div>"
        );
        assert_eq!(around(&html), ["top", "menu", "new", "a b", "go", "imprint"]);
    }

    #[test]
    fn half_of_a_page_is_the_page() {
        assert_eq!(around("<h1>News</h1><div class=latest><p>all that is new today</p></div>"), [""; 0]);
    }
}
