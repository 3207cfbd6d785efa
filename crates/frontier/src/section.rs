//! Sections of a host, by the beginning of the path: one may be broken while the others are well.
//!
//! After some failures in a row a section waits: its URLs go to the end of the queue, except for one after each of a
//! series of growing pauses. One answer ends that.

use foldhash::HashMap;
use lycosa_types::{HostKey, UnixMs};

use crate::politeness::Politeness;

/// Failures in a row that make a section wait.
const FAILURES: u32 = 5;
/// Sections that are remembered per host; beyond, none waits.
const MAX_SECTIONS: usize = 64;
/// Segments of the path that make a section.
const SEGMENTS: usize = 2;

#[derive(Clone, Copy, Debug, Default)]
struct Section {
    failures: u32,
    until: UnixMs,
}

#[derive(Clone, Debug, Default)]
pub struct Sections(HashMap<u64, Section>);

/// The section of a path: its directory, but at most two levels deep.
pub fn section_of(path: &str) -> &str {
    let ends = path.match_indices('/').map(|(at, _)| at + 1);
    ends.take(SEGMENTS + 1).last().map_or(path, |end| &path[..end])
}

impl Sections {
    /// A page of it failed; `late` says that it was asked for after everything else, which adds no pause.
    pub fn failed(&mut self, path: &str, late: bool, politeness: &Politeness, now: UnixMs) {
        let key = HostKey::of(section_of(path)).0;
        if self.0.len() >= MAX_SECTIONS && !self.0.contains_key(&key) {
            return;
        }
        let section = self.0.entry(key).or_default();
        section.failures += 1;
        if let Some(times) = section.failures.checked_sub(FAILURES).filter(|_| !late) {
            let times = u16::try_from(times).unwrap_or(u16::MAX).saturating_add(1);
            section.until = now.plus_ms(politeness.retry_after_ms(times, None));
        }
    }

    pub fn answered(&mut self, path: &str) {
        if !self.0.is_empty() {
            self.0.remove(&HostKey::of(section_of(path)).0);
        }
    }

    /// Whether nothing of the section was answered lately.
    pub fn is_bad(&self, path: &str) -> bool {
        self.of(path).is_some_and(|section| section.failures >= FAILURES)
    }

    /// Until when it waits, if it does.
    pub fn waits_until(&self, path: &str, now: UnixMs) -> Option<UnixMs> {
        let section = self.of(path)?;
        (section.failures >= FAILURES && section.until > now).then_some(section.until)
    }

    fn of(&self, path: &str) -> Option<&Section> {
        if self.0.is_empty() { None } else { self.0.get(&HostKey::of(section_of(path)).0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_is_the_beginning_of_a_path() {
        for (path, section) in
            [("/", "/"), ("/x.html", "/"), ("/a/x", "/a/"), ("/a/b/x", "/a/b/"), ("/a/b/c/d", "/a/b/")]
        {
            assert_eq!(section_of(path), section);
        }
    }

    #[test]
    fn a_section_waits_by_itself_and_an_answer_ends_it() {
        let (mut sections, pace) = (Sections::default(), Politeness::default());
        for number in 0..FAILURES {
            assert!(!sections.is_bad("/bad/x"));
            sections.failed(&format!("/bad/{number}"), false, &pace, UnixMs(0));
        }
        assert!(
            sections.is_bad("/bad/x") && sections.waits_until("/bad/x", UnixMs(pace.retry_ms - 1)).is_some()
        );
        assert!(
            sections.waits_until("/bad/x", UnixMs(pace.retry_ms)).is_none() && !sections.is_bad("/good/x")
        );
        sections.failed("/bad/y", false, &pace, UnixMs(0));
        assert!(sections.waits_until("/bad/x", UnixMs(pace.retry_ms)).is_some(), "the pause grows");
        sections.answered("/bad/z");
        assert!(!sections.is_bad("/bad/x"));
    }
}
