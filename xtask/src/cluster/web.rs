//! The synthetic web as a process, with a ledger of every request.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use anyhow::{Context, Result};

use super::audit::Ledger;

/// What the web is like.
#[derive(Clone, Copy, Debug)]
pub struct WebOptions {
    pub seed: u64,
    pub hosts: u32,
    pub pages: u32,
    /// Before each answer.
    pub latency_ms: u64,
}

pub struct Web {
    child: Child,
    input: Option<ChildStdin>,
    pub address: String,
    pub seed: String,
    ledger: PathBuf,
}

impl Web {
    pub fn start(simweb: &Path, dir: &Path, options: WebOptions) -> Result<Self> {
        std::fs::create_dir_all(dir)?;
        let ledger = dir.join("ledger.jsonl");
        let mut child = Command::new(simweb)
            .args(["--seed", &options.seed.to_string(), "--hosts", &options.hosts.to_string()])
            .args(["--pages", &options.pages.to_string(), "--latency-ms", &options.latency_ms.to_string()])
            .args(["--port", "0", "--ledger"])
            .arg(&ledger)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("starting the synthetic web")?;
        let said = child.stdout.take().context("the synthetic web's output")?;
        let mut lines = BufReader::new(said).lines();
        let mut line = || lines.next().context("the synthetic web ended at once")?.context("reading from it");
        let (address, seed) = (line()?, line()?);
        Ok(Self { input: child.stdin.take(), child, address, seed, ledger })
    }

    /// The options by which a crawl finds it.
    pub fn net(&self) -> Vec<String> {
        let resolve = format!("*:80:{}", self.address);
        ["--allow-net", "127.0.0.0/8", "--resolve", &resolve].map(str::to_owned).into()
    }

    /// Ends it and tells what it was asked for.
    pub fn finish(mut self) -> Result<Ledger> {
        // The end of its input ends it.
        drop(self.input.take());
        self.child.wait()?;
        Ledger::read(&self.ledger)
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        drop(self.input.take());
        self.child.wait().ok();
    }
}
