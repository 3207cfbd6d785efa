//! One request: as much of HTTP/1.1 as bringing a segment needs, every part of it with a limit. Bodies have a length; whatever
//! else a request may be is refused.

use std::fmt::Write as _;
use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt};

use super::Answer;
use super::shelf::Piece;
use crate::ship::{MAX_SEGMENT_BYTES, check_name};

/// Longest request line and headers together.
pub const MAX_HEADER_BYTES: usize = 8 << 10;
/// Most headers.
const MAX_HEADERS: usize = 32;
/// Largest piece of a segment.
pub const MAX_PIECE_BYTES: u64 = 4 << 20;
/// Read at a time.
const CHUNK: usize = 64 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    Head,
    Put,
}

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub method: Method,
    /// Checked: it stays below the depot's directory.
    pub name: String,
    /// Of the body.
    pub length: u64,
    pub range: Option<Piece>,
    pub sha256: Option<String>,
    pub token: Option<String>,
}

/// Reads up to the empty line. None: the connection ended before a request.
pub(super) async fn read_head<R>(stream: &mut R) -> io::Result<Option<Result<Head, Answer>>>
where
    R: AsyncBufRead + Unpin,
{
    let mut bytes = Vec::new();
    loop {
        let room = (MAX_HEADER_BYTES + 1 - bytes.len()) as u64;
        let count = (&mut *stream).take(room).read_until(b'\n', &mut bytes).await?;
        if count == 0 && bytes.is_empty() {
            return Ok(None);
        }
        if bytes.len() > MAX_HEADER_BYTES {
            return Ok(Some(Err(Answer::hanging_up(431, "the headers are too long"))));
        }
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if bytes.ends_with(b"\r\n\r\n") || bytes.ends_with(b"\n\n") {
            return Ok(Some(parse(&bytes)));
        }
    }
}

fn parse(bytes: &[u8]) -> Result<Head, Answer> {
    let unclear = |text| Answer::hanging_up(400, text);
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    match request.parse(bytes) {
        Ok(httparse::Status::Complete(_)) => {}
        Err(httparse::Error::TooManyHeaders) => {
            return Err(Answer::hanging_up(431, "there are too many headers"));
        }
        Ok(httparse::Status::Partial) | Err(_) => return Err(unclear("this is no HTTP/1.1")),
    }
    let (mut length, mut range, mut sha256, mut token) = (None, None, None, None);
    for header in request.headers.iter() {
        let value =
            std::str::from_utf8(header.value).map_err(|_| unclear("a header is not plain text"))?.trim();
        let is = |name: &str| header.name.eq_ignore_ascii_case(name);
        if is("transfer-encoding") {
            return Err(Answer::hanging_up(411, "a piece has a length, not chunks"));
        } else if is("content-length") {
            // Digits alone, and once: what two readers could take for two lengths is refused.
            let digits = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
            if length.is_some() || !digits {
                return Err(unclear("content-length is no number"));
            }
            length = Some(value.parse().unwrap_or(u64::MAX));
        } else if is("content-range") {
            range = Some(read_range(value).ok_or_else(|| unclear("content-range is not bytes FROM-TO/ALL"))?);
        } else if is("lycosa-sha256") {
            let fits = value.len() == 64 && value.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
            sha256 =
                Some(fits.then(|| value.to_owned()).ok_or_else(|| unclear("lycosa-sha256 is no checksum"))?);
        } else if is("authorization") {
            token = value.strip_prefix("Bearer ").map(|token| token.trim().to_owned());
        }
    }
    let method = match request.method {
        Some("HEAD") => Method::Head,
        Some("PUT") => Method::Put,
        _ => return Err(Answer::hanging_up(405, "HEAD and PUT are understood")),
    };
    let name = request.path.and_then(|path| path.strip_prefix('/')).unwrap_or_default();
    let reserved = [".part", ".sha256"].iter().any(|end| name.ends_with(end));
    if reserved || check_name(name).is_err() {
        return Err(unclear("this cannot be the name of a segment"));
    }
    let length = match (method, length) {
        (Method::Head, length) => length.unwrap_or(0),
        (Method::Put, Some(length)) => length,
        // Senders may leave it out where there is nothing to send.
        (Method::Put, None) if range.is_some_and(|range| range.length == 0) => 0,
        (Method::Put, None) => return Err(Answer::hanging_up(411, "content-length is missing")),
    };
    let whole = range.map_or(0, |range: Piece| range.all);
    if length > MAX_PIECE_BYTES || whole > MAX_SEGMENT_BYTES || (method == Method::Head && length > 0) {
        return Err(Answer::hanging_up(413, "a piece or the segment is too large"));
    }
    if range.is_some_and(|range| range.length != length) {
        return Err(unclear("content-range and content-length differ"));
    }
    Ok(Head { method, name: name.to_owned(), length, range, sha256, token })
}

/// `bytes FROM-TO/ALL`, both included; `bytes */0` for a segment without a byte.
fn read_range(value: &str) -> Option<Piece> {
    let (range, all) = value.strip_prefix("bytes ")?.split_once('/')?;
    let all = all.parse().ok()?;
    if range == "*" {
        return (all == 0).then_some(Piece { from: 0, length: 0, all });
    }
    let (from, to): (u64, u64) =
        range.split_once('-').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)))?;
    (from <= to && to < all).then(|| Piece { from, length: to - from + 1, all })
}

