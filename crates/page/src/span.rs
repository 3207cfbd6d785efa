//! A range of one of the page's buffers.

/// Bytes `start..end` of a buffer; half the size of `Range<usize>` and `Copy`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Span {
    pub start: u32,
    pub end: u32,
}

impl Span {
    pub(crate) fn new(start: usize, end: usize) -> Self {
        Self { start: start as u32, end: end as u32 }
    }

    /// What the span covers; empty when it does not belong to `buffer`.
    pub fn of(self, buffer: &str) -> &str {
        buffer.get(self.range()).unwrap_or("")
    }

    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }

    pub fn len(self) -> usize {
        self.end.saturating_sub(self.start) as usize
    }

    pub fn is_empty(self) -> bool {
        self.end <= self.start
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_of_another_buffer_is_empty() {
        assert_eq!(Span::new(1, 3).of("abcd"), "bc");
        assert_eq!(Span::new(1, 30).of("abcd"), "");
        assert_eq!(Span::new(0, 1).of("é"), "");
        assert_eq!(Span { start: 3, end: 1 }.len(), 0);
    }
}
