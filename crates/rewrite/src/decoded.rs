//! A value with its escapes resolved, which remembers where its bytes came from.

use std::borrow::Cow;

/// Decoded bytes and, for each escape, where the raw bytes go on.
#[derive(Clone, Debug)]
pub struct Decoded<'a> {
    pub bytes: Cow<'a, [u8]>,
    /// From the first offset of the decoded bytes on, raw bytes begin at the second. In order.
    breaks: Vec<(usize, usize)>,
}

impl<'a> Decoded<'a> {
    /// A value without escapes.
    pub fn plain(bytes: &'a [u8]) -> Self {
        Self { bytes: Cow::Borrowed(bytes), breaks: Vec::new() }
    }

    /// Resolves escapes: `escape` is asked wherever `mark` stands, and says what the bytes from there stand for and how many
    /// of them do.
    pub fn resolve(raw: &'a [u8], mark: u8, escape: impl Fn(&[u8], &mut Vec<u8>) -> usize) -> Self {
        let Some(first) = memchr::memchr(mark, raw) else { return Self::plain(raw) };
        let mut bytes = raw[..first].to_vec();
        let mut breaks = Vec::new();
        let mut at = first;
        while at < raw.len() {
            let taken = escape(&raw[at..], &mut bytes);
            if taken == 0 {
                bytes.push(raw[at]);
                at += 1;
            } else {
                at += taken;
                breaks.push((bytes.len(), at));
            }
            let rest = &raw[at..];
            let run = memchr::memchr(mark, rest).unwrap_or(rest.len());
            bytes.extend_from_slice(&rest[..run]);
            at += run;
        }
        Self { bytes: Cow::Owned(bytes), breaks }
    }

    /// Where the byte at `offset` of the decoded value stands in the raw one.
    pub fn raw(&self, offset: usize) -> usize {
        let after = self.breaks.partition_point(|&(decoded, _)| decoded <= offset);
        match after.checked_sub(1).and_then(|index| self.breaks.get(index)) {
            Some(&(decoded, raw)) => {
                // Never into the escape that follows.
                let limit = self.breaks.get(after).map_or(usize::MAX, |next| next.1);
                (raw + offset - decoded).min(limit)
            }
            None => offset.min(self.breaks.first().map_or(usize::MAX, |next| next.1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_offset_leads_back() {
        let decoded = Decoded::resolve(b"a%41b%42", b'%', |raw, out| {
            out.push(raw[2] - b'1' + b'A');
            let _ = out;
            3
        });
        assert_eq!(&*decoded.bytes, b"aAbB");
        assert_eq!((0..=4).map(|offset| decoded.raw(offset)).collect::<Vec<_>>(), [0, 1, 4, 5, 8]);
    }
}
