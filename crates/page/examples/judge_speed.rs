//! What judging a page costs on one core: all signatures and prints, with the fast hash and with MD5.
//!
//! `cargo run --release -p lycosa-page --example judge_speed [--all] [DIR…]`: the `.html` files of 20 to 30 KB (with `--all`,
//! of any size) below the directories, or pages of the synthetic web of about that size when none is given. Scanning is
//! measured apart and not included, and so is looking for near-duplicates: the print, the look-up and remembering it. The
//! level-order table with its content values is no part of the record and is measured apart, too.

mod sim_pages;

use lycosa_page::{
    ContentReader, Extract, Judger, LevelTable, Limits, Print, PrintIndex, Scanner, TextCode, Tree,
    WinnowConfig, WinnowHash, Winnower, charset,
};
use lycosa_simweb::{Node, PageId, World, WorldConfig};
use sim_pages::SimPages;
use std::hint::black_box;
use std::ops::Range;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

const MAX_CORPUS_BYTES: usize = 64 << 20;
const PAGE_BYTES: Range<usize> = 20_000..30_000;
const SIMULATED_BYTES: Range<usize> = 22_000..28_000;
const ROUNDS: usize = 7;
/// Pages that the index of prints holds.
const INDEXED_PAGES: usize = 50_000;
const LEAST_RESEMBLANCE: f64 = 0.8;

fn main() {
    let mut sources = Vec::new();
    let mut total = 0;
    let (options, dirs): (Vec<_>, Vec<_>) = std::env::args().skip(1).partition(|arg| arg == "--all");
    let sizes = if options.is_empty() { PAGE_BYTES } else { 0..usize::MAX };
    for dir in &dirs {
        collect(Path::new(dir), &sizes, &mut sources, &mut total);
    }
    if dirs.is_empty() {
        simulated(&mut sources);
    }
    if sources.is_empty() {
        println!("no .html files found: name a directory that holds some");
        return;
    }
    let mut scanner = Scanner::new(Limits::default());
    let pages: Vec<Extract> = sources
        .iter()
        .map(|source| {
            let mut page = Extract::new();
            scanner.scan(source, &mut page);
            page
        })
        .collect();
    let count = sources.len();
    let mean = |total: usize| total as f64 / count as f64;
    println!(
        "{count} pages; per page {:.0} bytes, {:.0} of text, {:.0} tags",
        mean(sources.iter().map(String::len).sum()),
        mean(pages.iter().map(|p| p.text.len()).sum()),
        mean(pages.iter().map(|p| p.events.len()).sum()),
    );
    let mut fast = Judger::default();
    let mut slow = Judger::new(WinnowConfig { hash: WinnowHash::Md5, ..WinnowConfig::default() });
    let mut winnower = Winnower::new(WinnowConfig::default());
    let mut reader = ContentReader::default();
    let mut page_buffer = Extract::new();
    let each = |i: usize| (&sources[i], &pages[i]);
    report("scanning, for comparison", count, ROUNDS, |i| {
        scanner.scan(each(i).0, &mut page_buffer);
        page_buffer.links.len()
    });
    report("all signatures and prints", count, ROUNDS, |i| {
        fast.sign(each(i).0, each(i).1, None).sketch.len()
    });
    report("  of which minutiae", count, ROUNDS, |i| winnower.minutiae(&each(i).1.text).len());
    report("  of which text codes", count, ROUNDS, |i| TextCode::of(&each(i).1.text).distinct as usize);
    let minutiae: Vec<Vec<u64>> = pages.iter().map(|p| winnower.minutiae(&p.text).to_vec()).collect();
    let mut index = PrintIndex::new(INDEXED_PAGES);
    report("near-duplicates, not included", count, ROUNDS, |i| {
        let print = Print::new(i as u64, &minutiae[i]);
        let found = index.lookup(&print, LEAST_RESEMBLANCE, 1).len();
        index.insert(&print);
        found
    });
    let mut trees: Vec<Tree> = vec![Tree::default(); count];
    (0..count).for_each(|i| trees[i].build(&pages[i]));
    let mut table = LevelTable::default();
    report("level-order table, not included", count, ROUNDS, |i| {
        table.fill(&pages[i], &trees[i]);
        table.rows.len()
    });
    report("main content, not included", count, ROUNDS, |i| reader.main_text(each(i).0, each(i).1).len());
    report("all, with MD5", count, 1, |i| slow.sign(each(i).0, each(i).1, None).sketch.len());
}

fn report(name: &str, count: usize, rounds: usize, mut work: impl FnMut(usize) -> usize) {
    let mut best = f64::INFINITY;
    // The kernel counts in ticks of some milliseconds: each round takes many pages.
    let repeats = if rounds > 1 { 1 + 4_000 / count } else { 1 };
    for _ in 0..rounds {
        let start = cpu_seconds();
        for _ in 0..repeats {
            for i in 0..count {
                black_box(work(i));
            }
        }
        best = best.min((cpu_seconds() - start) / repeats as f64);
    }
    println!("{:8.1} µs/page  {name}", best * 1e6 / count as f64);
}

/// Seconds this thread has run; wall time where the kernel does not tell.
fn cpu_seconds() -> f64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanos = told.as_deref().and_then(|s| s.split(' ').next()).and_then(|n| n.parse::<f64>().ok());
    let wall = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    nanos.map_or_else(wall, |n| n / 1e9)
}

fn simulated(sources: &mut Vec<String>) {
    let world = World::new(WorldConfig::clean(7, 40, 6_000));
    let mut pages = SimPages::new(&world);
    for number in 0..world.page_count() {
        let source = pages.page(Node::Page(PageId(number)));
        sources.extend(source.filter(|s| SIMULATED_BYTES.contains(&s.len())));
    }
}

fn collect(dir: &Path, sizes: &Range<usize>, sources: &mut Vec<String>, total: &mut usize) {
    let mut paths: Vec<_> =
        std::fs::read_dir(dir).into_iter().flatten().flatten().map(|e| e.path()).collect();
    paths.sort();
    for path in paths {
        if *total > MAX_CORPUS_BYTES {
            return;
        }
        if path.is_dir() && !path.is_symlink() {
            collect(&path, sizes, sources, total);
        } else if path.extension().is_some_and(|e| e == "html")
            && let Ok(body) = std::fs::read(&path)
            && sizes.contains(&body.len())
        {
            *total += body.len();
            sources.push(charset::decode(&body, Some("text/html")).text.into_owned());
        }
    }
}
