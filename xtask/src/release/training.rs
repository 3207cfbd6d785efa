//! The training crawls: what people do with the program, on pages that no measurement uses, all of it on loopback.
//!
//! Three sites: the synthetic web of `lycosa demo` with everything odd there is, generated pages that change between two
//! visits, and manuals of real HTML. The last two are crawled with and without an archive, for both are common.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;
use tempfile::TempDir;

use crate::generated::Generated;
use crate::nginx::Nginx;
use crate::packages::{self, Manual};
use crate::program;
use crate::setup;
use crate::workspace::Workspace;

/// Longest time for one run, in seconds: many times what it takes.
const LIMIT_SECONDS: &str = "300";
/// Pages of the synthetic web, and which web it is: not the one of the demonstration or of the benchmark.
const DEMO: [&str; 4] = ["--pages", "4000", "--seed", "20240229"];
/// Other words and another number of pages than the benchmark's.
const GENERATED: Generated = Generated { pages: 6_000, seed: 0x7472_6169_6e65_6421 };
/// Of the generated pages, one in so many changes before the second visit.
const CHANGED: usize = 4;
/// Both manuals have more pages than this; with fewer something is wrong.
const LEAST_OF_MANUALS: u64 = 1_000;
/// Apache's manual in languages into which little of it is translated: the rest of their pages are copies.
const COPIES: &str = "re:/apache/(da|de|es|pt-br|ru|zh-cn)/";
/// Of every kind that the query language has.
const QUERIES: [&str; 8] = [
    "web server",
    "template filter configuration",
    "\"virtual host\"",
    "rewrite NEAR/5 rule",
    "model* AND (field OR query) -deprecated",
    "title:module heading:directive",
    "cookie XOR session",
    "serveur lang:fr",
];
/// Formats and the names of the files, or of the directory, that they are written to.
const EXPORTS: [(&str, &str); 4] =
    [("wacz", "pages.wacz"), ("jsonl", "pages.jsonl"), ("markdown", "pages"), ("urls", "urls.jsonl")];

/// Sites that are ready to be served, in a directory that goes with this.
pub struct Training {
    dir: TempDir,
}

impl Training {
    pub fn prepare(workspace: &Workspace, home: &Path) -> Result<Self> {
        setup::packages(&[("nginx", &["nginx-light", "nginx"])])?;
        let training = Self { dir: tempfile::tempdir_in(home)? };
        GENERATED.write(&training.path("generated"))?;
        let manuals = packages::gather(workspace, &Manual::TRAINING, &training.path("manuals"))?;
        eprintln!("{manuals}");
        Ok(training)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn run(&self, lycosa: &Path) -> Result<()> {
        let trainee = Trainee { lycosa, dir: self.dir.path() };
        let mut demo = trainee.command(["demo", "--json", "-d", "demo"]);
        least(&trainee.report(demo.args(DEMO))?["report"], "pages", 1)?;

        let site = Nginx::start(&self.path("generated"), &self.path("nginx-generated"))?;
        let seed = site.url("index.html");
        trainee.crawl(&seed, "generated-crawl", &[], GENERATED.pages)?;
        trainee.crawl(&seed, "generated-plain", &["--no-archive"], GENERATED.pages)?;
        GENERATED.change(&self.path("generated"), CHANGED)?;
        trainee.refresh("generated-crawl", GENERATED.pages)?;
        drop(site);

        let site = Nginx::start(&self.path("manuals"), &self.path("nginx-manuals"))?;
        let seed = site.url("index.html");
        let exclude = ["--exclude", COPIES];
        trainee.crawl(&seed, "manuals-crawl", &exclude, LEAST_OF_MANUALS)?;
        trainee.crawl(
            &seed,
            "manuals-plain",
            &[&exclude[..], &["--no-archive"]].concat(),
            LEAST_OF_MANUALS,
        )?;
        trainee.refresh("manuals-crawl", LEAST_OF_MANUALS)?;
        drop(site);

        trainee.run(["index", "-d", "manuals-crawl"])?;
        for query in QUERIES {
            trainee.run(["search", query, "-d", "manuals-crawl"])?;
        }
        for (format, name) in EXPORTS {
            trainee.run(["export", "-d", "manuals-crawl", "--format", format, "-o", name])?;
        }
        Ok(())
    }
}

/// The binary that is trained, and the directory it works in.
struct Trainee<'a> {
    lycosa: &'a Path,
    dir: &'a Path,
}

impl Trainee<'_> {
    fn command<const N: usize>(&self, arguments: [&str; N]) -> Command {
        let mut command = Command::new("timeout");
        command.arg(LIMIT_SECONDS).arg(self.lycosa).args(arguments).current_dir(self.dir);
        // Counts go where the build said.
        command.env_remove("LLVM_PROFILE_FILE");
        command
    }

    fn run<const N: usize>(&self, arguments: [&str; N]) -> Result<()> {
        program::capture(&mut self.command(arguments)).map(drop)
    }

    /// Runs what prints a report.
    fn report(&self, command: &mut Command) -> Result<Value> {
        serde_json::from_str(&program::capture(command)?).context("reading the report")
    }

    /// Crawls what lies below the seed; links to other ports of this machine, which manuals have, are left alone.
    fn crawl(&self, seed: &str, data: &str, options: &[&str], pages: u64) -> Result<()> {
        let mut command =
            self.command(["crawl", seed, "-d", data, "--json", "--scope", "prefix", "--no-requisites"]);
        command.args(["--allow-net", "127.0.0.0/8", "--delay", "0", "--ip-delay", "0"]);
        command.args(["--per-host", "256", "--pipeline", "8", "--depth", "1000"]).args(options);
        least(&self.report(&mut command)?, "pages", pages).with_context(|| data.to_owned())
    }

    fn refresh(&self, data: &str, visits: u64) -> Result<()> {
        let mut command = self.command(["refresh", "-d", data, "--json"]);
        least(&self.report(&mut command)?, "revisits", visits).with_context(|| data.to_owned())
    }
}

/// A crawl that ends well but found next to nothing trains nothing.
fn least(report: &Value, figure: &str, wanted: u64) -> Result<()> {
    let found = report["run"][figure].as_u64().with_context(|| format!("no {figure} in the report"))?;
    if found < wanted {
        bail!("{found} {figure}, at least {wanted} were expected");
    }
    eprintln!("{found} {figure}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crawl_that_finds_too_little_is_an_error() {
        let report = serde_json::json!({ "run": { "pages": 10 } });
        assert!(least(&report, "pages", 10).is_ok());
        assert!(least(&report, "pages", 11).is_err());
        assert!(least(&report, "revisits", 0).is_err());
    }

    #[test]
    fn a_trainee_that_fails_ends_the_training() {
        let dir = tempfile::tempdir().unwrap();
        let trainee = |name: &'static str| Trainee { lycosa: Path::new(name), dir: dir.path() };
        assert!(trainee("true").run(["index"]).is_ok());
        assert!(trainee("false").run(["index"]).is_err());
    }
}
