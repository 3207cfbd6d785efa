//! The canonical form of a URL: one spelling for what servers treat as one thing.
//!
//! WHATWG parsing, then: no credentials, no fragment, no default port, no trailing dot on the host, percent-escapes of
//! unreserved characters decoded and all others in upper case, session ids cut from path and query, tracking and
//! repeated query parameters dropped. Canonicalising twice changes nothing (a property test holds that).

use std::fmt;

use serde::{Deserialize, Serialize};
use url::Url;

use crate::{HostKey, UrlKey};

/// Longer URLs are refused whatever the configuration says.
pub const MAX_URL_BYTES: usize = 8 * 1024;
/// Rounds of cutting and re-parsing before a URL that keeps changing is refused.
const MAX_ROUNDS: usize = 4;

/// Which query parameters carry no meaning. Names are lower case; a trailing `*` matches any ending.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CanonRules {
    /// Parameters that only track the visitor: dropped.
    pub tracking_parameters: Vec<String>,
    /// Parameters (and `;name=` path parameters) that carry a session id: dropped.
    pub session_parameters: Vec<String>,
    /// Drop the second and later of equal `name=value` pairs.
    pub drop_repeated: bool,
    /// Sort parameters by name. Off by default: some servers care about order.
    pub sort_query: bool,
}

impl Default for CanonRules {
    fn default() -> Self {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Self {
            tracking_parameters: owned(&[
                "utm_*",
                "gclid",
                "dclid",
                "gbraid",
                "wbraid",
                "fbclid",
                "msclkid",
                "yclid",
                "twclid",
                "ttclid",
                "igshid",
                "mc_cid",
                "mc_eid",
                "_ga",
                "_gl",
                "_hsenc",
                "_hsmi",
                "mkt_tok",
                "oly_anon_id",
                "oly_enc_id",
                "vero_id",
                "wickedid",
                "rb_clickid",
                "s_cid",
            ]),
            session_parameters: owned(&[
                "jsessionid",
                "phpsessid",
                "aspsessionid*",
                "asp.net_sessionid",
                "sessionid",
                "session_id",
                "sessid",
                "cfid",
                "cftoken",
                "zenid",
                "oscsid",
                "sid",
            ]),
            drop_repeated: true,
            sort_query: false,
        }
    }
}

impl CanonRules {
    /// Whether a parameter of this name and value is dropped.
    fn drops(&self, name: &str, value: &str) -> bool {
        let listed = |names: &[String]| names.iter().any(|pattern| matches_name(pattern, name));
        if listed(&self.tracking_parameters) {
            return true;
        }
        // `sid` is also an ordinary word ("section id"): it is a session only when its value looks like one.
        listed(&self.session_parameters) && (!name.eq_ignore_ascii_case("sid") || looks_like_session(value))
    }
}

fn matches_name(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => name.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix)),
        None => name.eq_ignore_ascii_case(pattern),
    }
}

fn looks_like_session(value: &str) -> bool {
    value.len() >= 16
        && value.bytes().all(|b| b.is_ascii_alphanumeric())
        && value.bytes().any(|b| b.is_ascii_digit())
}

/// Why a string is not a URL that can be crawled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    #[error("not a url: {0}")]
    Syntax(&'static str),
    #[error("the scheme {0:?} is not crawled; only http and https are")]
    Scheme(String),
    #[error("the url is {0} bytes long, more than {MAX_URL_BYTES}")]
    TooLong(usize),
    #[error("the url has no host")]
    NoHost,
    #[error("the url does not settle into one canonical form")]
    Unstable,
}

impl UrlError {
    fn from_parse(error: url::ParseError) -> Self {
        match error {
            url::ParseError::EmptyHost => Self::NoHost,
            url::ParseError::RelativeUrlWithoutBase => {
                Self::Syntax("relative, and there is no base; write it with http:// or https://")
            }
            url::ParseError::InvalidPort => Self::Syntax("invalid port"),
            url::ParseError::IdnaError => Self::Syntax("invalid international host name"),
            _ => Self::Syntax("invalid host or address"),
        }
    }
}

/// A URL in canonical form: `http(s)://host[:port]/path[?query]`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CanonUrl(String);

impl CanonUrl {
    /// Parses and canonicalises an absolute URL.
    pub fn parse(raw: &str, rules: &CanonRules) -> Result<Self, UrlError> {
        if raw.len() > MAX_URL_BYTES {
            return Err(UrlError::TooLong(raw.len()));
        }
        Self::from_parsed(Url::parse(raw).map_err(UrlError::from_parse)?, rules)
    }

    /// Takes a string that is known to be canonical: one that came out of this type before.
    pub fn from_canonical(canonical: String) -> Self {
        debug_assert!(canonical.starts_with("http"), "not canonical: {canonical}");
        Self(canonical)
    }

