//! A report for people: what a crawl did, in some twenty lines.

use lycosa_engine::indexing::Followed;
use lycosa_engine::limits::Limit;
use lycosa_engine::{Layout, LeftOut, Report, Totals};
use lycosa_types::Origin;

use crate::figures::{byte_rate, bytes, count, duration, instant, plural, rate};
use crate::invocation::{program, word};
use crate::table::{Table, figures};

/// The whole report.
pub fn text(report: &Report) -> String {
    let mut out = format!("{}\n\n", headline(report));
    let run = &report.run;
    let totals = &report.totals;
    let mut table = Table::new();
    table.row(
        "this run",
        format!(
            "{} in {}: {}, {} received, {}",
            plural(run.pages, "page", "pages"),
            duration(run.seconds),
            rate(run.pages_per_s),
            bytes(run.received_bytes),
            byte_rate(run.received_bytes_per_s)
        ),
    );
    if totals.runs > 1 {
        table.row(
            "all runs",
            format!(
                "{} in {} runs, {}",
                plural(totals.pages, "page", "pages"),
                count(u64::from(totals.runs)),
                duration(totals.seconds)
            ),
        );
    }
    if totals.requisites_found > 0 {
        table.row("requisites", requisites(totals));
    }
    table.row(
        "cost",
        format!(
            "{} of CPU, {:.2} ms per page; memory {} at most; state {}, archive {}",
            duration(run.cpu_s),
            run.cpu_ms_per_page,
            bytes(run.peak_rss_bytes),
            bytes(run.state_bytes),
            bytes(totals.archived_bytes)
        ),
    );
    table.row(
        "known",
        format!(
            "{} on {}; {} waiting",
            plural(report.known, "URL", "URLs"),
            plural(report.hosts, "host", "hosts"),
            count(report.waiting)
        ),
    );
    table.row(
        "links",
        format!("{} met on pages, {} accepted", count(totals.links), plural(totals.accepted, "URL", "URLs")),
    );
    if totals.on_topic > 0 {
        let rate = totals.on_topic as f64 * 100.0 / totals.pages.max(1) as f64;
        table.row(
            "harvest",
            format!("{} on topic, {rate:.0} % of those fetched", plural(totals.on_topic, "page", "pages")),
        );
    }
    if run.doubtful_servers > 0 {
        let servers = plural(run.doubtful_servers, "server", "servers");
        let text = format!("{servers} left in doubt where a response ends: one request per connection there");
        table.row("framing", text);
    }
    out.push_str(&table.text(0));
    out.push('\n');
    out.push_str(&moved(report));
    out.push_str(&hosts_in_trouble(report));
    out.push_str(&outcomes(totals));
    out.push_str(&left_out(&report.left_out));
    out
}

/// Hosts and sections named in a summary.
const MAX_LISTED: usize = 10;
/// Moves named in a summary.
const MAX_MOVES: usize = 5;

/// Seeds that redirect to another host.
fn moved(report: &Report) -> String {
    let mut out = String::new();
    for one in report.moved.iter().take(MAX_MOVES) {
        out.push_str(&format!("{} moved to {}: its pages are in scope\n", one.seed, one.to));
    }
    let more = report.moved_count.saturating_sub(MAX_MOVES as u64);
    if more > 0 {
        out.push_str(&format!(
            "{} moved too (report.json names them)\n",
            plural(more, "more seed", "more seeds")
        ));
    }
    if !out.is_empty() {
        out.push('\n');
    }
    out
}

/// What pages need to look as they do: what was fetched of it, and what was not.
fn requisites(totals: &Totals) -> String {
    let mut text = format!(
        "{} of pages, {}",
        plural(totals.requisites, "requisite", "requisites"),
        bytes(totals.requisite_bytes)
    );
    let waiting = totals.requisites_found.saturating_sub(totals.requisite_visits);
    if waiting > 0 {
        text.push_str(&format!("; {} waiting", count(waiting)));
    }
    let others = totals.requisite_outcomes.iter().filter(|(word, _)| *word != "fetched");
    for (word, number) in others {
        text.push_str(&format!("; {} {word}", count(*number)));
    }
    text
}

/// Hosts whose robots.txt failed, and sections whose pages did.
fn hosts_in_trouble(report: &Report) -> String {
    let mut out = String::new();
    if !report.robots_failing.is_empty() {
        out.push_str("robots.txt could not be had, so these hosts wait for the next run\n");
        for origin in report.robots_failing.iter().take(MAX_LISTED) {
            out.push_str(&format!("  {origin}\n"));
        }
    }
    if !report.broken.is_empty() {
        let mut sections: Vec<(u64, &str)> =
            report.broken.iter().map(|(section, number)| (*number, section.as_str())).collect();
        sections.sort_by_key(|&(number, section)| (std::cmp::Reverse(number), section));
        sections.truncate(MAX_LISTED);
        out.push_str("pages that failed, by host and section\n");
        out.push_str(&figures(sections.into_iter().map(|(number, section)| (count(number), section)), 2));
    }
    out
}

/// What was left out, by whose will, with the option that includes it.
pub fn left_out(parts: &[LeftOut]) -> String {
    let mut out = String::new();
    for origin in [Origin::Setting, Origin::Site, Origin::Guess] {
        let parts: Vec<&LeftOut> = parts.iter().filter(|part| part.origin == origin).collect();
        if parts.is_empty() {
            continue;
        }
        out.push_str(&format!("{}\n", origin.heading()));
        let lines: Vec<(u64, String)> = parts.iter().map(|part| (part.count, left_out_line(part))).collect();
        out.push_str(&figures(lines.iter().map(|(number, line)| (count(*number), line.as_str())), 2));
    }
    out
}