/// Reads a body; memory is taken as it arrives.
pub(super) async fn read_body<R>(stream: &mut R, length: u64) -> io::Result<Vec<u8>>
where
    R: AsyncRead + Unpin,
{
    let mut body = Vec::new();
    let mut left = length.min(MAX_PIECE_BYTES) as usize;
    while left > 0 {
        let start = body.len();
        body.resize(start + left.min(CHUNK), 0);
        let count = stream.read(&mut body[start..]).await?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        body.truncate(start + count);
        left -= count;
    }
    Ok(body)
}

pub(super) fn write_answer(answer: &Answer) -> String {
    let reason = if answer.status < 400 { "OK" } else { "Refused" };
    let mut out = format!("HTTP/1.1 {} {reason}\r\ncontent-length: 0\r\n", answer.status);
    // Into a string: this cannot fail.
    if let Some(offset) = answer.offset {
        let _ = write!(out, "lycosa-offset: {offset}\r\n");
    }
    if let Some(sha256) = &answer.sha256 {
        let _ = write!(out, "lycosa-sha256: {sha256}\r\n");
    }
    if !answer.text.is_empty() {
        let _ = write!(out, "lycosa-why: {}\r\n", answer.text);
    }
    if answer.hang_up {
        out.push_str("connection: close\r\n");
    }
    out.push_str("\r\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SUM: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    fn status(request: &str) -> u16 {
        parse(request.as_bytes()).map_or_else(|answer| answer.status, |_| 200)
    }

    #[test]
    fn what_is_asked_for_is_understood_or_refused() {
        let put = format!(
            "PUT /n1/a.warc.gz HTTP/1.1\r\nContent-Range: bytes 4-7/9\r\nContent-Length: 4\r\nLycosa-Sha256: {SUM}\r\nAuthorization: Bearer t\r\n\r\n"
        );
        let head = parse(put.as_bytes()).unwrap();
        assert_eq!((head.method, &*head.name, head.length), (Method::Put, "n1/a.warc.gz", 4));
        assert_eq!(head.range, Some(Piece { from: 4, length: 4, all: 9 }));
        assert_eq!((head.sha256.as_deref(), head.token.as_deref()), (Some(SUM), Some("t")));
        for (request, wanted) in [
            ("GET /a HTTP/1.1\r\n\r\n", 405),
            ("PUT /a HTTP/1.1\r\n\r\n", 411),
            ("PUT /a HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n", 411),
            ("PUT /a HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n", 400),
            ("PUT /a HTTP/1.1\r\ncontent-length: +1\r\n\r\n", 400),
            ("PUT /a HTTP/1.1\r\ncontent-length: 99999999999999999999\r\n\r\n", 413),
            ("PUT /a HTTP/1.1\r\ncontent-length: 4\r\ncontent-range: bytes 0-4/9\r\n\r\n", 400),
            ("PUT /a HTTP/1.1\r\ncontent-length: 1\r\ncontent-range: bytes 0-0/99999999999999\r\n\r\n", 413),
            ("PUT /a HTTP/1.1\r\ncontent-length: 5\r\ncontent-range: bytes 7-3/9\r\n\r\n", 400),
            ("HEAD /../etc/passwd HTTP/1.1\r\n\r\n", 400),
            ("HEAD /a/../../b HTTP/1.1\r\n\r\n", 400),
            ("HEAD /a%2f..%2fb HTTP/1.1\r\n\r\n", 400),
            ("HEAD /a.part HTTP/1.1\r\n\r\n", 400),
            ("HEAD / HTTP/1.1\r\n\r\n", 400),
            ("HEAD /a HTTP/1.1\r\nlycosa-sha256: ABC\r\n\r\n", 400),
            ("HEAD /a HTTP/1.1\r\ncontent-length: 3\r\n\r\n", 413),
            ("HEAD /a HTTP/1.1\r\n\r\n", 200),
            ("nonsense\r\n\r\n", 400),
        ] {
            assert_eq!(status(request), wanted, "{request:?}");
        }
        let many: String = (0..40).map(|n| format!("h{n}: x\r\n")).collect();
        assert_eq!(status(&format!("HEAD /a HTTP/1.1\r\n{many}\r\n")), 431);
    }

    #[tokio::test]
    async fn headers_have_an_end() {
        let mut endless = tokio::io::repeat(b'x');
        let mut stream = tokio::io::BufReader::new(&mut endless);
        let refused = read_head(&mut stream).await.unwrap().unwrap().unwrap_err();
        assert_eq!((refused.status, refused.hang_up), (431, true));
    }

    proptest! {
        #[test]
        fn nothing_that_comes_in_panics(bytes in prop::collection::vec(any::<u8>(), 0..400), range in ".{0,40}") {
            let _ = parse(&bytes);
            let _ = read_range(&range);
            let _ = read_range(&format!("bytes {range}"));
        }
    }
}
