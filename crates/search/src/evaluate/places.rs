//! Terms with their positions, frame by frame: first which pages have them, then the positions in those that matter.

use tantivy::positions::PositionReader;
use tantivy::postings::{BlockSegmentPostings, Postings, SegmentPostings};
use tantivy::schema::Field;
use tantivy::{DocId, DocSet, TERMINATED, Term};

use super::frame::{Bits, FRAME};
use super::positions::{LANES, Positions};
use super::segment::Segment;
use crate::error::SearchError;

/// Positions of all pages of a frame are read at once unless this many times as many as needed would be read.
const BULK: u64 = 4;
/// Positions that are asked for at a time: a reader looks for every block from where it was last asked, so not far.
const PIECE: usize = 1024;
/// With more terms than this their lists are not read from end to end.
const FEW_TERMS: usize = 64;

/// A page that has a term, and where its positions lie among those of the frame.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    slot: u16,
    start: u32,
    len: u32,
}

/// Where the sums of one page's steps lie.
#[derive(Clone, Copy, Debug)]
struct Run {
    slot: u16,
    start: u32,
    len: u32,
    /// The sum before the first.
    base: u32,
}

/// The positions of a word in the pages of a frame.
#[derive(Clone, Copy, Default)]
pub struct Runs<'p> {
    runs: &'p [Run],
    sums: &'p [u32],
}

impl<'p> Runs<'p> {
    #[inline]
    fn positions(self, run: &Run) -> Positions<'p> {
        let sums = self.sums.get(run.start as usize..).unwrap_or_default();
        Positions::new(sums, run.len as usize, run.base)
    }

    /// Calls for every page that both have; false, and nothing done, if one has a page that the other lacks.
    #[inline]
    pub fn each_pair(self, other: Self, mut each: impl FnMut(usize, Positions<'p>, Positions<'p>)) -> bool {
        let pairs = || self.runs.iter().zip(other.runs);
        if self.runs.len() != other.runs.len() || pairs().any(|(a, b)| a.slot != b.slot) {
            return false;
        }
        for (a, b) in pairs() {
            each(usize::from(a.slot), self.positions(a), other.positions(b));
        }
        true
    }
}

enum List {
    /// Read from end to end, positions apart.
    Whole {
        list: BlockSegmentPostings,
        positions: PositionReader,
        /// Positions before the block that the list stands at.
        passed: u64,
        /// Positions before the frame, and within.
        base: u64,
        within: u32,
    },
    /// Asked about few pages; the positions are read with them.
    Sought { list: SegmentPostings, places: Vec<u32> },
}

/// One term.
struct Placed {
    list: List,
    /// The wanted pages of the frame that have it, in ascending order.
    entries: Vec<Entry>,
}

impl Placed {
    /// Notes the wanted pages of the frame that have the term.
    fn fill(&mut self, start: DocId, wanted: &Bits, bits: &mut Bits) {
        self.entries.clear();
        let end = start.saturating_add(FRAME as DocId).min(TERMINATED);
        match &mut self.list {
            List::Whole { list, passed, base, within, .. } => {
                let mut first = None;
                *within = 0;
                while let Some(last) = list.docs().last().copied() {
                    let (docs, freqs) = (list.docs(), list.freqs());
                    if last >= start {
                        let from = docs.partition_point(|doc| *doc < start);
                        let to = if last < end { docs.len() } else { docs.partition_point(|doc| *doc < end) };
                        let before: u32 = freqs.iter().take(from).sum();
                        first.get_or_insert(*passed + u64::from(before));
                        let docs = docs.get(from..to).unwrap_or_default();
                        let freqs = freqs.get(from..to).unwrap_or_default();
                        note(&mut self.entries, (docs, freqs), start, wanted, within);
                    }
                    if last >= end {
                        break;
                    }
                    *passed += freqs.iter().map(|freq| u64::from(*freq)).sum::<u64>();
                    list.advance();
                }
                *base = first.unwrap_or(*passed);
                bits.set_ascending(self.entries.iter().map(|entry| usize::from(entry.slot)));
            }
            List::Sought { list, places } => {
                places.clear();
                let mut slot = 0;
                while let Some(next) = wanted.next(slot) {
                    let target = start + next as DocId;
                    let doc = if list.doc() < target { list.seek(target) } else { list.doc() };
                    if doc >= end {
                        return;
                    }
                    slot = (doc - start) as usize;
                    if wanted.has(slot) {
                        let from = places.len() as u32;
                        list.append_positions_with_offset(0, places);
                        self.entries.push(Entry { slot: slot as u16, start: from, len: list.term_freq() });
                        bits.set(slot);
                    }
                    slot += 1;
                }
            }
        }
    }

