//! `cargo xtask`: what a developer or a build machine does with the checkout. Sets the machine up, runs every check,
//! measures against other crawlers. Nothing here ships.

mod bare;
mod bench;
mod checks;
mod cluster;
mod dice;
mod documents;
mod fixtures;
mod generated;
mod instructions;
mod licences;
mod lint;
mod measure;
mod mutants;
mod nginx;
mod orders;
mod packages;
mod profile;
mod program;
mod release;
mod same;
mod setup;
mod site;
mod synthetic;
mod tidy;
mod version_pairs;
mod workspace;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::checks::Checks;
use crate::workspace::Workspace;

#[derive(Debug, Parser)]
#[command(name = "cargo xtask", about = "Set up, check and measure Lycosa", arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Install what is missing, then run every check
    Test {
        /// Leave out the set-up, the cluster under faults and the crawl of a real site; the last line names them
        #[arg(long)]
        quick: bool,
    },
    /// Install the packages and the Python environment that the checks need, where missing
    Setup,
    /// Formatting and clippy
    Lint,
    /// Unit, property and integration tests of every crate
    UnitTests,
    /// Licences, bans and sources of every dependency, by deny.toml
    Licences,
    /// Links of the documents, and the commands they show
    Docs,
    /// File sizes, names and left-over notes
    Tidy,
    /// Write small crawl directories and what is answered about them, for the tests that open them
    Fixtures(fixtures::FixturesArgs),
    /// Crawl manuals of real HTML and compare with wget2
    SiteCheck {
        /// All manuals, not only the small ones
        #[arg(long)]
        all: bool,
    },
    /// The README's two commands on a bare Debian that is made for it, with their times; needs root
    Bare(bare::BareArgs),
    /// Crawlers side by side: pages per second, CPU, memory, coverage
    Bench(bench::BenchArgs),
    /// What each stage of a page costs in instructions, held against bench/instructions.json
    Instructions {
        /// Write the figures down instead
        #[arg(long)]
        update: bool,
    },
    /// How many small faults in a copy of the code the tests notice; not part of `test`
    Mutants(mutants::MutantsArgs),
    /// One web crawled in every order: how soon each gathers the rank of its pages
    Orders(orders::OrdersArgs),
    /// Where a page's CPU goes, stage by stage
    Profile(profile::ProfileArgs),
    /// The same crawl of the synthetic web gives the same as recorded
    Same(same::SameArgs),
    /// Clusters of several sizes on this machine: same pages, balance, exchange, takeover, joining, speed
    Cluster(cluster::figures::FiguresArgs),
    /// A cluster's crawl on real NATS servers while nodes, servers, network and disk fail
    Soak(cluster::soak::SoakArgs),
    /// Judge two versions of real documentation as two visits, against a plain oracle
    VersionPairs,
    /// The release binary, laid out and inlined by what training crawls do most
    Release(release::ReleaseArgs),
    /// Run one program and write down what it cost (the benchmark uses it)
    #[command(hide = true)]
    Measure {
        #[arg(long)]
        limit_seconds: f64,
        #[arg(long)]
        out: PathBuf,
        #[arg(last = true, required = true)]
        line: Vec<String>,
    },
}

fn main() -> std::process::ExitCode {
    match run(Cli::parse().command) {
        Ok(true) => std::process::ExitCode::SUCCESS,
        Ok(false) => std::process::ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            std::process::ExitCode::FAILURE
        }
    }
}

fn run(task: Task) -> Result<bool> {
    let workspace = Workspace::locate()?;
    let mut checks = Checks::default();
    match task {
        Task::Test { quick } => {
            if quick {
                ["set-up", "soak", "site check"].into_iter().for_each(|name| checks.leave_out(name));
            } else {
                checks.run("set-up", || setup::run(&workspace));
            }
            lint::run(&workspace, &mut checks);
            checks.run("tidiness", || tidy::run(&workspace));
            checks.run("licences", || licences::run(&workspace));
            lint::tests(&workspace, &mut checks);
            documents::run(&workspace, &mut checks);
            checks.run("instructions", || instructions::run(&workspace, false));
            if !quick {
                checks.run("soak", || cluster::soak::run(&workspace, &cluster::soak::SoakArgs::short()));
                site::run(&workspace, &mut checks, false);
            }
        }
        Task::Bare(args) => return bare::run(&workspace, &args),
        Task::Bench(args) => return bench::run(&workspace, &args).map(|()| true),
        Task::Orders(args) => return orders::run(&workspace, &args).map(|()| true),
        Task::Profile(args) => return profile::run(&workspace, &args).map(|()| true),
        Task::Cluster(args) => return cluster::figures::run(&workspace, &args).map(|()| true),
        Task::Same(args) => checks.run("same crawl", || same::run(&workspace, &args)),
        Task::Mutants(args) => return mutants::run(&workspace, &args).map(|()| true),
        Task::Fixtures(args) => return fixtures::run(&workspace, &args).map(|()| true),
        Task::Soak(args) => checks.run("soak", || cluster::soak::run(&workspace, &args)),
        Task::VersionPairs => return version_pairs::run(&workspace),
        Task::Release(args) => return release::run(&workspace, &args).map(|()| true),
        Task::Measure { limit_seconds, out, line } => {
            measure::run(&line, Duration::try_from_secs_f64(limit_seconds)?, &out)?;
            return Ok(true);
        }
        Task::Setup => checks.run("set-up", || setup::run(&workspace)),
        Task::Lint => lint::run(&workspace, &mut checks),
        Task::UnitTests => lint::tests(&workspace, &mut checks),
        Task::Licences => checks.run("licences", || licences::run(&workspace)),
        Task::Docs => documents::run(&workspace, &mut checks),
        Task::SiteCheck { all } => site::run(&workspace, &mut checks, all),
        Task::Instructions { update } => checks.run("instructions", || instructions::run(&workspace, update)),
        Task::Tidy => checks.run("tidiness", || tidy::run(&workspace)),
    }
    Ok(checks.finish())
}
