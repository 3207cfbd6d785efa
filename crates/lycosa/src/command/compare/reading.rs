//! A page read for judgement: scanned, signed, its prints and its main content at hand.
//!
//! Only HTML has tags. Everything else is taken as the text it decodes to, so that any two files can be compared.

use std::borrow::Cow;
use std::path::Path;

use lycosa_page::{
    Content, ContentKind, ContentReader, Extract, Judger, Keywords, Limits, Scanner, Signatures,
    WinnowConfig, charset, sniff,
};

/// Reads pages one after the other into buffers that are used again.
#[derive(Debug)]
pub struct Reading {
    scanner: Scanner,
    contents: ContentReader,
    pub page: Extract,
    pub judger: Judger,
}

impl Reading {
    pub fn new(config: WinnowConfig) -> Self {
        Self {
            scanner: Scanner::new(Limits::default()),
            contents: ContentReader::default(),
            page: Extract::new(),
            judger: Judger::new(config),
        }
    }

    /// Scans `body` and returns its source, which the other methods want back.
    pub fn scan<'b>(
        &mut self,
        kind: ContentKind,
        body: &'b [u8],
        content_type: Option<&str>,
    ) -> Cow<'b, str> {
        let source = charset::decode(body, content_type).text;
        if kind == ContentKind::Html {
            self.scanner.scan(&source, &mut self.page);
        } else {
            self.scanner.scan("", &mut self.page);
            self.page.text.push_str(&source);
        }
        source
    }

    /// Scans and signs a file, with its main content if it is a page that has one.
    pub fn sign_file(&mut self, path: &str, body: &[u8]) -> Signatures {
        let source = self.scan(kind_of_file(path, body), body, None);
        let main = self.contents.main_text(&source, &self.page);
        self.judger.sign(&source, &self.page, Some(main.as_str()).filter(|main| !main.is_empty()))
    }

    /// The main content of the page last scanned.
    pub fn content(&mut self, source: &str, url: Option<&str>) -> Content {
        self.contents.read(source, &self.page, url)
    }

    /// The same as Markdown.
    pub fn markdown(&mut self, source: &str) -> String {
        self.contents.markdown(source, &self.page)
    }

    /// The keywords of the page last scanned.
    pub fn keywords(&self) -> Keywords {
        let language = self.page.lang().split(['-', '_']).next().unwrap_or_default().to_ascii_lowercase();
        Keywords::of(&self.page.text, Some(language.as_str()).filter(|language| !language.is_empty()))
    }
}

/// What a file is, by its first bytes and, where these do not tell, by its name.
pub fn kind_of_file(path: &str, body: &[u8]) -> ContentKind {
    let extension = Path::new(path).extension().and_then(std::ffi::OsStr::to_str).unwrap_or_default();
    let is_html = ["html", "htm", "xhtml"].iter().any(|name| extension.eq_ignore_ascii_case(name));
    sniff(is_html.then_some("text/html"), body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_help_where_bytes_do_not_tell() {
        assert_eq!(kind_of_file("a.HTM", b"<section>x"), ContentKind::Html);
        assert_eq!(kind_of_file("a", b"<!doctype html><p>x"), ContentKind::Html);
        assert_eq!(kind_of_file("a.txt", b"words"), ContentKind::Text);
        assert_eq!(kind_of_file("a.html", b"\x89PNG\r\n\x1a\n"), ContentKind::Image);
    }

    #[test]
    fn text_without_tags_is_judged_by_its_lines() {
        let mut reading = Reading::new(WinnowConfig::default());
        let signed = reading.sign_file("a.txt", b"one < two\nthree");
        assert_eq!((reading.page.text.as_str(), signed.tags), ("one < two\nthree", 0));
        assert_eq!(signed.lines.kept.len(), 2);
    }
}
