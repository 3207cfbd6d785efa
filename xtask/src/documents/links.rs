//! Relative links: the file exists, and where a heading is named, it is there.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::workspace::Workspace;

use super::{Findings, markdown};

pub fn check(workspace: &Workspace, documents: &[PathBuf]) -> Result<Findings> {
    let mut findings = Findings::default();
    for document in documents {
        let text = std::fs::read_to_string(document).with_context(|| document.display().to_string())?;
        for (line, text) in markdown::split(&text).1 {
            for target in markdown::targets(text) {
                if target.contains("://") || target.starts_with("mailto:") {
                    continue;
                }
                findings.looked_at += 1;
                if let Some(why) = broken(document, target) {
                    let name = workspace.relative(document).display();
                    findings.wrongs.push(format!("{name}:{line}: {target}: {why}"));
                }
            }
        }
    }
    Ok(findings)
}

fn broken(document: &Path, target: &str) -> Option<&'static str> {
    let (file, heading) = target.split_once('#').unwrap_or((target, ""));
    let path = match file {
        "" => document.to_path_buf(),
        file => document.parent()?.join(file),
    };
    if !path.exists() {
        return Some("no such file");
    }
    if heading.is_empty() || path.extension().is_none_or(|ext| ext != "md") {
        return None;
    }
    let text = std::fs::read_to_string(&path).ok()?;
    let (_, prose) = markdown::split(&text);
    let found = prose.iter().any(|(_, line)| line.starts_with('#') && markdown::anchor(line) == heading);
    (!found).then_some("no such heading")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_headings_must_exist() {
        let dir = tempfile::tempdir().unwrap();
        let document = dir.path().join("a.md");
        std::fs::write(&document, "# One two\n").unwrap();
        std::fs::write(dir.path().join("b.md"), "## Three\n").unwrap();
        for (target, verdict) in [
            ("b.md", None),
            ("b.md#three", None),
            ("#one-two", None),
            ("b.md#four", Some("no such heading")),
            ("c.md", Some("no such file")),
        ] {
            assert_eq!(broken(&document, target), verdict, "{target}");
        }
    }
}