fn left_out_line(part: &LeftOut) -> String {
    let mut line = part.reason.clone();
    if let Some(example) = part.example.as_ref().filter(|_| part.origin == Origin::Guess) {
        line.push_str(&format!(", for instance {example}"));
    }
    if let Some(option) = &part.option {
        line.push_str(&format!("; included by {option}"));
    }
    line
}

/// What a refresh found.
pub fn refresh_text(report: &Report) -> String {
    let run = &report.run;
    let mut table = Table::new();
    table.row(
        "visited again",
        format!(
            "{} in {}, {} received",
            plural(run.revisits, "page", "pages"),
            duration(run.seconds),
            bytes(run.received_bytes)
        ),
    );
    if run.pages > 0 {
        table.row("new", plural(run.pages, "page", "pages"));
    }
    let mut rows: Vec<(u64, &str)> =
        run.changes.iter().map(|(word, number)| (*number, word.as_str())).collect();
    rows.sort_by_key(|&(number, word)| (std::cmp::Reverse(number), word));
    let lines = rows.into_iter().map(|(number, word)| (count(number), word));
    format!("{}\n\n{}what the visits showed\n{}", headline(report), table.text(0), figures(lines, 2))
}

/// What was indexed on the way.
pub fn indexed(index: &Followed) -> String {
    let text = bytes(index.fed.text_bytes);
    format!("indexed {} with {text} of text\n", plural(index.fed.put, "page", "pages"))
}

/// Why the crawl stopped, in a sentence.
pub fn headline(report: &Report) -> String {
    let why = match report.stopped_by.as_str() {
        "exhausted" if report.seeds.all_failed() => "failed: no seed led to a page".to_owned(),
        "exhausted" => "done: nothing is left to fetch".to_owned(),
        "superseded" => {
            "stopped: another process has taken this node's name; give one of the two another name (--node)"
                .to_owned()
        }
        "asked" => "stopped as asked; everything is saved".to_owned(),
        "max-pages" => "stopped at --max-pages; everything is saved".to_owned(),
        "max-bytes" => "stopped at --max-bytes; everything is saved".to_owned(),
        "max-time" => "stopped at --max-time; everything is saved".to_owned(),
        other => format!("stopped: {other}"),
    };
    format!("{why} ({})", instant(report.finished_at))
}

/// How visits ended and which links were not followed.
pub fn outcomes(totals: &Totals) -> String {
    let mut out = String::from("visits ended\n");
    let mut rows: Vec<(u64, &str)> =
        totals.outcomes.iter().map(|(word, number)| (*number, word.as_str())).collect();
    rows.sort_by_key(|&(number, word)| (std::cmp::Reverse(number), word));
    let mut lines: Vec<(String, &str)> = Vec::new();
    for (number, word) in rows {
        lines.push((count(number), word));
        if word == "fetched" && totals.duplicates > 0 {
            lines.push((count(totals.duplicates), "  of them duplicates of another page"));
        }
        if word == "fetched" && totals.near_duplicates > 0 {
            lines.push((count(totals.near_duplicates), "  of them nearly the same as another page"));
        }
    }
    if totals.retries > 0 {
        lines.push((count(totals.retries), "(tries that were repeated later)"));
    }
    out.push_str(&figures(lines, 2));
    if !totals.rejected.is_empty() {
        out.push_str("links not followed\n");
        let rows = totals.rejected.iter().map(|(word, number)| (count(*number), word.as_str()));
        out.push_str(&figures(rows, 2));
    }
    out.push_str(&cuts(totals));
    out.push_str(&nofollow(totals));
    out
}

/// What limits left out, each with its setting and an example.
fn cuts(totals: &Totals) -> String {
    if totals.cut.is_empty() {
        return String::new();
    }
    let mut out = String::from("left out by limits\n");
    for (name, cut) in &totals.cut {
        let what = Limit::named(name).map_or("left out", Limit::what);
        let on = match cut.pages {
            0 => String::new(),
            pages => format!(" on {}", plural(pages, "page", "pages")),
        };
        out.push_str(&format!(
            "  {what}: {} beyond {name}{on}, for instance {}\n",
            count(cut.count),
            cut.example
        ));
    }
    out
}

/// Says so where nofollow leaves out most of a site.
fn nofollow(totals: &Totals) -> String {
    if totals.nofollow_pages * 2 < totals.pages.max(1) {
        return String::new();
    }
    let links = totals.rejected.get("nofollow").copied().unwrap_or(0);
    format!(
        "{} of {} say nofollow, so {} on them were not followed; --ignore-nofollow follows such links\n",
        count(totals.nofollow_pages),
        plural(totals.pages, "page", "pages"),
        plural(links, "link", "links")
    )
}

/// Commands that make sense after a crawl.
pub fn next_commands(layout: &Layout, report: &Report) -> String {
    let (lycosa, dir) = (program(), word(&layout.root.to_string_lossy()));
    let mut table = Table::new();
    if report.waiting > 0 {
        table.row(format!("{lycosa} crawl -d {dir}"), "go on where it stopped");
    }
    table
        .row(format!("{lycosa} why URL -d {dir}"), "what happened to a URL, and why")
        .row(format!("{lycosa} cat URL -d {dir}"), "a page as it was archived")
        .row(format!("{lycosa} index -d {dir}"), "make it searchable, or bring the index up to date")
        .row(
            format!("{lycosa} export -d {dir} --format jsonl"),
            "titles, texts and links (also wacz, warc, urls)",
        )
        .row(format!("{lycosa} report {dir}"), "these figures again");
    format!("next\n{}", table.text(2))
}
