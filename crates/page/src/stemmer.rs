//! English stems after Porter's second algorithm (Snowball's `english`), on small ASCII letters.
//!
//! Words with other characters are left as they are. Promise: a stem is never longer than its word by more than one
//! letter, and stemming takes time linear in the word.

/// Longer words are no words.
pub const MAX_WORD: usize = 64;

/// Stems the word in place; `word` holds small ASCII letters and apostrophes.
pub fn stem(word: &mut Vec<u8>) {
    if word.len() <= 2 || word.len() > MAX_WORD || !word.iter().all(|b| b.is_ascii_lowercase() || *b == b'\'')
    {
        return;
    }
    if let Some((_, stem)) = EXCEPTIONS.iter().find(|(w, _)| w.as_bytes() == word.as_slice()) {
        word.clear();
        word.extend_from_slice(stem.as_bytes());
        return;
    }
    if word.first() == Some(&b'\'') {
        word.remove(0);
    }
    mark_consonant_y(word);
    let (r1, r2) = regions(word);
    let mut w = Word { letters: word, r1, r2 };
    w.step_0();
    w.step_1a();
    if !INVARIANT.iter().any(|i| i.as_bytes() == w.letters.as_slice()) {
        w.step_1b();
        w.step_1c();
        w.step_2();
        w.step_3();
        w.step_4();
        w.step_5();
    }
    word.make_ascii_lowercase();
}

const EXCEPTIONS: [(&str, &str); 18] = [
    ("skis", "ski"),
    ("skies", "sky"),
    ("dying", "die"),
    ("lying", "lie"),
    ("tying", "tie"),
    ("idly", "idl"),
    ("gently", "gentl"),
    ("ugly", "ugli"),
    ("early", "earli"),
    ("only", "onli"),
    ("singly", "singl"),
    ("sky", "sky"),
    ("news", "news"),
    ("howe", "howe"),
    ("atlas", "atlas"),
    ("cosmos", "cosmos"),
    ("bias", "bias"),
    ("andes", "andes"),
];
const INVARIANT: [&str; 8] =
    ["inning", "outing", "canning", "herring", "earring", "proceed", "exceed", "succeed"];

/// Suffixes of step 2 and what replaces them, longest first; `ogi` and `li` have conditions of their own.
const STEP_2: [(&str, &str); 24] = [
    ("ational", "ate"),
    ("fulness", "ful"),
    ("iveness", "ive"),
    ("ization", "ize"),
    ("ousness", "ous"),
    ("biliti", "ble"),
    ("lessli", "less"),
    ("tional", "tion"),
    ("alism", "al"),
    ("aliti", "al"),
    ("ation", "ate"),
    ("entli", "ent"),
    ("fulli", "ful"),
    ("iviti", "ive"),
    ("ousli", "ous"),
    ("abli", "able"),
    ("alli", "al"),
    ("anci", "ance"),
    ("ator", "ate"),
    ("enci", "ence"),
    ("izer", "ize"),
    ("bli", "ble"),
    ("ogi", "og"),
    ("li", ""),
];
const STEP_3: [(&str, &str); 9] = [
    ("ational", "ate"),
    ("tional", "tion"),
    ("alize", "al"),
    ("ative", ""),
    ("icate", "ic"),
    ("iciti", "ic"),
    ("ical", "ic"),
    ("ness", ""),
    ("ful", ""),
];
const STEP_4: [&str; 18] = [
    "ement", "able", "ance", "ence", "ible", "ment", "ant", "ate", "ent", "ion", "ism", "iti", "ive", "ize",
    "ous", "al", "er", "ic",
];

fn is_vowel(b: u8) -> bool {
    matches!(b, b'a' | b'e' | b'i' | b'o' | b'u' | b'y')
}

/// `y` at the start or after a vowel is a consonant: written as `Y`.
fn mark_consonant_y(word: &mut [u8]) {
    let mut vowel_before = true;
    for b in word.iter_mut() {
        if *b == b'y' && vowel_before {
            *b = b'Y';
        }
        vowel_before = is_vowel(*b);
    }
}

/// R1 begins behind the first consonant after a vowel, R2 likewise within R1.
fn regions(word: &[u8]) -> (usize, usize) {
    let next = |from: usize| {
        let tail = word.get(from..).unwrap_or(b"");
        tail.windows(2).position(|w| is_vowel(w[0]) && !is_vowel(w[1])).map_or(word.len(), |n| from + n + 2)
    };
    let special = [&b"gener"[..], b"commun", b"arsen"].into_iter().find(|p| word.starts_with(p));
    let r1 = special.map_or_else(|| next(0), <[u8]>::len);
    (r1, next(r1))
}

struct Word<'w> {
    letters: &'w mut Vec<u8>,
    r1: usize,
    r2: usize,
}

