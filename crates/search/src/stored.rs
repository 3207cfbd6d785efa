//! The index read as a whole: its pages as stored, and its words.

use tantivy::schema::Value;
use tantivy::schema::document::TantivyDocument;

use crate::error::SearchError;
use crate::searcher::SearchIndex;
use crate::tokenizer::plain;

/// What the index keeps of a page word by word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredPage {
    pub url: String,
    pub title: String,
    pub author: String,
    pub text: String,
}

impl SearchIndex {
    /// Calls for every page, in the order of the index.
    pub fn each_page(&self, mut each: impl FnMut(StoredPage)) -> Result<(), SearchError> {
        for segment in self.searcher().segment_readers() {
            let store = segment.get_store_reader(1)?;
            for doc in store.iter::<TantivyDocument>(segment.alive_bitset()) {
                let doc = doc?;
                let text = |field| {
                    let value = doc.get_first(field).and_then(|value| value.as_str().map(plain));
                    value.unwrap_or_default().to_owned()
                };
                each(StoredPage {
                    url: text(self.fields.url),
                    title: text(self.fields.title),
                    author: text(self.fields.author),
                    text: text(self.fields.body),
                });
            }
        }
        Ok(())
    }

    /// Calls for every word that spelling knows, with the number of pages that have it; once for each segment.
    pub fn each_word(&self, mut each: impl FnMut(&str, u64)) -> Result<(), SearchError> {
        for segment in self.searcher().segment_readers() {
            let inverted = segment.inverted_index(self.fields.word)?;
            let mut words = inverted.terms().stream()?;
            while words.advance() {
                if let Ok(word) = std::str::from_utf8(words.key()) {
                    each(word, u64::from(words.value().doc_freq));
                }
            }
        }
        Ok(())
    }
}
