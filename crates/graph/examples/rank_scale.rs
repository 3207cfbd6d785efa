//! How long the index and the ranks of a large graph take, and how much memory.
//!
//! `rank_scale [--edges 100000000] [--pages 4000000] [--dir DIR] [--keep]`
//!
//! Writes an edge log of a synthetic web with power-law in-links, as a crawl would: every page links mostly to near pages, often
//! to popular ones, and to some that are never visited. Run it under `/usr/bin/time -v` for the memory of the whole.

use std::path::{Path, PathBuf};
use std::time::Instant;

use lycosa_graph::{
    BuildOptions, Direction, Edge, EdgeLog, LinkIndex, PageEdges, RankOptions, Ranks, Weighting, pagerank,
};

/// A stream of random bits from a seed.
struct Bits(u64);

impl Bits {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }
}

/// The id of a page: hashes are spread evenly.
fn id(page: u64) -> u64 {
    Bits(page).next()
}

fn write_log(path: &Path, pages: u64, edges: u64) -> Result<(), lycosa_graph::EdgeLogError> {
    let mut log = EdgeLog::open(path, None)?;
    let mut bits = Bits(1);
    let per_page = edges / pages;
    let mut page = PageEdges::default();
    // One URL in three is never visited.
    let urls = pages + pages / 2;
    let mut written = 0;
    for source in 0..pages {
        page.source = id(source);
        page.edges.clear();
        // Repeats are dropped, so that a few more are drawn than are wanted.
        let wanted = per_page / 2 + bits.below(per_page + 3);
        for _ in 0..wanted {
            let draw = bits.next();
            let target = match draw & 7 {
                0..=3 => (source + bits.below(200)) % urls,
                // Popular: the logarithm of the place is even, so that in-links follow a power law.
                4..=6 => ((urls as f64).powf(bits.below(1 << 20) as f64 / (1 << 20) as f64)) as u64 % urls,
                _ => bits.below(urls),
            };
            let attributes = (1 + (draw >> 8) as u8 % 3) << 5 | (1 + (draw >> 16) as u8 % 3) << 3 | 1;
            page.edges.push(Edge { target: id(target), attributes });
        }
        page.settle();
        written += page.edges.len() as u64;
        log.append(&page)?;
        if written >= edges {
            break;
        }
    }
    log.sync()?;
    Ok(())
}

fn peak_memory_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().split(' ').next()?.parse::<u64>().ok()).unwrap_or(0) / 1024
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (mut edges, mut pages, mut dir, mut keep) =
        (100_000_000, 4_000_000, PathBuf::from("rank-scale"), false);
    while let Some(name) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{name} needs a value"));
        match name.as_str() {
            "--edges" => edges = value()?.parse()?,
            "--pages" => pages = value()?.parse()?,
            "--dir" => dir = value()?.into(),
            "--keep" => keep = true,
            _ => return Err(format!("unknown option {name}").into()),
        }
    }
    std::fs::create_dir_all(&dir)?;
    let (log, links, ranks) = (dir.join("edges.log"), dir.join("links"), dir.join("ranks"));
    let mut started = Instant::now();
    let mut lap = |what: &str| {
        println!("{what:<44} {:>8.1} s   peak {} MiB", started.elapsed().as_secs_f64(), peak_memory_mib());
        started = Instant::now();
    };
    if !log.exists() {
        write_log(&log, pages, edges)?;
        lap("log written (not part of the work)");
    }
    let index = LinkIndex::open_current(&log, &links, &BuildOptions::default())?;
    lap("index");
    println!(
        "{} URLs, {} pages, {} links; log {} MB, index {} MB ({:.2} bytes a link, both directions)",
        index.nodes(),
        index.pages(),
        index.edges(),
        std::fs::metadata(&log)?.len() / 1_000_000,
        std::fs::metadata(&links)?.len() / 1_000_000,
        std::fs::metadata(&links)?.len() as f64 / index.edges() as f64,
    );
    let ids = index.ids()?;
    for weighting in [Weighting::Attributes, Weighting::Plain] {
        let options = RankOptions { weighting, ..RankOptions::default() };
        let ranking = pagerank(&index, &options, None)?;
        Ranks::new(&ids, &ranking, &options, index.log_bytes()).save(&ranks)?;
        lap(&format!("{weighting:?}: {} rounds to {:.1e}", ranking.rounds, ranking.change));
    }
    let mut bits = Bits(7);
    let lookups = 100_000;
    for _ in 0..lookups {
        let node = index.node(id(bits.below(pages)))?;
        std::hint::black_box(node.map(|node| (node.in_links, node.out_links)));
    }
    lap(&format!("{lookups} lookups of counts"));
    if let Some(node) = index.node(id(1))? {
        println!(
            "page 1: {} links to it, {} read",
            node.in_links,
            index.links(&node, Direction::In, 1000)?.len()
        );
    }
    if !keep {
        std::fs::remove_dir_all(&dir)?;
    }
    Ok(())
}
