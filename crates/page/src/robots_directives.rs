//! What a page asks of robots: `<meta name=robots>` and the `X-Robots-Tag` header.

/// The directives that hold for our agent, joined over all places that state them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RobotsDirectives {
    /// Do not show the page in search results.
    pub noindex: bool,
    /// Do not follow its links.
    pub nofollow: bool,
    pub noarchive: bool,
    pub nosnippet: bool,
    pub noimageindex: bool,
    /// The page is not to be shown after this date, as written.
    pub unavailable_after: Option<String>,
}

/// A date longer than this is none.
const MAX_DATE_BYTES: usize = 64;

impl RobotsDirectives {
    /// Adds the content of a `<meta>` of our name or of `robots`.
    pub fn merge_meta(&mut self, content: &str) {
        let mut rest = content;
        while !rest.is_empty() {
            rest = self.take_directive(rest);
        }
    }

    /// Adds one `X-Robots-Tag` header value. Directives behind `name:` count only when that name is `agent`
    /// (compared without case) up to the next name.
    pub fn merge_header(&mut self, value: &str, agent: &str) {
        let mut rest = value;
        let mut ours = true;
        while !rest.is_empty() {
            let (item, after) = rest.split_once(',').unwrap_or((rest, ""));
            if let Some((name, directive)) = item.split_once(':')
                && !has_value(name.trim())
            {
                ours = name.trim().eq_ignore_ascii_case(agent);
                rest = rest.get(item.len() - directive.len()..).unwrap_or("");
                continue;
            }
            rest = if ours { self.take_directive(rest) } else { after };
        }
    }

    /// Joins with what another place states.
    pub fn merge(&mut self, other: &RobotsDirectives) {
        self.noindex |= other.noindex;
        self.nofollow |= other.nofollow;
        self.noarchive |= other.noarchive;
        self.nosnippet |= other.nosnippet;
        self.noimageindex |= other.noimageindex;
        if self.unavailable_after.is_none() {
            self.unavailable_after.clone_from(&other.unavailable_after);
        }
    }

    /// Reads the first directive of a list; returns the rest of the list.
    fn take_directive<'a>(&mut self, list: &'a str) -> &'a str {
        let (item, after) = list.split_once(',').unwrap_or((list, ""));
        let word = item.trim();
        if let Some((name, value)) = word.split_once(':') {
            if name.trim().eq_ignore_ascii_case("unavailable_after") {
                return self.take_date(value.trim(), after);
            }
            return after;
        }
        // Some pages separate by blanks instead of commas.
        for word in word.split_ascii_whitespace() {
            let is = |directive: &str| word.eq_ignore_ascii_case(directive);
            self.noindex |= is("noindex") || is("none");
            self.nofollow |= is("nofollow") || is("none");
            self.noarchive |= is("noarchive");
            self.nosnippet |= is("nosnippet");
            self.noimageindex |= is("noimageindex");
        }
        after
    }

    /// A date may hold a comma itself, after its day of the week.
    fn take_date<'a>(&mut self, value: &str, after: &'a str) -> &'a str {
        let weekday = !value.is_empty() && value.bytes().all(|b| b.is_ascii_alphabetic());
        let (date, rest) = if weekday {
            let (tail, rest) = after.split_once(',').unwrap_or((after, ""));
            (format!("{value}, {}", tail.trim()), rest)
        } else {
            (value.to_owned(), after)
        };
        if self.unavailable_after.is_none() && !date.is_empty() && date.len() <= MAX_DATE_BYTES {
            self.unavailable_after = Some(date);
        }
        rest
    }
}

fn has_value(name: &str) -> bool {
    ["unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"]
        .iter()
        .any(|n| name.eq_ignore_ascii_case(n))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meta(content: &str) -> RobotsDirectives {
        let mut directives = RobotsDirectives::default();
        directives.merge_meta(content);
        directives
    }

    fn header(value: &str) -> RobotsDirectives {
        let mut directives = RobotsDirectives::default();
        directives.merge_header(value, "lycosa");
        directives
    }

    #[test]
    fn meta_lists() {
        assert_eq!(meta(""), RobotsDirectives::default());
        assert_eq!(meta("index, follow"), RobotsDirectives::default());
        assert!(meta("NOINDEX").noindex);
        let none = meta("none");
        assert!(none.noindex && none.nofollow);
        let both = meta("noarchive , nofollow nosnippet");
        assert!(both.noarchive && both.nofollow && both.nosnippet && !both.noindex);
    }

    #[test]
    fn dates_may_hold_commas() {
        let d = meta("unavailable_after: Wed, 25 Jun 2031 15:00:00 GMT, noindex");
        assert_eq!(d.unavailable_after.as_deref(), Some("Wed, 25 Jun 2031 15:00:00 GMT"));
        assert!(d.noindex);
        let d = header("unavailable_after: 2031-06-25, nofollow");
        assert_eq!(d.unavailable_after.as_deref(), Some("2031-06-25"));
        assert!(d.nofollow);
    }

    #[test]
    fn header_names_its_agents() {
        assert!(header("noindex").noindex);
        assert!(!header("googlebot: noindex").noindex);
        assert!(header("Lycosa: noindex").noindex);
        let d = header("googlebot: noindex, noarchive, lycosa: nofollow");
        assert!(!d.noindex && !d.noarchive && d.nofollow);
        let d = header("nosnippet, otherbot: noindex");
        assert!(d.nosnippet && !d.noindex);
        assert!(header("max-snippet: 10, noindex").noindex);
        header(":,::,,a:b:c,:");
    }
}
