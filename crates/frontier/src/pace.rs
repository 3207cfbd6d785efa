//! The pace a host bears, learnt from its refusals (429, 503): additive increase, multiplicative decrease.
//!
//! A refusal pauses the host. The rate that follows is what the host answered since the refusal before, over the time that
//! took with the pause: so it fits limits per second as well as per minute. It is taken a little lower, and grows slowly
//! while nothing is refused, the faster the longer that lasts. It is never above what the settings allow.
//!
//! A refusal may also be about one page. While a host refuses, pages from the other end of its queue are asked for too; if
//! those are answered and the refused ones are not, refusals no longer pause the host.

use lycosa_types::UnixMs;

use crate::politeness::Politeness;

/// Share of the rate that a host showed to bear at which it is asked, in percent.
const KEPT: f64 = 0.92;
/// Answers in a row after which the rate has grown back, and after which each further hundred doubles the growth; but at
/// least as many as come in half a minute.
const ANSWERS_TO_GROW_BACK: f64 = 200.0;
const SECONDS_TO_GROW_BACK: f64 = 30.0;
/// Answers that tell a rate even if the refused page is not among those that are answered next.
const ANSWERS_THAT_TELL: u32 = 8;
/// Share that is kept of a rate that was borne for this many answers.
const KEPT_OF_KNOWN: f64 = 0.88;
const ANSWERS_THAT_BEAR: u32 = 50;
/// Rates, in requests per 1000 s: one a minute at least; beyond the other bound there is none.
const LEAST_PER_KS: f64 = 16.0;
const MOST_PER_KS: f64 = 1e6;
/// Longest first pause, where the server names none.
const FIRST_PAUSE_MS: u64 = 1000;
/// Times that other pages were answered while a refused one was not.
const TIMES_THAT_BLAME_PAGES: u8 = 3;

#[derive(Clone, Debug, Default)]
pub struct Pace {
    /// Requests per 1000 s; 0: as many as the settings allow.
    per_ks: f64,
    /// Likewise, what the host bore when it last refused.
    ceiling: f64,
    /// Since when answers are counted.
    since: UnixMs,
    answers: u32,
    /// Answers since the last refusal.
    calm: u32,
    /// Refusals in a row.
    streak: u32,
    /// The pause after the last refusal ends.
    until: UnixMs,
    refused_since: Option<UnixMs>,
    status: u16,
    blame: u8,
}

impl Pace {
    /// The pace of a host that is known from before.
    pub fn of_rate(per_ks: u32) -> Self {
        Self { per_ks: f64::from(per_ks), ceiling: f64::from(per_ks), ..Self::default() }
    }

    /// Requests per 1000 s, to be remembered; 0: as many as the settings allow.
    pub fn per_ks(&self) -> u32 {
        self.per_ks as u32
    }

    /// Shortest time from the start of a request to the start of the next.
    pub fn interval_ms(&self) -> u64 {
        if self.per_ks == 0.0 { 0 } else { (1e6 / self.per_ks).ceil() as u64 }
    }

    /// The host refuses: one request at a time.
    pub fn is_refused(&self) -> bool {
        self.streak > 0
    }

    /// The host goes on refusing: another page might be answered.
    pub fn wants_another(&self) -> bool {
        self.streak >= 2
    }

    /// Refusals are about pages, not about pace.
    pub fn blames_pages(&self) -> bool {
        self.blame >= TIMES_THAT_BLAME_PAGES
    }

    /// The status by which the host has refused everything for longer than `most_ms`.
    pub fn refused_for(&self, most_ms: u64, now: UnixMs) -> Option<u16> {
        self.refused_since.filter(|since| now.since_ms(*since) > most_ms).map(|_| self.status)
    }

    /// A request was refused. Returns the pause that the host gets.
    pub fn refused(
        &mut self,
        status: u16,
        asked_ms: Option<u64>,
        politeness: &Politeness,
        now: UnixMs,
    ) -> u64 {
        self.status = status;
        self.calm = 0;
        let asked_ms = asked_ms.unwrap_or(0).min(politeness.max_retry_ms);
        if self.streak > 0 && now < self.until {
            // Sent before the refusal that the host pauses for.
            self.until = self.until.max(now.plus_ms(asked_ms));
            return self.until.since_ms(now);
        }
        self.refused_since.get_or_insert(now);
        let first = politeness.retry_ms.clamp(1, FIRST_PAUSE_MS);
        let doubling = first.saturating_mul(1 << self.streak.min(20));
        let pause = match (asked_ms, self.streak) {
            (1.., 0) => asked_ms,
            _ => asked_ms.max(doubling).min(politeness.max_retry_ms),
        };
        self.streak += 1;
        self.until = now.plus_ms(pause);
        pause
    }

