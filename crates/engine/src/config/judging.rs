//! The `[judging]` section: what is told from a page's text and structure.

use lycosa_page::keywords::KEYWORD_THRESHOLD;
use lycosa_page::{WinnowConfig, WinnowHash};
use serde::{Deserialize, Serialize};

/// The hash that winnowing uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MinutiaHash {
    #[default]
    Fast,
    Md5,
}

/// How near-duplicates are told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NearMethod {
    /// By the minutiae of their letters.
    #[default]
    Winnowing,
    /// By how often they use which words.
    Keywords,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct JudgingConfig {
    pub signatures: bool,
    pub near_duplicates: bool,
    pub near_method: NearMethod,
    pub k: usize,
    pub w: usize,
    pub hash: MinutiaHash,
    pub least_resemblance: f64,
    pub least_keyword_similarity: f64,
    pub store_near_duplicates: bool,
    pub skip_mirrors: bool,
    pub images: u8,
    pub main_content: bool,
}

impl Default for JudgingConfig {
    fn default() -> Self {
        let winnow = WinnowConfig::default();
        Self {
            signatures: true,
            near_duplicates: true,
            near_method: NearMethod::default(),
            k: winnow.k,
            w: winnow.w,
            hash: MinutiaHash::Fast,
            least_resemblance: 0.9,
            least_keyword_similarity: KEYWORD_THRESHOLD,
            store_near_duplicates: true,
            skip_mirrors: false,
            images: 0,
            main_content: false,
        }
    }
}

impl JudgingConfig {
    pub fn winnow(&self) -> WinnowConfig {
        let hash = match self.hash {
            MinutiaHash::Fast => WinnowHash::Fast,
            MinutiaHash::Md5 => WinnowHash::Md5,
        };
        WinnowConfig { k: self.k, w: self.w, hash }
    }
}
