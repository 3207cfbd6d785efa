//! `cargo xtask bare`: the README's two commands on a bare Debian. Makes one with debootstrap (minbase, a C compiler, make, git),
//! copies the Rust toolchain and the checkout into it, runs both commands there as root and says how long each took.
//!
//! It needs root, some 6 GB below the build directory, and a package mirror; it is not part of any other check.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::program;
use crate::setup;
use crate::workspace::Workspace;

/// What the README asks for besides the toolchain, and certificates for the registries.
const PACKAGES: &str = "gcc,libc6-dev,make,git,ca-certificates";
/// Where things lie in it.
const TOOLCHAIN: &str = "opt/rust";
const CHECKOUT: &str = "root/lycosa";
/// What tells the way to package registries.
const PASSED_ON: [&str; 8] = [
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "PIP_INDEX_URL",
    "SSL_CERT_FILE",
];
/// The README's commands.
const COMMANDS: [&str; 2] = ["cargo run --release -- demo", "cargo xtask test"];

#[derive(Debug, clap::Args)]
pub struct BareArgs {
    /// Make the system and copy everything, but run nothing
    #[arg(long)]
    pub only_make: bool,
    /// The release of Debian
    #[arg(long, default_value = "stable")]
    pub suite: String,
    /// Where its packages are fetched [default: debootstrap's own]
    #[arg(long)]
    pub mirror: Option<String>,
}

pub fn run(workspace: &Workspace, args: &BareArgs) -> Result<bool> {
    if !nix::unistd::geteuid().is_root() {
        bail!("`cargo xtask bare` needs root: debootstrap makes devices and the commands run in a chroot");
    }
    setup::packages(&[("debootstrap", &["debootstrap"])])?;
    let root = workspace.target.join("bare");
    let began = Instant::now();
    make(&root, args)?;
    copy_toolchain(workspace, &root)?;
    copy_checkout(workspace, &root)?;
    println!("a bare {} in {}: {:.0} s", args.suite, root.display(), began.elapsed().as_secs_f64());
    if args.only_make {
        return Ok(true);
    }
    let mut all = true;
    for command in COMMANDS {
        let began = Instant::now();
        let done = program::run(&mut inside(&root, command));
        println!(
            "{command}: {} after {:.0} s",
            if done.is_ok() { "succeeded" } else { "FAILED" },
            began.elapsed().as_secs_f64()
        );
        all &= done.map_err(|error| eprintln!("{error:#}")).is_ok();
    }
    Ok(all)
}

/// Makes the system anew, so that nothing of an earlier run helps.
fn make(root: &Path, args: &BareArgs) -> Result<()> {
    if root.exists() {
        // Its /proc and /dev are of a mount namespace that is gone.
        std::fs::remove_dir_all(root).with_context(|| root.display().to_string())?;
    }
    let debootstrap = program::needed("debootstrap")?;
    let mut command = Command::new(debootstrap);
    command.args(["--variant=minbase", &format!("--include={PACKAGES}"), &args.suite]).arg(root);
    if let Some(mirror) = &args.mirror {
        command.arg(mirror);
    }
    program::run(&mut command)?;
    // The machine's own way to names and packages.
    for file in ["etc/resolv.conf", "etc/hosts"] {
        let from = Path::new("/").join(file);
        if from.exists() {
            std::fs::copy(&from, root.join(file)).with_context(|| file.to_owned())?;
        }
    }
    let own = Path::new("/etc/apt/apt.conf.d");
    for entry in std::fs::read_dir(own).into_iter().flatten() {
        let entry = entry?;
        // Those that say how packages are fetched; the others are about what else is installed here.
        if std::fs::read_to_string(entry.path()).is_ok_and(|text| text.contains("Acquire::")) {
            std::fs::copy(entry.path(), root.join("etc/apt/apt.conf.d").join(entry.file_name()))?;
        }
    }
    Ok(())
}

/// The toolchain that runs this, and what cargo has downloaded already.
fn copy_toolchain(workspace: &Workspace, root: &Path) -> Result<()> {
    let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    let sysroot = program::capture(rustc.args(["--print", "sysroot"]).current_dir(&workspace.root))?;
    copy(Path::new(sysroot.trim()), &root.join(TOOLCHAIN))?;
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cargo")));
    let Some(home) = home else { return Ok(()) };
    let own = root.join("root/.cargo");
    std::fs::create_dir_all(&own)?;
    for part in ["registry", "config.toml"] {
        if home.join(part).exists() {
            copy(&home.join(part), &own.join(part))?;
        }
    }
    Ok(())
}

/// What is committed, and nothing else.
fn copy_checkout(workspace: &Workspace, root: &Path) -> Result<()> {
    let mut git = Command::new("git");
    git.args(["clone", "--quiet", "--no-hardlinks"]).arg(&workspace.root).arg(root.join(CHECKOUT));
    program::run(&mut git)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    program::run(Command::new("cp").arg("-a").arg(from).arg(to))
}

/// A command in it. What it mounts is seen by it alone and gone with it.
fn inside(root: &Path, command: &str) -> Command {
    let script = format!(
        "mount -t proc proc \"$0/proc\" && mount --rbind /dev \"$0/dev\" && \
         exec chroot \"$0\" sh -c 'cd /{CHECKOUT} && {command}'"
    );
    let mut unshare = Command::new("unshare");
    unshare.env_clear().env("HOME", "/root");
    unshare.env(
        "PATH",
        format!("/{TOOLCHAIN}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
    );
    for name in PASSED_ON {
        if let Some(value) = std::env::var_os(name) {
            unshare.env(name, value);
        }
    }
    unshare.args(["--mount", "--pid", "--fork", "--kill-child", "sh", "-c", &script]).arg(root);
    unshare
}
