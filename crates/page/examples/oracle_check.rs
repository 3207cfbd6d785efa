//! Compares the scanner with html5ever on real pages.
//!
//! `cargo run --release -p lycosa-page --example oracle_check DIR [MAX]` prints every `.html` file below DIR whose
//! tags, links, title or text we see differently, and how many there are.

#[path = "../tests/it/oracle.rs"]
mod oracle;

use lycosa_page::charset;
use std::path::{Path, PathBuf};

fn main() {
    let mut args = std::env::args().skip(1);
    let Some(dir) = args.next() else {
        println!("name a directory of .html files");
        return;
    };
    let max = args.next().and_then(|n| n.parse().ok()).unwrap_or(usize::MAX);
    let mut files = Vec::new();
    collect(Path::new(&dir), &mut files);
    let step = (files.len() / max.max(1)).max(1);
    let (mut compared, mut different) = (0, 0);
    for file in files.iter().step_by(step) {
        let Ok(body) = std::fs::read(file) else { continue };
        let text = charset::decode(&body, Some("text/html")).text;
        let (mut ours, mut theirs) = (oracle::actual(&text), oracle::expected(&text));
        if oracle::has_foreign(&text) {
            ours.text.clear();
            theirs.text.clear();
        }
        compared += 1;
        if ours != theirs {
            different += 1;
            let part = match () {
                () if ours.tags != theirs.tags => "tags",
                () if ours.hrefs != theirs.hrefs => "links",
                () if ours.title != theirs.title => "title",
                () => "text",
            };
            println!("{part}: {}", file.display());
        }
    }
    println!("{compared} compared, {different} different");
}

fn collect(dir: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(dir) else {
        return;
    };
    let mut paths: Vec<_> = entries.flatten().map(|e| e.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() && !path.is_symlink() {
            collect(&path, files);
        } else if path.extension().is_some_and(|e| e == "html") && path.is_file() {
            files.push(path);
        }
    }
}
