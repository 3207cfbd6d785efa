//! The plot: per corpus, a bar for each program's pages per second and one for its CPU per page, as SVG.

use std::fmt::Write as _;

use super::results::{CorpusResult, Results, median};

const WIDTH: u32 = 960;
const MARGIN: u32 = 16;
const LABELS: u32 = 150;
const TITLE: u32 = 48;
const BAR: u32 = 18;
const STEP: u32 = 26;
const PANEL_GAP: u32 = 24;
/// Room right of the longest bar for its figure.
const FIGURE: u32 = 70;

/// A colour for the project, one for all others.
const OURS: &str = "#b5502b";
const THEIRS: &str = "#8796a5";

struct Bar {
    program: &'static str,
    rate: f64,
    cpu: f64,
    cut: bool,
}

pub fn draw(results: &Results) -> String {
    let panels: Vec<(&CorpusResult, Vec<Bar>)> =
        results.corpora.iter().map(|corpus| (corpus, bars(corpus))).collect();
    let height: u32 = panels.iter().map(|(_, bars)| panel_height(bars.len())).sum::<u32>() + MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" font-size=\"13\">\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
    );
    let mut top = 0;
    for (corpus, bars) in &panels {
        panel(&mut svg, top, corpus, bars);
        top += panel_height(bars.len());
    }
    svg.push_str("</svg>\n");
    svg
}

fn panel_height(bars: usize) -> u32 {
    TITLE + STEP * bars as u32 + PANEL_GAP
}

fn bars(corpus: &CorpusResult) -> Vec<Bar> {
    let programs = corpus.programs();
    let mut bars: Vec<Bar> = programs
        .iter()
        .filter_map(|turns| {
            Some(Bar {
                program: turns.first()?.program,
                rate: median(turns.iter().map(|turn| turn.pages_per_s))?,
                cpu: median(turns.iter().map(|turn| turn.cpu_s_per_1000_pages))?,
                cut: turns.iter().any(|turn| turn.cost.cut),
            })
        })
        .collect();
    bars.sort_by(|a, b| b.rate.total_cmp(&a.rate));
    bars
}

fn panel(svg: &mut String, top: u32, corpus: &CorpusResult, bars: &[Bar]) {
    let half = (WIDTH - LABELS - 2 * MARGIN - PANEL_GAP) / 2;
    let left = LABELS + MARGIN;
    let right = left + half + PANEL_GAP;
    text(svg, MARGIN, top + 20, "start", "bold", corpus.name);
    text(svg, left, top + 40, "start", "normal", "pages per second");
    text(svg, right, top + 40, "start", "normal", "ms of client CPU per page");
    let most_rate = bars.iter().map(|bar| bar.rate).fold(0.0, f64::max);
    let most_cpu = bars.iter().map(|bar| bar.cpu).fold(0.0, f64::max);
    for (number, bar) in bars.iter().enumerate() {
        let y = top + TITLE + STEP * number as u32;
        let colour = if bar.program.starts_with("lycosa") { OURS } else { THEIRS };
        text(svg, left - 8, y + 14, "end", "normal", bar.program);
        let cut = if bar.cut { " (cut)" } else { "" };
        rect(svg, left, y, half, bar.rate / most_rate, colour, &format!("{:.0}{cut}", bar.rate));
        rect(svg, right, y, half, bar.cpu / most_cpu, colour, &format!("{:.2}", bar.cpu));
    }
}

fn rect(svg: &mut String, x: u32, y: u32, room: u32, share: f64, colour: &str, figure: &str) {
    let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    let length = (f64::from(room - FIGURE) * share).max(1.0).round() as u32;
    writeln!(svg, "<rect x=\"{x}\" y=\"{y}\" width=\"{length}\" height=\"{BAR}\" fill=\"{colour}\"/>").ok();
    text(svg, x + length + 6, y + 14, "start", "normal", figure);
}

fn text(svg: &mut String, x: u32, y: u32, anchor: &str, weight: &str, words: &str) {
    writeln!(
        svg,
        "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\" font-weight=\"{weight}\" fill=\"#222222\">{words}</text>"
    )
    .ok();
}

#[cfg(test)]
mod tests {
    use super::super::peers::Peer;
    use super::super::results::tests::turn;
    use super::*;

    #[test]
    fn the_fastest_bar_comes_first_and_fits() {
        let mut corpus = CorpusResult::new("syn", String::new());
        corpus.turns.push(turn(Peer::Wget2, 1, 2.0, 100));
        corpus.turns.push(turn(Peer::Lycosa, 1, 1.0, 100));
        let bars = bars(&corpus);
        assert_eq!(bars[0].program, "lycosa");
        let mut svg = String::new();
        panel(&mut svg, 0, &corpus, &bars);
        assert_eq!(svg.matches("<rect").count(), 4);
        assert!(!svg.contains("NaN"));
    }
}
