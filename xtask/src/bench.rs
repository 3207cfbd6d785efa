//! `cargo xtask bench`: crawlers side by side on the same pages, the same server and the same machine, in one run.
//!
//! Programs take turns, round after round, since a shared machine's speed drifts, and all meet a server whose files are in
//! memory: each is read once before the first turn. Pages are counted the same way for all:
//! distinct URLs that the server answered with an HTML page. Results go to a directory of their own under bench/results.

mod corpus;
mod machine;
mod peers;
mod plot;
mod report;
mod results;
mod round;
mod sim;
mod wrk;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;

use crate::nginx::Nginx;
use crate::setup;
use crate::workspace::Workspace;

pub use self::corpus::Corpus;
use self::corpus::{warm, work_dir};
pub use self::machine::{Machine, describe as describe_machine};
pub use self::peers::{Binaries, Peer};
use self::results::{CorpusResult, Results};
use self::round::Arena;

#[derive(Debug, Args)]
pub struct BenchArgs {
    /// Which programs, in the order of their turns
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "lycosa,lycosa-no-archive,wget2,spider,wget-warc,httrack,scrapy,crawlee"
    )]
    programs: Vec<String>,
    /// Which pages: docs (real manuals), syn (generated), syn-long (five times as many), sim (many hosts, lycosa only)
    #[arg(long, value_delimiter = ',', default_value = "docs,syn")]
    corpus: Vec<String>,
    /// How often each program has its turn
    #[arg(long, default_value_t = 2)]
    rounds: usize,
    /// Cut a program after this time; its pages per second are those of the time it had
    #[arg(long, default_value_t = 60)]
    limit_seconds: u64,
    /// Leave out the measurement of what the server can give at most
    #[arg(long)]
    no_wrk: bool,
    /// Use this binary instead of building one
    #[arg(long)]
    lycosa: Option<PathBuf>,
    /// Use this binary of the synthetic web instead of building one
    #[arg(long)]
    simweb: Option<PathBuf>,
    /// Where programs store what they store, when not below bench/work: on another disk, or in memory
    #[arg(long)]
    work: Option<PathBuf>,
    /// Something that a reader of the results should know; may be repeated
    #[arg(long)]
    note: Vec<String>,
}

pub fn run(workspace: &Workspace, args: &BenchArgs) -> Result<()> {
    let corpora = args.corpus.iter().map(|name| Corpus::parse(name)).collect::<Result<Vec<_>>>()?;
    let programs = args.programs.iter().map(|name| Peer::parse(name)).collect::<Result<Vec<_>>>()?;
    let (lycosa, simweb) = (args.lycosa.as_deref(), args.simweb.as_deref());
    let binaries = Binaries::find(workspace, lycosa, simweb, corpora.contains(&Corpus::Sim))?;
    setup::packages(&[("nginx", &["nginx-light", "nginx"])])?;
    for peer in &programs {
        peer.install(workspace).with_context(|| format!("installing {}", peer.name()))?;
    }
    if !args.no_wrk {
        setup::packages(&[("wrk", &["wrk"])])?;
    }

    let mut notes = args.note.clone();
    notes.extend(args.work.as_ref().map(|dir| format!("programs stored their files in {}", dir.display())));
    if args.lycosa.is_some() {
        notes.push("lycosa was a binary built beforehand; the commit is that of the benchmark".to_owned());
    }
    let mut results = Results::new(machine::describe(workspace), notes);
    for peer in &programs {
        results.versions.insert(peer.name().to_owned(), peer.version(workspace, &binaries));
    }
    let arena = Arena {
        workspace,
        binaries: &binaries,
        work: match &args.work {
            Some(dir) => std::path::absolute(dir)?.join("lycosa-bench-run"),
            None => work_dir(workspace).join("run"),
        },
        limit: Duration::from_secs(args.limit_seconds),
    };
    for corpus in corpora {
        let result = match corpus {
            Corpus::Sim => sim::run(&arena, &programs, args.rounds)?,
            _ => site(&arena, corpus, &programs, args)?,
        };
        println!("{}", report::table(&result));
        results.corpora.push(result);
        // Written again after each corpus: a run that is broken off keeps what it has.
        let dir = report::write(workspace, &results)?;
        println!("written to {}", workspace.relative(&dir).display());
    }
    Ok(())
}

/// The manuals (or generated pages) behind a server of their own, and the URL to start from.
pub fn serve(workspace: &Workspace, corpus: Corpus) -> Result<(Nginx, String)> {
    setup::packages(&[("nginx", &["nginx-light", "nginx"])])?;
    let (root, _) = corpus.prepare(workspace)?;
    warm(&root)?;
    let server = Nginx::start(&root, &work_dir(workspace).join("nginx"))?;
    let seed = server.url("/index.html");
    Ok((server, seed))
}

/// All programs, turn by turn, on one corpus behind nginx.
fn site(arena: &Arena<'_>, corpus: Corpus, programs: &[Peer], args: &BenchArgs) -> Result<CorpusResult> {
    let (root, about) = corpus.prepare(arena.workspace)?;
    warm(&root)?;
    let server = Nginx::start(&root, &work_dir(arena.workspace).join("nginx"))?;
    let mut result = CorpusResult::new(corpus.name(), about);
    let mut reachable: BTreeSet<String> = BTreeSet::new();
    for number in 1..=args.rounds {
        for peer in programs {
            let (turn, pages) = round::turn(arena, &server, *peer, number)?;
            eprintln!("{} round {number}: {turn}", corpus.name());
            reachable.extend(pages);
            result.turns.push(turn);
        }
    }
    result.settle(reachable.len() as u64);
    if !args.no_wrk {
        result.limit = Some(wrk::run(arena, &server, &reachable)?);
    }
    Ok(result)
}
