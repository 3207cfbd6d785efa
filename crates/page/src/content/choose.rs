//! Which elements hold the main content.
//!
//! Every block of running text gives its elders a score that fades with distance; names and link density weigh it. The
//! best element wins, is widened to an elder that is hardly larger in links and clearly richer in prose, and takes its
//! worthy siblings along. What is named like something else, hidden, or mostly links is left out before and after.

use super::hints::Hints;
use super::outline::{Outline, is_paragraph};
use crate::extract::Extract;
use crate::tags::TagId;
use crate::tree::{NO_PARENT, Tree};

/// An element with a larger share of the page's prose than this is kept whatever it is called.
const SAFE_SHARE: f32 = 0.5;
/// Elders that a paragraph's score reaches.
const REACH: usize = 5;

/// Marks what is left out and returns the elements chosen, in order.
pub(super) fn choose(outline: &mut Outline, page: &Extract, tree: &Tree) -> Vec<usize> {
    for (at, node) in tree.nodes.iter().enumerate() {
        outline.measures[at].out = never(node.tag) || outline.measures[at].hints.has(Hints::HIDDEN);
    }
    outline.measure(page, tree);
    leave_out_unlikely(outline, tree);
    outline.measure(page, tree);
    score(outline, tree);
    let mut chosen = match best(outline, tree) {
        Some(best) if !is_loose(outline, tree, best) => {
            with_siblings(outline, tree, widen(outline, tree, best))
        }
        _ => loose(outline, tree),
    };
    for &root in &chosen {
        clean(outline, tree, root);
    }
    outline.measure(page, tree);
    chosen.retain(|&at| outline.measures[at].text > 0);
    chosen
}

/// Roots that hold prose: the content of a page whose paragraphs stand in no element at all.
fn loose(outline: &Outline, tree: &Tree) -> Vec<usize> {
    let roots = (0..tree.nodes.len()).filter(|&at| tree.nodes[at].parent == NO_PARENT);
    roots.filter(|&at| outline.measures[at].prose > 0 && outline.measures[at].link_density() < 0.5).collect()
}

/// Whether the best element holds less than the paragraphs that stand in no element.
fn is_loose(outline: &Outline, tree: &Tree, best: usize) -> bool {
    let roots =
        tree.nodes.iter().zip(&outline.measures).filter(|(n, m)| n.parent == NO_PARENT && is_paragraph(m));
    roots.map(|(_, m)| m.own).sum::<u32>() > outline.measures[best].prose
}

/// Elements that never hold text of an article.
fn never(tag: TagId) -> bool {
    matches!(
        tag,
        TagId::NAV
            | TagId::BUTTON
            | TagId::SELECT
            | TagId::TEXTAREA
            | TagId::IFRAME
            | TagId::SCRIPT
            | TagId::STYLE
            | TagId::DIALOG
            | TagId::MENU
            | TagId::SVG
            | TagId::INPUT
            | TagId::OPTION
            | TagId::DATALIST
            | TagId::LABEL
            | TagId::OBJECT
            | TagId::CANVAS
            | TagId::MAP
            | TagId::VIDEO
            | TagId::AUDIO
    )
}

fn total_prose(outline: &Outline, tree: &Tree) -> f32 {
    let roots = tree.nodes.iter().zip(&outline.measures).filter(|(n, _)| n.parent == NO_PARENT);
    roots.map(|(_, m)| m.prose).sum::<u32>() as f32
}

/// Leaves out what is named like something beside the content, unless most of the prose is in it.
fn leave_out_unlikely(outline: &mut Outline, tree: &Tree) {
    let total = total_prose(outline, tree);
    for (at, node) in tree.nodes.iter().enumerate() {
        let m = &outline.measures[at];
        let beside = matches!(node.tag, TagId::ASIDE | TagId::FOOTER | TagId::FORM);
        let bad = m.hints.has(Hints::BAD)
            && !m.hints.has(Hints::BODY)
            && !matches!(node.tag, TagId::ARTICLE | TagId::MAIN);
        if (beside || bad) && m.prose as f32 <= SAFE_SHARE * total {
            outline.measures[at].out = true;
        }
    }
}

fn score(outline: &mut Outline, tree: &Tree) {
    for (at, node) in tree.nodes.iter().enumerate() {
        let m = outline.measures[at];
        if !is_paragraph(&m) || node.tag.heading_level().is_some() {
            continue;
        }
        let worth =
            1.0 + f32::from(m.own_commas) + (m.own as f32 / 100.0).min(if m.blocks == 0 { 3.0 } else { 8.0 });
        // A container with loose text is its own first elder.
        let container =
            m.blocks > 0 || matches!(node.tag, TagId::BODY | TagId::TD | TagId::ARTICLE | TagId::MAIN);
        let mut elder = if container { at as u32 } else { node.parent };
        for level in 0..REACH {
            let Some(m) = outline.measures.get_mut(elder as usize) else { break };
            m.score += match level {
                0 => worth,
                1 => worth / 2.0,
                _ => worth / (level as f32 * 3.0),
            };
            elder = tree.nodes[elder as usize].parent;
        }
    }
    for (at, node) in tree.nodes.iter().enumerate() {
        let m = &mut outline.measures[at];
        if m.score > 0.0 {
            m.score += base(node.tag) + named(m.hints);
            m.score *= 1.0 - m.link_density();
        }
    }
}

