//! `cargo xtask orders`: one web crawled in every order; how soon each gathered the rank of its pages, and what it cost.
//!
//! Orders differ only while URLs wait, so few requests are under way at a time and hosts need not rest. Breadth-first and
//! best-first take turns for the comparison of speed. The web is the synthetic one, or the manuals of Debian packages.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use clap::Args;
use serde_json::Value;

use crate::bench::{self, Binaries, Corpus, describe_machine};
use crate::nginx::Nginx;
use crate::program;
use crate::synthetic::SyntheticWeb;
use crate::workspace::Workspace;

const ORDERS: [&str; 7] =
    ["breadth-first", "best-first", "backlink", "pvalue", "forward-link", "location", "depth-first"];
/// Orders whose speed is compared, turn by turn.
const TIMED: [&str; 2] = ["breadth-first", "best-first"];

#[derive(Debug, Args)]
pub struct OrdersArgs {
    /// Crawl the manuals instead of the synthetic web
    #[arg(long)]
    docs: bool,
    /// Pages of the synthetic web
    #[arg(long, default_value_t = 200_000)]
    pages: u32,
    #[arg(long, default_value_t = 1000)]
    hosts: u32,
    /// Links that stay on their host, in percent
    #[arg(long, default_value_t = 82)]
    same_host: u8,
    /// Fewest and most links of a page of the synthetic web
    #[arg(long, default_value = "30-60")]
    links: String,
    /// Pages that every page of a host links to, beside the front page
    #[arg(long, default_value_t = 5)]
    menu: u32,
    /// Thin pages of each article of the synthetic web: print views, forms to reply and the like
    #[arg(long, default_value_t = 0)]
    thin: u8,
    /// Turns of the orders whose speed is compared
    #[arg(long, default_value_t = 2)]
    rounds: usize,
    /// Use this binary instead of building one
    #[arg(long)]
    lycosa: Option<PathBuf>,
    /// Use this binary of the synthetic web instead of building one
    #[arg(long)]
    simweb: Option<PathBuf>,
}

/// A web that is being served, until this goes away.
struct Web {
    seed: String,
    resolve: Option<String>,
    /// Requests under way to one host: as many as usual, or more where there is but one host.
    per_host: &'static str,
    _server: Server,
}

enum Server {
    Sim { _web: SyntheticWeb },
    Site { _nginx: Nginx },
}

