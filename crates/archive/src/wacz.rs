//! A crawl as one file that replay tools open in the browser: WACZ 1.1.1.
//!
//! A ZIP with `archive/` (the segments, stored as they are), `indexes/index.cdx.gz` with `indexes/index.idx` (the merged
//! index in gzip blocks and the first key of each block), `pages/pages.jsonl`, `datapackage.json` with the SHA-256 of each
//! file, and `datapackage-digest.json` with the SHA-256 of that. Everything is written in one pass; memory does not
//! grow with the archive.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use bytes::BytesMut;
use lycosa_types::UnixMs;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::compress::{Compression, Effort, Packer};
use crate::date::warc_date;
use crate::error::ArchiveError;
use crate::export::{copy_segment, export_warc};
use crate::merge::MergedIndex;
use crate::segment::{Segment, segments};

/// Lines per gzip block of the index.
const BLOCK_LINES: usize = 1024;
const WACZ_VERSION: &str = "1.1.1";

/// A page to list: an entry point for whoever opens the package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    pub url: String,
    pub title: String,
    pub at: UnixMs,
    /// The text of the page, for searching in the package.
    pub text: Option<String>,
}

/// What the package says about itself.
#[derive(Clone, Debug)]
pub struct PackageInfo {
    pub title: String,
    pub description: String,
    pub created: UnixMs,
    pub software: String,
}

/// What went into a package.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PackageReport {
    pub segments: u64,
    pub index_lines: u64,
    pub pages: u64,
    pub bytes: u64,
}

/// Writes the archive in `dir` as a WACZ file to `out`. Segments in zstd are packed anew as gzip, which is what the format
/// takes; an open segment goes in up to its last whole record.
pub fn export_wacz(
    dir: &Path,
    out: &Path,
    info: &PackageInfo,
    pages: impl IntoIterator<Item = Page>,
) -> Result<PackageReport, ArchiveError> {
    let found = segments(dir)?;
    if found.iter().any(|s| s.name.ends_with(".warc.zst")) {
        return with_gzip_copy(dir, out, info, pages);
    }
    let file = File::create(out).map_err(ArchiveError::io("creating", out))?;
    let mut package = Package {
        zip: ZipWriter::new(BufWriter::with_capacity(1 << 20, file)),
        path: out,
        resources: Vec::new(),
    };
    let mut report = PackageReport::default();
    for segment in &found {
        package.entry(&format!("archive/{}", segment.name), |sink| copy_segment(segment, sink).map(drop))?;
        report.segments += 1;
    }
    report.index_lines = package.indexes(&found)?;
    report.pages = package.pages(pages)?;
    let description = package.description(info);
    let digest =
        json!({ "path": "datapackage.json", "hash": hash_text(Sha256::digest(&description).as_slice()) });
    package.entry("datapackage.json", |sink| sink.put(&description))?;
    package.entry("datapackage-digest.json", |sink| sink.put(format!("{digest:#}").as_bytes()))?;
    report.bytes = package.finish()?;
    Ok(report)
}

/// Unpacks zstd segments into a gzip archive beside the output, packages that and removes it again.
fn with_gzip_copy(
    dir: &Path,
    out: &Path,
    info: &PackageInfo,
    pages: impl IntoIterator<Item = Page>,
) -> Result<PackageReport, ArchiveError> {
    let mut copy_dir = out.as_os_str().to_owned();
    copy_dir.push(".gzip-copy");
    let copy_dir = Path::new(&copy_dir);
    let fill = || -> Result<(), ArchiveError> {
        std::fs::create_dir(copy_dir).map_err(ArchiveError::io("creating", copy_dir))?;
        let copy = Segment::new(copy_dir, "export", 1, Compression::default());
        let path = copy.open_path();
        let mut file = File::create(&path).map_err(ArchiveError::io("creating", &path))?;
        export_warc(dir, Compression::default(), &mut file).map(drop)
    };
    let result = fill().and_then(|()| export_wacz(copy_dir, out, info, pages));
    // The copy is ours alone; that it stays behind is worth no error of its own.
    let _ = std::fs::remove_dir_all(copy_dir);
    result
}

fn hash_text(digest: &[u8]) -> String {
    format!("sha256:{}", data_encoding::HEXLOWER.encode(digest))
}

/// A ZIP being written, and what is in it.
struct Package<'a> {
    zip: ZipWriter<BufWriter<File>>,
    path: &'a Path,
    resources: Vec<serde_json::Value>,
}

/// One file of the package: counts and hashes what goes through.
struct Sink<'z, 'a> {
    zip: &'z mut ZipWriter<BufWriter<File>>,
    path: &'a Path,
    hash: Sha256,
    bytes: u64,
}

impl Write for Sink<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let n = self.zip.write(bytes)?;
        self.hash.update(bytes.get(..n).unwrap_or_default());
        self.bytes += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Sink<'_, '_> {
    fn put(&mut self, bytes: &[u8]) -> Result<(), ArchiveError> {
        let path = self.path;
        self.write_all(bytes).map_err(ArchiveError::io("writing", path))
    }
}

