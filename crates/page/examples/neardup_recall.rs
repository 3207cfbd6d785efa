//! How well near-duplicates are told from other pages, and how many of them the index finds.
//!
//! `cargo run --release -p lycosa-page --example neardup_recall [PAGES] [K] [W]`: pages of the synthetic web (100,000
//! unless told), a share of them near-duplicates of known pages. Prints the resemblance of each class of edits, the area
//! under the ROC curve against unrelated pages for winnowing and for keyword counts, and, for a sample of pages as
//! queries, the share of what comparing with every page finds that the index finds too, for both methods.

mod sim_pages;

use lycosa_page::{
    Extract, KeywordIndex, KeywordPrint, Keywords, Likeness, Limits, Print, PrintIndex, Scanner,
    WinnowConfig, Winnower,
};
use lycosa_simweb::{Features, NearClass, Node, PageId, PageKind, Rates, World, WorldConfig};
use sim_pages::SimPages;
use std::time::{Duration, SystemTime};

const QUERIES: usize = 300;
const THRESHOLDS: [f64; 4] = [0.5, 0.6, 0.7, 0.9];
/// What the estimate may fall short of the truth.
const SLACK: f64 = 0.2;
/// The same for the cosine of keyword counts.
const COSINE_SLACK: f64 = 0.02;
const SIMILARITIES: [f64; 3] = [0.9, 0.95, 0.98];

fn main() {
    let mut numbers = std::env::args().skip(1).filter_map(|n| n.parse::<usize>().ok());
    let count = numbers.next().unwrap_or(100_000);
    let usual = WinnowConfig::default();
    let config =
        WinnowConfig { k: numbers.next().unwrap_or(usual.k), w: numbers.next().unwrap_or(usual.w), ..usual };
    let mut plan = WorldConfig::clean(11, (count / 400).max(4) as u32, count as u32);
    plan.features = Features { odd_pages: true, ..Features::NONE };
    plan.rates = Rates {
        duplicate: 10,
        near_duplicate: 100,
        redirect: 0,
        soft_not_found: 0,
        not_found: 0,
        gone: 0,
        no_index: 0,
        no_follow: 0,
        robots_tag: 0,
        document: 0,
    };
    let world = World::new(plan);
    let (prints, keywords) = read_all(&world, config);
    let total = prints.iter().map(|p| p.len()).sum::<usize>();
    println!(
        "{} pages, K = {}, W = {}, {:.0} minutiae per page",
        prints.len(),
        config.k,
        config.w,
        total as f64 / prints.len() as f64
    );

    let unrelated: Vec<(usize, usize)> =
        (0..4_000).map(|i| (i * 7919 % prints.len(), (i * 104_729 + 13) % prints.len())).collect();
    let unrelated: Vec<_> = unrelated
        .into_iter()
        .filter(|&(a, b)| world.content_of(PageId(a as u32)) != world.content_of(PageId(b as u32)))
        .collect();
    let winnow = |&(a, b): &(usize, usize)| Likeness::of(&prints[a], &prints[b]).resemblance;
    let words = |&(a, b): &(usize, usize)| keywords[a].similarity(&keywords[b]);
    for class in [NearClass::Light, NearClass::Medium, NearClass::Heavy] {
        let pairs: Vec<_> = (0..prints.len())
            .filter_map(|at| match world.kind(PageId(at as u32)) {
                PageKind::NearDuplicate { of, class: c } if c == class => Some((at, of.0 as usize)),
                _ => None,
            })
            .take(2_000)
            .collect();
        let mean = pairs.iter().map(winnow).sum::<f64>() / pairs.len().max(1) as f64;
        println!(
            "{class:?} edits, {} pairs: mean resemblance {mean:.3}; area under the curve: winnowing {:.4}, keywords {:.4}",
            pairs.len(),
            area(&pairs, &unrelated, winnow),
            area(&pairs, &unrelated, words),
        );
    }
    recall(&prints);
    keyword_recall(&keywords);
}

fn read_all(world: &World, config: WinnowConfig) -> (Vec<Vec<u64>>, Vec<Keywords>) {
    let (mut scanner, mut page) = (Scanner::new(Limits::default()), Extract::new());
    let mut winnower = Winnower::new(config);
    let mut pages = SimPages::new(world);
    let (mut prints, mut keywords) = (Vec::new(), Vec::new());
    for number in 0..world.page_count() {
        let source = pages.page(Node::Page(PageId(number))).unwrap_or_default();
        scanner.scan(&source, &mut page);
        prints.push(winnower.minutiae(&page.text).to_vec());
        keywords.push(Keywords::of(&page.text, Some(page.lang())));
    }
    (prints, keywords)
}

