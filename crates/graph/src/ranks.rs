//! The ranks of a crawl's URLs on disk, `graph/ranks`; little-endian:
//!
//! ```text
//! file   = "LYCRANK1" log_bytes:u64 count:u64 damping:f64 change:f64 rounds:u32 weighting:u8 0:u8{3} id:u64{count} rank:f32{count}
//! ```
//!
//! Ids ascend and ranks stand in their order. A rank is PageRank times the number of URLs, so that the average is 1 whatever
//! the size of the crawl. `weighting` is 0 for links weighed by their attributes and 1 for plain ones.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::Path;

use crate::error::GraphError;
use crate::pagerank::{RankOptions, Ranking};
use crate::weight::Weighting;

const MAGIC: &[u8; 8] = b"LYCRANK1";
const HEADER_BYTES: usize = 48;
const RECORD_BYTES: u64 = 12;
/// Leading bits of an id that are looked at before the search begins.
const PREFIX_BITS: u32 = 12;

/// How ranks were made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RanksInfo {
    /// Length of the edge log at that time.
    pub log_bytes: u64,
    pub damping: f64,
    /// How much the last round changed.
    pub change: f64,
    pub rounds: u32,
    pub weighting: Weighting,
}

/// Ranks by id, in memory: twelve bytes a URL.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranks {
    pub info: RanksInfo,
    ids: Vec<u64>,
    ranks: Vec<f32>,
    /// Where ids with these leading bits begin.
    prefixes: Vec<usize>,
}

impl Ranks {
    /// Ranks of `ids`, which are named by number as in the index.
    pub fn new(ids: &[u64], ranking: &Ranking, options: &RankOptions, log_bytes: u64) -> Self {
        let scale = ranking.ranks.len() as f64;
        let scaled = ranking.ranks.iter().map(|rank| (rank * scale) as f32);
        let mut pairs: Vec<(u64, f32)> = ids.iter().copied().zip(scaled).collect();
        pairs.sort_unstable_by_key(|pair| pair.0);
        let info = RanksInfo {
            log_bytes,
            damping: options.damping,
            change: ranking.change,
            rounds: ranking.rounds,
            weighting: options.weighting,
        };
        let ids: Vec<u64> = pairs.iter().map(|pair| pair.0).collect();
        Self { info, prefixes: prefixes(&ids), ids, ranks: pairs.into_iter().map(|pair| pair.1).collect() }
    }

    pub fn open(path: &Path) -> Result<Self, GraphError> {
        let io = GraphError::io(path);
        let damaged = || GraphError::Damaged(path.to_owned());
        let file = File::open(path).map_err(&io)?;
        let length = file.metadata().map_err(&io)?.len();
        let mut input = BufReader::with_capacity(1 << 20, file);
        let mut header = [0; HEADER_BYTES];
        input.read_exact(&mut header).map_err(&io)?;
        let (info, count) = read_header(&header).ok_or_else(damaged)?;
        if count.checked_mul(RECORD_BYTES) != length.checked_sub(HEADER_BYTES as u64) {
            return Err(damaged());
        }
        let mut ids = Vec::with_capacity(count as usize);
        let mut id = [0; 8];
        for _ in 0..count {
            input.read_exact(&mut id).map_err(&io)?;
            ids.push(u64::from_le_bytes(id));
        }
        let mut ranks = Vec::with_capacity(count as usize);
        let mut rank = [0; 4];
        for _ in 0..count {
            input.read_exact(&mut rank).map_err(&io)?;
            ranks.push(f32::from_le_bytes(rank));
        }
        if !ids.is_sorted() {
            return Err(damaged());
        }
        Ok(Self { info, prefixes: prefixes(&ids), ids, ranks })
    }

    /// Writes the file; readers see the old or the new one.
    pub fn save(&self, path: &Path) -> Result<(), GraphError> {
        let next = path.with_extension("next");
        let write = || {
            let mut out = BufWriter::with_capacity(1 << 20, File::create(&next)?);
            out.write_all(&self.header())?;
            self.ids.iter().try_for_each(|id| out.write_all(&id.to_le_bytes()))?;
            self.ranks.iter().try_for_each(|rank| out.write_all(&rank.to_le_bytes()))?;
            out.flush()?;
            out.get_ref().sync_data()?;
            std::fs::rename(&next, path)
        };
        write().map_err(GraphError::io(path))
    }

