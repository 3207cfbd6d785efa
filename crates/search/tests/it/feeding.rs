//! Feeding in steps: replaced, removed, broken off, gone on with.

use lycosa_search::{Change, Indexer, Mark, PageDoc, PageKey, SearchError, SearchIndex, parse};

fn page(number: u8, text: &str) -> PageDoc {
    let mut page = PageDoc::new(format!("http://example.org/{number}"), PageKey([number; 16]));
    page.text = text.to_owned();
    page.version = u64::from(number) + text.len() as u64;
    page
}

fn put(number: u8, text: &str) -> Result<(Mark, Change), SearchError> {
    Ok((Mark(number.to_string()), Change::Put(Box::new(page(number, text)))))
}

fn urls(dir: &std::path::Path, query: &str) -> Vec<String> {
    let index = SearchIndex::open(dir).unwrap();
    let mut urls: Vec<String> =
        index.ranked(&parse(query).unwrap(), 100).unwrap().into_iter().map(|(url, _)| url).collect();
    urls.sort();
    urls
}

#[test]
fn a_page_is_replaced_and_removed() {
    let dir = tempfile::tempdir().unwrap();
    let mut indexer = Indexer::open(dir.path()).unwrap();
    indexer.run([put(1, "old web"), put(2, "web"), put(1, "new web")].into_iter()).unwrap();
    assert_eq!(urls(dir.path(), "web").len(), 2);
    assert!(urls(dir.path(), "old").is_empty());
    assert_eq!(indexer.versions().unwrap().of(PageKey([1; 16])).unwrap(), Some(page(1, "new web").version));
    indexer
        .run([Ok::<_, SearchError>((Mark("3".into()), Change::Delete(PageKey([1; 16]))))].into_iter())
        .unwrap();
    assert_eq!(urls(dir.path(), "web"), ["http://example.org/2"]);
    assert_eq!(indexer.versions().unwrap().of(PageKey([1; 16])).unwrap(), None);
}

#[test]
fn what_was_not_committed_is_fed_again_without_doubles() {
    let dir = tempfile::tempdir().unwrap();
    {
        let mut indexer = Indexer::open(dir.path()).unwrap();
        indexer.run([put(1, "web"), put(2, "web")].into_iter()).unwrap();
        // Broken off: the change is taken in, the commit never comes.
        indexer.apply(Change::Put(Box::new(page(3, "web")))).unwrap();
    }
    assert_eq!(urls(dir.path(), "web").len(), 2);
    let mut indexer = Indexer::open(dir.path()).unwrap();
    assert_eq!(indexer.mark(), &Mark("2".into()));
    indexer.run([put(2, "web"), put(3, "web")].into_iter()).unwrap();
    assert_eq!(indexer.mark(), &Mark("3".into()));
    drop(indexer);
    assert_eq!(urls(dir.path(), "web").len(), 3);
}

#[test]
fn a_failing_feed_keeps_the_last_mark() {
    let dir = tempfile::tempdir().unwrap();
    let mut indexer = Indexer::open(dir.path()).unwrap();
    let failing = [put(1, "web"), Err(SearchError::DamagedNote)];
    assert!(indexer.run(failing.into_iter()).is_err());
    drop(indexer);
    assert_eq!(Indexer::open(dir.path()).unwrap().mark(), &Mark::default());
}

#[test]
fn one_writer_at_a_time_and_a_rebuild_is_empty() {
    let dir = tempfile::tempdir().unwrap();
    let mut indexer = Indexer::open(dir.path()).unwrap();
    indexer.run([put(1, "web")].into_iter()).unwrap();
    assert!(matches!(Indexer::open(dir.path()), Err(SearchError::InUse(_))));
    assert!(matches!(Indexer::rebuild(dir.path()), Err(SearchError::InUse(_))));
    drop(indexer);
    drop(Indexer::rebuild(dir.path()).unwrap());
    assert!(urls(dir.path(), "web").is_empty());
    assert!(matches!(SearchIndex::open(&dir.path().join("none")), Err(SearchError::NoIndex(_))));
}
