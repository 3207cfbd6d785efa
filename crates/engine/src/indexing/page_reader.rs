//! From an archived response to what the index takes in: main text and other text apart, headings, dates, links.

use lycosa_archive::HttpResponse;
use lycosa_page::{ContentKind, ContentReader, Extract, Limits, LinkKind, Scanner, charset, sniff};
use lycosa_search::query::Day;
use lycosa_search::{PageDoc, PageKey};
use lycosa_types::join::Joiner;
use lycosa_types::{CanonRules, CanonUrl, UrlId, UrlKey, UrlRecord};

use std::collections::HashMap;

/// Headings that are indexed.
const MAX_HEADINGS: usize = 500;

/// Reads pages one after the other, into buffers that are used again.
#[derive(Debug)]
pub struct PageReader {
    scanner: Scanner,
    extract: Extract,
    content: ContentReader,
    rules: CanonRules,
}

impl PageReader {
    pub fn new(rules: CanonRules) -> Self {
        Self {
            scanner: Scanner::new(Limits::default()),
            extract: Extract::new(),
            content: ContentReader::default(),
            rules,
        }
    }

    /// The texts of a page's links, each with the key of the page it points to.
    pub fn links(&mut self, url: &str, response: &HttpResponse, each: &mut dyn FnMut(u64, &str)) {
        let content_type = response.header("content-type");
        if sniff(content_type, &response.payload) == ContentKind::Html {
            let decoded = charset::decode(&response.payload, content_type);
            self.scanner.scan(&decoded.text, &mut self.extract);
            self.tell_links(url, each);
        }
    }

    /// A page as the index takes it in, and its links on the way. Anchors, importance and version are not the page's own.
    pub fn page(
        &mut self,
        id: UrlId,
        record: &UrlRecord,
        response: &HttpResponse,
        each_link: &mut dyn FnMut(u64, &str),
    ) -> PageDoc {
        let content_type = response.header("content-type");
        let kind = sniff(content_type, &response.payload);
        let is_text = !matches!(kind, ContentKind::Image | ContentKind::Pdf | ContentKind::Other);
        let mut page = PageDoc::new(record.url.clone(), PageKey(id.key.to_bytes()));
        page.site = CanonUrl::from_canonical(record.url.clone()).host().to_owned();
        page.depth = record.depth;
        let decoded = charset::decode(if is_text { &response.payload } else { b"" }, content_type);
        if kind == ContentKind::Html {
            self.scanner.scan(&decoded.text, &mut self.extract);
            self.tell_links(&record.url, each_link);
            self.fill(&decoded.text, &mut page);
        } else if is_text {
            page.text = decoded.text.into_owned();
        }
        if let Some(facts) = &record.visit {
            page.content_type = facts.content_type.clone();
            page.content = facts.digest.map(|digest| digest.0);
            if page.language.is_empty() {
                page.language = facts.language.clone();
            }
            let sent = facts.last_modified.as_deref().and_then(http_day);
            page.modified_s = page.modified_s.or(sent);
        }
        page
    }

    fn fill(&mut self, source: &str, page: &mut PageDoc) {
        let content = self.content.read(source, &self.extract, Some(&page.url));
        let extract = &self.extract;
        page.title = if extract.title().is_empty() { content.title } else { extract.title().to_owned() };
        for heading in extract.headings.iter().take(MAX_HEADINGS) {
            page.headings.push_str(heading.text.of(&extract.text));
            page.headings.push('\n');
        }
        page.author = content.author.unwrap_or_default();
        page.language = match extract.lang() {
            "" => content.language.unwrap_or_default(),
            stated => stated.to_owned(),
        };
        page.published_s = content.published.as_deref().and_then(iso_day);
        page.modified_s = content.modified.as_deref().and_then(iso_day);
        if content.text.trim().is_empty() {
            page.text = extract.text.clone();
        } else {
            page.other = rest_of(&extract.text, &content.text);
            page.text = content.text;
        }
    }

    fn tell_links(&self, url: &str, each: &mut dyn FnMut(u64, &str)) {
        let page = CanonUrl::from_canonical(url.to_owned());
        let mut joined = String::new();
        let moved = self.extract.base_href().and_then(|href| {
            let mut base = String::new();
            Joiner::new(&page, &self.rules).join(href, &mut base).ok()?;
            Some(CanonUrl::from_canonical(base))
        });
        let mut joiner = Joiner::new(moved.as_ref().unwrap_or(&page), &self.rules);
        for link in
            self.extract.links.iter().filter(|link| matches!(link.kind, LinkKind::Anchor | LinkKind::Area))
        {
            if joiner.join(self.extract.href(link), &mut joined).is_ok() {
                each(UrlKey::of(&joined).low(), self.extract.anchor(link));
            }
        }
    }
}

