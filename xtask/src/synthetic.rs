//! The synthetic web as a server of its own: started for a measurement, ended with it.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};

const CLOCK_MOMENT: Duration = Duration::from_millis(500);

/// A synthetic web that is being served until this is dropped.
pub struct SyntheticWeb {
    server: Child,
    /// For `--resolve`: every host of it is at this address.
    pub resolve: String,
    /// Where to begin.
    pub seed: String,
}

impl SyntheticWeb {
    pub fn start<A: AsRef<OsStr>>(binary: &Path, args: impl IntoIterator<Item = A>) -> Result<Self> {
        let mut server = Command::new(binary)
            .args(["--port", "0"])
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("starting the synthetic web")?;
        let said = server.stdout.take().context("the synthetic web's output")?;
        let mut lines = BufReader::new(said).lines();
        let mut line = || lines.next().context("the synthetic web ended at once")?.context("reading from it");
        let (address, seed) = (line()?, line()?);
        Ok(Self { server, resolve: format!("*:80:{address}"), seed })
    }

    /// Sets the clock of the world. The server acknowledges nothing, so it gets a moment to read the line.
    pub fn set_time_ms(&mut self, ms: u64) -> Result<()> {
        let input = self.server.stdin.as_mut().context("the synthetic web takes no more input")?;
        writeln!(input, "time {ms}").context("setting the clock of the synthetic web")?;
        std::thread::sleep(CLOCK_MOMENT);
        Ok(())
    }
}

impl Drop for SyntheticWeb {
    fn drop(&mut self) {
        // The end of its input ends the server, which writes its ledger then.
        drop(self.server.stdin.take());
        self.server.wait().ok();
    }
}
