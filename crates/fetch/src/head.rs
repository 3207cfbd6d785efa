//! The head of a response: where it ends, what its status is, and how its body is framed.
//!
//! Promise: the bytes are looked for an end first and parsed once, so a head that drips in costs linear time. What a
//! server gets wrong without ambiguity (obsolete folds, blanks before a colon, a broken field among good ones) is let
//! through; what would leave the length of the body in doubt is a [`Failure::BadResponse`].

use std::mem::MaybeUninit;

use lycosa_types::Failure;

use crate::{options::MAX_HEADER_FIELDS, response::Protocol};

/// How the body follows the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// No body at all, whatever the fields say.
    None,
    Length(u64),
    Chunked,
    /// The body ends where the connection does.
    UntilClose,
}

/// What the head says that the transport needs to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HeadFacts {
    pub status: u16,
    pub protocol: Protocol,
    pub framing: Framing,
    pub keep_alive: bool,
    /// The fields contradict each other about where the body ends.
    pub doubtful: bool,
    /// A Content-Encoding field is there.
    pub encoded: bool,
}

/// Looks for the blank line that ends a head. `scanned` is where to look from and is moved on.
pub(crate) fn find_end(bytes: &[u8], scanned: &mut usize) -> Option<usize> {
    let mut from = *scanned;
    while let Some(found) = bytes.get(from..).and_then(|rest| memchr::memchr(b'\n', rest)) {
        let newline = from + found;
        match bytes.get(newline + 1..) {
            Some([b'\n', ..]) => return Some(newline + 2),
            Some([b'\r', b'\n', ..]) => return Some(newline + 3),
            // Not enough to tell: look at this line end again when more has arrived.
            Some([] | [b'\r']) => {
                *scanned = newline;
                return None;
            }
            _ => from = newline + 1,
        }
    }
    *scanned = bytes.len();
    None
}

/// Parses a whole head, blank line included.
pub(crate) fn parse(head: &[u8], max_fields: usize) -> Result<HeadFacts, Failure> {
    let mut fields = [const { MaybeUninit::uninit() }; MAX_HEADER_FIELDS];
    let mut response = httparse::Response::new(&mut []);
    let mut config = httparse::ParserConfig::default();
    config
        .allow_obsolete_multiline_headers_in_responses(true)
        .allow_spaces_after_header_name_in_responses(true)
        .ignore_invalid_headers_in_responses(true);
    let room = fields.get_mut(..max_fields.min(MAX_HEADER_FIELDS)).ok_or(Failure::HeaderTooLarge)?;
    match config.parse_response_with_uninit_headers(&mut response, head, room) {
        Ok(httparse::Status::Complete(_)) => {}
        Err(httparse::Error::TooManyHeaders) => return Err(Failure::HeaderTooLarge),
        Ok(httparse::Status::Partial) | Err(_) => return Err(Failure::BadResponse),
    }
    let status = response.code.ok_or(Failure::BadResponse)?;
    if !(100..=999).contains(&status) {
        return Err(Failure::BadResponse);
    }
    let http10 = response.version == Some(0);
    facts(status, http10, response.headers)
}

