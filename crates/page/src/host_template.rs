//! What a host's pages have in common, learnt from how they change.
//!
//! That many pages change at the same place says nothing: so do the prices of a shop. It takes the same words: the same ones
//! replaced by the same ones on most pages (told by the difference of word sums, wherever in a line), the very same line
//! coming or going, or a few texts that come and go again and again. And it takes a line in front of the first heading, around
//! the content, or made of links; elsewhere "In stock" may become "Sold out" on all pages at once. Version numbers
//! count anywhere. Counts are bounded ([`MAX_KEYS`]) and two templates of one host can be merged.

use super::line_diff::{self, LineChange};
use super::line_store::Lines;
use super::noise::{LineMark, flag};
use super::reason::Reason;
use super::signature::Signatures;
use foldhash::fast::FixedState;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// Keys counted for one host; when full, the rarest half is forgotten.
pub const MAX_KEYS: usize = 4096;
/// Changes of one page that are counted.
const MAX_CHANGES: usize = 256;
/// A way of changing is template from this many pages on.
const MIN_PAGES: u32 = 4;
/// The very same version replaced by the very same version need not stand on most pages, only on this many…
const MIN_NUMBER_PAGES: u32 = 8;
/// …and on one in so many of those that changed.
const NUMBER_SHARE: u64 = 5;
/// A text that came and went at least so often, all in all, rotates.
const MIN_TURNS: u32 = 4;
/// So many different ones that did so are a pool, from which lines anywhere on a page may be taken.
const MIN_POOL: u32 = 5;
/// After so many pages, what was learnt counts half: habits change.
const FORGET_PAGES: u32 = 512;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Replaced = 1,
    Came = 3,
    Went = 4,
    Links = 6,
    Images = 7,
    Tags = 8,
}

/// What was learnt of one host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostTemplate {
    /// Pages that had changed.
    pages: u32,
    counts: HashMap<u64, u32, FixedState>,
    /// Texts that came and went.
    pool: u32,
}

impl HostTemplate {
    /// Takes in how one page of the host changed between two visits.
    pub fn learn(&mut self, old: &Signatures, new: &Signatures) {
        if old.body == new.body {
            return;
        }
        let mut keys = Vec::new();
        for (a, b) in [(&old.title, &new.title), (&old.lines, &new.lines)] {
            let changes = line_diff::changes(a, b);
            for at in 0..changes.len().min(MAX_CHANGES) {
                keys.extend(keys_of(a, b, &changes, at).into_iter().flatten());
            }
        }
        keys.extend(page_keys(old, new).into_iter().flatten());
        if keys.is_empty() {
            return;
        }
        self.pages = self.pages.saturating_add(1);
        keys.sort_unstable();
        keys.dedup();
        for key in keys {
            let count = self.counts.entry(key).or_insert(0);
            *count = count.saturating_add(1);
        }
        self.count_pool(old, new);
        if self.pages >= FORGET_PAGES {
            self.pages /= 2;
            self.counts.retain(|_, count| {
                *count /= 2;
                *count > 0
            });
            self.pool /= 2;
        }
        self.shrink();
    }

    /// Counts a text when it turns out to be one that rotates.
    fn count_pool(&mut self, old: &Signatures, new: &Signatures) {
        let changes = line_diff::changes(&old.lines, &new.lines);
        for change in changes.iter().take(MAX_CHANGES) {
            let mark = match *change {
                LineChange::Removed(i) => old.lines.kept[i],
                LineChange::Added(j) => new.lines.kept[j],
                LineChange::Numbers(..) => continue,
            };
            if self.turns(mark) == Some(MIN_TURNS) {
                self.pool = self.pool.saturating_add(1);
            }
        }
    }

