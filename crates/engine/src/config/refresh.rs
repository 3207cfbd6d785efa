//! Settings of visiting pages again.

use lycosa_frontier::revisit::{Budget, BudgetUnit, PolicyKind, PolicyOptions};
use lycosa_page::NoiseMode;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RefreshConfig {
    pub continuous: bool,
    pub budget_per_s: f64,
    pub unit: BudgetUnit,
    pub share: f64,
    pub policy: PolicyKind,
    pub min_interval_s: u64,
    pub max_interval_s: u64,
    pub store_noise: bool,
    pub noise: NoiseMode,
}

impl Default for RefreshConfig {
    fn default() -> Self {
        Self {
            continuous: false,
            budget_per_s: 10.0,
            unit: BudgetUnit::Requests,
            share: 0.5,
            policy: PolicyKind::Optimal,
            min_interval_s: 60,
            max_interval_s: 90 * 86_400,
            store_noise: false,
            noise: NoiseMode::Normal,
        }
    }
}

impl RefreshConfig {
    pub fn budget(&self) -> Budget {
        Budget { per_s: self.budget_per_s, unit: self.unit, refresh_share: self.share }
    }

    pub fn policy_options(&self) -> PolicyOptions {
        PolicyOptions {
            kind: self.policy,
            min_interval_ms: self.min_interval_s.saturating_mul(1000),
            max_interval_ms: (self.max_interval_s > 0).then(|| self.max_interval_s.saturating_mul(1000)),
            ..PolicyOptions::default()
        }
    }
}
