//! The programs that are compared: how each is installed, started and named.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use crate::program;
use crate::setup;
use crate::workspace::Workspace;

use super::corpus::work_dir;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    Lycosa,
    LycosaNoArchive,
    Wget2,
    Spider,
    WgetWarc,
    Httrack,
    Scrapy,
    Crawlee,
}

/// Where the binaries of the project are.
pub struct Binaries {
    pub lycosa: PathBuf,
    pub simweb: PathBuf,
}

impl Binaries {
    /// Those that are named; the others are built, that of the synthetic web only if it is needed.
    pub fn find(
        workspace: &Workspace,
        lycosa: Option<&Path>,
        simweb: Option<&Path>,
        with_simweb: bool,
    ) -> Result<Self> {
        let build =
            |arguments: &[&str]| program::run(workspace.cargo().args(["build", "--release"]).args(arguments));
        let lycosa = match lycosa {
            Some(path) => std::path::absolute(path)?,
            None => {
                build(&["-p", "lycosa"])?;
                workspace.target.join("release/lycosa")
            }
        };
        let simweb = match simweb {
            Some(path) => std::path::absolute(path)?,
            None => {
                if with_simweb {
                    build(&["-p", "lycosa-simweb", "--example", "simweb"])?;
                }
                workspace.target.join("release/examples/simweb")
            }
        };
        Ok(Self { lycosa, simweb })
    }
}

impl Peer {
    pub const ALL: [Self; 8] = [
        Self::Lycosa,
        Self::LycosaNoArchive,
        Self::Wget2,
        Self::Spider,
        Self::WgetWarc,
        Self::Httrack,
        Self::Scrapy,
        Self::Crawlee,
    ];

