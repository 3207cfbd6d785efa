//! What a host's pages have in common, learnt from how they change.
//!
//! A line that changes on most pages of a host in the same way is template, not news: a version banner, a clock without
//! a name, a rotating quotation. "The same way" is one of four keys: the same words replaced by the same words (told
//! by the difference of word sums, wherever in a line), numbers changing in a line of the same shape, the very same line
//! coming or going, or any one line changing between the same two neighbours. The last is the boldest, needs the most
//! pages and explains nothing where the main content is known to have changed. Counts are bounded ([`MAX_KEYS`]) and two templates of one host can be merged.

use super::line_diff::{self, LineChange};
use super::line_store::Lines;
use super::signature::Signatures;
use foldhash::fast::FixedState;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// Keys counted for one host; when full, the rarest half is forgotten.
pub const MAX_KEYS: usize = 4096;
/// Changes of one page that are counted.
const MAX_CHANGES: usize = 256;
/// A way of changing is template from this many pages on…
const MIN_PAGES: u32 = 4;
/// …and a changing place between fixed neighbours from this many.
const MIN_PLACE_PAGES: u32 = 12;
/// The very same number replaced by the very same number, and no word changed, is a version or an edition: it need not
/// stand on most pages, only on this many…
const MIN_NUMBER_PAGES: u32 = 8;
/// …and on one in so many of those that changed.
const NUMBER_SHARE: u64 = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Replaced = 1,
    Numbers = 2,
    Came = 3,
    Went = 4,
    Place = 5,
}

/// What was learnt of one host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostTemplate {
    /// Pages whose text had changed.
    pages: u32,
    counts: HashMap<u64, u32, FixedState>,
}

impl HostTemplate {
    /// Takes in how one page of the host changed between two visits.
    pub fn learn(&mut self, old: &Signatures, new: &Signatures) {
        if old.text == new.text && old.title == new.title {
            return;
        }
        self.pages = self.pages.saturating_add(1);
        let mut keys = Vec::new();
        for (a, b) in [(&old.title, &new.title), (&old.lines, &new.lines)] {
            let changes = line_diff::changes(a, b);
            for at in 0..changes.len().min(MAX_CHANGES) {
                keys.extend(keys_of(a, b, &changes, at).into_iter().flatten());
            }
        }
        keys.sort_unstable();
        keys.dedup();
        for key in keys {
            let count = self.counts.entry(key).or_insert(0);
            *count = count.saturating_add(1);
        }
        self.shrink();
    }

    /// Adds what another template of the same host has learnt.
    pub fn merge(&mut self, other: &Self) {
        self.pages = self.pages.saturating_add(other.pages);
        for (&key, &count) in &other.counts {
            let mine = self.counts.entry(key).or_insert(0);
            *mine = mine.saturating_add(count);
        }
        self.shrink();
    }

    /// Pages learnt from.
    pub fn pages(&self) -> u32 {
        self.pages
    }

    /// Whether the change at `at` in `changes` is the host's habit; `bold` if a changing place may explain it.
    pub(crate) fn explains(
        &self,
        old: &Lines,
        new: &Lines,
        changes: &[LineChange],
        at: usize,
        bold: bool,
    ) -> bool {
        let [replaced, sure @ .., place] = keys_of(old, new, changes, at);
        let count = |key: Option<u64>| key.and_then(|k| self.counts.get(&k)).copied().unwrap_or(0);
        let most = |count: u32, least: u32| count >= least && u64::from(count) * 2 > u64::from(self.pages);
        let replaced = count(replaced);
        let number = matches!(changes[at], LineChange::Numbers(..))
            && replaced >= MIN_NUMBER_PAGES
            && u64::from(replaced) * NUMBER_SHARE >= u64::from(self.pages);
        number
            || most(replaced, MIN_PAGES)
            || sure.into_iter().any(|key| most(count(key), MIN_PAGES))
            || bold && most(count(place), MIN_PLACE_PAGES)
    }

