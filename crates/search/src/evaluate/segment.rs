//! A piece of the index, with what tantivy keeps of it within reach: lists of pages by blocks, lengths, positions.

use std::sync::Arc;

use tantivy::directory::{CompositeFile, OwnedBytes};
use tantivy::index::SegmentComponent;
use tantivy::positions::PositionReader;
use tantivy::postings::{BlockSegmentPostings, SegmentPostings, TermInfo};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocId, InvertedIndexReader, SegmentReader, Term};

use super::frame::FRAME;
use crate::error::SearchError;

/// A range of pages of a piece of the index.
pub struct Segment<'s> {
    pub reader: &'s SegmentReader,
    /// The first page, at the beginning of a frame.
    pub from: DocId,
    /// The one behind the last.
    pub to: DocId,
    positions: Option<CompositeFile>,
}

impl<'s> Segment<'s> {
    pub fn new(reader: &'s SegmentReader, from: DocId, to: DocId) -> Self {
        let start = from - from % FRAME as DocId;
        Self { reader, from: start, to: to.min(reader.max_doc()), positions: None }
    }

    pub fn inverted(&self, field: Field) -> Result<Arc<InvertedIndexReader>, SearchError> {
        Ok(self.reader.inverted_index(field)?)
    }

    /// The pages that have a term, if there are any.
    pub fn list(
        &self,
        term: &Term,
        with: IndexRecordOption,
    ) -> Result<Option<BlockSegmentPostings>, SearchError> {
        Ok(self.inverted(term.field())?.read_block_postings(term, with)?)
    }

    /// The code of the length of every page's text in a field; empty where lengths are not kept.
    pub fn lengths(&self, field: Field) -> Result<OwnedBytes, SearchError> {
        let file = self.reader.fieldnorms_readers().get_inner_file().open_read(field);
        Ok(file.map(|file| file.read_bytes()).transpose()?.unwrap_or_else(OwnedBytes::empty))
    }

    /// The pages that have a term, with all its positions in one piece.
    pub fn placed(
        &mut self,
        inverted: &InvertedIndexReader,
        field: Field,
        info: &TermInfo,
    ) -> Result<Option<(BlockSegmentPostings, PositionReader)>, SearchError> {
        let all = match &mut self.positions {
            Some(all) => all,
            empty => {
                let file = self
                    .reader
                    .open_read(SegmentComponent::Positions)
                    .map_err(tantivy::TantivyError::from)?;
                empty.insert(CompositeFile::open(&file)?)
            }
        };
        let Some(file) = all.open_read(field) else { return Ok(None) };
        let positions = PositionReader::open(file.read_bytes_slice(info.positions_range.clone())?)?;
        let list = inverted.read_block_postings_from_terminfo(info, IndexRecordOption::WithFreqs)?;
        Ok(Some((list, positions)))
    }

    /// The same to be asked about few pages.
    pub fn sought(
        &self,
        inverted: &InvertedIndexReader,
        info: &TermInfo,
    ) -> Result<SegmentPostings, SearchError> {
        Ok(inverted.read_postings_from_terminfo(info, IndexRecordOption::WithFreqsAndPositions)?)
    }

    /// The first pages of the frames of the range.
    pub fn frames(&self) -> impl Iterator<Item = DocId> + use<> {
        (self.from..self.to).step_by(FRAME)
    }
}
