//! The lines of a robots.txt: where they end, and which field each is.

/// What is read of a file: RFC 9309 asks for at least this much. A line that is cut by the limit is not read.
pub const MAX_ROBOTS_BYTES: usize = 500 * 1024;
/// What is read of a line.
const MAX_LINE_BYTES: usize = 16 * 1024;

/// The fields that mean something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    UserAgent,
    Allow,
    Disallow,
    CrawlDelay,
    Sitemap,
}

impl Field {
    /// Common misspellings of the two fields that a site's wish hangs on are understood.
    pub fn of(name: &str) -> Option<Self> {
        let is = |known: &str| name.eq_ignore_ascii_case(known);
        if ["user-agent", "useragent", "user agent"].into_iter().any(is) {
            Some(Self::UserAgent)
        } else if is("allow") {
            Some(Self::Allow)
        } else if ["disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw"].into_iter().any(is)
        {
            Some(Self::Disallow)
        } else if is("crawl-delay") || is("crawldelay") {
            Some(Self::CrawlDelay)
        } else if is("sitemap") || is("site-map") {
            Some(Self::Sitemap)
        } else {
            None
        }
    }
}

/// Numbered lines, whatever ends them: LF, CR or CRLF. A byte order mark is dropped.
pub(crate) fn lines(bytes: &[u8]) -> impl Iterator<Item = (u32, &[u8])> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut rest = match bytes.get(..MAX_ROBOTS_BYTES) {
        Some(start) if bytes.len() > MAX_ROBOTS_BYTES => {
            let whole_lines = memchr::memrchr2(b'\n', b'\r', start).unwrap_or(0);
            start.get(..whole_lines).unwrap_or_default()
        }
        _ => bytes,
    };
    let mut number = 0;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        number += 1;
        let end = memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
        let line = rest.get(..end.min(MAX_LINE_BYTES)).unwrap_or_default();
        let skip = if rest.get(end..end + 2) == Some(b"\r\n") { 2 } else { 1 };
        rest = rest.get(end + skip..).unwrap_or_default();
        Some((number, line))
    })
}

/// What a line says, if it says anything.
pub(crate) fn field_and_value(line: &str) -> Option<(Field, &str)> {
    let line = line.split_once('#').map_or(line, |(before, _)| before).trim();
    if let Some((name, value)) = line.split_once(':') {
        return Some((Field::of(name.trim())?, value.trim()));
    }
    // A forgotten colon: two words and no more.
    let (name, value) = line.split_once([' ', '\t'])?;
    let value = value.trim();
    if value.is_empty() || value.contains([' ', '\t']) {
        return None;
    }
    Some((Field::of(name)?, value))
}
