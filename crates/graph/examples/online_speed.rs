//! What on-line importance costs a link, with a table far larger than the caches.
//!
//! `online_speed [--pages 1000000] [--urls 30000000] [--memory-mib 1024]`: forty links a page to URLs at random.

use std::time::Instant;

use lycosa_graph::online::{OnlineImportance, OnlineOptions};

fn mixed(number: u64) -> u64 {
    let z = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z ^ (z >> 31)
}

fn main() -> Result<(), String> {
    let mut arguments = std::env::args().skip(1);
    let (mut pages, mut urls, mut memory_mib) = (1_000_000u64, 30_000_000u64, 1024usize);
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or(format!("{name} needs a value"))?;
        let value: u64 = value.parse().map_err(|error| format!("{name} {value}: {error}"))?;
        match name.as_str() {
            "--pages" => pages = value,
            "--urls" => urls = value,
            "--memory-mib" => memory_mib = value as usize,
            _ => return Err(format!("unknown option {name}")),
        }
    }
    let mut online =
        OnlineImportance::new(OnlineOptions { memory_bytes: memory_mib << 20, ..OnlineOptions::default() });
    let (mut moved, mut told, mut links) = (Vec::new(), 0u64, 0u64);
    let started = Instant::now();
    let mut slowest = 0;
    for page in 0..pages {
        let at = Instant::now();
        let targets = (0..40).map(|i| mixed(mixed(page * 64 + i) % urls));
        online.fetched(mixed(page), targets, &mut moved);
        slowest = slowest.max(at.elapsed().as_micros());
        links += 40;
        told += moved.len() as u64;
        moved.clear();
    }
    let seconds = started.elapsed().as_secs_f64();
    println!(
        "{links} links in {seconds:.1} s: {:.3} µs a link; slowest page {slowest} µs; {} URLs in {} MiB, {} forgotten; {:.2} moved a link",
        seconds * 1e6 / links as f64,
        online.len(),
        online.memory_bytes() >> 20,
        online.forgotten(),
        told as f64 / links as f64
    );
    Ok(())
}
