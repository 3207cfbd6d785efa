//! The documents: every relative link leads somewhere, every command shown exists with its options, and those in blocks
//! marked for it really run.

mod commands;
mod links;
mod markdown;
mod usage;

use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::checks::Checks;
use crate::workspace::Workspace;

/// The documents at the root of the checkout; those under docs/ and the README of each crate join them.
const AT_ROOT: [&str; 3] = ["README.md", "ARCHITECTURE.md", "CHANGELOG.md"];

pub fn run(workspace: &Workspace, checks: &mut Checks) {
    checks.run("links in documents", || report(links::check(workspace, &all(workspace)?)?));
    checks.run("commands in documents", || {
        let documents = all(workspace)?;
        let binary = workspace.build_tested()?;
        report(commands::check(workspace, &documents, &binary)?)
    });
}

fn all(workspace: &Workspace) -> Result<Vec<PathBuf>> {
    let mut found: Vec<PathBuf> = AT_ROOT.iter().map(|name| workspace.root.join(name)).collect();
    found.retain(|file| file.exists());
    for dir in ["docs", "crates", "bench", "xtask"] {
        if workspace.root.join(dir).exists() {
            found.extend(workspace.files(dir, "md")?);
        }
    }
    Ok(found)
}

/// What a check of the documents found: how much it looked at, and what is wrong.
#[derive(Default)]
struct Findings {
    looked_at: usize,
    wrongs: Vec<String>,
}

fn report(findings: Findings) -> Result<()> {
    for wrong in &findings.wrongs {
        eprintln!("{wrong}");
    }
    if !findings.wrongs.is_empty() {
        bail!("{} of {} are wrong, see above", findings.wrongs.len(), findings.looked_at);
    }
    eprintln!("{} looked at", findings.looked_at);
    Ok(())
}
