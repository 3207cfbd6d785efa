//! Bringing an archive directory back into a known shape after a crash, and sealing segments so that a crash can be told.
//!
//! Sealing: records durable → sorted index written beside under a temporary name and renamed → segment renamed → open
//! index removed → directory synced. Whatever step a crash hits, the names tell which, and [`repair`] goes on from there.

use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

use crate::cdxj::read_place;
use crate::dictionary;
use crate::error::{ArchiveError, ReadError};
use crate::index::push_line;
use crate::reader::RecordReader;
use crate::record::ReadLimits;
use crate::segment::{Segment, segments, sync_dir};
use crate::writer::DurableEnd;

/// An index is written in pieces of this size.
const WRITE_BYTES: usize = 256 << 10;

/// An open segment that may be written on.
#[derive(Debug)]
pub(crate) struct Repaired {
    pub segment: Segment,
    pub end: u64,
    pub index_end: u64,
    pub dictionary: Option<Vec<u8>>,
}

/// Cuts torn tails. Returns the open segment to go on with, if there is one; any other open segment is sealed.
pub(crate) fn repair(dir: &Path, known: Option<DurableEnd>) -> Result<Option<Repaired>, ArchiveError> {
    let mut going_on = None;
    let found = segments(dir)?;
    if let Some(known) = known.filter(|k| k.offset > 0)
        && !found.iter().any(|s| s.number == known.segment)
    {
        return Err(lost(known, 0));
    }
    for segment in found {
        if !segment.open {
            if let Some(known) = known.filter(|k| k.segment == segment.number) {
                let length = file_length(&segment.path())?;
                if length < known.offset {
                    return Err(lost(known, length));
                }
            }
            remove_if_there(&segment.open_index_path())?;
            continue;
        }
        // A sorted index beside an open segment: sealing stopped half-way.
        remove_if_there(&segment.sealed_index_path())?;
        let repaired = match known {
            Some(known) if known.segment < segment.number => None,
            Some(known) if known.segment == segment.number => Some(cut_at(segment.clone(), known)?),
            _ => walk(segment.clone())?,
        };
        match repaired {
            // Nothing whole in it: the number is free for the next segment.
            None => {
                remove_if_there(&segment.open_path())?;
                remove_if_there(&segment.open_index_path())?;
            }
            Some(repaired) => {
                if let Some(earlier) = going_on.replace(repaired) {
                    truncate(&earlier)?;
                    seal(&earlier.segment)?;
                }
            }
        }
    }
    sync_dir(dir)?;
    Ok(going_on)
}

fn lost(known: DurableEnd, actual: u64) -> ArchiveError {
    ArchiveError::Lost { segment: known.segment, expected: known.offset, actual }
}

fn file_length(path: &Path) -> Result<u64, ArchiveError> {
    Ok(fs::metadata(path).map_err(ArchiveError::io("reading", path))?.len())
}

fn remove_if_there(path: &Path) -> Result<(), ArchiveError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(ArchiveError::io("removing", path)(error))
        }
        _ => Ok(()),
    }
}

fn truncate(repaired: &Repaired) -> Result<(), ArchiveError> {
    for (path, length) in [
        (repaired.segment.open_path(), repaired.end),
        (repaired.segment.open_index_path(), repaired.index_end),
    ] {
        File::options()
            .write(true)
            .open(&path)
            .and_then(|file| file.set_len(length).and_then(|()| file.sync_all()))
            .map_err(ArchiveError::io("truncating", &path))?;
    }
    Ok(())
}

/// Trusts everything up to the known end, keeps the index lines that lie before it and adds those that are missing.
fn cut_at(segment: Segment, known: DurableEnd) -> Result<Repaired, ArchiveError> {
    let length = file_length(&segment.open_path())?;
    if length < known.offset {
        return Err(lost(known, length));
    }
    let index_path = segment.open_index_path();
    let lines = match fs::read(&index_path) {
        Ok(lines) => lines,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(ArchiveError::io("reading", &index_path)(error)),
    };
    let gap = segment.gap_bytes();
    let (mut kept, mut covered) = (0, 0);
    for line in lines.split_inclusive(|&b| b == b'\n') {
        match read_place(line) {
            Some((offset, length)) if offset >= covered && place_end(offset, length, gap) <= known.offset => {
                kept += line.len();
                covered = place_end(offset, length, gap);
            }
            _ => break,
        }
    }
    let mut lines = lines;
    lines.truncate(kept);
    // Nothing is changed before the end has proved to be one: with the wrong state this would destroy records.
    let (end, lines) = whole_end(&segment, covered, known.offset, lines)?;
    if end != known.offset || end == 0 {
        return Err(ArchiveError::NotABoundary { segment: segment.number, offset: known.offset });
    }
    with_index(segment, end, &lines)
}

fn place_end(offset: u64, length: u64, gap: u64) -> u64 {
    offset.saturating_add(length).saturating_add(gap)
}

/// Walks an open segment from its start and finds the end of the last whole record. None if there is none.
fn walk(segment: Segment) -> Result<Option<Repaired>, ArchiveError> {
    match whole_end(&segment, 0, u64::MAX, Vec::new())? {
        (0, _) => Ok(None),
        (end, lines) => with_index(segment, end, &lines).map(Some),
    }
}

