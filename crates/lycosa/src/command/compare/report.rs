//! Everything that can be told of two visits, for people and for programs.

use std::io::Write;

use anyhow::Result;
use lycosa_page::{Comparison, Explained, Extent, HostTemplate, Place, Signal, Signatures, Verdict, compare};
use serde::Serialize;

use super::places::{FirstTag, Line, Node, Nodes, changed_lines};
use super::reading::Reading;
use super::scores::Scores;
use super::word;
use crate::figures::{clip, plural};
use crate::table::Table;

/// Nodes of one sort that the short form names.
const SHOWN_NODES: usize = 6;
const LINE_WIDTH: usize = 100;

/// The verdict on two pages and what it rests on.
#[derive(Debug, Serialize)]
pub struct Report<'a> {
    old: &'a str,
    new: &'a str,
    kind: &'static str,
    verdict: Verdict,
    /// What fired.
    signal: Signal,
    /// Estimated share of shingles in common.
    share: f64,
    extent: Extent,
    text_changed: bool,
    /// Whether the article itself changed or what stands around it; null where there is none.
    place: Option<Place>,
    first_tag: Option<FirstTag>,
    /// Levels (from 1) that differ.
    levels: Vec<u32>,
    nodes: Nodes,
    /// Lines that are gone.
    old_lines: Vec<Line>,
    /// Lines that are news.
    new_lines: Vec<Line>,
    /// How many lines differ without being news.
    noise_lines: u32,
    /// Which rule says so of which line.
    explained: Vec<Explained>,
    #[serde(flatten)]
    scores: Scores,
    old_minutiae: usize,
    new_minutiae: usize,
}

impl<'a> Report<'a> {
    /// Compares two files, each given by its name and its bytes.
    pub fn of(
        readings: &mut (Reading, Reading),
        (old, old_body): (&'a str, &[u8]),
        (new, new_body): (&'a str, &[u8]),
    ) -> Self {
        let signed = (readings.0.sign_file(old, old_body), readings.1.sign_file(new, new_body));
        let found = judge(&signed, old_body == new_body, None);
        let (before, after) = (&readings.0, &readings.1);
        let (old_lines, new_lines) = changed_lines(&found, before, after);
        Self {
            old,
            new,
            kind: "page",
            verdict: found.verdict,
            signal: found.signal,
            share: found.share,
            extent: found.extent,
            text_changed: found.text_changed,
            place: found.place,
            first_tag: found.first_tag.map(|number| FirstTag::of(number, before, after)),
            levels: found.levels,
            nodes: Nodes::of(before, after),
            old_lines,
            new_lines,
            noise_lines: found.noise_lines,
            explained: found.explained,
            scores: Scores::of(before, after),
            old_minutiae: before.judger.minutiae().len(),
            new_minutiae: after.judger.minutiae().len(),
        }
    }

    /// The form for people.
    pub fn write(&self, out: &mut dyn Write) -> Result<()> {
        let mut table = Table::new();
        table.row("verdict", word(self.verdict));
        table.row("signal", word(self.signal));
        table.row("share", format!("{:.3} of the text's shingles in common", self.share));
        table.row("extent", word(self.extent));
        let place = match self.place {
            Some(Place::MainContent) => "in the main content",
            Some(Place::AroundMainContent) => "around the main content",
            None => "",
        };
        table.row_if_any("where", place);
        if let Some(tag) = &self.first_tag {
            let name = |name: &Option<String>| name.clone().unwrap_or_else(|| "nothing".to_owned());
            let names = format!("{} before, {} now", name(&tag.old), name(&tag.new));
            table.row("first tag", format!("number {}: {names}", tag.number));
        }
        let levels: Vec<String> = self.levels.iter().map(u32::to_string).collect();
        table.row_if_any("levels", clip(&levels.join(", "), LINE_WIDTH));
        table.row_if_any("nodes added", node_list(&self.nodes.added));
        table.row_if_any("nodes removed", node_list(&self.nodes.removed));
        table.row_if_any("nodes altered", node_list(&self.nodes.altered));
        if self.noise_lines > 0 {
            let named = self.explained.iter().take(SHOWN_NODES).map(|line| {
                let number = line.new_line.or(line.old_line).unwrap_or(0);
                format!("{}, line {number}", line.reason.words())
            });
            let named: Vec<String> = named.collect();
            let lines = plural(self.noise_lines.into(), "line", "lines");
            table.row("noise", format!("{lines}: {}", named.join("; ")));
        }
        let scores = &self.scores;
        let minutiae =
            format!("of {} and {} minutiae, hashes of the texts", self.old_minutiae, self.new_minutiae);
        table.row("resemblance", format!("{:.3} ({minutiae})", scores.resemblance));
        table.row(
            "containment",
            format!("{:.3} old in new, {:.3} new in old", scores.old_in_new, scores.new_in_old),
        );
        table.row("keywords", format!("{:.3} alike", scores.keyword_similarity));
        writeln!(out, "{} → {}\n{}", self.old, self.new, table.text(2).trim_end())?;
        for (sign, lines) in [("-", &self.old_lines), ("+", &self.new_lines)] {
            for line in lines {
                writeln!(out, "{sign} {:>5}  {}", line.number, clip(&line.text, LINE_WIDTH))?;
            }
        }
        Ok(())
    }
}

/// The cascade. Bytes that differ without leaving a trace in the decoded page are noise, never nothing.
pub fn judge(signed: &(Signatures, Signatures), same: bool, template: Option<&HostTemplate>) -> Comparison {
    let mut found = compare(&signed.0, &signed.1, template);
    if found.verdict == Verdict::Unchanged && !same {
        (found.verdict, found.signal) = (Verdict::Noise, Signal::Bytes);
    }
    found
}

/// `li 14 (level 5), li 15 (level 5), …`.
fn node_list(nodes: &[Node]) -> String {
    let shown = nodes.iter().take(SHOWN_NODES);
    let listed: Vec<String> =
        shown.map(|node| format!("{} {} (level {})", node.tag, node.id, node.level)).collect();
    let more = if nodes.len() > SHOWN_NODES { ", …" } else { "" };
    format!("{}{more}", listed.join(", "))
}
