//! Simple selectors, for rules about parts of pages: `tag`, `#id`, `.class`, `[attr]`, `[attr=value]`, joined without blanks
//! for one element and with blanks for one inside another.

use super::extract::Extract;
use super::tree::{NO_PARENT, Tree};

/// Elements above one that are looked at.
const MAX_ABOVE: usize = 512;

/// A selector, parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selector(Vec<Vec<Part>>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Any,
    Tag(String),
    Id(String),
    Class(String),
    Attribute(String, Option<String>),
}

/// Why a selector cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no selector: write tag, #id, .class, [attr] or [attr=value], with blanks for what is inside"
)]
pub struct BadSelector(pub String);

impl Selector {
    pub fn parse(text: &str) -> Result<Self, BadSelector> {
        let elements: Option<Vec<_>> = text.split_ascii_whitespace().map(element).collect();
        elements.filter(|found| !found.is_empty()).map(Self).ok_or_else(|| BadSelector(text.to_owned()))
    }

    /// Whether it means the node at `at`.
    pub(crate) fn means(&self, source: &str, page: &Extract, tree: &Tree, at: usize) -> bool {
        let [above @ .., own] = self.0.as_slice() else { return false };
        if !is_one(own, source, page, tree, at) {
            return false;
        }
        let mut wanted = above.iter().rev().peekable();
        let mut parent = tree.nodes.get(at).map_or(NO_PARENT, |node| node.parent);
        for _ in 0..MAX_ABOVE {
            let Some(next) = wanted.peek() else { return true };
            let Some(node) = tree.nodes.get(parent as usize).filter(|_| parent != NO_PARENT) else {
                return false;
            };
            if is_one(next, source, page, tree, parent as usize) {
                wanted.next();
            }
            parent = node.parent;
        }
        wanted.peek().is_none()
    }
}

fn is_one(parts: &[Part], source: &str, page: &Extract, tree: &Tree, at: usize) -> bool {
    let Some(node) = tree.nodes.get(at) else { return false };
    let Some(event) = page.events.get(node.event as usize) else { return false };
    parts.iter().all(|part| match part {
        Part::Any => true,
        Part::Tag(name) => page.tag_name(node.tag).eq_ignore_ascii_case(name),
        Part::Id(id) => event.attribute(source, "id").is_some_and(|value| value == id),
        Part::Class(class) => event
            .attribute(source, "class")
            .is_some_and(|value| value.split_ascii_whitespace().any(|one| one == class)),
        Part::Attribute(name, None) => event.attribute(source, name).is_some(),
        Part::Attribute(name, Some(wanted)) => {
            event.attribute(source, name).is_some_and(|value| value == wanted)
        }
    })
}

/// The parts of one element.
fn element(text: &str) -> Option<Vec<Part>> {
    let mut parts = Vec::new();
    let mut rest = text;
    let is_name =
        |name: &str| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_'));
    while !rest.is_empty() {
        if let Some(inside) = rest.strip_prefix('[') {
            let (said, after) = inside.split_once(']')?;
            let (name, value) = match said.split_once('=') {
                Some((name, value)) => (name, Some(value.trim_matches(['"', '\'']).to_owned())),
                None => (said, None),
            };
            if !is_name(name) {
                return None;
            }
            parts.push(Part::Attribute(name.to_ascii_lowercase(), value));
            rest = after;
            continue;
        }
        let sign = rest.chars().next().filter(|c| matches!(c, '#' | '.'));
        let from = usize::from(sign.is_some());
        let tail = rest.get(from..)?;
        let end = tail.find(['#', '.', '[']).unwrap_or(tail.len());
        let (name, after) = tail.split_at(end);
        parts.push(match sign {
            None if name == "*" => Part::Any,
            _ if !is_name(name) => return None,
            Some('#') => Part::Id(name.to_owned()),
            Some(_) => Part::Class(name.to_owned()),
            None => Part::Tag(name.to_ascii_lowercase()),
        });
        rest = after;
    }
    Some(parts)
}

/// What a user says about the pages of a site: which parts are noise, or which alone matter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PageRules {
    /// Parts that are noise.
    pub ignore: Vec<Selector>,
    /// If there are any: everything outside these parts is noise.
    pub only: Vec<Selector>,
    /// Lines that hold one of these are noise.
    pub ignore_lines: Vec<String>,
}