    /// Reads the steps in the pages of `bits`. Positions that are known are put in when all sums are formed.
    fn load(&mut self, bits: &Bits, sums: &mut Vec<u32>, runs: &mut Vec<Run>) {
        let List::Whole { positions, base, within, .. } = &mut self.list else { return };
        let is_needed = |entry: &Entry| bits.has(usize::from(entry.slot));
        let lens = self.entries.iter().map(|entry| entry.len * u32::from(is_needed(entry)));
        let needed: u64 = lens.map(u64::from).sum();
        let mut from = sums.len();
        let is_bulk = u64::from(*within) <= needed * BULK;
        if is_bulk {
            sums.resize(from + *within as usize, 0);
            let mut at = *base;
            for piece in sums.get_mut(from..).unwrap_or_default().chunks_mut(PIECE) {
                positions.read(at, piece);
                at += piece.len() as u64;
            }
            for entry in self.entries.iter().filter(|entry| is_needed(entry)) {
                let Entry { slot, start, len } = *entry;
                runs.push(Run { slot, start: from as u32 + start, len, base: 0 });
            }
            return;
        }
        sums.resize(from + needed as usize, 0);
        for entry in self.entries.iter().filter(|entry| is_needed(entry)) {
            let to = from + entry.len as usize;
            let Some(steps) = sums.get_mut(from..to) else { break };
            positions.read(*base + u64::from(entry.start), steps);
            runs.push(Run { slot: entry.slot, start: from as u32, len: entry.len, base: 0 });
            from = to;
        }
    }

    /// Puts in the positions that were read with the pages.
    fn add_known(&self, bits: &Bits, sums: &mut Vec<u32>, runs: &mut Vec<Run>) {
        let List::Sought { places, .. } = &self.list else { return };
        for entry in self.entries.iter().filter(|entry| bits.has(usize::from(entry.slot))) {
            let own = places.get(entry.start as usize..(entry.start + entry.len) as usize);
            runs.push(Run { slot: entry.slot, start: sums.len() as u32, len: entry.len, base: 0 });
            sums.extend_from_slice(own.unwrap_or_default());
        }
    }
}

/// Notes the wanted pages of a piece of a list. All are written, those that are not wanted are written over.
fn note(
    entries: &mut Vec<Entry>,
    (docs, freqs): (&[DocId], &[u32]),
    start: DocId,
    wanted: &Bits,
    within: &mut u32,
) {
    let mut len = entries.len();
    entries.resize(len + docs.len(), Entry::default());
    for (doc, freq) in docs.iter().zip(freqs) {
        let slot = (doc - start) as usize;
        if let Some(entry) = entries.get_mut(len) {
            *entry = Entry { slot: slot as u16, start: *within, len: *freq };
        }
        len += usize::from(wanted.has(slot));
        *within += freq;
    }
    entries.truncate(len);
}

/// Any of several terms of one field.
pub struct Places {
    terms: Vec<Placed>,
    /// The frame that it was last filled for.
    start: DocId,
    size: u64,
    /// Of the frame, once it is loaded: in ascending order, each page once.
    runs: Vec<Run>,
    /// Sums of steps, with nothing before the first and [`LANES`] behind the last.
    sums: Vec<u32>,
    /// Positions of a page that several terms have.
    together: Vec<u32>,
    next: usize,
}

