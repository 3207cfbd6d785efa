//! Measuring a ranking against judgements, in the formats of TREC.
//!
//! Queries: lines `NUMBER<blank>TEXT`. Judgements (qrels): lines `NUMBER ITERATION DOCUMENT GRADE`; a grade of 1 or more is
//! relevant. A document is named by its URL, or by the last part of its path, with or without its ending.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Serialize;

/// Results that are looked at for a query.
pub const DEPTH: usize = 1000;
/// Ranks at which precision is told.
pub const CUTS: [usize; 4] = [5, 10, 20, 30];
/// The rank up to which gain is counted.
pub const GAIN_CUT: usize = 10;

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum EvaluationError {
    #[error("line {line} of the queries has no text; write NUMBER TEXT")]
    Query { line: usize },
    #[error("line {line} of the judgements is not `NUMBER ITERATION DOCUMENT GRADE`")]
    Judgement { line: usize },
    #[error("no query has a relevant document; check that both files use the same numbers")]
    NothingJudged,
}

/// Queries by number, in the order of the file.
pub fn read_queries(text: &str) -> Result<Vec<(String, String)>, EvaluationError> {
    let mut queries = Vec::new();
    for (line, content) in text.lines().enumerate().filter(|(_, content)| !content.trim().is_empty()) {
        let (number, query) = content
            .trim()
            .split_once(char::is_whitespace)
            .ok_or(EvaluationError::Query { line: line + 1 })?;
        queries.push((number.trim_end_matches(':').to_owned(), query.trim().to_owned()));
    }
    Ok(queries)
}

/// The grades of the documents that were judged for each query.
#[derive(Clone, Debug, Default)]
pub struct Judgements {
    grades: HashMap<String, HashMap<String, u32>>,
}

impl Judgements {
    pub fn read(text: &str) -> Result<Self, EvaluationError> {
        let mut judgements = Self::default();
        for (line, content) in text.lines().enumerate().filter(|(_, content)| !content.trim().is_empty()) {
            let mut words = content.split_whitespace();
            let parts = (words.next(), words.next(), words.next(), words.next());
            let (Some(number), Some(_), Some(document), Some(grade)) = parts else {
                return Err(EvaluationError::Judgement { line: line + 1 });
            };
            let grade: i64 = grade.parse().map_err(|_| EvaluationError::Judgement { line: line + 1 })?;
            let grade = u32::try_from(grade.max(0)).unwrap_or(u32::MAX);
            judgements.grades.entry(number.to_owned()).or_default().insert(document.to_owned(), grade);
        }
        Ok(judgements)
    }

    fn relevant(&self, query: &str) -> usize {
        self.grades.get(query).map_or(0, |judged| judged.values().filter(|grade| **grade > 0).count())
    }
}

/// The names that a judgement may use for a URL.
fn names(url: &str) -> impl Iterator<Item = &str> {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    let last = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let bare = last.split_once('.').map_or(last, |(bare, _)| bare);
    [url, last, bare].into_iter()
}

/// The figures of one query, or their means.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Figures {
    pub relevant: f64,
    pub retrieved: f64,
    pub recall: f64,
    pub precision: f64,
    /// At each of [`CUTS`].
    pub precision_at: BTreeMap<usize, f64>,
    pub average_precision: f64,
    pub ndcg: f64,
}

/// The figures of a ranking: the URLs that a query found, the best first.
pub fn measure(query: &str, ranked: &[String], judgements: &Judgements) -> Option<Figures> {
    let relevant = judgements.relevant(query);
    let judged = judgements.grades.get(query).filter(|_| relevant > 0)?;
    let mut seen: HashSet<&str> = HashSet::new();
    let grades: Vec<u32> = ranked
        .iter()
        .map(|url| {
            let known = names(url).find_map(|name| judged.get_key_value(name));
            // A document counts once, under however many addresses it was found.
            known.filter(|(name, _)| seen.insert(name.as_str())).map_or(0, |(_, grade)| *grade)
        })
        .collect();
    let hits = |depth: usize| grades.iter().take(depth).filter(|grade| **grade > 0).count() as f64;
    let found = hits(grades.len());
    let mut so_far = 0.0;
    let mut average_precision = 0.0;
    for (place, _) in grades.iter().enumerate().filter(|(_, grade)| **grade > 0) {
        so_far += 1.0;
        average_precision += so_far / (place + 1) as f64;
    }
    let mut ideal: Vec<u32> = judged.values().copied().collect();
    ideal.sort_unstable_by(|a, b| b.cmp(a));
    Some(Figures {
        relevant: relevant as f64,
        retrieved: grades.len() as f64,
        recall: found / relevant as f64,
        precision: if grades.is_empty() { 0.0 } else { found / grades.len() as f64 },
        precision_at: CUTS.iter().map(|&cut| (cut, hits(cut) / cut as f64)).collect(),
        average_precision: average_precision / relevant as f64,
        ndcg: gain(&grades) / gain(&ideal).max(f64::MIN_POSITIVE),
    })
}

