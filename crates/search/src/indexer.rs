//! Writing the index: pages go in under their keys, in commits that carry a mark.
//!
//! Promises: after a crash the index is as the last commit left it, pages and mark together, so that feeding on from the
//! mark neither misses nor doubles a page; putting a page replaces the one under its key, within a commit as well.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tantivy::directory::MmapDirectory;
use tantivy::directory::error::LockError;
use tantivy::schema::document::TantivyDocument;
use tantivy::store::{Compressor, ZstdCompressor};
use tantivy::{Index, IndexSettings, IndexWriter, TantivyError, Term};

use crate::error::SearchError;
use crate::language::Language;
use crate::page_doc::{Change, PageDoc, PageKey};
use crate::ranking::Statics;
use crate::schema::{FORMAT, Fields, TOKENIZER, WORD_TOKENIZER, schema, short_type, tags};
use crate::tokenizer::{PageTokenizer, marked};

/// Memory for pages that are not yet written, shared by the threads of the writer.
pub const WRITER_BYTES: usize = 128 << 20;
/// Threads that build segments.
const WRITER_THREADS: usize = 2;
/// Changes between two commits: what a crash costs at most.
pub const CHANGES_PER_COMMIT: u64 = 50_000;
/// Beyond this many pages an indexer no longer knows by heart which ones it has put.
const MAX_KNOWN: usize = 4 << 20;
/// How hard stored texts are compressed.
const STORE_LEVEL: i32 = 3;
/// Texts that are compressed together: more make it smaller, and a result dearer to show.
const STORE_BLOCK_BYTES: usize = 16 << 10;
/// Longer texts are cut.
pub const MAX_TEXT_BYTES: usize = 4 << 20;
/// The part of a text whose words become known to the spelling.
const VOCABULARY_BYTES: usize = 16 << 10;
/// Texts of links kept for a page.
pub const MAX_ANCHORS: usize = 20;

/// What a commit says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Note {
    format: u32,
    mark: String,
}

/// How far feeding has come, in the words of the feeder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mark(pub String);

/// What a run did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Fed {
    pub put: u64,
    pub deleted: u64,
    pub commits: u64,
    pub text_bytes: u64,
}

pub struct Indexer {
    index: Index,
    fields: Fields,
    writer: IndexWriter,
    mark: Mark,
    fed: Fed,
    pending: u64,
    /// All pages of an index that began empty, while they are few: what is not among them need not be replaced, and a
    /// page that is merely added costs a third less.
    known: Option<HashSet<PageKey>>,
}

/// Opens the index of a directory; `None` where there is none.
pub(crate) fn open_index(dir: &Path) -> Result<Option<(Index, Fields, Mark)>, SearchError> {
    if !dir.join("meta.json").is_file() {
        return Ok(None);
    }
    let (expected, fields) = schema();
    let index = Index::open_in_dir(dir)?;
    register(&index);
    let payload = index.load_metas()?.payload.unwrap_or_default();
    let note: Note = if payload.is_empty() {
        Note { format: FORMAT, mark: String::new() }
    } else {
        serde_json::from_str(&payload).map_err(|_| SearchError::DamagedNote)?
    };
    if note.format != FORMAT || index.schema() != expected {
        return Err(SearchError::Format { path: dir.to_owned(), found: note.format, expected: FORMAT });
    }
    Ok(Some((index, fields, Mark(note.mark))))
}

fn register(index: &Index) {
    index.tokenizers().register(TOKENIZER, PageTokenizer::default());
    index.tokenizers().register(WORD_TOKENIZER, PageTokenizer::once());
}

impl Indexer {
    /// Opens the index of a directory, or makes one.
    pub fn open(dir: &Path) -> Result<Self, SearchError> {
        let (index, fields, mark) = match open_index(dir)? {
            Some(opened) => opened,
            None => {
                std::fs::create_dir_all(dir)?;
                let (schema, fields) = schema();
                let directory = MmapDirectory::open(dir).map_err(TantivyError::from)?;
                // The text is kept for snippets: half the size of what the quicker default makes of it.
                let settings = IndexSettings {
                    docstore_compression: Compressor::Zstd(ZstdCompressor {
                        compression_level: Some(STORE_LEVEL),
                    }),
                    docstore_blocksize: STORE_BLOCK_BYTES,
                    ..IndexSettings::default()
                };
                let index = Index::builder().schema(schema).settings(settings).open_or_create(directory)?;
                register(&index);
                (index, fields, Mark::default())
            }
        };
        let writer = match index.writer_with_num_threads(WRITER_THREADS, WRITER_BYTES) {
            Err(TantivyError::LockFailure(LockError::LockBusy, _)) => {
                return Err(SearchError::InUse(dir.to_owned()));
            }
            other => other?,
        };
        // A commit that a crash cut short left files that the next one may want to write under the same names.
        writer.garbage_collect_files().wait()?;
        let is_empty = index.searchable_segment_metas()?.is_empty();
        let known = is_empty.then(HashSet::new);
        Ok(Self { index, fields, writer, mark, fed: Fed::default(), pending: 0, known })
    }

