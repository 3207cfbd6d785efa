//! Languages that words are stemmed in, and the stem of a word.
//!
//! A page's words are stemmed by its own language. The language of a query is not known, so a query word stands for its
//! stems in every language that the index holds.

use frostem::{Algorithm, Stemmer};

/// A language with a stemmer, or none: words are then taken as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Language(u8);

/// Code, and algorithm. The place in this table is written into the index: append only.
const TABLE: [(&str, Option<Algorithm>); 19] = [
    ("", None),
    ("en", Some(Algorithm::English)),
    ("de", Some(Algorithm::German)),
    ("fr", Some(Algorithm::French)),
    ("es", Some(Algorithm::Spanish)),
    ("it", Some(Algorithm::Italian)),
    ("pt", Some(Algorithm::Portuguese)),
    ("nl", Some(Algorithm::Dutch)),
    ("sv", Some(Algorithm::Swedish)),
    ("da", Some(Algorithm::Danish)),
    ("no", Some(Algorithm::Norwegian)),
    ("fi", Some(Algorithm::Finnish)),
    ("hu", Some(Algorithm::Hungarian)),
    ("ro", Some(Algorithm::Romanian)),
    ("ru", Some(Algorithm::Russian)),
    ("tr", Some(Algorithm::Turkish)),
    ("ar", Some(Algorithm::Arabic)),
    ("el", Some(Algorithm::Greek)),
    ("ta", Some(Algorithm::Tamil)),
];

impl Language {
    pub const NONE: Self = Self(0);

    /// The language of a tag such as `en-GB`; [`Language::NONE`] for one without a stemmer.
    pub fn of_tag(tag: &str) -> Self {
        let code = primary(tag);
        let code = if matches!(code.as_str(), "nb" | "nn") { "no" } else { code.as_str() };
        let place = TABLE.iter().position(|(known, _)| *known == code).unwrap_or(0);
        Self(u8::try_from(place).unwrap_or(0))
    }

    /// The code, empty for [`Language::NONE`].
    pub fn code(self) -> &'static str {
        TABLE.get(usize::from(self.0)).map_or("", |(code, _)| code)
    }

    /// All languages with a stemmer, and none.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..TABLE.len()).map(|place| Self(place as u8))
    }

    /// Whether the stem of a word begins with the letter that the word begins with.
    pub(crate) fn keeps_beginnings(self) -> bool {
        !matches!(self.code(), "ar" | "nl" | "ta" | "tr")
    }

    pub(crate) fn number(self) -> u8 {
        self.0
    }

    pub(crate) fn of_number(number: u32) -> Self {
        u8::try_from(number).ok().filter(|&n| usize::from(n) < TABLE.len()).map_or(Self::NONE, Self)
    }

    pub(crate) fn stemmer(self) -> Option<Stemmer> {
        TABLE.get(usize::from(self.0)).and_then(|(_, algorithm)| *algorithm).map(Stemmer::new)
    }
}

/// The first part of a language tag, in lower case: `en` of `en-GB`, empty where there is none.
pub fn primary(tag: &str) -> String {
    let first = tag.trim().split(['-', '_', ',', ';', ' ']).next().unwrap_or_default();
    let is_code = (2..=3).contains(&first.len()) && first.bytes().all(|byte| byte.is_ascii_alphabetic());
    if is_code { first.to_ascii_lowercase() } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_become_languages() {
        assert_eq!(Language::of_tag("en-GB"), Language::of_tag("EN"));
        assert_eq!(Language::of_tag("nb"), Language::of_tag("no"));
        assert_eq!(Language::of_tag("xx"), Language::NONE);
        assert_eq!(
            (primary("de_AT"), primary("klingon"), primary("")),
            ("de".into(), String::new(), String::new())
        );
        assert_eq!(Language::of_number(999), Language::NONE);
    }

    proptest::proptest! {
        #[test]
        fn stems_begin_like_their_words(word in "[a-z]{1,12}") {
            for language in Language::all().filter(|language| language.keeps_beginnings()) {
                let stem = language.stemmer().map_or(word.clone(), |stemmer| stemmer.stem(&word).into_owned());
                proptest::prop_assert_eq!(stem.bytes().next(), word.bytes().next(), "{} {}", language.code(), stem);
            }
        }
    }

    #[test]
    fn a_stem_joins_the_forms_of_a_word() {
        let english = Language::of_tag("en").stemmer().unwrap();
        assert_eq!(english.stem("crawling"), english.stem("crawled"));
        assert!(Language::NONE.stemmer().is_none());
    }
}
