//! What a visit brings back: the response as the server sent it, and how the visit went.

use std::{borrow::Cow, net::IpAddr, ops::Deref, time::Duration};

use bytes::Bytes;
use lycosa_types::{CanonRules, CanonUrl, Failure, UnixMs, join::Joiner};

use crate::{head, http_date::parse_http_date};

/// A Retry-After longer than this is read as this: a week.
pub const MAX_RETRY_AFTER_MS: u64 = 7 * 24 * 3_600 * 1_000;

/// The protocol a response came by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Protocol {
    Http10,
    Http11,
    /// The head is synthesised: HTTP/2 has no head of its own that an archive could keep.
    Http2,
}

/// The first lines and fields of a response, exactly as received, blank line included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head(Bytes);

impl Head {
    pub(crate) fn new(raw: Bytes) -> Self {
        Self(raw)
    }

    pub fn raw(&self) -> &Bytes {
        &self.0
    }

    pub(crate) fn into_raw(self) -> Bytes {
        self.0
    }

    /// All fields in order as (name, value); a folded value spans its lines.
    pub fn fields(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        head::fields(&self.0)
    }

    /// The values of every field of this name, in order; the name is compared without regard to case.
    pub fn get_all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a [u8]> {
        self.fields().filter(|(own, _)| own.eq_ignore_ascii_case(name.as_bytes())).map(|(_, value)| value)
    }

    /// The first value of a field, if it is text.
    pub fn get<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        self.get_all(name).next().and_then(|value| std::str::from_utf8(value).ok())
    }

    pub fn content_type(&self) -> Option<&str> {
        self.get("content-type")
    }

    pub fn etag(&self) -> Option<&str> {
        self.get("etag")
    }

    pub fn last_modified(&self) -> Option<&str> {
        self.get("last-modified")
    }

    /// The Location field as sent; [`Response::redirect_target`] makes a URL of it.
    pub fn location(&self) -> Option<&str> {
        self.get("location").filter(|location| !location.is_empty())
    }

    /// How long the server asks to wait, in milliseconds from `now`; bounded by [`MAX_RETRY_AFTER_MS`].
    pub fn retry_after_ms(&self, now: UnixMs) -> Option<u64> {
        let value = self.get("retry-after")?.trim();
        let delay_ms = if !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit()) {
            // More digits than a number holds still mean "long".
            value.parse::<u64>().map_or(u64::MAX, |seconds| seconds.saturating_mul(1_000))
        } else {
            parse_http_date(value)?.since_ms(now)
        };
        Some(delay_ms.min(MAX_RETRY_AFTER_MS))
    }

    /// The values of X-Robots-Tag fields that are text.
    pub fn x_robots_tag(&self) -> impl Iterator<Item = &str> {
        self.get_all("x-robots-tag").filter_map(|value| std::str::from_utf8(value).ok())
    }
}

/// A whole response. The byte strings share memory wherever they hold the same bytes.
#[derive(Clone, Debug)]
pub struct Response {
    pub status: u16,
    pub protocol: Protocol,
    pub head: Head,
    /// Everything after the head as sent, chunk framing included: what an archive keeps.
    pub raw_body: Bytes,
    /// The body without chunk framing, still content-encoded.
    pub payload: Bytes,
    /// The body with its content encodings undone.
    pub body: Bytes,
}

/// The fields of the head can be asked from the response itself.
impl Deref for Response {
    type Target = Head;

    fn deref(&self) -> &Head {
        &self.head
    }
}

impl Response {
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// A redirect status, 304 and 300 excepted.
    pub fn is_redirect(&self) -> bool {
        matches!(self.status, 301 | 302 | 303 | 307 | 308)
    }

    /// The failure that this response amounts to, if it does: 429 and 5xx.
    pub fn failure(&self) -> Option<Failure> {
        match self.status {
            status @ (429 | 503) => Some(Failure::Overloaded { status }),
            status @ 500.. => Some(Failure::ServerError { status }),
            _ => None,
        }
    }

    /// Where a redirect leads, as a canonical URL.
    pub fn redirect_target(&self, from: &CanonUrl, rules: &CanonRules) -> Result<CanonUrl, Failure> {
        let location = self.get_all("location").next().ok_or(Failure::BadRedirect)?;
        if location.is_empty() {
            return Err(Failure::BadRedirect);
        }
        let mut target = String::new();
        Joiner::new(from, rules).join(&text_of(location), &mut target).map_err(|_| Failure::BadRedirect)?;
        Ok(CanonUrl::from_canonical(target))
    }
}

