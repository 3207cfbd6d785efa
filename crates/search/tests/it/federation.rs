//! Several indexes asked as one say what one index over all their pages says.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use lycosa_search::federation::{Joint, Transport, search_all};
use lycosa_search::{
    Answer, Change, Indexer, Mark, PageDoc, PageKey, Request, SearchError, SearchIndex, Sort,
};
use proptest::prelude::*;

use crate::operators::{Dice, pages, query};

/// Nodes in this process; some of them keep silent or talk nonsense.
struct Nodes {
    indexes: BTreeMap<String, (SearchIndex, tempfile::TempDir)>,
    silent: Vec<String>,
    garbled: Vec<String>,
}

impl Transport for Nodes {
    async fn ask(
        &self,
        nodes: &[String],
        request: &[u8],
        _: Duration,
    ) -> Vec<(String, Result<Vec<u8>, String>)> {
        let mut answers = Vec::new();
        for node in nodes.iter().filter(|node| !self.silent.contains(node)) {
            let bytes = if self.garbled.contains(node) {
                b"{\"results\":".to_vec()
            } else {
                self.indexes[node].0.serve(request).to_bytes().unwrap()
            };
            answers.push((node.clone(), Ok(bytes)));
        }
        answers
    }
}

impl Nodes {
    fn new(parts: &[Vec<PageDoc>]) -> Self {
        let indexes = parts.iter().enumerate().map(|(number, part)| (format!("node-{number}"), index(part)));
        Self { indexes: indexes.collect(), silent: Vec::new(), garbled: Vec::new() }
    }

    fn search(&self, request: &Request) -> Result<Joint, SearchError> {
        let nodes: Vec<String> = self.indexes.keys().cloned().collect();
        let within = Duration::from_secs(1);
        let mut asked = pin!(search_all(self, &nodes, request, within, || Duration::ZERO));
        match asked.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(answer) => answer,
            Poll::Pending => panic!("nothing to wait for"),
        }
    }
}

fn index(pages: &[PageDoc]) -> (SearchIndex, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let mut indexer = Indexer::open(dir.path()).unwrap();
    for page in pages {
        indexer.apply(Change::Put(Box::new(page.clone()))).unwrap();
    }
    indexer.commit(Mark::default()).unwrap();
    indexer.finish().unwrap();
    (SearchIndex::open(dir.path()).unwrap(), dir)
}

/// Pages with some copies among them, which lie on other nodes than what they repeat.
fn world(copies: usize) -> Vec<PageDoc> {
    let mut pages = pages();
    for number in 0..copies {
        let original = pages[number * 3].key;
        let mut copy = pages[number * 3].clone();
        copy.url = format!("http://copy.example.net/{number}");
        copy.key = PageKey([number as u8 + 1; 16]);
        copy.duplicate_of = Some(original);
        copy.depth = 2;
        pages.push(copy);
    }
    pages
}

/// Whether it has all words, its score, its date.
type Rank = (bool, f32, Option<i64>);

/// What is shown, in order; pages of equal score may change places.
fn shape(answer: &Answer, sort: Sort) -> (Vec<Rank>, Vec<(String, String)>) {
    let date = |date: Option<i64>| if sort == Sort::Date { date } else { None };
    let order = answer.results.iter().map(|found| (found.has_all, found.score, date(found.date_s))).collect();
    let mut all: Vec<_> =
        answer.results.iter().map(|found| (format!("{:?}", found.score), found.url.clone())).collect();
    all.sort();
    (order, all)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn nodes_together_say_what_one_index_says(
        seed in any::<u64>(),
        number in 1_usize..6,
        copies in 0_usize..10,
        queries in prop::collection::vec(query(), 6),
        by_date in any::<bool>(),
        all in any::<bool>(),
    ) {
        let pages = world(copies);
        let mut parts: Vec<Vec<PageDoc>> = vec![Vec::new(); number];
        let mut dice = Dice(seed);
        for page in &pages {
            parts[dice.roll(number)].push(page.clone());
        }
        let one = index(&pages).0;
        let nodes = Nodes::new(&parts);
        for query in queries {
            let mut request = Request::new(query.to_string());
            request.limit = 200;
            request.sort = if by_date { Sort::Date } else { Sort::Score };
            request.all = all;
            let single = one.search(&request, || Duration::ZERO).unwrap();
            let joint = nodes.search(&request).unwrap();
            prop_assert_eq!(joint.silent.len(), 0);
            prop_assert_eq!(joint.answered.len(), number);
            prop_assert_eq!(joint.answer.total, single.total);
            prop_assert_eq!(&joint.answer.facets, &single.facets);
            // A copy that the floor of all would hide stays beside the result that it is a copy of.
            prop_assert!(joint.answer.hidden <= single.hidden);
            prop_assert!(copies > 0 || joint.answer.hidden == single.hidden);
            let (ours, theirs) = (shape(&joint.answer, request.sort), shape(&single, request.sort));
            prop_assert_eq!(ours.0, theirs.0, "{}", query);
            if copies == 0 {
                prop_assert_eq!(ours.1, theirs.1, "{}", query);
            }
        }
    }
}

