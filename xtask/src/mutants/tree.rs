//! A copy of the workspace with the drawn mutants in it, compiled once. Mutants that do not compile go out again.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::find::{self, Mutant};
use super::write::{MODULE, Switched};
use crate::program;
use crate::workspace::Workspace;

/// A mutant, the file it is in, and the crate.
#[derive(Clone, Debug)]
pub struct Placed {
    pub package: String,
    /// Relative to the workspace.
    pub file: PathBuf,
    pub mutant: Mutant,
}

/// A program with tests.
#[derive(Clone, Debug)]
pub struct TestBinary {
    pub package: String,
    pub name: String,
    pub path: PathBuf,
    /// Where cargo runs it.
    pub dir: PathBuf,
}

/// The product's sources as they were when they were read, and every mutant of them in a fixed order.
pub struct Stock {
    sources: BTreeMap<PathBuf, String>,
    pub all: Vec<Placed>,
}

/// Reads all sources; `packages` narrows the mutants down.
pub fn read(workspace: &Workspace, packages: &[String]) -> Result<Stock> {
    let mut sources = Vec::new();
    let mut defaults = BTreeSet::new();
    for file in workspace.files("crates", "rs")? {
        let relative = workspace.relative(&file).to_owned();
        let mut parts =
            relative.components().skip(1).map(|part| part.as_os_str().to_string_lossy().into_owned());
        let (Some(package), Some(folder)) = (parts.next(), parts.next()) else { continue };
        if folder != "src" || ["simweb", "testkit"].contains(&&*package) {
            continue;
        }
        let text = std::fs::read_to_string(&file)?;
        defaults.extend(find::defaults(&text).with_context(|| format!("reading {}", relative.display()))?);
        sources.push((package, relative, text));
    }
    let (mut all, mut test_files) = (Vec::new(), BTreeSet::new());
    for (package, file, text) in &sources {
        let found = find::mutants(text, &defaults).with_context(|| format!("reading {}", file.display()))?;
        test_files.extend(found.test_modules.iter().map(|module| module_file(file, module)));
        if packages.is_empty() || packages.contains(package) {
            let place = |mutant| Placed { package: package.clone(), file: file.clone(), mutant };
            all.extend(found.mutants.into_iter().map(place));
        }
    }
    all.retain(|placed| {
        let mut parents = placed.file.ancestors();
        !parents.any(|path| test_files.contains(&path.with_extension("")))
    });
    let sources = sources.into_iter().map(|(_, file, text)| (file, text)).collect();
    Ok(Stock { sources, all })
}

/// The file or directory of a module, without `.rs`.
fn module_file(declared_in: &Path, module: &str) -> PathBuf {
    let dir = declared_in.parent().unwrap_or(Path::new(""));
    match declared_in.file_stem().and_then(|stem| stem.to_str()) {
        Some("lib" | "main" | "mod") | None => dir.join(module),
        Some(stem) => dir.join(stem).join(module),
    }
}

pub struct Tree {
    pub root: PathBuf,
    cargo: Workspace,
    unit_only: bool,
}

impl Tree {
    /// Copies what git knows, and links the compiled dependencies, which are the same at any place.
    pub fn copy(workspace: &Workspace, unit_only: bool) -> Result<Self> {
        let root = workspace.target.join("mutants/tree");
        if root.exists() {
            std::fs::remove_dir_all(&root).with_context(|| format!("removing {}", root.display()))?;
        }
        std::fs::create_dir_all(&root)?;
        let listed = program::capture(Command::new("git").current_dir(&workspace.root).args([
            "ls-files",
            "--cached",
            "--others",
            "--exclude-standard",
        ]))?;
        for file in listed.lines() {
            let (from, to) = (workspace.root.join(file), root.join(file));
            if from.is_file() {
                std::fs::create_dir_all(to.parent().unwrap_or(&root))?;
                std::fs::copy(&from, &to).with_context(|| format!("copying {file}"))?;
            }
        }
        let target = root.join("target");
        link_dependencies(&workspace.target.join("debug"), &target.join("debug"))?;
        let venv = workspace.venv();
        if venv.exists() {
            std::os::unix::fs::symlink(&venv, root.join(".venv"))?;
        }
        Ok(Self { root: root.clone(), cargo: Workspace { root, target }, unit_only })
    }

    /// Writes all sources, with the mutants that are in the set.
    pub fn write(&self, stock: &Stock, drawn: &BTreeSet<usize>) -> Result<BTreeMap<PathBuf, Switched>> {
        let mut files: BTreeMap<&Path, Vec<(usize, &Mutant)>> = BTreeMap::new();
        for &number in drawn {
            let placed = stock.all.get(number).context("a mutant that is not there was drawn")?;
            files.entry(&placed.file).or_default().push((number, &placed.mutant));
        }
        let mut written = BTreeMap::new();
        for (file, source) in &stock.sources {
            let mutants = files.get(file.as_path()).map(Vec::as_slice).unwrap_or_default();
            let switched = Switched::new(source, mutants);
            let path = self.root.join(file);
            if is_top(file) {
                write_if_changed(&path.with_file_name("mutation_switch.rs"), MODULE)?;
                write_if_changed(&path, &format!("{}\nmod mutation_switch;\n", switched.text))?;
            } else {
                write_if_changed(&path, &switched.text)?;
            }
            written.insert(file.clone(), switched);
        }
        Ok(written)
    }

