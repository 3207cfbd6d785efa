//! `kill -9` while an index is written: after the next run nothing is missing and nothing is there twice.

use std::time::{Duration, Instant};

use lycosa_simweb::WorldConfig;

use crate::binary::{command, lycosa};
use crate::search::{fetched, indexed};
use crate::site::Site;

/// A small generator of its own: the same instants in every run, as far as a process keeps time.
fn dice(state: &mut u64, sides: u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) % sides
}

/// Starts the program and kills it after a while, unless it has ended before.
fn killed_after(args: &[&str], enough: impl Fn() -> bool) {
    let mut child = command(args).spawn().unwrap();
    let started = Instant::now();
    while !enough() && child.try_wait().unwrap().is_none() {
        assert!(started.elapsed() < Duration::from_secs(60), "nothing happens");
        std::thread::sleep(Duration::from_millis(2));
    }
    let _ = child.kill();
    child.wait().unwrap();
}

#[test]
fn a_crawl_that_indexes_is_killed_again_and_again() {
    let site = Site::start(WorldConfig::clean(21, 6, 500));
    let data = site.data();
    let seldom = ["--delay", "0", "--quiet", "--index", "--set", "index.commit_pages=25"];
    let args = site.crawl_args(&seldom);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let mut state = 5;
    let mut had_some = false;
    for _ in 0..6 {
        let until = site.server.ledger.len() + 40 + dice(&mut state, 60) as usize;
        let pause = Duration::from_millis(dice(&mut state, 120));
        killed_after(&args, || {
            site.server.ledger.len() >= until && {
                std::thread::sleep(pause);
                true
            }
        });
        had_some |= site.dir.path().join("data/index/meta.json").exists();
    }
    assert!(had_some, "a commit was made before the end");
    lycosa(&args).expect_code(0);
    site.expect_fetched();
    assert_eq!(indexed(&data), fetched(&data));
}

#[test]
fn indexing_is_killed_again_and_again() {
    let site = Site::start(WorldConfig::clean(22, 5, 600));
    let data = site.data();
    site.crawl(&["--delay", "0", "--quiet"]).expect_code(0);
    let mut state = 7;
    for round in 0..8 {
        let began = Instant::now();
        let limit = Duration::from_millis(20 + dice(&mut state, 900));
        let args = ["index", "-d", &data, "--rebuild"];
        // Begun anew, or gone on with.
        killed_after(&args[..if round % 3 == 0 { 4 } else { 3 }], || began.elapsed() >= limit);
    }
    lycosa(&["index", "-d", &data]).expect_code(0);
    assert_eq!(indexed(&data), fetched(&data));
}
