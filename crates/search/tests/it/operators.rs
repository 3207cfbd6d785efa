//! Every operator finds exactly the pages that the naive scan finds, on random queries over random pages.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use lycosa_search::language::Language;
use lycosa_search::query::{Filter, Node, TextField, parse};
use lycosa_search::{Change, Indexer, Mark, PageDoc, PageKey, SearchError, SearchIndex};
use proptest::prelude::*;

use crate::naive::Page;

const WORDS: [&str; 12] = [
    "spider",
    "spiders",
    "web",
    "crawl",
    "crawling",
    "Café",
    "cafe",
    "läuft",
    "laufen",
    "日本語",
    "本",
    "b-c",
];
const SITES: [&str; 3] = ["a.example.org", "b.example.org", "other.net"];
const PAGES: usize = 150;

/// A small generator of its own: the pages are the same in every run.
pub struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % sides
    }

    fn text(&mut self, most: usize) -> String {
        let words = self.roll(most + 1);
        (0..words).map(|_| WORDS[self.roll(WORDS.len())]).collect::<Vec<_>>().join(" ")
    }
}

pub fn pages() -> Vec<PageDoc> {
    let mut dice = Dice(42);
    (0..PAGES)
        .map(|number| {
            let site = SITES[dice.roll(SITES.len())];
            let url = format!("http://{site}/{}/{number}", WORDS[dice.roll(4)]);
            let mut key = [0; 16];
            key[8..].copy_from_slice(&(number as u64).to_be_bytes());
            let mut page = PageDoc::new(url, PageKey(key));
            page.title = dice.text(3);
            page.headings = format!("{}\n{}", dice.text(2), dice.text(2));
            page.text = dice.text(12);
            page.other = format!("{}\n{}\n\n{}", dice.text(2), dice.text(1), dice.text(2));
            page.anchors = (0..dice.roll(3)).map(|_| format!("{} web", dice.text(2))).collect();
            page.author = dice.text(1);
            page.language = ["en", "de-AT", "", "ja"][dice.roll(4)].to_owned();
            page.content_type = ["text/html", "application/pdf", ""][dice.roll(3)].to_owned();
            page.site = site.to_owned();
            page.published_s = [None, Some(0), Some(1_700_000_000)][dice.roll(3)];
            page
        })
        .collect()
}

struct World {
    pages: Vec<PageDoc>,
    index: SearchIndex,
    _dir: tempfile::TempDir,
}

static WORLD: LazyLock<World> = LazyLock::new(|| {
    let dir = tempfile::tempdir().unwrap();
    let pages = pages();
    let mut indexer = Indexer::open(dir.path()).unwrap();
    // In several segments, with a page that is replaced and one that is removed.
    for (number, part) in pages.chunks(40).enumerate() {
        let mut stale = part[0].clone();
        stale.text = "stale".to_owned();
        let gone = PageDoc::new("http://gone/", PageKey([9; 16]));
        let changes = [Change::Put(Box::new(stale)), Change::Put(Box::new(gone))];
        let changes = changes.into_iter().chain(part.iter().map(|page| Change::Put(Box::new(page.clone()))));
        let changes = changes.chain([Change::Delete(PageKey([9; 16]))]);
        indexer.run(changes.map(|change| Ok::<_, SearchError>((Mark(number.to_string()), change)))).unwrap();
    }
    indexer.finish().unwrap();
    World { pages, index: SearchIndex::open(dir.path()).unwrap(), _dir: dir }
});

fn found(node: &Node) -> BTreeSet<String> {
    WORLD.index.ranked(node, 10 * PAGES).unwrap().into_iter().map(|(url, _)| url).collect()
}

fn scanned(node: &Node) -> BTreeSet<String> {
    let languages = [Language::NONE, Language::of_tag("en"), Language::of_tag("de")];
    WORLD
        .pages
        .iter()
        .filter(|page| Page::new(page).matches(node, None, &languages))
        .map(|page| page.url.clone())
        .collect()
}

fn leaf() -> impl Strategy<Value = Node> {
    let word = prop::sample::select(WORDS.to_vec()).prop_map(str::to_owned);
    prop_oneof![
        4 => word.clone().prop_map(Node::Word),
        1 => prop::sample::select(vec!["sp", "cra", "c", "日", "spiders", "b-c"]).prop_map(|w| Node::Prefix(w.to_owned())),
        2 => prop::collection::vec(word, 2..4).prop_map(|words| Node::Phrase(words.join(" "))),
    ]
}

fn near() -> impl Strategy<Value = Node> {
    let operand = || prop_oneof![3 => leaf(), 1 => prop::collection::vec(leaf(), 2..4).prop_map(Node::Or)];
    (1_u32..5, operand(), operand()).prop_map(|(distance, left, right)| Node::Near {
        distance,
        left: Box::new(left),
        right: Box::new(right),
    })
}

fn filter() -> impl Strategy<Value = Node> {
    prop::sample::select(vec![
        "site:example.org",
        "site:b.example.org",
        "type:html",
        "type:application/pdf",
        "lang:en",
        "lang:de-at",
        "before:2000",
        "after:1970",
        "after:1970-01-02",
    ])
    .prop_map(|text| parse(text).unwrap())
}

pub fn query() -> impl Strategy<Value = Node> {
    let atom = prop_oneof![5 => leaf(), 2 => near(), 1 => filter()];
    atom.prop_recursive(4, 24, 4, |inner| {
        let parts = || prop::collection::vec(inner.clone(), 2..4);
        prop_oneof![
            inner.clone().prop_map(|node| Node::Not(Box::new(node))),
            parts().prop_map(Node::And),
            parts().prop_map(Node::Or),
            parts().prop_map(Node::Xor),
            parts().prop_map(Node::List),
            (prop::sample::select(TextField::ALL.to_vec()), inner)
                .prop_map(|(field, node)| Node::Field(field, Box::new(node))),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_index_finds_what_a_scan_finds(node in query()) {
        prop_assert_eq!(found(&node), scanned(&node), "{}", node);
        // And so does what a person would type for it.
        prop_assert_eq!(parse(&node.to_string()), Ok(node));
    }
}

#[test]
fn the_pages_tell_the_operators_apart() {
    // Guards the property above against pages or queries on which everything or nothing matches.
    for query in [
        "spider",
        "NOT spider",
        "spider XOR web",
        "\"web crawl\"",
        "crawl NEAR/2 web",
        "日*",
        "title:cafe -lang:en",
        "site:example.org before:2000",
        "本",
    ] {
        let node = parse(query).unwrap();
        let matches = found(&node).len();
        assert!(matches > 0 && matches < PAGES, "{query} finds {matches}");
        assert_eq!(found(&node), scanned(&node), "{query}");
    }
    assert!(matches!(parse("site:x").unwrap(), Node::Filter(Filter::Site(_))));
}
