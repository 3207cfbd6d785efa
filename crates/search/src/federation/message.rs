//! What nodes say to each other: JSON, because it is read by programs of other versions, too.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::sketch::Sketch;
use crate::answer::{Facets, Found};
use crate::collector::Sort;
use crate::copies::NAMES;
use crate::searcher::MAX_ALSO_AT;
use crate::snippet::Snippet;
use crate::statistics::Statistics;

/// Results that can be paged through when several nodes answer.
pub const MAX_FEDERATED: usize = 200;
/// Longer requests are refused.
pub const MAX_REQUEST_BYTES: usize = 256 << 10;
/// Longer answers are refused; a server of messages takes a mebibyte.
pub const MAX_RESPONSE_BYTES: usize = 1 << 20;
/// Values of a facet that a node tells, of which the most frequent over all nodes are shown.
pub const FACET_VALUES_SENT: usize = 500;
/// Bytes of a title or another short text that a node tells.
pub(super) const MAX_SHORT_TEXT: usize = 1024;
/// Names of a result with its copies.
const MAX_NAMES: usize = NAMES * (MAX_ALSO_AT + 1);

/// What one node asks of another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShardRequest {
    /// The numbers that scores depend on.
    Statistics { query: String },
    /// The best pages by the numbers of all nodes.
    Search {
        query: String,
        statistics: Statistics,
        /// How many results, from the best on.
        window: usize,
        sort: Sort,
        all: bool,
        explain: bool,
        facets: bool,
    },
}

/// What a node answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShardResponse {
    Statistics(Statistics),
    Results(ShardResults),
    /// Why it cannot answer.
    Refused(String),
}

/// The best pages of a node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ShardResults {
    /// Pages that match.
    pub total: u64,
    /// Of these, those below a tenth of the best score of the node.
    pub hidden: u64,
    /// The best score by words and importance.
    pub best: f32,
    pub results: Vec<ShardResult>,
    pub facets: Facets,
    pub did_you_mean: Option<String>,
}

/// A page with what merging needs to know of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShardResult {
    pub found: Found,
    pub snippet: Snippet,
    /// The score without what nearness adds.
    pub base: f32,
    /// What its content is called, and that of its copies: pages that share a name are copies.
    #[serde(default)]
    pub names: Vec<u64>,
    /// Its text, to be compared with other nodes' pages.
    #[serde(default)]
    pub sketch: Sketch,
}

/// A message that is no message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    #[error("the message has {found} bytes, at most {limit} are taken")]
    TooLong { found: usize, limit: usize },
    #[error("the message cannot be read: {0}")]
    Unreadable(String),
}

impl ShardRequest {
    pub fn to_bytes(&self) -> Result<Vec<u8>, MessageError> {
        write(self, MAX_REQUEST_BYTES)
    }

    pub fn from_bytes(bytes: &[u8]) -> Result<Self, MessageError> {
        read(bytes, MAX_REQUEST_BYTES)
    }
}

impl ShardResponse {
    pub fn to_bytes(&self) -> Result<Vec<u8>, MessageError> {
        self.to_bytes_within(MAX_RESPONSE_BYTES)
    }

    /// Results that do not fit are left out, the last ones first.
    pub fn to_bytes_within(&self, limit: usize) -> Result<Vec<u8>, MessageError> {
        let limit = limit.min(MAX_RESPONSE_BYTES);
        let mut fitting = self.clone();
        loop {
            match (write(&fitting, limit), &mut fitting) {
                (Err(MessageError::TooLong { .. }), Self::Results(some)) if !some.results.is_empty() => {
                    some.results.truncate(some.results.len() / 2);
                }
                (written, _) => return written,
            }
        }
    }

    pub fn from_bytes(bytes: &[u8]) -> Result<Self, MessageError> {
        let mut response = read(bytes, MAX_RESPONSE_BYTES)?;
        if let Self::Results(some) = &mut response {
            some.results.truncate(MAX_FEDERATED);
            for result in &mut some.results {
                result.names.truncate(MAX_NAMES);
                // What another node says is not put into a page unseen.
                result.found.snippet_html = result.snippet.html();
                result.found.snippet = std::mem::take(&mut result.snippet);
                result.sketch.put_right();
            }
        }
        Ok(response)
    }
}

fn write(message: &impl Serialize, limit: usize) -> Result<Vec<u8>, MessageError> {
    let bytes = serde_json::to_vec(message).map_err(|error| MessageError::Unreadable(error.to_string()))?;
    if bytes.len() > limit {
        return Err(MessageError::TooLong { found: bytes.len(), limit });
    }
    Ok(bytes)
}

fn read<T: DeserializeOwned>(bytes: &[u8], limit: usize) -> Result<T, MessageError> {
    if bytes.len() > limit {
        return Err(MessageError::TooLong { found: bytes.len(), limit });
    }
    serde_json::from_slice(bytes).map_err(|error| MessageError::Unreadable(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(text: String) -> ShardResult {
        let snippet = Snippet { text: text.clone(), ..Snippet::default() };
        let found = Found {
            url: "http://a/".into(),
            title: String::new(),
            author: String::new(),
            score: 0.1 + 0.2,
            has_all: true,
            site: String::new(),
            language: String::new(),
            kind: String::new(),
            date_s: None,
            snippet_html: text,
            snippet: Snippet::default(),
            also_at: Vec::new(),
            explanation: None,
        };
        let sketch = Sketch::default();
        ShardResult { found, snippet, base: 1.0 / 3.0, names: vec![u64::MAX], sketch }
    }

    #[test]
    fn messages_are_read_back_within_limits() {
        let request = ShardRequest::Statistics { query: "web".into() };
        assert_eq!(ShardRequest::from_bytes(&request.to_bytes().unwrap()), Ok(request));
        let long = vec![b' '; MAX_REQUEST_BYTES + 1];
        assert!(matches!(ShardRequest::from_bytes(&long), Err(MessageError::TooLong { .. })));
        assert!(matches!(ShardRequest::from_bytes(b"{}"), Err(MessageError::Unreadable(_))));
        let some = ShardResults { results: vec![result("<b>".into())], best: 0.7, ..Default::default() };
        let bytes = ShardResponse::Results(some).to_bytes().unwrap();
        let Ok(ShardResponse::Results(read)) = ShardResponse::from_bytes(&bytes) else {
            panic!("no results")
        };
        assert_eq!((read.best, read.results[0].base, read.results[0].names[0]), (0.7, 1.0 / 3.0, u64::MAX));
        assert_eq!(read.results[0].found.score, 0.1 + 0.2);
        assert_eq!(read.results[0].found.snippet_html, "&lt;b&gt;", "markup of another node is not believed");
    }

    #[test]
    fn what_does_not_fit_is_left_out_from_the_end() {
        let many: Vec<ShardResult> = (0..100).map(|_| result("x".repeat(20_000))).collect();
        let some = ShardResults { results: many, total: 100, ..Default::default() };
        let bytes = ShardResponse::Results(some).to_bytes().unwrap();
        let Ok(ShardResponse::Results(read)) = ShardResponse::from_bytes(&bytes) else {
            panic!("no results")
        };
        assert!(!read.results.is_empty() && read.results.len() < 100 && read.total == 100);
        let some = ShardResults { results: vec![result("x".repeat(2000)); 50], ..Default::default() };
        let bytes = ShardResponse::Results(some).to_bytes_within(64 << 10).unwrap();
        assert!(bytes.len() <= 64 << 10 && bytes.len() > 16 << 10, "a server may take less");
    }
}