    fn header(&self) -> [u8; HEADER_BYTES] {
        let mut header = [0; HEADER_BYTES];
        header[..8].copy_from_slice(MAGIC);
        header[8..16].copy_from_slice(&self.info.log_bytes.to_le_bytes());
        header[16..24].copy_from_slice(&(self.ids.len() as u64).to_le_bytes());
        header[24..32].copy_from_slice(&self.info.damping.to_le_bytes());
        header[32..40].copy_from_slice(&self.info.change.to_le_bytes());
        header[40..44].copy_from_slice(&self.info.rounds.to_le_bytes());
        header[44] = u8::from(self.info.weighting == Weighting::Plain);
        header
    }

    /// The rank of a URL, by the low half of its key; the average is 1.
    pub fn rank_of(&self, id: u64) -> Option<f32> {
        let prefix = (id >> (64 - PREFIX_BITS)) as usize;
        let (from, until) = (*self.prefixes.get(prefix)?, *self.prefixes.get(prefix + 1)?);
        let at = self.ids.get(from..until)?.binary_search(&id).ok()?;
        self.ranks.get(from + at).copied()
    }

    pub fn len(&self) -> usize {
        self.ids.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Every URL with its rank, by id.
    pub fn iter(&self) -> impl Iterator<Item = (u64, f32)> + '_ {
        self.ids.iter().copied().zip(self.ranks.iter().copied())
    }

    /// The `count` best, best first; ties by id.
    pub fn best(&self, count: usize) -> Vec<(u64, f32)> {
        let mut all: Vec<(u64, f32)> = self.iter().collect();
        let order = |a: &(u64, f32), b: &(u64, f32)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
        if count < all.len() {
            all.select_nth_unstable_by(count, order);
            all.truncate(count);
        }
        all.sort_unstable_by(order);
        all
    }
}

fn prefixes(ids: &[u64]) -> Vec<usize> {
    let starts = (0..1u64 << PREFIX_BITS).map(|prefix| prefix << (64 - PREFIX_BITS));
    starts.map(|start| ids.partition_point(|id| *id < start)).chain([ids.len()]).collect()
}

fn read_header(header: &[u8; HEADER_BYTES]) -> Option<(RanksInfo, u64)> {
    let (words, _) = header.as_chunks::<8>();
    let [magic, log_bytes, count, damping, change, last] = words else { return None };
    let [r0, r1, r2, r3, weighting, ..] = *last;
    let weighting = match weighting {
        0 => Weighting::Attributes,
        1 => Weighting::Plain,
        _ => return None,
    };
    let info = RanksInfo {
        log_bytes: u64::from_le_bytes(*log_bytes),
        damping: f64::from_le_bytes(*damping),
        change: f64::from_le_bytes(*change),
        rounds: u32::from_le_bytes([r0, r1, r2, r3]),
        weighting,
    };
    (magic == MAGIC).then_some((info, u64::from_le_bytes(*count)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranks(count: u64) -> Ranks {
        let ids: Vec<u64> = (0..count).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        let total = (count * (count + 1) / 2) as f64;
        let ranking =
            Ranking { ranks: (1..=count).map(|i| i as f64 / total).collect(), rounds: 7, change: 1e-8 };
        Ranks::new(&ids, &ranking, &RankOptions::default(), 99)
    }

    #[test]
    fn ranks_come_back_and_are_found_by_id() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ranks");
        for count in [0, 1, 5000] {
            let ranks = ranks(count);
            ranks.save(&path).unwrap();
            assert_eq!(Ranks::open(&path).unwrap(), ranks);
        }
        let ranks = Ranks::open(&path).unwrap();
        let best = ranks.best(3);
        assert_eq!(best[0].0, 4999u64.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        assert!(best[0].1 > best[1].1 && best.len() == 3);
        for (id, rank) in ranks.iter() {
            assert_eq!(ranks.rank_of(id), Some(rank));
            assert_eq!(ranks.rank_of(id ^ 1), None);
        }
        assert!((ranks.iter().map(|(_, rank)| f64::from(rank)).sum::<f64>() / 5000.0 - 1.0).abs() < 1e-5);
    }

    #[test]
    fn what_was_cut_off_or_is_foreign_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ranks");
        ranks(3).save(&path).unwrap();
        let whole = std::fs::read(&path).unwrap();
        for cut in 0..whole.len() {
            std::fs::write(&path, &whole[..cut]).unwrap();
            assert!(matches!(Ranks::open(&path), Err(GraphError::Damaged(_))), "{cut}");
        }
        std::fs::write(&path, b"LYCRANK9 and more than forty-eight bytes of something else").unwrap();
        assert!(matches!(Ranks::open(&path), Err(GraphError::Damaged(_))));
    }
}
