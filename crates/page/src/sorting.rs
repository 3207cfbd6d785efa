//! Lines that differ between two visits, sorted into news and noise, each noise with its reason.

use super::compare::{Comparison, MAX_PLACES};
use super::host_template::HostTemplate;
use super::line_diff::{self, LineChange};
use super::line_kind::LineKind;
use super::line_mark::{LineMark, flag};
use super::line_store::Lines;
use super::reason::{Explained, NoiseMode, Reason};

/// How lines that differ are sorted into news and noise.
#[derive(Clone, Copy)]
pub(crate) struct Sorting<'a> {
    pub template: Option<&'a HostTemplate>,
    pub mode: NoiseMode,
    pub in_title: bool,
}

impl Sorting<'_> {
    /// Puts lines that are news into the report, and those that are not with their reasons; returns how many are not.
    pub fn sort(&self, old: &Lines, new: &Lines, report: &mut Comparison) -> u32 {
        let changes = line_diff::changes(old, new);
        let mut noise = 0;
        for (at, change) in changes.iter().enumerate() {
            let (old_at, new_at) = match *change {
                LineChange::Numbers(i, j) => (Some(i), Some(j)),
                LineChange::Removed(i) => (Some(i), None),
                LineChange::Added(j) => (None, Some(j)),
            };
            let (old_line, new_line) = (old_at.map(|at| old.number(at)), new_at.map(|at| new.number(at)));
            if let Some(reason) = self.reason(old, new, &changes, at) {
                noise += 1;
                if report.explained.len() < MAX_PLACES {
                    report.explained.push(Explained { reason, old_line, new_line });
                }
                continue;
            }
            for (list, number) in [(&mut report.old_lines, old_line), (&mut report.new_lines, new_line)] {
                if list.len() < MAX_PLACES {
                    list.extend(number);
                }
            }
        }
        report.noise_lines += noise;
        noise
    }

    /// Why a difference is no news, if it is none.
    fn reason(&self, old: &Lines, new: &Lines, changes: &[LineChange], at: usize) -> Option<Reason> {
        if self.mode == NoiseMode::Off {
            return None;
        }
        let normal = self.mode == NoiseMode::Normal;
        let own = match changes[at] {
            LineChange::Numbers(i, j) => {
                let (a, b) = (old.kept[i], new.kept[j]);
                let kind = Some(b.kind()).filter(|&kind| kind == a.kind() || !old.has_kinds);
                let banner = (a.is_banner() && b.is_banner()).then_some(Reason::Advertisement);
                let timed = || {
                    let since = Some((old.core?.at, new.core?.at));
                    time_went_on(kind?, (a.words, b.words), since).filter(|_| old.has_kinds && normal)
                };
                banner.or_else(|| kind.and_then(Reason::of)).or_else(timed)
            }
            LineChange::Removed(i) => old.kept[i].is_banner().then_some(Reason::Advertisement),
            LineChange::Added(j) => new.kept[j].is_banner().then_some(Reason::Advertisement),
        };
        let around = || {
            // Words there that lead nowhere may be what a site wants to say: an alert, new hours.
            let stands_apart =
                |mark: LineMark| mark.has(flag::AROUND) && mark.has(flag::LINK) && !mark.has(flag::HARD);
            let apart = match changes[at] {
                LineChange::Numbers(i, j) => {
                    stands_apart(new.kept[j]) && (stands_apart(old.kept[i]) || !old.has_kinds)
                }
                LineChange::Removed(i) => stands_apart(old.kept[i]),
                LineChange::Added(j) => stands_apart(new.kept[j]),
            };
            (apart && normal).then_some(Reason::Surroundings)
        };
        let habit = || self.template.and_then(|t| t.explains(old, new, changes, at, self.in_title));
        own.or_else(habit).or_else(around)
    }
}

/// Minutes by which a clock may be off.
const CLOCK_MINUTES: i64 = 2;
const DAY_MINUTES: i64 = 1440;
const MINUTE_MS: u64 = 60_000;
const DAY_MS: u64 = 86_400_000;
/// Hours of the day that begins first, and last, on Earth.
const EARLIEST_MS: u64 = 14 * 3_600_000;
const LATEST_MS: u64 = 12 * 3_600_000;

/// The reason if a line that is a time alone went on as the time between two visits did; `visits` in milliseconds.
fn time_went_on(kind: LineKind, (old, new): (u32, u32), visits: Option<(u64, u64)>) -> Option<Reason> {
    if kind == LineKind::Elapsed {
        return (new > old).then_some(Reason::ElapsedTime);
    }
    let (before, now) = visits.filter(|&(before, now)| before > 0 && now >= before)?;
    let is_clock = match kind {
        LineKind::TimeAlone => {
            let passed = ((now - before) / MINUTE_MS) as i64;
            let off = (i64::from(new) - i64::from(old) - passed).rem_euclid(DAY_MINUTES);
            off <= CLOCK_MINUTES || off >= DAY_MINUTES - CLOCK_MINUTES
        }
        LineKind::DayAlone => {
            let is_today = |day: u32, at: u64| {
                let first = at.saturating_sub(LATEST_MS) / DAY_MS;
                (first..=(at + EARLIEST_MS) / DAY_MS).contains(&u64::from(day))
            };
            is_today(old, before) && is_today(new, now)
        }
        _ => false,
    };
    is_clock.then_some(Reason::Clock)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_goes_on_as_time_does() {
        let (noon, later) = (1_763_553_600_000, 1_763_553_600_000 + 61 * MINUTE_MS);
        let time = |old, new| time_went_on(LineKind::TimeAlone, (old, new), Some((noon, later)));
        assert_eq!(time(258, 319), Some(Reason::Clock));
        assert_eq!(time(1430, 51), Some(Reason::Clock), "past midnight");
        assert_eq!(time(540, 600 + 30), None, "opening hours");
        assert_eq!(time_went_on(LineKind::TimeAlone, (1, 2), None), None);
        let today = (noon / DAY_MS) as u32;
        let day = |old, new| time_went_on(LineKind::DayAlone, (old, new), Some((noon, noon + DAY_MS)));
        assert_eq!(day(today, today + 1), Some(Reason::Clock));
        assert_eq!(day(today + 9, today + 10), None, "the day of a concert");
        assert_eq!(time_went_on(LineKind::Elapsed, (7, 21), None), Some(Reason::ElapsedTime));
        assert_eq!(time_went_on(LineKind::Elapsed, (45, 30), None), None, "time does not run back");
    }
}