    /// A request was answered; `was_refused` says that the same page had been refused before.
    pub fn answered(&mut self, was_refused: bool, now: UnixMs) {
        if self.streak > 0 && now >= self.until {
            if was_refused {
                self.blame = 0;
            } else if self.streak >= 2 {
                self.blame = self.blame.saturating_add(1);
            }
            if was_refused || self.answers >= ANSWERS_THAT_TELL {
                self.learn(now);
            }
            self.streak = 0;
            self.refused_since = None;
            (self.since, self.answers, self.calm) = (now, 0, 0);
        }
        if self.since == UnixMs(0) {
            self.since = now;
        }
        self.answers = self.answers.saturating_add(1);
        if self.streak == 0 {
            self.calm = self.calm.saturating_add(1);
            self.grow();
        }
    }

    fn learn(&mut self, now: UnixMs) {
        let seen = f64::from(self.answers) * 1e6 / now.since_ms(self.since).max(1) as f64;
        if seen > 0.0 {
            let new = match self.per_ks {
                0.0 => seen * KEPT,
                // It was borne for a while: a little less will be.
                known if self.answers >= ANSWERS_THAT_BEAR => known * KEPT_OF_KNOWN,
                known => (seen * KEPT).clamp(known / 2.0, known * KEPT_OF_KNOWN),
            };
            self.per_ks = new.max(LEAST_PER_KS);
            self.ceiling = self.per_ks / KEPT_OF_KNOWN;
        }
    }

    fn grow(&mut self) {
        if self.per_ks == 0.0 {
            return;
        }
        let answers = ANSWERS_TO_GROW_BACK.max(self.ceiling * SECONDS_TO_GROW_BACK / 1000.0);
        let doublings = ((f64::from(self.calm) - answers) / answers.min(100.0)).clamp(0.0, 20.0).floor();
        let step = self.ceiling * (1.0 - KEPT_OF_KNOWN) / answers * doublings.exp2();
        self.per_ks += step.min(self.per_ks / 50.0);
        if self.per_ks > MOST_PER_KS {
            self.per_ks = 0.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that allows `most` requests in any `window_ms`, asked by one client at its pace for `minutes`: the share
    /// of what it allows that it answered after the first minute, and the share that it refused.
    fn crawl(most: usize, window_ms: u64, retry_after: Option<u64>, minutes: u64) -> (f64, f64) {
        let politeness = Politeness { delay_ms: 0, ..Politeness::default() };
        let (mut pace, mut now) = (Pace::default(), UnixMs(1_000_000));
        let (start, mut answered, mut refused, mut late) = (now, Vec::new(), 0_u64, 0_u64);
        let mut again = false;
        while now.since_ms(start) < minutes * 60_000 {
            let recent =
                answered.iter().rev().take(most).filter(|at: &&UnixMs| now.since_ms(**at) < window_ms);
            if recent.count() < most {
                answered.push(now);
                pace.answered(again, now);
                again = false;
                late += u64::from(now.since_ms(start) > 60_000);
                now = now.plus_ms(pace.interval_ms().max(2));
            } else {
                refused += 1;
                again = true;
                now = now.plus_ms(pace.refused(429, retry_after, &politeness, now).max(2));
            }
        }
        let allowed = most as f64 * ((minutes - 1) * 60_000) as f64 / window_ms as f64;
        (late as f64 / allowed, refused as f64 / (answered.len() as u64 + refused) as f64)
    }

    #[test]
    fn limits_of_several_kinds_are_used_and_rarely_met() {
        for (most, window_ms, retry_after) in [
            (10, 1000, Some(1000)),
            (10, 1000, None),
            (100, 1000, Some(1000)),
            (2, 1000, Some(1000)),
            (120, 60_000, None),
            (300, 60_000, Some(5000)),
        ] {
            let (share, refused) = crawl(most, window_ms, retry_after, 20);
            assert!(share >= 0.8, "{most} in {window_ms} ms: {share:.2} of it used");
            assert!(refused < 0.02, "{most} in {window_ms} ms: {refused:.3} refused");
        }
    }

    #[test]
    fn refusals_of_some_pages_do_not_hold_up_the_others() {
        let politeness = Politeness::default();
        let (mut pace, mut now) = (Pace::default(), UnixMs(1000));
        pace.answered(false, now);
        for _ in 0..TIMES_THAT_BLAME_PAGES {
            assert!(!pace.blames_pages());
            for _ in 0..2 {
                now = now.plus_ms(pace.refused(503, None, &politeness, now));
            }
            assert!(pace.wants_another());
            pace.answered(false, now);
        }
        assert!(pace.blames_pages() && pace.interval_ms() == 0);
        // The page itself is answered: it was about pace after all.
        now = now.plus_ms(pace.refused(503, None, &politeness, now));
        pace.answered(true, now);
        assert!(!pace.blames_pages());
    }

    #[test]
    fn what_a_server_asks_for_is_bounded() {
        let politeness = Politeness::default();
        let mut pace = Pace::default();
        assert_eq!(pace.refused(429, Some(7000), &politeness, UnixMs(1)), 7000);
        assert!(pace.refused(429, Some(u64::MAX), &politeness, UnixMs(9000)) <= politeness.max_retry_ms);
        assert_eq!(pace.refused_for(1000, UnixMs(9000)), Some(429));
        pace.answered(true, UnixMs(10_000_000));
        assert_eq!(pace.refused_for(0, UnixMs(20_000_000)), None);
    }
}
