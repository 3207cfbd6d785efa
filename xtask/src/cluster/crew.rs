//! Nodes and coordinators: each a process, with a directory, a name that the web's server sees, and a cable to the servers.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use super::Programs;
use super::nats::Nats;
use super::proxy::Proxy;
use super::web::Web;
use crate::program;

/// The name of the crawl.
const CRAWL: &str = "crawl";
/// Written at a time when a disk is filled.
const FILL_BYTES: usize = 1 << 20;

/// How the crawl is set.
#[derive(Clone, Debug)]
pub struct CrawlOptions {
    pub delay_ms: u64,
    pub partitions: u16,
    /// Requests under way per node.
    pub concurrency: usize,
    /// Servers that hold each message.
    pub replicas: usize,
}

impl CrawlOptions {
    fn of_crawl(&self, web: &Web) -> Vec<String> {
        let mut args: Vec<String> =
            ["--scope", "any", "--depth", "1000", "--ip-delay", "0"].map(str::to_owned).into();
        args.extend(["--delay".to_owned(), format!("{}ms", self.delay_ms)]);
        args.extend(["--set".to_owned(), format!("partitions.count={}", self.partitions)]);
        args.extend(web.net());
        args
    }
}

/// What one machine alone fetches of a web.
pub fn alone(programs: &Programs, web: &Web, dir: &Path, options: &CrawlOptions) -> Result<BTreeSet<String>> {
    let mut command = Command::new(&programs.lycosa);
    command.args(["crawl", &web.seed, "--quiet", "--user-agent", "alone", "--no-requisites", "-d"]).arg(dir);
    command.args(options.of_crawl(web)).args(["--concurrency", &options.concurrency.to_string()]);
    program::run(&mut command)?;
    fetched(&programs.lycosa, dir)
}

/// The pages that a node's state says were fetched.
pub fn fetched(lycosa: &Path, dir: &Path) -> Result<BTreeSet<String>> {
    let text = program::capture(Command::new(lycosa).args(["export", "-f", "urls", "-d"]).arg(dir))?;
    let mut fetched = BTreeSet::new();
    for line in text.lines() {
        let line: Value = serde_json::from_str(line)?;
        if line["outcome"] == "fetched" {
            fetched.extend(line["url"].as_str().map(str::to_owned));
        }
    }
    Ok(fetched)
}

/// The pages that the indexes of a node's archive list.
pub fn archived(dir: &Path) -> Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(dir.join("archive"))? {
        let path = entry?.path();
        if !path.file_name().is_some_and(|name| name.to_string_lossy().contains(".cdxj")) {
            continue;
        }
        for line in std::fs::read_to_string(&path)?.lines() {
            let facts = line.find('{').map(|at| serde_json::from_str::<Value>(&line[at..])).transpose()?;
            found.extend(facts.as_ref().and_then(|facts| facts["url"].as_str()).map(str::to_owned));
        }
    }
    Ok(found)
}

pub struct Member {
    pub name: String,
    pub dir: PathBuf,
    cables: Vec<Proxy>,
    child: Option<Child>,
    log: PathBuf,
}

impl Member {
    /// A member that is not started yet, with a cable of its own to each server.
    pub fn new(name: &str, dir: &Path, nats: &Nats) -> Result<Self> {
        let cables = nats.ports().into_iter().map(Proxy::start).collect::<Result<Vec<_>>>()?;
        let log = dir.join(format!("{name}.log"));
        Ok(Self { name: name.to_owned(), dir: dir.join(name), cables, child: None, log })
    }

    fn spawn(&mut self, lycosa: &Path, args: &[String]) -> Result<()> {
        let urls: Vec<String> =
            self.cables.iter().map(|cable| format!("nats://127.0.0.1:{}", cable.port)).collect();
        let log = File::options().create(true).append(true).open(&self.log)?;
        let child = Command::new(lycosa)
            .args(args)
            .args(["--nats", &urls.join(","), "--crawl", CRAWL, "--node", &self.name])
            // Servers that were killed come back.
            .args(["--nats-wait", "120"])
            .env("RUST_LOG", "info")
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .with_context(|| format!("starting {}", self.name))?;
        self.child = Some(child);
        Ok(())
    }

