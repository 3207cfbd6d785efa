//! The physical limit: how fast a client that does nothing but fetch gets the same URLs from the same server.

use std::collections::BTreeSet;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::measure;
use crate::nginx::Nginx;

use super::peers::first_line;
use super::results::Limit;
use super::round::Arena;

/// Long enough to be steady, in seconds.
const DURATION_SECONDS: u64 = 10;

/// Asks for the URLs in a file in turn. The shell of `wrk` reads it once per thread.
const SCRIPT: &str = "local paths = {}
for line in io.lines('urls') do paths[#paths + 1] = line end
local at = 0
request = function()
  at = at % #paths + 1
  return wrk.format('GET', paths[at])
end
";

pub fn run(arena: &Arena<'_>, server: &Nginx, urls: &BTreeSet<String>) -> Result<Limit> {
    arena.clean()?;
    let list: Vec<&str> = urls.iter().map(String::as_str).collect();
    std::fs::write(arena.work.join("urls"), list.join("\n"))?;
    std::fs::write(arena.work.join("cycle.lua"), SCRIPT)?;
    let mut command = Command::new("wrk");
    command.args(["-t1", "-c64", &format!("-d{DURATION_SECONDS}s"), "-s", "cycle.lua", &server.url("")]);
    command.current_dir(&arena.work);
    let (cost, said) = measure::measure(&command, Duration::from_secs(4 * DURATION_SECONDS), &arena.work)?;
    let (rate, total) = read(&said).with_context(|| format!("wrk said: {said}"))?;
    std::fs::remove_dir_all(&arena.work)?;
    Ok(Limit {
        requests_per_s: rate,
        cpu_s_per_1000_requests: (cost.user_s + cost.system_s) * 1000.0 / total.max(1.0),
        version: first_line(Command::new("wrk").arg("-v")),
    })
}

/// Requests per second and in all, from what wrk prints.
fn read(said: &str) -> Option<(f64, f64)> {
    let rate =
        said.lines().find_map(|line| line.trim().strip_prefix("Requests/sec:"))?.trim().parse().ok()?;
    let total =
        said.lines().find_map(|line| line.trim().split_once(" requests in "))?.0.trim().parse().ok()?;
    Some((rate, total))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_of_wrk_are_read() {
        let said = "Running 10s test\n  731205 requests in 10.10s, 16.70GB read\nRequests/sec:  72401.13\n";
        assert_eq!(read(said), Some((72_401.13, 731_205.0)));
        assert_eq!(read("unable to connect"), None);
    }
}