    /// Makes an empty index in place of what is there.
    pub fn rebuild(dir: &Path) -> Result<Self, SearchError> {
        if dir.join("meta.json").is_file() {
            // A writer of this index refuses to lose its files under its feet.
            drop(match Self::open(dir) {
                Err(SearchError::InUse(path)) => return Err(SearchError::InUse(path)),
                other => other.ok(),
            });
            std::fs::remove_dir_all(dir)?;
        }
        Self::open(dir)
    }

    /// How far the last commit had come.
    pub fn mark(&self) -> &Mark {
        &self.mark
    }

    /// Takes in changes, each with the mark that holds once it is done, and commits at the end and now and then.
    pub fn run<E>(&mut self, changes: impl Iterator<Item = Result<(Mark, Change), E>>) -> Result<Fed, E>
    where
        E: From<SearchError>,
    {
        let mut last = None;
        for change in changes {
            let (mark, change) = change?;
            self.apply(change)?;
            if self.pending >= CHANGES_PER_COMMIT {
                self.commit(mark)?;
                last = None;
            } else {
                last = Some(mark);
            }
        }
        if let Some(mark) = last {
            self.commit(mark)?;
        }
        Ok(self.fed)
    }

    /// Takes in one change; it holds from the next commit on.
    pub fn apply(&mut self, change: Change) -> Result<(), SearchError> {
        match change {
            Change::Put(page) => {
                if self.may_have(page.key) {
                    self.delete(page.key);
                }
                match &mut self.known {
                    Some(known) if known.len() < MAX_KNOWN => {
                        known.insert(page.key);
                    }
                    _ => self.known = None,
                }
                self.fed.put += 1;
                self.fed.text_bytes += (page.text.len() + page.other.len()) as u64;
                self.writer.add_document(document(&self.fields, &page))?;
            }
            Change::Delete(key) => {
                self.delete(key);
                self.fed.deleted += 1;
            }
        }
        self.pending += 1;
        Ok(())
    }

    /// Whether a page may be in the index; only where it is no can one be sure.
    fn may_have(&self, key: PageKey) -> bool {
        self.known.as_ref().is_none_or(|known| known.contains(&key))
    }

    /// Removes a page if it may be there, and says whether it may.
    pub fn remove(&mut self, key: PageKey) -> bool {
        let may_be_there = self.may_have(key);
        if may_be_there {
            self.delete(key);
            self.pending += 1;
        }
        may_be_there
    }

    fn delete(&mut self, key: PageKey) {
        self.writer.delete_term(Term::from_field_bytes(self.fields.key, &key.0));
    }

    /// What was done so far.
    pub fn fed(&self) -> Fed {
        self.fed
    }

    /// Makes everything taken in durable, together with the mark.
    pub fn commit(&mut self, mark: Mark) -> Result<(), SearchError> {
        let note = Note { format: FORMAT, mark: mark.0.clone() };
        let payload = serde_json::to_string(&note).map_err(|_| SearchError::DamagedNote)?;
        let mut prepared = self.writer.prepare_commit()?;
        prepared.set_payload(&payload);
        prepared.commit()?;
        self.mark = mark;
        self.pending = 0;
        self.fed.commits += 1;
        Ok(())
    }

    /// Waits for segments that are being merged: a finished index is small and quick.
    pub fn finish(self) -> Result<Fed, SearchError> {
        let fed = self.fed;
        self.writer.wait_merging_threads()?;
        Ok(fed)
    }

    /// The versions of the pages as last committed, by key.
    pub fn versions(&self) -> Result<Versions, SearchError> {
        Ok(Versions { searcher: self.index.reader()?.searcher(), fields: self.fields.clone() })
    }
}

