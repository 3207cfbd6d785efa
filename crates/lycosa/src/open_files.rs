//! How many files and connections the process may have open: as many as the system grants.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// More is never of use.
const ENOUGH: u64 = 1 << 16;

/// Raises the soft limit, often 1024, towards the hard one. A system that refuses leaves things as they were.
pub fn raise() {
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) {
        let wanted = hard.min(ENOUGH);
        if soft < wanted {
            let _ = setrlimit(Resource::RLIMIT_NOFILE, wanted, hard);
        }
    }
}
