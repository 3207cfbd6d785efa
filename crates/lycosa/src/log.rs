//! The log: on standard error, without colours, so that a file or a pager gets plain text, and without what a server may
//! have written into it.

use std::io::{self, Write};

use crate::foreign::{Cleaner, Kind};

/// What is logged without -v: our own warnings. Those of libraries say nothing that a user can act on.
const WARNINGS: &str = "error,lycosa=warn";

/// Starts the log. `verbose` counts the -v.
pub fn start(verbose: u8) {
    let level = match verbose {
        0 => WARNINGS,
        // The index library tells of merges that a newer commit overtook: nothing to act on.
        1 => "warn,tantivy=error,lycosa=info",
        _ => "warn,lycosa=debug",
    };
    let filter = tracing_subscriber::EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new(level));
    tracing_subscriber::fmt().with_env_filter(filter).with_ansi(false).with_writer(Lines::new).init();
}

/// Takes the lines of the log. Where they cannot be written they are lost, and nothing else is.
struct Lines(Cleaner<io::Stderr>);

impl Lines {
    fn new() -> Self {
        Self(Cleaner::new(io::stderr(), Kind::Text, false))
    }
}

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = self.0.write_all(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let _ = self.0.flush();
        Ok(())
    }
}
