//! A topic told by example: the words of a page.

use std::path::Path;

use anyhow::{Context, Result, bail};
use lycosa_page::{Extract, Limits, Scanner, Topic, charset};

/// Words taken from one example.
const MOST_WORDS: usize = 40;

/// The words that tell most about the page in a file.
pub fn words_of_file(path: &Path) -> Result<Vec<String>> {
    let bytes =
        std::fs::read(path).with_context(|| format!("reading the example page {}", path.display()))?;
    let decoded = charset::decode(&bytes, None);
    let mut page = Extract::new();
    Scanner::new(Limits::default()).scan(&decoded.text, &mut page);
    let words = Topic::words_of(&page.text, MOST_WORDS);
    if words.is_empty() {
        bail!("{} has no words that tell a topic; choose another example or use --topic", path.display());
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_no_topic() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.html");
        std::fs::write(&path, "<html><script>var token</script><p>trout and trout</p>").unwrap();
        assert_eq!(words_of_file(&path).unwrap(), ["trout:1.000"]);
        std::fs::write(&path, "<p>").unwrap();
        assert!(words_of_file(&path).is_err());
    }
}
