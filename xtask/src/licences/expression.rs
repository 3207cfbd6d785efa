//! Licence expressions as packages write them: names joined by `OR`, `AND`, `WITH`, with parentheses, and the older `/`
//! for `OR`.

/// Whether the licences that `allow` accepts satisfy the expression; `None` where it cannot be read.
pub fn is_allowed(expression: &str, allow: &dyn Fn(&str) -> bool) -> Option<bool> {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let mut words = Words { words: spaced.split_whitespace().collect(), at: 0, allow };
    let verdict = words.alternatives()?;
    (words.at == words.words.len()).then_some(verdict)
}

struct Words<'a> {
    words: Vec<&'a str>,
    at: usize,
    allow: &'a dyn Fn(&str) -> bool,
}

impl<'a> Words<'a> {
    fn take(&mut self, word: &str) -> bool {
        let found = self.words.get(self.at) == Some(&word);
        self.at += usize::from(found);
        found
    }

    fn next(&mut self) -> Option<&'a str> {
        let word = self.words.get(self.at).copied()?;
        self.at += 1;
        Some(word)
    }

    fn alternatives(&mut self) -> Option<bool> {
        let mut verdict = self.conjunction()?;
        while self.take("OR") {
            verdict |= self.conjunction()?;
        }
        Some(verdict)
    }

    fn conjunction(&mut self) -> Option<bool> {
        let mut verdict = self.single()?;
        while self.take("AND") {
            verdict &= self.single()?;
        }
        Some(verdict)
    }

    fn single(&mut self) -> Option<bool> {
        if self.take("(") {
            let verdict = self.alternatives()?;
            return self.take(")").then_some(verdict);
        }
        let name = self.next().filter(|word| !["OR", "AND", "WITH", ")"].contains(word))?;
        if self.take("WITH") {
            let exception = self.next()?;
            return Some((self.allow)(&format!("{name} WITH {exception}")));
        }
        Some((self.allow)(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_read_with_the_usual_precedence() {
        let allow = |name: &str| ["MIT", "ISC", "Apache-2.0 WITH LLVM-exception"].contains(&name);
        for (expression, verdict) in [
            ("MIT", Some(true)),
            ("GPL-3.0", Some(false)),
            ("MIT/GPL-3.0", Some(true)),
            ("GPL-3.0 OR MIT AND ISC", Some(true)),
            ("(GPL-3.0 OR MIT) AND ISC", Some(true)),
            ("MIT AND (GPL-3.0 OR LGPL-2.1)", Some(false)),
            ("Apache-2.0 WITH LLVM-exception", Some(true)),
            ("Apache-2.0 WITH other", Some(false)),
            ("", None),
            ("MIT OR", None),
            ("(MIT", None),
            ("MIT)", None),
            ("MIT ISC", None),
        ] {
            assert_eq!(is_allowed(expression, &allow), verdict, "{expression}");
        }
    }
}
