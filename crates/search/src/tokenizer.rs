//! From text to terms: words are cut, folded and stemmed; scripts without blanks are cut into pairs of characters.
//!
//! A run of n characters of a script written without blanks (Chinese, Japanese, Korean, Thai and their neighbours)
//! gives n - 1 overlapping pairs and its last character alone, each at a position of its own. So every character begins
//! exactly one term: a query for one character is a query for terms that begin with it, and a longer query is a phrase of pairs.
//!
//! An indexed text begins with one character that names its language; it is stored with the text and taken off by [`plain`].

mod memory;

use frostem::Stemmer;
use tantivy::tokenizer::{Token, TokenStream, Tokenizer};
use unicode_normalization::char::is_combining_mark;

use crate::fold::fold_into;
use crate::language::Language;
pub use memory::Memory;
use memory::Stems;

/// Longer runs of letters are noise (encoded data): they are cut into pieces of this many bytes.
pub const MAX_WORD_BYTES: usize = 64;

/// The first of the private characters that name a language.
const LANGUAGE_MARK: u32 = 0xE000;

/// Puts the language's mark before a text.
pub fn marked(language: Language, text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 3);
    out.push(char::from_u32(LANGUAGE_MARK + u32::from(language.number())).unwrap_or(' '));
    out.push_str(text);
    out
}

/// A stored text without its mark.
pub fn plain(text: &str) -> &str {
    split_mark(text).1
}

/// The language that a stored text is marked with.
pub fn language_of(text: &str) -> Language {
    split_mark(text).0
}

fn split_mark(text: &str) -> (Language, &str) {
    match text.chars().next() {
        Some(first) if (LANGUAGE_MARK..LANGUAGE_MARK + 256).contains(&u32::from(first)) => (
            Language::of_number(u32::from(first) - LANGUAGE_MARK),
            text.get(first.len_utf8()..).unwrap_or_default(),
        ),
        _ => (Language::NONE, text),
    }
}

/// What a piece of text is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Word,
    /// A letter of a script written without blanks.
    Dense,
    Gap,
}

fn kind_of(c: char) -> Kind {
    if c.is_ascii() {
        return if c.is_ascii_alphanumeric() { Kind::Word } else { Kind::Gap };
    }
    match u32::from(c) {
        0x0E01..=0x0EFF
        | 0x1000..=0x109F
        | 0x1780..=0x17FF
        | 0x3040..=0x30FF
        | 0x31F0..=0x31FF
        | 0x3400..=0x4DBF
        | 0x4E00..=0x9FFF
        | 0xAC00..=0xD7AF
        | 0xF900..=0xFAFF
        | 0xFF66..=0xFF9F
        | 0x20000..=0x3FFFF
            if c.is_alphanumeric() || is_combining_mark(c) =>
        {
            Kind::Dense
        }
        _ if c.is_alphanumeric() || is_combining_mark(c) => Kind::Word,
        _ => Kind::Gap,
    }
}

/// Whether a text has anything that the index knows: a letter or a digit.
pub fn is_searchable(text: &str) -> bool {
    text.chars().any(|c| kind_of(c) != Kind::Gap)
}

/// Cuts pieces out of a text: words whole, dense letters one by one.
struct Cutter<'a> {
    text: &'a str,
    at: usize,
}

impl Cutter<'_> {
    /// The next piece: its kind and byte range, and whether it follows the one before without a gap.
    fn next(&mut self) -> Option<(Kind, usize, usize, bool)> {
        let mut joined = self.at > 0;
        let bytes = self.text.as_bytes();
        loop {
            let start = self.at;
            let first = *bytes.get(start)?;
            if first.is_ascii() {
                if !first.is_ascii_alphanumeric() {
                    joined = false;
                    self.at += 1;
                    continue;
                }
                self.at = self.word_end(start);
                return Some((Kind::Word, start, self.at, joined));
            }
            let first = self.text.get(start..)?.chars().next()?;
            match kind_of(first) {
                Kind::Gap => {
                    joined = false;
                    self.at += first.len_utf8();
                }
                Kind::Dense => {
                    self.at += first.len_utf8();
                    return Some((Kind::Dense, start, self.at, joined));
                }
                Kind::Word => {
                    self.at = self.word_end(start);
                    return Some((Kind::Word, start, self.at, joined));
                }
            }
        }
    }

    /// Where the word that begins at `start` ends.
    fn word_end(&self, start: usize) -> usize {
        let most = start.saturating_add(MAX_WORD_BYTES);
        let rest = self.text.as_bytes().get(start..most.min(self.text.len())).unwrap_or_default();
        let plain = rest.iter().position(|byte| !byte.is_ascii_alphanumeric()).unwrap_or(rest.len());
        let mut end = start + plain;
        if rest.get(plain).is_none_or(u8::is_ascii) {
            return end;
        }
        for c in self.text.get(end..).unwrap_or_default().chars() {
            if kind_of(c) != Kind::Word || end + c.len_utf8() > most {
                break;
            }
            end += c.len_utf8();
        }
        end
    }
}

