//! Folding: case, accents and compatibility forms of a letter are the same letter.
//!
//! Accents are dropped from Latin and Greek letters alone: in other scripts the marks make letters of their own
//! (`й` is not `и`, `が` is not `か`).

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Appends the folded form of `word` to `out`.
pub fn fold_into(word: &str, out: &mut String) {
    if word.is_ascii() {
        out.extend(word.chars().map(|c| c.to_ascii_lowercase()));
        return;
    }
    // Drops accents from decomposed letters, then composes again what is left.
    let mut drop_marks = false;
    let mut bare = String::with_capacity(word.len());
    for c in word.nfkd().flat_map(char::to_lowercase).nfkd() {
        if is_combining_mark(c) {
            if !drop_marks {
                bare.push(c);
            }
            continue;
        }
        drop_marks = is_latin_or_greek(c);
        match c {
            'ß' => bare.push_str("ss"),
            'æ' => bare.push_str("ae"),
            'œ' => bare.push_str("oe"),
            'ø' => bare.push('o'),
            'đ' | 'ð' => bare.push('d'),
            'ł' => bare.push('l'),
            'þ' => bare.push_str("th"),
            'ı' => bare.push('i'),
            'ς' => bare.push('σ'),
            _ => bare.push(c),
        }
    }
    out.extend(bare.nfc());
}

fn is_latin_or_greek(c: char) -> bool {
    matches!(c, 'a'..='z' | '\u{df}'..='\u{24f}' | '\u{370}'..='\u{3ff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fold(word: &str) -> String {
        let mut out = String::new();
        fold_into(word, &mut out);
        out
    }

    #[test]
    fn accents_and_case_vanish() {
        assert_eq!(fold("Café"), "cafe");
        assert_eq!(fold("CAFE\u{301}"), "cafe");
        assert_eq!(fold("Straße"), "strasse");
        assert_eq!(fold("ß\u{301}"), "ss");
        assert_eq!(fold("İstanbul"), "istanbul");
        assert_eq!(fold("Ｆｕｌｌ"), "full");
        assert_eq!(fold("Άθήνας"), "αθηνασ");
    }

    #[test]
    fn letters_of_other_scripts_stay_whole() {
        assert_eq!(fold("Чай"), "чай");
        assert_eq!(fold("が"), "が");
        assert_eq!(fold("한국"), "한국");
    }

    proptest::proptest! {
        #[test]
        fn folding_twice_changes_nothing(word in "\\PC{0,12}") {
            let once = fold(&word);
            proptest::prop_assert_eq!(fold(&once), once);
        }
    }
}
