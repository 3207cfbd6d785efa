//! Byte strings of bounded length in stored records, as fields of them are packed.

use serde::Deserializer;
use serde::de::{Error, SeqAccess, Visitor};

/// Reads a byte string of at most `most` bytes, which is called `what` in errors.
pub(crate) fn bytes<'de, D: Deserializer<'de>>(
    deserializer: D,
    most: usize,
    what: &'static str,
) -> Result<Vec<u8>, D::Error> {
    deserializer.deserialize_bytes(Packed { most, what })
}

/// The error for bytes that make no sense.
pub(crate) fn damaged<E: Error>(what: &str) -> E {
    E::custom(format_args!("{what} are damaged: judge the page anew"))
}

struct Packed {
    most: usize,
    what: &'static str,
}

impl<'de> Visitor<'de> for Packed {
    type Value = Vec<u8>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, packed", self.what)
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
        if bytes.len() > self.most { Err(damaged(self.what)) } else { Ok(bytes.to_vec()) }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Vec<u8>, A::Error> {
        let mut bytes = Vec::new();
        while let Some(byte) = seq.next_element()? {
            if bytes.len() == self.most {
                return Err(damaged(self.what));
            }
            bytes.push(byte);
        }
        Ok(bytes)
    }
}
