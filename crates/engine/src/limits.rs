//! Every limit by which a crawl leaves something out, in one place: what it cuts, where that is counted, and the
//! setting that changes it. `docs/limits.md` says the same for people; tests hold that neither forgets a limit.

use lycosa_frontier::{Rejection, Trap};
use lycosa_page::PageLimit;

/// A limit that can leave something out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Limit {
    HtmlBytes,
    Links,
    TextBytes,
    AttributeBytes,
    ArenaBytes,
    TagEvents,
    CustomTags,
    Headings,
    TitleBytes,
    MetaItems,
    ForeignDepth,
    ListEntries,
    ListUrlBytes,
    ListBytes,
    IndexLevels,
    UrlBytes,
    Segments,
    Repeats,
    Parameters,
    Queries,
    Depth,
    Redirects,
    HostPages,
    HostWaiting,
    DomainWaiting,
    HostListed,
    RobotsSitemaps,
    LeftOut,
    HeaderBytes,
    BodyBytes,
    DecodedBytes,
    FirstByteTime,
    TotalTime,
    Slowness,
    Tries,
    HostFailures,
}

/// Where a limit is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// A key of the configuration.
    Key(&'static str),
    /// It cannot be changed, for this reason.
    Fixed(&'static str),
}

/// Where the figures say what a limit left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter {
    /// Under this limit's name among `totals.cut`.
    Cut,
    /// Among `totals.outcomes`, under this word.
    Outcome(&'static str),
}

impl Limit {
    pub const ALL: [Self; 36] = [
        Self::HtmlBytes,
        Self::Links,
        Self::TextBytes,
        Self::AttributeBytes,
        Self::ArenaBytes,
        Self::TagEvents,
        Self::CustomTags,
        Self::Headings,
        Self::TitleBytes,
        Self::MetaItems,
        Self::ForeignDepth,
        Self::ListEntries,
        Self::ListUrlBytes,
        Self::ListBytes,
        Self::IndexLevels,
        Self::UrlBytes,
        Self::Segments,
        Self::Repeats,
        Self::Parameters,
        Self::Queries,
        Self::Depth,
        Self::Redirects,
        Self::HostPages,
        Self::HostWaiting,
        Self::DomainWaiting,
        Self::HostListed,
        Self::RobotsSitemaps,
        Self::LeftOut,
        Self::HeaderBytes,
        Self::BodyBytes,
        Self::DecodedBytes,
        Self::FirstByteTime,
        Self::TotalTime,
        Self::Slowness,
        Self::Tries,
        Self::HostFailures,
    ];

    pub fn setting(self) -> Setting {
        let key = match self {
            Self::HtmlBytes => "page.max_html_bytes",
            Self::Links => "page.max_links",
            Self::TextBytes => "page.max_text_bytes",
            Self::AttributeBytes => "page.max_attribute_bytes",
            Self::ArenaBytes => "page.max_arena_bytes",
            Self::TagEvents => "page.max_tag_events",
            Self::CustomTags => "page.max_custom_tags",
            Self::Headings => "page.max_headings",
            Self::TitleBytes => "page.max_title_bytes",
            Self::MetaItems => "page.max_meta_items",
            Self::ForeignDepth => "page.max_foreign_depth",
            Self::ListEntries => "page.max_list_entries",
            Self::ListUrlBytes => "page.max_list_url_bytes",
            Self::ListBytes => "page.max_list_bytes",
            Self::IndexLevels => "page.max_index_levels",
            Self::UrlBytes => "traps.max_url_bytes",
            Self::Segments => "traps.max_segments",
            Self::Repeats => "traps.max_repeats",
            Self::Parameters => "traps.max_parameters",
            Self::Queries => "traps.max_queries_per_path",
            Self::Depth => "scope.depth",
            Self::Redirects => "scope.max_redirects",
            Self::HostPages => "politeness.max_pages_per_host",
            Self::HostWaiting => "traps.max_waiting_per_host",
            Self::DomainWaiting => "traps.max_waiting_per_domain",
            Self::HostListed => "traps.max_listed_per_host",
            Self::RobotsSitemaps => {
                return Setting::Fixed("1,000 sitemaps of 50,000 URLs each are more than any host has");
            }
            Self::LeftOut => "page.max_left_out",
            Self::HeaderBytes => "fetch.max_header_bytes",
            Self::BodyBytes => "fetch.max_body_bytes",
            Self::DecodedBytes => "fetch.max_decoded_bytes",
            Self::FirstByteTime => "fetch.first_byte_timeout_ms",
            Self::TotalTime => "fetch.total_timeout_ms",
            Self::Slowness => "fetch.min_bytes_per_s",
            Self::Tries => "politeness.max_tries",
            Self::HostFailures => "politeness.max_host_failures",
        };
        Setting::Key(key)
    }

    pub fn counter(self) -> Counter {
        match self {
            Self::HeaderBytes => Counter::Outcome("header-too-large"),
            Self::BodyBytes => Counter::Outcome("body-too-large"),
            Self::DecodedBytes => Counter::Outcome("decoded-too-large"),
            Self::FirstByteTime => Counter::Outcome("first-byte-timeout"),
            Self::TotalTime => Counter::Outcome("total-timeout"),
            Self::Slowness => Counter::Outcome("too-slow"),
            // The last failure stands.
            Self::Tries => Counter::Outcome("server-error"),
            Self::HostFailures => Counter::Outcome("host-down"),
            Self::HostPages => Counter::Outcome("host-budget"),
            _ => Counter::Cut,
        }
    }

    /// The name under which it is counted: its setting's.
    pub fn name(self) -> &'static str {
        match self.setting() {
            Setting::Key(key) => key,
            Setting::Fixed(_) => "robots-sitemaps",
        }
    }

    /// What is left out, as reports say it.
    pub fn what(self) -> &'static str {
        match self {
            Self::HtmlBytes => "bytes of pages not read",
            Self::Links => "links not followed",
            Self::TextBytes => "texts cut",
            Self::AttributeBytes => "addresses and other values left out or cut",
            Self::ArenaBytes => "addresses and other values left out",
            Self::TagEvents => "tags not looked at",
            Self::CustomTags => "names of elements not told apart",
            Self::Headings => "headings left out",
            Self::TitleBytes => "titles cut",
            Self::MetaItems => "dates and other metadata left out",
            Self::ForeignDepth => "nested drawings passed over",
            Self::ListEntries | Self::ListUrlBytes => "entries of sitemaps and feeds not followed",
            Self::ListBytes => "sitemaps cut",
            Self::IndexLevels => "sitemaps of nested sitemap indexes not followed",
            Self::RobotsSitemaps => "sitemaps of robots.txt not followed",
            Self::LeftOut => "links left out of which no note was kept",
            Self::HeaderBytes
            | Self::BodyBytes
            | Self::DecodedBytes
            | Self::FirstByteTime
            | Self::TotalTime
            | Self::Slowness
            | Self::Tries => "visits without a page",
            Self::HostPages | Self::HostFailures => "URLs not requested",
            _ => "links not followed",
        }
    }

    /// The limit with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|limit| limit.name() == name)
    }

    pub fn of_trap(trap: &Trap) -> Self {
        match trap {
            Trap::TooLong { .. } => Self::UrlBytes,
            Trap::TooManySegments { .. } => Self::Segments,
            Trap::RepeatedSegment { .. } => Self::Repeats,
            Trap::TooManyParameters { .. } => Self::Parameters,
        }
    }

    /// The limit behind a rejection, if a number is behind it.
    pub fn of_rejection(rejection: &Rejection) -> Option<Self> {
        match rejection {
            Rejection::Trap(trap) => Some(Self::of_trap(trap)),
            Rejection::Depth { .. } => Some(Self::Depth),
            _ => None,
        }
    }
}

