//! The compiler that builds a release: what it builds for, its LLVM, and the program that merges counts of that LLVM.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::program;
use crate::setup;
use crate::workspace::Workspace;

pub struct Compiler {
    pub host: String,
    /// First number of the version of LLVM: files of counts are readable by programs of the same one.
    llvm: u32,
    sysroot: PathBuf,
}

impl Compiler {
    pub fn ask(workspace: &Workspace) -> Result<Self> {
        let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| OsString::from("rustc"));
        let ask = |arguments: &[&str]| {
            program::capture(Command::new(&rustc).args(arguments).current_dir(&workspace.root))
        };
        let said = ask(&["-vV"])?;
        let (host, llvm) =
            versions(&said).with_context(|| format!("rustc names no host and LLVM: {}", said.trim()))?;
        let sysroot = PathBuf::from(ask(&["--print", "sysroot"])?.trim());
        Ok(Self { host, llvm, sysroot })
    }

    /// The program that merges counts; installed where it is missing.
    pub fn profdata(&self) -> Result<PathBuf> {
        if let Some(found) = self.look() {
            return Ok(found);
        }
        let (package, name) = (format!("llvm-{}", self.llvm), self.versioned());
        let missing = || {
            format!(
                "llvm-profdata of LLVM {} is needed: run `rustup component add llvm-tools`, or install the package {package}",
                self.llvm
            )
        };
        setup::packages(&[(&name, &[&package])]).with_context(missing)?;
        self.look().with_context(missing)
    }

    fn look(&self) -> Option<PathBuf> {
        first(self.candidates(program::find(&self.versioned())), |path| path.is_file())
    }

    fn versioned(&self) -> String {
        format!("llvm-profdata-{}", self.llvm)
    }

    /// The toolchain's own, the one on the path with the version in its name, the distribution's.
    fn candidates(&self, on_path: Option<PathBuf>) -> Vec<PathBuf> {
        let own = self.sysroot.join("lib/rustlib").join(&self.host).join("bin/llvm-profdata");
        let distribution = format!("/usr/lib/llvm-{}/bin/llvm-profdata", self.llvm);
        [Some(own), on_path, Some(distribution.into())].into_iter().flatten().collect()
    }
}

fn first(candidates: Vec<PathBuf>, is_there: impl Fn(&Path) -> bool) -> Option<PathBuf> {
    candidates.into_iter().find(|path| is_there(path))
}

/// Host and first number of LLVM's version out of what `rustc -vV` says.
fn versions(said: &str) -> Option<(String, u32)> {
    let field = |name: &str| said.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let llvm = field("LLVM version:")?.split('.').next()?.parse().ok()?;
    Some((field("host:")?.to_owned(), llvm))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "rustc 1.95.0 (59807616e 2026-04-14)\nbinary: rustc\nhost: x86_64-unknown-linux-gnu\n\
        release: 1.95.0\nLLVM version: 22.1.2\n";

    #[test]
    fn host_and_llvm_are_read() {
        assert_eq!(versions(SAID), Some(("x86_64-unknown-linux-gnu".to_owned(), 22)));
        assert_eq!(versions(&SAID.replace("22.1.2", "9")).map(|(_, llvm)| llvm), Some(9));
        assert_eq!(versions(&SAID.replace("LLVM version: 22.1.2", "")), None);
        assert_eq!(versions(&SAID.replace("host:", "guest:")), None);
        assert_eq!(versions(&SAID.replace("22.1.2", "unknown")), None);
    }

    #[test]
    fn the_toolchains_own_tool_comes_first_then_the_path_then_the_distribution() {
        let compiler = Compiler { host: "h".to_owned(), llvm: 22, sysroot: PathBuf::from("/rust") };
        let path = Path::new("/opt/llvm-profdata-22");
        let (own, distribution) = (
            Path::new("/rust/lib/rustlib/h/bin/llvm-profdata"),
            Path::new("/usr/lib/llvm-22/bin/llvm-profdata"),
        );
        assert_eq!(compiler.versioned(), "llvm-profdata-22");
        let choose = |on_path: Option<&Path>, there: &[&Path]| {
            first(compiler.candidates(on_path.map(Path::to_path_buf)), |candidate| there.contains(&candidate))
        };
        assert_eq!(choose(Some(path), &[own, path, distribution]).as_deref(), Some(own));
        assert_eq!(choose(Some(path), &[path, distribution]).as_deref(), Some(path));
        assert_eq!(choose(None, &[distribution]).as_deref(), Some(distribution));
        assert_eq!(choose(None, &[]), None);
    }
}