/// Which version of which page the index holds.
pub struct Versions {
    searcher: tantivy::Searcher,
    fields: Fields,
}

impl Versions {
    pub fn of(&self, key: PageKey) -> Result<Option<u64>, SearchError> {
        let term = Term::from_field_bytes(self.fields.key, &key.0);
        for segment in self.searcher.segment_readers() {
            let inverted = segment.inverted_index(self.fields.key)?;
            let Some(mut postings) =
                inverted.read_postings(&term, tantivy::schema::IndexRecordOption::Basic)?
            else {
                continue;
            };
            let mut doc = tantivy::DocSet::doc(&postings);
            while doc != tantivy::TERMINATED {
                if !segment.is_deleted(doc) {
                    return Ok(segment.fast_fields().u64("version")?.first(doc));
                }
                doc = tantivy::DocSet::advance(&mut postings);
            }
        }
        Ok(None)
    }

    /// Pages in the index.
    pub fn count(&self) -> u64 {
        self.searcher.num_docs()
    }
}

fn document(fields: &Fields, page: &PageDoc) -> TantivyDocument {
    let language = Language::of_tag(&page.language);
    let mut doc = TantivyDocument::default();
    doc.add_bytes(fields.key, &page.key.0);
    doc.add_text(fields.title, marked(language, &page.title));
    // No phrase goes from one heading, or one piece of the rest, to the next.
    for heading in page.headings.lines() {
        doc.add_text(fields.headings, marked(language, heading));
    }
    doc.add_text(fields.body, marked(language, clip(&page.text, MAX_TEXT_BYTES)));
    for piece in clip(&page.other, MAX_TEXT_BYTES).split("\n\n").filter(|piece| !piece.is_empty()) {
        doc.add_text(fields.other, marked(language, piece));
    }
    for anchor in page.anchors.iter().take(MAX_ANCHORS) {
        doc.add_text(fields.anchor, marked(language, anchor));
    }
    doc.add_text(fields.url, marked(language, &page.url));
    doc.add_text(fields.author, marked(Language::NONE, &page.author));
    for text in [&page.title, &page.headings, clip_words(&page.text, VOCABULARY_BYTES)] {
        doc.add_text(fields.word, marked(Language::NONE, text));
    }
    for tag in tags(&page.site, &page.content_type, &page.language) {
        doc.add_text(fields.tag, tag);
    }
    if let Some(date) = page.date_s() {
        doc.add_i64(fields.date, date);
    }
    doc.add_u64(fields.prior, Statics { rank: page.rank, depth: u64::from(page.depth) }.code());
    for name in
        [Some(page.key.low()), page.duplicate_of.map(PageKey::low), page.content].into_iter().flatten()
    {
        doc.add_u64(fields.group, name);
    }
    doc.add_u64(fields.version, page.version);
    doc.add_text(fields.site, page.site.to_ascii_lowercase());
    doc.add_text(fields.lang, crate::language::primary(&page.language));
    doc.add_text(fields.kind, short_type(&page.content_type.to_ascii_lowercase()));
    doc
}

/// The beginning of a text, cut between two letters.
pub(crate) fn clip(text: &str, max_bytes: usize) -> &str {
    let mut end = text.len().min(max_bytes);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

/// The beginning of a text, cut between two words: half a word is none.
fn clip_words(text: &str, max_bytes: usize) -> &str {
    let clipped = clip(text, max_bytes);
    if clipped.len() == text.len() {
        return text;
    }
    let end = clipped.rfind(|c: char| !c.is_alphanumeric()).unwrap_or(0);
    clipped.get(..end).unwrap_or_default()
}

/// Bytes of the files of an index.
pub fn disk_bytes(dir: &Path) -> std::io::Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(dir)? {
        let metadata = entry?.metadata()?;
        bytes += if metadata.is_file() { metadata.len() } else { 0 };
    }
    Ok(bytes)
}

/// Where a crawl keeps its index.
pub fn index_dir(crawl: &Path) -> PathBuf {
    crawl.join("index")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_between_letters_and_words() {
        assert_eq!((clip("añb", 2), clip("añb", 9)), ("a", "añb"));
        assert_eq!((clip_words("wolf spider", 8), clip_words("wolf spider", 11)), ("wolf", "wolf spider"));
        assert_eq!(clip_words("spider", 3), "");
    }
}
