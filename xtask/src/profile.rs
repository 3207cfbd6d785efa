//! `cargo xtask profile`: where a page's CPU goes, stage by stage, by sampling whole crawls of the benchmark's pages.
//!
//! `perf` says which function each sample fell into; functions belong to stages by their names. Copying, allocating and
//! the kernel's part have no stage of their own in a name, so they are told by the thread they ran in.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::bench::{self, Binaries, Corpus, Peer, describe_machine};
use crate::program;
use crate::setup;
use crate::workspace::Workspace;

#[derive(Debug, Args)]
pub struct ProfileArgs {
    /// Which pages: docs (real manuals), syn (generated)
    #[arg(long, value_delimiter = ',', default_value = "docs,syn")]
    corpus: Vec<String>,
    /// Use this binary instead of building one
    #[arg(long)]
    lycosa: Option<PathBuf>,
    /// Put the table into docs/performance.md
    #[arg(long)]
    update: bool,
}

/// Samples per second of CPU time: no divisor of what the programs do regularly.
const FREQUENCY: &str = "997";
const BEGIN: &str = "<!-- profile: written by `cargo xtask profile --update` -->";
const END: &str = "<!-- end of profile -->";

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Fetch,
    Sockets,
    Parse,
    Links,
    Judge,
    Archive,
    PageMemory,
    Frontier,
    Store,
    StateMemory,
    StateKernel,
    Other,
}

impl Stage {
    fn name(self) -> &'static str {
        match self {
            Self::Fetch => "fetch: connections, HTTP, the workers' runtime",
            Self::Sockets => "fetch: the kernel's part (sockets, wake-ups)",
            Self::Parse => "parse: decode, scan, text, metadata, main content",
            Self::Links => "links: join, canonical form, scope, keys",
            Self::Judge => "judge: signatures, noise, minutiae, prints and their look-up",
            Self::Archive => "archive: digests, compression, records",
            Self::PageMemory => "allocating and copying in the workers",
            Self::Frontier => "bookkeeping: seen-test, queues, leases, importance",
            Self::Store => "state: encoding, write buffers, merging tables",
            Self::StateMemory => "allocating and copying beside the workers",
            Self::StateKernel => "the kernel's part beside the workers (files, syncs, wake-ups)",
            Self::Other => "everything else",
        }
    }
}

/// Beginnings of names, the first that fits counts.
const NAMES: [(&str, Stage); 47] = [
    ("lycosa_page::winnow", Stage::Judge),
    ("lycosa_page::print_index", Stage::Judge),
    ("lycosa_page::keyword", Stage::Judge),
    ("lycosa_engine::near", Stage::Judge),
    ("lycosa_page::signature", Stage::Judge),
    ("lycosa_page::structure", Stage::Judge),
    ("lycosa_page::text_code", Stage::Judge),
    ("lycosa_page::tree", Stage::Judge),
    ("lycosa_page::level_order", Stage::Judge),
    ("lycosa_page::noise", Stage::Judge),
    ("lycosa_page::line_store", Stage::Judge),
    ("lycosa_page::link_prints", Stage::Judge),
    ("lycosa_page::banners", Stage::Judge),
    ("lycosa_page::host_template", Stage::Judge),
    ("lycosa_cpu", Stage::Judge),
    ("xxhash", Stage::Judge),
    ("twox", Stage::Judge),
    ("lycosa_page", Stage::Parse),
    ("encoding_rs", Stage::Parse),
    ("memchr", Stage::Parse),
    ("lycosa_types", Stage::Links),
    ("lycosa_engine::outlinks", Stage::Links),
    ("lycosa_frontier::scope", Stage::Links),
    ("url::", Stage::Links),
    ("idna", Stage::Links),
    ("percent_encoding", Stage::Links),
    ("lycosa_archive", Stage::Archive),
    ("libdeflate", Stage::Archive),
    ("deflate", Stage::Archive),
    ("crc32", Stage::Archive),
    ("sha1", Stage::Archive),
    ("zstd", Stage::Archive),
    ("ZSTD", Stage::Archive),
    ("fjall", Stage::Store),
    ("lsm_tree", Stage::Store),
    ("crossbeam_skiplist", Stage::Store),
    ("lz4", Stage::Store),
    ("lycosa_frontier::store", Stage::Store),
    ("lycosa_engine::committer", Stage::Store),
    ("lycosa_graph::edge_log", Stage::Store),
    ("lycosa_frontier", Stage::Frontier),
    ("lycosa_graph", Stage::Frontier),
    ("lycosa_engine::bookkeeper", Stage::Frontier),
    ("lycosa_engine::prospects", Stage::Frontier),
    ("lycosa_fetch", Stage::Fetch),
    ("tokio", Stage::Fetch),
    ("mio", Stage::Fetch),
];
/// Names of the allocator's functions, of the C library's for copying, and of what calls them.
const MEMORY: [&str; 5] = ["_rjem_", "tcache_", "__mem", "memmove", "alloc::"];