impl Package<'_> {
    fn wrong(&self, error: &zip::result::ZipError) -> ArchiveError {
        ArchiveError::Package { path: self.path.to_owned(), reason: error.to_string() }
    }

    /// Adds one file, stored: what is large here is compressed already, and readers want to seek in it.
    fn entry(
        &mut self,
        name: &str,
        fill: impl FnOnce(&mut Sink<'_, '_>) -> Result<(), ArchiveError>,
    ) -> Result<(), ArchiveError> {
        let options =
            SimpleFileOptions::default().compression_method(CompressionMethod::Stored).large_file(true);
        self.zip.start_file(name, options).map_err(|e| self.wrong(&e))?;
        let mut sink = Sink { zip: &mut self.zip, path: self.path, hash: Sha256::new(), bytes: 0 };
        fill(&mut sink)?;
        let (hash, bytes) = (hash_text(sink.hash.finalize().as_slice()), sink.bytes);
        let short = name.rsplit('/').next().unwrap_or(name).to_ascii_lowercase();
        self.resources.push(json!({ "name": short, "path": name, "hash": hash, "bytes": bytes }));
        Ok(())
    }

    fn indexes(&mut self, segments: &[Segment]) -> Result<u64, ArchiveError> {
        let mut merged = MergedIndex::open(segments)?;
        let header = json!({ "format": "cdxj-gzip-1.0", "filename": "index.cdx.gz" });
        let mut blocks = format!("!meta 0 {header}\n").into_bytes();
        let mut lines = 0;
        self.entry("indexes/index.cdx.gz", |sink| {
            let mut packer = Packer::new(Compression::Gzip(6), None);
            let (mut block, mut first) = (Vec::new(), Vec::new());
            loop {
                let line = merged.next_line()?;
                if let Some(line) = &line {
                    if block.is_empty() {
                        // The key and the timestamp: everything before the JSON.
                        let key_end = memchr::memmem::find(line, b" {").unwrap_or(line.len());
                        first = line.get(..key_end).unwrap_or_default().to_vec();
                    }
                    block.extend_from_slice(line);
                    lines += 1;
                }
                if !block.is_empty() && (line.is_none() || lines % BLOCK_LINES as u64 == 0) {
                    let mut member = BytesMut::new();
                    packer.pack(&block, Effort::Dense, &mut member).map_err(|e| {
                        ArchiveError::io("packing the index of", sink.path)(std::io::Error::other(e))
                    })?;
                    let digest = hash_text(Sha256::digest(&member).as_slice());
                    let place = json!({ "offset": sink.bytes, "length": member.len(), "digest": digest });
                    blocks.extend_from_slice(&first);
                    blocks.extend_from_slice(format!(" {place}\n").as_bytes());
                    sink.put(&member)?;
                    block.clear();
                }
                if line.is_none() {
                    return Ok(());
                }
            }
        })?;
        self.entry("indexes/index.idx", |sink| sink.put(&blocks))?;
        Ok(lines)
    }

    fn pages(&mut self, pages: impl IntoIterator<Item = Page>) -> Result<u64, ArchiveError> {
        let mut count = 0u64;
        self.entry("pages/pages.jsonl", |sink| {
            let header = json!({ "format": "json-pages-1.0", "id": "pages", "title": "All pages" });
            sink.put(format!("{header}\n").as_bytes())?;
            for page in pages {
                count += 1;
                let mut line = json!({
                    "id": format!("{count:08}"),
                    "url": page.url,
                    "ts": warc_date(page.at),
                    "title": page.title,
                });
                if let (Some(text), Some(object)) = (page.text, line.as_object_mut()) {
                    object.insert("text".to_owned(), text.into());
                }
                sink.put(format!("{line}\n").as_bytes())?;
            }
            Ok(())
        })?;
        Ok(count)
    }

    fn description(&self, info: &PackageInfo) -> Vec<u8> {
        // The format's dates have whole seconds.
        let created = warc_date(UnixMs(info.created.0 / 1000 * 1000));
        let package = json!({
            "profile": "data-package",
            "title": info.title,
            "description": info.description,
            "created": created,
            "wacz_version": WACZ_VERSION,
            "software": info.software,
            "resources": self.resources,
        });
        format!("{package:#}").into_bytes()
    }

    fn finish(self) -> Result<u64, ArchiveError> {
        let path = self.path.to_owned();
        let wrong = |reason: String| ArchiveError::Package { path: path.clone(), reason };
        let buffered = self.zip.finish().map_err(|e| wrong(e.to_string()))?;
        let file = buffered.into_inner().map_err(|e| wrong(e.to_string()))?;
        file.sync_all().map_err(ArchiveError::io("syncing", &path))?;
        Ok(file.metadata().map_err(ArchiveError::io("reading", &path))?.len())
    }
}
