//! The Python environment that `cargo xtask setup` makes, and the programs in it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Where the environment is: in the checkout, unless `LYCOSA_VENV` names another.
pub fn environment() -> PathBuf {
    match std::env::var_os("LYCOSA_VENV") {
        Some(dir) => PathBuf::from(dir),
        None => {
            let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
            checkout.unwrap_or(Path::new("/")).join(".venv")
        }
    }
}

/// A program of the environment.
///
/// # Panics
/// Where it is not there: with its name and the command that installs it.
pub fn tool(name: &str) -> PathBuf {
    let program = environment().join("bin").join(name);
    assert!(program.is_file(), "{}", missing(name, &program));
    program
}

/// The environment's Python, which can import this module.
///
/// # Panics
/// Where it cannot: with the module's name and the command that installs it.
pub fn python_with(module: &str) -> PathBuf {
    let python = tool("python");
    let imported = Command::new(&python)
        .args(["-c", &format!("import {module}")])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    assert!(imported, "{}", missing(module, &python));
    python
}

/// What a test says when it cannot run.
pub fn missing(name: &str, place: &Path) -> String {
    format!("this test needs {name}, which is not at {}: `cargo xtask setup` installs it", place.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(call: impl FnOnce() + std::panic::UnwindSafe) -> String {
        let panic = std::panic::catch_unwind(call).unwrap_err();
        panic.downcast_ref::<String>().unwrap().clone()
    }

    #[test]
    fn a_missing_program_fails_by_name_with_the_command_that_installs_it() {
        let said = said(|| drop(tool("no-such-program-here")));
        assert!(said.contains("no-such-program-here") && said.contains("`cargo xtask setup`"), "{said}");
    }

    #[test]
    fn a_missing_module_fails_by_name_with_the_command_that_installs_it() {
        let said = said(|| drop(python_with("no_such_module_here")));
        assert!(said.contains("no_such_module_here") && said.contains("`cargo xtask setup`"), "{said}");
    }

    #[test]
    fn what_set_up_installs_is_found_without_a_variable() {
        assert!(tool("nats-server").ends_with("bin/nats-server"));
        assert!(python_with("networkx").ends_with("bin/python"));
    }
}