/// The stage of one sample.
fn stage(thread: &str, symbol: &str, object: &str) -> Stage {
    let worker = thread.starts_with("worker");
    if object.contains("kernel") || object.contains("vdso") {
        return if worker { Stage::Sockets } else { Stage::StateKernel };
    }
    // `<T as Trait>::method` belongs to T.
    let name = symbol.trim_start_matches(['<', '&']).trim_start_matches("mut ");
    if let Some((_, stage)) = NAMES.iter().find(|(begin, _)| name.starts_with(begin)) {
        return *stage;
    }
    if MEMORY.iter().any(|begin| name.starts_with(begin)) {
        return if worker { Stage::PageMemory } else { Stage::StateMemory };
    }
    match thread {
        "committer" => Stage::Store,
        _ if thread.starts_with("fjall") => Stage::Store,
        _ => Stage::Other,
    }
}

/// Microseconds a page, by stage.
type Costs = BTreeMap<Stage, f64>;

pub fn run(workspace: &Workspace, args: &ProfileArgs) -> Result<()> {
    setup::packages(&[("perf", &["linux-perf"])])?;
    let binaries = Binaries::find(workspace, args.lycosa.as_deref(), None, false)?;
    let machine = describe_machine(workspace);
    let mut columns: Vec<(String, Costs)> = Vec::new();
    for name in &args.corpus {
        let corpus = Corpus::parse(name)?;
        let (_nginx, seed) = bench::serve(workspace, corpus)?;
        for peer in [Peer::Lycosa, Peer::LycosaNoArchive] {
            let title = if peer == Peer::Lycosa { "archived" } else { "not archived" };
            let costs = profile(workspace, &binaries, peer, &seed)?;
            eprintln!("{name}, {title}: {:.1} µs a page", costs.values().sum::<f64>());
            columns.push((format!("{name}, {title}"), costs));
        }
    }
    let text = format!(
        "CPU time a page takes, in µs, all threads together ({}, commit {}, load before {:.1}; sampling adds a few percent).\n\n{}",
        machine.date,
        machine.commit,
        machine.load_before,
        table(&columns)
    );
    println!("{text}");
    if args.update {
        let file = workspace.root.join("docs/performance.md");
        let document = std::fs::read_to_string(&file)?;
        std::fs::write(&file, replaced(&document, &text)?)?;
    }
    Ok(())
}

fn profile(workspace: &Workspace, binaries: &Binaries, peer: Peer, seed: &str) -> Result<Costs> {
    let work = workspace.root.join("bench/work/profile");
    if work.exists() {
        std::fs::remove_dir_all(&work)?;
    }
    std::fs::create_dir_all(work.join("tmp"))?;
    let samples = work.join("samples");
    let crawl = peer.command(workspace, binaries, seed, &work);
    let mut record = Command::new("perf");
    record.args(["record", "-q", "-F", FREQUENCY, "-o"]).arg(&samples).arg("--");
    record.arg(crawl.get_program()).args(crawl.get_args()).current_dir(&work);
    let report = program::capture(&mut record)?;
    let report: serde_json::Value = serde_json::from_str(&report).context("reading the report")?;
    let number =
        |name: &str| report["run"][name].as_f64().with_context(|| format!("no {name} in the report"));
    let (pages, cpu_s) = (number("pages")?, number("cpu_s")?);
    let counts = counts(&samples)?;
    let all: u64 = counts.values().sum();
    if all == 0 || pages == 0.0 {
        bail!("perf took no samples; is it allowed to (`sysctl kernel.perf_event_paranoid`)?");
    }
    std::fs::remove_dir_all(&work)?;
    let share = |count: u64| count as f64 / all as f64 * cpu_s / pages * 1e6;
    Ok(counts.into_iter().map(|(stage, count)| (stage, share(count))).collect())
}

