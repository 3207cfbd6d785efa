//! The main content of each HTML page as Markdown, behind what is known of it.
//!
//! Every page opens with front matter between lines of `---`; its values are quoted as in JSON, which YAML reads too. In a
//! directory each page has a file of its own, named by its address and, so that no two ever meet, by its number.

use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use lycosa_engine::CrawlReader;
use lycosa_page::{ContentKind, WinnowConfig, sniff};
use lycosa_types::{UrlId, UrlRecord};

use super::Written;
use super::pages::each_page;
use crate::command::compare::reading::Reading;
use crate::figures::instant;
use crate::foreign::{Kind, clean};
use crate::out_file::OutFile;

/// Bytes of a file's name that come from the address: with the number and the ending, every file system takes it.
const MAX_NAME_BYTES: usize = 120;

/// Writes all pages after one another.
pub fn write(reader: &CrawlReader, out: &mut dyn Write) -> Result<Written> {
    let mut reading = Reading::new(WinnowConfig::default());
    each_page(reader, |_, record, payload, content_type| {
        let Some(page) = page(&mut reading, record, payload, content_type) else { return Ok(false) };
        out.write_all(page.as_bytes())?;
        out.write_all(b"\n")?;
        Ok(true)
    })
}

/// Writes each page into a file in `dir`, which is made if it is missing.
pub fn write_files(reader: &CrawlReader, dir: &Path) -> Result<Written> {
    std::fs::create_dir_all(dir)
        .with_context(|| format!("{}: markdown goes into a directory, a file per page", dir.display()))?;
    let mut reading = Reading::new(WinnowConfig::default());
    each_page(reader, |id, record, payload, content_type| {
        let Some(page) = page(&mut reading, record, payload, content_type) else { return Ok(false) };
        let path = dir.join(file_name(&record.url, id));
        let mut file = OutFile::create(&path)?;
        file.write_all(clean(&page, Kind::Markup).as_bytes())?;
        file.finish_quickly()?;
        Ok(true)
    })
}

/// Front matter and content; nothing for what is no HTML.
fn page(
    reading: &mut Reading,
    record: &UrlRecord,
    payload: &[u8],
    content_type: Option<&str>,
) -> Option<String> {
    let kind = sniff(content_type, payload);
    if kind != ContentKind::Html {
        return None;
    }
    let source = reading.scan(kind, payload, content_type);
    let content = reading.content(&source, Some(&record.url));
    let visited_at = record.visited_at.map(instant);
    let mut text = String::from("---\n");
    for (name, value) in [
        ("url", Some(record.url.as_str())),
        ("title", Some(content.title.as_str())),
        ("author", content.author.as_deref()),
        ("published", content.published.as_deref()),
        ("modified", content.modified.as_deref()),
        ("language", content.language.as_deref()),
        ("visited_at", visited_at.as_deref()),
    ] {
        if let Some(value) = value {
            // Writing to a string does not fail.
            let value = serde_json::Value::from(value).to_string();
            let _ = writeln!(text, "{name}: {}", clean(&value, Kind::Text));
        }
    }
    text.push_str("---\n\n");
    text.push_str(reading.markdown(&source).trim_end());
    text.push('\n');
    Some(text)
}

/// `https://example.org/a/b?c` → `example.org_a_b_c-0123….md`: letters and digits of ASCII, `.`, `-` and `_`, never a dot first.
fn file_name(url: &str, id: UrlId) -> String {
    let address = url.split_once("://").map_or(url, |(_, address)| address);
    let mut name = String::with_capacity(MAX_NAME_BYTES);
    for c in address.trim_end_matches('/').chars().take(MAX_NAME_BYTES) {
        let is_safe = c.is_ascii_alphanumeric() || c == '-' || (c == '.' && !name.is_empty());
        match (is_safe, name.ends_with('_')) {
            (true, _) => name.push(c),
            (false, false) => name.push('_'),
            (false, true) => {}
        }
    }
    format!("{name}-{:?}.md", id.key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lycosa_types::{PartitionId, UrlKey};

    #[test]
    fn file_names_are_safe_and_tell_the_page() {
        let id = UrlId { partition: PartitionId(1), key: UrlKey(0xab) };
        let end = "-000000000000000000000000000000ab.md";
        for (url, name) in [
            ("https://example.org/a/b.html?c=1&d", "example.org_a_b.html_c_1_d"),
            ("https://example.org/", "example.org"),
            ("http://h:81/%2e%2e//../x", "h_81_2e_2e_.._x"),
            ("http://[::1]/\u{e9}", "_1_"),
        ] {
            assert_eq!(file_name(url, id), format!("{name}{end}"));
        }
        let long = format!("https://example.org/{}", "x/y".repeat(5000));
        assert!(file_name(&long, id).len() <= MAX_NAME_BYTES + end.len());
    }
}