/// The chance that a pair of near-duplicates scores higher than an unrelated pair.
fn area(near: &[(usize, usize)], far: &[(usize, usize)], score: impl Fn(&(usize, usize)) -> f64) -> f64 {
    let mut far: Vec<f64> = far.iter().map(&score).collect();
    far.sort_unstable_by(f64::total_cmp);
    let near: Vec<f64> = near.iter().map(&score).collect();
    let below = near.iter().map(|n| {
        let less = far.partition_point(|f| f < n);
        let equal = far.partition_point(|f| f <= n) - less;
        less as f64 + equal as f64 / 2.0
    });
    below.sum::<f64>() / (near.len() * far.len()).max(1) as f64
}

fn recall(prints: &[Vec<u64>]) {
    let mut index = PrintIndex::new(prints.len());
    let sketches: Vec<Print> = prints.iter().enumerate().map(|(id, m)| Print::new(id as u64, m)).collect();
    let start = SystemTime::now();
    sketches.iter().for_each(|print| index.insert(print));
    let inserting = per_page(start, prints.len());
    let step = (prints.len() / QUERIES).max(1);
    let queries: Vec<usize> = (0..prints.len()).step_by(step).collect();
    let (mut truth, mut found) = ([0usize; 4], [0usize; 4]);
    let mut looking = Duration::ZERO;
    let mut returned = 0;
    for &query in &queries {
        let start = SystemTime::now();
        let candidates = index.lookup(&sketches[query], THRESHOLDS[0] - SLACK, 512);
        looking += start.elapsed().unwrap_or_default();
        returned += candidates.len();
        for (other, minutiae) in prints.iter().enumerate().filter(|(other, _)| *other != query) {
            let resemblance = Likeness::of(&prints[query], minutiae).resemblance;
            for (at, &threshold) in THRESHOLDS.iter().enumerate() {
                if resemblance >= threshold {
                    truth[at] += 1;
                    let hit = |c: &&lycosa_page::Candidate| {
                        c.id == other as u64 && c.resemblance >= threshold - SLACK
                    };
                    found[at] += usize::from(candidates.iter().find(hit).is_some());
                }
            }
        }
    }
    println!(
        "index: {} bytes per page; {inserting:.1} µs to insert, {:.1} µs to look up, {:.1} candidates",
        PrintIndex::BYTES_PER_PAGE,
        looking.as_secs_f64() * 1e6 / queries.len() as f64,
        returned as f64 / queries.len() as f64,
    );
    for (at, threshold) in THRESHOLDS.iter().enumerate() {
        println!(
            "resemblance ≥ {threshold}: {} of {} pairs found, recall {:.4}",
            found[at],
            truth[at],
            found[at] as f64 / truth[at].max(1) as f64
        );
    }
}

/// The same for keyword counts: what the index finds of the pairs whose full counts are alike.
fn keyword_recall(keywords: &[Keywords]) {
    let start = SystemTime::now();
    let prints: Vec<KeywordPrint> = keywords.iter().map(KeywordPrint::of).collect();
    let making = per_page(start, prints.len());
    let mut index = KeywordIndex::new(prints.len());
    let start = SystemTime::now();
    prints.iter().for_each(|print| {
        index.insert(print);
    });
    let inserting = per_page(start, prints.len());
    let queries: Vec<usize> = (0..prints.len()).step_by((prints.len() / QUERIES).max(1)).collect();
    let (mut truth, mut found, mut returned, mut right) =
        ([0usize; 3], [0usize; 3], [0usize; 3], [0usize; 3]);
    let mut looking = Duration::ZERO;
    for &query in &queries {
        let start = SystemTime::now();
        let candidates = index.lookup(&prints[query], SIMILARITIES[0] - COSINE_SLACK, 2048);
        looking += start.elapsed().unwrap_or_default();
        let alike: Vec<f64> = keywords.iter().map(|other| keywords[query].similarity(other)).collect();
        for (at, &least) in SIMILARITIES.iter().enumerate() {
            let hits =
                candidates.iter().filter(|c| c.resemblance >= least - COSINE_SLACK && c.id != query as u64);
            let hits: Vec<usize> = hits.map(|c| c.id as usize).collect();
            truth[at] += alike.iter().enumerate().filter(|(i, s)| *i != query && **s >= least).count();
            found[at] += hits.iter().filter(|&&hit| alike[hit] >= least).count();
            right[at] += hits.iter().filter(|&&hit| alike[hit] >= least - 2.0 * COSINE_SLACK).count();
            returned[at] += hits.len();
        }
    }
    println!(
        "keywords: {} bytes per page; {making:.1} µs to make a print, {inserting:.1} µs to insert, {:.1} µs to look up",
        KeywordIndex::BYTES_PER_PAGE,
        looking.as_secs_f64() * 1e6 / queries.len() as f64,
    );
    for (at, least) in SIMILARITIES.iter().enumerate() {
        println!(
            "similarity ≥ {least}: {} of {} pairs found, recall {:.4}; {} of {} returned are alike by all counts",
            found[at],
            truth[at],
            found[at] as f64 / truth[at].max(1) as f64,
            right[at],
            returned[at],
        );
    }
}

fn per_page(start: SystemTime, count: usize) -> f64 {
    start.elapsed().unwrap_or_default().as_secs_f64() * 1e6 / count as f64
}
