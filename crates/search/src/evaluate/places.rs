//! Terms with their positions, frame by frame: first which pages have them, then the positions in those that matter.

use tantivy::positions::PositionReader;
use tantivy::postings::{BlockSegmentPostings, Postings, SegmentPostings};
use tantivy::schema::Field;
use tantivy::{DocId, DocSet, TERMINATED, Term};

use super::frame::{Bits, FRAME};
use super::segment::Segment;
use crate::error::SearchError;

/// Positions of all pages of a frame are read at once unless this many times as many as needed would be read.
const BULK: u64 = 4;
/// With more terms than this their lists are not read from end to end.
const FEW_TERMS: usize = 64;

/// Where the positions of one page lie.
#[derive(Clone, Copy, Debug)]
struct Run {
    slot: u16,
    start: u32,
    len: u32,
    /// A bit for each position, by six of its bits: what shares none of them need not be compared.
    print: u64,
}

/// The positions of one term in the pages of a frame.
#[derive(Clone, Copy)]
pub struct Runs<'p> {
    runs: &'p [Run],
    places: &'p [u32],
}

impl Runs<'_> {
    /// Calls for every page that both have, unless its prints say that nothing is there; false, and nothing done, if one
    /// has a page that the other lacks.
    #[inline]
    pub fn each_pair(
        self,
        other: Self,
        may_be: impl Fn(u64, u64) -> bool,
        mut each: impl FnMut(usize, &[u32], &[u32]),
    ) -> bool {
        let pairs = || self.runs.iter().zip(other.runs);
        if self.runs.len() != other.runs.len() || pairs().any(|(a, b)| a.slot != b.slot) {
            return false;
        }
        for (a, b) in pairs().filter(|(a, b)| may_be(a.print, b.print)) {
            let left = self.places.get(a.start as usize..(a.start + a.len) as usize);
            let right = other.places.get(b.start as usize..(b.start + b.len) as usize);
            each(usize::from(a.slot), left.unwrap_or_default(), right.unwrap_or_default());
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
    /// Asked about few pages.
    Sought(SegmentPostings),
}

/// The bit of a position.
#[inline]
fn print_of(place: u32, shift: u32) -> u64 {
    1 << ((place >> shift) % 64)
}

/// One term.
struct Placed {
    list: List,
    /// Of the frame, in ascending order.
    runs: Vec<Run>,
    places: Vec<u32>,
}

impl Placed {
    /// Notes the wanted pages of the frame that have the term.
    fn fill(&mut self, start: DocId, wanted: &Bits, bits: &mut Bits) {
        self.runs.clear();
        self.places.clear();
        let end = start.saturating_add(FRAME as DocId).min(TERMINATED);
        match &mut self.list {
            List::Whole { list, passed, base, within, .. } => {
                let mut first = None;
                *within = 0;
                while let Some(last) = list.docs().last().copied() {
                    let (docs, freqs) = (list.docs(), list.freqs());
                    if last >= start {
                        let from = docs.partition_point(|doc| *doc < start);
                        let before: u32 = freqs.iter().take(from).sum();
                        first.get_or_insert(*passed + u64::from(before));
                        for (doc, freq) in
                            docs.iter().zip(freqs).skip(from).take_while(|(doc, _)| **doc < end)
                        {
                            let slot = (doc - start) as usize;
                            if wanted.has(slot) {
                                self.runs.push(Run {
                                    slot: slot as u16,
                                    start: *within,
                                    len: *freq,
                                    print: 0,
                                });
                            }
                            *within += freq;
                        }
                    }
                    if last >= end {
                        break;
                    }
                    *passed += freqs.iter().map(|freq| u64::from(*freq)).sum::<u64>();
                    list.advance();
                }
                *base = first.unwrap_or(*passed);
                bits.set_ascending(self.runs.iter().map(|run| usize::from(run.slot)));
            }
            List::Sought(list) => {
                let mut slot = 0;
                while let Some(next) = wanted.next(slot) {
                    let target = start + next as DocId;
                    let doc = if list.doc() < target { list.seek(target) } else { list.doc() };
                    if doc >= end {
                        return;
                    }
                    slot = (doc - start) as usize;
                    if wanted.has(slot) {
                        let from = self.places.len() as u32;
                        list.append_positions_with_offset(0, &mut self.places);
                        self.runs.push(Run {
                            slot: slot as u16,
                            start: from,
                            len: list.term_freq(),
                            print: u64::MAX,
                        });
                        bits.set(slot);
                    }
                    slot += 1;
                }
            }
        }
    }

    /// Reads the positions in the pages of `bits`.
    fn load(&mut self, bits: &Bits, shift: u32, buffer: &mut Vec<u32>) {
        let List::Whole { positions, base, within, .. } = &mut self.list else { return };
        let mut needed = 0;
        self.runs.retain(|run| {
            let is_needed = bits.has(usize::from(run.slot));
            needed += if is_needed { u64::from(run.len) } else { 0 };
            is_needed
        });
        let is_bulk = u64::from(*within) <= needed * BULK;
        if is_bulk {
            buffer.resize(*within as usize, 0);
            positions.read(*base, buffer);
        }
        self.places.resize(needed as usize, 0);
        let mut from = 0;
        for run in &mut self.runs {
            let to = from + run.len as usize;
            let Some(places) = self.places.get_mut(from..to) else { break };
            let first = run.start as usize;
            // They are kept as steps.
            let mut place = 0_u32;
            if is_bulk {
                let steps = buffer.get(first..first + places.len()).unwrap_or_default();
                for (out, step) in places.iter_mut().zip(steps) {
                    place = place.wrapping_add(*step);
                    run.print |= print_of(place, shift);
                    *out = place;
                }
            } else {
                positions.read(*base + u64::from(run.start), places);
                for step in places {
                    place = place.wrapping_add(*step);
                    run.print |= print_of(place, shift);
                    *step = place;
                }
            }
            run.start = from as u32;
            from = to;
        }
    }
}

/// Any of several terms of one field.
pub struct Places {
    terms: Vec<Placed>,
    /// The frame that it was last filled for.
    start: DocId,
    size: u64,
    /// Positions that many bits apart share a bit of the print.
    shift: u32,
    /// The terms that the frame has.
    active: Vec<usize>,
    buffer: Vec<u32>,
    together: Vec<u32>,
    /// Pages and positions of all terms, where they are several.
    merged: Vec<(u16, u32)>,
    joined: Vec<Run>,
    next: usize,
}

impl Places {
    /// None where the segment has none of the terms. `expected` is how many pages may be asked about; prints are made of
    /// positions without their last `shift` bits.
    pub fn open(
        terms: &[Term],
        field: Field,
        segment: &mut Segment<'_>,
        expected: u64,
        shift: u32,
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
                List::Sought(segment.sought(&inverted, &info)?)
            } else {
                let Some((list, positions)) = segment.placed(&inverted, field, &info)? else { continue };
                List::Whole { list, positions, passed: 0, base: 0, within: 0 }
            };
            placed.push(Placed { list, runs: Vec::new(), places: Vec::new() });
        }
        Ok((!placed.is_empty()).then_some(Self {
            terms: placed,
            start: TERMINATED,
            size,
            shift,
            active: Vec::new(),
            buffer: Vec::new(),
            together: Vec::new(),
            merged: Vec::new(),
            joined: Vec::new(),
            next: 0,
        }))
    }

    pub fn size(&self) -> u64 {
        self.size
    }

    /// Sets the wanted pages of the frame that have any of the terms.
    pub fn fill(&mut self, start: DocId, wanted: &Bits, bits: &mut Bits) {
        self.start = start;
        self.active.clear();
        self.next = 0;
        self.terms.iter_mut().for_each(|term| term.fill(start, wanted, bits));
    }

    /// Reads the positions in some of the pages that it was filled with.
    pub fn load(&mut self, start: DocId, bits: &Bits) {
        if self.start != start {
            return;
        }
        self.active.clear();
        for (number, term) in self.terms.iter_mut().enumerate().filter(|(_, term)| !term.runs.is_empty()) {
            term.load(bits, self.shift, &mut self.buffer);
            self.active.push(number);
        }
        if self.active.len() > 1 {
            self.merged.clear();
            for term in &self.terms {
                for run in term.runs.iter().filter(|run| bits.has(usize::from(run.slot))) {
                    let places = term.places.get(run.start as usize..(run.start + run.len) as usize);
                    self.merged.extend(places.unwrap_or_default().iter().map(|place| (run.slot, *place)));
                }
            }
            self.merged.sort_unstable();
            self.joined.clear();
            self.together.clear();
            for (slot, place) in &self.merged {
                match self.joined.last_mut() {
                    Some(run) if run.slot == *slot => {
                        run.len += 1;
                        run.print |= print_of(*place, self.shift);
                    }
                    _ => self.joined.push(Run {
                        slot: *slot,
                        start: self.together.len() as u32,
                        len: 1,
                        print: print_of(*place, self.shift),
                    }),
                }
                self.together.push(*place);
            }
            self.next = 0;
        }
    }

    /// The pages and positions of the frame.
    pub fn runs(&self, start: DocId) -> Runs<'_> {
        match self.active.as_slice() {
            _ if self.start != start => Runs { runs: &[], places: &[] },
            [] => Runs { runs: &[], places: &[] },
            [only] => self.terms.get(*only).map_or(Runs { runs: &[], places: &[] }, |term| Runs {
                runs: &term.runs,
                places: &term.places,
            }),
            _ => Runs { runs: &self.joined, places: &self.together },
        }
    }

    /// The positions in a page, in order; pages are asked about in ascending order.
    #[inline]
    pub fn of(&mut self, start: DocId, slot: usize) -> &[u32] {
        let mut next = self.next;
        let Runs { runs, places } = self.runs(start);
        while runs.get(next).is_some_and(|run| usize::from(run.slot) < slot) {
            next += 1;
        }
        let here = runs.get(next).filter(|run| usize::from(run.slot) == slot);
        let range = here.map(|run| run.start as usize..(run.start + run.len) as usize);
        let range = range.filter(|range| range.end <= places.len());
        self.next = next;
        range.and_then(|range| self.runs(start).places.get(range)).unwrap_or_default()
    }
}
