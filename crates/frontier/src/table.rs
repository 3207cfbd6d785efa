//! Memory for tables that are read at random.
//!
//! A large table is mapped by itself: given back as a whole when it has been copied to a larger one, where the allocator would
//! keep the hole; and in huge pages where the system has them, since a read of a gigabyte of small pages has to look for the page
//! first.

use std::ops::{Deref, DerefMut};

use memmap2::MmapMut;

/// Smaller tables are the allocator's: the size of a huge page.
const MAPPED_FROM: usize = 2 << 20;

/// Numbers, as many as it was made with.
#[derive(Debug)]
pub(crate) enum Table {
    Allocated(Vec<u64>),
    Mapped(MmapMut),
}

impl Table {
    pub(crate) fn zeroed(len: usize) -> Self {
        let bytes = len.saturating_mul(size_of::<u64>());
        if bytes >= MAPPED_FROM
            && let Ok(map) = MmapMut::map_anon(bytes)
        {
            #[cfg(target_os = "linux")]
            if let Err(error) = map.advise(memmap2::Advice::HugePage) {
                tracing::debug!(%error, "no huge pages");
            }
            return Self::Mapped(map);
        }
        Self::Allocated(vec![0; len])
    }
}

impl Deref for Table {
    type Target = [u64];

    #[inline]
    fn deref(&self) -> &[u64] {
        match self {
            Self::Allocated(numbers) => numbers,
            // A mapping begins at a page, so that it can always be read like this.
            Self::Mapped(map) => bytemuck::try_cast_slice(map).unwrap_or_default(),
        }
    }
}

impl DerefMut for Table {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u64] {
        match self {
            Self::Allocated(numbers) => numbers,
            Self::Mapped(map) => bytemuck::try_cast_slice_mut(map).unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_all_sizes_are_empty_and_keep_what_is_put_in() {
        for len in [0, 64, MAPPED_FROM / 8 - 1, MAPPED_FROM / 8, MAPPED_FROM] {
            let mut table = Table::zeroed(len);
            assert_eq!(table.len(), len);
            assert!(table.iter().all(|number| *number == 0));
            assert_eq!(matches!(table, Table::Mapped(_)), len * 8 >= MAPPED_FROM);
            if let Some(last) = table.last_mut() {
                *last = 7;
                assert_eq!(table[len - 1], 7);
            }
        }
    }
}