    pub fn parse(name: &str) -> Result<Self> {
        let Some(peer) = Self::ALL.into_iter().find(|peer| peer.name() == name) else {
            bail!("no program {name}: there are {}", Self::ALL.map(Self::name).join(", "));
        };
        Ok(peer)
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Lycosa => "lycosa",
            Self::LycosaNoArchive => "lycosa-no-archive",
            Self::Wget2 => "wget2",
            Self::Spider => "spider",
            Self::WgetWarc => "wget-warc",
            Self::Httrack => "httrack",
            Self::Scrapy => "scrapy",
            Self::Crawlee => "crawlee",
        }
    }

    /// What it does with a page, so that figures are read with what they pay for.
    pub fn does(self) -> &'static str {
        match self {
            Self::Lycosa => "robots, parse, judge, WARC.gz and CDXJ, durable state",
            Self::LycosaNoArchive => "robots, parse, judge, durable state",
            Self::Wget2 => "robots, links, page files",
            Self::Spider => "links, stores nothing",
            Self::WgetWarc => "robots, links, page files and WARC.gz",
            Self::Httrack => "links, page files rewritten for browsing",
            Self::Scrapy | Self::Crawlee => "links, stores nothing",
        }
    }

    pub fn is_lycosa(self) -> bool {
        matches!(self, Self::Lycosa | Self::LycosaNoArchive)
    }

    pub fn install(self, workspace: &Workspace) -> Result<()> {
        match self {
            Self::Lycosa | Self::LycosaNoArchive => Ok(()),
            Self::Wget2 => setup::packages(&[("wget2", &["wget2"])]),
            Self::WgetWarc => setup::packages(&[("wget", &["wget"])]),
            Self::Httrack => setup::packages(&[("httrack", &["httrack"])]),
            Self::Scrapy => setup::python_tools(workspace, &[("scrapy", "scrapy")]),
            Self::Spider => {
                let target = work_dir(workspace).join("spider");
                program::run(
                    workspace
                        .cargo()
                        .args(["build", "--release", "--quiet", "--manifest-path"])
                        .arg(sources(workspace).join("spider/Cargo.toml"))
                        .arg("--target-dir")
                        .arg(target),
                )
            }
            Self::Crawlee => install_crawlee(workspace),
        }
    }

    /// The command that crawls everything below `seed`, storing what it stores in `work`.
    pub fn command(self, workspace: &Workspace, binaries: &Binaries, seed: &str, work: &Path) -> Command {
        let mut command = match self {
            Self::Lycosa | Self::LycosaNoArchive => {
                let mut command = Command::new(&binaries.lycosa);
                command.args(["crawl", seed, "-d", "crawl", "--allow-net", "127.0.0.0/8", "--delay", "0"]);
                // Sixteen requests on each of 64 connections.
                command.args(["--ip-delay", "0", "--concurrency", "1024", "--per-host", "1024"]);
                command.args(["--pipeline", "16", "--depth", "1000", "--no-requisites", "--json"]);
                command
            }
            Self::Wget2 => {
                let mut command = Command::new("wget2");
                command.args(["-q", "-r", "-l", "0", "--max-threads=8", seed]);
                command
            }
            Self::WgetWarc => {
                let mut command = Command::new("wget");
                command.args(["-q", "-r", "-l", "inf", "--warc-file=pages", "--no-warc-keep-log", seed]);
                command
            }
            Self::Httrack => {
                let mut command = Command::new("httrack");
                command.args([
                    seed, "-O", ".", "-q", "-%v0", "-I0", "-r1000", "-c64", "-A0", "-%c0", "-s0", "-C0",
                ]);
                command.arg("--disable-security-limits");
                command
            }
            Self::Spider => {
                let mut command = Command::new(work_dir(workspace).join("spider/release/peer-spider"));
                command.arg(seed);
                command
            }
            Self::Scrapy => {
                let mut command = Command::new(workspace.venv().join("bin/scrapy"));
                command.arg("runspider").arg(sources(workspace).join("scrapy/whole_site.py"));
                command.arg("-a").arg(format!("seed={seed}"));
                command
            }
            Self::Crawlee => {
                let mut command = Command::new("node");
                command.arg(work_dir(workspace).join("crawlee/crawl.mjs")).arg(seed);
                command
            }
        };
        if self == Self::LycosaNoArchive {
            command.arg("--no-archive");
        }
        // A fresh directory for temporary files too: spider goes slower when it finds what it left there.
        command.current_dir(work).env("TMPDIR", work.join("tmp"));
        command
    }

    pub fn version(self, workspace: &Workspace, binaries: &Binaries) -> String {
        match self {
            Self::Lycosa | Self::LycosaNoArchive => {
                first_line(Command::new(&binaries.lycosa).arg("--version"))
            }
            Self::Wget2 => first_line(Command::new("wget2").arg("--version")),
            Self::WgetWarc => first_line(Command::new("wget").arg("--version")),
            Self::Httrack => first_line(Command::new("httrack").arg("--version")),
            Self::Scrapy => first_line(Command::new(workspace.venv().join("bin/scrapy")).arg("version")),
            Self::Spider => "spider 2.53.9, trimmed features".to_owned(),
            Self::Crawlee => {
                let file = work_dir(workspace).join("crawlee/node_modules/@crawlee/cheerio/package.json");
                let text = std::fs::read_to_string(file).unwrap_or_default();
                let package: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
                format!("crawlee {}", package["version"].as_str().unwrap_or("of unknown version"))
            }
        }
    }
}

fn sources(workspace: &Workspace) -> PathBuf {
    workspace.root.join("bench").join("peers")
}

fn install_crawlee(workspace: &Workspace) -> Result<()> {
    setup::packages(&[("node", &["nodejs"]), ("npm", &["npm"])])?;
    let place = work_dir(workspace).join("crawlee");
    std::fs::create_dir_all(&place)?;
    for file in ["package.json", "crawl.mjs"] {
        std::fs::copy(sources(workspace).join("crawlee").join(file), place.join(file))?;
    }
    if place.join("node_modules/@crawlee/cheerio").exists() {
        return Ok(());
    }
    program::run(
        Command::new("npm").args(["install", "--no-audit", "--no-fund", "--silent"]).current_dir(place),
    )
}

/// The first line that a program prints, on either output; some print their version and end with an error.
pub fn first_line(command: &mut Command) -> String {
    let Ok(output) = command.output() else {
        return "not installed".to_owned();
    };
    let text = [output.stdout, output.stderr].concat();
    String::from_utf8_lossy(&text).lines().next().unwrap_or_default().trim().to_owned()
}
