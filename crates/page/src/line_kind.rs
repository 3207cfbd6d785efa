//! What kind of thing the numbers of a short line are: a clock, a count of visits, a token, or news.
//!
//! A line is noise only for a reason that its own words give. Every one of its numbers must be what the reason says: the
//! count in `Views: 1204`, the date and the duration in `Generated 2026-11-15 in 12 ms`. A price, a measure, a range of
//! hours or a word such as "stock" or "deadline" makes all of the line news, and so does a number that nothing explains.

mod form;

use super::vocabulary::{MONTHS, UNITS};
use super::word_senses::{Sense, WordSenses};
use super::words::{Meaning, NumberKind, words_of};
use form::{Form, days, form_of, is_version, is_word, minute_of_day, numeric_day};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// A line with more words than this is running text.
pub(crate) const MAX_NOISE_WORDS: usize = 16;
/// Words that say nothing known, beside a date of making or a token…
const MAX_PLAIN: usize = 3;
/// …and beside a count of visits or a time that has passed.
const MAX_PLAIN_COUNTED: usize = 6;
/// Words between a count and the word that says what it counts.
const COUNTED_WITHIN: usize = 3;

/// Why a line that changed may be no news.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum LineKind {
    /// It is news.
    #[default]
    News = 0,
    /// `Views: 1204`.
    VisitCounter,
    /// `Page generated 2026-11-15T04:18:25Z in 0.023 s`.
    Clock,
    /// `3 hours ago`.
    TimeAgo,
    /// `Request id 9f86d081884c7d65`.
    Token,
    /// `© 2026 Spider Society`.
    CopyrightYear,
    /// `7 minutes` and nothing else.
    Elapsed,
    /// `04:18` and nothing else: a clock if it went on as time did.
    TimeAlone,
    /// `2026-11-15` and nothing else: a clock if it is the day of the visit.
    DayAlone,
}

impl LineKind {
    /// Of what was stored; an unknown number is news.
    pub(crate) fn from_number(number: u8) -> Self {
        const ALL: [LineKind; 9] = [
            LineKind::News,
            LineKind::VisitCounter,
            LineKind::Clock,
            LineKind::TimeAgo,
            LineKind::Token,
            LineKind::CopyrightYear,
            LineKind::Elapsed,
            LineKind::TimeAlone,
            LineKind::DayAlone,
        ];
        ALL.get(usize::from(number)).copied().unwrap_or(Self::News)
    }

    /// Noise whatever the numbers were before.
    pub(crate) fn is_volatile(self) -> bool {
        use LineKind::{Clock, CopyrightYear, TimeAgo, Token, VisitCounter};
        matches!(self, VisitCounter | Clock | TimeAgo | Token | CopyrightYear)
    }
}

/// What was made of a line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Looked {
    /// Hash of the words in order, numbers masked.
    pub shape: u64,
    pub kind: LineKind,
    /// It holds a price, a measure, hours, or a word that people watch for.
    pub is_hard: bool,
    /// Its numbers are versions.
    pub is_version: bool,
    /// What the line says, where that is one number: minutes, minutes of the day, or days.
    pub value: Option<u32>,
}

/// The words of a line, as far as they are few.
struct Words<'t> {
    senses: [Sense; MAX_NOISE_WORDS],
    texts: [&'t str; MAX_NOISE_WORDS],
    count: usize,
}

/// Looks at a line word by word.
pub(crate) fn look(senses: &mut WordSenses, text: &str, line: Range<usize>) -> Looked {
    let mut words = Words { senses: [Sense::PLAIN; MAX_NOISE_WORDS], texts: [""; MAX_NOISE_WORDS], count: 0 };
    let mut shape = 0u64;
    let mut last_masked = false;
    for place in words_of(text, line) {
        let sense = senses.of(text, place.clone());
        let masked = match sense.kind {
            NumberKind::None => sense.meaning.has(Meaning::TIME),
            NumberKind::Mixed => false,
            NumberKind::Number | NumberKind::Date | NumberKind::Token => true,
        };
        if !masked {
            shape = in_order(shape, sense.hash);
        } else if !last_masked {
            shape = in_order(shape, 1);
        }
        last_masked = masked;
        if let (Some(to), Some(said)) = (words.senses.get_mut(words.count), words.texts.get_mut(words.count))
        {
            *to = sense;
            *said = text.get(place).unwrap_or_default();
        }
        words.count += 1;
    }
    if words.count > MAX_NOISE_WORDS {
        return Looked { shape, ..Looked::default() };
    }
    let all = words.senses.get(..words.count).unwrap_or_default().iter();
    let said = all.fold(Meaning::default(), |said, word| said.and(word.meaning));
    let (kind, value) = words.alone().map_or((LineKind::News, None), |(kind, value)| (kind, Some(value)));
    let is_hard = said.has(Meaning::NEWS) || words.has_measure();
    let kind = if is_hard {
        LineKind::News
    } else if kind != LineKind::News {
        kind
    } else {
        words.reason(said)
    };
    let is_version = words.numbers().next().is_some() && words.numbers().all(|at| is_version(words.text(at)));
    Looked { shape, kind, is_hard, is_version, value: value.filter(|_| !is_hard) }
}

