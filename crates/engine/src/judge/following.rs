//! Where a response leads: the links of a page, the target of a redirect.

use std::borrow::Cow;

use lycosa_fetch::Response;
use lycosa_frontier::host_queue::Entry;
use lycosa_frontier::store::{LeftOut, LeftOutRule};
use lycosa_page::{ContentKind, LinkKind, Rel, RobotsDirectives, charset, sniff};
use lycosa_types::{CanonRules, CanonUrl, Failure, Outcome, VisitFacts, requisite};

use super::facts::clip;
use super::{Judge, Judged};
use crate::limits::Limit;
use crate::newness::{Newness, part_of};
use crate::outlinks::{Focus, LinkCollector};

/// Text looked at on either side of a link, for its topic.
const AROUND_BYTES: usize = 100;

impl Judge {
    /// Where a redirect leads.
    pub(super) fn follow_redirect(
        &mut self,
        entry: &Entry,
        response: &Response,
        judged: &mut Judged,
    ) -> Result<(), Failure> {
        let config = &self.context.config;
        let target = response.redirect_target(&entry.url, &config.urls)?;
        judged.counts.links = 1;
        judged.outlinks.redirects = entry.redirects.saturating_add(1);
        let scope = self.context.scope();
        let seed = scope.seed_behind(&entry.url);
        // A page beyond the depth was let in by what led to it.
        let depth = entry.depth.min(config.scope.depth);
        let accepted = match &seed {
            _ if requisite::is_marked(entry.redirects) => scope.check_requisite(&target),
            Some(_) => scope.check_rules(&target, depth),
            None => scope.check(&target, depth),
        };
        if requisite::steps(entry.redirects) >= config.scope.max_redirects {
            judged.counts.too_deep = 1;
            judged.counts.cuts.add(Limit::Redirects, 1);
            let url = target.as_str().into();
            judged.left_out.push(LeftOut { key: target.key(), rule: LeftOutRule::Redirects, url });
        } else if let Err(rejection) = accepted {
            judged.counts.reject(&rejection);
        } else {
            if let Some(seed) = seed {
                scope.follow_seed(entry.url.key(), &seed, target.key());
            }
            // A redirect leads where the link that led here was meant to lead.
            judged.outlinks.push(target.as_str(), target.key(), 1.0);
        }
        judged.end.outcome = Outcome::Redirected { status: response.status, to: target.into_string() };
        Ok(())
    }

    /// Where a response leads that is no page to keep: an error page, a choice of versions, or a file with `Link` fields.
    pub(super) fn follow_only(&mut self, entry: &Entry, response: &Response, judged: &mut Judged) {
        let content_type = response.content_type();
        if sniff(content_type, &response.body) == ContentKind::Html {
            let decoded = charset::decode(&response.body, content_type);
            self.scanner.scan(&decoded.text, &mut self.extract);
            self.signed = None;
            self.follow_links(entry, response, &mut VisitFacts::default(), judged);
            // It is no page of the graph.
            judged.edges = None;
            judged.relevance = None;
            return;
        }
        self.follow_fields(entry, response, judged);
    }

    /// The `Link` fields of what is not HTML.
    pub(super) fn follow_fields(&mut self, entry: &Entry, response: &Response, judged: &mut Judged) {
        let mut fields = link_fields(response).peekable();
        if fields.peek().is_none() || !judged.outlinks.is_empty() {
            return;
        }
        let scope = self.context.scope();
        let rules = &self.context.config.urls;
        let depth = entry.depth.saturating_add(1);
        let mut links = LinkCollector::new(&entry.url, &entry.url, rules, &scope, &mut self.recent, depth);
        fields.for_each(|href| links.add(href, 1, 1, true, false));
        let found = links.finish();
        (judged.outlinks, judged.counts, judged.left_out) = (found.outlinks, found.counts, found.left_out);
    }

