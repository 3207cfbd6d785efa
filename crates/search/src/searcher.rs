//! Asking the index.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tantivy::schema::Value;
use tantivy::schema::document::TantivyDocument;
use tantivy::{DocAddress, IndexReader, ReloadPolicy, Searcher};

use crate::answer::{Answer, FacetCount, Facets, Found, Parts, Request};
use crate::collector::{Hit, Wanted as Sought};
use crate::compile::{Compiled, Compiler};
use crate::copies::firsts;
use crate::error::SearchError;
use crate::evaluate::Explanation;
use crate::indexer::open_index;
use crate::language::Language;
use crate::query::{Node, parse};
use crate::ranking::{Statics, depth_factor, rank_factor};
use crate::run::{best, run};
use crate::schema::Fields;
use crate::snapshot::{Latest, Snapshot};
use crate::snippet::{Snipper, Wanted};
use crate::statistics::Statistics;
use crate::tokenizer::{language_of, plain};

/// Results below this share of the best score are hidden.
pub const HIDDEN_BELOW: f32 = 0.1;
/// Results in one answer.
pub const MAX_LIMIT: usize = 1000;
/// Results that can be paged through.
pub const MAX_OFFSET: usize = 10_000;
/// The best pages by their words, whose order nearness may change.
pub const RESCORED: usize = 256;
/// Values of a facet that are told.
pub(crate) const FACET_VALUES: usize = 10;
/// Other addresses of a result that are told.
pub(crate) const MAX_ALSO_AT: usize = 20;
/// Blocks of stored texts that are kept unpacked, for each segment.
const STORE_BLOCKS: usize = 32;

/// An index opened for questions.
pub struct SearchIndex {
    reader: IndexReader,
    pub(crate) fields: Fields,
    pub(crate) automata: crate::spelling::Automata,
    latest: Latest,
    dir: PathBuf,
}

/// A question worked out on the pages of this index.
pub(crate) struct Ranked {
    pub(crate) hits: Vec<Hit>,
    /// Scores of all matches, in no order.
    pub(crate) scores: Vec<f32>,
    pub(crate) facets: Facets,
}

impl SearchIndex {
    pub fn open(dir: &Path) -> Result<Self, SearchError> {
        let (index, fields, _) = open_index(dir)?.ok_or_else(|| SearchError::NoIndex(dir.to_owned()))?;
        // Who asks again says so with `reload`; no thread watches the directory.
        let reader = index
            .reader_builder()
            .reload_policy(ReloadPolicy::Manual)
            .doc_store_cache_num_blocks(STORE_BLOCKS)
            .try_into()?;
        let dir = dir.to_owned();
        Ok(Self { reader, fields, automata: Default::default(), latest: Latest::default(), dir })
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Sees what was committed since.
    pub fn reload(&self) -> Result<(), SearchError> {
        Ok(self.reader.reload()?)
    }

    /// Pages in the index.
    pub fn count(&self) -> u64 {
        self.reader.searcher().num_docs()
    }

    pub(crate) fn searcher(&self) -> Searcher {
        self.reader.searcher()
    }

    pub(crate) fn snapshot(&self) -> Result<Arc<Snapshot>, SearchError> {
        self.latest.of(self.reader.searcher())
    }

    /// Answers a question. `clock` tells the time since some moment; it is asked before and after.
    pub fn search(&self, request: &Request, clock: impl Fn() -> Duration) -> Result<Answer, SearchError> {
        let began = clock();
        let node = parse(&request.query)?;
        let snapshot = self.snapshot()?;
        let searcher = &snapshot.searcher;
        let compiled = self.weighed(&snapshot, &node, &request.query, None)?;
        let limit = request.limit.min(MAX_LIMIT);
        let offset = request.offset.min(MAX_OFFSET);
        let ranked = self.rank(&snapshot, &compiled, request, window(offset, limit), FACET_VALUES)?;
        let top = ranked.scores.iter().copied().fold(0.0, f32::max);
        let floor = if request.all { 0.0 } else { top * HIDDEN_BELOW };
        let hidden = ranked.scores.iter().filter(|score| **score < floor).count() as u64;
        let shown = collapse(ranked.hits.iter().filter(|hit| hit.base >= floor));
        let wanted = Wanted::of(&node, &snapshot.languages);
        let mut snipper = Snipper::new(&wanted);
        let mut results = Vec::new();
        for group in shown.iter().skip(offset).take(limit) {
            results.push(self.result(searcher, &compiled, group, &mut snipper, request.explain)?);
        }
        let total = ranked.scores.len() as u64;
        let did_you_mean = self.better_query(searcher, &node, total)?;
        let elapsed = clock().saturating_sub(began);
        Ok(Answer {
            query: node.to_string(),
            total,
            hidden,
            results,
            facets: ranked.facets,
            did_you_mean,
            elapsed_us: u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX),
        })
    }

