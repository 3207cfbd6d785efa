//! Crawls a site with spider and counts the pages it hands out. `peer-spider URL`

use spider::tokio;
use spider::tokio::sync::broadcast::error::RecvError;
use spider::website::Website;

/// Requests under way at the same time.
const CONCURRENCY: usize = 256;
/// Deeper than any site of the benchmark.
const DEPTH: usize = 1000;
/// Pages that may wait for the counter.
const BACKLOG: usize = 4096;

#[tokio::main]
async fn main() {
    let Some(seed) = std::env::args().nth(1) else {
        eprintln!("usage: peer-spider URL");
        std::process::exit(2);
    };
    let mut website = Website::new(&seed);
    website.with_concurrency_limit(Some(CONCURRENCY)).with_respect_robots_txt(false).with_depth(DEPTH);
    let mut pages = website.subscribe(BACKLOG);
    let counter = tokio::spawn(async move {
        let mut count = 0_u64;
        loop {
            match pages.recv().await {
                Ok(_) => count += 1,
                Err(RecvError::Lagged(missed)) => count += missed,
                Err(RecvError::Closed) => break count,
            }
        }
    });
    website.crawl_raw().await;
    website.unsubscribe();
    drop(website);
    println!("{} pages", counter.await.unwrap_or(0));
}
