//! Tidiness: no file grows past a screenful of screens, no module is a grab-bag, no note is left for later, and every
//! module says what it is for.

use std::path::Path;

use anyhow::{Result, bail};

use crate::workspace::Workspace;

/// Longest source file.
const MAX_LINES: usize = 500;

/// Names that say nothing about what is inside.
const VAGUE_NAMES: [&str; 8] = ["util", "utils", "common", "helper", "helpers", "misc", "stuff", "v2"];

// Put together here so that this file passes its own check.
const NOTES: [&str; 3] = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];

pub fn run(workspace: &Workspace) -> Result<()> {
    let mut wrongs = Vec::new();
    let mut count = 0;
    for dir in ["crates", "xtask"] {
        for file in workspace.files(dir, "rs")? {
            let text = std::fs::read_to_string(&file)?;
            count += 1;
            wrongs.extend(judge(workspace.relative(&file), &text));
        }
    }
    for wrong in &wrongs {
        eprintln!("{wrong}");
    }
    if !wrongs.is_empty() {
        bail!("{} of {count} files need tidying, see above", wrongs.len());
    }
    eprintln!("{count} files");
    Ok(())
}

fn judge(path: &Path, text: &str) -> Vec<String> {
    let mut wrongs = Vec::new();
    let mut wrong = |what: String| wrongs.push(format!("{}: {what}", path.display()));
    let in_source = path.components().any(|part| part.as_os_str() == "src");
    let lines = text.lines().count();
    if in_source && lines > MAX_LINES {
        wrong(format!("{lines} lines, at most {MAX_LINES}: split it by noun"));
    }
    let vague = path
        .components()
        .filter_map(|part| part.as_os_str().to_str())
        .map(|part| part.trim_end_matches(".rs"))
        .find(|part| VAGUE_NAMES.contains(part));
    if let Some(name) = vague {
        wrong(format!("{name} names nothing: say what is inside"));
    }
    if in_source && !text.starts_with("//!") {
        wrong("opens without saying what it is for (`//!`)".to_owned());
    }
    for (number, line) in text.lines().enumerate() {
        let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
        if let Some(note) = words.find(|word| NOTES.contains(word)) {
            wrong(format!("line {}: {note} left over", number + 1));
        }
    }
    wrongs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrongs(path: &str, text: &str) -> usize {
        judge(Path::new(path), text).len()
    }

    #[test]
    fn each_rule_finds_its_fault_and_nothing_else() {
        let long = format!("//! Doc.\n{}", "fn f() {}\n".repeat(MAX_LINES));
        let note = format!("//! Doc.\n// {}: later\n", NOTES[0]);
        assert_eq!(wrongs("crates/a/src/queue.rs", "//! Doc.\nfn f() {}\n"), 0);
        assert_eq!(wrongs("crates/a/src/queue.rs", &long), 1);
        assert_eq!(wrongs("crates/a/tests/it/long.rs", &long), 0);
        assert_eq!(wrongs("crates/a/src/utils.rs", "//! Doc.\n"), 1);
        assert_eq!(wrongs("crates/a/src/helpers/mod.rs", "//! Doc.\n"), 1);
        assert_eq!(wrongs("crates/a/src/queue.rs", &note), 1);
        assert_eq!(wrongs("crates/a/src/queue.rs", "fn f() {}\n"), 1);
    }
}
