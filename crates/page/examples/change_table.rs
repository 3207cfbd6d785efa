//! What is found on scheduled changes of the synthetic web, and what the papers' codes alone would have missed.
//!
//! `cargo run --release -p lycosa-page --example change_table [PAGES]`

mod sim_pages;

use lycosa_page::{Signatures, Verdict, compare};
use lycosa_simweb::{ChangeKind, PageId};
use sim_pages::{SimPages, Visit, Visitor, restless};
use std::collections::BTreeMap;

const TIMES_MS: [u64; 4] = [7_000, 31_000, 90_000, 400_000];

#[derive(Default)]
struct Row {
    pairs: u32,
    verdicts: BTreeMap<String, u32>,
    signals: BTreeMap<String, u32>,
    /// Pairs in which each of the papers' codes is equal.
    silent: [u32; 7],
}

const CODES: [&str; 7] =
    ["structure I", "structure II", "text I", "text II", "ival 16", "ival 32", "ival 64"];

fn main() {
    let count = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(3_000);
    let world = restless(3, count);
    let mut pages = SimPages::new(&world);
    let mut visitor = Visitor::default();
    let mut rows: BTreeMap<String, Row> = BTreeMap::new();
    for number in 0..world.page_count() {
        let page = PageId(number);
        world.set_time_ms(0);
        let Some(before) = visitor.visit(&world, &mut pages, page) else { continue };
        for time in TIMES_MS {
            let truth = world.difference(page, 0, time);
            world.set_time_ms(time);
            if let Some(after) = visitor.visit(&world, &mut pages, page) {
                note(rows.entry(name(truth).to_owned()).or_default(), &before, &after);
            }
        }
        if let Some(swapped) = swap_words(&before.source) {
            let after = Visit {
                signatures: visitor.sign(&swapped),
                pictures: before.pictures.clone(),
                source: swapped,
            };
            note(rows.entry("text (two words swapped)".to_owned()).or_default(), &before, &after);
        }
    }
    println!("change, pairs: verdicts; signals");
    for (name, row) in &rows {
        println!("{name}, {}: {:?}; {:?}", row.pairs, row.verdicts, row.signals);
    }
    println!("\npairs in which a code of the papers is equal, in %");
    println!("{:26}{}", "change", CODES.map(|c| format!("{c:>14}")).concat());
    for (name, row) in &rows {
        let shares =
            row.silent.map(|n| format!("{:>14.1}", 100.0 * f64::from(n) / f64::from(row.pairs.max(1))));
        println!("{name:26}{}", shares.concat());
    }
}

fn note(row: &mut Row, before: &Visit, after: &Visit) {
    let report =
        compare(&before.signatures, &after.signatures, None).with_pictures(&before.pictures, &after.pictures);
    let verdict = match report.verdict {
        Verdict::Unchanged => "unchanged",
        Verdict::Noise => "noise",
        Verdict::Structure => "structure",
        Verdict::Text => "text",
        Verdict::Image => "image",
        Verdict::Around => "around",
    };
    row.pairs += 1;
    *row.verdicts.entry(verdict.to_owned()).or_default() += 1;
    *row.signals.entry(format!("{:?}", report.signal)).or_default() += 1;
    for (count, silent) in row.silent.iter_mut().zip(silent(before, after)) {
        *count += u32::from(silent);
    }
}

/// Which of the papers' codes do not see the difference.
fn silent(before: &Visit, after: &Visit) -> [bool; 7] {
    let (a, b) = (&before.signatures, &after.signatures);
    let sizes = |s: &Signatures| s.levels.iter().map(|l| l.size).collect::<Vec<_>>();
    let ival = |n: usize| {
        let of =
            |v: &Visit| v.pictures.iter().map(|p| p.look.as_ref().map(|l| l.ival[n])).collect::<Vec<_>>();
        of(before) == of(after)
    };
    [
        a.tag_strings == b.tag_strings,
        sizes(a) == sizes(b),
        a.text_code.one() == b.text_code.one(),
        a.text_code.two() == b.text_code.two(),
        ival(0),
        ival(1),
        ival(2),
    ]
}

/// The page with the first two different words of a paragraph exchanged.
fn swap_words(source: &str) -> Option<String> {
    let start = source.find("<p>")? + 3;
    let mut words = source.get(start..)?.split(' ');
    let (first, second) = (words.next()?, words.next()?);
    let plain = |w: &str| !w.is_empty() && w.chars().all(char::is_alphanumeric);
    if first == second || !plain(first) || !plain(second) {
        return None;
    }
    let rest = source.get(start + first.len() + 1 + second.len()..)?;
    Some(format!("{}{second} {first}{rest}", source.get(..start)?))
}

fn name(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::None => "none",
        ChangeKind::Structure => "structure",
        ChangeKind::Text => "text",
        ChangeKind::Image => "image",
        ChangeKind::Noise => "noise",
    }
}
