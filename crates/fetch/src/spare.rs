//! Receive buffers used again: the response that is read next lands where the last one was, which is still near the
//! processor, and the allocator is not asked for it.
//!
//! Promise: at most [`MOST`] buffers of at most [`LARGEST_BYTES`] wait here.

use std::cell::RefCell;

use bytes::BytesMut;

/// Room for the first read: most pages fit, and several that come together.
pub(crate) const FIRST_READ_BYTES: usize = 64 * 1024;
/// A larger buffer is given back to the allocator: few pages are as long, and memory that was given back must be mapped
/// anew, page by page.
pub(crate) const LARGEST_BYTES: usize = 256 * 1024;
/// Buffers kept. A thread judges one response at a time, so one would nearly do.
const MOST: usize = 4;

/// The spare buffers of one fetcher, the one used last on top.
#[derive(Debug, Default)]
pub(crate) struct Spare(RefCell<Vec<BytesMut>>);

impl Spare {
    /// An empty buffer with room for at least [`FIRST_READ_BYTES`].
    pub fn take(&self) -> BytesMut {
        self.0.borrow_mut().pop().unwrap_or_else(|| BytesMut::with_capacity(FIRST_READ_BYTES))
    }

    /// Keeps a buffer, if it is of a size worth keeping.
    pub fn put(&self, mut buffer: BytesMut) {
        buffer.clear();
        // Of several responses that came together the last one brings the whole of their buffer.
        let _ = buffer.try_reclaim(FIRST_READ_BYTES);
        let mut kept = self.0.borrow_mut();
        if kept.len() < MOST && (FIRST_READ_BYTES..=LARGEST_BYTES).contains(&buffer.capacity()) {
            kept.push(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_buffer_used_last_comes_first_and_few_are_kept() {
        let spare = Spare::default();
        let mut buffer = spare.take();
        buffer.extend_from_slice(b"HTTP/1.1 200 OK");
        let place = buffer.as_ptr();
        spare.put(BytesMut::with_capacity(FIRST_READ_BYTES));
        spare.put(buffer);
        let again = spare.take();
        assert!(again.is_empty() && again.as_ptr() == place);
        for bytes in [16, LARGEST_BYTES + 1] {
            spare.put(BytesMut::with_capacity(bytes));
        }
        assert_eq!(spare.0.borrow().len(), 1);
        (0..2 * MOST).for_each(|_| spare.put(BytesMut::with_capacity(FIRST_READ_BYTES)));
        assert_eq!(spare.0.borrow().len(), MOST);
    }
}
