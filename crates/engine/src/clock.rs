//! The one place where the engine reads the wall clock.

use std::time::{SystemTime, UNIX_EPOCH};

use lycosa_types::UnixMs;

/// Now, in milliseconds since the epoch.
pub fn now() -> UnixMs {
    UnixMs(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |age| age.as_millis() as u64))
}
