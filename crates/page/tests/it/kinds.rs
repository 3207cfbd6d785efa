//! Every kind of change, on one page alone and on part of a host's pages, over several refreshes.

#[path = "../../examples/change_kinds/mod.rs"]
mod change_kinds;

use change_kinds::score::{Host, play};
use change_kinds::{LANGUAGES, MARKUPS, NEWS, NOISE};

const HOSTS: [Host; 3] =
    [Host { pages: 1, percent: 100 }, Host { pages: 20, percent: 20 }, Host { pages: 20, percent: 100 }];
const REFRESHES: u64 = 3;

#[test]
fn every_kind_of_news_is_told_in_every_cell() {
    let mut missed = Vec::new();
    for kind in &NEWS {
        for (host, language, markup) in cells() {
            let told = play(kind, host, language, markup, REFRESHES);
            if told.recall() < 0.995 {
                missed.push((kind.name, host.percent, LANGUAGES[language], MARKUPS[markup], told.recall()));
            }
        }
    }
    assert!(missed.is_empty(), "{} cells: {missed:?}", missed.len());
}

#[test]
fn noise_is_told_as_news_in_one_case_of_twenty_at_most() {
    let (mut told, mut changes) = (0, 0);
    let mut always = Vec::new();
    for kind in &NOISE {
        let (mut of_kind, mut in_all) = (0, 0);
        for (host, language, markup) in cells() {
            let score = play(kind, host, language, markup, REFRESHES);
            (of_kind, in_all) = (of_kind + score.told, in_all + score.changes);
        }
        if of_kind == in_all {
            always.push(kind.name);
        }
        (told, changes) = (told + of_kind, changes + in_all);
    }
    assert!(always.is_empty(), "told every time: {always:?}");
    assert!(told * 20 <= changes, "{told} of {changes}");
}

fn cells() -> impl Iterator<Item = (Host, usize, usize)> {
    let places = |host| (0..LANGUAGES.len()).flat_map(move |l| (0..MARKUPS.len()).map(move |m| (host, l, m)));
    HOSTS.into_iter().flat_map(places)
}