    /// The URLs of the best `limit` pages with their scores, hidden ones included: what an evaluation needs.
    pub fn ranked(&self, query: &Node, limit: usize) -> Result<Vec<(String, f32)>, SearchError> {
        let snapshot = self.snapshot()?;
        let compiled = self.weighed(&snapshot, query, &query.to_string(), None)?;
        let mut request = Request::new("");
        request.facets = false;
        let mut ranked = self.rank(&snapshot, &compiled, &request, limit.max(RESCORED), 0)?;
        ranked.hits.truncate(limit);
        ranked.hits.iter().map(|hit| Ok((self.url(&snapshot.searcher, hit.address)?, hit.score))).collect()
    }

    /// A query ready to run: weighed by the statistics of this index, or by those given.
    pub(crate) fn weighed(
        &self,
        snapshot: &Snapshot,
        node: &Node,
        text: &str,
        statistics: Option<&Statistics>,
    ) -> Result<Compiled, SearchError> {
        let given = statistics.map(Statistics::languages);
        let languages = given.as_deref().unwrap_or(&snapshot.languages);
        let mut compiled = self.compiled(snapshot, languages, node, text)?;
        let own;
        let statistics = match statistics {
            Some(given) => given,
            None => {
                own = self.gathered(snapshot, &compiled, languages)?;
                &own
            }
        };
        compiled.plan.weigh(statistics);
        compiled.nearness.iter_mut().for_each(|plan| plan.weigh(statistics));
        Ok(compiled)
    }

    pub(crate) fn compiled(
        &self,
        snapshot: &Snapshot,
        languages: &[Language],
        node: &Node,
        text: &str,
    ) -> Result<Compiled, SearchError> {
        Compiler { searcher: &snapshot.searcher, fields: &self.fields, languages, text }.compile(node)
    }

    pub(crate) fn gathered(
        &self,
        snapshot: &Snapshot,
        compiled: &Compiled,
        languages: &[Language],
    ) -> Result<Statistics, SearchError> {
        let plans: Vec<_> = std::iter::once(&compiled.plan).chain(&compiled.nearness).collect();
        Statistics::gather(&snapshot.searcher, &self.fields, &plans, languages)
    }

    pub(crate) fn rank(
        &self,
        snapshot: &Snapshot,
        compiled: &Compiled,
        request: &Request,
        window: usize,
        facet_values: usize,
    ) -> Result<Ranked, SearchError> {
        let sought = Sought { sort: request.sort, window, facets: request.facets };
        let mut harvests = run(snapshot, &compiled.plan, sought)?;
        let hits = best(&snapshot.searcher, compiled, &mut harvests, sought)?;
        let facets = if request.facets {
            let [site, language, kind] =
                snapshot.facets(&harvests)?.map(|counts| most_frequent(counts, facet_values));
            Facets { site, language, kind }
        } else {
            Facets::default()
        };
        let mut scores = Vec::new();
        for harvest in harvests {
            if scores.is_empty() { scores = harvest.scores } else { scores.extend(harvest.scores) }
        }
        Ok(Ranked { hits, scores, facets })
    }

    pub(crate) fn url(&self, searcher: &Searcher, address: DocAddress) -> Result<String, SearchError> {
        let doc: TantivyDocument = searcher.doc(address)?;
        let url = doc.get_first(self.fields.url).and_then(|value| value.as_str().map(plain));
        Ok(url.unwrap_or_default().to_owned())
    }