/// Makes `lines` the index of a segment that is good up to `end`.
fn with_index(segment: Segment, end: u64, lines: &[u8]) -> Result<Repaired, ArchiveError> {
    let index_path = segment.open_index_path();
    if fs::read(&index_path).ok().as_deref() != Some(lines) {
        write_durably(&index_path, &[lines])?;
    }
    let path = segment.open_path();
    let mut file = File::open(&path).map_err(ArchiveError::io("opening", &path))?;
    let dictionary = dictionary::read_from(&mut file, &path)?;
    Ok(Repaired { dictionary, segment, end, index_end: lines.len() as u64 })
}

/// Walks the records of a segment between `from` and `limit`. Returns the end of the last whole one, and `lines` with a line
/// added for each.
pub(crate) fn whole_end(
    segment: &Segment,
    from: u64,
    limit: u64,
    mut lines: Vec<u8>,
) -> Result<(u64, Vec<u8>), ArchiveError> {
    let path = segment.path();
    let mut file = File::open(&path).map_err(ArchiveError::io("opening", &path))?;
    // A torn dictionary leaves nothing readable behind it; the walk then finds no whole record.
    let dictionary = dictionary::read_from(&mut file, &path).unwrap_or_default();
    file.seek(SeekFrom::Start(from)).map_err(ArchiveError::io("seeking in", &path))?;
    let mut reader = RecordReader::new(
        BufReader::with_capacity(1 << 18, file.take(limit.saturating_sub(from))),
        from,
        ReadLimits::default(),
    )
    .with_dictionary(dictionary);
    let mut end = from;
    let mut whole_lines = lines.len();
    loop {
        match reader.next_record() {
            Ok(Some(placed)) => {
                if reader.offset() != place_end(placed.offset, placed.length, segment.gap_bytes()) {
                    break;
                }
                whole_lines = push_line(&mut lines, &placed, &segment.name);
                end = reader.offset();
            }
            Ok(None) => break,
            Err(ReadError::Io { path, source }) => {
                return Err(ArchiveError::Read(ReadError::Io { path, source }));
            }
            Err(_) => break,
        }
    }
    lines.truncate(whole_lines);
    Ok((end, lines))
}

fn write_durably(path: &Path, parts: &[&[u8]]) -> Result<(), ArchiveError> {
    let write = || {
        let mut file = BufWriter::with_capacity(WRITE_BYTES, File::create(path)?);
        parts.iter().try_for_each(|part| file.write_all(part))?;
        file.into_inner()?.sync_all()
    };
    write().map_err(ArchiveError::io("writing", path))
}

/// Sorts the index and gives both files their final names. The records must be durable.
pub(crate) fn seal(segment: &Segment) -> Result<(), ArchiveError> {
    let open_index = segment.open_index_path();
    let lines = fs::read(&open_index).map_err(ArchiveError::io("reading", &open_index))?;
    let temporary = segment.sealed_index_path().with_extension("cdxj.sorting");
    write_durably(&temporary, &sorted_lines(&lines))?;
    let rename = |from: &Path, to: &Path| fs::rename(from, to).map_err(ArchiveError::io("renaming", from));
    rename(&temporary, &segment.sealed_index_path())?;
    rename(&segment.open_path(), &segment.sealed_path())?;
    remove_if_there(&open_index)?;
    sync_dir(&segment.dir)
}

/// The lines in byte order, which is the order of `LC_ALL=C sort` and of the indexing tools.
pub(crate) fn sorted_lines(lines: &[u8]) -> Vec<&[u8]> {
    let (mut parts, mut start) = (Vec::new(), 0);
    for end in memchr::memchr_iter(b'\n', lines).map(|at| at + 1).chain([lines.len()]) {
        parts.extend(lines.get(start..end).filter(|line| !line.is_empty()));
        start = end;
    }
    // Lines of one host begin alike. What follows that decides between most of them, and lies beside its line.
    let first = parts.first().copied().unwrap_or_default();
    let common = parts.iter().fold(first.len(), |common, line| {
        let alike = first.iter().zip(line.iter()).take(common).take_while(|(a, b)| a == b);
        alike.count()
    });
    let mut keyed: Vec<(u64, &[u8])> =
        parts.into_iter().map(|line| (eight_bytes(line, common), line)).collect();
    keyed.sort_unstable();
    keyed.into_iter().map(|(_, line)| line).collect()
}

/// The bytes from `at` on as a number that sorts as they do, except that bytes that are not there count as zeros.
fn eight_bytes(line: &[u8], at: usize) -> u64 {
    let rest = line.get(at..).unwrap_or_default();
    let mut bytes = [0; 8];
    for (byte, &from) in bytes.iter_mut().zip(rest) {
        *byte = from;
    }
    u64::from_be_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn lines_are_in_byte_order(
            start in "(org,example\\)/)?",
            ends in proptest::collection::vec("[\u{0}a-c/]{0,12}", 0..60),
            whole in any::<bool>(),
        ) {
            let mut text: String = ends.iter().map(|end| format!("{start}{end}\n")).collect();
            if !whole {
                text.pop();
            }
            let mut expected: Vec<&[u8]> = text.as_bytes().split_inclusive(|&byte| byte == b'\n').collect();
            expected.sort_unstable();
            prop_assert_eq!(sorted_lines(text.as_bytes()), expected);
        }
    }
}
