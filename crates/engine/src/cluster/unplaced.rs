//! A link that waits until its host is placed, as it lies in the state of the host's home partition: version 1, depth u16,
//! pages u32, importance f32 (all big-endian), length of the note u16, note, URL.

use lycosa_cluster::Link;
use lycosa_frontier::{Store, StoreError};
use lycosa_types::{CanonUrl, Partitioner, UrlId};

const VERSION: u8 = 1;
const HEAD_BYTES: usize = 1 + 2 + 4 + 4 + 2;

/// Writes a link.
pub fn encode(link: &Link<'_>) -> Vec<u8> {
    let mut out = Vec::with_capacity(HEAD_BYTES + link.note.len() + link.url.len());
    // Notes are shorter than what may travel with a link.
    let note = &link.note[..link.note.len().min(usize::from(u16::MAX))];
    out.push(VERSION);
    out.extend(link.depth.to_be_bytes());
    out.extend(link.backlinks.to_be_bytes());
    out.extend(link.importance.to_be_bytes());
    out.extend((note.len() as u16).to_be_bytes());
    out.extend_from_slice(note);
    out.extend_from_slice(link.url.as_bytes());
    out
}

/// Reads what [`encode`] wrote; none if it is something else.
pub fn decode(bytes: &[u8]) -> Option<Link<'_>> {
    let (&[VERSION], rest) = bytes.split_first_chunk::<1>()? else { return None };
    let (depth, rest) = rest.split_first_chunk::<2>()?;
    let (backlinks, rest) = rest.split_first_chunk::<4>()?;
    let (importance, rest) = rest.split_first_chunk::<4>()?;
    let (length, rest) = rest.split_first_chunk::<2>()?;
    let (note, url) = rest.split_at_checked(usize::from(u16::from_be_bytes(*length)))?;
    Some(Link {
        url: std::str::from_utf8(url).ok()?,
        depth: u16::from_be_bytes(*depth),
        backlinks: u32::from_be_bytes(*backlinks),
        importance: f32::from_be_bytes(*importance),
        note,
    })
}

/// The id under which a directory knows a URL that was visited: where its host was placed, or its home if it is not known.
pub fn visited_id(store: &Store, partitioner: &Partitioner, url: &CanonUrl) -> Result<UrlId, StoreError> {
    known_id(partitioner, url, |id| Ok(store.url(id)?.is_some()))
}

/// The same for a URL that may still wait, which takes longer to find.
pub fn waiting_id(store: &Store, partitioner: &Partitioner, url: &CanonUrl) -> Result<UrlId, StoreError> {
    known_id(partitioner, url, |id| Ok(store.visited_or_waiting(id, url)?.is_some()))
}

fn known_id(
    partitioner: &Partitioner,
    url: &CanonUrl,
    is_known: impl Fn(UrlId) -> Result<bool, StoreError>,
) -> Result<UrlId, StoreError> {
    let home = partitioner.id_of(url);
    if partitioner.regions == 0 {
        return Ok(home);
    }
    for partition in partitioner.places_of(url) {
        let id = UrlId { partition, key: home.key };
        if is_known(id)? {
            return Ok(id);
        }
    }
    Ok(home)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_survive_waiting_and_others_are_refused() {
        let link =
            Link { url: "http://a.test/ä", depth: 7, backlinks: 1 << 20, importance: 0.25, note: b"n\0" };
        let bytes = encode(&link);
        assert_eq!(decode(&bytes), Some(link));
        for end in 0..HEAD_BYTES + 2 {
            assert_eq!(decode(&bytes[..end]), None);
        }
        assert_eq!(decode(&[2; 40]), None);
    }
}
