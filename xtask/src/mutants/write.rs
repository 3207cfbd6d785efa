//! Writes switches into a source text, one inside of the other where mutants nest, and tells later which mutant a place
//! in the new text belongs to.

use std::ops::Range;

use super::find::{Mutant, SWITCH};

/// A text with switches.
#[derive(Debug, Default)]
pub struct Switched {
    pub text: String,
    /// The bytes that belong to each mutant, in the order of their numbers: all of it, with the original inside.
    places: Vec<(usize, Range<usize>)>,
}

impl Switched {
    /// `mutants` come with their numbers.
    pub fn new(source: &str, mutants: &[(usize, &Mutant)]) -> Self {
        let mut order: Vec<&(usize, &Mutant)> = mutants.iter().collect();
        // Outer ones open first; the one that opens last closes first.
        order.sort_by_key(|(number, mutant)| {
            (mutant.range.start, std::cmp::Reverse(mutant.range.end), *number)
        });
        let mut switched = Self::default();
        let mut open: Vec<(usize, &Mutant, usize)> = Vec::new();
        let mut at = 0;
        for &&(number, mutant) in &order {
            at = switched.close(
                source,
                &mut open,
                at,
                |end| end <= mutant.range.start && end > 0,
                mutant.range.start,
            );
            switched.text.push_str(&source[at..mutant.range.start]);
            at = mutant.range.start;
            let start = switched.text.len();
            switched.text.push_str(&mutant.edit.before.replace(SWITCH, &call(number)));
            if mutant.range.is_empty() {
                switched.places.push((number, start..switched.text.len()));
            } else {
                open.push((number, mutant, start));
            }
        }
        at = switched.close(source, &mut open, at, |_| true, source.len());
        switched.text.push_str(&source[at..]);
        switched
    }

    /// Closes the mutants that end before `limit`.
    fn close(
        &mut self,
        source: &str,
        open: &mut Vec<(usize, &Mutant, usize)>,
        mut at: usize,
        is_over: impl Fn(usize) -> bool,
        limit: usize,
    ) -> usize {
        while let Some((number, mutant, start)) =
            open.pop_if(|(_, mutant, _)| mutant.range.end <= limit && is_over(mutant.range.end))
        {
            self.text.push_str(&source[at..mutant.range.end]);
            at = mutant.range.end;
            self.text.push_str(&mutant.edit.after.replace(SWITCH, &call(number)));
            self.places.push((number, start..self.text.len()));
        }
        at
    }

    /// The innermost mutant around the bytes; with none, those that the bytes surround.
    pub fn blame(&self, bytes: &Range<usize>) -> Vec<usize> {
        let around =
            self.places.iter().filter(|(_, place)| place.start <= bytes.start && bytes.end <= place.end);
        if let Some((number, _)) = around.min_by_key(|(_, place)| place.len()) {
            return vec![*number];
        }
        let inside =
            self.places.iter().filter(|(_, place)| place.start < bytes.end && bytes.start < place.end);
        inside.map(|(number, _)| *number).collect()
    }

    pub fn numbers(&self) -> impl Iterator<Item = usize> + '_ {
        self.places.iter().map(|(number, _)| *number)
    }
}

fn call(number: usize) -> String {
    format!("crate::mutation_switch::is_on({number})")
}

/// The module that goes into every crate: reads from the environment which mutant is on, or notes which were reached.
pub const MODULE: &str = r#"//! Which mutant is switched on.

use std::sync::atomic::{AtomicU32, AtomicU8, Ordering};

const UNREAD: u32 = u32::MAX;
const NOTING: u32 = u32::MAX - 1;
const NONE: u32 = u32::MAX - 2;
static ACTIVE: AtomicU32 = AtomicU32::new(UNREAD);
static REACHED: [AtomicU8; 65_536] = [const { AtomicU8::new(0) }; 65_536];

#[inline]
pub fn is_on(number: u32) -> bool {
    let active = ACTIVE.load(Ordering::Relaxed);
    if active < NONE { active == number } else { active != NONE && decide(number) }
}

