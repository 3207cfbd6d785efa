//! The part of one node in a question to all.

use super::message::{
    FACET_VALUES_SENT, MAX_FEDERATED, MAX_SHORT_TEXT, ShardRequest, ShardResponse, ShardResult, ShardResults,
};
use super::sketch::Sketch;
use crate::answer::Request;
use crate::error::SearchError;
use crate::indexer::clip;
use crate::language::Language;
use crate::query::parse;
use crate::searcher::{HIDDEN_BELOW, SearchIndex, collapse, window};
use crate::snippet::{Snipper, Wanted};
use crate::statistics::Statistics;

impl SearchIndex {
    /// Answers another node, whatever it sent.
    pub fn serve(&self, request: &[u8]) -> ShardResponse {
        let answered = match ShardRequest::from_bytes(request) {
            Ok(request) => self.answer_node(&request).map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        answered.unwrap_or_else(ShardResponse::Refused)
    }

    pub fn answer_node(&self, request: &ShardRequest) -> Result<ShardResponse, SearchError> {
        match request {
            ShardRequest::Statistics { query } => Ok(ShardResponse::Statistics(self.statistics(query)?)),
            ShardRequest::Search { query, statistics, window, sort, all, explain, facets } => {
                let mut request = Request::new(query.clone());
                request.limit = (*window).min(MAX_FEDERATED);
                (request.sort, request.all) = (*sort, *all);
                (request.explain, request.facets) = (*explain, *facets);
                Ok(ShardResponse::Results(self.shard_results(&request, statistics)?))
            }
        }
    }

    /// What scores depend on here. Another node may have pages in any language, so that all of them are looked up.
    pub fn statistics(&self, query: &str) -> Result<Statistics, SearchError> {
        let node = parse(query)?;
        let snapshot = self.snapshot()?;
        let all: Vec<Language> = Language::all().collect();
        let compiled = self.compiled(&snapshot, &all, &node, query)?;
        self.gathered(&snapshot, &compiled, &snapshot.languages)
    }

    /// The best pages of this index by the numbers of all.
    pub fn shard_results(
        &self,
        request: &Request,
        statistics: &Statistics,
    ) -> Result<ShardResults, SearchError> {
        let node = parse(&request.query)?;
        let snapshot = self.snapshot()?;
        let searcher = &snapshot.searcher;
        let compiled = self.weighed(&snapshot, &node, &request.query, Some(statistics))?;
        let ranked = self.rank(&snapshot, &compiled, request, window(0, request.limit), FACET_VALUES_SENT)?;
        let best = ranked.scores.iter().copied().fold(0.0, f32::max);
        let floor = if request.all { 0.0 } else { best * HIDDEN_BELOW };
        let wanted = Wanted::of(&node, &statistics.languages());
        let mut snipper = Snipper::new(&wanted);
        let mut results = Vec::new();
        let shown = collapse(ranked.hits.iter().filter(|hit| hit.base >= floor));
        for group in shown.iter().take(request.limit) {
            let mut found = self.result(searcher, &compiled, group, &mut snipper, request.explain)?;
            for text in [&mut found.title, &mut found.author] {
                let end = clip(text, MAX_SHORT_TEXT).len();
                text.truncate(end);
            }
            let snippet = std::mem::take(&mut found.snippet);
            found.snippet_html.clear();
            let sketch = Sketch::of(&self.main_text(searcher, group.first.address)?);
            let mut names: Vec<u64> =
                std::iter::once(&group.first).chain(&group.others).flat_map(|hit| hit.names).collect();
            names.sort_unstable();
            names.dedup();
            results.push(ShardResult { found, snippet, base: group.first.base, names, sketch });
        }
        let total = ranked.scores.len() as u64;
        Ok(ShardResults {
            total,
            hidden: ranked.scores.iter().filter(|score| **score < floor).count() as u64,
            best,
            results,
            facets: ranked.facets,
            did_you_mean: self.better_query(searcher, &node, total)?,
        })
    }
}
