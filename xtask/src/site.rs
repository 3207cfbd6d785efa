//! Crawls a site of real HTML and compares, at the server, with what `wget2 -r` asks for.
//!
//! The pages must be the same, none asked for twice. What wget2 fetches besides is explained by kind: style sheets,
//! scripts, images and fonts that a page needs to be shown but that lead to no page, and targets of `<link>` in a page's
//! head. Anything else is a failure.

mod compare;

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::checks::Checks;
use crate::nginx::{Nginx, Request};
use crate::packages::Manual;
use crate::program;
use crate::workspace::Workspace;

use self::compare::Comparison;

/// Manuals of about 500 and 1,200 pages: enough of the real world for every run.
const QUICK: [Manual; 2] = [Manual::Python, Manual::Postgresql];

/// Longest time for one crawl, in seconds.
const LIMIT_SECONDS: &str = "600";

pub fn run(workspace: &Workspace, checks: &mut Checks, all: bool) {
    let manuals: &[Manual] = if all { &Manual::MEASURED } else { &QUICK };
    for manual in manuals {
        checks.run(&format!("site of {}", manual.name()), || check(workspace, *manual));
    }
}

fn check(workspace: &Workspace, manual: Manual) -> Result<()> {
    let tree = manual.fetch(workspace)?;
    let lycosa = workspace.build_tested()?;
    let home = workspace.target.join("site").join(tree.name);
    if home.exists() {
        std::fs::remove_dir_all(&home)?;
    }
    let server = Nginx::start(&tree.dir, &home)?;
    let seed = server.url(tree.entry);

    let ours = crawl(&server, |work| lycosa_command(&lycosa, &seed, work), &home.join("lycosa"))?;
    let wget2 = program::needed("wget2")?;
    let theirs = crawl(&server, |work| wget2_command(&wget2, &seed, work), &home.join("wget2"))?;
    let comparison =
        Comparison::of(&ours, &theirs, &|path| std::fs::read_to_string(tree.dir.join(path)).ok());
    eprintln!("{}: {comparison}", tree.package);
    for difference in comparison.unexpected() {
        eprintln!("{difference}");
    }
    match comparison.unexpected().count() {
        0 => Ok(()),
        count => bail!("{count} differences from wget2 are not explained"),
    }
}

fn crawl(server: &Nginx, command: impl Fn(&Path) -> Command, work: &Path) -> Result<Vec<Request>> {
    std::fs::create_dir_all(work)?;
    server.clear_log()?;
    let mut command = command(work);
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status().context("starting a crawler")?;
    // wget2 ends with 8 when some link was broken, which real sites have.
    if !matches!(status.code(), Some(0 | 8)) {
        bail!("{:?} ended with {status}", command.get_args().next());
    }
    server.requests()
}

fn lycosa_command(binary: &Path, seed: &str, work: &Path) -> Command {
    let mut command = Command::new("timeout");
    command.arg(LIMIT_SECONDS).arg(binary).args(["crawl", seed, "-d"]).arg(work.join("crawl"));
    command.args(["--allow-net", "127.0.0.0/8", "--delay", "0", "--ip-delay", "0", "--per-host", "16"]);
    command.args(["--pipeline", "4", "--depth", "1000", "--no-requisites", "--json"]);
    command
}

fn wget2_command(binary: &Path, seed: &str, work: &Path) -> Command {
    let mut command = Command::new("timeout");
    command.arg(LIMIT_SECONDS).arg(binary).args(["-q", "-r", "-l", "0", "--max-threads=8", "--tries=2"]);
    command.arg("-P").arg(work).arg(seed);
    command
}
