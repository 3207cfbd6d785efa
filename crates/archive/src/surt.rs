//! The sort key of the index: a URL with its host turned round, so that a domain's pages stand together.
//!
//! `http://www.example.org:8080/A/?b=2&a=1` → `org,example:8080)/a?a=1&b=2`. The key is deliberately blurred (lower
//! case, no `www`, no trailing slash, no session ids, sorted parameters): a replay tool looks up by it and then picks
//! by the exact URL in the line. What exactly is blurred is fixed by the replay tools; a test compares with theirs.

use std::borrow::Cow;

use lycosa_types::CanonUrl;

/// Appends the key of `url`.
pub fn push_surt(out: &mut Vec<u8>, url: &CanonUrl) {
    push_host(out, url.host());
    let default_port = if url.is_https() { 443 } else { 80 };
    if url.port() != default_port {
        out.push(b':');
        out.extend_from_slice(url.port().to_string().as_bytes());
    }
    out.push(b')');
    push_path(out, url.path());
    if let Some(query) = url.query().filter(|q| !q.is_empty()) {
        push_query(out, query);
    }
}

/// The key of `url` as a string.
pub fn surt(url: &CanonUrl) -> String {
    let mut out = Vec::with_capacity(url.as_str().len());
    push_surt(&mut out, url);
    out.iter().map(|&b| char::from(b)).collect()
}

/// Labels in reverse, without `www`, `www2`, …
fn push_host(out: &mut Vec<u8>, host: &str) {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let host = if host.contains("..") { Cow::Owned(host.replace("..", ".")) } else { Cow::Borrowed(host) };
    let host = host.trim_matches('.');
    let bare = host
        .strip_prefix("www")
        .and_then(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()).strip_prefix('.'))
        .unwrap_or(host);
    for (i, label) in bare.rsplit('.').enumerate() {
        if i > 0 {
            out.push(b',');
        }
        out.extend(label.bytes().map(|b| b.to_ascii_lowercase()));
    }
}

/// Resolves, unescapes and escapes again, lower case, without a trailing slash.
fn push_path(out: &mut Vec<u8>, path: &str) {
    let start = out.len();
    let plain = unescape(path.as_bytes());
    let mut kept: Vec<&[u8]> = Vec::with_capacity(16);
    for part in plain.split(|&b| b == b'/').skip(1) {
        match part {
            b"." => {}
            b".." if !kept.is_empty() => {
                kept.pop();
            }
            _ => kept.push(part),
        }
    }
    out.push(b'/');
    // Doubled slashes count once.
    for part in kept.iter().filter(|part| !part.is_empty()) {
        push_escaped_lower(out, part);
        out.push(b'/');
    }
    for grouped in [true, false] {
        cut_path_session(out, start, grouped);
    }
    if out.len() > start + 1 && out.last() == Some(&b'/') {
        out.pop();
    }
}

/// Cuts the session id that old ASP.NET servers put into the path: `/(S(24 characters))/x.aspx` or `/(24 characters)/x.aspx`.
fn cut_path_session(out: &mut Vec<u8>, start: usize, grouped: bool) {
    let path = out.get(start..).unwrap_or_default();
    if memchr::memmem::find(path, b".aspx").is_none() {
        return;
    }
    for slash in memchr::memrchr_iter(b'/', path) {
        let rest = path.get(slash + 1..).unwrap_or_default();
        let Some(length) = session_part(rest, grouped) else {
            continue;
        };
        let after = rest.get(length..).unwrap_or_default();
        let page = memchr::memchr(b'?', after).map_or(after, |mark| after.get(..mark).unwrap_or_default());
        if memchr::memmem::rfind(page, b".aspx").is_some_and(|at| at > 0) {
            let from = start + slash + 1;
            out.drain(from..from + length);
            return;
        }
    }
}

/// The length of `(S(…))/` or `(…)/` at the start of `rest`.
fn session_part(rest: &[u8], grouped: bool) -> Option<usize> {
    const ID: usize = 24;
    let is_id = |part: &[u8]| part.len() == ID && part.iter().all(u8::is_ascii_alphanumeric);
    if rest.first() != Some(&b'(') {
        return None;
    }
    let mut at = 1;
    if grouped {
        let mut groups = 0;
        while rest.get(at).is_some_and(u8::is_ascii_alphabetic)
            && rest.get(at + 1) == Some(&b'(')
            && rest.get(at + 2..at + 2 + ID).is_some_and(is_id)
            && rest.get(at + 2 + ID) == Some(&b')')
        {
            at += ID + 3;
            groups += 1;
        }
        if groups == 0 {
            return None;
        }
    } else {
        if !rest.get(at..at + ID).is_some_and(is_id) {
            return None;
        }
        at += ID;
    }
    rest.get(at..)?.starts_with(b")/").then_some(at + 2)
}

