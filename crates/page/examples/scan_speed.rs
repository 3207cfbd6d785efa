//! How fast pages are decoded and scanned, on one core.
//!
//! `cargo run --release -p lycosa-page --example scan_speed [DIR]`: the `.html` files below DIR (up to 256 MiB of
//! them), or generated pages when no directory is given.

use lycosa_page::{Extract, Limits, Scanner, charset};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

const MAX_CORPUS_BYTES: usize = 256 << 20;
const ROUNDS: usize = 5;

fn main() {
    let mut pages = Vec::new();
    match std::env::args().nth(1) {
        Some(dir) => collect(Path::new(&dir), &mut pages, &mut 0),
        None => pages = (0..2_000).map(generated).collect(),
    }
    if pages.is_empty() {
        println!("no .html files found: name a directory that holds some");
        return;
    }
    let bytes: usize = pages.iter().map(Vec::len).sum();
    println!(
        "{} pages, {:.1} MB, {:.1} KB each",
        pages.len(),
        mega(bytes),
        mega(bytes) * 1e3 / pages.len() as f64
    );
    let mut scanner = Scanner::new(Limits::default());
    let mut page = Extract::new();
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let (mut links, mut text, mut tags) = (0, 0, 0);
        let start = cpu_seconds();
        for body in &pages {
            let decoded = charset::decode(body, Some("text/html"));
            scanner.scan(&decoded.text, &mut page);
            links += page.links.len();
            text += page.text.len();
            tags += page.events.len();
        }
        let seconds = cpu_seconds() - start;
        best = best.min(seconds);
        println!(
            "{:7.1} MB/s {:6.1} µs/page   per page: {} links, {} bytes of text, {} tags",
            mega(bytes) / seconds,
            seconds * 1e6 / pages.len() as f64,
            links / pages.len(),
            text / pages.len(),
            tags / pages.len()
        );
    }
    println!("best {:.1} MB/s", mega(bytes) / best);
}

/// Seconds this thread has run, so that other programs on the machine do not count; wall time where the kernel does
/// not tell.
fn cpu_seconds() -> f64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanos = told.as_deref().and_then(|s| s.split(' ').next()).and_then(|n| n.parse::<f64>().ok());
    nanos.map_or_else(
        || SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64(),
        |n| n / 1e9,
    )
}

fn mega(bytes: usize) -> f64 {
    bytes as f64 / 1e6
}

fn collect(dir: &Path, pages: &mut Vec<Vec<u8>>, total: &mut usize) {
    let Ok(entries) = std::fs::read_dir(dir) else {
        return;
    };
    let mut paths: Vec<_> = entries.flatten().map(|e| e.path()).collect();
    paths.sort();
    for path in paths {
        if *total > MAX_CORPUS_BYTES {
            return;
        }
        if path.is_dir() && !path.is_symlink() {
            collect(&path, pages, total);
        } else if path.extension().is_some_and(|e| e == "html")
            && path.is_file()
            && let Ok(body) = std::fs::read(&path)
        {
            *total += body.len();
            pages.push(body);
        }
    }
}

/// A page of some 12 KB with navigation, prose, a table and 30 links.
fn generated(number: usize) -> Vec<u8> {
    let mut html = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Page {number}</title>\n<style>body {{ margin: 0 }}</style></head>\n<body>\n<nav><ul>\n"
    );
    for i in 0..10 {
        html += &format!("  <li><a href=\"/section/{i}\" class=\"nav-link\">Section {i}</a></li>\n");
    }
    html += "</ul></nav>\n<main>\n";
    for i in 0..20 {
        html += &format!(
            "<h2 id=\"h{i}\">Heading {i}</h2>\n<p>The quick brown fox {i} jumps over the lazy dog &amp; runs; <b>bold \
             <a href=\"/page/{}?from={number}&amp;x={i}\">a link to somewhere</a></b> and so on, as prose does, for a \
             few more words until the paragraph has a usual length and ends with a full stop. \
             Numbers such as {number} make pages differ.</p>\n",
            (number * 31 + i) % 5000
        );
    }
    html += "<table>\n";
    for i in 0..20 {
        html += &format!("<tr><td class=\"num\">{i}</td><td>cell {number}</td></tr>\n");
    }
    html += "</table>\n</main>\n<script>var x = 1 < 2; // nothing\n</script>\n</body></html>\n";
    html.into_bytes()
}
