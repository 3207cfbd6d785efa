//! From a link as written on a page to a canonical URL.
//!
//! A page has a hundred links, nearly all of them plain: letters, digits, dots and slashes. Those are joined here byte
//! by byte into a buffer that is used again; anything unusual takes the road through the `url` crate. A property test
//! holds that both roads lead to the same URL.

use url::Url;

use crate::canon::{CanonRules, CanonUrl, MAX_URL_BYTES, UrlError, write_query};

/// Joins the links of one page. Made once per page.
#[derive(Debug)]
pub struct Joiner<'a> {
    base: &'a CanonUrl,
    rules: &'a CanonRules,
    /// `base` for the `url` crate, parsed when the first unusual link asks for it.
    parsed: Option<Url>,
    origin_len: usize,
    /// End of the base path's last slash.
    directory_len: usize,
    path_len: usize,
}

/// Bytes that mean themselves in a path or query and start nothing special.
const PLAIN: [bool; 256] = {
    let mut table = [false; 256];
    let mut i = 0;
    while i < 256 {
        let b = i as u8;
        table[i] = b.is_ascii_alphanumeric()
            || matches!(
                b,
                b'-' | b'_'
                    | b'.'
                    | b'/'
                    | b'~'
                    | b'+'
                    | b','
                    | b'='
                    | b'@'
                    | b'!'
                    | b'$'
                    | b'*'
                    | b'('
                    | b')'
            );
        i += 1;
    }
    table
};

impl<'a> Joiner<'a> {
    pub fn new(base: &'a CanonUrl, rules: &'a CanonRules) -> Self {
        let origin_len = base.origin().len();
        let path = base.path();
        let directory_len = origin_len + path.rfind('/').map_or(0, |slash| slash + 1);
        Self { base, rules, parsed: None, origin_len, directory_len, path_len: origin_len + path.len() }
    }

    /// Writes the canonical URL that `href` leads to into `out`. On an error `out` is unspecified.
    pub fn join(&mut self, href: &str, out: &mut String) -> Result<(), UrlError> {
        out.clear();
        if let Some((path, dots)) = plain_path(href)
            && !path.starts_with("//")
        {
            self.join_path(path, dots, out);
        } else {
            self.join_any(href, out)?;
        }
        if out.len() > MAX_URL_BYTES {
            return Err(UrlError::TooLong(out.len()));
        }
        Ok(())
    }

    /// The shortest road, which most links take: a path of plain bytes, nothing else.
    #[inline]
    fn join_path(&self, path: &str, dots: usize, out: &mut String) {
        let base = self.base.as_str();
        if path.is_empty() {
            return out.push_str(base);
        }
        let kept = if path.starts_with('/') { self.origin_len } else { self.directory_len };
        if dots > 0 {
            out.push_str(&base[..self.origin_len]);
            push_dotted(out, &base[self.origin_len..kept], path, dots);
        } else {
            out.push_str(&base[..kept]);
            out.push_str(path);
        }
    }

    fn join_any(&mut self, href: &str, out: &mut String) -> Result<(), UrlError> {
        if let Some(scheme) = foreign_scheme(href) {
            return Err(UrlError::Scheme(scheme.to_owned()));
        }
        let without_fragment = href.find('#').map_or(href, |hash| &href[..hash]);
        if self.join_plain(without_fragment, out) { Ok(()) } else { self.join_unusual(href, out) }
    }