/// Unescapes and escapes again, cuts session ids, lower case, sorts parameters by name and value.
fn push_query(out: &mut Vec<u8>, query: &str) {
    let plain = unescape(query.as_bytes());
    let mut text = Vec::with_capacity(plain.len());
    push_escaped_lower(&mut text, &plain);
    for session in [
        Session::Named(b"jsessionid="),
        Session::Named(b"phpsessid="),
        Session::Named(b"sid="),
        Session::Asp,
        Session::Cf,
    ] {
        cut_query_session(&mut text, session);
    }
    if text.is_empty() {
        return;
    }
    out.push(b'?');
    if !text.contains(&b'&') {
        return out.extend_from_slice(&text);
    }
    let mut parameters: Vec<(&[u8], Option<&[u8]>)> = text
        .split(|&b| b == b'&')
        .map(|part| match memchr::memchr(b'=', part) {
            Some(at) => (&part[..at], part.get(at + 1..)),
            None => (part, None),
        })
        .collect();
    // A name without `=` sorts before the same name with an empty value, which is how `Option` orders.
    parameters.sort();
    for (i, (name, value)) in parameters.into_iter().enumerate() {
        if i > 0 {
            out.push(b'&');
        }
        out.extend_from_slice(name);
        if let Some(value) = value {
            out.push(b'=');
            out.extend_from_slice(value);
        }
    }
}

#[derive(Clone, Copy)]
enum Session {
    /// A name and 32 letters or digits.
    Named(&'static [u8]),
    /// `aspsessionid`, 8 letters, `=`, 24 letters.
    Asp,
    /// `cfid=…&cftoken=…`.
    Cf,
}

impl Session {
    fn name(self) -> &'static [u8] {
        match self {
            Self::Named(name) => name,
            Self::Asp => b"aspsessionid",
            Self::Cf => b"cfid=",
        }
    }

    /// The length of the parameter whose name starts `rest`, if it looks like a session.
    fn length(self, rest: &[u8]) -> Option<usize> {
        let value = rest.get(self.name().len()..)?;
        let run = |part: &[u8], test: fn(&u8) -> bool| part.iter().take_while(|b| test(b)).count();
        let length = match self {
            Self::Named(_) => (run(value.get(..32)?, u8::is_ascii_alphanumeric) == 32).then_some(32)?,
            Self::Asp => {
                let shaped = run(value.get(..8)?, u8::is_ascii_alphabetic) == 8
                    && value.get(8) == Some(&b'=')
                    && run(value.get(9..33)?, u8::is_ascii_alphabetic) == 24;
                shaped.then_some(33)?
            }
            Self::Cf => {
                let id = run(value, |&b| b != b'&');
                let token = value.get(id..)?.strip_prefix(b"&cftoken=")?;
                let token_length = run(token, |&b| b != b'&');
                (id > 0 && token_length > 0).then_some(id + b"&cftoken=".len() + token_length)?
            }
        };
        Some(self.name().len() + length)
    }
}

/// Cuts the last session parameter of this kind, with the `&` after it.
fn cut_query_session(text: &mut Vec<u8>, session: Session) {
    let name = session.name();
    let found = memchr::memmem::rfind_iter(text.as_slice(), name).find_map(|at| {
        let length = session.length(text.get(at..)?)?;
        match text.get(at + length) {
            None => Some(at..at + length),
            Some(b'&') => Some(at..at + length + 1),
            Some(_) => None,
        }
    });
    if let Some(range) = found {
        text.drain(range);
    }
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|d| u8::try_from(d).ok())
}

/// Decodes percent escapes until none is left.
fn unescape(text: &[u8]) -> Cow<'_, [u8]> {
    let mut text = Cow::Borrowed(text);
    while let Some(first) = memchr::memchr(b'%', &text) {
        let mut out = Vec::with_capacity(text.len());
        out.extend_from_slice(&text[..first]);
        let mut at = first;
        while let Some(&byte) = text.get(at) {
            let pair = (byte == b'%')
                .then(|| Some(hex(*text.get(at + 1)?)? << 4 | hex(*text.get(at + 2)?)?))
                .flatten();
            out.push(pair.unwrap_or(byte));
            at += if pair.is_some() { 3 } else { 1 };
        }
        if out.len() == text.len() {
            break;
        }
        text = Cow::Owned(out);
    }
    text
}