    pub(crate) fn from_parsed(mut url: Url, rules: &CanonRules) -> Result<Self, UrlError> {
        let mut out = String::with_capacity(url.as_str().len());
        for _ in 0..MAX_ROUNDS {
            write_canonical(&url, rules, &mut out)?;
            if out.len() > MAX_URL_BYTES {
                return Err(UrlError::TooLong(out.len()));
            }
            if out == url.as_str() {
                return Ok(Self(out));
            }
            // Cutting a session id or decoding an escape can expose something new to normalise: look again.
            url = Url::parse(&out).map_err(UrlError::from_parse)?;
            if out == url.as_str() {
                let mut again = String::with_capacity(out.len());
                write_canonical(&url, rules, &mut again)?;
                if again == out {
                    return Ok(Self(out));
                }
            }
        }
        Err(UrlError::Unstable)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn into_string(self) -> String {
        self.0
    }

    pub fn key(&self) -> UrlKey {
        UrlKey::of(&self.0)
    }

    pub fn is_https(&self) -> bool {
        self.0.starts_with("https:")
    }

    fn authority_start(&self) -> usize {
        if self.is_https() { "https://".len() } else { "http://".len() }
    }

    fn path_start(&self) -> usize {
        let start = self.authority_start();
        let rest = self.0.as_bytes().get(start..).unwrap_or_default();
        start + rest.iter().position(|&b| b == b'/').unwrap_or(rest.len())
    }

    /// `http://example.org:8080`: scheme, host and port, without a trailing slash.
    pub fn origin(&self) -> &str {
        &self.0[..self.path_start()]
    }

    pub fn host_key(&self) -> HostKey {
        HostKey::of(self.origin())
    }

    /// `example.org:8080`: what goes into the Host header.
    pub fn authority(&self) -> &str {
        &self.0[self.authority_start()..self.path_start()]
    }

    /// The host without port; an IPv6 address keeps its brackets.
    pub fn host(&self) -> &str {
        let authority = self.authority();
        match authority.rfind(':') {
            Some(colon) if !authority[colon..].contains(']') => &authority[..colon],
            _ => authority,
        }
    }

    pub fn port(&self) -> u16 {
        let default = if self.is_https() { 443 } else { 80 };
        self.authority()[self.host().len()..]
            .strip_prefix(':')
            .and_then(|p| p.parse().ok())
            .unwrap_or(default)
    }

    /// The registered domain (by the public suffix list), or the host itself where there is none.
    pub fn domain(&self) -> &str {
        let host = self.host();
        // An IPv6 address has no dot, so that no suffix is found in it.
        let is_v4 = host.rsplit('.').next().is_some_and(|label| label.parse::<u32>().is_ok());
        if is_v4 { host } else { psl::domain_str(host).unwrap_or(host) }
    }

    /// Path and query: what goes into the request line.
    pub fn path_and_query(&self) -> &str {
        &self.0[self.path_start()..]
    }

    pub fn path(&self) -> &str {
        let target = self.path_and_query();
        &target[..target.find('?').unwrap_or(target.len())]
    }

    pub fn query(&self) -> Option<&str> {
        self.path_and_query().split_once('?').map(|(_, query)| query)
    }
}

impl fmt::Debug for CanonUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for CanonUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One round: writes what `url` says in canonical spelling.
fn write_canonical(url: &Url, rules: &CanonRules, out: &mut String) -> Result<(), UrlError> {
    out.clear();
    if !matches!(url.scheme(), "http" | "https") {
        return Err(UrlError::Scheme(url.scheme().to_owned()));
    }
    let host = url.host_str().unwrap_or_default().trim_end_matches('.');
    if host.is_empty() {
        return Err(UrlError::NoHost);
    }
    out.push_str(url.scheme());
    out.push_str("://");
    out.push_str(host);
    if let Some(port) = url.port() {
        out.push(':');
        out.push_str(&port.to_string());
    }
    let mut path = String::with_capacity(url.path().len());
    normalise_escapes(url.path(), &mut path);
    cut_path_session(&path, rules, out);
    if let Some(query) = url.query() {
        let mut normal = String::with_capacity(query.len());
        normalise_escapes(query, &mut normal);
        write_query(&normal, rules, out);
    }
    Ok(())
}

/// Decodes escapes of unreserved characters and writes the rest with upper-case digits.
fn normalise_escapes(text: &str, out: &mut String) {
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        let byte = rest.get(at + 1..at + 3).and_then(|hex| {
            hex.bytes().all(|b| b.is_ascii_hexdigit()).then(|| u8::from_str_radix(hex, 16).ok()).flatten()
        });
        let Some(byte) = byte else {
            out.push('%');
            rest = &rest[at + 1..];
            continue;
        };
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.push(char::from(b"0123456789ABCDEF"[usize::from(byte >> 4)]));
            out.push(char::from(b"0123456789ABCDEF"[usize::from(byte & 15)]));
        }
        rest = &rest[at + 3..];
    }
    out.push_str(rest);
}

/// Copies a path without `;jsessionid=…` and its kin.
fn cut_path_session(path: &str, rules: &CanonRules, out: &mut String) {
    if !path.contains(';') {
        return out.push_str(path);
    }
    for (i, segment) in path.split('/').enumerate() {
        if i > 0 {
            out.push('/');
        }
        for (j, parameter) in segment.split(';').enumerate() {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            let session = j > 0 && rules.session_parameters.iter().any(|p| matches_name(p, name));
            if session && (!name.eq_ignore_ascii_case("sid") || looks_like_session(value)) {
                continue;
            }
            if j > 0 {
                out.push(';');
            }
            out.push_str(parameter);
        }
    }
}

/// Writes `?` and the parameters that mean something, or nothing if none does.
pub(crate) fn write_query(query: &str, rules: &CanonRules, out: &mut String) {
    if rules.sort_query {
        let mut parts: Vec<&str> = query.split('&').collect();
        parts.sort_by_key(|part| part.split('=').next().unwrap_or_default());
        return write_parameters(parts.into_iter(), rules, out);
    }
    write_parameters(query.split('&'), rules, out);
}

fn write_parameters<'a>(parts: impl Iterator<Item = &'a str>, rules: &CanonRules, out: &mut String) {
    let start = out.len();
    for part in parts {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        if part.is_empty() || rules.drops(name, value) {
            continue;
        }
        if rules.drop_repeated && out[start..].trim_start_matches('?').split('&').any(|kept| kept == part) {
            continue;
        }
        out.push(if out.len() == start { '?' } else { '&' });
        out.push_str(part);
    }
}

#[cfg(test)]
mod tests;
