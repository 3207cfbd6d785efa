//! One version of a documentation package, fetched and unpacked.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::program;

pub struct Release {
    /// As the distribution writes it.
    pub version: String,
    /// Where its files are.
    pub dir: PathBuf,
}

/// The oldest and the newest version that apt knows, if they differ.
pub fn two_of(package: &str) -> Result<Option<(String, String)>> {
    let known = program::capture(Command::new("apt-cache").args(["madison", package]))?;
    Ok(ends(&known))
}

/// Lines are `name | version | source`, newest first within a source.
fn ends(known: &str) -> Option<(String, String)> {
    let mut versions: Vec<&str> =
        known.lines().filter_map(|line| line.split('|').nth(1)).map(str::trim).collect();
    versions.sort_by_key(|version| numbers(version));
    versions.dedup();
    match versions.as_slice() {
        [oldest, .., newest] => Some(((*oldest).to_owned(), (*newest).to_owned())),
        _ => None,
    }
}

fn numbers(version: &str) -> Vec<u64> {
    version.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect()
}

impl Release {
    /// Fetched once; later calls find it where it was unpacked.
    pub fn fetch(store: &Path, package: &str, version: &str) -> Result<Self> {
        let dir = store.join(package).join(version.replace(':', "_"));
        if !dir.exists() {
            eprintln!("fetching {package} {version}");
            let temporary = tempfile::tempdir_in(store)?;
            program::run(
                Command::new("apt-get")
                    .args(["-o", "APT::Sandbox::User=root", "download", "-qq"])
                    .arg(format!("{package}={version}"))
                    .current_dir(temporary.path()),
            )?;
            let deb = std::fs::read_dir(temporary.path())?
                .filter_map(|entry| entry.ok().map(|entry| entry.path()))
                .find(|path| path.extension().is_some_and(|ext| ext == "deb"))
                .with_context(|| format!("apt-get download {package}={version} left no file"))?;
            let unpacked = temporary.path().join("unpacked");
            program::run(Command::new("dpkg-deb").arg("-x").arg(&deb).arg(&unpacked))?;
            std::fs::create_dir_all(store.join(package))?;
            std::fs::rename(&unpacked, &dir)?;
        }
        Ok(Self { version: version.to_owned(), dir })
    }

    /// Paths of its pages, relative to its directory, sorted.
    pub fn pages(&self) -> Result<Vec<PathBuf>> {
        let mut found = Vec::new();
        let mut waiting = vec![self.dir.clone()];
        while let Some(dir) = waiting.pop() {
            for entry in std::fs::read_dir(&dir).with_context(|| format!("reading {}", dir.display()))? {
                let entry = entry?;
                let (kind, path) = (entry.file_type()?, entry.path());
                if kind.is_dir() {
                    waiting.push(path);
                } else if kind.is_file() && path.extension().is_some_and(|e| e == "html" || e == "htm") {
                    found.push(path.strip_prefix(&self.dir)?.to_path_buf());
                }
            }
        }
        found.sort();
        Ok(found)
    }

    /// How pages may write the version: with the distribution's own part and without.
    pub fn spellings(&self) -> Vec<String> {
        let full = self.version.split_once(':').map_or(self.version.as_str(), |(_, version)| version);
        let upstream = full.rsplit_once('-').map_or(full, |(upstream, _)| upstream);
        let plain = upstream.split_once("+dfsg").map_or(upstream, |(plain, _)| plain);
        vec![full.to_owned(), plain.to_owned()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_and_the_newest() {
        let known = " x-doc | 1:9.18.49-1~deb12u3 | security\n x-doc | 1:9.18.9-1~deb12u1 | main\n";
        assert_eq!(ends(known), Some(("1:9.18.9-1~deb12u1".to_owned(), "1:9.18.49-1~deb12u3".to_owned())));
        assert_eq!(ends(" x-doc | 3.7.9-2 | main\n x-doc | 3.7.9-2 | security\n"), None);
        assert_eq!(ends(""), None);
    }

    #[test]
    fn versions_are_written_in_two_ways() {
        let spellings = |version: &str| {
            Release { version: version.to_owned(), dir: PathBuf::new() }.spellings().join(" ")
        };
        assert_eq!(spellings("1:9.18.49-1~deb12u3"), "9.18.49-1~deb12u3 9.18.49");
        assert_eq!(spellings("18.20.4+dfsg-1~deb12u2"), "18.20.4+dfsg-1~deb12u2 18.20.4");
        assert_eq!(spellings("17.0.21+9-1~deb12u1"), "17.0.21+9-1~deb12u1 17.0.21+9");
    }
}