impl PageRules {
    /// Adds the ranges of text and nodes that are noise to those known; both stay sorted and disjoint.
    pub(crate) fn mark(
        &self,
        source: &str,
        page: &Extract,
        tree: &Tree,
        spans: &mut Vec<(u32, u32)>,
        nodes: &mut Vec<(u32, u32)>,
    ) {
        let found = |selectors: &[Selector]| {
            let mut found = Vec::new();
            let mut at = 0;
            while let Some(node) = tree.nodes.get(at) {
                let here = at;
                at += 1;
                if selectors.iter().any(|selector| selector.means(source, page, tree, here)) {
                    // The separator in front of the first word is not the block's own.
                    let start = node.text_start + u32::from(node.text_start > 0);
                    found.push(((start.min(node.text_end), node.text_end), (here as u32, node.end)));
                    at = node.end as usize;
                }
            }
            found
        };
        for (text, range) in found(&self.ignore) {
            spans.push(text);
            nodes.push(range);
        }
        if !self.only.is_empty() {
            let (mut text_at, mut node_at) = (0, 0);
            for (text, range) in found(&self.only) {
                spans.push((text_at, text.0));
                nodes.push((node_at, range.0));
                (text_at, node_at) = (text.1, range.1);
            }
            spans.push((text_at, page.text.len() as u32 + 1));
            nodes.push((node_at, tree.nodes.len() as u32));
        }
        if !self.ignore_lines.is_empty() {
            let mut at = 0;
            for line in page.text.split('\n') {
                if self.ignore_lines.iter().any(|part| line.contains(part.as_str())) {
                    spans.push((at, at + line.len() as u32));
                }
                at += line.len() as u32 + 1;
            }
        }
        join(spans);
        join(nodes);
    }
}

/// Sorts ranges and makes one of those that overlap.
fn join(ranges: &mut Vec<(u32, u32)>) {
    ranges.retain(|range| range.0 < range.1);
    ranges.sort_unstable();
    ranges.dedup_by(|next, before| {
        let overlap = next.0 < before.1;
        if overlap {
            before.1 = before.1.max(next.1);
        }
        overlap
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Judger, Limits, Scanner, Signatures, Verdict, compare};

    fn sign(html: &str, rules: &PageRules) -> Signatures {
        let mut page = Extract::new();
        Scanner::new(Limits::default()).scan(html, &mut page);
        let mut judger = Judger::default();
        judger.rules(Some(rules.clone()));
        judger.sign(html, &page, None)
    }

    fn page(price: u32, stock: u32, quote: &str) -> String {
        format!(
            "<title>Shop</title><h1>Wolf</h1><p id=price class='big bold'>€{price}</p><div class=item><p data-stock>{stock} left</p>\
             </div><p>{quote}</p><a href=/{quote}>go</a>"
        )
    }

    fn told(rules: &PageRules, new: &str) -> Verdict {
        compare(&sign(&page(1, 2, "one"), rules), &sign(new, rules), None).verdict
    }

    #[test]
    fn parts_that_a_user_names_are_noise() {
        for selector in ["#price", ".bold", "p.big#price", "p[id=price]"] {
            let rules =
                PageRules { ignore: vec![Selector::parse(selector).unwrap()], ..PageRules::default() };
            assert_eq!(told(&rules, &page(5, 2, "one")), Verdict::Noise, "{selector}");
            assert_eq!(told(&rules, &page(5, 3, "one")), Verdict::Text, "{selector}");
        }
        let inside = Selector::parse("div.item [data-stock]").unwrap();
        let rules = PageRules { ignore: vec![inside], ..PageRules::default() };
        assert_eq!(told(&rules, &page(1, 9, "one")), Verdict::Noise);
        assert_eq!(told(&rules, &page(2, 9, "one")), Verdict::Text);
        let lines = PageRules { ignore_lines: vec!["left".to_owned()], ..PageRules::default() };
        assert_eq!(
            (told(&lines, &page(1, 9, "one")), told(&lines, &page(2, 9, "one"))),
            (Verdict::Noise, Verdict::Text)
        );
    }

    #[test]
    fn only_what_a_user_names_matters() {
        let rules = PageRules { only: vec![Selector::parse("#price").unwrap()], ..PageRules::default() };
        assert_eq!(told(&rules, &page(1, 9, "two")), Verdict::Noise);
        assert_eq!(told(&rules, &page(2, 2, "one")), Verdict::Text);
    }

    #[test]
    fn what_is_no_selector_is_refused() {
        for text in ["", "#", "a > b", "p:first-child", "[a", "[=x]", "a..b"] {
            assert!(Selector::parse(text).is_err(), "{text}");
        }
    }
}