#[inline(always)]
pub(crate) fn in_order(shape: u64, hash: u64) -> u64 {
    (shape.rotate_left(9) ^ hash).wrapping_mul(0x9fb2_1c65_1e98_df25)
}

impl Words<'_> {
    fn sense(&self, at: usize) -> Sense {
        self.senses.get(at).copied().filter(|_| at < self.count).unwrap_or(Sense::PLAIN)
    }

    fn text(&self, at: usize) -> &str {
        self.texts.get(at).copied().unwrap_or_default()
    }

    fn numbers(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.count).filter(|&at| self.sense(at).kind != NumberKind::None)
    }

    /// Words of which nothing is known.
    fn plain(&self) -> usize {
        let known = Meaning::TIME
            .and(Meaning::COUNTER)
            .and(Meaning::BETWEEN)
            .and(Meaning::AGO)
            .and(Meaning::MADE)
            .and(Meaning::NOW)
            .and(Meaning::COPYRIGHT)
            .and(Meaning::REQUEST);
        let is_plain = |word: Sense| word.kind == NumberKind::None && !word.meaning.has(known);
        (0..self.count).filter(|&at| is_plain(self.sense(at)) && is_word(self.text(at))).count()
    }

    /// Money, weights, temperatures, shares, hours from when to when.
    fn has_measure(&self) -> bool {
        self.numbers().any(|at| {
            let beside =
                |at: Option<usize>| at.is_some_and(|at| self.sense(at).meaning.has(Meaning::MEASURE));
            let made_of = form_of(self.text(at));
            made_of == Form::Measure && !self.is_years(at)
                || beside(Some(at + 1))
                || beside(at.checked_sub(1))
        })
    }

    /// A unit of time follows or is attached.
    fn has_unit(&self, at: usize) -> bool {
        self.sense(at + 1).meaning.has(Meaning::UNIT) || form_of(self.text(at)) == Form::Duration
    }

    /// A day or a time of day by its form, or part of a date with a month in letters.
    fn is_date(&self, at: usize, month: bool) -> bool {
        let word = self.sense(at);
        word.kind == NumberKind::Date || month && word.could_be_date_part
    }

    /// `2026`, `2019-2026`.
    fn is_years(&self, at: usize) -> bool {
        let trimmed = self.text(at).trim_matches(|c: char| !c.is_ascii_digit());
        let mut years = trimmed.split(['-', '–']).peekable();
        years.peek().is_some()
            && years.all(|year| year.len() == 4 && (year.starts_with("19") || year.starts_with("20")))
    }

    /// The kind that the words of the line say its numbers are of.
    fn reason(&self, said: Meaning) -> LineKind {
        let month = said.has(Meaning::MONTH);
        let plain = self.plain();
        let any = self.numbers().next().is_some();
        if any && self.numbers().all(|at| self.text(at).ends_with('前')) {
            return LineKind::TimeAgo;
        }
        let ago = said.has(Meaning::AGO) || self.says_il_y_a();
        if ago && plain <= MAX_PLAIN_COUNTED && said.has(Meaning::UNIT) {
            let passed = |at: usize| self.has_unit(at);
            if self.numbers().all(passed) {
                return LineKind::TimeAgo;
            }
        }
        if !any {
            return LineKind::News;
        }
        if said.has(Meaning::COPYRIGHT) && self.numbers().all(|at| self.is_years(at)) {
            return LineKind::CopyrightYear;
        }
        if said.has(Meaning::REQUEST)
            && plain <= MAX_PLAIN
            && self.numbers().all(|at| self.sense(at).kind == NumberKind::Token)
        {
            return LineKind::Token;
        }
        if said.has(Meaning::COUNTER) && plain <= MAX_PLAIN_COUNTED && self.counts(month) {
            return LineKind::VisitCounter;
        }
        let of_making = |at: usize| {
            self.is_date(at, month) || self.has_unit(at) && self.sense(at).kind == NumberKind::Number
        };
        if said.has(Meaning::MADE) && plain <= MAX_PLAIN && self.numbers().all(of_making) {
            return LineKind::Clock;
        }
        let has_time = self.numbers().any(|at| self.text(at).contains(':'));
        if said.has(Meaning::NOW)
            && plain == 0
            && has_time
            && self.numbers().all(|at| self.is_date(at, month))
        {
            return LineKind::Clock;
        }
        LineKind::News
    }

    /// Whether every number is a count near the word that says what it counts, a date, or a time taken.
    fn counts(&self, month: bool) -> bool {
        let mut counted = false;
        let explained = self.numbers().all(|at| {
            if self.is_date(at, month) || self.has_unit(at) {
                return true;
            }
            let near = at.saturating_sub(COUNTED_WITHIN)..=at + COUNTED_WITHIN;
            let is_count = self.sense(at).kind == NumberKind::Number
                && near.into_iter().any(|at| self.sense(at).meaning.has(Meaning::COUNTER));
            counted |= is_count;
            is_count
        });
        explained && counted
    }

    /// `il y a 3 minutes`.
    fn says_il_y_a(&self) -> bool {
        let words = self.texts.get(..self.count).unwrap_or_default();
        words.windows(3).any(|three| three[0].eq_ignore_ascii_case("il") && three[1..] == ["y", "a"])
    }

    /// A line that is one duration, one time of day or one day, and what it says.
    fn alone(&self) -> Option<(LineKind, u32)> {
        let first = self.numbers().next()?;
        let rest =
            |at: usize| self.sense(at).kind != NumberKind::None || self.sense(at).meaning.has(Meaning::TIME);
        if self.count > 6 || !(0..self.count).all(|at| rest(at) || !is_word(self.text(at))) {
            return None;
        }
        if self.sense(first).kind == NumberKind::Number && self.has_unit(first) {
            let of = |at: usize| self.minutes(at);
            let sum = self.numbers().map(of).try_fold(0u32, |sum, minutes| sum.checked_add(minutes?))?;
            return Some((LineKind::Elapsed, sum));
        }
        let mut day = None;
        let mut time = None;
        for at in self.numbers().filter(|&at| self.sense(at).kind == NumberKind::Date) {
            let said = self.text(at);
            if said.contains(':') && !said.contains('-') {
                time = time.or_else(|| minute_of_day(said));
            } else {
                day = day.or_else(|| numeric_day(said));
            }
        }
        let dated = self.numbers().all(|at| self.sense(at).kind == NumberKind::Date);
        let day = if dated { day } else { self.named_day() };
        match (day, time) {
            (Some(day), _) => Some((LineKind::DayAlone, day)),
            (None, Some(minute)) if self.numbers().count() == 1 => {
                let late = (0..self.count).any(|at| self.text(at).eq_ignore_ascii_case("pm"));
                Some((LineKind::TimeAlone, minute + if late && minute < 720 { 720 } else { 0 }))
            }
            _ => None,
        }
    }

    fn minutes(&self, at: usize) -> Option<u32> {
        let said = self.text(at);
        let digits: String = said.chars().take_while(char::is_ascii_digit).collect();
        let unit = if self.sense(at + 1).meaning.has(Meaning::UNIT) {
            self.text(at + 1)
        } else {
            &said[digits.len()..]
        };
        let unit = unit.trim_end_matches(['.', ',']).to_ascii_lowercase();
        let per = UNITS.iter().find(|(_, names)| names.contains(&unit.as_str()))?.0;
        digits.parse::<u32>().ok()?.checked_mul(per)
    }

    /// `15 November 2026`, `Nov 15, 2026`.
    fn named_day(&self) -> Option<u32> {
        let word =
            |at: usize| self.text(at).trim_matches(|c: char| c.is_ascii_punctuation()).to_ascii_lowercase();
        let month = (0..self.count).find_map(|at| {
            let said = word(at);
            MONTHS.iter().position(|names| names.contains(&said.as_str()))
        })?;
        if !self.numbers().all(|at| self.is_date(at, true)) {
            return None;
        }
        let mut numbers = self.numbers().filter_map(|at| {
            let digits: String = word(at).chars().take_while(char::is_ascii_digit).collect();
            digits.parse::<u32>().ok().filter(|_| !self.text(at).contains(':'))
        });
        let (one, two) = (numbers.next()?, numbers.next()?);
        let (day, year) = if one > 31 { (two, one) } else { (one, two) };
        days(year, month as u32 + 1, day)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(line: &str) -> LineKind {
        look(&mut WordSenses::default(), line, 0..line.len()).kind
    }

    #[test]
    fn every_reason_is_told_in_several_languages() {
        use LineKind::*;
        for (line, expected) in [
            ("Views: 1204", VisitCounter),
            ("Aufrufe: 1.204", VisitCounter),
            ("1 204 vues", VisitCounter),
            ("Visitas: 1204", VisitCounter),
            ("12 queries in 0.023 seconds", VisitCounter),
            ("Page generated 2026-11-15T04:18:25Z in 0.023 s", Clock),
            ("Zuletzt geändert am 15. November 2026 um 04:18", Clock),
            ("Dernière mise à jour : 15/11/2026", Clock),
            ("Última actualización: 15/11/2026", Clock),
            ("Ultimo aggiornamento: 15/11/2026", Clock),
            ("3 hours ago", TimeAgo),
            ("vor 3 Minuten", TimeAgo),
            ("il y a 3 minutes", TimeAgo),
            ("hace 3 horas", TimeAgo),
            ("3 giorni fa", TimeAgo),
            ("3分前", TimeAgo),
            ("an hour ago", TimeAgo),
            ("Request id 9f86d081884c7d65", Token),
            ("© 2019–2026 Spider Society", CopyrightYear),
            ("7 minutes", Elapsed),
            ("2h 7min", Elapsed),
            ("04:18", TimeAlone),
            ("Sunday, 15 November 2026", DayAlone),
            ("19.11.2026", DayAlone),
        ] {
            assert_eq!(kind(line), expected, "{line}");
        }
    }

    #[test]
    fn what_people_watch_is_news() {
        for line in [
            "Price: €1,299.00",
            "1.299,00 €",
            "$ 12.50",
            "12 in stock",
            "Only 3 left",
            "Noch 3 auf Lager",
            "2:1",
            "Spiders 2 - 1 Flies",
            "Spiders 2:1 Flies",
            "Deadline: 15 May 2026",
            "Apply by 2026-11-19",
            "Frist: 20.11.2026",
            "Mon-Fri 9:00-17:00",
            "9:00–17:00",
            "Open 9:00 to 17:00",
            "Phone: +49 30 1234567",
            "030 1234567",
            "21.5 °C",
            "3,4 %",
            "12,400",
            "Updated price: 5 May 2026",
            "Delivery in 3 days",
            "Version 3.11.2",
            "§ 12 Abs. 3",
            "The show was viewed by 12 million; price 20 EUR",
            "SHA256: 9f86d081884c7d65",
            "Concert 15 November 2026 20:00",
            "Duration: 45 minutes",
            "Menu for 15 November 2026",
            "1 EUR = 1.0854 USD",
            "Departure 04:18",
            "7 Uhr bis 9 Uhr",
            "12 cases today",
            "Round 3 of 5",
        ] {
            let found = kind(line);
            assert_eq!(found, LineKind::News, "{line}");
        }
    }

    #[test]
    fn a_line_that_is_one_time_says_which() {
        let value = |line: &str| look(&mut WordSenses::default(), line, 0..line.len()).value;
        assert_eq!(value("1 January 1970"), Some(0));
        assert_eq!(value("2026-11-15"), value("Sunday, 15 November 2026"));
        assert_eq!(value("15.11.2026"), value("Nov 15, 2026"));
        assert_eq!(value("11/15/2026"), value("2026-11-15T04:18:25Z"));
        assert_eq!((value("04:18"), value("4:18 pm")), (Some(258), Some(978)));
        assert_eq!((value("2 hours"), value("7 min.")), (Some(120), Some(7)));
    }
}