impl From<PageLimit> for Limit {
    fn from(limit: PageLimit) -> Self {
        match limit {
            PageLimit::Html => Self::HtmlBytes,
            PageLimit::Links => Self::Links,
            PageLimit::Text => Self::TextBytes,
            PageLimit::Attributes => Self::AttributeBytes,
            PageLimit::Arena => Self::ArenaBytes,
            PageLimit::TagEvents => Self::TagEvents,
            PageLimit::CustomTags => Self::CustomTags,
            PageLimit::Headings => Self::Headings,
            PageLimit::Title => Self::TitleBytes,
            PageLimit::Meta => Self::MetaItems,
            PageLimit::ForeignDepth => Self::ForeignDepth,
        }
    }
}

/// How much each limit left out of one page and its links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cuts([u32; Limit::ALL.len()]);

impl Default for Cuts {
    fn default() -> Self {
        Self([0; Limit::ALL.len()])
    }
}

impl Cuts {
    pub fn add(&mut self, limit: Limit, count: u32) {
        let sum = &mut self.0[limit as usize];
        *sum = sum.saturating_add(count);
    }

    pub fn join(&mut self, other: &Self) {
        other.reached().for_each(|(limit, count)| self.add(limit, count));
    }

    pub fn any(&self) -> bool {
        self.0 != [0; Limit::ALL.len()]
    }

    /// The limits that left something out, with how much.
    pub fn reached(&self) -> impl Iterator<Item = (Limit, u32)> + '_ {
        Limit::ALL.into_iter().map(|limit| (limit, self.0[limit as usize])).filter(|(_, count)| *count > 0)
    }
}
