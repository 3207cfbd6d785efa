//! The one place where the engine reads the time.
//!
//! Within a run this is the wall clock as it was at the first look, moved on by a clock that only goes forward: whatever is
//! done to the wall clock meanwhile, no pause grows or shrinks by it. The next run begins with the wall clock anew.

use std::sync::OnceLock;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use lycosa_types::UnixMs;

/// The first look: both clocks at one moment.
static START: OnceLock<(u64, Instant)> = OnceLock::new();

/// Now, in milliseconds since the epoch.
pub fn now() -> UnixMs {
    let (wall_ms, at) = START.get_or_init(|| (wall_ms(), Instant::now()));
    UnixMs(wall_ms.saturating_add(at.elapsed().as_millis() as u64))
}

/// How far the wall clock is ahead of [`now`], in milliseconds; behind it if negative.
pub fn drift_ms() -> i64 {
    let now = now().0;
    wall_ms().cast_signed().saturating_sub(now.cast_signed())
}

fn wall_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |age| age.as_millis() as u64)
}
