//! What travels with a link besides its URL, depth and counts: where it was found, how often it was redirected, how well
//! it suits the topic, and whether the user named it.

use lycosa_types::UrlId;

const VERSION: u8 = 1;
const SEED: u8 = 1;
const FOUND_ON: u8 = 2;
/// Version, flags, redirects, relevance, and where it was found.
const MOST_BYTES: usize = 4 + 18;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Note {
    pub seed: bool,
    pub redirects: u8,
    /// 0 to 1, in steps of 1/255.
    pub relevance: f32,
    pub found_on: Option<UrlId>,
}

impl Note {
    /// Writes it into `out`, which is emptied first.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.clear();
        out.reserve(MOST_BYTES);
        let flags = if self.seed { SEED } else { 0 } | if self.found_on.is_some() { FOUND_ON } else { 0 };
        out.extend([VERSION, flags, self.redirects, (self.relevance.clamp(0.0, 1.0) * 255.0) as u8]);
        if let Some(id) = self.found_on {
            out.extend(id.to_bytes());
        }
    }

    /// None if it is not a note of this version.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (&[VERSION, flags, redirects, relevance], rest) = bytes.split_first_chunk::<4>()? else {
            return None;
        };
        let found_on = match flags & FOUND_ON {
            0 if rest.is_empty() => None,
            0 => return None,
            _ => Some(UrlId::from_bytes(rest)?),
        };
        let (seed, relevance) = (flags & SEED != 0, f32::from(relevance) / 255.0);
        Some(Self { seed, redirects, relevance, found_on })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lycosa_types::{PartitionId, UrlKey};

    #[test]
    fn notes_survive_the_way_and_others_are_refused() {
        let id = UrlId { partition: PartitionId(9), key: UrlKey(77) };
        let mut bytes = Vec::new();
        for note in [
            Note::default(),
            Note { seed: true, redirects: 3, relevance: 1.0, found_on: Some(id) },
            Note { found_on: Some(id), ..Note::default() },
        ] {
            note.encode(&mut bytes);
            assert_eq!(Note::decode(&bytes), Some(note));
        }
        for bad in [&[][..], &[1, 0, 0], &[2, 0, 0, 0], &[1, 0, 0, 0, 9], &[1, 2, 0, 0, 1]] {
            assert_eq!(Note::decode(bad), None, "{bad:?}");
        }
    }
}
