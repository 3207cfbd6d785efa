//! Numbers in as few bytes as they need, byte strings with a length before them, a checksum at the end.

use xxhash_rust::xxh3::xxh3_64;

use super::WireError;

/// Longest encoding of a 64-bit number.
const MAX_NUMBER_BYTES: usize = 10;
const CHECKSUM_BYTES: usize = 4;

/// Seven bits per byte, lowest first; the top bit says that more follow.
pub fn put_number(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

pub fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_number(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Ends a message.
pub fn put_checksum(out: &mut Vec<u8>) {
    let sum = xxh3_64(out) as u32;
    out.extend_from_slice(&sum.to_le_bytes());
}

/// A message without its checksum, or why it is refused.
pub fn checked(bytes: &[u8]) -> Result<&[u8], WireError> {
    let cut = bytes.len().checked_sub(CHECKSUM_BYTES).ok_or(WireError::Truncated)?;
    let (body, sum) = bytes.split_at(cut);
    if (xxh3_64(body) as u32).to_le_bytes() == *sum { Ok(body) } else { Err(WireError::Checksum) }
}

/// Reads a message from its start to its end.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub fn byte(&mut self) -> Result<u8, WireError> {
        let (&first, rest) = self.rest.split_first().ok_or(WireError::Truncated)?;
        self.rest = rest;
        Ok(first)
    }

    pub fn number(&mut self) -> Result<u64, WireError> {
        let mut value = 0u64;
        for i in 0..MAX_NUMBER_BYTES {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7F);
            if i == MAX_NUMBER_BYTES - 1 && bits > 1 {
                return Err(WireError::Nonsense("number"));
            }
            value |= bits << (7 * i);
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(WireError::Nonsense("number"))
    }

    /// A number that counts or measures something, with its limit.
    pub fn count(&mut self, limit: usize, what: &'static str) -> Result<usize, WireError> {
        let value = self.number()?;
        usize::try_from(value).ok().filter(|&v| v <= limit).ok_or(WireError::Limit(what))
    }

    pub fn take(&mut self, length: usize) -> Result<&'a [u8], WireError> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(WireError::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }

    pub fn bytes(&mut self, limit: usize, what: &'static str) -> Result<&'a [u8], WireError> {
        let length = self.count(limit, what)?;
        self.take(length)
    }

    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        let (taken, rest) = self.rest.split_first_chunk::<N>().ok_or(WireError::Truncated)?;
        self.rest = rest;
        Ok(*taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_and_strings_come_back(values in prop::collection::vec(any::<u64>(), 0..50), text: Vec<u8>) {
            let mut out = Vec::new();
            for &value in &values {
                put_number(&mut out, value);
            }
            put_bytes(&mut out, &text);
            put_checksum(&mut out);
            let mut reader = Reader::new(checked(&out).unwrap());
            for &value in &values {
                prop_assert_eq!(reader.number().unwrap(), value);
            }
            prop_assert_eq!(reader.bytes(1 << 20, "text").unwrap(), &text[..]);
            prop_assert!(reader.is_empty());
            prop_assert_eq!(reader.byte(), Err(WireError::Truncated));
        }

        #[test]
        fn a_flipped_bit_is_noticed(mut bytes in prop::collection::vec(any::<u8>(), 1..100), at: usize, bit in 0u8..8) {
            put_checksum(&mut bytes);
            let at = at % bytes.len();
            bytes[at] ^= 1 << bit;
            prop_assert_eq!(checked(&bytes), Err(WireError::Checksum));
        }
    }

    #[test]
    fn numbers_too_long_are_refused() {
        assert!(Reader::new(&[0xFF; 11]).number().is_err());
        assert!(Reader::new(&[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x02]).number().is_err());
        assert_eq!(Reader::new(&[5, 1]).bytes(4, "x"), Err(WireError::Limit("x")));
    }
}
