//! What happened to one URL, and why: asked of the state, and of the rules again where the state knows nothing.

use lycosa_frontier::store::{LeftOutRule, Placement};
use lycosa_frontier::{Rejection, Scope, Store, StoreError};
use lycosa_types::{CanonUrl, Failure, Outcome, PartitionId, UrlError, UrlId, UrlRecord, UrlState};
use serde::Serialize;

use crate::cluster::aside::record_of;
use crate::cluster::unplaced::waiting_id;
use crate::config::Config;
use crate::limits::Limit;
use crate::rules;

/// The answer to `lycosa why URL`.
#[derive(Clone, Debug, Serialize)]
pub struct Why {
    /// In canonical form.
    pub url: String,
    pub partition: PartitionId,
    /// `done`, `queued`, `rejected`, `left-out` or `unknown`.
    pub state: &'static str,
    /// One sentence for people.
    pub because: String,
    pub record: Option<UrlRecord>,
    /// The page it was first found on.
    pub found_on: Option<String>,
    /// The page with the same payload.
    pub duplicate_of: Option<String>,
    /// The page with nearly the same text, and how nearly.
    pub near_duplicate_of: Option<(String, f64)>,
    pub rejection: Option<Rejection>,
    /// The page with the link that was left out.
    pub left_out_on: Option<String>,
    /// Pages with more links than were read: it may be among the rest.
    pub may_be_on: Vec<(String, u32)>,
    /// What limits left out of this page itself.
    pub cuts: Vec<(String, u32)>,
}

