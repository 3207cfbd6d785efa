//! What is asked for, and the bytes it is asked with.

use bytes::Bytes;
use lycosa_types::CanonUrl;

use crate::options::FetchOptions;

/// What the response is wanted for; it decides the Accept field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RequestKind {
    #[default]
    Page,
    Robots,
    Sitemap,
    Image,
}

impl RequestKind {
    fn accept(self) -> &'static str {
        match self {
            Self::Page => "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
            Self::Robots => "text/plain,*/*;q=0.5",
            Self::Sitemap => "application/xml,text/xml,text/plain,application/gzip,*/*;q=0.5",
            Self::Image => "image/*,*/*;q=0.5",
        }
    }
}

/// One GET request.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    pub url: &'a CanonUrl,
    pub kind: RequestKind,
    /// The ETag of the copy at hand.
    pub if_none_match: Option<&'a str>,
    /// The Last-Modified of the copy at hand.
    pub if_modified_since: Option<&'a str>,
    /// More fields as (name, value); one that is not well-formed is left out.
    pub extra_fields: &'a [(&'a str, &'a str)],
}

impl<'a> Request<'a> {
    pub fn new(url: &'a CanonUrl, kind: RequestKind) -> Self {
        Self { url, kind, if_none_match: None, if_modified_since: None, extra_fields: &[] }
    }

    pub fn page(url: &'a CanonUrl) -> Self {
        Self::new(url, RequestKind::Page)
    }

    /// The fields that vary from request to request.
    pub(crate) fn own_fields(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        let conditions =
            [("If-None-Match", self.if_none_match), ("If-Modified-Since", self.if_modified_since)];
        conditions
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)))
            .chain(self.extra_fields.iter().copied())
            .filter(|(name, value)| is_field_name(name) && is_field_value(value))
    }
}

fn is_field_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
}

/// No byte that could end the field or the head.
fn is_field_value(value: &str) -> bool {
    value.bytes().all(|b| b >= 0x20 && b != 0x7f)
}

/// The fields every request of a fetcher shares.
#[derive(Debug)]
pub(crate) struct CommonFields(Vec<(&'static str, String)>);

impl CommonFields {
    pub fn new(options: &FetchOptions) -> Self {
        let accept_encoding = if options.compression { "gzip, br, zstd, deflate" } else { "identity" };
        let mut fields = vec![
            ("User-Agent", options.user_agent.header_value()),
            ("Accept-Encoding", accept_encoding.to_owned()),
        ];
        let language = options.accept_language.clone();
        fields.extend(language.filter(|value| is_field_value(value)).map(|value| ("Accept-Language", value)));
        Self(fields)
    }

    /// Every field of a request but Host.
    pub fn fields<'a>(&'a self, request: &Request<'a>) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.0
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .chain([("Accept", request.kind.accept())])
            .chain(request.own_fields())
    }

    /// The head of a request, blank line included, in one allocation.
    pub fn write_head(&self, request: &Request<'_>) -> Bytes {
        let field_bytes: usize = self.fields(request).map(|(name, value)| name.len() + value.len() + 4).sum();
        let fixed = "GET / HTTP/1.1\r\nHost: \r\n\r\n".len();
        let mut head = Vec::with_capacity(fixed + request.url.as_str().len() + field_bytes);
        self.append_head(request, &mut head);
        Bytes::from(head)
    }

    /// The head of a request, blank line included, behind what is there.
    pub fn append_head(&self, request: &Request<'_>, out: &mut Vec<u8>) {
        let target = match request.url.path_and_query() {
            "" => "/",
            target => target,
        };
        for part in ["GET ", target, " HTTP/1.1\r\nHost: ", request.url.authority(), "\r\n"] {
            out.extend_from_slice(part.as_bytes());
        }
        for (name, value) in self.fields(request) {
            for part in [name, ": ", value, "\r\n"] {
                out.extend_from_slice(part.as_bytes());
            }
        }
        out.extend_from_slice(b"\r\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lycosa_types::CanonRules;

    #[test]
    fn a_head_carries_target_host_and_conditions() {
        let url = CanonUrl::parse("http://a.test:8080/p?q=1", &CanonRules::default()).unwrap();
        let common = CommonFields::new(&FetchOptions::default());
        let request = Request {
            if_none_match: Some("\"x\""),
            extra_fields: &[("X-A", "b"), ("Bad\r\n", "c"), ("X-D", "e\r\nHost: f")],
            ..Request::page(&url)
        };
        let head = String::from_utf8(common.write_head(&request).to_vec()).unwrap();
        assert!(head.starts_with("GET /p?q=1 HTTP/1.1\r\nHost: a.test:8080\r\n"), "{head}");
        assert!(head.contains("\r\nUser-Agent: lycosa/"));
        assert!(head.contains("\r\nAccept-Encoding: gzip, br, zstd, deflate\r\n"));
        assert!(head.contains("\r\nIf-None-Match: \"x\"\r\n"));
        assert!(head.contains("\r\nX-A: b\r\n"));
        assert!(!head.contains("Bad") && !head.contains("X-D"), "{head}");
        assert!(head.ends_with("\r\n\r\n") && head.matches("\r\n\r\n").count() == 1);
    }
}
