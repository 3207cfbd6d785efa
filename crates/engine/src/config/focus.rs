//! Settings of a crawl that looks for pages on a topic.

use lycosa_page::Topic;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FocusConfig {
    pub topic: Vec<String>,
    pub least_link: f32,
    pub least_page: f32,
    pub relevant_from: f32,
}

impl Default for FocusConfig {
    fn default() -> Self {
        Self { topic: Vec::new(), least_link: 0.0, least_page: 0.0, relevant_from: 0.25 }
    }
}

impl FocusConfig {
    /// The topic, if there is one.
    pub fn topic(&self) -> Option<Topic> {
        let topic = Topic::new(self.topic.iter().map(String::as_str));
        (!topic.is_empty()).then_some(topic)
    }
}
