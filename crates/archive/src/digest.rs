//! The digest that stands in `WARC-Payload-Digest` and in the index.
//!
//! **What it covers.** The bytes after the HTTP head exactly as they stand in the record: on the wire, chunk framing and
//! content coding included. The standard speaks of the payload without the transfer coding, but the checker that
//! everybody runs (`warcio check`) hashes the stored bytes, and so does every crawler whose archives it accepts: a
//! digest over the de-chunked body is reported as wrong by it. Whether two pages have the same content is decided
//! elsewhere, over the decoded body.

use std::fmt;

use data_encoding::BASE32;
use sha1::{Digest as _, Sha1};

/// Length of `sha1:` and 32 base32 digits.
pub const TEXT_BYTES: usize = 37;

/// SHA-1 of a payload as stored.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct PayloadDigest(pub [u8; 20]);

impl PayloadDigest {
    pub fn of(payload: &[u8]) -> Self {
        Self(Sha1::digest(payload).into())
    }

    /// `sha1:` and base32, as in WARC headers and CDXJ.
    pub fn text(&self) -> [u8; TEXT_BYTES] {
        let mut out = *b"sha1:00000000000000000000000000000000";
        if let Some(digits) = out.get_mut(5..) {
            BASE32.encode_mut(&self.0, digits);
        }
        out
    }

    /// Reads what [`PayloadDigest::text`] wrote.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = BASE32.decode(text.strip_prefix("sha1:")?.as_bytes()).ok()?;
        Some(Self(bytes.try_into().ok()?))
    }
}

impl fmt::Display for PayloadDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text().iter().try_for_each(|&b| write!(f, "{}", char::from(b)))
    }
}

impl fmt::Debug for PayloadDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_empty_payload() {
        let digest = PayloadDigest::of(b"");
        assert_eq!(digest.to_string(), "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ");
        assert_eq!(PayloadDigest::parse(&digest.to_string()), Some(digest));
        for wrong in ["", "sha1:", "md5:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ", "sha1:ä"] {
            assert_eq!(PayloadDigest::parse(wrong), None);
        }
    }
}
