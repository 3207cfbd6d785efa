//! XOR: pages that an odd number of the parts match. Written as AND, OR and NOT it would double with every part.

use tantivy::query::{EnableScoring, Explanation, Query, Scorer, Weight};
use tantivy::{DocId, DocSet, Score, SegmentReader, TERMINATED, TantivyError, Term};

#[derive(Debug)]
pub struct XorQuery {
    pub parts: Vec<Box<dyn Query>>,
}

impl Clone for XorQuery {
    fn clone(&self) -> Self {
        Self { parts: self.parts.iter().map(|part| part.box_clone()).collect() }
    }
}

impl Query for XorQuery {
    fn weight(&self, scoring: EnableScoring<'_>) -> tantivy::Result<Box<dyn Weight>> {
        let parts = self.parts.iter().map(|part| part.weight(scoring)).collect::<tantivy::Result<_>>()?;
        Ok(Box::new(XorWeight { parts }))
    }

    fn query_terms<'a>(&'a self, visitor: &mut dyn FnMut(&'a Term, bool)) {
        self.parts.iter().for_each(|part| part.query_terms(visitor));
    }
}

struct XorWeight {
    parts: Vec<Box<dyn Weight>>,
}

impl XorWeight {
    fn xor_scorer(&self, reader: &SegmentReader, boost: Score) -> tantivy::Result<XorScorer> {
        let parts =
            self.parts.iter().map(|part| part.scorer(reader, boost)).collect::<tantivy::Result<Vec<_>>>()?;
        let mut scorer = XorScorer { parts, doc: 0 };
        scorer.settle();
        Ok(scorer)
    }
}

impl Weight for XorWeight {
    fn scorer(&self, reader: &SegmentReader, boost: Score) -> tantivy::Result<Box<dyn Scorer>> {
        Ok(Box::new(self.xor_scorer(reader, boost)?))
    }

    fn explain(&self, reader: &SegmentReader, doc: DocId) -> tantivy::Result<Explanation> {
        let mut scorer = self.xor_scorer(reader, 1.0)?;
        if scorer.doc > doc || scorer.seek(doc) != doc {
            return Err(TantivyError::InvalidArgument(format!("document {doc} does not match")));
        }
        Ok(Explanation::new("one and not the other", scorer.score()))
    }
}

struct XorScorer {
    parts: Vec<Box<dyn Scorer>>,
    doc: DocId,
}

impl XorScorer {
    /// Goes to the first page, from where the parts stand, that an odd number of them has.
    fn settle(&mut self) -> DocId {
        loop {
            let doc = self.parts.iter().map(|part| part.doc()).min().unwrap_or(TERMINATED);
            self.doc = doc;
            let matching = self.parts.iter().filter(|part| part.doc() == doc).count();
            if doc == TERMINATED || matching % 2 == 1 {
                return doc;
            }
            self.step(doc);
        }
    }

    fn step(&mut self, doc: DocId) {
        for part in self.parts.iter_mut().filter(|part| part.doc() == doc) {
            part.advance();
        }
    }
}

impl DocSet for XorScorer {
    fn advance(&mut self) -> DocId {
        if self.doc == TERMINATED {
            return TERMINATED;
        }
        self.step(self.doc);
        self.settle()
    }

    fn seek(&mut self, target: DocId) -> DocId {
        if self.doc >= target {
            return self.doc;
        }
        for part in self.parts.iter_mut().filter(|part| part.doc() < target) {
            part.seek(target);
        }
        self.settle()
    }

    fn doc(&self) -> DocId {
        self.doc
    }

    fn size_hint(&self) -> u32 {
        self.parts.iter().map(|part| part.size_hint()).max().unwrap_or(0)
    }
}

impl Scorer for XorScorer {
    fn score(&mut self) -> Score {
        let doc = self.doc;
        self.parts.iter_mut().filter(|part| part.doc() == doc).map(|part| part.score()).sum()
    }
}