fn gain(grades: &[u32]) -> f64 {
    let each = grades.iter().take(GAIN_CUT).enumerate();
    each.map(|(place, grade)| (f64::from((*grade).min(30)).exp2() - 1.0) / ((place + 2) as f64).log2()).sum()
}

/// The means over queries.
pub fn mean(each: &[Figures]) -> Result<Figures, EvaluationError> {
    if each.is_empty() {
        return Err(EvaluationError::NothingJudged);
    }
    let of = |value: fn(&Figures) -> f64| each.iter().map(value).sum::<f64>() / each.len() as f64;
    let at = |cut: usize| {
        let sum: f64 = each.iter().filter_map(|figures| figures.precision_at.get(&cut)).sum();
        sum / each.len() as f64
    };
    Ok(Figures {
        relevant: of(|figures| figures.relevant),
        retrieved: of(|figures| figures.retrieved),
        recall: of(|figures| figures.recall),
        precision: of(|figures| figures.precision),
        precision_at: CUTS.iter().map(|&cut| (cut, at(cut))).collect(),
        average_precision: of(|figures| figures.average_precision),
        ndcg: of(|figures| figures.ndcg),
    })
}

/// A natural text as a query: its words side by side, everything else about it left out.
pub fn as_words(text: &str) -> String {
    let mut words = Vec::new();
    crate::tokenizer::index_terms(crate::language::Language::NONE, text, |term, _| {
        words.push(term.to_owned())
    });
    words.truncate(crate::query::MAX_WORDS);
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_are_those_of_the_textbook() {
        let judgements = Judgements::read("1 0 a 1\n1 0 b 2\n1 0 c 0\n2 0 x 1\n").unwrap();
        let ranked: Vec<String> = ["http://h/a.html", "http://h/c", "http://h/b/", "http://h/a.html?again"]
            .map(str::to_owned)
            .into();
        let figures = measure("1", &ranked, &judgements).unwrap();
        assert_eq!((figures.recall, figures.precision), (1.0, 0.5));
        assert_eq!(figures.precision_at[&5], 0.4);
        assert!((figures.average_precision - (1.0 + 2.0 / 3.0) / 2.0).abs() < 1e-12);
        let ideal = 3.0 + 1.0 / 3_f64.log2();
        assert!((figures.ndcg - (1.0 + 3.0 / 2.0) / ideal).abs() < 1e-12);
        let missed = measure("2", &ranked, &judgements).unwrap();
        assert_eq!((missed.recall, missed.average_precision, missed.ndcg), (0.0, 0.0, 0.0));
        assert_eq!(mean(&[figures, missed]).unwrap().recall, 0.5);
        assert_eq!(measure("3", &ranked, &judgements), None);
        assert_eq!(mean(&[]), Err(EvaluationError::NothingJudged));
    }

    #[test]
    fn files_are_read_or_the_line_is_named() {
        assert_eq!(
            read_queries("7  two words \n\n8: x").unwrap(),
            [("7".into(), "two words".into()), ("8".into(), "x".into())]
        );
        assert_eq!(read_queries("1 a\n2"), Err(EvaluationError::Query { line: 2 }));
        assert!(matches!(Judgements::read("1 0 a x"), Err(EvaluationError::Judgement { line: 1 })));
        assert!(matches!(Judgements::read("1 0 a"), Err(EvaluationError::Judgement { line: 1 })));
        assert_eq!(as_words("What (is) \"NOT\" web-crawling?"), "what is not web crawling");
    }
}