    /// The quick road. Returns false (with `out` unspecified) if the link is not plain enough for it.
    fn join_plain(&self, href: &str, out: &mut String) -> bool {
        let base = self.base.as_str();
        let (path, query) = match href.find('?') {
            Some(mark) => (&href[..mark], Some(&href[mark + 1..])),
            None => (href, None),
        };
        let absolute = path.strip_prefix("http://").or_else(|| path.strip_prefix("https://"));
        let checked = absolute.unwrap_or(path);
        if !checked.bytes().all(|b| PLAIN[usize::from(b)]) {
            return false;
        }
        if query.is_some_and(|q| !q.bytes().all(|b| PLAIN[usize::from(b)] || b == b'&')) {
            return false;
        }
        let path_at = if let Some(rest) = absolute {
            let host_len = rest.find('/').unwrap_or(rest.len());
            let host = &rest[..host_len];
            if !is_plain_host(host) {
                return false;
            }
            out.push_str(&path[..path.len() - rest.len() + host_len]);
            push_path(out, "", rest.get(host_len..).filter(|p| !p.is_empty()).unwrap_or("/"))
        } else if path.starts_with("//") {
            return false;
        } else if path.starts_with('/') {
            out.push_str(&base[..self.origin_len]);
            push_path(out, "", path)
        } else if path.is_empty() {
            out.push_str(&base[..self.path_len]);
            if query.is_none() {
                out.push_str(&base[self.path_len..]);
            }
            true
        } else {
            out.push_str(&base[..self.origin_len]);
            push_path(out, &base[self.origin_len..self.directory_len], path)
        };
        if let Some(query) = query {
            write_query(query, self.rules, out);
        }
        path_at
    }

    /// The thorough road, by way of the `url` crate.
    fn join_unusual(&mut self, href: &str, out: &mut String) -> Result<(), UrlError> {
        out.clear();
        if href.len() > MAX_URL_BYTES {
            return Err(UrlError::TooLong(href.len()));
        }
        let base = match &mut self.parsed {
            Some(base) => base,
            empty => empty.insert(
                Url::parse(self.base.as_str())
                    .map_err(|_| UrlError::Syntax("the page's own url does not parse"))?,
            ),
        };
        let joined = base.join(href).map_err(|_| UrlError::Syntax("the link does not parse"))?;
        out.push_str(CanonUrl::from_parsed(joined, self.rules)?.as_str());
        Ok(())
    }
}

/// What a byte does to a path that is read once from start to end.
const PATH_END: u8 = 1;
const DOT: u8 = 2;
/// One bit above [`DOT`], so that shifting it tells whether a dot follows a slash.
const SLASH: u8 = 4;

const PATH_CLASS: [u8; 256] = {
    let mut table = [PATH_END; 256];
    let mut i = 0;
    while i < 256 {
        if PLAIN[i] {
            table[i] = match i as u8 {
                b'.' => DOT,
                b'/' => SLASH,
                _ => 0,
            };
        }
        i += 1;
    }
    table
};

/// The link without its fragment, if the rest is a path of plain bytes, and how many segments of it begin with a dot.
#[inline]
fn plain_path(href: &str) -> Option<(&str, usize)> {
    let bytes = href.as_bytes();
    let (mut before, mut dots) = (SLASH, 0);
    for (at, &byte) in bytes.iter().enumerate() {
        let class = PATH_CLASS[usize::from(byte)];
        if class & PATH_END != 0 {
            return (byte == b'#').then(|| (&href[..at], dots));
        }
        dots += usize::from(class & (before >> 1) != 0);
        before = class;
    }
    Some((href, dots))
}