/// Where NEAR joins a group, a page can match on a node that holds no word with one of the group's beginnings.
#[test]
fn a_beginning_weighs_the_same_where_no_word_begins_so() {
    let with = page(1, 1, "the web of the spiderling\n日本 is far from here");
    let without = page(2, 2, "a web of another spiderling");
    let parts = [vec![with], vec![without]];
    let nodes = Nodes::new(&parts);
    let one = index(&parts.concat()).0;
    for query in [
        "text:(spider* NEAR/4 (日* OR web))",
        "text:((本 OR web) NEAR/4 spider*)",
        "text:(web NEAR/9 (\"日 is\" OR another))",
    ] {
        let request = Request::new(query);
        let joint = nodes.search(&request).unwrap().answer;
        let single = one.search(&request, || Duration::ZERO).unwrap();
        assert!(joint.results.iter().any(|found| found.url.contains("h2")), "{query}");
        assert_eq!(shape(&joint, request.sort), shape(&single, request.sort), "{query}");
    }
}

#[test]
fn silent_nodes_are_named_and_the_others_answer() {
    let pages = world(0);
    let parts: Vec<Vec<PageDoc>> = pages.chunks(50).map(<[PageDoc]>::to_vec).collect();
    let mut nodes = Nodes::new(&parts);
    let request = Request::new("spider web");
    let all = nodes.search(&request).unwrap();
    assert!(all.silent.is_empty() && all.answer.total > 0);
    nodes.silent.push("node-0".into());
    nodes.garbled.push("node-2".into());
    let some = nodes.search(&request).unwrap();
    assert_eq!(some.answered, ["node-1"]);
    let silent: Vec<&str> = some.silent.iter().map(|silent| silent.node.as_str()).collect();
    assert_eq!(silent, ["node-0", "node-2"]);
    assert!(some.silent[0].why.contains("in time") && some.silent[1].why.contains("cannot be read"));
    let alone = index(&parts[1]).0.search(&request, || Duration::ZERO).unwrap();
    assert_eq!(shape(&some.answer, Sort::Score), shape(&alone, Sort::Score));
    let json = serde_json::to_value(&some).unwrap();
    assert_eq!(json["silent"][0]["node"], "node-0");
    assert_eq!(json["total"], alone.total);
}

/// A long text of its own for each number.
fn long(number: usize) -> String {
    (0..120).map(|at| format!("spider{} ", (number * 7919 + at * at * 31) % 997)).collect()
}

fn page(number: u8, key: u8, text: &str) -> PageDoc {
    let mut page = PageDoc::new(format!("http://h{number}.example.org/"), PageKey([key; 16]));
    page.site = format!("h{number}.example.org");
    page.title = "web".to_owned();
    page.text = text.to_owned();
    page
}