/// The tokenizer of all text fields. It remembers the terms of the words it met: making them takes several times as long.
#[derive(Debug, Default)]
pub struct PageTokenizer {
    /// Every word of a text once: enough for a field without frequencies and positions.
    once: bool,
    stems: Stems,
}

impl PageTokenizer {
    /// One that tells every word of a text once.
    pub fn once() -> Self {
        Self { once: true, stems: Stems::default() }
    }
}

impl Clone for PageTokenizer {
    /// What one remembers stays with it.
    fn clone(&self) -> Self {
        Self { once: self.once, stems: Stems::default() }
    }
}

impl Tokenizer for PageTokenizer {
    type TokenStream<'a> = PageTokens<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> PageTokens<'a> {
        let (language, rest) = split_mark(text);
        let mut tokens = PageTokens::new(language, text, text.len() - rest.len(), true);
        self.stems.begin(language);
        tokens.once = self.once;
        tokens.stems = Some(&mut self.stems);
        tokens
    }
}

pub struct PageTokens<'a> {
    cutter: Cutter<'a>,
    ahead: Option<(Kind, usize, usize, bool)>,
    language: Language,
    stemmer: Option<Stemmer>,
    stems: Option<&'a mut Stems>,
    once: bool,
    /// Whether the last character of a dense run is a term of its own, as it is in the index.
    lone_ends: bool,
    token: Token,
    folded: String,
}

impl<'a> PageTokens<'a> {
    fn new(language: Language, text: &'a str, from: usize, lone_ends: bool) -> Self {
        let mut cutter = Cutter { text, at: from };
        let ahead = cutter.next();
        Self {
            cutter,
            ahead,
            language,
            stemmer: language.stemmer(),
            stems: None,
            once: false,
            lone_ends,
            token: Token::default(),
            folded: String::new(),
        }
    }

    /// The next piece that is a term: its byte range, and whether it is a word.
    #[inline]
    fn next_piece(&mut self) -> Option<(usize, usize, bool)> {
        loop {
            let (kind, start, end, joined) = self.ahead?;
            self.ahead = self.cutter.next();
            if kind == Kind::Word {
                return Some((start, end, true));
            }
            if let Some((Kind::Dense, _, next_end, true)) = self.ahead {
                return Some((start, next_end, false));
            }
            if self.lone_ends || !joined || !self.before_is_dense(start) {
                return Some((start, end, false));
            }
        }
    }

    /// Makes a term of a piece; an empty one if it need not be told again.
    fn emit(&mut self, start: usize, end: usize, is_word: bool) {
        self.token.text.clear();
        self.token.offset_from = start;
        self.token.offset_to = end;
        self.token.position = self.token.position.wrapping_add(1);
        let piece = self.cutter.text.get(start..end).unwrap_or_default();
        if is_word
            && let Some(stems) = &mut self.stems
            && let Some((term, is_known)) = stems.get(self.language, piece)
        {
            if !(self.once && is_known) {
                self.token.text.push_str(term);
            }
            return;
        }
        match &self.stemmer {
            Some(stemmer) if is_word => {
                self.folded.clear();
                fold_into(piece, &mut self.folded);
                self.token.text.push_str(&stemmer.stem(&self.folded));
            }
            _ => fold_into(piece, &mut self.token.text),
        }
        if is_word && let Some(stems) = &mut self.stems {
            stems.put(self.language, piece, &self.token.text);
        }
    }
}

impl TokenStream for PageTokens<'_> {
    fn advance(&mut self) -> bool {
        while let Some((start, end, is_word)) = self.next_piece() {
            self.emit(start, end, is_word);
            if !self.token.text.is_empty() {
                return true;
            }
        }
        false
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }
}

impl PageTokens<'_> {
    fn before_is_dense(&self, start: usize) -> bool {
        let before = self.cutter.text.get(..start).and_then(|text| text.chars().next_back());
        before.is_some_and(|c| kind_of(c) == Kind::Dense)
    }
}

/// A term of a query text: to be met as it is, or as the beginning of a term (one dense character).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QueryTerm {
    pub text: String,
    pub is_beginning: bool,
}

