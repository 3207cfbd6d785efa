//! The binary under test.

use std::io::Write;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use nix::unistd::Pid;
use serde_json::Value;

/// No run of these tests takes longer, unless something hangs.
const TIMEOUT: Duration = Duration::from_secs(60);

/// What a run printed and returned.
#[derive(Debug)]
pub struct Run {
    pub code: i32,
    pub out: String,
    pub raw: Vec<u8>,
    pub err: String,
}

impl Run {
    /// Fails the test unless the run ended with `code`.
    #[track_caller]
    pub fn expect_code(self, code: i32) -> Self {
        assert_eq!(self.code, code, "out: {}\nerr: {}", self.out, self.err);
        self
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}", self.out))
    }

    /// One value for each line.
    #[track_caller]
    pub fn json_lines(&self) -> Vec<Value> {
        self.out.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
    }
}

pub fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lycosa"));
    command
        .args(args)
        .env_remove("RUST_LOG")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Runs the binary to its end.
pub fn lycosa(args: &[&str]) -> Run {
    finish(command(args).spawn().unwrap())
}

/// The same with something on standard input.
pub fn lycosa_reading(args: &[&str], input: &[u8]) -> Run {
    let mut child = command(args).stdin(Stdio::piped()).spawn().unwrap();
    // A program that does not read all of it closes the pipe: no matter.
    let _ = child.stdin.take().unwrap().write_all(input);
    finish(child)
}

/// Sends a signal to a program.
pub fn send(child: &Child, signal: Signal) {
    nix::sys::signal::kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), signal).unwrap();
}

pub fn finish(mut child: Child) -> Run {
    // The pipes are drained beside, so that a long output does not hold the program up.
    let (stdout, stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let drain = |mut pipe: Box<dyn std::io::Read + Send>| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            pipe.read_to_end(&mut bytes).unwrap();
            bytes
        })
    };
    let (out, err) = (drain(Box::new(stdout)), drain(Box::new(stderr)));
    let started = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if started.elapsed() > TIMEOUT {
            child.kill().unwrap();
            panic!("the program did not end within {TIMEOUT:?}");
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    let output = Output { status, stdout: out.join().unwrap(), stderr: err.join().unwrap() };
    Run {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        raw: output.stdout,
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}
