//! The fields of the index.
//!
//! | field | holds | used for |
//! | --- | --- | --- |
//! | `key` | the page's key | replacing, deleting |
//! | `title` `headings` `body` `other` `anchor` `url` `author` | text, cut by [`crate::tokenizer`] | matching, with positions; `title`, `body`, `url` and `author` are stored |
//! | `word` | title, headings and the beginning of the text, not stemmed | spelling, suggestions |
//! | `tag` | `site:HOST` and every parent domain, `type:…`, `lang:…` | conditions |
//! | `date` `prior` `group` `version` | columns | order, importance and depth ([`crate::ranking`]), copies ([`crate::copies`]; up to three numbers), skipping what has not changed |
//! | `site` `lang` `type` | columns | facets |

use tantivy::schema::{
    Field, IndexRecordOption, NumericOptions, STRING, Schema, TextFieldIndexing, TextOptions,
};

/// Written into every commit; an index of another format has to be made anew.
pub const FORMAT: u32 = 3;

pub(crate) const TOKENIZER: &str = "lycosa";
/// Tells every word once.
pub(crate) const WORD_TOKENIZER: &str = "lycosa-words";

#[derive(Clone, Debug)]
pub struct Fields {
    pub key: Field,
    pub title: Field,
    pub headings: Field,
    pub body: Field,
    pub other: Field,
    pub anchor: Field,
    pub url: Field,
    pub author: Field,
    pub word: Field,
    pub tag: Field,
    pub date: Field,
    pub prior: Field,
    pub group: Field,
    pub version: Field,
    pub site: Field,
    pub lang: Field,
    pub kind: Field,
}

impl Fields {
    /// Those that words are looked for in.
    pub fn texts(&self) -> [Field; 7] {
        [self.title, self.headings, self.body, self.other, self.anchor, self.url, self.author]
    }
}

pub fn schema() -> (Schema, Fields) {
    let mut builder = Schema::builder();
    let indexing = TextFieldIndexing::default()
        .set_tokenizer(TOKENIZER)
        .set_index_option(IndexRecordOption::WithFreqsAndPositions);
    let listed = TextFieldIndexing::default()
        .set_tokenizer(WORD_TOKENIZER)
        .set_fieldnorms(false)
        .set_index_option(IndexRecordOption::Basic);
    let searched = TextOptions::default().set_indexing_options(indexing);
    let kept = searched.clone().set_stored();
    let facet = TextOptions::default().set_fast("raw").set_stored();
    let column = NumericOptions::default().set_fast();
    let fields = Fields {
        key: builder.add_bytes_field("key", tantivy::schema::INDEXED | tantivy::schema::STORED),
        title: builder.add_text_field("title", kept.clone()),
        headings: builder.add_text_field("headings", searched.clone()),
        body: builder.add_text_field("body", kept.clone()),
        other: builder.add_text_field("other", searched.clone()),
        anchor: builder.add_text_field("anchor", searched.clone()),
        url: builder.add_text_field("url", kept),
        author: builder.add_text_field("author", searched.set_stored()),
        word: builder.add_text_field("word", TextOptions::default().set_indexing_options(listed)),
        tag: builder.add_text_field("tag", STRING),
        date: builder.add_i64_field("date", column.clone().set_indexed().set_stored()),
        prior: builder.add_u64_field("prior", column.clone()),
        group: builder.add_u64_field("group", column.clone()),
        version: builder.add_u64_field("version", column),
        site: builder.add_text_field("site", facet.clone()),
        lang: builder.add_text_field("lang", facet.clone()),
        kind: builder.add_text_field("type", facet),
    };
    (builder.build(), fields)
}

/// `html` for `text/html; charset=utf-8`: the word people use for a type.
pub fn short_type(content_type: &str) -> &str {
    let (_, subtype) = essence(content_type).split_once('/').unwrap_or_default();
    match subtype {
        "plain" => "text",
        "xhtml+xml" => "html",
        other => other.rsplit_once('+').map_or(other, |(_, suffix)| suffix),
    }
}

/// A media type without its parameters.
pub fn essence(content_type: &str) -> &str {
    content_type.split(';').next().unwrap_or_default().trim()
}

/// The tags that a page carries.
pub fn tags(site: &str, content_type: &str, language: &str) -> Vec<String> {
    let mut tags = Vec::new();
    let site = site.to_ascii_lowercase();
    let mut rest = site.as_str();
    while !rest.is_empty() {
        tags.push(format!("site:{rest}"));
        rest = rest.split_once('.').map_or("", |(_, parent)| parent);
    }
    let content_type = essence(content_type).to_ascii_lowercase();
    if !content_type.is_empty() {
        tags.push(format!("type:{content_type}"));
        tags.push(format!("type:{}", short_type(&content_type)));
    }
    let language = language.trim().to_ascii_lowercase().replace('_', "-");
    let primary = crate::language::primary(&language);
    if !primary.is_empty() {
        tags.push(format!("lang:{primary}"));
        if language != primary {
            tags.push(format!("lang:{language}"));
        }
    }
    tags
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_name_parents_and_short_forms() {
        assert_eq!(
            tags("Docs.Example.org", "Text/HTML; charset=x", "en_GB"),
            [
                "site:docs.example.org",
                "site:example.org",
                "site:org",
                "type:text/html",
                "type:html",
                "lang:en",
                "lang:en-gb"
            ]
        );
        assert!(tags("", "", "").is_empty());
        assert_eq!((short_type("application/rss+xml"), short_type("text/plain")), ("xml", "text"));
    }
}