    pub(crate) fn main_text(&self, searcher: &Searcher, address: DocAddress) -> Result<String, SearchError> {
        let doc: TantivyDocument = searcher.doc(address)?;
        let body = doc.get_first(self.fields.body).and_then(|value| value.as_str().map(plain));
        Ok(body.unwrap_or_default().to_owned())
    }

    pub(crate) fn result(
        &self,
        searcher: &Searcher,
        compiled: &Compiled,
        group: &Group,
        snipper: &mut Snipper<'_>,
        explain: bool,
    ) -> Result<Found, SearchError> {
        let mut found = self.found(searcher, group.first, snipper)?;
        for hit in &group.others {
            found.also_at.push(self.url(searcher, hit.address)?);
        }
        if explain {
            found.explanation = self.explain(searcher, compiled, group.first)?;
        }
        Ok(found)
    }

    fn found(&self, searcher: &Searcher, hit: Hit, snipper: &mut Snipper<'_>) -> Result<Found, SearchError> {
        let doc: TantivyDocument = searcher.doc(hit.address)?;
        let text = |field| doc.get_first(field).and_then(|value| value.as_str()).unwrap_or_default();
        let body = text(self.fields.body);
        let snippet = snipper.snip(plain(body), language_of(body));
        Ok(Found {
            url: plain(text(self.fields.url)).to_owned(),
            title: plain(text(self.fields.title)).to_owned(),
            author: plain(text(self.fields.author)).to_owned(),
            score: hit.score,
            has_all: hit.has_all,
            site: text(self.fields.site).to_owned(),
            language: text(self.fields.lang).to_owned(),
            kind: text(self.fields.kind).to_owned(),
            date_s: hit.date,
            snippet_html: snippet.html(),
            snippet,
            also_at: Vec::new(),
            explanation: None,
        })
    }

    fn explain(
        &self,
        searcher: &Searcher,
        compiled: &Compiled,
        hit: Hit,
    ) -> Result<Option<Parts>, SearchError> {
        let reader = searcher.segment_reader(hit.address.segment_ord);
        let Some(detail) = Explanation::of(&compiled.plan, reader, hit.address.doc_id)? else {
            return Ok(None);
        };
        let code = reader.fast_fields().u64("prior")?.first(hit.address.doc_id).unwrap_or_default();
        let statics = Statics::of_code(code);
        let (rank_factor, depth_factor) = (rank_factor(statics.rank), depth_factor(statics.depth));
        let factor = rank_factor * depth_factor;
        Ok(Some(Parts {
            words: (f64::from(hit.base) / factor) as f32,
            nearness: (f64::from(hit.score - hit.base) / factor) as f32,
            rank_factor,
            depth_factor,
            rank: statics.rank,
            depth: statics.depth,
            detail,
        }))
    }
}

/// How many of the best are worked out for a page of results: more, because copies of a page collapse to one.
pub(crate) fn window(offset: usize, limit: usize) -> usize {
    ((offset + limit) * 4).max(RESCORED)
}

/// Hits with the same content.
pub(crate) struct Group {
    pub(crate) first: Hit,
    pub(crate) others: Vec<Hit>,
}

pub(crate) fn collapse<'h>(hits: impl Iterator<Item = &'h Hit>) -> Vec<Group> {
    let hits: Vec<&Hit> = hits.collect();
    let mut groups: Vec<Group> = Vec::new();
    let mut places: HashMap<usize, usize> = HashMap::new();
    for (hit, first) in hits.iter().zip(firsts(hits.iter().map(|hit| hit.names.as_slice()))) {
        match places.get(&first).and_then(|place| groups.get_mut(*place)) {
            Some(group) if group.others.len() < MAX_ALSO_AT => group.others.push(**hit),
            Some(_) => {}
            None => {
                places.insert(first, groups.len());
                groups.push(Group { first: **hit, others: Vec::new() });
            }
        }
    }
    groups
}

fn most_frequent(mut counts: Vec<(&str, u64)>, limit: usize) -> Vec<FacetCount> {
    let compare = |a: &(&str, u64), b: &(&str, u64)| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0));
    if counts.len() > limit && limit > 0 {
        counts.select_nth_unstable_by(limit - 1, compare);
    }
    counts.truncate(limit);
    counts.sort_unstable_by(compare);
    counts.into_iter().map(|(value, count)| FacetCount { value: value.to_owned(), count }).collect()
}
