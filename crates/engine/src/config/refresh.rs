//! Settings of visiting pages again.

use lycosa_frontier::UrlPatterns;
use lycosa_frontier::revisit::{Budget, BudgetUnit, PolicyKind, PolicyOptions};
use lycosa_page::{NoiseMode, PageRules, Selector};
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
    pub rules: Vec<RefreshRule>,
}

/// What holds for pages whose URLs match a pattern.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RefreshRule {
    /// A pattern as in `scope.exclude`.
    pub urls: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<NoiseMode>,
    /// Selectors of what is noise.
    #[serde(default)]
    pub ignore: Vec<String>,
    /// Selectors of what alone matters.
    #[serde(default)]
    pub only: Vec<String>,
    /// Lines that hold one of these are noise.
    #[serde(default)]
    pub ignore_lines: Vec<String>,
}

/// The rules, ready to be asked about URLs.
#[derive(Debug, Default)]
pub struct NoiseRules {
    patterns: UrlPatterns,
    rules: Vec<(Option<NoiseMode>, PageRules)>,
    otherwise: NoiseMode,
}

impl NoiseRules {
    /// What may be called noise at a URL, and what the user says about its parts. The first rule that matches holds.
    pub fn of(&self, url: &str) -> (NoiseMode, Option<&PageRules>) {
        let rule = if self.rules.is_empty() { None } else { self.patterns.first(url) };
        match rule.and_then(|at| self.rules.get(at)) {
            Some((noise, parts)) => (noise.unwrap_or(self.otherwise), Some(parts)),
            None => (self.otherwise, None),
        }
    }
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
            rules: Vec::new(),
        }
    }
}

impl RefreshConfig {
    /// The rules about noise, or what is wrong with them.
    pub fn noise_rules(&self) -> Result<NoiseRules, String> {
        let urls: Vec<String> = self.rules.iter().map(|rule| rule.urls.clone()).collect();
        let patterns = UrlPatterns::new(&urls).map_err(|error| error.to_string())?;
        let parse = |selectors: &[String]| -> Result<Vec<Selector>, String> {
            selectors.iter().map(|text| Selector::parse(text).map_err(|error| error.to_string())).collect()
        };
        let rules = self.rules.iter().map(|rule| {
            let (ignore, only) = (parse(&rule.ignore)?, parse(&rule.only)?);
            Ok((rule.noise, PageRules { ignore, only, ignore_lines: rule.ignore_lines.clone() }))
        });
        let rules = rules.collect::<Result<_, String>>()?;
        Ok(NoiseRules { patterns, rules, otherwise: self.noise })
    }

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
