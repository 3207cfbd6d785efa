//! How changes between two versions of real documentation are judged, against what a plain oracle says.
//!
//! `cargo run --release -p lycosa-page --example version_pairs LIST [MISSED]`: LIST holds JSON lines with `host`, `old`
//! and `new` (files), `old_versions` and `new_versions` (lists). The oracle is html5ever's tree and nothing of ours: two pages have
//! the same text if their lines are equal, and differ only in a banner if they are equal once version numbers and dates
//! are masked and the very same line has been replaced by the very same line on most changed pages of the host. Prints
//! JSON lines, one per host; with MISSED, the pairs judged otherwise than the oracle are written there. The last line says how
//! well the two versions of a page whose text changed are told from two pages of one host that have nothing to do with each other.
//! `cargo xtask version-pairs` fetches the documentation and calls this.

use html5ever::tendril::TendrilSink;
use lycosa_page::{
    ContentReader, Extract, HostTemplate, Judger, Keywords, Likeness, Scanner, Signatures, Verdict,
    WinnowConfig, Winnower, charset, compare,
};
use markup5ever_rcdom::{Handle, NodeData, RcDom};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::io::Write;

#[derive(Deserialize)]
struct Pair {
    host: String,
    old: String,
    new: String,
    old_versions: Vec<String>,
    new_versions: Vec<String>,
}

/// What the oracle says of a pair.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Truth {
    /// Byte for byte the same.
    Same,
    /// The same text.
    Markup,
    /// The same text but for a line that changes on most pages of the host.
    Banner,
    Text,
}

/// What became of the pairs of one host.
#[derive(Default, Serialize)]
struct Row {
    host: String,
    pairs: usize,
    same: usize,
    markup_only: usize,
    /// Of them, judged `text`, or with a changed text.
    markup_called_text: usize,
    banner_only: usize,
    banner_called_text: usize,
    text: usize,
    /// Of them, found to have a changed text.
    text_found: usize,
    /// Of them, judged `text` or `structure`.
    text_not_silent: usize,
    verdicts: BTreeMap<String, usize>,
}

/// How alike two versions of a page are, and two pages of one host.
#[derive(Serialize)]
struct Near {
    pairs: usize,
    unrelated: usize,
    mean_resemblance: f64,
    mean_resemblance_of_unrelated: f64,
    area_winnowing: f64,
    area_keywords: f64,
}

/// What a page has that tells near-duplicates.
struct Prints {
    minutiae: Vec<u64>,
    keywords: Keywords,
}

/// Pages of the same host that each page is held against.
const UNRELATED: usize = 20;

/// The lines of a page as the oracle reads it, the title first.
type Lines = Vec<String>;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let list = std::fs::read_to_string(arguments.next().ok_or("name the list of pairs")?)?;
    let mut missed = arguments.next().map(std::fs::File::create).transpose()?;
    let mut hosts: BTreeMap<String, Vec<Pair>> = BTreeMap::new();
    for line in list.lines() {
        let pair: Pair = serde_json::from_str(line)?;
        hosts.entry(pair.host.clone()).or_default().push(pair);
    }
    let (mut near, mut far) = (Vec::new(), Vec::new());
    for (host, pairs) in hosts {
        let mut row = Row { host, pairs: pairs.len(), ..Row::default() };
        let truths = truths(&pairs)?;
        let mut reader = Reader::default();
        let mut template = HostTemplate::default();
        for pair in &pairs {
            template.learn(&reader.sign(&pair.old)?, &reader.sign(&pair.new)?);
        }
        let mut changed = Vec::new();
        for (pair, truth) in pairs.iter().zip(truths) {
            let report = compare(&reader.sign(&pair.old)?, &reader.sign(&pair.new)?, Some(&template));
            let verdict = format!("{:?}", report.verdict).to_lowercase();
            let called_text = report.verdict == Verdict::Text || report.text_changed;
            let wrong = match truth {
                Truth::Same => {
                    row.same += 1;
                    report.verdict != Verdict::Unchanged
                }
                Truth::Markup => {
                    row.markup_only += 1;
                    row.markup_called_text += usize::from(called_text);
                    called_text
                }
                Truth::Banner => {
                    row.banner_only += 1;
                    row.banner_called_text += usize::from(called_text);
                    called_text
                }
                Truth::Text => {
                    row.text += 1;
                    row.text_found += usize::from(called_text);
                    let silent = matches!(report.verdict, Verdict::Noise | Verdict::Unchanged);
                    row.text_not_silent += usize::from(!silent);
                    changed.push((reader.prints(&pair.old)?, reader.prints(&pair.new)?));
                    !called_text
                }
            };
            if let Some(out) = missed.as_mut().filter(|_| wrong) {
                writeln!(out, "{verdict}\t{:?}\t{}\t{}", report.signal, pair.old, pair.new)?;
            }
            *row.verdicts.entry(verdict).or_default() += 1;
        }
        for (at, (old, new)) in changed.iter().enumerate() {
            near.push(alike(old, new));
            let others = (1..changed.len()).take(UNRELATED).map(|step| (at + step) % changed.len());
            far.extend(others.map(|other| alike(old, &changed[other].1)));
        }
        println!("{}", serde_json::to_string(&row)?);
    }
    println!("{}", serde_json::to_string(&told_apart(&near, &far))?);
    Ok(())
}

