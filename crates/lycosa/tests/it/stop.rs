//! Limits and signals: everything is saved, and the next run goes on.

use std::time::{Duration, Instant};

use lycosa_simweb::WorldConfig;

use nix::sys::signal::Signal;

use crate::binary::{command, finish, lycosa, send};
use crate::site::Site;

fn pages(data: &str) -> u64 {
    lycosa(&["report", data, "--json"]).expect_code(0).json()["totals"]["pages"].as_u64().unwrap()
}

#[test]
fn a_limit_is_three_and_resuming_reaches_the_end() {
    let site = Site::start(WorldConfig::clean(3, 4, 120));
    let data = site.data();
    let run = site.crawl(&["--delay", "0", "--max-pages", "40"]).expect_code(3);
    assert!(run.out.contains("stopped at --max-pages") && run.out.contains("lycosa crawl -d"), "{}", run.out);
    assert_eq!(pages(&data), 40);
    let status = lycosa(&["status", &data]).expect_code(0).out;
    assert!(status.contains("goes on"), "{status}");
    lycosa(&["resume", "-d", &data, "--max-pages", "0", "--quiet"]).expect_code(0);
    site.expect_complete();
}

#[test]
fn an_interrupt_saves_and_the_crawl_goes_on() {
    let site = Site::start(WorldConfig::clean(4, 5, 400));
    let data = site.data();
    let args = site.crawl_args(&["--delay", "30ms"]);
    let child = command(&args.iter().map(String::as_str).collect::<Vec<_>>()).spawn().unwrap();
    // Asked from outside while it runs: the figures come from the crawl, its state is closed to others.
    let started = Instant::now();
    let fetched = loop {
        assert!(started.elapsed() < Duration::from_secs(30), "the crawl does not get going");
        std::thread::sleep(Duration::from_millis(50));
        if !site.dir.path().join("data/progress.json").exists() {
            continue;
        }
        let status = lycosa(&["status", &data, "--json"]).expect_code(0).json();
        assert_eq!(status["state"], "running");
        let fetched = status["totals"]["pages"].as_u64().unwrap();
        if fetched > 0 {
            break fetched;
        }
    };
    let why = lycosa(&["why", &site.seed(), "-d", &data]).expect_code(1);
    assert!(why.err.contains("a crawl is running") && why.err.contains("lycosa status"), "{}", why.err);
    send(&child, Signal::SIGINT);
    let run = finish(child).expect_code(3);
    assert!(run.err.contains("stopping: saving"), "{}", run.err);
    assert!(run.out.contains("stopped as asked; everything is saved"), "{}", run.out);
    let saved = pages(&data);
    assert!(saved >= fetched && saved < 400, "{saved}");
    assert!(!site.dir.path().join("data/progress.json").exists());
    lycosa(&["crawl", "-d", &data, "--delay", "0", "--quiet"]).expect_code(0);
    site.expect_complete();
}

#[test]
fn a_killed_crawl_is_told_apart() {
    let site = Site::start(WorldConfig::clean(6, 3, 200));
    let data = site.data();
    let args = site.crawl_args(&["--delay", "30ms", "--quiet"]);
    let mut child = command(&args.iter().map(String::as_str).collect::<Vec<_>>()).spawn().unwrap();
    let started = Instant::now();
    while site.server.ledger.len() < 20 {
        assert!(started.elapsed() < Duration::from_secs(30), "the crawl does not get going");
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // What it left behind may look fresh for some seconds.
    let _ = std::fs::remove_file(site.dir.path().join("data/progress.json"));
    let status = lycosa(&["status", &data]).expect_code(0).out;
    assert!(status.starts_with("interrupted"), "{status}");
    let report = lycosa(&["report", &data]).expect_code(1);
    assert!(report.err.contains("lycosa status"), "{}", report.err);
    lycosa(&["crawl", "-d", &data, "--delay", "0", "--quiet"]).expect_code(0);
    // What was under way when it was killed is asked for again.
    site.expect_fetched();
}
