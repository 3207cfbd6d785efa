//! Asking the index.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;
use tantivy::query::{EnableScoring, Weight};
use tantivy::schema::Value;
use tantivy::schema::document::TantivyDocument;
use tantivy::{DocAddress, DocSet, IndexReader, Searcher};

use crate::collector::{Harvest, Hit, RankCollector, Sort};
use crate::compile::{Compiled, Compiler};
use crate::error::SearchError;
use crate::indexer::open_index;
use crate::language::Language;
use crate::query::{Node, parse};
use crate::ranking::{Statics, depth_factor, rank_factor, static_factor};
use crate::schema::Fields;
use crate::snippet::{Snippet, Wanted};
use crate::tokenizer::{language_of, plain};

/// Results below this share of the best score are hidden.
pub const HIDDEN_BELOW: f32 = 0.1;
/// Results in one answer.
pub const MAX_LIMIT: usize = 1000;
/// Results that can be paged through.
pub const MAX_OFFSET: usize = 10_000;
/// The best pages by their words, whose order nearness may change.
const RESCORED: usize = 1000;
/// Threads that share the segments of an index when it is asked.
const MAX_THREADS: usize = 8;
/// Values of a facet that are told.
const FACET_VALUES: usize = 10;
/// Other addresses of a result that are told.
const MAX_ALSO_AT: usize = 20;

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
}

impl Request {
    pub fn new(query: impl Into<String>) -> Self {
        Self { query: query.into(), limit: 10, offset: 0, sort: Sort::Score, all: false, explain: false }
    }
}

/// One result.
#[derive(Clone, Debug, Serialize)]
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
    #[serde(skip)]
    pub snippet: Snippet,
    /// Other addresses with the same content that match too.
    pub also_at: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Parts>,
}

/// The parts of a score: (words + nearness) × rank factor × depth factor.
#[derive(Clone, Debug, Serialize)]
pub struct Parts {
    pub words: f32,
    /// What words of the query that stand near each other add.
    pub nearness: f32,
    pub rank_factor: f64,
    pub depth_factor: f64,
    pub rank: f64,
    pub depth: u64,
    /// How the words' part came about.
    pub detail: serde_json::Value,
}

/// How many matches have a value.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
pub struct FacetCount {
    pub value: String,
    pub count: u64,
}

/// Matches by site, language and type; the most frequent values first.
#[derive(Clone, Debug, Default, Serialize)]
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

/// An index opened for questions.
pub struct SearchIndex {
    reader: IndexReader,
    pub(crate) fields: Fields,
    pub(crate) automata: crate::spelling::Automata,
    dir: PathBuf,
}

impl SearchIndex {
    pub fn open(dir: &Path) -> Result<Self, SearchError> {
        let (mut index, fields, _) = open_index(dir)?.ok_or_else(|| SearchError::NoIndex(dir.to_owned()))?;
        let threads =
            std::thread::available_parallelism().map_or(1, |threads| threads.get().min(MAX_THREADS));
        if threads > 1 && index.searchable_segment_ids()?.len() > 1 {
            index.set_multithread_executor(threads)?;
        }
        Ok(Self { reader: index.reader()?, fields, automata: Default::default(), dir: dir.to_owned() })
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

    /// Answers a question. `clock` tells the time since some moment; it is asked before and after.
    pub fn search(&self, request: &Request, clock: impl Fn() -> Duration) -> Result<Answer, SearchError> {
        let began = clock();
        let node = parse(&request.query)?;
        let searcher = self.searcher();
        let languages = languages(&searcher)?;
        let compiled = self.compiler(&searcher, &languages, &request.query).compile(&node)?;
        let limit = request.limit.min(MAX_LIMIT);
        let offset = request.offset.min(MAX_OFFSET);
        let window = ((offset + limit) * 4).max(RESCORED);
        let harvest = self.harvest(&searcher, &compiled, request.sort, window)?;
        let best = harvest.scores.iter().copied().fold(0.0, f32::max);
        let floor = if request.all { 0.0 } else { best * HIDDEN_BELOW };
        let hidden = harvest.scores.iter().filter(|score| **score < floor).count() as u64;
        let shown = collapse(harvest.hits.iter().filter(|hit| hit.base >= floor));
        let wanted = Wanted::of(&node, &languages);
        let mut results = Vec::new();
        for group in shown.iter().skip(offset).take(limit) {
            let mut found = self.found(&searcher, group.first, &wanted)?;
            for hit in &group.others {
                found.also_at.push(self.url(&searcher, hit.address)?);
            }
            if request.explain {
                found.explanation = Some(self.explain(&searcher, &compiled, group.first)?);
            }
            results.push(found);
        }
        let total = harvest.scores.len() as u64;
        let [site, language, kind] = harvest.facets.map(most_frequent);
        let did_you_mean = self.better_query(&searcher, &node, total)?;
        let elapsed = clock().saturating_sub(began);
        Ok(Answer {
            query: node.to_string(),
            total,
            hidden,
            results,
            facets: Facets { site, language, kind },
            did_you_mean,
            elapsed_us: u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX),
        })
    }

    /// The URLs of the best `limit` pages with their scores, hidden ones included: what an evaluation needs.
    pub fn ranked(&self, query: &Node, limit: usize) -> Result<Vec<(String, f32)>, SearchError> {
        let searcher = self.searcher();
        let languages = languages(&searcher)?;
        let text = query.to_string();
        let compiled = self.compiler(&searcher, &languages, &text).compile(query)?;
        let mut harvest = self.harvest(&searcher, &compiled, Sort::Score, limit.max(RESCORED))?;
        harvest.hits.truncate(limit);
        harvest.hits.iter().map(|hit| Ok((self.url(&searcher, hit.address)?, hit.score))).collect()
    }

