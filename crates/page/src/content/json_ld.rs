//! Articles in JSON-LD: the first object of an article type, wherever it stands.

use serde_json::Value;

/// Bytes of one block that are parsed.
const MAX_BLOCK: usize = 512 << 10;
/// Values looked at in all blocks of a page.
const MAX_VALUES: usize = 4096;

/// What structured data say about the article.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Statement {
    pub headline: Option<String>,
    pub author: Option<String>,
    pub published: Option<String>,
    pub modified: Option<String>,
}

pub(super) fn read<'s>(blocks: impl Iterator<Item = &'s str>) -> Statement {
    let mut said = Statement::default();
    let mut left = MAX_VALUES;
    for block in blocks.filter(|b| b.len() <= MAX_BLOCK) {
        if let Ok(value) = serde_json::from_str::<Value>(block.trim().trim_end_matches(';')) {
            look(&value, &mut said, &mut left);
        }
    }
    said
}

fn look(value: &Value, said: &mut Statement, left: &mut usize) {
    if *left == 0 {
        return;
    }
    *left -= 1;
    match value {
        Value::Array(items) => items.iter().for_each(|item| look(item, said, left)),
        Value::Object(object) => {
            if is_article(object.get("@type")) {
                let text = |key: &str| object.get(key).and_then(Value::as_str).map(str::to_owned);
                said.headline = said.headline.take().or_else(|| text("headline").or_else(|| text("name")));
                said.author = said.author.take().or_else(|| object.get("author").and_then(name));
                said.published = said.published.take().or_else(|| text("datePublished"));
                said.modified = said.modified.take().or_else(|| text("dateModified"));
            }
            for key in ["@graph", "mainEntity", "mainEntityOfPage", "itemListElement"] {
                if let Some(inner) = object.get(key) {
                    look(inner, said, left);
                }
            }
        }
        _ => {}
    }
}

fn is_article(kind: Option<&Value>) -> bool {
    let one = |k: &str| {
        k.ends_with("Article") || k.ends_with("Posting") || matches!(k, "Report" | "Review" | "Recipe")
    };
    match kind {
        Some(Value::String(kind)) => one(kind),
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).any(one),
        _ => false,
    }
}

/// A name, the name of a person, or the names of several.
fn name(value: &Value) -> Option<String> {
    match value {
        Value::String(name) => Some(name.clone()),
        Value::Object(person) => person.get("name").and_then(Value::as_str).map(str::to_owned),
        Value::Array(people) => {
            let names: Vec<String> =
                people.iter().take(8).filter_map(|p| if p.is_array() { None } else { name(p) }).collect();
            (!names.is_empty()).then(|| names.join(", "))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn articles_are_found_in_graphs() {
        let blocks = [
            "not json",
            r#"{"@graph":[{"@type":"WebSite","name":"S"},{"@type":["NewsArticle"],"headline":"H","author":[{"name":"A"},"B"],"datePublished":"2020-01-02"}]}"#,
        ];
        let said = read(blocks.into_iter());
        assert_eq!((said.headline.as_deref(), said.author.as_deref()), (Some("H"), Some("A, B")));
        assert_eq!((said.published.as_deref(), said.modified), (Some("2020-01-02"), None));
    }
}