impl Places {
    /// None where the segment has none of the terms. `expected` is how many pages may be asked about.
    pub fn open(
        terms: &[Term],
        field: Field,
        segment: &mut Segment<'_>,
        expected: u64,
    ) -> Result<Option<Self>, SearchError> {
        let mut placed = Vec::new();
        let mut size = 0;
        let inverted = segment.inverted(field)?;
        let mut infos = Vec::new();
        for term in terms {
            infos.extend(inverted.get_term_info(term)?);
        }
        let is_few = infos.len() <= FEW_TERMS;
        for info in infos {
            size += u64::from(info.doc_freq);
            // Going through a block costs about as much as seeking two pages.
            let is_sought = expected.saturating_mul(64) < u64::from(info.doc_freq) || !is_few;
            let list = if is_sought {
                List::Sought { list: segment.sought(&inverted, &info)?, places: Vec::new() }
            } else {
                let Some((list, positions)) = segment.placed(&inverted, field, &info)? else { continue };
                List::Whole { list, positions, passed: 0, base: 0, within: 0 }
            };
            placed.push(Placed { list, entries: Vec::new() });
        }
        Ok((!placed.is_empty()).then_some(Self {
            terms: placed,
            start: TERMINATED,
            size,
            runs: Vec::new(),
            sums: Vec::new(),
            together: Vec::new(),
            next: 0,
        }))
    }

    pub fn size(&self) -> u64 {
        self.size
    }

    /// Sets the wanted pages of the frame that have any of the terms.
    pub fn fill(&mut self, start: DocId, wanted: &Bits, bits: &mut Bits) {
        self.start = start;
        self.runs.clear();
        self.next = 0;
        self.terms.iter_mut().for_each(|term| term.fill(start, wanted, bits));
    }

    /// Reads the positions in some of the pages that it was filled with.
    pub fn load(&mut self, start: DocId, bits: &Bits) {
        if self.start != start {
            return;
        }
        let Self { terms, runs, sums, .. } = self;
        runs.clear();
        sums.clear();
        sums.push(0);
        let mut active = 0;
        for term in terms.iter_mut().filter(|term| !term.entries.is_empty()) {
            term.load(bits, sums, runs);
            active += 1;
        }
        let mut sum = 0_u32;
        for step in sums.iter_mut() {
            sum = sum.wrapping_add(*step);
            *step = sum;
        }
        for run in runs.iter_mut() {
            run.base = sums.get((run.start as usize).saturating_sub(1)).copied().unwrap_or(0);
        }
        terms.iter().for_each(|term| term.add_known(bits, sums, runs));
        if active > 1 {
            self.join();
        }
        self.sums.extend([0; LANES]);
        self.next = 0;
    }

    /// Puts the pages of all terms in order. Few pages have more than one of them: a page is in one language.
    fn join(&mut self) {
        let Self { runs, sums, together, .. } = self;
        // Each term's are in order already, which this sort makes use of.
        runs.sort_by_key(|run| run.slot);
        if runs.windows(2).all(|pair| pair[0].slot != pair[1].slot) {
            return;
        }
        let mut joined: Vec<Run> = Vec::with_capacity(runs.len());
        for same in runs.chunk_by(|a, b| a.slot == b.slot) {
            let [first, _, ..] = same else {
                joined.extend(same);
                continue;
            };
            together.clear();
            for run in same {
                let own = sums.get(run.start as usize..(run.start + run.len) as usize).unwrap_or_default();
                together.extend(own.iter().map(|sum| sum.wrapping_sub(run.base)));
            }
            together.sort_unstable();
            let (start, len) = (sums.len() as u32, together.len() as u32);
            sums.extend_from_slice(together);
            joined.push(Run { slot: first.slot, start, len, base: 0 });
        }
        *runs = joined;
    }

    /// The pages and positions of the frame.
    pub fn runs(&self, start: DocId) -> Runs<'_> {
        if self.start == start { Runs { runs: &self.runs, sums: &self.sums } } else { Runs::default() }
    }

    /// The positions in a page, in order; pages are asked about in ascending order.
    #[inline]
    pub fn of(&mut self, start: DocId, slot: usize) -> Positions<'_> {
        let mut next = self.next;
        let runs = self.runs(start).runs;
        while runs.get(next).is_some_and(|run| usize::from(run.slot) < slot) {
            next += 1;
        }
        self.next = next;
        let all = self.runs(start);
        let here = all.runs.get(next).filter(|run| usize::from(run.slot) == slot);
        here.map(|run| all.positions(run)).unwrap_or_default()
    }
}