    /// Compiles; either the test programs, or the mutants that do not compile.
    pub fn compile(
        &self,
        written: &BTreeMap<PathBuf, Switched>,
    ) -> Result<Result<Vec<TestBinary>, BTreeSet<usize>>> {
        let mut cargo = self.cargo.cargo();
        cargo.env("CARGO_TARGET_DIR", &self.cargo.target);
        cargo.args([
            "test",
            "--workspace",
            "--exclude",
            "xtask",
            "--no-run",
            "--message-format=json",
            "--quiet",
        ]);
        cargo.args(self.unit_only.then_some("--lib"));
        let output = cargo.stdin(Stdio::null()).stderr(Stdio::null()).output().context("starting cargo")?;
        let (mut blamed, mut binaries, mut said) = (BTreeSet::new(), Vec::new(), String::new());
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let Ok(message) = serde_json::from_str::<Value>(line) else { continue };
            binaries.extend(test_binary(&message));
            if message["reason"] == "compiler-message" && message["message"]["level"] == "error" {
                blamed.extend(blame(&message["message"], written));
                said.push_str(message["message"]["rendered"].as_str().unwrap_or_default());
            }
        }
        if output.status.success() {
            return Ok(Ok(binaries));
        }
        if blamed.is_empty() {
            bail!("the tree does not compile, and no mutant is to blame: {said}");
        }
        Ok(Err(blamed))
    }
}

fn is_top(file: &Path) -> bool {
    file.ends_with("src/lib.rs") || file.ends_with("src/main.rs")
}

/// What did not change keeps its time, so that cargo need not compile it again.
fn write_if_changed(path: &Path, text: &str) -> Result<()> {
    if std::fs::read_to_string(path).is_ok_and(|now| now == text) {
        return Ok(());
    }
    std::fs::write(path, text).with_context(|| format!("writing {}", path.display()))
}

fn link_dependencies(from: &Path, to: &Path) -> Result<()> {
    for part in ["deps", "build", ".fingerprint"] {
        let (from, to) = (from.join(part), to.join(part));
        std::fs::create_dir_all(&to)?;
        if !from.exists() {
            continue;
        }
        for entry in std::fs::read_dir(&from)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let plain = name.strip_prefix("lib").unwrap_or(&name);
            let is_ours =
                plain.starts_with("lycosa") || plain.starts_with("it-") || plain.starts_with("xtask");
            // Of what is left, only libraries are linked to: programs are ours, or examples.
            if !is_ours {
                program::run(Command::new("cp").arg("-alf").arg(entry.path()).arg(&to))?;
            }
        }
    }
    Ok(())
}

fn test_binary(message: &Value) -> Option<TestBinary> {
    let is_test = message["reason"] == "compiler-artifact" && message["profile"]["test"] == true;
    let path = message["executable"].as_str().filter(|_| is_test)?;
    let dir = Path::new(message["manifest_path"].as_str()?).parent()?;
    let package = dir.file_name()?.to_string_lossy().into_owned();
    let name = message["target"]["name"].as_str()?.to_owned();
    // The tests of the checks themselves reach no mutant.
    if package == "xtask" {
        return None;
    }
    Some(TestBinary { package, name, path: path.into(), dir: dir.to_owned() })
}

/// The mutants around the places of an error: its own, or else those that it merely mentions, or all of its file.
fn blame(error: &Value, written: &BTreeMap<PathBuf, Switched>) -> BTreeSet<usize> {
    let mut spans: Vec<&Value> = Vec::new();
    spans.extend(error["spans"].as_array().into_iter().flatten());
    for child in error["children"].as_array().into_iter().flatten() {
        spans.extend(child["spans"].as_array().into_iter().flatten());
    }
    spans.sort_by_key(|span| span["is_primary"] != true);
    let mut files = Vec::new();
    for span in spans {
        let file = span["file_name"].as_str().map(Path::new);
        let Some(switched) = file.and_then(|file| written.get(file)) else { continue };
        let number = |name: &str| span[name].as_u64().unwrap_or(0) as usize;
        let blamed = switched.blame(&(number("byte_start")..number("byte_end")));
        if !blamed.is_empty() {
            return blamed.into_iter().collect();
        }
        files.push(switched);
    }
    files.first().map(|switched| switched.numbers().collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_of_tests_lie_beside_or_below_their_file() {
        let file = |declared_in: &str| module_file(Path::new(declared_in), "tests");
        assert_eq!(file("crates/a/src/lib.rs"), Path::new("crates/a/src/tests"));
        assert_eq!(file("crates/a/src/plan/mod.rs"), Path::new("crates/a/src/plan/tests"));
        assert_eq!(file("crates/a/src/plan.rs"), Path::new("crates/a/src/plan/tests"));
    }

    #[test]
    fn the_workspace_has_mutants_and_none_of_them_in_tests() {
        let workspace = Workspace::locate().unwrap();
        let all = read(&workspace, &[]).unwrap().all;
        assert!(all.len() > 5000, "{}", all.len());
        assert!(all.iter().all(|placed| !placed.file.ends_with("tests.rs") && placed.package != "simweb"));
        let only = read(&workspace, &["types".to_owned()]).unwrap().all;
        assert!(!only.is_empty() && only.iter().all(|placed| placed.package == "types"));
    }

    #[test]
    fn an_error_without_a_place_in_a_mutant_is_blamed_on_its_file() {
        let source = "fn f(a: u8) -> bool { a == 1 }\n";
        let mutants = find::mutants(source, &BTreeSet::new()).unwrap().mutants;
        let switched = Switched::new(source, &[(7, &mutants[0])]);
        let written = BTreeMap::from([(PathBuf::from("crates/a/src/f.rs"), switched)]);
        let span = |file: &str, from: u64, to: u64| serde_json::json!({"spans": [{"file_name": file, "byte_start": from, "byte_end": to, "is_primary": true}]});
        assert_eq!(blame(&span("crates/a/src/f.rs", 0, 1), &written), BTreeSet::from([7]));
        assert!(blame(&span("crates/a/src/g.rs", 0, 1), &written).is_empty());
    }
}
