//! `<meta http-equiv=refresh>`: `5; url='next.html'`.

use crate::edit::Edit;
use crate::escape;
use crate::finder::{Finder, is_space, part, trimmed};
use crate::reference::{Place, Role};

impl Finder<'_> {
    pub(crate) fn refresh(&mut self, value: &[u8], edits: &mut Vec<Edit>) {
        self.work(value.len());
        let Some(range) = url(value) else { return };
        if let Some(text) = self.ask_part(Role::Page, Place::Refresh, &value[range.clone()]) {
            edits.push(part(range, escape::refreshed(&text)));
        }
    }
}

/// Where the URL stands in the value.
fn url(value: &[u8]) -> Option<std::ops::Range<usize>> {
    let mut at = 0;
    let skip = |at: &mut usize, wanted: &dyn Fn(u8) -> bool| {
        let start = *at;
        while value.get(*at).is_some_and(|&b| wanted(b)) {
            *at += 1;
        }
        *at - start
    };
    skip(&mut at, &is_space);
    if skip(&mut at, &|b| b.is_ascii_digit()) == 0 && value.get(at) != Some(&b'.') {
        return None;
    }
    skip(&mut at, &|b| b.is_ascii_digit() || b == b'.');
    if !value.get(at).is_some_and(|&b| b == b';' || b == b',' || is_space(b)) {
        return None;
    }
    skip(&mut at, &is_space);
    at += usize::from(matches!(value.get(at), Some(b';' | b',')));
    skip(&mut at, &is_space);
    if value.get(at..at + 3).is_some_and(|word| word.eq_ignore_ascii_case(b"url")) {
        let mut after = at + 3;
        skip(&mut after, &is_space);
        if value.get(after) == Some(&b'=') {
            at = after + 1;
            skip(&mut at, &is_space);
        }
    }
    let end = match value.get(at) {
        Some(&quote @ (b'"' | b'\'')) => {
            at += 1;
            value[at..].iter().position(|&b| b == quote).map_or(value.len(), |len| at + len)
        }
        Some(_) => value.len(),
        None => return None,
    };
    let inner = trimmed(&value[at..end]);
    Some(at + inner.start..at + inner.end).filter(|range| !range.is_empty())
}
