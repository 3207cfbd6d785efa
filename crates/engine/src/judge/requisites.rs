//! What a page needs to look as it does: found on the page and in its style sheets, queued beside the links.
//!
//! A requisite may come from any host. It waits in its host's queue like a page, before the pages, so robots.txt and pauses hold
//! for it. It leads nowhere, except a style sheet to what it imports and shows. A requisite that turns out to be a page of
//! the crawl is read as one: a frame in an `<object>`, or a link that was met as an image first.

use lycosa_fetch::Response;
use lycosa_frontier::host_queue::Entry;
use lycosa_page::{ContentKind, charset, sniff};
use lycosa_rewrite::Language;
use lycosa_types::join::Joiner;
use lycosa_types::{CanonUrl, requisite};

use super::following::base_of;
use super::{Judge, Judged};
use crate::outlinks::Outlinks;

impl Judge {
    /// Whether a requisite is to be read as a page.
    fn is_page(&self, entry: &Entry, response: &Response) -> bool {
        let is_html = sniff(response.content_type(), &response.body) == ContentKind::Html;
        is_html && self.context.scope().check(&entry.url, entry.depth).is_ok()
    }

    /// Reads a requisite; false if it is a page.
    pub(super) fn read_requisite(&mut self, entry: &Entry, response: &Response, judged: &mut Judged) -> bool {
        if self.is_page(entry, response) {
            judged.is_page = true;
            return false;
        }
        self.signed = None;
        self.picture = None;
        let content_type = response.content_type().unwrap_or_default();
        let is_style = Language::of_media_type(content_type) == Some(Language::Css)
            || (content_type.is_empty() && entry.url.path().ends_with(".css"));
        if is_style {
            let steps = requisite::steps(entry.redirects);
            if steps >= self.context.config.scope.max_redirects {
                judged.counts.too_deep += 1;
            } else {
                let decoded = charset::decode(&response.body, Some(content_type));
                self.requisites(Language::Css, &decoded.text, entry, None, steps + 1, judged);
            }
        }
        true
    }

    /// The requisites of a page.
    pub(super) fn page_requisites(&mut self, text: &str, entry: &Entry, judged: &mut Judged) {
        let base = self.extract.base_href().map(str::to_owned);
        self.requisites(Language::Html, text, entry, base.as_deref(), 0, judged);
    }

    fn requisites(
        &mut self,
        language: Language,
        text: &str,
        entry: &Entry,
        base: Option<&str>,
        steps: u8,
        judged: &mut Judged,
    ) {
        let config = &self.context.config;
        let base = base_of(&entry.url, base, &config.urls);
        let scope = self.context.scope();
        let mut joiner = Joiner::new(&base, &config.urls);
        let mut joined = String::new();
        let mut found = Outlinks::at(entry.depth.saturating_add(1));
        found.redirects = requisite::marked(steps);
        let (recent, counts) = (&mut self.recent, &mut judged.counts);
        lycosa_rewrite::list(language, text.as_bytes(), &mut |reference| {
            if !reference.role.is_requisite() || reference.value.starts_with(b"data:") {
                return;
            }
            let value = String::from_utf8_lossy(reference.value);
            if joiner.join(&value, &mut joined).is_err() {
                counts.unusable += 1;
                return;
            }
            let url = CanonUrl::from_canonical(std::mem::take(&mut joined));
            let key = url.key();
            // A reference to a part of the page itself, or met lately.
            if url != entry.url && recent.is_new_requisite(key) {
                match scope.check_requisite(&url) {
                    Ok(()) => found.push(url.as_str(), key, 0.0),
                    Err(rejection) => counts.reject(&rejection),
                }
            }
            joined = url.into_string();
        });
        judged.requisites = found;
    }
}