    /// Where the page last scanned leads.
    pub(super) fn follow_links(
        &mut self,
        entry: &Entry,
        response: &Response,
        facts: &mut VisitFacts,
        judged: &mut Judged,
    ) {
        let config = &self.context.config;
        let extract = &self.extract;
        let mut directives = extract.meta.robots.clone();
        let mut by_header = false;
        for value in response.x_robots_tag() {
            let mut from_header = RobotsDirectives::default();
            from_header.merge_header(value, &config.agent.product);
            by_header |= from_header.nofollow;
            directives.merge(&from_header);
        }
        facts.title = clip(extract.title()).into_owned();
        facts.language = clip(extract.lang()).into_owned();
        facts.noindex = directives.noindex;
        let scope = self.context.scope();
        let limit = config.scope.depth;
        let is_guess = config.goes_deeper();
        let host = entry.url.host_key();
        let asks = entry.depth >= limit && is_guess || config.raises_queries() && entry.url.query().is_some();
        let newness = (asks && response.is_success()).then(|| self.context.said.read(host, &extract.text));
        judged.brings_new = newness.map(Newness::has_words);
        let part = part_of(host, entry.url.path());
        let at_limit = entry.depth >= limit && is_guess;
        let leads_on = at_limit
            && (!config.guesses || newness.is_some_and(|newness| self.context.said.leads_on(part, newness)));
        let base = base_of(&entry.url, extract.base_href(), &config.urls);
        let mut links = LinkCollector::new(
            &entry.url,
            &base,
            &config.urls,
            &scope,
            &mut self.recent,
            entry.depth.saturating_add(1),
        );
        links.beyond_depth(is_guess, leads_on);
        judged.relevance = self.context.topic.as_ref().map(|topic| topic.relevance(&extract.text));
        links.focus(self.context.topic.as_ref().zip(judged.relevance).map(|(topic, page)| Focus {
            topic,
            page,
            least: config.focus.least_link,
        }));
        let by_page = (config.robots.nofollow && directives.nofollow).then_some(match by_header {
            true => LeftOutRule::NofollowHeader,
            false => LeftOutRule::NofollowMeta,
        });
        for link in &extract.links {
            let (leads, is_edge) = match link.kind {
                LinkKind::Image => (config.scope.images, false),
                LinkKind::Stylesheet | LinkKind::Script => (false, false),
                LinkKind::Anchor | LinkKind::Area | LinkKind::Frame | LinkKind::Refresh => (true, true),
                _ => (true, false),
            };
            if leads {
                let by_link = config.robots.nofollow && link.rel.has(Rel::NOFOLLOW);
                let refused = by_page.or(by_link.then_some(LeftOutRule::NofollowRel));
                let (visibility, position) = (link.visibility, link.position);
                let words = match judged.relevance {
                    Some(_) => (extract.anchor(link), extract.around(link, AROUND_BYTES)),
                    None => ("", ""),
                };
                links.add_with(extract.href(link), visibility, position, refused, is_edge, words);
            }
        }
        for href in link_fields(response) {
            links.add_with(href, 1, 1, by_page, false, ("", ""));
        }
        let found = links.finish();
        if leads_on && !found.outlinks.is_empty() {
            self.context.said.led_on(part);
        }
        judged.outlinks = found.outlinks;
        judged.edges = Some(found.edges);
        judged.counts = found.counts;
        judged.left_out = found.left_out;
        judged.counts.nofollow_pages = u32::from(by_page.is_some() && judged.counts.nofollow > 0);
        extract.truncated.reached().for_each(|(limit, count)| judged.counts.cuts.add(limit.into(), count));
        let pictures = self.pictures(&entry.url, &base, judged);
        if let Some(signed) = &mut self.signed {
            signed.pictures = pictures;
        }
    }
}

/// Relations of a `Link` field that lead to pages.
const PAGE_RELATIONS: [&str; 12] = [
    "next",
    "prev",
    "previous",
    "first",
    "last",
    "start",
    "index",
    "contents",
    "up",
    "canonical",
    "alternate",
    "item",
];
/// Links of one response's fields that are followed.
const MAX_LINK_FIELDS: usize = 64;

/// The targets of a response's `Link` fields (RFC 8288) that are pages.
fn link_fields(response: &Response) -> impl Iterator<Item = &str> {
    let values = response.head.get_all("link").filter_map(|value| std::str::from_utf8(value).ok());
    values.flat_map(targets).take(MAX_LINK_FIELDS)
}

fn targets(value: &str) -> impl Iterator<Item = &str> {
    let mut rest = value;
    std::iter::from_fn(move || {
        loop {
            let (_, after) = rest.split_once('<')?;
            let (target, after) = after.split_once('>')?;
            // Its parameters end where the next target begins; one that is quoted may hold anything but that.
            let end = after.find('<').unwrap_or(after.len());
            let parameters = &after[..end];
            rest = &after[end..];
            if leads_to_a_page(parameters) {
                return Some(target);
            }
        }
    })
}

fn leads_to_a_page(parameters: &str) -> bool {
    let mut named = parameters.split(';').filter_map(|parameter| parameter.split_once('='));
    let rel = named.find(|(name, _)| name.trim().eq_ignore_ascii_case("rel")).map(|(_, value)| value);
    let words = rel.unwrap_or_default().trim_matches(|c: char| c == '"' || c == ',' || c.is_whitespace());
    let is_page = |word: &str| PAGE_RELATIONS.iter().any(|relation| word.eq_ignore_ascii_case(relation));
    words.split_ascii_whitespace().any(is_page)
}

/// What a page's links are relative to.
pub(super) fn base_of<'a>(
    page: &'a CanonUrl,
    base_href: Option<&str>,
    rules: &CanonRules,
) -> Cow<'a, CanonUrl> {
    let Some(href) = base_href else { return Cow::Borrowed(page) };
    let mut joined = String::new();
    // The base is not canonicalised by the crawl's rules: a session id in it is part of every link's meaning.
    match lycosa_types::join::Joiner::new(page, rules).join(href, &mut joined) {
        Ok(()) => Cow::Owned(CanonUrl::from_canonical(joined)),
        Err(_) => Cow::Borrowed(page),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn link_fields_that_lead_to_pages_are_followed() {
        let found = |value| targets(value).collect::<Vec<&str>>();
        assert_eq!(found("</p?page=2>; rel=\"next\", </p?page=9>; rel=\"last\""), ["/p?page=2", "/p?page=9"]);
        assert_eq!(found("<a>;title=x; REL=prev ,<b>; rel=\"nofollow Next\""), ["a", "b"]);
        assert_eq!(
            found("</style.css>; rel=preload; as=style, </wp-json/>; rel=\"https://api.w.org/\""),
            [""; 0]
        );
        assert_eq!(found("<unclosed; rel=next"), [""; 0]);
        assert_eq!(found("<>; rel=next, <x>"), [""]);
    }
}