fn facts(status: u16, http10: bool, fields: &[httparse::Header<'_>]) -> Result<HeadFacts, Failure> {
    let mut length: Option<u64> = None;
    let mut chunked = false;
    let mut encoded = false;
    let mut close = false;
    let mut stay = false;
    for field in fields {
        // Comparing lengths first keeps the common field at one branch.
        match field.name.len() {
            14 if field.name.eq_ignore_ascii_case("content-length") => {
                for part in field.value.split(|&b| b == b',') {
                    let value = parse_length(part.trim_ascii()).ok_or(Failure::BadResponse)?;
                    if length.is_some_and(|other| other != value) {
                        return Err(Failure::BadResponse);
                    }
                    length = Some(value);
                }
            }
            17 if field.name.eq_ignore_ascii_case("transfer-encoding") => {
                for coding in tokens(field.value) {
                    if coding.eq_ignore_ascii_case(b"chunked") && !chunked {
                        chunked = true;
                    } else if !coding.eq_ignore_ascii_case(b"identity") {
                        return Err(Failure::BadResponse);
                    }
                }
            }
            10 if field.name.eq_ignore_ascii_case("connection") => {
                for option in tokens(field.value) {
                    close |= option.eq_ignore_ascii_case(b"close");
                    stay |= option.eq_ignore_ascii_case(b"keep-alive");
                }
            }
            16 if field.name.eq_ignore_ascii_case("content-encoding") => encoded = true,
            _ => {}
        }
    }
    let framing = match (status, chunked, length) {
        (100..=199 | 204 | 304, _, _) => Framing::None,
        (_, true, _) => Framing::Chunked,
        (_, false, Some(length)) => Framing::Length(length),
        (_, false, None) => Framing::UntilClose,
    };
    let announced = chunked || length.is_some_and(|length| length > 0);
    // Two framings at once, or a body where none may be, can be an attempt to smuggle a second response: read it, then
    // trust the server's connections no more.
    let doubtful = (chunked && (length.is_some() || http10)) || (status == 204 && announced);
    // A 304 may say how long the page is that it does not send. Some servers send it all the same.
    let may_follow = status == 304 && announced;
    Ok(HeadFacts {
        status,
        protocol: if http10 { Protocol::Http10 } else { Protocol::Http11 },
        framing,
        keep_alive: !close && !doubtful && !may_follow && (stay || !http10) && framing != Framing::UntilClose,
        doubtful,
        encoded,
    })
}

fn parse_length(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 19 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// The elements of a comma-separated list, blanks and empty elements dropped.
pub(crate) fn tokens(value: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    value.split(|&b| b == b',').map(<[u8]>::trim_ascii).filter(|token| !token.is_empty())
}

/// The fields of a raw head as (name, value) slices of it. A folded value spans its lines.
pub(crate) fn fields(head: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let start = memchr::memchr(b'\n', head).map_or(head.len(), |newline| newline + 1);
    let mut rest = head.get(start..).unwrap_or_default();
    std::iter::from_fn(move || {
        loop {
            let mut end = memchr::memchr(b'\n', rest)?;
            while matches!(rest.get(end + 1), Some(b' ' | b'\t')) {
                end += 1 + memchr::memchr(b'\n', rest.get(end + 1..)?)?;
            }
            let (line, after) = (rest.get(..end)?, rest.get(end + 1..)?);
            rest = after;
            if let Some(colon) = memchr::memchr(b':', line) {
                let name = line.get(..colon)?.trim_ascii();
                let value = line.get(colon + 1..)?.trim_ascii();
                return Some((name, value));
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_head_panics(
            head in "(HTTP/1\\.[01] [0-9]{3} ?)?[A-Za-z:\\r\\n\\t ,0-9é]{0,120}",
            noise in prop::collection::vec(any::<u8>(), 0..60),
        ) {
            for bytes in [head.as_bytes(), &noise, &[head.as_bytes(), &noise].concat()] {
                let _ = parse(bytes, 20);
                let _ = fields(bytes).count();
                let _ = find_end(bytes, &mut 0);
            }
        }
    }

    fn framing(head: &str) -> Result<(Framing, bool), Failure> {
        parse(head.as_bytes(), 200).map(|facts| (facts.framing, facts.keep_alive))
    }

    #[test]
    fn the_end_is_found_wherever_the_pieces_break() {
        let whole = b"HTTP/1.1 200 OK\r\nA: b\r\n\r\nbody";
        for cut in 0..whole.len() {
            let mut scanned = 0;
            let early = find_end(&whole[..cut], &mut scanned);
            assert_eq!(early.is_some(), cut >= 25, "cut at {cut}");
            assert_eq!(find_end(whole, &mut scanned), Some(25), "cut at {cut}");
        }
        assert_eq!(find_end(b"HTTP/1.1 200 OK\nA: b\n\n", &mut 0), Some(22));
    }

    #[test]
    fn framing_follows_status_and_fields() {
        let ok = |fields: &str| framing(&format!("HTTP/1.1 200 OK\r\n{fields}\r\n"));
        assert_eq!(ok("Content-Length: 5\r\n"), Ok((Framing::Length(5), true)));
        assert_eq!(ok("Content-Length: 5, 5\r\ncontent-length: 5\r\n"), Ok((Framing::Length(5), true)));
        assert_eq!(ok("Content-Length: 5\r\nContent-Length: 6\r\n"), Err(Failure::BadResponse));
        for bad in ["", "-1", "+1", "1 2", "0x10", "99999999999999999999", "1;"] {
            assert_eq!(ok(&format!("Content-Length: {bad}\r\n")), Err(Failure::BadResponse), "{bad:?}");
        }
        assert_eq!(ok(""), Ok((Framing::UntilClose, false)));
        assert_eq!(ok("Transfer-Encoding: Chunked\r\n"), Ok((Framing::Chunked, true)));
        assert_eq!(ok("Transfer-Encoding: chunked\r\nContent-Length: 9\r\n"), Ok((Framing::Chunked, false)));
        assert_eq!(ok("Transfer-Encoding: gzip, chunked\r\n"), Err(Failure::BadResponse));
        assert_eq!(ok("Transfer-Encoding: chunked, chunked\r\n"), Err(Failure::BadResponse));
        assert_eq!(ok("Content-Length: 1\r\nConnection: Close\r\n"), Ok((Framing::Length(1), false)));
        for status in [204, 304] {
            for (announced, kept) in
                [("", true), ("Content-Length: 0\r\n", true), ("Content-Length: 7\r\n", false)]
            {
                let head = format!("HTTP/1.1 {status} X\r\n{announced}\r\n");
                assert_eq!(framing(&head), Ok((Framing::None, kept)), "{head}");
                let doubtful = status == 204 && !kept;
                assert_eq!(parse(head.as_bytes(), 200).map(|facts| facts.doubtful), Ok(doubtful), "{head}");
            }
        }
    }

    #[test]
    fn old_servers_close_unless_they_say_otherwise() {
        assert_eq!(framing("HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\n"), Ok((Framing::Length(1), false)));
        assert_eq!(
            framing("HTTP/1.0 200 OK\r\nContent-Length: 1\r\nConnection: keep-alive\r\n\r\n"),
            Ok((Framing::Length(1), true))
        );
    }

    #[test]
    fn what_is_not_http_is_refused() {
        for bad in ["HTTP/2.0 200 OK\r\n\r\n", "<html>\r\n\r\n", "HTTP/1.1 2x0 OK\r\n\r\n", "\r\n\r\n"] {
            assert_eq!(framing(bad), Err(Failure::BadResponse), "{bad:?}");
        }
        let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "A: b\r\n".repeat(201));
        assert_eq!(framing(&many), Err(Failure::HeaderTooLarge));
    }

    #[test]
    fn fields_are_listed_with_folds_and_without_blanks() {
        let head = b"HTTP/1.1 200 OK\r\nA : b \r\nbroken\r\nFold: one\r\n two\r\nC:d\r\n\r\n";
        let listed: Vec<_> = fields(head).collect();
        assert_eq!(listed, [(&b"A"[..], &b"b"[..]), (b"Fold", b"one\r\n two"), (b"C", b"d")]);
        assert!(framing("HTTP/1.1 200 OK\r\nFold: one\r\n two\r\nContent-Length: 1\r\n\r\n").is_ok());
    }
}
