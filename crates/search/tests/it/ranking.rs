//! Order, hiding, facets, duplicates, explanations, spelling.

use std::time::Duration;

use lycosa_search::{
    Answer, Change, Indexer, Mark, PageDoc, PageKey, Request, SearchError, SearchIndex, Sort,
};

struct Pages(Vec<PageDoc>);

impl Pages {
    fn add(&mut self, text: &str) -> &mut PageDoc {
        let number = u8::try_from(self.0.len()).unwrap();
        let mut page = PageDoc::new(format!("http://example.org/{number}"), PageKey([number; 16]));
        page.text = text.to_owned();
        page.site = "example.org".to_owned();
        page.language = "en".to_owned();
        page.content_type = "text/html".to_owned();
        self.0.push(page);
        self.0.last_mut().unwrap()
    }

    fn index(&self) -> (tempfile::TempDir, SearchIndex) {
        let dir = tempfile::tempdir().unwrap();
        let mut indexer = Indexer::open(dir.path()).unwrap();
        let changes = self.0.iter().map(|page| (Mark::default(), Change::Put(Box::new(page.clone()))));
        indexer.run(changes.map(Ok::<_, SearchError>)).unwrap();
        indexer.finish().unwrap();
        let index = SearchIndex::open(dir.path()).unwrap();
        (dir, index)
    }
}

fn ask(index: &SearchIndex, request: &Request) -> Answer {
    index.search(request, || Duration::ZERO).unwrap()
}

fn urls(answer: &Answer) -> Vec<&str> {
    answer.results.iter().map(|found| found.url.trim_start_matches("http://example.org/")).collect()
}

#[test]
fn pages_with_all_words_come_first() {
    let mut pages = Pages(Vec::new());
    pages.add("spider spider spider spider");
    pages.add("the web of a spider, after a long walk through many other words that matter little here");
    pages.add("web web web").title = "web".to_owned();
    let (_dir, index) = pages.index();
    let mut request = Request::new("spider web");
    request.all = true;
    let answer = ask(&index, &request);
    assert_eq!(answer.total, 3);
    assert_eq!(urls(&answer)[0], "1");
    assert!(answer.results[0].has_all && !answer.results[1].has_all);
}

#[test]
fn weak_results_are_hidden_unless_asked_for() {
    let mut pages = Pages(Vec::new());
    pages.add("spider").title = "spider spider".to_owned();
    for _ in 0..30 {
        pages.add("common words");
    }
    pages.add(&format!("common {}", "filler ".repeat(3000)));
    let (_dir, index) = pages.index();
    let mut request = Request::new("spider common");
    request.limit = 100;
    let some = ask(&index, &request);
    request.all = true;
    let all = ask(&index, &request);
    assert!(some.hidden > 0 && all.hidden == 0);
    assert_eq!(some.results.len() as u64 + some.hidden, all.results.len() as u64);
    assert_eq!(some.total, all.total);
}

#[test]
fn nearness_and_importance_lift_a_page() {
    let mut pages = Pages(Vec::new());
    pages.add("spider one two three four five six seven eight web");
    pages.add("one two three four spider web five six seven eight");
    let (_dir, index) = pages.index();
    assert_eq!(urls(&ask(&index, &Request::new("spider web"))), ["1", "0"]);
    pages.0[0].rank = 500.0;
    let (_dir, index) = pages.index();
    let mut request = Request::new("spider");
    request.explain = true;
    let answer = ask(&index, &request);
    assert_eq!(urls(&answer), ["0", "1"]);
    let parts = answer.results[0].explanation.as_ref().unwrap();
    assert!((parts.rank - 500.0).abs() < 15.0, "stored in steps: {}", parts.rank);
    let product = f64::from(parts.words + parts.nearness) * parts.rank_factor * parts.depth_factor;
    assert!((product - f64::from(answer.results[0].score)).abs() < 1e-4);
    assert!(parts.detail.parts.len() > 1);
}

#[test]
fn duplicates_collapse_and_facets_count() {
    let mut pages = Pages(Vec::new());
    pages.add("web page").published_s = Some(10);
    let copy = pages.add("web page");
    copy.duplicate_of = Some(PageKey([0; 16]));
    copy.depth = 3;
    let other = pages.add("web site");
    other.published_s = Some(20);
    other.content_type = "application/pdf".to_owned();
    other.site = "other.net".to_owned();
    let (_dir, index) = pages.index();
    let mut request = Request::new("web");
    request.sort = Sort::Date;
    let answer = ask(&index, &request);
    assert_eq!(urls(&answer), ["2", "0"]);
    assert_eq!(answer.results[1].also_at, ["http://example.org/1"]);
    let sites: Vec<_> = answer.facets.site.iter().map(|facet| (facet.value.as_str(), facet.count)).collect();
    assert_eq!(sites, [("example.org", 2), ("other.net", 1)]);
    assert_eq!(answer.facets.kind[0].value, "html");
    request.offset = 1;
    request.limit = 1;
    assert_eq!(urls(&ask(&index, &request)), ["0"]);
}

#[test]
fn misspelt_words_are_put_right() {
    let mut pages = Pages(Vec::new());
    for _ in 0..30 {
        pages.add("the crawling spider").headings = "Café".to_owned();
    }
    pages.add("crawlink");
    let (_dir, index) = pages.index();
    let meant = |query: &str| ask(&index, &Request::new(query)).did_you_mean;
    assert_eq!(meant("spidre craling").as_deref(), Some("spider crawling"));
    assert_eq!(meant("title:spidr AND crawling").as_deref(), Some("title:spider AND crawling"));
    assert_eq!(meant("spider cafe"), None);
    assert_eq!(index.completions("SP", 5).unwrap()[0].word, "spider");
}
