//! Two versions of the same documentation packages, judged as two visits and held against a plain oracle.
//!
//! The distribution keeps a package in its stable archive and a later one among the security updates: both are fetched
//! by `apt-get download NAME=VERSION` and unpacked under the build directory, pages are paired by path, and the example
//! `version_pairs` of the crate `page` judges them. What is written to `bench/results` are figures, no document text.

mod release;
mod table;

use std::collections::BTreeMap;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use crate::program;
use crate::workspace::Workspace;
use release::Release;

/// Packages with pages of HTML of which two versions are to be had.
const PACKAGES: [&str; 8] = [
    "apache2-doc",
    "bind9-doc",
    "linux-doc-6.1",
    "nodejs-doc",
    "openjdk-17-doc",
    "postgresql-doc-15",
    "python-django-doc",
    "python3.11-doc",
];

/// A line of the list that the example reads.
#[derive(Serialize)]
struct Pair {
    host: &'static str,
    old: String,
    new: String,
    old_versions: Vec<String>,
    new_versions: Vec<String>,
}

/// What the example says of one package.
#[derive(Default, Deserialize, Serialize)]
pub struct Row {
    pub host: String,
    #[serde(default)]
    pub old_version: String,
    #[serde(default)]
    pub new_version: String,
    pub pairs: usize,
    pub same: usize,
    pub markup_only: usize,
    pub markup_called_text: usize,
    pub banner_only: usize,
    pub banner_called_text: usize,
    pub text: usize,
    pub text_found: usize,
    pub text_not_silent: usize,
    pub verdicts: BTreeMap<String, usize>,
}

/// What the example says of near-duplicates, in its last line.
#[derive(Default, Deserialize, Serialize)]
pub struct Near {
    pub pairs: usize,
    pub unrelated: usize,
    pub mean_resemblance: f64,
    pub mean_resemblance_of_unrelated: f64,
    pub area_winnowing: f64,
    pub area_keywords: f64,
}

/// The figures of one run.
#[derive(Default, Serialize)]
pub struct Figures {
    pub packages: Vec<Row>,
    pub near_duplicates: Near,
}

/// True if at least 99 of 100 changed texts were found.
pub fn run(workspace: &Workspace) -> Result<bool> {
    let store = workspace.target.join("version-pairs");
    std::fs::create_dir_all(&store)?;
    let mut list = String::new();
    let mut versions = BTreeMap::new();
    for package in PACKAGES {
        match release::two_of(package)? {
            Some((old, new)) => {
                let (old, new) =
                    (Release::fetch(&store, package, &old)?, Release::fetch(&store, package, &new)?);
                add_pairs(package, &old, &new, &mut list)?;
                versions.insert(package, (old.version, new.version));
            }
            None => eprintln!("{package}: the distribution has one version only, left out"),
        }
    }
    if versions.is_empty() {
        bail!("no package is to be had in two versions: run `apt-get update`, or try another release");
    }
    let list_file = store.join("pairs.jsonl");
    std::fs::write(&list_file, list)?;
    let arguments = ["run", "--release", "--quiet", "-p", "lycosa-page", "--example", "version_pairs", "--"];
    let answer = program::capture(
        workspace.cargo().args(arguments).arg(&list_file).arg(store.join("judged-otherwise.txt")),
    )?;
    let (mut rows, mut lines) = (Vec::new(), answer.lines());
    let last = lines.next_back().context("the example said nothing")?;
    let near_duplicates = serde_json::from_str(last).with_context(|| format!("reading {last}"))?;
    for line in lines {
        let mut row: Row = serde_json::from_str(line).with_context(|| format!("reading {line}"))?;
        if let Some((old, new)) = versions.get(row.host.as_str()) {
            (row.old_version, row.new_version) = (old.clone(), new.clone());
        }
        rows.push(row);
    }
    let date = program::capture(Command::new("date").args(["-u", "+%Y-%m-%dT%H-%M"]))?;
    let dir = workspace.root.join("bench/results").join(format!("{}-version-pairs", date.trim()));
    std::fs::create_dir_all(&dir)?;
    let figures = Figures { packages: rows, near_duplicates };
    let text = table::write(date.trim(), &figures);
    std::fs::write(dir.join("README.md"), &text)?;
    std::fs::write(dir.join("results.json"), serde_json::to_string_pretty(&figures)? + "\n")?;
    eprintln!("{text}\nwritten to {}", workspace.relative(&dir).display());
    let (text, found) =
        figures.packages.iter().fold((0, 0), |sum, row| (sum.0 + row.text, sum.1 + row.text_found));
    Ok(found * 100 >= text * 99)
}

/// Pages that both versions have, by path.
fn add_pairs(host: &'static str, old: &Release, new: &Release, list: &mut String) -> Result<()> {
    for path in old.pages()? {
        let other = new.dir.join(&path);
        if other.is_file() {
            let pair = Pair {
                host,
                old: old.dir.join(&path).display().to_string(),
                new: other.display().to_string(),
                old_versions: old.spellings(),
                new_versions: new.spellings(),
            };
            list.push_str(&serde_json::to_string(&pair)?);
            list.push('\n');
        }
    }
    Ok(())
}
