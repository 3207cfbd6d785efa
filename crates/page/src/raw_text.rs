//! Content that is no markup: where `<script>`, `<style>`, `<title>` and their like end.

/// The position of the `<` of the end tag that closes element `name`, or the end of the source.
pub(crate) fn end_of(bytes: &[u8], from: usize, name: &[u8]) -> usize {
    let mut at = from;
    while let Some(found) = bytes.get(at..).and_then(|tail| memchr::memchr(b'<', tail)) {
        at += found;
        if is_tag(bytes, at, b"</", name) {
            return at;
        }
        at += 1;
    }
    bytes.len()
}

/// As [`end_of`] for scripts, whose `<!--` may hide further `<script>` tags.
pub(crate) fn end_of_script(bytes: &[u8], from: usize) -> usize {
    const NAME: &[u8] = b"script";
    let mut at = from;
    let mut escape = Escape::No;
    loop {
        let tail = bytes.get(at..).unwrap_or(b"");
        let found = match escape {
            Escape::No => memchr::memchr(b'<', tail),
            _ => memchr::memchr2(b'<', b'>', tail),
        };
        let Some(found) = found else { return bytes.len() };
        at += found;
        if bytes.get(at) == Some(&b'>') {
            if bytes.get(..at).is_some_and(|before| before.ends_with(b"--")) {
                escape = Escape::No;
            }
            at += 1;
            continue;
        }
        match escape {
            Escape::No if bytes.get(at..).is_some_and(|t| t.starts_with(b"<!--")) => {
                escape = Escape::Comment;
                at += 3;
            }
            Escape::Comment if is_tag(bytes, at, b"<", NAME) => escape = Escape::Script,
            Escape::Script if is_tag(bytes, at, b"</", NAME) => escape = Escape::Comment,
            Escape::No | Escape::Comment if is_tag(bytes, at, b"</", NAME) => return at,
            _ => {}
        }
        at += 1;
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Escape {
    No,
    /// Inside `<!--`.
    Comment,
    /// Inside `<script` inside `<!--`: the next end tag only closes that one.
    Script,
}

fn is_tag(bytes: &[u8], at: usize, opening: &[u8], name: &[u8]) -> bool {
    let name_at = at + opening.len();
    let end = name_at + name.len();
    bytes.get(at..name_at) == Some(opening)
        && bytes.get(name_at..end).is_some_and(|n| n.eq_ignore_ascii_case(name))
        && matches!(bytes.get(end), Some(b'\t' | b'\n' | b'\x0c' | b'\r' | b' ' | b'/' | b'>'))
}

/// The position after a comment whose content starts at `from` (after `<!--`).
pub(crate) fn after_comment(bytes: &[u8], from: usize) -> usize {
    let mut at = from;
    while let Some(found) = bytes.get(at..).and_then(|tail| memchr::memchr(b'>', tail)) {
        at += found;
        // The dashes of `<!--` may serve as those of `-->`, but not as those of `--!>`.
        let plain = bytes.get(..at).is_some_and(|before| before.ends_with(b"--"));
        let bang = bytes.get(from..at).is_some_and(|inside| inside.ends_with(b"--!"));
        at += 1;
        if plain || bang {
            return at;
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(s: &str) -> &str {
        &s[end_of_script(s.as_bytes(), 0)..]
    }

    #[test]
    fn scripts_end_where_browsers_end_them() {
        assert_eq!(script("a</script>b"), "</script>b");
        assert_eq!(script("a</scripts></SCRIPT >b"), "</SCRIPT >b");
        assert_eq!(script("<!--<script></script>-->x</script>b"), "</script>b");
        assert_eq!(script("<!--<script></script></script>b"), "</script>b");
        assert_eq!(script("<!--</script>--></script>"), "</script>--></script>");
        assert_eq!(script("<!--<script>--></script>b"), "</script>b");
        assert_eq!(script("<!--><script></script>b"), "</script>b");
        assert_eq!(script("<!---><script></script>b"), "</script>b");
        assert_eq!(script("<!--<scripty></script>b"), "</script>b");
        assert_eq!(script("no end"), "");
    }

    #[test]
    fn comments_end_where_browsers_end_them() {
        let rest = |s: &'static str| &s[after_comment(s.as_bytes(), 4)..];
        assert_eq!(rest("<!-->b"), "b");
        assert_eq!(rest("<!--->b"), "b");
        assert_eq!(rest("<!---->b"), "b");
        assert_eq!(rest("<!--a--!>b"), "b");
        assert_eq!(rest("<!--!>a-->b"), "b");
        assert_eq!(rest("<!---!>a-->b"), "b");
        assert_eq!(rest("<!----!>b-->"), "b-->");
        assert_eq!(rest("<!--a->b"), "");
        assert_eq!(rest("<!--a<!--b-->c"), "c");
    }
}
