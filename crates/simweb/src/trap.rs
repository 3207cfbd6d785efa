//! Traps: parts of a host that never end.
//!
//! Promise: every trap page links to at least one trap page that no earlier one was.

use crate::host::HostId;
use crate::html::put;
use crate::kind::TrapKind;
use crate::links::put_hex;
use crate::node::put_number;
use crate::rng::{mix, scramble};
use crate::world::World;

const FARTHEST_YEAR: u64 = 9_999_999;

impl World {
    pub(crate) fn put_trap(&self, out: &mut Vec<u8>, host: HostId, kind: TrapKind, target: &[u8]) {
        let key = target.iter().fold(self.host(host).seed, |k, &b| mix(k, u64::from(b)));
        let lexicon = self.lexicon(crate::Lang::En);
        put(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><title>");
        put(out, kind.slug());
        put(out, "</title></head><body>\n<h1>");
        lexicon.phrase(out, key, 3);
        put(out, "</h1>\n<p>");
        for s in 0..6 {
            lexicon.sentence(out, mix(key, s), self.host(host).topic);
        }
        put(out, "</p>\n<ul>\n");
        match kind {
            TrapKind::Calendar => put_calendar(out, target),
            TrapKind::Session => {
                for n in 0..5 {
                    put(out, "<li><a href=\"/session/?visit=");
                    put_hex(out, scramble(mix(key, n)));
                    put(out, "\">visit</a></li>\n");
                }
            }
            TrapKind::Growing => {
                put(out, "<li><a href=\"a/\">deeper</a></li>\n<li><a href=\"b/a/\">deeper still</a></li>\n");
            }
        }
        put(out, "</ul>\n<a href=\"/\">home</a>\n</body></html>\n");
    }
}

fn put_calendar(out: &mut Vec<u8>, target: &[u8]) {
    let mut parts = target.split(|&b| b == b'/').skip(2).map(read_number);
    let year = parts.next().flatten().unwrap_or(2026).clamp(1, FARTHEST_YEAR);
    let month = parts.next().flatten().unwrap_or(1).clamp(1, 12);
    let next = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
    let before = if month == 1 { (year - 1, 12) } else { (year, month - 1) };
    for (label, (year, month)) in
        [("next month", next), ("last month", before), ("next year", (year + 1, month))]
    {
        put(out, "<li><a href=\"/calendar/");
        put_number(out, year);
        put(out, if month < 10 { "/0" } else { "/" });
        put_number(out, month);
        put(out, "/\">");
        put(out, label);
        put(out, "</a></li>\n");
    }
}

fn read_number(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}
