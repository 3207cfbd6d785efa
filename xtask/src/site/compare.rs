//! Two logs of requests held against each other.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::nginx::Request;

/// Endings of what a page needs to be shown. None leads to a page, so no crawler of pages asks for it.
const REQUISITES: [&str; 14] =
    ["css", "js", "png", "gif", "jpg", "jpeg", "svg", "ico", "webp", "woff", "woff2", "ttf", "otf", "eot"];

pub struct Comparison {
    ours: usize,
    theirs: usize,
    requisites: usize,
    head_links: usize,
    unexpected: Vec<String>,
}

impl Comparison {
    /// `source` gives the text of a page by its path, to look up how it names what only wget2 asked for.
    pub fn of(ours: &[Request], theirs: &[Request], source: &dyn Fn(&str) -> Option<String>) -> Self {
        let mut unexpected = Vec::new();
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for request in ours {
            *counts.entry(&request.path).or_default() += 1;
        }
        let repeats = counts.iter().filter(|(_, count)| **count > 1);
        unexpected.extend(repeats.map(|(path, count)| format!("asked for {count} times: {path}")));

        let (our_pages, their_pages) = (pages(ours), pages(theirs));
        if our_pages.is_empty() {
            unexpected.push("no page was fetched at all".to_owned());
        }
        unexpected.extend(their_pages.difference(&our_pages).map(|path| format!("page missed: {path}")));
        unexpected
            .extend(our_pages.difference(&their_pages).map(|path| format!("page only we have: {path}")));

        let (our_rest, their_rest) = (rest(ours), rest(theirs));
        unexpected.extend(our_rest.difference(&their_rest).map(|path| format!("only we asked for: {path}")));
        let (mut requisites, mut head_links) = (0, 0);
        let mut told = BTreeSet::new();
        for request in theirs.iter().filter(|r| !r.is_page() && !our_rest.contains(r.path.as_str())) {
            if !told.insert(&request.path) {
                continue;
            }
            if is_requisite(&request.path) {
                requisites += 1;
            } else if is_head_link(request, source) {
                head_links += 1;
            } else {
                unexpected.push(format!("only wget2 asked for: {}", request.path));
            }
        }
        Self { ours: our_pages.len(), theirs: their_pages.len(), requisites, head_links, unexpected }
    }

    pub fn unexpected(&self) -> impl Iterator<Item = &str> {
        self.unexpected.iter().map(String::as_str)
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} pages, wget2 {}; besides, wget2 asked for {} style sheets, scripts, images and fonts and {} targets of <link>; {} differences unexplained",
            self.ours,
            self.theirs,
            self.requisites,
            self.head_links,
            self.unexpected.len()
        )
    }
}

fn pages(requests: &[Request]) -> BTreeSet<&str> {
    requests.iter().filter(|r| r.is_page()).map(|r| r.path.as_str()).collect()
}

fn rest(requests: &[Request]) -> BTreeSet<&str> {
    requests.iter().filter(|r| !r.is_page()).map(|r| r.path.as_str()).collect()
}

fn is_requisite(path: &str) -> bool {
    let file = path.split(['?', '#']).next().unwrap_or(path);
    file.rsplit_once('.').is_some_and(|(_, ending)| REQUISITES.contains(&ending))
}

/// Whether the page that wget2 came from names this in a `<link>`: an author's address, a description for search boxes.
/// Such targets are no pages; only feeds among them are followed.
fn is_head_link(request: &Request, source: &dyn Fn(&str) -> Option<String>) -> bool {
    let from = request.referer.splitn(4, '/').nth(3);
    let Some(text) = from.and_then(|path| source(path.split('?').next().unwrap_or(path))) else {
        return false;
    };
    let file = request.path.rsplit('/').next().unwrap_or(&request.path).replace("%40", "@");
    text.split("<link").skip(1).any(|tag| tag.split('>').next().is_some_and(|tag| tag.contains(&file)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(status: u16, path: &str, mime: &str) -> Request {
        Request {
            status,
            bytes: 1,
            path: path.to_owned(),
            mime: mime.to_owned(),
            referer: "http://h/a".to_owned(),
        }
    }

    fn page(path: &str) -> Request {
        asked(200, path, "text/html")
    }

    #[test]
    fn requisites_are_explained_and_nothing_else() {
        let ours = [page("/a"), asked(404, "/gone", "text/html")];
        let mut theirs = ours.to_vec();
        theirs.push(asked(200, "/a.css?v=1", "text/css"));
        theirs.push(asked(404, "/b.js", "text/html"));
        theirs.push(asked(404, "/x%40y", "text/html"));
        let source =
            |path: &str| (path == "a").then(|| "<link rev=made href='x@y'><a href=c.pdf>".to_owned());
        let same = Comparison::of(&ours, &theirs, &source);
        assert_eq!((same.ours, same.theirs, same.requisites, same.head_links), (1, 1, 2, 1));
        assert!(same.unexpected.is_empty());

        theirs.push(page("/b"));
        theirs.push(asked(200, "/c.pdf", "application/pdf"));
        let missed = Comparison::of(&ours, &theirs, &source);
        assert_eq!(missed.unexpected, ["page missed: /b", "only wget2 asked for: /c.pdf"]);
    }

    #[test]
    fn repeats_and_pages_of_our_own_are_differences() {
        let twice = Comparison::of(&[page("/a"), page("/a"), page("/b")], &[page("/a")], &|_| None);
        assert_eq!(twice.unexpected, ["asked for 2 times: /a", "page only we have: /b"]);
        assert_eq!(Comparison::of(&[], &[], &|_| None).unexpected.len(), 1);
    }
}
