//! Running other programs: with their output passed on, or captured; finding them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// Runs with output passed on; an exit code other than 0 is an error that shows the command.
pub fn run(command: &mut Command) -> Result<()> {
    let status =
        command.stdin(Stdio::null()).status().with_context(|| format!("starting {}", show(command)))?;
    if !status.success() {
        bail!("{} ended with {status}", show(command));
    }
    Ok(())
}

/// Standard output of a command that must succeed.
pub fn capture(command: &mut Command) -> Result<String> {
    let output =
        command.stdin(Stdio::null()).output().with_context(|| format!("starting {}", show(command)))?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        bail!("{} ended with {}: {}", show(command), output.status, errors.trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Whether a command can be started and succeeds, whatever it prints.
pub fn succeeds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Looks a program up on the path, and in the directories of servers that a user's path often lacks.
pub fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/local/sbin", "/usr/sbin", "/sbin"].iter().map(PathBuf::from))
        .map(|dir| dir.join(name))
        .find(|file| is_file(file))
}

/// A program that set-up installs; where it is missing, the error names it and the command.
pub fn needed(name: &str) -> Result<PathBuf> {
    find(name).with_context(|| format!("{name} is not installed: `cargo xtask setup` installs it"))
}

fn is_file(path: &Path) -> bool {
    path.metadata().is_ok_and(|meta| meta.is_file())
}

fn show(command: &Command) -> String {
    let mut line = command.get_program().to_string_lossy().into_owned();
    for argument in command.get_args() {
        line.push(' ');
        line.push_str(&argument.to_string_lossy());
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_program_is_named_with_its_arguments() {
        let error = run(Command::new("false").arg("x")).unwrap_err().to_string();
        assert!(error.starts_with("false x ended with"), "{error}");
        assert!(succeeds(&mut Command::new("true")));
        assert_eq!(capture(Command::new("echo").arg("hello")).unwrap(), "hello\n");
    }

    #[test]
    fn programs_are_found_by_name() {
        assert!(find("sh").is_some());
        assert!(find("no-such-program-here").is_none());
    }

    #[test]
    fn a_missing_program_is_refused_by_name_with_the_command_that_installs_it() {
        assert_eq!(needed("sh").unwrap(), find("sh").unwrap());
        let error = needed("no-such-program-here").unwrap_err().to_string();
        assert!(error.contains("no-such-program-here") && error.contains("`cargo xtask setup`"), "{error}");
    }
}
