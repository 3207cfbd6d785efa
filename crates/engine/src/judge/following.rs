//! Where a response leads: the links of a page, the target of a redirect.

use std::borrow::Cow;

use lycosa_fetch::Response;
use lycosa_frontier::host_queue::Entry;
use lycosa_frontier::store::{LeftOut, LeftOutRule};
use lycosa_page::{LinkKind, Rel, RobotsDirectives};
use lycosa_types::{CanonRules, CanonUrl, Failure, Outcome, VisitFacts, requisite};

use super::facts::clip;
use super::{Judge, Judged};
use crate::limits::Limit;
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
        let accepted = match &seed {
            _ if requisite::is_marked(entry.redirects) => scope.check_requisite(&target),
            Some(_) => scope.check_rules(&target, entry.depth),
            None => scope.check(&target, entry.depth),
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
        let base = base_of(&entry.url, extract.base_href(), &config.urls);
        let mut links = LinkCollector::new(
            &entry.url,
            &base,
            &config.urls,
            &scope,
            &mut self.recent,
            entry.depth.saturating_add(1),
        );
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
        let found = links.finish();
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