    fn shrink(&mut self) {
        if self.counts.len() > MAX_KEYS {
            let mut counts: Vec<(u32, u64)> = self.counts.iter().map(|(&k, &c)| (c, k)).collect();
            counts.sort_unstable_by(|a, b| b.cmp(a));
            self.counts = counts.into_iter().take(MAX_KEYS / 2).map(|(c, k)| (k, c)).collect();
        }
    }
}

/// The ways in which one change may be told; the last is the place.
fn keys_of(old: &Lines, new: &Lines, changes: &[LineChange], at: usize) -> [Option<u64>; 4] {
    let (a, b) = (&old.kept, &new.kept);
    let delta = |i: usize, j: usize| key(Way::Replaced, u64::from(b[j].words.wrapping_sub(a[i].words)));
    let place = |i: usize| {
        let shape = |at: Option<usize>| at.and_then(|at| a.get(at)).map_or(0, |m| m.shape());
        let (before, after) = (shape(i.checked_sub(1)), shape(Some(i + 1)));
        key(Way::Place, u64::from(before) << 32 | u64::from(after))
    };
    match changes[at] {
        LineChange::Numbers(i, j) => {
            [delta(i, j), key(Way::Numbers, u64::from(a[i].shape())), None, place(i)]
        }
        LineChange::Removed(i) => {
            let (twin, single) = twin(changes, at);
            let gone = key(Way::Went, u64::from(a[i].shape()) << 32 | u64::from(a[i].words));
            [twin.and_then(|j| delta(i, j)), gone, None, if single { place(i) } else { None }]
        }
        LineChange::Added(j) => {
            let (twin, single) = twin(changes, at);
            let came = key(Way::Came, u64::from(b[j].shape()) << 32 | u64::from(b[j].words));
            [twin.and_then(|i| delta(i, j)), came, None, if single { twin.and_then(place) } else { None }]
        }
    }
}

/// The line that a removed or added one was exchanged for: the same place in the run of its counterparts. Also whether
/// the exchange was of one single line.
fn twin(changes: &[LineChange], at: usize) -> (Option<usize>, bool) {
    let is_removed = |c: &LineChange| matches!(c, LineChange::Removed(_));
    let is_added = |c: &LineChange| matches!(c, LineChange::Added(_));
    let removed = is_removed(&changes[at]);
    let start = changes[..at]
        .iter()
        .rposition(|c| if removed { !is_removed(c) } else { !is_added(c) })
        .map_or(0, |n| n + 1);
    let run =
        changes[start..].iter().take_while(|c| is_removed(c) == removed && is_added(c) != removed).count();
    // A run of removed lines stands right in front of the lines added in their place.
    let (other_start, other) = if removed {
        let from = start + run;
        (from, changes[from..].iter().take_while(|c| is_added(c)).count())
    } else {
        let count = changes[..start].iter().rev().take_while(|c| is_removed(c)).count();
        (start - count, count)
    };
    let n = at - start;
    let found = (n < other).then(|| changes.get(other_start + n)).flatten().and_then(|c| match *c {
        LineChange::Removed(i) | LineChange::Added(i) => Some(i),
        LineChange::Numbers(..) => None,
    });
    (found, run == 1 && other == 1)
}

