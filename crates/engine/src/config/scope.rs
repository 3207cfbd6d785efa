//! The `[scope]` section: how far from the seeds a crawl goes.

use lycosa_frontier::ScopeKind;
use serde::{Deserialize, Serialize};

/// The depth beyond which pages that say something new lead on.
pub(super) const DEFAULT_DEPTH: u16 = 10;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ScopeConfig {
    pub kind: ScopeKind,
    pub include: Vec<String>,
    pub exclude: Vec<String>,
    pub depth: u16,
    pub deeper: bool,
    pub max_redirects: u8,
    pub images: bool,
}

impl Default for ScopeConfig {
    fn default() -> Self {
        let (include, exclude) = (Vec::new(), Vec::new());
        Self {
            kind: ScopeKind::Host,
            include,
            exclude,
            depth: DEFAULT_DEPTH,
            deeper: true,
            max_redirects: 10,
            images: false,
        }
    }
}
