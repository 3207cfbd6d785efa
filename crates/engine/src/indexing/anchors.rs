//! The texts of links by the page they point to, within a bound on memory.
//!
//! A page keeps its first [`MAX_TEXTS`] different texts. Once the bound on targets or on bytes is reached, further texts
//! are dropped, while links to pages already noted still count.

use std::collections::HashMap;

use lycosa_types::Digest;

/// Texts kept for a page.
const MAX_TEXTS: usize = 20;
/// The part of a text that is kept.
const MAX_TEXT_BYTES: usize = 80;
/// Bytes of all texts together.
const MAX_BYTES: usize = 256 << 20;
/// Pages that links are noted for.
const MAX_TARGETS: usize = 4 << 20;

#[derive(Debug, Default)]
struct Target {
    links: u32,
    texts: Vec<Box<str>>,
}

#[derive(Debug, Default)]
pub struct Anchors {
    targets: HashMap<u64, Target>,
    bytes: usize,
    links: u64,
}

impl Anchors {
    /// Notes a link to the page under a key.
    pub fn note(&mut self, key: u64, text: &str) {
        if self.targets.len() >= MAX_TARGETS && !self.targets.contains_key(&key) {
            return;
        }
        let target = self.targets.entry(key).or_default();
        target.links = target.links.saturating_add(1);
        self.links += 1;
        let text = beginning(text.trim());
        let is_new = !text.is_empty() && !target.texts.iter().any(|known| **known == *text);
        if is_new && target.texts.len() < MAX_TEXTS && self.bytes + text.len() <= MAX_BYTES {
            self.bytes += text.len();
            target.texts.push(text.into());
        }
    }

    /// The texts of links to a page.
    pub fn of(&self, key: u64) -> Vec<String> {
        let texts = self.targets.get(&key).map(|target| target.texts.iter());
        texts.into_iter().flatten().map(|text| text.to_string()).collect()
    }

    /// Links to a page as a multiple of the average.
    pub fn rank(&self, key: u64) -> f64 {
        let links = self.targets.get(&key).map_or(0, |target| target.links);
        let average = self.links as f64 / self.targets.len().max(1) as f64;
        if average > 0.0 { f64::from(links) / average } else { 0.0 }
    }

    /// A number that changes when the texts do.
    pub fn version(&self, key: u64) -> u32 {
        let mut bytes = Vec::new();
        if let Some(target) = self.targets.get(&key) {
            for text in &target.texts {
                bytes.extend(text.as_bytes());
                bytes.push(0);
            }
        }
        Digest::of(&bytes).0 as u32
    }
}

fn beginning(text: &str) -> &str {
    let mut end = text.len().min(MAX_TEXT_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_kept_within_bounds() {
        let mut anchors = Anchors::default();
        let key = 3;
        for number in 0..100 {
            anchors.note(key, &format!("text {number}{}", "é".repeat(100)));
            anchors.note(key, "again");
        }
        anchors.note(4, "");
        let texts = anchors.of(key);
        assert_eq!(texts.len(), MAX_TEXTS);
        assert!(texts.iter().all(|text| text.len() <= MAX_TEXT_BYTES));
        assert_eq!(texts.iter().filter(|text| *text == "again").count(), 1);
        assert!(anchors.rank(key) > 1.0 && anchors.rank(7) == 0.0);
        let before = anchors.version(key);
        anchors.note(key, "again");
        assert_eq!(anchors.version(key), before);
    }
}