    fn compiler<'s>(
        &'s self,
        searcher: &'s Searcher,
        languages: &'s [Language],
        text: &'s str,
    ) -> Compiler<'s> {
        Compiler { searcher, fields: &self.fields, languages, text }
    }

    fn harvest(
        &self,
        searcher: &Searcher,
        compiled: &Compiled,
        sort: Sort,
        window: usize,
    ) -> Result<Harvest, SearchError> {
        let mut harvest = searcher.search(&compiled.query, &RankCollector { sort, window })?;
        if let Some(nearness) = &compiled.nearness {
            let weight = nearness.weight(EnableScoring::enabled_from_searcher(searcher))?;
            add_nearness(searcher, &*weight, &mut harvest.hits)?;
            harvest.hits.sort_unstable_by(|a, b| a.compare(b, sort));
        }
        Ok(harvest)
    }

    fn url(&self, searcher: &Searcher, address: DocAddress) -> Result<String, SearchError> {
        let doc: TantivyDocument = searcher.doc(address)?;
        let url = doc.get_first(self.fields.url).and_then(|value| value.as_str().map(plain));
        Ok(url.unwrap_or_default().to_owned())
    }

    fn found(&self, searcher: &Searcher, hit: Hit, wanted: &Wanted) -> Result<Found, SearchError> {
        let doc: TantivyDocument = searcher.doc(hit.address)?;
        let text = |field| doc.get_first(field).and_then(|value| value.as_str()).unwrap_or_default();
        let body = text(self.fields.body);
        let snippet = Snippet::of(plain(body), language_of(body), wanted);
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

    fn explain(&self, searcher: &Searcher, compiled: &Compiled, hit: Hit) -> Result<Parts, SearchError> {
        let detail = compiled.query.explain(searcher, hit.address)?.to_pretty_json();
        let columns = searcher.segment_reader(hit.address.segment_ord).fast_fields();
        let statics = Statics::of_code(columns.u64("prior")?.first(hit.address.doc_id).unwrap_or_default());
        let (rank_factor, depth_factor) = (rank_factor(statics.rank), depth_factor(statics.depth));
        let factor = rank_factor * depth_factor;
        Ok(Parts {
            words: (f64::from(hit.base) / factor) as f32,
            nearness: (f64::from(hit.score - hit.base) / factor) as f32,
            rank_factor,
            depth_factor,
            rank: statics.rank,
            depth: statics.depth,
            detail: serde_json::from_str(&detail).unwrap_or_default(),
        })
    }
}

/// Adds to the best pages what is due to words near each other.
fn add_nearness(searcher: &Searcher, weight: &dyn Weight, hits: &mut [Hit]) -> Result<(), SearchError> {
    hits.sort_unstable_by_key(|hit| hit.address);
    for of_segment in hits.chunk_by_mut(|a, b| a.address.segment_ord == b.address.segment_ord) {
        let Some(first) = of_segment.first() else { continue };
        let segment = searcher.segment_reader(first.address.segment_ord);
        let prior = segment.fast_fields().u64("prior")?;
        let mut scorer = weight.scorer(segment, 1.0)?;
        for hit in of_segment {
            let doc = hit.address.doc_id;
            let at = scorer.doc();
            if at == doc || (at < doc && scorer.seek(doc) == doc) {
                hit.score +=
                    scorer.score() * static_factor(Statics::of_code(prior.first(doc).unwrap_or_default()));
            }
        }
    }
    Ok(())
}

/// The languages that pages of the index are in, and none.
pub(crate) fn languages(searcher: &Searcher) -> Result<Vec<Language>, SearchError> {
    let mut found = vec![Language::NONE];
    for segment in searcher.segment_readers() {
        let Some(column) = segment.fast_fields().str("lang")? else { continue };
        for value in 0..column.num_terms() as u64 {
            let mut code = String::new();
            column.ord_to_str(value, &mut code)?;
            let language = Language::of_tag(&code);
            if !found.contains(&language) {
                found.push(language);
            }
        }
    }
    Ok(found)
}

/// Hits with the same content.
struct Group {
    first: Hit,
    others: Vec<Hit>,
}

fn collapse<'h>(hits: impl Iterator<Item = &'h Hit>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut places: HashMap<u64, usize> = HashMap::new();
    for hit in hits {
        match places.get(&hit.group).and_then(|place| groups.get_mut(*place)) {
            Some(group) if group.others.len() < MAX_ALSO_AT => group.others.push(*hit),
            Some(_) => {}
            None => {
                places.insert(hit.group, groups.len());
                groups.push(Group { first: *hit, others: Vec::new() });
            }
        }
    }
    groups
}

fn most_frequent(counts: HashMap<String, u64>) -> Vec<FacetCount> {
    let mut sorted: Vec<FacetCount> = counts
        .into_iter()
        .filter(|(value, _)| !value.is_empty())
        .map(|(value, count)| FacetCount { value, count })
        .collect();
    sorted.sort_unstable_by(|a, b| b.count.cmp(&a.count).then_with(|| a.value.cmp(&b.value)));
    sorted.truncate(FACET_VALUES);
    sorted
}