/// Resemblance by minutiae, and similarity by keywords.
fn alike(a: &Prints, b: &Prints) -> (f64, f64) {
    (Likeness::of(&a.minutiae, &b.minutiae).resemblance, a.keywords.similarity(&b.keywords))
}

fn told_apart(near: &[(f64, f64)], far: &[(f64, f64)]) -> Near {
    let mean = |scores: &[(f64, f64)]| scores.iter().map(|s| s.0).sum::<f64>() / scores.len().max(1) as f64;
    Near {
        pairs: near.len(),
        unrelated: far.len(),
        mean_resemblance: mean(near),
        mean_resemblance_of_unrelated: mean(far),
        area_winnowing: area(near, far, |score| score.0),
        area_keywords: area(near, far, |score| score.1),
    }
}

/// The chance that two versions of a page score higher than two pages.
fn area(near: &[(f64, f64)], far: &[(f64, f64)], score: impl Fn(&(f64, f64)) -> f64) -> f64 {
    let mut far: Vec<f64> = far.iter().map(&score).collect();
    far.sort_unstable_by(f64::total_cmp);
    let below = near.iter().map(score).map(|near| {
        let less = far.partition_point(|far| *far < near);
        let equal = far.partition_point(|far| *far <= near) - less;
        less as f64 + equal as f64 / 2.0
    });
    below.sum::<f64>() / (near.len() * far.len()).max(1) as f64
}

#[derive(Default)]
struct Reader {
    scanner: Scanner,
    page: Extract,
    contents: ContentReader,
    judger: Judger,
}

impl Reader {
    fn prints(&mut self, path: &str) -> std::io::Result<Prints> {
        let body = std::fs::read(path)?;
        let source = charset::decode(&body, None).text;
        self.scanner.scan(&source, &mut self.page);
        let minutiae = Winnower::new(WinnowConfig::default()).minutiae(&self.page.text).to_vec();
        Ok(Prints { minutiae, keywords: Keywords::of(&self.page.text, Some(self.page.lang())) })
    }

    fn sign(&mut self, path: &str) -> std::io::Result<Signatures> {
        let body = std::fs::read(path)?;
        let source = charset::decode(&body, None).text;
        self.scanner.scan(&source, &mut self.page);
        let main = self.contents.main_text(&source, &self.page);
        Ok(self.judger.sign(&source, &self.page, Some(main.as_str()).filter(|main| !main.is_empty())))
    }
}

/// What really changed, for the pairs of one host.
fn truths(pairs: &[Pair]) -> std::io::Result<Vec<Truth>> {
    let mut found = Vec::new();
    let mut exchanged: Vec<Vec<(String, String)>> = Vec::new();
    let mut often: HashMap<(String, String), usize> = HashMap::new();
    for pair in pairs {
        let (old, new) = (std::fs::read(&pair.old)?, std::fs::read(&pair.new)?);
        let mut lines = Vec::new();
        found.push(if old == new {
            Truth::Same
        } else {
            let (a, b) = (oracle_lines(&old), oracle_lines(&new));
            if a == b {
                Truth::Markup
            } else {
                lines = exchanges(&masked(&a, pair), &masked(&b, pair));
                Truth::Text
            }
        });
        let mut distinct = lines.clone();
        distinct.sort();
        distinct.dedup();
        distinct.into_iter().for_each(|line| *often.entry(line).or_default() += 1);
        exchanged.push(lines);
    }
    let changed = found.iter().filter(|truth| **truth == Truth::Text).count();
    for (truth, lines) in found.iter_mut().zip(&exchanged) {
        if *truth == Truth::Text && lines.iter().all(|line| often.get(line).is_some_and(|n| n * 2 > changed))
        {
            *truth = Truth::Banner;
        }
    }
    Ok(found)
}