fn base(tag: TagId) -> f32 {
    match tag {
        TagId::ARTICLE | TagId::MAIN => 10.0,
        TagId::DIV | TagId::SECTION => 5.0,
        TagId::PRE | TagId::TD | TagId::BLOCKQUOTE => 3.0,
        TagId::ADDRESS
        | TagId::OL
        | TagId::UL
        | TagId::DL
        | TagId::DD
        | TagId::DT
        | TagId::LI
        | TagId::FORM => -3.0,
        TagId::TH => -5.0,
        _ => 0.0,
    }
}

fn named(hints: Hints) -> f32 {
    let mut worth = 0.0;
    if hints.has(Hints::BODY) {
        worth += 40.0;
    } else if hints.has(Hints::GOOD) {
        worth += 20.0;
    }
    if hints.has(Hints::BAD) {
        worth -= 25.0;
    }
    if hints.has(Hints::TRIM) {
        worth -= 10.0;
    }
    worth
}

fn best(outline: &Outline, tree: &Tree) -> Option<usize> {
    let total = total_prose(outline, tree);
    let worth = |at: usize| {
        let m = &outline.measures[at];
        // Among good ones, the one that holds the prose.
        m.score * (0.3 + m.prose as f32 / total.max(1.0))
    };
    let candidates = (0..tree.nodes.len()).filter(|&at| {
        let m = &outline.measures[at];
        !m.out
            && m.score > 0.0
            && !matches!(tree.nodes[at].tag, TagId::P | TagId::UL | TagId::OL | TagId::LI | TagId::HTML)
    });
    candidates.max_by(|&a, &b| worth(a).total_cmp(&worth(b)).then(b.cmp(&a)))
}

/// An elder that adds much prose and little else takes the place of the best.
fn widen(outline: &Outline, tree: &Tree, best: usize) -> usize {
    let mut chosen = best;
    let mut elder = tree.nodes[best].parent;
    let body = outline.measures[best].hints.has(Hints::BODY);
    while let Some(m) = outline.measures.get(elder as usize) {
        let tag = tree.nodes[elder as usize].tag;
        if matches!(tag, TagId::BODY | TagId::HTML) {
            break;
        }
        let here = &outline.measures[chosen];
        let added = m.text.saturating_sub(here.text);
        let added_prose = m.prose.saturating_sub(here.prose);
        let added_links = m.links.saturating_sub(here.links);
        let richer = added_prose * 3 > here.prose && added_prose * 10 > added * 7 && added_links * 5 < added;
        if richer && !body {
            chosen = elder as usize;
        }
        elder = tree.nodes[elder as usize].parent;
    }
    chosen
}

/// The best and those of its siblings that read like it.
fn with_siblings(outline: &Outline, tree: &Tree, best: usize) -> Vec<usize> {
    let parent = tree.nodes[best].parent;
    let Some(family) = tree.nodes.get(parent as usize) else { return vec![best] };
    let threshold = (outline.measures[best].score * 0.2).max(10.0);
    let mut chosen = Vec::new();
    let mut at = parent as usize + 1;
    while at < family.end as usize {
        let m = &outline.measures[at];
        let tag = tree.nodes[at].tag;
        let alike = m.hints == outline.measures[best].hints && tag == tree.nodes[best].tag;
        let score = m.score + if alike { outline.measures[best].score * 0.2 } else { 0.0 };
        let paragraph =
            matches!(tag, TagId::P | TagId::BLOCKQUOTE | TagId::PRE) && m.own > 80 && m.link_density() < 0.25;
        let good = m.score > 0.0 && score >= threshold && m.link_density() < 0.3;
        if at == best
            || (!m.out
                && tag != TagId::ASIDE
                && tag != TagId::FOOTER
                && tag != TagId::HEADER
                && (paragraph || good))
        {
            chosen.push(at);
        }
        at = tree.nodes[at].end as usize;
    }
    chosen
}

/// Leaves out what is no text of the article inside a chosen element.
fn clean(outline: &mut Outline, tree: &Tree, root: usize) {
    let whole = outline.measures[root].prose as f32;
    let mut at = root + 1;
    let end = tree.nodes[root].end as usize;
    while at < end {
        if outline.measures[at].out || is_clutter(outline, tree, at, whole) {
            outline.measures[at].out = true;
            at = tree.nodes[at].end as usize;
        } else {
            at += 1;
        }
    }
}

fn is_clutter(outline: &Outline, tree: &Tree, at: usize, whole: f32) -> bool {
    let m = &outline.measures[at];
    let tag = tree.nodes[at].tag;
    let density = m.link_density();
    if m.prose as f32 > whole * SAFE_SHARE {
        return false;
    }
    if matches!(tag, TagId::FIGCAPTION | TagId::FIGURE | TagId::H1 | TagId::TIME | TagId::ADDRESS) {
        return true;
    }
    if m.hints.has(Hints::TRIM) && !m.hints.has(Hints::BODY) && m.text < 400 {
        return true;
    }
    match tag {
        TagId::UL | TagId::OL | TagId::DL => density > 0.5 || (m.prose == 0 && m.text > 0 && density > 0.3),
        TagId::LI => false,
        TagId::DIV | TagId::SECTION | TagId::TABLE | TagId::TD | TagId::HEADER => {
            density > 0.5 && m.text < 1000 || (m.hints.has(Hints::BAD) && m.prose as f32 <= whole * 0.2)
        }
        TagId::P => m.text > 0 && m.links == m.text && m.text < 200,
        _ => false,
    }
}
