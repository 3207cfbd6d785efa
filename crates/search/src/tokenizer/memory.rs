//! What is remembered of words that were met: making a term of a word takes several times as long as looking it up.

use std::collections::HashMap;

use super::PageTokens;
use crate::language::Language;

/// Pieces that are remembered in each language.
const MAX_REMEMBERED: usize = 1 << 16;

/// The terms of words, by the words as they are written.
#[derive(Debug, Default)]
pub(super) struct Stems {
    /// For each language by its number.
    known: Vec<HashMap<Box<str>, Stem, foldhash::fast::RandomState>>,
    /// The text that is being cut.
    text: u64,
}

#[derive(Debug)]
struct Stem {
    term: Box<str>,
    /// The last text that has it.
    text: u64,
}

impl Stems {
    pub(super) fn begin(&mut self, language: Language) {
        self.text += 1;
        let number = usize::from(language.number());
        if self.known.len() <= number {
            self.known.resize_with(number + 1, HashMap::default);
        }
        if let Some(known) = self.known.get_mut(number).filter(|known| known.len() >= MAX_REMEMBERED) {
            known.clear();
        }
    }

    /// The term of a word, and whether this text had it before.
    #[inline]
    pub(super) fn get(&mut self, language: Language, word: &str) -> Option<(&str, bool)> {
        let stem = self.known.get_mut(usize::from(language.number()))?.get_mut(word)?;
        let is_known = std::mem::replace(&mut stem.text, self.text) == self.text;
        Some((&stem.term, is_known))
    }

    pub(super) fn put(&mut self, language: Language, word: &str, term: &str) {
        let known = self.known.get_mut(usize::from(language.number()));
        if let Some(known) = known.filter(|known| known.len() < MAX_REMEMBERED) {
            known.insert(word.into(), Stem { term: term.into(), text: self.text });
        }
    }
}

/// What pieces of texts mean to somebody who asks about many: every piece is made a term of but once.
#[derive(Debug)]
pub struct Memory<V> {
    known: HashMap<(Language, bool), HashMap<Box<str>, V, foldhash::fast::RandomState>>,
}

impl<V> Default for Memory<V> {
    fn default() -> Self {
        Self { known: HashMap::new() }
    }
}

impl<V: Copy> Memory<V> {
    /// The terms of a text as they are put into the index: what `meaning` says about each, and its byte range. Words that
    /// begin with a letter that `may_begin` refuses may be left out.
    pub fn each(
        &mut self,
        language: Language,
        text: &str,
        may_begin: impl Fn(u8) -> bool,
        mut meaning: impl FnMut(&str) -> V,
        mut each: impl FnMut(V, std::ops::Range<usize>),
    ) {
        let mut tokens = PageTokens::new(language, text, 0, true);
        let mut maps =
            [false, true].map(|is_word| self.known.remove(&(language, is_word)).unwrap_or_default());
        while let Some((start, end, is_word)) = tokens.next_piece() {
            let piece = text.get(start..end).unwrap_or_default();
            let first = piece.as_bytes().first().copied().unwrap_or_default();
            if first.is_ascii() && language.keeps_beginnings() && !may_begin(first.to_ascii_lowercase()) {
                continue;
            }
            let map = &mut maps[usize::from(is_word)];
            let value = match map.get(piece) {
                Some(value) => *value,
                None => {
                    tokens.emit(start, end, is_word);
                    if tokens.token.text.is_empty() {
                        continue;
                    }
                    let value = meaning(&tokens.token.text);
                    if map.len() < MAX_REMEMBERED {
                        map.insert(piece.into(), value);
                    }
                    value
                }
            };
            each(value, start..end);
        }
        for (is_word, map) in [false, true].into_iter().zip(maps) {
            self.known.insert((language, is_word), map);
        }
    }
}
