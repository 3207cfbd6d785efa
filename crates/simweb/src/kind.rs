//! The vocabulary of the world: what a page is, how a host behaves, which fault a response commits.
//!
//! Promise: each enum has `ALL`, so that a test can walk every kind and ask the world for a URL of it.

/// Implements `ALL` and `slug` for a field-less enum.
macro_rules! vocabulary {
    ($(#[$m:meta])* $name:ident { $($(#[$vm:meta])* $variant:ident = $slug:literal,)+ }) => {
        $(#[$m])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $($(#[$vm])* $variant,)+ }
        impl $name {
            /// Every kind, in declaration order.
            pub const ALL: &'static [$name] = &[$($name::$variant,)+];
            /// Short lower-case name, used in host names and reports.
            pub fn slug(self) -> &'static str {
                match self { $($name::$variant => $slug,)+ }
            }
        }
    };
}

vocabulary! {
    /// A response that misbehaves. Each has a host of its own, `SLUG.fault.sim`.
    Fault {
        /// Waits `slow_ms`, then answers properly.
        Slow = "slow",
        /// Accepts the request and never answers.
        Hang = "hang",
        /// Sends the head and half of the body, then nothing more.
        HangInBody = "hang-in-body",
        /// Sends one byte of body at a time, `drip_ms` apart.
        SlowDrip = "slow-drip",
        /// `Content-Length` promises more than arrives before the connection closes.
        LengthTooLong = "length-too-long",
        /// `Content-Length` promises less than is sent.
        LengthTooShort = "length-too-short",
        /// Two `Content-Length` headers that disagree.
        LengthTwice = "length-twice",
        /// A chunked body that ends without its last chunk.
        ChunkTruncated = "chunk-truncated",
        /// A chunk size that is not hexadecimal.
        ChunkGarbage = "chunk-garbage",
        /// A gzip body cut in the middle.
        GzipTruncated = "gzip-truncated",
        /// HTML labelled `application/octet-stream`.
        HtmlAsBinary = "html-as-binary",
        /// Random bytes labelled `text/html`.
        BinaryAsHtml = "binary-as-html",
        /// Identity bytes labelled `Content-Encoding: gzip`.
        EncodingLie = "encoding-lie",
        /// A content coding nobody knows.
        EncodingUnknown = "encoding-unknown",
        /// A small gzip body that inflates to `bomb_bytes`.
        BombGzip = "bomb-gzip",
        /// The same with brotli.
        BombBrotli = "bomb-brotli",
        /// The same with zstd.
        BombZstd = "bomb-zstd",
        /// A chunked body that never ends.
        EndlessBody = "endless-body",
        /// A body without length or end.
        EndlessRaw = "endless-raw",
        /// Header lines without end.
        EndlessHeaders = "endless-headers",
        /// One header of `huge_header_bytes`.
        HugeHeader = "huge-header",
        /// `many_headers` header lines.
        ManyHeaders = "many-headers",
        /// Interim `100 Continue` responses by the hundred before the answer.
        InterimFlood = "interim-flood",
        /// Bytes that are not HTTP.
        Garbage = "garbage",
        /// Closes without a byte.
        EmptyReply = "empty-reply",
        /// Resets the connection.
        Reset = "reset",
        /// Resets the connection in the middle of the body.
        ResetInBody = "reset-in-body",
        /// Always 500.
        ServerError = "server-error",
        /// 503 for the first `flaky_tries` requests of a URL, then the page.
        Flaky = "flaky",
        /// 429 with `Retry-After` in seconds for the first `flaky_tries` requests, then the page.
        TooMany = "too-many",
        /// 503 with `Retry-After` as a date, for the first `flaky_tries` requests, then the page.
        RetryDate = "retry-date",
        /// A redirect to itself.
        RedirectSelf = "redirect-self",
        /// A redirect whose target redirects on for ever, each time to a new URL.
        RedirectEndless = "redirect-endless",
        /// A redirect without `Location`.
        RedirectNowhere = "redirect-nowhere",
        /// A redirect to an address of a private network.
        RedirectPrivate = "redirect-private",
        /// A redirect to a scheme that is not fetched.
        RedirectScheme = "redirect-scheme",
        /// A page of tens of thousands of nested elements.
        DeepNesting = "deep-nesting",
        /// A page with one attribute of a megabyte.
        HugeAttribute = "huge-attribute",
        /// A page full of NULs and broken markup.
        BrokenMarkup = "broken-markup",
        /// A page of `huge_page_bytes`.
        HugePage = "huge-page",
    }
}

vocabulary! {
    /// What a host answers to `/robots.txt`.
    RobotsKind {
        /// 404: all allowed.
        Missing = "missing",
        /// 200 and an empty `Disallow`.
        AllowAll = "allow-all",
        /// Sections disallowed, with a longer `Allow` inside one of them.
        Sections = "sections",
        /// Patterns with `*` and `$`.
        Wildcards = "wildcards",
        /// Groups per agent, in odd letter case, with shared groups.
        AgentGroups = "agent-groups",
        /// `Crawl-delay`.
        CrawlDelay = "crawl-delay",
        /// `Sitemap` lines, with pages that only the sitemap names.
        Sitemaps = "sitemaps",
        /// Everything disallowed.
        DisallowAll = "disallow-all",
        /// 403: counts as no rules.
        Forbidden = "forbidden",
        /// 500: counts as everything disallowed.
        ServerError = "server-error",
        /// Redirects once on the same host to the rules.
        Redirect = "redirect",
        /// Redirects to itself: counts as no rules.
        RedirectLoop = "redirect-loop",
        /// More than 500 KiB; what matters stands at the start.
        Huge = "huge",
        /// Random bytes.
        Garbage = "garbage",
        /// An HTML page.
        Html = "html",
    }
}

vocabulary! {
    /// A part of a host that never ends. Trap URLs are not part of the truth.
    TrapKind {
        /// `/calendar/YEAR/MONTH/`, each with the next and the previous month.
        Calendar = "calendar",
        /// `/session/?visit=HEX`, each with fresh identifiers.
        Session = "session",
        /// `/deep/a/a/…`, each one segment longer.
        Growing = "growing",
    }
}

vocabulary! {
    /// What an article has beside itself; see the module on thin pages.
    ThinKind {
        Print = "print",
        Reply = "reply",
        Revisions = "revisions",
        Share = "share",
        Cite = "cite",
        Source = "source",
        Talk = "talk",
        Report = "report",
    }
}

vocabulary! {
    /// How a page may change over time.
    ChangeKind {
        /// Never.
        None = "none",
        /// The element tree changes; the words stay.
        Structure = "structure",
        /// The words change; the element tree stays.
        Text = "text",
        /// The bytes of an image change; the page stays.
        Image = "image",
        /// Only clocks, counters, tokens and advertisements change.
        Noise = "noise",
    }
}

vocabulary! {
    /// How near a near-duplicate is to its source.
    NearClass {
        /// About 3 % of the sentences differ, at least one.
        Light = "light",
        /// About 15 % differ.
        Medium = "medium",
        /// About half differ.
        Heavy = "heavy",
    }
}

vocabulary! {
    /// The content coding a host prefers.
    Coding {
        Identity = "identity",
        Gzip = "gzip",
        Brotli = "br",
        Zstd = "zstd",
        Deflate = "deflate",
    }
}

vocabulary! {
    /// The character encoding of a host's pages.
    Charset {
        Utf8 = "utf-8",
        Latin1 = "iso-8859-1",
        Windows1251 = "windows-1251",
        ShiftJis = "shift_jis",
        Windows1256 = "windows-1256",
    }
}

vocabulary! {
    /// Where the character encoding is declared.
    CharsetPlace {
        Header = "header",
        Meta = "meta",
        Both = "both",
        Neither = "neither",
    }
}

vocabulary! {
    /// The shape of a redirect page.
    RedirectShape {
        /// Straight to a page of the same host, absolute `Location`.
        Plain = "plain",
        /// Straight to a page of the same host, relative `Location`.
        Relative = "relative",
        /// To a page of another host.
        CrossHost = "cross-host",
        /// Through several hops.
        Chain = "chain",
        /// Through hops that lead back.
        Loop = "loop",
    }
}

/// What the page at an index is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PageKind {
    /// A page with text and links.
    Article,
    /// An article with `noindex` in its meta element.
    NoIndex,
    /// An article with `nofollow` in its meta element.
    NoFollow,
    /// An article with `X-Robots-Tag: noindex, nofollow`.
    RobotsTag,
    /// Byte for byte the page `of`.
    Duplicate { of: crate::PageId },
    /// The page `of` with edited sentences.
    NearDuplicate { of: crate::PageId, class: NearClass },
    /// A redirect.
    Redirect { status: u16, shape: RedirectShape },
    /// Status 200 and a text that says "not found".
    SoftNotFound,
    /// Status 404.
    NotFound,
    /// Status 410.
    Gone,
    /// A small PDF.
    Document,
    /// A misbehaving response.
    Fault(Fault),
}

impl PageKind {
    /// Whether a successful response carries links that a crawler may follow.
    pub fn follows(self) -> bool {
        matches!(self, Self::Article | Self::NoIndex | Self::Duplicate { .. } | Self::NearDuplicate { .. })
    }

    /// Whether the page is rendered from the article template.
    pub fn is_article(self) -> bool {
        self.follows() || matches!(self, Self::NoFollow | Self::RobotsTag)
    }
}
