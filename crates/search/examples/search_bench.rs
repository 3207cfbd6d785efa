//! Measures an index: how quickly it answers, and how well it puts slips of the pen right.
//!
//! ```text
//! search_bench export INDEX PAGES.tsv              url, title and text of every page, for another engine
//! search_bench queries INDEX N QUERIES.tsv         N queries of each kind, from the pages themselves; also for FTS5
//! search_bench run INDEX QUERIES.tsv [OUT.json]    times of each kind, in milliseconds
//! search_bench eval INDEX QUERIES.txt QRELS.txt    the means that `lycosa eval` tells
//! search_bench slips INDEX N                       N words with one letter wrong: how many are put right
//! ```
//! `bench/search/README.md` has the whole run.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::{BTreeMap, HashMap};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use lycosa_search::evaluation::{DEPTH, Judgements, as_words, mean, measure, read_queries};
use lycosa_search::{Request, SearchIndex, StoredPage, parse};

/// The same numbers in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % sides.max(1)
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["export", index, out] => export(&open(index), out),
        ["queries", index, number, out] => queries(&open(index), number.parse().expect("a number"), out),
        ["run", index, queries] => run(&open(index), queries, None),
        ["run", index, queries, out] => run(&open(index), queries, Some(out)),
        ["eval", index, queries, qrels] => eval(&open(index), queries, qrels),
        ["slips", index, number] => slips(&open(index), number.parse().expect("a number")),
        _ => panic!("see the first lines of this file"),
    }
}

fn open(dir: &str) -> SearchIndex {
    SearchIndex::open(Path::new(dir)).expect("an index")
}

fn export(index: &SearchIndex, path: &str) {
    let mut out = BufWriter::new(std::fs::File::create(path).unwrap());
    let flat = |text: &str| text.replace(['\t', '\n', '\r'], " ");
    index
        .each_page(|page| {
            writeln!(out, "{}\t{}\t{}", flat(&page.url), flat(&page.title), flat(&page.text)).unwrap();
        })
        .unwrap();
    out.flush().unwrap();
}

/// Plain words of some letters, in order.
fn words(page: &StoredPage) -> Vec<String> {
    let pieces = page.text.split_whitespace().map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
    let is_word = |word: &&str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphabetic());
    pieces.filter(is_word).map(str::to_lowercase).collect()
}

fn queries(index: &SearchIndex, number: usize, path: &str) {
    let mut dice = Dice(6);
    // Every so-manieth page lends its words, so that a frequent word is asked for as often as it is used.
    let step = (index.count() as usize / (number * 5)).max(1);
    let mut pages = Vec::new();
    let mut at = 0;
    index
        .each_page(|page| {
            at += 1;
            let words = if at % step == 0 { words(&page) } else { Vec::new() };
            if words.len() > 40 {
                pages.push(words);
            }
        })
        .unwrap();
    let mut out = BufWriter::new(std::fs::File::create(path).unwrap());
    for round in 0..number {
        let page = |dice: &mut Dice| pages[dice.roll(pages.len())].clone();
        let long = |dice: &mut Dice| loop {
            let words = page(dice);
            let word = &words[dice.roll(words.len())];
            if word.len() > 3 {
                return word.clone();
            }
        };
        let text = page(&mut dice);
        let at = dice.roll(text.len() - 6);
        let (a, b, c) = (long(&mut dice), long(&mut dice), long(&mut dice));
        let (first, second, later) = (&text[at], &text[at + 1], &text[at + 2 + dice.roll(3)]);
        let lines = [
            ("two words", format!("{a} {b}"), format!("{a} OR {b}")),
            ("phrase", format!("\"{first} {second}\""), format!("\"{first} {second}\"")),
            ("near", format!("{first} NEAR/5 {later}"), format!("NEAR({first} {later}, 5)")),
            match round % 3 {
                0 => ("boolean", format!("{a} AND {b}"), format!("{a} AND {b}")),
                1 => ("boolean", format!("({a} OR {b}) AND {c}"), format!("({a} OR {b}) AND {c}")),
                _ => ("boolean", format!("{a} AND {b} AND NOT {c}"), format!("({a} AND {b}) NOT {c}")),
            },
        ];
        for (kind, ours, theirs) in lines {
            writeln!(out, "{kind}\t{ours}\t{theirs}").unwrap();
        }
    }
    out.flush().unwrap();
}

/// How often each query is asked; the first time is not measured, so that files are in memory for whoever is.
const ROUNDS: usize = 4;

/// Processor time of this process so far, in seconds.
fn cpu_s() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let ticks = stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(2);
    ticks.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// Times of one kind of query.
#[derive(Default)]
struct Kind {
    /// The quickest answer to each query, and every answer, in milliseconds.
    quickest: Vec<f64>,
    every: Vec<f64>,
    cpu_s: f64,
    found: u64,
}