#[cold]
fn decide(number: u32) -> bool {
    let mut active = ACTIVE.load(Ordering::Relaxed);
    if active == UNREAD {
        let one = std::env::var("LYCOSA_MUTANT").ok().and_then(|text| text.parse().ok());
        let noting = std::env::var_os("LYCOSA_REACHED").is_some();
        active = one.unwrap_or(if noting { NOTING } else { NONE });
        ACTIVE.store(active, Ordering::Relaxed);
    }
    if active == NOTING && REACHED[number as usize & 65_535].swap(1, Ordering::Relaxed) == 0 {
        if let Some(dir) = std::env::var_os("LYCOSA_REACHED") {
            let _ = std::fs::write(std::path::Path::new(&dir).join(number.to_string()), b"");
        }
    }
    active == number
}
"#;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::mutants::find;

    const SOURCE: &str = "fn f(a: u8, b: u8) -> bool {\n    match a {\n        0 if b > 1 => true,\n        1 => !(a == b && b != 3),\n        _ => false,\n    }\n}\n";

    fn found(source: &str) -> Vec<Mutant> {
        find::mutants(source, &BTreeSet::new()).unwrap().mutants
    }

    #[test]
    fn every_kind_of_mutant_is_found_with_its_line() {
        let found: Vec<String> = found(SOURCE).iter().map(|m| format!("{} {}", m.line, m.what)).collect();
        let expected = [
            "1 body replaced by true",
            "1 body replaced by false",
            "3 > replaced by ==",
            "3 > replaced by <",
            "3 > replaced by >=",
            "4 == replaced by !=",
            "4 != replaced by ==",
            "4 && replaced by ||",
            "4 ! removed",
            "3 arm 0 deleted",
            "3 guard of 0 made true",
            "3 guard of 0 made false",
            "4 arm 1 deleted",
        ];
        assert_eq!(found, expected.map(|what| format!("{what} in f")));
    }

    #[test]
    fn tests_constants_and_conditions_that_bind_are_left_alone() {
        let source = "const A: u8 = 1 + 2;\nconst fn g() -> u8 { 1 + 2 }\n#[cfg(test)]\nmod tests { fn h() -> u8 { 1 } }\n\
                      #[cfg(test)]\nmod far;\nfn k(x: Option<u8>) { if let Some(y) = x && y > 1 { drop([0; 1 + 1]) } }\n\
                      impl std::fmt::Debug for S { fn fmt(&self) -> bool { true } }\n#[test]\nfn t() {}\n";
        let what: Vec<String> = found(source).into_iter().map(|m| m.what).collect();
        assert_eq!(
            what,
            [
                "body replaced by () in k",
                "> replaced by == in k",
                "> replaced by < in k",
                "> replaced by >= in k"
            ]
        );
        assert_eq!(find::mutants(source, &BTreeSet::new()).unwrap().test_modules, ["far"]);
    }

    #[test]
    fn what_has_a_default_is_found() {
        let source = "#[derive(Debug, Default)]\nstruct A;\nstruct B;\nimpl Default for B { fn default() -> B { B } }\nstruct C;\n";
        assert_eq!(find::defaults(source).unwrap(), BTreeSet::from(["A".to_owned(), "B".to_owned()]));
    }

    /// All mutants at once still parse, and without the switches the text is what it was.
    #[test]
    fn nested_switches_keep_the_text_around_them() {
        for source in
            [SOURCE, include_str!("find.rs"), include_str!("values.rs"), include_str!("../workspace.rs")]
        {
            let found = found(source);
            let numbered: Vec<(usize, &Mutant)> = found.iter().enumerate().collect();
            let switched = Switched::new(source, &numbered);
            syn::parse_file(&switched.text).unwrap();
            assert_eq!(switched.numbers().collect::<BTreeSet<_>>().len(), found.len());
            for (number, place) in &switched.places {
                assert!(switched.text[place.clone()].contains(&call(*number)), "{number}");
            }
            assert_eq!(Switched::new(source, &[]).text, source);
        }
    }

    #[test]
    fn an_error_is_blamed_on_the_innermost_mutant_around_it() {
        let found = found(SOURCE);
        let and = found.iter().position(|m| m.what.starts_with("&&")).unwrap();
        let equal = found.iter().position(|m| m.what.starts_with("== replaced")).unwrap();
        let switched = Switched::new(SOURCE, &[(and, &found[and]), (equal, &found[equal])]);
        let at = switched.text.find("a != b").unwrap();
        assert_eq!(switched.blame(&(at..at + 6)), [equal]);
        let at = switched.text.find("||").unwrap();
        assert_eq!(switched.blame(&(at..at + 2)), [and]);
        assert_eq!(switched.blame(&(0..switched.text.len())).len(), 2);
        assert!(switched.blame(&(0..2)).is_empty());
    }
}
