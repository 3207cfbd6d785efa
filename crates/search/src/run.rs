//! Running a weighed query over all segments, on several threads where it is worth it.

use std::sync::atomic::{AtomicUsize, Ordering};

use tantivy::{DocId, Searcher};

use crate::collector::{Best, Collector, Harvest, Hit, Wanted};
use crate::compile::Compiled;
use crate::error::SearchError;
use crate::evaluate::{Bits, Cursor, FRAME, Frame, Segment};
use crate::plan::Plan;
use crate::ranking::{Statics, static_factor};
use crate::snapshot::Snapshot;

/// Threads that share the pages of an index when it is asked.
const MAX_THREADS: usize = 8;
/// Fewer pages than this are not worth a thread of their own.
const PAGES_PER_THREAD: usize = 4 * FRAME;

/// A range of pages of a segment.
type Stretch = (u32, DocId, DocId);

/// Goes over all matches; what each stretch brings, in any order.
pub(crate) fn run(snapshot: &Snapshot, plan: &Plan, wanted: Wanted) -> Result<Vec<Harvest>, SearchError> {
    let searcher = &snapshot.searcher;
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get().min(MAX_THREADS));
    let pages: usize = searcher.segment_readers().iter().map(|segment| segment.max_doc() as usize).sum();
    let threads = cores.min(pages / PAGES_PER_THREAD).max(1);
    let stretches = stretches(searcher, pages.div_ceil(threads));
    let next = AtomicUsize::new(0);
    let work = || -> Result<Vec<Harvest>, SearchError> {
        let mut done = Vec::new();
        while let Some(stretch) = stretches.get(next.fetch_add(1, Ordering::Relaxed)) {
            done.push(run_stretch(snapshot, plan, wanted, *stretch)?);
        }
        Ok(done)
    };
    if threads == 1 {
        return work();
    }
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut all = work()?;
        for other in others {
            all.extend(other.join().map_err(|_| SearchError::Thread)??);
        }
        Ok(all)
    })
}

/// Cuts the segments into stretches of at most about so many pages, the longest first.
fn stretches(searcher: &Searcher, pages: usize) -> Vec<Stretch> {
    let step = pages.next_multiple_of(FRAME).max(FRAME);
    let mut all = Vec::new();
    for (ordinal, segment) in searcher.segment_readers().iter().enumerate() {
        let end = segment.max_doc();
        let starts = (0..end).step_by(step);
        all.extend(starts.map(|start| (ordinal as u32, start, end.min(start.saturating_add(step as DocId)))));
    }
    all.sort_by_key(|(_, start, end)| std::cmp::Reverse(end - start));
    all
}

fn run_stretch(
    snapshot: &Snapshot,
    plan: &Plan,
    wanted: Wanted,
    (ordinal, from, to): Stretch,
) -> Result<Harvest, SearchError> {
    let reader = snapshot.searcher.segment_reader(ordinal);
    let Some(columns) = snapshot.columns.get(ordinal as usize) else { return Err(SearchError::Thread) };
    let mut segment = Segment::new(reader, from, to);
    let mut cursor = Cursor::open(plan, &mut segment, u64::from(to - from))?;
    let mut collector = Collector::new(ordinal, reader, columns, wanted)?;
    let mut frame = Frame::new();
    for start in segment.frames() {
        let len = FRAME.min((to - start) as usize);
        let mut asked = Bits::first(len);
        if reader.has_deletes() {
            Bits::first(len).each(|slot| {
                if reader.is_deleted(start + slot as DocId) {
                    asked.unset(slot);
                }
            });
        }
        cursor.fill(start, &asked, &mut frame);
        collector.collect(start, len, &frame, cursor.has_all());
    }
    Ok(collector.harvest())
}

/// The best of all stretches, with what is due to words near each other.
pub(crate) fn best(
    searcher: &Searcher,
    compiled: &Compiled,
    harvests: &mut [Harvest],
    wanted: Wanted,
) -> Result<Vec<Hit>, SearchError> {
    let mut best = Best::new(wanted.window, wanted.sort);
    harvests.iter_mut().flat_map(|harvest| harvest.hits.drain(..)).for_each(|hit| best.push(hit));
    let mut hits = best.sorted();
    if let Some(nearness) = &compiled.nearness {
        add_nearness(searcher, nearness, &mut hits)?;
        hits.sort_unstable_by(|a, b| a.compare(b, wanted.sort));
    }
    Ok(hits)
}

fn add_nearness(searcher: &Searcher, plan: &Plan, hits: &mut [Hit]) -> Result<(), SearchError> {
    hits.sort_unstable_by_key(|hit| hit.address);
    let mut frame = Frame::new();
    for of_segment in hits.chunk_by_mut(|a, b| a.address.segment_ord == b.address.segment_ord) {
        let Some(first) = of_segment.first() else { continue };
        let reader = searcher.segment_reader(first.address.segment_ord);
        let prior = reader.fast_fields().u64("prior")?;
        let mut segment = Segment::new(reader, 0, reader.max_doc());
        let mut cursor = Cursor::open(plan, &mut segment, of_segment.len() as u64)?;
        let frame_of = |hit: &Hit| hit.address.doc_id - hit.address.doc_id % FRAME as DocId;
        for of_frame in of_segment.chunk_by_mut(|a, b| frame_of(a) == frame_of(b)) {
            let Some(start) = of_frame.first().map(frame_of) else { continue };
            let slot = |hit: &Hit| (hit.address.doc_id - start) as usize % FRAME;
            let mut asked = Bits::empty();
            of_frame.iter().for_each(|hit| asked.set(slot(hit)));
            cursor.fill(start, &asked, &mut frame);
            for hit in of_frame {
                let code = prior.first(hit.address.doc_id).unwrap_or_default();
                hit.score += frame.sums[slot(hit)] * static_factor(Statics::of_code(code));
            }
        }
    }
    Ok(())
}
