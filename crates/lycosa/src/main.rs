//! `lycosa`: commands, configuration, progress, exit codes. No algorithm lives here.
//!
//! | module | noun |
//! | --- | --- |
//! | [`command`] | one module per command |
//! | [`display`], [`watch`], [`signals`] | a running crawl: seen, followed from outside, stopped |
//! | [`document`], [`known_url`] | a page, a URL as data |
//! | [`index_place`] | the full-text index, opened |
//! | [`link_graph`], [`plot`] | links and ranks of a crawl; line plots |
//! | [`download`], [`lines`] | what the tools read: a page, lines of URLs |
//! | [`nats`] | the way to a cluster |
//! | [`invocation`] | how the program is called again |
//! | [`foreign`], [`log`] | what pages and servers wrote, made harmless; the log |
//! | [`summary`], [`table`], [`figures`] | what was done, for people |
//! | [`advice`] | what to do about what failed |
//! | [`output`], [`out_file`], [`usage`], [`exit`] | standard output, files, wrong usage, exit codes |

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod advice;
mod command;
mod display;
mod document;
mod download;
mod exit;
mod figures;
mod foreign;
mod index_place;
mod invocation;
mod known_url;
mod lines;
mod link_graph;
mod log;
mod nats;
mod open_files;
mod out_file;
mod output;
mod plot;
mod signals;
mod summary;
mod table;
mod usage;
mod watch;

use clap::{Parser, Subcommand};

use crate::exit::Exit;
use crate::output::tell;

/// What one thread makes, another frees: pages are judged by workers and written by the committer.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// A parallel, distributed web crawler.
#[derive(Debug, Parser)]
#[command(name = "lycosa", version, about, max_term_width = 100, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Log more: -v for what happens, -vv for everything (RUST_LOG works too)
    #[arg(short, long, global = true, action = clap::ArgAction::Count, display_order = 900)]
    verbose: u8,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Crawl from seed URLs, or go on with a crawl that was stopped
    #[command(visible_alias = "resume")]
    Crawl(Box<command::crawl::CrawlArgs>),
    /// Visit every known page again and store what changed
    Refresh(Box<command::refresh::RefreshArgs>),
    /// Join a cluster's crawl with this machine
    Node(Box<command::node::NodeArgs>),
    /// Keep the table of a cluster's crawl, fetching nothing
    Coordinator(command::coordinator::CoordinatorArgs),
    /// Take in the archive segments of nodes, over HTTPS
    Depot(command::depot::DepotArgs),
    /// Add seeds to a crawl, also while it runs
    Submit(command::submit::SubmitArgs),
    /// Tell where a crawl is, while it runs or afterwards
    Status(command::status::StatusArgs),
    /// Tell what happened to a URL, and why
    Why(command::why::WhyArgs),
    /// List the visits of a page and what each of them showed
    History(command::history::HistoryArgs),
    /// Tell what changed between two visits of a page
    Diff(command::diff::DiffArgs),
    /// Show the figures of the last run
    Report(command::report::ReportArgs),
    /// Make the full-text index of a crawl, or bring it up to date
    Index(command::index::IndexArgs),
    /// Search the pages of a crawl
    Search(command::search::SearchArgs),
    /// Measure how well the index answers queries whose answers are known
    Eval(command::eval::EvalArgs),
    /// Show the links of a page and the pages that link to it
    Links(command::links::LinksArgs),
    /// Rank pages by the links between them, or compare how soon crawls found the best
    Rank(command::rank::RankArgs),
    /// Choose seeds for a crawl from an earlier one
    Seeds(command::seeds_from::SeedsArgs),
    /// Write a crawl for other programs: WACZ, WARC, JSON lines
    Export(command::export::ExportArgs),
    /// Write a crawl as files that a browser opens, with links between them
    Mirror(command::mirror::MirrorArgs),
    /// Print a page as it was archived
    Cat(command::cat::CatArgs),
    /// Tell what a robots.txt allows, and which line decides
    Robots(command::robots::RobotsArgs),
    /// Show the canonical form of URLs, their partition, and whether they are in scope
    Canon(command::canon::CanonArgs),
    /// Show everything that is extracted from a page
    Inspect(command::inspect::InspectArgs),
    /// Tell what changed between two visits of a page, and how alike they are
    Compare(command::compare::CompareArgs),
    /// Serve a synthetic web on this machine, crawl it and show what was found; needs no internet
    Demo(command::demo::DemoArgs),
}

fn main() -> std::process::ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return explain(&error),
    };
    log::start(cli.verbose);
    open_files::raise();
    signals::outlive_file_limit();
    let result = match cli.command {
        Command::Crawl(args) => command::crawl::run(*args),
        Command::Refresh(args) => command::refresh::run(*args),
        Command::Node(args) => command::node::run(*args),
        Command::Coordinator(args) => command::coordinator::run(args),
        Command::Depot(args) => command::depot::run(args),
        Command::Submit(args) => command::submit::run(args),
        Command::Status(args) => command::status::run(args),
        Command::Why(args) => command::why::run(args),
        Command::History(args) => command::history::run(args),
        Command::Diff(args) => command::diff::run(args),
        Command::Report(args) => command::report::run(args),
        Command::Index(args) => command::index::run(args),
        Command::Search(args) => command::search::run(args),
        Command::Eval(args) => command::eval::run(args),
        Command::Links(args) => command::links::run(args),
        Command::Rank(args) => command::rank::run(args),
        Command::Seeds(args) => command::seeds_from::run(args),
        Command::Export(args) => command::export::run(args),
        Command::Mirror(args) => command::mirror::run(args),
        Command::Cat(args) => command::cat::run(args),
        Command::Robots(args) => command::robots::run(args),
        Command::Canon(args) => command::canon::run(args),
        Command::Inspect(args) => command::inspect::run(args),
        Command::Compare(args) => command::compare::run(args),
        Command::Demo(args) => command::demo::run(args),
    };
    match result {
        Ok(exit) => exit.into(),
        Err(error) if output::is_closed_pipe(&error) => Exit::Done.into(),
        Err(error) => {
            tell!("lycosa: {}", message(&error));
            if usage::is_wrong_usage(&error) { Exit::Usage } else { Exit::Failed }.into()
        }
    }
}

/// What went wrong and why, each said once: a cause may stand in the words around it already.
fn message(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(|cause| cause.to_string()) {
        let cause = cause.trim();
        if text.is_empty() {
            text.push_str(cause);
        } else if !text.contains(cause) {
            text.push_str(": ");
            text.push_str(cause);
        }
    }
    text
}

/// Help and version, or what is wrong with the command line; what was typed may hold anything.
fn explain(error: &clap::Error) -> std::process::ExitCode {
    let plain = error.render().to_string();
    if foreign::clean(&plain, foreign::Kind::Text) == plain {
        let _ = error.print();
    } else {
        output::note(format_args!("{plain}"));
    }
    if error.use_stderr() { Exit::Usage } else { Exit::Done }.into()
}

#[cfg(test)]
mod tests {
    use anyhow::Context;

    #[test]
    fn nothing_is_said_twice() {
        #[derive(Debug, thiserror::Error)]
        #[error("reading x: {source}")]
        struct Outer {
            source: std::io::Error,
        }
        let inner = std::io::Error::from_raw_os_error(2);
        let words = inner.to_string();
        let error = anyhow::Error::from(Outer { source: inner }).context("the page");
        assert_eq!(super::message(&error), format!("the page: reading x: {words}"));
        let error = Err::<(), _>(std::io::Error::other("b")).context("a").unwrap_err();
        assert_eq!(super::message(&error), "a: b");
    }
}
