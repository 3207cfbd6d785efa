//! How many connections the files leave room for that the process may have open.

use nix::sys::resource::{Resource, getrlimit};

use super::Config;

/// Of the files the process may have open, connections take at most one part in so many.
const CONNECTIONS_OF_FILES: u64 = 2;

/// Files of the state, the archive and the event loops, at most.
const OTHER_FILES: u64 = 128;

/// Connections that a crawl has even where the system grants next to nothing.
const LEAST_CONNECTIONS: usize = 8;

/// Files the system lets the process have open.
fn open_files() -> u64 {
    getrlimit(Resource::RLIMIT_NOFILE).map_or(1024, |(soft, _)| soft)
}

/// Connections that leave enough files for state, archive and name look-ups.
fn connections_of(files: u64) -> usize {
    let rest = files.saturating_sub(OTHER_FILES) / CONNECTIONS_OF_FILES;
    usize::try_from(rest).unwrap_or(usize::MAX).max(LEAST_CONNECTIONS)
}

impl Config {
    /// Requests that may be under way: as many as are wanted and the system has files for.
    pub fn requests_under_way(&self) -> usize {
        self.fetch.concurrency.min(self.connections()).max(1)
    }

    /// Look-ups that may be under way: each may take a file.
    pub(super) fn lookups_under_way(&self) -> usize {
        self.fetch.dns_lookups.min(self.connections() / 2).max(1)
    }

    /// Connections that may be open.
    pub(super) fn connections(&self) -> usize {
        connections_of(open_files())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_under_way_leave_files_for_the_rest() {
        for files in [200, 256, 512, 1024, 65_536] {
            let connections = connections_of(files);
            let all = OTHER_FILES + connections as u64 + connections as u64 / 2;
            assert!(all <= files, "{connections} connections of {files} files");
        }
        assert!(
            connections_of(1024) >= Config::default().fetch.concurrency,
            "the usual limit changes nothing"
        );
        assert_eq!(connections_of(0), LEAST_CONNECTIONS);
    }
}