#[derive(Debug, thiserror::Error)]
pub enum WhyError {
    #[error(transparent)]
    Url(#[from] UrlError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Pattern(#[from] lycosa_frontier::scope::PatternError),
}

/// Looks up what is known about `raw`.
pub fn why(store: &Store, config: &Config, raw: &str) -> Result<Why, WhyError> {
    let url = CanonUrl::parse(raw, &config.urls)?;
    let id = waiting_id(store, &config.partitioner(), &url)?;
    let mut why = Why {
        url: url.as_str().to_owned(),
        partition: id.partition,
        state: "unknown",
        because: String::new(),
        record: record_of(store, &config.partitioner(), &url)?,
        found_on: None,
        duplicate_of: None,
        near_duplicate_of: None,
        rejection: None,
        left_out_on: None,
        may_be_on: Vec::new(),
        cuts: store.cuts_of(id)?,
    };
    let Some(record) = why.record.clone() else {
        explain_absence(store, config, &url, &mut why)?;
        return Ok(why);
    };
    if let Some(parent) = record.found_on {
        why.found_on = store.url(parent)?.map(|parent| parent.url);
    }
    if let Some(first) = record.visit.as_ref().and_then(|visit| visit.duplicate_of) {
        why.duplicate_of = store.url(first)?.map(|first| first.url);
    }
    if let Some(near) = record.visit.as_ref().and_then(|visit| visit.near_duplicate) {
        let resemblance = f64::from(near.resemblance_permille) / 1000.0;
        why.near_duplicate_of = store.url(near.of)?.map(|first| (first.url, resemblance));
    }
    why.state = match record.state {
        UrlState::Queued => "queued",
        UrlState::Done => "done",
    };
    why.because = match (&record.outcome, record.state) {
        (Some(outcome), UrlState::Done) => {
            let mut text = explain_outcome(outcome, &record, why.duplicate_of.as_deref());
            if let Some((first, resemblance)) = &why.near_duplicate_of {
                text.push_str(&format!("; its text is {:.0} % that of {first}", resemblance * 100.0));
            }
            text
        }
        _ => explain_waiting(store, config, &url, &record)?,
    };
    explain_move(store, config, &url, &mut why)?;
    if record.requisite {
        let page = why.found_on.as_deref().unwrap_or("a page");
        why.because =
            format!("a requisite of {page} (archive.requisites), no page of its own; {}", why.because);
    }
    Ok(why)
}

/// Names the seed whose redirect made a URL part of the crawl, or that this one is.
fn explain_move(store: &Store, config: &Config, url: &CanonUrl, why: &mut Why) -> Result<(), WhyError> {
    if let Some(one) = scope(store, config)?.moves().0.into_iter().find(|one| {
        let to = CanonUrl::from_canonical(one.to.clone());
        one.seed == url.as_str() || to.host() == url.host()
    }) {
        why.because.push_str(&format!("; the seed {} moved to {}: its pages are in scope", one.seed, one.to));
    }
    Ok(())
}

/// What belongs to the crawl, as far as its seeds and their redirects tell.
fn scope(store: &Store, config: &Config) -> Result<Scope, WhyError> {
    let seeds = crate::crawl::stored_seeds(store)?;
    let scope = Scope::new(config.scope_options(), &seeds)?;
    crate::crawl::moved::read_moved(store, config, &seeds, &scope)?;
    Ok(scope)
}

fn explain_absence(store: &Store, config: &Config, url: &CanonUrl, why: &mut Why) -> Result<(), WhyError> {
    if let Some((state, because)) = explain_place(store, config, url)? {
        (why.state, why.because) = (state, because);
        return Ok(());
    }
    match scope(store, config)?.check(url, 0) {
        Err(rejection) => {
            why.state = "rejected";
            why.because = format!("not followed: {rejection}");
            why.rejection = Some(rejection);
        }
        Ok(()) => match store.left_out(url.key())? {
            Some((rule, page)) => {
                why.state = "left-out";
                why.because = explain_left_out(store, config, rule, page)?;
                why.left_out_on =
                    page.map(|page| store.url(page)).transpose()?.flatten().map(|page| page.url);
            }
            None => {
                why.because = "within scope, but none of the links that were followed leads to it".to_owned();
                why.may_be_on = pages_with_links_cut(store)?;
                if !config.scope.images && looks_like_an_image(url) {
                    why.because.push_str(
                        "; it looks like an image, and those that pages show are left out (scope.images)",
                    );
                }
            }
        },
    }
    Ok(())
}

/// Pages that are named where a URL may be among the links left out.
const MAX_CUT_PAGES: usize = 1000;
/// Endings of what browsers show as images.
const IMAGE_ENDINGS: [&str; 9] = [".png", ".jpg", ".jpeg", ".gif", ".webp", ".svg", ".ico", ".avif", ".bmp"];

/// The rule that left a link out, in words.
fn explain_left_out(
    store: &Store,
    config: &Config,
    rule: LeftOutRule,
    page: Option<UrlId>,
) -> Result<String, StoreError> {
    let page = page.map(|page| store.url(page)).transpose()?.flatten().map(|page| page.url);
    let on = page.unwrap_or_else(|| "a page".to_owned());
    let nofollow = "robots.nofollow = false or --ignore-nofollow follows such links";
    Ok(match rule {
        LeftOutRule::NofollowMeta => {
            format!("not followed: {on} links to it and says nofollow in a robots meta tag; {nofollow}")
        }
        LeftOutRule::NofollowHeader => {
            format!("not followed: {on} links to it and says nofollow in X-Robots-Tag; {nofollow}")
        }
        LeftOutRule::NofollowRel => {
            format!("not followed: the link on {on} says rel=nofollow; {nofollow}")
        }
        LeftOutRule::Depth if config.goes_deeper() => format!(
            "not followed: {on} links to it, {} links from a seed, and says nothing that is new; --depth N follows it",
            config.scope.depth
        ),
        LeftOutRule::Depth => format!(
            "not followed: {on} links to it, beyond {} links from a seed (scope.depth)",
            config.scope.depth
        ),
        LeftOutRule::OffTopic => {
            format!("not followed: the link on {on} promises too little for the topic (focus.least_link)")
        }
        LeftOutRule::QueryBudget => format!(
            "not followed: {on} links to it, and its path had {} different queries \
             (traps.max_queries_per_path)",
            config.traps.max_queries_per_path
        ),
        LeftOutRule::HostWaiting => format!(
            "not followed: {on} links to it, and {} URLs of its host waited (traps.max_waiting_per_host)",
            config.traps.max_waiting_per_host
        ),
        LeftOutRule::DomainWaiting => format!(
            "not followed: {on} links to it, and {} URLs of its domain waited (traps.max_waiting_per_domain)",
            config.traps.max_waiting_per_domain
        ),
        LeftOutRule::HostListed => format!(
            "not followed: {on} lists it, after {} URLs of sitemaps and feeds (traps.max_listed_per_host)",
            config.traps.max_listed_per_host
        ),
        LeftOutRule::IndexLevels => format!(
            "not followed: {on} lists it and is a sitemap index within another (page.max_index_levels)"
        ),
        LeftOutRule::Redirects => format!(
            "not followed: {on} redirects to it, after {} redirects in a row (scope.max_redirects)",
            config.scope.max_redirects
        ),
    })
}

/// Pages with links beyond a limit, and how many.
fn pages_with_links_cut(store: &Store) -> Result<Vec<(String, u32)>, StoreError> {
    let mut found = Vec::new();
    for (id, cuts) in store.cut_pages(MAX_CUT_PAGES)? {
        let links = [Limit::Links, Limit::ListEntries, Limit::HtmlBytes, Limit::ArenaBytes, Limit::ListBytes];
        let cut = cuts.iter().filter(|(name, _)| links.iter().any(|limit| limit.name() == name));
        let cut: u32 = cut.map(|(_, count)| *count).fold(0, u32::saturating_add);
        if cut > 0
            && let Some(page) = store.url(id)?
        {
            found.push((page.url, cut));
        }
    }
    Ok(found)
}

fn looks_like_an_image(url: &CanonUrl) -> bool {
    let path = url.path().to_ascii_lowercase();
    IMAGE_ENDINGS.iter().any(|ending| path.ends_with(ending))
}

/// In a crawl with regions: whether the URL waits for its host to be placed, or was sent on to where it was.
fn explain_place(
    store: &Store,
    config: &Config,
    url: &CanonUrl,
) -> Result<Option<(&'static str, String)>, WhyError> {
    if config.partitions.regions.is_empty() {
        return Ok(None);
    }
    let home = Store::slot(config.partitioner().partition_of(url), url.origin());
    if store.is_unplaced(home, url.key())? {
        let because = format!("waiting until it is known in which region {} stands", url.origin());
        return Ok(Some(("queued", because)));
    }
    let Some(Placement::Region(region)) = store.placement(home)? else { return Ok(None) };
    let name = config.partitions.regions.keys().nth(usize::from(region.0));
    let because = |name| format!("{} stands in region {name}: its nodes know more", url.origin());
    Ok(name.map(|name| ("unknown", because(name))))
}

fn explain_waiting(
    store: &Store,
    config: &Config,
    url: &CanonUrl,
    record: &UrlRecord,
) -> Result<String, WhyError> {
    let slot = Store::slot(waiting_id(store, &config.partitioner(), url)?.partition, url.origin());
    let mut text = match store.host(slot)? {
        Some(host) => {
            format!("waiting in the queue of {} with {} others", host.origin, host.waiting.saturating_sub(1))
        }
        None => "waiting in its host's queue".to_owned(),
    };
    if record.tries > 0 {
        text.push_str(&format!("; tried {} times", record.tries));
    }
    if let Some(robots) = store.rules(slot)? {
        let policy = rules::policy(&robots, &config.agent.product);
        let decision = policy.decide(url.path_and_query());
        if !decision.allowed {
            text.push_str(&format!("; robots.txt line {} ({}) will forbid it", decision.line, decision.rule));
        }
    }
    Ok(text)
}

fn explain_outcome(outcome: &Outcome, record: &UrlRecord, duplicate_of: Option<&str>) -> String {
    use lycosa_frontier::section::section_of;
    use lycosa_types::Exclusion;
    let tries = if record.tries > 1 { format!(" after {} tries", record.tries) } else { String::new() };
    match outcome {
        Outcome::Fetched { status } => match duplicate_of {
            Some(first) => {
                format!("fetched with status {status}{tries}; its content is the same as that of {first}")
            }
            None => format!("fetched with status {status}{tries}"),
        },
        Outcome::Missing { status } => {
            format!("the server answered {status}{tries}: nothing here, or not for us")
        }
        Outcome::NotModified => "the server says that it has not changed".to_owned(),
        Outcome::Redirected { status, to } => format!("redirected ({status}) to {to}"),
        Outcome::Excluded(Exclusion::Robots { line: 0, .. }) => {
            "not requested: robots.txt could not be had, so everything is forbidden for now; the next run asks again"
                .to_owned()
        }
        Outcome::Excluded(Exclusion::Robots { line, rule }) => {
            format!("not requested: forbidden by robots.txt, line {line}: {rule}")
        }
        Outcome::Excluded(Exclusion::HostErrors { failures }) => {
            format!(
                "not requested: the host is down: {failures} requests in a row had no answer, nor had those for \
                 robots.txt; --no-guesses asks all the same"
            )
        }
        Outcome::Excluded(Exclusion::HostBudget { pages }) => {
            format!("not requested: the host had its {pages} pages (politeness.max_pages_per_host)")
        }
        Outcome::Excluded(Exclusion::Port { port }) => format!(
            "not requested: port {port} belongs to another service than the web's (fetch.allow_ports opens it)"
        ),
        Outcome::Excluded(Exclusion::Endless { pages }) => format!(
            "not requested: {pages} pages of its path were fetched, and the last ones said nothing new; \
             --no-guesses fetches it"
        ),
        Outcome::Excluded(Exclusion::Mirror { of }) => format!("not requested: its host mirrors {of}"),
        Outcome::Failed(Failure::Truncated) => {
            let kept = match record.visit.as_ref().is_some_and(|visit| visit.archived.is_some()) {
                true => {
                    "what came of it is archived as a part (WARC-Truncated: disconnect) and not read further"
                }
                false => "nothing of it is kept",
            };
            format!("incomplete{tries}: the connection ended before the response did; {kept}")
        }
        Outcome::Failed(Failure::Overloaded { status }) => {
            format!("rate limited: the server answered {status} each time, however slowly it was asked")
        }
        Outcome::Failed(failure) => {
            let section = section_of(CanonUrl::from_canonical(record.url.clone()).path()).to_owned();
            format!("failed{tries}: {failure} (section {section}, last tried after everything else of its host)")
        }
    }
}