fn run(index: &SearchIndex, path: &str, out: Option<&str>) {
    let mut told = Vec::new();
    let text = std::fs::read_to_string(path).unwrap();
    let mut queries: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for line in text.lines() {
        let mut parts = line.split('\t');
        queries.entry(parts.next().unwrap()).or_default().push(parts.next().unwrap());
    }
    println!("{} pages", index.count());
    let names = ["queries", "median ms", "p99 ms", "every median", "every p99", "CPU ms", "pages found"];
    println!("{:<12}{}", "kind", names.map(|name| format!("{name:>13}")).concat());
    for (name, queries) in queries {
        let mut kind = Kind { quickest: vec![f64::MAX; queries.len()], ..Kind::default() };
        for round in 0..ROUNDS {
            let before = cpu_s();
            for (query, quickest) in queries.iter().zip(&mut kind.quickest) {
                let began = Instant::now();
                let answer = index.search(&Request::new(*query), || began.elapsed()).unwrap();
                let ms = began.elapsed().as_secs_f64() * 1e3;
                if round > 0 {
                    *quickest = quickest.min(ms);
                    kind.every.push(ms);
                    kind.found += answer.total;
                }
            }
            kind.cpu_s += if round > 0 { cpu_s() - before } else { 0.0 };
        }
        let asked = kind.every.len() as f64;
        let figures = [
            at(&mut kind.quickest, 0.5),
            at(&mut kind.quickest, 0.99),
            at(&mut kind.every, 0.5),
            at(&mut kind.every, 0.99),
            kind.cpu_s * 1e3 / asked,
        ];
        let [median, p99, every_median, every_p99, cpu] = figures;
        told.push(serde_json::json!({
            "kind": name, "queries": queries.len(), "median_ms": median, "p99_ms": p99,
            "every_median_ms": every_median, "every_p99_ms": every_p99, "cpu_ms": cpu,
            "pages_found": kind.found / asked as u64,
        }));
        let figures = figures.map(|figure| format!("{figure:>13.2}")).concat();
        println!("{name:<12}{:>13}{figures}{:>13}", queries.len(), kind.found / asked as u64);
    }
    if let Some(out) = out {
        let told = serde_json::json!({ "pages": index.count(), "kinds": told });
        std::fs::write(out, format!("{told:#}\n")).unwrap();
    }
}

fn at(times: &mut [f64], share: f64) -> f64 {
    times.sort_unstable_by(f64::total_cmp);
    times[((times.len() as f64 * share) as usize).min(times.len() - 1)]
}

fn eval(index: &SearchIndex, queries: &str, qrels: &str) {
    let read = |path: &str| std::fs::read_to_string(path).unwrap();
    let judgements = Judgements::read(&read(qrels)).unwrap();
    let mut each = Vec::new();
    for (number, text) in read_queries(&read(queries)).unwrap() {
        let ranked = index.ranked(&parse(&as_words(&text)).unwrap(), DEPTH).unwrap();
        let urls: Vec<String> = ranked.into_iter().map(|(url, _)| url).collect();
        each.extend(measure(&number, &urls, &judgements));
    }
    let mean = mean(&each).unwrap();
    println!("{} queries, MAP {:.4}, {:?}", each.len(), mean.average_precision, mean.precision_at);
}

fn slips(index: &SearchIndex, number: usize) {
    let mut known: HashMap<String, u64> = HashMap::new();
    index.each_word(|word, pages| *known.entry(word.to_owned()).or_default() += pages).unwrap();
    let mut all: Vec<&String> =
        known.keys().filter(|word| word.len() > 4 && word.bytes().all(|b| b.is_ascii_lowercase())).collect();
    all.sort();
    let mut dice = Dice(11);
    let (mut right, mut made, mut in_query) = (0, 0, 0);
    let mut wrong = Vec::new();
    let began = Instant::now();
    while made < number {
        let word = all[dice.roll(all.len())].as_str();
        let slip = slip(word, &mut dice);
        // What is a word itself is no slip.
        if known.contains_key(&slip) {
            continue;
        }
        made += 1;
        let first = index.similar_words(&slip, 1).unwrap().pop();
        if first.as_ref().is_some_and(|first| first.word == *word) {
            right += 1;
        } else {
            wrong.push(format!("{slip}: {word}, not {}", first.map_or_else(String::new, |first| first.word)));
        }
        let answer = index.search(&Request::new(slip), || Duration::ZERO).unwrap();
        in_query += usize::from(answer.did_you_mean.as_deref() == Some(word));
    }
    let milliseconds = began.elapsed().as_secs_f64() * 1e3 / number as f64;
    println!(
        "{} words known; {right} of {made} slips put right, {in_query} by a search; {milliseconds:.2} ms each",
        all.len()
    );
    wrong.iter().take(20).for_each(|line| println!("  {line}"));
}

/// A word with a letter left out, put in, changed, or two swapped.
fn slip(word: &str, dice: &mut Dice) -> String {
    let mut letters: Vec<char> = word.chars().collect();
    let at = dice.roll(letters.len());
    let letter = char::from(b'a' + dice.roll(26) as u8);
    match dice.roll(4) {
        0 => {
            letters.remove(at);
        }
        1 => letters.insert(at, letter),
        2 => letters[at] = letter,
        _ => letters.swap(at, (at + 1) % word.len()),
    }
    letters.into_iter().collect()
}
