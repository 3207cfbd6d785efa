//! Parts side by side: pages that have any of them, and whether they have all.
//!
//! The score of a page that lacks a part is negative. Its size is the score; the sign tells the collector what it needs to
//! put pages with all parts first, without going over everything twice.

use tantivy::query::{EnableScoring, Explanation, Query, Scorer, Weight};
use tantivy::{DocId, DocSet, Score, SegmentReader, TERMINATED, Term};

use crate::window::Window;

#[derive(Debug)]
pub struct ListQuery {
    pub parts: Vec<Box<dyn Query>>,
}

impl Clone for ListQuery {
    fn clone(&self) -> Self {
        Self { parts: self.parts.iter().map(|part| part.box_clone()).collect() }
    }
}

impl Query for ListQuery {
    fn weight(&self, scoring: EnableScoring<'_>) -> tantivy::Result<Box<dyn Weight>> {
        let parts = self.parts.iter().map(|part| part.weight(scoring)).collect::<Result<_, _>>()?;
        Ok(Box::new(ListWeight { parts }))
    }

    fn query_terms<'a>(&'a self, visitor: &mut dyn FnMut(&'a Term, bool)) {
        self.parts.iter().for_each(|part| part.query_terms(visitor));
    }
}

struct ListWeight {
    parts: Vec<Box<dyn Weight>>,
}

impl Weight for ListWeight {
    fn scorer(&self, reader: &SegmentReader, boost: Score) -> tantivy::Result<Box<dyn Scorer>> {
        let mut parts = Vec::new();
        for part in &self.parts {
            parts.push(part.scorer(reader, boost)?);
        }
        let hint = parts.iter().map(|part| part.size_hint()).max().unwrap_or(0);
        let all = f32::from(u16::try_from(parts.len()).unwrap_or(u16::MAX));
        let mut scorer =
            ListScorer { parts, all, scores: Window::new(), counts: Window::new(), doc: 0, hint };
        scorer.refill(0);
        Ok(Box::new(scorer))
    }

    fn explain(&self, reader: &SegmentReader, doc: DocId) -> tantivy::Result<Explanation> {
        // A part that does not match has nothing to explain.
        let parts: Vec<Explanation> =
            self.parts.iter().filter_map(|part| part.explain(reader, doc).ok()).collect();
        let mut sum = Explanation::new("sum over the words", parts.iter().map(Explanation::value).sum());
        parts.into_iter().for_each(|part| sum.add_detail(part));
        Ok(sum)
    }
}

struct ListScorer {
    parts: Vec<Box<dyn Scorer>>,
    all: f32,
    scores: Window,
    counts: Window,
    doc: DocId,
    hint: u32,
}

impl ListScorer {
    /// Goes to the first page from `target` on, which lies behind the windows.
    fn refill(&mut self, target: DocId) -> DocId {
        let mut start = TERMINATED;
        for part in &mut self.parts {
            let at = part.doc();
            start = start.min(if at < target { part.seek(target) } else { at });
        }
        self.doc = start;
        if start == TERMINATED {
            return TERMINATED;
        }
        self.scores.restart(start);
        self.counts.restart(start);
        let end = self.scores.end();
        for part in &mut self.parts {
            let mut doc = part.doc();
            while doc < end {
                self.scores.add(doc, part.score());
                self.counts.add(doc, 1.0);
                doc = part.advance();
            }
        }
        start
    }
}

impl DocSet for ListScorer {
    fn advance(&mut self) -> DocId {
        if self.doc == TERMINATED {
            return TERMINATED;
        }
        match self.scores.next(self.doc + 1) {
            Some(doc) => {
                self.doc = doc;
                doc
            }
            None => self.refill(self.scores.end()),
        }
    }

    fn seek(&mut self, target: DocId) -> DocId {
        if self.doc >= target {
            return self.doc;
        }
        match self.scores.next(target) {
            Some(doc) => {
                self.doc = doc;
                doc
            }
            None => self.refill(target.max(self.scores.end())),
        }
    }

    fn doc(&self) -> DocId {
        self.doc
    }

    fn size_hint(&self) -> u32 {
        self.hint
    }
}

impl Scorer for ListScorer {
    fn score(&mut self) -> Score {
        // A part may match without a score; the sign needs one.
        let score = self.scores.sum(self.doc).max(f32::MIN_POSITIVE);
        if self.counts.sum(self.doc) >= self.all { score } else { -score }
    }
}
