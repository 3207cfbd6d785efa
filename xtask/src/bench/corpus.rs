//! What is crawled: *docs*, real manuals under one root; *syn*, generated pages; *sim*, the synthetic web of many hosts.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::dice::Dice;
use crate::packages::Manual;
use crate::workspace::Workspace;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Corpus {
    Docs,
    Syn,
    Sim,
}

/// Number of generated pages.
pub const SYN_PAGES: u64 = 50_000;
const SYN_LINKS: u64 = 30;
/// Of these links, so many lead to pages of its own in a tree, so that every page can be reached.
const SYN_CHILDREN: u64 = 10;
const SYN_MIN_BYTES: u64 = 2_000;
const SYN_MAX_BYTES: u64 = 20_000;
const SYN_PER_DIR: u64 = 500;
const SYN_SEED: u64 = 0x4c79_636f_7361;
/// Changes whenever the generator does, so that pages of an older one are not taken for these.
const SYN_EDITION: &str = "1";

impl Corpus {
    pub fn parse(name: &str) -> Result<Self> {
        Ok(match name {
            "docs" => Self::Docs,
            "syn" => Self::Syn,
            "sim" => Self::Sim,
            _ => bail!("no corpus {name}: there are docs, syn and sim"),
        })
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Docs => "docs",
            Self::Syn => "syn",
            Self::Sim => "sim",
        }
    }

    /// Puts the files in place and says where, and what they are.
    pub fn prepare(self, workspace: &Workspace) -> Result<(PathBuf, String)> {
        let root = work_dir(workspace).join(self.name());
        let about = match self {
            Self::Docs => prepare_docs(workspace, &root)?,
            Self::Syn => prepare_syn(&root)?,
            Self::Sim => String::new(),
        };
        Ok((root, about))
    }
}

/// Reads every file below a directory once, those behind links too, so that no program waits for the disk of the server
/// where the next one finds everything in memory. Returns the bytes read.
pub fn warm(dir: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        // A manual may hold links to files that are in another package.
        let Ok(meta) = fs::metadata(&path) else { continue };
        if meta.is_dir() {
            bytes += warm(&path)?;
        } else if meta.is_file() {
            bytes += std::io::copy(&mut fs::File::open(&path)?, &mut std::io::sink())?;
        }
    }
    Ok(bytes)
}

pub fn work_dir(workspace: &Workspace) -> PathBuf {
    workspace.root.join("bench").join("work")
}

fn prepare_docs(workspace: &Workspace, root: &Path) -> Result<String> {
    if root.exists() {
        fs::remove_dir_all(root)?;
    }
    fs::create_dir_all(root)?;
    let mut index = String::from("<!doctype html><title>Manuals</title>\n<ul>\n");
    let mut packages = Vec::new();
    for manual in Manual::ALL {
        let tree = manual.fetch(workspace)?;
        std::os::unix::fs::symlink(&tree.dir, root.join(tree.name))?;
        writeln!(index, "<li><a href=\"{0}/{1}\">{0}</a>", tree.name, tree.entry)?;
        packages.push(tree.package);
    }
    index.push_str("</ul>\n");
    fs::write(root.join("index.html"), index)?;
    Ok(packages.join(", "))
}

fn prepare_syn(root: &Path) -> Result<String> {
    let about = format!(
        "{SYN_PAGES} generated pages of {SYN_MIN_BYTES} to {SYN_MAX_BYTES} bytes with {SYN_LINKS} links each"
    );
    let mark = root.join(".edition");
    if fs::read_to_string(&mark).is_ok_and(|edition| edition == SYN_EDITION) {
        return Ok(about);
    }
    if root.exists() {
        fs::remove_dir_all(root)?;
    }
    fs::create_dir_all(root)?;
    eprintln!("generating {SYN_PAGES} pages");
    for page in 0..SYN_PAGES {
        if page % SYN_PER_DIR == 0 {
            fs::create_dir(root.join((page / SYN_PER_DIR).to_string()))?;
        }
        fs::write(root.join(&syn_path(page)[1..]), syn_page(page))?;
    }
    fs::write(
        root.join("index.html"),
        "<!doctype html><title>Start</title><a href=\"/0/0.html\">start</a>\n",
    )?;
    fs::write(mark, SYN_EDITION)?;
    Ok(about)
}

fn syn_path(page: u64) -> String {
    format!("/{}/{page}.html", page / SYN_PER_DIR)
}

fn word(dice: &mut Dice, text: &mut String) {
    const SYLLABLES: [&str; 16] =
        ["an", "be", "cor", "de", "el", "fi", "gan", "ho", "in", "ka", "lo", "mer", "no", "ra", "ser", "tu"];
    for _ in 0..=dice.roll(3) {
        text.push_str(SYLLABLES[dice.roll(16) as usize]);
    }
}

fn syn_page(page: u64) -> String {
    let mut dice = Dice(SYN_SEED ^ page.wrapping_mul(0x2545_f491_4f6c_dd1d));
    let size = (SYN_MIN_BYTES + dice.roll(SYN_MAX_BYTES - SYN_MIN_BYTES)) as usize;
    let mut text = String::with_capacity(size + 1024);
    text.push_str("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>");
    word(&mut dice, &mut text);
    text.push_str(&format!(" {page}</title></head>\n<body><h1>Page {page}</h1>\n"));
    let share = size / SYN_LINKS as usize;
    for link in 0..SYN_LINKS {
        let child = page * SYN_CHILDREN + 1 + link;
        let target = if link < SYN_CHILDREN && child < SYN_PAGES { child } else { dice.roll(SYN_PAGES) };
        text.push_str(&format!("<p><a href=\"{}\">", syn_path(target)));
        word(&mut dice, &mut text);
        text.push_str("</a>");
        while text.len() < (link as usize + 1) * share {
            text.push(' ');
            word(&mut dice, &mut text);
        }
        text.push_str("</p>\n");
    }
    text.push_str("</body></html>\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_repeatable_and_have_their_size_and_links() {
        for page in [0, 1, 4_999, SYN_PAGES - 1] {
            let text = syn_page(page);
            assert_eq!(text, syn_page(page));
            assert_eq!(text.matches("<a href=").count() as u64, SYN_LINKS);
            assert!(
                (SYN_MIN_BYTES as usize..=SYN_MAX_BYTES as usize + 512).contains(&text.len()),
                "{}",
                text.len()
            );
        }
        assert_ne!(syn_page(1), syn_page(2));
    }

    #[test]
    fn warming_reads_everything_that_is_there() {
        let (dir, linked) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(linked.path().join("a"), "12345").unwrap();
        fs::create_dir(dir.path().join("below")).unwrap();
        fs::write(dir.path().join("below/b"), "678").unwrap();
        std::os::unix::fs::symlink(linked.path(), dir.path().join("linked")).unwrap();
        std::os::unix::fs::symlink("nowhere", dir.path().join("broken")).unwrap();
        assert_eq!(warm(dir.path()).unwrap(), 8);
    }

    #[test]
    fn every_page_is_some_pages_child() {
        for page in [1, 10, 11, 777, SYN_PAGES - 1] {
            let parent = (page - 1) / SYN_CHILDREN;
            assert!(syn_page(parent).contains(&format!("\"{}\"", syn_path(page))), "{page}");
        }
    }
}