/// The scheme of `href` if it has one and it is not http or https.
fn foreign_scheme(href: &str) -> Option<&str> {
    let colon = href.bytes().position(|b| !(b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.')))?;
    let scheme = &href[..colon];
    let is_scheme = href.as_bytes().get(colon) == Some(&b':') && scheme.bytes().next()?.is_ascii_alphabetic();
    (is_scheme && !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https"))
        .then_some(scheme)
}

/// Host names that every parser reads the same way: lower-case labels, no address, no international name.
fn is_plain_host(host: &str) -> bool {
    !host.is_empty()
        && !host.ends_with('.')
        && !host.contains("--")
        && host.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'.'))
        && host
            .rsplit('.')
            .next()
            .is_some_and(|label| label.bytes().any(|b| b.is_ascii_lowercase()) && !label.starts_with("0x"))
}

/// Appends `directory` (which is normal already) and `path` with its dot segments resolved. Always succeeds; returns
/// true so that the caller's arms read alike.
fn push_path(out: &mut String, directory: &str, path: &str) -> bool {
    if path.starts_with('.') || path.contains("/.") {
        push_dot_segments(out, directory, path);
    } else {
        out.push_str(directory);
        out.push_str(path);
    }
    true
}

/// As [`push_path`] for a path `dots` of whose segments begin with a dot. Mostly these are `..` at its start, and lead out
/// of so many directories.
fn push_dotted(out: &mut String, directory: &str, path: &str, dots: usize) {
    let (mut directory, mut rest, mut left) = (directory, path, dots);
    while !directory.is_empty() {
        if let Some(after) = rest.strip_prefix("../") {
            let bytes = directory.as_bytes();
            // The root has no parent.
            let slash = bytes[..bytes.len() - 1].iter().rposition(|&b| b == b'/').unwrap_or(0);
            directory = &directory[..=slash];
            rest = after;
        } else if let Some(after) = rest.strip_prefix("./") {
            rest = after;
        } else {
            break;
        }
        left -= 1;
    }
    if left == 0 {
        out.push_str(directory);
        out.push_str(rest);
    } else {
        push_dot_segments(out, directory, rest);
    }
}

fn push_dot_segments(out: &mut String, directory: &str, path: &str) {
    let root = out.len();
    out.push_str(directory);
    let relative = match path.strip_prefix('/') {
        Some(relative) if directory.is_empty() => {
            out.push('/');
            relative
        }
        _ => path,
    };
    let mut segments = relative.split('/').peekable();
    while let Some(segment) = segments.next() {
        let last = segments.peek().is_none();
        match segment {
            "." => {}
            ".." => {
                // `out` ends in the slash that opened this segment: drop the segment before it, never the root.
                let parent = out[root..out.len() - 1].rfind('/').map_or(root + 1, |slash| root + slash + 1);
                out.truncate(parent);
            }
            _ => {
                out.push_str(segment);
                if !last {
                    out.push('/');
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn both(base: &str, href: &str) -> (Result<String, UrlError>, Result<String, UrlError>) {
        let rules = CanonRules::default();
        let base = CanonUrl::parse(base, &rules).unwrap();
        let mut out = String::new();
        let quick = Joiner::new(&base, &rules).join(href, &mut out).map(|()| out.clone());
        let thorough = Url::parse(base.as_str())
            .unwrap()
            .join(href)
            .map_err(|_| UrlError::Syntax("the link does not parse"))
            .and_then(|url| CanonUrl::from_parsed(url, &rules))
            .map(CanonUrl::into_string);
        (quick, thorough)
    }

    #[test]
    fn plain_links() {
        for (href, expected) in [
            ("x.html", "http://e.org/a/x.html"),
            ("./x.html", "http://e.org/a/x.html"),
            ("../x/../y", "http://e.org/y"),
            ("../../../y", "http://e.org/y"),
            ("/z", "http://e.org/z"),
            ("/z/..", "http://e.org/"),
            ("", "http://e.org/a/b?q=1"),
            ("#top", "http://e.org/a/b?q=1"),
            ("?r=2", "http://e.org/a/b?r=2"),
            ("?", "http://e.org/a/b"),
            ("https://other.net", "https://other.net/"),
            ("https://other.net/p?utm_source=1", "https://other.net/p"),
            ("//other.net/p", "http://other.net/p"),
            ("HTTP://OTHER.net:80/p", "http://other.net/p"),
            ("a b", "http://e.org/a/a%20b"),
        ] {
            let (quick, thorough) = both("http://e.org/a/b?q=1", href);
            assert_eq!(quick.as_deref(), Ok(expected), "{href}");
            assert_eq!(quick, thorough, "{href}");
        }
        assert!(matches!(both("http://e.org/", "mailto:x@y.z").0, Err(UrlError::Scheme(_))));
        assert!(matches!(both("http://e.org/", "javascript:void(0)").0, Err(UrlError::Scheme(_))));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]
        #[test]
        fn both_roads_lead_to_the_same_url(
            base in "http://[a-z]{1,3}\\.org/([a-z./]{0,8})(\\?[a-z=&]{0,5})?",
            href in "((https?:)?//[a-z0-9.-]{0,6})?[a-zA-Z0-9./?&=;%: #~_-]{0,14}"
        ) {
            let (quick, thorough) = both(&base, &href);
            match (quick, thorough) {
                (Err(_), Err(_)) => {}
                (quick, thorough) => prop_assert_eq!(quick, thorough),
            }
        }
    }
}