/// A Location as text. One that is not UTF-8 has its octets escaped: the server will know its own encoding again.
fn text_of(location: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(location) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => {
            let mut text = String::with_capacity(location.len() * 2);
            for byte in location {
                if byte.is_ascii() {
                    text.push(char::from(*byte));
                } else {
                    text.push_str(&format!("%{byte:02X}"));
                }
            }
            Cow::Owned(text)
        }
    }
}

/// When things happened in a visit; durations count from its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timing {
    /// The wall clock when the visit began.
    pub started: UnixMs,
    /// The request was handed to the connection: everything before is DNS, connecting and waiting for a slot.
    pub sent: Option<Duration>,
    pub first_byte: Option<Duration>,
    /// The visit was over.
    pub finished: Duration,
}

/// One visit to one URL, however it ended.
#[derive(Clone, Debug)]
pub struct Visit {
    /// Any response that could be received whole, whatever its status; see [`Response::failure`].
    pub result: Result<Response, Failure>,
    /// What came of a response whose connection ended before it did, undecoded; the result is then
    /// [`Failure::Truncated`].
    pub partial: Option<Response>,
    /// The address that was connected to.
    pub ip: Option<IpAddr>,
    pub timing: Timing,
    /// The exact bytes sent (for HTTP/2, synthesised); empty if nothing was.
    pub request_head: Bytes,
    /// The request went over a connection that had served one before.
    pub reused_connection: bool,
    /// A kept connection turned out to be closed, or a line broke, and the request was sent again.
    pub resent: bool,
    /// Bytes received as HTTP, head included, even if the visit failed.
    pub bytes_received: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(head: &str) -> Response {
        Response {
            status: 200,
            protocol: Protocol::Http11,
            head: Head::new(Bytes::from(head.as_bytes().to_vec())),
            raw_body: Bytes::new(),
            payload: Bytes::new(),
            body: Bytes::new(),
        }
    }

    #[test]
    fn fields_are_found_without_regard_to_case() {
        let found = response(
            "HTTP/1.1 200 OK\r\ncontent-TYPE: text/html\r\nX-Robots-Tag: noindex\r\nx-robots-tag: bot: nofollow\r\n\r\n",
        );
        assert_eq!(found.content_type(), Some("text/html"));
        assert_eq!(found.etag(), None);
        assert_eq!(found.x_robots_tag().collect::<Vec<_>>(), ["noindex", "bot: nofollow"]);
    }

    #[test]
    fn retry_after_is_seconds_or_a_date_and_bounded() {
        let now = UnixMs(784_111_777_000);
        let wait = |value: &str| {
            response(&format!("HTTP/1.1 503 X\r\nRetry-After: {value}\r\n\r\n")).retry_after_ms(now)
        };
        assert_eq!(wait("120"), Some(120_000));
        assert_eq!(wait("Sun, 06 Nov 1994 08:49:47 GMT"), Some(10_000));
        assert_eq!(wait("Sun, 06 Nov 1994 08:00:00 GMT"), Some(0));
        assert_eq!(wait("99999999999999999999999"), Some(MAX_RETRY_AFTER_MS));
        assert_eq!(wait("soon"), None);
        assert_eq!(wait("-5"), None);
        assert_eq!(wait(""), None);
    }

    #[test]
    fn redirects_resolve_against_the_page() {
        let rules = CanonRules::default();
        let from = CanonUrl::parse("http://a.test/dir/page", &rules).unwrap();
        let target = |location: &str| {
            response(&format!("HTTP/1.1 301 X\r\nLocation: {location}\r\n\r\n"))
                .redirect_target(&from, &rules)
        };
        assert_eq!(target("../x#y").unwrap().as_str(), "http://a.test/x");
        assert_eq!(target("//b.test").unwrap().as_str(), "http://b.test/");
        assert_eq!(target("ftp://b.test/"), Err(Failure::BadRedirect));
        assert_eq!(target(""), Err(Failure::BadRedirect));
        let latin = Response {
            head: Head::new(Bytes::from_static(b"HTTP/1.1 301 X\r\nLocation: /caf\xe9\r\n\r\n")),
            ..response("")
        };
        assert_eq!(latin.redirect_target(&from, &rules).unwrap().as_str(), "http://a.test/caf%E9");
    }

    #[test]
    fn a_status_is_a_failure_only_where_the_server_is_in_trouble() {
        let failure = |status| Response { status, ..response("") }.failure();
        assert_eq!(failure(200), None);
        assert_eq!(failure(404), None);
        assert_eq!(failure(429), Some(Failure::Overloaded { status: 429 }));
        assert_eq!(failure(503), Some(Failure::Overloaded { status: 503 }));
        assert_eq!(failure(500), Some(Failure::ServerError { status: 500 }));
    }
}