/// The terms a piece of a query stands for in one language, in order.
pub fn query_terms(language: Language, text: &str) -> Vec<QueryTerm> {
    let mut tokens = PageTokens::new(language, text, 0, false);
    let mut terms = Vec::new();
    while tokens.advance() {
        let token = tokens.token();
        let mut original = text.get(token.offset_from..token.offset_to).unwrap_or_default().chars();
        let is_beginning =
            original.next().is_some_and(|c| kind_of(c) == Kind::Dense) && original.next().is_none();
        terms.push(QueryTerm { text: token.text.clone(), is_beginning });
    }
    terms
}

/// The terms of a text as they are put into the index, with their byte ranges.
pub fn index_terms(language: Language, text: &str, mut each: impl FnMut(&str, std::ops::Range<usize>)) {
    let mut tokens = PageTokens::new(language, text, 0, true);
    while tokens.advance() {
        let token = tokens.token();
        each(&token.text, token.offset_from..token.offset_to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(text: &str) -> Vec<(String, usize)> {
        let mut tokenizer = PageTokenizer::default();
        let mut stream = tokenizer.token_stream(text);
        let mut out = Vec::new();
        while let Some(token) = stream.next() {
            out.push((token.text.clone(), token.position));
        }
        out
    }

    fn words(text: &str) -> Vec<String> {
        terms(text).into_iter().map(|(text, _)| text).collect()
    }

    #[test]
    fn words_are_cut_folded_and_stemmed() {
        assert_eq!(words("The Café's 3 doors"), ["the", "cafe", "s", "3", "doors"]);
        assert_eq!(words(&marked(Language::of_tag("en"), "Running doors")), ["run", "door"]);
        assert_eq!(terms("a b").iter().map(|(_, at)| *at).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(plain(&marked(Language::of_tag("de"), "x")), "x");
    }

    #[test]
    fn dense_scripts_become_pairs() {
        assert_eq!(words("日本語 x"), ["日本", "本語", "語", "x"]);
        assert_eq!(words("犬A"), ["犬", "a"]);
        let of = |text| {
            query_terms(Language::NONE, text)
                .into_iter()
                .map(|t| (t.text, t.is_beginning))
                .collect::<Vec<_>>()
        };
        assert_eq!(of("日本語"), [("日本".to_owned(), false), ("本語".to_owned(), false)]);
        assert_eq!(of("語"), [("語".to_owned(), true)]);
        assert_eq!(of("a語"), [("a".to_owned(), false), ("語".to_owned(), true)]);
    }

    #[test]
    fn words_are_told_once_where_that_is_enough() {
        let mut tokenizer = PageTokenizer::once();
        for _ in 0..2 {
            let mut stream = tokenizer.token_stream("one Two one two three 日本日本");
            let mut met = Vec::new();
            while let Some(token) = stream.next() {
                met.push(token.text.clone());
            }
            assert_eq!(met[..4], ["one", "two", "two", "three"], "as they are written");
        }
    }

    proptest::proptest! {
        #[test]
        fn remembering_changes_nothing(texts in proptest::collection::vec("[a-cA-C é日,]{0,30}", 1..8)) {
            let mut tokenizer = PageTokenizer::default();
            for text in texts {
                let text = marked(Language::of_tag("en"), &text);
                let mut stream = tokenizer.token_stream(&text);
                let mut met = Vec::new();
                while let Some(token) = stream.next() {
                    met.push((token.text.clone(), token.position));
                }
                proptest::prop_assert_eq!(met, terms(&text));
            }
        }
    }

    #[test]
    fn endless_words_are_cut() {
        let long = "x".repeat(1000);
        assert!(words(&long).iter().all(|word| word.len() <= MAX_WORD_BYTES));
    }

    #[test]
    fn what_is_remembered_is_what_was_cut() {
        let text = "Running 日本語 doors, running! Café cafe";
        let english = Language::of_tag("en");
        let mut wanted = Vec::new();
        index_terms(english, text, |term, range| wanted.push((term.len(), range)));
        let mut memory = Memory::default();
        for _ in 0..2 {
            let mut met = Vec::new();
            memory.each(english, text, |_| true, str::len, |length, range| met.push((length, range)));
            assert_eq!(met, wanted);
        }
        let mut asked = 0;
        memory.each(
            english,
            text,
            |_| true,
            |_| {
                asked += 1;
                0
            },
            |_, _| {},
        );
        assert_eq!(asked, 0);
    }

    proptest::proptest! {
        #[test]
        fn offsets_lie_on_letters(text in "\\PC{0,40}") {
            index_terms(Language::of_tag("en"), &text, |term, range| {
                assert!(!term.is_empty() && text.get(range).is_some());
            });
        }
    }
}
