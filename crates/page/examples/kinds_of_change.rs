//! Every labelled kind of change, in every language and markup, on one page alone and on 1, 5, 20, 60 and 100 % of a host's
//! hundred pages, over five refreshes: how often it is told as news, and how often the papers' two codes by themselves differ.
//!
//! `cargo run --release -p lycosa-page --example kinds_of_change`

mod change_kinds;

use change_kinds::score::{Host, Score, play};
use change_kinds::{Kind, LANGUAGES, MARKUPS, NEWS, NOISE};

const HOSTS: [Host; 6] = [
    Host { pages: 1, percent: 100 },
    Host { pages: 100, percent: 1 },
    Host { pages: 100, percent: 5 },
    Host { pages: 100, percent: 20 },
    Host { pages: 100, percent: 60 },
    Host { pages: 100, percent: 100 },
];
const REFRESHES: u64 = 5;

fn main() {
    println!(
        "{:26} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6}   {:>6} {:>6}",
        "kind", "alone", "1 %", "5 %", "20 %", "60 %", "100 %", "tags", "codes"
    );
    let (least, _) = table("news", &NEWS);
    let (_, noise) = table("noise", &NOISE);
    println!("\nleast recall of news in a cell: {least:.3}");
    println!("false alarms over all cells of noise: {:.3}", noise.recall());
}

/// Prints a row for each kind; returns the least share told in any cell, and the sums.
fn table(name: &str, kinds: &[Kind]) -> (f64, Score) {
    println!("\n{name}: share told as news");
    let (mut least, mut all) = (1.0f64, Score::default());
    for kind in kinds {
        let mut row = Score::default();
        print!("{:26}", kind.name);
        for host in HOSTS {
            let mut sum = Score::default();
            for language in 0..LANGUAGES.len() {
                for markup in 0..MARKUPS.len() {
                    let score = play(kind, host, language, markup, REFRESHES);
                    least = least.min(score.recall());
                    add(&mut sum, score);
                }
            }
            print!(" {:6.3}", sum.recall());
            add(&mut row, sum);
        }
        let share = |count: u32| f64::from(count) / f64::from(row.changes.max(1));
        println!("   {:6.3} {:6.3}", share(row.by_tags), share(row.by_codes));
        add(&mut all, row);
    }
    (least, all)
}

fn add(sum: &mut Score, more: Score) {
    sum.changes += more.changes;
    sum.told += more.told;
    sum.by_tags += more.by_tags;
    sum.by_codes += more.by_codes;
}
