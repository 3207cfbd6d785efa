//! CPU per request over keep-alive: `cargo run --release --example fetch_speed -- URL REQUESTS CONCURRENCY`.
//!
//! Loopback is open here, so that a local server can be measured. Prints user and system CPU of this process alone.

use std::{cell::Cell, rc::Rc, time::Instant};

use lycosa_fetch::{FetchOptions, Fetcher, NetGuard, Request, Shared, SharedOptions};
use lycosa_types::{CanonRules, CanonUrl};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let url = arguments.next().ok_or("give a URL, a number of requests and a concurrency")?;
    let requests: usize = arguments.next().unwrap_or_else(|| "100000".to_owned()).parse()?;
    let concurrency: usize = arguments.next().unwrap_or_else(|| "16".to_owned()).parse()?;
    let url = Rc::new(CanonUrl::parse(&url, &CanonRules::default())?);
    let shared = Shared::new(SharedOptions {
        guard: NetGuard::new(vec!["127.0.0.0/8".parse()?, "::1".parse()?]),
        ..SharedOptions::default()
    })?;
    let options =
        FetchOptions { compression: std::env::var_os("COMPRESSION").is_some(), ..FetchOptions::default() };
    let fetcher = Rc::new(Fetcher::new(shared, options));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let local = tokio::task::LocalSet::new();
    let left = Rc::new(Cell::new(requests));
    let bytes = Rc::new(Cell::new(0_usize));
    let failed = Rc::new(Cell::new(0_usize));
    let (cpu, clock) = (cpu_ticks()?, Instant::now());
    local.block_on(&runtime, async {
        let workers: Vec<_> = (0..concurrency)
            .map(|_| {
                let (fetcher, url, left) = (Rc::clone(&fetcher), Rc::clone(&url), Rc::clone(&left));
                let (bytes, failed) = (Rc::clone(&bytes), Rc::clone(&failed));
                tokio::task::spawn_local(async move {
                    while left.get() > 0 {
                        left.set(left.get() - 1);
                        match fetcher.fetch(&Request::page(&url)).await.result {
                            Ok(response) => bytes.set(bytes.get() + response.body.len()),
                            Err(_) => failed.set(failed.get() + 1),
                        }
                    }
                })
            })
            .collect();
        for worker in workers {
            let _ = worker.await;
        }
    });
    let elapsed = clock.elapsed().as_secs_f64();
    let after = cpu_ticks()?;
    // The kernel counts in hundredths of a second on every common configuration.
    let micros = |ticks: u64| ticks as f64 * 10_000.0 / requests as f64;
    println!(
        "{requests} requests, {} failed, {} body bytes each: {:.0} requests/s, {:.1} us cpu each ({:.1} user + {:.1} system)",
        failed.get(),
        bytes.get() / requests.max(1),
        requests as f64 / elapsed,
        micros(after.0 + after.1 - cpu.0 - cpu.1),
        micros(after.0 - cpu.0),
        micros(after.1 - cpu.1),
    );
    Ok(())
}

/// User and system time of this process in clock ticks.
fn cpu_ticks() -> Result<(u64, u64), Box<dyn std::error::Error>> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let after_name = stat.rsplit_once(')').ok_or("unexpected /proc/self/stat")?.1;
    let mut fields = after_name.split_whitespace().skip(11);
    let mut next = || fields.next().ok_or("short /proc/self/stat");
    Ok((next()?.parse()?, next()?.parse()?))
}
