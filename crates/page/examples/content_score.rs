//! How well the main content is found, on the article extraction benchmark of Scrapinghub.
//!
//! `cargo run --release -p lycosa-page --example content_score DIR [OUT]`: DIR is a checkout of
//! <https://github.com/scrapinghub/article-extraction-benchmark> (`ground-truth.json`, `html/*.html.gz`). Prints
//! precision, recall and F1 over shingles of four words, averaged and combined as the benchmark's `evaluate.py` does.
//! With OUT, the worst pages are listed and their texts written there, and `lycosa.json` for `evaluate.py` itself.

use lycosa_page::{ContentReader, Extract, Limits, Scanner, charset};
use std::collections::{BTreeMap, HashMap};
use std::io::Read;
use std::path::Path;

const SHINGLE: usize = 4;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let dir = arguments.next().ok_or("name the benchmark's directory")?;
    let out = arguments.next();
    let truth: BTreeMap<String, serde_json::Value> =
        serde_json::from_slice(&std::fs::read(Path::new(&dir).join("ground-truth.json"))?)?;
    let (mut scanner, mut page, mut reader) =
        (Scanner::new(Limits::default()), Extract::new(), ContentReader::default());
    let mut scores = Vec::new();
    let mut predictions = BTreeMap::new();
    for (key, entry) in &truth {
        let mut body = Vec::new();
        let packed = std::fs::File::open(Path::new(&dir).join("html").join(format!("{key}.html.gz")))?;
        flate2::read::GzDecoder::new(packed).read_to_end(&mut body)?;
        let decoded = charset::decode(&body, Some("text/html; charset=utf-8"));
        scanner.scan(&decoded.text, &mut page);
        let found = reader.main_text(&decoded.text, &page);
        let expected = entry["articleBody"].as_str().unwrap_or("");
        scores.push((
            Score::of(expected, &found),
            key.clone(),
            entry["url"].as_str().unwrap_or("").to_owned(),
        ));
        if let Some(out) = &out {
            std::fs::create_dir_all(out)?;
            std::fs::write(Path::new(out).join(format!("{key}.found")), &found)?;
            std::fs::write(Path::new(out).join(format!("{key}.truth")), expected)?;
            std::fs::write(Path::new(out).join(format!("{key}.html")), decoded.text.as_bytes())?;
        }
        predictions.insert(key.clone(), serde_json::json!({ "articleBody": found }));
    }
    if let Some(out) = &out {
        std::fs::write(Path::new(out).join("lycosa.json"), serde_json::to_vec(&predictions)?)?;
        scores.sort_by(|a, b| a.0.f1().total_cmp(&b.0.f1()));
        for (score, key, url) in scores.iter().take(45) {
            println!(
                "{:.3} p {:.3} r {:.3} {} {url}",
                score.f1(),
                score.precision(),
                score.recall(),
                &key[..8]
            );
        }
    }
    let count = scores.len() as f64;
    let precision = scores.iter().map(|s| s.0.precision()).sum::<f64>() / count;
    let recall = scores.iter().map(|s| s.0.recall()).sum::<f64>() / count;
    println!(
        "{count} pages: precision {precision:.3}, recall {recall:.3}, F1 {:.3}",
        2.0 * precision * recall / (precision + recall)
    );
    Ok(())
}

struct Score {
    right: f64,
    wrong: f64,
    missed: f64,
}

impl Score {
    fn of(expected: &str, found: &str) -> Self {
        let (expected, found) = (shingles(expected), shingles(found));
        let mut score = Self { right: 0.0, wrong: 0.0, missed: 0.0 };
        for (shingle, &n) in &expected {
            let m = found.get(shingle).copied().unwrap_or(0.0);
            score.right += n.min(m);
            score.missed += (n - m).max(0.0);
        }
        for (shingle, &m) in &found {
            score.wrong += (m - expected.get(shingle).copied().unwrap_or(0.0)).max(0.0);
        }
        score
    }

    fn precision(&self) -> f64 {
        share(self.right, self.wrong, self.missed)
    }

    fn recall(&self) -> f64 {
        share(self.right, self.missed, self.wrong)
    }

    fn f1(&self) -> f64 {
        let (p, r) = (self.precision(), self.recall());
        if p + r == 0.0 { 0.0 } else { 2.0 * p * r / (p + r) }
    }
}

fn share(right: f64, other: f64, rest: f64) -> f64 {
    if other == 0.0 && (rest == 0.0 || right > 0.0) {
        1.0
    } else if right == 0.0 {
        0.0
    } else {
        right / (right + other)
    }
}

fn shingles(text: &str) -> HashMap<Vec<String>, f64> {
    let words: Vec<String> = text
        .split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .filter(|w| !w.is_empty())
        .map(str::to_owned)
        .collect();
    let mut counts = HashMap::new();
    for shingle in words.windows(SHINGLE.min(words.len()).max(1)) {
        *counts.entry(shingle.to_vec()).or_insert(0.0) += 1.0;
    }
    counts
}
