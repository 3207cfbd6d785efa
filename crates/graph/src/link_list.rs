//! Compressed lists of links: an owner, and the pages it links to (or is linked from), numbered.
//!
//! ```text
//! list = owner:varint count:varint attributes:u8{count} gap:varint{count}
//! ```
//!
//! Numbers ascend; each gap is the number less the one before (the first stands as it is). Pages are numbered as they are
//! first met, so that neighbours on the web get near numbers: most gaps take one byte or two. A varint holds seven bits a byte,
//! lowest first, and ends with a byte below 128.

use std::io::{ErrorKind, Read};

/// The longest varint of a 32-bit number.
pub const MAX_VARINT: usize = 5;
/// More links than any list that is read whole may have: the limit of the edge log.
pub const MAX_LINKS: u32 = 1 << 20;
const BUFFER_BYTES: usize = 1 << 20;

pub fn put_varint(out: &mut Vec<u8>, mut value: u32) {
    while value >= 128 {
        out.push(value as u8 | 128);
        value >>= 7;
    }
    out.push(value as u8);
}

/// The number at `at`, which moves behind it; none if the bytes end too soon or make no number.
#[inline]
pub fn varint(bytes: &[u8], at: &mut usize) -> Option<u32> {
    let first = *bytes.get(*at)?;
    if first < 128 {
        *at += 1;
        return Some(u32::from(first));
    }
    let (mut value, mut shift) = (u32::from(first & 127), 7);
    for step in 1..MAX_VARINT {
        let byte = *bytes.get(*at + step)?;
        value |= u32::from(byte & 127).checked_shl(shift)?;
        if byte < 128 {
            *at += step + 1;
            return Some(value);
        }
        shift += 7;
    }
    None
}

/// One list, decoded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkList {
    pub owner: u32,
    /// Packed, one for each link.
    pub attributes: Vec<u8>,
    /// Ascending.
    pub others: Vec<u32>,
}

impl LinkList {
    /// Takes `links` for its own; they must ascend.
    pub fn fill(&mut self, owner: u32, links: &[(u32, u8)]) {
        self.owner = owner;
        self.attributes.clear();
        self.attributes.extend(links.iter().map(|link| link.1));
        self.others.clear();
        self.others.extend(links.iter().map(|link| link.0));
    }

    pub fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.owner);
        put_varint(out, self.others.len() as u32);
        out.extend_from_slice(&self.attributes);
        let mut before = 0;
        for &other in &self.others {
            put_varint(out, other.wrapping_sub(before));
            before = other;
        }
    }
}

/// Undoes the gaps of `count` numbers. None if there are too few, or one is not below `limit`.
pub fn numbers(bytes: &[u8], at: &mut usize, count: usize, limit: u32, out: &mut Vec<u32>) -> Option<()> {
    out.clear();
    out.reserve(count);
    let mut number = 0u32;
    for _ in 0..count {
        number = number.checked_add(varint(bytes, at)?)?;
        if number >= limit {
            return None;
        }
        out.push(number);
    }
    Some(())
}

/// Reads list after list, block by block.
#[derive(Debug)]
pub struct ListReader<R> {
    input: R,
    buffer: Vec<u8>,
    at: usize,
    /// Numbers are below it.
    limit: u32,
    ended: bool,
}

impl<R: Read> ListReader<R> {
    /// Reads lists whose numbers are all below `limit`.
    pub fn new(input: R, limit: u32) -> Self {
        Self { input, buffer: Vec::with_capacity(BUFFER_BYTES), at: 0, limit, ended: false }
    }

    /// Reads the next list; false at the end. What is no list is an error of kind `InvalidData`.
    pub fn next_into(&mut self, list: &mut LinkList) -> std::io::Result<bool> {
        self.want(2 * MAX_VARINT)?;
        if self.at == self.buffer.len() {
            return Ok(false);
        }
        let damaged = || std::io::Error::from(ErrorKind::InvalidData);
        let owner = varint(&self.buffer, &mut self.at).ok_or_else(damaged)?;
        let count = varint(&self.buffer, &mut self.at).ok_or_else(damaged)?;
        if count > MAX_LINKS || owner >= self.limit {
            return Err(damaged());
        }
        let count = count as usize;
        self.want(count * (1 + MAX_VARINT))?;
        let attributes = self.buffer.get(self.at..self.at + count).ok_or_else(damaged)?;
        list.owner = owner;
        list.attributes.clear();
        list.attributes.extend_from_slice(attributes);
        self.at += count;
        numbers(&self.buffer, &mut self.at, count, self.limit, &mut list.others).ok_or_else(damaged)?;
        Ok(true)
    }

    /// Sees to it that `bytes` bytes are there, unless the input ends before.
    fn want(&mut self, bytes: usize) -> std::io::Result<()> {
        if self.buffer.len() - self.at >= bytes || self.ended {
            return Ok(());
        }
        self.buffer.drain(..self.at);
        self.at = 0;
        let target = bytes.max(BUFFER_BYTES);
        let missing = target - self.buffer.len();
        let got = self.input.by_ref().take(missing as u64).read_to_end(&mut self.buffer)?;
        self.ended = got < missing;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn list(owner: u32, others: &[u32]) -> LinkList {
        LinkList {
            owner,
            attributes: others.iter().map(|&other| other as u8).collect(),
            others: others.to_vec(),
        }
    }

    fn read(bytes: &[u8], limit: u32) -> std::io::Result<Vec<LinkList>> {
        let (mut reader, mut found, mut next) =
            (ListReader::new(bytes, limit), Vec::new(), LinkList::default());
        while reader.next_into(&mut next)? {
            found.push(next.clone());
        }
        Ok(found)
    }

    proptest! {
        #[test]
        fn lists_come_back(lists in prop::collection::vec(
            (0..u32::MAX - 1, prop::collection::btree_set(0..u32::MAX - 1, 0..40)), 0..30)) {
            let lists: Vec<LinkList> =
                lists.into_iter().map(|(owner, set)| list(owner, &set.into_iter().collect::<Vec<_>>())).collect();
            let mut bytes = Vec::new();
            lists.iter().for_each(|list| list.encode(&mut bytes));
            prop_assert_eq!(read(&bytes, u32::MAX).unwrap(), lists);
        }

        #[test]
        fn no_bytes_do_harm(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(lists) = read(&bytes, 1000) {
                prop_assert!(lists.iter().all(|list| list.others.iter().all(|&other| other < 1000)));
            }
        }
    }

    #[test]
    fn what_is_cut_off_or_out_of_range_is_refused() {
        let mut bytes = Vec::new();
        list(3, &[1, 200, 70_000]).encode(&mut bytes);
        assert_eq!(bytes.len(), 2 + 3 + 1 + 2 + 3);
        assert!(read(&bytes, 70_000).is_err());
        assert_eq!(read(&bytes, 70_001).unwrap().len(), 1);
        assert!((1..bytes.len()).all(|cut| read(&bytes[..cut], u32::MAX).is_err()));
    }
}
