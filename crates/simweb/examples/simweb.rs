//! Serves a world from the command line, until standard input closes or a signal ends it.
//!
//! `simweb --seed 1 --hosts 100 --pages 10000 --port 0 [--full] [--same-host PERCENT] [--links 30-60] [--menu 5] [--thin 0]
//! [--threads 1] [--time-ms 0] [--ledger FILE] [--truth FILE]
//! [--spread uniform|uniform-rate|power-law --change-ms MIN,MAX] [--life-ms FROM,UNTIL]`
//!
//! Prints one line with the address, then one with the first seed. A line `time MS` on standard input sets the clock, a
//! line `ledger` writes the ledger file now.

use std::fs::File;
use std::io::{BufRead, BufWriter, Write};
use std::sync::Arc;

use lycosa_simweb::{
    ChangeConfig, Expect, LifeConfig, RateSpread, Server, ServerConfig, TruthOptions, World, WorldConfig,
};

struct Options {
    config: WorldConfig,
    port: u16,
    threads: usize,
    time_ms: u64,
    ledger: Option<String>,
    truth: Option<String>,
}

fn options() -> Result<Options, String> {
    let mut arguments = std::env::args().skip(1);
    let (mut seed, mut hosts, mut pages, mut full) = (1, 100, 10_000, false);
    let mut rest = Options {
        config: WorldConfig::clean(1, 1, 1),
        port: 0,
        threads: 1,
        time_ms: 0,
        ledger: None,
        truth: None,
    };
    let (mut latency_ms, mut same_host) = (0, 82);
    let (mut links, mut menu, mut thin) = (None, None, 0);
    let (mut spread, mut change, mut life) = (String::from("power-law"), None, None);
    while let Some(name) = arguments.next() {
        if name == "--full" {
            full = true;
            continue;
        }
        let value = arguments.next().ok_or_else(|| format!("{name} needs a value"))?;
        let number = || value.parse::<u64>().map_err(|e| format!("{name} {value}: {e}"));
        match name.as_str() {
            "--seed" => seed = number()?,
            "--hosts" => hosts = number()? as u32,
            "--pages" => pages = number()? as u32,
            "--port" => rest.port = number()? as u16,
            "--threads" => rest.threads = number()? as usize,
            "--time-ms" => rest.time_ms = number()?,
            "--latency-ms" => latency_ms = number()?,
            "--same-host" => same_host = number()?.min(100) as u8,
            "--links" => links = Some(pair(&name, &value)?),
            "--menu" => menu = Some(number()? as u32),
            "--thin" => thin = number()?.min(255) as u8,
            "--spread" => spread = value,
            "--change-ms" => change = Some(pair(&name, &value)?),
            "--life-ms" => life = Some(pair(&name, &value)?),
            "--ledger" => rest.ledger = Some(value),
            "--truth" => rest.truth = Some(value),
            _ => return Err(format!("unknown option {name}")),
        }
    }
    rest.config =
        if full { WorldConfig::full(seed, hosts, pages) } else { WorldConfig::clean(seed, hosts, pages) };
    rest.config.latency_ms = latency_ms;
    rest.config.same_host_percent = same_host;
    if let Some((least, most)) = links {
        rest.config.links = (least as u32, most as u32);
    }
    rest.config.menu = menu.unwrap_or(rest.config.menu);
    rest.config.thin_pages = thin;
    if let Some((min_ms, max_ms)) = change {
        let spread = match spread.as_str() {
            "uniform" => RateSpread::Uniform { min_ms, max_ms },
            "uniform-rate" => RateSpread::UniformRate { min_ms, max_ms },
            "power-law" => RateSpread::PowerLaw { min_ms, max_ms },
            _ => return Err(format!("--spread {spread}: must be uniform, uniform-rate or power-law")),
        };
        rest.config.change = ChangeConfig { spread, ..ChangeConfig::lively() };
    }
    if let Some((from_ms, until_ms)) = life {
        rest.config.life = LifeConfig::eventful(from_ms, until_ms);
    }
    Ok(rest)
}

fn pair(name: &str, value: &str) -> Result<(u64, u64), String> {
    let (low, high) =
        value.split_once([',', '-']).ok_or_else(|| format!("{name} {value}: needs two numbers"))?;
    let number = |text: &str| text.parse::<u64>().map_err(|e| format!("{name} {text}: {e}"));
    Ok((number(low)?, number(high)?))
}

fn write_ledger(server: &Server, path: Option<&str>) -> std::io::Result<()> {
    match path {
        Some(path) => server.ledger.write_json_lines(&mut BufWriter::new(File::create(path)?)),
        None => Ok(()),
    }
}

fn write_truth(world: &World, path: &str) -> std::io::Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    let truth = world.truth(&TruthOptions::default());
    for entry in truth.entries() {
        let word = if entry.expect == Expect::Disallowed { "disallowed" } else { "fetch" };
        writeln!(out, "{word}\t{}\t{}\t{:?}", entry.depth, truth.url(entry), entry.expect)?;
    }
    out.flush()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let options = options()?;
    let world = Arc::new(World::new(options.config));
    world.set_time_ms(options.time_ms);
    if let Some(path) = &options.truth {
        write_truth(&world, path)?;
    }
    let addrs = vec![([127, 0, 0, 1], options.port).into()];
    let config = ServerConfig { addrs, threads: options.threads, ledger: options.ledger.is_some() };
    let server = Server::start_with(Arc::clone(&world), config)?;
    println!("{}", server.addr);
    println!("{}", world.seeds(1).concat());
    std::io::stdout().flush()?;
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        match line.split_once(' ') {
            Some(("time", ms)) => world.set_time_ms(ms.trim().parse()?),
            _ if line == "ledger" => write_ledger(&server, options.ledger.as_deref())?,
            _ => eprintln!("not understood: {line}"),
        }
    }
    write_ledger(&server, options.ledger.as_deref())?;
    server.shutdown();
    Ok(())
}