/// Lines that went and those that came in their place, in order.
fn exchanges(a: &[String], b: &[String]) -> Vec<(String, String)> {
    let (gone, come) = (without(a, b), without(b, a));
    let at = |lines: &Lines, i: usize| lines.get(i).cloned().unwrap_or_default();
    let mut pairs: Vec<_> = (0..gone.len().max(come.len())).map(|i| (at(&gone, i), at(&come, i))).collect();
    // The same lines in another order are a change that no exchange shows.
    if pairs.is_empty() && a != b {
        pairs.push((String::from("order"), a.concat()));
    }
    pairs
}

/// The lines of `a` that `b` does not have, each as often as it has it less.
fn without(a: &[String], b: &[String]) -> Lines {
    let mut left: HashMap<&str, usize> = HashMap::new();
    b.iter().for_each(|line| *left.entry(line).or_default() += 1);
    let missing = a.iter().filter(|line| match left.get_mut(line.as_str()) {
        Some(n) if *n > 0 => {
            *n -= 1;
            false
        }
        _ => true,
    });
    missing.cloned().collect()
}

/// Version numbers and dates out of the way.
fn masked(lines: &Lines, pair: &Pair) -> Lines {
    let mut versions: Vec<&String> = pair.old_versions.iter().chain(&pair.new_versions).collect();
    // A short one may be part of a long one.
    versions.sort_by_key(|version| std::cmp::Reverse(version.len()));
    lines
        .iter()
        .map(|line| {
            let line =
                versions.iter().fold(line.clone(), |line, version| line.replace(*version, "<version>"));
            let words: Vec<&str> = line.split(' ').collect();
            let near_month = |at: usize| {
                (at.saturating_sub(2)..words.len().min(at + 3))
                    .any(|i| words.get(i).is_some_and(|w| is_month(w)))
            };
            let mask = |(at, word): (usize, &&str)| {
                let number = word.bytes().any(|b| b.is_ascii_digit());
                let date = is_month(word) || (number && near_month(at)) || is_iso_date(word);
                if date { String::from("<date>") } else { (*word).to_owned() }
            };
            words.iter().enumerate().map(mask).collect::<Vec<_>>().join(" ")
        })
        .collect()
}

fn is_month(word: &str) -> bool {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let name = word.trim_end_matches([',', '.']);
    MONTHS.iter().any(|m| name.starts_with(m)) && name.len() <= 9 && name.chars().all(char::is_alphabetic)
}

fn is_iso_date(word: &str) -> bool {
    let word = word.trim_matches(|c: char| !c.is_ascii_digit());
    word.len() == 10 && word.matches('-').count() == 2 && word.bytes().filter(u8::is_ascii_digit).count() == 8
}

/// The lines of visible text in html5ever's tree, the title first.
fn oracle_lines(body: &[u8]) -> Lines {
    let source = String::from_utf8_lossy(body);
    let dom = html5ever::parse_document(RcDom::default(), Default::default()).one(source.as_ref());
    let (mut title, mut text) = (String::new(), String::new());
    walk(&dom.document, &mut title, &mut text);
    let solid = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let lines = text.split('\n').map(solid).filter(|line| !line.is_empty());
    std::iter::once(solid(&title)).chain(lines).collect()
}

fn walk(node: &Handle, title: &mut String, text: &mut String) {
    let mut block = false;
    match &node.data {
        NodeData::Text { contents } => {
            // Line ends of the source are blanks: only blocks make lines.
            text.extend(contents.borrow().chars().map(|c| if c == '\n' { ' ' } else { c }));
        }
        NodeData::Element { name, .. } => match &*name.local {
            "script" | "style" | "template" | "noscript" | "iframe" | "noframes" | "textarea" | "svg"
            | "math" => return,
            "title" => {
                if title.is_empty() {
                    node.children.borrow().iter().for_each(|child| walk(child, &mut String::new(), title));
                }
                return;
            }
            "a" | "abbr" | "b" | "bdi" | "cite" | "code" | "del" | "dfn" | "em" | "font" | "i" | "img"
            | "ins" | "kbd" | "mark" | "q" | "s" | "samp" | "small" | "span" | "strong" | "sub" | "sup"
            | "tt" | "u" | "var" | "wbr" => {}
            _ => block = true,
        },
        _ => {}
    }
    if block {
        text.push('\n');
    }
    node.children.borrow().iter().for_each(|child| walk(child, title, text));
    if block {
        text.push('\n');
    }
}