fn counts(samples: &Path) -> Result<BTreeMap<Stage, u64>> {
    let mut script = Command::new("perf");
    script.args(["script", "-F", "comm,ip,sym,dso", "-i"]).arg(samples);
    let mut counts = BTreeMap::new();
    for line in program::capture(&mut script)?.lines() {
        if let Some((thread, symbol, object)) = sample(line) {
            *counts.entry(stage(thread, symbol, object)).or_default() += 1;
        }
    }
    Ok(counts)
}

/// Thread, function and object of a line `worker-0  55d0c0ffee name of function (object)`.
fn sample(line: &str) -> Option<(&str, &str, &str)> {
    let (line, object) = line.trim_end().strip_suffix(')')?.rsplit_once(" (")?;
    let (thread, rest) = line.trim_start().split_once(' ')?;
    let (_address, symbol) = rest.trim_start().split_once(' ')?;
    Some((thread, symbol, object))
}

fn table(columns: &[(String, Costs)]) -> String {
    let mut text = String::from("| stage |");
    for (title, _) in columns {
        let _ = write!(text, " {title} |");
    }
    text.push_str("\n| --- |");
    text.push_str(&" --: |".repeat(columns.len()));
    let stages: std::collections::BTreeSet<Stage> =
        columns.iter().flat_map(|(_, costs)| costs.keys().copied()).collect();
    for stage in stages {
        let _ = write!(text, "\n| {} |", stage.name());
        for (_, costs) in columns {
            let _ = write!(text, " {:.1} |", costs.get(&stage).copied().unwrap_or(0.0));
        }
    }
    text.push_str("\n| **all** |");
    for (_, costs) in columns {
        let _ = write!(text, " **{:.1}** |", costs.values().sum::<f64>());
    }
    text.push('\n');
    text
}

/// The document with `text` between the marks.
fn replaced(document: &str, text: &str) -> Result<String> {
    let (before, rest) = document.split_once(BEGIN).context("docs/performance.md has no place for it")?;
    let (_, after) = rest.split_once(END).context("docs/performance.md has no end of the place for it")?;
    Ok(format!("{before}{BEGIN}\n\n{text}\n{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_read_and_told_apart() {
        let line = "worker-0     55d0c0ffee12 <lycosa_page::scanner::Pass as Do>::start (/usr/bin/lycosa)";
        let (thread, symbol, object) = sample(line).unwrap();
        assert_eq!((thread, object), ("worker-0", "/usr/bin/lycosa"));
        assert_eq!(stage(thread, symbol, object), Stage::Parse);
        assert_eq!(stage("worker-1", "lycosa_page::winnow::Winnower::minutiae", "lycosa"), Stage::Judge);
        assert_eq!(stage("worker-1", "_rjem_malloc", "lycosa"), Stage::PageMemory);
        assert_eq!(stage("committer", "__memmove_avx_unaligned", "libc.so.6"), Stage::StateMemory);
        assert_eq!(stage("worker-1", "tcp_sendmsg", "[kernel.kallsyms]"), Stage::Sockets);
        assert_eq!(stage("fjall:worker", "core::cmp", "lycosa"), Stage::Store);
        assert_eq!(sample("nothing of the kind"), None);
    }

    #[test]
    fn the_table_goes_between_the_marks() {
        let document = format!("a\n{BEGIN}\nold\n{END}\nb");
        let new = replaced(&document, "new").unwrap();
        assert!(
            new.contains("new") && !new.contains("old") && new.starts_with("a\n") && new.ends_with("\nb")
        );
        assert!(replaced("no marks", "new").is_err());
    }
}