impl Word<'_> {
    fn ends(&self, suffix: &str) -> bool {
        self.letters.ends_with(suffix.as_bytes())
    }

    fn at(&self, from_end: usize) -> u8 {
        self.letters.len().checked_sub(from_end).and_then(|i| self.letters.get(i)).copied().unwrap_or(0)
    }

    fn in_r1(&self, suffix: usize) -> bool {
        self.letters.len() >= self.r1 + suffix
    }

    fn in_r2(&self, suffix: usize) -> bool {
        self.letters.len() >= self.r2 + suffix
    }

    fn cut(&mut self, count: usize) {
        self.letters.truncate(self.letters.len().saturating_sub(count));
    }

    fn replace(&mut self, count: usize, with: &str) {
        self.cut(count);
        self.letters.extend_from_slice(with.as_bytes());
    }

    fn vowel_before(&self, suffix: usize) -> bool {
        let end = self.letters.len().saturating_sub(suffix);
        self.letters.get(..end).is_some_and(|l| l.iter().any(|&b| is_vowel(b)))
    }

    /// Whether the word ends in a short syllable.
    fn ends_short(&self) -> bool {
        let n = self.letters.len();
        if n == 2 {
            return is_vowel(self.at(2)) && !is_vowel(self.at(1));
        }
        n > 2
            && !is_vowel(self.at(3))
            && is_vowel(self.at(2))
            && !is_vowel(self.at(1))
            && !matches!(self.at(1), b'w' | b'x' | b'Y')
    }

    fn step_0(&mut self) {
        let cut = ["'s'", "'s", "'"].into_iter().find(|s| self.ends(s)).map_or(0, str::len);
        self.cut(cut);
    }

    fn step_1a(&mut self) {
        if self.ends("sses") {
            self.cut(2);
        } else if self.ends("ied") || self.ends("ies") {
            let keep = if self.letters.len() > 4 { "i" } else { "ie" };
            self.replace(3, keep);
        } else if self.ends("s") && !self.ends("us") && !self.ends("ss") && self.vowel_before(2) {
            self.cut(1);
        }
    }

    fn step_1b(&mut self) {
        for suffix in ["eedly", "eed"] {
            if self.ends(suffix) {
                if self.in_r1(suffix.len()) {
                    self.replace(suffix.len(), "ee");
                }
                return;
            }
        }
        let Some(suffix) = ["ingly", "edly", "ing", "ed"].into_iter().find(|s| self.ends(s)) else { return };
        if !self.vowel_before(suffix.len()) {
            return;
        }
        self.cut(suffix.len());
        let double = self.at(1) == self.at(2)
            && matches!(self.at(1), b'b' | b'd' | b'f' | b'g' | b'm' | b'n' | b'p' | b'r' | b't');
        if self.ends("at") || self.ends("bl") || self.ends("iz") {
            self.letters.push(b'e');
        } else if double {
            self.cut(1);
        } else if self.ends_short() && self.letters.len() <= self.r1 {
            self.letters.push(b'e');
        }
    }

    fn step_1c(&mut self) {
        if matches!(self.at(1), b'y' | b'Y') && self.letters.len() > 2 && !is_vowel(self.at(2)) {
            self.replace(1, "i");
        }
    }

    fn step_2(&mut self) {
        let Some(&(suffix, with)) = STEP_2.iter().find(|(s, _)| self.ends(s)) else { return };
        let before = self.at(suffix.len() + 1);
        let allowed = match suffix {
            "ogi" => before == b'l',
            "li" => matches!(before, b'c' | b'd' | b'e' | b'g' | b'h' | b'k' | b'm' | b'n' | b'r' | b't'),
            _ => true,
        };
        if self.in_r1(suffix.len()) && allowed {
            self.replace(suffix.len(), with);
        }
    }

    fn step_3(&mut self) {
        let Some(&(suffix, with)) = STEP_3.iter().find(|(s, _)| self.ends(s)) else { return };
        if self.in_r1(suffix.len()) && (suffix != "ative" || self.in_r2(suffix.len())) {
            self.replace(suffix.len(), with);
        }
    }

    fn step_4(&mut self) {
        let Some(suffix) = STEP_4.into_iter().find(|s| self.ends(s)) else { return };
        let allowed = suffix != "ion" || matches!(self.at(4), b's' | b't');
        if self.in_r2(suffix.len()) && allowed {
            self.cut(suffix.len());
        }
    }

    fn step_5(&mut self) {
        if self.ends("e") {
            let in_r2 = self.in_r2(1);
            let in_r1 = self.in_r1(1);
            self.cut(1);
            if !(in_r2 || in_r1 && !self.ends_short()) {
                self.letters.push(b'e');
            }
        } else if self.ends("ll") && self.in_r2(1) {
            self.cut(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stemmed(word: &str) -> String {
        let mut letters = word.as_bytes().to_vec();
        stem(&mut letters);
        String::from_utf8(letters).unwrap()
    }

    #[test]
    fn published_examples() {
        for (word, expected) in [
            ("consign", "consign"),
            ("consigned", "consign"),
            ("consigning", "consign"),
            ("consistency", "consist"),
            ("consistently", "consist"),
            ("consolation", "consol"),
            ("consolingly", "consol"),
            ("conspicuous", "conspicu"),
            ("constancy", "constanc"),
            ("knack", "knack"),
            ("knaves", "knave"),
            ("kneeling", "kneel"),
            ("knightly", "knight"),
            ("knocked", "knock"),
            ("knotty", "knotti"),
            ("happiness", "happi"),
            ("generously", "generous"),
            ("generate", "generat"),
            ("hopping", "hop"),
            ("hoping", "hope"),
            ("relational", "relat"),
            ("cries", "cri"),
            ("ties", "tie"),
            ("gas", "gas"),
            ("kiwis", "kiwi"),
            ("sky", "sky"),
            ("say", "say"),
            ("beautiful", "beauti"),
            ("spiders", "spider"),
            ("crawling", "crawl"),
            ("john's", "john"),
        ] {
            assert_eq!(stemmed(word), expected, "{word}");
        }
        assert_eq!(stemmed("été"), "été");
        assert_eq!(stemmed("'"), "'");
        assert_eq!(stemmed(&"s".repeat(100)).len(), 100);
    }
}
