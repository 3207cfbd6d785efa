//! Bits on their way into bytes, lowest first.

use bytes::{BufMut, BytesMut};

/// Bits that do not fill a byte yet. Between two blocks there are at most seven.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bits {
    pub held: u64,
    pub count: u32,
}

impl Bits {
    /// Adds `count` bits. No more than 63 may be held before they are flushed.
    #[inline(always)]
    pub fn put(&mut self, bits: u64, count: u32) {
        self.held |= bits << (self.count & 63);
        self.count += count;
    }

    /// Writes the whole bytes to `out` at `at`. Eight bytes are written always, which is quicker than the right number, so
    /// `out` has to reach that far; what lies beyond its end is dropped.
    #[inline(always)]
    pub fn flush(&mut self, out: &mut [u8], at: &mut u32) {
        if let Some(place) =
            out.get_mut(*at as usize..*at as usize + 8).and_then(|eight| eight.first_chunk_mut::<8>())
        {
            *place = self.held.to_le_bytes();
        }
        *at += self.count >> 3;
        self.held >>= self.count & 56;
        self.count &= 7;
    }

    /// Fills the last byte up and writes it.
    pub fn finish(&mut self, out: &mut BytesMut) {
        while self.count > 0 {
            out.put_u8(self.held as u8);
            self.held >>= 8;
            self.count = self.count.saturating_sub(8);
        }
        *self = Self::default();
    }
}
