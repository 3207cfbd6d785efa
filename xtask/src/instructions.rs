//! `cargo xtask instructions`: what each stage of a page costs in instructions, held against the figures in
//! bench/instructions.json. Instructions can be counted again anywhere; times cannot.
//!
//! The figures belong to the profile of the tests. A compiler or a dependency that gets better or worse moves them: look at
//! the change, then write new ones with `--update`.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::program;
use crate::workspace::Workspace;

const STAGES: [&str; 8] = ["decode", "scan", "links", "sign", "digest", "encode", "seen", "frontier"];
/// Pages that the example works on.
const PAGES: u64 = 100;
/// A stage may cost this much more than written down, in percent, before the check fails. Counts differ by less than one
/// percent from run to run (hash seeds), those of the frontier by three (its store throws dice); processors with other vector
/// instructions explain the rest.
const MARGIN_PERCENT: u64 = 10;

type Figures = BTreeMap<String, u64>;

pub fn run(workspace: &Workspace, update: bool) -> Result<()> {
    program::run(workspace.cargo().args(["build", "--workspace", "--bins", "--examples", "--quiet"]))?;
    let example = workspace.target.join("debug/examples/hot_paths");
    let file = workspace.root.join("bench/instructions.json");
    let known: Figures = match std::fs::read(&file) {
        Ok(bytes) => serde_json::from_slice(&bytes).context("reading bench/instructions.json")?,
        Err(_) => Figures::new(),
    };
    let mut counted = Figures::new();
    let mut risen = Vec::new();
    for stage in STAGES {
        let per_page = count(&example, stage)? / PAGES;
        let before = known.get(stage).copied();
        let change = before.map_or_else(String::new, |before| {
            format!("{:+.1} %", (per_page as f64 / before as f64 - 1.0) * 100.0)
        });
        println!("{per_page:>9} instructions per page  {stage:<9} {change}");
        if before.is_none_or(|before| per_page * 100 > before * (100 + MARGIN_PERCENT)) {
            risen.push(stage);
        }
        counted.insert(stage.to_owned(), per_page);
    }
    if update {
        std::fs::write(&file, serde_json::to_string_pretty(&counted)? + "\n")?;
        return Ok(());
    }
    if !risen.is_empty() {
        bail!(
            "{} rose by more than {MARGIN_PERCENT} %; make it cheaper, or explain it and run `cargo xtask instructions --update`",
            risen.join(", ")
        );
    }
    Ok(())
}

/// Instructions inside the part of the example that counts.
fn count(example: &Path, stage: &str) -> Result<u64> {
    let mut valgrind = Command::new(program::needed("valgrind")?);
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null", "--collect-atstart=no"]);
    valgrind.args(["--toggle-collect=*measured*", "--"]).arg(example).arg(stage);
    let output = valgrind.output().context("starting valgrind")?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        bail!("{stage} under valgrind ended with {}: {}", output.status, said.trim());
    }
    collected(&said).with_context(|| format!("valgrind said nothing about {stage}: {}", said.trim()))
}

fn collected(said: &str) -> Option<u64> {
    let line = said.lines().find_map(|line| line.split_once("Collected :").map(|(_, rest)| rest))?;
    line.split_whitespace().next()?.parse().ok().filter(|&count| count > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_found_and_nothing_is_no_count() {
        assert_eq!(collected("==1== Events    : Ir\n==1== Collected : 123456\n"), Some(123_456));
        assert_eq!(collected("==1== Collected : 0\n"), None);
        assert_eq!(collected("no valgrind"), None);
    }
}
