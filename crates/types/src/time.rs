//! Milliseconds since the Unix epoch: the one clock value that is stored or sent.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UnixMs(pub u64);

impl UnixMs {
    /// This instant, moved later by `delay_ms`; saturates rather than wraps.
    pub fn plus_ms(self, delay_ms: u64) -> Self {
        Self(self.0.saturating_add(delay_ms))
    }

    /// Milliseconds from `earlier` to here, zero if `earlier` is later.
    pub fn since_ms(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}