    /// Adds what another template of the same host has learnt.
    pub fn merge(&mut self, other: &Self) {
        self.pages = self.pages.saturating_add(other.pages);
        self.pool = self.pool.saturating_add(other.pool);
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

    /// Why the change at `at` in `changes` is the host's habit, if it is; in a title, any line may be.
    pub(crate) fn explains(
        &self,
        old: &Lines,
        new: &Lines,
        changes: &[LineChange],
        at: usize,
        in_title: bool,
    ) -> Option<Reason> {
        let mark = match changes[at] {
            LineChange::Removed(i) => old.kept[i],
            LineChange::Added(j) | LineChange::Numbers(_, j) => new.kept[j],
        };
        if mark.has(flag::HARD) {
            return None;
        }
        let [replaced, gone] = keys_of(old, new, changes, at).map(|key| self.count(key));
        if matches!(changes[at], LineChange::Numbers(..))
            && mark.is_version()
            && replaced >= MIN_NUMBER_PAGES
            && u64::from(replaced) * NUMBER_SHARE >= u64::from(self.pages)
        {
            return Some(Reason::VersionBanner);
        }
        let apart = in_title || mark.has(flag::AROUND | flag::EARLY | flag::LINK);
        if apart && self.most(replaced) {
            return Some(Reason::VersionBanner);
        }
        if matches!(changes[at], LineChange::Numbers(..)) {
            return None;
        }
        if apart && self.most(gone) {
            return Some(Reason::SiteWideLine);
        }
        let rotates = self.turns(mark).is_some_and(|turns| turns >= MIN_TURNS);
        let of_pool = self.pool >= MIN_POOL && !mark.has_numbers();
        let may_rotate = rotates && (mark.has(flag::AROUND | flag::LINK) || of_pool);
        // A line that only changed its place on this page is an entry of a list in another order.
        let moved = || {
            changes.iter().any(|change| match (changes[at], *change) {
                (LineChange::Removed(i), LineChange::Added(j))
                | (LineChange::Added(j), LineChange::Removed(i)) => {
                    line_key(Way::Came, old.kept[i]) == line_key(Way::Came, new.kept[j])
                }
                _ => false,
            })
        };
        (may_rotate && !moved()).then_some(Reason::RotatingText)
    }

    /// Whether most pages of the host changed their links, images and tags as this one did, as far as it did.
    pub(crate) fn explains_markup(&self, old: &Signatures, new: &Signatures) -> bool {
        page_keys(old, new).into_iter().flatten().all(|key| self.most(self.count(Some(key))))
    }

    fn count(&self, key: Option<u64>) -> u32 {
        key.and_then(|key| self.counts.get(&key)).copied().unwrap_or(0)
    }

    fn most(&self, count: u32) -> bool {
        count >= MIN_PAGES && u64::from(count) * 2 > u64::from(self.pages)
    }

    /// How often a line came and went, if it did both.
    fn turns(&self, mark: LineMark) -> Option<u32> {
        let (came, went) = (self.count(line_key(Way::Came, mark)), self.count(line_key(Way::Went, mark)));
        (came > 0 && went > 0).then(|| came.saturating_add(went))
    }

    fn shrink(&mut self) {
        if self.counts.len() > MAX_KEYS {
            let mut counts: Vec<(u32, u64)> = self.counts.iter().map(|(&k, &c)| (c, k)).collect();
            counts.sort_unstable_by(|a, b| b.cmp(a));
            self.counts = counts.into_iter().take(MAX_KEYS / 2).map(|(c, k)| (k, c)).collect();
        }
    }
}

/// What changed in a page's links, images and tags.
fn page_keys(old: &Signatures, new: &Signatures) -> [Option<u64>; 3] {
    let delta = |way, a: u64, b: u64| if a == b { None } else { key(way, b.wrapping_sub(a)) };
    let tags = if old.quiet_structure == new.quiet_structure {
        None
    } else {
        // With as many tags as before, no two pages are alike in what they changed.
        let same_count = old.tags == new.tags;
        key(Way::Tags, if same_count { new.structure } else { u64::from(new.tags.wrapping_sub(old.tags)) })
    };
    [delta(Way::Links, old.links, new.links), delta(Way::Images, old.images, new.images), tags]
}

/// The ways in which one change may be told: what was replaced by what, and the line that came or went.
fn keys_of(old: &Lines, new: &Lines, changes: &[LineChange], at: usize) -> [Option<u64>; 2] {
    let (a, b) = (&old.kept, &new.kept);
    let delta = |i: usize, j: usize| key(Way::Replaced, u64::from(b[j].words.wrapping_sub(a[i].words)));
    match changes[at] {
        LineChange::Numbers(i, j) => [delta(i, j), None],
        LineChange::Removed(i) => [twin(changes, at).and_then(|j| delta(i, j)), line_key(Way::Went, a[i])],
        LineChange::Added(j) => [twin(changes, at).and_then(|i| delta(i, j)), line_key(Way::Came, b[j])],
    }
}

fn line_key(way: Way, mark: LineMark) -> Option<u64> {
    key(way, u64::from(mark.shape()) << 32 | u64::from(mark.words))
}

/// The line that a removed or added one was exchanged for: the same place in the run of its counterparts.
fn twin(changes: &[LineChange], at: usize) -> Option<usize> {
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
    (n < other).then(|| changes.get(other_start + n)).flatten().and_then(|c| match *c {
        LineChange::Removed(i) | LineChange::Added(i) => Some(i),
        LineChange::Numbers(..) => None,
    })
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

    fn visit(n: usize, version: &str, own: &str) -> Signatures {
        sign(&format!(
            "<title>Module {n} — Manual {version}</title><p>Home</p><p>Manual {version}</p><p>Contents</p><h1>Module {n}</h1>\
             <p>About module {n} and its {own}.</p><footer>Part of Manual {version} for page{n}</footer>"
        ))
    }

    #[test]
    fn banners_of_a_host_are_learnt() {
        let mut template = HostTemplate::default();
        let pairs: Vec<_> = (0..20).map(|n| (visit(n, "alpha", "uses"), visit(n, "beta", "uses"))).collect();
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
        let news = visit(3, "beta", "abuses");
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
    fn another_text_at_the_same_place_of_all_pages_is_news() {
        let page =
            |n: usize, lead: &str| sign(&format!("<p>Top</p><p>{lead}</p><p>End</p><p>{}</p>", words(n + 9)));
        let mut template = HostTemplate::default();
        for n in 0..40 {
            template.learn(&page(n, &words(n + 300)), &page(n, &words(n + 9000)));
        }
        assert_eq!(compare(&page(50, "abc"), &page(50, "xyz"), Some(&template)).verdict, Verdict::Text);
    }

    #[test]
    fn texts_that_come_and_go_again_are_noise() {
        let tip = |n: usize| format!("A tip {} for readers", words(26 + n % 6));
        let page = |n: usize, tip: &str| {
            sign(&format!("<h1>P{}</h1><p>{}</p><p>{tip}</p>", words(n + 99), words(n + 9)))
        };
        let mut template = HostTemplate::default();
        for round in 0..4 {
            for n in 0..12 {
                template.learn(&page(n, &tip(n + round)), &page(n, &tip(n + round + 1)));
            }
        }
        let judge = |new: &str| compare(&page(5, &tip(1)), &page(5, new), Some(&template)).verdict;
        assert_eq!(judge(&tip(3)), Verdict::Noise);
        assert_eq!(judge("The council closes the bridge"), Verdict::Text, "seen for the first time");
    }

    #[test]
    fn a_list_in_another_order_is_news_on_any_number_of_pages() {
        let page = |n: usize, turn: usize| {
            let (one, two) = (words(26 + n % 7), words(900 + n % 7));
            let list = if turn.is_multiple_of(2) { [one, two] } else { [two, one] };
            sign(&format!("<h1>P{}</h1><ol><li>{}<li>{}</ol>", words(n + 99), list[0], list[1]))
        };
        let mut template = HostTemplate::default();
        for n in 0..60 {
            template.learn(&page(n, n), &page(n, n + 1));
        }
        assert_eq!(compare(&page(5, 0), &page(5, 1), Some(&template)).verdict, Verdict::Text);
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
