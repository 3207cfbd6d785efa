//! A question and its answer.

use serde::{Deserialize, Serialize};

use crate::collector::Sort;
use crate::evaluate::Explanation;
use crate::snippet::Snippet;

/// A question.
#[derive(Clone, Debug)]
pub struct Request {
    pub query: String,
    pub limit: usize,
    pub offset: usize,
    pub sort: Sort,
    /// Also results below [`HIDDEN_BELOW`] of the best.
    pub all: bool,
    pub explain: bool,
    /// Count the matches by site, language and type.
    pub facets: bool,
}

impl Request {
    pub fn new(query: impl Into<String>) -> Self {
        Self {
            query: query.into(),
            limit: 10,
            offset: 0,
            sort: Sort::Score,
            all: false,
            explain: false,
            facets: true,
        }
    }
}

/// One result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Found {
    pub url: String,
    pub title: String,
    pub author: String,
    pub score: f32,
    /// It has all the words that stand side by side in the query.
    pub has_all: bool,
    pub site: String,
    pub language: String,
    #[serde(rename = "type")]
    pub kind: String,
    /// Seconds since 1970.
    pub date_s: Option<i64>,
    /// Safe to put into a page.
    pub snippet_html: String,
    #[serde(skip, default)]
    pub snippet: Snippet,
    /// Other addresses with the same content that match too.
    pub also_at: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Parts>,
}

/// The parts of a score: (words + nearness) × rank factor × depth factor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parts {
    pub words: f32,
    /// What words of the query that stand near each other add.
    pub nearness: f32,
    pub rank_factor: f64,
    pub depth_factor: f64,
    pub rank: f64,
    pub depth: u64,
    /// How the words' part came about.
    pub detail: Explanation,
}

/// How many matches have a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FacetCount {
    pub value: String,
    pub count: u64,
}

/// Matches by site, language and type; the most frequent values first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facets {
    pub site: Vec<FacetCount>,
    pub language: Vec<FacetCount>,
    #[serde(rename = "type")]
    pub kind: Vec<FacetCount>,
}

/// An answer.
#[derive(Clone, Debug, Serialize)]
pub struct Answer {
    /// The query as it was understood.
    pub query: String,
    /// Pages that match.
    pub total: u64,
    /// Of these, those below a tenth of the best score, unless they were asked for.
    pub hidden: u64,
    pub results: Vec<Found>,
    pub facets: Facets,
    /// A query that more pages may answer.
    pub did_you_mean: Option<String>,
    pub elapsed_us: u64,
}
