//! `srcset`: candidates with descriptors, parted by commas that may also belong to a URL.

use crate::edit::Edit;
use crate::escape;
use crate::finder::{Finder, is_space, part};
use crate::reference::{Place, Role};

impl Finder<'_> {
    pub(crate) fn srcset(&mut self, value: &[u8], role: Role, place: Place<'_>, edits: &mut Vec<Edit>) {
        self.work(value.len());
        let mut at = 0;
        loop {
            while value.get(at).is_some_and(|&b| is_space(b) || b == b',') {
                at += 1;
            }
            let start = at;
            while value.get(at).is_some_and(|&b| !is_space(b)) {
                at += 1;
            }
            if start == at {
                return;
            }
            let commas = value[start..at].iter().rev().take_while(|&&b| b == b',').count();
            let end = at - commas;
            if let Some(text) = self.ask_part(role, place, &value[start..end]) {
                match escape::listed(&text) {
                    Some(text) => edits.push(part(start..end, text)),
                    None => self.unfit(),
                }
            }
            if commas > 0 {
                continue;
            }
            // Descriptors: to the next comma outside parentheses.
            let mut inside = false;
            while let Some(&byte) = value.get(at) {
                at += 1;
                match byte {
                    b'(' => inside = true,
                    b')' => inside = false,
                    b',' if !inside => break,
                    _ => {}
                }
            }
        }
    }

    /// URLs parted by white space.
    pub(crate) fn spaced(&mut self, value: &[u8], role: Role, place: Place<'_>, edits: &mut Vec<Edit>) {
        self.work(value.len());
        let mut at = 0;
        while at < value.len() {
            let end = value[at..].iter().position(|&b| is_space(b)).map_or(value.len(), |len| at + len);
            if end > at
                && let Some(text) = self.ask_part(role, place, &value[at..end])
            {
                match escape::listed(&text) {
                    Some(text) => edits.push(part(at..end, text)),
                    None => self.unfit(),
                }
            }
            at = end + 1;
        }
    }
}