/// Escapes what is not printable ASCII, `#` and `%`; everything in lower case, the escapes too.
fn push_escaped_lower(out: &mut Vec<u8>, text: &[u8]) {
    for &byte in text {
        if (0x21..=0x7e).contains(&byte) && !matches!(byte, b'#' | b'%') {
            out.push(byte.to_ascii_lowercase());
        } else {
            let digits = b"0123456789abcdef";
            out.extend([b'%', digits[usize::from(byte >> 4)], digits[usize::from(byte & 15)]]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lycosa_types::CanonRules;
    use proptest::prelude::*;

    fn key(url: &str) -> String {
        surt(&CanonUrl::from_canonical(url.to_owned()))
    }

    #[test]
    fn examples() {
        for (url, expected) in [
            ("http://www.example.org:8080/A/?b=2&a=1", "org,example:8080)/a?a=1&b=2"),
            ("https://example.org/", "org,example)/"),
            ("http://www12.a.b/x//y/", "b,a)/x/y"),
            ("http://127.0.0.1/", "1,0,0,127)/"),
            ("http://[::1]:81/x", "::1:81)/x"),
            ("http://e.org/%2525%23%E4 ?q=%26", "org,e)/%25%23%e4%20?&q="),
            ("http://e.org/?b&a=&a", "org,e)/?a&a=&b"),
            ("http://e.org/(abcdefghij01234567890123)/P.aspx", "org,e)/p.aspx"),
            ("http://e.org/?jsessionid=0123456789abcdef0123456789ABCDEF&x=1", "org,e)/?x=1"),
        ] {
            assert_eq!(key(url), expected, "{url}");
        }
    }

    #[test]
    fn hosts_are_turned_round_without_their_www() {
        for (host, expected) in [
            ("www.a.b", "b,a"),
            ("www7.a.b", "b,a"),
            ("www70.a.b", "b,a"),
            ("wwwx.a.b", "b,a,wwwx"),
            ("xwww.a.b", "b,a,xwww"),
            ("www-1.a.b", "b,a,www-1"),
            ("www.www.b", "b,www"),
            ("A.B", "b,a"),
            ("a..b", "b,a"),
            (".a.b.", "b,a"),
            ("a", "a"),
            ("[2001:db8::1]", "2001:db8::1"),
        ] {
            assert_eq!(key(&format!("http://{host}/")), format!("{expected})/"), "{host}");
        }
        for (origin, port) in [
            ("http://a", ""),
            ("http://a:80", ""),
            ("http://a:443", ":443"),
            ("https://a", ""),
            ("https://a:443", ""),
            ("https://a:80", ":80"),
        ] {
            assert_eq!(key(&format!("{origin}/")), format!("a{port})/"), "{origin}");
        }
    }

    #[test]
    fn paths_are_resolved_without_losing_a_part() {
        for (path, expected) in [
            ("/", "/"),
            ("/a", "/a"),
            ("/a/", "/a"),
            ("//", "/"),
            ("//a", "/a"),
            ("/a//b//", "/a/b"),
            ("/a/./b", "/a/b"),
            ("/a/.", "/a"),
            ("/a/../b", "/b"),
            ("/a/b/../../c", "/c"),
            ("/../b", "/../b"),
            ("/a/../../b", "/../b"),
            ("/a/..", "/"),
            ("/a/b/..", "/a"),
            ("/A%2FB%20%e4%23%25", "/a/b%20%e4%23%25"),
            ("/%252541", "/a"),
            ("/%4", "/%254"),
            ("/%4g%zz", "/%254g%25zz"),
            ("/a%21%7e%7f", "/a!~%7f"),
            ("/a;page=1", "/a;page=1"),
        ] {
            assert_eq!(key(&format!("http://e.org{path}")), format!("org,e){expected}"), "{path}");
        }
    }

    #[test]
    fn only_whole_session_ids_are_cut_from_a_path() {
        const ID: &str = "abcdefghij01234567890123";
        for (path, expected) in [
            (format!("/({ID})/p.aspx"), "/p.aspx".to_owned()),
            (format!("/x/({ID})/y/p.aspx"), "/x/y/p.aspx".to_owned()),
            (format!("/(S({ID}))/p.aspx"), "/p.aspx".to_owned()),
            (format!("/(a({ID})f({ID}))/p.aspx"), "/p.aspx".to_owned()),
            // One of each kind, the last of two, and nothing without a page behind it.
            (format!("/(S({ID}))/({ID})/p.aspx"), "/p.aspx".to_owned()),
            (format!("/({ID})/({ID})/p.aspx"), format!("/({ID})/p.aspx")),
            (format!("/({ID})/.aspx"), format!("/({ID})/.aspx")),
            (format!("/({ID})/p.html"), format!("/({ID})/p.html")),
            (format!("/p.aspx/({ID})/"), format!("/p.aspx/({ID})")),
            (format!("/({ID})/x%3Fp.aspx"), format!("/({ID})/x?p.aspx")),
            (format!("/({ID})/p.aspx%3Fx"), "/p.aspx?x".to_owned()),
            // Nearly one.
            (format!("/({ID}1)/p.aspx"), format!("/({ID}1)/p.aspx")),
            (format!("/({})/p.aspx", &ID[1..]), format!("/({})/p.aspx", &ID[1..])),
            (format!("/({}-)/p.aspx", &ID[1..]), format!("/({}-)/p.aspx", &ID[1..])),
            (format!("/{ID})/p.aspx"), format!("/{ID})/p.aspx")),
            (format!("/({ID}/p.aspx"), format!("/({ID}/p.aspx")),
            (format!("/(1({ID}))/p.aspx"), format!("/(1({ID}))/p.aspx")),
            (format!("/(s{ID}))/p.aspx"), format!("/(s{ID}))/p.aspx")),
            (format!("/(s({}-))/p.aspx", &ID[1..]), format!("/(s({}-))/p.aspx", &ID[1..])),
            (format!("/(s({ID})/p.aspx"), format!("/(s({ID})/p.aspx")),
            (format!("/(s({ID}))x/p.aspx"), format!("/(s({ID}))x/p.aspx")),
            (format!("/(s({ID}x)/p.aspx"), format!("/(s({ID}x)/p.aspx")),
            (format!("/xs({ID}))/p.aspx"), format!("/xs({ID}))/p.aspx")),
            (format!("/x{ID})/p.aspx"), format!("/x{ID})/p.aspx")),
            ("/()/p.aspx".to_owned(), "/()/p.aspx".to_owned()),
        ] {
            assert_eq!(key(&format!("http://e.org{path}")), format!("org,e){expected}"), "{path}");
        }
    }

    #[test]
    fn only_whole_session_ids_are_cut_from_a_query() {
        const ID: &str = "0123456789abcdef0123456789abcdef";
        let asp = "aspsessionidabcdefgh=abcdefghijklmnopqrstuvwx";
        for (query, expected) in [
            (format!("sid={ID}"), String::new()),
            (format!("PHPSESSID={ID}&b&a"), "?a&b".to_owned()),
            (format!("a&jsessionid={ID}&b"), "?a&b".to_owned()),
            (format!("sid={ID}&sid={ID}"), format!("?&sid={ID}")),
            (format!("sid={ID}x"), format!("?sid={ID}x")),
            (format!("sid={}", &ID[1..]), format!("?sid={}", &ID[1..])),
            (format!("sid={}-", &ID[1..]), format!("?sid={}-", &ID[1..])),
            (format!("sid={ID}=b"), format!("?sid={ID}=b")),
            (asp.to_owned(), String::new()),
            (format!("{asp}&x=1"), "?x=1".to_owned()),
            (format!("{asp}y"), format!("?{asp}y")),
            (asp.replace("h=", "1="), format!("?{}", asp.replace("h=", "1="))),
            (asp.replace('=', "-"), format!("?{}", asp.replace('=', "-"))),
            (asp.replace('x', "1"), format!("?{}", asp.replace('x', "1"))),
            ("cfid=12&cftoken=3".to_owned(), String::new()),
            ("cfid=12&cftoken=3&x".to_owned(), "?x".to_owned()),
            ("cfid=&cftoken=3".to_owned(), "?cfid=&cftoken=3".to_owned()),
            ("cfid=1&cftoken=".to_owned(), "?cfid=1&cftoken=".to_owned()),
            ("cfid=1&x=2".to_owned(), "?cfid=1&x=2".to_owned()),
            ("&".to_owned(), "?&".to_owned()),
            ("b=2&a=2&b=1&a&a=".to_owned(), "?a&a=&a=2&b=1&b=2".to_owned()),
            ("B=C%20".to_owned(), "?b=c%20".to_owned()),
            ("a=b=c&a".to_owned(), "?a&a=b=c".to_owned()),
        ] {
            assert_eq!(key(&format!("http://e.org/?{query}")), format!("org,e)/{expected}"), "{query}");
        }
        assert_eq!(key("http://e.org/?"), "org,e)/");
    }

    proptest! {
        #[test]
        fn keys_are_ascii_without_blanks(
            raw in "(http|https)://(www[0-9]?\\.)?[a-z0-9.-]{1,12}(:[0-9]{1,4})?/[/a-zA-Z0-9%.;=~?&()äß-]{0,60}"
        ) {
            if let Ok(url) = CanonUrl::parse(&raw, &CanonRules::default()) {
                let key = surt(&url);
                prop_assert!(key.bytes().all(|b| (0x21..=0x7e).contains(&b) && !b.is_ascii_uppercase()), "{}", key);
                prop_assert!(key.contains(")/"), "{}", key);
            }
        }
    }
}
