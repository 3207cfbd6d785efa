//! Real HTML: documentation packages of the distribution, fetched by name and unpacked under the build directory.
//!
//! They are unpacked rather than installed: that needs no rights, drags in no fonts and scripts, and works on machines
//! whose package manager is told to leave documentation out.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::program;
use crate::setup;
use crate::workspace::Workspace;

/// A tree of pages: the directory to serve and the page to start from.
pub struct Tree {
    pub name: &'static str,
    /// Package and version, for reports.
    pub package: String,
    pub dir: PathBuf,
    pub entry: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manual {
    Rust,
    Python,
    Postgresql,
    Java,
    Apache,
    Django,
}

impl Manual {
    /// Those that are crawled to measure and to compare.
    pub const MEASURED: [Self; 4] = [Self::Rust, Self::Python, Self::Postgresql, Self::Java];
    /// Those that a release is trained with: none of the above.
    pub const TRAINING: [Self; 2] = [Self::Apache, Self::Django];

    pub fn name(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::Python => "python",
            Self::Postgresql => "postgresql",
            Self::Java => "java",
            Self::Apache => "apache",
            Self::Django => "django",
        }
    }

    fn entry(self) -> &'static str {
        match self {
            Self::Java => "api/index.html",
            Self::Apache => "en/index.html",
            _ => "index.html",
        }
    }

    /// Packages that may carry the manual: a pattern for apt, and the version most wanted.
    fn pattern(self) -> (&'static str, &'static str) {
        match self {
            Self::Rust => ("^rust-doc$", "rust-doc"),
            Self::Python => ("^python3\\.[0-9]+-doc$", "python3.11-doc"),
            Self::Postgresql => ("^postgresql-doc-[0-9]+$", "postgresql-doc-15"),
            Self::Java => ("^openjdk-[0-9]+-doc$", "openjdk-17-doc"),
            Self::Apache => ("^apache2-doc$", "apache2-doc"),
            Self::Django => ("^python-django-doc$", "python-django-doc"),
        }
    }

    /// Where the pages lie inside the unpacked package.
    fn pages(self, package: &str) -> String {
        match self {
            Self::Rust | Self::Postgresql | Self::Django => format!("usr/share/doc/{package}/html"),
            Self::Python => format!("usr/share/doc/{}/html", package.trim_end_matches("-doc")),
            Self::Java => format!("usr/share/doc/{}-jre-headless", package.trim_end_matches("-doc")),
            Self::Apache => format!("usr/share/doc/{package}/manual"),
        }
    }

    pub fn fetch(self, workspace: &Workspace) -> Result<Tree> {
        let store = workspace.target.join("packages");
        std::fs::create_dir_all(&store)?;
        let kept = store.join(format!("{}.package", self.name()));
        let package = match std::fs::read_to_string(&kept) {
            Ok(package) => package,
            Err(_) => {
                let package = self.download(&store)?;
                std::fs::write(&kept, &package)?;
                package
            }
        };
        let name = package.split(' ').next().unwrap_or(&package);
        let dir = store.join(self.name()).join(self.pages(name));
        if !dir.join(self.entry()).exists() {
            bail!("{} lacks {}: delete {} to fetch it again", dir.display(), self.entry(), kept.display());
        }
        Ok(Tree { name: self.name(), package, dir, entry: self.entry() })
    }

    fn download(self, store: &Path) -> Result<String> {
        let package = self.choose()?;
        let temporary = tempfile::tempdir_in(store)?;
        eprintln!("fetching {package}");
        program::run(
            Command::new("apt-get")
                .args(["-o", "APT::Sandbox::User=root", "download", "-qq", &package])
                .current_dir(temporary.path()),
        )?;
        let deb = std::fs::read_dir(temporary.path())?
            .filter_map(|entry| entry.ok().map(|entry| entry.path()))
            .find(|path| path.extension().is_some_and(|ext| ext == "deb"))
            .with_context(|| format!("apt-get download {package} left no file"))?;
        let unpacked = temporary.path().join("unpacked");
        program::run(Command::new("dpkg-deb").arg("-x").arg(&deb).arg(&unpacked))?;
        let place = store.join(self.name());
        if place.exists() {
            std::fs::remove_dir_all(&place)?;
        }
        std::fs::rename(&unpacked, &place)?;
        let version = program::capture(Command::new("dpkg-deb").arg("-f").arg(&deb).arg("Version"))?;
        Ok(format!("{package} {}", version.trim()))
    }

    /// The wanted version where the distribution has it, else the newest.
    fn choose(self) -> Result<String> {
        let (pattern, wanted) = self.pattern();
        let search = || program::capture(Command::new("apt-cache").args(["search", "--names-only", pattern]));
        let mut known = search()?;
        if known.trim().is_empty() {
            setup::update_lists()?;
            known = search()?;
        }
        let names: Vec<&str> = known.lines().filter_map(|line| line.split_whitespace().next()).collect();
        newest(&names, wanted).with_context(|| format!("apt knows no package like {wanted}"))
    }
}

/// Puts manuals under one root, which is made anew, with an index.html to start from, and says which they are.
pub fn gather(workspace: &Workspace, manuals: &[Manual], root: &Path) -> Result<String> {
    if root.exists() {
        std::fs::remove_dir_all(root)?;
    }
    std::fs::create_dir_all(root)?;
    let mut index = String::from("<!doctype html><title>Manuals</title>\n<ul>\n");
    let mut packages = Vec::new();
    for manual in manuals {
        let tree = manual.fetch(workspace)?;
        std::os::unix::fs::symlink(&tree.dir, root.join(tree.name))?;
        writeln!(index, "<li><a href=\"{0}/{1}\">{0}</a>", tree.name, tree.entry)?;
        packages.push(tree.package);
    }
    index.push_str("</ul>\n");
    std::fs::write(root.join("index.html"), index)?;
    Ok(packages.join(", "))
}

fn newest(names: &[&str], wanted: &str) -> Option<String> {
    let version = |name: &&&str| -> Vec<u32> {
        name.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect()
    };
    let found = names.iter().find(|name| **name == wanted).or_else(|| names.iter().max_by_key(version))?;
    Some((*found).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wanted_version_wins_else_the_newest_by_number() {
        let names = ["python3.9-doc", "python3.13-doc", "python3.11-doc"];
        assert_eq!(newest(&names, "python3.11-doc").as_deref(), Some("python3.11-doc"));
        assert_eq!(newest(&names, "python3.12-doc").as_deref(), Some("python3.13-doc"));
        assert_eq!(newest(&[], "x"), None);
    }

    #[test]
    fn what_trains_is_not_measured() {
        assert!(Manual::TRAINING.iter().all(|manual| !Manual::MEASURED.contains(manual)));
    }
}