fn key(way: Way, value: u64) -> Option<u64> {
    let mixed = (value ^ (way as u64).rotate_left(60)).wrapping_mul(0x9fb2_1c65_1e98_df25);
    Some(mixed ^ (mixed >> 29))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{Verdict, compare};
    use crate::{Extract, Judger, Limits, Scanner};

    fn sign(html: &str) -> Signatures {
        let mut page = Extract::new();
        Scanner::new(Limits::default()).scan(html, &mut page);
        Judger::default().sign(html, &page, None)
    }

    fn visit(n: usize, version: &str, quote: &str, own: &str) -> Signatures {
        sign(&format!(
            "<title>Module {n} — Manual {version}</title><p>Home</p><p>{quote}</p><p>Contents</p><h1>Module {n}</h1>\
             <p>About module {n} and its {own}.</p><p>Part of Manual {version} for page{n}</p>"
        ))
    }

    #[test]
    fn banners_of_a_host_are_learnt() {
        let mut template = HostTemplate::default();
        let quote = |n: usize, visit: usize| format!("Say{} what{} you will", n * 7 + visit, visit + n);
        let pairs: Vec<_> = (0..20)
            .map(|n| (visit(n, "alpha", &quote(n, 1), "uses"), visit(n, "beta", &quote(n, 2), "uses")))
            .collect();
        assert_eq!(compare(&pairs[0].0, &pairs[0].1, Some(&template)).verdict, Verdict::Text);
        let (first, second) = pairs.split_at(10);
        let mut other = HostTemplate::default();
        first.iter().for_each(|(a, b)| template.learn(a, b));
        second.iter().for_each(|(a, b)| other.learn(a, b));
        template.merge(&other);
        assert_eq!(template.pages(), 20);
        for (old, new) in &pairs {
            assert_eq!(compare(old, new, Some(&template)).verdict, Verdict::Noise);
        }
        let news = visit(3, "beta", &quote(3, 2), "abuses");
        assert_eq!(compare(&pairs[3].0, &news, Some(&template)).verdict, Verdict::Text);
        let packed = postcard::to_stdvec(&template).unwrap();
        assert_eq!(postcard::from_bytes::<HostTemplate>(&packed).unwrap(), template);
    }

    #[test]
    fn the_same_number_on_some_pages_is_a_version() {
        let page = |n: usize, version: &str, own: &str| {
            sign(&format!("<h1>Part {}</h1><p>Manual {version} of all</p><p>{own} text</p>", words(n + 99)))
        };
        let mut template = HostTemplate::default();
        for n in 0..30 {
            // A third has nothing new but the version; the others change each in its own way.
            let (before, after) = if n % 3 == 0 {
                (page(n, "15.18", "same"), page(n, "15.19", "same"))
            } else {
                (page(n, "x", &words(n + 500)), page(n, "x", &words(n + 7000)))
            };
            template.learn(&before, &after);
        }
        let judge = |old: &str, new: &str, own: &str| {
            compare(&page(77, old, "same"), &page(77, new, own), Some(&template)).verdict
        };
        assert_eq!(judge("15.18", "15.19", "same"), Verdict::Noise);
        assert_eq!(judge("15.18", "15.20", "same"), Verdict::Text, "another number is news");
        assert_eq!(judge("15.18", "15.19", "other"), Verdict::Text, "and so is another word");
    }

    #[test]
    fn where_the_main_content_changed_no_place_explains() {
        let page = |n: usize, lead: &str, main: &str| {
            let mut signed = sign(&format!("<p>Top</p><p>{lead}</p><p>End</p><p>{}</p>", words(n + 9)));
            signed.main = Some(main.len() as u64);
            signed
        };
        let mut template = HostTemplate::default();
        for n in 0..20 {
            template.learn(&page(n, &words(n + 300), ""), &page(n, &words(n + 9000), ""));
        }
        let (old, aside, main) = (page(50, "abc", "m"), page(50, "xyz", "m"), page(50, "xyz", "main"));
        assert_eq!(compare(&old, &aside, Some(&template)).verdict, Verdict::Noise);
        assert_eq!(compare(&old, &main, Some(&template)).verdict, Verdict::Text);
    }

    #[test]
    fn keys_are_bounded() {
        let mut template = HostTemplate::default();
        for n in 0..200 {
            let body = |salt: usize| {
                (0..100).map(|i| format!("<p>w{}</p>", words(n * 1000 + i * 2 + salt))).collect::<String>()
            };
            template.learn(&sign(&body(0)), &sign(&body(1)));
        }
        assert!(template.counts.len() <= MAX_KEYS);
    }

    fn words(mut n: usize) -> String {
        let mut word = String::new();
        while n > 0 {
            word.push((b'a' + (n % 26) as u8) as char);
            n /= 26;
        }
        word
    }
}