pub fn run(workspace: &Workspace, args: &OrdersArgs) -> Result<()> {
    let (lycosa, simweb) = (args.lycosa.as_deref(), args.simweb.as_deref());
    let Binaries { lycosa, simweb } = Binaries::find(workspace, lycosa, simweb, !args.docs)?;
    let work = workspace.root.join("bench/work/orders");
    if work.exists() {
        std::fs::remove_dir_all(&work)?;
    }
    std::fs::create_dir_all(&work)?;
    let machine = describe_machine(workspace);
    let web = if args.docs { serve_manuals(workspace)? } else { serve_synthetic(&simweb, args)? };
    let mut speeds = String::from(
        "| turn | order | pages | pages/s | CPU ms per page |\n| --- | --- | ---: | ---: | ---: |\n",
    );
    let mut dirs = Vec::new();
    let timed = std::iter::repeat_n(TIMED, args.rounds.saturating_sub(1)).flatten();
    for (turn, order) in ORDERS.into_iter().chain(timed).enumerate() {
        let first = turn < ORDERS.len();
        let dir = work.join(if first { order } else { "again" });
        if !first && dir.exists() {
            std::fs::remove_dir_all(&dir)?;
        }
        let report = crawl(&lycosa, &web, order, &dir)?;
        let run = &report["run"];
        let line = format!(
            "| {} | {order} | {} | {:.0} | {:.3} |",
            turn + 1,
            run["pages"],
            run["pages_per_s"].as_f64().unwrap_or(0.0),
            run["cpu_ms_per_page"].as_f64().unwrap_or(0.0)
        );
        eprintln!("{line}");
        writeln!(speeds, "{line}")?;
        if first {
            dirs.push(dir);
        }
    }
    let name = if args.docs { "orders-docs" } else { "orders-sim" };
    let out = workspace.root.join("bench/results").join(format!("{}-{name}", machine.date));
    std::fs::create_dir_all(&out)?;
    let mut curve = Command::new(&lycosa);
    curve
        .arg("rank")
        .args(&dirs)
        .args(["--curve", "--of"])
        .arg(&dirs[0])
        .arg("--svg")
        .arg(out.join("curves.svg"));
    let table = program::capture(&mut curve)?;
    let json = program::capture(curve.arg("--json"))?;
    std::fs::write(out.join("curves.json"), json)?;
    let OrdersArgs { hosts, pages, same_host, links, menu, thin, .. } = args;
    let what = if args.docs {
        "the manuals behind nginx".to_owned()
    } else {
        format!(
            "the synthetic web: seed 1, {hosts} hosts, {pages} pages, {links} links a page, {same_host} % of them on their host, \
             {menu} pages in the menu, {thin} thin pages an article"
        )
    };
    let text = format!(
        "# Orders on {what}\n\n\
         `cargo xtask orders{}`, {}, commit {}, {} cores, load before {:.1}. 16 requests under way, no pauses, no archive.\n\n\
         Share of the rank of all pages (by the links of the whole crawl) gathered after a share of the pages; the ceiling is what \
         no order can pass: the best pages first, known or not.\n\n```text\n{table}```\n\n![Curves](curves.svg)\n\n{speeds}",
        if args.docs {
            " --docs".to_owned()
        } else {
            format!(
                " --hosts {hosts} --pages {pages} --same-host {same_host} --links {links} --menu {menu} --thin {thin}"
            )
        },
        machine.date,
        machine.commit,
        machine.cores,
        machine.load_before,
    );
    std::fs::write(out.join("README.md"), text)?;
    println!("{table}\n{speeds}\nwritten to {}", workspace.relative(&out).display());
    std::fs::remove_dir_all(&work)?;
    Ok(())
}

fn crawl(lycosa: &Path, web: &Web, order: &str, dir: &Path) -> Result<Value> {
    let mut command = Command::new(lycosa);
    command.args(["crawl", &web.seed, "--order", order, "--scope", "any", "--depth", "1000", "-d"]).arg(dir);
    command.args(["--allow-net", "127.0.0.0/8", "--delay", "0", "--ip-delay", "0", "--concurrency", "16"]);
    command.args([
        "--per-host",
        web.per_host,
        "--no-archive",
        "--json",
        "--set",
        "judging.skip_mirrors=false",
    ]);
    if let Some(resolve) = &web.resolve {
        command.args(["--resolve", resolve]);
    }
    let report = program::capture(&mut command)?;
    serde_json::from_str(&report).context("reading the report")
}

fn serve_synthetic(simweb: &Path, args: &OrdersArgs) -> Result<Web> {
    let OrdersArgs { hosts, pages, same_host, links, menu, thin, .. } = args;
    let named = [
        format!("--hosts={hosts}"),
        format!("--pages={pages}"),
        format!("--same-host={same_host}"),
        format!("--links={links}"),
        format!("--menu={menu}"),
        format!("--thin={thin}"),
    ];
    let web = SyntheticWeb::start(simweb, named.iter().flat_map(|named| named.split('=')))?;
    let (seed, resolve) = (web.seed.clone(), Some(web.resolve.clone()));
    Ok(Web { seed, resolve, per_host: "1", _server: Server::Sim { _web: web } })
}

fn serve_manuals(workspace: &Workspace) -> Result<Web> {
    let (nginx, seed) = bench::serve(workspace, Corpus::Docs)?;
    Ok(Web { seed, resolve: None, per_host: "8", _server: Server::Site { _nginx: nginx } })
}
