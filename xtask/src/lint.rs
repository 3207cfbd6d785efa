//! The compiler's part of the checks: formatting, clippy, and the tests of every crate.

use crate::checks::Checks;
use crate::program;
use crate::workspace::Workspace;

pub fn run(workspace: &Workspace, checks: &mut Checks) {
    checks.run("formatting", || program::run(workspace.cargo().args(["fmt", "--all", "--check"])));
    checks.run("clippy", || {
        program::run(workspace.cargo().args([
            "clippy",
            "--workspace",
            "--all-targets",
            "--quiet",
            "--",
            "-D",
            "warnings",
        ]))
    });
}

pub fn tests(workspace: &Workspace, checks: &mut Checks) {
    checks.run("build", || workspace.build_tested().map(drop));
    checks.run("tests", || program::run(workspace.cargo().args(["test", "--workspace", "--no-fail-fast"])));
}