    fn of_node(&self, options: &CrawlOptions) -> Vec<String> {
        let mut args: Vec<String> = ["--json", "--user-agent", &self.name, "-d"].map(str::to_owned).into();
        args.push(self.dir.display().to_string());
        args.extend(["--concurrency".to_owned(), options.concurrency.to_string()]);
        args.extend(["--nats-replicas".to_owned(), options.replicas.to_string()]);
        args
    }

    /// Makes the crawl and takes part in it.
    pub fn crawl(&mut self, lycosa: &Path, web: &Web, options: &CrawlOptions) -> Result<()> {
        let mut args = vec!["crawl".to_owned(), web.seed.clone(), "--no-requisites".to_owned()];
        args.extend(self.of_node(options));
        args.extend(options.of_crawl(web));
        self.spawn(lycosa, &args)
    }

    /// Takes part in the crawl.
    pub fn join(&mut self, lycosa: &Path, options: &CrawlOptions) -> Result<()> {
        let mut args = vec!["node".to_owned()];
        args.extend(self.of_node(options));
        self.spawn(lycosa, &args)
    }

    pub fn coordinate(&mut self, lycosa: &Path, options: &CrawlOptions) -> Result<()> {
        let replicas = options.replicas.to_string();
        self.spawn(lycosa, &["coordinator", "--nats-replicas", &replicas].map(str::to_owned))
    }

    /// `kill -9`.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().ok();
            child.wait().ok();
        }
    }

    pub fn signal(&self, signal: Signal) -> Result<()> {
        let child = self.child.as_ref().with_context(|| format!("{} does not run", self.name))?;
        Ok(kill(Pid::from_raw(child.id() as i32), signal)?)
    }

    pub fn set_cut(&self, cut: bool) {
        self.cables.iter().for_each(|cable| cable.set_cut(cut));
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>> {
        Ok(match &mut self.child {
            Some(child) => child.try_wait()?,
            None => None,
        })
    }

    /// Waits for its end.
    pub fn wait(&mut self, patience: Duration) -> Result<ExitStatus> {
        let started = Instant::now();
        while started.elapsed() < patience {
            if let Some(status) = self.ended()? {
                return Ok(status);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        bail!("{} does not end; its log is {}", self.name, self.log.display())
    }

    /// The report of its last run: the last object in its log.
    pub fn report(&self) -> Result<Value> {
        let text = std::fs::read_to_string(&self.log)?;
        let at = text.rfind("\n{\n").map(|at| at + 1).or_else(|| text.starts_with('{').then_some(0));
        let at = at.with_context(|| format!("{} left no report in {}", self.name, self.log.display()))?;
        let mut values = serde_json::Deserializer::from_str(&text[at..]).into_iter::<Value>();
        Ok(values.next().context("the report is empty")??)
    }

    /// All it has written so far.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    pub fn log_tail(&self) -> String {
        let text = self.log();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(15)..].join("\n")
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A disk of a few hundred megabytes in memory, for a node's directory. Only root can make one.
pub struct SmallDisk {
    dir: PathBuf,
}

impl SmallDisk {
    pub fn mount(dir: &Path, mebibytes: u32) -> Result<Self> {
        std::fs::create_dir_all(dir)?;
        let size = format!("size={mebibytes}m");
        let made =
            program::succeeds(Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(dir));
        if !made {
            bail!("no file system can be mounted here");
        }
        Ok(Self { dir: dir.to_owned() })
    }

    /// Leaves no byte free.
    pub fn fill(&self) -> Result<()> {
        let mut file = File::create(self.filler())?;
        let mut block = vec![0; FILL_BYTES];
        while !block.is_empty() {
            while file.write_all(&block).is_ok() {}
            block.truncate(block.len() / 2);
        }
        Ok(())
    }

    pub fn free(&self) -> Result<()> {
        Ok(std::fs::remove_file(self.filler())?)
    }

    fn filler(&self) -> PathBuf {
        self.dir.join("filler")
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        program::succeeds(Command::new("umount").arg(&self.dir));
    }
}
