//! The dictionary at the start of a `.warc.zst` file: a skippable frame that the other frames are decoded with.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use crate::error::ReadError;

/// The skippable frame that holds a dictionary, as the draft for `.warc.zst` has it.
pub(crate) const FRAME_MAGIC: u32 = 0x184D_2A5D;
const ZSTD_MAGIC: u32 = 0xFD2F_B528;
/// Larger dictionaries are refused.
pub const MAX_DICTIONARY_BYTES: u64 = 8 << 20;

/// Tells dictionaries apart; zero for none.
pub(crate) fn dictionary_id(dictionary: Option<&[u8]>) -> u64 {
    dictionary.map_or(0, |bytes| xxhash_rust::xxh3::xxh3_64(bytes).max(1))
}

/// The frame that opens a file whose other frames refer to `dictionary`.
pub(crate) fn skippable(dictionary: &[u8]) -> Vec<u8> {
    // Longer ones are refused when the archive is opened, so the length fits.
    let length = u32::try_from(dictionary.len()).unwrap_or(u32::MAX);
    [&FRAME_MAGIC.to_le_bytes(), &length.to_le_bytes(), dictionary].concat()
}

/// Trains a dictionary of at most `bytes` on samples, each the bytes of one record. None if they are too few.
pub fn train(samples: &[&[u8]], bytes: usize) -> Option<Vec<u8>> {
    zstd::dict::from_samples(samples, bytes).ok()
}

fn word(bytes: &[u8]) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(..4)?.try_into().ok()?))
}

/// Whether these bytes start a skippable frame (any of the sixteen magic numbers).
pub(crate) fn starts_skippable(bytes: &[u8]) -> bool {
    word(bytes).is_some_and(|magic| magic & 0xffff_fff0 == 0x184D_2A50)
}

/// Reads a skippable frame; returns the dictionary if it holds one.
pub(crate) fn read_skippable(input: &mut impl Read, offset: u64) -> Result<Option<Vec<u8>>, ReadError> {
    let damaged = |reason: &str| ReadError::Damaged { offset, reason: reason.to_owned() };
    let mut head = [0u8; 8];
    input.read_exact(&mut head).map_err(|e| damaged(&e.to_string()))?;
    let size = u64::from(word(&head[4..]).unwrap_or_default());
    if size > MAX_DICTIONARY_BYTES {
        return Err(damaged("a skippable frame larger than any dictionary"));
    }
    let mut content = Vec::new();
    let read = input.take(size).read_to_end(&mut content).map_err(|e| damaged(&e.to_string()))?;
    if read as u64 != size {
        return Err(damaged("the dictionary is cut off"));
    }
    if word(&head) != Some(FRAME_MAGIC) {
        return Ok(None);
    }
    if word(&content) != Some(ZSTD_MAGIC) {
        return Ok(Some(content));
    }
    let limit = usize::try_from(MAX_DICTIONARY_BYTES).unwrap_or(usize::MAX);
    zstd::bulk::decompress(&content, limit).map(Some).map_err(|e| damaged(&e.to_string()))
}

/// The dictionary at the start of a file, if there is one.
pub(crate) fn read_from(file: &mut File, path: &Path) -> Result<Option<Vec<u8>>, ReadError> {
    let io = |source| ReadError::Io { path: path.to_owned(), source };
    let mut start = Vec::with_capacity(4);
    file.seek(SeekFrom::Start(0)).map_err(io)?;
    file.take(4).read_to_end(&mut start).map_err(io)?;
    if !starts_skippable(&start) {
        return Ok(None);
    }
    file.seek(SeekFrom::Start(0)).map_err(io)?;
    read_skippable(file, 0)
}