/// The lines of a text that are not among those of its main part, each as often as it is missing there; a blank line where
/// some of the main part stood.
fn rest_of(text: &str, main: &str) -> String {
    let mut known: HashMap<&str, usize> = HashMap::new();
    for line in main.lines() {
        *known.entry(line.trim()).or_default() += 1;
    }
    let mut rest = String::new();
    let mut is_cut = false;
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        match known.get_mut(line) {
            Some(count) if *count > 0 => {
                *count -= 1;
                is_cut = !rest.is_empty();
            }
            _ => {
                if std::mem::take(&mut is_cut) {
                    rest.push('\n');
                }
                rest.push_str(line);
                rest.push('\n');
            }
        }
    }
    rest
}

/// The day of `2024-05-31T12:00:00Z`, as seconds since 1970.
fn iso_day(text: &str) -> Option<i64> {
    Day::parse(text.trim().get(..10)?).map(Day::start_s)
}

/// The day of `Wed, 21 Oct 2015 07:28:00 GMT`, as seconds since 1970.
fn http_day(text: &str) -> Option<i64> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let mut words = text.split_ascii_whitespace().skip(1);
    let (day, month, year) = (words.next()?, words.next()?, words.next()?);
    let month = MONTHS.iter().position(|name| *name == month)? + 1;
    Day::parse(&format!("{year}-{month:02}-{day:0>2}")).map(Day::start_s)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lycosa_types::{PartitionId, UnixMs};

    #[test]
    fn what_stood_around_the_main_text_does_not_touch() {
        let text = "home\nnews\n\nwolf spiders\nhunt\nfoot\nnote\n";
        assert_eq!(rest_of(text, "wolf spiders\nhunt"), "home\nnews\n\nfoot\nnote\n");
        assert_eq!(rest_of(text, "home"), "news\nwolf spiders\nhunt\nfoot\nnote\n");
    }

    #[test]
    fn days_are_read_from_pages_and_heads() {
        assert_eq!(iso_day("1970-01-02T03:04:05Z"), Some(86_400));
        assert_eq!(http_day("Fri, 02 Jan 1970 03:04:05 GMT"), Some(86_400));
        assert_eq!((iso_day("soon"), http_day("soon"), http_day("")), (None, None, None));
    }

    #[test]
    fn a_page_is_taken_apart() {
        let html = "<html lang=en><title>Hunters</title><meta name=author content='Ada Webb'>\
            <meta property=article:published_time content='1970-01-02'>\
            <nav><ul><li><a href=/home>Home page</a></ul></nav><h1>Night</h1><article>\
            <p>Wolf spiders hunt alone, at night, and carry their eggs with them, wherever they go.</p>\
            <p>They do not build webs; they run, and they see well, with eight eyes in three rows.</p></article>\
            <footer><p>All rights reserved</p></footer>";
        let response = HttpResponse {
            status: 200,
            headers: vec![("Content-Type".into(), "text/html".into())],
            payload: html.into(),
        };
        let record = UrlRecord::queued("http://example.org/a".into(), 2, None, UnixMs(0));
        let id = UrlId { partition: PartitionId(0), key: UrlKey::of(&record.url) };
        let mut links = Vec::new();
        let mut reader = PageReader::new(CanonRules::default());
        let page = reader.page(id, &record, &response, &mut |key, text| links.push((key, text.to_owned())));
        assert_eq!(links, [(UrlKey::of("http://example.org/home").low(), "Home page".to_owned())]);
        assert!(page.text.contains("Wolf spiders") && !page.text.contains("Home page"), "{:?}", page.text);
        assert!(
            page.other.contains("Home page") && page.other.contains("rights") && !page.other.contains("Wolf")
        );
        assert_eq!((page.title.as_str(), page.author.as_str()), ("Hunters", "Ada Webb"));
        assert_eq!((page.published_s, page.depth, page.site.as_str()), (Some(86_400), 2, "example.org"));
    }

    #[test]
    fn what_is_missing_is_missing_as_often() {
        assert_eq!(rest_of("a\nb\n\n a \nc", "a\nc"), "b\na\n");
    }
}
