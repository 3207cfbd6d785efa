//! How the changes of a host's pages are told, refresh after refresh.

use super::{Kind, page};
use lycosa_page::{Extract, HostTemplate, Judger, Limits, Scanner, Signatures, Verdict, compare};

/// How many pages a host has, and how many of them change.
#[derive(Clone, Copy)]
pub struct Host {
    pub pages: u64,
    pub percent: u64,
}

#[derive(Default, Clone, Copy)]
pub struct Score {
    /// Pages that changed, once per refresh.
    pub changes: u32,
    /// Of them, told as news.
    pub told: u32,
    /// Where the tags' strings, and one of the text codes, differ: the papers' methods by themselves.
    pub by_tags: u32,
    pub by_codes: u32,
}

impl Score {
    pub fn recall(&self) -> f64 {
        f64::from(self.told) / f64::from(self.changes.max(1))
    }
}

/// Lets a host's pages change, and judges them as a refresh does: noise leaves the earlier copy to compare with.
pub fn play(kind: &Kind, host: Host, language: usize, markup: usize, refreshes: u64) -> Score {
    let mut score = Score::default();
    let (mut scanner, mut extract, mut judger) =
        (Scanner::new(Limits::default()), Extract::new(), Judger::default());
    let mut sign = |number: u64, version: u64| -> Signatures {
        let source = page(kind, language, markup, number, version);
        scanner.scan(&source, &mut extract);
        judger.visited_at(1_763_553_600_000 + version * 600_000);
        judger.sign(&source, &extract, None)
    };
    let changing = (host.pages * host.percent).div_ceil(100);
    let mut kept: Vec<Signatures> = (0..changing).map(|n| sign(n, 0)).collect();
    for version in 1..=refreshes {
        // Each refresh begins with an empty template, as a process does.
        let mut template = HostTemplate::default();
        for (number, old) in kept.iter_mut().enumerate() {
            let new = sign(number as u64, version);
            if new.body == old.body {
                continue;
            }
            template.learn(old, &new);
            let verdict = compare(old, &new, Some(&template)).verdict;
            score.changes += 1;
            score.told += u32::from(matches!(verdict, Verdict::Text | Verdict::Structure | Verdict::Image));
            score.by_tags += u32::from(old.tag_strings != new.tag_strings);
            score.by_codes += u32::from(
                old.text_code.one().to_bits() != new.text_code.one().to_bits()
                    || old.text_code.two().to_bits() != new.text_code.two().to_bits(),
            );
            if verdict != Verdict::Noise {
                *old = new;
            }
        }
    }
    score
}
