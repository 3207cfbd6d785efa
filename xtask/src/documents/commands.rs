//! Commands that documents show: lines `$ lycosa …`, `$ cargo run --release -- …` and `$ cargo xtask …` in blocks marked
//! `sh`. Subcommand and options must exist; blocks marked `sh test` are run line by line in a directory of their own, each
//! line ending with exit code 0 or with the code that a comment `# exit N` at its end names.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::program;
use crate::workspace::Workspace;

use super::Findings;
use super::markdown::{self, Block};
use super::usage::{Usage, words};

/// Longest time one shown command may take.
const LIMIT_SECONDS: &str = "300";

/// This program's file. The tests build it anew while it runs; the system then calls the old file deleted, but the new
/// one stands at the same place.
fn own_binary() -> Result<PathBuf> {
    let path = std::env::current_exe()?;
    Ok(match path.to_str().and_then(|text| text.strip_suffix(" (deleted)")) {
        Some(rebuilt) => PathBuf::from(rebuilt),
        None => path,
    })
}

pub fn check(workspace: &Workspace, documents: &[PathBuf], lycosa: &Path) -> Result<Findings> {
    let mut findings = Findings::default();
    let xtask = own_binary()?;
    let mut manual = Manual { lycosa, xtask: &xtask, known: BTreeMap::new() };
    for document in documents {
        let text = std::fs::read_to_string(document).with_context(|| document.display().to_string())?;
        let name = workspace.relative(document).display().to_string();
        for block in markdown::split(&text).0 {
            let marks: Vec<&str> = block.info.split_whitespace().collect();
            if marks.first() != Some(&"sh") {
                continue;
            }
            for line in shown(&block) {
                if let Some(why) = manual.judge(&line)? {
                    findings.wrongs.push(format!("{name}:{}: {line}: {why}", block.line));
                }
                findings.looked_at += 1;
            }
            if marks.contains(&"test") {
                findings
                    .wrongs
                    .extend(play(&block, lycosa)?.map(|why| format!("{name}:{}: {why}", block.line)));
            }
        }
    }
    Ok(findings)
}

/// The lines after `$ `, with continued lines joined.
fn shown(block: &Block<'_>) -> Vec<String> {
    let mut commands: Vec<String> = Vec::new();
    let mut goes_on = false;
    for line in &block.lines {
        let part = match (goes_on, line.strip_prefix("$ ")) {
            (true, _) => line.trim(),
            (false, Some(part)) => part,
            (false, None) => continue,
        };
        let (text, more) = match part.strip_suffix('\\') {
            Some(text) => (text, true),
            None => (part, false),
        };
        match commands.last_mut() {
            Some(last) if goes_on => last.push_str(text),
            _ => commands.push(text.to_owned()),
        }
        goes_on = more;
    }
    commands
}

/// The help texts, asked for once each.
struct Manual<'a> {
    lycosa: &'a Path,
    xtask: &'a Path,
    known: BTreeMap<(PathBuf, Option<String>), Usage>,
}

impl Manual<'_> {
    fn judge(&mut self, line: &str) -> Result<Option<String>> {
        let words = words(line);
        let plain: Vec<&str> = words.iter().map(String::as_str).collect();
        let (program, rest) = match plain.as_slice() {
            ["lycosa", rest @ ..]
            | ["cargo", "run", "--release", "--", rest @ ..]
            | ["cargo", "run", "--", rest @ ..] => (self.lycosa, rest),
            ["cargo", "xtask", rest @ ..] => (self.xtask, rest),
            _ => return Ok(None),
        };
        let usage = self.usage(program, None)?;
        let Some(subcommand) = rest.iter().find(|word| !word.starts_with('-')) else {
            return Ok(unknown(usage, rest));
        };
        if !usage.subcommands.contains(*subcommand) {
            return Ok(Some(format!("no subcommand {subcommand}")));
        }
        let usage = self.usage(program, Some(subcommand))?;
        Ok(unknown(usage, rest))
    }

    fn usage(&mut self, program: &Path, subcommand: Option<&str>) -> Result<&Usage> {
        let key = (program.to_path_buf(), subcommand.map(str::to_owned));
        if !self.known.contains_key(&key) {
            let help = program::capture(Command::new(program).args(subcommand).arg("--help"))?;
            self.known.insert(key.clone(), Usage::read(&help));
        }
        self.known.get(&key).context("a help text that was just read")
    }
}

fn unknown(usage: &Usage, words: &[&str]) -> Option<String> {
    let options =
        words.iter().take_while(|word| **word != "--").filter(|w| w.len() > 1 && w.starts_with('-'));
    let negative = |word: &str| word[1..].starts_with(|c: char| c.is_ascii_digit());
    let missing = options.into_iter().find(|word| !negative(word) && !usage.has_option(word))?;
    Some(format!("no option {missing}"))
}

/// Runs a block; says what went wrong with the first line that failed.
fn play(block: &Block<'_>, lycosa: &Path) -> Result<Option<String>> {
    let dir = tempfile::tempdir()?;
    let bin = lycosa.parent().context("the binary lies in a directory")?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(bin.to_path_buf()).chain(std::env::split_paths(&path)))?;
    for line in shown(block) {
        let output = Command::new("timeout")
            .args([LIMIT_SECONDS, "sh", "-c", &line])
            .current_dir(dir.path())
            .env("PATH", &path)
            .stdin(Stdio::null())
            .output()?;
        let expected = expected_exit(&line);
        if output.status.code() != Some(expected) {
            let errors = String::from_utf8_lossy(&output.stderr);
            return Ok(Some(format!("{line}: {}, expected {expected}: {}", output.status, errors.trim())));
        }
    }
    Ok(None)
}

fn expected_exit(line: &str) -> i32 {
    line.rsplit_once("# exit ").and_then(|(_, code)| code.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn continued_lines_are_one_command_and_output_is_none() {
        let text = "```sh\n$ lycosa crawl \\\n    --json\nsome output\n$ ls\n```\n";
        let (blocks, _) = markdown::split(text);
        assert_eq!(shown(&blocks[0]), ["lycosa crawl --json", "ls"]);
    }

    #[test]
    fn marked_blocks_run_and_their_exit_code_counts() {
        let run = |text: &str| play(&markdown::split(text).0[0], Path::new("/bin/true")).unwrap();
        assert_eq!(run("```sh test\n$ echo a > f\n$ grep -q a f\n$ exit 3  # exit 3\n```"), None);
        assert!(run("```sh test\n$ true\n$ false\n```").unwrap().contains("false"));
    }

    #[test]
    fn an_option_that_the_help_lacks_is_named() {
        let usage = Usage::read("Options:\n  -d, --data <DIR>  Where\n");
        assert_eq!(unknown(&usage, &["crawl", "--data", "x", "-d", "-1", "--", "--any"]), None);
        assert_eq!(unknown(&usage, &["crawl", "--dat"]).as_deref(), Some("no option --dat"));
    }
}
