//! Licences, bans and sources of every dependency, held against deny.toml.
//!
//! cargo-deny does it where it is installed. Elsewhere the same lists are checked here from `cargo metadata`, so that a
//! fresh machine needs no further program: every package in the lock file, for every platform.

mod expression;

use std::collections::BTreeSet;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::program;
use crate::workspace::Workspace;

use self::expression::is_allowed;

/// Where cargo says the public registry is.
const REGISTRY_PREFIX: &str = "registry+";

#[derive(Deserialize)]
struct Rules {
    licenses: Licences,
    bans: Bans,
}

#[derive(Deserialize)]
struct Licences {
    allow: BTreeSet<String>,
}

#[derive(Deserialize)]
struct Bans {
    deny: Vec<Ban>,
}

#[derive(Deserialize)]
struct Ban {
    #[serde(rename = "crate")]
    name: String,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    license: Option<String>,
    source: Option<String>,
}

pub fn run(workspace: &Workspace) -> Result<()> {
    if program::succeeds(Command::new("cargo").args(["deny", "--version"])) {
        return program::run(workspace.cargo().args([
            "deny",
            "--all-features",
            "check",
            "bans",
            "licenses",
            "sources",
        ]));
    }
    let rules = std::fs::read_to_string(workspace.root.join("deny.toml")).context("reading deny.toml")?;
    let rules: Rules = toml::from_str(&rules).context("reading deny.toml")?;
    let text =
        program::capture(workspace.cargo().args(["metadata", "--format-version", "1", "--all-features"]))?;
    let metadata: Metadata = serde_json::from_str(&text).context("reading what cargo metadata says")?;
    let wrongs: Vec<String> = metadata.packages.iter().filter_map(|package| judge(package, &rules)).collect();
    for wrong in &wrongs {
        eprintln!("{wrong}");
    }
    if !wrongs.is_empty() {
        bail!("{} packages break deny.toml, see above", wrongs.len());
    }
    eprintln!("{} packages", metadata.packages.len());
    Ok(())
}

/// What is wrong with a package; those of the workspace itself have no source and are ours.
fn judge(package: &Package, rules: &Rules) -> Option<String> {
    let source = package.source.as_deref()?;
    let wrong = |what: String| Some(format!("{} {}: {what}", package.name, package.version));
    if !source.starts_with(REGISTRY_PREFIX) {
        return wrong(format!("comes from {source}, which is not allowed: only the crates registry is"));
    }
    if rules.bans.deny.iter().any(|ban| ban.name == package.name) {
        return wrong("is banned".to_owned());
    }
    let Some(licence) = &package.license else {
        return wrong("names no licence".to_owned());
    };
    match is_allowed(licence, &|name| rules.licenses.allow.contains(name)) {
        Some(true) => None,
        Some(false) => wrong(format!("its licence {licence} is not allowed")),
        None => wrong(format!("its licence {licence} cannot be read")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules() -> Rules {
        toml::from_str(include_str!("../../deny.toml")).unwrap()
    }

    fn package(name: &str, license: Option<&str>, source: &str) -> Package {
        Package {
            name: name.to_owned(),
            version: "1.0.0".to_owned(),
            license: license.map(str::to_owned),
            source: Some(source.to_owned()),
        }
    }

    #[test]
    fn packages_are_judged_by_licence_ban_and_source() {
        let rules = rules();
        let registry = "registry+https://index.example.org";
        assert_eq!(judge(&package("a", Some("MIT OR GPL-3.0"), registry), &rules), None);
        for (bad, why) in [
            (package("a", Some("GPL-3.0"), registry), "not allowed"),
            (package("a", None, registry), "no licence"),
            (package("a", Some("MIT OR ("), registry), "cannot be read"),
            (package("openssl-sys", Some("MIT"), registry), "banned"),
            (package("a", Some("MIT"), "git+https://example.org/a"), "not allowed"),
        ] {
            let said = judge(&bad, &rules).unwrap();
            assert!(said.contains(why), "{said}");
        }
    }
}