/// Which page was there first is told to nodes at different times; texts of a few words have no sketch.
#[test]
fn copies_are_together_whichever_they_take_for_the_first() {
    let copy = |number: u8, of: Option<u8>, content: Option<u64>| {
        let mut page = page(number, number, "a short text");
        page.duplicate_of = of.map(|key| PageKey([key; 16]));
        page.content = content;
        page
    };
    let parts = [
        vec![copy(1, Some(3), None), copy(2, Some(1), None), copy(5, None, Some(7)), copy(6, None, Some(8))],
        vec![copy(3, None, None), copy(4, None, Some(7))],
    ];
    let joint = Nodes::new(&parts).search(&Request::new("web")).unwrap().answer;
    let single = index(&parts.concat()).0.search(&Request::new("web"), || Duration::ZERO).unwrap();
    for answer in [joint, single] {
        let mut hosts: Vec<String> = Vec::new();
        for found in &answer.results {
            let mut all: Vec<&str> =
                found.also_at.iter().chain([&found.url]).map(|url| &url["http://h".len()..][..1]).collect();
            all.sort_unstable();
            hosts.push(all.concat());
        }
        hosts.sort();
        assert_eq!(hosts, ["123", "45", "6"]);
    }
}

#[test]
fn a_page_on_two_nodes_is_one_result_and_copies_collapse() {
    // The third moved to the other node, and was changed since; the fourth is a copy of the first that nobody knows of; the
    // fifth is a copy within its node, which has not taken it for one.
    let texts: Vec<String> = (0..3).map(long).collect();
    let changed = format!("{} later", texts[2]);
    let one = vec![page(1, 1, &texts[0]), page(2, 2, &texts[1]), page(3, 3, &texts[2])];
    let two = vec![page(3, 3, &changed), page(4, 4, &texts[0]), page(5, 5, &texts[0])];
    let nodes = Nodes::new(&[one, two]);
    let joint = nodes.search(&Request::new("web")).unwrap();
    let answer = &joint.answer;
    assert_eq!(answer.total, 5);
    let mut told: Vec<(String, Vec<String>)> =
        answer.results.iter().map(|found| (found.url.clone(), found.also_at.clone())).collect();
    told.iter_mut().for_each(|(_, also)| also.sort());
    told.sort();
    let url = |number: u8| format!("http://h{number}.example.org/");
    assert_eq!(told, [(url(1), vec![url(4), url(5)]), (url(2), vec![]), (url(3), vec![])]);
    assert!(answer.facets.site.iter().all(|facet| facet.count == 1), "{:?}", answer.facets);
    // With the first out of the way, each stands for itself, as its node says.
    let joint = nodes.search(&Request::new("web -site:h1.example.org")).unwrap();
    assert_eq!((joint.answer.total, joint.answer.results.len()), (4, 4));
}

#[test]
fn what_cannot_be_asked_is_refused() {
    let many: Vec<String> = (0..1025).map(|number| format!("n{number}")).collect();
    let none = Nodes::new(&[]);
    let request = Request::new("spider");
    let mut asked = pin!(search_all(&none, &many, &request, Duration::ZERO, || Duration::ZERO));
    let asked = asked.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert!(matches!(asked, Poll::Ready(Err(SearchError::TooManyNodes { asked: 1025, .. }))));
    let nodes = Nodes::new(&[world(0)]);
    let mut request = Request::new("spider");
    request.offset = 195;
    assert!(matches!(nodes.search(&request), Err(SearchError::TooFar { asked: 205, limit: 200 })));
    assert!(matches!(nodes.search(&Request::new("(")), Err(SearchError::Query(_))));
    // Another program may send anything.
    for bytes in [&b""[..], b"null", b"{\"statistics\":{\"query\":\"(\"}}", &[0xff; 40]] {
        let refused = nodes.indexes["node-0"].0.serve(bytes);
        assert!(matches!(refused, lycosa_search::federation::ShardResponse::Refused(_)), "{refused:?}");
    }
    // Numbers that make no sense give scores that make no sense, and no panic.
    let request = br#"{"search":{"query":"spider web","statistics":{"pages":18446744073709551615,"languages":["xx","en"],
        "tokens":{"99":3},"frequencies":{"1":{"spider":18446744073709551615}}},"window":99999,"sort":"score","all":true,
        "explain":true,"facets":true}}"#;
    let answered = nodes.indexes["node-0"].0.serve(request);
    assert!(matches!(answered, lycosa_search::federation::ShardResponse::Results(_)), "{answered:?}");
}
